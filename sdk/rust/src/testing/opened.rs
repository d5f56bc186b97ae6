//! A plugin opened in a unit test, and called as the host calls it.

use super::rows;
use crate::batch::{BatchLimits, Row};
use crate::config::Config;
use crate::connector::session::Connection;
use crate::connector::{Connector, Statement};
use crate::error::{Error, Result};
use crate::sanity;
use crate::scanner::session::Source;
use crate::scanner::{ScanRequest, Scanner};
use crate::values::{Batch, Column};

/// Few rows a batch, so that a result of some rows has several.
const LIMITS: BatchLimits = BatchLimits {
    max_rows: 100,
    max_bytes: 1 << 20,
};

/// A scanner with this configuration, given as JSON. What it returns is checked as in a host.
///
/// # Errors
/// Those of [`Scanner::open`].
pub fn open_scanner<T: Scanner>(config: &str) -> Result<OpenScanner<T>> {
    Source::open(&Config::from_json(config)).map(OpenScanner)
}

/// A connector with this configuration, given as JSON. What it returns is checked as in a host.
///
/// # Errors
/// Those of [`Connector::open`].
pub fn open_connector<T: Connector>(config: &str) -> Result<OpenConnector<T>> {
    Connection::open(&Config::from_json(config)).map(OpenConnector)
}

/// A scanner in a unit test; [`open_scanner`] makes it.
pub struct OpenScanner<T: Scanner>(Source<T>);

impl<T: Scanner> OpenScanner<T> {
    /// All rows of a scan, which is closed then.
    ///
    /// # Errors
    /// Those of the scanner, and `Internal` for rows that a host would refuse.
    pub fn scan(&self, request: &ScanRequest) -> Result<Vec<Row>> {
        let cursor = self.0.scan(request)?;
        let columns = cursor.with(T::schema)?;
        sanity::table_columns(&columns)?;
        let all = collect(&columns, || {
            cursor.with(|scanner, scan| scanner.next(scan, LIMITS))
        })?;
        cursor.close()?;
        Ok(all)
    }

    /// Any other function of the scanner.
    ///
    /// # Errors
    /// Those of the function.
    pub fn with<R>(&self, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        self.0.with(call)
    }
}

/// A connector in a unit test; [`open_connector`] makes it.
pub struct OpenConnector<T: Connector>(Connection<T>);

impl<T: Connector> OpenConnector<T> {
    /// The columns and all rows of a statement, whose cursor is closed then.
    ///
    /// # Errors
    /// Those of the connector, and `Internal` for rows that a host would refuse.
    pub fn query(&self, statement: &Statement) -> Result<(Vec<Column>, Vec<Row>)> {
        let cursor = self.0.query(statement)?;
        let columns = cursor.schema()?;
        let all = collect(&columns, || cursor.next(LIMITS))?;
        cursor.close()?;
        Ok((columns, all))
    }

    /// Any other function of the connector.
    ///
    /// # Errors
    /// Those of the function.
    pub fn with<R>(&self, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        self.0.with(call)
    }
}

fn collect(
    columns: &[Column],
    mut next: impl FnMut() -> Result<Option<Batch>>,
) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    while let Some(batch) = next()? {
        for row in rows(&batch, columns)? {
            check(&row, columns)?;
            all.push(row);
        }
    }
    Ok(all)
}

/// What a host refuses in a row.
fn check(row: &Row, columns: &[Column]) -> Result<()> {
    if row.len() != columns.len() {
        let message = format!("a row of {} values in {} columns", row.len(), columns.len());
        return Err(Error::internal(message));
    }
    let wrong = row
        .iter()
        .zip(columns)
        .find(|(value, column)| !column.accepts(value) || !sanity::is_sane(value));
    match wrong {
        None => Ok(()),
        Some((value, column)) => Err(Error::internal(format!(
            "a value of type {} in the column `{}` of type {}",
            value.type_name(),
            column.name,
            column.data_type.name()
        ))),
    }
}

#[cfg(test)]
mod tests;
