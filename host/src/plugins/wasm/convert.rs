//! From a guest's values to the host's, each checked on the way.

pub mod arrow;

use std::sync::Arc;

use super::{
    bindings::{catalog_types as catalog, types},
    grants::Grants,
    instance::violation,
};
use crate::{
    error::{Code, Error, Result},
    plugins::{
        Batch, Column, ColumnInfo, ColumnStatistics, DataType, ForeignKeyColumn, KeyColumn,
        ServerInfo, TableInfo, TableRef, Value, settings::PluginSettings,
    },
};

/// Longest name of a table, column or constraint, and of a native type.
const MAX_NAME: usize = 4_096;
/// Longest comment or default value that is kept.
const MAX_TEXT: usize = 64 << 10;
/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

fn name(name: String) -> Result<String> {
    match name.len() <= MAX_NAME && !name.contains('\0') {
        true => Ok(name),
        false => Err(violation("a name that is too long or has a NUL")),
    }
}

/// A text of any length, kept up to a bound: comments are for people.
fn shortened(text: Option<String>) -> Option<String> {
    text.map(|text| super::state::cut(&text, MAX_TEXT).to_owned())
}

/// The engine behind a connection.
pub fn server_info(info: types::ServerInfo, grants: &Grants) -> ServerInfo {
    ServerInfo {
        product: super::errors::text(&info.product, grants, 200),
        version: super::errors::text(&info.version, grants, 200),
    }
}

/// A host's table name as the guest takes it.
pub fn to_table_ref(table: &TableRef) -> types::TableRef {
    types::TableRef {
        schema: table.schema.clone(),
        name: table.name.clone(),
    }
}

fn table_ref(table: types::TableRef) -> Result<TableRef> {
    Ok(TableRef {
        schema: name(table.schema)?,
        name: name(table.name)?,
    })
}

/// The list of tables.
pub fn table_refs(
    tables: Vec<types::TableRef>,
    settings: &PluginSettings,
) -> Result<Vec<TableRef>> {
    if tables.len() > settings.max_tables as usize {
        return Err(Error::new(
            Code::ResultTooLarge,
            format!(
                "the datasource lists {} tables; plugins.max_tables allows {}; restrict it to a schema",
                tables.len(),
                settings.max_tables
            ),
        ));
    }
    tables.into_iter().map(table_ref).collect()
}

/// Descriptions of tables, none of which was not asked for.
pub fn tables(
    tables: Vec<catalog::Table>,
    asked: &[TableRef],
    settings: &PluginSettings,
) -> Result<Vec<TableInfo>> {
    if tables.len() > asked.len() {
        return Err(violation("more tables than were asked for"));
    }
    tables
        .into_iter()
        .map(|table| {
            let info = table_info(table, settings)?;
            match asked.contains(&info.table) {
                true => Ok(info),
                false => Err(violation("a table that was not asked for")),
            }
        })
        .collect()
}

fn table_info(table: catalog::Table, settings: &PluginSettings) -> Result<TableInfo> {
    let max = settings.max_columns as usize;
    if table.columns.len() > max || table.primary_key.len() > max || table.foreign_keys.len() > max
    {
        return Err(violation("a table with too many columns or keys"));
    }
    Ok(TableInfo {
        table: table_ref(table.table)?,
        kind: name(table.kind)?,
        comment: shortened(table.comment),
        row_count: table.row_count,
        columns: each(table.columns, |column| {
            Ok(ColumnInfo {
                name: name(column.name)?,
                ordinal: column.ordinal,
                native_type: name(column.native_type)?,
                nullable: column.nullable,
                default_value: shortened(column.default_value),
                comment: shortened(column.comment),
            })
        })?,
        primary_key: each(table.primary_key, |key| {
            Ok(KeyColumn {
                constraint_name: name(key.constraint_name)?,
                ordinal: key.ordinal,
                column: name(key.column)?,
            })
        })?,
        foreign_keys: each(table.foreign_keys, |key| {
            Ok(ForeignKeyColumn {
                constraint_name: name(key.constraint_name)?,
                ordinal: key.ordinal,
                column: name(key.column)?,
                referenced: table_ref(key.referenced)?,
                referenced_column: name(key.referenced_column)?,
            })
        })?,
    })
}

