//! Many connections at once, and what was noticed of all of them.

use futures_util::future::join_all;
use mindhost_plugin_api::Value;

use crate::{
    bench::{Bench, Notes, PATIENCE, ROWS, read, statement, usual},
    case::{Case, Expect, Stop, Verdict, counted, ensure, passed},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "concurrency",
        proves: "Six connections work at the same time, and no row of one shows up in another.",
        run: |bench| Box::pin(concurrency(bench)),
    },
    Case {
        name: "drops",
        proves: "Connections and cursors may be dropped at any point.",
        run: |bench| Box::pin(drops(bench)),
    },
];

/// What is judged when all other cases have run.
pub(super) const LAST: &[Case] = &[
    Case {
        name: "discretion",
        proves: "No secret is in an error or a log line, and no second has ten thousand lines too many.",
        run: |bench| Box::pin(async { discretion(&bench.notes) }),
    },
    Case {
        name: "within-grants",
        proves: "The plugin tried to reach nothing that its configuration does not name.",
        run: |bench| Box::pin(async { within_grants(&bench.notes) }),
    },
];

async fn concurrency(bench: &Bench) -> Verdict {
    bench.sample("text", bench.samples.text("x"))?;
    let workers = join_all((0..6).map(|worker| own_rows(bench, worker))).await;
    workers.into_iter().collect::<Result<Vec<_>, _>>()?;
    passed()
}

async fn own_rows(bench: &Bench, worker: usize) -> Result<(), Stop> {
    let mut connection = bench.open().await?;
    for turn in 0..10 {
        let text = format!("worker {worker}, turn {turn}");
        let sql = bench.sample("text", bench.samples.text(&text))?;
        let answer = read(&mut *connection, &sql, ROWS).await;
        let answer = answer.expect_to("statements run on six connections at once")?;
        ensure(
            answer.only() == Some(&Value::Text(text.clone())),
            format!("`{text}`"),
            format!("{:?}", answer.rows),
            "keep no state outside of the connection",
        )?;
    }
    Ok(())
}

async fn drops(bench: &Bench) -> Verdict {
    let one = bench.sample("one", bench.samples.one.clone())?;
    for point in 0..4 {
        let mut connection = bench.open().await?;
        if point > 0 {
            connection
                .query(&statement(&one), &usual())
                .await
                .expect_to("a statement runs")?;
        }
        if point > 1 {
            connection
                .next(1, &usual())
                .await
                .expect_to("a row is read")?;
        }
        if point > 2 {
            connection
                .close(&usual())
                .await
                .expect_to("the cursor closes")?;
        }
    }
    let _ = bench.open().await?.begin_snapshot(PATIENCE, &usual()).await;
    bench
        .works(&mut *bench.open().await?, "after others were dropped")
        .await?;
    passed()
}

/// So many lines above the limit in one second are a flood. The kit makes hundreds of calls in a second, so a plugin
/// that logs a line for each call, or for each row of a small table, comes above the limit and is no flood.
const FLOOD: u64 = 10_000;

pub(super) fn discretion(notes: &Notes) -> Verdict {
    let (mut lines, mut dropped) = (0, 0);
    for (case, noticed) in notes.all().iter() {
        lines += noticed.lines.len();
        dropped += noticed.dropped_lines;
        ensure(
            noticed.leaks.is_empty(),
            "no secret of the configuration in an error or a log line",
            format!("in `{case}`: {}", noticed.leaks.join("; ")),
            "write neither passwords nor keys into texts; the host masks those that it finds, and finds only what it knows",
        )?;
        ensure(
            noticed.most_dropped < FLOOD,
            format!("less than {FLOOD} log lines in a second above what the host keeps"),
            format!("{} dropped in one second of `{case}`", noticed.most_dropped),
            "log what an operator needs: a line for a call or a page, and not for each row of a large table",
        )?;
    }
    Ok(match (lines, dropped) {
        (0, _) => String::new(),
        (lines, 0) => counted(lines, "log line"),
        (lines, dropped) => format!(
            "{}; the host dropped {dropped} more, as it keeps some of each second",
            counted(lines, "log line")
        ),
    })
}

pub(super) fn within_grants(notes: &Notes) -> Verdict {
    for (case, noticed) in notes.all().iter() {
        ensure(
            noticed.refusals.is_empty(),
            "no attempt beyond the grants",
            format!("in `{case}`: {}", noticed.refusals.join("; ")),
            "reach nothing but what connection_data names, or let the manifest name the property that holds it",
        )?;
    }
    passed()
}
