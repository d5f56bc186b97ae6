//! `/metrics`

use std::{collections::HashMap, process::Stdio};

use mindhost_tests::{Host, Postgres, build, json};
use reqwest::Method;
use tokio::{io::AsyncWriteExt as _, process::Command};

use crate::stores;

/// The figures of a host, as Prometheus' own parser reads them: name, labels, value.
pub struct Figures(Vec<(String, HashMap<String, String>, f64)>);

impl Figures {
    pub async fn read(host: &Host) -> Self {
        let reply = host.request(Method::GET, "/metrics").await;
        let reply = reply.expect_status(200);
        let kind = reply.header("content-type");
        assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
        Self::of(&reply.text()).await
    }

    async fn of(text: &str) -> Self {
        let script = build::workspace_dir().join("tests/clients/prometheus/read.py");
        let mut parser = Command::new(build::python())
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = parser.stdin.take().unwrap();
        input.write_all(text.as_bytes()).await.unwrap();
        drop(input);
        let output = parser.wait_with_output().await.unwrap();
        let refusal = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{refusal}\n{text}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let sample = |line| serde_json::from_str(line).unwrap();
        Self(lines.lines().map(sample).collect())
    }

    /// The sum of the series of a name that have these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let mut sum = 0.0;
        for (one, found, value) in &self.0 {
            let has = |(label, is): &(&str, &str)| found.get(*label).is_some_and(|one| one == is);
            if one == name && labels.iter().all(has) {
                sum += value;
            }
        }
        sum
    }
}

/// How many requests of keys are in progress; the one that asks is one of them.
pub async fn under_way(host: &Host) -> u64 {
    let text = host.request(Method::GET, "/metrics").await.text();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("mindhost_requests_under_way "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_operator_reads_what_the_host_and_its_plugins_do() {
    for host in stores::both().await {
        let sql = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2), (3)";
        host.sqlite("shop", sql).await.load().await;
        let mind = host.mind("clerk").datasource("shop").direct_queries();
        let mind = mind.create().await;
        mind.rows("SELECT id FROM item").await;
        host.get("/minds/nobody").await.expect_status(404);

        let figures = Figures::read(&host).await;
        let free = figures.sum("mindhost_disk_free_bytes", &[("directory", "data")]);
        assert!(free > 0.0, "{free}");
        let plugin = [("plugin", "connector-sqlite")];
        let target = [
            ("plugin", "connector-sqlite"),
            ("target", "shop"),
            ("workspace", "default"),
        ];
        for (name, least) in [
            ("calls_total", 3.0),
            ("cpu_seconds_total", 0.000_001),
            ("call_seconds_total", 0.000_001),
            ("rows_total", 3.0),
            ("result_bytes_total", 3.0),
            ("instances_started_total", 1.0),
            ("peak_memory_bytes", 65_536.0),
        ] {
            let version = figures.sum(&format!("mindhost_plugin_{name}"), &plugin);
            assert!(version >= least, "{name}: {version}");
            let target = figures.sum(&format!("mindhost_plugin_target_{name}"), &target);
            assert!(target >= least && target <= version, "{name}: {target}");
        }
        let well = [("plugin", "connector-sqlite"), ("status", "ok")];
        assert_eq!(figures.sum("mindhost_plugin_health", &well), 1.0);
        let missed = [
            ("method", "GET"),
            ("route", "/api/v1/minds/{name}"),
            ("status", "404"),
        ];
        assert_eq!(figures.sum("mindhost_http_requests_total", &missed), 1.0);
        assert!(figures.sum("mindhost_http_request_seconds_count", &missed[..2]) >= 1.0);
        assert!(figures.sum("mindhost_instances", &[]) >= 1.0);
        assert_eq!(figures.sum("mindhost_instances_limit", &[]), 1200.0);
        assert!(figures.sum("mindhost_instance_memory_bytes", &[]) >= 65_536.0);
        assert!(figures.sum("mindhost_store_connections", &[]) >= 1.0);
    }
}

#[tokio::test]
async fn what_clients_make_up_makes_no_series() {
    let host = Host::start().await;
    for number in 0..5 {
        let method = format!("MADE{number}").parse().unwrap();
        host.request(method, &format!("/nowhere/{number}")).await;
    }
    let figures = Figures::read(&host).await;
    let made_up = [("method", "other"), ("route", "none")];
    assert_eq!(figures.sum("mindhost_http_requests_total", &made_up), 5.0);
}

#[tokio::test]
async fn failed_connection_test_leaves_no_series() {
    let host = Host::start().await;
    let database = Postgres::shared().database("CREATE TABLE t (id int)").await;
    let mut data = database.connection_data();
    data["password"] = json!("wrong");
    for name in ["ghost", "shop"] {
        let body = json!({"name": name, "engine": "postgres", "connection_data": data});
        host.post("/datasources", body)
            .await
            .expect_error(400, "connection_failed");
    }
    host.postgres("shop", &database).await;
    // A name that is taken is found after the test.
    let body = json!({"name": "shop", "engine": "postgres", "connection_data": database.connection_data()});
    host.post("/datasources", body)
        .await
        .expect_error(409, "name_taken");
    let body = json!({"name": "vendor", "plugin": "model-openai",
        "connection_data": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}});
    host.post("/providers", body)
        .await
        .expect_error(400, "connection_failed");

    let text = host.request(Method::GET, "/metrics").await.text();
    let calls = |target: &str| {
        let is_of = |line: &&str| {
            line.starts_with("mindhost_plugin_target_calls_total{")
                && line.contains(&format!("target=\"{target}\""))
        };
        text.lines().filter(is_of).count()
    };
    assert_eq!(calls("shop"), 1, "{text}");
    assert_eq!(calls("ghost"), 0, "{text}");
    assert_eq!(calls("vendor"), 0, "{text}");
}

