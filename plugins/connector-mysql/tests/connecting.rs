//! Authentication, TLS, and what is said when a connection cannot be made.

#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use connector_mysql::MySql;
use mindhost_sdk::{Connector, ErrorKind, Value};
use serde_json::{Value as Json, json};
use support::{Server, data, query};

fn open(changes: Json) -> Result<MySql, ErrorKind> {
    MySql::open(&data(changes)).map_err(|error| {
        assert!(!error.message().contains("hunter2"), "{error}");
        error.kind()
    })
}

/// Whether a connection with these properties runs over TLS.
fn is_encrypted(changes: Json) -> Result<bool, ErrorKind> {
    let mut mysql = open(changes)?;
    let sql = "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'SSL_CIPHER'";
    let (_, rows) = query(&mut mysql, sql).unwrap();
    Ok(rows == [[Value::Int64(1)]])
}

#[test]
fn passwords_are_checked_by_every_method() {
    for (user, password) in [
        ("native_user", "hunter2 native"),
        ("ed25519_user", "hunter2 ed25519"),
    ] {
        for sslmode in ["disable", "require"] {
            let try_password =
                |password| open(json!({"user": user, "password": password, "sslmode": sslmode}));
            assert!(try_password(password).is_ok(), "{user} {sslmode}");
            let wrong = try_password("hunter2 wrong").err();
            assert_eq!(wrong, Some(ErrorKind::Auth), "{user} {sslmode}");
        }
        let without = open(json!({"user": user})).err();
        assert_eq!(without, Some(ErrorKind::Auth), "{user} without a password");
    }
}

#[test]
fn each_sslmode_does_what_libpq_does() {
    let server = Server::shared();
    let (ca, other) = (server.pem("ca.crt"), server.pem("other.crt"));
    for (sslmode, anyone, tls_user) in [
        ("disable", Ok(false), Err(ErrorKind::Auth)),
        ("allow", Ok(false), Ok(true)),
        ("prefer", Ok(true), Ok(true)),
        ("require", Ok(true), Ok(true)),
        // Without sslrootcert the public authorities count, and none of them has signed this certificate.
        ("verify-ca", Err(ErrorKind::Tls), Err(ErrorKind::Tls)),
        ("verify-full", Err(ErrorKind::Tls), Err(ErrorKind::Tls)),
    ] {
        let outcome = |user: &str| is_encrypted(json!({"user": user, "sslmode": sslmode}));
        assert_eq!(outcome("root"), anyone, "{sslmode}");
        assert_eq!(outcome("tls_user"), tls_user, "{sslmode}");
    }
    for (sslmode, host, root, expected) in [
        ("require", "localhost", &ca, Ok(true)),
        ("require", "localhost", &other, Err(ErrorKind::Tls)),
        ("verify-ca", "127.0.0.1", &ca, Ok(true)),
        ("verify-ca", "localhost", &other, Err(ErrorKind::Tls)),
        ("verify-full", "localhost", &ca, Ok(true)),
        ("verify-full", "127.0.0.1", &ca, Err(ErrorKind::Tls)),
        // The fallback of `prefer` is the plain connection.
        ("prefer", "localhost", &other, Ok(false)),
    ] {
        let outcome = is_encrypted(json!({"host": host, "sslmode": sslmode, "sslrootcert": root}));
        assert_eq!(outcome, expected, "{sslmode} {host}");
    }
}

#[test]
fn a_client_may_show_a_certificate() {
    let server = Server::shared();
    let (certificate, key) = (server.pem("client.crt"), server.pem("client.key"));
    let user = "certified_user";
    let data = json!({"user": user, "sslmode": "require", "sslcert": certificate, "sslkey": key});
    assert_eq!(is_encrypted(data), Ok(true));
    let without = open(json!({"user": user, "sslmode": "require"})).err();
    assert_eq!(without, Some(ErrorKind::Auth));
}

#[test]
fn what_cannot_be_connected_to_is_said_plainly() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    for (changes, kind) in [
        (json!({"database": "nowhere"}), ErrorKind::NotFound),
        (json!({"user": "nobody_at_all"}), ErrorKind::Auth),
        (json!({"port": port}), ErrorKind::Unreachable),
        (json!({"port": "hunter2"}), ErrorKind::InvalidConfig),
        (json!({"sslkey": "hunter2"}), ErrorKind::InvalidConfig),
    ] {
        assert_eq!(open(changes.clone()).err(), Some(kind), "{changes}");
    }
    // There is room for one session of this account.
    let _first = open(json!({"user": "crowded_user"})).unwrap();
    let second = open(json!({"user": "crowded_user"})).err();
    assert_eq!(second, Some(ErrorKind::Upstream));
}

#[test]
fn the_session_is_fixed_and_says_who_it_is() {
    Server::shared()
        .sql("SET GLOBAL sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'");
    let mut mysql = support::connect();
    Server::shared().sql("SET GLOBAL sql_mode = DEFAULT");
    for (setting, value) in [
        ("sql_mode", ""),
        ("time_zone", "+00:00"),
        ("character_set_results", "utf8mb4"),
        ("tx_isolation", "REPEATABLE-READ"),
    ] {
        let sql = format!("SELECT @@SESSION.{setting}");
        let (_, rows) = query(&mut mysql, &sql).unwrap();
        assert_eq!(rows, [[Value::Text(value.into())]], "{setting}");
    }
    let (_, rows) = query(
        &mut mysql,
        "SELECT @@SESSION.tx_read_only, @@SESSION.autocommit",
    )
    .unwrap();
    assert_eq!(rows, [[Value::Int64(1), Value::Int64(1)]]);
    let info = mysql.check().unwrap();
    assert_eq!(info.product, "MariaDB");
    assert_eq!(info.version, Server::shared().sql("SELECT VERSION()"));
    // The snapshot of the check has ended.
    let (_, rows) = query(&mut mysql, "SELECT CAST(@@in_transaction AS SIGNED)").unwrap();
    assert_eq!(rows, [[Value::Int64(0)]]);
}

#[test]
fn limit_of_the_server_on_all_selects_does_not_cut_an_answer() {
    let server = Server::shared();
    server.sql("SET GLOBAL sql_select_limit = 2");
    let mut mysql = support::connect();
    server.sql("SET GLOBAL sql_select_limit = DEFAULT");
    let (_, rows) = query(&mut mysql, "SELECT seq FROM shop.seq_1_to_5").unwrap();
    assert_eq!(rows.len(), 5);
}
