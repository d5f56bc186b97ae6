//! What a key leaves behind when it ends: answers in progress, and what belongs to it.

use jiff::{SignedDuration, Timestamp};
use mindhost_tests::{Gate, Host, ScriptedModel, Turn, Value, eventually, json};

use super::create;
use crate::stores;

/// Begins an answer on a host that waits for the gate; gives its path.
async fn begin(host: &Host, key: &str) -> String {
    let body = json!({"model": "told", "input": "How many?", "background": true});
    let begun = host.post("/responses", body).key(key).await;
    let begun = begun.expect_status(200).json();
    assert_eq!(begun["status"], "in_progress");
    format!("/responses/{}", begun["id"].as_str().unwrap())
}

/// A model that never says its last word, and a Mind that asks it.
async fn told(host: &Host, gate: &Gate, answers: usize) -> ScriptedModel {
    let turns = (0..answers).map(|_| Turn::text("There are ").and_wait(gate).and_text("three."));
    let model = ScriptedModel::start(turns.collect::<Vec<_>>()).await;
    host.scripted_provider("scripted", &model).await;
    host.mind("told").provider("scripted").create().await;
    model
}

async fn is_cancelled(host: &Host, path: &str) {
    let status = async || host.get(path).await.json()["status"].clone();
    eventually(status, |status| status != "in_progress").await;
    assert_eq!(status().await, "cancelled");
}

#[tokio::test]
async fn answers_under_way_end_with_their_key() {
    let [sqlite, postgres] = stores::both().await;
    let beside = postgres.beside().await;
    for (host, other) in [(&sqlite, &sqlite), (&postgres, &beside)] {
        let gate = Gate::default();
        let _model = told(host, &gate, 5).await;
        let lasting = create(host, json!({"name": "lasting", "role": "user"})).await;
        let lasting = begin(other, lasting["key"].as_str().unwrap()).await;
        let revoke = async |at: &Host| {
            let made = create(host, json!({"name": "revoked", "role": "user"})).await;
            let path = begin(at, made["key"].as_str().unwrap()).await;
            let key = format!("/keys/{}", made["id"].as_str().unwrap());
            host.delete(&key).await.expect_status(204);
            is_cancelled(host, &path).await;
        };
        revoke(host).await;
        revoke(other).await;
        let ends = Timestamp::now() + SignedDuration::from_secs(10);
        let made = json!({"name": "brief", "role": "user", "expires_at": ends});
        let made = create(host, made).await;
        let path = begin(other, made["key"].as_str().unwrap()).await;
        is_cancelled(host, &path).await;
        assert!(Timestamp::now() >= ends);
        // Nobody else's, not even when the host looks for such answers once more.
        revoke(other).await;
        assert_eq!(other.get(&lasting).await.json()["status"], "in_progress");
        gate.open();
        let status = async || host.get(&lasting).await.json()["status"].clone();
        eventually(status, |status| status == "completed").await;
    }
}

#[tokio::test]
async fn rotation_cancels_answers_of_the_old_text_and_none_of_the_new_one() {
    let [sqlite, postgres] = stores::both().await;
    let beside = postgres.beside().await;
    for (host, other) in [(&sqlite, &sqlite), (&postgres, &beside)] {
        let gate = Gate::default();
        let _model = told(host, &gate, 4).await;
        let made = create(host, json!({"name": "rotated", "role": "user"})).await;
        let old = made["key"].as_str().unwrap();
        let (here, there) = (begin(host, old).await, begin(other, old).await);
        let path = format!("/keys/{}/rotate", made["id"].as_str().unwrap());
        let rotated = host.post(&path, json!({})).await;
        let rotated = rotated.expect_status(200).json();
        let new = begin(other, rotated["key"].as_str().unwrap()).await;
        is_cancelled(host, &here).await;
        is_cancelled(host, &there).await;
        // The end of another key shows that the host has looked for such answers once more.
        let brief = create(host, json!({"name": "brief", "role": "user"})).await;
        let last = begin(other, brief["key"].as_str().unwrap()).await;
        let path = format!("/keys/{}", brief["id"].as_str().unwrap());
        host.delete(&path).await.expect_status(204);
        is_cancelled(host, &last).await;
        assert_eq!(other.get(&new).await.json()["status"], "in_progress");
        // Once for each answer, since a cancelled one may still wait.
        (0..4).for_each(|_| gate.open());
        let status = async || host.get(&new).await.json()["status"].clone();
        eventually(status, |status| status == "completed").await;
    }
}

#[tokio::test]
async fn what_belongs_to_a_key_that_has_ended_admins_may_remove() {
    for host in stores::both().await {
        host.mind("clerk").create().await;
        let made = create(&host, json!({"name": "gone", "role": "user"})).await;
        let key = made["key"].as_str().unwrap();
        let asked = json!({"model": "clerk", "input": "Hello"});
        let asked = host.post("/responses", asked).key(key).await;
        let asked = asked.expect_status(200).json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let response = format!("/responses/{}", text(&asked["id"]));
        let conversation = match &asked["conversation"] {
            Value::String(id) => id.clone(),
            object => text(&object["id"]),
        };
        let conversation = format!("/conversations/{conversation}");
        let item = format!("{conversation}/items/{}", text(&asked["output"][0]["id"]));
        let editor = create(&host, json!({"name": "editor", "role": "editor"})).await;
        let editor = editor["key"].as_str().unwrap();
        for path in [&response, &item, &conversation] {
            host.delete(path).await.expect_error(403, "forbidden");
        }
        let path = format!("/keys/{}", text(&made["id"]));
        host.delete(&path).await.expect_status(204);

        // It stays that key's: nobody goes on with it.
        let note = json!({"metadata": {"note": "mine"}});
        host.post(&conversation, note)
            .await
            .expect_error(403, "forbidden");
        let id = conversation.rsplit('/').next().unwrap();
        let more = json!({"model": "clerk", "input": "And?", "conversation": id});
        host.post("/responses", more)
            .await
            .expect_error(403, "forbidden");
        host.post(&format!("{response}/cancel"), json!({}))
            .await
            .expect_status(200);
        for path in [&item, &response, &conversation] {
            assert_eq!(host.delete(path).key(editor).await.status, 404, "{path}");
            host.delete(path).await.expect_status(200);
        }
        for path in [&response, &conversation] {
            assert_eq!(host.get(path).await.status, 404, "{path}");
        }
    }
}
