//! The network between plugin and engine breaks.

use std::time::Instant;

use mindhost_plugin_api::Connection;

use super::scans;
use crate::{
    bench::{Bench, ROWS, read, statement, usual},
    case::{Case, Expect, Stop, Verdict, ensure, failed, passed, skipped},
    cause::{Cause, kind, told},
    config::Data,
    proxy::{Proxy, Route, Transport},
    sandbox::Limits,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "lost-idle",
        proves: "A connection that broke while nobody used it is `connection-lost` at its next use, or over HTTP simply works; a new one opens.",
        run: |bench| Box::pin(lost_idle(bench)),
    },
    Case {
        name: "lost-midway",
        proves: "A connection that breaks in the middle of a result is `connection-lost`, or over HTTP the rows go on; they do not just end.",
        run: |bench| Box::pin(lost_midway(bench)),
    },
];

/// The same of sources that only yield rows.
pub(super) const OF_SCANNERS: &[Case] = &[Case {
    name: "lost-scan",
    proves: "If the network breaks, a scan fails or gives every row, and never ends early without an error; the next one works.",
    run: |bench| Box::pin(lost_scan(bench)),
}];

const KINDS: &[&str] = &[kind::CONNECTION_LOST];
/// A scan may also fail when it connects anew.
const LOST: &[&str] = &[kind::CONNECTION_LOST, kind::UNREACHABLE];

/// Rows of the answer that is compared before and after.
const NUMBERS: u64 = 2_000;

/// A proxy to the engine, a configuration that leads through it, and what goes through it.
async fn detour(bench: &Bench) -> Result<(Proxy, Data, Transport), Stop> {
    let route = Route::of(bench.manifest(), bench.data())?;
    let proxy = Proxy::to(route.host.clone(), route.port).await;
    let proxy = proxy.map_err(|error| skipped(format!("no port is free: {error}")))?;
    let data = route.to(proxy.port());
    Ok((proxy, data, route.transport()))
}

async fn open(bench: &Bench, data: &Data) -> Result<Box<dyn Connection>, Stop> {
    let opened = bench.connect(data, Limits::USUAL).await;
    opened.map_err(|error| match Cause::of(&error) {
        Cause::Reported(kind::TLS) => {
            skipped("the certificate is checked against the host's name, so that nothing can be put between")
        }
        _ => failed(
            "a connection through a proxy of the kit",
            told(&error),
            "connect to nothing but the configured host and port",
        ),
    })
}

async fn lost_idle(bench: &Bench) -> Verdict {
    let (proxy, data, transport) = detour(bench).await?;
    let numbers = bench.samples.numbers(NUMBERS);
    let sql = bench.sample("one", numbers.or_else(|| bench.samples.one.clone()))?;
    let mut connection = open(bench, &data).await?;
    let before = read(&mut *connection, &sql, ROWS).await;
    let before = before.expect_to("the connection can be used through a proxy")?;
    proxy.cut().await;
    let answer = read(&mut *connection, &sql, ROWS).await;
    let remark = match (transport, answer) {
        (Transport::Exchanges, Ok(after)) => {
            ensure(
                after.rows == before.rows,
                format!(
                    "the {} rows that came before the network broke",
                    before.rows.len()
                ),
                format!("other rows, {} of them", after.rows.len()),
                "end an answer that broke off as `connection-lost`, and never as if it were whole",
            )?;
            // Each is an exchange of its own, so that one after the other works.
            bench
                .works(&mut *connection, "after the network broke")
                .await?;
            "asked anew"
        }
        (_, answer) => {
            answer.expect_kind("a statement on a connection that broke", KINDS)?;
            ""
        }
    };
    drop(connection);
    let mut again = open(bench, &data).await?;
    bench.works(&mut *again, "when it is new").await?;
    Ok(remark.to_owned())
}

