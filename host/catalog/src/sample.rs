//! Samples a table if the engine has no statistics: a scan with limits on rows, bytes, time and memory.

mod bytes;
mod cell;
mod common;
mod order;
mod place;
mod tally;

use std::{collections::HashMap, time::Duration};

use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch,
    StringArray, Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array,
};
use tokio::time::Instant;

use self::{cell::Cell, tally::Tally};
use super::Statistics;
use mindhost_base::error::{Blame, Code, Error, Kind, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnInfo, Connection, DataType, Dialect, Paging, Statement, TableInfo,
    TableRef, Value, manifest::Manifest,
};
use mindhost_store::new_id;

/// Bytes of values per table.
const MAX_BYTES: usize = 64 << 20;
/// Distinct values that are counted per table, over all columns.
const MAX_TRACKED: usize = 400_000;
/// Rows between two yields to other tasks.
const BATCH_ROWS: u32 = 1_024;

/// The limits of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Rows that are read at most.
    pub rows: u64,
    /// For each statement, and for reading all rows.
    pub time: Duration,
}

/// What was learnt of a table by reading some of its rows.
#[derive(Debug)]
pub struct Sample {
    /// By column name; empty for a table without columns.
    pub statistics: HashMap<String, Statistics>,
    /// Exact if the scan or a count reached the end of the table, else the engine's estimate, or the rows that were read
    /// if these are more.
    pub row_count: Option<u64>,
}

/// Samples a table from its start. Counts its rows if the scan does not reach the end and the engine has no estimate, or
/// one below the rows that were read. At a limit, the rows so far are the sample.
///
/// # Errors
/// Those of the engine; `cancelled`.
pub async fn scan(
    connection: &mut dyn Connection,
    manifest: &Manifest,
    info: &TableInfo,
    bounds: Bounds,
    call: &Call,
) -> Result<Sample> {
    let dialect = manifest.dialect.unwrap_or(Dialect::Generic);
    let table = qualified(dialect, &info.table);
    if info.columns.is_empty() {
        // A view that cannot be read has no columns either: counting tells, in the engine's own words.
        let row_count = count(connection, &table, bounds.time, call).await?;
        return Ok(Sample {
            statistics: HashMap::new(),
            row_count,
        });
    }
    let mut reading = Reading::new(&info.columns, dialect);
    // An engine that knows no LIMIT is told to stop by closing its cursor.
    let limit = match (manifest.capabilities.paging, dialect) {
        (Paging::Sql, _) | (_, Dialect::Mssql) => Some(bounds.rows.saturating_add(1)),
        (Paging::InMemory, _) => None,
    };
    let text = select(dialect, &table, &info.columns, limit);
    let statement = Statement {
        text,
        id: new_id(),
        timeout: bounds.time,
    };
    let ended = match reading.read(connection, &statement, bounds, call).await {
        Err(error) if error.kind() == Kind::Timeout => None,
        ended => Some(ended?),
    };
    let whole = ended == Some(true);
    // An engine may still estimate 0 rows a day after they were inserted.
    let estimate = info.row_count.filter(|rows| *rows >= reading.rows);
    let row_count = match estimate {
        _ if whole => Some(reading.rows),
        // After a timeout the connection may be of no use any more, and counting would take as long.
        None if ended.is_some() => count(connection, &table, bounds.time, call).await?,
        estimate => estimate,
    };
    let row_count = row_count.or(info.row_count.map(|_| reading.rows));
    Ok(Sample {
        statistics: reading.finish(whole, row_count),
        row_count,
    })
}

/// Reads one row of some columns, to see whether they may be read.
///
/// # Errors
/// Those of the engine: `sql_permission_denied` if one of them may not.
pub async fn try_columns(
    connection: &mut dyn Connection,
    manifest: &Manifest,
    info: &TableInfo,
    time: Duration,
    call: &Call,
) -> Result<()> {
    let dialect = manifest.dialect.unwrap_or(Dialect::Generic);
    let table = qualified(dialect, &info.table);
    let statement = Statement {
        text: select(dialect, &table, &info.columns, Some(1)),
        id: new_id(),
        timeout: time,
    };
    connection.query(&statement, call).await?;
    connection.next(1, call).await?;
    connection.close(call).await
}

/// Counts the rows of a table; `None` if that takes too long.
async fn count(
    connection: &mut dyn Connection,
    table: &str,
    time: Duration,
    call: &Call,
) -> Result<Option<u64>> {
    let text = format!("SELECT COUNT(*) FROM {table}");
    let statement = Statement {
        text,
        id: new_id(),
        timeout: time,
    };
    match first_count(connection, &statement, call).await {
        Err(error) if error.kind() == Kind::Timeout => Ok(None),
        counted => counted,
    }
}

