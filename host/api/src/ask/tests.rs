use super::*;
use serde_json::json;

fn ask(body: Value) -> Result<Ask> {
    crate::extract::parse::<CreateResponse>(body.to_string().as_bytes())?.into_ask()
}

fn messages_of(ask: &Ask) -> Vec<(Author, &str)> {
    let said = ask.input.iter().filter_map(|one| match one {
        Input::Message(message) => Some((message.author, message.text.as_str())),
        Input::Reference(..) => None,
    });
    said.collect()
}

fn check_refused(body: Value, param: &str) {
    let error = ask(body).expect_err("must be refused");
    assert_eq!(error.param_name(), Some(param));
}

#[test]
fn a_text_is_one_message_of_the_user() {
    let ask = ask(json!({"model": "m", "input": "How many?"})).expect("valid");
    assert_eq!(messages_of(&ask), [(Author::User, "How many?")]);
}

#[test]
fn messages_have_roles_and_parts_and_references_name_an_id() {
    let id = Uuid::now_v7();
    let items = json!([
        {"role": "developer", "content": "Be brief."},
        {"type": "item_reference", "id": format!("msg_{id}")},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How"}, {"type": "input_text", "text": "many?"}]},
    ]);
    let ask = ask(json!({"model": "m", "input": items})).expect("valid");
    assert_eq!(
        messages_of(&ask),
        [
            (Author::Developer, "Be brief."),
            (Author::User, "How\nmany?")
        ]
    );
    assert!(
        matches!(&ask.input[1], Input::Reference(of, path) if *of == id && path == "input[1].id")
    );
}

#[test]
fn what_only_another_model_can_use_is_skipped() {
    let foreign = [
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}),
        json!({"type": "item_reference", "id": "rs_1"}),
        json!({"type": "function_call", "call_id": "1", "name": "weather", "arguments": "{}"}),
        json!({"type": "item_reference", "id": "fc_1"}),
        json!({"type": "function_call_output", "call_id": "1", "output": "It rains."}),
    ];
    let with_foreign = |items: Vec<Value>| {
        let items = items.into_iter().chain(foreign.iter().cloned());
        json!({"model": "m", "input": items.collect::<Vec<_>>()})
    };
    let dialogue = vec![
        json!({"role": "user", "content": "Does it rain?"}),
        json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}),
        json!({"role": "user", "content": "How many?"}),
    ];
    let ask = ask(with_foreign(dialogue)).expect("valid");
    let said: Vec<&str> = messages_of(&ask).iter().map(|said| said.1).collect();
    assert_eq!(said, ["Does it rain?", "Yes.", "How many?"]);
    check_refused(with_foreign(Vec::new()), "input");
    // What may hold words is never skipped.
    check_refused(
        json!({"model": "m", "input": [{"type": "item_reference", "id": "msg_1"}]}),
        "input[0].id",
    );
}

#[test]
fn tool_that_is_not_sql_query_is_refused_for_its_type_in_any_order_of_fields() {
    for tool in [
        r#"{"name": "f", "parameters": {}, "strict": true, "type": "function"}"#,
        r#"{"type": "function", "name": "f", "parameters": {}, "strict": true}"#,
    ] {
        let body = format!(r#"{{"model": "m", "input": "x", "tools": [{tool}]}}"#);
        let error = crate::extract::parse::<CreateResponse>(body.as_bytes()).unwrap_err();
        assert_eq!(error.param_name(), Some("tools[0].type"), "{error}");
    }
    for tool in [
        json!({"explian": true, "type": "sql_query", "query": "SELECT 1"}),
        json!({"type": "sql_query", "query": "SELECT 1", "explian": true}),
    ] {
        check_refused(json!({"model": "m", "tools": [tool]}), "tools[0].explian");
    }
}

#[test]
fn values_of_include_are_known_or_those_of_openai() {
    let with = |include: Value| json!({"model": "m", "input": "x", "include": include});
    let given = json!(["steps", "reasoning.encrypted_content"]);
    let known = ask(with(given)).expect("valid");
    assert!(known.shows_steps && !known.wants_chart);
    assert!(ask(with(Value::Null)).is_ok());
    check_refused(with(json!(["steps", "bogus"])), "include[1]");
}

#[test]
fn what_is_wrong_is_named() {
    check_refused(json!({"input": "x"}), "model");
    check_refused(json!({"model": "m"}), "input");
    check_refused(json!({"model": "m", "input": 7}), "input");
    check_refused(json!({"model": "m", "input": []}), "input");
    check_refused(
        json!({"model": "m", "input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
        "input[0].content[0].type",
    );
    check_refused(
        json!({"model": "m", "input": [{"role": "robot", "content": "x"}]}),
        "input[0].role",
    );
    check_refused(
        json!({"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": 7}]}]}),
        "input[0].content[0].text",
    );
    check_refused(
        json!({"model": "m", "input": [{"role": "user"}]}),
        "input[0].content",
    );
    check_refused(json!({"model": "m", "input": ["x"]}), "input[0]");
    check_refused(
        json!({"model": "m", "input": [{"type": "computer_call_output", "output": "x"}]}),
        "input[0].type",
    );
    check_refused(
        json!({"model": "m", "input": [{"type": "item_reference"}]}),
        "input[0].id",
    );
    check_refused(json!({"model": "m", "conversation": 7}), "conversation");
    check_refused(
        json!({"model": "m", "tools": [{"type": "web_search"}]}),
        "tools[0].type",
    );
    check_refused(
        json!({"model": "m", "tools": [{"type": "sql_query"}]}),
        "tools[0].query",
    );
    check_refused(
        json!({"model": "m", "tools": [{"type": "sql_query", "query": "x"}, {"type": "sql_query", "query": "x"}]}),
        "tools",
    );
}