async fn lost_midway(bench: &Bench) -> Verdict {
    let sql = bench.sample("huge", bench.samples.huge.clone())?;
    let (proxy, data, transport) = detour(bench).await?;
    let mut connection = open(bench, &data).await?;
    let runs = format!("`{sql}` runs");
    connection
        .query(&statement(&sql), &usual())
        .await
        .expect_to(&runs)?;
    let first = connection.next(10, &usual()).await.expect_to(&runs)?;
    let first = first.map_or(0, |batch| batch.rows());
    proxy.cut().await;
    let remark = match (transport, rest(&mut *connection).await) {
        // An answer in many exchanges may go on over another connection. It must be whole then.
        (Transport::Exchanges, Ok(after)) => {
            let mut direct = bench.open().await?;
            let asked = direct.query(&statement(&sql), &usual()).await;
            asked.expect_to(&runs)?;
            let whole = rest(&mut *direct).await.expect_to(&runs)?;
            ensure(
                first + after == whole,
                format!("`connection-lost`, or the {whole} rows of `{sql}`"),
                format!("{} rows", first + after),
                "end an answer that broke off as `connection-lost`, and never as if it were whole",
            )?;
            "the rows went on"
        }
        (_, rest) => {
            rest.expect_kind("a result whose connection broke in its middle", KINDS)?;
            ""
        }
    };
    drop(connection);
    let mut again = open(bench, &data).await?;
    bench.works(&mut *again, "when it is new").await?;
    Ok(remark.to_owned())
}

/// Counts the rows that are left.
async fn rest(connection: &mut dyn Connection) -> Result<usize, mindhost_base::Error> {
    let mut rows = 0;
    while let Some(batch) = connection.next(ROWS, &usual()).await? {
        rows += batch.rows();
    }
    Ok(rows)
}

async fn lost_scan(bench: &Bench) -> Verdict {
    let (proxy, data, _) = detour(bench).await?;
    for table in scans::tables(bench).await? {
        let sql = bench.samples.all_of(&table.table);
        // A new one for each table: the network of the one before was cut.
        let mut midway = open(bench, &data).await?;
        let begun = midway.query(&statement(&sql), &usual()).await;
        begun.expect_to(format!("`{sql}` runs through a proxy of the kit"))?;
        let first = midway
            .next(1, &usual())
            .await
            .expect_to(format!("`{sql}` gives rows"))?;
        proxy.cut().await;
        let first = first.map_or(0, |batch| batch.rows());
        // Of a large table not all rows are read: that there are more than these is known.
        let known = table.rows.len();
        match some_rows(bench, &mut *midway, first, known).await {
            Ok((rows, ended)) => ensure(
                !ended || table.may_end_after(rows),
                format!("the {known} rows or more that the table has, or an error"),
                format!("the end after {rows} rows"),
                "end rows that broke off as `connection-lost`, and never as if they were all",
            )?,
            Err(error) => {
                let failed: Result<(), _> = Err(error);
                failed.expect_kind("rows whose network broke", LOST)?;
            }
        }
        drop(midway);
        let mut anew = open(bench, &data).await?;
        let what = "the table can be read again, when the network is back";
        let begun = anew.query(&statement(&sql), &usual()).await;
        begun.expect_to(what)?;
        let again = some_rows(bench, &mut *anew, 0, known).await;
        let (rows, ended) = again.expect_to(what)?;
        ensure(
            !ended || table.may_end_after(rows),
            format!("{known} rows as before"),
            format!("{rows} rows"),
            "keep nothing of a scan that broke",
        )?;
    }
    passed()
}

/// Reads on until there are more rows than `known`, or the time of a look is over: how many rows there are with those
/// before, and whether that was the end.
async fn some_rows(
    bench: &Bench,
    connection: &mut dyn Connection,
    before: usize,
    known: usize,
) -> Result<(usize, bool), mindhost_base::Error> {
    let (mut rows, start) = (before, Instant::now());
    while rows <= known && start.elapsed() < bench.pace.look {
        match connection.next(ROWS, &usual()).await? {
            Some(batch) => rows += batch.rows(),
            None => return Ok((rows, true)),
        }
    }
    Ok((rows, false))
}
