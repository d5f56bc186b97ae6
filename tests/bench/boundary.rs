//! What the boundary of the sandbox costs by itself: a guest whose answers lie ready, as Arrow and as plain rows, and
//! one that has nothing to say. The same guest compiled natively is the floor.

use std::time::Duration;

use guest_boundary::Boundary;
use mindhost_plugin_api::{Call, Connector, Target};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    data,
    engines::{LIMITS, natively, registry, sandboxed, target},
    pairs::{PAIRS, quartiles, seconds, shown},
};

/// Calls that do nothing, in one measurement.
const CALLS: u32 = 100_000;
/// The rows of a batch, which has about a megabyte as rows.
const BATCH: u64 = 4096;

/// Runs all of it.
pub async fn run() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path()).await;
    let connector = registry.connector("boundary", None).await.unwrap();
    let target = target("boundary", &json!({ "batch_rows": BATCH }));
    calls(&*connector, &target).await;
    rows(&*connector, &target, "arrow", 5e6).await;
    rows(&*connector, &target, "rows", 1.5e6).await;
}

/// A call of the guest with all that belongs to one: its deadline, its cancellation, its limits, its metering.
async fn calls(connector: &dyn Connector, target: &Target) {
    let nothing = format!("nothing {CALLS}");
    let (mut whole, mut checks) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let took = seconds(sandboxed(connector, target, &nothing, 1, 0)).await;
        let checked = seconds(async {
            let call = Call::new(Duration::from_secs(300), CancellationToken::new());
            let mut connection = connector.connect(target, &call).await.unwrap();
            for _ in 0..CALLS {
                connection.check(&call).await.unwrap();
            }
        })
        .await;
        // The first pair warms everything up.
        if pair > 0 {
            whole.push(took / f64::from(CALLS));
            checks.push(checked / f64::from(CALLS));
        }
    }
    for (name, times, bar) in [
        ("a call that does nothing", whole, "; bar 2 µs"),
        ("a call that gives a record of two texts", checks, ""),
    ] {
        let [low, median, high] = quartiles(times);
        let (low, median, high) = (shown(low), shown(median), shown(high));
        println!("{name:<46} {median} ({low} to {high}){bar}");
    }
}

/// Rows a second out of the sandbox, decoded and checked by the host, against the native guest's decoded.
async fn rows(connector: &dyn Connector, target: &Target, form: &str, bar: f64) {
    let batches = data::ROWS / BATCH;
    let (sql, all) = (format!("{form} {batches}"), batches * BATCH);
    let (mut ours, mut ratios) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let through = seconds(sandboxed(connector, target, &sql, 1, all)).await;
        let data = json!({ "batch_rows": BATCH });
        let direct = seconds(natively::<Boundary>(data, None, sql.clone(), 1, all)).await;
        if pair > 0 {
            ours.push(all as f64 / through);
            ratios.push(through / direct);
        }
    }
    let [low, median, high] = quartiles(ours);
    let [_, ratio, _] = quartiles(ratios);
    let verdict = if high >= bar { "meets" } else { "MISSES" };
    println!(
        "{:<46} {:.2} M rows/s ({:.2} to {:.2}), time x{ratio:.2} of the native guest's; {verdict} the bar ({} M)",
        format!(
            "rows of 8 columns as {form}, at most {} a batch",
            LIMITS.max_rows.min(BATCH as u32)
        ),
        median / 1e6,
        low / 1e6,
        high / 1e6,
        bar / 1e6
    );
}
