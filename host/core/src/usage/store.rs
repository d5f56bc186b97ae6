//! The queries of usage.

use std::collections::HashMap;

use jiff::{ToSpan, civil::Date};

use super::{Account, Counts, Line, Span};
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

/// One line more than asked for, where there is one.
pub(super) async fn read(store: &Store, workspace: &str, span: &Span) -> Result<Vec<Line>> {
    sqlx::query(
        "SELECT u.day, u.key_id, k.name AS key_name, u.mind_id, m.name AS mind_name, u.requests, u.result_rows, u.bytes, \
         u.input_tokens, u.output_tokens FROM usage_days u JOIN keys k ON k.id = u.key_id \
         LEFT JOIN minds m ON m.id = u.mind_id AND m.workspace_id = u.workspace_id \
         WHERE u.workspace_id = $1 AND u.day BETWEEN $2 AND $3 AND ($4 = '' OR u.key_id = $4) \
         ORDER BY u.day DESC, u.key_id, u.mind_id LIMIT $5",
    )
    .bind(workspace)
    .bind(day_of(span.from))
    .bind(day_of(span.until))
    .bind(span.key.clone().unwrap_or_default())
    .bind(i64::from(span.limit) + 1)
    .fetch_all(store.pool())
    .await?
    .iter()
    .map(line)
    .collect()
}

fn line(row: &AnyRow) -> Result<Line> {
    let count = |name: &str| -> Result<u64> {
        Ok(u64::try_from(row.try_get::<i64, _>(name)?).unwrap_or_default())
    };
    let mind: String = row.try_get("mind_id")?;
    let name: Option<String> = row.try_get("mind_name")?;
    let day: i64 = row.try_get("day")?;
    Ok(Line {
        day: EPOCH.checked_add(day.days()).map_err(Error::internal)?,
        key_id: row.try_get("key_id")?,
        key_name: row.try_get("key_name")?,
        mind: name.or_else(|| (!mind.is_empty()).then_some(mind)),
        counts: Counts {
            requests: count("requests")?,
            rows: count("result_rows")?,
            bytes: count("bytes")?,
            input_tokens: count("input_tokens")?,
            output_tokens: count("output_tokens")?,
        },
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
