//! The first message of each side: versions, and how much of the connection is encrypted.

use mindhost_sdk::Result;

use crate::error::malformed;

/// How much one side of a TDS 7 connection wants to encrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Nothing but the login.
    Login,
    /// Everything.
    All,
    /// There is no TLS on this side.
    None,
}

impl Encryption {
    fn byte(self) -> u8 {
        match self {
            Encryption::Login => 0,
            Encryption::All => 1,
            Encryption::None => 2,
        }
    }
}

/// What a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// None where the server says nothing of it, as over TDS 8.
    pub(crate) encryption: Option<Encryption>,
    /// The server takes only logins of Microsoft Entra.
    pub(crate) needs_federation: bool,
}

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD: u8 = 3;
const MARS: u8 = 4;
const FEDERATION: u8 = 6;
const END: u8 = 0xFF;
/// An option's entry: its name, offset and length.
const ENTRY: usize = 5;

/// The payload of the client's message.
pub(crate) fn request(encryption: Encryption) -> Vec<u8> {
    let options: [(u8, &[u8]); 5] = [
        (VERSION, &[0, 2, 0, 0, 0, 0]),
        (ENCRYPTION, &[encryption.byte()]),
        (INSTANCE, &[0]),
        (THREAD, &[0, 0, 0, 0]),
        (MARS, &[0]),
    ];
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    let start = options.len() * ENTRY + 1;
    for (name, value) in options {
        // A few dozen bytes in all.
        let offset = u16::try_from(start + data.len()).unwrap_or(u16::MAX);
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        entries.push(name);
        entries.extend(offset.to_be_bytes());
        entries.extend(length.to_be_bytes());
        data.extend_from_slice(value);
    }
    entries.push(END);
    entries.extend(data);
    entries
}

/// Reads the server's message.
///
/// # Errors
/// `Upstream` when it is none.
pub(crate) fn answer(payload: &[u8]) -> Result<Answer> {
    let wrong = || malformed("an answer to PRELOGIN");
    let mut answer = Answer {
        encryption: None,
        needs_federation: false,
    };
    let mut at = 0;
    loop {
        let entry = match payload.get(at..) {
            Some([END, ..]) if at > 0 => return Ok(answer),
            Some(rest) => rest.get(..ENTRY).ok_or_else(wrong)?,
            None => return Err(wrong()),
        };
        let offset = usize::from(u16::from_be_bytes([entry[1], entry[2]]));
        let length = usize::from(u16::from_be_bytes([entry[3], entry[4]]));
        let value = payload.get(offset..offset + length).ok_or_else(wrong)?;
        match (entry[0], value) {
            (ENCRYPTION, [0]) => answer.encryption = Some(Encryption::Login),
            (ENCRYPTION, [1 | 3]) => answer.encryption = Some(Encryption::All),
            (ENCRYPTION, [2]) => answer.encryption = Some(Encryption::None),
            (ENCRYPTION, _) => return Err(wrong()),
            (FEDERATION, [needed]) => answer.needs_federation = *needed != 0,
            _ => {}
        }
        at += ENTRY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of the example in MS-TDS, section 4: version, encryption NOT_SUP, an empty instance, MARS off.
    const EXAMPLE: [u8; 35] = [
        0x00, 0x00, 0x1A, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01, 0x02, 0x00, 0x21, 0x00, 0x01,
        0x03, 0x00, 0x22, 0x00, 0x00, 0x04, 0x00, 0x22, 0x00, 0x01, 0xFF, 0x09, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x02, 0x00, 0x00,
    ];

    #[test]
    fn the_answer_of_the_specification_is_read() {
        let read = answer(&EXAMPLE).unwrap();
        assert_eq!(read.encryption, Some(Encryption::None));
        assert!(!read.needs_federation);
    }

    #[test]
    fn an_answer_reads_what_a_request_says() {
        for encryption in [Encryption::Login, Encryption::All, Encryption::None] {
            let read = answer(&request(encryption)).unwrap();
            assert_eq!(read.encryption, Some(encryption));
        }
    }

    #[test]
    fn offsets_beyond_the_message_are_refused() {
        for wrong in [
            &[][..],
            &[END],
            &[1, 0xFF, 0xFF, 0, 1, END],
            &[1, 0, 6, 0, 1, END, 9],
            &[0, 0],
        ] {
            assert!(answer(wrong).is_err(), "{wrong:?}");
        }
    }
}
