//! A body as JSON values.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;

use super::Body;
use crate::error::{Error, ErrorKind, Result};

/// A longer value is an error: no answer may fill the memory.
const LONGEST: usize = 8 << 20;

/// The JSON values of a body that arrives in pieces; [`Body::json_values`] and [`Body::json_lines`] make it. Nothing
/// comes after an error.
///
/// ```
/// use mindhost_sdk::http::Response;
///
/// let pieces = vec![Ok(b"[{\"text\": \"a\"},\n{\"te".to_vec()), Ok(b"xt\": \"b\"}]".to_vec())];
/// let values = Response::scripted(200, pieces).body.json_values::<serde_json::Value>();
/// let texts: Vec<_> = values.map(|value| value.unwrap()["text"].clone()).collect();
/// assert_eq!(texts, ["a", "b"]);
///
/// let rows = Response::scripted(200, vec![Ok(b"[1, 2]\n[3, 4]\n".to_vec())]).body.json_lines::<[u8; 2]>();
/// let rows: Vec<_> = rows.map(|row| row.unwrap()).collect();
/// assert_eq!(rows, [[1, 2], [3, 4]]);
/// ```
pub struct JsonValues<T> {
    /// None after its end, and after an error.
    body: Option<Body>,
    splitter: Splitter,
    found: VecDeque<T>,
    failed: Option<Error>,
}

impl<T: DeserializeOwned> JsonValues<T> {
    pub(super) fn of(body: Body, opens_arrays: bool) -> Self {
        Self {
            body: Some(body),
            splitter: Splitter {
                opens_arrays,
                ..Splitter::default()
            },
            found: VecDeque::new(),
            failed: None,
        }
    }

    /// Waits for the next piece, and takes the values that end in it.
    fn fill(&mut self) -> Result<()> {
        let read = self.body.as_mut().map_or(Ok(None), Body::read)?;
        let mut values = Vec::new();
        let split = match &read {
            Some(piece) => self.splitter.add(piece, &mut values),
            None => {
                self.body = None;
                self.splitter.end(&mut values)
            }
        };
        for (place, value) in values {
            let parsed = serde_json::from_slice(&value).map_err(|error| {
                // Not serde's own words, which may quote the body.
                let (line, column) = (error.line(), error.column());
                let message = format!(
                    "the response is not the JSON expected: the value at byte {place} cannot be read \
                     (its line {line}, column {column})"
                );
                Error::new(ErrorKind::Upstream, message)
            })?;
            self.found.push_back(parsed);
        }
        split
    }
}

impl<T: DeserializeOwned> Iterator for JsonValues<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(value) = self.found.pop_front() {
                return Some(Ok(value));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            self.body.as_ref()?;
            // The values before an error come first.
            if let Err(error) = self.fill() {
                (self.body, self.failed) = (None, Some(error));
            }
        }
    }
}

/// A value, and the byte of the body at which it begins, counted from 1.
type Placed = (usize, Vec<u8>);

/// Where the body is between two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Top,
    ArrayStart,
    AfterComma,
    AfterElement,
}

/// What the body is within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Nothing,
    Text,
    Container,
    /// A number or a word, which ends with the next byte that is none of it.
    Scalar,
}

/// Cuts bytes into values: those at the top, and the elements of arrays there if these are opened.
#[derive(Default)]
struct Splitter {
    opens_arrays: bool,
    place: Place,
    within: Within,
    depth: u32,
    is_escaped: bool,
    value: Vec<u8>,
    /// Bytes that were read.
    read: usize,
}

impl Splitter {
    fn add(&mut self, piece: &[u8], values: &mut Vec<Placed>) -> Result<()> {
        for byte in piece {
            self.step(*byte, values)?;
            self.read += 1;
        }
        self.check_length()
    }

