//! A server that lies: whatever it sends is an error of its own, and never a trap.
//!
//! The good messages are those that MS-TDS publishes as examples, and some after its rules, written here once more and
//! by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use connector_mssql::Mssql;
use mindhost_sdk::{Config, Connector, Error, ErrorKind, Statement, Value, testing};
use proptest::prelude::*;

/// The answer to PRELOGIN of MS-TDS, section 4: no encryption.
const PRELOGIN: &[u8] = &[
    0x00, 0x00, 0x1A, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01, 0x02, 0x00, 0x21, 0x00, 0x01, 0x03,
    0x00, 0x22, 0x00, 0x00, 0x04, 0x00, 0x22, 0x00, 0x01, 0xFF, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00,
];
/// MS-TDS, section 4.4: the answer to a login, from a server of TDS 7.2.
const LOGIN_RESPONSE: &str = "
    04 01 01 61 00 00 01 00 E3 1B 00 01 06 6D 00 61 00 73 00 74 00 65 00 72 00 06 6D 00 61 00 73 00
    74 00 65 00 72 00 AB 58 00 45 16 00 00 02 00 25 00 43 00 68 00 61 00 6E 00 67 00 65 00 64 00 20
    00 64 00 61 00 74 00 61 00 62 00 61 00 73 00 65 00 20 00 63 00 6F 00 6E 00 74 00 65 00 78 00 74
    00 20 00 74 00 6F 00 20 00 27 00 6D 00 61 00 73 00 74 00 65 00 72 00 27 00 2E 00 00 00 00 00 00
    00 E3 08 00 07 05 09 04 D0 00 34 00 E3 17 00 02 0A 75 00 73 00 5F 00 65 00 6E 00 67 00 6C 00 69
    00 73 00 68 00 00 E3 13 00 04 04 34 00 30 00 39 00 36 00 04 34 00 30 00 39 00 36 00 AB 5C 00 47
    16 00 00 01 00 27 00 43 00 68 00 61 00 6E 00 67 00 65 00 64 00 20 00 6C 00 61 00 6E 00 67 00 75
    00 61 00 67 00 65 00 20 00 73 00 65 00 74 00 74 00 69 00 6E 00 67 00 20 00 74 00 6F 00 20 00 75
    00 73 00 5F 00 65 00 6E 00 67 00 6C 00 69 00 73 00 68 00 2E 00 00 00 00 00 00 00 AD 36 00 01 72
    09 00 02 16 4D 00 69 00 63 00 72 00 6F 00 73 00 6F 00 66 00 74 00 20 00 53 00 51 00 4C 00 20 00
    53 00 65 00 72 00 76 00 65 00 72 00 00 00 00 00 00 00 00 00 FD 00 00 00 00 00 00 00 00 00 00 00
    00";
/// MS-TDS, section 4.7: the answer to `select 'foo' as 'bar'`.
const BATCH_RESPONSE: &str = "
    04 01 00 33 00 00 01 00 81 01 00 00 00 00 00 20 00 A7 03 00 09 04 D0 00 34 03 62 00 61 00 72 00
    D1 03 00 66 6F 6F FD 10 00 C1 00 01 00 00 00 00 00 00 00";
/// MS-TDS, section 4.9: the answer to a call of a procedure.
const RPC_RESPONSE: &str = "
    04 01 00 27 00 00 01 00 FF 11 00 C1 00 01 00 00 00 00 00 00 00 79 00 00 00 00 FE 00 00 E0 00 00
    00 00 00 00 00 00 00";
