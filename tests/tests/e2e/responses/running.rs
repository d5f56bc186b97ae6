//! A response while it is in progress: read, cancelled, deleted, left.

use mindhost_tests::{
    EventStream, Gate, Host, Postgres, PostgresDatabase, ScriptedModel, Turn, eventually,
};
use serde_json::{Value, json};

use super::stream::status_once_ended;

/// A Mind over one table of PostgreSQL, which a test can lock so that a query waits.
pub struct Held {
    pub host: Host,
    pub database: PostgresDatabase,
}

impl Held {
    pub async fn start() -> Self {
        Self::on(Host::start().await).await
    }

    pub async fn on(host: Host) -> Self {
        let database = Postgres::shared()
            .database("CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)")
            .await;
        host.postgres("stock", &database).await.load().await;
        host.mind("sales")
            .datasource("stock")
            .direct_queries()
            .create()
            .await;
        Self { host, database }
    }

    /// Locks the table until what it gives is dropped.
    pub async fn lock(&self) -> tokio_postgres::Client {
        let client = self.database.client().await;
        client
            .batch_execute("BEGIN; LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
            .await
            .unwrap();
        client
    }

    /// A streamed query that has begun, and the id of its response.
    pub async fn query(&self, extra: Value) -> (EventStream, String) {
        let tool = json!({"type": "sql_query", "query": "SELECT id FROM item"});
        let mut body = json!({"model": "sales", "tools": [tool], "stream": true});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        let mut stream = self.host.stream("/responses", body).await;
        let begun = stream.until("response.in_progress").await;
        (stream, id(&begun[0].data["response"]))
    }

    /// Waits until so many statements wait for the lock, for at least so many milliseconds each.
    pub async fn wait_for_waiting(&self, count: i64, milliseconds: i32) {
        let client = Postgres::shared().admin(&self.database.name).await;
        let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
            AND clock_timestamp() - query_start > $1 * interval '1 millisecond'";
        let waiting = async || -> i64 {
            let least = f64::from(milliseconds);
            client.query_one(query, &[&least]).await.unwrap().get(0)
        };
        eventually(waiting, |seen| *seen == count).await;
    }
}

pub fn id(object: &Value) -> String {
    object["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_query_under_way_is_read_cancelled_and_kept_with_its_conversation() {
    let held = Held::start().await;
    let _lock = held.lock().await;
    let (_stream, id) = held.query(json!({"input": "For the record."})).await;
    held.wait_for_waiting(1, 0).await;
    let path = format!("/responses/{id}");
    let running = held.host.get(&path).await.expect_status(200).json();
    assert_eq!(running["status"], "in_progress");
    let cancelled = held.host.post(&format!("{path}/cancel"), json!({})).await;
    assert_eq!(cancelled.expect_status(200).json()["status"], "cancelled");
    held.wait_for_waiting(0, 0).await;
    let kept = held.host.get(&path).await.expect_status(200).json();
    assert_eq!(
        (&kept["status"], &kept["error"]["code"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    let items = format!(
        "/conversations/{}/items",
        kept["conversation"]["id"].as_str().unwrap()
    );
    let items = held.host.get(&items).await.expect_status(200).json();
    assert_eq!(items["data"][0]["content"][0]["text"], "For the record.");
    assert_eq!(items["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_query_that_failed_is_kept() {
    let (host, mind) = super::shop().await;
    let tool = json!({"type": "sql_query", "query": "SELECT nothing_like_it FROM customers"});
    let body = json!({"model": mind.name, "tools": [tool], "stream": true});
    let events = host.stream("/responses", body).await.all().await;
    let kept = host
        .get(&format!("/responses/{}", id(&events[0].data["response"])))
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&kept["status"], &kept["error"]["code"]),
        (&json!("failed"), &json!("sql_invalid"))
    );
    let conversation = format!(
        "/conversations/{}",
        kept["conversation"]["id"].as_str().unwrap()
    );
    host.get(&conversation).await.expect_status(200);
}

#[tokio::test]
async fn a_response_under_way_is_deleted() {
    let held = Held::start().await;
    let _lock = held.lock().await;
    let (_stream, id) = held.query(json!({})).await;
    held.wait_for_waiting(1, 0).await;
    let path = format!("/responses/{id}");
    held.host.delete(&path).await.expect_status(200);
    held.wait_for_waiting(0, 0).await;
    held.host
        .get(&path)
        .await
        .expect_error(404, "response_not_found");
}

#[tokio::test]
async fn an_answer_in_words_is_in_progress_while_it_is_made() {
    let (host, _mind) = super::shop().await;
    let gate = Gate::default();
    let model =
        ScriptedModel::start([Turn::text("There are ").and_wait(&gate).and_text("3.")]).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host
        .mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let mut stream = mind.stream("How many?").await;
    let begun = stream.until("response.output_text.delta").await;
    let path = format!("/responses/{}", id(&begun[0].data["response"]));
    let running = host.get(&path).await.expect_status(200).json();
    assert_eq!(
        (&running["status"], &running["completed_at"]),
        (&json!("in_progress"), &Value::Null)
    );
    gate.open();
    stream.until("response.completed").await;
    assert_eq!(host.get(&path).await.json()["status"], "completed");
}

#[tokio::test]
async fn the_time_for_answers_does_not_bound_a_query() {
    let host = Host::builder().env("MINDHOST_ANSWERING__WALL_CLOCK", "100ms");
    let held = Held::on(host.start().await).await;
    let lock = held.lock().await;
    let (stream, _id) = held.query(json!({})).await;
    held.wait_for_waiting(1, 500).await;
    drop(lock);
    let events = stream.all().await;
    assert_eq!(events[events.len() - 1].name, "response.completed");
}

#[tokio::test]
async fn a_conversation_is_deleted_under_an_answer() {
    let held = Held::start().await;
    let conversation = held.host.post("/conversations", json!({})).await.json();
    let conversation = id(&conversation);
    let _lock = held.lock().await;
    let (stream, response) = held.query(json!({"conversation": conversation})).await;
    held.wait_for_waiting(1, 0).await;
    held.host
        .delete(&format!("/conversations/{conversation}"))
        .await
        .expect_status(200);
    assert_eq!(stream.all().await.last().unwrap().name, "response.failed");
    let kept = held.host.get(&format!("/responses/{response}")).await;
    let kept = kept.expect_status(200).json();
    assert_eq!(
        (&kept["status"], &kept["conversation"]),
        (&json!("cancelled"), &Value::Null)
    );
}

#[tokio::test]
async fn two_minds_that_answer_first_do_not_share_a_conversation() {
    let held = Held::start().await;
    let other = held.host.mind("other").datasource("stock").direct_queries();
    other.create().await;
    let conversation = held.host.post("/conversations", json!({})).await.json();
    let conversation = id(&conversation);
    let lock = held.lock().await;
    let (stream, response) = held.query(json!({"conversation": conversation})).await;
    held.wait_for_waiting(1, 0).await;
    let tool = json!({"type": "sql_query", "query": "SELECT 1"});
    let body = json!({"model": "other", "tools": [tool], "conversation": conversation});
    held.host.post("/responses", body).await.expect_status(200);
    drop(lock);
    let events = stream.all().await;
    assert_eq!(
        events[events.len() - 2].data["code"],
        "conversation_of_another_mind"
    );
    assert_eq!(status_once_ended(&held.host, &response).await, "failed");
    let conversation = held
        .host
        .get(&format!("/conversations/{conversation}"))
        .await;
    assert_eq!(conversation.json()["model"], "other");
}

#[tokio::test]
async fn a_client_that_leaves_at_any_moment_leaves_nothing_in_progress() {
    let (host, _mind) = super::shop().await;
    let model = ScriptedModel::start((0..20).map(|_| Turn::text("There are ").and_hang())).await;
    host.scripted_provider("scripted", &model).await;
    host.mind("told")
        .datasource("shop")
        .provider("scripted")
        .create()
        .await;
    let conversation = id(&host.post("/conversations", json!({})).await.json());
    let body = json!({"model": "told", "input": "How many?", "conversation": conversation});
    for milliseconds in 0..20 {
        let request = host.post("/responses", body.clone()).open();
        let patience = std::time::Duration::from_millis(milliseconds);
        let _ = tokio::time::timeout(patience, request).await;
    }
    // An answer in progress would be cancelled by this, and a row without an answer would stay.
    host.delete(&format!("/conversations/{conversation}"))
        .await
        .expect_status(200);
    let store = rusqlite::Connection::open(host.data_dir().join("mindhost.db")).unwrap();
    let open = "SELECT count(*) FROM responses WHERE completed_at IS NULL";
    let open = async || {
        store
            .query_row(open, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    eventually(open, |count| *count == 0).await;
}