    fn step(&mut self, byte: u8, values: &mut Vec<Placed>) -> Result<()> {
        let ends = match self.within {
            Within::Nothing => return self.between(byte),
            Within::Scalar => {
                if !ends_scalar(byte) {
                    self.value.push(byte);
                    return Ok(());
                }
                self.take_into(values)?;
                return self.between(byte);
            }
            Within::Text => {
                let was_escaped = self.is_escaped;
                self.is_escaped = byte == b'\\' && !was_escaped;
                let ends = byte == b'"' && !was_escaped;
                if ends && self.depth > 0 {
                    self.within = Within::Container;
                }
                ends && self.depth == 0
            }
            Within::Container => {
                match byte {
                    b'"' => self.within = Within::Text,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth -= 1,
                    _ => {}
                }
                self.depth == 0
            }
        };
        self.value.push(byte);
        match ends {
            true => self.take_into(values),
            false => Ok(()),
        }
    }

    /// A byte outside of values: it begins one, or is a sign of an array that is open.
    fn between(&mut self, byte: u8) -> Result<()> {
        let (place, within) = match (self.place, byte) {
            (place, b' ' | b'\t' | b'\n' | b'\r') => (place, Within::Nothing),
            (Place::Top, b'[') if self.opens_arrays => (Place::ArrayStart, Within::Nothing),
            (Place::ArrayStart | Place::AfterElement, b']') => (Place::Top, Within::Nothing),
            (Place::AfterElement, b',') => (Place::AfterComma, Within::Nothing),
            (Place::AfterElement, _) | (_, b',' | b'}' | b']') => return Err(self.unexpected()),
            (place, b'"') => (place, Within::Text),
            (place, b'{' | b'[') => (place, Within::Container),
            (place, _) => (place, Within::Scalar),
        };
        (self.place, self.within) = (place, within);
        if within != Within::Nothing {
            self.depth = u32::from(within == Within::Container);
            self.value.push(byte);
        }
        Ok(())
    }

    /// The last value needs no end if it is a number or a word.
    fn end(&mut self, values: &mut Vec<Placed>) -> Result<()> {
        let is_whole = matches!(self.within, Within::Nothing | Within::Scalar);
        if !is_whole || self.place != Place::Top {
            let message = "the response ended in the middle of a JSON value";
            return Err(Error::new(ErrorKind::ConnectionLost, message));
        }
        match self.within {
            Within::Scalar => self.take_into(values),
            _ => Ok(()),
        }
    }

    fn take_into(&mut self, values: &mut Vec<Placed>) -> Result<()> {
        self.check_length()?;
        // The last byte of a container or text is not counted yet; that behind a number is not part of it.
        let is_counted = usize::from(self.within != Within::Scalar);
        let begins = self.read + is_counted - self.value.len() + 1;
        values.push((begins, std::mem::take(&mut self.value)));
        self.within = Within::Nothing;
        if self.place != Place::Top {
            self.place = Place::AfterElement;
        }
        Ok(())
    }

    fn check_length(&self) -> Result<()> {
        match self.value.len() > LONGEST {
            true => {
                let message = format!("a value of the response is longer than {LONGEST} bytes");
                Err(Error::new(ErrorKind::TooLarge, message))
            }
            false => Ok(()),
        }
    }

    fn unexpected(&self) -> Error {
        let expected = match self.place {
            Place::Top | Place::AfterComma => "a value",
            Place::ArrayStart => "a value or `]`",
            Place::AfterElement => "`,` or `]`",
        };
        let at = self.read + 1;
        let message = format!("the response is not JSON at byte {at}: expected {expected}");
        Error::new(ErrorKind::Upstream, message)
    }
}

