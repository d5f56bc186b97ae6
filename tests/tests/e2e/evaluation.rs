//! `mindhost eval`: the demo suite against the offline model, and every mark against a scripted model.

mod connection;

use std::{path::Path, process::Output};

use mindhost_evaluation::{
    judged::{Judged, Mark},
    report::Report,
    suite::{Expect, Question, Suite},
};
use mindhost_tests::{Host, ScriptedModel, Turn, eventually};
use rusqlite::{Connection, types::Value as Cell};
use serde_json::{Value, json};

/// Runs `mindhost eval` on a host, in its data directory.
fn eval(host: &Host, args: &[&str]) -> Output {
    let url = host.url();
    let mut all = vec!["eval", "--server", &url];
    all.extend(args);
    host.command(&all).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn report(host: &Host, file: &str) -> Report {
    let path = host.data_dir().join(file);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The rows of a statement, each cell as text; numbers to the two digits that the accepted statements round to.
fn rows(database: &Path, sql: &str) -> Vec<Vec<String>> {
    let database = Connection::open(database).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let width = statement.column_count();
    let cell = |cell: Cell| match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => format!("{:.2}", number as f64),
        Cell::Real(number) => format!("{number:.2}"),
        Cell::Text(text) => text,
        Cell::Blob(bytes) => format!("{bytes:?}"),
    };
    let rows = statement.query_map([], |row| {
        (0..width).map(|at| row.get(at).map(cell)).collect()
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// All choices of `count` columns among `width`, in all orders.
fn choices(width: usize, count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = choices(width, count - 1).into_iter();
    let longer = |choice: Vec<usize>| {
        let rest = (0..width).filter({
            let choice = choice.clone();
            move |column| !choice.contains(column)
        });
        let longer = rest.map(move |column| [choice.as_slice(), &[column]].concat());
        longer.collect::<Vec<_>>()
    };
    shorter.flat_map(longer).collect()
}

/// The mark that the databases give, by trying all choices of columns.
fn mark_by_hand(database: &Path, question: &Question, answer: &Judged) -> Mark {
    let found = answer
        .sql
        .as_ref()
        .map(|sql| rows(database, sql))
        .unwrap_or_default();
    let is_empty = found.is_empty();
    match question.expect {
        Expect::Declined if is_empty => return Mark::Right,
        Expect::Declined => return Mark::Wrong,
        Expect::Answer if is_empty => return Mark::Declined,
        Expect::Answer => {}
    }
    let is_same = |gold: &String| {
        let expected = rows(database, gold);
        let (width, count) = (found[0].len(), expected[0].len());
        let choices = choices(width, count)
            .into_iter()
            .filter(|_| width <= count + 2);
        choices.into_iter().any(|columns| {
            let pick = |row: &Vec<String>| columns.iter().map(|at| row[*at].clone()).collect();
            let mut picked: Vec<Vec<String>> = found.iter().map(pick).collect();
            let mut expected = expected.clone();
            if !gold.contains("ORDER BY") {
                picked.sort();
                expected.sort();
            }
            picked == expected
        })
    };
    match question.sql.iter().any(is_same) {
        true => Mark::Right,
        false => Mark::Wrong,
    }
}

/// A host with the demo shop and the Mind `analyst`, which the offline model answers.
async fn demo() -> Host {
    let host = Host::start().await;
    std::fs::create_dir_all(host.files_dir()).unwrap();
    mindhost_demo::shop::write(&host.files_dir()).unwrap();
    let shop = host.datasource("shop", "sqlite", json!({"path": "shop.db"}));
    shop.await.load().await;
    host.mind("analyst")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    host
}

#[tokio::test]
async fn demo_suite_gets_the_marks_that_the_databases_give() {
    let host = demo().await;
    let run = ["--suite", "demo", "--mind", "analyst"];
    let first = eval(
        &host,
        &[
            &run[..],
            &["--out", "first.json", "--markdown", "report.md"],
        ]
        .concat(),
    );
    assert!(first.status.success(), "{}", text(&first.stderr));

    let suite = Suite::read(mindhost_demo::SUITE).unwrap();
    let report = report(&host, "first.json");
    assert!(report.is_complete && report.questions.len() == suite.questions.len());
    let database = host.files_dir().join("shop.db");
    for (question, judged) in suite.questions.iter().zip(&report.questions) {
        let expected = mark_by_hand(&database, question, judged);
        assert_eq!(judged.mark, expected, "{judged:#?}");
        // No number in an answer comes from nowhere.
        assert_eq!(judged.unsupported_numbers, [""; 0], "{judged:#?}");
    }
    let figures = &report.figures;
    assert_eq!(
        (figures.wrong, figures.failed, figures.invalid),
        (0, 0, 0),
        "{figures:#?}"
    );
    assert_eq!(figures.rightly_declined, figures.unanswerable);
    assert!(figures.right >= 20, "{figures:#?}");

    let said = text(&first.stdout);
    assert!(said.contains("| right (execution accuracy) |"), "{said}");
    let markdown = std::fs::read_to_string(host.data_dir().join("report.md")).unwrap();
    assert!(markdown.contains("# demo shop: analyst"), "{markdown}");
    let listed = host.get("/conversations").await.expect_status(200).json();
    assert_eq!(listed["data"], json!([]), "a run leaves no conversations");

    let again = [
        "--only",
        "customers",
        "employees",
        "--baseline",
        "first.json",
        "--min-right",
        "100",
    ];
    let again = eval(&host, &[&run[..], &again, &["--no-regression"]].concat());
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("No question changed its mark."));
}

const SHOP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
    INSERT INTO customers VALUES (1, 'Ann', 'DE'), (2, 'Bob', 'FR'), (3, 'Zoë', 'DE');";

/// A host with a Mind `clerk`, whose model plays these turns.
async fn scripted(turns: impl IntoIterator<Item = Turn>) -> (Host, ScriptedModel) {
    let host = Host::start().await;
    let model = clerk(&host, turns).await;
    (host, model)
}

/// Makes a Mind `clerk`, whose model plays these turns.
pub async fn clerk(host: &Host, turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    host.sqlite("shop", SHOP).await.load().await;
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    mind.direct_queries().create().await;
    model
}

pub fn run_sql(sql: &str) -> Turn {
    Turn::call("run_sql", json!({"sql": sql}))
}

fn write(host: &Host, file: &str, content: &str) {
    std::fs::write(host.data_dir().join(file), content).unwrap();
}

/// A suite with each mark, and what the model does for it: [`turns`].
pub const SUITE: &str = r#"{"name": "clerk", "prices": {"input": 1000000, "output": 0, "currency": "USD"}}
{"id": "repaired", "question": "How many per country?", "sql": "SELECT country, count(*) FROM customers GROUP BY 1"}
{"id": "wrong", "question": "How many customers?", "sql": "SELECT count(*) FROM customers"}
{"id": "rows", "question": "Who is in Germany?", "rows": [["Zoë"], ["Ann"]]}
{"id": "declined", "question": "How many in France?", "sql": "SELECT count(*) FROM customers WHERE country = 'FR'"}
{"id": "failed", "question": "How many?", "sql": "SELECT count(*) FROM customers"}
{"id": "invalid", "question": "How many orders?", "sql": "SELECT count(*) FROM orders"}
{"id": "invented", "question": "How old is Ann?", "expect": "declined"}
{"id": "refused", "question": "Who will come?", "expect": "declined"}
"#;

/// What the model does for [`SUITE`].
pub fn turns() -> Vec<Turn> {
    vec![
        run_sql("SELECT land, count(*) FROM customers GROUP BY 1"),
        run_sql("SELECT count(*) AS n, country FROM customers GROUP BY country"),
        Turn::text("DE 2, FR 1."),
        run_sql("SELECT count(*) + 1 FROM customers"),
        Turn::text("There are 7 customers."),
        // The host doubts it.
        Turn::text("OK"),
        run_sql("SELECT id, name FROM customers WHERE country = 'DE'"),
        Turn::text("Ann and Zoë."),
        Turn::text("I do not know."),
        Turn::error(400, "no"),
        Turn::text("There is no table of orders."),
        run_sql("SELECT 41 AS age"),
        Turn::text("41"),
        Turn::text("Nobody knows."),
    ]
}

/// The marks of [`SUITE`].
pub const MARKS: [(&str, Mark); 8] = [
    ("repaired", Mark::Right),
    ("wrong", Mark::Wrong),
    ("rows", Mark::Right),
    ("declined", Mark::Declined),
    ("failed", Mark::Failed),
    ("invalid", Mark::Invalid),
    ("invented", Mark::Wrong),
    ("refused", Mark::Right),
];

// The command blocks this thread while the scripted model answers it.
#[tokio::test(flavor = "multi_thread")]
async fn every_mark_is_given_with_its_reason() {
    let (host, model) = scripted(turns()).await;
    write(&host, "suite.jsonl", SUITE);
    let run = [
        "--suite",
        "suite.jsonl",
        "--mind",
        "clerk",
        "--jobs",
        "1",
        "--out",
        "out.json",
    ];
    let output = eval(&host, &run);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1 questions could not be judged"));
    assert_eq!(model.left(), 0);

    let report = report(&host, "out.json");
    let marks: Vec<(&str, Mark)> = report
        .questions
        .iter()
        .map(|one| (one.id.as_str(), one.mark))
        .collect();
    assert_eq!(marks, MARKS);
    let [repaired, wrong, .., invalid, _, _] = &report.questions[..] else {
        panic!("{report:#?}")
    };
    assert_eq!(repaired.repairs, 1);
    let tokens = repaired.input_tokens as f64;
    assert!(
        repaired
            .cost
            .is_some_and(|cost| tokens > 0.0 && (cost - tokens).abs() < 1e-6)
    );
    assert_eq!(wrong.why, "no column holds the values of column 1 (3)");
    assert_eq!(wrong.unsupported_numbers, ["7"]);
    assert!(
        invalid.why.contains("the accepted statement fails"),
        "{}",
        invalid.why
    );
    assert_eq!(
        (report.figures.accuracy, report.figures.unsupported),
        (Some(0.4), 1)
    );
}

/// The recall of tables and columns of one question, whose prompt has at most so many tokens of a catalog of 41 tables:
/// by the command, and by the server.
async fn recalls(catalog_tokens: &str) -> [[f64; 2]; 2] {
    let gold = "SELECT reading FROM sensor_log_7 JOIN zone ON zone.code = sensor_log_7.place WHERE label = 'north'";
    let question = "What are the readings of sensor log 7?";
    let mut tables = "CREATE TABLE zone (code TEXT PRIMARY KEY, label TEXT);".to_owned();
    for number in 0..40 {
        tables += &format!("CREATE TABLE sensor_log_{number} (reading REAL, place TEXT);");
    }
    let budget = ("MINDHOST_ANSWERING__CATALOG_TOKENS", catalog_tokens);
    let host = Host::builder().env(budget.0, budget.1).start().await;
    host.sqlite("shop", &tables).await.load().await;
    // The model finds both tables, whatever the prompt has.
    let turns = [run_sql(gold), Turn::text("None.")];
    let model = ScriptedModel::start([turns.clone(), turns].concat()).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    mind.direct_queries().create().await;
    let suite = json!({"question": question, "sql": gold}).to_string();
    write(&host, "suite.jsonl", &suite);
    let run = [
        "--suite",
        "suite.jsonl",
        "--mind",
        "clerk",
        "--out",
        "out.json",
    ];
    let output = eval(&host, &run);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let judged = &report(&host, "out.json").questions[0];
    let by_command = [judged.recall_tables, judged.recall_columns].map(Option::unwrap);

    let path = "/minds/clerk/evaluations";
    let started = host
        .post(path, json!({"suite": suite}))
        .await
        .expect_status(202);
    let path = format!("{path}/{}", started.json()["id"].as_str().unwrap());
    let get = async || host.get(&path).await.expect_status(200).json();
    let done = eventually(get, |one| one["status"] != "running").await;
    let of = |name: &str| done["questions"][0][name].as_f64().unwrap();
    [by_command, [of("recall_tables"), of("recall_columns")]]
}

// The command blocks this thread while the scripted model answers it.
#[tokio::test(flavor = "multi_thread")]
async fn recall_is_what_the_prompt_has_within_its_budget() {
    // Six tables, each with the column that the question names: `zone` is missing, with all columns but `reading`.
    assert_eq!(recalls("300").await, [[0.5, 0.25]; 2]);
    assert_eq!(recalls("8000").await, [[1.0, 1.0]; 2]);
    assert_eq!(
        recalls("100").await,
        [[0.0, 0.0]; 2],
        "a prompt without a catalog"
    );
}

// The command blocks this thread while the scripted model answers it.
#[tokio::test(flavor = "multi_thread")]
async fn thresholds_and_regressions_fail_the_run() {
    let suite = r#"questions: [{id: all, question: How many customers?, sql: SELECT count(*) FROM customers}]"#;
    let count = || [run_sql("SELECT count(*) FROM customers"), Turn::text("3")];
    let guess = || [run_sql("SELECT 4 AS n"), Turn::text("4")];
    let turns = [count(), guess(), guess()].into_iter().flatten();
    let (host, _model) = scripted(turns).await;
    write(&host, "suite.yaml", suite);
    let run = |more: &[&str]| {
        let suite = ["--suite", "suite.yaml", "--mind", "clerk"];
        let output = eval(&host, &[&suite[..], more].concat());
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (code, ..) = run(&[
        "--min-right",
        "100%",
        "--max-wrong",
        "0",
        "--out",
        "good.json",
    ]);
    assert_eq!(code, Some(0));
    let (code, _, why) = run(&["--min-right", "50", "--max-wrong", "0"]);
    assert_eq!(code, Some(3));
    assert!(
        why.contains("--min-right is 50") && why.contains("--max-wrong is 0"),
        "{why}"
    );
    let (code, said, why) = run(&["--baseline", "good.json", "--no-regression"]);
    assert_eq!(code, Some(3));
    assert!(
        said.contains("Newly wrong (1)") && said.contains("`all` was right"),
        "{said}"
    );
    assert!(why.contains("were right in the baseline"), "{why}");
}

#[tokio::test]
async fn mistakes_are_found_before_the_first_question() {
    let (host, model) = scripted([]).await;
    let fails = |args: &[&str], part: &str| {
        let output = eval(&host, args);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(part),
            "{}",
            text(&output.stderr)
        );
    };
    fails(&["--suite", "demo", "--mind", "nobody"], "nobody");
    fails(
        &["--suite", "missing.yaml", "--mind", "clerk"],
        "missing.yaml",
    );
    fails(
        &["--suite", "demo", "--mind", "clerk", "--only", "x"],
        "no question `x`",
    );
    write(&host, "bad.yaml", "questions: [{question: Why?}]");
    fails(
        &["--suite", "bad.yaml", "--mind", "clerk"],
        "expect: declined",
    );
    for option in ["--out", "--markdown"] {
        let run = ["--suite", "demo", "--mind", "clerk"];
        fails(
            &[&run[..], &[option, "none/report"]].concat(),
            "none/report",
        );
    }
    let nothing = eval(
        &host,
        &["--suite", "demo", "--mind", "clerk", "--limit", "0"],
    );
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("--limit"));
    assert!(model.asked().is_empty());
}

// The model has to answer while the test waits for the command.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_writes_what_it_has() {
    let turns = [
        run_sql("SELECT count(*) FROM customers"),
        Turn::text("3"),
        // Its second turn hangs: until then the command knows of the answer.
        run_sql("SELECT count(*) FROM customers"),
        Turn::text("I am thinking").and_hang(),
        run_sql("SELECT count(*) FROM customers"),
        Turn::text("3"),
        run_sql("SELECT count(*) FROM customers"),
        Turn::text("3"),
    ];
    let (host, model) = scripted(turns).await;
    let sql = "SELECT count(*) FROM customers";
    let question = |id: &str| json!({"id": id, "question": "How many customers?", "sql": sql});
    write(
        &host,
        "suite.jsonl",
        &format!("{}\n{}\n", question("first"), question("second")),
    );
    let url = host.url();
    let args = [
        "eval",
        "--server",
        &url,
        "--suite",
        "suite.jsonl",
        "--mind",
        "clerk",
        "--jobs",
        "1",
        "--out",
        "out.json",
    ];
    let mut child = host.command(&args).spawn().unwrap();
    eventually(async || model.asked().len(), |asked| *asked == 4).await;
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let listed = host.get("/conversations").await.expect_status(200).json();
    assert_eq!(listed["data"], json!([]), "also of the interrupted answer");
    let report = report(&host, "out.json");
    assert!(!report.is_complete);
    assert_eq!(report.questions.len(), 1);
    assert_eq!(report.questions[0].mark, Mark::Right);

    let suite = ["--suite", "suite.jsonl", "--mind", "clerk", "--jobs", "1"];
    let whole = eval(&host, &[&suite[..], &["--baseline", "out.json"]].concat());
    let said = text(&whole.stdout);
    assert!(
        said.contains("Judged only in this run: 1 question."),
        "{said}"
    );
}

// The model has to answer while the test waits for the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_asked_to_end_deletes_its_conversations() {
    let turns = [
        run_sql("SELECT count(*) FROM customers"),
        Turn::text("I am thinking").and_hang(),
    ];
    let (host, model) = scripted(turns).await;
    write(&host, "suite.jsonl", SUITE);
    let url = host.url();
    let args = ["eval", "--server", &url, "--suite", "suite.jsonl"];
    let more = ["--mind", "clerk", "--jobs", "1", "--out", "out.json"];
    let args = [&args[..], &more].concat();
    let mut child = host.command(&args).spawn().unwrap();
    model.wait_for_requests(2).await;
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!report(&host, "out.json").is_complete);
    let listed = host.get("/conversations").await.expect_status(200).json();
    assert_eq!(listed["data"], json!([]));
}

