//! Keys that end while they are used.

use std::time::Duration;

use mindhost_tests::{Host, Value, eventually, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, interval, sleep_until, timeout},
};

use super::{create, text};
use crate::{metrics, stores};

/// A request whose body comes in pieces.
struct Slow {
    connection: TcpStream,
    rest: String,
    begun: Instant,
}

/// The server looks a key up again when a body took longer than 100 ms.
const SLOW: Duration = Duration::from_millis(150);

impl Slow {
    /// Sends the headers and three bytes, and waits until the server has them.
    async fn begin(host: &Host, path: &str, key: &str, body: &Value) -> Self {
        let address = host.url();
        let address = address.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).await.unwrap();
        let body = body.to_string();
        let (first, rest) = body.split_at(3);
        let request = format!(
            "POST /api/v1{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{first}",
            body.len()
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        // It has passed the check of its key and waits for its body, or was answered without it.
        let has_begun = async || {
            let answer = timeout(Duration::ZERO, connection.peek(&mut [0])).await;
            answer.is_ok() || metrics::under_way(host).await > 1
        };
        eventually(has_begun, |begun| *begun).await;
        Self {
            connection,
            rest: rest.to_owned(),
            begun: Instant::now(),
        }
    }

    /// Sends some more of it.
    async fn go_on(&mut self, bytes: usize) {
        let rest = self.rest.split_off(bytes);
        let now = std::mem::replace(&mut self.rest, rest);
        self.connection.write_all(now.as_bytes()).await.unwrap();
    }

    /// Sends the rest, once the body counts as slow.
    async fn finish(mut self) -> (u16, String) {
        sleep_until(self.begun + SLOW).await;
        self.go_on(self.rest.len()).await;
        self.answer().await
    }

    async fn answer(mut self) -> (u16, String) {
        let mut answer = Vec::new();
        // A server that has said no need not wait for the rest, and the connection breaks then.
        let _ = self.connection.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.unwrap_or_default(), answer)
    }
}

#[tokio::test]
async fn a_key_that_ends_while_its_request_comes_in_does_nothing_more() {
    for host in stores::both().await {
        let other = create(&host, json!({"name": "other", "role": "admin"})).await;
        let rotate = format!("/keys/{}/rotate", other["id"].as_str().unwrap());
        let before = host.get("/keys").await.json().as_array().unwrap().len();
        for (path, body) in [
            ("/keys", json!({"name": "mine", "role": "admin"})),
            (&rotate, json!({"expires_at": null})),
            ("/minds", json!({"name": "mine", "datasources": []})),
            ("/responses", json!({"model": "mine", "input": "Hello"})),
        ] {
            for ends_by_rotation in [false, true] {
                let made = create(&host, json!({"name": "brief", "role": "admin"})).await;
                let key = made["key"].as_str().unwrap();
                let slow = Slow::begin(&host, path, key, &body).await;
                let own = format!("/keys/{}", made["id"].as_str().unwrap());
                match ends_by_rotation {
                    true => {
                        let own = format!("{own}/rotate");
                        host.post(&own, json!({})).await.expect_status(200);
                    }
                    false => {
                        host.delete(&own).await.expect_status(204);
                    }
                }
                let (status, answer) = slow.finish().await;
                assert_eq!(status, 401, "{path}: {answer}");
                assert!(answer.contains("invalid_api_key"), "{answer}");
                assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
            }
        }
        let after = host.get("/keys").await.json().as_array().unwrap().len();
        assert_eq!(after, before + 8);
        host.get("/minds/mine")
            .await
            .expect_error(404, "mind_not_found");
        host.get("/keys")
            .key(other["key"].as_str().unwrap())
            .await
            .expect_status(200);
    }
}

#[tokio::test]
async fn a_body_that_comes_slowly_is_taken_from_a_key_that_is_valid() {
    let host = Host::start().await;
    let body = json!({"name": "slow", "role": "user"});
    let slow = Slow::begin(&host, "/keys", host.key(), &body).await;
    assert_eq!(slow.finish().await.0, 201);
}

