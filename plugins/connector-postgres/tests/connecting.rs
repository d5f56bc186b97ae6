//! Authentication, TLS, and what is said when a connection cannot be made.

#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use connector_postgres::Postgres;
use mindhost_sdk::{Config, Connector, ErrorKind, TableRef, Value};
use serde_json::{Value as Json, json};
use support::{Server, data, query, server::free_port};

fn open(changes: Json) -> Result<Postgres, ErrorKind> {
    Postgres::open(&data(changes)).map_err(|error| {
        assert!(!error.message().contains("hunter2"), "{error}");
        error.kind()
    })
}

/// Whether a connection with these properties runs over TLS.
fn is_encrypted(changes: Json) -> Result<bool, ErrorKind> {
    let mut postgres = open(changes)?;
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let (_, rows) = query(&mut postgres, sql).unwrap();
    Ok(rows == [[Value::Boolean(true)]])
}

#[test]
fn passwords_are_checked_by_every_method() {
    for (user, password) in [
        ("scram_user", "hunter2 scram"),
        ("md5_user", "hunter2 md5"),
        ("password_user", "hunter2 password"),
    ] {
        for sslmode in ["disable", "require"] {
            let try_password =
                |password| open(json!({"user": user, "password": password, "sslmode": sslmode}));
            assert!(try_password(password).is_ok(), "{user} {sslmode}");
            assert_eq!(
                try_password("hunter2 wrong").err(),
                Some(ErrorKind::Auth),
                "{user} {sslmode}"
            );
        }
        assert_eq!(
            open(json!({"user": user})).err(),
            Some(ErrorKind::Auth),
            "{user} without a password"
        );
    }
}

#[test]
fn each_sslmode_does_what_libpq_does() {
    let server = Server::shared();
    let (ca, other) = (server.pem("ca.crt"), server.pem("other.crt"));
    for (sslmode, plain_user, tls_user) in [
        ("disable", Ok(false), Err(ErrorKind::Auth)),
        ("allow", Ok(false), Ok(true)),
        ("prefer", Ok(false), Ok(true)),
        ("require", Err(ErrorKind::Auth), Ok(true)),
        // Without sslrootcert the public authorities count, and none of them has signed this certificate.
        ("verify-ca", Err(ErrorKind::Tls), Err(ErrorKind::Tls)),
        ("verify-full", Err(ErrorKind::Tls), Err(ErrorKind::Tls)),
    ] {
        let outcome = |user: &str| is_encrypted(json!({"user": user, "sslmode": sslmode}));
        assert_eq!(outcome("plain_user"), plain_user, "{sslmode}");
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
    assert_eq!(is_encrypted(json!({"sslmode": "prefer"})), Ok(true));
}

#[test]
fn the_servers_own_certificate_may_stand_in_sslrootcert() {
    let own = Server::shared().pem("server.crt");
    assert_eq!(
        is_encrypted(json!({"sslmode": "verify-full", "sslrootcert": own})),
        Ok(true)
    );
}

#[test]
fn a_client_may_show_a_certificate() {
    let server = Server::shared();
    let (certificate, key) = (server.pem("client.crt"), server.pem("client.key"));
    let user = "certified_user";
    let data = json!({"user": user, "sslmode": "require", "sslcert": certificate, "sslkey": key});
    assert_eq!(is_encrypted(data), Ok(true));
    assert_eq!(
        open(json!({"user": user, "sslmode": "require"})).err(),
        Some(ErrorKind::Auth)
    );
    let wrong =
        json!({"user": user, "sslmode": "require", "sslcert": server.pem("ca.crt"), "sslkey": key});
    assert_eq!(open(wrong).err(), Some(ErrorKind::InvalidConfig));
}

#[test]
fn what_cannot_be_connected_to_is_said_plainly() {
    for (changes, kind) in [
        (json!({"database": "nowhere"}), ErrorKind::NotFound),
        (json!({"user": "rejected_user"}), ErrorKind::Auth),
        // It listens and says why not: no stranger, and it passes.
        (json!({"user": "crowded_user"}), ErrorKind::Upstream),
        (json!({"port": free_port()}), ErrorKind::Unreachable),
        (
            json!({"sslrootcert": "no certificate", "sslmode": "require"}),
            ErrorKind::InvalidConfig,
        ),
        (json!({"sslkey": "hunter2"}), ErrorKind::InvalidConfig),
        (json!({"port": "hunter2"}), ErrorKind::InvalidConfig),
    ] {
        assert_eq!(open(changes.clone()).err(), Some(kind), "{changes}");
    }
}

#[test]
fn the_session_is_fixed_and_says_who_it_is() {
    let mut postgres = support::connect();
    for (setting, value) in [
        ("search_path", "pg_catalog, public"),
        ("default_transaction_read_only", "on"),
        ("TimeZone", "UTC"),
        ("application_name", "mindhost"),
        ("client_encoding", "UTF8"),
    ] {
        let (_, rows) = query(
            &mut postgres,
            &format!("SELECT current_setting('{setting}')"),
        )
        .unwrap();
        assert_eq!(rows, [[Value::Text(value.into())]], "{setting}");
    }
    let info = postgres.check().unwrap();
    assert_eq!(info.product, "PostgreSQL");
    assert_eq!(info.version, Server::shared().psql("SHOW server_version"));
}

#[test]
fn search_path_ends_with_the_catalog_where_characters_are_single_bytes() {
    Server::shared().psql(
        "CREATE DATABASE single_byte ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    );
    let mut postgres = open(json!({"database": "single_byte"})).unwrap();
    let (_, rows) = query(&mut postgres, "SELECT current_setting('search_path')").unwrap();
    assert_eq!(rows, [[Value::Text("pg_catalog".into())]]);
}

/// A proxy before the server that hands on who connects to which database, and drops what else a client says at its
/// start.
fn forgetful_proxy() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // The client may be the first to leave.
            let _ = forward(client);
        }
    });
    port
}

