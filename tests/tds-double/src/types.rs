//! Types of SQL Server: their names, how they are described on the wire, and how values of SQLite are written as them.

use rusqlite::types::Value;

/// `Latin1_General_100_CI_AS_SC_UTF8`, and `SQL_Latin1_General_CP1_CI_AS`.
pub const UTF8_COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x24, 0];
/// The collation of texts that are not UTF-8.
pub const COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 52];
/// Microseconds, and other units of time.
pub(crate) const DAY_TICKS: i64 = 864_000_000_000;
/// The largest value that travels with a length of two bytes.
const MAX_SHORT: usize = 8000;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// `bit`.
    Bit,
    /// An integer of so many bytes.
    Int(u8),
    /// `real` (4) or `float` (8).
    Float(u8),
    /// `smallmoney` (4) or `money` (8).
    Money(u8),
    /// `decimal` or `numeric` with precision and scale.
    Decimal(u8, u8, bool),
    /// `uniqueidentifier`.
    Guid,
    /// `date`.
    Date,
    /// `time`, `datetime2` and `datetimeoffset` with a scale.
    Time(u8),
    /// See [`SqlType::Time`].
    DateTime2(u8),
    /// See [`SqlType::Time`].
    DateTimeOffset(u8),
    /// `smalldatetime` (4) or `datetime` (8).
    DateTime(u8),
    /// `char` or `varchar`: the length (none for `max`), whether it is fixed, the collation.
    Char(Option<u16>, bool, [u8; 5]),
    /// `nchar` or `nvarchar`.
    NChar(Option<u16>, bool),
    /// `binary` or `varbinary`.
    Binary(Option<u16>, bool),
    /// `text`, `ntext`, `image`.
    Text,
    /// See [`SqlType::Text`].
    NText,
    /// See [`SqlType::Text`].
    Image,
    /// `xml`.
    Xml,
    /// `sql_variant`.
    Variant,
    /// `rowversion`.
    RowVersion,
    /// A type of the common language runtime.
    Udt(String),
}

/// Reads UTF-16.
pub fn utf16(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    char::decode_utf16(units)
        .map(|unit| unit.unwrap_or('\u{fffd}'))
        .collect()
}

/// The bytes of an example of the specification.
#[cfg(test)]
pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    let bytes = hex.split_whitespace();
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

fn to_utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

