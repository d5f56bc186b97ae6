//! `/chat/completions`: the same answers in the shape of OpenAI's older API.

use mindhost_tests::{Host, ScriptedModel, Turn, Value, json};

use crate::responses::shop;

async fn told(turns: impl IntoIterator<Item = Turn>) -> (Host, ScriptedModel) {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    (host, model)
}

fn question() -> Value {
    json!({"model": "told", "messages": [{"role": "user", "content": "How many?"}]})
}

#[tokio::test]
async fn the_whole_dialogue_is_read_and_nothing_is_kept() {
    let (host, model) = told([Turn::text("Two.")]).await;
    let parts = json!([{"type": "text", "text": "And in DE?"}]);
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": null, "tool_calls": []},
        {"role": "assistant", "content": "Three."},
        {"role": "user", "content": parts},
    ]);
    let body = json!({"model": "told", "messages": messages, "max_tokens": 16, "temperature": 0.5});
    let chat = host
        .post("/chat/completions", body)
        .await
        .expect_status(200)
        .json();
    assert_eq!(chat["choices"][0]["message"]["content"], "Two.");
    assert_eq!(
        (&chat["object"], &chat["model"]),
        (&json!("chat.completion"), &json!("told"))
    );
    let asked = &model.asked()[0];
    assert_eq!(asked.body["temperature"], 0.5);
    assert!(asked.text_of("system").contains("Be brief."));
    assert_eq!(asked.text_of("assistant"), "Three.");
    assert_eq!(asked.text_of("user"), "How many?\nAnd in DE?");
    let list = host.get("/conversations").await.json();
    assert_eq!(list["data"], json!([]));
}

#[tokio::test]
async fn a_stream_is_chunks_and_a_mark_at_its_end() {
    let (host, _model) = told([
        Turn::text("There are three."),
        Turn::text("There").finish("length"),
    ])
    .await;
    let mut body = question();
    body["stream"] = json!(true);
    let events = host
        .stream("/chat/completions", body.clone())
        .await
        .all()
        .await;
    let (mark, chunks) = events.split_last().unwrap();
    assert_eq!(mark.data, "[DONE]");
    for chunk in chunks {
        assert_eq!(chunk.data["object"], "chat.completion.chunk");
        assert!(chunk.data["choices"][0]["delta"].is_object());
        assert_eq!(chunk.data["id"], chunks[0].data["id"]);
    }
    assert_eq!(
        chunks[0].data["choices"][0]["delta"],
        json!({"role": "assistant", "content": ""})
    );
    let text: String = chunks
        .iter()
        .filter_map(|chunk| chunk.data["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "There are three.");
    assert_eq!(
        chunks.last().unwrap().data["choices"][0]["finish_reason"],
        "stop"
    );
    body["stream_options"] = json!({"include_usage": true});
    let events = host.stream("/chat/completions", body).await.all().await;
    let [.., finish, usage, _mark] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(finish.data["choices"][0]["finish_reason"], "length");
    assert_eq!(usage.data["choices"], json!([]));
    assert!(usage.data["usage"]["total_tokens"].is_u64());
}

#[tokio::test]
async fn bad_input_names_the_parameter() {
    let (host, _model) = told([]).await;
    let with = |name: &str, value: Value| {
        let mut body = question();
        body[name] = value;
        body
    };
    for (body, param) in [
        (with("model", Value::Null), "model"),
        (with("messages", json!([])), "messages"),
        (
            with("messages", json!([{"role": "system", "content": "x"}])),
            "messages",
        ),
        (
            with("messages", json!([{"role": "user"}])),
            "messages[0].content",
        ),
        (with("n", json!(2)), "n"),
        (with("tools", json!([{"type": "function"}])), "tools"),
        (with("metadata", json!({"a": 1})), "metadata"),
        (with("temperature", json!(3)), "temperature"),
        (with("temperature", json!(-1)), "temperature"),
        (with("top_p", json!(7)), "top_p"),
        (with("top_logprobs", json!(21)), "top_logprobs"),
    ] {
        let error = host.post("/chat/completions", body.clone()).await;
        let error = error.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], param, "{body}");
    }
    let bogus = host.post("/chat/completions", with("service_tier", json!("bogus")));
    let error = bogus.await.expect_error(400, "invalid_body");
    assert_eq!(error["param"], "service_tier");
    for (messages, param) in [
        (json!("x"), "messages"),
        (
            json!([{"role": "tool", "content": "x"}]),
            "messages[0].role",
        ),
    ] {
        let error = host
            .post("/chat/completions", with("messages", messages))
            .await;
        let error = error.expect_error(400, "invalid_body");
        assert_eq!(error["param"], param);
    }
    host.post("/chat/completions", with("model", json!("nobody")))
        .await
        .expect_error(404, "mind_not_found");
}
