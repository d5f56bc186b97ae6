//! `/datasources` and `/engines`

mod catalog;
mod clickhouse;
pub mod files;
mod mssql;
mod mysql;
mod pages;
mod postgres;
mod scanner;
mod swap;
mod trino;

use mindhost_tests::{Host, Postgres, Value, json};

use crate::stores;

const SHOP: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)";

fn sqlite(name: &str, path: &str) -> Value {
    json!({"name": name, "engine": "sqlite", "connection_data": {"path": path}})
}

#[tokio::test]
async fn a_datasource_is_made_read_changed_and_deleted() {
    for host in stores::both().await {
        host.write_sqlite("shop.db", SHOP);
        let mut body = sqlite("shop", "shop.db");
        body["description"] = json!("what we sell");
        let made = host
            .post("/datasources", body.clone())
            .await
            .expect_status(201)
            .json();
        assert!(uuid::Uuid::parse_str(made["id"].as_str().unwrap()).is_ok());
        assert_eq!(made["name"], "shop");
        assert_eq!(made["engine"], "sqlite");
        assert_eq!(made["description"], "what we sell");
        assert_eq!(made["connection_data"], json!({"path": "shop.db"}));
        for field in ["created_at", "modified_at"] {
            let at = made[field].as_str().unwrap();
            assert!(
                at.len() > 20 && at.as_bytes()[10] == b'T' && at.ends_with('Z'),
                "{at}"
            );
        }
        assert_eq!(
            host.get("/datasources/shop")
                .await
                .expect_status(200)
                .json(),
            made
        );
        assert_eq!(
            host.get("/datasources").await.expect_status(200).json(),
            json!([made])
        );
        host.post("/datasources", body)
            .await
            .expect_error(409, "name_taken");

        for (change, field, value) in [
            (json!({"description": null}), "description", json!("")),
            (
                json!({"statement_timeout": "5s"}),
                "statement_timeout",
                json!("5s"),
            ),
            (
                json!({"statement_timeout": null}),
                "statement_timeout",
                Value::Null,
            ),
            (json!({"max_connections": 2}), "max_connections", json!(2)),
            (json!({"send_rows": false}), "send_rows", json!(false)),
            (
                json!({"engine": "sqlite", "name": "store"}),
                "name",
                json!("store"),
            ),
        ] {
            let changed = host.patch("/datasources/shop", change.clone()).await;
            let changed = changed.expect_status(200).json();
            assert_eq!(changed[field], value, "{change}");
            assert_eq!(changed["connection_data"], made["connection_data"]);
            assert_ne!(changed["modified_at"], made["modified_at"]);
        }
        host.get("/datasources/shop")
            .await
            .expect_error(404, "datasource_not_found");
        let put = host.put("/datasources/store", json!({"description": "again"}));
        assert_eq!(put.await.expect_status(200).json()["max_connections"], 2);

        host.delete("/datasources/store").await.expect_status(204);
        host.delete("/datasources/store")
            .await
            .expect_error(404, "datasource_not_found");
    }
}

#[tokio::test]
async fn a_failed_test_of_the_connection_stores_nothing() {
    let host = Host::start().await;
    let error = host
        .post("/datasources", sqlite("shop", "nothing.db"))
        .await;
    let error = error.expect_error(400, "connection_failed");
    assert!(
        error["message"].as_str().unwrap().contains("nothing.db"),
        "{error}"
    );
    assert_eq!(host.get("/datasources").await.json(), json!([]));

    let untested = host.post(
        "/datasources?check_connection=false",
        sqlite("shop", "nothing.db"),
    );
    let untested = untested.await.expect_status(201).json();
    assert!(untested.get("connection_status").is_none());
    let status = async || {
        let reply = host.get("/datasources/shop?check_connection=true").await;
        reply.expect_status(200).json()["connection_status"].clone()
    };
    assert_eq!(status().await["success"], false);
    assert!(
        status().await["error_message"]
            .as_str()
            .unwrap()
            .contains("nothing.db")
    );
    let user = json!({"name": "user", "role": "user"});
    let user = host.post("/keys", user).await.expect_status(201).json();
    let seen = host
        .get("/datasources?check_connection=true")
        .key(user["key"].as_str().unwrap())
        .await;
    assert!(!seen.text().contains("nothing.db"), "{}", seen.text());
    let seen = seen.expect_status(200).json();
    assert_eq!(seen[0]["connection_status"]["success"], false);

    host.write_sqlite("nothing.db", SHOP);
    assert_eq!(
        status().await,
        json!({"success": true, "error_message": null})
    );
    let listed = host.get("/datasources?check_connection=true").await.json();
    assert_eq!(listed[0]["connection_status"]["success"], true);

    let worse = host.patch(
        "/datasources/shop",
        json!({"connection_data": {"path": "other.db"}}),
    );
    worse.await.expect_error(400, "connection_failed");
    let kept = host.get("/datasources/shop").await.json();
    assert_eq!(kept["connection_data"]["path"], "nothing.db");
}