impl SqlType {
    /// The type of a name such as `decimal(12, 2)`; none where there is no such type.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace(['[', ']', ' '], "");
        let (collation, name) = match name.split_once("collate") {
            Some((name, collation)) if collation.contains("utf8") => {
                (UTF8_COLLATION, name.to_owned())
            }
            Some((name, _)) => (COLLATION, name.to_owned()),
            None => (COLLATION, name),
        };
        let (name, arguments) = match name.split_once('(') {
            Some((name, rest)) => (name.to_owned(), rest.trim_end_matches(')').to_owned()),
            None => (name, String::new()),
        };
        let mut numbers = arguments
            .split(',')
            .map(|argument| argument.parse::<u16>().ok());
        let (first, second) = (numbers.next().flatten(), numbers.next().flatten());
        let length = |default| {
            if arguments == "max" {
                None
            } else {
                Some(first.unwrap_or(default))
            }
        };
        let scale = first.unwrap_or(7) as u8;
        Some(match name.as_str() {
            "bit" | "boolean" => Self::Bit,
            "tinyint" => Self::Int(1),
            "smallint" => Self::Int(2),
            "int" | "integer" => Self::Int(4),
            "bigint" => Self::Int(8),
            "real" => Self::Float(4),
            "float" | "double" => Self::Float(8),
            "smallmoney" => Self::Money(4),
            "money" => Self::Money(8),
            "decimal" | "numeric" | "dec" => Self::Decimal(
                first.unwrap_or(18) as u8,
                second.unwrap_or(0) as u8,
                name == "numeric",
            ),
            "uniqueidentifier" => Self::Guid,
            "date" => Self::Date,
            "time" => Self::Time(scale),
            "datetime2" => Self::DateTime2(scale),
            "datetimeoffset" => Self::DateTimeOffset(scale),
            "smalldatetime" => Self::DateTime(4),
            "datetime" => Self::DateTime(8),
            "char" => Self::Char(length(1), true, collation),
            "varchar" => Self::Char(length(30), false, collation),
            "nchar" => Self::NChar(length(1), true),
            "nvarchar" | "sysname" => {
                Self::NChar(length(if name == "sysname" { 128 } else { 30 }), false)
            }
            "binary" => Self::Binary(length(1), true),
            "varbinary" => Self::Binary(length(30), false),
            "text" => Self::Text,
            "ntext" => Self::NText,
            "image" => Self::Image,
            "xml" => Self::Xml,
            "json" => Self::NChar(None, false),
            "sql_variant" => Self::Variant,
            "rowversion" | "timestamp" => Self::RowVersion,
            "hierarchyid" | "geometry" | "geography" => Self::Udt(name),
            _ => return None,
        })
    }

    /// The type of an expression that nothing is known of but its first value.
    pub fn of_value(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Integer(_)) => Self::Int(8),
            Some(Value::Real(_)) => Self::Float(8),
            Some(Value::Text(_)) => Self::NChar(None, false),
            Some(Value::Blob(_)) => Self::Binary(None, false),
            Some(Value::Null) | None => Self::Int(4),
        }
    }

    pub(crate) fn user_type(&self) -> u32 {
        if *self == Self::RowVersion { 80 } else { 0 }
    }

    pub(crate) fn names_its_table(&self) -> bool {
        matches!(self, Self::Text | Self::NText | Self::Image)
    }

    /// TYPE_INFO.
    pub(crate) fn write_info(&self, out: &mut Vec<u8>) {
        let sized = |token: u8, length: &Option<u16>, unit: u16, out: &mut Vec<u8>| {
            out.push(token);
            out.extend(length.map_or(0xFFFF, |length| length * unit).to_le_bytes());
        };
        match self {
            Self::Bit => out.extend([0x68, 1]),
            Self::Int(bytes) => out.extend([0x26, *bytes]),
            Self::Float(bytes) => out.extend([0x6D, *bytes]),
            Self::Money(bytes) => out.extend([0x6E, *bytes]),
            Self::Decimal(precision, scale, numeric) => {
                out.extend([if *numeric { 0x6C } else { 0x6A }, 17, *precision, *scale]);
            }
            Self::Guid => out.extend([0x24, 16]),
            Self::Date => out.push(0x28),
            Self::Time(scale) => out.extend([0x29, *scale]),
            Self::DateTime2(scale) => out.extend([0x2A, *scale]),
            Self::DateTimeOffset(scale) => out.extend([0x2B, *scale]),
            Self::DateTime(bytes) => out.extend([0x6F, *bytes]),
            Self::Char(length, fixed, collation) => {
                sized(if *fixed { 0xAF } else { 0xA7 }, length, 1, out);
                out.extend(collation);
            }
            Self::NChar(length, fixed) => {
                sized(if *fixed { 0xEF } else { 0xE7 }, length, 2, out);
                out.extend(COLLATION);
            }
            Self::Binary(length, fixed) => sized(if *fixed { 0xAD } else { 0xA5 }, length, 1, out),
            Self::RowVersion => sized(0xAD, &Some(8), 1, out),
            Self::Text | Self::NText | Self::Image => {
                out.push(match self {
                    Self::Text => 0x23,
                    Self::NText => 0x63,
                    _ => 0x22,
                });
                out.extend(0x7FFF_FFFF_u32.to_le_bytes());
                if *self != Self::Image {
                    out.extend(COLLATION);
                }
            }
            Self::Xml => out.extend([0xF1, 0]),
            Self::Variant => {
                out.push(0x62);
                out.extend(8009_u32.to_le_bytes());
            }
            Self::Udt(name) => {
                out.push(0xF0);
                out.extend(0xFFFF_u16.to_le_bytes());
                for part in [crate::DATABASE, "sys", name] {
                    out.extend(crate::tokens::short_text(part));
                }
                out.extend([0, 0]);
            }
        }
    }

    /// A value as this type; false, and nothing is written, where the type cannot hold it.
    pub(crate) fn write(&self, value: &Value, out: &mut Vec<u8>) -> bool {
        if *value == Value::Null {
            self.write_null(out);
            return true;
        }
        let Some(bytes) = self.bytes(value) else {
            return false;
        };
        match self {
            Self::Char(None, ..)
            | Self::NChar(None, _)
            | Self::Binary(None, _)
            | Self::Xml
            | Self::Udt(_) => {
                write_chunks(&bytes, out);
            }
            Self::Char(..) | Self::NChar(..) | Self::Binary(..) | Self::RowVersion => {
                if bytes.len() > MAX_SHORT {
                    return false;
                }
                out.extend((bytes.len() as u16).to_le_bytes());
                out.extend(bytes);
            }
            Self::Text | Self::NText | Self::Image => {
                out.push(16);
                out.extend([7; 16 + 8]);
                out.extend((bytes.len() as u32).to_le_bytes());
                out.extend(bytes);
            }
            Self::Variant => {
                out.extend((bytes.len() as u32).to_le_bytes());
                out.extend(bytes);
            }
            _ => {
                out.push(bytes.len() as u8);
                out.extend(bytes);
            }
        }
        true
    }

    fn write_null(&self, out: &mut Vec<u8>) {
        match self {
            Self::Char(None, ..)
            | Self::NChar(None, _)
            | Self::Binary(None, _)
            | Self::Xml
            | Self::Udt(_) => {
                out.extend([0xFF; 8]);
            }
            Self::Char(..) | Self::NChar(..) | Self::Binary(..) | Self::RowVersion => {
                out.extend([0xFF, 0xFF])
            }
            Self::Variant => out.extend([0; 4]),
            _ => out.push(0),
        }
    }

    fn bytes(&self, value: &Value) -> Option<Vec<u8>> {
        let text = text_of(value);
        Some(match self {
            Self::Bit => vec![u8::from(matches!(text.as_deref(), Some("1" | "true")))],
            Self::Int(bytes) => integer(value)?.to_le_bytes()[..usize::from(*bytes)].to_vec(),
            Self::Float(4) => (text?.parse::<f32>().ok()?).to_le_bytes().to_vec(),
            Self::Float(_) => text?.parse::<f64>().ok()?.to_le_bytes().to_vec(),
            Self::Money(4) => (scaled(&text?, 4)? as i32).to_le_bytes().to_vec(),
            Self::Money(_) => {
                let bytes = i64::try_from(scaled(&text?, 4)?).ok()?.to_le_bytes();
                [&bytes[4..], &bytes[..4]].concat()
            }
            Self::Decimal(precision, scale, _) => {
                let text = match value {
                    Value::Real(number) => format!("{number:.*}", usize::from(*scale)),
                    _ => text?,
                };
                let number = scaled(&text, usize::from(*scale))?;
                let length = match precision {
                    1..=9 => 4,
                    10..=19 => 8,
                    20..=28 => 12,
                    _ => 16,
                };
                let mut bytes = vec![u8::from(number >= 0)];
                bytes.extend(&number.unsigned_abs().to_le_bytes()[..length]);
                bytes
            }
            Self::Guid => guid(&text?)?,
            Self::Date => days(&text?)?.to_le_bytes()[..3].to_vec(),
            Self::Time(scale) => time(ticks(&text?)?, *scale),
            Self::DateTime2(scale) => {
                let (days, ticks) = moment(&text?)?;
                [time(ticks, *scale), days.to_le_bytes()[..3].to_vec()].concat()
            }
            Self::DateTimeOffset(scale) => offset(&text?, *scale)?,
            Self::DateTime(bytes) => old(&text?, *bytes)?,
            Self::Char(_, _, UTF8_COLLATION) => text?.into_bytes(),
            Self::Char(..) | Self::Text => windows_1252(&text?),
            Self::NChar(..) | Self::NText | Self::Xml => to_utf16(&text?),
            Self::Binary(..) | Self::Image | Self::RowVersion | Self::Udt(_) => match value {
                Value::Blob(bytes) => bytes.clone(),
                _ => text?.into_bytes(),
            },
            Self::Variant => variant(value)?,
        })
    }
}

