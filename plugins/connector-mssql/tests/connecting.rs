//! Ways in: TLS in every form, logins, and what is said when there is none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

mod support;

use connector_mssql::Mssql;
use mindhost_sdk::{Connector, Error, ErrorKind, Value};
use serde_json::{Value as Json, json};
use support::{SHOP, data, value};
use tds_double::{Double, Encryption, Options, PASSWORD};

fn double(encryption: Encryption) -> Double {
    let options = Options {
        encryption,
        ..Options::default()
    };
    Double::with(SHOP, options)
}

fn open(double: &Double, changes: Json) -> Result<Value, Error> {
    let mut mssql = Mssql::open(&data(double, changes))?;
    Ok(value(&mut mssql, "SELECT name FROM dbo.item WHERE id = 1"))
}

fn refused(double: &Double, changes: Json, kind: ErrorKind, word: &str) {
    let error = open(double, changes.clone()).expect_err(&changes.to_string());
    assert_eq!(error.kind(), kind, "{changes}: {error}");
    assert!(error.message().contains(word), "{changes}: {error}");
    assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
}

#[test]
fn every_sslmode_reaches_the_servers_that_it_can() {
    let tea = Value::Text("tea".into());
    for (encryption, modes) in [
        (Encryption::None, &["disable", "allow", "prefer"][..]),
        (
            Encryption::Optional,
            &["disable", "allow", "prefer", "require"],
        ),
        (Encryption::Required, &["allow", "prefer", "require"]),
    ] {
        let double = double(encryption);
        for mode in modes {
            let found = open(&double, json!({"sslmode": mode}));
            assert_eq!(found.as_ref(), Ok(&tea), "{encryption:?} {mode}");
        }
        for mode in ["verify-ca", "verify-full"] {
            let changes = json!({"sslmode": mode, "sslrootcert": double.authority()});
            assert_eq!(
                open(&double, changes).is_ok(),
                encryption != Encryption::None,
                "{mode}"
            );
        }
    }
}

#[test]
fn a_server_that_cannot_do_what_sslmode_asks_for_is_refused() {
    let none = double(Encryption::None);
    refused(
        &none,
        json!({"sslmode": "require"}),
        ErrorKind::Tls,
        "does not offer TLS",
    );
    let required = double(Encryption::Required);
    refused(
        &required,
        json!({"sslmode": "disable"}),
        ErrorKind::Tls,
        "requires TLS",
    );
}

#[test]
fn a_certificate_of_another_authority_or_name_is_refused() {
    let (double, other) = (double(Encryption::Optional), double(Encryption::Optional));
    let changes = json!({"sslmode": "verify-full", "sslrootcert": other.authority()});
    refused(&double, changes, ErrorKind::Tls, "");
    let by_address =
        json!({"sslmode": "verify-full", "host": "127.0.0.1", "sslrootcert": double.authority()});
    refused(&double, by_address, ErrorKind::Tls, "host name");
    let by_address =
        json!({"sslmode": "verify-ca", "host": "127.0.0.1", "sslrootcert": double.authority()});
    assert!(open(&double, by_address).is_ok());
}

#[test]
fn strict_is_tls_from_the_first_byte_with_a_checked_certificate() {
    let strict = double(Encryption::Strict);
    let changes = json!({"strict": true, "sslrootcert": strict.authority()});
    assert_eq!(open(&strict, changes), Ok(Value::Text("tea".into())));
    refused(
        &strict,
        json!({"strict": true}),
        ErrorKind::Tls,
        "authority",
    );
    // A server that speaks TDS 7 does not know what this is.
    let seven = double(Encryption::Optional);
    let changes = json!({"strict": true, "sslrootcert": seven.authority(), "connect_timeout": 5});
    assert!(open(&seven, changes).is_err());
}

#[test]
fn a_wrong_login_is_auth_and_a_wrong_database_is_not_found() {
    let double = double(Encryption::Optional);
    refused(
        &double,
        json!({"password": "wrong"}),
        ErrorKind::Auth,
        "Login failed",
    );
    refused(
        &double,
        json!({"user": "nobody"}),
        ErrorKind::Auth,
        "Login failed",
    );
    refused(
        &double,
        json!({"database": "other"}),
        ErrorKind::NotFound,
        "Cannot open database",
    );
}

#[test]
fn a_server_without_sql_logins_says_so() {
    let options = Options {
        federation_only: true,
        ..Options::default()
    };
    let double = Double::with(SHOP, options);
    refused(&double, json!({}), ErrorKind::Auth, "Microsoft Entra");
}

#[test]
fn a_server_that_routes_readers_elsewhere_is_an_error_that_says_what_to_set() {
    let options = Options {
        route: Some(("replica".into(), 1433)),
        ..Options::default()
    };
    let double = Double::with(SHOP, options);
    refused(
        &double,
        json!({}),
        ErrorKind::InvalidConfig,
        "application_intent",
    );
    assert!(open(&double, json!({"application_intent": "read-write"})).is_ok());
}

#[test]
fn a_closed_port_and_another_protocol_are_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let double = double(Encryption::Optional);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            use std::io::Write;
            let _ = socket.unwrap().write_all(b"220 mail.example.com ESMTP\r\n");
        }
    });
    refused(
        &double,
        json!({"port": port}),
        ErrorKind::Unreachable,
        "not a SQL Server",
    );
    refused(
        &double,
        json!({"port": 1}),
        ErrorKind::Unreachable,
        "refused",
    );
}
