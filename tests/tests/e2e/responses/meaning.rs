//! Tables that no word of a question leads to, found by vectors.

use std::fmt::Write;

use mindhost_tests::{Embeddings, Host, Mind, ScriptedModel, Turn, eventually, json};

const QUESTION: &str = "Which clients churned last quarter?";

/// A warehouse that does not fit into a prompt. One of its tables answers the question, and has none of its words.
fn warehouse() -> String {
    let mut sql = String::from(
        "CREATE TABLE tbl_kx (id INTEGER PRIMARY KEY, dt TEXT, why TEXT);
         INSERT INTO tbl_kx VALUES (1, '2024-01-01', 'Pelican'), (2, '2024-01-02', 'Pelican');",
    );
    for number in 0..320 {
        let _ = write!(
            sql,
            "CREATE TABLE sensor_log_{number} (id INTEGER PRIMARY KEY, reading_kind TEXT, reading_value REAL, \
             recorded_by_station TEXT, calibration_offset REAL);"
        );
    }
    sql
}

/// Whether a text is about customers who cancelled.
fn vector(text: &str) -> Vec<f32> {
    match text.contains("tbl_kx") || text.contains("churned") {
        true => vec![1.0, 0.0],
        false => vec![0.0, 1.0],
    }
}

/// Whether a server told its operator that it goes by words alone.
fn warned(log: &str) -> bool {
    log.contains("words alone lead to tables")
}

async fn mind(model: &ScriptedModel, sql: &str, embedding_model: Option<&str>) -> (Host, Mind) {
    let host = Host::start().await;
    host.sqlite("shop", sql).await.load().await;
    let mut data = model.connection_data();
    if let Some(name) = embedding_model {
        data["embedding_model"] = json!(name);
    }
    host.provider("scripted", "model-openai", data).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    (host, mind)
}

async fn model(embeddings: Embeddings) -> ScriptedModel {
    let model = ScriptedModel::reacting(|_| Turn::text("Done.")).await;
    model.embed(embeddings);
    model
}

/// Asks, and says whether the table stood in the prompt.
async fn finds(mind: &Mind, model: &ScriptedModel) -> bool {
    assert_eq!(mind.answer(QUESTION).await, "Done.");
    let asked = model.asked();
    let prompt = asked.last().expect("a request").text_of("system");
    assert!(prompt.contains(" of 321 tables"), "{prompt}");
    prompt.contains("main.tbl_kx (")
}

#[tokio::test]
async fn table_is_found_by_meaning_once_its_catalog_is_embedded() {
    let model = model(Embeddings::Of(vector)).await;
    let (_host, mind) = mind(&model, &warehouse(), Some("embed-1")).await;
    assert!(!finds(&mind, &model).await, "an answer waits for no vector");
    eventually(async || finds(&mind, &model).await, |found| *found).await;
    let embedded = model.embedded();
    let of_table = |name: &str| {
        let begins = format!("main.{name} (");
        embedded
            .iter()
            .filter(|text| text.starts_with(&begins))
            .count()
    };
    assert_eq!((of_table("tbl_kx"), of_table("sensor_log_319")), (1, 1));
    assert!(embedded.contains(&QUESTION.to_owned()));
    let values = embedded.iter().any(|text| text.contains("Pelican"));
    assert!(!values, "values are never embedded: {embedded:?}");
}

#[tokio::test]
async fn nothing_is_embedded_unless_the_provider_says_with_what() {
    let model = model(Embeddings::Of(vector)).await;
    let (_host, mind) = mind(&model, &warehouse(), None).await;
    assert!(!finds(&mind, &model).await);
    assert!(!finds(&mind, &model).await);
    assert_eq!(model.embedded(), [""; 0]);
}

#[tokio::test]
async fn catalog_that_fits_into_the_prompt_is_not_embedded() {
    let model = model(Embeddings::Of(vector)).await;
    let sql = "CREATE TABLE tbl_kx (id INTEGER PRIMARY KEY)";
    let (_host, mind) = mind(&model, sql, Some("embed-1")).await;
    mind.answer(QUESTION).await;
    assert_eq!(model.embedded(), [""; 0]);
}

#[tokio::test]
async fn endpoint_that_fails_is_not_asked_again_at_once() {
    let model = model(Embeddings::Fails).await;
    let (host, mind) = mind(&model, &warehouse(), Some("embed-1")).await;
    assert!(!finds(&mind, &model).await);
    eventually(async || host.log(), |log| warned(log)).await;
    let asked = model.embedded().len();
    assert!(asked > 0);
    assert!(!finds(&mind, &model).await);
    assert_eq!(model.embedded().len(), asked);
}

#[tokio::test]
async fn endpoint_that_hangs_delays_one_answer_briefly() {
    let model = model(Embeddings::Of(vector)).await;
    let (host, mind) = mind(&model, &warehouse(), Some("embed-1")).await;
    eventually(async || finds(&mind, &model).await, |found| *found).await;
    model.embed(Embeddings::Hangs);
    assert!(!finds(&mind, &model).await);
    eventually(async || host.log(), |log| warned(log)).await;
    let asked = model.embedded().len();
    assert!(!finds(&mind, &model).await);
    assert_eq!(
        model.embedded().len(),
        asked,
        "it is not asked again at once"
    );
}