#[tokio::test]
async fn a_listener_of_their_own_needs_no_key_and_serves_nothing_else() {
    let host = Host::builder().env("MINDHOST_METRICS__LISTEN", "127.0.0.1:0");
    let host = host.start().await;
    host.request(Method::GET, "/metrics")
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
    host.request(Method::GET, "//metrics")
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
    let url = host.metrics_url();
    let reply = reqwest::get(format!("{url}/metrics")).await.unwrap();
    assert_eq!(reply.status(), 200);
    let figures = Figures::of(&reply.text().await.unwrap()).await;
    assert!(figures.sum("mindhost_build_info", &[]) >= 1.0);
    let other = reqwest::get(format!("{url}/api/v1/engines")).await.unwrap();
    assert_eq!(other.status(), 404);
}

#[tokio::test]
async fn a_plugin_that_traps_is_to_blame_in_the_figures() {
    let host = Host::builder()
        .plugin(build::guest("hostile"))
        .start()
        .await;
    let bad = json!({"name": "bad", "engine": "hostile", "connection_data": {"mode": "trap", "at": "check"}});
    let made = host.post("/datasources?check_connection=false", bad).await;
    made.expect_status(201);
    host.get("/datasources/bad?check_connection=true")
        .await
        .expect_status(200);
    let figures = Figures::read(&host).await;
    let target = [("plugin", "guest-hostile"), ("target", "bad")];
    assert!(figures.sum("mindhost_plugin_target_traps_total", &target) >= 1.0);
    let blamed = [("target", "bad"), ("blame", "plugin")];
    assert!(figures.sum("mindhost_plugin_target_errors_total", &blamed) >= 1.0);

    host.delete("/datasources/bad").await.expect_status(204);
    let figures = Figures::read(&host).await;
    assert_eq!(
        figures.sum("mindhost_plugin_target_calls_total", &target),
        0.0
    );
    let version = [("plugin", "guest-hostile")];
    assert!(figures.sum("mindhost_plugin_traps_total", &version) >= 1.0);
}
