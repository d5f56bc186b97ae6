//! What the model is told.

use mindhost_tests::{Host, ScriptedModel, Turn, eventually, json};

use super::{SHOP, entries, revenue, teach};

/// A host whose Mind `sales` has a scripted model.
async fn scripted() -> (Host, ScriptedModel) {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let model = ScriptedModel::start([]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("sales").datasource("shop").provider("scripted");
    mind.create().await;
    (host, model)
}

/// What the model is told with a question.
async fn system(host: &Host, model: &ScriptedModel, question: &str) -> String {
    model.play([Turn::text("Well.")]);
    let body = json!({"model": "sales", "input": question});
    host.post("/responses", body).await.expect_status(200);
    model.asked().pop().unwrap().text_of("system")
}

const FORMULA: &str = "sum(i.quantity * i.unit_price)";

#[tokio::test]
async fn model_is_told_the_metric_that_the_question_names() {
    let (host, model) = scripted().await;
    teach(&host, revenue()).await.expect_status(201);
    let year = json!({"kind": "instruction", "name": "year", "text": "The year begins in April."});
    teach(&host, year).await.expect_status(201);

    let named = system(&host, &model, "What was the turnover of last year?").await;
    assert!(
        named.contains(FORMULA) && named.contains("o.status <> 'cancelled'"),
        "{named}"
    );
    assert!(named.contains("Knowledge of this Mind"), "{named}");
    let other = system(&host, &model, "How many customers are there?").await;
    assert!(
        !other.contains(FORMULA) && other.contains("begins in April"),
        "{other}"
    );
}

#[tokio::test]
async fn model_is_not_told_what_is_stale() {
    let (host, model) = scripted().await;
    teach(&host, revenue()).await.expect_status(201);
    let only = json!({"datasources": [{"name": "shop", "tables": ["customers"]}]});
    host.put("/minds/sales", only).await.expect_status(200);
    eventually(
        async || entries(&host).await,
        |all| all[0]["status"] == "stale",
    )
    .await;
    let told = system(&host, &model, "What was the turnover?").await;
    assert!(!told.contains(FORMULA), "{told}");
}

#[tokio::test]
async fn model_is_told_the_verified_query_of_the_same_question() {
    let (host, model) = scripted().await;
    let sql = "SELECT count(*) FROM orders WHERE status = 'cancelled'";
    let query = json!({"kind": "verified_query", "question": "How many orders were cancelled?", "sql": sql});
    teach(&host, query).await.expect_status(201);
    let same = system(&host, &model, "how many ORDERS were cancelled").await;
    assert!(
        same.contains(sql) && same.contains("this very question"),
        "{same}"
    );
    let similar = system(&host, &model, "How many orders were delivered?").await;
    assert!(
        similar.contains(sql) && !similar.contains("this very question"),
        "{similar}"
    );
    let other = system(&host, &model, "Which customers live in Berlin?").await;
    assert!(!other.contains(sql), "{other}");
}

#[tokio::test]
async fn offline_model_answers_a_verified_question_with_its_statement() {
    let host = Host::start().await;
    super::taught(&host).await;
    let question = "What is the secret of our success?";
    let ask = async |question: &str| {
        let body = json!({"model": "sales", "input": question});
        host.post("/responses", body)
            .await
            .expect_status(200)
            .json()
    };
    let before = ask(question).await;
    assert!(before["output"][0]["sql"].is_null(), "{before}");
    let sql = "SELECT max(unit_price) + 7 FROM order_items";
    let query = json!({"kind": "verified_query", "question": question, "sql": sql});
    teach(&host, query).await.expect_status(201);
    let after = ask("what is the SECRET of our success").await;
    assert_eq!(after["output"][0]["sql"], sql, "{after}");
    assert!(after.to_string().contains("**107**"), "{after}");
}

#[tokio::test]
async fn offline_model_answers_a_metric_as_it_is_defined_and_says_so() {
    let host = Host::start().await;
    super::taught(&host).await;
    teach(&host, revenue()).await.expect_status(201);
    let body = json!({"model": "sales", "input": "What was our turnover?"});
    let response = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let item = &response["output"][0];
    assert!(
        item["sql"].as_str().unwrap().contains(FORMULA),
        "{response}"
    );
    assert_eq!(
        item["assumptions"],
        json!(["revenue is what the editors of this Mind define it to be"])
    );
}

#[tokio::test]
async fn offline_model_groups_a_metric_by_what_its_rows_belong_to() {
    let host = Host::start().await;
    super::taught(&host).await;
    teach(&host, revenue()).await.expect_status(201);
    let body = json!({"model": "sales", "input": "turnover per customer"});
    let response = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let item = &response["output"][0];
    let sql = item["sql"].as_str().unwrap();
    assert!(
        sql.contains(FORMULA) && sql.contains("(o.status <> 'cancelled')"),
        "{response}"
    );
    // The cancelled order is not among it.
    let text = response.to_string();
    assert!(text.contains("| Ann | 1 | 9"), "{response}");
    let assumption = item["assumptions"][0].as_str().unwrap();
    assert!(
        assumption.starts_with("revenue as taught: `sum("),
        "{response}"
    );
}
