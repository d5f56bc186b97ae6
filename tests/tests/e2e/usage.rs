//! `/usage`

use mindhost_tests::{Host, ScriptedModel, Turn, Value, eventually, json};

use crate::stores;

/// Waits until the line of a key and a Mind is as expected.
async fn until(host: &Host, key: &str, mind: Value, expected: Value) {
    let lines = async || -> Vec<Value> {
        let usage = host.get("/usage").await.expect_status(200).json();
        let lines = usage["data"].as_array().unwrap().iter();
        let of_both = lines.filter(|line| line["key_name"] == key && line["mind"] == mind);
        of_both.cloned().collect()
    };
    let fits = |line: &Value| {
        let mut fields = expected.as_object().unwrap().iter();
        fields.all(|(name, value)| line[name] == *value)
    };
    eventually(lines, |lines| lines.iter().any(fits)).await;
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
        assert!(!own.is_empty());
        for line in own {
            assert_eq!(line["key_id"], key["id"], "{line}");
        }
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
    let failed = mind.ask("And now?").await;
    failed.expect_error(502, "upstream_error");
    // The scripted model says 11 and 7 a turn.
    let used = json!({"input_tokens": 22, "output_tokens": 14, "requests": 2});
    until(&host, "MINDHOST_ADMIN_KEY", json!("clerk"), used).await;
}

#[tokio::test]
async fn tokens_of_the_model_are_counted_also_when_nobody_waits_for_the_end() {
    let text = "word ".repeat(40);
    let hanging = || Turn::text(&text).and_hang();
    let model = ScriptedModel::start([hanging(), hanging(), hanging()]).await;
    let host = Host::builder()
        .env("MINDHOST_ANSWERING__WALL_CLOCK", "8s")
        .start()
        .await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    // A line of the account for each, since it sums up.
    let ask = async |name: &str| {
        let mind = host.mind(name).datasource("shop").provider("scripted");
        let mind = mind.create().await;
        let mut stream = mind.stream("How many?").await;
        let (mut first, mut read) = (None, 0);
        while read < text.len() {
            let event = stream.next().await.expect("an event");
            first.get_or_insert_with(|| event.data["response"]["id"].clone());
            read += event.data["delta"].as_str().map_or(0, str::len);
        }
        (stream, first.expect("an event"))
    };
    // The scripted model counts at the end alone, which never comes: 200 bytes are about 50 tokens.
    let used = json!({"output_tokens": 50});
    let (stream, _) = ask("left").await;
    drop(stream);
    until(&host, "MINDHOST_ADMIN_KEY", json!("left"), used.clone()).await;

    let (stream, id) = ask("cancelled").await;
    let cancel = format!("/responses/{}/cancel", id.as_str().unwrap());
    host.post(&cancel, json!({})).await.expect_status(200);
    drop(stream);
    until(
        &host,
        "MINDHOST_ADMIN_KEY",
        json!("cancelled"),
        used.clone(),
    )
    .await;

    let (mut stream, _) = ask("late").await;
    while stream.next().await.is_some() {}
    until(&host, "MINDHOST_ADMIN_KEY", json!("late"), used).await;
    let lines = host.get("/usage").await.json();
    let lines = lines["data"].as_array().unwrap();
    for mind in ["left", "cancelled", "late"] {
        let line = lines.iter().find(|line| line["mind"] == mind).unwrap();
        assert_ne!(line["input_tokens"], 0, "{line}");
    }
}

#[tokio::test]
async fn an_answer_that_is_repeated_counts_for_its_mind() {
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    mind.create().await;
    let tool = json!({"type": "sql_query", "query": "SELECT id FROM item"});
    let question = json!({"model": "clerk", "tools": [tool]});
    for _ in 0..3 {
        let asked = host.post("/responses", question.clone());
        asked
            .header("idempotency-key", "one")
            .await
            .expect_status(200);
    }
    until(
        &host,
        "MINDHOST_ADMIN_KEY",
        json!("clerk"),
        json!({"requests": 3}),
    )
    .await;
}

#[tokio::test]
async fn what_was_used_is_kept_when_the_server_stops() {
    let host = Host::start().await;
    for _ in 0..3 {
        host.get("/minds").await.expect_status(200);
    }
    assert!(host.shut_down().await);
    host.restart().await;
    // The question itself is at most one more: none of the three was lost, none is there twice.
    let kept = host.get("/usage").await.expect_status(200).json();
    let requests = kept["data"][0]["requests"].as_u64().unwrap();
    assert!((3..=4).contains(&requests), "{kept}");
}

#[tokio::test]
async fn sums_by_key_mind_and_day_are_those_of_the_lines() {
    for host in stores::both().await {
        let sql = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2), (3)";
        host.sqlite("shop", sql).await.load().await;
        let query = json!([{"type": "sql_query", "query": "SELECT id FROM item"}]);
        for (name, times) in [("clerk", 1), ("boss", 3)] {
            let mind = host.mind(name).datasource("shop").direct_queries();
            mind.create().await;
            for _ in 0..times {
                let body = json!({"model": name, "tools": query});
                host.post("/responses", body).await.expect_status(200);
            }
        }
        let used = json!({"requests": 3, "rows": 9});
        let key = host.get("/keys/current").await.json();
        until(&host, key["name"].as_str().unwrap(), json!("boss"), used).await;
        let read = async |query: &str| {
            let usage = host.get(&format!("/usage{query}")).await;
            usage.expect_status(200).json()
        };
        let minds = read("?group=mind").await;
        let names: Vec<_> = minds["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| &line["mind"])
            .collect();
        let place = |name: &str| names.iter().position(|one| *one == name);
        assert!(place("boss") < place("clerk"), "{minds}");
        let boss = &minds["data"][place("boss").unwrap()];
        assert_eq!((&boss["requests"], &boss["rows"]), (&json!(3), &json!(9)));
        assert_eq!(
            (&boss["day"], &boss["key_id"], &boss["key_name"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );

        let days = read("?group=day").await;
        let day = &days["data"][0];
        assert_eq!(day["rows"], 12, "{days}");
        assert!(day["day"].is_string() && day["mind"].is_null(), "{day}");
        let keys = read("?group=key&limit=1").await;
        assert_eq!(
            (&keys["data"][0]["key_id"], &keys["data"][0]["rows"]),
            (&key["id"], &json!(12))
        );
        assert_eq!(keys["data"][0]["mind"], Value::Null);
        host.get("/usage?group=hour")
            .await
            .expect_error(400, "invalid_parameter");
    }
}
