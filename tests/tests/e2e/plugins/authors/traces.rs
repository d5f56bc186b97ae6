//! What went wrong is told with the author's files and lines: in logs when the plugin runs, in three lines when it is
//! built. Callers see no trace.

use std::sync::atomic::Ordering;

use mindhost_tests::{Host, Project, build, eventually, expect_success, json};

use super::{JAVASCRIPT, Language, PYTHON, TYPESCRIPT, errors, run, serve};

#[tokio::test]
async fn what_a_plugin_in_javascript_says_and_throws_has_its_lines() {
    lines(&JAVASCRIPT, script_frames(&JAVASCRIPT)).await;
}

#[tokio::test]
async fn what_a_plugin_in_typescript_says_and_throws_has_its_lines() {
    lines(&TYPESCRIPT, script_frames(&TYPESCRIPT)).await;
}

#[tokio::test]
async fn what_a_plugin_in_python_says_and_throws_has_its_lines() {
    let thrown = PYTHON.line(1, "result += number");
    let called = PYTHON.line(0, "total([\"one\"])");
    let frames = [
        "TypeError: unsupported operand type(s)".to_owned(),
        format!(r#"File "lib.py", line {thrown}, in total"#),
        "result += number".to_owned(),
        format!(r#"File "plugin.py", line {called}, in scan"#),
    ];
    lines(&PYTHON, frames.into()).await;
}

/// The frames of `total(null)` in JavaScript and TypeScript.
fn script_frames(language: &Language) -> Vec<String> {
    let [(plugin, _), (module, _)] = language.files;
    let (thrown, called) = (
        language.line(1, "numbers.length"),
        language.line(0, "if (name === \"broken\")"),
    );
    vec![
        "TypeError: cannot read property".to_owned(),
        format!("at total ({module}:{thrown}:"),
        format!("at scan ({plugin}:{called}:"),
    ]
}

/// One plugin, three runs: its log, its rows from a busy server with pages, its faults.
async fn lines(language: &Language, frames: Vec<String>) {
    let project = language.project();
    let (url, asked) = serve().await;

    let checked = run(&project, &url, &[]).await;
    expect_success(&checked, "plugin run");
    let log = errors(&checked);
    let expected = [
        "log      info slept",
        "log      warn a warning",
        "log      warn in two lines",
    ];
    for line in expected.into_iter().chain(["log      debug a detail"]) {
        assert!(log.contains(line), "no line `{line}` in\n{log}");
    }
    assert!(log.to_lowercase().contains("true"), "{log}");
    if language.name == "python" {
        for line in [
            "items: 2 details",
            "half \u{fffd} of 2024 b'\\xe9'",
            "the JSON has more than 500 levels",
        ] {
            assert!(
                log.contains(&format!("log      info {line}")),
                "no line `{line}` in\n{log}"
            );
        }
    }

    let statement = "SELECT n, id, amount, at FROM items ORDER BY n";
    let rows = run(&project, &url, &["--format", "csv", statement]).await;
    expect_success(&rows, "plugin run");
    let rows = String::from_utf8(rows.stdout).unwrap();
    for n in 1..=3 {
        let row =
            format!("{n},900719925474099{n},0.1234567890123456789,2024-02-29T13:45:00.00000{n}Z");
        assert!(
            rows.lines().any(|line| line == row),
            "no row `{row}` in\n{rows}"
        );
    }
    assert_eq!(asked.load(Ordering::SeqCst), 6, "each page was busy once");

    for (table, message) in [("broken", &*frames[0]), ("refused", "the items are odd")] {
        let failed = run(&project, &url, &[&format!("SELECT n FROM {table}")]).await;
        let told = errors(&failed);
        assert!(!failed.status.success(), "{told}");
        let (log, last) = told.trim_end().rsplit_once('\n').unwrap();
        assert!(last.contains(message), "{last}");
        assert!(
            !last.contains(language.files[0].0),
            "callers see no trace: {last}"
        );
        // The refusal names its cause; who called it is another line.
        let frames = if table == "broken" {
            &frames[..]
        } else {
            &frames[..2]
        };
        for frame in frames {
            assert!(log.contains(&**frame), "{table}: no `{frame}` in\n{told}");
        }
        assert!(
            !log.contains("rows.py") && !log.contains("rows.js"),
            "frames of the SDK: {log}"
        );
    }
}

/// In `plugin run`, and in the report of the conformance kit.
#[test]
fn panic_of_a_plugin_in_rust_has_its_file_line_and_function() {
    const SCAN: &str = "let mut lines = Planets::open(self)?.lines();";
    const CALL: &str = "std::hint::black_box(total(std::hint::black_box(&[1])));";
    const TOTAL: &str = "#[inline(never)]\nfn total(numbers: &[u64]) -> u64 {\n    numbers[3]\n}\n";
    let project = Project::of_template("connector-space", "file-scanner", "rust");
    let path = project.path().join("src/lib.rs");
    let source = std::fs::read_to_string(&path).unwrap();
    assert!(source.contains(SCAN));
    let source = format!(
        "{}\n{TOTAL}",
        source.replace(SCAN, &format!("{CALL}\n        {SCAN}"))
    );
    let line = 1 + source
        .lines()
        .position(|line| line.contains("numbers[3]"))
        .unwrap();
    std::fs::write(path, source).unwrap();
    let plugin = project.build();
    let command = |args: &[&str]| {
        let mut command = project.command(build::host_binary().to_str().unwrap(), &["plugin"]);
        command
            .args(args)
            .arg(&plugin)
            .args(["--config", "test.json"]);
        command
    };
    let failed = command(&["run"])
        .arg("SELECT name FROM planets")
        .output()
        .unwrap();
    let told = errors(&failed);
    assert!(!failed.status.success(), "{told}");
    let (log, last) = told.trim_end().rsplit_once('\n').unwrap();
    let place = format!("panicked at src/lib.rs:{line}:5");
    for words in [
        &*place,
        "log      error thread '",
        "log      error index out of bounds",
        "total",
    ] {
        assert!(log.contains(words), "no `{words}` in\n{told}");
    }
    // A plugin has no environment in which an author could set it.
    assert!(!log.contains("RUST_BACKTRACE"), "{told}");
    assert!(
        last.contains("it panicked") && !last.contains("lib.rs"),
        "{last}"
    );
    let tested = command(&["test", "--filter", "=batches-agree"])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&tested.stdout);
    for words in ["FAIL  batches-agree ", &*place, "index out of bounds"] {
        assert!(report.contains(words), "no `{words}` in\n{report}");
    }
}

/// The log of a server has the trace, its callers do not.
#[tokio::test]
async fn a_server_logs_the_trace_that_its_callers_do_not_see() {
    let project = JAVASCRIPT.project();
    let (url, _) = serve().await;
    let host = Host::builder().plugin(project.build()).start().await;
    let datasource = json!({"name": "items", "engine": "items", "connection_data": {"url": url}});
    host.post("/datasources", datasource)
        .await
        .expect_status(201);
    let mind = host
        .mind("clerk")
        .datasource("items")
        .direct_queries()
        .create()
        .await;
    let failed = mind.sql("SELECT n FROM broken").await;
    let body = failed.text();
    assert!(body.contains("cannot read property"), "{body}");
    assert!(!body.contains("sums.js"), "{body}");
    let place = format!(
        "at total (lib/sums.js:{}:",
        JAVASCRIPT.line(1, "numbers.length")
    );
    eventually(async || host.log(), |log| log.contains(&place)).await;
}

#[test]
fn a_syntax_error_in_javascript_is_three_lines() {
    let line = JAVASCRIPT.line(1, "let sum = 0");
    syntax(
        &JAVASCRIPT,
        ("let sum = 0", "let sum 0"),
        &[
            &format!("lib/sums.js:{line}:11"),
            "    let sum 0;",
            "            ^ Expected \";\" but found \"0\"",
        ],
    );
}

#[test]
fn a_syntax_error_in_typescript_is_three_lines() {
    let line = TYPESCRIPT.line(1, "let sum = 0");
    syntax(
        &TYPESCRIPT,
        ("let sum = 0", "let sum: = 0"),
        &[
            &format!("lib/sums.ts:{line}:12"),
            "    let sum: = 0;",
            "             ^ Unexpected \"=\"",
        ],
    );
}

#[test]
fn a_syntax_error_in_python_is_three_lines() {
    let line = PYTHON.line(1, "for number in numbers:");
    syntax(
        &PYTHON,
        ("in numbers:", "in numbers"),
        &[
            &format!("lib.py:{line}:26"),
            "  for number in numbers",
            "                       ^ expected ':'",
        ],
    );
}

#[test]
fn a_name_that_a_module_does_not_have_is_three_lines() {
    let line = JAVASCRIPT.line(0, "lib/sums.js");
    syntax(
        &JAVASCRIPT,
        ("function total", "function sum"),
        &[
            &format!("plugin.js:{line}:10"),
            "  import { total } from \"./lib/sums.js\";",
            "           ^ No matching export in \"lib/sums.js\" for import \"total\"",
        ],
    );
}

#[test]
fn a_plugin_whose_source_was_renamed_is_told_so_in_one_line() {
    let rust = Project::new("connector-space", "scanner", "rust");
    let projects = [&JAVASCRIPT, &TYPESCRIPT, &PYTHON]
        .map(|language| (language.project(), language.files[0].0))
        .into_iter()
        .chain([(rust, "src/lib.rs")]);
    for (project, source) in projects {
        let path = project.path().join(source);
        std::fs::rename(&path, path.with_extension("old")).unwrap();
        let failed = project.script("build.sh").output().unwrap();
        assert!(!failed.status.success());
        let told = errors(&failed);
        assert!(
            told.starts_with(&format!("{source} is missing: ")),
            "{told}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn an_error_while_a_plugin_is_loaded_has_its_line() {
    let project = JAVASCRIPT.project();
    let path = project.path().join("lib/sums.js");
    let source = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{source}\ntotal(null);\n")).unwrap();
    let failed = project.script("build.sh").output().unwrap();
    let told = errors(&failed);
    let thrown = JAVASCRIPT.line(1, "numbers.length");
    let called = source.lines().count() + 2;
    let expected = [
        "cannot read property 'length' of null".to_owned(),
        format!("    at total (lib/sums.js:{thrown}:"),
        format!("    at lib/sums.js:{called}:"),
    ];
    assert_eq!(told.lines().count(), expected.len(), "{told}");
    for (line, expected) in told.lines().zip(&expected) {
        assert!(line.starts_with(&**expected), "no `{expected}` in\n{told}");
    }
}

/// Builds the project with a mistake in its module, and compares what the build says.
#[track_caller]
fn syntax(language: &Language, (right, wrong): (&str, &str), expected: &[&str; 3]) {
    let project = language.project();
    let (name, source) = language.files[1];
    assert!(source.contains(right));
    std::fs::write(project.path().join(name), source.replacen(right, wrong, 1)).unwrap();
    let failed = project.script("build.sh").output().unwrap();
    assert!(!failed.status.success());
    assert_eq!(errors(&failed).lines().collect::<Vec<_>>(), expected);
}
