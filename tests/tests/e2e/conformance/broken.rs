//! Plugins that break the contract fail the case that is there for it. A kit that cannot fail proves nothing.

mod connectors;
mod models;

use std::net::TcpListener;

use mindhost_tests::{Value, Version, build, json};

use super::{plugin, stdout};

/// The kit's lines on the hostile guest, with one configuration.
fn report(data: &Value, hints: &Value, filter: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let guest = build::guest("hostile");
    let config = json!({"connection_data": data, "tests": hints}).to_string();
    let args = [
        "test",
        guest.to_str().unwrap(),
        "--config",
        &config,
        "--filter",
        filter,
    ];
    let output = plugin(dir.path(), &args);
    (output.status.success(), stdout(&output))
}

#[track_caller]
fn check(data: Value, case: &str, words: &str) {
    let (_, decent) = report(&json!({}), &json!({}), case);
    assert!(
        decent.contains(&format!("pass  {case} ")),
        "a decent guest: {decent}"
    );
    let (succeeded, report) = report(&data, &json!({}), &format!("{case},check"));
    assert!(!succeeded, "{data}: {report}");
    assert!(
        report.contains(&format!("FAIL  {case} ")),
        "{data}: {report}"
    );
    assert!(report.contains(words), "{words}: {report}");
}

#[test]
fn traps_and_lies_fail_the_case_of_their_function() {
    for (mode, at, case, words) in [
        ("exit", "open", "opens", "it tried to exit"),
        ("auth", "open", "opens", "auth: wrong password"),
        ("trap", "check", "check", "a broken contract"),
        ("cancelled", "check", "check", "cancelled: by an admin"),
        ("many", "tables", "tables", "max_tables"),
        ("long-name", "tables", "tables", "a broken contract"),
        (
            "unasked",
            "describe-tables",
            "describe",
            "a broken contract",
        ),
        (
            "columns",
            "describe-tables",
            "describe",
            "a broken contract",
        ),
        ("nonsense", "statistics", "statistics", "a broken contract"),
        ("memory", "query", "one-row", "ran out of memory"),
        ("none", "schema", "one-row", "0 columns"),
        ("wide", "next", "one-row", "2 values in a result of 1"),
        ("type", "next", "one-row", "another type than its column's"),
        ("cell", "next", "one-row", "above the host's limit"),
    ] {
        check(json!({"mode": mode, "at": at}), case, words);
    }
}

