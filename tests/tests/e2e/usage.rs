//! `/usage`

use std::time::Duration;

use mindhost_tests::{Host, ScriptedModel, Turn, Value, json};

use crate::stores;

/// Reads the line of a key and a Mind until it is as expected.
async fn until(host: &Host, key: &str, mind: Value, expected: Value) {
    let mut last = Value::Null;
    let seen = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            last = host.get("/usage").await.expect_status(200).json();
            let lines = last["data"].as_array().unwrap();
            let mut lines = lines
                .iter()
                .filter(|line| line["key_name"] == key && line["mind"] == mind);
            let fits = |line: &Value| {
                let mut fields = expected.as_object().unwrap().iter();
                fields.all(|(name, value)| line[name] == *value)
            };
            if lines.any(fits) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let in_time = seen.await.is_ok();
    assert!(in_time, "{key} and {mind} never came to {expected}: {last}");
}

#[tokio::test]
async fn requests_rows_and_bytes_are_counted_for_each_key_and_mind() {
    for host in stores::both().await {
        let sql = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2), (3)";
        host.sqlite("shop", sql).await.load().await;
        host.mind("clerk")
            .datasource("shop")
            .direct_queries()
            .create()
            .await;
        let key = json!({"name": "report", "role": "user"});
        let key = host.post("/keys", key).await.json();
        let text = key["key"].as_str().unwrap();
        let tool = json!({"type": "sql_query", "query": "SELECT id FROM item ORDER BY id"});
        let asked = json!({"model": "clerk", "tools": [tool]});
        let asked = host
            .post("/responses", asked)
            .key(text)
            .await
            .expect_status(200);
        let (body, bytes) = (asked.json(), asked.body.len());
        let item = format!(
            "/conversations/{}/items/{}",
            body["conversation"]["id"].as_str().unwrap(),
            body["output"][0]["id"].as_str().unwrap()
        );
        let page = host.get(&format!("{item}/result?limit=2")).key(text).await;
        let page = page.expect_status(200).body.len();
        let file = host.get(&format!("{item}/export")).key(text).await;
        let file = file.expect_status(200).body.len();
        host.get("/minds").key(text).await.expect_status(200);

        let used = json!({"requests": 3, "rows": 3 + 2 + 3, "bytes": bytes + page + file});
        until(&host, "report", json!("clerk"), used).await;
        let other = json!({"requests": 1, "rows": 0, "input_tokens": 0});
        until(&host, "report", Value::Null, other).await;

        let own = host.get("/usage").key(text).await.expect_status(200).json();
        let own = own["data"].as_array().unwrap();
        assert!(
            own.iter().all(|line| line["key_id"] == key["id"]),
            "{own:?}"
        );
        let past = host
            .get("/usage?from=2020-01-01&until=2020-12-31")
            .await
            .json();
        assert_eq!(past["data"], json!([]));
        let wrong = host.get("/usage?from=2021-01-01&until=2020-12-31").await;
        wrong.expect_error(400, "invalid_parameter");
        host.get("/usage?from=yesterday")
            .await
            .expect_error(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn tokens_of_the_model_are_counted_also_when_the_answer_fails() {
    let model = ScriptedModel::start([
        Turn::text("One."),
        Turn::call("run_sql", json!({"query": "SELECT 1"})),
        Turn::error(500, "broken"),
    ])
    .await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    mind.ask("How many?").await.expect_status(200);
    assert_ne!(mind.ask("And now?").await.status, 200);
    // The scripted model says 11 and 7 a turn.
    let used = json!({"input_tokens": 22, "output_tokens": 14, "requests": 2});
    until(&host, "MINDHOST_ADMIN_KEY", json!("clerk"), used).await;
}

#[tokio::test]
async fn what_was_used_is_kept_when_the_server_stops() {
    let host = Host::start().await;
    host.get("/minds").await.expect_status(200);
    assert!(host.shut_down().await);
    host.restart().await;
    let kept = host.get("/usage").await.expect_status(200).json();
    assert!(kept["data"][0]["requests"].as_u64().unwrap() >= 1, "{kept}");
}