#[tokio::test]
async fn the_tables_are_known_as_soon_as_it_is_made() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let catalog = shop.catalog().await;
    assert_eq!(catalog["total_tables"], 1);
    assert_eq!(catalog["tables"][0]["status"], "NOT_CATALOGED");
    assert_eq!(catalog["status"]["overall_status"], "NOT_STARTED");
}

#[tokio::test]
async fn a_password_is_never_shown_logged_or_stored_in_clear() {
    let host = Host::start().await;
    let database = Postgres::shared().database("CREATE TABLE t (id int)").await;
    host.postgres("pg", &database).await;
    let shown = host.get("/datasources/pg").await;
    assert_eq!(shown.json()["connection_data"]["password"], "********");
    let wrong = json!({"connection_data": {"password": "another secret"}});
    let refused = host.patch("/datasources/pg", wrong).await;
    refused.expect_error(400, "connection_failed");
    let too_long = json!({"connection_data": {"password": "another secret".repeat(100)}});
    let invalid = host.patch("/datasources/pg", too_long).await;
    invalid.expect_error(400, "invalid_connection_data");

    assert!(host.shut_down().await);
    let mut files = vec![
        host.log().into_bytes(),
        shown.body,
        refused.body,
        invalid.body,
    ];
    for name in ["mindhost.db", "mindhost.db-wal"] {
        files.extend(std::fs::read(host.data_dir().join(name)));
    }
    for secret in [database.password.as_str(), "another secret"] {
        for file in &files {
            assert!(!String::from_utf8_lossy(file).contains(secret), "{secret}");
        }
    }
}

#[tokio::test]
async fn a_stored_password_never_goes_to_another_server() {
    let host = Host::start().await;
    let database = Postgres::shared().database("CREATE TABLE t (id int)").await;
    host.postgres("pg", &database).await;
    let patch = |data: Value| host.patch("/datasources/pg", json!({"connection_data": data}));
    for moved in [
        json!({"host": "127.0.0.2", "password": "********"}),
        json!({"host": "127.0.0.2"}),
        json!({"port": 1, "password": "********"}),
        json!({"user": "postgres", "password": "********"}),
        json!({"sslmode": "disable", "password": "********"}),
    ] {
        let error = patch(moved.clone())
            .await
            .expect_error(422, "secret_required");
        assert_eq!(error["param"], "connection_data.password", "{moved}");
    }
    patch(json!({"port": database.port.to_string(), "password": "********"}))
        .await
        .expect_status(200);
    patch(json!({"host": "localhost", "password": database.password}))
        .await
        .expect_status(200);
    let status = host
        .get("/datasources/pg?check_connection=true")
        .await
        .json();
    assert_eq!(status["connection_status"]["success"], true, "{status}");
}

#[tokio::test]
async fn one_that_a_mind_uses_is_deleted_only_with_cascade() {
    for host in stores::both().await {
        host.sqlite("shop", SHOP).await;
        host.mind("m").datasource("shop").create().await;
        let error = host
            .delete("/datasources/shop")
            .await
            .expect_error(409, "resource_in_use");
        assert!(
            error["message"].as_str().unwrap().contains("Minds m;"),
            "{error}"
        );
        host.delete("/datasources/shop?cascade=true")
            .await
            .expect_status(204);
        let mind = host.get("/minds/m").await.expect_status(200).json();
        assert_eq!(mind["datasources"], json!([]), "the Mind stays");
    }
}

