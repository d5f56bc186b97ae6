//! A user's key wants to fill the store, and the disk with it.

use std::time::Instant;

use mindhost_tests::{Builder, Host, ScriptedModel, Turn, Value, eventually, json};

use crate::{responses::SHOP, stores};

const MEGABYTE: usize = 1_000_000;

async fn user(host: &Host) -> String {
    key(host, "user").await
}

async fn key(host: &Host, role: &str) -> String {
    let made = host.post("/keys", json!({"name": role, "role": role}));
    let made = made.await.expect_status(201).json();
    made["key"].as_str().unwrap().to_owned()
}

fn conversation(bytes: usize) -> Value {
    json!({"items": [{"role": "user", "content": "x".repeat(bytes)}]})
}

async fn asking(host: &Host) {
    host.sqlite("shop", SHOP).await.load().await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    mind.create().await;
}

/// Text that comes with a statement is stored with it.
fn query(bytes: usize) -> Value {
    json!({
        "model": "clerk", "input": "x".repeat(bytes), "tools": [{"type": "sql_query", "query": "SELECT 1"}],
    })
}

/// Message after message, on every way into the store. It ends at the key's quota, and others notice nothing.
#[tokio::test]
async fn a_key_stores_no_more_than_it_may() {
    let settings = |host: Builder| host.env("MINDHOST_STORE__MAX_KEY_BYTES", "4000000");
    for host in stores::both_with(settings).await {
        asking(&host).await;
        let greedy = user(&host).await;
        let post = |path: &str, body: Value| host.post(path, body).key(&greedy);
        let mut made = Vec::new();
        for _ in 0..2 {
            let reply = post("/conversations", conversation(MEGABYTE)).await;
            made.push(reply.expect_status(200).json());
        }
        let asked = post("/responses", query(MEGABYTE)).await;
        let asked = asked.expect_status(200).json();
        let first = made[0]["id"].as_str().unwrap().to_owned();
        let items = format!("/conversations/{first}/items");
        for (path, body) in [
            ("/conversations", conversation(MEGABYTE)),
            ("/responses", query(MEGABYTE)),
            (&*items, conversation(MEGABYTE)),
        ] {
            let refused = post(path, body).await;
            let error = refused.expect_error(429, "quota_exceeded");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("store.max_key_bytes"), "{message}");
            assert_eq!(refused.header("x-should-retry"), "false");
        }
        // What is not stored needs no room, and neither does what others store.
        let mut unstored = query(MEGABYTE);
        unstored["store"] = json!(false);
        post("/responses", unstored).await.expect_status(200);
        let other = host.post("/conversations", conversation(MEGABYTE));
        other.await.expect_status(200);
        // Deleting makes room: all of a conversation, one message, a response with its conversation.
        let delete = async |path: String| {
            let deleted = host.delete(&path).key(&greedy);
            deleted.await.expect_status(200);
        };
        delete(format!("/conversations/{first}")).await;
        post("/conversations", conversation(MEGABYTE))
            .await
            .expect_status(200);
        post("/conversations", conversation(MEGABYTE))
            .await
            .expect_error(429, "quota_exceeded");
        delete(format!("/responses/{}", asked["id"].as_str().unwrap())).await;
        let said = asked["conversation"]["id"].as_str().unwrap();
        delete(format!("/conversations/{said}")).await;
        post("/conversations", conversation(MEGABYTE))
            .await
            .expect_status(200);
    }
}

/// The same with one key after the other.
#[tokio::test]
async fn the_keys_of_a_workspace_store_no_more_than_they_may_together() {
    let settings = |host: Builder| host.env("MINDHOST_STORE__MAX_WORKSPACE_BYTES", "2500000");
    for host in stores::both_with(settings).await {
        let keys = [user(&host).await, user(&host).await, user(&host).await];
        let post = async |key: &str| {
            host.post("/conversations", conversation(MEGABYTE))
                .key(key)
                .await
        };
        post(&keys[0]).await.expect_status(200);
        post(&keys[1]).await.expect_status(200);
        let error = post(&keys[2]).await.expect_error(429, "quota_exceeded");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("store.max_workspace_bytes"), "{message}");
        host.post("/workspaces", json!({"name": "elsewhere"}))
            .await
            .expect_status(201);
        let key = json!({"name": "there", "role": "user"});
        let key = host.post("/workspaces/elsewhere/keys", key).await;
        let key = key.expect_status(201).json();
        post(key["key"].as_str().unwrap()).await.expect_status(200);
        host.delete("/workspaces/elsewhere")
            .await
            .expect_status(204);
    }
}

