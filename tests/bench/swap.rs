//! What a swap costs those who are being served: a hundred of them in a minute, under a steady load of small queries,
//! with long exports and open answers that were begun on versions which were replaced long before they end.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use mindhost_tests::{Host, Mind, Version, eventually, served_by};
use reqwest::Method;
use serde_json::json;
use tokio::{
    sync::Mutex,
    task::{JoinHandle, JoinSet},
    time::{interval, sleep},
};

use super::{
    crowd::{Crowd, upstream::Upstream},
    data,
    pairs::{quartiles, shown},
    service::{message, resident},
};

const SWAPS: u32 = 100;
const EVERY: Duration = Duration::from_millis(600);
/// Small queries a second.
const RATE: u64 = 100;
const POINT: &str =
    "SELECT id, customer, amount, price, note, placed, ratio, paid FROM facts WHERE id = 4711";
const STEADY: Duration = Duration::from_secs(20);
const EXPORTS: usize = 10;
const STREAMS: usize = 50;
/// Both last longer than all swaps together.
const DELTAS: u64 = 500;
const BYTES_A_SECOND: f64 = 1.2e6;

/// One small query.
pub struct Asked {
    began: Instant,
    took: Duration,
    /// Which version served it.
    digest: String,
    /// Whether it was answered.
    pub is_good: bool,
}

/// Runs all of it.
pub async fn run() {
    let upstream = Upstream::start().await;
    let (host, mind) = start(&upstream).await;
    let [connectors, models] = versions(&host).await;
    // Made ready once: the bar is on versions that were compiled before.
    for version in connectors.iter().chain(&models) {
        activate(&host, version).await;
    }
    let load = Load::start(&host, &mind, POINT, RATE).await;
    sleep(Duration::from_secs(5)).await;
    let before = resident(&host);
    let crowd = Crowd::open(STREAMS, &upstream, |client| {
        super::crowd::question(&host, client)
    })
    .await;
    let told = tokio::spawn(async move { crowd.listen(&upstream, DELTAS).await });
    let exports = exports(&host, &mind).await;
    sleep(STEADY).await;
    let began = Instant::now();
    let swaps = swap(&host, [&connectors, &models]).await;
    let ended = Instant::now();
    let asked = load.stop().await;
    report(&asked, began, ended, &swaps);
    told.await.expect("no stream was cut");
    for export in exports {
        assert_eq!(export.await.unwrap(), data::ROWS + 1, "an export was cut");
    }
    println!(
        "{:<46} {EXPORTS} exports and {STREAMS} streams that were open all the time: none cut",
        "  in progress"
    );
    left(&host, &connectors, before).await;
}

async fn start(upstream: &Upstream) -> (Host, Mind) {
    let database = data::postgres().await;
    let host = super::crowd::start(upstream).await;
    let data = database.connection_data();
    let body = json!({"name": "facts", "engine": "postgres", "connection_data": data, "max_connections": 64});
    host.post("/datasources", body).await.expect_status(201);
    let load = host.post("/datasources/facts/catalog/refresh?wait=60", json!({}));
    load.await.expect_status(200);
    let mind = host.mind("bench").datasource("facts").direct_queries();
    let mind = mind.create().await;
    (host, mind)
}

async fn versions(host: &Host) -> [Vec<Version>; 2] {
    let mut all = Vec::new();
    for plugin in ["connector-postgres", "model-openai"] {
        let versions = ["0.1.1", "0.1.2"].map(|number| Version::of_plugin(plugin, number));
        for version in &versions {
            host.install(version).await;
        }
        all.push(versions.to_vec());
    }
    let [connectors, models] = <[Vec<Version>; 2]>::try_from(all).unwrap();
    [connectors, models]
}

async fn activate(host: &Host, version: &Version) -> Duration {
    let began = Instant::now();
    let path = format!("/plugins/{}/activate?wait=60", version.plugin());
    let reply = host.post(&path, json!({"version": version.digest()})).await;
    let rollout = reply.expect_status(202).json();
    assert_eq!(rollout["stage"], "probation", "{rollout}");
    began.elapsed()
}

/// The swaps: when each was asked for, and the digest. Every fifth is of the model, the others are of the connector.
async fn swap(host: &Host, [connectors, models]: [&[Version]; 2]) -> Vec<(Instant, String)> {
    let mut due = interval(EVERY);
    let mut swaps = Vec::new();
    for swap in 0..SWAPS {
        due.tick().await;
        let (some, turn) = match swap % 5 {
            4 => (models, swap / 5),
            _ => (connectors, swap - swap / 5),
        };
        let version = &some[turn as usize % 2];
        let began = Instant::now();
        activate(host, version).await;
        if swap % 5 != 4 {
            swaps.push((began, version.digest()));
        }
    }
    swaps
}