fn forward(mut client: TcpStream) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", Server::shared().port))?;
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut message)?;
    // The version, and then names and values, each with a NUL at its end.
    let (version, parameters) = message.split_at(4);
    let texts: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
    let mut handed_on = version.to_vec();
    for pair in texts.chunks_exact(2) {
        if pair[0] == b"user" || pair[0] == b"database" {
            for text in pair {
                handed_on.extend_from_slice(text);
                handed_on.push(0);
            }
        }
    }
    handed_on.push(0);
    server.write_all(&(handed_on.len() as u32 + 4).to_be_bytes())?;
    server.write_all(&handed_on)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
    std::io::copy(&mut client, &mut server)?;
    server.shutdown(Shutdown::Both)
}

#[test]
fn settings_that_a_proxy_drops_are_set_in_each_transaction() {
    Server::shared().psql(
        "CREATE ROLE far_user LOGIN; ALTER ROLE far_user SET TimeZone = 'Asia/Tokyo';
        CREATE ROLE terse_user LOGIN; ALTER ROLE terse_user SET IntervalStyle = 'iso_8601';
        ALTER ROLE terse_user SET TimeZone = 'UTC';
        CREATE ROLE german_user LOGIN; ALTER ROLE german_user SET DateStyle = 'German';
        ALTER ROLE german_user SET TimeZone = 'UTC';
        CREATE ROLE western_user LOGIN; ALTER ROLE western_user SET client_encoding = 'LATIN1';
        ALTER ROLE western_user SET TimeZone = 'UTC';
        ALTER ROLE western_user SET default_transaction_read_only = 'on';
        CREATE ROLE usual_user LOGIN; ALTER ROLE usual_user SET TimeZone = 'UTC';",
    );
    let sql = "SELECT current_setting('TimeZone'), current_setting('search_path'),
        (timestamptz '2024-01-01 00:00:00+00')::text, (interval '1 day')::text, chr(252)";
    let expected = [
        "UTC",
        "pg_catalog, public",
        "2024-01-01 00:00:00+00",
        "1 day",
        "ü",
    ];
    for user in [
        "far_user",
        "terse_user",
        "german_user",
        "western_user",
        "usual_user",
    ] {
        let changes = json!({"user": user, "port": forgetful_proxy()});
        let mut postgres = Postgres::open(&data(changes)).unwrap();
        for _ in 0..2 {
            let (_, rows) = query(&mut postgres, sql).unwrap();
            let expected = expected.map(|text| Value::Text(text.into()));
            assert_eq!(rows, [expected], "{user}");
        }
    }
}

