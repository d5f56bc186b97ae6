//! `mindhost plugin new`: for each kind and language a project that builds, passes its tests, and serves.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use mindhost_tests::{Host, Process, Project, expect_success, json, spawn};

#[tokio::test]
async fn a_connector_in_rust() {
    connector("rust").await;
}

#[tokio::test]
async fn a_connector_in_javascript() {
    connector("javascript").await;
}

#[tokio::test]
async fn a_connector_in_typescript() {
    connector("typescript").await;
}

#[tokio::test]
async fn a_connector_in_python() {
    connector("python").await;
}

#[tokio::test]
async fn a_scanner_in_rust() {
    scanner("rust").await;
}

#[tokio::test]
async fn a_scanner_in_javascript() {
    scanner("javascript").await;
}

#[tokio::test]
async fn a_scanner_in_typescript() {
    scanner("typescript").await;
}

#[tokio::test]
async fn a_scanner_in_python() {
    scanner("python").await;
}

#[tokio::test]
async fn a_model_in_rust() {
    model(Project::on_packaged_sdk("parrot", "model")).await;
}

#[tokio::test]
async fn a_model_in_javascript() {
    model(Project::new("parrot", "model", "javascript")).await;
}

#[tokio::test]
async fn a_model_in_typescript() {
    model(Project::new("parrot", "model", "typescript")).await;
}

#[tokio::test]
async fn a_model_in_python() {
    model(Project::new("parrot", "model", "python")).await;
}

/// From nothing to an answer of the project's own engine.
async fn connector(language: &'static str) {
    let project = Project::new("connector-space", "connector", language);
    let plugin = project.build();
    passes_the_kit(&project);
    let engine = Engine::start(&project.path());
    let host = Host::builder().plugin(&plugin).start().await;
    let mut datasource = json!({
        "name": "space", "engine": "space",
        "connection_data": {"url": engine.url, "api_key": "closed sesame"},
    });
    let wrong = host.post("/datasources", datasource.clone()).await;
    wrong.expect_error(400, "connection_failed");
    datasource["connection_data"]["api_key"] = json!("open sesame");
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
        "SELECT planets.name, count(*) AS moons FROM planets JOIN moons ON planet = planets.name GROUP BY 1 ORDER BY 2 DESC, 1",
    );
    assert_eq!(
        rows.await,
        [
            [json!("Mars"), json!(2)],
            [json!("Earth"), json!(1)],
            [json!("Jupiter"), json!(1)],
        ]
    );
}

/// From nothing to SQL over a file of rows.
async fn scanner(language: &'static str) {
    let project = Project::new("connector-space", "scanner", language);
    let rows = std::fs::read(project.path().join("planets.jsonl")).unwrap();
    let plugin = project.build();
    passes_the_kit(&project);
    let host = Host::builder()
        .plugin(plugin)
        .file("files/default/planets.jsonl", rows)
        .start()
        .await;
    let datasource =
        json!({"name": "space", "engine": "space", "connection_data": {"path": "planets.jsonl"}});
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
        "SELECT gravity > 9 AS heavy, count(*), min(discovered) FROM planets GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(
        rows.await,
        [
            [json!(false), json!(5), json!("1781-03-13")],
            [json!(true), json!(3), json!("1846-09-23")],
        ]
    );
}

async fn model(project: Project) {
    let plugin = project.build();
    passes_the_kit(&project);
    let host = Host::builder().plugin(plugin).start().await;
    let shop = host
        .sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
        .await;
    let provider =
        json!({"name": "parrot", "plugin": "parrot", "connection_data": {"greeting": "Squawk"}});
    host.post("/providers", provider).await.expect_status(201);
    let mind = json!({"name": "bird", "datasources": [shop.name], "provider": "parrot"});
    host.post("/minds", mind).await.expect_status(200);
    let question = json!({"model": "bird", "input": "Is anybody there?"});
    let answer = host
        .post("/responses", question)
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        answer["output"][0]["content"][0]["text"],
        "Squawk: Is anybody there?"
    );
}

/// The whole of it, with the project as it was written.
#[track_caller]
fn passes_the_kit(project: &Project) {
    let tested = project.script("test.sh").output().unwrap();
    expect_success(&tested, "the conformance kit");
}

#[test]
fn a_folder_that_is_there_and_a_name_that_cannot_be_are_refused() {
    let project = Project::new("space", "model", "javascript");
    let again = |name: &str| {
        let mut command = Command::new(mindhost_tests::build::host_binary());
        command.args([
            "plugin",
            "new",
            name,
            "--kind",
            "model",
            "--language",
            "python",
        ]);
        let output = command
            .current_dir(project.path().join(".."))
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(again("space").contains("choose a folder that does not exist yet"));
    assert!(project.path().join("plugin.js").exists());
    assert!(!project.path().join("plugin.py").exists());
    assert!(again("../space").contains("cannot be the name of a plugin"));
    assert!(again("async").contains("word of Rust"));
}

/// The engine of a new connector's project.
pub struct Engine {
    pub url: String,
    _process: Process,
}

impl Engine {
    pub fn start(folder: &Path) -> Self {
        // It gives its address to the command that it runs, which ends when its input does.
        let mut output = None;
        let process = spawn("python3", |command| {
            let (reader, writer) = std::io::pipe().unwrap();
            command
                .current_dir(folder)
                .stdin(Stdio::piped())
                .stdout(writer);
            command.args(["server.py", "sh", "-c", "echo {url}; cat"]);
            output = Some(reader);
        });
        let mut url = String::new();
        BufReader::new(output.unwrap()).read_line(&mut url).unwrap();
        Self {
            url: url.trim().to_owned(),
            _process: process,
        }
    }
}