/// Small queries, asked for whether or not those before are answered.
pub struct Load {
    over: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Load {
    /// Asks a Mind `rate` times a second.
    pub async fn start(host: &Host, mind: &Mind, sql: &'static str, rate: u64) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (host, mind) = (host.clone(), mind.name.clone());
        let task = tokio::spawn({
            let (over, asked) = (over.clone(), asked.clone());
            async move {
                let mut due = interval(Duration::from_micros(1_000_000 / rate));
                let mut under_way = JoinSet::new();
                while !over.load(Ordering::Relaxed) {
                    due.tick().await;
                    let (host, mind, asked) = (host.clone(), mind.clone(), asked.clone());
                    under_way.spawn(async move {
                        let one = ask(&host, &mind, sql).await;
                        asked.lock().await.push(one);
                    });
                    while under_way.try_join_next().is_some() {}
                }
                under_way.join_all().await;
            }
        });
        Self { over, asked, task }
    }

    /// Ends it; gives all that was asked.
    pub async fn stop(self) -> Vec<Asked> {
        self.over.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        let mut asked = self.asked.lock().await;
        std::mem::take(&mut *asked)
    }
}

async fn ask(host: &Host, mind: &str, sql: &str) -> Asked {
    let tool = json!({"type": "sql_query", "query": sql});
    let body = json!({"model": mind, "tools": [tool], "store": false});
    let began = Instant::now();
    let reply = host
        .api(Method::POST, "/responses")
        .json(&body)
        .attempt()
        .await;
    let took = began.elapsed();
    let is_good = reply.as_ref().is_ok_and(|reply| reply.status == 200);
    if let Ok(reply) = reply.as_ref()
        && !is_good
    {
        eprintln!(
            "  {} {}",
            reply.status,
            String::from_utf8_lossy(&reply.body)
        );
    }
    Asked {
        began,
        took,
        digest: reply.as_ref().map_or_else(|_| String::new(), served_by),
        is_good,
    }
}

/// Exports whose clients read slowly, so that they last.
async fn exports(host: &Host, mind: &Mind) -> Vec<JoinHandle<u64>> {
    let path = format!("{}/export", message(mind, data::SCAN).await);
    let mut all = Vec::new();
    for _ in 0..EXPORTS {
        let request = host.get(&path).patience(Duration::from_secs(600));
        let reply = request.open().await;
        assert_eq!(reply.status(), 200);
        all.push(tokio::spawn(async move {
            let (began, mut read, mut lines) = (Instant::now(), 0.0, 0);
            let mut bytes = reply.bytes_stream();
            while let Some(piece) = bytes.next().await {
                let piece = piece.expect("an export goes on");
                lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
                read += piece.len() as f64;
                let due = Duration::from_secs_f64(read / BYTES_A_SECOND);
                sleep(due.saturating_sub(began.elapsed())).await;
            }
            lines
        }));
    }
    all
}

fn report(asked: &[Asked], began: Instant, ended: Instant, swaps: &[(Instant, String)]) {
    let failed = asked.iter().filter(|one| !one.is_good).count();
    println!(
        "{:<46} {failed} of {} requests failed; bar 0",
        format!("{SWAPS} swaps in {:.0} s", (ended - began).as_secs_f64()),
        asked.len()
    );
    let p99 = |from: Instant, to: Instant| {
        let within = asked
            .iter()
            .filter(|one| one.began >= from && one.began < to);
        let mut times: Vec<f64> = within.map(|one| one.took.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        (at(0.5), at(0.99))
    };
    let (median, steady) = p99(began - STEADY, began);
    let (median_swapping, swapping) = p99(began, ended);
    let verdict = match swapping <= steady * 1.5 || swapping <= steady + 5e-3 {
        true => "meets the bar",
        false => "MISSES the bar",
    };
    println!(
        "{:<46} p99 {} against {} (median {} against {}); {verdict} (x1.5 or + 5 ms)",
        "  a small query, while swapping/steady",
        shown(swapping),
        shown(steady),
        shown(median_swapping),
        shown(median),
    );
    let first = |(at, digest): &(Instant, String)| {
        let answers = asked
            .iter()
            .filter(|one| one.began >= *at && one.digest == *digest);
        let first = answers.map(|one| one.began + one.took).min()?;
        Some((first - *at).as_secs_f64())
    };
    let served: Vec<f64> = swaps.iter().filter_map(first).collect();
    let longest = served.iter().copied().fold(0.0, f64::max);
    let [low, middle, high] = quartiles(served);
    println!(
        "{:<46} {} ({} to {}), longest {}; bar 50 ms",
        "  from asking to the first answer of the new one",
        shown(middle),
        shown(low),
        shown(high),
        shown(longest)
    );
}

/// What is left of the versions that were replaced, once their last call is over.
async fn left(host: &Host, connectors: &[Version], before: u64) {
    let alive = async || {
        let metrics = host.request(Method::GET, "/metrics").await;
        let text = String::from_utf8(metrics.expect_status(200).body).unwrap();
        let mut alive: HashMap<String, f64> = HashMap::new();
        for line in text
            .lines()
            .filter(|line| line.starts_with("mindhost_plugin_instances{"))
        {
            let digest = line
                .split("digest=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            let count: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            *alive
                .entry(digest.unwrap_or_default().to_owned())
                .or_default() += count;
        }
        alive
    };
    let active = host.get("/plugins/connector-postgres").await.json()["active"].clone();
    let old = |alive: &HashMap<String, f64>| {
        let old = connectors.iter().map(Version::digest);
        old.filter(|digest| active != **digest)
            .filter_map(|digest| {
                alive
                    .get(&digest[..12])
                    .or_else(|| alive.get(&digest))
                    .copied()
            })
            .sum::<f64>()
    };
    let alive = eventually(&alive, |alive| old(alive) == 0.0).await;
    println!(
        "{:<46} {} instances of replaced versions are left",
        "  after the drain",
        old(&alive)
    );
    println!(
        "{:<46} {} KiB resident against {before} KiB before the streams and exports",
        "  memory",
        resident(host)
    );
}
