//! The cases of scans.

use std::time::{Duration, Instant};

use mindhost_base::Error;
use mindhost_plugin_api::{
    Value,
    scanner::{Filter, Pushdown, Scan},
};

use super::{
    CLAIM, FEWEST, MOST, Reader, Row, Sample, Turns, each_passes, expected, holds, shown, small,
    small_cells, spread, support, tables, whole, within,
};
use crate::{
    bench::{Bench, Bounds, PATIENCE, ROWS, new_id, usual},
    case::{
        Case, Expect, Stop, Verdict, counted, ensure, passed, shown as time, skipped,
        skipped_until, unexpected,
    },
    cause::{Cause, kind},
    sandbox::Limits,
};

pub(in crate::cases) const CASES: &[Case] = &[
    Case {
        name: "projection",
        proves: "Columns come in the order that is asked for, each with its own values, and a count gives every row.",
        run: |bench| Box::pin(projection(bench)),
    },
    Case {
        name: "filters",
        proves: "A filter leaves the rows that it should, exactly or roughly, as far as the plugin claims to apply it.",
        run: |bench| Box::pin(filters(bench)),
    },
    Case {
        name: "filter-pairs",
        proves: "Two filters leave the rows that pass both.",
        run: |bench| Box::pin(pairs(bench)),
    },
    Case {
        name: "limit",
        proves: "A limit leaves as many rows as there are up to it, with an exact filter before it too.",
        run: |bench| Box::pin(limit(bench)),
    },
    Case {
        name: "two-scans",
        proves: "Two scans of one source, read in turns, each give their own rows.",
        run: |bench| Box::pin(two_scans(bench)),
    },
    Case {
        name: "scan-batches",
        proves: "The rows are the same, asked for one by one, all at once, and in few bytes at a time.",
        run: |bench| Box::pin(batches(bench)),
    },
    Case {
        name: "scan-large-cell",
        proves: "A cell above the limit is the error `too-large`.",
        run: |bench| Box::pin(large_cell(bench)),
    },
    Case {
        name: "scan-closed-midway",
        proves: "A scan that is closed before its end lets the source go on, or says that it cannot.",
        run: |bench| Box::pin(closed(bench)),
    },
    Case {
        name: "scan-cancel",
        proves: "A scan that the host cancels ends at once.",
        run: |bench| Box::pin(cancel(bench)),
    },
];

/// Pairs of filters that are tried of a table.
const PAIRS: usize = 60;
/// How long a scan runs before it is cancelled.
const BEFORE_CANCEL: Duration = Duration::from_millis(300);
/// How long a scan may go on after it was cancelled: a tenth of a second or so, and much longer on a machine that does
/// much else. A host that ends a scan in the plugin's place waits longer.
const SOON: Duration = Duration::from_secs(20);
const ORDER: &str = "give the columns of `projection` in its order, and no others";
const COUNT: &str =
    "give a row for each row where `extra` says `count`; only its values may be null";
const OWN_STATE: &str = "keep the state of a scan in its cursor, and not in the source";

