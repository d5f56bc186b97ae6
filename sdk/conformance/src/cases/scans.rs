//! What a scanner yields, asked of it directly, as the host's query engine does: whatever it is asked to leave out, the
//! rows must be those that the kit finds by itself among all rows.

mod cases;
mod expected;
mod reader;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use mindhost_plugin_api::{
    Column, TableRef, Value,
    scanner::{Filter, Pushdown, Scan},
};

use self::{expected::passes, reader::Reader};
use crate::{
    bench::{Bench, ROWS, new_id, usual},
    case::{Expect, Stop, ensure, skipped_until},
    sandbox::Limits,
};

pub(super) use self::cases::CASES;

/// Rows of a table that are read at first. One with more is large: its rows are not all known.
const MOST: usize = 2_000;
/// Rows that are read of a large table through a filter.
const MOST_FILTERED: usize = 20_000;
/// Filters or pairs of them that must be tried, if there are so many.
const FEWEST: usize = 5;
/// How many times its usual time a case may take until it has tried the fewest. Four times are 60 s of the 150 s that
/// any case has.
const PATIENT: u32 = 4;
const CLAIM: &str = "claim `exact` only for a filter that leaves the very rows that SQL would, `inexact` for one that leaves more, `no` for the rest; apply every filter that was claimed, with all of its values";

type Row = Vec<Value>;

/// A table with its first rows.
pub(crate) struct Sample {
    pub(super) table: TableRef,
    columns: Arc<[Column]>,
    pub(super) rows: Vec<Row>,
    /// Whether these are all of its rows.
    is_whole: bool,
}

impl Sample {
    fn scan(&self) -> Scan {
        whole(self.table.clone(), Arc::clone(&self.columns))
    }

    /// Whether a scan of all rows may end after so many.
    pub(super) fn may_end_after(&self, rows: usize) -> bool {
        match self.is_whole {
            true => rows == self.rows.len(),
            false => rows >= self.rows.len(),
        }
    }

    fn cells(&self, column: usize) -> Vec<&Value> {
        self.rows.iter().filter_map(|row| row.get(column)).collect()
    }

    /// Whether a row passes all of some filters; none where the kit cannot say.
    fn passes(&self, row: &Row, filters: &[&Filter]) -> Option<bool> {
        let mut all = true;
        for filter in filters {
            let mut columns = self.columns.iter();
            let column = columns.position(|one| one.name == filter.column)?;
            all &= passes(row.get(column)?, filter)?;
        }
        Some(all)
    }

    /// The rows that pass all of some filters; none where the kit cannot say.
    fn passing(&self, filters: &[&Filter]) -> Option<Vec<&Row>> {
        let mut passing = Vec::new();
        for row in &self.rows {
            if self.passes(row, filters)? {
                passing.push(row);
            }
        }
        Some(passing)
    }
}

/// A scan of all rows.
fn whole(table: TableRef, columns: Arc<[Column]>) -> Scan {
    Scan {
        table,
        columns,
        filters: Vec::new(),
        limit: None,
        is_count: false,
        id: new_id(),
    }
}

/// The first tables with their first rows, read once a run.
pub(super) async fn tables(bench: &Bench) -> Result<&[Sample], Stop> {
    let samples = bench.samples_of_tables.get_or_try_init(|| look(bench));
    Ok(samples.await?)
}

async fn look(bench: &Bench) -> Result<Vec<Sample>, Stop> {
    let start = Instant::now();
    let mut reader = Reader::new(bench, Limits::USUAL);
    let tables = match bench.named_tables() {
        named if named.is_empty() => {
            bench.first_tables(reader.source().await?.tables(&usual()).await)?
        }
        named => named,
    };
    let mut found = Vec::new();
    for table in tables {
        if !found.is_empty() && start.elapsed() > bench.pace.look_at_all {
            break;
        }
        let columns = reader.source().await?.columns(&table, &usual()).await;
        let columns = columns.expect_to(format!("describes the columns of `{}`", table.name))?;
        let mut sample = Sample {
            table,
            columns,
            rows: Vec::new(),
            is_whole: false,
        };
        let read = reader
            .read(&sample.scan(), ROWS, MOST, bench.pace.look)
            .await?;
        (sample.rows, sample.is_whole) = (read.rows, read.ended);
        if !sample.rows.is_empty() {
            found.push(sample);
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(skipped_until(
            "no table has a row",
            "connection_data that reach a table with rows, or tests.table",
        )),
    }
}

/// The tables of which all rows are known.
async fn small(bench: &Bench) -> Result<Vec<&Sample>, Stop> {
    let all = tables(bench).await?.iter();
    let small: Vec<_> = all.filter(|sample| sample.is_whole).collect();
    match small.is_empty() {
        false => Ok(small),
        true => Err(skipped_until(
            format!("no table has from 1 to {MOST} rows"),
            "connection_data that reach such a table, or tests.table",
        )),
    }
}

/// The time of a case, shared out among its tables: a slow source gets fewer trials, and the case ends.
struct Turns {
    end: Instant,
    /// The end for a case that has tried too little.
    last: Instant,
    tables: usize,
    begun: usize,
}

impl Turns {
    fn among(tables: usize, time: Duration) -> Self {
        let now = Instant::now();
        Self {
            end: now + time,
            last: now + time * PATIENT,
            tables,
            begun: 0,
        }
    }

    /// Until when the next table may be tried; none when the time is over. The first table always has its turn.
    fn next(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let left = self.end.saturating_duration_since(now);
        if self.begun > 0 && left.is_zero() {
            return None;
        }
        let waiting = self.tables.saturating_sub(self.begun).max(1);
        self.begun += 1;
        let share = left / u32::try_from(waiting).unwrap_or(u32::MAX);
        Some(now + share)
    }

    /// Whether a table that may be tried until `end` has had its turn. Where too little was tried by then, which proves
    /// nothing, it goes on for some time: the machine may have other work.
    fn is_over(&self, end: Instant, tried: usize) -> bool {
        let now = Instant::now();
        now > end && (tried >= FEWEST || now > self.last)
    }

    /// A remark, where some tables had no turn.
    fn remark(&self) -> String {
        match self.begun < self.tables {
            true => format!(
                "{} of {} tables, in the time there was",
                self.begun, self.tables
            ),
            false => String::new(),
        }
    }
}

/// All numbers below `count`, in an order whose every beginning is spread over all of them.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let is_coprime = |step: &usize| {
        let (mut one, mut other) = (*step, count);
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one == 1
    };
    let step = (count * 5 / 8).max(1);
    let step = (step..).find(is_coprime).unwrap_or(1);
    (0..count).map(move |n| n * step % count)
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
    if scan.is_count {
        text += ", only to count the rows";
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

/// The row that has the most cells in common with another one.
fn nearest<'a>(row: &Row, among: &[&'a Row]) -> Option<&'a Row> {
    let alike = |other: &&Row| row.iter().zip(*other).filter(|(a, b)| a == b).count();
    let nearest = among.iter().copied().max_by_key(alike);
    nearest.filter(|nearest| alike(nearest) > 0)
}

