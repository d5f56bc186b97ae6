//! Every route against everyone who may not use it. A route that has no line here fails the test.

use std::collections::BTreeSet;

use mindhost_tests::{Host, Reply, Value, json};
use reqwest::Method;

/// What a key is answered that is limited to another Mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limited {
    /// 404: it does not exist for the key.
    Hidden,
    /// 403: it reaches beyond the key's Minds.
    Refused,
    /// An answer that tells nothing of other Minds.
    Answered,
}

use Limited::{Answered, Hidden, Refused};

/// Method, path, least role, what a key is answered that is limited to another Mind, a valid body.
type Case = (&'static str, &'static str, &'static str, Limited, Value);

fn cases() -> Vec<Case> {
    let none = || Value::Null;
    let note = || json!({"description": "x"});
    let file =
        json!({"name": "more", "engine": "sqlite", "connection_data": {"path": "store_9.db"}});
    let provider = json!({"name": "more", "plugin": "model-offline"});
    let mind = json!({"name": "more", "datasources": []});
    let key = || json!({"name": "more", "role": "user"});
    let table = "/datasources/{name}/catalog/tables/{table_name}";
    let column = "/datasources/{name}/catalog/tables/{table_name}/columns/{column_name}";
    vec![
        ("GET", "/engines", "user", Answered, none()),
        ("GET", "/engines/{engine}", "user", Answered, none()),
        ("GET", "/datasources", "user", Answered, none()),
        ("POST", "/datasources", "editor", Refused, file),
        ("GET", "/datasources/{name}", "user", Hidden, none()),
        ("PUT", "/datasources/{name}", "editor", Hidden, note()),
        ("PATCH", "/datasources/{name}", "editor", Hidden, note()),
        ("DELETE", "/datasources/{name}", "editor", Hidden, none()),
        ("GET", "/datasources/{name}/catalog", "user", Hidden, none()),
        (
            "DELETE",
            "/datasources/{name}/catalog",
            "editor",
            Hidden,
            none(),
        ),
        (
            "POST",
            "/datasources/{name}/catalog/refresh",
            "editor",
            Hidden,
            none(),
        ),
        (
            "POST",
            "/datasources/{name}/catalog/tables",
            "editor",
            Hidden,
            json!({"table_names": ["item"]}),
        ),
        (
            "POST",
            "/datasources/{name}/catalog/cancel",
            "editor",
            Hidden,
            none(),
        ),
        ("PATCH", table, "editor", Hidden, note()),
        ("DELETE", table, "editor", Hidden, none()),
        ("PATCH", column, "editor", Hidden, note()),
        ("GET", "/providers", "user", Answered, none()),
        ("POST", "/providers", "admin", Refused, provider),
        ("GET", "/providers/{name}", "user", Answered, none()),
        ("PUT", "/providers/{name}", "admin", Refused, note()),
        ("PATCH", "/providers/{name}", "admin", Refused, note()),
        ("DELETE", "/providers/{name}", "admin", Refused, none()),
        ("GET", "/minds", "user", Answered, none()),
        ("POST", "/minds", "editor", Refused, mind),
        ("GET", "/minds/{name}", "user", Hidden, none()),
        (
            "PUT",
            "/minds/{name}",
            "editor",
            Hidden,
            json!({"parameters": {}}),
        ),
        ("DELETE", "/minds/{name}", "editor", Hidden, none()),
        ("GET", "/models", "user", Answered, none()),
        ("GET", "/models/{name}", "user", Hidden, none()),
        (
            "POST",
            "/responses",
            "user",
            Hidden,
            json!({"model": "clerk_9", "input": "How many?"}),
        ),
        ("GET", "/responses/{id}", "user", Hidden, none()),
        ("DELETE", "/responses/{id}", "user", Hidden, none()),
        ("POST", "/responses/{id}/cancel", "user", Hidden, none()),
        (
            "POST",
            "/chat/completions",
            "user",
            Hidden,
            json!({"model": "clerk_9", "messages": [{"role": "user", "content": "How many?"}]}),
        ),
        ("GET", "/conversations", "user", Answered, none()),
        ("POST", "/conversations", "user", Answered, none()),
        ("GET", "/conversations/{id}", "user", Hidden, none()),
        (
            "POST",
            "/conversations/{id}",
            "user",
            Hidden,
            json!({"metadata": {}}),
        ),
        ("DELETE", "/conversations/{id}", "user", Hidden, none()),
        ("GET", "/conversations/{id}/items", "user", Hidden, none()),
        (
            "POST",
            "/conversations/{id}/items",
            "user",
            Hidden,
            json!({"items": [{"role": "user", "content": "x"}]}),
        ),
        (
            "DELETE",
            "/conversations/{id}/items/{item_id}",
            "user",
            Hidden,
            none(),
        ),
        (
            "GET",
            "/conversations/{id}/items/{item_id}",
            "user",
            Hidden,
            none(),
        ),
        (
            "GET",
            "/conversations/{id}/items/{item_id}/result",
            "user",
            Hidden,
            none(),
        ),
        (
            "GET",
            "/conversations/{id}/items/{item_id}/export",
            "user",
            Hidden,
            none(),
        ),
        ("GET", "/keys", "admin", Answered, none()),
        ("POST", "/keys", "admin", Refused, key()),
        ("DELETE", "/keys/{id}", "admin", Hidden, none()),
        ("POST", "/keys/{id}/rotate", "admin", Hidden, none()),
        ("GET", "/audit", "admin", Refused, none()),
        ("GET", "/usage", "user", Answered, none()),
        ("GET", "/workspaces", "operator", Refused, none()),
        (
            "POST",
            "/workspaces",
            "operator",
            Refused,
            json!({"name": "more"}),
        ),
        ("GET", "/workspaces/{name}", "operator", Refused, none()),
        ("DELETE", "/workspaces/{name}", "operator", Refused, none()),
        (
            "POST",
            "/workspaces/{name}/keys",
            "operator",
            Refused,
            key(),
        ),
    ]
}

/// The role just below.
fn below(role: &str) -> Option<&'static str> {
    match role {
        "editor" => Some("user"),
        "admin" => Some("editor"),
        "operator" => Some("admin"),
        _ => None,
    }
}

