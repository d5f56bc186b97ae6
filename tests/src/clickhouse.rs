//! ClickHouse for the tests, twice: Debian's server, which is old, and today's engine behind an HTTP server of ours.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
    sync::LazyLock,
    time::Duration,
};

use rustix::process::{Signal, geteuid};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::{
    Process, build, client::CLIENT, eventually::found_within, free_port, process::spawn_with,
    spawn_service, sweep,
};

const USER: &str = "app";
const PASSWORD: &str = "secret of app";
/// Starting takes seconds; much longer on a machine that does much else.
const STARTUP: Duration = Duration::from_secs(120);
const INSTALL: &str = "clickhouse-server is not installed; `just setup` installs it";

/// A running ClickHouse, and how to reach it.
#[derive(Debug)]
pub struct ClickHouse {
    /// `http://127.0.0.1:…`
    pub url: String,
    _process: Process,
}

impl ClickHouse {
    /// Debian's server, version 18.16, shared by this process. Its users are `app`, and `reader` with `readonly = 1`.
    ///
    /// # Panics
    /// When it is not installed or does not start; the panic says what to do.
    pub fn old() -> &'static ClickHouse {
        static SERVER: LazyLock<ClickHouse> = LazyLock::new(start_old);
        &SERVER
    }

    /// Today's engine with a fixture, whose statements end in a line `;;`.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn new(fixture: &str) -> ClickHouse {
        let file = NamedTempFile::new().expect("a file for the fixture");
        std::fs::write(&file, fixture).expect("the fixture");
        let script = build::workspace_dir().join("tests/clients/chdb/server.py");
        // Killed, it would leave its folder.
        let mut process = spawn_service(build::chdb_python(), |command| {
            command
                .arg(script)
                .args([USER, PASSWORD])
                .arg(file.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
        });
        let output = process.output().expect("a piped output");
        let mut line = String::new();
        BufReader::new(output)
            .read_line(&mut line)
            .expect("its first line");
        let port = line.trim().strip_prefix("listening ");
        let port = port.unwrap_or_else(|| panic!("chDB did not start; it says above why: {line}"));
        ClickHouse {
            url: format!("http://127.0.0.1:{port}"),
            _process: process,
        }
    }

    /// What a datasource is made with.
    pub fn connection_data(&self) -> Value {
        json!({"url": self.url, "user": USER, "password": PASSWORD})
    }

    /// Runs a statement without the host, and gives what the server answers in a format.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn ask(&self, sql: &str, settings: &[(&str, &str)]) -> String {
        let answer = self.answer(sql, settings).await;
        answer.unwrap_or_else(|refusal| panic!("{sql}: {refusal}"))
    }

    /// As [`ask`](Self::ask); what the server says where it refuses the statement is the error.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn answer(&self, sql: &str, settings: &[(&str, &str)]) -> Result<String, String> {
        let request = CLIENT
            .post(&self.url)
            .query(settings)
            .header("x-clickhouse-user", USER)
            .header("x-clickhouse-key", PASSWORD)
            .body(sql.to_owned());
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        match status.is_success() {
            true => Ok(text),
            false => Err(text),
        }
    }

    /// Runs each of several statements, which end in lines `;;`.
    pub async fn run(&self, statements: &str) {
        for statement in statements
            .split("\n;;")
            .filter(|text| !text.trim().is_empty())
        {
            self.ask(statement, &[]).await;
        }
    }
}

fn start_old() -> ClickHouse {
    let program = Path::new("/usr/sbin/clickhouse-server");
    assert!(program.exists(), "{INSTALL}");
    let folder = sweep::own_folder("mindhost-clickhouse");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("tmp")).expect("a folder for ClickHouse");
    let (http, tcp) = (free_port(), free_port());
    let path = folder.display();
    let config = format!(
        "<yandex><logger><level>warning</level><log>{path}/log</log><errorlog>{path}/errors</errorlog></logger>\
         <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>\
         <path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path><users_config>users.xml</users_config>\
         <default_profile>default</default_profile><default_database>default</default_database>\
         <mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone></yandex>"
    );
    std::fs::write(folder.join("config.xml"), config).expect("the configuration");
    std::fs::write(folder.join("users.xml"), users()).expect("the users");
    // It refuses nothing as root, but the tests should not give it more than it needs.
    let privileges: &[&str] = match geteuid().is_root() {
        true => {
            std::os::unix::fs::chown(&folder, Some(65534), Some(65534))
                .expect("a folder of nobody");
            std::os::unix::fs::chown(folder.join("tmp"), Some(65534), Some(65534))
                .expect("the same");
            &[
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                "--pdeathsig",
                "KILL",
            ]
        }
        false => &["--pdeathsig", "KILL"],
    };
    let mut process = spawn_with(privileges, Signal::TERM, program, |command| {
        command
            .arg(format!("--config-file={path}/config.xml"))
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
    });
    let ready = found_within(STARTUP, || {
        let log = || std::fs::read_to_string(folder.join("errors")).unwrap_or_default();
        assert!(
            process.ended().is_none(),
            "ClickHouse did not start:\n{}",
            log()
        );
        std::net::TcpStream::connect(("127.0.0.1", http)).ok()
    });
    assert!(ready.is_some(), "ClickHouse is not ready after {STARTUP:?}");
    ClickHouse {
        url: format!("http://127.0.0.1:{http}"),
        _process: process,
    }
}

fn users() -> String {
    let mut users = String::new();
    for (name, profile) in [(USER, "default"), ("reader", "reader")] {
        // Writing into a string cannot fail.
        _ = write!(
            users,
            "<{name}><password>secret of {name}</password><networks><ip>127.0.0.1</ip></networks>\
             <profile>{profile}</profile><quota>default</quota></{name}>"
        );
    }
    format!(
        "<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage>\
         <empty_result_for_aggregation_by_empty_set>1</empty_result_for_aggregation_by_empty_set></default>\
         <reader><readonly>1</readonly></reader></profiles><users><default><password>unused</password>\
         <networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>\
         {users}</users>\
         <quotas><default></default></quotas></yandex>"
    )
}
