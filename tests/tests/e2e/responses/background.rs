//! Answers that go on without their caller, and streams that are picked up again.

use futures_util::StreamExt;
use mindhost_tests::{Event, EventStream, Gate, Host, Postgres, Turn, eventually};
use serde_json::{Value, json};

use super::{SHOP, running::id, shop, stream::status_once_ended, told};
use crate::stores;

fn in_background(stream: bool) -> Value {
    json!({"model": "told", "input": "How many?", "background": true, "stream": stream})
}

async fn events(host: &Host, id: &str, query: &str) -> Vec<Event> {
    let stream = host.get(&format!("/responses/{id}?stream=true{query}"));
    EventStream::open(stream).await.all().await
}

#[tokio::test]
async fn it_is_polled_until_it_is_completed() {
    let (host, _mind) = shop().await;
    let gate = Gate::default();
    let _model = told(&host, [Turn::empty().and_wait(&gate).and_text("Three.")]).await;
    let begun = host
        .post("/responses", in_background(false))
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&begun["status"], &begun["background"], &begun["output"]),
        (&json!("in_progress"), &json!(true), &json!([]))
    );
    let path = format!("/responses/{}", id(&begun));
    assert_eq!(host.get(&path).await.json()["status"], "in_progress");
    gate.open();
    assert_eq!(status_once_ended(&host, &id(&begun)).await, "completed");
    let done = host.get(&path).await.json();
    assert_eq!(done["output"][0]["content"][0]["text"], "Three.");
    assert_eq!(done["background"], true);
}

#[tokio::test]
async fn answer_that_ends_while_the_store_is_away_is_stored_later() {
    let database = Postgres::shared().database("").await;
    let host = stores::on(&database)
        .env("MINDHOST_STORE__ACQUIRE_TIMEOUT", "1s")
        .start()
        .await;
    host.sqlite("shop", SHOP).await.load().await;
    let gate = Gate::default();
    let model = told(&host, [Turn::empty().and_wait(&gate).and_text("Three.")]).await;
    let begun = host.post("/responses", in_background(false)).await;
    let begun = begun.expect_status(200).json();
    model.wait_for_requests(1).await;

    let admin = Postgres::shared().admin("postgres").await;
    let run = async |sql: String| admin.batch_execute(&sql).await.unwrap();
    let name = &database.name;
    run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    run(format!("{end} = '{name}'")).await;
    gate.open();
    let waits = "cannot store the end of an answer yet";
    eventually(async || host.log(), |log| log.contains(waits)).await;

    run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
    let path = format!("/responses/{}", id(&begun));
    eventually(
        async || host.get(&path).await.status,
        |status| *status == 200,
    )
    .await;
    assert_eq!(status_once_ended(&host, &id(&begun)).await, "completed");
    let done = host.get(&path).await.json();
    assert_eq!(done["output"][0]["content"][0]["text"], "Three.");
}

#[tokio::test]
async fn failure_that_the_store_could_not_take_is_read_later_as_it_was_told() {
    let database = Postgres::shared().database("").await;
    let host = stores::on(&database)
        .env("MINDHOST_STORE__ACQUIRE_TIMEOUT", "1s")
        .start()
        .await;
    host.sqlite("shop", SHOP).await.load().await;
    let gate = Gate::default();
    let turn = Turn::text("There are ").and_wait(&gate).and_text("three.");
    let _model = told(&host, [turn]).await;
    let body = json!({"model": "told", "input": "How many?", "stream": true});
    let mut stream = host.stream("/responses", body).await;
    let begun = stream.until("response.output_text.delta").await;
    let path = format!("/responses/{}", id(&begun[0].data["response"]));

    let name = &database.name;
    let rows = Postgres::shared().admin(name).await;
    let admin = Postgres::shared().admin("postgres").await;
    let run = async |sql: String| admin.batch_execute(&sql).await.unwrap();
    run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = datname AND datname";
    run(format!("{end} = '{name}'")).await;
    gate.open();
    let ended = stream.until("response.failed").await;
    let told = &ended[ended.len() - 1].data["response"];
    assert_eq!(told["error"]["code"], "overloaded");
    assert_eq!(told["output"][0]["content"][0]["text"], "There are three.");

    run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
    let is_stored = "SELECT completed_at IS NOT NULL FROM responses";
    let is_stored = async || {
        rows.query_one(is_stored, &[])
            .await
            .unwrap()
            .get::<_, bool>(0)
    };
    eventually(is_stored, |is_stored| *is_stored).await;
    host.restart().await;
    let read = host.get(&path).await.expect_status(200).json();
    assert_eq!(read["error"], told["error"]);
    assert_eq!(read["output"], told["output"]);
}

