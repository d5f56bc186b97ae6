//! `/plugins/{name}/usage`

use mindhost_tests::{Host, ScriptedModel, Turn, json};

use crate::stores;

#[tokio::test]
async fn what_a_datasource_uses_is_shown_by_version_and_day_and_kept() {
    for host in stores::both().await {
        let sql = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2), (3)";
        host.sqlite("shop", sql).await.load().await;
        let mind = host.mind("clerk").datasource("shop").direct_queries();
        mind.create().await.rows("SELECT id FROM item").await;

        let path = "/plugins/connector-sqlite/usage";
        let usage = host.get(path).await.expect_status(200).json();
        let version = &usage["since_start"][0];
        assert_eq!(version["health"]["status"], "ok");
        let target = &version["targets"][0];
        assert_eq!(target["name"], "shop");
        assert_eq!(target["workspace"], "default");
        assert!(target["figures"]["rows"].as_u64() >= Some(3), "{usage}");
        assert!(target["figures"]["cpu_ns"].as_u64() > Some(0), "{usage}");
        let day = &usage["days"][0];
        assert_eq!(day["digest"], version["digest"]);
        assert_eq!(day["target"], "shop");
        assert_eq!(day["figures"]["rows"], target["figures"]["rows"]);

        assert!(host.shut_down().await);
        host.restart().await;
        let kept = host.get(path).await.expect_status(200).json();
        assert_eq!(kept["days"][0]["figures"]["rows"], day["figures"]["rows"]);
        let past = format!("{path}?from=2020-01-01&until=2020-12-31");
        let past = host.get(&past).await.expect_status(200).json();
        assert_eq!(past["days"], json!([]));
        host.get(&format!("{path}?from=2021-01-01&until=2020-12-31"))
            .await
            .expect_error(400, "invalid_parameter");
        host.get("/plugins/nothing/usage")
            .await
            .expect_error(404, "plugin_not_found");
    }
}

#[tokio::test]
async fn tokens_bytes_and_waits_of_a_model_are_its_providers() {
    let model = ScriptedModel::start([Turn::text("One."), Turn::text("Two.")]).await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    mind.ask("How many?").await.expect_status(200);
    mind.ask("And now?").await.expect_status(200);
    let usage = host.get("/plugins/model-openai/usage").await;
    let usage = usage.expect_status(200).json();
    let targets = usage["since_start"][0]["targets"].as_array().unwrap();
    let scripted = targets.iter().find(|target| target["name"] == "scripted");
    let figures = &scripted.unwrap()["figures"];
    // The scripted model says 11 and 7 a turn.
    assert_eq!(figures["input_tokens"], 22, "{usage}");
    assert_eq!(figures["output_tokens"], 14, "{usage}");
    for figure in [
        "received_bytes",
        "sent_bytes",
        "upstream_ns",
        "result_bytes",
    ] {
        assert!(figures[figure].as_u64() > Some(0), "{figure}: {usage}");
    }
}