#[tokio::test]
async fn a_body_is_not_waited_for_without_end() {
    let set = |idle: &'static str, whole: &'static str| {
        Host::builder()
            .env("MINDHOST_SERVER__BODY_IDLE_TIMEOUT", idle)
            .env("MINDHOST_SERVER__BODY_TIMEOUT", whole)
            .start()
    };
    let body = json!({"name": "slow", "role": "user"});
    let host = set("1s", "1h").await;
    // The last needs no key.
    for path in ["/keys", "/plugins", "/minds", "/console/sign-in"] {
        let slow = Slow::begin(&host, path, host.key(), &body).await;
        let (status, answer) = slow.answer().await;
        let expected = if path == "/plugins" { 415 } else { 408 };
        assert_eq!(status, expected, "{path}: {answer}");
        assert_eq!(answer.contains("body_timeout"), expected == 408, "{answer}");
    }
    let host = set("30s", "2s").await;
    let mut slow = Slow::begin(&host, "/keys", host.key(), &body).await;
    // A byte now and then ends every pause, and not the time for all of it.
    let mut pace = interval(Duration::from_millis(500));
    while timeout(Duration::ZERO, slow.connection.peek(&mut [0]))
        .await
        .is_err()
    {
        pace.tick().await;
        slow.go_on(1).await;
    }
    let (status, answer) = slow.answer().await;
    assert_eq!(status, 408, "{answer}");
    assert!(answer.contains("server.body_timeout"), "{answer}");
}

/// A load goes on without the client that began it. Its place among the requests of the key is free at once.
#[tokio::test]
async fn client_that_leaves_is_not_waited_for() {
    let host = Host::start().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let data = json!({"host": "127.0.0.1", "port": silent.local_addr().unwrap().port(), "user": "u", "password": "p",
                      "database": "d", "sslmode": "disable"});
    let new = json!({"name": "silent", "engine": "postgres", "connection_data": data});
    let made = host.post("/datasources?check_connection=false", new).await;
    made.expect_status(201);
    let path = "/datasources/silent/catalog/refresh?wait=600";
    let mut waiting = Slow::begin(&host, path, host.key(), &json!({"mode": "all"})).await;
    waiting.go_on(waiting.rest.len()).await;
    let (_connection, _) = silent.accept().await.unwrap();
    assert_eq!(metrics::under_way(&host).await, 2);
    drop(waiting);
    eventually(
        async || metrics::under_way(&host).await,
        |requests| *requests == 1,
    )
    .await;
    let shown = host.get("/datasources/silent/catalog").await.json();
    assert_eq!(shown["status"]["active_flow_runs"], 1, "{shown}");
    let cancel = host.post("/datasources/silent/catalog/cancel?wait=60", json!({}));
    cancel.await.expect_status(200);
}

