//! Runs a statement again on the candidate version of a trial, and compares the rows.
//!
//! The caller has its result by then. Only repeatable statements are compared, without regard to the order of rows. A
//! difference counts only if the stable version returns the same rows before and after the candidate.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::access::Source;
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{Call, Column, Connector, Statement};
use mindhost_plugins::{registry::Registry, trial::Trial};
use mindhost_sql::{deterministic::is_deterministic, guard::GuardedStatement, json::Rows};

/// Results with more rows are not compared.
const MAX_ROWS: usize = 10_000;
/// Rows that one call of the connector returns at most.
const ROWS_AT_ONCE: u32 = 8_192;
/// Timeout for one of the runs; a slower statement is not compared.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A result without regard to the order of its rows.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint {
    columns: Vec<(String, String)>,
    rows: usize,
    /// The sum of the hashes of all rows: the same for every order, and counts rows that repeat.
    sum: [u64; 4],
}

/// Compares in the background, if the datasource has `shadow` set and a version is on trial. While one comparison of a
/// trial runs, others are skipped.
pub fn start(
    registry: &Registry,
    source: &Source,
    guarded: &GuardedStatement,
    tasks: &TaskTracker,
) {
    if !source.shadow || source.plugin_digest.is_some() || tasks.is_closed() {
        return;
    }
    let Some(trial) = registry.trial(&source.engine) else {
        return;
    };
    let Some(turn) = trial.watch.take_turn() else {
        return;
    };
    if !is_deterministic(guarded) {
        return;
    }
    let (source, text) = (source.clone(), guarded.text().to_owned());
    tasks.spawn(async move {
        compare(&trial, &source, &text).await;
        drop(turn);
    });
}

async fn compare(trial: &Trial<dyn Connector>, source: &Source, text: &str) {
    let Ok(Some(before)) = fingerprint(&trial.stable, source, text).await else {
        return;
    };
    let new = match fingerprint(&trial.candidate, source, text).await {
        Ok(new) => new,
        Err(error) => return trial.watch.failed(error.message()),
    };
    if new.as_ref() == Some(&before) {
        return;
    }
    let after = fingerprint(&trial.stable, source, text).await;
    if after.is_ok_and(|after| after.as_ref() == Some(&before)) {
        let found = new.map_or_else(|| "more rows".to_owned(), |new| new.difference(&before));
        trial.watch.differed(&found);
    }
}

impl Fingerprint {
    fn difference(&self, other: &Self) -> String {
        if self.columns != other.columns {
            return "other columns, or of other types".to_owned();
        }
        match self.rows == other.rows {
            true => format!("{} rows with other values", self.rows),
            false => format!("{} rows in place of {}", self.rows, other.rows),
        }
    }
}

/// `None` for a result that is too large to compare.
async fn fingerprint(
    connector: &Arc<dyn Connector>,
    source: &Source,
    text: &str,
) -> Result<Option<Fingerprint>> {
    let call = Call::new(TIMEOUT, CancellationToken::new());
    let mut connection = connector.connect(&source.target, &call).await?;
    let statement = Statement {
        text: text.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        timeout: TIMEOUT,
    };
    let columns = connection.query(&statement, &call).await?;
    let mut fingerprint = Fingerprint {
        columns: columns.iter().map(named).collect(),
        rows: 0,
        sum: [0; 4],
    };
    while let Some(batch) = connection.next(ROWS_AT_ONCE, &call).await? {
        let rows = Rows::new(Arc::clone(&columns), [batch]);
        fingerprint.rows += rows.len();
        if fingerprint.rows > MAX_ROWS {
            return Ok(None);
        }
        fingerprint.add(&rows)?;
    }
    connection.close(&call).await?;
    Ok(Some(fingerprint))
}

fn named(column: &Column) -> (String, String) {
    (column.name.clone(), format!("{:?}", column.data_type))
}

impl Fingerprint {
    fn add(&mut self, rows: &Rows) -> Result<()> {
        let text = serde_json::to_string(rows).map_err(Error::internal)?;
        let rows: Vec<&RawValue> = serde_json::from_str(&text).map_err(Error::internal)?;
        for row in rows {
            let hash = Sha256::digest(row.get());
            for (sum, part) in self.sum.iter_mut().zip(hash.chunks_exact(8)) {
                let part = part.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
                *sum = sum.wrapping_add(part);
            }
        }
        Ok(())
    }
}
