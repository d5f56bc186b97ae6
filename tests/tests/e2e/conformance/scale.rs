//! Scanners that are slow or large and keep the contract pass the kit; lies about large tables are found.

use std::thread;

use mindhost_tests::{build, json};

use super::{plugin, stdout};

/// All cases of scanners but `scan-large-cell`: the guest hands out whatever it has, however large.
const CASES: &str = "opens,check,tables,describe,statistics,batches-agree,projection,filter,limit,two-scans,\
                     scan-batches,scan-c,concurrency,drops,discretion,within-grants";

/// What the kit says of a made-up scanner whose tables have so many rows, a thousand of which come after so many
/// milliseconds.
fn report(tables: &[&str], rows: u32, page_ms: u32, filter: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let guest = build::guest("scanner");
    let config = json!({
        "connection_data": {"rows": rows, "page_ms": page_ms, "tables": tables},
        "tests": {}
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
}

/// The host reads ahead: it is in the middle of a page when the kit leaves an answer and goes on to the next table.
#[test]
fn slow_scanners_pass() {
    let runs = [(100, 300), (100, 1_000), (2_500, 300), (2_500, 1_000)].map(|(rows, page_ms)| {
        thread::spawn(move || {
            (
                rows,
                page_ms,
                report(&["typed", "typed_again"], rows, page_ms, CASES),
            )
        })
    });
    for run in runs {
        let (rows, page_ms, (code, report)) = run.join().unwrap();
        assert_eq!(code, Some(0), "{rows} rows, {page_ms} ms a page: {report}");
        assert!(!report.contains("claims to apply none"), "{report}");
    }
}

#[test]
fn large_scanners_pass() {
    for tables in [&["typed", "typed_again"][..], &["typed_uneven"]] {
        let (code, report) = report(tables, 100_000, 0, CASES);
        assert_eq!(code, Some(0), "{report}");
        for case in ["filters", "filter-pairs", "limit"] {
            assert!(report.contains(&format!("pass  {case} ")), "{report}");
        }
    }
}

#[test]
fn scanners_that_lie_about_large_tables_are_found_out() {
    for table in ["typed_liar", "typed_late", "typed_short"] {
        let (code, report) = report(&[table], 10_000, 0, "filters,check");
        assert_eq!(code, Some(1), "{table}: {report}");
        assert!(report.contains("FAIL  filters "), "{table}: {report}");
    }
}
