//! `mindhost plugin run`

use mindhost_tests::{ScriptedModel, Turn, build, json};

use super::{built, command, config, plugin, plugin_async, shop, stderr, stdout};

#[test]
fn a_statement_runs_without_a_server_and_says_what_it_may_reach() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let run = |args: &[&str]| {
        let mut all = vec!["run", sqlite.as_str(), "--config", "conformance.toml"];
        all.extend(args);
        plugin(dir.path(), &all)
    };
    let table = run(&["SELECT id, name FROM item ORDER BY id"]);
    assert!(table.status.success(), "{}", stderr(&table));
    assert_eq!(
        stdout(&table),
        "id  name\n--  ----\n1   tea\n2   salt\n3   it's\n"
    );
    let told = stderr(&table);
    for words in [
        "connector-sqlite 0.1.0",
        "reading the file and its siblings",
        "for this run alone",
        "took",
        "3 in 1 batch,",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let csv = run(&[
        "--format",
        "csv",
        "SELECT name, price FROM item WHERE id < 3",
    ]);
    assert_eq!(stdout(&csv), "name,price\ntea,2.5\nsalt,\n");
    let json = run(&["--format", "json", "SELECT id FROM item WHERE id = 1"]);
    assert!(stdout(&json).ends_with("\n[1]\n"), "{}", stdout(&json));

    assert_eq!(
        stdout(&run(&["--tables"])),
        "main.cheap\nmain.item\nmain.note\n"
    );
    let described = stdout(&run(&["--describe", "note"]));
    assert!(described.contains("item -> main.item.id"), "{described}");
    assert!(stdout(&run(&[])).starts_with("SQLite 3."));
}

/// A database may be of anybody.
#[test]
fn names_of_a_database_move_no_cursor() {
    let dir = shop();
    let shop = dir.path().join("shop.db");
    let database = rusqlite::Connection::open(shop).unwrap();
    let sql = "CREATE TABLE \"a\u{1b}[2Kb\" (\"c\u{1b}]0;d\" INTEGER)";
    database.execute_batch(sql).unwrap();
    drop(database);
    let sqlite = built("connector-sqlite");
    let run = |args: &[&str]| {
        let mut all = vec!["run", sqlite.as_str(), "--config", "conformance.toml"];
        all.extend(args);
        let output = plugin(dir.path(), &all);
        let said = stdout(&output);
        assert!(!said.contains('\u{1b}'), "{said:?}");
        said
    };
    let tables = run(&["--tables"]);
    assert!(tables.contains("main.a\u{fffd}[2Kb\n"), "{tables:?}");
    let described = run(&["--describe", "a\u{1b}[2Kb"]);
    assert!(described.contains("  c\u{fffd}]0;d "), "{described:?}");
}

/// An author waits for the compiler, and has to know for what; and why it is so each time.
#[test]
fn compiling_and_a_cache_that_cannot_be_used_are_told() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let args = ["run", sqlite.as_str(), "--config", "conformance.toml"];
    let run = |cache: &str| {
        let output = command(dir.path(), &args)
            .env("XDG_CACHE_HOME", dir.path().join(cache))
            .env("MINDHOST_DATA_DIR", dir.path().join("data"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let first = run("cache");
    assert!(
        first.contains("loading  compiling the component"),
        "{first}"
    );
    assert!(!first.contains("cache    "), "{first}");
    // What a crash of the machine may leave.
    std::fs::write(dir.path().join("cache/mindhost/compiled.key"), "").unwrap();
    run("cache");
    let again = run("cache");
    for words in ["loading  ", "cache    "] {
        assert!(!again.contains(words), "{again}");
    }
    // A file has no room for code.
    let none = run("shop.db");
    let told = none.matches("cache    compiled code is not kept, so each run compiles again: ");
    assert_eq!(told.count(), 1, "{none}");
}

#[test]
fn a_configuration_is_told_of_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let files = built("connector-files");
    let run = |text: &str| {
        std::fs::write(dir.path().join("test.json"), text).unwrap();
        let output = plugin(dir.path(), &["run", &files, "--config", "test.json"]);
        (output.status.success(), stderr(&output))
    };
    let missing = "{\n  \"$schema\": \"./test.schema.json\",\n  \"path\": \"sales\"\n}";
    let (is_success, told) = run(missing);
    assert!(!is_success);
    let words = "test.json, line 3: `path` names ";
    assert!(
        told.contains(words) && told.contains("no such directory; make it"),
        "{told}"
    );
    std::fs::create_dir(dir.path().join("sales")).unwrap();
    std::fs::write(dir.path().join("sales/item.csv"), "id\n7\n").unwrap();
    let (is_success, told) = run(missing);
    assert!(is_success, "{told}");
    let (is_success, told) =
        run("{\n  \"connection_data\": {\"path\": \"sales\"},\n  \"test\": {}\n}");
    assert!(!is_success);
    let words = "test.json, line 3: there is no property `test`; did you mean `tests`?";
    assert!(told.contains(words), "{told}");
}

#[test]
fn a_table_of_a_scanner_needs_no_schema() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sales")).unwrap();
    std::fs::write(dir.path().join("sales/Customer.csv"), "id\n7\n").unwrap();
    let data = config(dir.path(), &json!({"path": "sales"}));
    let csv = built("connector-files");
    let run = |sql: &str| plugin(dir.path(), &["run", &csv, "--config", data, sql]);
    for sql in ["SELECT id FROM customer", "SELECT id FROM files.customer"] {
        let output = run(sql);
        assert_eq!(stdout(&output), "id\n--\n7\n", "{}", stderr(&output));
    }
    let missing = run("SELECT id FROM nothing");
    assert_eq!(missing.status.code(), Some(1));
    let told = stderr(&missing);
    assert!(told.contains("`nothing`") && !told.contains('\0'), "{told}");
}

