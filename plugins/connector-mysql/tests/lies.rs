//! A server that lies: about lengths, about what comes next, about who it is. Each lie is an error, soon. And a server
//! that refuses what the connector itself asks for.

#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use connector_mysql::MySql;
use mindhost_sdk::{BatchLimits, Config, Connector, Error, ErrorKind, Result, Statement};
use serde_json::json;

const LIMITS: BatchLimits = BatchLimits {
    max_rows: 100,
    max_bytes: 1 << 20,
};
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// A packet with an honest header.
fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = (body.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend_from_slice(body);
    packet
}

/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, LONG_PASSWORD, and rows that end with EOF.
fn greeting(method: &str) -> Vec<u8> {
    let mut body = b"\x0a8.4.0-liar\0\x07\0\0\0abcdefgh\0".to_vec();
    body.extend([0x01, 0x82, 45, 2, 0, 0x08, 0x00, 21]);
    body.extend([0; 10]);
    body.extend(b"ijklmnopqrst\0");
    body.extend(method.as_bytes());
    body.push(0);
    packet(0, &body)
}

fn read_packet(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Starts a server that greets with these bytes; with the port.
fn server(first: Vec<u8>, then: impl Fn(&mut TcpStream) + Send + 'static) -> Config {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            if connection.write_all(&first).is_ok() {
                then(&mut connection);
            }
        }
    });
    let data = json!({
        "host": "127.0.0.1", "port": port, "user": "u", "password": "hunter2", "sslmode": "disable",
        "connect_timeout": 2,
    });
    Config::from_json(data.to_string())
}

/// A server that is honest until it answers a statement.
fn answering(answer: Vec<u8>) -> Config {
    server(greeting("mysql_native_password"), move |connection| {
        let mut requests = 0;
        while read_packet(connection).is_some() {
            // The login, the two settings of a session, its server, and the timeout.
            let honest = packet(if requests == 0 { 2 } else { 1 }, OK);
            let reply = if requests < 5 { &honest } else { &answer };
            requests += 1;
            if connection.write_all(reply).is_err() {
                return;
            }
        }
    })
}

/// A server that refuses the statements that begin with these words. It answers the other ones: a SELECT with one row.
fn refusing(refused: &'static str) -> Config {
    refusing_as("", refused)
}

/// The same of a server that says who it is, unless its name is empty.
fn refusing_as(name: &'static str, refused: &'static str) -> Config {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    server(greeting("mysql_native_password"), move |connection| {
        let mut is_login = true;
        while let Some(request) = read_packet(connection) {
            let statement = request.get(1..).unwrap_or_default();
            let reply = if std::mem::take(&mut is_login) {
                packet(2, OK)
            } else if statement.starts_with(refused.as_bytes()) {
                packet(1, b"\xff\xd3\x04#42000not supported")
            } else if statement.starts_with(b"SELECT CONNECTION_ID()") && !name.is_empty() {
                identity(name)
            } else if statement.starts_with(b"SELECT") {
                answer(253, &[b"\x018", eof])
            } else {
                packet(1, OK)
            };
            if connection.write_all(&reply).is_err() {
                return;
            }
        }
    })
}

fn run(config: &Config) -> Result<usize> {
    batches(&mut MySql::open(config)?)
}

/// How many batches the answer to a statement has.
fn batches(mysql: &mut MySql) -> Result<usize> {
    let mut cursor = mysql.query(&Statement {
        max_cell_bytes: 1 << 20,
        ..Statement::new("SELECT 1")
    })?;
    let mut batches = 0;
    while mysql.next(&mut cursor, LIMITS)?.is_some() {
        batches += 1;
    }
    Ok(batches)
}

fn refusal(config: &Config) -> Error {
    let error = run(config).unwrap_err();
    assert!(!error.message().contains("hunter2"));
    error
}

/// The description of one column of a type.
fn column(number: u8, charset: u8) -> Vec<u8> {
    let mut body = b"\x03def\0\0\0\x01a\0\x0c".to_vec();
    body.extend([charset, 0, 11, 0, 0, 0, number, 0, 0, 0, 0, 0]);
    body
}

/// An answer with one column and the given packets after its description.
fn answer(number: u8, rows: &[&[u8]]) -> Vec<u8> {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    let column = column(number, 45);
    let packets = [&[1], &column[..], eof]
        .into_iter()
        .chain(rows.iter().copied());
    packets
        .zip(1..)
        .flat_map(|(body, sequence)| packet(sequence, body))
        .collect()
}

