//! The queries of the usage of plugins.

use std::{collections::HashMap, fmt::Write, sync::LazyLock};

use jiff::ToSpan;
use sqlx::AssertSqlSafe;

use super::{Account, Line, Span};
use crate::usage::store::{EPOCH, day_of, stored};
use mindhost_base::error::{Error, Result};
use mindhost_runtime::meter::{Figure, Figures};
use mindhost_store::{AnyRow, Row, Store};

/// What a figure is called in the store; `rows` is a word of SQL.
fn column(figure: Figure) -> &'static str {
    match figure {
        Figure::Rows => "result_rows",
        other => other.name(),
    }
}

/// One column for each figure, all from the program itself.
static ADD: LazyLock<String> = LazyLock::new(|| {
    let mut columns = String::from(
        "day, digest, target_id, plugin, version, target_name, workspace, peak_memory_bytes",
    );
    let mut values = String::from("$1, $2, $3, $4, $5, $6, $7, $8");
    let mut sums = String::from(
        "target_name = excluded.target_name, peak_memory_bytes = CASE WHEN excluded.peak_memory_bytes > \
         plugin_usage_days.peak_memory_bytes THEN excluded.peak_memory_bytes ELSE plugin_usage_days.peak_memory_bytes END",
    );
    for (number, figure) in (9..).zip(Figure::ALL) {
        let column = column(*figure);
        // Writing to a string does not fail.
        let _ = write!(columns, ", {column}");
        let _ = write!(values, ", ${number}");
        let _ = write!(
            sums,
            ", {column} = plugin_usage_days.{column} + excluded.{column}"
        );
    }
    format!(
        "INSERT INTO plugin_usage_days ({columns}) VALUES ({values}) ON CONFLICT (day, digest, target_id) DO UPDATE SET {sums}"
    )
});

/// Adds increments to the stored sums in one transaction, and keeps the larger peak of memory.
pub(super) async fn add(store: &Store, sums: &HashMap<Account, Figures>) -> Result<()> {
    let mut tx = store.begin_records().await?;
    for (who, figures) in sums {
        let mut query = sqlx::query(AssertSqlSafe(ADD.as_str()))
            .bind(who.day)
            .bind(who.version.digest.clone())
            .bind(who.target.id.clone())
            .bind(who.version.plugin.clone())
            .bind(who.version.version.clone())
            .bind(who.target.name.clone())
            .bind(who.target.workspace.clone())
            .bind(stored(figures.peak_memory_bytes));
        for figure in Figure::ALL {
            query = query.bind(stored(figures.get(*figure)));
        }
        query.execute(&mut *tx).await?;
    }
    Ok(tx.commit().await?)
}

/// Deletes what is from before a day.
pub(super) async fn delete(store: &Store, before: i64) -> Result<()> {
    let mut tx = store.begin_records().await?;
    sqlx::query("DELETE FROM plugin_usage_days WHERE day < $1")
        .bind(before)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

/// One line more than asked for, where there is one.
pub(super) async fn read(store: &Store, span: &Span) -> Result<Vec<Line>> {
    sqlx::query(
        "SELECT * FROM plugin_usage_days WHERE plugin = $1 AND day BETWEEN $2 AND $3 \
         ORDER BY day DESC, digest, target_id LIMIT $4",
    )
    .bind(span.plugin.clone())
    .bind(day_of(span.from))
    .bind(day_of(span.until))
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
    let mut figures = Figures {
        peak_memory_bytes: count("peak_memory_bytes")?,
        ..Figures::default()
    };
    for figure in Figure::ALL {
        *figures.get_mut(*figure) = count(column(*figure))?;
    }
    let day: i64 = row.try_get("day")?;
    Ok(Line {
        day: EPOCH.checked_add(day.days()).map_err(Error::internal)?,
        version: row.try_get("version")?,
        digest: row.try_get("digest")?,
        target_id: row.try_get("target_id")?,
        target: row.try_get("target_name")?,
        workspace: row.try_get("workspace")?,
        figures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_runtime::ids::{TargetId, VersionId};

    #[tokio::test]
    async fn usage_of_one_day_is_one_line() {
        let (_dir, store, _) = mindhost_store::testing::temporary().await;
        let who = Account {
            version: VersionId {
                plugin: "connector-x".into(),
                version: "1.0.0".into(),
                digest: "d".into(),
            },
            target: TargetId {
                id: "1".into(),
                name: "shop".into(),
                workspace: "default".into(),
            },
            day: 20_777,
        };
        let mut figures = Figures::default();
        for (count, figure) in (1..).zip(Figure::ALL) {
            *figures.get_mut(*figure) = count;
        }
        for peak_memory_bytes in [5, 9, 7] {
            let figures = Figures {
                peak_memory_bytes,
                ..figures
            };
            let sums = HashMap::from([(who.clone(), figures)]);
            add(&store, &sums).await.unwrap();
        }
        let span = Span {
            plugin: "connector-x".into(),
            from: EPOCH,
            until: jiff::civil::date(2026, 12, 31),
            limit: 10,
        };
        let lines = read(&store, &span).await.unwrap();
        assert_eq!(lines.len(), 1);
        for (count, figure) in (1..).zip(Figure::ALL) {
            assert_eq!(lines[0].figures.get(*figure), 3 * count, "{figure:?}");
        }
        assert_eq!(lines[0].figures.peak_memory_bytes, 9);
        delete(&store, 20_778).await.unwrap();
        assert!(read(&store, &span).await.unwrap().is_empty());
    }
}
