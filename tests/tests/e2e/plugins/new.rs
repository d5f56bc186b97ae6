//! `mindhost plugin new`: for each template and language a project that builds, passes its tests, and serves.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use mindhost_tests::{Host, Process, Project, Value, expect_success, json, spawn};

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
async fn a_connector_over_tcp_in_rust() {
    let project = Project::of_template("connector-stars", "sql-tcp", "rust");
    let plugin = project.build();
    passes_the_kit(&project);
    let engine = Engine::telling(&project.path(), "{port}");
    let host = Host::builder().plugin(&plugin).start().await;
    let port: u16 = engine.told.parse().unwrap();
    let mut datasource = json!({
        "name": "space", "engine": "stars",
        "connection_data": {"host": "127.0.0.1", "port": port, "password": "open sesame"},
    });
    // The public authorities do not know the certificate of this engine.
    let untrusted = host.post("/datasources", datasource.clone()).await;
    untrusted.expect_error(400, "connection_failed");
    datasource["connection_data"]["sslmode"] = json!("require");
    let created = host.post("/datasources", datasource).await;
    created.expect_status(201);
    let mind = host
        .mind("astronomer")
        .datasource("space")
        .direct_queries()
        .create()
        .await;
    let rows = mind.rows("SELECT name, gravity FROM planets ORDER BY gravity DESC LIMIT 2");
    assert_eq!(
        rows.await,
        [
            [json!("Jupiter"), json!(23.1)],
            [json!("Neptune"), json!(11.0)],
        ]
    );
}

#[tokio::test]
async fn a_rest_scanner_in_rust() {
    rest_scanner("rust").await;
}

#[tokio::test]
async fn a_rest_scanner_in_javascript() {
    rest_scanner("javascript").await;
}

#[tokio::test]
async fn a_rest_scanner_in_typescript() {
    rest_scanner("typescript").await;
}

#[tokio::test]
async fn a_rest_scanner_in_python() {
    rest_scanner("python").await;
}

#[tokio::test]
async fn a_streaming_model_in_rust() {
    streaming_model("rust").await;
}

#[tokio::test]
async fn a_streaming_model_in_javascript() {
    streaming_model("javascript").await;
}

#[tokio::test]
async fn a_streaming_model_in_typescript() {
    streaming_model("typescript").await;
}

#[tokio::test]
async fn a_streaming_model_in_python() {
    streaming_model("python").await;
}

#[tokio::test]
async fn a_model_in_rust() {
    model(Project::new("parrot", "model", "rust")).await;
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
        "connection_data": {"url": engine.told, "api_key": "closed sesame"},
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

/// From nothing to SQL over the pages of an API that is busy at times.
async fn rest_scanner(language: &'static str) {
    let project = Project::of_template("connector-shop", "rest-scanner", language);
    let plugin = project.build();
    passes_the_kit(&project);
    let api = Engine::start(&project.path());
    let host = Host::builder().plugin(plugin).start().await;
    let mut datasource = json!({
        "name": "shop", "engine": "shop",
        "connection_data": {"url": api.told, "token": "closed sesame"},
    });
    let wrong = host.post("/datasources", datasource.clone()).await;
    wrong.expect_error(400, "connection_failed");
    datasource["connection_data"]["token"] = json!("open sesame");
    host.post("/datasources", datasource)
        .await
        .expect_status(201);
    let mind = host
        .mind("clerk")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    let rows = mind.rows(
        "SELECT status, count(*), max(orders.id) FROM orders JOIN customers ON customers.id = customer_id \
         GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(
        rows.await,
        [
            [json!("cancelled"), json!(15), json!(1059)],
            [json!("open"), json!(15), json!(1057)],
            [json!("paid"), json!(30), json!(1058)],
        ]
    );
}

/// From nothing to an answer of the project's own vendor.
async fn streaming_model(language: &'static str) {
    let project = Project::of_template("cockatoo", "streaming-model", language);
    let plugin = project.build();
    passes_the_kit(&project);
    let vendor = Engine::start(&project.path());
    let host = Host::builder().plugin(plugin).start().await;
    let provider = json!({
        "name": "parrot", "plugin": "cockatoo",
        "connection_data": {"base_url": vendor.told, "api_key": "open sesame", "model": "parrot-1"},
    });
    let text = answered_by(&host, provider).await;
    assert_eq!(text, "You said: Is anybody there?");
}

async fn model(project: Project) {
    let plugin = project.build();
    passes_the_kit(&project);
    let host = Host::builder().plugin(plugin).start().await;
    let provider =
        json!({"name": "parrot", "plugin": "parrot", "connection_data": {"greeting": "Squawk"}});
    let text = answered_by(&host, provider).await;
    assert_eq!(text, "Squawk: Is anybody there?");
}

/// What the Mind of a provider `parrot` answers.
async fn answered_by(host: &Host, provider: Value) -> Value {
    let shop = host
        .sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
        .await;
    host.post("/providers", provider).await.expect_status(201);
    let mind = json!({"name": "bird", "datasources": [shop.name], "provider": "parrot"});
    host.post("/minds", mind).await.expect_status(200);
    let question = json!({"model": "bird", "input": "Is anybody there?"});
    let answer = host
        .post("/responses", question)
        .await
        .expect_status(200)
        .json();
    answer["output"][0]["content"][0]["text"].clone()
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
    assert!(again("async").contains("Rust keyword"));
}

#[test]
fn a_template_of_another_kind_or_language_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(mindhost_tests::build::host_binary());
        command.args(["plugin", "new", "space"]).args(arguments);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(!output.status.success());
        assert!(!folder.path().join("space").exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let tcp = refused(&["--template", "sql-tcp", "--language", "python"]);
    assert!(tcp.contains("use `--language rust`"), "{tcp}");
    let kind = refused(&[
        "--kind",
        "model",
        "--template",
        "rest-scanner",
        "--language",
        "python",
    ]);
    assert!(
        kind.contains("`rest-scanner` is a template of the kind `scanner`"),
        "{kind}"
    );
    let neither = refused(&["--language", "python"]);
    assert!(neither.contains("--kind scanner"), "{neither}");
}

/// The server of a new project: the engine of a connector, the API of a scanner, the vendor of a model.
pub struct Engine {
    /// What the server puts in the place of the word.
    pub told: String,
    _process: Process,
}

impl Engine {
    /// A server that tells its URL.
    pub fn start(folder: &Path) -> Self {
        Self::telling(folder, "{url}")
    }

    fn telling(folder: &Path, word: &str) -> Self {
        // It gives its address to the command that it runs, which ends when its input does.
        let mut output = None;
        let process = spawn("python3", |command| {
            let (reader, writer) = std::io::pipe().unwrap();
            command
                .current_dir(folder)
                .stdin(Stdio::piped())
                .stdout(writer);
            command.args(["server.py", "sh", "-c", &format!("echo {word}; cat")]);
            output = Some(reader);
        });
        let mut told = String::new();
        let mut output = BufReader::new(output.unwrap());
        output.read_line(&mut told).unwrap();
        Self {
            told: told.trim().to_owned(),
            _process: process,
        }
    }
}
