//! Answers that the host ends: each with a useful text, the reason in the response, and nothing changed.

use mindhost_tests::{Host, Mind, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::SHOP;

async fn hostile(turns: Vec<Turn>) -> (Host, Mind, ScriptedModel) {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .direct_queries();
    let mind = mind.create().await;
    (host, mind, model)
}

fn text(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test]
async fn mind_without_datasource_says_so() {
    let host = Host::start().await;
    let mind = host.mind("bare").create().await;
    let response = mind.ask("How many orders are there?").await;
    let response = response.expect_status(200).json();
    let said = text(&response);
    assert!(said.contains("no datasource"), "{said}");
}

/// The answer ended for this reason, by a text with questions that can be answered, and the shop is as it was.
async fn ended(mind: &Mind, response: &Value, reason: &str) {
    assert_eq!(response["status"], "completed", "{response}");
    assert_eq!(response["ending"], reason, "{response}");
    let item = &response["output"][0];
    let is_cut = reason != "cannot_answer";
    match is_cut {
        true => assert_eq!(response["incomplete_details"]["reason"], reason),
        false => assert_eq!(response["incomplete_details"], Value::Null),
    }
    assert_eq!(
        item["status"],
        if is_cut { "incomplete" } else { "completed" }
    );
    let follow_ups = item["follow_up_questions"].as_array().unwrap();
    assert!((2..=3).contains(&follow_ups.len()), "{item}");
    for question in follow_ups {
        assert!(
            text(response).contains(question.as_str().unwrap()),
            "{item}"
        );
    }
    assert_eq!(mind.rows("SELECT count(*) FROM orders").await, [[json!(3)]]);
    let stored = mind
        .host()
        .get(&format!("/responses/{}", response["id"].as_str().unwrap()))
        .await
        .json();
    assert_eq!(
        (&stored["ending"], &stored["output"]),
        (&response["ending"], &response["output"])
    );
}

#[tokio::test]
async fn model_that_never_stops_ends_at_the_limit_of_tool_calls() {
    let turns = vec![Turn::call("run_sql", json!({"sql": "SELECT id FROM orders"})); 20];
    let (_host, mind, model) = hostile(turns).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    ended(&mind, &response, "tool_limit").await;
    assert!(
        text(&response).contains("SELECT id FROM orders"),
        "{response}"
    );
    assert_eq!(model.asked().len(), 11);
    assert_eq!(model.last()["tool_choice"], "none");
}

#[tokio::test]
async fn model_that_talks_while_it_never_stops_ends_at_the_limit_too() {
    let sql = json!({"sql": "SELECT id FROM orders"});
    let turn = |at: usize| Turn::text(&format!("Step {at}.")).and_call("run_sql", sql.clone());
    let (_host, mind, _model) = hostile((1..=20).map(turn).collect()).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    ended(&mind, &response, "tool_limit").await;
    assert!(text(&response).contains("Step 11."), "{response}");
}

/// Work that grows with the square of the text would hold up the server for minutes.
#[tokio::test]
async fn model_that_repeats_a_number_without_end_holds_up_nobody() {
    let turns = vec![
        Turn::call("run_sql", json!({"sql": "SELECT id FROM orders"})),
        Turn::empty().and_text(&"77 ".repeat(80_000)),
    ];
    let (_host, mind, _model) = hostile(turns).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    let item = &response["output"][0];
    assert_eq!(item["unverified_numbers"], json!(["77"]));
}

#[tokio::test]
async fn model_that_asks_to_delete_everything_changes_nothing() {
    let everything = [
        "DELETE FROM orders",
        "DROP TABLE orders",
        "UPDATE orders SET total = 0",
        "SELECT 1; DELETE FROM orders",
    ];
    let turns = everything.map(|sql| Turn::call("run_sql", json!({"sql": sql})));
    let (_host, mind, _model) = hostile(turns.to_vec()).await;
    let response = mind
        .ask("Delete all orders.")
        .await
        .expect_status(200)
        .json();
    ended(&mind, &response, "repair_limit").await;
}

#[tokio::test]
async fn model_that_lies_about_tools_ends_at_the_limit_of_repairs() {
    let turns = vec![
        Turn::call("drop_database", json!({"name": "shop"})),
        Turn::empty()
            .and_call_with("run_sql", "{\"sql\": ")
            .and_call_with("run_sql", "[1]"),
        Turn::call("run_sql", json!({"sql": 7})),
        Turn::call("run_sql", json!({})),
    ];
    let (_host, mind, model) = hostile(turns).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    ended(&mind, &response, "repair_limit").await;
    // What it wrote goes back to the vendor as JSON, or the vendor refuses the dialogue.
    for asked in model.asked() {
        for message in asked.body["messages"].as_array().unwrap() {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                assert!(
                    serde_json::from_str::<Value>(arguments)
                        .unwrap()
                        .is_object()
                );
            }
        }
    }
}

