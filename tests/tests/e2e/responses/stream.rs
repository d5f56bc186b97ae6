//! Streams: the order of the events, and what each carries.

use mindhost_tests::{Gate, ScriptedModel, Turn, eventually};
use serde_json::{Value, json};

use super::shop;

/// The names in order; several deltas in a row, as the model happened to cut them, count as one.
fn names(events: &[mindhost_tests::Event]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.dedup();
    names
}

#[tokio::test]
async fn words_stream_in_the_documented_order() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("There are ").and_text("three.")]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let events = mind.stream("How many?").await.all().await;
    assert_eq!(
        names(&events),
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
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.data["sequence_number"], json!(index + 1));
        assert_eq!(event.data["type"], event.name);
    }
    assert_eq!(events[0].data["response"]["status"], "created");
    assert_eq!(events[0].data["response"]["output"], json!([]));
    assert_eq!(events[1].data["response"]["status"], "in_progress");
    let delta = &events[4].data;
    assert_eq!(delta["response"]["delta"], delta["delta"]);
    assert_eq!(delta["response"]["item_id"], delta["item_id"]);
    assert_eq!(
        (
            &delta["output_index"],
            &delta["content_index"],
            &delta["logprobs"]
        ),
        (&json!(0), &json!(0), &json!([]))
    );
    let deltas = events
        .iter()
        .filter_map(|event| event.data["delta"].as_str());
    assert_eq!(deltas.collect::<String>(), "There are three.");
    let done = &events[events.len() - 1].data["response"];
    assert_eq!(done["status"], "completed");
    assert_eq!(done["id"], events[0].data["response"]["id"]);
    assert_eq!(done["output"][0]["content"][0]["text"], "There are three.");
    assert_eq!(done["output"][0]["id"], delta["item_id"]);
}

#[tokio::test]
async fn the_minimal_header_leaves_only_the_four_kinds_that_carry_the_answer() {
    let (host, mind) = shop().await;
    let body = json!({"model": mind.name, "input": "How many customers are there?", "stream": true, "include": ["steps"]});
    let events = host
        .post("/responses", body.clone())
        .header("x-mindhost-events", "minimal")
        .await
        .expect_status(200);
    let mut kinds: Vec<String> = events
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .map(str::to_owned)
        .collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.output_text.delta",
            "response.completed",
        ]
    );
    let all = host.stream("/responses", body).await.all().await;
    assert!(names(&all).contains(&"response.mindhost.step"));
}

#[tokio::test]
async fn a_query_streams_its_item_whole() {
    let (host, _mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT 1 AS one"});
    let events = host
        .stream(
            "/responses",
            json!({"model": "sales", "tools": [tool], "stream": true}),
        )
        .await
        .all()
        .await;
    assert_eq!(
        names(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.output_item.done",
            "response.completed"
        ]
    );
    assert_eq!(events[3].data["item"]["data"], json!([[1]]));
}

#[tokio::test]
async fn a_refused_statement_is_refused_before_the_stream() {
    let (host, _mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "DROP TABLE orders"});
    let body = json!({"model": "sales", "tools": [tool], "stream": true});
    host.post("/responses", body)
        .await
        .expect_error(400, "sql_not_read_only");
}

#[tokio::test]
async fn a_failure_after_the_beginning_is_an_error_and_a_failed_response() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("There are ").and_cut()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let events = mind.stream("How many?").await.all().await;
    let [.., error, failed] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(error.name, "error");
    assert!(error.data["code"].is_string() && error.data["message"].is_string());
    assert_eq!(error.data["error"]["code"], error.data["code"]);
    assert_eq!(failed.name, "response.failed");
    assert_eq!(failed.data["response"]["status"], "failed");
    assert_eq!(failed.data["response"]["error"]["code"], error.data["code"]);
    let id = failed.data["response"]["id"].as_str().unwrap();
    assert_eq!(
        host.get(&format!("/responses/{id}")).await.json()["status"],
        "failed"
    );
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_answer_down_to_the_model() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("There are ").and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let mut stream = mind.stream("How many?").await;
    let begun = stream.until("response.output_text.delta").await;
    let id = begun[0].data["response"]["id"].as_str().unwrap().to_owned();
    drop(stream);
    model.wait_for_abandoned(1).await;
    assert_eq!(status_once_ended(&host, &id).await, "cancelled");
}

#[tokio::test]
async fn a_response_is_cancelled_on_request() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("There are ").and_hang()]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let mut stream = mind.stream("How many?").await;
    let begun = stream.until("response.output_text.delta").await;
    let id = begun[0].data["response"]["id"].as_str().unwrap();
    let cancelled = host
        .post(&format!("/responses/{id}/cancel"), json!({}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(cancelled["status"], "cancelled");
    let rest = stream.all().await;
    assert!(
        names(&rest).ends_with(&["error", "response.failed"]),
        "{rest:?}"
    );
}

#[tokio::test]
async fn an_answer_that_was_cut_by_a_kill_is_failed_after_the_restart() {
    let (host, _mind) = shop().await;
    let gate = Gate::default();
    let model = ScriptedModel::start([Turn::text("There are ").and_wait(&gate)]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let mut stream = mind.stream("How many?").await;
    let begun = stream.until("response.output_text.delta").await;
    let response: Value = begun[0].data["response"].clone();
    host.kill().await;
    host.restart().await;
    assert_eq!(
        status_once_ended(&host, response["id"].as_str().unwrap()).await,
        "failed"
    );
    let conversation = response["conversation"]["id"].as_str().unwrap();
    let items = host
        .get(&format!("/conversations/{conversation}/items"))
        .await
        .expect_status(200)
        .json();
    assert_eq!(items["data"][0]["content"][0]["text"], "How many?");
}

/// Polls a response until it has ended.
pub async fn status_once_ended(host: &mindhost_tests::Host, id: &str) -> String {
    let path = format!("/responses/{id}");
    let ended = eventually(
        async || host.get(&path).await.expect_status(200).json(),
        |response| response["status"] != "in_progress" && response["status"] != "created",
    );
    ended.await["status"].as_str().unwrap().to_owned()
}
