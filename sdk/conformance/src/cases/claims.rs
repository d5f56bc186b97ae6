//! What the manifest claims: snapshots.

use std::time::Duration;

use mindhost_plugin_api::Connection;

use crate::{
    bench::{Bench, read, usual},
    case::{Case, Expect, Stop, Verdict, ensure, failed, passed, skipped_until},
    cause::{Cause, kind, told},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "snapshot",
        proves: "A snapshot begins, serves statements, survives an error in one of them, and ends; where none is claimed, none begins.",
        run: |bench| Box::pin(snapshot(bench)),
    },
    Case {
        name: "snapshot-sees-one-state",
        proves: "Two statements in a snapshot see one state although the data change between them.",
        run: |bench| Box::pin(one_state(bench)),
    },
];

const LONG: Duration = Duration::from_secs(60);

async fn begin(connection: &mut dyn Connection) -> Result<bool, Stop> {
    let begun = connection.begin_snapshot(LONG, &usual()).await;
    begun.expect_to("a snapshot begins")
}

async fn snapshot(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    if !bench.manifest().capabilities.snapshot {
        return match connection.begin_snapshot(LONG, &usual()).await {
            Ok(false) => Ok("not claimed, and there is none".to_owned()),
            Err(error) if Cause::of(&error) == Cause::Reported(kind::UNSUPPORTED) => passed(),
            other => Err(failed(
                "no snapshot: the manifest does not claim `capabilities.snapshot`",
                format!("{:?}", other.map_err(|error| told(&error))),
                "claim it, or answer false",
            )),
        };
    }
    ensure(
        begin(&mut *connection).await?,
        "true from `begin-snapshot`, as the manifest claims",
        "false",
        "begin one, or take `snapshot` out of the manifest's capabilities",
    )?;
    bench.works(&mut *connection, "in a snapshot").await?;
    let wrong = read(&mut *connection, "SELECT 1 +* 2 FORM", 1).await;
    wrong.expect_kind("a syntax error in a snapshot", &[kind::INVALID_STATEMENT])?;
    let ended = connection.end_snapshot(&usual()).await;
    ended.expect_to("a snapshot ends, after an error in it too")?;
    bench.works(&mut *connection, "after a snapshot").await?;
    begin(&mut *connection).await?;
    let ended = connection.end_snapshot(&usual()).await;
    ended.expect_to("a second snapshot ends")?;
    passed()
}

async fn one_state(bench: &Bench) -> Verdict {
    if !bench.manifest().capabilities.snapshot {
        return Err(crate::case::skipped(
            "the manifest does not claim `capabilities.snapshot`",
        ));
    }
    let tests = &bench.config.tests;
    let (Some(change), Some(observe)) = (&tests.change, &tests.observe) else {
        return Err(skipped_until(
            "nothing changes the data",
            "tests.change: a program with its arguments that changes the data, and tests.observe: a statement that sees it",
        ));
    };
    let mut connection = bench.open().await?;
    begin(&mut *connection).await?;
    let before = observed(&mut *connection, observe).await?;
    run(change).await?;
    // An engine that can only notice a change fails the statement in place of showing another state.
    if let Ok(within) = read(&mut *connection, observe, 100).await {
        ensure(
            format!("{:?}", within.rows) == before,
            "the state at the beginning of the snapshot",
            "the changed data",
            "use the engine's repeatable reads, or fail the statement where it can only notice a change",
        )?;
    }
    connection
        .end_snapshot(&usual())
        .await
        .expect_to("the snapshot ends")?;
    let after = observed(&mut *bench.open().await?, observe).await?;
    ensure(
        after != before,
        "other data after the snapshot",
        "the same",
        "let tests.change really change what tests.observe sees",
    )?;
    passed()
}

async fn observed(connection: &mut dyn Connection, sql: &str) -> Result<String, Stop> {
    let answer = read(connection, sql, 100).await;
    Ok(format!(
        "{:?}",
        answer.expect_to(format!("`{sql}` runs"))?.rows
    ))
}

/// Runs a program of the configuration.
async fn run(program: &[String]) -> Result<(), Stop> {
    let (name, arguments) = program.split_first().ok_or_else(|| {
        skipped_until(
            "tests.change is empty",
            "tests.change: a program and its arguments",
        )
    })?;
    let ended = tokio::process::Command::new(name)
        .args(arguments)
        .kill_on_drop(true)
        .output();
    let wrong = match tokio::time::timeout(LONG, ended).await {
        Ok(Ok(output)) if output.status.success() => return Ok(()),
        Ok(Ok(output)) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it does not end".to_owned(),
    };
    Err(failed(
        "tests.change ends with success",
        wrong,
        "correct tests.change",
    ))
}
