//! Model providers that break the contract: the hostile guest, packed as a model.

use mindhost_tests::{Value, Version, json};

use super::super::{plugin, stdout};

/// The kit's lines on a few of its cases.
fn report(data: &Value, cases: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = Version::of_hostile_model("0.1.0").write(dir.path());
    let config = json!({"connection_data": data}).to_string();
    let args = [
        "test",
        file.to_str().unwrap(),
        "--config",
        &config,
        "--filter",
        cases,
    ];
    let output = plugin(dir.path(), &args);
    (output.status.success(), stdout(&output))
}

#[track_caller]
fn fails(data: &Value, case: &str, words: &str) {
    let (succeeded, report) = report(data, &format!("={case},=check"));
    assert!(!succeeded, "{data}: {report}");
    assert!(
        report.contains(&format!("FAIL  {case} ")),
        "{data}: {report}"
    );
    assert!(report.contains(words), "{data}, {words}: {report}");
}

/// What the modes differ from.
#[test]
fn decent_model_passes() {
    let (succeeded, decent) = report(&json!({}), "");
    assert!(succeeded, "{decent}");
    let (succeeded, calls) = report(&json!({"mode": "calls", "at": "next"}), "=tool-call");
    assert!(succeeded && calls.contains("pass  tool-call "), "{calls}");
}

#[test]
fn models_that_break_the_contract_fail_the_case_of_it() {
    for (mode, at, case, words) in [
        ("trap", "check", "check", "a broken contract"),
        ("long-name", "models", "models", "a broken contract"),
        ("no-stop", "next", "answer", "a broken contract"),
        ("after-stop", "next", "answer", "a broken contract"),
        ("silent", "next", "answer", "nothing but the end"),
        ("usage-names", "next", "usage", "an answer comes to its end"),
        ("tokens", "next", "usage", "use the names of the contract"),
        (
            "calls-another",
            "next",
            "tool-call",
            "`erase` with the id `1`",
        ),
        (
            "calls-and-ends",
            "next",
            "tool-call",
            "the reason `tool-calls`",
        ),
        ("trap", "next", "tool-choice", "tool-choice `required`"),
        ("trap", "next", "long-prompt", "a prompt of a megabyte"),
        ("trap", "next", "hostile-prompt", "for the prompt"),
        ("trap", "start", "concurrency", "four answers at once"),
        // It falls over when its rest is asked for.
        (
            "trap-later",
            "next",
            "cancel",
            "because of the cancellation",
        ),
        ("log", "check", "discretion", "less than 10000 log lines"),
    ] {
        let data = json!({"mode": mode, "at": at});
        fails(&data, case, words);
    }
}

#[test]
fn model_that_never_asks_its_vendor_is_found_out() {
    // Nothing listens there, and the guest does not notice.
    let there = json!({"base_url": "http://127.0.0.1:1", "api_key": "right"});
    for (case, words) in [
        ("bad-credentials", "an answer with a wrong key"),
        ("unreachable", "where nobody listens"),
        ("stranger", "a mail server answers"),
    ] {
        fails(&there, case, words);
    }
    let lost = json!({"base_url": "http://127.0.0.1:1", "mode": "unreachable", "at": "start"});
    fails(&lost, "reconnect", "through a proxy of the kit");
    let elsewhere = json!({
        "base_url": "http://127.0.0.1:1", "mode": "http", "at": "check", "target": "127.0.0.1:2",
    });
    fails(
        &elsewhere,
        "within-grants",
        "which its configuration does not name",
    );
}
