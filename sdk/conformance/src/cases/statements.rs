//! Statements that the engine rejects, that would write, and that try to do harm.

use std::time::Duration;

use mindhost_base::Error;
use mindhost_plugin_api::{Connection, Statement, Value};

use crate::{
    bench::{Bench, Bounds, PATIENCE, ROWS, read, read_within, statement, usual},
    case::{Case, Expect, Stop, Verdict, ensure, failed, passed, skipped, unexpected},
    cause::{Cause, kind, told},
    observed::Observed,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "syntax-error",
        proves: "A statement that the engine cannot parse is `invalid-statement`, with a position inside of it where there is one, and the connection lives on.",
        run: |bench| Box::pin(syntax_error(bench)),
    },
    Case {
        name: "unknown-table",
        proves: "A table that is not there is `invalid-statement` or `not-found`, and the connection lives on.",
        run: |bench| Box::pin(unknown_table(bench)),
    },
    Case {
        name: "empty-statement",
        proves: "Nothing, a lone semicolon and a lone comment are errors.",
        run: |bench| Box::pin(empty_statement(bench)),
    },
    Case {
        name: "several-statements",
        proves: "Two statements in one text are refused, so that nothing can follow on a harmless one.",
        run: |bench| Box::pin(several(bench)),
    },
    Case {
        name: "writes-refused",
        proves: "The connector refuses to write by itself, past every guard before it, and nothing in its source changes.",
        run: |bench| Box::pin(writes(bench)),
    },
    Case {
        name: "hostile-text",
        proves: "Texts with quotes, marks of parameters, comments and rare characters come back as they went in.",
        run: |bench| Box::pin(hostile_text(bench)),
    },
    Case {
        name: "hostile-statements",
        proves: "Statements with NUL, a megabyte of text or ten thousand parentheses are answered or refused, never a trap.",
        run: |bench| Box::pin(hostile_statements(bench)),
    },
];

/// The time of a statement that an engine may have trouble with.
const HOSTILE: Duration = Duration::from_secs(20);

async fn rejected(
    connection: &mut dyn Connection,
    sql: &str,
    kinds: &[&str],
) -> Result<Error, Stop> {
    let failure = read(connection, sql, ROWS)
        .await
        .expect_kind(format!("`{sql}`"), kinds)?;
    let length = sql.chars().count();
    let beyond = failure
        .position()
        .filter(|position| *position as usize > length + 1);
    ensure(
        beyond.is_none(),
        format!("a position in the {length} characters of `{sql}`"),
        format!("{beyond:?}"),
        "count characters of the statement as it was given, from 1",
    )?;
    Ok(failure)
}

async fn syntax_error(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let failure = rejected(
        &mut *connection,
        "SELECT 1 +* 2 FORM",
        &[kind::INVALID_STATEMENT],
    )
    .await?;
    bench
        .works(&mut *connection, "after a syntax error")
        .await?;
    Ok(match failure.position() {
        Some(position) => format!("position {position}"),
        None => "without a position".to_owned(),
    })
}

async fn unknown_table(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let sql = "SELECT * FROM mindhost_conformance_nowhere";
    let kinds = [kind::INVALID_STATEMENT, kind::NOT_FOUND];
    rejected(&mut *connection, sql, &kinds).await?;
    bench
        .works(&mut *connection, "after an unknown table")
        .await?;
    passed()
}

async fn empty_statement(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    for sql in ["", ";", "-- nothing", "   \n"] {
        let answer = read(&mut *connection, sql, ROWS).await;
        let kinds = [kind::INVALID_STATEMENT, kind::UNSUPPORTED];
        answer.expect_kind(format!("the statement {sql:?}"), &kinds)?;
    }
    bench
        .works(&mut *connection, "after statements without content")
        .await?;
    passed()
}

async fn several(bench: &Bench) -> Verdict {
    let one = bench.sample("one", bench.samples.one.clone())?;
    let mut connection = bench.open().await?;
    for sql in [
        format!("{one}; {one}"),
        format!("{one}; DROP TABLE mindhost_conformance_nowhere"),
    ] {
        let answer = read(&mut *connection, &sql, ROWS).await;
        let kinds = [kind::INVALID_STATEMENT, kind::UNSUPPORTED, kind::PERMISSION];
        answer.expect_kind(format!("`{sql}`"), &kinds)?;
    }
    passed()
}

