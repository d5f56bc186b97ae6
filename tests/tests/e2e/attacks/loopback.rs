//! An editor who sits elsewhere wants the services of the server's own machine.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use mindhost_tests::{ADMIN_KEY, Host, LineServer, Postgres, Reply, json};

/// Connects a datasource to a service on loopback.
async fn connect(host: &Host, name: &str, service: &LineServer) -> Reply {
    let data = json!({"host": "127.0.0.1", "port": service.port(), "user": "u", "database": "d"});
    let body = json!({"name": name, "engine": "postgres", "connection_data": data});
    host.post("/datasources", body).await
}

#[track_caller]
fn expect_refused(reply: &Reply, service: &LineServer) {
    let error = reply.expect_error(400, "connection_failed");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("egress.allow_loopback"), "{message}");
    assert_eq!(service.connections(), 0, "{message}");
}

#[tokio::test]
async fn editor_behind_a_configured_proxy_reaches_no_loopback_service() {
    let host = Host::builder().env("MINDHOST_SERVER__TRUSTED_PROXIES", "127.0.0.1");
    let host = host.start().await;
    let service = LineServer::start();
    expect_refused(&connect(&host, "inside", &service).await, &service);
    assert!(
        host.log().contains("server.trusted_proxies is set"),
        "the log says why"
    );
    let doctor = host.command(&["doctor"]).output().unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(
        told.contains("server.trusted_proxies is set; set egress.allow_loopback = true"),
        "{told}"
    );
}

#[tokio::test]
async fn editor_behind_an_unknown_proxy_shows_by_a_forwarded_header() {
    let host = Host::start().await;
    let service = LineServer::start();
    let data = json!({"host": "127.0.0.1", "port": service.port(), "user": "u", "database": "d"});
    let body = json!({"name": "inside", "engine": "postgres", "connection_data": data});
    // Their very first request is refused already.
    let first = host.post("/datasources", body);
    let first = first.header("x-forwarded-for", "203.0.113.7").await;
    expect_refused(&first, &service);
    // Nor does it help to have the proxy leave the header out the next time.
    expect_refused(&connect(&host, "again", &service).await, &service);
    assert!(host.log().contains("header `x-forwarded-for`"));
}

#[tokio::test]
async fn editor_reaches_no_metadata_service_of_a_cloud() {
    // Not even where everything else may be reached.
    let host = Host::builder().env("MINDHOST_EGRESS__ALLOW_LOOPBACK", "true");
    let host = host.env("MINDHOST_EGRESS__ALLOW_PRIVATE", "true");
    let host = host.start().await;
    for address in ["169.254.169.254", "fd00:ec2::254", "fd00:ec2:0:1::23"] {
        let data = json!({"host": address, "port": 5432, "user": "u", "database": "d"});
        let body = json!({"name": "inside", "engine": "postgres", "connection_data": data});
        let reply = host.post("/datasources", body).await;
        let error = reply.expect_error(400, "connection_failed");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("metadata"), "{address}: {message}");
    }
}

#[tokio::test]
async fn page_of_a_stranger_in_a_local_browser_shows_by_its_host() {
    let host = Host::start().await;
    let service = LineServer::start();
    // A name of the stranger's that leads to 127.0.0.1; no key is needed to be noticed.
    let probe = host.get("/minds").without_key();
    probe
        .header("host", "rebound.example.com")
        .await
        .expect_status(401);
    let refused = connect(&host, "inside", &service).await;
    expect_refused(&refused, &service);
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("until a request"), "{message}");
    assert!(message.contains("restart"), "{message}");
}

#[tokio::test]
async fn proxy_that_speaks_http_1_0_is_noticed() {
    let host = Host::start().await;
    let service = LineServer::start();
    let address = host.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let request = format!(
        "GET /api/v1/minds HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {ADMIN_KEY}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    expect_refused(&connect(&host, "inside", &service).await, &service);
}

#[tokio::test]
async fn pooled_connection_does_not_outlive_the_permission() {
    let database = Postgres::shared()
        .database("CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)")
        .await;
    let host = Host::start().await;
    host.postgres("shop", &database).await.load().await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    let mind = mind.create().await;
    assert_eq!(mind.rows("SELECT id FROM item").await, [[json!(1)]]);
    host.get("/minds")
        .header("via", "1.1 proxy")
        .await
        .expect_status(200);
    let refused = mind.sql("SELECT id FROM item").await;
    let error = refused.expect_error(503, "upstream_unreachable");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("egress.allow_loopback"), "{error}");
}

#[tokio::test]
async fn owner_of_the_machine_keeps_what_is_set_by_name() {
    let host = Host::builder().env("MINDHOST_EGRESS__ALLOW_LOOPBACK", "true");
    let host = host.start().await;
    let service = LineServer::start();
    host.get("/minds")
        .header("x-forwarded-for", "203.0.113.7")
        .await
        .expect_status(200);
    connect(&host, "inside", &service).await.expect_status(400);
    assert!(
        service.connections() > 0,
        "it was reached, and is no PostgreSQL"
    );
}