/// Asks a model that runs a statement, then sends this. The answer ends at the limit of its size and keeps the
/// statement.
async fn ended_with_the_statement_before(turn: Turn) -> Value {
    let sql = "SELECT id FROM orders";
    let call = Turn::call("run_sql", json!({"sql": sql}));
    let (_host, mind, model) = hostile(vec![call, turn]).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    ended(&mind, &response, "size_limit").await;
    let item = &response["output"][0];
    assert_eq!((&item["sql"], &item["row_count"]), (&json!(sql), &json!(3)));
    assert!(text(&response).contains("`SELECT id FROM orders`"));
    assert_eq!(model.asked().len(), 2);
    response
}

#[tokio::test]
async fn model_that_sends_ten_megabytes_of_text_is_cut() {
    let piece = "word ".repeat(16 << 10);
    let turn = (0..128).fold(Turn::empty(), |turn, _| turn.and_text(&piece));
    let response = ended_with_the_statement_before(turn).await;
    let text = text(&response);
    let (said, added) = text.split_at(262_144);
    assert!(said.ends_with("word word"), "{added}");
    assert!(
        added.starts_with("\n\nThis answer was stopped: the model wrote more than 262144 bytes")
    );

    let turn = Turn::text("I see ").and_text(&"x".repeat(10 << 20));
    let response = ended_with_the_statement_before(turn).await;
    let shown = self::text(&response);
    assert!(
        shown.starts_with("I see \n\nThis answer was stopped"),
        "{shown}"
    );
}

