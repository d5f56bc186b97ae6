//! Nothing that is under way breaks off when versions change.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mindhost_tests::{Host, Mind, Version, build, json};
use tokio::task::JoinSet;

const SWAPS: usize = 12;
const READERS: usize = 4;
const EXPORTS: usize = 3;
const ROWS: u32 = 400_000;

/// An export of a result that is stored; it takes longer than several swaps.
async fn export(host: &Host, mind: &Mind) -> usize {
    let reply = mind.sql("SELECT n, name FROM numbers").await;
    let reply = reply.expect_status(200).json();
    let conversation = reply["conversation"]["id"].as_str().unwrap();
    let message = reply["output"][0]["id"].as_str().unwrap();
    let path = format!("/conversations/{conversation}/items/{message}/export");
    let csv = host.get(&path).await.expect_status(200);
    csv.body.iter().filter(|byte| **byte == b'\n').count()
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_exports_and_answers_go_on_while_versions_change() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .start()
        .await;
    let small = host.memory("few", 3).await;
    let large = host.memory("many", ROWS).await;
    let versions = [Version::of("0.1.1"), Version::of("0.1.2")];
    for version in &versions {
        host.install(version).await;
    }
    let over = AtomicBool::new(false);
    let (over, asked) = (&*Box::leak(Box::new(over)), AtomicU32::new(0));
    let asked: &AtomicU32 = Box::leak(Box::new(asked));
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let small = small.clone();
        readers.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                assert_eq!(small.rows("SELECT n FROM numbers").await.len(), 3);
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut exports = JoinSet::new();
    for _ in 0..EXPORTS {
        let (host, large) = (host.clone(), large.clone());
        exports.spawn(async move { export(&host, &large).await });
    }
    for swap in 0..SWAPS {
        let before = asked.load(Ordering::Relaxed);
        let version = &versions[swap % 2];
        let rollout = host.activated(json!({"version": version.digest()})).await;
        assert_eq!(rollout["stage"], "probation", "{rollout}");
        // Somebody is served by each of them.
        mindhost_tests::eventually(async || asked.load(Ordering::Relaxed), |now| *now > before)
            .await;
    }
    while let Some(lines) = exports.join_next().await {
        assert_eq!(lines.unwrap(), ROWS as usize + 1);
    }
    over.store(true, Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
}
