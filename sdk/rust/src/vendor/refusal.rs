//! What a vendor says is wrong.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::http::Response;

/// Bytes of an error's body that are read, and characters of its message that are kept.
const LARGEST_BODY: usize = 64 * 1024;
const LONGEST_MESSAGE: usize = 400;
/// Longer waits are not waits but refusals.
const LONGEST_WAIT: f64 = 7.0 * 24.0 * 3600.0;

/// A response with a status other than success.
#[derive(Debug)]
pub struct Refusal {
    /// 400, 429, …
    pub status: u16,
    /// The vendor's words.
    pub said: VendorMessage,
    /// When the vendor wants to be asked again.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads the headers, and at most 64 KiB of the body.
    pub fn read(mut response: Response) -> Self {
        let header = |name: &str| response.header(name).map(str::to_owned);
        let wait = retry_after(header, SystemTime::now());
        // A body that cannot be read takes nothing from what the status says.
        let body = response.body.read_to_end(LARGEST_BODY).unwrap_or_default();
        let said = match serde_json::from_slice(&body) {
            Ok(body) => VendorMessage::read(&body),
            Err(_) => VendorMessage::plain(&body),
        };
        Self {
            status: response.status,
            retry_after: wait.or_else(|| said.retry_after()),
            said,
        }
    }

    /// The kind and the message of a status that means the same at every vendor.
    pub fn usual(&self) -> (ErrorKind, String) {
        let said = &self.said;
        match self.status {
            401 => (
                ErrorKind::Auth,
                said.after("the vendor refused the key; check `api_key` of the provider"),
            ),
            402 => (
                ErrorKind::Permission,
                said.after("the vendor wants to be paid first"),
            ),
            404 => (ErrorKind::NotFound, said.after("the vendor has no such thing")),
            408 | 504 | 524 => (
                ErrorKind::Timeout,
                said.after("the vendor ran out of time; ask again"),
            ),
            413 => (
                ErrorKind::TooLarge,
                said.after("the request is too large for the vendor; ask for less"),
            ),
            429 => (
                ErrorKind::RateLimited,
                said.after("the vendor asks to wait"),
            ),
            300..=399 => (
                ErrorKind::InvalidConfig,
                "the vendor sends to another address, which is not followed; set `base_url` to where the API is"
                    .to_owned(),
            ),
            400..=499 if said.is_about_length() => (
                ErrorKind::TooLarge,
                said.or("the conversation is too long for the model"),
            ),
            400..=499 => (
                ErrorKind::InvalidStatement,
                said.after("the vendor refused the request"),
            ),
            status => (
                ErrorKind::Upstream,
                said.after(&format!("the vendor failed with status {status}")),
            ),
        }
    }

    /// An error of this kind, with the vendor's code (else the status) and the wait that it asks for.
    pub fn error(&self, (kind, message): (ErrorKind, String)) -> Error {
        let code = match self.said.code.is_empty() {
            // By this code the host tells callers what to do: others say it in a code of their own, or in words.
            _ if kind == ErrorKind::TooLarge && self.said.is_about_length() => {
                CONTEXT_LENGTH.to_owned()
            }
            true => self.status.to_string(),
            false => self.said.code.clone(),
        };
        let error = Error::new(kind, message).code(code);
        let waits = self.status == 429 || self.status >= 500;
        match self.retry_after.filter(|_| waits) {
            Some(wait) => error.retry_after(wait),
            None => error,
        }
    }
}

/// The code of an error `TooLarge` of a dialogue that is longer than the model takes.
pub const CONTEXT_LENGTH: &str = "context_length_exceeded";

/// A vendor's message and code, each in one line of at most 400 characters without anything that looks like a key.
#[derive(Clone, Debug, Default)]
pub struct VendorMessage {
    /// For a person; may be empty.
    pub message: String,
    /// For a program; may be empty.
    pub code: String,
    /// The field of the request that is wrong; often empty.
    pub param: String,
    wait: Option<Duration>,
}

impl VendorMessage {
    /// Reads `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}`, and a list of one of these.
    pub fn read(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        Self::of(body.get("error").filter(|e| !e.is_null()).unwrap_or(body))
    }