#[tokio::test]
async fn an_earlier_report_stays_until_there_is_another() {
    let host = demo().await;
    write(&host, "out.json", &"x".repeat(1 << 20));
    let run = ["--suite", "demo", "--mind", "analyst", "--out", "out.json"];
    let failed = eval(
        &host,
        &[&run[..], &["--markdown", "none/report.md"]].concat(),
    );
    assert_eq!(failed.status.code(), Some(1));
    let path = host.data_dir().join("out.json");
    assert_eq!(std::fs::metadata(path).unwrap().len(), 1 << 20);
    let done = eval(&host, &[&run[..], &["--only", "customers"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(report(&host, "out.json").questions.len(), 1);
}

#[tokio::test]
async fn the_figures_are_shown_if_the_report_cannot_be_written() {
    let host = demo().await;
    let run = [
        "--suite",
        "demo",
        "--mind",
        "analyst",
        "--only",
        "customers",
    ];
    let full = eval(&host, &[&run[..], &["--out", "/dev/full"]].concat());
    assert_eq!(full.status.code(), Some(1), "{}", text(&full.stderr));
    assert!(text(&full.stderr).contains("writing /dev/full"));
    let said = text(&full.stdout);
    assert!(said.contains("| right (execution accuracy) |"), "{said}");
}

// The command blocks this thread while the scripted model answers it.
#[tokio::test(flavor = "multi_thread")]
async fn a_suite_without_an_answerable_question_has_no_share_of_right_answers() {
    let (host, _model) = scripted([Turn::text("I do not know.")]).await;
    let suite =
        json!({"id": "a\u{1b}b", "question": "Who will come?", "expect": "declined"}).to_string();
    write(&host, "suite.jsonl", &suite);
    let run = ["--suite", "suite.jsonl", "--mind", "clerk"];
    let output = eval(&host, &[&run[..], &["--min-right", "80"]].concat());
    assert_eq!(output.status.code(), Some(3));
    let why = text(&output.stderr);
    assert!(
        why.contains("no question is answerable, and --min-right is 80"),
        "{why}"
    );
    // A suite of others moves no cursor.
    assert!(
        why.contains("a\u{fffd}b") && !why.contains('\u{1b}'),
        "{why}"
    );
}

#[tokio::test]
async fn public_sets_become_suites() {
    let host = Host::start().await;
    let spider: Value = json!([
        {"db_id": "pets", "question": "How many pets?", "query": "SELECT count(*) FROM pets"},
        {"db_id": "cars", "question": "How many cars?", "query": "SELECT count(*) FROM cars"},
    ]);
    write(&host, "dev.json", &spider.to_string());
    let output = host
        .command(&[
            "eval", "import", "--format", "spider", "dev.json", "--db", "cars",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let suite = Suite::read(&text(&output.stdout)).unwrap();
    assert_eq!(suite.questions.len(), 1);
    assert_eq!(suite.questions[0].id, "cars-1");
}