async fn first_count(
    connection: &mut dyn Connection,
    statement: &Statement,
    call: &Call,
) -> Result<Option<u64>> {
    connection.query(statement, call).await?;
    let mut found = None;
    while found.is_none() {
        let Some(batch) = connection.next(1, call).await? else {
            break;
        };
        found = batch.integer(0, 0);
    }
    connection.close(call).await?;
    Ok(found.and_then(|count| u64::try_from(count).ok()))
}

/// The columns of a running scan.
struct Reading {
    names: Vec<String>,
    tallies: Vec<Tally>,
    rows: u64,
    bytes: usize,
}

impl Reading {
    fn new(columns: &[ColumnInfo], dialect: Dialect) -> Self {
        let each = (MAX_TRACKED / columns.len().max(1)).max(1_000);
        Self {
            names: columns.iter().map(|column| column.name.clone()).collect(),
            tallies: columns
                .iter()
                .map(|column| match bytes::holds(&column.native_type, dialect) {
                    true => Tally::of_nulls(),
                    false if order::is_of_text(&column.native_type, dialect) => Tally::new(each),
                    false => Tally::new(each).without_order_of_texts(),
                })
                .collect(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Reads batches. True at the end of the table.
    async fn read(
        &mut self,
        connection: &mut dyn Connection,
        statement: &Statement,
        bounds: Bounds,
        call: &Call,
    ) -> Result<bool> {
        let until = Instant::now() + bounds.time;
        let schema = connection.query(statement, call).await?;
        if schema.len() != self.tallies.len() {
            let (asked, came) = (self.tallies.len(), schema.len());
            let message = format!("the source sent {came} columns where {asked} were asked for");
            return Err(Error::new(Code::UpstreamError, message).blamed(Blame::Upstream));
        }
        let whole = loop {
            let left = bounds.rows - self.rows;
            if self.bytes >= MAX_BYTES || Instant::now() >= until {
                break false;
            }
            let ask = u32::try_from(left + 1).unwrap_or(u32::MAX).min(BATCH_ROWS);
            let Some(batch) = connection.next(ask, call).await? else {
                break true;
            };
            // One row more than the bound was asked for, to learn whether there is one.
            let beyond = batch.rows() as u64 > left;
            let keep = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(batch.rows());
            self.add(&schema, &batch, keep)?;
            if beyond {
                break false;
            }
            tokio::task::yield_now().await;
        };
        connection.close(call).await?;
        Ok(whole)
    }

    fn add(&mut self, schema: &[Column], batch: &Batch, rows: usize) -> Result<()> {
        self.bytes += batch.bytes();
        match batch {
            Batch::Rows(all) => {
                for row in all.iter().take(rows) {
                    for ((tally, column), value) in self.tallies.iter_mut().zip(schema).zip(row) {
                        tally.add(of_value(value, column.data_type));
                    }
                }
            }
            Batch::Arrow(batch) => {
                self.add_arrow(schema, &batch.slice(0, rows))?;
            }
        }
        self.rows += rows as u64;
        Ok(())
    }

    fn add_arrow(&mut self, schema: &[Column], batch: &RecordBatch) -> Result<()> {
        for ((tally, column), array) in self.tallies.iter_mut().zip(schema).zip(batch.columns()) {
            let cells = cells(column.data_type, array.as_ref()).ok_or_else(|| {
                Error::internal(format!(
                    "a {:?} column came as {}",
                    column.data_type,
                    array.data_type()
                ))
            })?;
            for row in 0..array.len() {
                tally.add(if array.is_null(row) {
                    None
                } else {
                    Some(cells(row))
                });
            }
        }
        Ok(())
    }

    fn finish(self, whole: bool, total_rows: Option<u64>) -> HashMap<String, Statistics> {
        let nothing = self.rows == 0 && !whole;
        let finish = |tally: Tally| match nothing {
            true => Statistics::default(),
            false => tally.finish(whole, total_rows),
        };
        self.names
            .into_iter()
            .zip(self.tallies.into_iter().map(finish))
            .collect()
    }
}

/// `SELECT columns FROM table`, with a limit if the engine supports one. Asks of binary columns only whether they are
/// NULL: they may be large, and their values are never shown.
fn select(dialect: Dialect, table: &str, columns: &[ColumnInfo], limit: Option<u64>) -> String {
    let column = |column: &ColumnInfo| {
        let name = quote(dialect, &column.name);
        match bytes::holds(&column.native_type, dialect) {
            true => format!("CASE WHEN {name} IS NULL THEN NULL ELSE 1 END"),
            false => name,
        }
    };
    let columns = columns.iter().map(column).collect::<Vec<_>>().join(", ");
    match (dialect, limit) {
        (Dialect::Mssql, Some(limit)) => format!("SELECT TOP ({limit}) {columns} FROM {table}"),
        (_, Some(limit)) => format!("SELECT {columns} FROM {table} LIMIT {limit}"),
        (_, None) => format!("SELECT {columns} FROM {table}"),
    }
}

fn qualified(dialect: Dialect, table: &TableRef) -> String {
    format!(
        "{}.{}",
        quote(dialect, &table.schema),
        quote(dialect, &table.name)
    )
}

fn quote(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
        Dialect::Mssql => format!("[{}]", name.replace(']', "]]")),
        // A backslash begins an escape there, within quotes too: a name with one could end its own quotes.
        Dialect::Clickhouse => {
            let name = name.replace('\\', "\\\\").replace('"', "\"\"");
            format!("\"{name}\"")
        }
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn of_value(value: &Value, data_type: DataType) -> Option<Cell<'_>> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => Cell::Boolean(*value),
        Value::Int64(value) => Cell::Integer((*value).into()),
        Value::Uint64(value) => Cell::Integer((*value).into()),
        Value::Float64(value) => Cell::Float(*value),
        Value::Decimal(text) => Cell::Decimal(text),
        Value::Text(text) => Cell::Text(text),
        Value::Other(text) => of_other(text, data_type),
        Value::Bytes(bytes) => Cell::Bytes(bytes),
        Value::Date(days) => Cell::Date(*days),
        Value::Time(micros) => Cell::Time(*micros),
        Value::Timestamp(micros) => Cell::Timestamp(*micros),
        Value::TimestampUtc(micros) => Cell::TimestampUtc(*micros),
        Value::Json(text) => Cell::Json(text),
    })
}

/// A value that the type of its column cannot hold. It keeps the order of the type.
fn of_other(text: &str, data_type: DataType) -> Cell<'_> {
    match data_type {
        DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampUtc => {
            Cell::Beyond(text, place::place(text))
        }
        DataType::Int64 | DataType::Uint64 | DataType::Float64 | DataType::Decimal => {
            Cell::Decimal(text)
        }
        // It is no number, and has no place among truth values.
        DataType::Boolean => Cell::Beyond(text, None),
        _ => Cell::Text(text),
    }
}

