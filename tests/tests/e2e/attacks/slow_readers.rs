//! Somebody asks for much and reads nothing of it.

use std::time::Duration;

use mindhost_tests::{Host, ScriptedModel, Turn, eventually, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use crate::{metrics::under_way, responses::SHOP};

/// Resident memory of the server, in KiB.
fn resident(host: &Host) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

/// The same when it does not grow any more.
async fn settled(host: &Host) -> u64 {
    let mut before = resident(host);
    let look = async || {
        sleep(Duration::from_millis(500)).await;
        let now = resident(host);
        (std::mem::replace(&mut before, now), now)
    };
    eventually(look, |(before, now)| *now <= before + 256)
        .await
        .1
}

/// What is not sent yet of all connections of this machine, in KiB of the system's memory.
fn of_sockets() -> u64 {
    let all = std::fs::read_to_string("/proc/net/sockstat").unwrap();
    let line = all.lines().find(|line| line.starts_with("TCP:")).unwrap();
    let pages = line.rsplit("mem ").next().unwrap().trim();
    4 * pages.parse::<u64>().unwrap()
}

/// A client that sends a request and reads nothing.
async fn silent(host: &Host, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = host.url().replace("http://", "").parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request = format!(
        "GET /api/v1{path} HTTP/1.1\r\nhost: mindhost\r\nauthorization: Bearer {}\r\n\r\n",
        host.key()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// How the reply to a client begins. It stays unread.
async fn begin_of_reply(client: &TcpStream) -> String {
    let mut begin = [0; 15];
    let look = async || client.peek(&mut begin).await.unwrap();
    eventually(look, |length| *length == 15).await;
    String::from_utf8(begin.to_vec()).unwrap()
}

/// Readers of a long answer that read nothing cost little more than its text each.
#[tokio::test]
async fn readers_of_an_answer_that_do_not_read_cost_a_bounded_amount() {
    const READERS: u64 = 300;
    let text = "x".repeat(6_000);
    let turn = (0..40).fold(Turn::empty(), |turn, _| turn.and_text(&text));
    let model = ScriptedModel::start([turn]).await;
    let host = Host::builder().env("MINDHOST_LIMITS__CONCURRENT_REQUESTS", "0");
    let host = host.start().await;
    host.sqlite("shop", SHOP).await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    mind.create().await;
    let body = json!({"model": "clerk", "input": "All of it?", "background": true});
    let begun = host
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let path = format!("/responses/{}", begun["id"].as_str().unwrap());
    let status = async || host.get(&path).await.json()["status"].clone();
    eventually(status, |status| status == "completed").await;

    let (before, sockets) = (settled(&host).await, of_sockets());
    let stream = format!("{path}?stream=true");
    let mut clients = Vec::new();
    for _ in 0..READERS {
        clients.push(silent(&host, &stream).await);
    }
    eventually(async || under_way(&host).await, |count| *count >= READERS).await;
    let each = (settled(&host).await.saturating_sub(before)) / READERS;
    let of_system = of_sockets().saturating_sub(sockets) / READERS;
    println!(
        "a silent reader costs {each} KiB of the server and about {of_system} KiB of the system"
    );
    assert!(each < 384, "{each} KiB each");
}

/// Large pages wait for their clients in memory: of one key no more than so much.
#[tokio::test]
async fn pages_that_nobody_reads_are_bounded_for_each_key() {
    let host = Host::builder().env("MINDHOST_LIMITS__UNREAD_BYTES_PER_KEY", "20000000");
    let host = host.start().await;
    let sql = "CREATE TABLE words (w TEXT);
        WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000)
        INSERT INTO words SELECT hex(zeroblob(4000)) FROM c;";
    host.sqlite("words", sql).await.load().await;
    let mind = host.mind("clerk").datasource("words").direct_queries();
    mind.create().await;
    let tool = json!({"type": "sql_query", "query": "SELECT w FROM words", "max_inline_rows": 1});
    let asked = host.post("/responses", json!({"model": "clerk", "tools": [tool]}));
    let response = asked.await.expect_status(200).json();
    let path = format!(
        "/conversations/{}/items/{}/result?limit=1000",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    );
    // Each page has eight megabytes. Both are being sent before a third is asked for, which else could take their place.
    let clients = [silent(&host, &path).await, silent(&host, &path).await];
    for client in &clients {
        assert_eq!(begin_of_reply(client).await, "HTTP/1.1 200 OK");
    }
    let refused = async || {
        let reply = host.get(&path).await;
        (reply.status, reply.text())
    };
    let (_, message) = eventually(refused, |(status, _)| *status == 429).await;
    assert!(message.contains("limits.unread_bytes_per_key"), "{message}");
    // Small answers go on, and others too.
    host.get("/minds").await.expect_status(200);
    let other = host.post("/keys", json!({"name": "other", "role": "admin"}));
    let other = other.await.expect_status(201).json();
    host.get(&path)
        .key(other["key"].as_str().unwrap())
        .await
        .expect_status(200);
    drop(clients);
    eventually(
        async || host.get(&path).await.status,
        |status| *status == 200,
    )
    .await;
}
