//! Column statistics out of `pg_stats`, where ANALYZE has written fresh ones.

use std::fmt::Write;

use mindhost_sdk::{ColumnStatistics, ErrorKind, Result, StatisticsOptions, TableRef};

use crate::array::{literal, values};
use crate::error::untrue;
use crate::session::Session;
use crate::text_row::TextRow;

/// More common values are not passed on.
const MAX_COMMON: usize = 100;

/// One row a column that has statistics. They count as fresh while no more than a fifth of the rows (and a thousand)
/// changed since ANALYZE. Those of a table with partitions, or that others inherit from, are the inherited ones, as a
/// query reads the rows of all; then the rows and the changes are the sums of all too. Autovacuum analyses a partition
/// and forgets its changes, but never the table above it: so all rows of one that was analysed since count as changed.
/// An ANALYZE of the table above goes on to its partitions, for which it has an hour. How many rows a partitioned
/// table had at its ANALYZE is stored.
const STATISTICS: &str = "
    SELECT s.attname, s.null_frac::text, s.n_distinct::text, s.most_common_vals::text, s.most_common_freqs::text,
        s.histogram_bounds::text, format_type(a.atttypid, a.atttypmod), t.typdelim::text, rows.count::numeric::text
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (
        SELECT GREATEST(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid))
    ) whole (analyzed)
    CROSS JOIN LATERAL (
        WITH RECURSIVE tree (oid) AS (
            SELECT c.oid
            UNION
            SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid)
        SELECT CASE WHEN bool_and(l.reltuples >= 0) THEN sum(l.reltuples::float8) END,
            sum(COALESCE(pg_stat_get_mod_since_analyze(l.oid), 0) + CASE
                WHEN l.oid <> c.oid AND (whole.analyzed IS NULL
                    OR pg_stat_get_last_autoanalyze_time(l.oid) > whole.analyzed
                    OR pg_stat_get_last_analyze_time(l.oid) > whole.analyzed + interval '1 hour')
                THEN l.reltuples::float8 ELSE 0 END)
        FROM tree JOIN pg_catalog.pg_class l ON l.oid = tree.oid WHERE l.relkind <> 'p') rows (count, changed)
    JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
        AND s.inherited = (c.relkind = 'p' OR EXISTS (
            SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid))
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname AND NOT a.attisdropped
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'm', 'p', 'f') AND rows.count >= 0
        AND ($3::text[] = '{}' OR s.attname = ANY ($3::text[]))
        AND rows.changed <= 1000 + 0.2 * rows.count
        AND (c.relkind <> 'p' OR abs(rows.count - c.reltuples::float8) <= 1000 + 0.2 * rows.count)";

/// A column's statistics as the server stores them.
struct Found {
    name: String,
    null_fraction: Option<f64>,
    distinct: f64,
    common: Option<String>,
    frequencies: Option<String>,
    bounds: Option<String>,
    native_type: String,
    delimiter: u8,
    rows: f64,
}