/// A reader for a column of this type; `None` if the array has another physical type.
fn cells<'a>(
    data_type: DataType,
    array: &'a dyn Array,
) -> Option<Box<dyn Fn(usize) -> Cell<'a> + 'a>> {
    macro_rules! read {
        ($array:ty, $cell:expr) => {{
            let array = array.as_any().downcast_ref::<$array>()?;
            Some(Box::new(move |row: usize| $cell(array.value(row)))
                as Box<dyn Fn(usize) -> Cell<'a> + 'a>)
        }};
    }
    match data_type {
        DataType::Boolean => read!(BooleanArray, Cell::Boolean),
        DataType::Int64 => read!(Int64Array, |value: i64| Cell::Integer(value.into())),
        DataType::Uint64 => read!(UInt64Array, |value: u64| Cell::Integer(value.into())),
        DataType::Float64 => read!(Float64Array, Cell::Float),
        DataType::Decimal => read!(StringArray, Cell::Decimal),
        DataType::Text => read!(StringArray, Cell::Text),
        DataType::Json => read!(StringArray, Cell::Json),
        DataType::Bytes => read!(BinaryArray, Cell::Bytes),
        DataType::Date => read!(Date32Array, Cell::Date),
        DataType::Time => {
            read!(Time64MicrosecondArray, |micros: i64| Cell::Time(
                u64::try_from(micros).unwrap_or_default()
            ))
        }
        DataType::Timestamp => read!(TimestampMicrosecondArray, Cell::Timestamp),
        DataType::TimestampUtc => read!(TimestampMicrosecondArray, Cell::TimestampUtc),
        DataType::Any => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_stays_within_its_quotes() {
        let name = r#"a\" b"#;
        for (dialect, expected) in [
            (Dialect::Clickhouse, r#""a\\"" b""#),
            (Dialect::Postgresql, r#""a\"" b""#),
            (Dialect::Mysql, r#"`a\" b`"#),
            (Dialect::Mssql, r#"[a\" b]"#),
        ] {
            assert_eq!(quote(dialect, name), expected);
        }
    }
}
