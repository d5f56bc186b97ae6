//! Plugins that were built with SDKs of the past. A host that serves their version loads them for ever.

use std::{path::PathBuf, process::Command};

use mindhost_tests::{Host, build, json};

use super::new::Engine;

fn museum(version: &str) -> PathBuf {
    build::workspace_dir().join("tests/museum").join(version)
}

#[test]
fn nothing_in_the_museum_changes() {
    let folder = museum("0.1.0");
    let mut sums = Command::new("sha256sum");
    let checked = sums
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&folder)
        .output()
        .unwrap();
    mindhost_tests::expect_success(&checked, "sha256sum");
    let listed = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_wasm = name.ends_with(".wasm");
        assert!(
            !is_wasm || listed.contains(name),
            "{name} is not in SHA256SUMS"
        );
        assert!(
            !is_wasm || path.metadata().unwrap().len() <= 2 << 20,
            "{name} is too large"
        );
    }
}

#[tokio::test]
async fn connectors_of_0_1_0_serve() {
    let engine = Engine::start(&museum("0.1.0"));
    for language in ["rust", "javascript"] {
        let host = Host::builder()
            .plugin(museum("0.1.0").join(format!("connector-{language}.wasm")))
            .start()
            .await;
        let datasource = json!({
            "name": "space", "engine": language,
            "connection_data": {"url": engine.told, "api_key": "open sesame"},
        });
        host.post("/datasources", datasource)
            .await
            .expect_status(201);
        let mind = host
            .mind("astronomer")
            .datasource("space")
            .direct_queries()
            .create()
            .await;
        let rows = mind.rows(
            "SELECT name, diameter_km FROM planets WHERE gravity > 9 ORDER BY 2 DESC LIMIT 1",
        );
        assert_eq!(
            rows.await,
            [[json!("Jupiter"), json!(142_984)]],
            "{language}"
        );
    }
}

#[tokio::test]
async fn scanners_of_0_1_0_serve() {
    for language in ["rust", "javascript"] {
        let name = format!("scanner-{language}");
        let rows = std::fs::read(museum("0.1.0").join("planets.jsonl")).unwrap();
        let host = Host::builder()
            .plugin(museum("0.1.0").join(format!("{name}.wasm")))
            .file("files/default/planets.jsonl", rows)
            .start()
            .await;
        let datasource =
            json!({"name": "space", "engine": name, "connection_data": {"path": "planets.jsonl"}});
        host.post("/datasources", datasource)
            .await
            .expect_status(201);
        let mind = host
            .mind("astronomer")
            .datasource("space")
            .direct_queries()
            .create()
            .await;
        let rows = mind.rows("SELECT count(*), max(diameter_km), min(discovered) FROM planets");
        let expected = [json!(8), json!(142_984), json!("1781-03-13")];
        assert_eq!(rows.await, [expected], "{language}");
    }
}

#[tokio::test]
async fn models_of_0_1_0_serve() {
    for language in ["rust", "javascript"] {
        let name = format!("model-{language}");
        let host = Host::builder()
            .plugin(museum("0.1.0").join(format!("{name}.wasm")))
            .start()
            .await;
        let shop = host
            .sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
            .await;
        host.post("/providers", json!({"name": "parrot", "plugin": name}))
            .await
            .expect_status(201);
        let mind = json!({"name": "bird", "datasources": [shop.name], "provider": "parrot"});
        host.post("/minds", mind).await.expect_status(200);
        let question = json!({"model": "bird", "input": "Is anybody there?"});
        let answer = host
            .post("/responses", question)
            .await
            .expect_status(200)
            .json();
        assert_eq!(
            answer["output"][0]["content"][0]["text"], "You asked: Is anybody there?",
            "{language}"
        );
    }
}
