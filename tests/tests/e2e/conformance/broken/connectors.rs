//! Connectors that break what an engine owes: a guest that answers whatever it is asked, without any engine.

use mindhost_tests::{Value, json};

use super::report;

#[track_caller]
fn fails(data: &Value, hints: &Value, case: &str, words: &str) {
    let (succeeded, report) = report(data, hints, &format!("={case},check"));
    assert!(!succeeded, "{case}: {report}");
    assert!(
        report.contains(&format!("FAIL  {case} ")),
        "{case}: {report}"
    );
    assert!(report.contains(words), "{case}, {words}: {report}");
}

#[test]
fn connector_that_never_asks_its_engine_is_found_out() {
    // Nothing listens there, and the guest does not notice.
    let there = json!({"host": "127.0.0.1", "port": 1});
    let hints = json!({"huge": "h"});
    for (case, words) in [
        ("unreachable", "on which nobody listens"),
        ("stranger", "a mail server answers"),
        ("lost-idle", "a statement on a connection that broke"),
        ("lost-midway", "whose connection broke in its middle"),
    ] {
        fails(&there, &hints, case, words);
    }
    let any_password = json!({"password": "right"});
    fails(
        &any_password,
        &json!({}),
        "bad-credentials",
        "wrong credentials",
    );
}

#[test]
fn connector_whose_answers_contradict_each_other_is_found_out() {
    let numbers = json!({"numbers": "{rows}"});
    for (mode, at, after, hints, case, words) in [
        (
            "other-columns",
            "describe-tables",
            0,
            json!({}),
            "describe-matches-select",
            "[\"x\"]",
        ),
        (
            "as-asked",
            "next",
            0,
            json!({}),
            "batches-agree",
            "whatever the size of a batch",
        ),
        (
            "at-once",
            "next",
            0,
            numbers.clone(),
            "batch-bytes",
            "end the batch in time",
        ),
        (
            "error",
            "query",
            1,
            numbers,
            "closed-midway",
            "as `close` said",
        ),
    ] {
        let data = json!({"mode": mode, "at": at, "after": after});
        fails(&data, &hints, case, words);
    }
}

#[test]
fn connector_that_falls_over_at_a_statement_is_found_out() {
    let data = json!({"mode": "trap", "at": "query"});
    let hints = json!({"slow": "s"});
    for case in ["hostile-statements", "left-midway", "drops"] {
        fails(&data, &hints, case, "a broken contract");
    }
}

#[test]
fn snapshot_that_sees_newer_data_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    std::fs::write(&file, "1").unwrap();
    let data = json!({"mode": "size", "at": "query", "path": file, "target": "/data/state"});
    let change = format!("echo more >> '{}'", file.display());
    let hints = json!({"change": ["sh", "-c", change], "observe": "the size"});
    fails(&data, &hints, "snapshot-sees-one-state", "the changed data");
}
