//! Connections that end. The host repeats a call that is `ConnectionLost` on a new connection, so a statement that has
//! begun must end with another error.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use connector_postgres::Postgres;
use mindhost_sdk::{BatchLimits, Config, Connector, Error, ErrorKind, Statement, Value};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use support::{LIMITS, Server, connect, data, error, query};

const SEVEN: &str = "SELECT 7 AS n";

/// The messages with which a scripted server answers one request.
type Answer = Vec<u8>;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32 + 4;
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn signed_in() -> Answer {
    [message(b'R', &[0; 4]), ready()].concat()
}

/// To `SET` or `ROLLBACK`.
fn done() -> Answer {
    [message(b'C', b"SET\0"), ready()].concat()
}

/// To the start of a connection and to the two requests that set it up.
fn set_up() -> Vec<Answer> {
    vec![signed_in(), done(), done()]
}

/// To an empty query.
fn alive() -> Answer {
    [message(b'I', b""), ready()].concat()
}

fn fatal(code: &str, text: &str) -> Answer {
    let fields = format!("SFATAL\0VFATAL\0C{code}\0M{text}\0\0");
    message(b'E', fields.as_bytes())
}

fn terminated() -> Answer {
    fatal(
        "57P01",
        "terminating connection due to administrator command",
    )
}

/// To the start of a transaction.
fn transaction() -> Answer {
    let messages = [
        message(b'1', b""),
        message(b'2', b""),
        message(b'C', b"BEGIN\0"),
    ];
    messages.concat()
}

/// To [`SEVEN`] in its transaction.
fn seven() -> Answer {
    [row_of_seven(), message(b'C', b"SELECT 1\0"), ready()].concat()
}

/// As far as its row.
fn row_of_seven() -> Answer {
    // One column: its name, no table, the type 23 of 4 bytes without a modifier, as text.
    let column = [
        &b"\0\x01n\0\0\0\0\0\0\0"[..],
        b"\0\0\0\x17",
        b"\0\x04\xff\xff\xff\xff\0\0",
    ];
    let messages = [
        transaction(),
        message(b'1', b""),
        message(b'2', b""),
        message(b'T', &column.concat()),
        message(b'D', &[0, 1, 0, 0, 0, 1, b'7']),
    ];
    messages.concat()
}

/// A server that takes one connection after the other. It gives each request of a connection the next of these answers,
/// and closes the connection after the last.
fn scripted(connections: Vec<Vec<Answer>>) -> Config {
    served(move |listener| {
        for answers in connections {
            let (mut socket, _) = listener.accept().unwrap();
            // The client may be the first to leave.
            let _ = serve(&mut socket, answers);
        }
    })
}

fn served(by: impl FnOnce(TcpListener) + Send + 'static) -> Config {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || by(listener));
    let data = json!({
        "host": "127.0.0.1", "port": port, "user": "u", "database": "d", "sslmode": "disable", "connect_timeout": 5,
    });
    Config::from_json(data.to_string())
}

fn serve(socket: &mut TcpStream, answers: Vec<Answer>) -> std::io::Result<()> {
    for (number, answer) in answers.into_iter().enumerate() {
        // The first message of a client has no tag.
        let mut tag = [b'S'];
        loop {
            if number > 0 {
                socket.read_exact(&mut tag)?;
            }
            let mut length = [0; 4];
            socket.read_exact(&mut length)?;
            socket.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])?;
            // A request is a simple query, or all up to a Sync.
            if matches!(&tag, b"Q" | b"S") {
                break;
            }
        }
        socket.write_all(&answer)?;
    }
    Ok(())
}

/// A connection whose server gives the first statement these answers. A `SET` of its timeout precedes that statement.
fn before_first(further: Vec<Answer>) -> Postgres {
    let answers = [set_up(), further].concat();
    Postgres::open(&scripted(vec![answers])).unwrap()
}

