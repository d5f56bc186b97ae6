//! Statements that are made by chance out of the lists. What the guard passes runs on the engine as its owner, outside
//! of any transaction, and must leave everything as it was.

use std::time::{Duration, Instant};

use fastrand::Rng;
use mindhost_plugin_api::{Dialect, TableRef};
use mindhost_sql::{Scope, ScopeDatasource, ScopeTable, guard};

use super::{Listed, POSTGRES_FIXTURE, SQLITE_FIXTURE, TABLES, everything_in, list, mariadb_shop};
use mindhost_tests::Postgres;

/// Statements that are made for one engine; `MUTATIONS` in the environment asks for more.
const STATEMENTS: u64 = 20_000;

/// How long one may run.
const PATIENCE: Duration = Duration::from_millis(500);

/// What `count` statements become in the guard, as texts for the engine, from those of two lists. `SEED` in the
/// environment makes others.
fn passed(dialect: Dialect, schema: &str, lists: [&str; 2]) -> Vec<String> {
    let from_env = |name: &str| std::env::var(name).ok()?.parse().ok();
    let count = from_env("MUTATIONS").unwrap_or(STATEMENTS);
    let mut chance = Rng::with_seed(from_env("SEED").unwrap_or(7));
    let corpus: Vec<Vec<String>> = lists
        .iter()
        .flat_map(|file| list(file))
        .filter(|Listed { text, .. }| text.len() < 2_000)
        .map(|Listed { text, .. }| pieces(&text))
        .collect();
    let scope = scope(dialect, schema);
    let mut passed: Vec<String> = (0..count)
        .filter_map(|_| guard(&mutated(&corpus, &mut chance), &scope).ok())
        .map(|guarded| guarded.text().to_owned())
        .collect();
    passed.sort();
    passed.dedup();
    assert!(
        passed.len() as u64 * 50 > count,
        "only {} of {count} statements for {dialect:?} passed",
        passed.len()
    );
    passed
}

fn scope(dialect: Dialect, schema: &str) -> Scope {
    let tables = TABLES.map(|name| ScopeTable::new(TableRef::new(schema, name), &[]));
    ScopeDatasource::new("shop", dialect, tables.into()).into()
}

/// Cuts a statement into words, texts in quotes, spaces and single signs.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut quote = None;
    for letter in text.chars() {
        let joins = |piece: &String| {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let alike = |same: fn(char) -> bool| same(letter) && piece.chars().all(same);
            quote.is_some()
                || (is_word(letter) && piece.chars().all(is_word))
                || alike(char::is_whitespace)
        };
        match pieces.last_mut().filter(|piece| joins(piece)) {
            Some(piece) => piece.push(letter),
            None => pieces.push(letter.into()),
        }
        quote = match quote {
            Some(open) if open == letter => None,
            None if ['\'', '"', '`'].contains(&letter) => Some(letter),
            other => other,
        };
    }
    pieces
}

/// One statement out of the pieces of others.
fn mutated(corpus: &[Vec<String>], chance: &mut Rng) -> String {
    /// What ends, hides or opens a part of a statement.
    const SIGNS: [&str; 16] = [
        ";",
        "--",
        "/*",
        "*/",
        "#",
        "'",
        "\"",
        "`",
        "(",
        ")",
        ",",
        "\\",
        "$$",
        " UNION ",
        " INTO ",
        " FOR UPDATE ",
    ];
    let any = |chance: &mut Rng| &corpus[chance.usize(..corpus.len())];
    let mut statement = any(chance).clone();
    for _ in 0..chance.usize(1..3) {
        let at = chance.usize(..=statement.len());
        let other = any(chance);
        let from = chance.usize(..other.len());
        let to = chance.usize(from..(from + 4).min(other.len()));
        match chance.u8(..8) {
            // A part of another statement, in place of a piece or beside it.
            0..=2 => {
                drop(statement.splice(at..(at + 1).min(statement.len()), other[from..=to].to_vec()))
            }
            3 => drop(statement.splice(at..at, other[from..=to].to_vec())),
            // Another statement's end, or all of it in brackets.
            4 => drop(statement.splice(at.., other[from..].to_vec())),
            5 => {
                let whole = other.concat();
                let inner = format!("({})", whole.trim().trim_end_matches(';'));
                statement.splice(at..(at + 1).min(statement.len()), [inner]);
            }
            6 => drop(statement.splice(at..(at + chance.usize(1..6)).min(statement.len()), [])),
            _ => statement.insert(at, SIGNS[chance.usize(..SIGNS.len())].to_owned()),
        }
    }
    statement.concat()
}

