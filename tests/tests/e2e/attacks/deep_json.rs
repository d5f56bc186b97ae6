//! Somebody who may write a document nests it so deeply that a reader of it gives up.

use mindhost_tests::{Host, Mind, Postgres, PostgresDatabase, ScriptedModel, Turn, Value, json};
use reqwest::Method;

/// As deep as parsers do not go.
const DEPTH: usize = 200;
const STATEMENT: &str = "SELECT doc FROM notes";

async fn notes(model: &ScriptedModel) -> (Host, Mind, PostgresDatabase) {
    let document = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let sql = format!("CREATE TABLE notes (doc jsonb); INSERT INTO notes VALUES ('{document}')");
    let database = Postgres::shared().database(&sql).await;
    let host = Host::start().await;
    host.postgres("pg", &database).await.load().await;
    host.scripted_provider("scripted", model).await;
    let mind = host.mind("reader").datasource("pg").provider("scripted");
    let mind = mind.direct_queries().create().await;
    (host, mind, database)
}

fn nested() -> String {
    format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH))
}

#[tokio::test]
async fn model_reads_deep_document_as_text() {
    let model = ScriptedModel::start([
        Turn::call("run_sql", json!({"sql": STATEMENT})),
        Turn::text("It is deep."),
    ])
    .await;
    let (_host, mind, _database) = notes(&model).await;
    assert_eq!(mind.answer("What is in the note?").await, "It is deep.");
    let shown = model.asked()[1].text_of("tool");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["rows"][0][0], nested());
}

#[tokio::test]
async fn tools_of_mcp_give_deep_document_as_text() {
    let model = ScriptedModel::start([]).await;
    let (host, mind, _database) = notes(&model).await;
    let ran = tool(
        &host,
        "run_sql",
        json!({"mind": mind.name, "sql": STATEMENT}),
    )
    .await;
    assert_eq!(ran["rows"][0][0], nested(), "{ran}");
    let page = json!({"conversation": ran["conversation"], "message": ran["message"]});
    let page = tool(&host, "read_page", page).await;
    assert_eq!(page["rows"][0][0], nested(), "{page}");
}

async fn tool(host: &Host, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let reply = host
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(&call)
        .await
        .expect_status(200)
        .text();
    let event = reply.lines().find_map(|line| {
        let data = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(data).ok()
    });
    let event = event.unwrap_or_else(|| panic!("no answer in {reply}"));
    event["result"]["structuredContent"].clone()
}

#[tokio::test]
async fn pages_and_exports_give_deep_document_as_it_is() {
    let model = ScriptedModel::start([]).await;
    let (host, mind, _database) = notes(&model).await;
    let reply = mind.sql(STATEMENT).await.expect_status(200).text();
    assert!(reply.contains(&nested()), "{reply}");
    let id = |name: &str| {
        let (_, rest) = reply.split_once(name).unwrap();
        rest[..36].to_owned()
    };
    let (conversation, message) = (
        id(r#""conversation":{"id":""#),
        id(r#""type":"query_result","id":""#),
    );
    let path = format!("/conversations/{conversation}/items/{message}");
    let page = host.get(&format!("{path}/result")).await;
    assert!(page.expect_status(200).text().contains(&nested()));
    let export = host.get(&format!("{path}/export")).await;
    assert!(export.expect_status(200).text().contains(&nested()));
}
