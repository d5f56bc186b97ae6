//! The server over HTTP: exports, pages, small queries, start-up.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mindhost_tests::{Host, Mind, PostgresDatabase, build, eventually_within};
use serde_json::{Value, json};

use super::{
    data,
    pairs::{Bar, PAIRS, quartiles, report, seconds, shown},
    peer::{self, Peer},
};

/// Clients at the same time, and how long they ask in one burst.
const CLIENTS: usize = 16;
const ASKING: Duration = Duration::from_secs(1);

/// What a first start may take until it is ready, and may keep of memory, in MiB, when the best code is there.
const FIRST_READY: Duration = Duration::from_millis(1_500);
const FIRST_MEMORY: u64 = 130;

/// Runs one part of it.
pub async fn run(part: &str) {
    let database = data::postgres().await;
    // One key asks for all clients.
    let host = Host::builder()
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .env("MINDHOST_LIMITS__CONCURRENT_REQUESTS", "0")
        .env("MINDHOST_LOG__LEVEL", "warn");
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

/// The whole table as CSV against the fastest client of each engine; memory and the first byte on the way.
async fn export(host: &Host, mind: &Mind, database: &PostgresDatabase) {
    let rows = format!("{}/export", message(mind, data::SCAN).await);
    let bar = Bar {
        name: "CSV export of 1M rows, ours/psql \\copy",
        aim: 1.0 / 0.9,
        bar: 2.0,
    };
    compare_exports(host, &rows, &bar, || seconds(copy(database))).await;
    let many = format!("{} CROSS JOIN generate_series(1, 10)", data::SCAN);
    let before = resident(host);
    forget_peak(host);
    let lines = lines(host, &format!("{}/export", message(mind, &many).await))
        .await
        .0;
    assert_eq!(lines, 10 * data::ROWS + 1);
    let growth = peak(host).saturating_sub(before);
    println!(
        "{:<46} {growth} KiB; bar 65536 KiB",
        "  peak memory growth with 10M rows"
    );

    let mariadb = data::mariadb().await;
    let facts = host.datasource("mariadb", "mariadb", mariadb.connection_data());
    facts.await.load().await;
    let mind = host
        .mind("mariadb")
        .datasource("mariadb")
        .direct_queries()
        .create()
        .await;
    let rows = format!("{}/export", message(&mind, data::SCAN).await);
    let bar = Bar {
        name: "CSV export of 1M rows, ours/mariadb --batch",
        aim: 1.0,
        bar: 1.0 / 0.9,
    };
    compare_exports(host, &rows, &bar, || {
        seconds(mariadb.read_through(data::SCAN))
    })
    .await;

    let folder = host.files_dir().join("facts");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("facts.parquet");
    data::parquet(&file);
    let files = host.datasource("files", "files", json!({"path": "facts"}));
    files.await.load().await;
    let mind = host
        .mind("files")
        .datasource("files")
        .direct_queries()
        .create()
        .await;
    let rows = format!("{}/export", message(&mind, data::SCAN).await);
    let bar = Bar {
        name: "CSV export of 1M rows, ours/DuckDB, Parquet",
        ..bar
    };
    let written = format!(
        "COPY ({}) TO '/dev/null' (FORMAT csv, HEADER)",
        data::SCAN.replace("facts", &format!("'{}'", file.display()))
    );
    compare_exports(host, &rows, &bar, async || data::duckdb(&written)).await;
}

/// Reads an export in turn with what another client does, which gives its seconds.
async fn compare_exports(host: &Host, path: &str, bar: &Bar<'_>, theirs: impl AsyncFn() -> f64) {
    let mut pairs = Vec::new();
    let mut firsts = Vec::new();
    let mut before = 0;
    for pair in 0..=PAIRS {
        if pair == 1 {
            before = resident(host);
            forget_peak(host);
        }
        let began = Instant::now();
        let (lines, first) = lines(host, path).await;
        let ours = began.elapsed().as_secs_f64();
        assert_eq!(lines, data::ROWS + 1);
        let theirs = theirs().await;
        if pair > 0 {
            pairs.push((ours, theirs));
            firsts.push(first);
        }
    }
    report(bar, &pairs);
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

/// Reads an export: its lines, and the seconds until its first byte.
async fn lines(host: &Host, path: &str) -> (u64, f64) {
    let began = Instant::now();
    let mut bytes = host.get(path).open().await.bytes_stream();
    let mut lines = 0;
    let mut first = None;
    while let Some(piece) = bytes.next().await {
        first.get_or_insert_with(|| began.elapsed().as_secs_f64());
        lines += piece.unwrap().iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    (lines, first.unwrap())
}

async fn copy(database: &PostgresDatabase) {
    let status = data::psql(database)
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

/// One-row statements from several clients, against the service written by hand, which looks at the key and parses the
/// statement as we do and answers in its own short form. To be seen beside it: the same service with our answer, and with
/// neither key nor guard. Ours keeps what it answered in SQLite with `synchronous = normal`, the peer in the same
/// PostgreSQL as the data, which here syncs nothing. Neither writes a line of log for a request.
async fn requests(host: &Host, mind: &Mind, database: &PostgresDatabase) {
    let peer = Peer::start(database).await;
    let middle = |values: Vec<f64>| quartiles(values)[1];
    let rate = |pairs: &[(f64, f64)], side: fn(&(f64, f64)) -> f64| {
        1.0 / middle(pairs.iter().map(side).collect())
    };
    let kinds = [(false, 0.1, 0.2), (true, 0.2, 1.0 / 3.0)];
    for (store, aim, bar) in kinds {
        let name = if store { "stored" } else { "not stored" };
        let mine = ours(host, mind, store);
        let (pairs, latencies) = bursts(&mine, &short(&peer, store, true)).await;
        report(
            &Bar {
                name: &format!("one-row sql_query, {name}, ours/FastAPI"),
                aim,
                bar,
            },
            &pairs,
        );
        let [low, median, high] = quartiles(latencies);
        println!(
            "{:<46} {:.0} requests/s against {:.0}; half of ours within {} ({} to {})",
            "  16 clients",
            rate(&pairs, |pair| pair.0),
            rate(&pairs, |pair| pair.1),
            shown(median),
            shown(low),
            shown(high)
        );
        for (name, other) in [
            ("  with our answer", whole(&peer, store)),
            ("  without key and guard", short(&peer, store, false)),
        ] {
            let (pairs, _) = bursts(&mine, &other).await;
            println!(
                "{name:<46} {:.0} requests/s against {:.0}",
                rate(&pairs, |pair| pair.0),
                rate(&pairs, |pair| pair.1),
            );
        }
    }
}

const ONE_ROW: &str = "SELECT id, note FROM facts WHERE id = 77777";

fn ours(host: &Host, mind: &Mind, store: bool) -> Asked {
    let url = format!("{}/responses", host.base_url());
    Asked::new(url, host.key(), &question(&mind.name, store))
}

fn whole(peer: &Peer, store: bool) -> Asked {
    let url = format!("{}/responses", peer.url);
    Asked::new(url, peer::KEY, &question("bench", store))
}

fn short(peer: &Peer, store: bool, guard: bool) -> Asked {
    let body = json!({"sql": ONE_ROW, "store": store, "guard": guard});
    Asked::new(format!("{}/query", peer.url), peer::KEY, &body)
}

fn question(model: &str, store: bool) -> Value {
    let tool = json!({"type": "sql_query", "query": ONE_ROW});
    json!({"model": model, "tools": [tool], "store": store})
}

/// Seconds a request of both, and in how many seconds half of the first were answered.
async fn bursts(mine: &Asked, other: &Asked) -> (Vec<(f64, f64)>, Vec<f64>) {
    let (mut pairs, mut latencies) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let (mine, half) = mine.burst().await;
        let (other, _) = other.burst().await;
        // The first pair warms everything up.
        if pair > 0 {
            pairs.push((1.0 / mine, 1.0 / other));
            latencies.push(half);
        }
    }
    (pairs, latencies)
}

/// A request that is sent over and over, by `wrk`: on two cores a client must leave them to the servers.
struct Asked {
    url: String,
    script: tempfile::NamedTempFile,
}

impl Asked {
    fn new(url: String, key: &str, body: &Value) -> Self {
        let script = tempfile::NamedTempFile::new().unwrap();
        let text = format!(
            "wrk.method = \"POST\"\nwrk.body = [==[{body}]==]\nwrk.headers[\"content-type\"] = \"application/json\"\n\
             wrk.headers[\"authorization\"] = \"Bearer {key}\"\n\
             function done(summary, latency)\n\
               local errors = summary.errors\n\
               print(\"asked\", summary.requests, summary.duration, latency:percentile(50),\n\
                 errors.connect + errors.read + errors.write + errors.status + errors.timeout)\n\
             end\n"
        );
        std::fs::write(script.path(), text).unwrap();
        Self { url, script }
    }

    /// Requests a second from all clients together, and in how many seconds half of them were answered.
    async fn burst(&self) -> (f64, f64) {
        let run = tokio::process::Command::new("wrk")
            .args(["--threads", "1", "--connections", &CLIENTS.to_string()])
            .args(["--duration", &format!("{}s", ASKING.as_secs())])
            .arg("--script")
            .arg(self.script.path())
            .arg(&self.url)
            .output();
        let said = String::from_utf8(run.await.unwrap().stdout).unwrap();
        let asked = said.lines().find_map(|line| line.strip_prefix("asked\t"));
        let figures: Vec<f64> = asked
            .unwrap_or_else(|| panic!("{said}"))
            .split('\t')
            .map(|figure| figure.parse().unwrap())
            .collect();
        // Times are in microseconds.
        let [requests, took, half, errors] = figures[..] else {
            panic!("{said}");
        };
        assert_eq!(errors, 0.0, "{said}");
        (requests / took * 1e6, half / 1e6)
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
    first_start().await;
}

/// From the start of the process until it is ready with no plugin compiled before, and its memory when all are.
async fn first_start() {
    let cache = tempfile::TempDir::new().unwrap();
    let plugins = std::fs::read_dir(build::plugins_dir()).unwrap();
    let plugins = plugins.filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|end| end == "wasm")
    });
    let plugins = plugins.count();
    let began = Instant::now();
    let host = Host::builder()
        .env(
            "MINDHOST_PLUGINS__CACHE_DIR",
            cache.path().to_string_lossy(),
        )
        .env("MINDHOST_PLUGINS__QUICK_START", "true")
        .env("MINDHOST_PLUGINS__COMPILE_WAIT", "700ms")
        .start()
        .await;
    let ready = began.elapsed();
    let optimized = async || host.log().matches("optimized code active").count();
    let most = Duration::from_secs(300);
    eventually_within(most, optimized, |count| *count >= plugins).await;
    // The server returns freed memory once a second.
    tokio::time::sleep(Duration::from_secs(3)).await;
    println!(
        "{:<46} {}; bar {}",
        "first start until ready",
        shown(ready.as_secs_f64()),
        shown(FIRST_READY.as_secs_f64())
    );
    println!(
        "{:<46} {} MiB; bar {FIRST_MEMORY} MiB",
        "  resident with optimized code",
        resident(&host) / 1_024
    );
}

pub fn resident(host: &Host) -> u64 {
    status(host, "VmRSS:")
}

fn peak(host: &Host) -> u64 {
    status(host, "VmHWM:")
}

/// Lets the peak begin anew: `proc(5)`, `clear_refs`.
fn forget_peak(host: &Host) {
    std::fs::write(format!("/proc/{}/clear_refs", host.pid()), "5").unwrap();
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