#[test]
fn settings_of_a_role_do_not_change_what_a_statement_means() {
    Server::shared().psql(
        "CREATE ROLE odd_user LOGIN; ALTER ROLE odd_user SET transform_null_equals = 'on';
        ALTER ROLE odd_user SET array_nulls = 'off'; ALTER ROLE odd_user SET quote_all_identifiers = 'on';",
    );
    let mut postgres = Postgres::open(&data(json!({"user": "odd_user"}))).unwrap();
    let sql =
        "SELECT (1 = NULL) IS NULL, ('{NULL}'::text[])[1] IS NULL, 'pg_class'::regclass::text";
    let (_, rows) = query(&mut postgres, sql).unwrap();
    let class = Value::Text("pg_class".into());
    assert_eq!(rows, [[Value::Boolean(true), Value::Boolean(true), class]]);
}

/// A server that answers each connection with the same bytes.
fn impostor(answers: &[&[u8]]) -> Config {
    let answers: Vec<Vec<u8>> = answers.iter().map(|answer| answer.to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            for answer in &answers {
                // Whatever the client says first is enough.
                let _ = connection.read(&mut [0; 4096]);
                let _ = connection.write_all(answer);
            }
        }
    });
    let changes =
        json!({"port": port, "password": "hunter2", "sslmode": "disable", "connect_timeout": 5});
    data(changes)
}

#[test]
fn what_is_not_postgres_is_told_from_what_is() {
    const AUTHENTICATE_OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    for (answers, kind, message) in [
        (
            &[&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]][..],
            ErrorKind::Unreachable,
            "not a PostgreSQL server",
        ),
        (
            &[b"SSH-2.0-OpenSSH_9\r\n"],
            ErrorKind::Unreachable,
            "not a PostgreSQL server",
        ),
        (&[b""], ErrorKind::Unreachable, "not a PostgreSQL server"),
        (
            &[b"R\xff\xff\xff\xff"],
            ErrorKind::Unreachable,
            "not a PostgreSQL server",
        ),
        (
            &[b"E\0\0\0\x05x"],
            ErrorKind::Unreachable,
            "not a PostgreSQL server",
        ),
        // Authenticated, and then messages that break the protocol.
        (
            &[b"R\0\0\0\x08\0\0\0\0Z\x7f\xff\xff\xff"],
            ErrorKind::Upstream,
            "protocol",
        ),
        (
            &[b"R\0\0\0\x08\0\0\0\0q\0\0\0\x04"],
            ErrorKind::Upstream,
            "protocol",
        ),
        (&[AUTHENTICATE_OK], ErrorKind::ConnectionLost, "closed"),
        // Kerberos.
        (&[b"R\0\0\0\x08\0\0\0\x02"], ErrorKind::Auth, "method"),
    ] {
        let error = Postgres::open(&impostor(answers)).err().unwrap();
        assert_eq!(error.kind(), kind, "{answers:?}: {error}");
        assert!(error.message().contains(message), "{error}");
        assert!(!error.message().contains("hunter2"));
    }
}