/// A connection that has run a statement, so that nothing but an empty query precedes the next.
fn before_second(further: Vec<Answer>) -> Postgres {
    let first = [set_up(), vec![done(), seven(), done()]].concat();
    let mut postgres = Postgres::open(&scripted(vec![[first, further].concat()])).unwrap();
    assert_eq!(query(&mut postgres, SEVEN).unwrap().1, [[Value::Int64(7)]]);
    postgres
}

/// A connection through a connection pool, which refuses the settings of a session.
fn pooled(further: Vec<Answer>) -> Postgres {
    let refusal = fatal("08P01", "unsupported startup parameter: TimeZone");
    // The search path is asked for once, between an empty query and the end of the transaction.
    let path = vec![
        signed_in(),
        alive(),
        [transaction(), ready()].concat(),
        done(),
    ];
    let answers = [path, further].concat();
    Postgres::open(&scripted(vec![vec![refusal], answers])).unwrap()
}

#[track_caller]
fn check(what: &str, error: &Error, kind: ErrorKind) {
    assert_eq!(error.kind(), kind, "{what}: {error}");
    assert!(!error.is_connection_usable(), "{what}");
}

#[test]
fn connection_that_ended_before_the_statement_is_lost() {
    for (what, mut postgres) in [
        ("first, silent", before_first(vec![])),
        ("first, terminated", before_first(vec![terminated()])),
        ("second, silent", before_second(vec![])),
        ("second, terminated", before_second(vec![terminated()])),
        ("pooled, silent", pooled(vec![])),
        (
            "pooled, refused",
            pooled(vec![fatal("08P01", "query_wait_timeout")]),
        ),
    ] {
        let error = error(&mut postgres, SEVEN);
        check(what, &error, ErrorKind::ConnectionLost);
    }
}

#[test]
fn statement_that_may_have_begun_is_not_repeated() {
    let started = || [transaction(), message(b'1', b"")].concat();
    for (what, mut postgres) in [
        ("first, silent", before_first(vec![done()])),
        ("first, started", before_first(vec![done(), started()])),
        (
            "first, terminated",
            before_first(vec![done(), terminated()]),
        ),
        ("second, silent", before_second(vec![alive()])),
        ("second, started", before_second(vec![alive(), started()])),
        (
            "second, terminated",
            before_second(vec![alive(), terminated()]),
        ),
        ("pooled, silent", pooled(vec![alive()])),
        (
            "pooled, crashed",
            pooled(vec![alive(), fatal("08P01", "server conn crashed?")]),
        ),
    ] {
        let error = error(&mut postgres, SEVEN);
        check(what, &error, ErrorKind::Unreachable);
    }
}

#[test]
fn catalog_statement_that_may_have_begun_is_not_repeated() {
    let lost = before_first(vec![]).check().err().unwrap();
    check("lost", &lost, ErrorKind::ConnectionLost);
    let begun = before_first(vec![done()]).check().err().unwrap();
    check("begun", &begun, ErrorKind::Unreachable);
}

/// The server closes the connection while the statement is on its way, after it has answered what precedes it.
#[test]
fn statement_that_was_not_sent_whole_is_not_repeated() {
    let long = format!("SELECT '{}' AS long", "x".repeat(32 << 20));
    let error = error(&mut before_first(vec![done()]), &long);
    check("not sent whole", &error, ErrorKind::Unreachable);
}

/// The server answers the empty query when it has read the statement too.
#[test]
fn statement_does_not_wait_for_the_empty_query() {
    let both = [alive(), seven()].concat();
    let mut postgres = before_second(vec![Vec::new(), both]);
    assert_eq!(query(&mut postgres, SEVEN).unwrap().1, [[Value::Int64(7)]]);
}

/// The time of the statement before may be up while the server sets the time of this one. The session keeps the old
/// one then, which must not end the statements of others.
#[test]
fn session_whose_timeout_could_not_be_set_is_not_used_again() {
    let fields = "SERROR\0VERROR\0C57014\0Mcanceling statement due to statement timeout\0\0";
    let refused = [message(b'E', fields.as_bytes()), ready()].concat();
    let error = error(&mut before_first(vec![refused, seven(), done()]), SEVEN);
    assert_eq!(error.engine_code(), "57014");
    assert!(!error.is_connection_usable());
}