/// Enough of them must have done something.
fn check_ran(ran: usize, statements: usize) {
    assert!(ran * 4 > statements, "only {ran} of {statements} ran");
}

#[test]
fn sqlite_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let direct = rusqlite::Connection::open(&file).unwrap();
    direct.execute_batch(SQLITE_FIXTURE).unwrap();
    direct
        .execute_batch("PRAGMA hard_heap_limit = 268435456")
        .unwrap();
    let lists = [
        include_str!("../../../sql/attacks/sqlite.sql"),
        include_str!("../../../sql/legitimate/sqlite.sql"),
    ];
    let statements = passed(Dialect::Sqlite, "main", lists);
    let (before, changes) = (std::fs::read(&file).unwrap(), direct.total_changes());
    let mut ran = 0;
    for statement in &statements {
        let end = Instant::now() + PATIENCE;
        let is_late = Some(move || Instant::now() > end);
        direct.progress_handler(10_000, is_late).unwrap();
        let run = || -> rusqlite::Result<()> {
            let mut prepared = direct.prepare(statement)?;
            let mut rows = prepared.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        };
        ran += usize::from(run().is_ok());
        assert!(direct.is_autocommit(), "{statement}");
        assert_eq!(direct.total_changes(), changes, "{statement}");
    }
    check_ran(ran, statements.len());
    direct.progress_handler(0, None::<fn() -> bool>).unwrap();
    let attached: i64 = direct
        .query_row("SELECT count(*) FROM pragma_database_list", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(attached, 1);
    assert!(std::fs::read(&file).unwrap() == before);
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[tokio::test]
async fn postgresql_stays_as_it_was() {
    let database = Postgres::shared().database(POSTGRES_FIXTURE).await;
    let direct = database.client().await;
    let lists = [
        include_str!("../../../sql/attacks/postgresql.sql"),
        include_str!("../../../sql/legitimate/postgresql.sql"),
    ];
    let statements = passed(Dialect::Postgresql, "public", lists);
    let limit = format!("SET statement_timeout = {}", PATIENCE.as_millis());
    direct.batch_execute(&limit).await.unwrap();
    let settings = "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings";
    let locks = "SELECT count(*)::text FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'";
    let session = async || {
        let mut found = Vec::new();
        for query in [settings, locks, "SELECT current_user::text || session_user"] {
            found.push(
                direct
                    .query_one(query, &[])
                    .await
                    .unwrap()
                    .get::<_, String>(0),
            );
        }
        found
    };
    let (before, session_before) = (everything_in(&database).await, session().await);
    let mut ran = 0;
    for statement in &statements {
        ran += usize::from(direct.batch_execute(statement).await.is_ok());
    }
    check_ran(ran, statements.len());
    assert_eq!(session().await, session_before);
    assert_eq!(everything_in(&database).await, before);
}

#[tokio::test]
async fn mariadb_stays_as_it_was() {
    let database = mariadb_shop().await;
    let lists = [
        include_str!("../../../sql/attacks/mysql.sql"),
        include_str!("../../../sql/legitimate/mysql.sql"),
    ];
    let statements = passed(Dialect::Mysql, "shop", lists);
    let limit = format!("SET max_statement_time = {}", PATIENCE.as_secs_f32());
    let everything = async || database.dump(&["shop", "audit"]).await;
    let before = everything().await;
    let failed = database.run_each(&limit, &statements).await;
    check_ran(statements.len() - failed, statements.len());
    assert!(everything().await == before);
}