/// DONE, final, without a count.
const DONE: &[u8] = &[0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// LOGINACK of "Microsoft SQL Server" 16, with what comes around it.
fn login() -> Vec<u8> {
    let name: Vec<u8> = "Microsoft SQL Server"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut message = vec![
        // ENVCHANGE: the database is now "AB".
        0xE3, 0x07, 0x00, 0x01, 0x02, 0x41, 0x00, 0x42, 0x00, 0x00,
        // INFO 5701, state 2, class 0, "x", server "s", no procedure, line 1.
        0xAB, 0x12, 0x00, 0x45, 0x16, 0, 0, 2, 0, 1, 0, b'x', 0, 1, b's', 0, 0, 1, 0, 0, 0,
    ];
    message.extend([0xAD, 10 + name.len() as u8, 0, 1, 0x74, 0, 0, 4, 20]);
    message.extend(name);
    message.extend([16, 0, 4, 0x1C]);
    message.extend(DONE);
    message
}

/// COLMETADATA of one column `n` of type int, and a ROW with 7.
fn seven() -> Vec<u8> {
    let mut message = vec![
        0x81, 1, 0, 0, 0, 0, 0, 0x09, 0, 0x26, 4, 1, b'n', 0, 0xD1, 4, 7, 0, 0, 0,
    ];
    message.extend([0xFF, 0x11, 0, 0xC1, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    message.extend([0x79, 0, 0, 0, 0]);
    message.extend(DONE);
    message
}

/// The bytes of an example.
fn bytes(hex: &str) -> Vec<u8> {
    let bytes = hex.split_whitespace();
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

fn packet(status: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = ((payload.len() + 8) as u16).to_be_bytes();
    [&[4, status, high, low, 0, 51, 1, 0][..], payload].concat()
}

/// Answers one connection: request after request with these messages, then ends it.
fn liar(messages: Vec<Vec<u8>>) -> Config {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        for message in messages {
            let mut header = [0; 8];
            if socket.read_exact(&mut header).is_err() {
                return;
            }
            let length = usize::from(u16::from_be_bytes([header[2], header[3]])) - 8;
            if socket.read_exact(&mut vec![0; length]).is_err()
                || socket.write_all(&message).is_err()
            {
                return;
            }
        }
    });
    Config::from_json(format!(
        r#"{{"host": "localhost", "port": {port}, "user": "u", "password": "p", "database": "d",
            "sslmode": "disable", "connect_timeout": 5}}"#
    ))
}

/// The answers that make a connection, and then these.
fn opened(further: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let connecting = [packet(1, PRELOGIN), packet(1, &login()), packet(1, DONE)];
    connecting.into_iter().chain(further).collect()
}

/// The answer to `SELECT 7 AS n` from a server that answers it with these packets.
fn answered(packets: Vec<u8>) -> Result<Vec<Vec<Value>>, Error> {
    rows(&mut Mssql::open(&liar(opened([packets])))?)
}

/// What the second statement comes to, if the server answers the first and then sends these messages.
fn second(further: impl IntoIterator<Item = Vec<u8>>) -> Error {
    let first = packet(1, &seven());
    let config = liar(opened([first].into_iter().chain(further)));
    let mut mssql = Mssql::open(&config).unwrap();
    assert_eq!(rows(&mut mssql), Ok(vec![vec![Value::Int64(7)]]));
    rows(&mut mssql).unwrap_err()
}

/// ERROR 596, class 21, "x": the session was ended by `KILL`.
fn killed() -> Vec<u8> {
    let mut message = vec![0xAA, 16, 0, 0x54, 0x02, 0, 0, 1, 21, 1, 0, b'x', 0];
    message.extend([0, 0, 1, 0, 0, 0]);
    message.extend(DONE);
    packet(1, &message)
}

/// ERROR 208, class 16, "x".
fn refusal() -> Vec<u8> {
    let mut message = vec![0xAA, 16, 0, 208, 0, 0, 0, 1, 16, 1, 0, b'x', 0];
    message.extend([0, 0, 1, 0, 0, 0]);
    message
}

/// The rows of a statement.
fn rows(mssql: &mut Mssql) -> Result<Vec<Vec<Value>>, Error> {
    rows_within(mssql, Duration::from_secs(5))
}

/// The rows of a statement that may take so long.
fn rows_within(mssql: &mut Mssql, timeout: Duration) -> Result<Vec<Vec<Value>>, Error> {
    let statement = Statement {
        timeout,
        ..Statement::new("SELECT 7 AS n")
    };
    let mut cursor = mssql.query(&statement)?;
    let columns = mssql.schema(&mut cursor)?;
    let mut rows = Vec::new();
    let limits = mindhost_sdk::BatchLimits {
        max_rows: 100,
        max_bytes: 1 << 20,
    };
    while let Some(batch) = mssql.next(&mut cursor, limits)? {
        rows.extend(testing::rows(&batch, &columns).unwrap());
        if rows.len() > 1000 {
            break;
        }
    }
    Ok(rows)
}

