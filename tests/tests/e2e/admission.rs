//! Every operation of the OpenAPI document against everyone who may not use it.

use std::collections::{BTreeMap, BTreeSet};

use mindhost_tests::{Host, Reply, Request, Value, eventually, json};
use reqwest::Method;

use crate::openapi;

/// What is sent to one operation, and who is answered what.
pub struct Case {
    pub method: &'static str,
    pub path: &'static str,
    /// The least role.
    pub role: &'static str,
    /// The status for an admin of another workspace.
    pub stranger: u16,
    /// The status for an admin or operator whose key is limited to another Mind.
    limited: u16,
    /// A valid body, if it takes one.
    pub body: Value,
}

/// What needs no key.
const OPEN: [&str; 4] = [
    "GET /api/v1/openapi.json",
    "GET /docs",
    "GET /healthz",
    "GET /readyz",
];

/// What needs the code of a one-time link in the place of a key.
const EXCHANGE: &str = "POST /api/v1/console/sign-in";

/// Every operation that needs a key.
pub fn cases() -> Vec<Case> {
    let lines = include_str!("admission/operations.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(Case::read).collect()
}

/// The bodies that the table names.
fn body_named(name: &str) -> Value {
    match name {
        "-" => Value::Null,
        "note" => json!({"description": "x"}),
        "file" => {
            json!({"name": "more", "engine": "sqlite", "connection_data": {"path": "store_9.db"}})
        }
        "provider" => json!({"name": "more", "plugin": "model-offline"}),
        "mind" => json!({"name": "more", "datasources": ["store_9"]}),
        "knowledge" => json!({"kind": "instruction", "name": "more", "text": "x"}),
        "document" => json!({"instructions": []}),
        "feedback" => json!({"rating": "up"}),
        "suite" => json!({"suite": "questions: [{question: How many?, rows: [[1]]}]"}),
        "policies" => json!({"policies": []}),
        "preview" => json!({"datasource": "store_9", "table": "item"}),
        "parameters" => json!({"parameters": {}}),
        "key" => json!({"name": "more", "role": "user"}),
        "key_for" => json!({"name": "more", "role": "user", "minds": ["clerk_9"]}),
        "other_key" => json!({"key": "mh_of_somebody_else"}),
        "question" => json!({"model": "clerk_9", "input": "How many?"}),
        "chat" => {
            json!({"model": "clerk_9", "messages": [{"role": "user", "content": "How many?"}]})
        }
        "items" => json!({"items": [{"role": "user", "content": "x"}]}),
        "metadata" => json!({"metadata": {}}),
        "tables" => json!({"table_names": ["item"]}),
        "workspace" => json!({"name": "more"}),
        "tool" => {
            let call = json!({"name": "list_minds", "arguments": {}});
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        }
        _ => panic!("no body is named {name}"),
    }
}

impl Case {
    /// Reads a line of the table.
    fn read(line: &'static str) -> Self {
        let columns: Vec<_> = line.split_whitespace().collect();
        let [role, stranger, limited, body, method, path] = columns[..] else {
            panic!("not a line of the table: {line}");
        };
        Self {
            method,
            path,
            role,
            stranger: stranger.parse().unwrap(),
            limited: limited.parse().unwrap(),
            body: body_named(body),
        }
    }

    pub fn what(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A valid body for an operation, or null when it takes none.
pub fn body(operation: &openapi::Operation) -> Value {
    let case = cases()
        .into_iter()
        .find(|case| case.what() == operation.what());
    case.expect("each operation has a case").body
}

/// The role just below.
pub fn below(role: &str) -> Option<&'static str> {
    match role {
        "editor" => Some("user"),
        "admin" => Some("editor"),
        "operator" => Some("admin"),
        _ => None,
    }
}

/// A workspace with one of everything, and another one with nothing.
pub struct Setup {
    pub host: Host,
    response: String,
    conversation: String,
    message: String,
    key: String,
    /// A conversation that has no Mind yet.
    unbound: String,
}

impl Setup {
    async fn start() -> Self {
        Self::on(Host::start().await).await
    }

    pub async fn on(host: Host) -> Self {
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
        let note = json!({"metadata": {"note": "note_9"}});
        let unbound = host.post("/conversations", note).await.expect_status(200);
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
            unbound: id(&unbound.json()["id"]),
            host,
        }
    }

    pub async fn key(&self, body: Value) -> String {
        let made = self.host.post("/keys", body).await.expect_status(201);
        made.json()["key"].as_str().unwrap().to_owned()
    }

    /// The path with what there is in the workspace `default`.
    fn path(&self, template: &str) -> String {
        let (name, id) = match template.split('/').nth(3).unwrap_or_default() {
            "datasources" => ("store_9", ""),
            "providers" => ("vendor", ""),
            "workspaces" => ("elsewhere", ""),
            "plugins" => ("connector-sqlite", &*self.response),
            "responses" => ("", &*self.response),
            "conversations" => ("", &*self.conversation),
            "keys" => ("", &*self.key),
            _ => ("clerk_9", &*self.response),
        };
        template
            .replace("{name}", name)
            .replace("{id}", id)
            .replace("{item_id}", &self.message)
            .replace("{engine}", "sqlite")
            .replace("{file}", "orders.csv")
            .replace("{version}", "0.1.0")
            .replace("{table_name}", "item")
            .replace("{column_name}", "id")
    }

    /// A request of a case, without a body.
    pub fn request(&self, case: &Case) -> Request {
        let method = case.method.parse::<Method>().unwrap();
        let request = self.host.request(method, &self.path(case.path));
        request.header("accept", "application/json, text/event-stream")
    }

    async fn send(&self, case: &Case, key: Option<&str>) -> Reply {
        let request = self.request(case);
        let request = match &case.body {
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
            "note_9",
            &self.unbound,
            &self.conversation,
            &self.response,
            &self.key,
        ];
        names.iter().any(|name| text.contains(name))
    }
}

#[tokio::test]
async fn every_operation_of_the_document_has_a_case() {
    let host = Host::start().await;
    let mut open = BTreeSet::new();
    let mut closed = BTreeMap::new();
    let mut marked = BTreeSet::new();
    for operation in openapi::operations(&host).await {
        let what = operation.what();
        if operation.needs_all_minds {
            marked.insert(what.clone());
        }
        if let Some(role) = operation.role {
            closed.insert(what, role);
        } else {
            open.insert(what);
        }
    }
    let cases = cases();
    let covered: BTreeMap<_, _> = cases
        .iter()
        .map(|case| (case.what(), case.role.to_owned()))
        .collect();
    assert_eq!(
        closed, covered,
        "each operation needs a line in admission/operations.txt"
    );
    assert_eq!(cases.len(), covered.len(), "a line is there twice");
    // Others refuse a limited key for what it does not see, so it may use them on what it sees.
    for case in cases.iter().filter(|case| case.limited == 403) {
        assert!(marked.contains(&case.what()), "{}", case.what());
    }
    assert!(open.remove(EXCHANGE), "{open:?}");
    assert_eq!(open, OPEN.map(str::to_owned).into());
    for operation in OPEN {
        let path = operation.trim_start_matches("GET ");
        let reply = host.request(Method::GET, path).without_key().await;
        reply.expect_status(200);
    }
}

#[tokio::test]
async fn no_route_answers_without_a_valid_key() {
    let setup = Setup::start().await;
    let ends = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(6);
    let ended = json!({"name": "old", "role": "operator", "expires_at": ends});
    let ended = setup.key(ended).await;
    eventually(async || jiff::Timestamp::now(), |now| *now > ends).await;
    for case in cases() {
        for key in [None, Some("mh_wrong"), Some(""), Some(&*ended)] {
            let refused = setup.send(&case, key).await;
            refused.expect_error(401, "invalid_api_key");
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
    }
}

#[tokio::test]
async fn no_route_answers_a_role_that_is_too_small() {
    let setup = Setup::start().await;
    for case in cases() {
        let Some(role) = below(case.role) else {
            continue;
        };
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
        let reply = setup.send(&case, Some(stranger)).await;
        let what = format!("{}: {}", case.what(), reply.text());
        assert_eq!(reply.status, case.stranger, "{what}");
        if case.path == "/api/v1/audit" {
            // What the stranger tried is noted with the names that the stranger tried.
            let noted = reply.json()["data"].as_array().unwrap().clone();
            // The stranger's own key was made by an operator, which is noted in both workspaces.
            assert!(!noted.is_empty(), "{what}");
            for note in noted {
                let is_own = note["key_name"] == "stranger"
                    || note["resource"] == "/workspaces/elsewhere/keys";
                assert!(is_own, "{note}");
            }
        } else if reply.status < 400 {
            assert!(!setup.tells(&reply), "{what}");
        }
    }
}

#[tokio::test]
async fn nothing_of_other_minds_exists_for_a_key_that_is_limited() {
    let setup = Setup::start().await;
    // An operator too: the host is beyond its Minds, so no route is left out because a role is too small for it.
    for (role, minds) in [
        ("admin", json!(["other"])),
        ("operator", json!(["other"])),
        ("operator", json!([])),
    ] {
        let body = json!({"name": "limited", "role": role, "minds": minds});
        let key = setup.key(body).await;
        for case in cases() {
            let reply = setup.send(&case, Some(&key)).await;
            let what = format!("{role} of {minds}, {}: {}", case.what(), reply.text());
            assert_eq!(reply.status, case.limited, "{what}");
            assert!(reply.status >= 400 || !setup.tells(&reply), "{what}");
        }
    }
}
