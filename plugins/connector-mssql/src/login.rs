//! The message LOGIN7: who logs in where.

use mindhost_sdk::{Error, Result};

use crate::config::ConnectionData;

/// The versions of the protocol that this side speaks.
pub(crate) const TDS_7_4: u32 = 0x7400_0004;
pub(crate) const TDS_8_0: u32 = 0x0800_0000;
/// The packets that are asked for; above 16,383 bytes TLS would cut them.
const PACKET_SIZE: u32 = 16_000;
/// The fixed part, and where its table of offsets begins.
const FIXED: usize = 94;
const OFFSETS: usize = 36;
/// The longest text of any field, in UTF-16 units.
const MAX_UNITS: usize = 128;
/// `USE` must work, and language is set by name; a client that speaks ODBC's settings; feature extensions follow.
const OPTIONS_1: u8 = 0xE0;
const OPTIONS_2: u8 = 0x03;
const OPTIONS_3: u8 = 0x10;
/// The application only reads.
const READ_ONLY_INTENT: u8 = 0x20;
/// The client reads texts in UTF-8.
const FEATURE_UTF8: u8 = 0x0A;
const FEATURES_END: u8 = 0xFF;

/// The payload of the message.
///
/// # Errors
/// `InvalidConfig` when a value is longer than the protocol allows.
pub(crate) fn request(data: &ConnectionData, version: u32) -> Result<Vec<u8>> {
    let mut login = Fields {
        table: Vec::new(),
        data: Vec::new(),
    };
    login.add("host", "mindhost")?;
    login.add("user", &data.user)?;
    login.add_password(data.password.as_deref().unwrap_or_default())?;
    login.add("application", "mindhost")?;
    login.add("host", &data.host)?;
    // The offset of the feature extensions stands in the data, as a number of four bytes.
    let extension_at = login.data.len();
    login.entry(extension_at, 4)?;
    login.data.extend([0; 4]);
    login.add("library", "mindhost")?;
    login.add("language", "us_english")?;
    login.add("database", &data.database)?;
    login.table.extend([0; 6]);
    // Neither SSPI nor a file to attach nor a new password, and no long SSPI.
    for _ in 0..3 {
        login.entry(login.data.len(), 0)?;
    }
    login.table.extend([0; 4]);
    let features = u32::try_from(FIXED + login.data.len()).unwrap_or(u32::MAX);
    login.data[extension_at..extension_at + 4].copy_from_slice(&features.to_le_bytes());
    login.data.extend([FEATURE_UTF8, 0, 0, 0, 0, FEATURES_END]);

    let length = u32::try_from(FIXED + login.data.len()).unwrap_or(u32::MAX);
    let intent = if data.is_read_only() {
        READ_ONLY_INTENT
    } else {
        0
    };
    let mut message = Vec::with_capacity(FIXED + login.data.len());
    for number in [length, version, PACKET_SIZE, 0, 0, 0] {
        message.extend(number.to_le_bytes());
    }
    message.extend([OPTIONS_1, OPTIONS_2, intent, OPTIONS_3]);
    // The client's time zone and locale.
    message.extend([0; 8]);
    debug_assert_eq!(message.len(), OFFSETS);
    message.extend(login.table);
    debug_assert_eq!(message.len(), FIXED);
    message.extend(login.data);
    Ok(message)
}

/// The table of offsets and lengths, and what they point at.
struct Fields {
    table: Vec<u8>,
    data: Vec<u8>,
}

impl Fields {
    fn add(&mut self, name: &str, text: &str) -> Result<()> {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        self.add_bytes(name, &bytes)
    }

    /// The password, in a form that hides it from nobody who knows the protocol.
    fn add_password(&mut self, password: &str) -> Result<()> {
        let units = password.encode_utf16().flat_map(u16::to_le_bytes);
        let bytes: Vec<u8> = units.map(|byte| byte.rotate_left(4) ^ 0xA5).collect();
        self.add_bytes("password", &bytes)
    }

    fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        if bytes.len() / 2 > MAX_UNITS {
            return Err(Error::invalid_config(format!(
                "`{name}` in connection_data is longer than the {MAX_UNITS} characters that SQL Server takes"
            )));
        }
        self.entry(self.data.len(), bytes.len() / 2)?;
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    fn entry(&mut self, at: usize, length: usize) -> Result<()> {
        let long = |_| Error::internal("a login of more than 64 KiB");
        let offset = u16::try_from(FIXED + at).map_err(long)?;
        self.table.extend(offset.to_le_bytes());
        self.table
            .extend(u16::try_from(length).map_err(long)?.to_le_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mindhost_sdk::Config;

    use super::*;

    fn data(extra: &str) -> ConnectionData {
        let json = format!(
            r#"{{"host": "db", "user": "sa", "password": "aé", "database": "shop"{extra}}}"#
        );
        ConnectionData::parse(&Config::from_json(json)).unwrap()
    }

    fn field(message: &[u8], entry: usize) -> &[u8] {
        let at = OFFSETS + entry * 4;
        let number = |at: usize| usize::from(u16::from_le_bytes([message[at], message[at + 1]]));
        &message[number(at)..number(at) + number(at + 2) * 2]
    }

    fn text(bytes: &[u8]) -> String {
        let mut text = String::new();
        crate::decode::utf16(bytes, &mut text);
        text
    }

    #[test]
    fn every_field_stands_where_its_offset_says() {
        let message = request(&data(""), TDS_7_4).unwrap();
        assert_eq!(
            message[..4],
            u32::try_from(message.len()).unwrap().to_le_bytes()
        );
        assert_eq!(message[4..8], [4, 0, 0, 0x74]);
        assert_eq!(text(field(&message, 1)), "sa");
        assert_eq!(text(field(&message, 4)), "db");
        assert_eq!(text(field(&message, 8)), "shop");
        // MS-TDS: the halves of each byte change places, then 0xA5 is added without carry.
        assert_eq!(field(&message, 2), [0xB3, 0xA5, 0x3B, 0xA5]);
        assert_eq!(message[26], READ_ONLY_INTENT);
        assert_eq!(message[message.len() - 6..], [0x0A, 0, 0, 0, 0, 0xFF]);
    }

    #[test]
    fn the_intent_to_write_is_not_a_read_only_one() {
        let message = request(&data(r#", "application_intent": "read-write""#), TDS_8_0).unwrap();
        assert_eq!((message[26], message[7]), (0, 0x08));
    }
}