/// What was not continued is deleted where the operator says so, and makes room.
#[tokio::test]
async fn what_is_older_than_the_retention_goes() {
    let settings = |host: Builder| {
        host.env("MINDHOST_STORE__RETENTION", "2s")
            .env("MINDHOST_STORE__MAX_KEY_BYTES", "1500000")
    };
    for host in stores::both_with(settings).await {
        asking(&host).await;
        let asked = host.post("/responses", query(MEGABYTE)).await;
        let asked = asked.expect_status(200).json();
        let paths = [
            format!(
                "/conversations/{}",
                asked["conversation"]["id"].as_str().unwrap()
            ),
            format!("/responses/{}", asked["id"].as_str().unwrap()),
        ];
        for path in paths {
            let status = async || host.get(&path).await.status;
            eventually(status, |status| *status == 404).await;
        }
        host.post("/responses", query(MEGABYTE))
            .await
            .expect_status(200);
    }
}

/// The file of the store is as small after the attack as before.
#[tokio::test]
async fn what_is_deleted_leaves_the_disk() {
    let host = Host::start().await;
    let mut made = Vec::new();
    for _ in 0..20 {
        let reply = host.post("/conversations", conversation(MEGABYTE)).await;
        made.push(reply.expect_status(200).json());
    }
    for one in made {
        let path = format!("/conversations/{}", one["id"].as_str().unwrap());
        host.delete(&path).await.expect_status(200);
    }
    let size = async || {
        let files = ["mindhost.db", "mindhost.db-wal"];
        let sizes = files.map(|name| std::fs::metadata(host.data_dir().join(name)));
        sizes
            .into_iter()
            .flatten()
            .map(|file| file.len())
            .sum::<u64>()
    };
    eventually(size, |bytes| *bytes < 8_000_000).await;
}

/// Before the disk is full nothing new is taken; reading and deleting go on.
#[tokio::test]
async fn a_full_disk_is_told_and_not_met() {
    let host = Host::start().await;
    let there = host.post("/conversations", conversation(10)).await;
    let there = there.expect_status(200).json();
    let path = format!("/conversations/{}", there["id"].as_str().unwrap());
    host.restart_with("MINDHOST_STORE__MIN_FREE_BYTES", "1000000000000000000")
        .await;
    for (path, body) in [
        ("/conversations", conversation(10)),
        ("/keys", json!({"name": "one", "role": "user"})),
        ("/minds", json!({"name": "one", "datasources": []})),
    ] {
        let refused = host.post(path, body).await;
        let error = refused.expect_error(503, "storage_full");
        assert_eq!(error["blame"], "host");
        assert_eq!(refused.header("retry-after"), "60");
    }
    host.get(&path).await.expect_status(200);
    host.delete(&path).await.expect_status(200);
    host.get(&path).await.expect_status(404);
}

/// A reply is kept for each `Idempotency-Key`. What it was about is deleted at once, and the replies stay: they count too.
#[tokio::test]
async fn replies_that_are_kept_count_for_their_key() {
    let settings = |host: Builder| host.env("MINDHOST_STORE__MAX_KEY_BYTES", "100000");
    for host in stores::both_with(settings).await {
        let greedy = user(&host).await;
        let metadata = (0..16).map(|n| (format!("m{n}"), json!("x".repeat(500))));
        let body = json!({"metadata": metadata.collect::<serde_json::Map<_, _>>()});
        let named = |name: usize| {
            let request = host.post("/conversations", body.clone()).key(&greedy);
            request.header("idempotency-key", &format!("round-{name}"))
        };
        let mut rounds = 0;
        // Each keeps more than eight kilobytes.
        let refused = loop {
            let reply = named(rounds).await;
            if reply.status != 200 || rounds == 30 {
                break reply;
            }
            let made = reply.json();
            let path = format!("/conversations/{}", made["id"].as_str().unwrap());
            let deleted = host.delete(&path).key(&greedy);
            deleted.await.expect_status(200);
            rounds += 1;
        };
        let error = refused.expect_error(429, "quota_exceeded");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("Idempotency-Key"), "{message}");
        assert!((8..=12).contains(&rounds), "{rounds}");
        // What was kept is given again, and needs no room.
        let again = named(0).await.expect_status(200);
        assert_eq!(again.header("idempotency-replayed"), "true");
        host.post("/conversations", body.clone())
            .await
            .expect_status(200);
    }
}