fn write_chunks(bytes: &[u8], out: &mut Vec<u8>) {
    // Every other value does not say how long it is before it comes.
    let length = if bytes.len().is_multiple_of(2) {
        bytes.len() as u64
    } else {
        u64::MAX - 1
    };
    out.extend(length.to_le_bytes());
    for piece in bytes.chunks(4000) {
        out.extend((piece.len() as u32).to_le_bytes());
        out.extend(piece);
    }
    out.extend([0; 4]);
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::Blob(_) | Value::Null => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        Value::Real(number) => Some(*number as i64),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A decimal number as an integer of its last digits.
fn scaled(text: &str, scale: usize) -> Option<i128> {
    let (sign, digits) = match text.trim().strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.trim()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction: String = fraction
        .chars()
        .chain(std::iter::repeat('0'))
        .take(scale)
        .collect();
    Some(sign * format!("{whole}{fraction}").parse::<i128>().ok()?)
}

fn guid(text: &str) -> Option<Vec<u8>> {
    let digits = text.replace('-', "");
    let bytes: Option<Vec<u8>> = (0..16)
        .map(|at| u8::from_str_radix(digits.get(at * 2..at * 2 + 2)?, 16).ok())
        .collect();
    let mut bytes = bytes?;
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    Some(bytes)
}

/// Days since 0001-01-01.
fn days(text: &str) -> Option<u32> {
    let mut parts = text
        .get(..10)?
        .split('-')
        .map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let shifted = if month > 2 { year } else { year - 1 };
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let since_march = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    u32::try_from(since_march - 306).ok()
}

/// Units of 100 nanoseconds since midnight.
fn ticks(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().unwrap_or(Some(0))?;
    let fraction: String = fraction
        .chars()
        .chain(std::iter::repeat('0'))
        .take(7)
        .collect();
    Some(((hours * 60 + minutes) * 60 + seconds) * 10_000_000 + fraction.parse::<i64>().ok()?)
}

pub(crate) fn moment(text: &str) -> Option<(u32, i64)> {
    let clock = text.get(11..).filter(|clock| !clock.is_empty());
    Some((days(text)?, clock.map_or(Some(0), ticks)?))
}

fn time(ticks: i64, scale: u8) -> Vec<u8> {
    let units = ticks / 10_i64.pow(7 - u32::from(scale));
    let length = match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    };
    units.to_le_bytes()[..length].to_vec()
}