fn each<A, B>(items: Vec<A>, f: impl FnMut(A) -> Result<B>) -> Result<Vec<B>> {
    items.into_iter().map(f).collect()
}

/// Statistics of columns that were asked for.
pub fn statistics(
    statistics: Vec<catalog::ColumnStatistics>,
    asked: &[String],
) -> Result<Vec<ColumnStatistics>> {
    const MAX_COMMON: usize = 1_000;
    let share = |share: f64| (0.0..=1.0).contains(&share);
    if statistics.len() > asked.len() {
        return Err(violation("statistics of more columns than were asked for"));
    }
    each(statistics, |column| {
        let sane = column.null_fraction.is_none_or(share)
            && column.common_values.iter().all(|(_, part)| share(*part))
            && column.common_values.len() <= MAX_COMMON
            && asked.contains(&column.column);
        if !sane {
            return Err(violation("statistics that cannot be"));
        }
        Ok(ColumnStatistics {
            column: column.column,
            null_fraction: column.null_fraction,
            distinct_count: column.distinct_count,
            common_values: column
                .common_values
                .into_iter()
                .map(|(value, part)| (super::state::cut(&value, MAX_TEXT).to_owned(), part))
                .collect(),
            min_value: shortened(column.min_value),
            max_value: shortened(column.max_value),
            estimated: column.estimated,
            sampled_rows: column.sampled_rows,
        })
    })
}

/// The schema of a cursor.
#[derive(Clone)]
pub struct Schema {
    /// As the rest of the host sees it.
    pub columns: Arc<[Column]>,
    /// Columns whose engine does not enforce their type, so that any kind of value may stand in them.
    dynamic: Arc<[bool]>,
}

impl Schema {
    /// Checks what a cursor gave.
    pub fn new(columns: Vec<types::Column>, settings: &PluginSettings) -> Result<Self> {
        if columns.is_empty() || columns.len() > settings.max_columns as usize {
            return Err(violation(format_args!(
                "a result of {} columns",
                columns.len()
            )));
        }
        let is_dynamic = |column: &types::Column| {
            let mark = |(name, value): &(String, String)| name == "dynamic" && value == "true";
            column.extra.iter().any(mark)
        };
        let dynamic = columns.iter().map(is_dynamic).collect();
        let columns = each(columns, |column| {
            Ok(Column {
                name: name(column.name)?,
                data_type: data_type(column.data_type),
                native_type: name(column.native_type)?,
                nullable: column.nullable,
            })
        })?;
        Ok(Self {
            columns: columns.into(),
            dynamic,
        })
    }

    fn accepts(&self, index: usize, value: &Value) -> bool {
        let declared = self.columns.get(index).map(|column| column.data_type);
        let natural = match value {
            Value::Null | Value::Other(_) => return true,
            Value::Boolean(_) => DataType::Boolean,
            Value::Int64(_) => DataType::Int64,
            Value::Uint64(_) => DataType::Uint64,
            Value::Float64(_) => DataType::Float64,
            Value::Decimal(_) => DataType::Decimal,
            Value::Text(_) => DataType::Text,
            Value::Bytes(_) => DataType::Bytes,
            Value::Date(_) => DataType::Date,
            Value::Time(_) => DataType::Time,
            Value::Timestamp(_) => DataType::Timestamp,
            Value::TimestampUtc(_) => DataType::TimestampUtc,
            Value::Json(_) => DataType::Json,
        };
        declared == Some(natural)
            || declared == Some(DataType::Any)
            || self.dynamic.get(index).copied().unwrap_or_default()
    }
}

