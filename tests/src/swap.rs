//! Replacing the plugin of a datasource while statements run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{Host, Mind, Version, eventually, served_by};

const READERS: usize = 3;

/// Replaces the plugin of a datasource twice while readers count the rows of its table `item` without a break. There
/// must be two, with the ids 1 and 2.
///
/// # Panics
/// When a reader gets another answer, or a version does not serve.
pub async fn plugin_is_replaced_under_load(
    host: &Host,
    engine: &str,
    connection_data: Value,
    plugin: &str,
) {
    host.datasource("shop", engine, connection_data)
        .await
        .load()
        .await;
    let mind = host
        .mind("clerk")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    let (over, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        readers.spawn(read_until(
            mind.clone(),
            Arc::clone(&over),
            Arc::clone(&asked),
        ));
    }
    for number in ["0.1.7", "0.1.8"] {
        let version = Version::of_plugin(plugin, number);
        host.install(&version).await;
        let activate = format!("/plugins/{plugin}/activate?wait=200");
        let rollout = host
            .post(&activate, json!({"version": version.digest()}))
            .await;
        let rollout = rollout.expect_status(202).json();
        assert_eq!(rollout["stage"], "probation", "{rollout}");
        let reply = mind
            .sql("SELECT id FROM item WHERE id = 1")
            .await
            .expect_status(200);
        assert_eq!(served_by(&reply), version.digest());
        let before = asked.load(Ordering::Relaxed);
        eventually(
            async || asked.load(Ordering::Relaxed),
            |now| *now > before + 3,
        )
        .await;
    }
    over.store(true, Ordering::Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.expect("a reader that saw both rows");
    }
}

async fn read_until(mind: Mind, over: Arc<AtomicBool>, asked: Arc<AtomicU32>) {
    while !over.load(Ordering::Relaxed) {
        let rows = mind.rows("SELECT COUNT(*) AS n FROM item").await;
        assert_eq!(rows, [[json!(2)]]);
        asked.fetch_add(1, Ordering::Relaxed);
    }
}
