//! A connector whose engine knows no LIMIT declares `paging: in-memory`: the statement goes to it as it is, and the
//! host cuts the pages. The test connector refuses every LIMIT and OFFSET, so a page that comes out right was cut here.

use mindhost_tests::{Host, Mind, build};
use serde_json::{Value, json};

/// A host with a Mind over a table of 2,500 rows.
async fn numbers() -> (Host, Mind) {
    let host = Host::builder().plugin(build::guest("memory")).start().await;
    host.datasource("memory", "memory", json!({"rows": 2500}))
        .await
        .load()
        .await;
    let mind = host
        .mind("counting")
        .datasource("memory")
        .direct_queries()
        .create()
        .await;
    (host, mind)
}

#[tokio::test]
async fn the_engine_is_listed_with_its_way_of_paging() {
    let (host, _mind) = numbers().await;
    let engine = host.get("/engines/memory").await.expect_status(200).json();
    assert_eq!(engine["capabilities"]["paging"], "in-memory", "{engine}");
}

#[tokio::test]
async fn pages_and_totals_are_those_of_any_other_engine() {
    let (host, mind) = numbers().await;
    let tool = json!({"type": "sql_query", "query": "SELECT n, name FROM numbers ORDER BY n", "max_inline_rows": 3});
    let response = host
        .post("/responses", json!({"model": mind.name, "tools": [tool]}))
        .await
        .expect_status(200)
        .json();
    let item = &response["output"][0];
    assert_eq!(
        item["data"],
        json!([[0, "number 0"], [1, "number 1"], [2, "number 2"]])
    );
    assert_eq!(
        (&item["total"], &item["has_more"]),
        (&json!(2500), &json!(true))
    );
    let executed = item["executed_query"].as_str().unwrap();
    assert!(!executed.to_uppercase().contains("LIMIT"), "{executed}");

    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    let page = async |query: &str| -> Value {
        host.get(&format!("{path}/result{query}"))
            .await
            .expect_status(200)
            .json()
    };
    let second = page("?limit=1000&offset=2000").await;
    assert_eq!(second["result"]["data"].as_array().unwrap().len(), 500);
    assert_eq!(second["result"]["data"][0], json!([2000, "number 2000"]));
    assert_eq!(second["total"], 2500);
    let usual = page("").await;
    assert_eq!(usual["result"]["data"].as_array().unwrap().len(), 100);
    let behind = page("?offset=2500").await;
    assert_eq!(
        (&behind["result"]["data"], &behind["total"]),
        (&json!([]), &json!(2500))
    );

    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    let text = export.text();
    assert!(text.starts_with("n,name\n0,number 0\n"), "{text:.60}");
    assert_eq!(text.matches('\n').count(), 2501);
    assert!(text.ends_with("2499,number 2499\n"));
}

#[tokio::test]
async fn a_limit_of_the_callers_own_goes_to_the_engine_which_says_what_it_thinks_of_it() {
    let (_host, mind) = numbers().await;
    let reply = mind.sql("SELECT n FROM numbers ORDER BY n LIMIT 5").await;
    let error = reply.expect_error(400, "sql_invalid");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("knows no limit"),
        "{error}"
    );
}
