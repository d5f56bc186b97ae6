//! Numbers of an answer that are in no result: the model may correct them once, and they are told.

use mindhost_tests::{Host, Mind, ScriptedModel, Turn, Value, json};

use super::SHOP;

const COUNT: &str = "SELECT count(*) FROM customers";
const LIE: &str = "There are 6 customers.";

fn run(sql: &str) -> Turn {
    Turn::call("run_sql", json!({"sql": sql}))
}

/// A Mind whose model runs a count, says that there are six, and then plays these turns.
async fn lying(then: impl IntoIterator<Item = Turn>) -> (Host, Mind, ScriptedModel) {
    let turns = [run(COUNT), Turn::text(LIE)].into_iter().chain(then);
    let model = ScriptedModel::start(turns).await;
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    (host.clone(), mind.create().await, model)
}

async fn ask(mind: &Mind) -> Value {
    let response = mind.ask("Who buys?").await.expect_status(200).json();
    assert_eq!(
        (&response["status"], &response["ending"]),
        (&json!("completed"), &Value::Null),
        "{response}"
    );
    response
}

fn text(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap()
}

#[tokio::test]
async fn model_corrects_a_number_that_no_result_has() {
    let correction = "Correction: there are 3 customers.";
    let names = "SELECT name FROM customers";
    let (host, mind, model) = lying([run(names), Turn::text(correction)]).await;
    let response = ask(&mind).await;
    assert_eq!(text(&response), format!("{LIE}\n\n{correction}"));
    let item = &response["output"][0];
    assert_eq!(item["unverified_numbers"], json!(["6"]));
    assert_eq!(item["sql"], names);
    let doubt = model.asked()[2].text_of("user");
    assert!(doubt.contains("do not follow from one: 6."), "{doubt}");
    let stored = format!("/responses/{}", response["id"].as_str().unwrap());
    assert_eq!(host.get(&stored).await.json()["output"], response["output"]);
    let items = format!(
        "/conversations/{}/items?include=answer",
        response["conversation"]["id"].as_str().unwrap()
    );
    let items = host.get(&items).await.expect_status(200).json();
    let listed = items["data"].as_array().unwrap().iter();
    let told: Vec<&Value> = listed
        .map(|item| &item["answer"]["unverified_numbers"])
        .filter(|told| told.is_array())
        .collect();
    assert_eq!(told, [&json!(["6"])]);
}

#[tokio::test]
async fn answer_stands_if_the_model_has_nothing_to_add_or_fails() {
    let repair = || run("SELECT nothing FROM nowhere");
    for then in [
        vec![Turn::text("OK")],
        vec![Turn::text("OK.")],
        vec![Turn::empty()],
        vec![Turn::error(400, "no")],
        // What may be a link is held back until its end is known.
        vec![Turn::text("see https:").and_text("//exam").and_cut()],
        // More than it may repair, and more than it may call.
        vec![repair(), repair(), repair()],
        vec![run("SELECT 1"); 10],
    ] {
        let (_host, mind, _model) = lying(then).await;
        let events = mind.stream("Who buys?").await.all().await;
        let last = events.last().unwrap();
        assert_eq!(last.name, "response.completed");
        let response = &last.data["response"];
        assert_eq!(text(response), LIE);
        let item = &response["output"][0];
        assert_eq!(
            (&item["sql"], &item["status"], &item["unverified_numbers"]),
            (&json!(COUNT), &json!("completed"), &json!(["6"]))
        );
    }
}

#[tokio::test]
async fn correction_is_streamed_as_one_piece() {
    let correction = Turn::text("There ").and_text("are ").and_text("three.");
    let (_host, mind, _model) = lying([correction]).await;
    let events = mind.stream("Who buys?").await.all().await;
    let deltas: Vec<&str> = events
        .iter()
        .filter_map(|event| event.data["delta"].as_str())
        .collect();
    assert_eq!(deltas.last(), Some(&"\n\nThere are three."));
    let last = &events.last().unwrap().data["response"];
    assert_eq!(deltas.concat(), text(last));
}

#[tokio::test]
async fn numbers_of_the_result_and_of_the_question_need_no_second_look() {
    let sql = "SELECT country, count(*) FROM customers GROUP BY country";
    let said = "The top 5: DE has 2 (66.7 %), FR 1; 3 in all.";
    let turns = [run(sql), Turn::text(said)];
    let model = ScriptedModel::start(turns).await;
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    let response = mind.ask("Which five countries?").await.expect_status(200);
    let response = response.json();
    assert_eq!(text(&response), said);
    assert_eq!(response["output"][0].get("unverified_numbers"), None);
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn numbers_are_not_compared_where_rows_are_withheld() {
    let (host, mind, model) = lying([]).await;
    let settings = json!({"send_rows": false});
    host.patch("/datasources/shop", settings)
        .await
        .expect_status(200);
    let response = ask(&mind).await;
    assert_eq!(response["output"][0].get("unverified_numbers"), None);
    assert_eq!(model.asked().len(), 2);
}
