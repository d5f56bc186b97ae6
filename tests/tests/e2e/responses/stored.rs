//! A response that is read again later.

use mindhost_tests::{ScriptedModel, Turn};
use serde_json::{Value, json};

use super::{running::id, shop};

#[tokio::test]
async fn a_stored_query_gives_as_many_rows_again_as_it_gave_first() {
    let (host, mind) = shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT id FROM orders ORDER BY id", "max_inline_rows": 2});
    let body = json!({"model": mind.name, "tools": [tool]});
    let first = host.post("/responses", body).await.json();
    let path = format!("/responses/{}", id(&first));
    let again = host.get(&path).await.expect_status(200).json();
    assert_eq!(again["output"], first["output"]);
    assert_eq!(again["output"][0]["data"], json!([[1], [2]]));
    assert_eq!(again["output"][0]["has_more"], true);
}

#[tokio::test]
async fn a_stored_query_that_may_not_run_any_more_says_why() {
    let (host, mind) = shop().await;
    let first = mind.sql("SELECT id FROM orders").await.json();
    let path = format!("/responses/{}", id(&first));
    let check = async |code: &str| {
        let kept = host.get(&path).await.expect_status(200).json();
        assert_eq!(
            (&kept["id"], &kept["status"]),
            (&first["id"], &json!("completed"))
        );
        let item = &kept["output"][0];
        assert_eq!(
            (&item["id"], &item["query"]),
            (&first["output"][0]["id"], &json!("SELECT id FROM orders"))
        );
        assert_eq!(
            (&item["status"], &item["data"], &item["error"]["code"]),
            (&json!("unavailable"), &json!([]), &json!(code))
        );
    };
    let put = async |body: Value| host.put("/minds/sales", body).await.expect_status(200);
    put(json!({"datasources": [{"name": "shop", "tables": ["customers"]}]})).await;
    check("sql_table_not_allowed").await;
    put(json!({"datasources": ["shop"], "parameters": {}})).await;
    check("direct_queries_not_allowed").await;
    host.delete("/minds/sales").await.expect_status(200);
    check("mind_deleted").await;
}

#[tokio::test]
async fn query_whose_message_was_deleted_is_not_found_and_can_be_deleted() {
    let (host, mind) = shop().await;
    for whole in [true, false] {
        let first = mind.sql("SELECT id FROM orders").await.expect_status(200);
        let first = first.json();
        let path = format!("/responses/{}", id(&first));
        let conversation = format!("/conversations/{}", id(&first["conversation"]));
        let message = format!("{conversation}/items/{}", id(&first["output"][0]));
        let deleted = if whole { &conversation } else { &message };
        host.delete(deleted).await.expect_status(200);
        for query in ["", "?stream=true", "?stream=true&starting_after=3"] {
            let reply = host.get(&format!("{path}{query}")).await;
            reply.expect_error(404, "response_not_found");
        }
        host.delete(&path).await.expect_status(200);
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_is_completed_and_says_so() {
    let (host, _mind) = shop().await;
    let turns = [
        Turn::text("There are ").finish("length"),
        Turn::empty().finish("length"),
    ];
    let model = ScriptedModel::start(turns).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("told").datasource("shop").provider("scripted");
    mind.create().await;
    let body = json!({"model": "told", "input": "How many?", "max_output_tokens": 16});
    for text in ["There are ", "This answer was stopped"] {
        let cut = host
            .post("/responses", body.clone())
            .await
            .expect_status(200)
            .json();
        assert_eq!(
            (&cut["status"], &cut["incomplete_details"]),
            (&json!("completed"), &json!({"reason": "max_output_tokens"}))
        );
        assert_eq!(cut["max_output_tokens"], 16);
        assert_eq!(cut["output"][0]["status"], "incomplete");
        let said = cut["output"][0]["content"][0]["text"].as_str().unwrap();
        assert!(said.starts_with(text), "{said}");
        assert_eq!(
            said == text,
            text == "There are ",
            "a text that breaks off stays as it is"
        );
        let kept = host.get(&format!("/responses/{}", id(&cut))).await.json();
        assert_eq!(kept, cut);
    }
    let asked = &model.asked()[0].body;
    assert!(asked.to_string().contains("16"), "{asked}");
    let none = json!({"model": "told", "input": "How many?", "max_output_tokens": 0});
    host.post("/responses", none)
        .await
        .expect_error(400, "invalid_body");
}
