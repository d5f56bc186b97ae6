//! HTTP in unit tests: what a server said once is recorded in a file, and replayed from then on.
//!
//! The file has the form that the SDKs for JavaScript and Python write, too.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::curl;
use super::stand_in::{StandIn, stand_in};
use crate::control::stand_in as control;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Request, Response, Url};

/// Headers that say nothing that a plugin reads, or too much.
const UNWRITTEN: [&str; 7] = [
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "server",
    "set-cookie",
    "transfer-encoding",
];

/// Where the HTTP of a unit test comes from.
///
/// ```no_run
/// use mindhost_sdk::testing::Fixtures;
///
/// let _http = Fixtures::in_file("fixtures.json")
///     .header("authorization", "Bearer of the real server")
///     .replay()
///     .unwrap();
/// // From here to its drop, `http::send` on this thread answers from the file.
/// ```
#[derive(Clone, Debug)]
pub struct Fixtures {
    path: PathBuf,
    headers: Vec<(String, String)>,
    servers: Vec<(String, String)>,
    secrets: Vec<String>,
    is_recording: bool,
}

impl Fixtures {
    /// A file of fixtures. With `RECORD_HTTP=1` in the environment, requests go to the real server (through the
    /// program `curl`) and the file is written anew; several tests of one run may share it.
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            headers: Vec::new(),
            servers: Vec::new(),
            secrets: Vec::new(),
            is_recording: std::env::var_os("RECORD_HTTP").is_some_and(|value| value == "1"),
        }
    }

    /// A header for the real server alone, such as the key that the host would add. It is never written, and sent to
    /// the origin of the first request alone, or to those of [`Fixtures::server`].
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Where the real server of a URL of the tests is. In answers it is that URL again.
    #[must_use]
    pub fn server(mut self, url: impl Into<String>, real: impl Into<String>) -> Self {
        self.servers.push((url.into(), real.into()));
        self
    }

    /// A text that is written as `***`.
    #[must_use]
    pub fn secret(mut self, text: impl Into<String>) -> Self {
        self.secrets.push(text.into());
        self
    }

    /// Records, whatever the environment says.
    #[must_use]
    pub fn record(mut self) -> Self {
        self.is_recording = true;
        self
    }

    /// From here to the drop of what it gives, [`crate::http::send`] on this thread uses these fixtures, and
    /// [`crate::control::sleep`] does not wait; while it records, it does.
    ///
    /// # Errors
    /// `InvalidConfig` for a file that is not there or has another form.
    pub fn replay(self) -> Result<StandIn> {
        let is_recording = self.is_recording;
        let mut tape = if is_recording {
            let part = with_recorded(&self.path, |parts| {
                parts.push(Vec::new());
                parts.len() - 1
            });
            FixtureMode::Recording(self, part, None)
        } else {
            FixtureMode::playing(self)?
        };
        let host = stand_in(move |request| match &mut tape {
            FixtureMode::Recording(fixtures, part, first) => {
                record(fixtures, *part, first, request)
            }
            FixtureMode::Playing(fixtures, waiting) => play(fixtures, waiting, request),
        });
        // A real server that is busy has to be waited for.
        control::skip_waits(!is_recording);
        Ok(host)
    }

    fn masked(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(&**secret, "***")
        })
    }

    /// A text of the real servers with the URLs of the tests.
    fn own(&self, text: &str) -> String {
        let servers = self.servers.iter();
        servers.fold(text.to_owned(), |text, (own, there)| {
            text.replace(&**there, own)
        })
    }

    fn key(&self, request: &Request) -> RequestKey {
        RequestKey {
            method: request.method.to_owned(),
            url: self.masked(&request.url),
            body: self.masked(&String::from_utf8_lossy(&request.body)),
        }
    }
}

enum FixtureMode {
    /// With the number of its part of the file, and the origin of its first request.
    Recording(Fixtures, usize, Option<Origin>),
    /// The answers to each request that are left, the next one last.
    Playing(Fixtures, HashMap<RequestKey, Vec<CannedReply>>),
}

impl FixtureMode {
    fn playing(fixtures: Fixtures) -> Result<Self> {
        let path = fixtures.path.display();
        let text = fs::read_to_string(&fixtures.path).map_err(|error| {
            wrong(format!(
                "{path}: {error}; run the tests once with RECORD_HTTP=1, which asks the real server"
            ))
        })?;
        let written: Vec<Fixture> = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("{path} has no fixtures: {error}")))?;
        let mut waiting: HashMap<RequestKey, Vec<CannedReply>> = HashMap::new();
        for fixture in written.into_iter().rev() {
            waiting
                .entry(fixture.request)
                .or_default()
                .push(fixture.response);
        }
        Ok(Self::Playing(fixtures, waiting))
    }
}

