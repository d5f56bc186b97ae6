//! Ending what runs: by the engine's own time limit, by the host's word, by leaving.

use std::time::{Duration, Instant};

use mindhost_base::{Error, Result as Called};
use mindhost_plugin_api::Statement;

use crate::{
    bench::{Bench, Bounds, PATIENCE, read, read_within, statement, usual},
    case::{Case, Expect, Stop, Verdict, ensure, failed, passed, shown},
    cause::{Cause, kind, told},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "statement-timeout",
        proves: "A statement that runs beyond its timeout ends by itself as `timeout`, before the host ends the call.",
        run: |bench| Box::pin(timeout(bench)),
    },
    Case {
        name: "cancel",
        proves: "A statement that the host cancels ends at once, in the engine too.",
        run: |bench| Box::pin(cancel(bench)),
    },
    Case {
        name: "left-midway",
        proves: "A connection that is dropped in the middle of a statement leaves nothing behind that runs.",
        run: |bench| Box::pin(left(bench)),
    },
    Case {
        name: "closed-midway",
        proves: "A cursor that is closed before its end lets the connection go on, or says that it cannot.",
        run: |bench| Box::pin(closed(bench)),
    },
];

/// How long before the host's time limit a call may be found to have run out of it.
const SLACK: Duration = Duration::from_secs(1);
/// How long a statement may go on after it should have ended. It takes no time where nothing else runs, and much longer
/// on a machine that does much else; without an end it goes on for more than a minute.
const SOON: Duration = Duration::from_secs(30);

async fn timeout(bench: &Bench) -> Verdict {
    let sql = bench.sample("slow", bench.samples.slow.clone())?;
    let mut connection = bench.open().await?;
    const LIMIT: Duration = Duration::from_secs(20);
    let short = Statement {
        timeout: Duration::from_secs(1),
        ..statement(&sql)
    };
    let start = Instant::now();
    let answer = read_within(&mut *connection, &short, 1, &Bounds::of(LIMIT)).await;
    // A language may fail when its time is up, which is no more than late.
    let is_late = |error: &Error| match Cause::of(error) {
        Cause::TimedOut => true,
        Cause::Broken => start.elapsed() + SLACK >= LIMIT,
        _ => false,
    };
    if let Some(error) = answer.as_ref().err().filter(|error| is_late(error)) {
        return Err(failed(
            "`timeout` from the plugin, a second after the statement began",
            told(error),
            "give the engine the statement's timeout (`timeout-ms`), or look at the clock while it runs",
        ));
    }
    answer.expect_kind(
        "a statement that runs for a minute, with a timeout of one second",
        &[kind::TIMEOUT],
    )?;
    Ok(format!("after {}", shown(start.elapsed())))
}

/// How many of the slow statements the engine runs now; none where it cannot say.
async fn running(bench: &Bench) -> Result<Option<i128>, Stop> {
    let Some(sql) = &bench.samples.running else {
        return Ok(None);
    };
    let mut watcher = bench.open().await?;
    let answer = read(&mut *watcher, sql, 1).await;
    Ok(answer.expect_to(format!("`{sql}` runs"))?.integer())
}

/// Whether the engine comes to run as many of them as wanted, in time.
async fn counts(bench: &Bench, within: Duration, wanted: fn(i128) -> bool) -> Result<bool, Stop> {
    let start = Instant::now();
    while start.elapsed() < within {
        if running(bench).await?.is_some_and(wanted) {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(false)
}

/// Waits until the engine runs a slow statement, as well as that can be seen.
async fn begun(bench: &Bench) -> Result<(), Stop> {
    if bench.samples.running.is_none() {
        tokio::time::sleep(Duration::from_millis(500)).await;
        return Ok(());
    }
    let seen = counts(bench, SOON, |running| running > 0).await?;
    ensure(
        seen,
        "the slow statement is seen in the engine",
        "it is not",
        "correct tests.running, so that it counts statements like tests.slow",
    )
}

/// Waits until the engine runs no slow statement any more.
async fn is_over(bench: &Bench) -> Result<String, Stop> {
    if bench.samples.running.is_none() {
        return Ok("the engine was not asked; tests.running would".to_owned());
    }
    let start = Instant::now();
    let over = counts(bench, SOON, |running| running == 0).await?;
    ensure(
        over,
        "the engine has stopped the statement",
        format!("it still runs it {} later", shown(SOON)),
        "stop it in the engine: through `control` while the plugin waits, and by the cancel key from outside",
    )?;
    Ok(format!(
        "the engine had stopped {} later",
        shown(start.elapsed())
    ))
}

async fn cancel(bench: &Bench) -> Verdict {
    let sql = bench.sample("slow", bench.samples.slow.clone())?;
    let mut connection = bench.open().await?;
    let bounds = Bounds::of(PATIENCE);
    let slow = statement(&sql);
    let run = read_within(&mut *connection, &slow, 1, &bounds);
    let stop = async {
        let begun = begun(bench).await;
        bounds.cancel.cancel();
        (begun, Instant::now())
    };
    let (answer, (begun, cancelled)) = futures_util::join!(run, stop);
    begun?;
    let took = cancelled.elapsed();
    is_cancelled(answer.map(drop))?;
    ensure(
        took <= SOON,
        format!("an end within {}", shown(SOON)),
        shown(took),
        "look at `control` wherever the plugin waits or counts",
    )?;
    let engine = match bench.manifest().capabilities.cancel {
        true => is_over(bench).await?,
        false => "capabilities.cancel is not claimed, so the engine was not asked".to_owned(),
    };
    bench.open().await?;
    Ok(format!("ended after {}; {engine}", shown(took)))
}

fn is_cancelled(answer: Called<()>) -> Result<(), Stop> {
    let expected = "an end because of the cancellation";
    match answer {
        Ok(()) => Err(failed(
            expected,
            "a whole answer",
            "give tests.slow a statement that runs for a minute or more",
        )),
        Err(error) if Cause::of(&error).is_cancellation() => Ok(()),
        Err(error) => Err(failed(
            expected,
            told(&error),
            "answer `cancelled` when `control` says so",
        )),
    }
}

async fn left(bench: &Bench) -> Verdict {
    let sql = bench.sample("slow", bench.samples.slow.clone())?;
    let mut connection = bench.open().await?;
    {
        let run = read(&mut *connection, &sql, 1);
        tokio::select! {
            answer = run => {
                answer.expect_to("the slow statement runs for a while")?;
            }
            begun = begun(bench) => begun?,
        }
    }
    drop(connection);
    let engine = match bench.manifest().capabilities.cancel {
        true => is_over(bench).await?,
        false => String::new(),
    };
    bench
        .works(&mut *bench.open().await?, "on another connection")
        .await?;
    Ok(engine)
}

async fn closed(bench: &Bench) -> Verdict {
    let sql = bench.sample("numbers", bench.samples.numbers(100_000))?;
    let one = bench.sample("one", bench.samples.one.clone())?;
    let mut connection = bench.open().await?;
    let runs = format!("`{sql}` runs");
    connection
        .query(&statement(&sql), &usual())
        .await
        .expect_to(&runs)?;
    connection.next(10, &usual()).await.expect_to(&runs)?;
    connection
        .close(&usual())
        .await
        .expect_to("the cursor closes before its end")?;
    match read(&mut *connection, &one, 1).await {
        Err(error) if Cause::of(&error) == Cause::Gone => {
            Ok("`close` said that the connection cannot be used again".to_owned())
        }
        other => {
            other.expect_to("the connection can be used again, as `close` said")?;
            passed()
        }
    }
}
