//! Minds, and what is asked of them.

use serde_json::{Map, Value, json};

use crate::{EventStream, Host, Reply};

/// A Mind in the making.
#[derive(Debug)]
#[must_use = "a Mind is made by `create`"]
pub struct NewMind<'a> {
    host: &'a Host,
    name: String,
    datasources: Vec<Value>,
    parameters: Map<String, Value>,
    extra: Map<String, Value>,
}

/// A Mind of a running host.
#[derive(Clone, Debug)]
pub struct Mind {
    host: Host,
    /// Its name.
    pub name: String,
}

impl Host {
    /// A new Mind; add datasources and parameters, then `create`.
    pub fn mind(&self, name: &str) -> NewMind<'_> {
        NewMind {
            host: self,
            name: name.to_owned(),
            datasources: Vec::new(),
            parameters: Map::new(),
            extra: Map::new(),
        }
    }
}

impl NewMind<'_> {
    /// Gives it a datasource with all tables.
    pub fn datasource(mut self, name: &str) -> Self {
        self.datasources.push(json!(name));
        self
    }

    /// Gives it some tables of a datasource.
    pub fn tables(mut self, name: &str, tables: &[&str]) -> Self {
        self.datasources
            .push(json!({"name": name, "tables": tables}));
        self
    }

    /// Allows the `sql_query` tool.
    pub fn direct_queries(self) -> Self {
        self.parameter("allow_direct_queries", json!(true))
    }

    /// Sets any parameter.
    pub fn parameter(mut self, name: &str, value: Value) -> Self {
        self.parameters.insert(name.to_owned(), value);
        self
    }

    /// Uses this model provider in place of the default.
    pub fn provider(self, name: &str) -> Self {
        self.field("provider", json!(name))
    }

    /// Sets any field of the body.
    pub fn field(mut self, name: &str, value: Value) -> Self {
        self.extra.insert(name.to_owned(), value);
        self
    }

    /// The body as it stands, for tests that send it themselves.
    pub fn body(&self) -> Value {
        let mut body = json!({"name": self.name, "datasources": self.datasources, "parameters": self.parameters});
        for (name, value) in &self.extra {
            body[name] = value.clone();
        }
        body
    }

    /// Sends it and gives the reply, whatever it is.
    pub async fn attempt(self) -> Reply {
        self.host.post("/minds", self.body()).await
    }

    /// Makes it.
    pub async fn create(self) -> Mind {
        let mind = Mind {
            host: self.host.clone(),
            name: self.name.clone(),
        };
        self.attempt().await.expect_status(200);
        mind
    }
}

impl Mind {
    /// The host that it belongs to.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Runs a statement with the `sql_query` tool and gives the reply, whatever it is.
    pub async fn sql(&self, query: &str) -> Reply {
        let tool = json!({"type": "sql_query", "query": query});
        self.host
            .post("/responses", json!({"model": self.name, "tools": [tool]}))
            .await
    }

    /// Runs a statement and gives the `query_result` item.
    pub async fn query(&self, query: &str) -> Value {
        let response = self.sql(query).await.expect_status(200).json();
        let item = response["output"][0].clone();
        assert_eq!(item["type"], "query_result", "{response}");
        item
    }

    /// Runs a statement and gives its rows.
    pub async fn rows(&self, query: &str) -> Vec<Vec<Value>> {
        let item = self.query(query).await;
        serde_json::from_value(item["data"].clone())
            .unwrap_or_else(|error| panic!("{error}: {item}"))
    }

    /// Asks a question and gives the reply, whatever it is.
    pub async fn ask(&self, question: &str) -> Reply {
        self.host
            .post("/responses", json!({"model": self.name, "input": question}))
            .await
    }

    /// Asks a question and gives the text of the answer.
    pub async fn answer(&self, question: &str) -> String {
        let response = self.ask(question).await.expect_status(200).json();
        let text = response["output"][0]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {response}"))
            .to_owned()
    }

    /// Asks a question and gives the stream of the answer.
    pub async fn stream(&self, question: &str) -> EventStream {
        self.host
            .stream(
                "/responses",
                json!({"model": self.name, "input": question, "stream": true}),
            )
            .await
    }
}
