//! Calls that were recorded are repeated on another version.

use mindhost_tests::{Value, json};

use super::{built, plugin, shop, stderr, stdout};

const SQL: &str = "SELECT id, name, price FROM item ORDER BY id";

#[test]
fn the_same_plugin_does_the_same() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let config = ["--config", "conformance.toml"];
    let record = [
        &["run", &sqlite][..],
        &config,
        &["--record", "calls.jsonl", SQL],
    ]
    .concat();
    assert!(plugin(dir.path(), &record).status.success());

    let lines = std::fs::read_to_string(dir.path().join("calls.jsonl")).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["mindhost_recording"], 1);
    let calls: Vec<_> = lines[1..].iter().map(|line| line["call"].clone()).collect();
    assert_eq!(
        json!(calls),
        json!(["open", "query", "next", "next", "close"])
    );
    assert_eq!(lines[3]["ok"]["rows"], 3);
    assert_eq!(
        lines[3]["ok"].get("values"),
        None,
        "rows are kept as a digest alone"
    );

    let replay = [&["replay", "calls.jsonl", "--plugin", &sqlite][..], &config].concat();
    let same = plugin(dir.path(), &replay);
    assert!(same.status.success(), "{}{}", stdout(&same), stderr(&same));
    assert!(stdout(&same).contains(" 0 differ"), "{}", stdout(&same));
}

#[test]
fn other_rows_types_and_errors_are_told_apart() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let config = ["--config", "conformance.toml"];
    let record = |file: &str, sql: &str| {
        let args = [&["run", &sqlite][..], &config, &["--record", file, sql]].concat();
        plugin(dir.path(), &args)
    };
    let replay = |file: &str| {
        let args = [&["replay", file, "--plugin", &sqlite][..], &config].concat();
        let output = plugin(dir.path(), &args);
        (output.status.success(), stdout(&output))
    };
    assert!(record("rows.jsonl", SQL).status.success());
    assert!(
        record("free.jsonl", "SELECT name FROM item")
            .status
            .success()
    );
    assert!(
        !record("error.jsonl", "SELECT later FROM item")
            .status
            .success()
    );
    assert!(replay("error.jsonl").0, "the same error is no difference");

    let database = rusqlite::Connection::open(dir.path().join("shop.db")).unwrap();
    database
        .execute_batch(
            "UPDATE item SET price = 9 WHERE id = 1; ALTER TABLE item ADD COLUMN later TEXT",
        )
        .unwrap();
    let (same, report) = replay("rows.jsonl");
    assert!(!same && report.contains("values of the rows"), "{report}");
    assert!(!report.contains("number of rows"), "{report}");
    let (same, report) = replay("error.jsonl");
    assert!(!same && report.contains("replayed success"), "{report}");
    // Rows without an order may come in any.
    assert!(replay("free.jsonl").0);
}

/// Calls towards somewhere else than those of the recording are not made, so it proves nothing there.
#[test]
fn a_replay_that_compares_nothing_fails() {
    let (dir, elsewhere) = (shop(), shop());
    let sqlite = built("connector-sqlite");
    let config = ["--config", "conformance.toml"];
    let record = [
        &["run", &sqlite][..],
        &config,
        &["--record", "calls.jsonl", SQL],
    ]
    .concat();
    assert!(plugin(dir.path(), &record).status.success());
    std::fs::copy(
        dir.path().join("calls.jsonl"),
        elsewhere.path().join("calls.jsonl"),
    )
    .unwrap();
    let replay = [&["replay", "calls.jsonl", "--plugin", &sqlite][..], &config].concat();
    let output = plugin(elsewhere.path(), &replay);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("led elsewhere"),
        "{}",
        stderr(&output)
    );
}
