//! A server that lies: whatever it sends is an error of its own, and never a trap.
//!
//! The good messages are bytes after the examples and rules of MS-TDS, written here once more and by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is a failed test"
)]

use std::io::{Read, Write};
use std::net::TcpListener;

use connector_mssql::Mssql;
use mindhost_sdk::{Config, Connector, Error, ErrorKind, Statement, Value, testing};
use proptest::prelude::*;

/// The answer to PRELOGIN of MS-TDS, section 4: no encryption.
const PRELOGIN: &[u8] = &[
    0x00, 0x00, 0x1A, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01, 0x02, 0x00, 0x21, 0x00, 0x01, 0x03,
    0x00, 0x22, 0x00, 0x00, 0x04, 0x00, 0x22, 0x00, 0x01, 0xFF, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00,
];
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

/// The answer to `SELECT 7 AS n` from a server that answers it with these packets.
fn answered(packets: Vec<u8>) -> Result<Vec<Vec<Value>>, Error> {
    let config = liar(vec![
        packet(1, PRELOGIN),
        packet(1, &login()),
        packet(1, DONE),
        packets,
    ]);
    let mut mssql = Mssql::open(&config)?;
    let statement = Statement {
        timeout: std::time::Duration::from_secs(5),
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
fn the_bytes_of_the_specification_are_understood() {
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