async fn projection(bench: &Bench) -> Verdict {
    let mut reader = Reader::new(bench, Limits::USUAL);
    let samples = small(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    for sample in samples {
        let Some(end) = turns.next() else { break };
        let count = sample.columns.len();
        let single = (0..count).map(|index| vec![index]);
        let turned = (1..count).map(|by| (0..count).map(|at| (at + by) % count).collect());
        let all: Vec<Vec<usize>> = std::iter::once((0..count).rev().collect())
            .chain(single)
            .chain(turned)
            .collect();
        for wanted in spread(all.len()).filter_map(|index| all.get(index)) {
            let (scan, expected) = projected(sample, wanted);
            let came = reader.read_whole(&scan, ROWS).await?;
            within(&shown(&scan), &came, &expected, &expected, ORDER)?;
            if Instant::now() > end {
                break;
            }
        }
        let scan = Scan {
            is_count: true,
            ..projected(sample, &[0]).0
        };
        let (what, rows) = (shown(&scan), sample.rows.len());
        let came = reader.read_whole(&scan, ROWS).await?.len();
        ensure(
            came == rows,
            format!("the {rows} rows of {what}"),
            format!("{came} rows"),
            COUNT,
        )?;
    }
    Ok(turns.remark())
}

fn projected(sample: &Sample, wanted: &[usize]) -> (Scan, Vec<Row>) {
    let pick = |row: &Row| {
        let cells = wanted.iter().filter_map(|index| row.get(*index));
        cells.cloned().collect()
    };
    let columns = wanted.iter().filter_map(|index| sample.columns.get(*index));
    let scan = Scan {
        columns: columns.cloned().collect(),
        ..sample.scan()
    };
    (scan, sample.rows.iter().map(pick).collect())
}

/// Filters on every column of a table, with what the source claims of each.
async fn claimed(
    reader: &mut Reader<'_>,
    sample: &Sample,
) -> Result<Vec<(Filter, Pushdown)>, Stop> {
    let mut all = Vec::new();
    for (index, column) in sample.columns.iter().enumerate() {
        let made = expected::filters(&column.name, column.data_type, &sample.cells(index));
        let answers = support(reader, sample, &made).await?;
        all.extend(made.into_iter().zip(answers));
    }
    all.retain(|(_, claim)| *claim != Pushdown::No);
    Ok(all)
}

async fn filters(bench: &Bench) -> Verdict {
    let mut reader = Reader::new(bench, Limits::USUAL);
    let samples = tables(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    let (mut tried, mut known) = (0, 0);
    for sample in samples {
        let Some(end) = turns.next() else { break };
        let claimed = claimed(&mut reader, sample).await?;
        known += claimed.len();
        for (filter, claim) in spread(claimed.len()).filter_map(|index| claimed.get(index)) {
            holds(&mut reader, sample, &[(filter, *claim)]).await?;
            tried += 1;
            if turns.is_over(end, tried) {
                break;
            }
        }
    }
    match tried {
        0 => Ok("the plugin claims to apply none".to_owned()),
        _ => counted_of(tried, known, "filter"),
    }
}

/// A remark on how many were tried. Too few prove nothing: then the case is skipped, and not passed.
fn counted_of(tried: usize, known: usize, what: &str) -> Verdict {
    if tried < known.min(FEWEST) {
        return Err(skipped(format!(
            "too few: {tried} of {} in the time there was; see that a scan takes a few seconds at most, \
             or name a small table as `tests.table`",
            counted(known, what)
        )));
    }
    Ok(match tried == known {
        true => counted(tried, what),
        false => format!("{tried} of {}, in the time there was", counted(known, what)),
    })
}

/// The rows of a table that pass a filter, a bit each.
fn mask(sample: &Sample, filter: &Filter) -> Option<Vec<bool>> {
    let rows = sample.rows.iter();
    rows.map(|row| sample.passes(row, &[filter])).collect()
}

fn count(mask: &[bool]) -> usize {
    mask.iter().filter(|passes| **passes).count()
}

/// Pairs of filters of which each leaves less than the other would by itself.
fn telling<'a>(sample: &Sample, claimed: &'a [(Filter, Pushdown)]) -> Vec<[&'a Filter; 2]> {
    let masks: Vec<_> = claimed
        .iter()
        .filter_map(|(filter, _)| Some((filter, mask(sample, filter)?)))
        .map(|(filter, mask)| (filter, count(&mask), mask))
        .filter(|(_, count, _)| (1..sample.rows.len()).contains(count))
        .collect();
    let mut telling = Vec::new();
    for at in spread(masks.len() * masks.len()) {
        if telling.len() >= PAIRS {
            break;
        }
        let (first, second) = (&masks[at / masks.len()], &masks[at % masks.len()]);
        let both = first
            .2
            .iter()
            .zip(&second.2)
            .filter(|(one, other)| **one && **other);
        if both.count() < first.1.min(second.1) {
            telling.push([first.0, second.0]);
        }
    }
    telling
}

async fn pairs(bench: &Bench) -> Verdict {
    let mut reader = Reader::new(bench, Limits::USUAL);
    let samples = tables(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    let (mut tried, mut known) = (0, 0);
    for sample in samples {
        let Some(end) = turns.next() else { break };
        let claimed = claimed(&mut reader, sample).await?;
        let telling = telling(sample, &claimed);
        known += telling.len();
        for pair in telling {
            let asked = pair.map(Clone::clone);
            let claims = support(&mut reader, sample, &asked).await?;
            let together: Vec<_> = asked
                .iter()
                .zip(claims)
                .filter(|(_, claim)| *claim != Pushdown::No)
                .collect();
            holds(&mut reader, sample, &together).await?;
            tried += 1;
            if turns.is_over(end, tried) {
                break;
            }
        }
    }
    match tried {
        0 => Err(skipped(
            "the plugin claims no two filters that leave different rows of a table",
        )),
        _ => counted_of(tried, known, "pair"),
    }
}

async fn limit(bench: &Bench) -> Verdict {
    let mut reader = Reader::new(bench, Limits::USUAL);
    let samples = tables(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    for sample in samples {
        let Some(end) = turns.next() else { break };
        limited(&mut reader, sample, None).await?;
        let exact = claimed(&mut reader, sample).await?;
        let exact: Vec<_> = exact
            .iter()
            .filter(|(_, claim)| *claim == Pushdown::Exact)
            .collect();
        let some = spread(exact.len()).take(exact.len().div_ceil(5));
        for (filter, _) in some.filter_map(|index| exact.get(index)) {
            if Instant::now() > end {
                break;
            }
            limited(&mut reader, sample, Some(filter)).await?;
        }
    }
    Ok(turns.remark())
}

async fn limited(
    reader: &mut Reader<'_>,
    sample: &Sample,
    filter: Option<&Filter>,
) -> Result<(), Stop> {
    let Some(most) = sample.passing(filter.as_slice()) else {
        return Ok(());
    };
    // A scan is read until it has more than `MOST` rows, and the sample may have as many more as its last batch had.
    let known = most.len().min(MOST);
    let mut limits = vec![1, 2, known.saturating_sub(1), known, MOST];
    limits.sort_unstable();
    limits.dedup();
    for limit in limits.into_iter().map(|limit| limit.max(1)) {
        let scan = Scan {
            filters: filter.into_iter().cloned().collect(),
            limit: Some(limit as u64),
            ..sample.scan()
        };
        let what = shown(&scan);
        let came = reader.read_whole(&scan, ROWS).await?;
        match sample.is_whole {
            true => within(&what, &came, [], most.iter().copied(), CLAIM)?,
            false => each_passes(&what, sample, &came, filter.as_slice())?,
        }
        let least = most.len().min(limit);
        ensure(
            came.len() >= least,
            format!("{what}: at least {least} rows"),
            format!("{} rows", came.len()),
            "count a row towards the limit only when it passed every filter and is handed out",
        )?;
    }
    Ok(())
}

async fn two_scans(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    let samples = small(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    for whole in samples {
        if turns.next().is_none() {
            break;
        }
        let (turned, turned_rows) =
            projected(whole, &(0..whole.columns.len()).rev().collect::<Vec<_>>());
        let (plain, plain_rows) = (whole.scan(), whole.rows.clone());
        let what = "two scans of one source are read in turns";
        let mut ids = Vec::new();
        for scan in [&plain, &turned] {
            ids.push(source.scan(scan, &usual()).await.expect_to(what)?);
        }
        let at_a_time = u32::try_from(whole.rows.len() / 8).unwrap_or(1).max(1);
        let mut came: [(Vec<Row>, bool); 2] = Default::default();
        let columns = [&plain.columns, &turned.columns];
        while came.iter().any(|(rows, over)| !over && rows.len() <= MOST) {
            for ((id, columns), (rows, over)) in ids.iter().zip(columns).zip(&mut came) {
                if *over {
                    continue;
                }
                match source
                    .next(*id, at_a_time, &usual())
                    .await
                    .expect_to(what)?
                {
                    Some(batch) => rows.extend(batch.into_values(columns)),
                    None => *over = true,
                }
            }
        }
        for id in ids {
            source.close(id, &usual()).await.expect_to(what)?;
        }
        let scans = [(&plain, plain_rows), (&turned, turned_rows)];
        for ((scan, rows), (came, _)) in scans.iter().zip(&came) {
            let what = format!("{}, beside another one", shown(scan));
            within(&what, came, rows, rows, OWN_STATE)?;
        }
    }
    Ok(turns.remark())
}

async fn batches(bench: &Bench) -> Verdict {
    const NEXT: &str = "give every row once, across the bounds of batches too; `max-rows` and `max-bytes` may be as large as a u32";
    let mut reader = Reader::new(bench, Limits::USUAL);
    let mut narrow = bench.source(Limits::NARROW).await?;
    let samples = small(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    let mut largest = 0;
    for whole in samples {
        if turns.next().is_none() {
            break;
        }
        let scan = whole.scan();
        for max_rows in [1, 3, u32::MAX] {
            // One that fetches as many rows as it is asked for takes long to give them one by one.
            let read = reader.read(&scan, max_rows, MOST, bench.pace.look).await?;
            let what = format!("{}, {max_rows} rows at a time", shown(&scan));
            let least = if read.ended { &whole.rows[..] } else { &[] };
            within(&what, &read.rows, least, &whole.rows, NEXT)?;
        }
        let what = format!("{}, in few bytes at a time", shown(&scan));
        let scan = Scan {
            id: new_id(),
            ..scan
        };
        let id = narrow.scan(&scan, &usual()).await.expect_to(&what)?;
        let mut came = Vec::new();
        while let Some(batch) = narrow.next(id, u32::MAX, &usual()).await.expect_to(&what)? {
            if batch.rows() > 1 {
                largest = largest.max(batch.bytes());
            }
            came.extend(batch.into_values(&scan.columns));
        }
        narrow.close(id, &usual()).await.expect_to(&what)?;
        within(&what, &came, &whole.rows, &whole.rows, NEXT)?;
        ensure(
            largest <= Limits::NARROW.batch_bytes as usize * 4,
            format!(
                "{what}: batches of about {} bytes",
                Limits::NARROW.batch_bytes
            ),
            format!("one of {largest} bytes"),
            "count bytes as rows are added and end the batch in time; the SDK does",
        )?;
    }
    Ok(turns.remark())
}

async fn large_cell(bench: &Bench) -> Verdict {
    let size = |value: &Value| match value {
        Value::Text(text) | Value::Json(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    for whole in small(bench).await? {
        let cells = whole.rows.iter().flatten();
        let largest = cells.map(size).max().unwrap_or_default();
        if largest < 2 {
            continue;
        }
        let mut source = bench.source(small_cells(largest - 1)).await?;
        let scan = whole.scan();
        let read = async {
            let id = source.scan(&scan, &usual()).await?;
            while source.next(id, ROWS, &usual()).await?.is_some() {}
            Ok(())
        };
        read.await.expect_kind(
            format!(
                "{} with a cell of {largest} bytes, and one less as max-cell-bytes",
                shown(&scan)
            ),
            &[kind::TOO_LARGE],
        )?;
        return passed();
    }
    Err(skipped("no small table holds a text or bytes"))
}

async fn closed(bench: &Bench) -> Verdict {
    let mut reader = Reader::new(bench, Limits::USUAL);
    let samples = small(bench).await?;
    let mut turns = Turns::among(samples.len(), bench.pace.enough);
    for whole in samples {
        if turns.next().is_none() {
            break;
        }
        let scan = whole.scan();
        let what = format!("{} is closed after a row", shown(&scan));
        let source = reader.source().await?;
        let id = source.scan(&scan, &usual()).await.expect_to(&what)?;
        source.next(id, 1, &usual()).await.expect_to(&what)?;
        source.close(id, &usual()).await.expect_to(&what)?;
        match source.columns(&whole.table, &usual()).await {
            Err(error) if Cause::of(&error) == Cause::Gone => {
                return Ok("`close` said that the source cannot be used again".to_owned());
            }
            columns => columns.expect_to("the source can be used again, as `close` said")?,
        };
        let came = reader.read_whole(&scan, ROWS).await?;
        let what = format!("{}, after another one was closed midway", shown(&scan));
        within(&what, &came, &whole.rows, &whole.rows, OWN_STATE)?;
    }
    Ok(turns.remark())
}

async fn cancel(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    let tables = match bench.named_tables() {
        named if named.is_empty() => bench.first_tables(source.tables(&usual()).await)?,
        named => named,
    };
    let mut ended = 0;
    for table in tables {
        let mut source = bench.source(Limits::USUAL).await?;
        let columns = source.columns(&table, &usual()).await;
        let columns = columns.expect_to(format!("describes the columns of `{}`", table.name))?;
        let scan = whole(table, columns);
        let bounds = Bounds::of(PATIENCE);
        let read = async {
            let id = source.scan(&scan, &bounds.call()).await?;
            while source.next(id, 1, &bounds.call()).await?.is_some() {}
            Ok::<(), Error>(())
        };
        let stop = async {
            tokio::time::sleep(BEFORE_CANCEL).await;
            bounds.cancel.cancel();
            Instant::now()
        };
        let read = async { (read.await, Instant::now()) };
        let ((answer, over), cancelled) = futures_util::join!(read, stop);
        let took = over.saturating_duration_since(cancelled);
        ensure(
            took <= SOON,
            format!(
                "{} ends within {} of its cancellation",
                shown(&scan),
                time(SOON)
            ),
            time(took),
            "look at `control` wherever the plugin waits or counts",
        )?;
        match answer {
            Ok(()) => {}
            Err(error) if Cause::of(&error).is_cancellation() => ended += 1,
            Err(error) => return Err(unexpected("an end because of the cancellation", &error)),
        }
    }
    match ended {
        0 => Err(skipped_until(
            format!(
                "nothing was tried: every scan was over within {}, before it could be cancelled",
                time(BEFORE_CANCEL)
            ),
            "tests.table: a table whose rows take longer than that to read",
        )),
        ended => Ok(counted(ended, "scan")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_with_too_few_trials_is_skipped() {
        assert_eq!(counted_of(2, 2, "pair").unwrap(), "2 pairs");
        assert_eq!(counted_of(1, 1, "pair").unwrap(), "1 pair");
        let some = counted_of(FEWEST, 90, "pair").unwrap();
        assert_eq!(some, "5 of 90 pairs, in the time there was");
        let Err(Stop::Skipped { why, .. }) = counted_of(FEWEST - 1, 90, "filter") else {
            panic!("4 of 90 prove nothing");
        };
        assert!(why.starts_with("too few: 4 of 90 filters"), "{why}");
    }
}
