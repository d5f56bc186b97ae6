//! What the databases hold, read without the server.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::{Value, json};

/// The demo's databases, opened directly.
pub(crate) struct Truth {
    shop: Connection,
    warehouse: Connection,
}

impl Truth {
    pub(crate) fn open(files: &Path) -> Result<Self> {
        let open = |file: &str| {
            Connection::open_with_flags(files.join(file), OpenFlags::SQLITE_OPEN_READ_ONLY)
                .context(file.to_owned())
        };
        Ok(Self {
            shop: open("shop.db")?,
            warehouse: open("warehouse.db")?,
        })
    }

    /// The rows of a query on the shop.
    pub(crate) fn shop(&self, sql: &str) -> Result<Vec<Vec<Value>>> {
        rows(&self.shop, sql)
    }

    /// The rows of a query on the warehouse.
    pub(crate) fn warehouse(&self, sql: &str) -> Result<Vec<Vec<Value>>> {
        rows(&self.warehouse, sql)
    }
}

fn rows(db: &Connection, sql: &str) -> Result<Vec<Vec<Value>>> {
    let mut statement = db.prepare(sql).with_context(|| sql.to_owned())?;
    let width = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..width)
            .map(|column| row.get_ref(column).map(value))
            .collect::<rusqlite::Result<Vec<Value>>>()
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(iso(&String::from_utf8_lossy(text))),
        ValueRef::Blob(bytes) => json!(format!("{} bytes", bytes.len())),
    }
}

/// A timestamp as the API writes it, any other text as it is.
fn iso(text: &str) -> String {
    match text.as_bytes() {
        [date @ .., b' ', _, _, b':', _, _, b':', _, _] if date.len() == 10 => {
            text.replacen(' ', "T", 1)
        }
        _ => text.to_owned(),
    }
}

/// A value as people write it: a whole amount has no fraction, whatever type carries it.
fn plain(value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::String(text), _) => match text.parse::<f64>() {
            Ok(number) => number.to_string(),
            Err(_) => text.clone(),
        },
        (_, Some(number)) => number.to_string(),
        (other, None) => other.to_string(),
    }
}

/// Whether two results hold the same, whether a decimal comes as a number or as text.
pub(crate) fn same(left: &[Vec<Value>], right: &[Vec<Value>]) -> bool {
    let all = |rows: &[Vec<Value>]| {
        rows.iter()
            .map(|row| row.iter().map(plain).collect())
            .collect::<Vec<Vec<_>>>()
    };
    all(left) == all(right)
}

/// Whether every value of the rows stands in a text, in any of the ways to write a number.
pub(crate) fn says(text: &str, rows: &[Vec<Value>]) -> bool {
    let text = text.replace([',', '\u{a0}', '\u{202f}'], "");
    let stands = |value: &Value| {
        let plain = plain(value).replace(',', "");
        text.contains(&plain)
    };
    rows.iter().flatten().all(stands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_compared_as_the_api_writes_them() {
        assert_eq!(iso("2023-01-05 05:35:06"), "2023-01-05T05:35:06");
        assert_eq!(iso("2 o'clock"), "2 o'clock");
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(same(
            &[vec![json!("12.50"), json!("Łódź")]],
            &[vec![json!(12.5), json!("Łódź")]]
        ));
        assert!(!same(&[vec![json!(1)]], &[vec![json!(2)]]));
        assert!(says(
            "The revenue is **4,864,900.75**.",
            &[vec![json!(4_864_900.75)]]
        ));
        assert!(!says("The revenue is 4.", &[vec![json!(5)]]));
    }
}