#[test]
fn the_examples_of_the_specification_are_understood() {
    let config = liar(vec![
        packet(1, PRELOGIN),
        bytes(LOGIN_RESPONSE),
        bytes(RPC_RESPONSE),
        bytes(BATCH_RESPONSE),
        bytes(BATCH_RESPONSE),
    ]);
    let mut mssql = Mssql::open(&config).unwrap();
    let server = mssql.check().unwrap();
    assert_eq!(
        (server.product.as_str(), server.version.as_str()),
        ("Microsoft SQL Server", "0.0.0")
    );
    assert_eq!(rows(&mut mssql), Ok(vec![vec![Value::Text("foo".into())]]));
}

#[test]
fn a_good_answer_is_understood() {
    assert_eq!(
        answered(packet(1, &seven())),
        Ok(vec![vec![Value::Int64(7)]])
    );
}

#[test]
fn a_message_may_be_cut_anywhere_into_packets() {
    let message = seven();
    for cut in 1..message.len() {
        let packets = [packet(0, &message[..cut]), packet(1, &message[cut..])].concat();
        assert_eq!(answered(packets), Ok(vec![vec![Value::Int64(7)]]), "{cut}");
    }
}

#[test]
fn what_no_server_may_send_is_an_error_of_the_server() {
    let with = |at: usize, byte: u8| {
        let mut message = seven();
        message[at] = byte;
        packet(1, &message)
    };
    let metadata = |kind: &[u8]| {
        let mut message = vec![0x81, 1, 0, 0, 0, 0, 0, 0x09, 0];
        message.extend(kind);
        message.extend([1, b'n', 0, 0xD1]);
        message.extend([0xFF; 64]);
        packet(1, &message)
    };
    for (what, packets) in [
        ("an unknown token", with(0, 0x42)),
        ("an unknown type", with(9, 0x99)),
        ("an integer of three bytes", with(10, 3)),
        ("a value of nine bytes", with(15, 9)),
        ("5,000 columns", packet(1, &[0x81, 0x88, 0x13])),
        ("a row without columns", packet(1, &[0xD1, 1])),
        ("a decimal of 200 digits", metadata(&[0x6A, 17, 200, 1])),
        ("a scale above the precision", metadata(&[0x6A, 17, 5, 9])),
        ("a time with nine digits", metadata(&[0x29, 9])),
        ("a variant of nonsense", metadata(&[0x62, 9, 0, 0, 0])),
        (
            "a packet of another type",
            [&[3, 1, 0, 9, 0, 0, 0, 0][..], &[0]].concat(),
        ),
        (
            "a packet shorter than its header",
            vec![4, 1, 0, 3, 0, 0, 0, 0],
        ),
        (
            "an error longer than it says",
            packet(1, &[0xAA, 4, 0, 1, 0, 0, 0]),
        ),
        ("half a message", packet(1, &seven()[..16])),
        (
            "a feature list without an end",
            packet(1, &[0xAE, 1, 0xFF, 0xFF, 0xFF, 0x7F]),
        ),
        (
            "a packet size of 3",
            packet(1, &[0xE3, 5, 0, 4, 1, b'3', 0, 0]),
        ),
        ("a login in the middle", packet(1, &login())),
    ] {
        let error = answered(packets).expect_err(what);
        assert!(
            matches!(error.kind(), ErrorKind::Upstream | ErrorKind::TooLarge),
            "{what}: {error:?}"
        );
        assert!(
            !error.is_connection_usable() || error.kind() == ErrorKind::TooLarge,
            "{what}"
        );
    }
}

