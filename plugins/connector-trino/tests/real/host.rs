//! A running server, and a Mind in it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::programs::{Answer, Program, ask, built, curl, folder, free_port, until};
use crate::trino::Trino;

const KEY: &str = "mdb_test_admin_key_of_the_trino_tests_0123456789";

/// A server with the plugins of the build.
pub struct Host {
    url: String,
    folder: PathBuf,
    _process: Program,
}

impl Host {
    /// Starts a server and waits until it is ready.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same with settings of its own.
    pub fn with(settings: &[(&str, &str)]) -> Self {
        let folder = folder("host");
        let port = free_port();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut process = Program::start(&built("debug/mindhost"), |command| {
            without_settings(command);
            command
                .arg("serve")
                .env("MINDHOST_LISTEN", format!("127.0.0.1:{port}"))
                .env("MINDHOST_DATA_DIR", &folder)
                .env("MINDHOST_ADMIN_KEY", KEY)
                .env("MINDHOST_PLUGINS_DIR", built("plugins"))
                .env("MINDHOST_PLUGINS__CACHE_DIR", folder.join("../compiled"))
                .env("MINDHOST_PLUGINS__COMPILE_WAIT", "10m")
                // It seals compiled plugins too, so that all hosts of a run share them.
                .env("MINDHOST_SECRETS__KEY_FILE", folder.join("../secrets.key"))
                .envs(settings.iter().copied())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .current_dir(&folder);
        });
        let url = format!("http://127.0.0.1:{port}");
        until("the server is ready", || {
            let told = fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(process.runs(), "the server ended: {told}");
            let ready = ask("GET", &format!("{url}/readyz"), &[], "")?;
            (ready.status == 200).then_some(())
        });
        Self {
            url,
            folder,
            _process: process,
        }
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn headers() -> [String; 2] {
        Self::headers_of(KEY)
    }

    fn headers_of(key: &str) -> [String; 2] {
        [
            format!("Authorization: Bearer {key}"),
            "Content-Type: application/json".into(),
        ]
    }

    pub fn get(&self, path: &str) -> Answer {
        let url = format!("{}/api/v1{path}", self.url);
        ask("GET", &url, &Self::headers(), "").expect("an answer")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let url = format!("{}/api/v1{path}", self.url);
        ask("POST", &url, &Self::headers(), &body.to_string()).expect("an answer")
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        let url = format!("{}/api/v1{path}", self.url);
        ask("PUT", &url, &Self::headers(), &body.to_string()).expect("an answer")
    }

    /// Runs a statement with another key, whatever comes of it.
    pub fn sql_as(&self, key: &str, mind: &str, sql: &str) -> Answer {
        let url = format!("{}/api/v1/responses", self.url);
        let body = query(mind, sql).to_string();
        ask("POST", &url, &Self::headers_of(key), &body).expect("an answer")
    }

    /// A request that has not been sent yet.
    pub fn posting(&self, path: &str, body: &Value) -> Command {
        let url = format!("{}/api/v1{path}", self.url);
        curl("POST", &url, &Self::headers(), &body.to_string())
    }

    /// Connects a datasource and loads its catalog, which is given.
    pub fn datasource(&self, name: &str, engine: &str, data: Value) -> Value {
        let catalog = self.catalog(name, engine, data);
        let status = &catalog["status"]["overall_status"];
        assert_eq!(status, "COMPLETED", "{catalog}");
        catalog
    }

    /// Connects a datasource and gives its catalog, whether it could be loaded or not.
    pub fn catalog(&self, name: &str, engine: &str, data: Value) -> Value {
        // A lost worker is noticed after a while, and a busy machine is slow.
        let body = json!({
            "name": name, "engine": engine, "connection_data": data, "statement_timeout": "5m"
        });
        self.post("/datasources", &body).expect(201);
        let path = format!("/datasources/{name}/catalog/refresh?wait=60");
        self.post(&path, &json!({})).expect(200)
    }

    /// Connects a new database of SQLite.
    pub fn sqlite(&self, name: &str, sql: &str) {
        let files = self.folder.join("files/default");
        fs::create_dir_all(&files).unwrap();
        let file = format!("{name}.db");
        let mut sqlite = Command::new("sqlite3");
        let made = sqlite.args([&file, sql]).current_dir(&files).status();
        assert!(made.unwrap().success(), "{sql}");
        self.datasource(name, "sqlite", json!({"path": file}));
    }

    /// Runs a statement that gives all of its rows as CSV, by a request that has not been sent yet.
    pub fn exporting(&self, mind: &str, sql: &str) -> Command {
        let path = self.stored(mind, sql);
        let url = format!("{}/api/v1{path}/export", self.url);
        curl("GET", &url, &Self::headers(), "")
    }

    /// The first page of the result of a statement, read again as a caller would later; at most 1,000 rows.
    pub fn first_page(&self, mind: &str, sql: &str) -> Value {
        let path = self.stored(mind, sql);
        self.get(&format!("{path}/result?limit=1000")).expect(200)
    }

    /// Runs a statement and gives the path of its answer.
    fn stored(&self, mind: &str, sql: &str) -> String {
        let response = self.post("/responses", &query(mind, sql)).expect(200);
        format!(
            "/conversations/{}/items/{}",
            response["conversation"]["id"].as_str().unwrap(),
            response["output"][0]["id"].as_str().unwrap()
        )
    }

    /// Makes a Mind of datasources, or of some of their tables.
    pub fn mind(&self, name: &str, datasources: &Value) {
        let parameters = json!({"allow_direct_queries": true});
        let body = json!({"name": name, "datasources": datasources, "parameters": parameters});
        self.post("/minds", &body).expect(200);
    }

    /// A server with a Mind `m` over some schemas of a catalog of Trino.
    pub fn over(trino: &Trino, catalog: &str, schemas: &[&str]) -> Self {
        let host = Self::start();
        let mut data = trino.connection_data(catalog);
        data["schemas"] = json!(schemas);
        host.datasource("lake", "trino", data);
        host.mind("m", &json!(["lake"]));
        host
    }

    /// Runs a statement, whatever comes of it.
    pub fn sql(&self, mind: &str, sql: &str) -> Answer {
        self.post("/responses", &query(mind, sql))
    }

    /// Runs a statement and gives its result, with what went to which datasource.
    pub fn explained(&self, mind: &str, sql: &str) -> Value {
        let mut body = query(mind, sql);
        body["tools"][0]["explain"] = json!(true);
        let answer = self.post("/responses", &body);
        assert_eq!(answer.status, 200, "{sql}\n{}", answer.text);
        answer.json()["output"][0].clone()
    }

    /// Runs a statement and gives its result, of at most 10,000 rows.
    pub fn query(&self, mind: &str, sql: &str) -> Value {
        let mut body = query(mind, sql);
        body["tools"][0]["max_inline_rows"] = json!(10_000);
        let answer = self.post("/responses", &body);
        assert_eq!(answer.status, 200, "{sql}\n{}", answer.text);
        answer.json()["output"][0].clone()
    }
}

/// The body of a request for a statement.
pub fn query(mind: &str, sql: &str) -> Value {
    json!({"model": mind, "tools": [{"type": "sql_query", "query": sql}]})
}

/// Runs `mindhost plugin …`, of which the last arguments are given; true with what it said if it succeeded.
pub fn plugin(data: &Value, arguments: &[&str]) -> (bool, String) {
    let folder = folder("plugin");
    let config = match arguments.first() {
        Some(&"test") => json!({"connection_data": data}),
        _ => data.clone(),
    };
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let mut command = Command::new(built("debug/mindhost"));
    without_settings(&mut command);
    let (verb, rest) = arguments.split_first().expect("a command");
    command.args(["plugin", verb, &built("plugins/connector-trino.wasm")]);
    command.args(["--config", "config.json"]).args(rest);
    let output = command.current_dir(&folder).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MINDHOST_") {
            command.env_remove(name);
        }
    }
}
