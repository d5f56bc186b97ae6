//! `/healthz` and `/readyz`: for load balancers, without a key.

use mindhost_tests::{Host, json};
use reqwest::Method;

#[tokio::test]
async fn they_need_no_key() {
    let host = Host::start().await;
    for path in ["/healthz", "/readyz"] {
        host.request(Method::GET, path)
            .without_key()
            .await
            .expect_status(200);
    }
}

#[tokio::test]
async fn a_killed_host_starts_again_on_its_data() {
    let host = Host::start().await;
    let shop = host
        .sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
        .await;
    shop.load().await;
    host.mind("sales")
        .datasource(&shop.name)
        .direct_queries()
        .create()
        .await;
    let made = host.get("/minds/sales").await.json();
    host.kill().await;
    assert!(
        host.request(Method::GET, "/healthz")
            .attempt()
            .await
            .is_err()
    );
    host.restart().await;
    host.request(Method::GET, "/readyz")
        .await
        .expect_status(200);
    assert_eq!(host.get("/minds/sales").await.json(), made);
    let tool = json!({"type": "sql_query", "query": "SELECT count(*) FROM item"});
    let answer = host
        .post("/responses", json!({"model": "sales", "tools": [tool]}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(answer["output"][0]["data"], json!([[0]]));
    assert!(host.shut_down().await, "{}", host.log());
}
