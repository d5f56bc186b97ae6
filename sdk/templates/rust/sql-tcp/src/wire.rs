//! The protocol of the engine: lines of JSON, one value a line.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use mindhost_sdk::{Error, ErrorKind, Result, net};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::cells::HeadColumn;

/// A longer line is an error: no answer may fill the memory.
const LONGEST: u64 = 32 << 20;
/// What both sides say before the handshake of TLS.
const UPGRADE: [u8; 4] = *b"tls\n";

/// A connection.
pub struct Wire<S: Read + Write>(BufReader<S>);

/// Who answers.
#[derive(Clone, Debug, Deserialize)]
pub struct Welcome {
    pub product: String,
    pub version: String,
}

#[derive(Deserialize)]
struct Head {
    columns: Vec<HeadColumn>,
}

/// Asks for TLS. Nothing is read beyond the answer, or somebody between the two could put bytes in front of the
/// handshake.
pub fn upgrade(socket: &mut (impl Read + Write)) -> Result<()> {
    let mut answer = [0; UPGRADE.len()];
    let asked = socket
        .write_all(&UPGRADE)
        .and_then(|()| socket.read_exact(&mut answer));
    asked.map_err(|error| net::transport_error(&error))?;
    match answer == UPGRADE {
        true => Ok(()),
        false => Err(foreign()),
    }
}

impl<S: Read + Write> Wire<S> {
    pub fn over(stream: S) -> Self {
        Self(BufReader::with_capacity(64 << 10, stream))
    }

    /// Shows the password.
    pub fn login(&mut self, password: &str) -> Result<Welcome> {
        self.send(&json!({ "password": password }))?;
        read(self.line()?)
    }

    /// Starts a statement; gives its columns.
    pub fn ask(&mut self, sql: &str, timeout: Duration) -> Result<Vec<HeadColumn>> {
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.send(&json!({"query": sql, "timeout_ms": timeout_ms}))?;
        Ok(read::<Head>(self.line()?)?.columns)
    }

    /// The next row of the statement; none at its end.
    pub fn row(&mut self) -> Result<Option<Vec<Json>>> {
        match self.line()? {
            Json::Array(row) => Ok(Some(row)),
            end if end["end"] == true => Ok(None),
            _ => Err(foreign()),
        }
    }

    fn send(&mut self, value: &Json) -> Result<()> {
        let stream = self.0.get_mut();
        let sent = writeln!(stream, "{value}").and_then(|()| stream.flush());
        sent.map_err(|error| net::transport_error(&error))
    }

    /// The next line, if it is no error of the engine.
    fn line(&mut self) -> Result<Json> {
        let mut line = Vec::new();
        let mut limited = Read::take(&mut self.0, LONGEST);
        let read = limited.read_until(b'\n', &mut line);
        read.map_err(|error| net::transport_error(&error))?;
        match line.last() {
            Some(b'\n') => {}
            _ if line.len() as u64 == LONGEST => {
                let message = "a row is larger than 32 MiB";
                return Err(Error::new(ErrorKind::TooLarge, message).connection_usable(false));
            }
            _ => {
                let message = "the engine ended its answer too early";
                return Err(Error::new(ErrorKind::ConnectionLost, message));
            }
        }
        let value: Json = serde_json::from_slice(&line).map_err(|_| foreign())?;
        match value["error"].as_str() {
            Some(message) => Err(refused(message, value["code"].as_str().unwrap_or_default())),
            None => Ok(value),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Json) -> Result<T> {
    serde_json::from_value(value).map_err(|_| foreign())
}

/// The engine's refusals in the contract's words.
fn refused(message: &str, code: &str) -> Error {
    let kind = match code {
        "auth" => ErrorKind::Auth,
        "statement" => ErrorKind::InvalidStatement,
        "timeout" => ErrorKind::Timeout,
        _ => ErrorKind::Upstream,
    };
    Error::new(kind, message).code(code)
}

fn foreign() -> Error {
    let message = "the server does not speak the protocol of this engine";
    Error::new(ErrorKind::Upstream, message).connection_usable(false)
}
