use super::*;
use mindhost_sdk::Config;
use mindhost_sdk::model::Opaque;

fn body(settings: &str, request: &Request) -> Value {
    let settings = Settings::read(&Config::from_json(settings)).unwrap();
    serde_json::from_slice(&write(&settings, request).unwrap()).unwrap()
}

fn question() -> Request {
    Request::new(vec![Message::text(Role::User, "How many?")])
}

fn call(id: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: "run_sql".into(),
        arguments: arguments.into(),
    })
}

fn result(id: &str, is_error: bool) -> Message {
    Message {
        role: Role::Tool,
        parts: vec![Part::ToolResult(ToolResult {
            call_id: id.into(),
            content: "[]".into(),
            is_error,
        })],
    }
}

fn conversation() -> Request {
    let thought = Part::Opaque(Opaque {
        kind: THOUGHT.into(),
        data: json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}).to_string(),
    });
    let foreign = Part::Opaque(Opaque {
        kind: "openai.tool-call-extra".into(),
        data: "{}".into(),
    });
    let calls = vec![
        thought,
        foreign,
        Part::Text("Look.".into()),
        call("a", "{\"sql\":1}"),
        call("b", "not JSON"),
    ];
    let mut request = Request::new(vec![
        Message::text(Role::System, "Be brief."),
        Message::text(Role::User, "How many?"),
        Message {
            role: Role::Assistant,
            parts: calls,
        },
        result("a", false),
        result("b", true),
    ]);
    request.tools = vec![Tool {
        name: "run_sql".into(),
        description: "Runs.".into(),
        parameters: "{\"type\":\"object\"}".into(),
    }];
    request
}

#[test]
fn a_conversation_with_tools() {
    let body = body(r#"{"model": "m", "prompt_cache": false}"#, &conversation());
    assert_eq!(
        body,
        json!({
            "model": "m", "max_tokens": 8192, "stream": true,
            "system": [{"type": "text", "text": "Be brief."}],
            "tools": [{"name": "run_sql", "description": "Runs.", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "text", "text": "Look."},
                    {"type": "tool_use", "id": "a", "name": "run_sql", "input": {"sql": 1}},
                    {"type": "tool_use", "id": "b", "name": "run_sql", "input": {"not_an_object": "not JSON"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "[]", "is_error": false},
                    {"type": "tool_result", "tool_use_id": "b", "content": "[]", "is_error": true},
                ]},
            ],
        })
    );
}

#[test]
fn the_stable_prefix_is_marked_for_the_cache() {
    let body = body(r#"{"model": "m"}"#, &conversation());
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["tools"][0]["cache_control"], mark);
    assert_eq!(body["system"][0]["cache_control"], mark);
    assert_eq!(body["messages"][2]["content"][1]["cache_control"], mark);
    assert_eq!(body.to_string().matches("cache_control").count(), 3);
}

#[test]
fn limits_and_temperature() {
    let mut request = question();
    assert_eq!(
        body(r#"{"model": "m", "max_tokens": 9}"#, &request)["max_tokens"],
        9
    );
    request.max_output_tokens = Some(100);
    request.temperature = Some(0.7);
    let written = body(r#"{"model": "m"}"#, &request);
    assert_eq!(
        (&written["max_tokens"], &written["temperature"]),
        (&json!(100), &json!(0.7))
    );
    request.temperature = Some(1.5);
    assert_eq!(body(r#"{"model": "m"}"#, &request)["temperature"], 1.0);
}

#[test]
fn each_choice_of_tools() {
    for (choice, written) in [
        ("", json!({"type": "auto"})),
        ("none", json!({"type": "none"})),
        ("required", json!({"type": "any"})),
        ("run_sql", json!({"type": "tool", "name": "run_sql"})),
    ] {
        let mut request = conversation();
        request.tool_choice = choice.into();
        assert_eq!(body(r#"{"model": "m"}"#, &request)["tool_choice"], written);
    }
}

#[test]
fn extra_fields_win_except_over_what_makes_the_answer_readable() {
    let settings = r#"{"model": "m", "extra_body": {"stream": false, "messages": [], "max_tokens": 5,
        "thinking": {"type": "adaptive"}}}"#;
    let body = body(settings, &question());
    assert_eq!(
        (&body["stream"], &body["max_tokens"]),
        (&json!(true), &json!(5))
    );
    assert_eq!(body["thinking"]["type"], "adaptive");
    assert_eq!(body["messages"][0]["content"][0]["text"], "How many?");
}

#[test]
fn images_travel_in_base64_and_nothing_else_does() {
    let media = |kind: &str| {
        let parts = vec![Part::Media(Media {
            media_type: kind.into(),
            data: vec![1, 2, 3],
        })];
        Request::new(vec![Message {
            role: Role::User,
            parts,
        }])
    };
    let source =
        &body(r#"{"model": "m"}"#, &media("image/png"))["messages"][0]["content"][0]["source"];
    assert_eq!(
        *source,
        json!({"type": "base64", "media_type": "image/png", "data": "AQID"})
    );
    let settings = Settings::read(&Config::from_json(r#"{"model": "m"}"#)).unwrap();
    let error = write(&settings, &media("audio/wav")).unwrap_err();
    assert!(error.message().contains("only images"));
}

#[test]
fn texts_of_nothing_are_left_out_and_the_user_begins() {
    let request = Request::new(vec![
        Message::text(Role::System, " "),
        Message::text(Role::Assistant, "Three."),
        Message::text(Role::User, ""),
        Message::text(Role::User, "Why?"),
    ]);
    let body = body(r#"{"model": "m"}"#, &request);
    assert_eq!(body.get("system"), None);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages
        .iter()
        .map(|message| message["role"].clone())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[2]["content"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_schema_of_an_answer_is_the_vendors_own_setting() {
    let mut request = question();
    request.response_schema = Some("{\"type\":\"object\"}".into());
    let body = body(r#"{"model": "m"}"#, &request);
    assert_eq!(
        body["output_config"]["format"],
        json!({"type": "json_schema", "schema": {"type": "object"}})
    );
}