#[tokio::test]
async fn its_stream_is_picked_up_where_it_was_left() {
    let (host, _mind) = shop().await;
    let gate = Gate::default();
    let turn = Turn::text("There are ").and_wait(&gate).and_text("three.");
    let _model = told(&host, [turn]).await;
    let mut stream = host.stream("/responses", in_background(true)).await;
    let begun = stream.until("response.output_text.delta").await;
    let response = id(&begun[0].data["response"]);
    let seen = begun[begun.len() - 1].data["sequence_number"]
        .as_u64()
        .unwrap();
    drop(stream);
    let rest = format!("/responses/{response}?stream=true&starting_after={seen}");
    let mut rest = EventStream::open(host.get(&rest)).await;
    gate.open();
    let next = rest.next().await.unwrap();
    assert_eq!(next.data["sequence_number"], seen + 1);
    rest.until("response.completed").await;
    let whole = events(&host, &response, "").await;
    assert_eq!(whole[..begun.len()], begun[..]);
    let after = events(&host, &response, &format!("&starting_after={seen}")).await;
    assert_eq!(after[..], whole[seen as usize..]);
    let minimal = host
        .get(&format!("/responses/{response}?stream=true"))
        .header("x-mindhost-events", "minimal")
        .await;
    assert!(
        !minimal.text().contains("output_item"),
        "{}",
        minimal.text()
    );
}

#[tokio::test]
async fn a_stream_picked_up_behind_its_end_has_the_last_event() {
    let (host, _mind) = shop().await;
    let gate = Gate::default();
    let turns = [
        Turn::empty().and_wait(&gate).and_text("Three."),
        Turn::error(500, "no luck today"),
    ];
    let _model = told(&host, turns).await;
    let begun = host.post("/responses", in_background(false)).await.json();
    let path = format!("/responses/{}?stream=true&starting_after=5000", id(&begun));
    let running = EventStream::open(host.get(&path)).await;
    gate.open();
    let while_it_ran = running.all().await;
    let afterwards = events(&host, &id(&begun), "&starting_after=5000").await;
    let whole = events(&host, &id(&begun), "").await;
    for seen in [while_it_ran, afterwards] {
        assert_eq!(seen[..], whole[whole.len() - 1..]);
        assert_eq!(seen[0].name, "response.completed");
    }

    let begun = host.post("/responses", in_background(false)).await.json();
    assert_eq!(status_once_ended(&host, &id(&begun)).await, "failed");
    let failed = events(&host, &id(&begun), "&starting_after=5000").await;
    let names: Vec<&str> = failed.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["response.failed"]);
}

