//! Floats, days, times and timestamps as text, in the form of PostgreSQL: `2024-03-31 01:30:00`, `12:30:00.5`, `0`.
//! DataFusion writes `2024-03-31T01:30:00`, `12:30:00.500` and `0.0`, which a condition on the text does not expect.

use std::{
    fmt::{Display, LowerExp},
    sync::Arc,
};

use datafusion::{
    arrow::{
        array::{Array as _, ArrayRef, AsArray as _, StringArray},
        compute::cast,
        datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type, TimeUnit},
    },
    common::{DFSchema, Result},
    logical_expr::{
        Cast, ColumnarValue, Expr, ExprSchemable as _, ReturnFieldArgs, ScalarFunctionArgs,
        ScalarUDF, ScalarUDFImpl, Signature, TryCast, Volatility, expr::ScalarFunction,
    },
};

use super::scalar;
use crate::timestamps::ZONE;

/// From these powers of ten on, PostgreSQL writes a number with an exponent; and below `LEAST_PLAIN`.
const DOUBLE_EXPONENT: i32 = 15;
const REAL_EXPONENT: i32 = 6;
const LEAST_PLAIN: i32 = -4;

/// A cast to text that gives the text of PostgreSQL. Casts that DataFusion added are among them: those of the arguments
/// of `concat` and of the sides of `||`.
pub fn of_postgresql(expr: Expr, schema: &DFSchema) -> Expr {
    let (Expr::Cast(Cast { expr: value, field }) | Expr::TryCast(TryCast { expr: value, field })) =
        &expr
    else {
        return expr;
    };
    let to = field.data_type();
    let is_written = |from: DataType| from.is_floating() || from.is_temporal() && !is_span(&from);
    if !to.is_string() || !value.get_type(schema).is_ok_and(is_written) {
        return expr;
    }
    let written = ScalarUDF::from(Text {
        to: to.clone(),
        signature: Signature::any(1, Volatility::Immutable),
    });
    let value = value.as_ref().clone();
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(written), vec![value]))
}

fn is_span(of: &DataType) -> bool {
    matches!(of, DataType::Interval(_) | DataType::Duration(_))
}

/// The text of a value, as a type of texts.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Text {
    to: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), nullable)))
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<_> = args.iter().map(ToString::to_string).collect();
        Ok(format!("CAST({} AS text)", args.join(", ")))
    }

    /// Not that of the cast, which is its value's: the key of a join may stand beside its value.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args = args.iter().map(|arg| arg.schema_name().to_string());
        Ok(format!(
            "CAST({} AS text)",
            args.collect::<Vec<_>>().join(", ")
        ))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        scalar::of_one(&args.args, |values| Ok(cast(&written(values)?, &self.to)?))
    }
}

fn written(values: &ArrayRef) -> Result<ArrayRef> {
    use DataType::{Date32, Date64, Float16, Float32, Float64, Time32, Time64, Timestamp, Utf8};
    let texts: StringArray = match values.data_type() {
        Float16 | Float32 => {
            let values = cast(values, &Float32)?;
            let values = values.as_primitive::<Float32Type>();
            let texts = values.iter();
            let texts = texts.map(|value| value.map(|value| number(value, REAL_EXPONENT)));
            texts.collect()
        }
        Float64 => {
            let texts = values.as_primitive::<Float64Type>().iter();
            let texts = texts.map(|value| value.map(|value| number(value, DOUBLE_EXPONENT)));
            texts.collect()
        }
        Date32 | Date64 => rewritten(values, &Date32, day)?,
        Time32(_) | Time64(_) => rewritten(values, &Time64(TimeUnit::Microsecond), time)?,
        Timestamp(_, None) => {
            rewritten(values, &Timestamp(TimeUnit::Microsecond, None), timestamp)?
        }
        Timestamp(_, Some(_)) => {
            let moments = Timestamp(TimeUnit::Microsecond, Some(ZONE.into()));
            let moments = cast(values, &moments)?;
            rewritten(&moments, &Timestamp(TimeUnit::Microsecond, None), moment)?
        }
        _ => return Ok(cast(values, &Utf8)?),
    };
    Ok(Arc::new(texts))
}

/// Values as texts of a type, which are then written anew.
fn rewritten(values: &ArrayRef, of: &DataType, form: fn(&str) -> String) -> Result<StringArray> {
    let texts = cast(&cast(values, of)?, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>().iter();
    Ok(texts.map(|text| text.map(form)).collect())
}

fn number<T: Display + LowerExp>(value: T, exponent_from: i32) -> String {
    let short = format!("{value:e}");
    match short.as_str() {
        "inf" => return String::from("Infinity"),
        "-inf" => return String::from("-Infinity"),
        _ => {}
    }
    let parts = short.split_once('e');
    let parts = parts.and_then(|(digits, power)| Some((digits, power.parse::<i32>().ok()?)));
    match parts {
        Some((digits, power)) if !(LEAST_PLAIN..exponent_from).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.unsigned_abs())
        }
        _ => value.to_string(),
    }
}

fn day(text: &str) -> String {
    let (day, era) = day_and_era(text);
    day + era
}

/// `12:30:00.500` without the zeros that say nothing.
fn time(text: &str) -> String {
    let shorter = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    shorter.to_owned()
}

fn timestamp(text: &str) -> String {
    with_zone(text, "")
}

fn moment(text: &str) -> String {
    with_zone(text, "+00")
}

fn with_zone(text: &str, zone: &str) -> String {
    let (date, of_day) = text.split_once('T').unwrap_or((text, "00:00:00"));
    let (date, era) = day_and_era(date);
    format!("{date} {}{zone}{era}", time(of_day))
}

/// A day with its year, and ` BC` if there are no years before it: the year 0 is 1 BC.
fn day_and_era(text: &str) -> (String, &'static str) {
    let before = text.strip_prefix('-');
    let plain = before.or_else(|| text.strip_prefix('+')).unwrap_or(text);
    let (year, rest) = plain.split_once('-').unwrap_or((plain, ""));
    match year.parse::<u64>() {
        Ok(year) if before.is_some() || year == 0 => (format!("{:04}-{rest}", year + 1), " BC"),
        _ => (plain.to_owned(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_text_of_postgresql() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (2.5, "2.5"),
            (1e10, "10000000000"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (-1.5e300, "-1.5e+300"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(number(value, DOUBLE_EXPONENT), expected);
        }
        assert_eq!(number(0.1_f32, REAL_EXPONENT), "0.1");
        assert_eq!(number(1e6_f32, REAL_EXPONENT), "1e+06");
    }

    #[test]
    fn dates_and_times_have_the_text_of_postgresql() {
        assert_eq!(timestamp("2024-03-31T01:30:00"), "2024-03-31 01:30:00");
        assert_eq!(
            timestamp("1969-12-31T23:59:59.500"),
            "1969-12-31 23:59:59.5"
        );
        assert_eq!(moment("2024-03-31T00:30:00"), "2024-03-31 00:30:00+00");
        assert_eq!(moment("-0001-03-01T00:30:00"), "0002-03-01 00:30:00+00 BC");
        assert_eq!(time("10:20:30.000100"), "10:20:30.0001");
        assert_eq!(time("10:20:00"), "10:20:00");
        assert_eq!(day("+12345-01-02"), "12345-01-02");
        assert_eq!(day("0000-12-31"), "0001-12-31 BC");
    }
}
