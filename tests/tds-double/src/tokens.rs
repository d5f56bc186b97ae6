//! The tokens of answers.

use crate::types::SqlType;

/// Bits of DONE.
pub const MORE: u16 = 1;
/// The statement failed.
pub const FAILED: u16 = 2;
/// The row count counts.
pub const COUNT: u16 = 0x10;
/// The attention is confirmed.
pub const ATTENTION: u16 = 0x20;

/// A text with a length of one byte.
pub fn short_text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().take(255).collect();
    let length = std::iter::once(units.len() as u8);
    length
        .chain(units.into_iter().flat_map(u16::to_le_bytes))
        .collect()
}

fn long_text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().take(4000).collect();
    let length = (units.len() as u16).to_le_bytes().into_iter();
    length
        .chain(units.into_iter().flat_map(u16::to_le_bytes))
        .collect()
}

fn token(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut token = vec![kind];
    token.extend((body.len() as u16).to_le_bytes());
    token.extend(body);
    token
}

/// DONE (0xFD), DONEPROC (0xFE) or DONEINPROC (0xFF).
pub fn done(kind: u8, status: u16, rows: u64) -> Vec<u8> {
    let mut token = vec![kind];
    token.extend(status.to_le_bytes());
    // The command SELECT.
    token.extend(0xC1_u16.to_le_bytes());
    token.extend(rows.to_le_bytes());
    token
}

/// ERROR (0xAA) or INFO (0xAB).
pub fn message(kind: u8, number: u32, class: u8, text: &str, line: u32) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([1, class]);
    body.extend(long_text(text));
    body.extend(short_text("DOUBLE"));
    body.extend(short_text(""));
    body.extend(line.to_le_bytes());
    token(kind, &body)
}

/// A change of the environment in words: database (1), language (2), packet size (4).
pub fn environment(kind: u8, new: &str, old: &str) -> Vec<u8> {
    let mut body = vec![kind];
    body.extend(short_text(new));
    body.extend(short_text(old));
    token(0xE3, &body)
}

/// A change of the environment in bytes: collation (7), transactions (8 to 10).
pub fn environment_bytes(kind: u8, new: &[u8], old: &[u8]) -> Vec<u8> {
    let mut body = vec![kind, new.len() as u8];
    body.extend(new);
    body.push(old.len() as u8);
    body.extend(old);
    token(0xE3, &body)
}

/// The wish that the client go elsewhere.
pub fn routing(host: &str, port: u16) -> Vec<u8> {
    let mut route = vec![0];
    route.extend(port.to_le_bytes());
    route.extend(long_text(host));
    let mut body = vec![20];
    body.extend((route.len() as u16).to_le_bytes());
    body.extend(route);
    body.extend([0, 0]);
    token(0xE3, &body)
}

/// The login is accepted.
pub fn login_accepted(version: u32) -> Vec<u8> {
    let mut body = vec![1];
    body.extend(version.to_be_bytes());
    body.extend(short_text("Microsoft SQL Server"));
    body.extend([16, 0, 0x04, 0x1C]);
    token(0xAD, &body)
}

/// The features that the server has agreed to: UTF-8.
pub fn features() -> Vec<u8> {
    vec![0xAE, 0x0A, 1, 0, 0, 0, 1, 0xFF]
}

/// COLMETADATA.
pub fn columns(columns: &[(String, SqlType)]) -> Vec<u8> {
    let mut token = vec![0x81];
    token.extend((columns.len() as u16).to_le_bytes());
    for (name, kind) in columns {
        token.extend(kind.user_type().to_le_bytes());
        // Nullable, and it is not known whether it can be updated.
        token.extend(0x09_u16.to_le_bytes());
        kind.write_info(&mut token);
        if kind.names_its_table() {
            token.push(1);
            token.extend(long_text("t"));
        }
        token.extend(short_text(name));
    }
    token
}

/// RETURNSTATUS.
pub fn return_status() -> Vec<u8> {
    vec![0x79, 0, 0, 0, 0]
}

/// RETURNVALUE: an int.
pub fn return_value(ordinal: u16, name: &str, value: i32) -> Vec<u8> {
    let mut token = vec![0xAC];
    token.extend(ordinal.to_le_bytes());
    token.extend(short_text(name));
    token.push(1);
    token.extend([0, 0, 0, 0, 0, 0]);
    token.extend([0x26, 4, 4]);
    token.extend(value.to_le_bytes());
    token
}
