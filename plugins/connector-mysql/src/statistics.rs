//! Column statistics out of the engine's own histograms, where they are fresh and say what is common.
//!
//! MariaDB's `JSON_HB` histograms have a bucket of its own for a common value, and say when they were made. Its older
//! histograms hold positions of bounds and no values, and MySQL says of a histogram neither whether rows changed since
//! nor, unless each value has a bucket, what is common: for those the host reads rows.

use mindhost_sdk::{ColumnStatistics, ErrorKind, Result, StatisticsOptions, TableRef};
use serde::Deserialize;

use crate::session::{Session, literal};

/// More common values are not passed on.
const MAX_COMMON: usize = 100;
/// MariaDB cuts the texts of the least and the greatest value here.
const MAX_EXTREME: usize = 255;

/// One row a column. The statistics are fresh if no row was written since they were made; a server that has restarted
/// since the last write no longer knows, and then none is fresh. A histogram says when it was made in the time zone of
/// the session that made it, which is not known and may be ahead of the server's. A time in the future shows that it
/// is. Once that time has passed nothing shows it, so the number of rows must fit as well. A histogram has the values
/// of a `timestamp` in that zone too, so those are not read.
const STATISTICS: &str = "
    SELECT c.column_name, c.nulls_ratio, c.avg_frequency, c.min_value, c.max_value, c.histogram, s.cardinality
    FROM mysql.column_stats c
    JOIN mysql.table_stats s ON s.db_name = c.db_name AND s.table_name = c.table_name
    JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.db_name AND t.TABLE_NAME = c.table_name
    JOIN information_schema.COLUMNS d ON d.TABLE_SCHEMA = c.db_name AND d.TABLE_NAME = c.table_name
        AND d.COLUMN_NAME = c.column_name
    WHERE c.hist_type = 'JSON_HB' AND d.DATA_TYPE <> 'timestamp'
        AND CONVERT_TZ(JSON_VALUE(c.histogram, '$.collected_at'), @@GLOBAL.time_zone, '+00:00')
        BETWEEN t.UPDATE_TIME AND UTC_TIMESTAMP()
        AND ABS(CAST(t.TABLE_ROWS AS SIGNED) - CAST(s.cardinality AS SIGNED))
        <= 1000 + 0.2 * s.cardinality";

#[derive(Deserialize)]
struct Histogram {
    histogram_hb: Vec<Bucket>,
}

#[derive(Deserialize)]
struct Bucket {
    start: Option<String>,
    size: f64,
    ndv: u64,
}

/// The statistics of the columns asked for; `None` when one of them has none that are fresh and may be read.
pub(crate) fn statistics(
    session: &mut Session,
    table: &TableRef,
    options: &StatisticsOptions,
) -> Result<Option<Vec<ColumnStatistics>>> {
    if !session.is_mariadb {
        return Ok(None);
    }
    let (schema, name) = (literal(&table.schema), literal(&table.name));
    let sql = format!("{STATISTICS} AND c.db_name = {schema} AND c.table_name = {name}");
    let mut found: Vec<ColumnStatistics> = Vec::new();
    let asked = session.rows(&sql, |row| {
        let name = row.text(0);
        let is_wanted = options.columns.iter().any(|wanted| wanted == name)
            && found.iter().all(|known| known.column != name);
        if is_wanted && let Ok(histogram) = serde_json::from_str::<Histogram>(row.text(5)) {
            let rows: f64 = row.number(6).unwrap_or_default();
            let nulls = row.number(1).unwrap_or_default();
            let mut column = ColumnStatistics::new(name);
            column.null_fraction = Some(f64::clamp(nulls, 0.0, 1.0));
            column.distinct_count = distinct(rows, nulls, row.number(2).unwrap_or_default());
            column.common_values = common(histogram, nulls);
            column.min_value = extreme(row.optional(3));
            column.max_value = extreme(row.optional(4));
            column.estimated = true;
            found.push(column);
        }
        Ok(())
    });
    match asked {
        Ok(()) => {}
        // The tables of statistics may not be read, or are not there, or are older.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Permission | ErrorKind::InvalidStatement
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    Ok((!found.is_empty() && found.len() == options.columns.len()).then_some(found))
}

/// The rows that are not NULL, by how many have the same value on average.
fn distinct(rows: f64, nulls: f64, frequency: f64) -> Option<u64> {
    // The cast saturates, and the number is never NaN here.
    (frequency >= 1.0).then(|| (rows * (1.0 - nulls) / frequency).round().max(1.0) as u64)
}

fn common(histogram: Histogram, nulls: f64) -> Vec<(String, f64)> {
    let mut common: Vec<(String, f64)> = histogram
        .histogram_hb
        .into_iter()
        .filter(|bucket| bucket.ndv == 1)
        // The sizes are shares of the values that are not NULL.
        .filter_map(|bucket| Some((bucket.start?, bucket.size * (1.0 - nulls))))
        .filter(|(_, share)| (0.0..=1.0).contains(share))
        .collect();
    common.sort_by(|a, b| b.1.total_cmp(&a.1));
    common.truncate(MAX_COMMON);
    common
}

fn extreme(text: Option<&str>) -> Option<String> {
    text.filter(|text| text.len() < MAX_EXTREME)
        .map(str::to_owned)
}