/// The id of the greeting, and the name of the server that knows it.
fn identity(name: &str) -> Vec<u8> {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    let column = column(253, 45);
    let row = [b"\x017", &[name.len() as u8][..], name.as_bytes()].concat();
    let packets = [&[2], &column[..], &column[..], eof, &row[..], eof];
    packets
        .into_iter()
        .zip(1..)
        .flat_map(|(body, sequence)| packet(sequence, body))
        .collect()
}

#[test]
fn an_honest_answer_is_read() {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    assert_eq!(
        run(&answering(answer(8, &[b"\x0242", b"\xfb", eof]))).unwrap(),
        1
    );
}

/// MySQL 8.0.24 and later says why it ends an idle session, in a packet that answers nothing.
#[test]
fn session_that_the_server_ended_while_idle_is_lost_before_the_statement_runs() {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    for number in [4031_u16, 1053, 1927, 1064] {
        let body = [b"\xff", &number.to_le_bytes()[..], b"#HY000gone"].concat();
        let ended = packet(0, &body);
        let answered = answer(8, &[b"\x0242", eof]);
        let config = answering([&answered[..], &ended].concat());
        let mut mysql = MySql::open(&config).unwrap();
        assert_eq!(batches(&mut mysql).unwrap(), 1, "{number}");
        let error = batches(&mut mysql).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        assert_eq!(error.engine_code(), format!("{number} (HY000)"));
        assert_eq!(error.message(), "gone");
        assert!(!error.is_connection_usable());
        // The request before the statement was answered, so the statement may have begun, and is not repeated.
        let begun = refusal(&answering(ended));
        assert_eq!(begun.kind(), ErrorKind::Unreachable, "{begun}");
        assert!(!begun.is_connection_usable());
    }
}

#[test]
fn lies_in_an_answer_are_errors_and_end_the_connection() {
    let long = [
        &[0xfe, 255, 255, 255, 255, 255, 255, 255, 127][..],
        &[b'x'; 40],
    ]
    .concat();
    for (what, lie) in [
        ("a file is asked for", packet(1, b"\xfb/etc/passwd")),
        ("no columns", packet(1, &[0xfc, 0, 0])),
        ("a million columns", packet(1, &[0xfd, 0x40, 0x42, 0x0f])),
        (
            "endless columns",
            packet(1, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        ),
        ("an empty packet", packet(1, b"")),
        ("a wrong number", packet(7, &[1])),
        ("the number 0 without an error", packet(0, &[1])),
        ("an empty packet with the number 0", packet(0, b"")),
        (
            "an error with a wrong number",
            packet(7, b"\xff\xbf\x0f#HY000gone"),
        ),
        (
            "an error with the number 0 among rows",
            [answer(8, &[]), packet(0, b"\xff\xbf\x0f#HY000gone")].concat(),
        ),
        ("a long first packet", vec![255, 255, 255, 1, 0]),
        (
            "a cut description",
            [packet(1, &[1]), packet(2, b"\x03def\0")].concat(),
        ),
        (
            "no end of columns",
            [
                packet(1, &[1]),
                packet(2, &column(8, 45)),
                packet(3, b"\x011"),
            ]
            .concat(),
        ),
        ("a cell beyond its row", answer(8, &[b"\x0942"])),
        ("a cell beyond memory", answer(8, &[&long])),
        ("more cells than columns", answer(8, &[b"\x0142\x0142"])),
        ("letters for a number", answer(8, &[b"\x02xy"])),
        ("nine bytes of bits", answer(16, &[b"\x09123456789"])),
        ("bytes for a geometry", answer(255, &[b"\x09123456789"])),
        ("bytes for a text", answer(253, &[b"\x01\xff"])),
        (
            "a second answer",
            answer(8, &[b"\x0142", &[0xfe, 0, 0, 10, 0]]),
        ),
        ("an error without a number", packet(1, &[0xff, 1])),
        ("a decimal that is none", answer(246, &[b"\x03abc"])),
        ("a document that is none", answer(245, &[b"\x01{"])),
    ] {
        let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
        let error = refusal(&answering([lie, packet(6, eof)].concat()));
        assert_eq!(error.kind(), ErrorKind::Upstream, "{what}: {error}");
    }
}

#[test]
fn a_row_that_is_claimed_to_be_huge_is_refused_before_it_is_read() {
    // Parts without an end, each said to be 16 MiB.
    let mut lie = answer(253, &[]);
    lie.extend([255, 255, 255, 4]);
    lie.extend(vec![b'x'; 0xff_ffff]);
    lie.extend([255, 255, 255, 5]);
    let error = refusal(&answering(lie));
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(!error.is_connection_usable());
}

#[test]
fn what_is_not_mysql_is_told_from_what_is() {
    for first in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9\r\n".to_vec(),
        Vec::new(),
        vec![255, 255, 255, 0],
        packet(0, b"\x0a"),
        packet(0, b"\x09old\0"),
        packet(0, b"\x0a8.0\0"),
    ] {
        let error = refusal(&server(first.clone(), |_| {}));
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{first:?}: {error}");
    }
    let full = packet(0, b"\xff\x10\x04Too many connections");
    let error = refusal(&server(full, |_| {}));
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::Upstream, "1040 (HY000)")
    );
}

