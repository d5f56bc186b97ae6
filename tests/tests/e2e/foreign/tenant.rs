//! A workspace with one of everything, and a mark in all of its data.

use mindhost_tests::{Host, Value, json};
use reqwest::Method;

/// A workspace.
pub struct Tenant {
    /// The text of its admin's key.
    pub admin: String,
    /// The text of a user's key.
    pub user: String,
    /// In everything that it stores but its names.
    pub marker: String,
    pub workspace: String,
    pub key_id: String,
    pub datasource: String,
    pub table: String,
    pub column: String,
    pub provider: String,
    pub mind: String,
    pub response: String,
    pub conversation: String,
    pub message: String,
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

impl Tenant {
    /// Makes the workspace and all that is in it.
    pub async fn populate(host: &Host, index: usize) -> Self {
        let marker = format!("quince{:x}", uuid::Uuid::new_v4().simple());
        let named = |kind: &str| format!("{kind}_{}{index}", &marker[6..14]);
        let workspace = host
            .post("/workspaces", json!({"name": named("team")}))
            .await;
        let workspace = workspace.expect_status(201).json();
        let keys = format!("/workspaces/{}/keys", text(&workspace["name"]));
        let key = async |role: &str| {
            let body = json!({"name": format!("{role} {marker}"), "role": role});
            host.post(&keys, body).await.expect_status(201).json()
        };
        let (admin, user) = (key("admin").await, key("user").await);
        let mut tenant = Self {
            admin: text(&admin["key"]),
            user: text(&user["key"]),
            workspace: text(&workspace["name"]),
            key_id: text(&user["id"]),
            datasource: named("shop"),
            table: named("item"),
            column: named("name"),
            provider: named("vendor"),
            mind: named("clerk"),
            response: String::new(),
            conversation: String::new(),
            message: String::new(),
            marker,
        };
        tenant.connect(host).await;
        tenant.ask(host).await;
        tenant
    }

    /// Everything by which it would be recognised.
    pub fn secrets(&self) -> Vec<String> {
        let all = [
            &self.marker,
            &self.workspace,
            &self.key_id,
            &self.datasource,
            &self.table,
            &self.column,
            &self.provider,
            &self.mind,
            &self.response,
            &self.conversation,
            &self.message,
        ];
        all.map(String::clone).into()
    }

    async fn send(&self, host: &Host, method: Method, path: &str, body: Value) -> Value {
        let reply = host.api(method, path).key(&self.admin).json(&body).await;
        assert!(reply.status < 300, "{path}: {}", reply.text());
        reply.json()
    }

    async fn connect(&self, host: &Host) {
        let Self {
            marker,
            datasource,
            table,
            column,
            ..
        } = self;
        let folder = host.data_dir().join("files").join(&self.workspace);
        std::fs::create_dir_all(&folder).unwrap();
        let database = rusqlite::Connection::open(folder.join(format!("{datasource}.db"))).unwrap();
        let sql = format!(
            "CREATE TABLE {table} (id INTEGER PRIMARY KEY, {column} TEXT DEFAULT '{marker}');
             INSERT INTO {table} VALUES (1, '{marker}')"
        );
        database.execute_batch(&sql).unwrap();
        let body = json!({
            "name": datasource, "engine": "sqlite", "description": marker,
            "connection_data": {"path": format!("{datasource}.db")},
        });
        self.send(host, Method::POST, "/datasources", body).await;
        let catalog = format!("/datasources/{datasource}/catalog");
        self.send(
            host,
            Method::POST,
            &format!("{catalog}/refresh?wait=60"),
            json!({}),
        )
        .await;
        let note = json!({"description": marker});
        self.send(
            host,
            Method::PATCH,
            &format!("{catalog}/tables/{table}"),
            note,
        )
        .await;
        let body = json!({"name": self.provider, "plugin": "model-offline", "description": marker});
        self.send(host, Method::POST, "/providers", body).await;
        let body = json!({
            "name": self.mind, "datasources": [datasource],
            "parameters": {"allow_direct_queries": true, "system_prompt": marker},
        });
        self.send(host, Method::POST, "/minds", body).await;
    }

    async fn ask(&mut self, host: &Host) {
        let marker = &self.marker;
        let sql = format!("SELECT id, '{marker}' AS mark FROM {}", self.table);
        let body = json!({
            "model": self.mind, "tools": [{"type": "sql_query", "query": sql}],
            "instructions": marker, "metadata": {"note": marker},
        });
        let asked = self.send(host, Method::POST, "/responses", body).await;
        let conversation = text(&asked["conversation"]["id"]);
        let body = json!({"items": [{"role": "user", "content": marker}]});
        self.send(
            host,
            Method::POST,
            &format!("/conversations/{conversation}/items"),
            body,
        )
        .await;
        let body = json!({"metadata": {"note": marker}});
        self.send(
            host,
            Method::POST,
            &format!("/conversations/{conversation}"),
            body,
        )
        .await;
        self.response = text(&asked["id"]);
        self.message = text(&asked["output"][0]["id"]);
        self.conversation = conversation;
    }
}

/// What each of them has, as its admin sees it.
pub async fn shown(host: &Host, tenants: &[Tenant]) -> Vec<Value> {
    let mut shown = Vec::new();
    for tenant in tenants {
        for path in [
            format!("/datasources/{}", tenant.datasource),
            format!("/datasources/{}/catalog", tenant.datasource),
            format!("/providers/{}", tenant.provider),
            format!("/minds/{}", tenant.mind),
            format!("/responses/{}", tenant.response),
            format!("/conversations/{}", tenant.conversation),
            format!("/conversations/{}/items", tenant.conversation),
            "/minds".to_owned(),
            "/conversations".to_owned(),
        ] {
            let reply = host.get(&path).key(&tenant.admin).await.expect_status(200);
            assert!(
                reply.text().contains(&tenant.marker)
                    || path.contains("provider")
                    || path.ends_with("minds"),
                "{path}"
            );
            shown.push(reply.json());
        }
        let keys = host
            .get("/keys")
            .key(&tenant.admin)
            .await
            .expect_status(200)
            .json();
        let keys = keys.as_array().unwrap().iter();
        shown.push(
            keys.map(|key| json!([key["id"], key["prefix"], key["revoked_at"]]))
                .collect(),
        );
    }
    shown
}
