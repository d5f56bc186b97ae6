//! A statement that wrote is found out by what it wrote, whatever the plugin said of it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::Path,
    thread,
};

use mindhost_tests::{build, json};

use super::{plugin, stdout};

/// An engine that runs `SELECT … INTO OUTFILE '…'`, where it may; gives its port.
fn engine(may_write: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut statement = String::new();
            let mut reader = BufReader::new(stream);
            reader.read_line(&mut statement).unwrap();
            if let Some((_, file)) = statement.split_once("INTO OUTFILE '")
                && may_write
            {
                fs::write(file.trim_end().trim_end_matches('\''), "1").unwrap();
            }
            let _ = reader.get_mut().write_all(b".");
        }
    });
    port
}

/// The kit on a connector that hands every statement on, and says that it gives no rows.
fn report(dir: &Path, may_write: bool, watch: &[&str]) -> (bool, String) {
    let port = engine(may_write);
    let guest = build::guest("hostile");
    let config = json!({
        "connection_data": {
            "mode": "passes-on", "at": "query", "target": format!("127.0.0.1:{port}"), "host": "127.0.0.1", "port": port
        },
        "tests": {
            "watch": watch,
            "writes": ["DELETE FROM {table}", format!("SELECT 1 INTO OUTFILE '{}'", dir.join("out/rows").display())]
        }
    });
    let config = super::config(dir, &config);
    let guest = guest.to_str().unwrap();
    let args = [
        "test",
        guest,
        "--config",
        config,
        "--filter",
        "writes-refused",
    ];
    let output = plugin(dir, &args);
    (output.status.success(), stdout(&output))
}

fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    dir
}

#[test]
fn a_file_that_a_refused_statement_wrote_is_found() {
    let dir = place();
    let (succeeded, report) = report(dir.path(), true, &["out"]);
    assert!(dir.path().join("out/rows").exists());
    assert!(!succeeded, "{report}");
    assert!(report.contains("FAIL  writes-refused "), "{report}");
    assert!(report.contains("out/rows is new"), "{report}");
    assert!(report.contains("gives no rows"), "{report}");
}

#[test]
fn an_engine_that_refuses_to_write_files_passes() {
    let dir = place();
    let (succeeded, report) = report(dir.path(), false, &["out"]);
    assert!(succeeded, "{report}");
    assert!(
        report.contains("nothing changed below tests.watch"),
        "{report}"
    );
}

/// The kit sees tables by itself, and files only where it is told to look; it says so.
#[test]
fn without_a_watched_directory_the_report_says_so() {
    let dir = place();
    let (_, report) = report(dir.path(), false, &[]);
    assert!(report.contains("no directory is watched"), "{report}");
}