fn data_type(guest: types::DataType) -> DataType {
    match guest {
        types::DataType::Boolean => DataType::Boolean,
        types::DataType::Int64 => DataType::Int64,
        types::DataType::Uint64 => DataType::Uint64,
        types::DataType::Float64 => DataType::Float64,
        types::DataType::Decimal => DataType::Decimal,
        types::DataType::Text => DataType::Text,
        types::DataType::Bytes => DataType::Bytes,
        types::DataType::Date => DataType::Date,
        types::DataType::Time => DataType::Time,
        types::DataType::Timestamp => DataType::Timestamp,
        types::DataType::TimestampUtc => DataType::TimestampUtc,
        types::DataType::Json => DataType::Json,
        types::DataType::Any => DataType::Any,
    }
}

/// One batch, of at most `max_rows` rows.
pub fn batch(
    batch: types::Batch,
    schema: &Schema,
    max_rows: u32,
    settings: &PluginSettings,
) -> Result<Batch> {
    match batch {
        types::Batch::Rows(rows) => rows_batch(rows, schema, max_rows, settings).map(Batch::Rows),
        types::Batch::Arrow(bytes) => {
            let batch = arrow::decode(bytes, &schema.columns, settings)?;
            match batch.num_rows() <= max_rows as usize {
                true => Ok(Batch::Arrow(batch)),
                false => Err(too_many(batch.num_rows(), max_rows)),
            }
        }
    }
}

fn too_many(rows: usize, max_rows: u32) -> Error {
    violation(format_args!(
        "{rows} rows where at most {max_rows} were asked for"
    ))
}

fn rows_batch(
    rows: Vec<Vec<types::Value>>,
    schema: &Schema,
    max_rows: u32,
    settings: &PluginSettings,
) -> Result<Vec<Vec<Value>>> {
    if rows.len() > max_rows as usize {
        return Err(too_many(rows.len(), max_rows));
    }
    let width = schema.columns.len();
    let single = rows.len() == 1;
    let mut bytes = 0usize;
    let rows = each(rows, |row| {
        if row.len() != width {
            return Err(violation(format_args!(
                "a row of {} values in a result of {width} columns",
                row.len()
            )));
        }
        let mut index = 0;
        each(row, |guest| {
            let (value, size) = value(guest, settings.max_cell_bytes as usize)?;
            if !schema.accepts(index, &value) {
                return Err(violation("a value of another type than its column's"));
            }
            index += 1;
            bytes += size;
            Ok(value)
        })
    })?;
    // A large row may come, but alone; the limit above it is wasmtime's own on what one call may copy.
    if !single && bytes > settings.max_batch_bytes as usize {
        return Err(violation(format_args!("a batch of {bytes} bytes")));
    }
    Ok(rows)
}

/// One value with its size in bytes.
fn value(guest: types::Value, max: usize) -> Result<(Value, usize)> {
    let sized = |text: &str| cell_size(text.len(), max);
    Ok(match guest {
        types::Value::Null => (Value::Null, 1),
        types::Value::Boolean(value) => (Value::Boolean(value), 1),
        types::Value::Int64(value) => (Value::Int64(value), 8),
        types::Value::Uint64(value) => (Value::Uint64(value), 8),
        types::Value::Float64(value) => (Value::Float64(value), 8),
        types::Value::Decimal(text) if !is_decimal(&text) => {
            return Err(violation("a decimal that is not a number"));
        }
        types::Value::Decimal(text) => {
            let size = sized(&text)?;
            (Value::Decimal(text), size)
        }
        types::Value::Text(text) => {
            let size = sized(&text)?;
            (Value::Text(text), size)
        }
        types::Value::Bytes(bytes) => {
            let size = cell_size(bytes.len(), max)?;
            (Value::Bytes(bytes), size)
        }
        types::Value::Date(days) => (Value::Date(days), 4),
        types::Value::Time(micros) if micros >= DAY => {
            return Err(violation("a time of day beyond the day"));
        }
        types::Value::Time(micros) => (Value::Time(micros), 8),
        types::Value::Timestamp(micros) => (Value::Timestamp(micros), 8),
        types::Value::TimestampUtc(micros) => (Value::TimestampUtc(micros), 8),
        types::Value::Json(text) if !is_json(&text) => {
            return Err(violation("a JSON value that is not JSON"));
        }
        types::Value::Json(text) => {
            let size = sized(&text)?;
            (Value::Json(text), size)
        }
        types::Value::Other(text) => {
            let size = sized(&text)?;
            (Value::Other(text), size)
        }
    })
}