#[test]
fn a_login_cannot_be_led_astray() {
    let after_login = |answer: Vec<u8>| {
        server(greeting("mysql_native_password"), move |connection| {
            let _ = read_packet(connection);
            let _ = connection.write_all(&answer);
            let _ = read_packet(connection);
        })
    };
    let old = packet(2, b"\xfemysql_old_password\0abcdefgh\0");
    assert_eq!(refusal(&after_login(old)).kind(), ErrorKind::Auth);
    let short = packet(2, b"\xfecaching_sha2_password\0abc\0");
    assert_eq!(refusal(&after_login(short)).kind(), ErrorKind::Upstream);
    let odd = packet(2, b"\x01\x09");
    assert_eq!(refusal(&after_login(odd)).kind(), ErrorKind::Upstream);
    // It takes the login and says nothing.
    let nothing = Vec::new();
    assert_eq!(refusal(&after_login(nothing)).kind(), ErrorKind::Timeout);
    // One scramble after the other, for ever.
    let endless = server(greeting("mysql_native_password"), |connection| {
        let mut sequence = 2;
        while read_packet(connection).is_some() {
            let again = packet(
                sequence,
                b"\xfemysql_native_password\0abcdefghijklmnopqrst\0",
            );
            if connection.write_all(&again).is_err() {
                return;
            }
            sequence += 2;
        }
    });
    assert_eq!(refusal(&endless).kind(), ErrorKind::Upstream);
}

/// The error says which request of the connector's own was refused, and not that the caller's statement is wrong.
fn assert_names_the_request(error: &Error, named: &str) {
    assert_eq!(
        (error.kind(), error.engine_code()),
        (ErrorKind::Upstream, "1235 (42000)"),
        "{error}"
    );
    let expected = format!("the server refused the connector's request to {named}");
    assert!(error.message().starts_with(&expected), "{error}");
    assert!(!error.is_connection_usable());
}

#[test]
fn a_refused_setting_is_named_and_not_blamed_on_the_statement() {
    for (refused, named) in [
        ("SET NAMES", "set up the session"),
        ("SET SESSION TRANSACTION", "make the session read-only"),
        (
            "SET SESSION max_execution_time",
            "limit the time of statements",
        ),
    ] {
        assert_names_the_request(&refusal(&refusing(refused)), named);
    }
    assert!(run(&refusing("nothing")).is_ok());
}

#[test]
fn a_refused_snapshot_is_found_by_the_check() {
    for (refused, named) in [
        ("START TRANSACTION", "begin a snapshot"),
        ("ROLLBACK", "end a snapshot"),
    ] {
        let mut mysql = MySql::open(&refusing(refused)).unwrap();
        assert_names_the_request(&mysql.check().unwrap_err(), named);
    }
    let mut mysql = MySql::open(&refusing("START TRANSACTION")).unwrap();
    let begun = mysql.begin_snapshot(Duration::from_secs(60));
    let asked = begun.and_then(|_| mysql.query(&Statement::new("SELECT 1")));
    assert_names_the_request(&asked.err().unwrap(), "begin a snapshot");
    let mut mysql = MySql::open(&refusing("nothing")).unwrap();
    for _ in 0..2 {
        assert_eq!(mysql.check().unwrap().version, "8");
    }
}

#[test]
fn a_refused_kill_is_an_error() {
    let key = [1, 0, 0, 0, 7];
    let refused = MySql::cancel(&refusing("KILL"), &key).unwrap_err();
    assert_eq!(refused.engine_code(), "1235 (42000)");
    assert!(MySql::cancel(&refusing("nothing"), &key).is_ok());
}

/// A load balancer may lead to a server where the id is that of another session.
#[test]
fn a_kill_is_sent_to_no_server_but_that_of_the_statement() {
    let config = refusing_as("one", "KILL");
    let key = MySql::open(&config).unwrap().cancel_key().unwrap();
    let sent = MySql::cancel(&config, &key).unwrap_err();
    assert_eq!(sent.engine_code(), "1235 (42000)");
    for other in [refusing_as("another", "KILL"), refusing("KILL")] {
        let kept = MySql::cancel(&other, &key).unwrap_err();
        assert_eq!((kept.kind(), kept.engine_code()), (ErrorKind::Upstream, ""));
    }
}
