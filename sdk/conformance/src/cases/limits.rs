//! Batches and cells within what was asked for, and a memory that does not grow with the answer.

use std::time::{Duration, Instant};

use mindhost_plugin_api::Statement;

use crate::{
    bench::{Bench, Bounds, ROWS, read, statement, usual},
    case::{Case, Expect, Verdict, ensure, passed, shown, skipped},
    cause::{Cause, kind},
    sandbox::Limits,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "batch-bytes",
        proves: "A batch has about as many bytes as were asked for.",
        run: |bench| Box::pin(batch_bytes(bench)),
    },
    Case {
        name: "large-row-alone",
        proves: "A row that is larger than a batch may be comes alone.",
        run: |bench| Box::pin(large_row(bench)),
    },
    Case {
        name: "large-cell",
        proves: "A cell above the limit is the error `too-large`, and costs nothing but the statement.",
        run: |bench| Box::pin(large_cell(bench)),
    },
    Case {
        name: "huge-result",
        proves: "An answer that is larger than the memory of an instance streams through.",
        run: |bench| Box::pin(huge(bench)),
    },
];

async fn batch_bytes(bench: &Bench) -> Verdict {
    const COUNT: u64 = 20_000;
    let sql = bench.sample("numbers", bench.samples.numbers(COUNT))?;
    let mut connection = bench.open_with(Limits::NARROW).await?;
    let answer = read(&mut *connection, &sql, u32::MAX).await;
    let answer = answer.expect_to(format!("`{sql}` runs"))?;
    ensure(
        answer.rows.len() as u64 == COUNT,
        format!("{COUNT} rows, asked for {} at a time", u32::MAX),
        format!("{} rows", answer.rows.len()),
        "`max-rows` may be as large as a u32; where the language has no such numbers, take its 32 bits without a sign",
    )?;
    // About means about: Arrow pads, and each form counts a little differently.
    let most = Limits::NARROW.batch_bytes as usize * 4;
    let largest = answer
        .batches
        .iter()
        .map(|(_, bytes)| *bytes)
        .max()
        .unwrap_or_default();
    ensure(
        largest <= most,
        format!(
            "batches of about {} bytes, as `next` was asked for",
            Limits::NARROW.batch_bytes
        ),
        format!("one of {largest} bytes"),
        "count bytes as rows are added and end the batch in time; the SDK's BatchBuilder does",
    )?;
    Ok(format!(
        "{} batches of at most {largest} bytes",
        answer.batches.len()
    ))
}

async fn large_row(bench: &Bench) -> Verdict {
    const BYTES: u64 = 40_000;
    let one = bench.sample("wide", bench.samples.wide(BYTES))?;
    let three = format!("{one} UNION ALL {one} UNION ALL {one}");
    let mut connection = bench.open_with(Limits::NARROW).await?;
    let answer = read(&mut *connection, &three, ROWS).await;
    let answer = answer.expect_to(
        "three rows, each larger than a batch and smaller than a cell may be, can be read",
    )?;
    let sizes: Vec<usize> = answer.batches.iter().map(|(rows, _)| *rows).collect();
    ensure(
        sizes == [1, 1, 1],
        "three batches of one row",
        format!("batches of {sizes:?} rows"),
        "end a batch before a row that would take it far beyond max-bytes",
    )?;
    passed()
}

async fn large_cell(bench: &Bench) -> Verdict {
    let sql = bench.sample(
        "wide",
        bench.samples.wide(u64::from(Limits::NARROW.cell_bytes) * 2),
    )?;
    let mut connection = bench.open_with(Limits::NARROW).await?;
    let answer = read(&mut *connection, &sql, ROWS).await;
    let what = format!(
        "a cell of twice the {} bytes of max-cell-bytes",
        Limits::NARROW.cell_bytes
    );
    answer.expect_kind(what, &[kind::TOO_LARGE])?;
    let one = bench.sample("one", bench.samples.one.clone())?;
    match read(&mut *connection, &one, ROWS).await {
        Err(error) if Cause::of(&error) == Cause::Gone => {
            Ok("the connection was given up for it".to_owned())
        }
        other => {
            other.expect_to("the connection can be used after a cell that was too large")?;
            passed()
        }
    }
}

async fn huge(bench: &Bench) -> Verdict {
    // A slow source is not a wrong one. Less than the statement may take.
    const ENOUGH: Duration = Duration::from_secs(90);
    let sql = bench.sample("huge", bench.samples.huge.clone())?;
    let mut connection = bench.open_with(Limits::LEAN).await?;
    let start = Instant::now();
    let bounds = Bounds::of(Duration::from_secs(110));
    let statement = Statement {
        timeout: bounds.timeout,
        ..statement(&sql)
    };
    let streams = "an answer larger than the memory of an instance can be read to its end";
    let columns = connection.query(&statement, &bounds.call()).await;
    columns.expect_to(streams)?;
    let (mut rows, mut bytes, mut has_ended) = (0, 0, false);
    while !has_ended && start.elapsed() < ENOUGH {
        let batch = connection.next(ROWS, &bounds.call()).await;
        match batch.expect_to(streams)? {
            Some(batch) => {
                rows += batch.rows();
                bytes += batch.bytes();
            }
            None => has_ended = true,
        }
    }
    connection
        .close(&usual())
        .await
        .expect_to("the cursor closes")?;
    let memory = Limits::LEAN.memory_bytes;
    if !has_ended && bytes as u64 <= memory {
        return Err(skipped(format!(
            "too slow: {} MiB of more than {} came within {}",
            bytes >> 20,
            memory >> 20,
            shown(ENOUGH)
        )));
    }
    ensure(
        bytes as u64 > memory,
        format!("more than the {memory} bytes that the instance may have"),
        format!("{bytes} bytes"),
        "give tests.huge a statement with a larger answer",
    )?;
    Ok(format!(
        "{rows} rows, {} MiB in {}, by an instance of at most {} MiB",
        bytes >> 20,
        shown(start.elapsed()),
        memory >> 20
    ))
}
