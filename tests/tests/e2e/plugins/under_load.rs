//! Work that began before a version changed ends whole after it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use mindhost_tests::{Host, Mind, Version, build, eventually, json, served_by};
use tokio::task::JoinSet;

const SWAPS: usize = 12;
const READERS: usize = 4;
const EXPORTS: usize = 3;
/// As many as no buffers of the system hold: an export of them goes on for as long as its client waits with reading.
const ROWS: u32 = 800_000;

/// A client in the middle of an export.
struct Export {
    reply: reqwest::Response,
    read: Vec<u8>,
    /// What served it, with its digest.
    plugins: String,
}

impl Export {
    /// Begins one and takes its first rows.
    async fn begin(host: &Host, path: &str) -> Self {
        let mut reply = host
            .get(path)
            .patience(Duration::from_secs(600))
            .open()
            .await;
        assert_eq!(reply.status(), 200);
        let plugins = reply.headers()["x-mindhost-plugins"]
            .to_str()
            .unwrap()
            .to_owned();
        let read = reply.chunk().await.unwrap().expect("the first rows").into();
        Self {
            reply,
            read,
            plugins,
        }
    }

    /// Takes the rest.
    async fn finish(mut self) -> String {
        while let Some(rows) = self.reply.chunk().await.unwrap() {
            self.read.extend_from_slice(&rows);
        }
        String::from_utf8(self.read).unwrap()
    }
}

/// The path of an export of all numbers.
async fn export_path(mind: &Mind) -> String {
    let reply = mind.sql("SELECT n, name FROM numbers").await;
    let reply = reply.expect_status(200).json();
    format!(
        "/conversations/{}/items/{}/export",
        reply["conversation"]["id"].as_str().unwrap(),
        reply["output"][0]["id"].as_str().unwrap()
    )
}

/// Every row is there, once and in its place.
#[track_caller]
fn check_whole(csv: &str) {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("n,name"));
    for number in 0..ROWS {
        assert_eq!(lines.next(), Some(&*format!("{number},number {number}")));
    }
    assert_eq!(lines.next(), None);
}

async fn ask(mind: &Mind) -> String {
    let reply = mind.sql("SELECT n, name FROM numbers").await;
    let reply = reply.expect_status(200);
    assert_eq!(
        reply.json()["output"][0]["data"],
        json!([[0, "number 0"], [1, "number 1"], [2, "number 2"]])
    );
    served_by(&reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_and_exports_go_on_while_versions_change() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .env("MINDHOST_LIMITS__EXPORTS_PER_KEY", EXPORTS.to_string())
        .env("MINDHOST_SQL__EXPORT_IDLE_TIMEOUT", "10m")
        .start()
        .await;
    let small = host.memory("few", 3).await;
    let path = export_path(&host.memory("many", ROWS).await).await;
    let versions = [Version::of("0.1.1"), Version::of("0.1.2")];
    for version in &versions {
        host.install(version).await;
    }
    let (over, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let (small, over, asked) = (small.clone(), over.clone(), asked.clone());
        readers.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                ask(&small).await;
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut exports = Vec::new();
    for swap in 0..SWAPS {
        if exports.len() < EXPORTS {
            let export = Export::begin(&host, &path).await;
            let active = host.active("guest-memory").await;
            assert!(
                export.plugins.ends_with(active.as_str().unwrap()),
                "{}",
                export.plugins
            );
            exports.push(export);
        }
        let version = &versions[swap % 2];
        let rollout = host.activated(json!({"version": version.digest()})).await;
        assert_eq!(rollout["stage"], "probation", "{rollout}");
        assert_eq!(ask(&small).await, version.digest());
        let before = asked.load(Ordering::Relaxed);
        eventually(async || asked.load(Ordering::Relaxed), |now| *now > before).await;
    }
    // All exports began before a swap and run after the last: there is no room for one more.
    let refused = host.get(&path).await;
    let error = refused.expect_error(429, "rate_limit_exceeded");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("limits.exports_per_key"), "{message}");
    for export in exports {
        check_whole(&export.finish().await);
    }
    over.store(true, Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
}