/// A server that takes the SCRAM proof and says that all is well without giving its own.
#[test]
fn a_server_that_cannot_prove_itself_is_refused() {
    let sasl: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
    let error = Postgres::open(&impostor(&[sasl, b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"]))
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("prove"), "{error}");
}

/// A database of its own, whose `public` schema may differ.
fn database(name: &str, sql: &str) -> Postgres {
    let server = Server::shared();
    server.psql(&format!("CREATE DATABASE {name}"));
    server.psql_in(name, sql);
    Postgres::open(&data(json!({"database": name}))).unwrap()
}

fn one(postgres: &mut Postgres, sql: &str) -> Vec<Value> {
    let (_, rows) = query(postgres, sql).unwrap();
    rows.into_iter().next().unwrap()
}

#[test]
fn operators_of_extensions_are_found_in_their_schemas() {
    let sql = "CREATE EXTENSION citext; CREATE SCHEMA more; CREATE EXTENSION hstore SCHEMA more;
        CREATE TYPE mood AS ENUM ('calm'); CREATE TABLE t (e citext, h more.hstore, m mood[]);
        INSERT INTO t VALUES ('Abc', 'a=>1', '{calm}'), ('abc', 'a=>2', NULL)";
    let mut postgres = database("extended", sql);
    let sql = "SELECT pg_catalog.count(*) FROM public.t WHERE e = 'ABC' AND e IN ('aBC') AND e LIKE 'AB%'";
    assert_eq!(one(&mut postgres, sql), [Value::Int64(2)]);
    let sql = "SELECT h -> 'a' FROM public.t WHERE h -> 'a' = '2'";
    assert_eq!(one(&mut postgres, sql), [Value::Text("2".into())]);
    let path = one(&mut postgres, "SELECT current_setting('search_path')");
    assert_eq!(path, [Value::Text("pg_catalog, public, more".into())]);
    // The names of types have their schemas all the same.
    let (columns, _) = query(&mut postgres, "SELECT e, h, m FROM public.t").unwrap();
    let names: Vec<&str> = columns
        .iter()
        .map(|column| column.native_type.as_str())
        .collect();
    assert_eq!(names, ["public.citext", "more.hstore", "public.mood[]"]);
    let table = [TableRef::new("public", "t")];
    let described = postgres.describe_tables(&table).unwrap();
    let described: Vec<&str> = described[0]
        .columns
        .iter()
        .map(|column| column.native_type.as_str())
        .collect();
    assert_eq!(described, names);
}

#[test]
fn functions_of_views_and_policies_find_tables_without_a_schema() {
    let sql = "CREATE TABLE users (id int); INSERT INTO users VALUES (1), (2);
        CREATE FUNCTION n_users() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM users';
        CREATE VIEW stats AS SELECT id, n_users() AS n FROM users;
        CREATE ROLE shadowed LOGIN; CREATE SCHEMA own; CREATE TABLE own.users (id int);
        GRANT USAGE ON SCHEMA own TO shadowed; GRANT SELECT ON ALL TABLES IN SCHEMA own, public TO shadowed;
        ALTER ROLE shadowed SET search_path = own, public";
    let mut postgres = database("viewed", sql);
    let sql = "SELECT n FROM public.stats";
    assert_eq!(one(&mut postgres, sql), [Value::Int64(2)]);
    let mut postgres =
        Postgres::open(&data(json!({"database": "viewed", "user": "shadowed"}))).unwrap();
    assert_eq!(one(&mut postgres, sql), [Value::Int64(0)]);
}

#[test]
fn schema_in_which_a_built_in_could_be_shadowed_is_not_searched() {
    for (number, (sql, is_searched)) in [
        ("", true),
        ("GRANT CREATE ON SCHEMA s TO PUBLIC", false),
        ("CREATE FUNCTION s.f(s.t) RETURNS int LANGUAGE sql AS 'SELECT 1'", false),
        ("CREATE FUNCTION s.f(s.t, int DEFAULT 2) RETURNS int LANGUAGE sql AS 'SELECT 1'", false),
        ("CREATE FUNCTION s.f(VARIADIC s.t[]) RETURNS int LANGUAGE sql AS 'SELECT 1'", false),
        ("CREATE FUNCTION s.f(anyelement) RETURNS int LANGUAGE sql AS 'SELECT 1'", false),
        ("CREATE FUNCTION s.f(s.like_t) RETURNS int LANGUAGE sql AS 'SELECT 1'", false),
        ("CREATE FUNCTION s.lower(int) RETURNS int LANGUAGE sql AS 'SELECT 1'", false),
        (
            "CREATE FUNCTION s.f(s.t) RETURNS int LANGUAGE sql AS 'SELECT 1'; REVOKE EXECUTE ON FUNCTION s.f FROM PUBLIC",
            true,
        ),
        ("CREATE FUNCTION s.f(s.t, int) RETURNS int LANGUAGE sql AS 'SELECT 1'", true),
        ("CREATE FUNCTION s.f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'", true),
        ("CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", true),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("searched_{number}");
        // Its own path begins with what would stand in for all that finds the path.
        let before = format!(
            "CREATE SCHEMA s; CREATE TABLE s.t (id int); CREATE DOMAIN s.like_t AS s.t;
             CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA s TO {name};
             ALTER ROLE {name} SET search_path = s, pg_catalog; {sql}"
        );
        database(&name, &before);
        let changes = json!({"database": name, "user": name});
        let mut postgres = Postgres::open(&data(changes)).unwrap();
        let path = if is_searched { "pg_catalog, s" } else { "pg_catalog" };
        let found = one(&mut postgres, "SELECT pg_catalog.current_setting('search_path')");
        assert_eq!(found, [Value::Text(path.into())], "{sql}");
    }
}
