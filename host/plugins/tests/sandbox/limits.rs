//! Guests that do not end, take too much, or fall over.

use std::time::Duration;

use mindhost_base::{
    config::PluginSettings,
    error::{Blame, Code, Error},
};
use mindhost_plugin_api::{Call, Connection, Target};
use mindhost_plugins::registry::Status;
use mindhost_runtime::package::pack;
use serde_json::json;
use tokio::{io::AsyncReadExt, net::TcpListener};
use tokio_util::sync::CancellationToken;

use crate::fixture::{
    Sandbox, brief, check_fault, guest, only_row, settings, soon, statement, target,
};

/// Every function of a connection and its cursor, in an order in which each is reached.
const FUNCTIONS: [&str; 12] = [
    "open",
    "cancel-key",
    "check",
    "tables",
    "describe-tables",
    "statistics",
    "begin-snapshot",
    "end-snapshot",
    "query",
    "schema",
    "cursor-cancel-key",
    "next",
];

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends_with_the_deadline_in_every_function() {
    let sandbox = Sandbox::new().await;
    for at in FUNCTIONS {
        let error = sandbox.outcome("loop", at, &brief()).await.expect_err(at);
        assert_eq!(error.code(), Code::Timeout, "{at}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_sleeps_in_the_host_ends_with_the_deadline_too() {
    let sandbox = Sandbox::new().await;
    for at in ["open", "check", "query", "next"] {
        let error = sandbox.outcome("sleep", at, &brief()).await.expect_err(at);
        assert_eq!(error.code(), Code::Timeout, "{at}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_cannot_be_closed_costs_its_connection_and_no_more() {
    let sandbox = Sandbox::new().await;
    for mode in ["loop", "trap", "error"] {
        let data = json!({"mode": mode, "at": "close"});
        let call = Call::new(Duration::from_secs(10), CancellationToken::new());
        sandbox.outcome_of(data, "close", &call).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_function_that_never_returns_is_given_up() {
    let sandbox = Sandbox::new().await;
    let data = json!({"mode": "loop", "at": "cancel"});
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    connection.query(&statement(), &soon()).await.unwrap();
    // Dropped with an open cursor: the statement is cancelled in the background.
    drop(connection);
    let drained = tokio::time::timeout(Duration::from_secs(60), sandbox.registry.drain());
    drained.await.expect("cancelling has an end");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_call_ends_it() {
    let sandbox = Sandbox::new().await;
    let data = json!({"mode": "sleep", "at": "next"});
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    connection.query(&statement(), &soon()).await.unwrap();
    let call = soon();
    let cancel = call.cancel.clone();
    let (result, ()) = tokio::join!(connection.next(1, &call), async { cancel.cancel() });
    assert_eq!(result.unwrap_err().code(), Code::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_ends_the_guest() {
    let sandbox = Sandbox::new().await;
    let data = json!({"mode": "loop", "at": "query"});
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    let (statement, call) = (statement(), soon());
    let left = tokio::time::timeout(
        Duration::from_millis(50),
        connection.query(&statement, &call),
    );
    assert!(left.await.is_err());
    drop(connection);
    // Drained before the call's own deadline: leaving was what ended it.
    let drained = tokio::time::timeout(Duration::from_secs(30), sandbox.registry.drain());
    drained.await.expect("the guest was ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_falls_over_is_to_blame_and_says_little() {
    let sandbox = Sandbox::new().await;
    for (mode, words) in [
        ("memory", "out of memory"),
        ("stack", "stack overflowed"),
        ("trap", "panicked"),
        ("panic", "panicked"),
        ("exit", "exit"),
        ("resources", "plugin failed"),
    ] {
        for at in ["open", "check", "next"] {
            let error = sandbox.failure(mode, at).await;
            check_fault(&error, Code::PluginError, words);
            assert_eq!(error.blame(), Some(Blame::Plugin));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_guests_together_have_a_memory_limit() {
    let sandbox = Sandbox::with(PluginSettings {
        max_total_memory_bytes: 16 << 20,
        ..settings()
    })
    .await;
    let error = sandbox.failure("memory", "check").await;
    check_fault(&error, Code::Overloaded, "all plugins together");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decent_guest_beside_a_hostile_one_is_undisturbed() {
    let sandbox = Sandbox::new().await;
    let call = brief();
    let hostile = sandbox.outcome("loop", "check", &call);
    let decent = async {
        for _ in 0..20 {
            let mut connection = sandbox.connect(json!({}), &soon()).await?;
            only_row(&mut *connection).await?;
        }
        Ok::<_, Error>(())
    };
    let (hostile, decent) = tokio::join!(hostile, decent);
    assert_eq!(hostile.unwrap_err().code(), Code::Timeout);
    decent.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_connection_for_ever() {
    let sandbox = Sandbox::new().await;
    let target = target(json!({}));
    let hostile = sandbox.hostile();
    let _first = hostile.connect(&target, &soon()).await.unwrap();
    let second = hostile.connect(&target, &soon()).await.unwrap();
    let third = hostile.connect(&target, &brief()).await.err().unwrap();
    check_fault(&third, Code::Overloaded, "max_connections");
    assert!(third.retry_after().is_some());
    drop(second);
    hostile.connect(&target, &soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_makes_room_for_another_target() {
    let sandbox = Sandbox::with(PluginSettings {
        max_instances: 1,
        ..settings()
    })
    .await;
    for _ in 0..3 {
        let mut connection = sandbox.connect(json!({}), &soon()).await.unwrap();
        only_row(&mut *connection).await.unwrap();
    }
    let _held = sandbox.connect(json!({}), &soon()).await.unwrap();
    let error = sandbox.connect(json!({}), &brief()).await.err().unwrap();
    check_fault(&error, Code::Overloaded, "max_instances");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_becomes_idle_later_makes_room_for_those_who_wait() {
    let sandbox = Sandbox::with(PluginSettings {
        max_instances: 1,
        ..settings()
    })
    .await;
    let held = sandbox.connect(json!({}), &soon()).await.unwrap();
    let call = Call::new(Duration::from_secs(20), CancellationToken::new());
    let mut waiting = Box::pin(sandbox.connect(json!({}), &call));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    drop(held);
    waiting.await.unwrap();
}

/// A connection that holds some 64 MiB.
async fn large(sandbox: &Sandbox, target: &Target) -> Result<Box<dyn Connection>, Error> {
    let mut connection = sandbox.hostile().connect(target, &soon()).await?;
    connection.check(&soon()).await?;
    Ok(connection)
}

fn large_target() -> Target {
    target(json!({"mode": "long-text", "at": "check"}))
}

fn roomy() -> PluginSettings {
    PluginSettings {
        max_memory_bytes: 128 << 20,
        ..settings()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_of_idle_connections_is_there_for_others() {
    let sandbox = Sandbox::with(PluginSettings {
        max_total_memory_bytes: 110 << 20,
        ..roomy()
    })
    .await;
    let idle = large(&sandbox, &large_target()).await.unwrap();
    let error = large(&sandbox, &large_target()).await.err().unwrap();
    check_fault(&error, Code::Overloaded, "all plugins together");
    drop(idle);
    large(&sandbox, &large_target()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_datasource_leaves_memory_for_the_others() {
    let sandbox = Sandbox::with(PluginSettings {
        max_target_memory_bytes: 110 << 20,
        ..roomy()
    })
    .await;
    let greedy = large_target();
    let _held = large(&sandbox, &greedy).await.unwrap();
    let error = large(&sandbox, &greedy).await.err().unwrap();
    check_fault(&error, Code::Overloaded, "max_target_memory_bytes");
    large(&sandbox, &large_target()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guest_hears_of_a_cancellation_before_the_engine_does() {
    let sandbox = Sandbox::with(PluginSettings {
        cancel_grace: Duration::from_secs(20),
        cancel_timeout: Duration::from_secs(20),
        ..settings()
    })
    .await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let data = json!({
        "mode": "order", "at": "next", "host": "127.0.0.1", "port": port,
        "target": format!("127.0.0.1:{port}")
    });
    let mut connection = sandbox.connect(data, &soon()).await.unwrap();
    connection.query(&statement(), &soon()).await.unwrap();
    let call = soon();
    let heard = async {
        call.cancel.cancel();
        let mut words = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut word = String::new();
            stream.read_to_string(&mut word).await.unwrap();
            words.push(word);
        }
        words
    };
    let (result, words) = tokio::join!(connection.next(1, &call), heard);
    assert_eq!(result.unwrap_err().code(), Code::Cancelled);
    assert_eq!(words, ["guest", "engine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_does_by_itself_is_no_fault_of_the_caller() {
    let sandbox = Sandbox::new().await;
    let error = sandbox.failure("cancelled", "next").await;
    check_fault(&error, Code::UpstreamError, "by an admin");
    let error = sandbox.failure("auth", "open").await;
    check_fault(&error, Code::UpstreamError, "wrong password");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_ends_to_describe_itself_is_refused() {
    let (mut wasm, manifest) = guest("hostile");
    let mark = b"describe:quietly";
    let at = wasm
        .windows(mark.len())
        .position(|bytes| bytes == mark)
        .unwrap();
    wasm[at..at + mark.len()].copy_from_slice(b"describe:forever");
    let dir = tempfile::tempdir().unwrap();
    Sandbox::add(dir.path(), "hostile", &pack(&wasm, &manifest).unwrap());
    let sandbox = Sandbox::load(dir, settings()).await;
    let status = &sandbox.registry.installed()[0].status;
    assert!(
        matches!(status, Status::Refused(why) if why.contains("cannot describe itself")),
        "{status:?}"
    );
}

/// The guest has limits of its own.
async fn limited(limits: mindhost_base::config::PluginLimits) -> Sandbox {
    let mut settings = roomy();
    settings.by_plugin.insert("guest-hostile".into(), limits);
    Sandbox::with(settings).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_may_have_less_memory_than_the_others() {
    let sandbox = limited(mindhost_base::config::PluginLimits {
        max_memory_bytes: Some(16 << 20),
        ..Default::default()
    })
    .await;
    let error = large(&sandbox, &large_target()).await.err().unwrap();
    check_fault(&error, Code::PluginError, "out of memory");
    let memory = sandbox.registry.engine("memory").unwrap();
    let target = target(json!({"rows": 1}));
    memory.connect(&target, &soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn all_instances_of_a_plugin_share_a_limit_over_its_datasources() {
    let sandbox = limited(mindhost_base::config::PluginLimits {
        max_total_memory_bytes: Some(110 << 20),
        ..Default::default()
    })
    .await;
    let held = large(&sandbox, &large_target()).await.unwrap();
    let error = large(&sandbox, &large_target()).await.err().unwrap();
    check_fault(&error, Code::Overloaded, "max_total_memory_bytes");
    // An idle connection of the plugin makes room.
    drop(held);
    large(&sandbox, &large_target()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_may_have_less_time() {
    let sandbox = limited(mindhost_base::config::PluginLimits {
        max_call_time: Some(Duration::from_secs(1)),
        ..Default::default()
    })
    .await;
    let error = sandbox.failure("loop", "check").await;
    assert_eq!(error.code(), Code::Timeout);
    assert_eq!(error.blame(), Some(Blame::Plugin));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_may_have_fewer_connections() {
    let sandbox = limited(mindhost_base::config::PluginLimits {
        max_connections: Some(1),
        ..Default::default()
    })
    .await;
    let target = target(json!({}));
    let hostile = sandbox.hostile();
    let _only = hostile.connect(&target, &soon()).await.unwrap();
    let error = hostile.connect(&target, &brief()).await.err().unwrap();
    check_fault(&error, Code::Overloaded, "all 1 connections");
}
