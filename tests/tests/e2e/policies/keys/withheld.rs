//! What texts about tables tell a bound key: those of loads of the catalog, and those of stale knowledge.

use mindhost_tests::{Host, Value, eventually, json};

use super::{CREW, crew, key, own_rows, policy};

/// The message of a status, as the holder of the key reads it at this path.
async fn message(host: &Host, path: &str, key: &str) -> String {
    let shown = host.get(path).key(key).await.expect_status(200).json();
    let shown = match shown.get(0) {
        Some(first) => first,
        None => &shown,
    };
    let message = shown["status"]["message"].as_str();
    message.unwrap_or_else(|| panic!("{shown}")).to_owned()
}

#[tokio::test]
async fn failed_load_tells_a_bound_key_no_names() {
    let host = Host::start().await;
    let broken = format!("{CREW} CREATE VIEW broken AS SELECT bonus FROM paid;");
    host.sqlite("crew", &broken).await;
    // This loads its datasource.
    host.mind("open").datasource("crew").create().await;
    let paths = ["/datasources/crew/catalog", "/minds/open", "/minds"];
    let free = key(&host, &[]).await;
    let told = async || message(&host, paths[0], &free).await;
    eventually(told, |told| told.contains("broken")).await;
    let bound = key(&host, &[own_rows()]).await;
    for path in paths {
        let told = message(&host, path, &free).await;
        assert!(told.contains("broken"), "{path}: {told}");
        let told = message(&host, path, &bound).await;
        assert!(!told.contains("broken"), "{path}: {told}");
        assert!(told.contains("did not load everything"), "{path}: {told}");
    }
    // The policies of the Mind withhold it too, but not from those who write them.
    let hiding = policy(&json!({"hidden": ["salary"]}));
    let set = host.put("/minds/open/policies", json!({"policies": [hiding]}));
    set.await.expect_status(200);
    for path in paths {
        let told = message(&host, path, &free).await;
        assert!(!told.contains("broken"), "{path}: {told}");
        let told = message(&host, path, host.key()).await;
        assert!(told.contains("broken"), "{path}: {told}");
    }
}

#[tokio::test]
async fn reason_why_knowledge_is_stale_is_withheld_from_a_bound_key() {
    let host = crew(Host::start().await).await;
    let path = "/minds/open/knowledge";
    let metric = json!({"kind": "metric", "name": "total", "expression": "sum(s.salary)", "from": "staff s"});
    host.post(path, metric).await.expect_status(201);
    host.write_sqlite(
        "crew.db",
        "ALTER TABLE staff RENAME COLUMN salary TO wages;",
    );
    let refresh = json!({"mode": "all"});
    host.post("/datasources/crew/catalog/refresh?wait=60", refresh)
        .await
        .expect_status(200);
    let first = async |key: &str| -> Value {
        let page = host.get(path).key(key).await.expect_status(200).json();
        page["data"][0].clone()
    };
    let free = key(&host, &[]).await;
    let told = eventually(async || first(&free).await, |one| one["status"] == "stale").await;
    let reason = told["stale_reason"].as_str().unwrap();
    assert!(reason.contains("salary"), "{told}");
    let bound = key(&host, &[policy(&json!({"hidden": ["wages"]}))]).await;
    let one = format!("{path}/{}", told["id"].as_str().unwrap());
    let one = host.get(&one).key(&bound).await.expect_status(200).json();
    for told in [first(&bound).await, one] {
        assert_eq!(told["status"], "stale", "{told}");
        let reason = told["stale_reason"].as_str().unwrap();
        assert!(!reason.contains("salary"), "{told}");
        assert!(reason.contains("withheld"), "{told}");
    }
}