#[test]
fn secrets_floods_and_reaching_out_are_noticed() {
    let leak = json!({"mode": "error", "at": "check", "password": "hunter22"});
    check(leak, "discretion", "no secret of the configuration");
    check(
        json!({"mode": "log", "at": "check"}),
        "discretion",
        "less than 10000 log lines",
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    // Another port of the same machine is granted.
    let reach =
        json!({"mode": "connect", "at": "check", "target": target, "host": "127.0.0.1", "port": 1});
    check(
        reach,
        "within-grants",
        "which its configuration does not name",
    );
}

/// A guest that answers every statement with one row knows no SQL, which the kit finds out in many ways.
#[test]
fn an_engine_that_says_yes_to_everything_is_found_out() {
    let hints = json!({
        "numbers": "{rows}", "wide": "{bytes}", "huge": "h", "slow": "s",
        "values": [{"sql": "v", "type": "text", "value": "v"}]
    });
    let (succeeded, report) = report(&json!({}), &hints, "");
    assert!(!succeeded);
    for case in [
        "describe-gone",
        "empty-result",
        "order",
        "paging",
        "values",
        "large-row-alone",
        "large-cell",
        "huge-result",
        "syntax-error",
        "unknown-table",
        "empty-statement",
        "several-statements",
        "writes-refused",
        "hostile-text",
        "snapshot",
        "statement-timeout",
        "cancel",
        "concurrency",
    ] {
        assert!(
            report.contains(&format!("FAIL  {case} ")),
            "{case}: {report}"
        );
    }
}

/// What a scanner claims and does not do costs rows, or gives wrong ones, in a statement that looks right.
#[test]
fn scanners_that_lie_are_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let guest = build::guest("scanner");
    let check = |table: &str, filter: &str| {
        let config = json!({
            "connection_data": {"rows": 24}, "tests": {"table": format!("main.{table}")}
        });
        let config = config.to_string();
        let args = [
            "test",
            guest.to_str().unwrap(),
            "--config",
            &config,
            "--filter",
            filter,
        ];
        let output = plugin(dir.path(), &args);
        (output.status.code(), stdout(&output))
    };
    let all = "projection,filter,limit,two-scans,scan-b,scan-c";
    let (code, report) = check("typed", all);
    assert_eq!(code, Some(0), "{report}");
    assert!(!report.contains("claims to apply none"), "{report}");
    for (table, case) in [
        ("typed_count", "filters"),
        ("typed_plain", "filters"),
        ("typed_list", "filters"),
        ("typed_first", "filter-pairs"),
        ("typed_shared", "two-scans"),
        // It hands out whatever it has, however large.
        ("typed", "scan-large-cell"),
        ("typed_turned", "projection"),
        ("typed_limit", "limit"),
        ("typed_skips", "scan-batches"),
        ("typed_stays", "scan-closed-midway"),
        ("panics", "scan-cancel"),
        ("endless", "scan-batches"),
    ] {
        let (code, report) = check(table, &format!("{case},check"));
        match table {
            // It ends when it is told to, and has no small table to compare.
            "endless" => assert_eq!(code, Some(0), "{report}"),
            _ => assert_eq!(code, Some(1), "{table}: {report}"),
        }
        let verdict = if table == "endless" { "skip" } else { "FAIL" };
        assert!(
            report.contains(&format!("{verdict}  {case} ")),
            "{table}: {report}"
        );
    }
}

/// Each case of the kit is named in a test that makes it fail.
#[test]
fn every_case_of_the_kit_is_shown_to_fail() {
    const TESTS: [&str; 3] = [
        include_str!("broken.rs"),
        include_str!("broken/connectors.rs"),
        include_str!("broken/models.rs"),
    ];
    // The guest that is a scanner has no network to lose.
    const NOT_SHOWN: &str = "lost-scan";
    let dir = tempfile::tempdir().unwrap();
    let model = Version::of_hostile_model("0.1.0").write(dir.path());
    for file in [build::guest("hostile"), build::guest("scanner"), model] {
        let output = plugin(dir.path(), &["test", file.to_str().unwrap(), "--list"]);
        let listed = stdout(&output);
        let names = listed
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let names: Vec<&str> = names.collect();
        assert!(names.len() > 10, "{listed}");
        for name in names.into_iter().filter(|name| *name != NOT_SHOWN) {
            let words = [format!("\"{name}\""), format!("FAIL  {name} ")];
            let is_shown = |test: &&str| words.iter().any(|word| test.contains(word));
            assert!(TESTS.iter().any(is_shown), "no plugin fails {name}");
        }
    }
}

/// A filter that fits nothing would prove nothing.
#[test]
fn a_filter_that_fits_no_case_is_refused_with_the_names_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let guest = build::guest("hostile");
    let args = [
        "test",
        guest.to_str().unwrap(),
        "--filter",
        "opens,nosuchcase",
    ];
    let output = plugin(dir.path(), &args);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let told = super::stderr(&output);
    assert!(
        told.contains("`nosuchcase`") && told.contains("lost-midway"),
        "{told}"
    );
}

#[test]
fn a_file_that_is_no_plugin_fails_too() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.wasm"), "nothing").unwrap();
    let output = plugin(dir.path(), &["test", "x.wasm"]);
    assert!(!output.status.success());
    assert!(
        stdout(&output).contains("FAIL  accepted "),
        "{}",
        stdout(&output)
    );
}
