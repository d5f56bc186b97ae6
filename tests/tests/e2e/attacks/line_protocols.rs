//! An editor wants an internal service to take what a connector sends for its own commands.

use mindhost_tests::{Host, LineServer, Postgres, Value, json};

/// A line of its own in the middle of a value.
const COMMAND: &str = "u\r\nFLUSHALL\r\n";

fn data(service: &LineServer) -> Value {
    json!({"host": "127.0.0.1", "port": service.port(), "user": "u", "password": "p", "database": "d"})
}

fn datasource(name: &str, data: Value) -> Value {
    json!({"name": name, "engine": "postgres", "connection_data": data})
}

#[tokio::test]
async fn command_in_a_value_never_reaches_a_line_protocol() {
    let host = Host::start().await;
    let service = LineServer::start();
    for property in ["user", "database", "password", "host", "schema"] {
        let mut data = data(&service);
        data[property] = json!(COMMAND);
        let refused = host.post("/datasources", datasource("inside", data)).await;
        let error = refused.expect_error(400, "invalid_connection_data");
        assert_eq!(error["param"], format!("connection_data.{property}"));
        let message = error["message"].as_str().unwrap();
        assert!(!message.contains("FLUSHALL"), "no value is repeated");
    }
    for control in ["\u{1}", "\n", "\u{1b}", "\u{7f}", "\u{85}", "\t"] {
        let mut data = data(&service);
        data["user"] = json!(format!("a{control}b"));
        let refused = host.post("/datasources", datasource("inside", data)).await;
        refused.expect_error(400, "invalid_connection_data");
    }
    assert_eq!((service.connections(), service.executed()), (0, 0));
}

#[tokio::test]
async fn command_in_a_changed_value_is_refused_too() {
    let database = Postgres::shared().database("").await;
    let host = Host::start().await;
    host.postgres("shop", &database).await;
    let changed = json!({"connection_data": {"database": COMMAND, "password": "p"}});
    for request in [
        host.patch("/datasources/shop", changed.clone()),
        host.put("/datasources/shop", changed),
    ] {
        let error = request.await.expect_error(400, "invalid_connection_data");
        assert_eq!(error["param"], "connection_data.database");
    }
}

#[tokio::test]
async fn command_in_a_provider_is_refused_too() {
    let host = Host::start().await;
    let data =
        json!({"base_url": "http://127.0.0.1:1/v1", "api_key": "k", "organization": COMMAND});
    let body = json!({"name": "vendor", "plugin": "model-openai", "connection_data": data});
    let refused = host.post("/providers", body).await;
    let error = refused.expect_error(400, "invalid_connection_data");
    assert_eq!(error["param"], "connection_data.organization");
}

#[tokio::test]
async fn lines_are_taken_where_the_schema_allows_them() {
    let server = Postgres::shared();
    let database = server.database("").await;
    let host = Host::start().await;
    let mut data = database.connection_data();
    data["sslmode"] = json!("verify-ca");
    data["sslrootcert"] = json!(server.ca());
    assert!(server.ca().contains('\n'));
    host.post("/datasources", datasource("shop", data.clone()))
        .await
        .expect_status(201);
    // Lines, and no other control characters.
    data["sslrootcert"] = json!(format!("{}\u{b}", server.ca()));
    let refused = host.post("/datasources", datasource("more", data)).await;
    let error = refused.expect_error(400, "invalid_connection_data");
    assert_eq!(error["param"], "connection_data.sslrootcert");
}

#[tokio::test]
async fn port_of_another_protocol_is_reached_by_grant_alone() {
    // Whichever of these is free here.
    let service = [11300, 26379, 4730, 11211, 6380];
    let service = service.into_iter().find_map(LineServer::on).unwrap();
    let host = Host::start().await;
    let body = datasource("inside", data(&service));
    let refused = host.post("/datasources", body.clone()).await;
    let error = refused.expect_error(400, "connection_failed");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("egress.allow_ports"), "{message}");
    let url = format!("http://127.0.0.1:{}/v1", service.port());
    let vendor = json!({"base_url": url, "api_key": "k", "model": "m"});
    let vendor = json!({"name": "vendor", "plugin": "model-openai", "connection_data": vendor});
    let refused = host.post("/providers", vendor).await;
    let error = refused.expect_error(400, "connection_failed");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("egress.allow_ports")
    );
    assert_eq!(service.connections(), 0);

    let granted = Host::builder().env("MINDHOST_EGRESS__ALLOW_PORTS", service.port().to_string());
    let granted = granted.start().await;
    granted.post("/datasources", body).await.expect_status(400);
    assert!(service.connections() > 0, "it was reached");
}