/// `2024-02-29 12:34:56 +02:00`: what travels is the time in UTC, and the offset in minutes.
fn offset(text: &str, scale: u8) -> Option<Vec<u8>> {
    let (local, zone) = text
        .rsplit_once(' ')
        .filter(|(local, _)| local.len() > 10)?;
    let (sign, zone) = (if zone.starts_with('-') { -1 } else { 1 }, zone.get(1..)?);
    let (hours, minutes) = zone.split_once(':')?;
    let minutes = sign * (hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?);
    let (days, ticks) = moment(local)?;
    let all = i64::from(days) * DAY_TICKS + ticks - minutes * 600_000_000;
    let days = all.div_euclid(DAY_TICKS) as u32;
    let mut bytes = time(all.rem_euclid(DAY_TICKS), scale);
    bytes.extend(&days.to_le_bytes()[..3]);
    bytes.extend((minutes as i16).to_le_bytes());
    Some(bytes)
}

fn old(text: &str, bytes: u8) -> Option<Vec<u8>> {
    let (days, ticks) = moment(text)?;
    let since_1900 = i64::from(days) - 693_595;
    if bytes == 4 {
        let minutes = (ticks / 600_000_000) as u16;
        return Some([(since_1900 as u16).to_le_bytes(), minutes.to_le_bytes()].concat());
    }
    // Three hundredths of a second, to the nearest.
    let units = (ticks * 3 + 50_000) / 100_000;
    Some(
        [
            (since_1900 as i32).to_le_bytes(),
            (units as u32).to_le_bytes(),
        ]
        .concat(),
    )
}

fn windows_1252(text: &str) -> Vec<u8> {
    let byte = |character: char| match character {
        '€' => 0x80,
        '’' => 0x92,
        other => u8::try_from(u32::from(other)).unwrap_or(b'?'),
    };
    text.chars().map(byte).collect()
}

/// The base type, its properties, the value.
fn variant(value: &Value) -> Option<Vec<u8>> {
    Some(match value {
        Value::Integer(number) => [&[0x7F, 0][..], &number.to_le_bytes()].concat(),
        Value::Real(number) => [&[0x3E, 0][..], &number.to_le_bytes()].concat(),
        Value::Text(text) => [
            &[0xE7, 7][..],
            &COLLATION,
            &8000_u16.to_le_bytes(),
            &to_utf16(text),
        ]
        .concat(),
        Value::Blob(bytes) => [&[0xA5, 2][..], &8000_u16.to_le_bytes(), bytes].concat(),
        Value::Null => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: &str, value: &str) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(
            SqlType::parse(kind)
                .unwrap()
                .write(&Value::Text(value.into()), &mut out)
        );
        out
    }

    #[test]
    fn values_are_written_as_the_specification_says() {
        assert_eq!(written("decimal(5,2)", "-2.5"), [5, 0, 250, 0, 0, 0]);
        assert_eq!(written("money", "1"), [8, 0, 0, 0, 0, 0x10, 0x27, 0, 0]);
        assert_eq!(written("date", "0001-01-01"), [3, 0, 0, 0]);
        assert_eq!(written("date", "9999-12-31"), [3, 0xDA, 0xB9, 0x37]);
        assert_eq!(written("time(0)", "00:00:01"), [3, 1, 0, 0]);
        assert_eq!(
            written("smalldatetime", "1900-01-02 00:01"),
            [4, 1, 0, 1, 0]
        );
        assert_eq!(
            written("datetime", "1900-01-01 00:00:01"),
            [8, 0, 0, 0, 0, 0x2C, 1, 0, 0]
        );
        assert_eq!(
            written("datetimeoffset(0)", "0001-01-01 02:00:00 +02:00"),
            [8, 0, 0, 0, 0, 0, 0, 120, 0]
        );
    }

    #[test]
    fn a_guid_begins_with_three_numbers() {
        let bytes = written("uniqueidentifier", "03020100-0504-0706-0809-0a0b0c0d0e0f");
        assert_eq!(bytes[1..], (0..16).collect::<Vec<u8>>());
    }
}