#[tokio::test]
async fn a_key_that_another_host_revoked_makes_none_and_a_workspace_that_it_deleted_is_no_fault() {
    let [_, first] = stores::both().await;
    let second = first.beside().await;
    let new = json!({"name": "new", "role": "admin"});
    for _ in 0..3 {
        let made = create(&first, json!({"name": "shared", "role": "operator"})).await;
        let key = made["key"].as_str().unwrap();
        second.get("/minds").key(key).await.expect_status(200);
        let own = format!("/keys/{}", made["id"].as_str().unwrap());
        first.delete(&own).await.expect_status(204);
        for request in [
            second.post("/keys", new.clone()),
            second.post("/workspaces", json!({"name": "theirs"})),
            second.post("/workspaces/default/keys", new.clone()),
            second.post(&format!("{own}/rotate"), json!({})),
            second.delete(&own),
            second.post("/plugins/model-offline/rollback", json!({})),
        ] {
            request.key(key).await.expect_error(401, "invalid_api_key");
        }
    }
    for (path, body, status) in [
        ("/keys", new.clone(), 401),
        ("/conversations", json!({}), 401),
        // Its provider went first.
        ("/minds", json!({"name": "m", "datasources": []}), 422),
    ] {
        first
            .post("/workspaces", json!({"name": "brief"}))
            .await
            .expect_status(201);
        let made = first.post("/workspaces/brief/keys", new.clone()).await;
        let made = made.expect_status(201).json();
        let key = made["key"].as_str().unwrap();
        second.get("/minds").key(key).await.expect_status(200);
        first.delete("/workspaces/brief").await.expect_status(204);
        let answer = second.post(path, body).key(key).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    // Anything else it does, it does until this host hears of it, which takes about a second.
    let key = create(&first, json!({"name": "reader", "role": "user"})).await;
    let (id, key) = (key["id"].as_str().unwrap(), key["key"].as_str().unwrap());
    second.get("/minds").key(key).await.expect_status(200);
    first
        .delete(&format!("/keys/{id}"))
        .await
        .expect_status(204);
    let answer = async || second.get("/minds").key(key).await.status;
    eventually(answer, |status| *status == 401).await;
}

#[tokio::test]
async fn two_admins_that_revoke_each_other_leave_one() {
    let [sqlite, postgres] = stores::both().await;
    let beside = postgres.beside().await;
    for (one, two) in [(&sqlite, &sqlite), (&postgres, &beside)] {
        let mut succeeded = 0;
        for round in 0..6 {
            let name = format!("team{round}");
            one.post("/workspaces", json!({"name": name}))
                .await
                .expect_status(201);
            let make = async || {
                let path = format!("/workspaces/{name}/keys");
                let made = one.post(&path, json!({"name": "a", "role": "admin"})).await;
                let made = made.expect_status(201).json();
                let path = format!("/keys/{}", made["id"].as_str().unwrap());
                (path, made["key"].as_str().unwrap().to_owned())
            };
            let (a, b) = (make().await, make().await);
            // Every other time one takes an end instead.
            let on_b = match round % 2 {
                0 => one.delete(&b.0).key(&a.1),
                _ => {
                    let soon = json!({"expires_at": jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1)});
                    one.post(&format!("{}/rotate", b.0), soon).key(&a.1)
                }
            };
            let on_a = two.delete(&a.0).key(&b.1);
            let (on_b, on_a) = tokio::join!(on_b, on_a);
            let done = |status: u16| status < 300;
            succeeded += u32::from(done(on_a.status)) + u32::from(done(on_b.status));
            assert!(
                !(done(on_a.status) && done(on_b.status)),
                "{on_a:?} {on_b:?}"
            );
            for refused in [on_a.status, on_b.status]
                .into_iter()
                .filter(|it| !done(*it))
            {
                assert!([401, 409].contains(&refused), "{refused}");
            }
        }
        assert!(succeeded > 0, "each of them was refused every time");
    }
}

#[tokio::test]
async fn a_limited_key_names_each_mind_once() {
    let host = Host::start().await;
    host.mind("one").create().await;
    let body = json!({"name": "often", "role": "user", "minds": ["one", "one", "one"]});
    let made = create(&host, body).await;
    assert_eq!(made["minds"], json!(["one"]));
    let listed = host.get("/keys").await.json();
    let listed = listed.as_array().unwrap().iter();
    let minds: Vec<_> = listed.filter(|key| key["id"] == made["id"]).collect();
    assert_eq!(minds[0]["minds"], json!(["one"]));
    let many: Vec<_> = (0..257).map(|number| format!("m{number}")).collect();
    let refused = host.post("/keys", json!({"name": "a", "role": "user", "minds": many}));
    let error = refused.await.expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "minds");
    let _ = text(&host, json!({"name": "none", "role": "user", "minds": []})).await;
}