#[tokio::test]
async fn bad_datasources_are_refused_and_nothing_is_made() {
    let host = Host::start().await;
    host.write_sqlite("shop.db", SHOP);
    let with = |field: &str, value: Value| {
        let mut body = sqlite("d", "shop.db");
        body[field] = value;
        body
    };
    for (body, status, code, param) in [
        (with("name", json!("1a")), 400, "invalid_parameter", "name"),
        (with("name", json!("a-b")), 400, "invalid_parameter", "name"),
        (
            with("name", json!("a".repeat(63))),
            400,
            "invalid_parameter",
            "name",
        ),
        (
            with("engine", json!("nothing")),
            404,
            "engine_not_found",
            "engine",
        ),
        (with("engine", json!(5)), 400, "invalid_body", "engine"),
        (
            with("description", json!("x".repeat(10_001))),
            400,
            "invalid_parameter",
            "description",
        ),
        (
            with("connection_data", json!("shop.db")),
            400,
            "invalid_body",
            "connection_data",
        ),
        (
            with("connection_data", json!({})),
            400,
            "invalid_connection_data",
            "connection_data.path",
        ),
        (
            with("connection_data", json!({"path": 5})),
            400,
            "invalid_connection_data",
            "connection_data.path",
        ),
        (
            with("connection_data", json!({"path": "shop.db", "color": 1})),
            400,
            "invalid_connection_data",
            "connection_data.color",
        ),
        (
            with("max_connections", json!(0)),
            400,
            "invalid_parameter",
            "max_connections",
        ),
        (
            with("statement_timeout", json!("soon")),
            400,
            "invalid_body",
            "statement_timeout",
        ),
        (
            with("statement_timeout", json!("25h")),
            400,
            "invalid_parameter",
            "statement_timeout",
        ),
        (with("color", json!("red")), 400, "invalid_body", "color"),
    ] {
        let error = host
            .post("/datasources", body.clone())
            .await
            .expect_error(status, code);
        assert_eq!(error["param"], param, "{body}");
    }
    let error = host.get("/datasources?check_connection=perhaps").await;
    error.expect_error(400, "invalid_parameter");
    assert_eq!(host.get("/datasources").await.json(), json!([]));
    host.post("/datasources", with("name", json!("a".repeat(62))))
        .await
        .expect_status(201);
    let engine = host.patch(
        &format!("/datasources/{}", "a".repeat(62)),
        json!({"engine": "postgres"}),
    );
    assert_eq!(
        engine.await.expect_error(400, "invalid_parameter")["param"],
        "engine"
    );
}

#[tokio::test]
async fn connection_data_is_for_editors() {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await;
    let key = host
        .post("/keys", json!({"name": "reader", "role": "user"}))
        .await
        .json();
    let shown = host
        .get("/datasources/shop")
        .key(key["key"].as_str().unwrap())
        .await;
    assert!(
        shown
            .expect_status(200)
            .json()
            .get("connection_data")
            .is_none()
    );
}

#[tokio::test]
async fn engines_say_what_they_need_and_who_serves_them() {
    let host = Host::start().await;
    let engines = host.get("/engines").await.expect_status(200).json();
    let named = |name: &str| {
        let engines = engines.as_array().unwrap();
        engines
            .iter()
            .find(|one| one["engine"] == name)
            .unwrap()
            .clone()
    };
    for (engine, dialect, property) in [
        ("sqlite", "sqlite", "path"),
        ("postgres", "postgresql", "host"),
    ] {
        let shown = named(engine);
        assert_eq!(host.get(&format!("/engines/{engine}")).await.json(), shown);
        assert_eq!(shown["dialect"], dialect);
        assert!(shown["title"].is_string() && shown["version"].is_string());
        assert_eq!(shown["plugin"], format!("connector-{engine}"));
        assert_eq!(shown["digest"].as_str().unwrap().len(), 64);
        assert!(shown["capabilities"]["paging"].is_string());
        assert!(shown["connection_data"]["properties"][property].is_object());
    }
    host.get("/engines/nothing")
        .await
        .expect_error(404, "engine_not_found");
}
