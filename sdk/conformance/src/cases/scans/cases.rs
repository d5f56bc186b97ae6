//! The cases of scans.

use std::time::{Duration, Instant};

use mindhost_sdk::{
    ErrorKind, Value,
    scanner::{Filter, Pushdown},
};

use super::{
    CLAIM, MOST, Row, Whole, expected, holds, read_some, shown, small_cells, support, tables,
    within,
};
use crate::{
    bench::{Bench, ROWS, usual},
    case::{Case, Expect, Stop, Verdict, advice, ensure, failed, passed, shown as time, skipped},
    subject::{Cause, Failure, Limits, Scan, Source},
};

pub(in crate::cases) const CASES: &[Case<Bench>] = &[
    Case {
        name: "projection",
        proves: "Columns come in the order in which they are asked for, each with its own values.",
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
/// How long a scan may go on after it was cancelled.
const SOON: Duration = Duration::from_secs(2);
const ORDER: &str = "give the columns of `projection` in its order, and no others";
const OWN_STATE: &str = "keep the state of a scan in its cursor, and not in the source";

async fn projection(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    for whole in tables(bench, &mut *source).await? {
        let count = whole.columns.len();
        let single = (0..count).map(|index| vec![index]);
        let turned = (1..count).map(|by| (0..count).map(|at| (at + by) % count).collect());
        let all: Vec<Vec<usize>> = std::iter::once((0..count).rev().collect())
            .chain(single)
            .chain(turned)
            .collect();
        for wanted in all {
            let (scan, expected) = projected(&whole, &wanted);
            let came = read_some(&mut *source, &scan, ROWS).await?;
            within(&shown(&scan), &came, &expected, &expected, ORDER)?;
        }
    }
    passed()
}

fn projected(whole: &Whole, wanted: &[usize]) -> (Scan, Vec<Row>) {
    let pick = |row: &Row| {
        let cells = wanted.iter().filter_map(|index| row.get(*index));
        cells.cloned().collect()
    };
    let columns = wanted.iter().filter_map(|index| whole.columns.get(*index));
    let scan = Scan {
        columns: columns.cloned().collect(),
        ..whole.scan()
    };
    (scan, whole.rows.iter().map(pick).collect())
}

/// Filters on every column of a table, with what the source claims of each.
async fn claimed(source: &mut dyn Source, whole: &Whole) -> Result<Vec<(Filter, Pushdown)>, Stop> {
    let mut all = Vec::new();
    for (index, column) in whole.columns.iter().enumerate() {
        let made = expected::filters(&column.name, column.data_type, &whole.cells(index));
        let answers = support(source, whole, &made).await?;
        all.extend(made.into_iter().zip(answers));
    }
    all.retain(|(_, claim)| *claim != Pushdown::No);
    Ok(all)
}

async fn filters(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    let mut tried = 0;
    for whole in tables(bench, &mut *source).await? {
        for (filter, claim) in &claimed(&mut *source, &whole).await? {
            holds(&mut *source, &whole, &[(filter, *claim)]).await?;
            tried += 1;
        }
    }
    match tried {
        0 => Ok("the plugin claims to apply none".to_owned()),
        tried => Ok(format!("{tried} filters")),
    }
}

async fn pairs(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    let mut tried = 0;
    for whole in tables(bench, &mut *source).await? {
        let claimed = claimed(&mut *source, &whole).await?;
        let counted: Vec<_> = claimed
            .iter()
            .filter_map(|(filter, _)| Some((filter, whole.passing(&[filter])?.len())))
            .filter(|(_, count)| (1..whole.rows.len()).contains(count))
            .collect();
        // Pairs of which each leaves less than the other would by itself, spread over all of them.
        let mut telling = Vec::new();
        for (first, of_first) in &counted {
            for (second, of_second) in &counted {
                let both = whole.passing(&[first, second]).map(|rows| rows.len());
                if both.is_some_and(|both| both < *of_first.min(of_second)) {
                    telling.push([*first, *second]);
                }
            }
        }
        let step = telling.len().div_ceil(PAIRS).max(1);
        for pair in telling.iter().step_by(step) {
            let asked = pair.map(Clone::clone);
            let claims = support(&mut *source, &whole, &asked).await?;
            let together: Vec<_> = asked
                .iter()
                .zip(claims)
                .filter(|(_, claim)| *claim != Pushdown::No)
                .collect();
            holds(&mut *source, &whole, &together).await?;
            tried += 1;
        }
    }
    match tried {
        0 => Err(skipped(
            "the plugin claims no two filters that leave different rows of a small table",
        )),
        tried => Ok(format!("{tried} pairs")),
    }
}

async fn limit(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    for whole in tables(bench, &mut *source).await? {
        limited(&mut *source, &whole, None).await?;
        let exact = claimed(&mut *source, &whole).await?;
        let exact = exact.iter().filter(|(_, claim)| *claim == Pushdown::Exact);
        for (filter, _) in exact.step_by(5) {
            limited(&mut *source, &whole, Some(filter)).await?;
        }
    }
    passed()
}

async fn limited(
    source: &mut dyn Source,
    whole: &Whole,
    filter: Option<&Filter>,
) -> Result<(), Stop> {
    let Some(most) = whole.passing(filter.as_slice()) else {
        return Ok(());
    };
    for limit in [1, 2, most.len().saturating_sub(1), most.len(), MOST] {
        let scan = Scan {
            filters: filter.into_iter().cloned().collect(),
            limit: Some(limit.max(1) as u64),
            ..whole.scan()
        };
        let came = read_some(source, &scan, ROWS).await?;
        let what = shown(&scan);
        within(&what, &came, [], most.iter().copied(), CLAIM)?;
        let least = most.len().min(limit.max(1));
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
    for whole in tables(bench, &mut *source).await? {
        let (turned, turned_rows) =
            projected(&whole, &(0..whole.columns.len()).rev().collect::<Vec<_>>());
        let (plain, plain_rows) = (whole.scan(), whole.rows.clone());
        let what = "two scans of one source are read in turns";
        let mut ids = Vec::new();
        for scan in [&plain, &turned] {
            ids.push(source.scan(scan, &usual()).await.expect_to(what)?);
        }
        let at_a_time = u32::try_from(whole.rows.len() / 20).unwrap_or(1).max(1);
        let mut came: [(Vec<Row>, bool); 2] = Default::default();
        while came.iter().any(|(rows, over)| !over && rows.len() <= MOST) {
            for (id, (rows, over)) in ids.iter().zip(&mut came) {
                if *over {
                    continue;
                }
                match source
                    .next(*id, at_a_time, &usual())
                    .await
                    .expect_to(what)?
                {
                    Some(batch) => rows.extend(batch.values),
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
    passed()
}

async fn batches(bench: &Bench) -> Verdict {
    const NEXT: &str = "give every row once, across the bounds of batches too; `max-rows` and `max-bytes` may be as large as a u32";
    let mut source = bench.source(Limits::USUAL).await?;
    let mut narrow = bench.source(Limits::NARROW).await?;
    let mut largest = 0;
    for whole in tables(bench, &mut *source).await? {
        for max_rows in [1, 3, u32::MAX] {
            let came = read_some(&mut *source, &whole.scan(), max_rows).await?;
            let what = format!("{}, {max_rows} rows at a time", shown(&whole.scan()));
            within(&what, &came, &whole.rows, &whole.rows, NEXT)?;
        }
        let scan = whole.scan();
        let what = format!("{}, in few bytes at a time", shown(&scan));
        let id = narrow.scan(&scan, &usual()).await.expect_to(&what)?;
        let mut came = Vec::new();
        while let Some(batch) = narrow.next(id, u32::MAX, &usual()).await.expect_to(&what)? {
            if batch.values.len() > 1 {
                largest = largest.max(batch.bytes);
            }
            came.extend(batch.values);
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
    passed()
}

async fn large_cell(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    let size = |value: &Value| match value {
        Value::Text(text) | Value::Json(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    for whole in tables(bench, &mut *source).await? {
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
            &[ErrorKind::TooLarge],
        )?;
        return passed();
    }
    Err(skipped("no small table holds a text or bytes"))
}

async fn closed(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    for whole in tables(bench, &mut *source).await? {
        let scan = whole.scan();
        let what = format!("{} is closed after a row", shown(&scan));
        let id = source.scan(&scan, &usual()).await.expect_to(&what)?;
        source.next(id, 1, &usual()).await.expect_to(&what)?;
        source.close(id, &usual()).await.expect_to(&what)?;
        match source.columns(&whole.table, &usual()).await {
            Err(failure) if failure.cause == Cause::Gone => {
                return Ok("`close` said that the source cannot be used again".to_owned());
            }
            columns => columns.expect_to("the source can be used again, as `close` said")?,
        };
        let came = read_some(&mut *source, &scan, ROWS).await?;
        let what = format!("{}, after another one was closed midway", shown(&scan));
        within(&what, &came, &whole.rows, &whole.rows, OWN_STATE)?;
    }
    passed()
}

async fn cancel(bench: &Bench) -> Verdict {
    let mut source = bench.source(Limits::USUAL).await?;
    let tables = match bench.named_table() {
        Some(table) => vec![table],
        None => bench.first_tables(source.tables(&usual()).await)?,
    };
    let mut ended = 0;
    for table in tables {
        let mut source = bench.source(Limits::USUAL).await?;
        let columns = source.columns(&table, &usual()).await;
        let columns = columns.expect_to(format!("the columns of `{}` are told", table.name))?;
        let scan = Scan {
            table,
            columns,
            filters: Vec::new(),
            limit: None,
        };
        let call = usual();
        let read = async {
            let id = source.scan(&scan, &call).await?;
            while source.next(id, 1, &call).await?.is_some() {}
            Ok::<(), Failure>(())
        };
        let stop = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            call.cancel.cancel();
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
            Err(failure)
                if matches!(
                    failure.cause,
                    Cause::Cancelled | Cause::Reported(ErrorKind::Cancelled)
                ) =>
            {
                ended += 1;
            }
            Err(failure) => {
                return Err(failed(
                    "an end because of the cancellation",
                    &failure,
                    advice(&failure),
                ));
            }
        }
    }
    match ended {
        0 => Ok("every scan was over before it was cancelled".to_owned()),
        ended => Ok(format!("{ended} scans")),
    }
}
