//! `caching_sha2_password` in full, against a server that speaks it (`tests/caching_sha2`): MariaDB does not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "tests"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use connector_mysql::MySql;
use mindhost_sdk::{Config, Connector, ErrorKind, Result};
use serde_json::{Value as Json, json};

/// The server of one test: what it keeps of earlier logins decides how later ones go.
struct Double {
    process: Child,
    port: u16,
    key: String,
}

impl Double {
    fn start() -> Self {
        let mut process = Command::new(program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the double is compiled by `just setup`");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        let lines = lines
            .map(Result::unwrap)
            .take_while(|line| !line.is_empty());
        let key = lines.fold(String::new(), |key, line| key + &line + "\n");
        Self { process, port, key }
    }

    fn open(&self, changes: Json) -> Result<MySql, ErrorKind> {
        let mut data = json!({"host": "127.0.0.1", "port": self.port, "user": "sha2_user", "password": "hunter2 sha2"});
        data.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        MySql::open(&Config::from_json(data.to_string())).map_err(|error| {
            assert!(!error.message().contains("hunter2"), "{error}");
            error.kind()
        })
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In the target folder, beside the folder of this test's profile.
fn program() -> std::path::PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).map(Path::to_owned).unwrap();
    target.join("go_mysql/caching_sha2")
}

#[test]
fn the_first_login_is_full_and_the_next_one_fast() {
    for sslmode in ["disable", "require"] {
        let double = Double::start();
        let login = |password: &str| double.open(json!({"sslmode": sslmode, "password": password}));
        assert_eq!(
            login("hunter2 wrong").err(),
            Some(ErrorKind::Auth),
            "{sslmode}"
        );
        // This machine's own server may learn the password; without TLS by a key that it sends.
        let mut full = login("hunter2 sha2").expect(sslmode);
        assert_eq!(full.check().unwrap().product, "MySQL");
        assert!(login("hunter2 sha2").is_ok(), "{sslmode} again");
        assert_eq!(
            login("hunter2 wrong").err(),
            Some(ErrorKind::Auth),
            "{sslmode} again"
        );
    }
}

#[test]
fn a_key_from_the_configuration_needs_no_trust_in_the_network() {
    let double = Double::start();
    let with_key = |key: &str| double.open(json!({"sslmode": "disable", "server_public_key": key}));
    assert_eq!(with_key("no key").err(), Some(ErrorKind::InvalidConfig));
    assert!(with_key(&double.key).is_ok());
}

#[test]
fn an_account_without_a_password_needs_none() {
    let double = Double::start();
    let login = |password: Json| double.open(json!({"user": "empty_user", "password": password}));
    assert!(login(Json::Null).is_ok());
}
