//! `store: false`: nothing of the answer is kept.

use mindhost_tests::{Host, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::{running::id, shop};

/// Everything that the store holds of answers, as text.
fn kept(host: &Host) -> String {
    let store = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
    let mut kept = String::new();
    for table in ["conversations", "responses", "messages"] {
        let mut rows = store.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                kept.push_str(&format!("{:?} ", row.get_ref(column).unwrap()));
            }
        }
    }
    kept
}

#[tokio::test]
async fn a_query_leaves_no_trace() {
    let (host, _mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT id FROM customers ORDER BY id"});
    let mut body =
        json!({"model": "sales", "tools": [tool], "input": "For nobody.", "store": false});
    let response = host.post("/responses", body.clone()).await;
    let response = response.expect_status(200).json();
    assert_eq!(response["output"][0]["data"], json!([[1], [2], [3]]));
    assert_eq!(
        (&response["store"], &response["conversation"]),
        (&json!(false), &Value::Null)
    );
    host.get(&format!("/responses/{}", id(&response)))
        .await
        .expect_error(404, "response_not_found");
    body["stream"] = json!(true);
    let events = host.stream("/responses", body).await.all().await;
    assert_eq!(events[events.len() - 1].name, "response.completed");
    let failing = json!({"type": "sql_query", "query": "SELECT nothing_like_it FROM customers"});
    host.post(
        "/responses",
        json!({"model": "sales", "tools": [failing], "store": false}),
    )
    .await
    .expect_error(400, "sql_invalid");
    assert_eq!(kept(&host), "");
}

#[tokio::test]
async fn words_read_the_conversation_and_add_nothing_to_it() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("Three."), Turn::text("Two.")]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    let first = json!({"model": "told", "input": "How many?"});
    let first = host.post("/responses", first).await.json();
    let before = kept(&host);
    let body = json!({"model": "told", "input": "And in DE?", "conversation": first["conversation"], "store": false});
    let second = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(second["conversation"], first["conversation"]);
    assert_eq!(second["output"][0]["content"][0]["text"], "Two.");
    assert!(model.asked()[1].text_of("user").contains("How many?"));
    assert_eq!(kept(&host), before);
    let result = format!(
        "/conversations/{}/items/{}/result",
        id(&first["conversation"]),
        id(&second["output"][0])
    );
    host.get(&result)
        .await
        .expect_error(404, "message_not_found");
}

#[tokio::test]
async fn a_conversation_gets_no_mind_from_it() {
    let (host, _mind) = shop().await;
    let conversation = host.post("/conversations", json!({})).await.json();
    let tool = json!({"type": "sql_query", "query": "SELECT 1"});
    let body = json!({"model": "sales", "tools": [tool], "conversation": conversation["id"], "store": false});
    host.post("/responses", body).await.expect_status(200);
    let path = format!("/conversations/{}", id(&conversation));
    assert_eq!(host.get(&path).await.json()["model"], Value::Null);
}
