//! Turns what a datasource gives into what the plan expects. Values change their form and never their value: one that
//! does not fit is an error.

use std::sync::Arc;

use datafusion::arrow::{
    array::{
        Array as _, ArrayRef, AsArray as _, BooleanArray, Decimal128Array, Int64Array, RecordBatch,
        RecordBatchOptions,
    },
    compute::{CastOptions, cast_with_options},
    datatypes::{DataType as Physical, Field, Int64Type, SchemaRef},
    util::display::FormatOptions,
};

use crate::decode::{of_rows, parse_decimal, text_of};
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::{Batch, Column, DataType, Value};

/// A failed cast is an error, not NULL.
const CHECKED: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};
/// Up to here a float has a place for every integer.
const EXACT: i64 = 1 << 53;

/// Turns a batch into one of the plan. `name` is the datasource's.
pub fn batch(
    batch: &Batch,
    columns: &[Column],
    schema: &SchemaRef,
    name: &str,
) -> Result<RecordBatch> {
    let arrays = schema.fields().iter().enumerate().map(|(index, field)| {
        let column = columns.get(index).ok_or_else(|| other_columns(name))?;
        match batch {
            Batch::Arrow(batch) => {
                let values = batch
                    .columns()
                    .get(index)
                    .ok_or_else(|| other_columns(name))?;
                array(values, column, field, name)
            }
            Batch::Rows(rows) => cells(rows, index, column, field, name),
        }
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|error| other_columns(name).with_source(error))
}

/// Whether a result has as many columns as the plan expects; none are one that does not count.
pub fn check(columns: &[Column], schema: &SchemaRef, name: &str) -> Result<()> {
    match columns.len() == schema.fields().len().max(1) {
        true => Ok(()),
        false => Err(other_columns(name)),
    }
}

fn other_columns(name: &str) -> Error {
    Error::new(
        Code::SqlInvalid,
        format!("the tables of `{name}` changed while the statement was planned; send it again"),
    )
    .blamed(Blame::Upstream)
}

fn unfit(field: &Field, name: &str) -> Error {
    Error::new(
        Code::SqlInvalid,
        format!(
            "a value of `{}` in the datasource `{name}` does not fit its type {}; leave such rows out, or convert the \
             column in a view",
            field.name(),
            field.data_type()
        ),
    )
    .blamed(Blame::Upstream)
}

fn array(values: &ArrayRef, column: &Column, field: &Field, name: &str) -> Result<ArrayRef> {
    let wanted = field.data_type();
    let unfit = || unfit(field, name);
    match (column.data_type, wanted) {
        (DataType::Decimal, Physical::Decimal128(digits, scale)) => {
            let texts = values.as_string_opt::<i32>().ok_or_else(unfit)?;
            let parsed = texts.iter().map(|text| match text {
                None => Ok(None),
                Some(text) => parse_decimal(text, *digits, *scale)
                    .map(Some)
                    .ok_or_else(unfit),
            });
            let values: Vec<Option<i128>> = parsed.collect::<Result<_>>()?;
            let array = Decimal128Array::from(values).with_precision_and_scale(*digits, *scale);
            Ok(Arc::new(array.map_err(Error::internal)?))
        }
        // The sum of integers.
        (DataType::Decimal, wanted) if wanted.is_integer() => {
            let texts = values.as_string_opt::<i32>().ok_or_else(unfit)?;
            let parsed = texts.iter().map(|text| match text {
                None => Ok(None),
                Some(text) => whole(text).map(Some).ok_or_else(unfit),
            });
            let values: Vec<Option<i64>> = parsed.collect::<Result<_>>()?;
            let array: ArrayRef = Arc::new(Int64Array::from(values));
            cast_with_options(&array, wanted, &CHECKED).map_err(|_| unfit())
        }
        _ if values.data_type() == wanted => Ok(Arc::clone(values)),
        // The truth values of MySQL are numbers, of which all but 0 are true.
        (DataType::Int64, Physical::Boolean) => {
            let numbers = values.as_primitive_opt::<Int64Type>().ok_or_else(unfit)?;
            let truths = numbers
                .iter()
                .map(|number| number.map(|number| number != 0));
            Ok(Arc::new(truths.collect::<BooleanArray>()))
        }
        (DataType::Text | DataType::Json | DataType::Any, wanted) if !wanted.is_string() => {
            Err(unfit())
        }
        _ => cast_with_options(values, wanted, &CHECKED).map_err(|_| unfit()),
    }
}

/// The type of the truth values of MySQL, whose cells are integers if they are neither 0 nor 1.
const TINY_BOOLEAN: &str = "tinyint(1)";

/// One column of plain rows. `sent` is what the datasource says of it.
fn cells(
    rows: &[Vec<Value>],
    index: usize,
    sent: &Column,
    field: &Field,
    name: &str,
) -> Result<ArrayRef> {
    let wanted = field.data_type();
    let is_tiny = *wanted == Physical::Boolean && sent.native_type == TINY_BOOLEAN;
    let column = Column {
        name: field.name().clone(),
        data_type: data_type(wanted).ok_or_else(|| unfit(field, name))?,
        native_type: match wanted {
            Physical::Decimal128(digits, scale) => format!("decimal({digits},{scale})"),
            _ => String::new(),
        },
        nullable: true,
    };
    let fitted = rows.iter().map(|row| {
        let fitted = match row.get(index).unwrap_or(&Value::Null) {
            Value::Int64(number) if is_tiny => Some(Value::Boolean(*number != 0)),
            value => fit(value, column.data_type),
        };
        Ok(vec![fitted.ok_or_else(|| unfit(field, name))?])
    });
    let fitted: Vec<Vec<Value>> = fitted.collect::<Result<_>>()?;
    let values = of_rows(&column, &fitted, 0).map_err(|_| unfit(field, name))?;
    match values.data_type() == wanted {
        true => Ok(values),
        false => cast_with_options(&values, wanted, &CHECKED).map_err(|_| unfit(field, name)),
    }
}

fn data_type(wanted: &Physical) -> Option<DataType> {
    Some(match wanted {
        Physical::Boolean => DataType::Boolean,
        Physical::UInt64 => DataType::Uint64,
        other if other.is_integer() => DataType::Int64,
        Physical::Float64 => DataType::Float64,
        Physical::Decimal128(..) => DataType::Decimal,
        other if other.is_string() => DataType::Text,
        Physical::BinaryView | Physical::Binary => DataType::Bytes,
        Physical::Date32 => DataType::Date,
        Physical::Time64(_) => DataType::Time,
        Physical::Timestamp(_, None) => DataType::Timestamp,
        Physical::Timestamp(_, Some(_)) => DataType::TimestampUtc,
        _ => return None,
    })
}

/// A value in the form of a type; `None` if it is another value there.
fn fit(value: &Value, wanted: DataType) -> Option<Value> {
    Some(match (value, wanted) {
        (Value::Null, _) => Value::Null,
        (value, wanted) if value.data_type() == Some(wanted) => value.clone(),
        (Value::Int64(number), DataType::Decimal) => Value::Decimal(number.to_string()),
        (Value::Uint64(number), DataType::Decimal) => Value::Decimal(number.to_string()),
        (Value::Int64(number), DataType::Float64) if (-EXACT..=EXACT).contains(number) => {
            Value::Float64(*number as f64)
        }
        (Value::Int64(number), DataType::Uint64) => Value::Uint64(u64::try_from(*number).ok()?),
        (Value::Uint64(number), DataType::Int64) => Value::Int64(i64::try_from(*number).ok()?),
        (Value::Float64(number), DataType::Decimal) if number.is_finite() => {
            Value::Decimal(number.to_string())
        }
        (Value::Decimal(text), DataType::Int64) => Value::Int64(whole(text)?),
        (Value::Int64(number @ (0 | 1)), DataType::Boolean) => Value::Boolean(*number == 1),
        (value, DataType::Text) => Value::Text(text_of(value)?),
        _ => return None,
    })
}

/// A whole number without digits behind the point.
fn whole(text: &str) -> Option<i64> {
    i64::try_from(parse_decimal(text, 19, 0)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_value_or_do_not_fit() {
        let fits = |value, wanted| fit(&value, wanted);
        assert_eq!(
            fits(Value::Int64(7), DataType::Decimal),
            Some(Value::Decimal("7".into()))
        );
        assert_eq!(
            fits(Value::Float64(0.07), DataType::Decimal),
            Some(Value::Decimal("0.07".into()))
        );
        assert_eq!(
            fits(Value::Decimal("12.0".into()), DataType::Int64),
            Some(Value::Int64(12))
        );
        assert_eq!(fits(Value::Int64(EXACT + 1), DataType::Float64), None);
        assert_eq!(fits(Value::Text("many".into()), DataType::Int64), None);
        assert_eq!(fits(Value::Decimal("12.5".into()), DataType::Int64), None);
        assert_eq!(fits(Value::Int64(-1), DataType::Uint64), None);
    }

    #[test]
    fn every_tinyint_of_one_digit_but_zero_is_true() {
        let of = |native: &str| {
            let rows = [
                Value::Boolean(false),
                Value::Boolean(true),
                Value::Int64(7),
                Value::Null,
            ];
            let rows: Vec<Vec<Value>> = rows.into_iter().map(|cell| vec![cell]).collect();
            let sent = Column {
                name: String::from("c0"),
                data_type: DataType::Boolean,
                native_type: native.to_owned(),
                nullable: true,
            };
            let field = Field::new("flag", Physical::Boolean, true);
            cells(&rows, 0, &sent, &field, "shop")
        };
        let truths = of("tinyint(1)").unwrap();
        let truths: Vec<Option<bool>> = truths.as_boolean().iter().collect();
        assert_eq!(truths, [Some(false), Some(true), Some(true), None]);
        assert!(of("boolean").is_err());
    }
}
