//! The server over HTTP: exports, pages, small queries, start-up.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, future::join_all};
use mindhost_tests::{Host, Mind, PostgresDatabase};
use serde_json::{Value, json};

use super::{
    data,
    pairs::{Bar, PAIRS, quartiles, report, seconds, shown},
    peer::{self, Peer},
};

/// Clients at the same time, and how long they ask in one burst.
const CLIENTS: usize = 16;
const ASKING: Duration = Duration::from_secs(1);

/// Runs one part of it.
pub async fn run(part: &str) {
    let database = data::postgres().await;
    // One key asks for all clients.
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .env("MINDHOST_LIMITS__CONCURRENT_REQUESTS", "0");
    let host = host.start().await;
    host.postgres("facts", &database).await.load().await;
    let mind = host
        .mind("bench")
        .datasource("facts")
        .direct_queries()
        .create()
        .await;
    match part {
        "export" => export(&host, &mind, &database).await,
        "page" => page(&host, &mind).await,
        "requests" => requests(&host, &mind, &database).await,
        _ => start(&host).await,
    }
}

pub async fn message(mind: &Mind, sql: &str) -> String {
    let tool = json!({"type": "sql_query", "query": sql, "max_inline_rows": 1});
    let body = json!({"model": mind.name, "tools": [tool]});
    let response = mind
        .host()
        .post("/responses", body)
        .await
        .expect_status(200)
        .json();
    let conversation = response["conversation"]["id"].as_str().unwrap();
    format!(
        "/conversations/{conversation}/items/{}",
        response["output"][0]["id"].as_str().unwrap()
    )
}

/// The whole table as CSV against `psql \copy`; memory and the first byte on the way.
async fn export(host: &Host, mind: &Mind, database: &PostgresDatabase) {
    let path = format!("{}/export", message(mind, data::SCAN).await);
    let mut pairs = Vec::new();
    let mut firsts = Vec::new();
    let mut before = 0;
    for pair in 0..=PAIRS {
        if pair == 1 {
            before = resident(host);
        }
        let began = Instant::now();
        let mut bytes = host.get(&path).open().await.bytes_stream();
        let mut lines = 0;
        let mut first = None;
        while let Some(piece) = bytes.next().await {
            first.get_or_insert_with(|| began.elapsed().as_secs_f64());
            lines += piece.unwrap().iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        let ours = began.elapsed().as_secs_f64();
        assert_eq!(lines, data::ROWS + 1);
        let theirs = seconds(copy(database)).await;
        if pair > 0 {
            pairs.push((ours, theirs));
            firsts.push(first.unwrap());
        }
    }
    report(
        &Bar {
            name: "CSV export of 1M rows, ours/psql \\copy",
            aim: 1.0 / 0.9,
            bar: 2.0,
        },
        &pairs,
    );
    let rate = data::ROWS as f64 / quartiles(pairs.iter().map(|pair| pair.0).collect())[1];
    println!("{:<46} {:.2} M rows/s", "  export", rate / 1e6);
    let [low, median, high] = quartiles(firsts);
    println!(
        "{:<46} {} ({} to {}); bar 50 ms",
        "  first byte of an export",
        shown(median),
        shown(low),
        shown(high)
    );
    let growth = peak(host).saturating_sub(before);
    println!(
        "{:<46} {} KiB over the resident {} KiB; bar 65536 KiB",
        "  peak memory growth while exporting", growth, before
    );
}

async fn copy(database: &PostgresDatabase) {
    let connection = database.connection_data();
    let text = |name: &str| {
        connection[name]
            .as_str()
            .map_or_else(|| connection[name].to_string(), str::to_owned)
    };
    let status = tokio::process::Command::new("psql")
        .args([
            "-h",
            &text("host"),
            "-p",
            &text("port"),
            "-U",
            &text("user"),
            "-d",
            &text("database"),
            "-q",
            "-X",
        ])
        .env("PGPASSWORD", text("password"))
        .args([
            "-c",
            &format!(
                "\\copy ({}) to '/dev/null' with (format csv, header)",
                data::SCAN
            ),
        ])
        .status()
        .await
        .unwrap();
    assert!(status.success());
}

/// A page of 10,000 rows, whole request.
async fn page(host: &Host, mind: &Mind) {
    let tool = json!({"type": "sql_query", "query": format!("{} WHERE id <= 10000 ORDER BY id", data::SCAN)});
    let body = json!({"model": mind.name, "tools": [tool]});
    let mut times = Vec::new();
    for _ in 0..PAIRS * 3 {
        times.push(
            seconds(async {
                let reply = host.post("/responses", body.clone()).open().await;
                assert_eq!(reply.status(), 200);
                reply.bytes().await.unwrap()
            })
            .await,
        );
    }
    let [low, median, high] = quartiles(times);
    println!(
        "{:<46} {:.2} M rows/s, {} ({} to {}); aim 1 M rows/s",
        "page of 10,000 rows x 8",
        10_000.0 / median / 1e6,
        shown(median),
        shown(low),
        shown(high)
    );
}

/// One-row statements from several clients, against the service written by hand: one that looks at the key and parses
/// the statement as we do, and, to be seen beside it, one that does neither. Ours keeps what it answered in SQLite with
/// `synchronous = normal`, the peer in the same PostgreSQL as the data, which here syncs nothing.
async fn requests(host: &Host, mind: &Mind, database: &PostgresDatabase) {
    let peer = Peer::start(database).await;
    let kinds = [(false, 0.1, 0.2), (true, 0.2, 1.0 / 3.0)];
    for (store, aim, bar) in kinds {
        let name = if store { "stored" } else { "not stored" };
        let guarded = theirs(&peer, store, true);
        let (pairs, latencies) = bursts(&ours(host, mind, store), &guarded).await;
        report(
            &Bar {
                name: &format!("one-row sql_query, {name}, ours/FastAPI"),
                aim,
                bar,
            },
            &pairs,
        );
        let (bare, _) = bursts(&ours(host, mind, store), &theirs(&peer, store, false)).await;
        let middle = |values: Vec<f64>| quartiles(values)[1];
        let rate = |pairs: &[(f64, f64)], side: fn(&(f64, f64)) -> f64| {
            1.0 / middle(pairs.iter().map(side).collect())
        };
        let [low, median, high] = quartiles(latencies);
        println!(
            "{:<46} {:.0} requests/s against {:.0}; against {:.0} without key and guard; ours takes {} ({} to {})",
            "  16 clients",
            rate(&pairs, |pair| pair.0),
            rate(&pairs, |pair| pair.1),
            rate(&bare, |pair| pair.1),
            shown(median),
            shown(low),
            shown(high)
        );
    }
}

const ONE_ROW: &str = "SELECT id, note FROM facts WHERE id = 77777";

fn ours(host: &Host, mind: &Mind, store: bool) -> Asked {
    let tool = json!({"type": "sql_query", "query": ONE_ROW});
    Asked {
        url: format!("{}/responses", host.base_url()),
        key: host.key(),
        body: json!({"model": mind.name, "tools": [tool], "store": store}),
    }
}

fn theirs(peer: &Peer, store: bool, guard: bool) -> Asked {
    Asked {
        url: peer.url.clone(),
        key: peer::KEY,
        body: json!({"sql": ONE_ROW, "store": store, "guard": guard}),
    }
}

/// Seconds a request of both, and how long each of the first took.
async fn bursts(mine: &Asked, other: &Asked) -> (Vec<(f64, f64)>, Vec<f64>) {
    // Clients keep their connections, as SDKs do.
    let client = reqwest::Client::new();
    let (mut pairs, mut latencies) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let (mine, times) = mine.burst(&client).await;
        let (other, _) = other.burst(&client).await;
        // The first pair warms everything up.
        if pair > 0 {
            pairs.push((1.0 / mine, 1.0 / other));
            latencies.extend(times);
        }
    }
    (pairs, latencies)
}