/// Answers come in the order in which they were recorded; the last answer to a request stays.
fn play(
    fixtures: &Fixtures,
    waiting: &mut HashMap<RequestKey, Vec<CannedReply>>,
    request: &Request,
) -> Result<Response> {
    let answers = waiting.get_mut(&fixtures.key(request));
    let told = answers.and_then(|answers| match answers.len() {
        0 | 1 => answers.first().cloned(),
        _ => answers.pop(),
    });
    let told = told.ok_or_else(|| {
        wrong(format!(
            "{} has no answer for {request:?}; record it with RECORD_HTTP=1",
            fixtures.path.display()
        ))
    })?;
    let body = match told.body {
        Text::Plain(text) => text.into_bytes(),
        Text::Binary { base64 } => decoded(&base64)
            .ok_or_else(|| wrong(format!("the answer to {request:?} is not in Base64")))?,
    };
    Ok(answer(told.status, told.headers, body))
}

/// What this process has recorded, by file: several tests of it may write into one, each a part.
static RECORDED: Mutex<BTreeMap<PathBuf, Vec<Vec<Fixture>>>> = Mutex::new(BTreeMap::new());

fn with_recorded<T>(path: &Path, change: impl FnOnce(&mut Vec<Vec<Fixture>>) -> T) -> T {
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    change(recorded.entry(path.to_owned()).or_default())
}

/// Scheme, and host with the port.
type Origin = (bool, String);

fn origin(url: &str) -> Result<Origin> {
    let url = Url::parse(url)?;
    Ok((url.https, url.authority.to_ascii_lowercase()))
}

fn record(
    fixtures: &Fixtures,
    part: usize,
    first: &mut Option<Origin>,
    request: &Request,
) -> Result<Response> {
    let mut real = request.clone();
    for (own, there) in &fixtures.servers {
        real.url = real.url.replace(&**own, there);
    }
    let here = origin(&real.url)?;
    let mut servers = fixtures.servers.iter().map(|(_, there)| origin(there));
    let is_trusted = match fixtures.servers.is_empty() {
        true => *first.get_or_insert_with(|| here.clone()) == here,
        false => servers.any(|server| server.is_ok_and(|server| server == here)),
    };
    if is_trusted {
        real.headers.extend(fixtures.headers.iter().cloned());
    }
    let (status, mut headers, body) = curl::send(&real)?;
    for (_, value) in &mut headers {
        *value = fixtures.own(value);
    }
    let body = match String::from_utf8(body) {
        Ok(text) => fixtures.own(&text).into_bytes(),
        Err(error) => error.into_bytes(),
    };
    // The server's clock matters beside a date to come back at, and makes two recordings differ.
    let is_later = headers.iter().any(|(name, _)| name == "retry-after");
    headers.retain(|(name, _)| !UNWRITTEN.contains(&&**name) && (is_later || name != "date"));
    let text = match String::from_utf8(body.clone()) {
        Ok(text) => Text::Plain(fixtures.masked(&text)),
        Err(_) => Text::Binary {
            base64: encoded(&body),
        },
    };
    let fixture = Fixture {
        request: fixtures.key(request),
        response: CannedReply {
            status,
            headers: headers
                .iter()
                .map(|(name, value)| (name.clone(), fixtures.masked(value)))
                .collect(),
            body: text,
        },
    };
    // The last answer to a request stays, so the same one again says nothing new.
    with_recorded(&fixtures.path, |parts| {
        if let Some(written) = parts.get_mut(part) {
            let before = written.iter().rfind(|one| one.request == fixture.request);
            if before != Some(&fixture) {
                written.push(fixture);
            }
        }
        save(&fixtures.path, &parts.concat())
    })?;
    Ok(answer(status, headers, body))
}

fn save(path: &Path, written: &[Fixture]) -> Result<()> {
    let text = serde_json::to_string_pretty(written).map_err(|error| wrong(error.to_string()))?;
    fs::write(path, text + "\n").map_err(|error| wrong(format!("{}: {error}", path.display())))
}

fn answer(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Response {
    let pieces = (!body.is_empty()).then_some(Ok(body));
    let response = Response::scripted(status, pieces.into_iter().collect());
    headers
        .into_iter()
        .fold(response, |response, (name, value)| {
            response.with_header(name, value)
        })
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidConfig, message)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fixture {
    request: RequestKey,
    response: CannedReply,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct RequestKey {
    method: String,
    url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CannedReply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Text,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Binary { base64: String },
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at)) & 63;
            text.push(match at <= group.len() {
                true => char::from(DIGITS[digit as usize]),
                false => '=',
            });
        }
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let digits: Vec<_> = group
            .iter()
            .copied()
            .filter(|digit| *digit != b'=')
            .collect();
        let mut bits = 0_u32;
        for digit in &digits {
            let value = DIGITS.iter().position(|own| own == digit)?;
            bits = (bits << 6) | u32::try_from(value).ok()?;
        }
        let bits = bits << (6 * (4 - digits.len()));
        bytes.extend(
            bits.to_be_bytes()
                .into_iter()
                .skip(1)
                .take(digits.len().saturating_sub(1)),
        );
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