    /// Reads what stands in the field `error`.
    pub fn of(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let message = error.as_str();
        let message = message
            .or_else(|| text("message"))
            .or_else(|| text("detail"));
        let code = text("code")
            .or_else(|| text("status"))
            .or_else(|| text("type"));
        let details = error.get("details").and_then(Value::as_array);
        let delay = details.into_iter().flatten().find_map(|detail| {
            let delay = detail.get("retryDelay")?.as_str()?;
            wait_of(delay.strip_suffix('s')?, 1.0)
        });
        Self {
            message: tidy(message.unwrap_or_default()),
            code: tidy(code.unwrap_or_default()),
            param: tidy(text("param").unwrap_or_default()),
            wait: delay,
        }
    }

    /// A body that is a sentence and not JSON. A web page says nothing.
    fn plain(body: &[u8]) -> Self {
        let text = std::str::from_utf8(body).unwrap_or_default().trim();
        match text.starts_with('<') {
            true => Self::default(),
            false => Self {
                message: tidy(text),
                ..Self::default()
            },
        }
    }

    /// When the vendor wants to be asked again, where it says so in the body.
    pub fn retry_after(&self) -> Option<Duration> {
        self.wait
    }

    /// The vendor's words, or others where there are none.
    pub fn or(&self, otherwise: &str) -> String {
        match self.message.is_empty() {
            true => otherwise.to_owned(),
            false => self.message.clone(),
        }
    }

    /// `what: the vendor's words`.
    pub fn after(&self, what: &str) -> String {
        match self.message.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {}", self.message),
        }
    }

    /// Whether the message holds one of these words, in any case.
    pub fn mentions(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    /// Whether the conversation is too long for the model.
    pub fn is_about_length(&self) -> bool {
        self.code.contains("context_length")
            || self.mentions(&[
                "context length",
                "context window",
                "context limit",
                "context size",
                "maximum context",
                "too many tokens",
                "prompt is too long",
                "token count exceeds",
            ])
    }

    /// Whether it is about the model that was asked for.
    pub fn is_about_model(&self, model: &str) -> bool {
        self.code.contains("model") || self.mentions(&["model"]) || self.message.contains(model)
    }
}

/// One line, without control characters, not too long, and without anything that looks like a key, such as the token
/// after `Bearer`: some vendors repeat a part of it.
pub fn tidy(text: &str) -> String {
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty());
    let mut is_after_bearer = false;
    let line: Vec<&str> = words
        .map(|word| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            // A colon or a quote alone is not the token.
            if bare.is_empty() {
                return word;
            }
            let bare = bare.to_ascii_lowercase();
            let before = bare.strip_suffix("bearer");
            // "Missing bearer or basic authentication" speaks of no token; a token is no short word of letters.
            let is_word = bare.len() < 16 && bare.chars().all(char::is_alphabetic);
            let is_token = std::mem::replace(&mut is_after_bearer, before.is_some()) && !is_word;
            let holds_token = before.unwrap_or(&bare).contains("bearer");
            match is_token || holds_token || word.contains("sk-") {
                true => "(key)",
                false => word,
            }
        })
        .collect();
    let line = line.join(" ");
    if line.chars().count() <= LONGEST_MESSAGE {
        return line;
    }
    line.chars().take(LONGEST_MESSAGE).chain(['…']).collect()
}

/// How long to wait, by `retry-after-ms`, or by `retry-after` in seconds or as a date.
pub fn retry_after(header: impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    if let Some(wait) = header("retry-after-ms").and_then(|text| wait_of(&text, 1000.0)) {
        return Some(wait);
    }
    let text = header("retry-after")?;
    wait_of(&text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text.trim()).ok()?;
        let wait = date.duration_since(now).unwrap_or_default();
        (wait.as_secs_f64() <= LONGEST_WAIT).then_some(wait)
    })
}

/// A number of which `parts` make a second.
fn wait_of(text: &str, parts: f64) -> Option<Duration> {
    let number = text.trim().parse::<f64>().ok()? / parts;
    (0.0..=LONGEST_WAIT)
        .contains(&number)
        .then(|| Duration::from_secs_f64(number))
}

#[cfg(test)]
mod tests;