/// Serde's derived types take lists for structs and objects for words.
#[test]
fn only_objects_and_texts_are_taken_where_they_are_documented() {
    let item = |item: Value| json!({"model": "m", "input": [item]});
    let part = |part: Value| item(json!({"role": "user", "content": [part]}));
    let tool = |tool: Value| json!({"model": "m", "tools": [tool]});
    let field = |name: &str, value: Value| json!({"model": "m", "input": "x", name: value});
    let no_words = [
        json!(5),
        json!(true),
        json!(["user"]),
        json!({}),
        json!({"user": null}),
    ];
    for word in no_words {
        check_refused(item(json!({"role": word, "content": "x"})), "input[0].role");
        check_refused(item(json!({"type": word, "content": "x"})), "input[0].type");
        check_refused(
            part(json!({"type": word, "text": "x"})),
            "input[0].content[0].type",
        );
        check_refused(tool(json!({"type": word, "query": "x"})), "tools[0].type");
        check_refused(field("truncation", word.clone()), "truncation");
        check_refused(field("service_tier", word), "service_tier");
    }
    check_refused(
        part(json!({"type": null, "text": "x"})),
        "input[0].content[0].type",
    );
    check_refused(item(json!(["message", "user", "x", null])), "input[0]");
    check_refused(item(json!([])), "input[0]");
    check_refused(part(json!(["input_text", "x"])), "input[0].content[0]");
    check_refused(tool(json!(["sql_query", "SELECT 1", 5, true])), "tools[0]");
    check_refused(field("text", json!([{"type": "text"}])), "text");
    check_refused(field("text", json!({"format": ["text"]})), "text.format");
    check_refused(field("conversation", json!(["conv_x"])), "conversation");
    // What is not read may be anything.
    let message = json!({"id": 5, "name": 7, "role": "user", "content": "How many?"});
    assert!(ask(item(message)).is_ok());
}

#[test]
fn metadata_is_small() {
    let check = |metadata: Value, taken: bool| {
        let body = json!({"model": "m", "input": "x", "metadata": metadata});
        assert_eq!(ask(body).is_ok(), taken);
    };
    let pairs = |count: usize| (0..count).map(|n| (n.to_string(), json!("v"))).collect();
    check(Value::Object(pairs(16)), true);
    check(Value::Object(pairs(17)), false);
    check(json!({"k".repeat(64): "ü".repeat(512)}), true);
    check(json!({"k".repeat(65): "v"}), false);
    check(json!({"k": "v".repeat(513)}), false);
    check(json!({"k": 1}), false);
}

#[test]
fn what_is_in_the_background_is_stored() {
    check_refused(
        json!({"model": "m", "input": "x", "store": false, "background": true}),
        "background",
    );
}

#[test]
fn max_inline_rows_is_taken_up_to_its_bounds() {
    let body = |rows: Value| json!({"model": "m", "tools": [{"type": "sql_query", "query": "SELECT 1", "max_inline_rows": rows}]});
    for rows in [1_u64, 10_000] {
        assert_eq!(
            ask(body(rows.into()))
                .ok()
                .and_then(|ask| ask.query)
                .map(|query| query.max_inline_rows),
            Some(rows)
        );
    }
    for rows in [json!(0), json!(10_001), json!(-1), json!(1.5), json!("7")] {
        check_refused(body(rows), "tools[0].max_inline_rows");
    }
}

#[test]
fn settings_are_taken_up_to_their_bounds() {
    let check = |name: &str, value: Value, is_taken: bool| {
        let body = json!({"model": "m", "input": "x", name: value});
        match is_taken {
            true => assert!(ask(body.clone()).is_ok(), "{body}"),
            false => check_refused(body, name),
        }
    };
    for name in ["presence_penalty", "frequency_penalty"] {
        check(name, json!(-2), true);
        check(name, json!(2), true);
        check(name, json!(-2.1), false);
        check(name, json!(2.1), false);
    }
    check("temperature", json!(0), true);
    check("temperature", json!(2), true);
    check("temperature", json!(-0.1), false);
    check("temperature", json!(2.1), false);
    check("top_p", json!(0), true);
    check("top_p", json!(1), true);
    check("top_p", json!(1.1), false);
    check("top_logprobs", json!(20), true);
    check("top_logprobs", json!(21), false);
    for tier in ["auto", "default", "flex", "scale", "priority"] {
        check("service_tier", json!(tier), true);
    }
    check("service_tier", json!("gold"), false);
    for name in ["safety_identifier", "prompt_cache_key"] {
        check(name, json!("ü".repeat(64)), true);
        check(name, json!("ü".repeat(65)), false);
    }
}