/// SQL Server sends the reason first. An answer without it has rows that are not all, or none.
#[test]
fn statement_that_failed_without_a_reason_is_an_error() {
    let row = seven().len() - DONE.len() - 13 - 5;
    for token in [0xFD, 0xFE, 0xFF] {
        // DONE_ERROR and DONE_SRVERROR, also with a number of rows, and before another DONE.
        for status in [0x02_u16, 0x100, 0x12, 0x03, 0x101] {
            let mut failed = vec![token];
            failed.extend(status.to_le_bytes());
            failed.extend([0; 10]);
            for before in [&seven()[..row], &[]] {
                let message = [before, &failed, DONE].concat();
                let error = answered(packet(1, &message)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Upstream, "{token} {status}");
                assert!(!error.is_connection_usable(), "{token} {status}");
                let message = [before, &refusal(), &failed, DONE].concat();
                let error = answered(packet(1, &message)).unwrap_err();
                assert_eq!(error.engine_code(), "208", "{token} {status}");
                assert!(error.is_connection_usable(), "{token} {status}");
            }
            let login = [&login()[..login().len() - DONE.len()], &failed].concat();
            let config = liar(vec![packet(1, PRELOGIN), packet(1, &login)]);
            let error = Mssql::open(&config).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{token} {status}");
        }
    }
}

/// A deadline may pass while a packet trickles in. The attention then reads the rest of that packet first.
#[test]
fn timeout_within_a_packet_keeps_the_connection() {
    let packets = [packet(0, &seven()[..25]), packet(1, &seven()[25..])].concat();
    let stopped = packet(1, &[0xFD, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Within the first header, behind it, within the columns, before and within the row; the same of the second packet.
    for cut in [0, 4, 8, 15, 22, 30, 33, 37, 41, 50, packets.len() - 1] {
        let rest = [&packets[cut..], &stopped].concat();
        let alive = packet(1, DONE);
        let messages = [packets[..cut].to_vec(), rest, alive, packet(1, &seven())];
        let mut mssql = Mssql::open(&liar(opened(messages))).unwrap();
        let error = rows_within(&mut mssql, Duration::from_millis(150)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{cut}: {error}");
        assert!(error.is_connection_usable(), "{cut}: {error}");
        assert_eq!(rows(&mut mssql), Ok(vec![vec![Value::Int64(7)]]), "{cut}");
    }
}

#[test]
fn a_length_of_gigabytes_is_refused_before_it_is_in_memory() {
    let mut message = vec![
        0x81, 1, 0, 0, 0, 0, 0, 0x09, 0, 0xA5, 0xFF, 0xFF, 1, b'n', 0, 0xD1,
    ];
    message.extend(0x7FFF_FFFF_FFFF_u64.to_le_bytes());
    let error = answered(packet(1, &message)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    // The same in chunks of a value whose length is not told.
    let at = message.len() - 8;
    message[at..].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
    message.extend(0x7FFF_FFFF_u32.to_le_bytes());
    assert_eq!(
        answered(packet(1, &message)).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
}

/// The host repeats a call that is a lost connection, and a statement must not run twice.
#[test]
fn statement_whose_connection_ends_is_not_repeated() {
    for (what, error) in [
        ("closed without a word", answered(Vec::new()).unwrap_err()),
        ("killed", answered(killed()).unwrap_err()),
        ("closed after a sign of life", second([packet(1, DONE)])),
        (
            "killed after a sign of life",
            second([packet(1, DONE), killed()]),
        ),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{what}: {error}");
        assert!(!error.is_connection_usable(), "{what}");
    }
}

#[test]
fn connection_that_ended_while_idle_is_lost_before_the_statement_is_sent() {
    for (what, error) in [
        ("closed without a word", second([])),
        ("killed", second([killed()])),
    ] {
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{what}: {error}");
        assert!(!error.is_connection_usable(), "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_the_connector_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..40) {
        let mut message = seven();
        message.truncate(at);
        message.extend(bytes);
        let _ = answered(packet(1, &message));
    }

    #[test]
    fn one_wrong_byte_is_an_answer_or_an_error(at in 0_usize..51, byte: u8) {
        let mut message = seven();
        let last = message.len() - 1;
        message[at.min(last)] = byte;
        let _ = answered(packet(1, &message));
    }
}
