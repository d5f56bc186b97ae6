//! `/healthz` and `/readyz`: for load balancers, without a key.

use mindhost_tests::{Host, Postgres, Reply, eventually, json};
use reqwest::Method;
use rustix::process::Signal;

use crate::stores;

/// The reply of a route that needs no key.
async fn ask(host: &Host, path: &str) -> Reply {
    host.request(Method::GET, path).without_key().await
}

#[tokio::test]
async fn live_and_ready_hosts_say_so_without_a_key() {
    let host = Host::start().await;
    let health = ask(&host, "/healthz").await.expect_status(200);
    assert_eq!(health.json(), json!({"status": "ok"}));
    let ready = ask(&host, "/readyz").await.expect_status(200);
    assert_eq!(
        ready.json(),
        json!({"status": "ready", "compiling": [], "missing": []})
    );
}

#[tokio::test]
async fn host_without_its_store_lives_and_is_not_ready() {
    let database = Postgres::shared().database("").await;
    let host = stores::on(&database)
        .env("MINDHOST_STORE__ACQUIRE_TIMEOUT", "1s")
        .start()
        .await;
    let status = async || ask(&host, "/readyz").await.status;
    assert_eq!(status().await, 200);

    let admin = Postgres::shared().admin("postgres").await;
    let run = async |sql: String| admin.batch_execute(&sql).await.unwrap();
    let name = &database.name;
    run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    run(format!("{end} = '{name}'")).await;
    let refused = eventually(
        async || ask(&host, "/readyz").await,
        |reply| reply.status != 200,
    )
    .await;
    let error = refused.expect_error(503, "overloaded");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("the store does not answer"), "{error}");
    // A restart would not help, so it is not asked for.
    ask(&host, "/healthz").await.expect_status(200);
    assert_eq!(status().await, 503);

    run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
    eventually(status, |status| *status == 200).await;
    assert!(host.shut_down().await, "{}", host.log());
}

#[tokio::test]
async fn host_that_is_asked_to_end_is_not_ready_and_serves_until_the_delay_is_over() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__SHUTDOWN_DELAY", "1h")
        .start()
        .await;
    assert_eq!(ask(&host, "/readyz").await.status, 200);
    host.signal(Signal::TERM);
    let refused = eventually(
        async || ask(&host, "/readyz").await,
        |reply| reply.status != 200,
    )
    .await;
    let error = refused.expect_error(503, "overloaded");
    assert_eq!(error["message"], "the server is shutting down");
    ask(&host, "/healthz").await.expect_status(200);
    host.get("/minds").await.expect_status(200);
    // A second signal does not wait for the hour.
    assert!(host.shut_down().await, "{}", host.log());
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
    let gone = host.request(Method::GET, "/healthz").attempt().await;
    assert!(gone.unwrap_err().is_connect());
    host.restart().await;
    ask(&host, "/readyz").await.expect_status(200);
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