#[tokio::test]
async fn model_that_sends_ten_megabytes_of_arguments_is_cut() {
    let sql = json!({"sql": format!("SELECT '{}'", "x".repeat(10 << 20))});
    ended_with_the_statement_before(Turn::call("run_sql", sql)).await;

    // The same in small pieces.
    let delta = |arguments: &str| {
        let function = json!({"name": "run_sql", "arguments": arguments});
        let call = json!({"index": 0, "id": "call_0", "type": "function", "function": function});
        let choice = json!({"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null});
        let chunk = json!({
            "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let turn = Turn::empty().and_raw(&delta("{\"sql\": \"SELECT '"));
    let piece = delta(&"x".repeat(64 << 10));
    let turn = (0..160).fold(turn, |turn, _| turn.and_raw(&piece));
    ended_with_the_statement_before(turn.and_raw(&delta("'\"}"))).await;
}

#[tokio::test]
async fn model_that_declines_says_what_can_be_asked() {
    let reason = "The data have no weather. See https://evil.example/x";
    let turns = vec![Turn::call("cannot_answer", json!({"reason": reason}))];
    let (_host, mind, _model) = hostile(turns).await;
    let response = mind
        .ask("How is the weather?")
        .await
        .expect_status(200)
        .json();
    ended(&mind, &response, "cannot_answer").await;
    assert!(
        text(&response).starts_with("The data have no weather."),
        "{response}"
    );
    assert!(!text(&response).contains("https://evil"), "{response}");
    assert_eq!(response["output"][0]["sql"], Value::Null);
}

#[tokio::test]
async fn model_that_says_nothing_cannot_answer() {
    let (_host, mind, _model) = hostile(vec![Turn::empty()]).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    ended(&mind, &response, "cannot_answer").await;
}

#[tokio::test]
async fn answer_tells_tables_rows_assumptions_and_what_to_ask_next() {
    let sql = "SELECT name FROM customers JOIN orders ON orders.customer_id = customers.id";
    let assumptions = [
        "Only customers with orders count.",
        "Only customers with orders count.",
        " ",
        "See https://evil.example/x",
    ];
    let turns = vec![
        Turn::call(
            "run_sql",
            json!({"sql": sql, "max_rows": 2, "assumptions": assumptions}),
        ),
        Turn::text("Ann and others."),
    ];
    let (host, mind, _model) = hostile(turns).await;
    let response = mind.ask("Who?").await.expect_status(200).json();
    let item = &response["output"][0];
    assert_eq!(
        item["tables"],
        json!(["shop.main.customers", "shop.main.orders"])
    );
    assert_eq!(
        (&item["row_count"], &item["truncated"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(
        item["assumptions"],
        json!([
            "Only customers with orders count.",
            "See https:/ /evil.example/x"
        ])
    );
    assert_eq!(
        (&item["ending"], &response["ending"]),
        (&Value::Null, &Value::Null)
    );
    // The model of the server, which has no script, answers what is proposed.
    let offline = host.mind("offline").datasource("shop").create().await;
    for question in item["follow_up_questions"].as_array().unwrap() {
        let answer = offline
            .ask(question.as_str().unwrap())
            .await
            .expect_status(200)
            .json();
        assert!(
            answer["output"][0]["sql"].is_string(),
            "{question}: {}",
            text(&answer)
        );
    }
}

#[tokio::test]
async fn suggested_months_are_answered_and_what_was_asked_is_not_suggested() {
    let host = Host::start().await;
    let visits = "CREATE TABLE visits (id INTEGER PRIMARY KEY, visited_at TIMESTAMP, status TEXT);
        INSERT INTO visits VALUES (1, '2024-01-02 10:00:00', 'open'), (2, '2024-01-03 10:00:00', 'open'),
            (3, '2024-02-02 10:00:00', 'done'), (4, '2024-02-03 10:00:00', 'done')";
    host.sqlite("shop", visits).await.load().await;
    let decline = || Turn::call("cannot_answer", json!({"reason": "I do not know."}));
    let _model = super::told(&host, [decline(), decline()]).await;
    let ask = async |question: &str| {
        let body = json!({"model": "told", "input": question});
        let response = host.post("/responses", body).await.expect_status(200);
        response.json()["output"][0]["follow_up_questions"].to_string()
    };
    let month = "How many visits are there per month?";
    let suggested = ask("How is the weather?").await;
    assert!(suggested.contains(month), "{suggested}");
    let suggested = ask("how many visits are there per month").await;
    assert!(!suggested.contains("per month"), "{suggested}");
    assert!(suggested.contains("How many visits"), "{suggested}");

    let offline = host.mind("offline").datasource("shop").create().await;
    let answer = offline.ask(month).await.expect_status(200).json();
    let sql = answer["output"][0]["sql"].as_str().unwrap_or_default();
    assert!(sql.contains("%Y-%m"), "{answer}");
}

#[tokio::test]
async fn only_questions_with_one_meaning_are_suggested() {
    let host = Host::start().await;
    // All customers have as many orders, so none is among the first; an order has two dates; `OrderID` of the view is a
    // key; and `region` is a column as well as a table.
    let shop = "CREATE TABLE regions (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO regions VALUES (1, 'north'), (2, 'south');
        CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, region TEXT);
        INSERT INTO customers VALUES (1, 'Ann', 'north'), (2, 'Bob', 'north'), (3, 'Cy', 'south'), (4, 'Di', 'south'),
            (5, 'Ed', 'south'), (6, 'Flo', 'south');
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
            ordered_on DATE, shipped_on DATE);
        INSERT INTO orders SELECT id, id, '2024-01-02', '2024-02-03' FROM customers;
        CREATE VIEW bills AS SELECT id AS OrderID FROM orders";
    host.sqlite("shop", shop).await.load().await;
    let offline = host.mind("offline").datasource("shop").create().await;
    let mut suggested = std::collections::BTreeSet::new();
    for table in ["customers", "orders", "bills", "regions"] {
        let sql = json!({"sql": format!("SELECT * FROM {table}")});
        let turns = [Turn::call("run_sql", sql), Turn::text("Done.")];
        let model = ScriptedModel::start(turns).await;
        host.scripted_provider(table, &model).await;
        let mind = host.mind(&format!("of-{table}")).datasource("shop");
        let mind = mind.provider(table).create().await;
        let response = mind.ask("What is there?").await.expect_status(200).json();
        let questions = response["output"][0]["follow_up_questions"].as_array();
        let questions = questions
            .unwrap()
            .iter()
            .map(|one| one.as_str().unwrap().to_owned());
        suggested.extend(questions);
    }
    let expected = [
        "How many bills are there?",
        "How many customers are there?",
        "How many orders are there for each customer?",
        "How many orders are there?",
        "How many regions are there?",
    ];
    assert_eq!(Vec::from_iter(&suggested), expected);
    for question in &suggested {
        let answer = offline.ask(question).await.expect_status(200).json();
        let sql = &answer["output"][0]["sql"];
        assert!(sql.is_string(), "{question}: {}", text(&answer));
    }
}

#[tokio::test]
async fn no_question_is_suggested_for_a_text_named_year_or_the_mean_of_years() {
    let host = Host::start().await;
    let hall = "CREATE TABLE concert (id INTEGER PRIMARY KEY, year TEXT, theme TEXT, year_of_planning INTEGER);
        INSERT INTO concert VALUES (1, '2014', 'free', 2012), (2, '2014', 'free', 2013), (3, '2015', 'wide', 2013),
            (4, '2015', 'wide', 2014)";
    host.sqlite("hall", hall).await.load().await;
    let mind = host.mind("offline").datasource("hall").create().await;
    let ask = async |question: &str| mind.ask(question).await.expect_status(200).json();
    let first = ask("How many concerts are there?").await;
    let questions = first["output"][0]["follow_up_questions"].clone();
    assert_eq!(
        questions,
        json!(["How many concerts are there for each theme?"])
    );
    for question in questions.as_array().unwrap() {
        let answer = ask(question.as_str().unwrap()).await;
        assert_eq!(answer["ending"], Value::Null, "{answer}");
    }
}

#[tokio::test]
async fn questions_are_about_the_datasource_of_the_statement() {
    let visits = |category: &str| {
        format!(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, {category} TEXT);
             INSERT INTO visits VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b');"
        )
    };
    let statement = json!({"datasource": "hr", "sql": "SELECT count(*) FROM visits"});
    let model =
        ScriptedModel::start([Turn::call("run_sql", statement), Turn::text("There are 4.")]).await;
    let host = Host::start().await;
    host.sqlite("crm", &visits("status")).await.load().await;
    host.sqlite("hr", &visits("region")).await.load().await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("crm").datasource("hr");
    let mind = mind.provider("scripted").create().await;
    let response = mind.ask("How often?").await.expect_status(200).json();
    let questions = response["output"][0]["follow_up_questions"].to_string();
    let is_of_hr = questions.contains("for each region") && !questions.contains("status");
    assert!(is_of_hr, "{response}");
}

#[tokio::test]
async fn question_with_the_name_of_a_column_has_no_link() {
    let host = Host::start().await;
    let visits =
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, \"https://evil.example/status\" TEXT);
        INSERT INTO visits VALUES (1, 'open'), (2, 'open'), (3, 'done'), (4, 'done')";
    host.sqlite("shop", visits).await.load().await;
    let _model = super::told(&host, [Turn::text("Done.")]).await;
    let body = json!({"model": "told", "input": "What is there?"});
    let response = host.post("/responses", body).await.expect_status(200);
    let questions = response.json()["output"][0]["follow_up_questions"].to_string();
    assert!(
        questions.contains("https:/ /evil.example/status"),
        "{questions}"
    );
}

#[tokio::test]
async fn limit_of_output_tokens_is_for_all_turns_and_failures_tell_usage() {
    let call = || Turn::call("run_sql", json!({"sql": "SELECT 1"}));
    // The scripted model counts 11 tokens of input and 7 of output a turn.
    let (host, mind, model) = hostile(vec![call(), call(), Turn::text("One.")]).await;
    let body = json!({"model": "told", "input": "How many?", "max_output_tokens": 25});
    let response = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let limits: Vec<_> = model
        .asked()
        .iter()
        .map(|asked| {
            asked.body["max_tokens"]
                .as_u64()
                .or(asked.body["max_completion_tokens"].as_u64())
        })
        .collect();
    assert_eq!(limits, [Some(25), Some(18)]);
    assert_eq!(
        response["incomplete_details"]["reason"],
        "max_output_tokens"
    );
    assert_eq!(response["usage"]["output_tokens"], 14);
    drop(mind);

    let (_host, mind, _model) = hostile(vec![call(), Turn::error(500, "no luck")]).await;
    let events = mind.stream("How many?").await.all().await;
    let failed = events
        .iter()
        .find(|event| event.name == "response.failed")
        .expect("a failure");
    assert_eq!(failed.data["response"]["usage"]["total_tokens"], 18);
}

#[tokio::test]
async fn answer_that_ends_for_an_unknown_reason_may_be_cut() {
    let turn = || Turn::text("There are").finish("weird_reason");
    let (host, mind, _model) = hostile(vec![turn(), turn(), Turn::empty().finish("odd")]).await;
    let response = mind.ask("How many?").await.expect_status(200).json();
    assert_eq!(response["status"], "completed", "{response}");
    assert_eq!(response["ending"], "unknown_reason", "{response}");
    let details = &response["incomplete_details"];
    assert_eq!(details["reason"], "unknown_reason", "{response}");
    let item = &response["output"][0];
    assert_eq!(item["status"], "incomplete", "{item}");
    assert_eq!(text(&response), "There are");
    let path = format!("/responses/{}", response["id"].as_str().unwrap());
    let stored = host.get(&path).await.json();
    assert_eq!(stored["ending"], "unknown_reason", "{stored}");

    let messages = json!([{"role": "user", "content": "How many?"}]);
    let body = json!({"model": "told", "messages": messages});
    let chat = host.post("/chat/completions", body).await;
    let chat = chat.expect_status(200).json();
    assert_eq!(chat["choices"][0]["finish_reason"], "length", "{chat}");

    let response = mind.ask("How many?").await.expect_status(200).json();
    ended(&mind, &response, "cannot_answer").await;
}

#[tokio::test]
async fn nul_character_of_the_model_is_replaced() {
    let turns = vec![
        Turn::text("a\u{0}b"),
        Turn::call("cannot_answer", json!({"reason": "no\u{0}data"})),
        Turn::text("Yes."),
    ];
    let (host, mind, _model) = hostile(turns).await;
    let response = mind.ask("What?").await.expect_status(200).json();
    assert_eq!(text(&response), "a\u{fffd}b");
    let declined = mind.ask("What?").await.expect_status(200).json();
    assert!(text(&declined).starts_with("no\u{fffd}data"), "{declined}");
    let said = json!({"role": "assistant", "content": text(&response)});
    let again = json!({"role": "user", "content": "Sure?"});
    let body = json!({"model": "told", "input": [said, again]});
    host.post("/responses", body).await.expect_status(200);
}

#[tokio::test]
async fn character_that_is_split_over_two_deltas_is_whole_in_the_answer() {
    let delta = |text: &str| {
        let chunk = json!({
            "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1",
            "choices": [{"index": 0, "delta": {"content": "PIECE"}, "finish_reason": null}],
        });
        format!("data: {}\n\n", chunk.to_string().replace("PIECE", text))
    };
    let turn = Turn::text("Hi ")
        .and_raw(&delta("\\ud83d"))
        .and_raw(&delta("\\ude00 ok \\ud83d"))
        .and_text("!");
    let (_host, mind, _model) = hostile(vec![turn]).await;
    let response = mind.ask("Hello?").await.expect_status(200).json();
    assert_eq!(text(&response), "Hi 😀 ok !");
}
