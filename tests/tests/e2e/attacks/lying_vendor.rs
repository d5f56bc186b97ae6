//! Somebody runs the vendor behind a model provider and has it lie. What it says is checked by the plugin, so the vendor is
//! to blame: the plugin, which serves everybody, is not.

use mindhost_tests::{Host, Reply, ScriptedModel, Turn, json};

/// More often than a plugin may fail before it is rested.
const AGAIN: usize = 8;

/// The plugin has no fault, in all that was asked of it.
async fn check_plugin(host: &Host, plugin: &str) {
    let usage = host.get(&format!("/plugins/{plugin}/usage")).await;
    let usage = usage.expect_status(200).json();
    let version = &usage["since_start"][0];
    assert_eq!(version["health"]["status"], "ok", "{usage}");
    for target in version["targets"].as_array().unwrap() {
        assert_eq!(target["figures"]["plugin_errors"], 0, "{usage}");
        assert_eq!(target["figures"]["traps"], 0, "{usage}");
    }
}

#[track_caller]
fn check_blame(refused: &Reply, words: &str) {
    let error = refused.expect_error(502, "upstream_error");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(words), "{error}");
    assert_eq!(error["blame"], "upstream", "{error}");
}

#[tokio::test]
async fn lies_of_a_vendor_are_the_vendors() {
    let call = Turn::call(&"run_sql".repeat(100), json!({}));
    let model = ScriptedModel::start((0..AGAIN).map(|_| call.clone())).await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    for _ in 0..AGAIN {
        let refused = mind.ask("How many?").await;
        check_blame(&refused, "too long");
    }
    check_plugin(&host, "model-openai").await;
}