/// A workspace with one of everything, and another one with nothing.
struct Setup {
    host: Host,
    response: String,
    conversation: String,
    message: String,
    key: String,
}

impl Setup {
    async fn start() -> Self {
        let host = Host::start().await;
        let sql = "CREATE TABLE item (id INTEGER PRIMARY KEY)";
        host.sqlite("store_9", sql).await.load().await;
        let provider = json!({"name": "vendor", "plugin": "model-offline"});
        host.post("/providers", provider).await.expect_status(201);
        host.mind("other").create().await;
        let clerk_9 = host.mind("clerk_9").datasource("store_9").direct_queries();
        let clerk_9 = clerk_9.create().await;
        let asked = clerk_9
            .sql("SELECT id FROM item")
            .await
            .expect_status(200)
            .json();
        let id = |value: &Value| value.as_str().unwrap().to_owned();
        let key = json!({"name": "wide", "role": "user"});
        let key = host.post("/keys", key).await.expect_status(201).json();
        host.post("/workspaces", json!({"name": "elsewhere"}))
            .await
            .expect_status(201);
        Self {
            response: id(&asked["id"]),
            conversation: id(&asked["conversation"]["id"]),
            message: id(&asked["output"][0]["id"]),
            key: id(&key["id"]),
            host,
        }
    }

    async fn key(&self, body: Value) -> String {
        let made = self.host.post("/keys", body).await.expect_status(201);
        made.json()["key"].as_str().unwrap().to_owned()
    }

    /// The path with what there is in the workspace `default`.
    fn path(&self, template: &str) -> String {
        let (name, id) = match template.split('/').nth(1).unwrap_or_default() {
            "datasources" => ("store_9", ""),
            "providers" => ("vendor", ""),
            "workspaces" => ("elsewhere", ""),
            "responses" => ("", &*self.response),
            "conversations" => ("", &*self.conversation),
            "keys" => ("", &*self.key),
            _ => ("clerk_9", ""),
        };
        template
            .replace("{name}", name)
            .replace("{id}", id)
            .replace("{item_id}", &self.message)
            .replace("{engine}", "sqlite")
            .replace("{table_name}", "item")
            .replace("{column_name}", "id")
    }

