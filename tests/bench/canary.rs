//! How long a version that fails in a fifth of its calls is on trial with a twentieth of them, and who notices.

use std::time::{Duration, Instant};

use mindhost_tests::{Host, Version, build, eventually};
use serde_json::{Value, json};

use super::{
    pairs::{PAIRS, quartiles, shown},
    swap::Load,
};

/// Small queries a second.
const RATE: u64 = 100;

/// Runs all of it.
pub async fn run() {
    let host = Host::builder().plugin(build::guest("memory"));
    let host = host
        .env("MINDHOST_LIMITS__REQUESTS_PER_SECOND", "0")
        .start()
        .await;
    let mind = host.memory("numbers", 3).await;
    let bad = Version::of("0.1.1").that("trap", 20);
    host.install(&bad).await;
    let (mut times, mut asked, mut failed) = (Vec::new(), 0, 0);
    for _ in 0..PAIRS {
        let load = Load::start(&host, &mind, "SELECT n FROM numbers", RATE).await;
        times.push(until_it_went_back(&host, &bad).await.as_secs_f64());
        let all = load.stop().await;
        asked += all.len();
        failed += all.iter().filter(|one| !one.is_good).count();
    }
    times.sort_by(f64::total_cmp);
    let longest = times.last().copied().unwrap_or_default();
    let [low, median, high] = quartiles(times);
    println!(
        "{:<46} {} ({} to {}), longest {}; bar 5 s",
        format!("from activation to rollback, {RATE} requests/s"),
        shown(median),
        shown(low),
        shown(high),
        shown(longest)
    );
    println!(
        "{:<46} {failed} of {asked} requests saw an error; bar 1 %",
        "  meanwhile"
    );
}

/// From asking for the activation until the stable version serves all calls again.
async fn until_it_went_back(host: &Host, bad: &Version) -> Duration {
    let began = Instant::now();
    let body = json!({"version": bad.digest(), "canary": {"percent": 5.0, "seconds": 60}});
    let reply = host.post("/plugins/guest-memory/activate", body).await;
    reply.expect_status(202);
    let newest = async || {
        let plugin = host.get("/plugins/guest-memory").await.expect_status(200);
        plugin.json()["rollouts"][0].clone()
    };
    let ended = eventually(newest, |rollout: &Value| rollout["ended_at"].is_string()).await;
    assert_eq!(ended["stage"], "rolled_back", "{ended}");
    began.elapsed()
}
