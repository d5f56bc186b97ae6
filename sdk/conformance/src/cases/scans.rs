//! What a scanner yields, asked of it directly, as the host's query engine does: whatever it is asked to leave out, the
//! rows must be those that the kit finds by itself among all rows.

mod cases;
mod expected;

use std::collections::HashMap;

use mindhost_sdk::{
    Column, TableRef, Value,
    scanner::{Filter, Pushdown},
};

use self::expected::passes;
use crate::{
    bench::{Bench, ROWS, usual},
    case::{Expect, Stop, ensure, skipped_until},
    subject::{Limits, Scan, Source},
};

pub(super) use self::cases::CASES;

/// Rows of a table that are compared at most.
const MOST: usize = 2_000;
const CLAIM: &str = "claim `exact` only for a filter that leaves the very rows that SQL would, `inexact` for one that leaves more, `no` for the rest; apply every filter that was claimed, with all of its values";

type Row = Vec<Value>;

/// A small table with all of its rows.
struct Whole {
    table: TableRef,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Whole {
    fn scan(&self) -> Scan {
        Scan {
            table: self.table.clone(),
            columns: self.columns.clone(),
            filters: Vec::new(),
            limit: None,
        }
    }

    fn cells(&self, column: usize) -> Vec<&Value> {
        self.rows.iter().filter_map(|row| row.get(column)).collect()
    }

    /// The rows that pass all of some filters; none where the kit cannot say.
    fn passing(&self, filters: &[&Filter]) -> Option<Vec<&Row>> {
        let mut passing = Vec::new();
        for row in &self.rows {
            let mut all = true;
            for filter in filters {
                let column = self
                    .columns
                    .iter()
                    .position(|one| one.name == filter.column)?;
                all &= passes(row.get(column)?, filter)?;
            }
            if all {
                passing.push(row);
            }
        }
        Some(passing)
    }
}

/// Small tables with their rows.
async fn tables(bench: &Bench, source: &mut dyn Source) -> Result<Vec<Whole>, Stop> {
    let tables = match bench.named_table() {
        Some(table) => vec![table],
        None => bench.first_tables(source.tables(&usual()).await)?,
    };
    let mut found = Vec::new();
    for table in tables {
        let columns = source.columns(&table, &usual()).await;
        let columns = columns.expect_to(format!("the columns of `{}` are told", table.name))?;
        let mut whole = Whole {
            table,
            columns,
            rows: Vec::new(),
        };
        whole.rows = read_some(source, &whole.scan(), ROWS).await?;
        if (1..=MOST).contains(&whole.rows.len()) {
            found.push(whole);
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(skipped_until(
            format!("no table has from 1 to {MOST} rows"),
            "connection_data that reach such a table, or tests.table",
        )),
    }
}

/// The rows of a scan, so many at a time, until there are too many of them.
async fn read_some(source: &mut dyn Source, scan: &Scan, max_rows: u32) -> Result<Vec<Row>, Stop> {
    let what = format!("{} can be read", shown(scan));
    let id = source.scan(scan, &usual()).await.expect_to(&what)?;
    let mut rows = Vec::new();
    while rows.len() <= MOST {
        let Some(batch) = source.next(id, max_rows, &usual()).await.expect_to(&what)? else {
            break;
        };
        rows.extend(batch.values);
    }
    source
        .close(id, &usual())
        .await
        .expect_to("the scan closes")?;
    Ok(rows)
}

/// A scan for a person.
fn shown(scan: &Scan) -> String {
    let names: Vec<_> = scan.columns.iter().map(|one| one.name.as_str()).collect();
    let mut text = format!(
        "a scan of {}.{} for {}",
        scan.table.schema,
        scan.table.name,
        names.join(", ")
    );
    for filter in &scan.filters {
        text += &format!(
            " with {} {:?} {:?}",
            filter.column, filter.op, filter.values
        );
    }
    if let Some(limit) = scan.limit {
        text += &format!(" and the limit {limit}");
    }
    text
}

/// How often each row is there.
fn counted<'a>(rows: impl IntoIterator<Item = &'a Row>) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for row in rows {
        *counts.entry(format!("{row:?}")).or_default() += 1;
    }
    counts
}

/// A row that is oftener in the one than in the other.
fn beyond<'a>(one: &'a HashMap<String, usize>, other: &HashMap<String, usize>) -> Option<&'a str> {
    let more =
        |(row, count): &(&String, &usize)| other.get(*row).is_none_or(|there| there < *count);
    one.iter().find(more).map(|(row, _)| row.as_str())
}

/// All rows that must come did, and none that must not.
fn within<'a>(
    what: &str,
    came: &[Row],
    least: impl IntoIterator<Item = &'a Row>,
    most: impl IntoIterator<Item = &'a Row>,
    next: &str,
) -> Result<(), Stop> {
    let (came, least, most) = (counted(came), counted(least), counted(most));
    if let Some(row) = beyond(&came, &most) {
        return ensure(
            false,
            format!("{what}: the rows that the kit finds among all rows of the table"),
            format!("a row that is not among them, or too often: {row}"),
            next,
        );
    }
    match beyond(&least, &came) {
        None => Ok(()),
        Some(row) => ensure(
            false,
            format!("{what}: the rows that the kit finds among all rows of the table"),
            format!("not all of them; there is no {row}"),
            next,
        ),
    }
}

/// Which of some filters a source would apply, and how far.
async fn support(
    source: &mut dyn Source,
    whole: &Whole,
    filters: &[Filter],
) -> Result<Vec<Pushdown>, Stop> {
    let answers = source
        .filter_support(&whole.table, filters, &usual())
        .await
        .expect_to("`filter-support` answers")?;
    Ok(answers)
}

/// Scans with filters, each of which is claimed as far as it is, and compares the rows.
async fn holds(
    source: &mut dyn Source,
    whole: &Whole,
    filters: &[(&Filter, Pushdown)],
) -> Result<(), Stop> {
    let all: Vec<&Filter> = filters.iter().map(|(filter, _)| *filter).collect();
    let exact: Vec<&Filter> = filters
        .iter()
        .filter(|(_, claim)| *claim == Pushdown::Exact)
        .map(|(filter, _)| *filter)
        .collect();
    let (Some(least), Some(most)) = (whole.passing(&all), whole.passing(&exact)) else {
        return Ok(());
    };
    let scan = Scan {
        filters: all.into_iter().cloned().collect(),
        ..whole.scan()
    };
    let came = read_some(source, &scan, ROWS).await?;
    within(&shown(&scan), &came, least, most, CLAIM)
}

/// The usual limits with cells of so many bytes.
fn small_cells(bytes: usize) -> Limits {
    Limits {
        cell_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        ..Limits::USUAL
    }
}