async fn writes(bench: &Bench) -> Verdict {
    let mut connection = bench.open().await?;
    let tables = connection.tables(&usual()).await;
    let tables = tables.expect_to("tables are listed")?;
    drop(connection);
    let writes = bench.samples.writes(tables.first());
    if writes.is_empty() {
        return Err(skipped("tests.writes is empty"));
    }
    let before = Observed::of(bench).await?;
    for sql in &writes {
        let mut connection = bench.open().await?;
        let answer = read(&mut *connection, sql, ROWS).await;
        drop(connection);
        let answered = match &answer {
            Ok(_) => "success".to_owned(),
            Err(error) => told(error),
        };
        let kinds = [
            kind::INVALID_STATEMENT,
            kind::PERMISSION,
            kind::UNSUPPORTED,
            kind::NOT_FOUND,
            kind::DENIED,
            kind::UPSTREAM,
        ];
        // What it did counts for more than what it said of it.
        if let Some(change) = before.difference(&Observed::of(bench).await?) {
            return Err(failed(
                format!("nothing is changed by `{sql}`"),
                format!("{change}; the plugin answered: {answered}"),
                "run every statement in a read-only transaction that is rolled back, as a user who may not write files",
            ));
        }
        answer.expect_kind(
            format!("`{sql}`, which a read-only transaction or session refuses"),
            &kinds,
        )?;
    }
    let watched = match bench.config.tests.watch.is_empty() {
        true => "no directory is watched (tests.watch)",
        false => "nothing changed below tests.watch",
    };
    Ok(format!("{} statements; {watched}", writes.len()))
}

async fn hostile_text(bench: &Bench) -> Verdict {
    bench.sample("text", bench.samples.text("x"))?;
    let mut connection = bench.open().await?;
    for text in [
        "it's",
        "\"double\" `back`",
        "%s {0} $1 ?1 :name @p",
        "-- no comment /* nor this */",
        "line\nline\ttab",
        "naïve ☃ 🦀 \u{202e}right to left",
        "e\u{301} is not é",
        "",
        " both ends ",
    ] {
        let sql = bench.sample("text", bench.samples.text(text))?;
        let answer = read(&mut *connection, &sql, ROWS).await;
        let answer = answer.expect_to(format!("a literal of {text:?} can be selected"))?;
        ensure(
            answer.only() == Some(&Value::Text(text.to_owned())),
            format!("the text {text:?}"),
            format!("{:?}", answer.only()),
            "hand text on byte by byte, as UTF-8",
        )?;
    }
    passed()
}

async fn hostile_statements(bench: &Bench) -> Verdict {
    let one = bench.sample("one", bench.samples.one.clone())?;
    let deep = 10_000;
    for (what, sql) in [
        ("a NUL byte", format!("{one}\0")),
        ("a NUL in a literal", "SELECT 'a\0b'".to_owned()),
        (
            "a megabyte of text",
            format!("SELECT '{}'", "x".repeat(1 << 20)),
        ),
        (
            "ten thousand parentheses",
            format!("SELECT {}1{}", "(".repeat(deep), ")".repeat(deep)),
        ),
        (
            "ten thousand unclosed parentheses",
            format!("SELECT {}", "(".repeat(deep)),
        ),
        ("an unclosed text", "SELECT 'x".to_owned()),
        ("controls", "SELECT \u{1}\u{7f}\u{feff} 1".to_owned()),
    ] {
        let mut connection = bench.open().await?;
        // Some engines parse for minutes: the statement must end within its own time, before the call is cut off.
        let statement = Statement {
            timeout: HOSTILE,
            ..statement(&sql)
        };
        let bounds = Bounds::of(PATIENCE);
        if let Err(error) = read_within(&mut *connection, &statement, ROWS, &bounds).await
            && !matches!(Cause::of(&error), Cause::Reported(_))
        {
            let expected = format!("an answer or an error for a statement with {what}");
            return Err(unexpected(expected, &error));
        }
    }
    passed()
}
