//! A body as JSON values.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;

use super::Body;
use crate::error::{Error, ErrorKind, Result};

/// A longer value is an error: no answer may fill the memory.
const LONGEST: usize = 8 << 20;

/// The JSON values of a body that arrives in pieces; [`Body::json_values`] makes it. Nothing comes after an error.
///
/// ```
/// use mindhost_sdk::http::Response;
///
/// let pieces = vec![Ok(b"[{\"text\": \"a\"},\n{\"te".to_vec()), Ok(b"xt\": \"b\"}]".to_vec())];
/// let values = Response::scripted(200, pieces).body.json_values::<serde_json::Value>();
/// let texts: Vec<_> = values.map(|value| value.unwrap()["text"].clone()).collect();
/// assert_eq!(texts, ["a", "b"]);
/// ```
pub struct JsonValues<T> {
    /// None after its end, and after an error.
    body: Option<Body>,
    splitter: Splitter,
    found: VecDeque<T>,
    failed: Option<Error>,
}

impl<T: DeserializeOwned> JsonValues<T> {
    pub(super) fn of(body: Body) -> Self {
        Self {
            body: Some(body),
            splitter: Splitter::default(),
            found: VecDeque::new(),
            failed: None,
        }
    }

    /// Waits for the next piece, and takes the values that end in it.
    fn fill(&mut self) -> Result<()> {
        let read = self.body.as_mut().map_or(Ok(None), Body::read)?;
        let values = match &read {
            Some(piece) => self.splitter.add(piece)?,
            None => {
                self.body = None;
                self.splitter.end()?
            }
        };
        for value in values {
            let parsed = serde_json::from_slice(&value).map_err(|error| {
                let at = error.column();
                let message = format!(
                    "the response has something that is not the JSON expected, at byte {at} of a value"
                );
                Error::new(ErrorKind::Upstream, message)
            })?;
            self.found.push_back(parsed);
        }
        Ok(())
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

/// Cuts bytes into values: of lines, of a sequence without anything between them, or of arrays at the top.
#[derive(Default)]
struct Splitter {
    value: Vec<u8>,
    depth: u32,
    /// Arrays at the top that are open.
    arrays: i64,
    is_string: bool,
    is_escaped: bool,
}

impl Splitter {
    fn add(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut values = Vec::new();
        for byte in piece {
            let ends = match byte {
                _ if self.is_string => {
                    self.is_string = *byte != b'"' || self.is_escaped;
                    self.is_escaped = *byte == b'\\' && !self.is_escaped;
                    false
                }
                b'"' => {
                    self.is_string = true;
                    false
                }
                b'[' if self.depth == 0 && self.value.is_empty() => {
                    self.arrays += 1;
                    continue;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    false
                }
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    self.depth == 0
                }
                b']' => {
                    self.arrays -= 1;
                    self.take_into(&mut values);
                    continue;
                }
                b',' | b'}' | b' ' | b'\t' | b'\n' | b'\r' if self.depth == 0 => {
                    self.take_into(&mut values);
                    continue;
                }
                _ => false,
            };
            self.value.push(*byte);
            if ends {
                self.take_into(&mut values);
            }
        }
        match self.value.len() > LONGEST {
            true => {
                let message = format!("a value of the response is longer than {LONGEST} bytes");
                Err(Error::new(ErrorKind::TooLarge, message))
            }
            false => Ok(values),
        }
    }

    /// The last value needs no end.
    fn end(&mut self) -> Result<Vec<Vec<u8>>> {
        if self.depth > 0 || self.is_string || self.arrays > 0 {
            let message = "the response ended in the middle of a JSON value";
            return Err(Error::new(ErrorKind::ConnectionLost, message));
        }
        let mut values = Vec::new();
        self.take_into(&mut values);
        Ok(values)
    }

    fn take_into(&mut self, values: &mut Vec<Vec<u8>>) {
        if !self.value.is_empty() {
            values.push(std::mem::take(&mut self.value));
        }
    }
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