/// A request that is sent over and over.
struct Asked {
    url: String,
    key: &'static str,
    body: Value,
}

impl Asked {
    /// Requests a second from all clients together, and how long each took.
    async fn burst(&self, client: &reqwest::Client) -> (f64, Vec<f64>) {
        let began = Instant::now();
        let one = || async {
            let mut times = Vec::new();
            while began.elapsed() < ASKING {
                let ask = client
                    .post(&self.url)
                    .bearer_auth(self.key)
                    .json(&self.body);
                times.push(
                    seconds(async {
                        let reply = ask.send().await.unwrap();
                        assert_eq!(reply.status(), 200);
                        reply.bytes().await.unwrap()
                    })
                    .await,
                );
            }
            times
        };
        let times = join_all((0..CLIENTS).map(|_| one())).await.concat();
        (times.len() as f64 / began.elapsed().as_secs_f64(), times)
    }
}

/// From the start of the process until it is ready, plugins compiled before.
async fn start(host: &Host) {
    let mut times = Vec::new();
    for _ in 0..PAIRS {
        host.kill().await;
        times.push(seconds(host.restart()).await);
    }
    let [low, median, high] = quartiles(times);
    println!(
        "{:<46} {} ({} to {}); aim 300 ms",
        "start until ready, cached plugins",
        shown(median),
        shown(low),
        shown(high)
    );
}

pub fn resident(host: &Host) -> u64 {
    status(host, "VmRSS:")
}

fn peak(host: &Host) -> u64 {
    status(host, "VmHWM:")
}

/// A figure of the server's process in KiB.
pub fn status(host: &Host, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
