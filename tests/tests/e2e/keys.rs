//! `/keys`

mod left;
mod lifetime;
mod limited;
mod meanwhile;
mod rotate;

use mindhost_tests::{ADMIN_KEY, Host, Value, json};

use crate::stores;

async fn create(host: &Host, body: Value) -> Value {
    host.post("/keys", body).await.expect_status(201).json()
}

/// The text of a new key.
async fn text(host: &Host, body: Value) -> String {
    let made = create(host, body).await;
    made["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_is_shown_once_listed_by_prefix_and_ends_when_revoked() {
    for host in stores::both().await {
        let made = create(&host, json!({"name": "report", "role": "user"})).await;
        let text = made["key"].as_str().unwrap();
        assert!(text.starts_with(made["prefix"].as_str().unwrap()));
        host.get("/minds").key(text).await.expect_status(200);

        let listed = host.get("/keys").await.expect_status(200);
        assert!(!listed.text().contains(text), "{}", listed.text());
        let listed = listed.json();
        let find = |keys: &Value| {
            let keys = keys.as_array().unwrap().clone();
            keys.into_iter()
                .find(|key| key["id"] == made["id"])
                .unwrap()
        };
        assert_eq!(find(&listed)["name"], "report");
        assert_eq!(find(&listed)["revoked_at"], Value::Null);

        let path = format!("/keys/{}", made["id"].as_str().unwrap());
        host.delete(&path).await.expect_status(204);
        host.get("/minds")
            .key(text)
            .await
            .expect_error(401, "invalid_api_key");
        let listed = host.get("/keys").await.json();
        assert!(find(&listed)["revoked_at"].is_string(), "{listed}");
        assert!(!host.log().contains(text) && !host.log().contains(ADMIN_KEY));
    }
}

#[tokio::test]
async fn a_small_role_may_read_and_no_more() {
    let host = Host::start().await;
    let key = create(&host, json!({"name": "reader", "role": "user"})).await;
    let key = key["key"].as_str().unwrap();
    for path in ["/minds", "/datasources", "/engines", "/providers"] {
        host.get(path).key(key).await.expect_status(200);
    }
    let mind = json!({"name": "m", "datasources": []});
    let provider = json!({"name": "p", "plugin": "model-offline"});
    let datasource = json!({"name": "d", "engine": "sqlite", "connection_data": {"path": "d.db"}});
    for (path, body) in [
        ("/minds", mind),
        ("/providers", provider),
        ("/datasources", datasource),
    ] {
        host.post(path, body)
            .key(key)
            .await
            .expect_error(403, "forbidden");
    }
    host.get("/keys")
        .key(key)
        .await
        .expect_error(403, "forbidden");

    let admin = create(&host, json!({"name": "admin", "role": "admin"})).await;
    let wider = json!({"name": "wider", "role": "operator"});
    let wider = host
        .post("/keys", wider)
        .key(admin["key"].as_str().unwrap());
    assert_eq!(wider.await.expect_error(403, "forbidden")["param"], "role");
}

#[tokio::test]
async fn bad_keys_are_refused() {
    let host = Host::start().await;
    for (body, code) in [
        (json!({"role": "user"}), "invalid_body"),
        (json!({"name": "a", "role": "king"}), "invalid_body"),
        (
            json!({"name": "a", "role": "user", "expires_at": "soon"}),
            "invalid_body",
        ),
        (json!({"name": " ", "role": "user"}), "invalid_parameter"),
        (
            json!({"name": "a".repeat(101), "role": "user"}),
            "invalid_parameter",
        ),
    ] {
        host.post("/keys", body).await.expect_error(400, code);
    }
    for time in ["soon", "2026-12-31"] {
        let body = json!({"name": "a", "role": "user", "expires_at": time});
        let refused = host.post("/keys", body).await;
        let error = refused.expect_error(400, "invalid_body");
        assert_eq!(error["param"], "expires_at");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("2026-12-31T00:00:00Z"), "{message}");
    }
    let past = json!({"name": "old", "role": "user", "expires_at": "2020-01-01T00:00:00Z"});
    let refused = host.post("/keys", past).await;
    let error = refused.expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "expires_at");
    for name in ["a\nb", "\u{1b}[2J", "\u{7}", "a\u{202e}b"] {
        let refused = host.post("/keys", json!({"name": name, "role": "user"}));
        let error = refused.await.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], "name");
    }
    host.delete("/keys/unknown")
        .await
        .expect_error(404, "key_not_found");
}
