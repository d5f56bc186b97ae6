//! Answers in words: what the model is told, what its tools do, what is kept.

use mindhost_tests::{Host, Mind, ScriptedModel, Turn};
use serde_json::{Value, json};

use super::shop;

async fn told(host: &Host, model: &ScriptedModel, parameters: Value) -> Mind {
    host.scripted_provider("scripted", model).await;
    let mut mind = host.mind("told").datasource("shop").provider("scripted");
    for (name, value) in parameters.as_object().unwrap() {
        mind = mind.parameter(name, value.clone());
    }
    mind.create().await
}

fn run_sql(sql: &str) -> Turn {
    Turn::call("run_sql", json!({"sql": sql}))
}

#[tokio::test]
async fn the_offline_model_answers_from_the_data() {
    let (_host, mind) = shop().await;
    assert!(
        mind.answer("How many customers are there?")
            .await
            .contains('3')
    );
    let response = mind
        .ask("Why is the sky blue?")
        .await
        .expect_status(200)
        .json();
    let item = &response["output"][0];
    assert_eq!(
        (&item["ending"], &item["sql"]),
        (&json!("cannot_answer"), &Value::Null)
    );
    let text = item["content"][0]["text"].as_str().unwrap();
    let (refusal, questions) = text.split_once("You can ask").unwrap();
    assert!(
        refusal.contains("\"sky\"") && !refusal.chars().any(|letter| letter.is_ascii_digit()),
        "{text}"
    );
    assert!(questions.contains("customers"), "{text}");
}

#[tokio::test]
async fn offline_model_finds_a_table_beyond_the_first_hundred() {
    let host = Host::start().await;
    let table = |n: usize| format!("CREATE TABLE archive_{n} (id INTEGER PRIMARY KEY, note TEXT);");
    let many: String = (1..130).map(table).collect();
    let guests = "CREATE TABLE visitors (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO visitors VALUES (1, 'Ann'), (2, 'Bo');";
    host.sqlite("wide", &format!("{many}{guests}"))
        .await
        .load()
        .await;
    let mind = host.mind("wide").datasource("wide").create().await;
    let answer = mind.answer("How many visitors are there?").await;
    assert!(answer.contains("**2**"), "{answer}");
    let tables = mind.answer("What tables are there?").await;
    assert!(
        tables.starts_with("There are 130 tables and views."),
        "{tables}"
    );
}

#[tokio::test]
async fn system_prompt_takes_precedence_over_prompt_template() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("Yes."), Turn::text("Yes.")]).await;
    let parameters =
        json!({"system_prompt": "Speak like a pirate.", "prompt_template": "Ponder: {{question}}"});
    let mind = told(&host, &model, parameters).await;
    mind.answer("How many?").await;
    let system = model.asked()[0].text_of("system");
    assert!(
        system.contains("Speak like a pirate.") && !system.contains("Ponder"),
        "{system}"
    );
    host.put(
        "/minds/told",
        json!({"parameters": {"prompt_template": "Ponder: {{question}}"}}),
    )
    .await
    .expect_status(200);
    mind.answer("How many?").await;
    assert!(
        model.asked()[1]
            .text_of("system")
            .contains("Ponder: How many?")
    );
}

#[tokio::test]
async fn instructions_are_added_and_history_is_shown() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([Turn::text("Three."), Turn::text("Two.")]).await;
    told(&host, &model, json!({"system_prompt": "Be brief."})).await;
    let body = json!({"model": "told", "input": "How many?", "instructions": "Use German."});
    let first = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let system = model.asked()[0].text_of("system");
    assert!(system.contains("Be brief.") && system.contains("Use German."));
    let body = json!({"model": "told", "input": "And in DE?", "conversation": first["conversation"]["id"]});
    host.post("/responses", body).await.expect_status(200);
    let asked = model.asked()[1].clone();
    assert!(
        asked.text_of("user").contains("How many?") && asked.text_of("user").contains("And in DE?")
    );
    assert!(asked.text_of("assistant").contains("Three."));
}

#[tokio::test]
async fn the_model_gets_the_rows_of_its_statement_and_the_answer_keeps_the_sql() {
    let (host, _mind) = shop().await;
    let model = ScriptedModel::start([
        run_sql("SELECT count(*) AS n FROM orders"),
        Turn::text("There are 3."),
    ])
    .await;
    let mind = told(&host, &model, json!({})).await;
    let response = mind.ask("How many orders?").await.expect_status(200).json();
    let item = &response["output"][0];
    assert_eq!(item["sql"], "SELECT count(*) AS n FROM orders");
    assert!(model.asked()[1].text_of("tool").contains("\"rows\":[[3]]"));
    let path = format!(
        "/conversations/{}/items/{}/result",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    assert_eq!(
        host.get(&path).await.expect_status(200).json()["result"]["data"],
        json!([[3]])
    );
}

#[tokio::test]
async fn the_models_sql_passes_the_same_guard_and_may_be_repaired() {
    let (host, _mind) = shop().await;
    let turns = [
        run_sql("DELETE FROM orders"),
        run_sql("SELECT count(*) FROM orders"),
        Turn::text("3."),
    ];
    let model = ScriptedModel::start(turns).await;
    let mind = told(&host, &model, json!({})).await;
    assert_eq!(mind.answer("How many orders?").await, "3.");
    assert!(
        model.asked()[1]
            .text_of("tool")
            .contains("sql_not_read_only")
    );
}

#[tokio::test]
async fn a_conversation_is_listed_with_question_and_answer() {
    let (host, mind) = shop().await;
    let response = mind
        .ask("How many customers are there?")
        .await
        .expect_status(200)
        .json();
    let path = format!(
        "/conversations/{}/items?order=asc",
        response["conversation"]["id"].as_str().unwrap()
    );
    let items = host.get(&path).await.expect_status(200).json();
    let roles: Vec<_> = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        (roles, &items["has_more"]),
        (vec!["user", "assistant"], &json!(false))
    );
    assert_eq!(items["data"][1]["id"], response["output"][0]["id"]);
}