/// Each question is a long one, which its report repeats.
#[tokio::test]
async fn reports_of_evaluations_count_for_their_key() {
    const PATH: &str = "/minds/clerk/evaluations";
    let settings = |host: Builder| host.env("MINDHOST_STORE__MAX_KEY_BYTES", "20000");
    for host in stores::both_with(settings).await {
        let answers = (0..40).map(|_| Turn::text("There is no such thing."));
        let model = ScriptedModel::start(answers).await;
        host.sqlite("shop", "CREATE TABLE item (id INTEGER)")
            .await
            .load()
            .await;
        host.scripted_provider("scripted", &model).await;
        let clerk = async || {
            let mind = host.mind("clerk").datasource("shop").provider("scripted");
            mind.create().await;
        };
        clerk().await;
        let key = key(&host, "editor").await;
        let question = format!("Which {} are there?", "items ".repeat(500));
        let suite = format!("questions: [{{question: '{question}', expect: declined}}]");
        let start = || host.post(PATH, json!({"suite": suite})).key(&key);
        let done = async |path: &str| {
            let one = async || host.get(path).await.expect_status(200).json();
            eventually(one, |one| one["status"] != "running").await
        };
        let mut paths = Vec::new();
        loop {
            let reply = start().await;
            if reply.status != 202 {
                reply.expect_error(429, "quota_exceeded");
                break;
            }
            let id = reply.json()["id"].as_str().unwrap().to_owned();
            let path = format!("{PATH}/{id}");
            let run = done(&path).await;
            paths.push(path);
            // Its answers are stored for a moment, and there may be no more room for them.
            if run["status"] == "failed" {
                assert!(run["error"].to_string().contains("max_key_bytes"), "{run}");
                break;
            }
        }
        assert!((3..=7).contains(&paths.len()), "{}", paths.len());
        // Deleting a run makes room, and so does deleting its Mind.
        for path in &paths[..2] {
            host.delete(path).await.expect_status(204);
        }
        let reply = start().await.expect_status(202).json();
        done(&format!("{PATH}/{}", reply["id"].as_str().unwrap())).await;
        host.delete("/minds/clerk").await.expect_status(200);
        clerk().await;
        for _ in 0..4 {
            let reply = start().await.expect_status(202).json();
            done(&format!("{PATH}/{}", reply["id"].as_str().unwrap())).await;
        }
    }
}

/// A user's key sends what is refused, over and over: no quota counts the notes of it, and they are kept for a quarter.
#[tokio::test]
async fn refused_requests_leave_a_bounded_number_of_notes() {
    const SENT: usize = 400;
    for host in stores::both().await {
        let made = host.post("/keys", json!({"name": "user", "role": "user"}));
        let made = made.await.expect_status(201).json();
        let key = made["key"].as_str().unwrap();
        let began = Instant::now();
        for _ in 0..SENT / 50 {
            let sent: Vec<_> = (0..50)
                .map(|_| tokio::spawn(host.delete("/minds/any").key(key).attempt()))
                .collect();
            for reply in sent {
                reply.await.unwrap().unwrap().expect_status(403);
            }
        }
        // The minute is not over; a host that ends writes what it has counted.
        assert!(host.shut_down().await);
        host.restart().await;
        let path = format!("/audit?limit=1000&key_id={}", made["id"].as_str().unwrap());
        let trail = host.get(&path).await.expect_status(200).json();
        let notes = trail["data"].as_array().unwrap();
        let (rest, single): (Vec<&Value>, Vec<&Value>) = notes
            .iter()
            .partition(|note| note["action"] == "further requests");
        let minutes = 1 + began.elapsed().as_secs() / 60;
        assert!(single.len() as u64 <= 300 * minutes, "{}", single.len());
        let counted = rest.iter().map(|note| {
            let text = note["resource"].as_str().unwrap();
            let (count, _) = text.split_once(' ').unwrap();
            count.parse::<usize>().unwrap()
        });
        assert_eq!(single.len() + counted.sum::<usize>(), SENT, "{rest:?}");
    }
}