/// The author sees which filter and limit the scan got, without a server.
#[test]
fn plan_of_a_scanner_is_shown_after_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let scanner = build::guest("scanner");
    let data = config(dir.path(), &json!({"rows": 20}));
    let run = |sql: &str| {
        let scanner = scanner.to_str().unwrap();
        let args = ["run", scanner, "--config", data, "--explain", sql];
        plugin(dir.path(), &args)
    };
    let output = run("SELECT id FROM typed WHERE id > 2 AND weight > 5.0");
    let told = stderr(&output);
    assert!(output.status.success(), "{told}");
    let (rows, plan) = told.split_once("rows     ").unwrap();
    assert!(!rows.contains("plan     "), "{told}");
    // The scanner cannot compare weights: the host does.
    let scan = "plan     scan of main.typed: columns id, weight; where id > 2; 17 rows, ";
    assert!(plan.contains(scan), "{told}");
    assert!(plan.contains("FilterExec: weight@1 > 5"), "{told}");
    let limited = stderr(&run("SELECT id FROM typed WHERE id > 2 LIMIT 3"));
    assert!(
        limited.contains("; where id > 2; at most 3 rows; 3 rows, "),
        "{limited}"
    );
}

#[test]
fn engine_that_runs_its_own_sql_has_no_plan_of_the_host() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let run = |args: &[&str]| {
        let all = ["run", &sqlite, "--config", "conformance.toml", "--explain"];
        plugin(dir.path(), &[&all, args].concat())
    };
    let output = run(&["SELECT 1"]);
    assert!(output.status.success());
    let told = stderr(&output);
    assert!(
        told.contains("plan     none: the engine runs the SQL itself"),
        "{told}"
    );
    assert_eq!(run(&[]).status.code(), Some(2), "without a statement");
}

#[test]
fn what_goes_wrong_is_told_in_the_words_of_the_host() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let fails = |data: &str, sql: &str, words: &str| {
        let output = plugin(dir.path(), &["run", &sqlite, "--config", data, sql]);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        assert!(
            stderr(&output).contains(words),
            "{words}: {}",
            stderr(&output)
        );
    };
    let shop = r#"{"path": "shop.db"}"#;
    fails(
        shop,
        "SELECT nothing",
        "the plugin reported `invalid-statement`",
    );
    fails(shop, "DELETE FROM item", "mindhost: ");
    fails(
        r#"{"path": "none.db"}"#,
        "SELECT 1",
        "there is no such file",
    );
    fails(
        r#"{"pat": "shop.db"}"#,
        "SELECT 1",
        "does not fit the plugin's schema",
    );
    // As the test.json of a template has it.
    fails(
        r#"{"pat": "{url}"}"#,
        "SELECT 1",
        "python3 server.py mindhost",
    );
    fails("missing.toml", "SELECT 1", "missing.toml");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_answers_a_question() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start([Turn::text("Forty-two.")]).await;
    let data = config(dir.path(), &model.connection_data());
    let openai = built("model-openai");
    let output = plugin_async(dir.path(), &["run", &openai, "--config", data, "How many?"]).await;
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "Forty-two.");
    let told = stderr(&output);
    assert!(
        told.contains("which the host adds as a bearer token"),
        "{told}"
    );
    let key = model.connection_data()["api_key"].clone();
    assert!(!told.contains(key.as_str().unwrap()), "{told}");
    assert_eq!(json!(model.asked().len()), json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_shown_without_the_key_and_a_limited_one_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let limited = || Turn::error(429, "slow down").header("retry-after", "1");
    let model = ScriptedModel::start([limited(), Turn::text("Forty-two.")]).await;
    let data = config(dir.path(), &model.connection_data());
    let openai = built("model-openai");
    let args = ["run", &openai, "--config", data, "How many?", "--http-log"];
    let output = plugin_async(dir.path(), &args).await;
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "Forty-two.");
    let told = stderr(&output);
    let shown: Vec<&str> = told
        .lines()
        .filter(|line| line.starts_with("http "))
        .collect();
    let [refused, answered] = shown[..] else {
        panic!("{told}");
    };
    let request = format!("POST {}/chat/completions  ", model.base_url());
    for (line, status) in [(refused, "429"), (answered, "200")] {
        assert!(line.contains(&format!("{request}{status}  ")), "{line}");
        assert!(
            line.contains(" to the head, ") && !line.contains(" 0 received"),
            "{line}"
        );
    }
    let key = model.connection_data()["api_key"].clone();
    assert!(!told.contains(key.as_str().unwrap()), "{told}");
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendor_that_asks_for_more_patience_than_a_person_has_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let later = Turn::error(429, "slow down").header("retry-after", "3600");
    let model = ScriptedModel::start([later, Turn::text("Forty-two.")]).await;
    let data = config(dir.path(), &model.connection_data());
    let openai = built("model-openai");
    let args = ["run", &openai, "--config", data, "How many?"];
    let output = plugin_async(dir.path(), &args).await;
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("the plugin reported `rate-limited`"),
        "{}",
        stderr(&output)
    );
    assert_eq!(model.asked().len(), 1);
}
