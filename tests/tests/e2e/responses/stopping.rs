//! Work in a database ends when nobody waits for it any more: the client left, or the server ends.
//!
//! A table that is locked holds every statement up for as long as a test wants.

use std::time::Duration;

use mindhost_tests::{
    Host, Mind, Postgres, PostgresDatabase, Request, ScriptedModel, Turn, eventually,
    eventually_within,
};
use serde_json::json;
use tokio_postgres::Client;

const SLOW: &str = "SELECT a FROM held ORDER BY a";

/// What a statement counts.
async fn count_of(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap().get(0)
}

/// A Mind over one table, and a session that can lock it.
struct Held {
    host: Host,
    mind: Mind,
    database: PostgresDatabase,
    locker: Client,
}

impl Held {
    async fn on(host: Host) -> Self {
        let sql = "CREATE TABLE held (a INTEGER); INSERT INTO held VALUES (1), (2)";
        let database = Postgres::shared().database(sql).await;
        host.postgres("held", &database).await.load().await;
        let mind = host
            .mind("patient")
            .datasource("held")
            .direct_queries()
            .create()
            .await;
        let locker = database.client().await;
        Self {
            host,
            mind,
            database,
            locker,
        }
    }

    async fn lock(&self) {
        let lock = "BEGIN; LOCK TABLE held IN ACCESS EXCLUSIVE MODE";
        self.locker.batch_execute(lock).await.unwrap();
    }

    async fn unlock(&self) {
        self.locker.batch_execute("ROLLBACK").await.unwrap();
    }

    /// Waits until so many statements wait for the lock.
    async fn until_waiting(&self, count: i64) {
        let waiting = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let watcher = self.database.client().await;
        let seen = async || count_of(&watcher, waiting).await;
        eventually(seen, |seen| *seen == count).await;
    }

    /// Sends a request, goes away while its statement waits, and sees the statement end.
    async fn check_leaving(&self, request: Request) {
        self.lock().await;
        let client = tokio::spawn(request.attempt());
        self.until_waiting(1).await;
        client.abort();
        self.until_waiting(0).await;
        self.unlock().await;
        let rows = self.mind.rows(SLOW).await;
        assert_eq!(rows, [[json!(1)], [json!(2)]], "the datasource still works");
    }

    fn ask_sql(&self, stream: bool) -> Request {
        let tool = json!({"type": "sql_query", "query": SLOW});
        let body = json!({"model": self.mind.name, "tools": [tool], "stream": stream});
        self.host.post("/responses", body)
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_statement() {
    let held = Held::on(Host::start().await).await;
    held.check_leaving(held.ask_sql(false)).await;
    held.check_leaving(held.ask_sql(true)).await;
    let stored = held.mind.sql(SLOW).await.expect_status(200).json();
    let path = format!(
        "/conversations/{}/items/{}",
        stored["conversation"]["id"].as_str().unwrap(),
        stored["output"][0]["id"].as_str().unwrap()
    );
    held.check_leaving(held.host.get(&format!("{path}/result")))
        .await;
    held.check_leaving(held.host.get(&format!("{path}/export")))
        .await;
}

/// PostgreSQL forgets a request to cancel that comes while it still reads or plans the statement.
#[tokio::test]
async fn a_statement_that_has_hardly_begun_ends_too() {
    const ENDLESS: &str =
        "SELECT count(*) FROM held a, held b, held c, held d WHERE a.a + b.a < c.a + d.a";
    let held = Held::on(Host::start().await).await;
    let watcher = held.database.client().await;
    let more = "INSERT INTO held SELECT generate_series(3, 3000)";
    watcher.batch_execute(more).await.unwrap();
    let tool = json!({"type": "sql_query", "query": ENDLESS});
    let body = json!({"model": held.mind.name, "tools": [tool]});
    for wait in 0..20 {
        let client = tokio::spawn(held.host.post("/responses", body.clone()).attempt());
        // Not a wait for something, but the moments at which clients leave.
        tokio::time::sleep(Duration::from_millis(wait)).await;
        client.abort();
    }
    let running = "SELECT count(*) FROM pg_stat_activity
         WHERE usename = current_user AND state = 'active' AND pid <> pg_backend_pid()";
    // A statement that nobody stops runs for a minute, its time limit.
    eventually_within(
        Duration::from_secs(40),
        async || count_of(&watcher, running).await,
        |count| *count == 0,
    )
    .await;
}

#[tokio::test]
async fn a_client_of_mcp_that_leaves_ends_its_statement() {
    let held = Held::on(Host::start().await).await;
    let arguments = json!({"mind": held.mind.name, "sql": SLOW});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "run_sql", "arguments": arguments}});
    let request = held.host.request(reqwest::Method::POST, "/mcp");
    let request = request
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18");
    held.check_leaving(request.json(&call)).await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_statement_of_its_model() {
    let held = Held::on(Host::start().await).await;
    let model = ScriptedModel::start([Turn::call("run_sql", json!({"sql": SLOW}))]).await;
    held.host.scripted_provider("scripted", &model).await;
    let told = held.host.mind("told").datasource("held");
    let told = told.provider("scripted").create().await;
    let ask = json!({"model": told.name, "input": "What is in it?", "stream": true});
    held.check_leaving(held.host.post("/responses", ask)).await;
    assert_eq!(model.asked().len(), 1, "the model is not asked again");
}

#[tokio::test]
async fn the_end_of_the_server_waits_for_its_grace_and_then_ends_the_statement() {
    let host = Host::builder().env("MINDHOST_SERVER__SHUTDOWN_GRACE", "1s");
    let held = Held::on(host.start().await).await;
    held.lock().await;
    let client = tokio::spawn(held.ask_sql(false).attempt());
    held.until_waiting(1).await;
    assert!(held.host.shut_down().await, "{}", held.host.log());
    held.until_waiting(0).await;
    // It was told why, or its connection ended with the server.
    if let Ok(reply) = client.await.unwrap() {
        assert!(reply.status >= 400, "{}", reply.text());
    }
    assert!(held.host.log().contains("stopping what still runs"));
}

#[tokio::test]
async fn an_answer_under_way_may_finish_before_the_server_ends() {
    let held = Held::on(Host::start().await).await;
    held.lock().await;
    let client = tokio::spawn(held.ask_sql(false).attempt());
    held.until_waiting(1).await;
    let ending = tokio::spawn({
        let host = held.host.clone();
        async move { host.shut_down().await }
    });
    eventually(
        async || held.host.log(),
        |log| log.contains("no new connections"),
    )
    .await;
    held.unlock().await;
    let reply = client.await.unwrap().unwrap().expect_status(200);
    assert_eq!(reply.json()["output"][0]["data"], json!([[1], [2]]));
    assert!(ending.await.unwrap());
}

#[tokio::test]
async fn a_kill_during_a_statement_leaves_nothing_stuck() {
    let held = Held::on(Host::start().await).await;
    held.lock().await;
    let client = tokio::spawn(held.ask_sql(false).attempt());
    held.until_waiting(1).await;
    held.host.kill().await;
    assert!(client.await.unwrap().is_err());
    held.unlock().await;
    held.host.restart().await;
    assert_eq!(held.mind.rows(SLOW).await, [[json!(1)], [json!(2)]]);
}
