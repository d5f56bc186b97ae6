//! Calls of procedures: the few that clients make of statements with parameters.

use crate::types::utf16;

/// A call.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    /// The name, in lower case.
    pub name: String,
    /// The names and values of its parameters.
    pub parameters: Vec<(String, Parameter)>,
}

/// A value of a parameter, as a literal of T-SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A literal: `N'it''s'`, `12`, `NULL`.
    Literal(String),
    /// A text, as it is.
    Text(String),
}

impl Parameter {
    /// The text, or the literal.
    pub fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Text(text) => text,
        }
    }

    /// As it stands in a statement.
    pub fn literal(&self) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Text(text) => format!("N'{}'", text.replace('\'', "''")),
        }
    }
}

/// Reads the payload of a call, behind its headers. None where it has a type that no test sends.
pub fn read(payload: &[u8]) -> Option<Call> {
    let mut bytes = Bytes { rest: payload };
    let name = match bytes.u16()? {
        0xFFFF => match bytes.u16()? {
            10 => "sp_executesql",
            11 => "sp_prepare",
            12 => "sp_execute",
            13 => "sp_prepexec",
            15 => "sp_unprepare",
            _ => return None,
        }
        .to_owned(),
        units => utf16(bytes.take(usize::from(units) * 2)?).to_ascii_lowercase(),
    };
    let name = name.rsplit('.').next()?.to_owned();
    bytes.u16()?;
    let mut parameters = Vec::new();
    while !bytes.rest.is_empty() {
        let units = usize::from(bytes.u8()?);
        let named = utf16(bytes.take(units * 2)?);
        bytes.u8()?;
        parameters.push((named, bytes.value()?));
    }
    Some(Call { name, parameters })
}

struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn value(&mut self) -> Option<Parameter> {
        let token = self.u8()?;
        let null = || Some(Parameter::Literal("NULL".into()));
        match token {
            0x26 | 0x68 | 0x6D => {
                self.u8()?;
                let length = usize::from(self.u8()?);
                let bytes = self.take(length)?;
                number(token, bytes).map_or_else(null, |text| Some(Parameter::Literal(text)))
            }
            0x38 => number(0x26, self.take(4)?).map(Parameter::Literal),
            0xE7 | 0xA7 | 0xAF | 0xEF => {
                let length = self.u16()?;
                self.take(5)?;
                let bytes = if length == 0xFFFF {
                    self.chunks()?
                } else {
                    self.short()?
                };
                let Some(bytes) = bytes else { return null() };
                Some(Parameter::Text(match token {
                    0xE7 | 0xEF => utf16(&bytes),
                    _ => bytes.iter().map(|byte| char::from(*byte)).collect(),
                }))
            }
            0x63 => {
                self.take(4 + 5)?;
                let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
                if length == u32::MAX {
                    return null();
                }
                Some(Parameter::Text(utf16(self.take(length as usize)?)))
            }
            _ => None,
        }
    }

    fn short(&mut self) -> Option<Option<Vec<u8>>> {
        match self.u16()? {
            0xFFFF => Some(None),
            length => Some(Some(self.take(usize::from(length))?.to_vec())),
        }
    }

    fn chunks(&mut self) -> Option<Option<Vec<u8>>> {
        if self.take(8)? == [0xFF; 8] {
            return Some(None);
        }
        let mut whole = Vec::new();
        loop {
            let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
            if length == 0 {
                return Some(Some(whole));
            }
            whole.extend(self.take(length as usize)?);
        }
    }
}

fn number(token: u8, bytes: &[u8]) -> Option<String> {
    let text = match (token, bytes) {
        (0x6D, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).to_string(),
        (0x6D, _) => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        (_, &[byte]) => byte.to_string(),
        (_, &[a, b]) => i16::from_le_bytes([a, b]).to_string(),
        (_, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).to_string(),
        _ => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::headers;
    use crate::types::from_hex;

    #[test]
    fn the_requests_of_the_specification_are_read() {
        // MS-TDS, sections 4.6 and 4.8, behind the headers of the packets.
        let batch = from_hex(
            "16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 01 00 00 00 00 0A 00 73 00 65 00 6C 00 65 00
             63 00 74 00 20 00 27 00 66 00 6F 00 6F 00 27 00 20 00 61 00 73 00 20 00 27 00 62 00 61 00 72 00
             27 00 0A 00 20 00 20 00 20 00 20 00 20 00 20 00 20 00 20 00",
        );
        let text = utf16(headers(&batch).unwrap());
        assert_eq!(text, "\nselect 'foo' as 'bar'\n        ");
        let call = from_hex(
            "16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 01 00 00 00 00 04 00 66 00 6F 00 6F 00 33 00
             00 00 00 02 26 02 00",
        );
        let expected = Call {
            name: "foo3".into(),
            parameters: vec![(String::new(), Parameter::Literal("NULL".into()))],
        };
        assert_eq!(read(headers(&call).unwrap()), Some(expected));
    }
}