    async fn send(&self, case: &Case, key: Option<&str>) -> Reply {
        let (method, path, _, _, body) = case;
        let method = method.parse::<Method>().unwrap();
        let request = self.host.api(method, &self.path(path));
        let request = match body {
            Value::Null => request,
            body => request.json(body),
        };
        match key {
            Some(key) => request.key(key).await,
            None => request.without_key().await,
        }
    }

    /// Whether an answer tells of anything that is in the workspace.
    fn tells(&self, reply: &Reply) -> bool {
        let text = reply.text();
        let names = [
            "store_9",
            "clerk_9",
            &self.conversation,
            &self.response,
            &self.key,
        ];
        names.iter().any(|name| text.contains(name))
    }
}

#[tokio::test]
async fn every_route_has_a_case() {
    let host = Host::start().await;
    let mut routes = BTreeSet::new();
    for path in mindhost::api::paths() {
        // A method that no route has: the answer lists those that it has.
        let reply = host.api(Method::TRACE, path).await;
        for method in reply.expect_status(405).header("allow").split(',') {
            routes.insert(format!("{} {path}", method.trim()));
        }
    }
    routes.retain(|route| !route.starts_with("HEAD "));
    let cases = cases();
    let covered: BTreeSet<_> = cases
        .iter()
        .map(|case| format!("{} {}", case.0, case.1))
        .collect();
    assert_eq!(routes, covered, "each route needs a line in this file");
    assert_eq!(cases.len(), covered.len(), "a line is there twice");
}

#[tokio::test]
async fn no_route_answers_without_a_valid_key() {
    let setup = Setup::start().await;
    let ended = json!({"name": "old", "role": "operator", "expires_at": "2020-01-01T00:00:00Z"});
    let ended = setup.key(ended).await;
    for case in cases() {
        for key in [None, Some("mh_wrong"), Some("")] {
            let refused = setup.send(&case, key).await;
            refused.expect_error(401, "invalid_api_key");
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
        let refused = setup.send(&case, Some(&ended)).await;
        refused.expect_error(401, "invalid_api_key");
    }
}

#[tokio::test]
async fn no_route_answers_a_role_that_is_too_small() {
    let setup = Setup::start().await;
    for case in cases() {
        let Some(role) = below(case.2) else { continue };
        let key = setup.key(json!({"name": role, "role": role})).await;
        let refused = setup.send(&case, Some(&key)).await;
        refused.expect_error(403, "forbidden");
    }
}

#[tokio::test]
async fn nothing_of_another_workspace_exists() {
    let setup = Setup::start().await;
    let body = json!({"name": "stranger", "role": "admin"});
    let made = setup.host.post("/workspaces/elsewhere/keys", body).await;
    let made = made.expect_status(201).json();
    let stranger = made["key"].as_str().unwrap();
    for case in cases() {
        let (method, path, role, ..) = &case;
        let reply = setup.send(&case, Some(stranger)).await;
        if *role == "operator" {
            reply.expect_error(403, "forbidden");
        } else if ["/responses", "/chat/completions"].contains(path)
            || path.contains('{') && !path.starts_with("/engines")
        {
            assert_eq!(reply.status, 404, "{method} {path}: {}", reply.text());
        } else if *method == "GET" {
            assert_eq!(reply.status, 200, "{method} {path}: {}", reply.text());
            if *path == "/audit" {
                // What the stranger tried is noted with the names that the stranger tried.
                let noted = reply.json()["data"].as_array().unwrap().clone();
                assert!(noted.iter().all(|note| note["key_name"] == "stranger"));
                continue;
            }
            assert!(!setup.tells(&reply), "{method} {path}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn nothing_of_other_minds_exists_for_a_key_that_is_limited() {
    let setup = Setup::start().await;
    let key = setup
        .key(json!({"name": "limited", "role": "admin", "minds": ["other"]}))
        .await;
    for case in cases() {
        let (method, path, _, limited, _) = &case;
        let reply = setup.send(&case, Some(&key)).await;
        let expected = match limited {
            Hidden => 404,
            Refused => 403,
            Answered => 200,
        };
        assert_eq!(reply.status, expected, "{method} {path}: {}", reply.text());
        assert!(
            *limited != Answered || !setup.tells(&reply),
            "{method} {path}: {}",
            reply.text()
        );
    }
}
