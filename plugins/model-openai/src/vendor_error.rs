//! What a vendor says is wrong, as one of the contract's errors.

use std::time::{Duration, SystemTime};

use mindhost_sdk::http::Response;
use mindhost_sdk::{Error, ErrorKind};
use serde_json::Value;

/// Bytes of an error's body that are read, and characters of its message that are kept.
const LARGEST_BODY: usize = 64 * 1024;
const LONGEST_MESSAGE: usize = 400;

/// The error that a response with a status other than success is.
pub fn of_response(mut response: Response, model: Option<&str>) -> Error {
    let status = response.status;
    let retry = retry_after(
        |name| response.header(name).map(str::to_owned),
        SystemTime::now(),
    );
    // A body that cannot be read takes nothing from what the status says.
    let body = response.body.read_to_end(LARGEST_BODY).unwrap_or_default();
    let parsed: Option<Value> = serde_json::from_slice(&body).ok();
    let said = Said::read(parsed.as_ref());
    let error = kind_and_message(status, &said, model);
    match retry.filter(|_| status == 429 || status >= 500) {
        Some(wait) => error.retry_after(wait),
        None => error,
    }
}

/// The error that a vendor sends in the middle of a stream.
pub fn in_stream(error: &Value) -> Error {
    let said = Said::of(error);
    let status = error
        .get("code")
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok());
    match status.filter(|s| (400..600).contains(s)) {
        Some(status) => kind_and_message(status, &said, None),
        None if said.is_about_length() => Error::new(
            ErrorKind::TooLarge,
            said.or("the conversation is too long for the model"),
        ),
        None => Error::new(
            ErrorKind::Upstream,
            said.or("the vendor ended the answer with an error"),
        )
        .code(said.code.clone()),
    }
}

/// The vendor's message and code.
struct Said {
    message: String,
    code: String,
}

impl Said {
    /// Reads `{"error": {…}}`, `{"error": "…"}`, `{"message": …}` and `{"detail": …}`.
    fn read(body: Option<&Value>) -> Self {
        match body {
            Some(body) => Self::of(body.get("error").filter(|e| !e.is_null()).unwrap_or(body)),
            None => Self {
                message: String::new(),
                code: String::new(),
            },
        }
    }

    fn of(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let message = error
            .as_str()
            .or_else(|| text("message"))
            .or_else(|| text("detail"))
            .unwrap_or_default();
        let code = text("code").or_else(|| text("type")).unwrap_or_default();
        Self {
            message: tidy(message),
            code: tidy(code),
        }
    }

    fn or(&self, otherwise: &str) -> String {
        if self.message.is_empty() {
            otherwise.to_owned()
        } else {
            self.message.clone()
        }
    }

    /// `what: the vendor's words`.
    fn after(&self, what: &str) -> String {
        if self.message.is_empty() {
            what.to_owned()
        } else {
            format!("{what}: {}", self.message)
        }
    }

    fn is_about_length(&self) -> bool {
        let message = self.message.to_lowercase();
        let words = [
            "context length",
            "context window",
            "maximum context",
            "too many tokens",
            "prompt is too long",
            "context size",
        ];
        self.code.contains("context_length") || words.iter().any(|w| message.contains(w))
    }

    fn is_about_model(&self, model: &str) -> bool {
        self.code.contains("model")
            || self.message.to_lowercase().contains("model")
            || self.message.contains(model)
    }
}

fn kind_and_message(status: u16, said: &Said, model: Option<&str>) -> Error {
    let (kind, message) = match status {
        401 | 403 => (ErrorKind::Auth, said.after("the vendor refused the key; check `api_key` of the provider")),
        402 => (ErrorKind::Permission, said.after("the vendor wants to be paid first")),
        404 => (ErrorKind::NotFound, not_found(said, model)),
        408 | 504 | 524 => (ErrorKind::Timeout, said.after("the vendor ran out of time")),
        413 => (ErrorKind::TooLarge, said.after("the request is too large for the vendor")),
        429 => (ErrorKind::RateLimited, said.after("the vendor asks to wait")),
        400 | 422 if said.is_about_length() => (ErrorKind::TooLarge, said.or("the conversation is too long for the model")),
        300..=399 => (
            ErrorKind::InvalidConfig,
            "the vendor sends to another address, which is not followed; set `base_url` to where the API is".to_owned(),
        ),
        400..=499 => (ErrorKind::InvalidStatement, said.after("the vendor refused the request")),
        _ => (ErrorKind::Upstream, said.after(&format!("the vendor failed with status {status}"))),
    };
    let code = if said.code.is_empty() {
        status.to_string()
    } else {
        said.code.clone()
    };
    Error::new(kind, message).code(code)
}

fn not_found(said: &Said, model: Option<&str>) -> String {
    match model.filter(|m| said.is_about_model(m)) {
        Some(model) => said.after(&format!("the vendor has no model '{}'", tidy(model))),
        None => said.after(
            "there is no such API at this address; check `base_url` (it usually ends in /v1)",
        ),
    }
}

/// One line, without control characters, not too long, and without anything that looks like a key: some vendors
/// repeat a part of it.
pub fn tidy(text: &str) -> String {
    let is_key =
        |word: &str| word.contains("sk-") || word.to_ascii_lowercase().starts_with("bearer");
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty());
    let line: Vec<&str> = words.map(|w| if is_key(w) { "(key)" } else { w }).collect();
    let line = line.join(" ");
    if line.chars().count() <= LONGEST_MESSAGE {
        return line;
    }
    line.chars().take(LONGEST_MESSAGE).chain(['…']).collect()
}

/// How long to wait, by `retry-after-ms`, or by `retry-after` in seconds or as a date.
pub fn retry_after(header: impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    /// Longer waits are not waits but refusals; and a number of seconds must fit.
    const LONGEST: f64 = 7.0 * 24.0 * 3600.0;
    let seconds = |text: &str, parts: f64| {
        let number = text.trim().parse::<f64>().ok()? / parts;
        (0.0..=LONGEST)
            .contains(&number)
            .then(|| Duration::from_secs_f64(number))
    };
    if let Some(wait) = header("retry-after-ms").and_then(|text| seconds(&text, 1000.0)) {
        return Some(wait);
    }
    let text = header("retry-after")?;
    seconds(&text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text.trim()).ok()?;
        let wait = date.duration_since(now).unwrap_or_default();
        (wait.as_secs_f64() <= LONGEST).then_some(wait)
    })
}
