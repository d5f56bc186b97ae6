//! What a request sets for the model and for itself, as the open specification of responses has it: checked, kept, and
//! shown the same by every way in which a response is read.

use mindhost_tests::{Host, Mind, ScriptedModel, Turn, Value, json};

/// Each field, what is sent, and what is shown where nothing is.
fn fields() -> [(&'static str, Value, Value); 9] {
    [
        ("temperature", json!(0.7), json!(1.0)),
        ("top_p", json!(0.25), json!(1.0)),
        ("presence_penalty", json!(-1.5), json!(0.0)),
        ("frequency_penalty", json!(2.0), json!(0.0)),
        ("top_logprobs", json!(3), json!(0)),
        ("max_tool_calls", json!(5), Value::Null),
        ("service_tier", json!("priority"), json!("default")),
        ("safety_identifier", json!("user-7"), Value::Null),
        ("prompt_cache_key", json!("reports"), Value::Null),
    ]
}

async fn mind(turns: impl IntoIterator<Item = Turn>) -> (Host, ScriptedModel, Mind) {
    let model = ScriptedModel::start(turns).await;
    let host = Host::start().await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").provider("scripted").create().await;
    (host, model, mind)
}

fn body(mind: &Mind, set: &[(&str, Value)]) -> Value {
    let mut body = json!({"model": mind.name, "input": "How many?"});
    for (name, value) in set {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn each_field_is_shown_as_it_was_sent() {
    let (host, _model, mind) = mind(fields().map(|_| Turn::text("Three."))).await;
    for (name, sent, _) in fields() {
        let body = body(&mind, &[(name, sent.clone())]);
        let made = host
            .post("/responses", body)
            .await
            .expect_status(200)
            .json();
        assert_eq!(made[name], sent, "{name}");
        let id = made["id"].as_str().unwrap();
        let read = host.get(&format!("/responses/{id}")).await.json();
        assert_eq!(read[name], sent, "{name}");
        for (other, _, default) in fields().into_iter().filter(|field| field.0 != name) {
            assert_eq!(made[other], default, "{other} beside {name}");
            assert_eq!(read[other], default, "{other} beside {name}");
        }
    }
}

#[tokio::test]
async fn a_null_is_as_good_as_nothing() {
    let (host, _model, mind) = mind([Turn::text("Three.")]).await;
    let nulls = fields().map(|(name, _, _)| (name, Value::Null));
    let made = host.post("/responses", body(&mind, &nulls)).await;
    let made = made.expect_status(200).json();
    for (name, _, default) in fields() {
        assert_eq!(made[name], default, "{name}");
    }
}

#[tokio::test]
async fn every_event_of_a_stream_shows_them() {
    let (host, _model, mind) = mind([Turn::text("Three.")]).await;
    let mut sent = body(&mind, &fields().map(|(name, sent, _)| (name, sent)));
    sent["stream"] = json!(true);
    let events = host.stream("/responses", sent).await.all().await;
    let mut seen = 0;
    for event in events.iter().map(|event| &event.data) {
        let response = &event["response"];
        if response["object"] == "response" {
            seen += 1;
            for (name, sent, _) in fields() {
                assert_eq!(response[name], sent, "{name} of {event}");
            }
        }
    }
    assert_eq!(seen, 3, "created, in progress, completed");
}

#[tokio::test]
async fn a_query_keeps_them_too() {
    let (host, mind) = super::shop().await;
    let tool = json!([{"type": "sql_query", "query": "SELECT 1"}]);
    let mut sent = body(&mind, &fields().map(|(name, sent, _)| (name, sent)));
    sent["tools"] = tool;
    let made = host
        .post("/responses", sent)
        .await
        .expect_status(200)
        .json();
    let id = made["id"].as_str().unwrap();
    let read = host.get(&format!("/responses/{id}")).await.json();
    for (name, sent, _) in fields() {
        assert_eq!((&made[name], &read[name]), (&sent, &sent), "{name}");
    }
}

#[tokio::test]
async fn what_is_out_of_range_is_refused_by_name() {
    let (host, _model, mind) = mind([]).await;
    for (name, wrong) in [
        ("temperature", json!(2.5)),
        ("temperature", json!(-0.5)),
        ("temperature", json!("hot")),
        ("top_p", json!(1.5)),
        ("presence_penalty", json!(-3)),
        ("frequency_penalty", json!(3)),
        ("top_logprobs", json!(21)),
        ("top_logprobs", json!(-1)),
        ("max_tool_calls", json!(0)),
        ("service_tier", json!("gold")),
        ("safety_identifier", json!("x".repeat(65))),
        ("prompt_cache_key", json!(7)),
    ] {
        let reply = host.post("/responses", body(&mind, &[(name, wrong.clone())]));
        let reply = reply.await;
        assert_eq!(reply.status, 400, "{name} {wrong}: {}", reply.text());
        assert_eq!(reply.json()["error"]["param"], name, "{wrong}");
    }
}

#[tokio::test]
async fn the_temperature_goes_to_the_model() {
    let (host, model, mind) = mind([(); 2].map(|()| Turn::text("Three."))).await;
    for (sent, said) in [(json!(0.7), json!(0.7)), (Value::Null, Value::Null)] {
        let body = body(&mind, &[("temperature", sent)]);
        host.post("/responses", body).await.expect_status(200);
        assert_eq!(model.asked().last().unwrap().body["temperature"], said);
    }
}

#[tokio::test]
async fn beyond_max_tool_calls_the_model_answers_without() {
    let search = || Turn::call("search_catalog", json!({"query": "item"}));
    let turns = [search(), Turn::text("Three.")];
    let (host, model, mind) = mind(turns).await;
    let body = body(&mind, &[("max_tool_calls", json!(1))]);
    let made = host
        .post("/responses", body.clone())
        .await
        .expect_status(200)
        .json();
    assert_eq!(made["output"][0]["content"][0]["text"], "Three.", "{made}");
    let choices: Vec<Value> = model
        .asked()
        .iter()
        .map(|asked| asked.body["tool_choice"].clone())
        .collect();
    assert_eq!(choices, ["auto", "none"]);
    // One that calls nevertheless is told to have had one call, not those that the server allows.
    model.play([search(), search()]);
    let ended = host.post("/responses", body).await;
    let ended = ended.expect_status(200).json();
    assert_eq!(ended["ending"], "tool_limit", "{ended}");
    let text = ended["output"][0]["content"][0]["text"].to_string();
    assert!(text.contains("more than 1 tool call."), "{text}");
}

/// What the specification of this service does not allow is a clear refusal.
#[tokio::test]
async fn other_tools_pictures_and_transports_are_refused() {
    let (host, _model, mind) = mind([]).await;
    let function = json!([{"type": "function", "name": "weather", "parameters": {}}]);
    let picture = json!([{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,"}]}]);
    for (name, value) in [("tools", function), ("input", picture)] {
        let reply = host.post("/responses", body(&mind, &[(name, value)])).await;
        reply.expect_error(400, "invalid_body");
    }
    let compact = host.post("/responses/compact", body(&mind, &[])).await;
    compact.expect_error(405, "method_not_allowed");
    let socket = host.get("/responses").header("upgrade", "websocket");
    let socket = socket.header("connection", "upgrade").await;
    socket.expect_error(405, "method_not_allowed");
}

/// The parts of a dialogue that clients label are taken, whatever the label.
#[tokio::test]
async fn labels_of_phases_are_taken() {
    let (host, model, mind) = mind([Turn::text("4")]).await;
    let input = json!([
        {"type": "message", "role": "assistant", "phase": "commentary", "content": "I look it up."},
        {"type": "message", "role": "assistant", "phase": "final_answer", "content": "The number is four."},
        {"type": "message", "role": "user", "content": "Repeat only the number."},
    ]);
    let made = host
        .post("/responses", body(&mind, &[("input", input)]))
        .await;
    assert_eq!(made.expect_status(200).json()["status"], "completed");
    let said = model.asked()[0].text_of("assistant");
    assert!(said.contains("The number is four."), "{said}");
}
