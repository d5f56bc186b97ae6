//! The queries of usage.

use std::collections::HashMap;

use jiff::{ToSpan, civil::Date};
use sqlx::AssertSqlSafe;

use super::{Account, Counts, Group, Line, Span};
use mindhost_base::error::{Error, Result};
use mindhost_store::{AnyRow, Row, Store};

pub(super) const EPOCH: Date = Date::constant(1970, 1, 1);

/// Adds to the sums. A key that was deleted with its workspace in the meantime is left out.
pub(super) async fn add(store: &Store, sums: &HashMap<Account, Counts>) -> Result<()> {
    let mut tx = store.begin_records().await?;
    for (who, counts) in sums {
        sqlx::query(
            "INSERT INTO usage_days (workspace_id, key_id, mind_id, day, requests, result_rows, bytes, input_tokens, \
             output_tokens) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 WHERE EXISTS (SELECT 1 FROM keys WHERE id = $2) \
             ON CONFLICT (key_id, mind_id, day) DO UPDATE SET requests = usage_days.requests + excluded.requests, \
             result_rows = usage_days.result_rows + excluded.result_rows, bytes = usage_days.bytes + excluded.bytes, \
             input_tokens = usage_days.input_tokens + excluded.input_tokens, \
             output_tokens = usage_days.output_tokens + excluded.output_tokens",
        )
        .bind(who.workspace.to_string())
        .bind(who.key.to_string())
        .bind(who.mind.to_string())
        .bind(who.day)
        .bind(stored(counts.requests))
        .bind(stored(counts.rows))
        .bind(stored(counts.bytes))
        .bind(stored(counts.input_tokens))
        .bind(stored(counts.output_tokens))
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// The counts of lines, as [`counts`] reads them.
const SUMS: &str = "CAST(SUM(u.requests) AS BIGINT) AS requests, CAST(SUM(u.result_rows) AS BIGINT) AS result_rows, \
     CAST(SUM(u.bytes) AS BIGINT) AS bytes, CAST(SUM(u.input_tokens) AS BIGINT) AS input_tokens, \
     CAST(SUM(u.output_tokens) AS BIGINT) AS output_tokens";

/// The columns of a group, and the order of its lines.
fn grouped(group: Option<Group>) -> (&'static str, &'static str) {
    match group {
        None => (
            "u.day, u.key_id, k.name, u.mind_id, m.name",
            "u.day DESC, u.key_id, u.mind_id",
        ),
        Some(Group::Key) => ("u.key_id, k.name", "requests DESC, u.key_id"),
        Some(Group::Mind) => ("u.mind_id, m.name", "requests DESC, u.mind_id"),
        Some(Group::Day) => ("u.day", "u.day DESC"),
    }
}

/// One line more than asked for, where there is one.
pub(super) async fn read(store: &Store, workspace: &str, span: &Span) -> Result<Vec<Line>> {
    let (columns, order) = grouped(span.group);
    let named = columns
        .replace("k.name", "k.name AS key_name")
        .replace("m.name", "m.name AS mind_name");
    let sql = format!(
        "SELECT {named}, {SUMS} FROM usage_days u JOIN keys k ON k.id = u.key_id \
         LEFT JOIN minds m ON m.id = u.mind_id AND m.workspace_id = u.workspace_id \
         WHERE u.workspace_id = $1 AND u.day BETWEEN $2 AND $3 AND ($4 = '' OR u.key_id = $4) \
         GROUP BY {columns} ORDER BY {order} LIMIT $5"
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(workspace)
        .bind(day_of(span.from))
        .bind(day_of(span.until))
        .bind(span.key.clone().unwrap_or_default())
        .bind(i64::from(span.limit) + 1)
        .fetch_all(store.pool())
        .await?
        .iter()
        .map(|row| line(row, span.group))
        .collect()
}

fn line(row: &AnyRow, group: Option<Group>) -> Result<Line> {
    let has = |one: Group| group.is_none_or(|group| group == one);
    let mut line = Line {
        day: None,
        key_id: None,
        key_name: None,
        mind: None,
        counts: counts(row)?,
    };
    if has(Group::Day) {
        let day: i64 = row.try_get("day")?;
        line.day = Some(EPOCH.checked_add(day.days()).map_err(Error::internal)?);
    }
    if has(Group::Key) {
        line.key_id = Some(row.try_get("key_id")?);
        line.key_name = Some(row.try_get("key_name")?);
    }
    if has(Group::Mind) {
        let mind: String = row.try_get("mind_id")?;
        let name: Option<String> = row.try_get("mind_name")?;
        line.mind = name.or_else(|| (!mind.is_empty()).then_some(mind));
    }
    Ok(line)
}

fn counts(row: &AnyRow) -> Result<Counts> {
    let count = |name: &str| -> Result<u64> {
        Ok(u64::try_from(row.try_get::<i64, _>(name)?).unwrap_or_default())
    };
    Ok(Counts {
        requests: count("requests")?,
        rows: count("result_rows")?,
        bytes: count("bytes")?,
        input_tokens: count("input_tokens")?,
        output_tokens: count("output_tokens")?,
    })
}

/// Days since 1970.
pub(super) fn day_of(date: Date) -> i64 {
    date.duration_since(EPOCH)
        .as_secs()
        .div_euclid(24 * 60 * 60)
}

pub(super) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(day_of(EPOCH), 0);
        assert_eq!(day_of(jiff::civil::date(2026, 11, 20)), 20_777);
    }
}
