//! PRELOGIN and LOGIN7, read as a server reads them.

use crate::Encryption;

/// What PRELOGIN of a client asks for: 0 the login alone, 1 all, 2 nothing.
pub fn wanted_encryption(payload: &[u8]) -> Option<u8> {
    let mut entries = payload.chunks_exact(5);
    let entry = entries.find(|entry| entry[0] == 1 || entry[0] == 0xFF)?;
    let offset = usize::from(u16::from_be_bytes([entry[1], entry[2]]));
    payload.get(offset).copied().filter(|_| entry[0] == 1)
}

/// The answer to PRELOGIN, and whether the login and all else is encrypted.
pub fn answer_prelogin(
    server: Encryption,
    wanted: Option<u8>,
    federation: bool,
) -> (Vec<u8>, bool, bool) {
    let (byte, login, all) = match (server, wanted) {
        (Encryption::Strict, _) => (1, false, false),
        (Encryption::None, _) | (Encryption::Optional, Some(2)) => (2, false, false),
        (Encryption::Optional, Some(0)) => (0, true, false),
        (Encryption::Optional, _) | (Encryption::Required, Some(1)) => (1, true, true),
        (Encryption::Required, _) => (3, true, true),
    };
    let mut options: Vec<(u8, Vec<u8>)> = vec![
        (0, vec![16, 0, 4, 0x1C, 0, 0]),
        (1, vec![byte]),
        (2, vec![0]),
        (3, vec![]),
        (4, vec![0]),
    ];
    if federation {
        options.push((6, vec![1]));
    }
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    let start = options.len() * 5 + 1;
    for (name, value) in options {
        entries.push(name);
        entries.extend(((start + data.len()) as u16).to_be_bytes());
        entries.extend((value.len() as u16).to_be_bytes());
        data.extend(value);
    }
    entries.push(0xFF);
    entries.extend(data);
    (entries, login, all)
}

/// What a client says when it logs in.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The version of the protocol.
    pub version: u32,
    /// The packets that it asks for.
    pub packet_size: u32,
    /// The application only reads.
    pub read_only: bool,
    /// The login.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The database; empty for the login's own.
    pub database: String,
    /// It reads UTF-8.
    pub utf8: bool,
}

/// Reads LOGIN7.
pub fn read(payload: &[u8]) -> Option<Login> {
    let number = |at: usize| {
        Some(u32::from_le_bytes(
            payload.get(at..at + 4)?.try_into().ok()?,
        ))
    };
    let short = |at: usize| {
        Some(u16::from_le_bytes(
            payload.get(at..at + 2)?.try_into().ok()?,
        ))
    };
    if number(0)? as usize != payload.len() {
        return None;
    }
    let bytes = |at: usize| {
        let from = usize::from(short(at)?);
        payload.get(from..from + usize::from(short(at + 2)?) * 2)
    };
    let text = |at: usize| Some(crate::types::utf16(bytes(at)?));
    let password: Vec<u8> = bytes(44)?
        .iter()
        .map(|byte| (byte ^ 0xA5).rotate_right(4))
        .collect();
    let mut login = Login {
        version: number(4)?,
        packet_size: number(8)?,
        read_only: payload.get(26)? & 0x20 != 0,
        user: text(40)?,
        password: crate::types::utf16(&password),
        database: text(68)?,
        utf8: false,
    };
    if payload.get(27)? & 0x10 != 0 {
        let mut at = number(usize::from(short(56)?))? as usize;
        while *payload.get(at)? != 0xFF {
            login.utf8 |= payload[at] == 0x0A;
            at += 5 + number(at + 1)? as usize;
        }
    }
    Some(login)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_wants_nothing_is_refused_by_a_server_that_wants_all() {
        let (bytes, login, all) = answer_prelogin(Encryption::Required, Some(2), false);
        assert_eq!(wanted_encryption(&bytes), Some(3));
        assert!(login && all);
    }

    #[test]
    fn the_prelogin_of_the_specification_is_read() {
        // MS-TDS, section 4: version 9.0, encryption off, an instance, thread 0, MARS on.
        let request = [
            0x00, 0x00, 0x1A, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01, 0x02, 0x00, 0x21, 0x00,
            0x01, 0x03, 0x00, 0x22, 0x00, 0x04, 0x04, 0x00, 0x26, 0x00, 0x01, 0xFF, 0x09, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0xB8, 0x0D, 0x00, 0x00, 0x01,
        ];
        assert_eq!(wanted_encryption(&request), Some(1));
    }

    #[test]
    fn the_login_of_the_specification_is_read() {
        // MS-TDS, section 4.2, behind the header of the packet.
        let request = "
            88 00 00 00 02 00 09 72 00 10 00 00 00 00 00 07 00 01 00 00 00 00 00 00 E0 03 00 00 00 00 00 00
            09 04 00 00 5E 00 08 00 6E 00 02 00 72 00 00 00 72 00 07 00 80 00 00 00 80 00 00 00 80 00 04 00
            88 00 00 00 88 00 00 00 00 50 8B E2 B7 8F 88 00 00 00 88 00 00 00 88 00 00 00 00 00 00 00 73 00
            6B 00 6F 00 73 00 74 00 6F 00 76 00 31 00 73 00 61 00 4F 00 53 00 51 00 4C 00 2D 00 33 00 32 00
            4F 00 44 00 42 00 43 00";
        let expected = Login {
            version: 0x7209_0002,
            packet_size: 4096,
            user: "sa".into(),
            ..Login::default()
        };
        assert_eq!(read(&crate::types::from_hex(request)), Some(expected));
    }
}