fn cell_size(size: usize, max: usize) -> Result<usize> {
    match size <= max {
        true => Ok(size),
        false => Err(Error::new(
            Code::ResultTooLarge,
            format!(
                "a value of {size} bytes is larger than plugins.max_cell_bytes ({max}); select less of it"
            ),
        )),
    }
}

/// `-12.50`, `1e10`, and the three words that some engines have among their decimals.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(digits, "NaN" | "Infinity") {
        return true;
    }
    let (number, exponent) = match digits.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let all_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_ok = |text: &str| all_digits(text.strip_prefix(['-', '+']).unwrap_or(text));
    all_digits(whole) && fraction.is_none_or(all_digits) && exponent.is_none_or(exponent_ok)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> PluginSettings {
        PluginSettings {
            max_cell_bytes: 8,
            max_columns: 2,
            ..PluginSettings::default()
        }
    }

    fn rows(rows: Vec<Vec<types::Value>>) -> Result<Vec<Vec<Value>>> {
        rows_of(types::DataType::Any, Vec::new(), rows)
    }

    fn rows_of(
        data_type: types::DataType,
        extra: Vec<(String, String)>,
        rows: Vec<Vec<types::Value>>,
    ) -> Result<Vec<Vec<Value>>> {
        let column = types::Column {
            name: String::from("c"),
            data_type,
            native_type: String::new(),
            nullable: true,
            extra,
        };
        rows_batch(
            rows,
            &Schema::new(vec![column], &settings())?,
            2,
            &settings(),
        )
    }

    #[test]
    fn a_value_has_the_type_of_its_column_unless_its_engine_does_not_enforce_types() {
        let text = || vec![vec![types::Value::Text("one".into())]];
        let int = types::DataType::Int64;
        let dynamic = vec![("dynamic".to_owned(), "true".to_owned())];
        assert!(rows_of(int, Vec::new(), text()).is_err());
        assert!(rows_of(int, dynamic, text()).is_ok());
        assert!(rows_of(int, Vec::new(), vec![vec![types::Value::Other("∞".into())]]).is_ok());
        assert!(rows_of(int, Vec::new(), vec![vec![types::Value::Null]]).is_ok());
    }

    #[test]
    fn rows_of_the_right_shape_pass() {
        let good = vec![
            vec![types::Value::Text("abc".into())],
            vec![types::Value::Null],
        ];
        assert_eq!(
            rows(good).unwrap(),
            [[Value::Text("abc".into())], [Value::Null]]
        );
    }

    #[test]
    fn wrong_widths_counts_and_values_are_violations() {
        let null = || types::Value::Null;
        for bad in [
            vec![vec![null(), null()]],
            vec![vec![null()], vec![null()], vec![null()]],
            vec![vec![types::Value::Time(DAY)]],
            vec![vec![types::Value::Decimal("1; drop".into())]],
            vec![vec![types::Value::Json("{".into())]],
        ] {
            assert_eq!(rows(bad).unwrap_err().code(), Code::PluginError);
        }
        let large = vec![vec![types::Value::Bytes(vec![0; 9])]];
        assert_eq!(rows(large).unwrap_err().code(), Code::ResultTooLarge);
    }

    #[test]
    fn decimals_are_numbers() {
        for good in ["0", "-12.50", "1e10", "1.5E-3", "NaN", "-Infinity"] {
            assert!(is_decimal(good), "{good}");
        }
        for bad in ["", "-", "1.", ".5", "1e", "0x1", "1,5", "nan", "1 "] {
            assert!(!is_decimal(bad), "{bad}");
        }
    }
}