/// A cancel request stops what the server does when it arrives. That may be the ROLLBACK behind the statement.
#[test]
fn session_whose_rollback_was_cancelled_is_not_used_again() {
    let refused = || {
        let fields = "SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0";
        [message(b'E', fields.as_bytes()), message(b'Z', b"E")].concat()
    };
    let portion = [message(b's', b""), message(b'Z', b"T")].concat();
    for (late, is_usable) in [
        ([refused(), done()].concat(), true),
        ([portion, refused()].concat(), false),
    ] {
        let config = served(move |listener| {
            let (mut socket, _) = listener.accept().unwrap();
            let answers = [set_up(), vec![done(), row_of_seven()]].concat();
            serve(&mut socket, answers).unwrap();
            let (mut canceller, _) = listener.accept().unwrap();
            canceller.read_exact(&mut [0; 16]).unwrap();
            drop(canceller);
            socket.write_all(&late).unwrap();
        });
        let mut postgres = Postgres::open(&config).unwrap();
        let mut cursor = postgres.query(&Statement::new(SEVEN)).unwrap();
        let one = BatchLimits {
            max_rows: 1,
            ..LIMITS
        };
        assert!(postgres.next(&mut cursor, one).unwrap().is_some());
        assert_eq!(postgres.close(cursor).unwrap(), is_usable);
    }
}

fn open(server: &Server) -> Postgres {
    Postgres::open(&data(json!({"port": server.port}))).unwrap()
}

fn process(postgres: &mut Postgres) -> i32 {
    let (_, rows) = query(postgres, "SELECT pg_backend_pid()").unwrap();
    match rows[0][0] {
        Value::Int64(process) => i32::try_from(process).unwrap(),
        ref other => panic!("{other:?} is no process"),
    }
}

fn wait_until_asleep(server: &Server, process: i32) {
    let asleep = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {process} AND wait_event = 'PgSleep'"
    );
    while server.psql(&asleep) == "0" {}
}

/// A process that is killed says nothing: its system closes the socket.
#[test]
fn statement_whose_backend_is_killed_is_not_repeated() {
    let server = Server::start();
    // Fresh, after a statement as text, and with a statement that is kept.
    let idle = [0, 1, 3].map(|runs| {
        let mut postgres = open(&server);
        for _ in 0..runs {
            query(&mut postgres, SEVEN).unwrap();
        }
        (runs, postgres)
    });
    let mut postgres = open(&server);
    let process = process(&mut postgres);
    let killed = thread::scope(|scope| {
        scope.spawn(|| {
            wait_until_asleep(&server, process);
            kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        });
        let opened = postgres.query(&Statement::new("SELECT pg_sleep(60)"));
        opened.err().unwrap()
    });
    check("killed", &killed, ErrorKind::Unreachable);
    server.crash();
    for (runs, mut postgres) in idle {
        let error = error(&mut postgres, SEVEN);
        let what = format!("idle after {runs} statements");
        check(&what, &error, ErrorKind::ConnectionLost);
    }
}

/// The columns are told, and the connector waits for the first rows to look up a type.
#[test]
fn statement_that_is_terminated_is_not_repeated() {
    let server = Server::shared();
    server.psql("CREATE TYPE public.feeling AS ENUM ('calm')");
    let mut postgres = connect();
    let process = process(&mut postgres);
    let terminated = thread::scope(|scope| {
        scope.spawn(|| {
            wait_until_asleep(server, process);
            server.psql(&format!("SELECT pg_terminate_backend({process}, 5000)"));
        });
        let sql = "SELECT 'calm'::public.feeling AS feeling, pg_sleep(60)::text AS nap";
        postgres.query(&Statement::new(sql)).err().unwrap()
    });
    check("terminated", &terminated, ErrorKind::Unreachable);
}