fn ends_scalar(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b'\r' | b'"' | b',' | b'{' | b'}' | b'[' | b']'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Response;
    use super::*;

    fn values(pieces: &[&[u8]]) -> Vec<Result<Value>> {
        let pieces = pieces.iter().map(|piece| Ok(piece.to_vec())).collect();
        let body = Response::scripted(200, pieces).body;
        body.json_values().collect()
    }

    #[test]
    fn values_come_whole_however_the_body_is_cut() {
        let quoted = json!({"a": "}\\\""});
        let cases = [
            (
                format!("{quoted}\r\n\n[1,{{\"b\":[]}}]\n2"),
                json!([quoted, 1, {"b": []}, 2]),
            ),
            (
                format!("{quoted}{{\"x\":[3]}}4 \"five, [6]\""),
                json!([quoted, {"x": [3]}, 4, "five, [6]"]),
            ),
            (
                format!("[{quoted},\n{{\"x\":[3]}}\n,7 ]"),
                json!([quoted, {"x": [3]}, 7]),
            ),
            (String::new(), json!([])),
        ];
        for (body, expected) in cases {
            let bytes = body.as_bytes();
            for at in 0..=bytes.len() {
                let pieces: Vec<_> = [&bytes[..at], &bytes[at..]]
                    .into_iter()
                    .filter(|piece| !piece.is_empty())
                    .collect();
                let found: Result<Vec<_>> = values(&pieces).into_iter().collect();
                assert_eq!(Value::from(found.unwrap()), expected, "{body} cut at {at}");
            }
        }
    }

    #[test]
    fn an_array_at_the_top_is_opened_unless_lines_are_asked_for() {
        let opened = |body: &str| {
            values(&[body.as_bytes()])
                .into_iter()
                .collect::<Result<Vec<_>>>()
        };
        let lines = |body: &str| {
            let pieces = vec![Ok(body.as_bytes().to_vec())];
            let body = Response::scripted(200, pieces).body;
            body.json_lines::<Value>().collect::<Result<Vec<_>>>()
        };
        assert_eq!(
            opened("[[1,2],[3,4]]").unwrap(),
            [json!([1, 2]), json!([3, 4])]
        );
        assert_eq!(lines("[[1,2],[3,4]]").unwrap(), [json!([[1, 2], [3, 4]])]);
        let found = lines("[1,2]\n[3]\r\n[]\n7").unwrap();
        assert_eq!(found, [json!([1, 2]), json!([3]), json!([]), json!(7)]);
        assert_eq!(opened("[] [1][ ]\n[[]]").unwrap(), [json!(1), json!([])]);
    }

    #[test]
    fn what_is_not_json_is_an_error_with_its_byte_after_the_values_before_it() {
        for (body, message, count) in [
            ("[1,]", "at byte 4: expected a value", 1),
            ("[1 2]", "at byte 4: expected `,` or `]`", 1),
            ("[\"a\" \"b\"]", "at byte 6: expected `,` or `]`", 1),
            ("[,1]", "at byte 2: expected a value or `]`", 0),
            ("1, 2", "at byte 2: expected a value", 1),
            ("{}\n]", "at byte 4: expected a value", 1),
            ("[1] 2 tru", "the value at byte 7 cannot be read", 2),
            ("[1, {]}]", "the value at byte 5 cannot be read", 1),
            ("<html>", "the value at byte 1 cannot be read", 0),
        ] {
            for at in 1..body.len() {
                let mut found = values(&[&body.as_bytes()[..at], &body.as_bytes()[at..]]);
                let error = found.pop().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Upstream, "{body}");
                assert!(
                    error.to_string().contains(message),
                    "{body} cut at {at}: {error}"
                );
                assert_eq!(found.len(), count, "{body} cut at {at}");
            }
        }
    }

    #[test]
    fn a_body_that_is_cut_off_or_is_something_else_is_an_error_after_its_values() {
        for (body, kind) in [
            ("1 {\"a\": 1", ErrorKind::ConnectionLost),
            ("[1, {\"a\": 1},", ErrorKind::ConnectionLost),
            ("1 {a: 1}", ErrorKind::Upstream),
        ] {
            let found = values(&[body.as_bytes()]);
            assert_eq!(found[0].as_ref().unwrap(), &json!(1), "{body}");
            let last = found.last().unwrap().as_ref().unwrap_err();
            assert_eq!(last.kind(), kind, "{body}");
        }
        let pieces = (0..10).map(|_| Ok(vec![b'1'; LONGEST / 8])).collect();
        let mut values = Response::scripted(200, pieces).body.json_values::<Value>();
        let error = values.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(values.next().is_none());
    }
}