#[tokio::test]
async fn the_stream_of_what_is_stored_has_every_event_but_cannot_be_counted_on() {
    let (host, mind) = shop().await;
    let answer = mind.ask("How many customers are there?").await.json();
    let names = |events: &[Event]| -> Vec<String> {
        events.iter().map(|event| event.name.clone()).collect()
    };
    let replayed = events(&host, &id(&answer), "").await;
    assert_eq!(
        names(&replayed),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let last = &replayed[8].data["response"];
    assert_eq!(
        last,
        &host
            .get(&format!("/responses/{}", id(&answer)))
            .await
            .json()
    );
    host.get(&format!(
        "/responses/{}?stream=true&starting_after=3",
        id(&answer)
    ))
    .await
    .expect_error(409, "wrong_state");
    host.get(&format!("/responses/{}?starting_after=3", id(&answer)))
        .await
        .expect_error(400, "invalid_parameter");
    let query = mind
        .sql("SELECT id FROM customers ORDER BY id")
        .await
        .json();
    let replayed = events(&host, &id(&query), "").await;
    assert_eq!(
        names(&replayed)[2..],
        [
            "response.output_item.added",
            "response.output_item.done",
            "response.completed"
        ]
    );
    assert_eq!(replayed[3].data["item"], query["output"][0]);
}

#[tokio::test]
async fn a_failed_one_is_read_and_replayed_as_failed() {
    let (host, _mind) = shop().await;
    let _model = told(&host, [Turn::error(500, "no luck today")]).await;
    let begun = host.post("/responses", in_background(false)).await;
    let begun = begun.expect_status(200).json();
    assert_eq!(status_once_ended(&host, &id(&begun)).await, "failed");
    let replayed = events(&host, &id(&begun), "").await;
    assert_eq!(replayed[replayed.len() - 2].data["code"], "upstream_error");
    host.restart().await;
    let replayed = events(&host, &id(&begun), "").await;
    assert_eq!(replayed[replayed.len() - 2].data["code"], "upstream_error");
    assert_eq!(replayed[replayed.len() - 1].name, "response.failed");
}

#[tokio::test]
async fn a_query_in_the_background_is_stored_at_once_and_can_be_cancelled() {
    let held = super::running::Held::start().await;
    let _lock = held.lock().await;
    let tool = json!({"type": "sql_query", "query": "SELECT id FROM item"});
    let body = json!({"model": "sales", "tools": [tool], "background": true});
    let begun = held.host.post("/responses", body).await;
    let begun = begun.expect_status(200).json();
    held.wait_for_waiting(1, 0).await;
    let path = format!("/responses/{}/cancel", id(&begun));
    let cancelled = held.host.post(&path, json!({})).await.expect_status(200);
    assert_eq!(cancelled.json()["status"], "cancelled");
    held.wait_for_waiting(0, 0).await;
}

#[tokio::test]
async fn rows_of_a_query_are_read_again_under_the_policies_of_now() {
    let (host, _mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT id FROM customers ORDER BY id"});
    let body = json!({"model": "sales", "tools": [tool], "background": true});
    let ask = || {
        let request = host.post("/responses", body.clone());
        request.header("idempotency-key", "0190-query")
    };
    let response = id(&ask().await.expect_status(200).json());
    assert_eq!(status_once_ended(&host, &response).await, "completed");
    let whole = events(&host, &response, "").await;
    assert_eq!(whole.len(), 5);
    assert_eq!(whole[3].data["item"]["data"], json!([[1], [2], [3]]));
    let rest = events(&host, &response, "&starting_after=3").await;
    assert_eq!(rest[..], whole[3..]);

    let policy = json!({"datasource": "shop", "table": "customers", "filter": "country = 'FR'"});
    let policies = json!({"policies": [policy]});
    host.put("/minds/sales/policies", policies)
        .await
        .expect_status(200);
    for query in ["", "&starting_after=3"] {
        let now = events(&host, &response, query).await;
        let item = &now[now.len() - 2].data["item"];
        assert_eq!(item["data"], json!([[2]]), "{query}");
        let last = &now[now.len() - 1].data["response"]["output"][0];
        assert_eq!(last, item);
    }
    let again = ask().await.expect_status(200).json();
    assert_eq!(again["output"][0]["data"], json!([[2]]));

    let closed = json!({"parameters": {"allow_direct_queries": false}});
    host.put("/minds/sales", closed).await.expect_status(200);
    let now = events(&host, &response, "&starting_after=3").await;
    assert_eq!(now[0].data["item"]["status"], "unavailable");
    assert_eq!(now[0].data["item"]["data"], json!([]));
}

#[tokio::test]
async fn chart_of_an_answer_is_not_kept_with_its_events() {
    let (host, _mind) = shop().await;
    let sql = "SELECT country, count(*) AS customers FROM customers GROUP BY country";
    let gate = Gate::default();
    let run = Turn::call("run_sql", json!({"sql": sql}));
    let said = Turn::empty().and_wait(&gate).and_text("Here they are.");
    let _model = told(&host, [run, said]).await;
    let mut body = in_background(true);
    body["include"] = json!(["chart"]);
    let mut stream = host.stream("/responses", body).await;
    let begun = stream.until("response.in_progress").await;
    let response = id(&begun[0].data["response"]);
    gate.open();
    let live = stream.until("response.completed").await;
    let last = &live[live.len() - 1].data["response"]["output"][0];
    assert_eq!(last["chart"]["data"]["values"].as_array().unwrap().len(), 2);
    let kept = eventually(
        async || events(&host, &response, "&starting_after=3").await,
        |kept| {
            let item = &kept[kept.len() - 2].data["item"];
            item.get("chart").is_none()
        },
    )
    .await;
    let last = &kept[kept.len() - 1].data["response"]["output"][0];
    assert_eq!(last.get("chart"), None);
    assert_eq!(last["content"][0]["text"], "Here they are.");
}

#[tokio::test]
async fn a_key_may_have_only_some_at_once() {
    let host = Host::builder().env("MINDHOST_ANSWERING__BACKGROUND_PER_KEY", "1");
    let host = host.start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let hang = Turn::text("There are ").and_hang();
    let _model = told(&host, [hang, Turn::text("Three."), Turn::text("Three.")]).await;
    let first = host.post("/responses", in_background(false)).await;
    let first = first.expect_status(200).json();
    let second = host.post("/responses", in_background(false)).await;
    second.expect_error(429, "rate_limit_exceeded");
    assert_eq!(second.header("retry-after"), "1");
    let path = format!("/responses/{}/cancel", id(&first));
    host.post(&path, json!({})).await.expect_status(200);
    // The place is free a moment after the answer was stopped.
    let again = async || host.post("/responses", in_background(false)).await.status;
    eventually(again, |status| *status != 429).await;
}

#[tokio::test]
async fn what_is_not_stored_cannot_be_read_later() {
    let (host, _mind) = shop().await;
    let body = json!({"model": "sales", "input": "x", "background": true, "store": false});
    let error = host.post("/responses", body).await;
    assert_eq!(
        error.expect_error(400, "invalid_parameter")["param"],
        "background"
    );
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_lives() {
    let host = Host::builder().env("MINDHOST_ANSWERING__KEEP_ALIVE", "20ms");
    let host = host.start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let _model = told(&host, [Turn::empty().and_hang()]).await;
    let body = json!({"model": "told", "input": "How many?", "stream": true});
    let response = host.post("/responses", body).open().await;
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let mut bytes = response.bytes_stream();
    let mut text = String::new();
    while text.matches("\n: keep-alive\n").count() < 2 {
        let piece = bytes.next().await.unwrap().unwrap();
        text.push_str(&String::from_utf8_lossy(&piece));
    }
}

#[tokio::test]
async fn a_crash_leaves_it_failed() {
    let (host, _mind) = shop().await;
    let _model = told(&host, [Turn::text("There are ").and_hang()]).await;
    let begun = host.post("/responses", in_background(false)).await.json();
    host.kill().await;
    host.restart().await;
    let path = format!("/responses/{}", id(&begun));
    eventually(
        async || host.get(&path).await.expect_status(200).json(),
        |response| response["status"] == "failed",
    )
    .await;
}
