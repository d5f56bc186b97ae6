//! The statements of `tests/sql/legitimate/federated.sql` over three datasources give the rows that DuckDB gives over
//! the same tables.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    slice,
};

use mindhost_tests::{Host, Mind, Postgres, build::target_dir};
use serde_json::{Value, json};

use super::tpch::compare;
use crate::sql::list;

const STATEMENTS: &str = include_str!("../../../sql/legitimate/federated.sql");
const CRM: &str = include_str!("../../../sql/federated/crm.sql");
const SALES: &str = include_str!("../../../sql/federated/sales.sql");
const WORLD: [(&str, &str); 2] = [
    ("cities", include_str!("../../../sql/federated/cities.csv")),
    (
        "targets",
        include_str!("../../../sql/federated/targets.csv"),
    ),
];

async fn shop() -> (Host, Mind) {
    let database = Postgres::shared().database(CRM).await;
    let host = Host::start().await;
    host.postgres("crm", &database).await.load().await;
    host.sqlite("sales", SALES).await.load().await;
    let folder = host.files_dir().join("world");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in WORLD {
        std::fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    }
    host.datasource("world", "csv", json!({"path": "world"}))
        .await
        .load()
        .await;
    let mind = host.mind("all").datasource("crm").datasource("sales");
    let mind = mind.datasource("world").direct_queries().create().await;
    (host, mind)
}

/// DuckDB's types and rows of each statement of a question, as `tests/sql/federated/answers.py` describes it. The files
/// are those of the host.
pub fn answers(host: &Host, question: &Value) -> Vec<Value> {
    let python = target_dir().join("duckdb/bin/python");
    assert!(
        python.exists(),
        "DuckDB is not installed; `just setup` installs it"
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/federated/answers.py");
    let mut child = Command::new(python)
        .arg(script)
        .arg(host.files_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(question.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An error that shows the first row that DuckDB has otherwise. Rows may come in any order unless the statement ends
/// with an ORDER BY.
pub fn compared(statement: &str, found: &[Value], answer: &Value) -> Result<(), String> {
    let types: Vec<String> = serde_json::from_value(answer["types"].clone()).unwrap();
    let expected = answer["rows"].as_array().unwrap();
    let end = statement.rsplit_once("ORDER BY");
    if end.is_some_and(|(_, order)| !order.contains(')')) {
        return compare::rows(found, expected, &types);
    }
    if found.len() != expected.len() {
        return Err(format!("{} rows for {}", found.len(), expected.len()));
    }
    let mut found: Vec<&Value> = found.iter().collect();
    for own in expected {
        let own = slice::from_ref(own);
        let is_same = |found: &&Value| compare::rows(slice::from_ref(*found), own, &types).is_ok();
        let same = found.iter().position(is_same);
        let same = same.ok_or_else(|| format!("no {own:?} in {found:?}"))?;
        found.swap_remove(same);
    }
    Ok(())
}

#[tokio::test]
async fn statements_over_three_datasources_give_the_rows_of_duckdb() {
    let (host, mind) = shop().await;
    let statements: Vec<String> = list(STATEMENTS).into_iter().map(|one| one.text).collect();
    assert!(statements.len() >= 130, "{}", statements.len());
    let question = json!({
        "schemas": {"crm": CRM, "sales": SALES},
        "files": {"world": WORLD.map(|(name, _)| name)},
        "statements": statements,
    });
    let answers = answers(&host, &question);
    assert_eq!(answers.len(), statements.len());
    let (mut wrong, mut rows) = (Vec::new(), 0);
    for (statement, answer) in statements.iter().zip(&answers) {
        let tool = json!({"type": "sql_query", "query": statement, "max_inline_rows": 1_000});
        let body = json!({"model": mind.name, "tools": [tool]});
        let reply = host.post("/responses", body).await;
        let found = match reply.status {
            200 => reply.json()["output"][0]["data"].clone(),
            status => {
                wrong.push(format!("{status} {}\n{statement}", reply.text()));
                continue;
            }
        };
        let types: Vec<String> = serde_json::from_value(answer["types"].clone()).unwrap();
        let expected = answer["rows"].as_array().unwrap();
        rows += expected.len();
        if let Err(error) = compare::rows(found.as_array().unwrap(), expected, &types) {
            wrong.push(format!("{error}\n{statement}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} statements differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(rows > 2_000, "{rows} rows were compared");
}