/// All rows that must come did, and none that must not.
fn within<'a>(
    what: &str,
    came: &[Row],
    least: impl IntoIterator<Item = &'a Row>,
    most: impl IntoIterator<Item = &'a Row>,
    next: &str,
) -> Result<(), Stop> {
    let most: Vec<&Row> = most.into_iter().collect();
    let rows = came;
    let (came, least) = (counted(came), counted(least));
    if let Some(row) = beyond(&came, &counted(most.iter().copied())) {
        let stray = rows.iter().find(|one| format!("{one:?}") == row);
        let nearest = stray.and_then(|stray| nearest(stray, &most));
        let nearest = nearest.map_or(String::new(), |one| {
            format!("; the first reading of the table had {one:?}, which is nearest to it")
        });
        return ensure(
            false,
            format!("{what}: the rows that the kit finds among all rows of the table"),
            format!("a row that is not among them, or too often: {row}{nearest}"),
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
    reader: &mut Reader<'_>,
    sample: &Sample,
    filters: &[Filter],
) -> Result<Vec<Pushdown>, Stop> {
    let source = reader.source().await?;
    let answers = source
        .filter_support(&sample.table, filters, &usual())
        .await;
    answers.expect_to("`filter-support` answers")
}

/// Scans with filters, each of which is claimed as far as it is, and compares the rows. Of a large table every row that
/// comes must pass what is claimed as exact, and where the scan ends, the known rows that pass must be among them.
async fn holds(
    reader: &mut Reader<'_>,
    sample: &Sample,
    filters: &[(&Filter, Pushdown)],
) -> Result<(), Stop> {
    let all: Vec<&Filter> = filters.iter().map(|(filter, _)| *filter).collect();
    let exact: Vec<&Filter> = filters
        .iter()
        .filter(|(_, claim)| *claim == Pushdown::Exact)
        .map(|(filter, _)| *filter)
        .collect();
    let (Some(least), Some(most)) = (sample.passing(&all), sample.passing(&exact)) else {
        return Ok(());
    };
    let scan = Scan {
        filters: all.into_iter().cloned().collect(),
        ..sample.scan()
    };
    let what = shown(&scan);
    if sample.is_whole {
        let came = reader.read_whole(&scan, ROWS).await?;
        return within(&what, &came, least, most, CLAIM);
    }
    let look = reader.bench().pace.look;
    let read = reader.read(&scan, ROWS, MOST_FILTERED, look).await?;
    each_passes(&what, sample, &read.rows, &exact)?;
    match read.ended {
        true => within(&what, &read.rows, least, &read.rows, CLAIM),
        false => Ok(()),
    }
}

/// Every row that came passes the filters.
fn each_passes(what: &str, sample: &Sample, came: &[Row], filters: &[&Filter]) -> Result<(), Stop> {
    let fails = |row: &&Row| sample.passes(row, filters) == Some(false);
    let stray = came.iter().find(fails);
    ensure(
        stray.is_none(),
        format!("{what}: rows that pass, and no others"),
        format!("a row that does not pass: {stray:?}"),
        CLAIM,
    )
}

/// The usual limits with cells of so many bytes.
fn small_cells(bytes: usize) -> Limits {
    Limits {
        cell_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        ..Limits::USUAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_tried_once_and_each_beginning_is_spread() {
        for count in [0, 1, 2, 8, 24, 97, 300] {
            let mut all: Vec<_> = spread(count).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        let first: Vec<_> = spread(300).take(4).collect();
        assert!(
            first.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 50),
            "{first:?}"
        );
    }
}
