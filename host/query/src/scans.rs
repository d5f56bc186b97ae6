//! What a statement asked of a source that only yields rows, and what came back: for those who ask to explain it.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use datafusion::arrow::temporal_conversions::{
    date32_to_datetime, time64us_to_time, timestamp_us_to_datetime,
};
use mindhost_base::locks::lock;
use mindhost_plugin_api::{
    Batch, Value,
    scanner::{Filter, FilterOp, Scan},
};

/// Values of a list that are shown.
const SHOWN_VALUES: usize = 10;

/// The scans of one statement, in the order in which they began.
#[derive(Clone, Default)]
pub struct Scans(Arc<Mutex<Vec<ScanRecord>>>);

struct ScanRecord {
    scan: Scan,
    rows: u64,
    bytes: u64,
}

impl Scans {
    /// Notes a scan that begins. Returns its index.
    pub fn begin(&self, scan: &Scan) -> usize {
        let mut scans = lock(&self.0);
        scans.push(ScanRecord {
            scan: scan.clone(),
            rows: 0,
            bytes: 0,
        });
        scans.len() - 1
    }

    /// Counts rows that came back.
    pub fn received(&self, index: usize, batch: &Batch) {
        if let Some(record) = lock(&self.0).get_mut(index) {
            record.rows += batch.rows() as u64;
            record.bytes += batch.bytes() as u64;
        }
    }

    /// A line for each scan.
    pub fn lines(&self) -> String {
        let scans = lock(&self.0);
        scans.iter().map(|record| format!("{record}\n")).collect()
    }
}

impl fmt::Display for ScanRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scan {
            table,
            columns,
            filters,
            limit,
            ..
        } = &self.scan;
        let columns: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        write!(f, "scan of {table}: columns {}", columns.join(", "))?;
        for (index, filter) in filters.iter().enumerate() {
            let word = if index == 0 { "; where" } else { " and" };
            write!(f, "{word} {}", shown(filter))?;
        }
        if let Some(limit) = limit {
            write!(f, "; at most {limit} rows")?;
        }
        write!(f, "; {} rows, {} bytes came back", self.rows, self.bytes)
    }
}

fn shown(filter: &Filter) -> String {
    let Filter { column, op, values } = filter;
    let operator = match op {
        FilterOp::Eq => "=",
        FilterOp::NotEq => "<>",
        FilterOp::Lt => "<",
        FilterOp::LtEq => "<=",
        FilterOp::Gt => ">",
        FilterOp::GtEq => ">=",
        FilterOp::InList => "IN",
        FilterOp::IsNull => "IS NULL",
        FilterOp::IsNotNull => "IS NOT NULL",
        FilterOp::Like => "LIKE",
    };
    let mut text = format!("{column} {operator}");
    let some: Vec<String> = values.iter().take(SHOWN_VALUES).map(literal).collect();
    let more = values.len().saturating_sub(SHOWN_VALUES);
    // Writing to a string does not fail.
    let _ = match (op, more) {
        (FilterOp::InList, 0) => write!(text, " ({})", some.join(", ")),
        (FilterOp::InList, more) => write!(text, " ({} and {more} more)", some.join(", ")),
        _ if some.is_empty() => Ok(()),
        _ => write!(text, " {}", some.join(", ")),
    };
    text
}

fn literal(value: &Value) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let time = |text: Option<String>| text.map_or_else(|| "?".to_owned(), |text| quoted(&text));
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Int64(value) => value.to_string(),
        Value::Uint64(value) => value.to_string(),
        Value::Float64(value) => value.to_string(),
        Value::Decimal(text) => text.clone(),
        Value::Text(text) | Value::Json(text) | Value::Other(text) => quoted(text),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::Date(days) => time(date32_to_datetime(*days).map(|time| time.date().to_string())),
        Value::Time(micros) => {
            let micros = i64::try_from(*micros).ok();
            time(
                micros
                    .and_then(time64us_to_time)
                    .map(|time| time.to_string()),
            )
        }
        Value::Timestamp(micros) => {
            time(timestamp_us_to_datetime(*micros).map(|time| time.to_string()))
        }
        Value::TimestampUtc(micros) => {
            time(timestamp_us_to_datetime(*micros).map(|time| format!("{time}Z")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_shown_as_conditions() {
        let filter = |op, values| Filter {
            column: "c".into(),
            op,
            values,
        };
        for (filter, text) in [
            (
                filter(FilterOp::Eq, vec![Value::Text("it's".into())]),
                "c = 'it''s'",
            ),
            (filter(FilterOp::IsNull, vec![]), "c IS NULL"),
            (
                filter(FilterOp::Gt, vec![Value::Date(19_782)]),
                "c > '2024-02-29'",
            ),
            (
                filter(
                    FilterOp::Lt,
                    vec![Value::TimestampUtc(1_709_208_000_000_000)],
                ),
                "c < '2024-02-29 12:00:00Z'",
            ),
            (
                filter(FilterOp::LtEq, vec![Value::Time(3_723_000_000)]),
                "c <= '01:02:03'",
            ),
            (
                filter(FilterOp::InList, (0..12).map(Value::Int64).collect()),
                "c IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more)",
            ),
        ] {
            assert_eq!(shown(&filter), text);
        }
    }
}
