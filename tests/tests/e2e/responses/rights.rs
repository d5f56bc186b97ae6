//! A Mind that changes while its model thinks: what the model calls then has the rights of now.

use mindhost_tests::{Gate, Host, ScriptedModel, Turn};
use serde_json::json;

use super::{running::id, shop, stream::status_once_ended, told};

/// A running answer, whose model reads the customers when the gate opens.
struct Thinking {
    host: Host,
    model: ScriptedModel,
    gate: Gate,
    response: String,
}

impl Thinking {
    async fn start() -> Self {
        let (host, _mind) = shop().await;
        let gate = Gate::default();
        let sql = "SELECT name FROM customers ORDER BY id";
        let read = Turn::empty()
            .and_wait(&gate)
            .and_call("run_sql", json!({"sql": sql}));
        let model = told(&host, [read, Turn::text("Here they are.")]).await;
        let body = json!({"model": "told", "input": "Who?", "background": true});
        let begun = host.post("/responses", body).await;
        let response = id(&begun.expect_status(200).json());
        model.wait_for_requests(1).await;
        Self {
            host,
            model,
            gate,
            response,
        }
    }

    /// Lets the model call its tool; gives the status at the end.
    async fn finish(&self) -> String {
        self.gate.open();
        status_once_ended(&self.host, &self.response).await
    }

    /// What the tool told the model.
    fn told(&self) -> String {
        let asked = self.model.asked();
        asked.last().unwrap().text_of("tool")
    }
}

#[tokio::test]
async fn policy_made_while_the_model_thinks_holds_for_its_statement() {
    let thinking = Thinking::start().await;
    let policy = json!({"datasource": "shop", "table": "customers", "filter": "country = 'FR'"});
    let policies = json!({"policies": [policy]});
    let set = thinking.host.put("/minds/told/policies", policies);
    set.await.expect_status(200);
    assert_eq!(thinking.finish().await, "completed");
    let told = thinking.told();
    assert!(told.contains("Bob") && !told.contains("Ann"), "{told}");
}

#[tokio::test]
async fn table_removed_while_the_model_thinks_is_not_read() {
    let thinking = Thinking::start().await;
    let other = json!({"datasources": [{"name": "shop", "tables": ["orders"]}]});
    let changed = thinking.host.put("/minds/told", other);
    changed.await.expect_status(200);
    assert_eq!(thinking.finish().await, "completed");
    let told = thinking.told();
    assert!(told.contains("error") && !told.contains("Ann"), "{told}");
}

#[tokio::test]
async fn datasource_added_while_the_model_thinks_is_for_the_next_question() {
    let thinking = Thinking::start().await;
    let host = &thinking.host;
    let sql = "CREATE TABLE secrets (word TEXT)";
    host.sqlite("vault", sql).await.load().await;
    let more = json!({"datasources": [{"name": "shop"}, {"name": "vault"}]});
    host.put("/minds/told", more).await.expect_status(200);
    assert_eq!(thinking.finish().await, "completed");
    let told = thinking.told();
    assert!(told.contains("Ann"), "{told}");

    let search = Turn::call("search_catalog", json!({"query": ""}));
    thinking
        .model
        .play([search, Turn::text("There are secrets.")]);
    let again = json!({"model": "told", "input": "What else is there?"});
    host.post("/responses", again).await.expect_status(200);
    let told = thinking.told();
    assert!(told.contains("secrets"), "{told}");
}

#[tokio::test]
async fn answer_of_a_mind_deleted_while_the_model_thinks_fails_and_says_so() {
    let thinking = Thinking::start().await;
    let deleted = thinking.host.delete("/minds/told");
    deleted.await.expect_status(200);
    assert_eq!(thinking.finish().await, "failed");
    let path = format!("/responses/{}", thinking.response);
    let response = thinking.host.get(&path).await.json();
    assert_eq!(response["error"]["code"], "mind_deleted", "{response}");
    assert_eq!(thinking.model.left(), 1, "the model was asked again");
}