/// The statistics of the columns asked for; `None` when one of them has none that are fresh and may be read.
pub(crate) fn statistics(
    session: &mut Session,
    table: &TableRef,
    options: &StatisticsOptions,
) -> Result<Option<Vec<ColumnStatistics>>> {
    let mut found: Vec<Found> = Vec::new();
    let names = literal(options.columns.iter().map(String::as_str));
    session.rows(STATISTICS, &[&table.schema, &table.name, &names], |row| {
        let name = row.text(0);
        let is_known = found.iter().any(|known| known.name == name);
        if is_known || !options.columns.iter().any(|asked| asked == name) {
            return Err(untrue(
                "has statistics of a column that was not asked for, or of one twice",
            ));
        }
        found.push(read(row));
        Ok(())
    })?;
    if found.is_empty()
        || options
            .columns
            .iter()
            .any(|column| !found.iter().any(|found| found.name == *column))
    {
        return Ok(None);
    }
    let mut statistics: Vec<ColumnStatistics> = found.iter().map(column).collect();
    match add_extremes(session, &found, &mut statistics) {
        Ok(()) => Ok(Some(statistics)),
        // A value that its type no longer takes, as of a domain whose check came later: let the host read rows.
        Err(error) if error.kind() == ErrorKind::InvalidStatement => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(row: &TextRow<'_>) -> Found {
    let text = |index| row.optional(index).map(str::to_owned);
    Found {
        name: row.text(0).to_owned(),
        null_fraction: row.number(1),
        distinct: row.number(2).unwrap_or_default(),
        common: text(3),
        frequencies: text(4),
        bounds: text(5),
        native_type: row.text(6).to_owned(),
        delimiter: row.text(7).bytes().next().unwrap_or(b','),
        rows: row.number(8).unwrap_or_default(),
    }
}

fn column(found: &Found) -> ColumnStatistics {
    let mut statistics = ColumnStatistics::new(found.name.as_str());
    statistics.null_fraction = found.null_fraction.map(|fraction| fraction.clamp(0.0, 1.0));
    statistics.distinct_count = distinct_count(found.distinct, found.rows, found.null_fraction);
    statistics.common_values = common_values(found).unwrap_or_default();
    statistics.estimated = true;
    statistics
}

/// A positive number is the count; a negative one is the count's share of all rows, with the sign turned. 0 is said of
/// a column whose sampled values were all NULL, and of one that cannot be compared.
fn distinct_count(distinct: f64, rows: f64, null_fraction: Option<f64>) -> Option<u64> {
    let count = if distinct < 0.0 {
        -distinct * rows
    } else {
        distinct
    };
    if count == 0.0 {
        return (null_fraction == Some(1.0)).then_some(0);
    }
    // The cast saturates, and a count is never NaN here.
    Some(count.round().max(1.0) as u64)
}

fn common_values(found: &Found) -> Option<Vec<(String, f64)>> {
    // Arrays of `box` are separated by semicolons, and so are their statistics.
    let texts = values(found.common.as_ref()?, found.delimiter).ok()?;
    let shares = values(found.frequencies.as_ref()?, b',').ok()?;
    let pairs = texts.into_iter().zip(shares).take(MAX_COMMON);
    Some(
        pairs
            .filter_map(|(text, share)| {
                let text = as_in_results(&text?, &found.native_type);
                Some((text, share?.parse().ok()?))
            })
            .collect(),
    )
}

/// A value as a result has it. The server writes `t` for true within arrays, fills `char(n)` with spaces, and puts one
/// between date and time.
fn as_in_results(text: &str, native_type: &str) -> String {
    let name = native_type.split(['(', ' ']).next().unwrap_or_default();
    if native_type.ends_with("[]") {
        return text.to_owned();
    }
    match (name, text) {
        ("boolean", "t") => "true".to_owned(),
        ("boolean", "f") => "false".to_owned(),
        // Not `character varying`.
        ("character", _) if !native_type.contains("varying") => {
            text.trim_end_matches(' ').to_owned()
        }
        ("real" | "double", _) => text.replace("e+", "e"),
        ("time", _) if native_type.ends_with("without time zone") => with_micros(text),
        // Neither `infinity` nor a year before Christ.
        ("timestamp", _) if text.matches(' ').count() == 1 => {
            let (local, zone) = match text.strip_suffix("+00") {
                Some(local) => (local, "Z"),
                None => (text, ""),
            };
            format!("{}{zone}", with_micros(&local.replace(' ', "T")))
        }
        _ => text.to_owned(),
    }
}

/// Results have six digits of a second or none.
fn with_micros(text: &str) -> String {
    match text.split_once('.') {
        Some((seconds, fraction)) => format!("{seconds}.{fraction:0<6}"),
        None => text.to_owned(),
    }
}

/// The smallest and the largest of the common values and the histogram's bounds together: the histogram leaves the
/// common values out. The server compares them, in the order of the column's type.
fn add_extremes(
    session: &mut Session,
    found: &[Found],
    statistics: &mut [ColumnStatistics],
) -> Result<()> {
    let (mut sql, mut parameters) = (String::new(), Vec::new());
    for (index, column) in found.iter().enumerate() {
        let arrays = [&column.common, &column.bounds].into_iter().flatten();
        let (native_type, mut parts) = (&column.native_type, Vec::new());
        for array in arrays {
            parameters.push(array.as_str());
            // Value by value: an array of arrays is no type that a text could be cast to.
            let array = format!("unnest(${}::text[])", parameters.len());
            parts.push(format!("SELECT v::{native_type} FROM {array} a (v)"));
        }
        if parts.is_empty() {
            continue;
        }
        let (union, values) = (
            if sql.is_empty() { "" } else { " UNION ALL " },
            parts.join(" UNION ALL "),
        );
        // Writing into a string cannot fail.
        _ = write!(
            sql,
            "{union}SELECT {index}::text, (SELECT s.v::text FROM ({values}) s (v) ORDER BY s.v LIMIT 1), \
             (SELECT s.v::text FROM ({values}) s (v) ORDER BY s.v DESC LIMIT 1)"
        );
    }
    if sql.is_empty() {
        return Ok(());
    }
    session.rows(&sql, &parameters, |row| {
        let index = row.number::<usize>(0);
        let found = index.and_then(|index| found.get(index));
        let statistics = index.and_then(|index| statistics.get_mut(index));
        if let (Some(found), Some(statistics)) = (found, statistics) {
            let value = |at| Some(as_in_results(row.optional(at)?, &found.native_type));
            statistics.min_value = value(1);
            statistics.max_value = value(2);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_in_results() {
        for (native, text, expected) in [
            ("boolean", "t", "true"),
            ("boolean", "false", "false"),
            ("character(5)", "ab   ", "ab"),
            ("character varying(5)", "ab  ", "ab  "),
            ("text", "t", "t"),
            ("double precision", "1e+300", "1e300"),
            ("double precision", "1.5", "1.5"),
            ("time without time zone", "01:02:03.05", "01:02:03.050000"),
            (
                "timestamp without time zone",
                "2024-01-02 03:04:05",
                "2024-01-02T03:04:05",
            ),
            (
                "timestamp(3) with time zone",
                "2024-01-02 03:04:05.25+00",
                "2024-01-02T03:04:05.250000Z",
            ),
            ("timestamp without time zone", "infinity", "infinity"),
            (
                "timestamp without time zone",
                "0044-03-15 00:00:00 BC",
                "0044-03-15 00:00:00 BC",
            ),
            ("boolean[]", "{t,f}", "{t,f}"),
        ] {
            assert_eq!(as_in_results(text, native), expected, "{native}");
        }
    }

    #[test]
    fn a_negative_distinct_is_a_share_of_the_rows() {
        for (distinct, rows, nulls, count) in [
            (5.0, 1000.0, 0.0, Some(5)),
            (-1.0, 1000.0, 0.0, Some(1000)),
            (-0.25, 1000.0, 0.5, Some(250)),
            (0.0, 1000.0, 1.0, Some(0)),
            (0.0, 1000.0, 0.5, None),
        ] {
            assert_eq!(distinct_count(distinct, rows, Some(nulls)), count);
        }
    }
}
