//! Extractors with this API's errors.

pub mod exact;
mod mistake;
pub mod timestamp;

use self::mistake::{explain, field_at_fault};
use crate::error::{ApiError, ApiResult};
use crate::state::AppState;
use axum::{
    body::{Body, to_bytes},
    extract::{
        FromRequest, FromRequestParts, OptionalFromRequest, Request, path::ErrorKind,
        rejection::PathRejection,
    },
    http::{header, request::Parts},
};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::LengthLimitError;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use mindhost_base::error::{Code, Error, Result};
use mindhost_core::auth::Caller;

/// From [`super::admission`].
impl FromRequestParts<AppState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> ApiResult<Self> {
        Ok(caller(parts)?)
    }
}

/// The caller of an admitted request.
///
/// # Errors
/// On a route without admission.
pub fn caller(parts: &Parts) -> Result<Caller> {
    let caller = parts.extensions.get().cloned();
    caller.ok_or_else(|| Error::internal("this route is not behind the admission"))
}

/// A JSON body. `Option<Json<T>>` takes an empty body too.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Self> {
        Ok(Self(parse(&json_bytes(request).await?)?))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> OptionalFromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Option<Self>> {
        let is_json = says_json(&request);
        let body = body(request).await?;
        match body.is_empty() {
            true => Ok(None),
            false if !is_json => Err(not_json().into()),
            false => Ok(Some(Self(parse(&body)?))),
        }
    }
}

/// A JSON body together with its bytes, for requests that may be sent twice.
#[derive(Debug)]
pub struct JsonBytes<T>(pub T, pub Bytes);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBytes<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Self> {
        let bytes = json_bytes(request).await?;
        Ok(Self(parse(&bytes)?, bytes))
    }
}

/// A body that is sent as YAML, or as JSON, which is YAML too; as it came.
#[derive(Debug)]
pub struct YamlBytes(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for YamlBytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Self> {
        const KINDS: [&str; 4] = [
            "application/yaml",
            "application/x-yaml",
            "text/yaml",
            "text/x-yaml",
        ];
        let is_yaml = media_type(&request).is_some_and(|media| KINDS.contains(&media.as_str()));
        let is_yaml = is_yaml || says_json(&request);
        let body = body(request).await?;
        match is_yaml {
            true => Ok(Self(body)),
            false => Err(Error::new(
                Code::UnsupportedMediaType,
                "the body must be YAML; send the header `Content-Type: application/yaml`",
            )
            .into()),
        }
    }
}

/// The parameters after `?`.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let query = parts.uri.query().unwrap_or_default();
        let is_broken = |pair: &&str| percent_decode_str(pair).decode_utf8().is_err();
        if let Some(pair) = query.split('&').find(is_broken) {
            let name = pair.split('=').next().unwrap_or_default();
            let message = format!(
                "`{name}` in the query cannot be read: it is no text in UTF-8 once it is decoded"
            );
            return Err(Error::invalid(name, message).into());
        }
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        if let Some((name, _)) = pairs
            .clone()
            .find(|(name, value)| (name.to_string() + value).contains('\0'))
        {
            return Err(Error::invalid(name.replace('\0', "\u{fffd}"), NUL).into());
        }
        let value = serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs))
            .map_err(|error| {
                let (path, message) = (error.path().to_string(), error.inner().to_string());
                refused(Code::InvalidParameter, &path, &message)
            })?;
        Ok(Self(value))
    }
}

/// The parameters in the path, decoded.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        if parts.uri.path().contains("%00") {
            return Err(Error::new(Code::InvalidParameter, NUL).into());
        }
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Path(value)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => {
                Err(in_path(error.into_kind()).into())
            }
            Err(error) => Err(Error::internal(error).into()),
        }
    }
}

/// The error of a path parameter.
fn in_path(kind: ErrorKind) -> Error {
    let (name, message) = match kind {
        ErrorKind::InvalidUtf8InPathParam { key } => {
            (key, "it is no text in UTF-8 once it is decoded")
        }
        ErrorKind::ParseErrorAtKey { key, .. } | ErrorKind::DeserializeError { key, .. } => {
            (key, "it is not of the form that it has here")
        }
        other => return Error::internal(other.to_string()),
    };
    let message = format!("`{name}` in the path cannot be read: {message}");
    Error::invalid(name, message)
}

/// For a field where null and absent differ: `None` is absent, `Some(None)` null.
///
/// # Errors
/// As the field's own type.
pub fn present<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Durations in text form: `"30s"`, `"5m"`.
pub mod friendly {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, de::Error};

    /// A time or null.
    ///
    /// # Errors
    /// For a text that is not a duration.
    pub fn option<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let time = text.parse::<jiff::SignedDuration>().ok();
        let time = time.and_then(|time| Duration::try_from(time).ok());
        time.map(Some)
            .ok_or_else(|| D::Error::custom("expected a time like \"30s\" or \"5m\""))
    }

    /// A time, null or absent.
    ///
    /// # Errors
    /// For a text that is not a duration.
    pub fn present<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<Duration>>, D::Error> {
        option(deserializer).map(Some)
    }

    /// The time as text.
    pub fn text(time: Duration) -> String {
        jiff::SignedDuration::try_from(time)
            .map_or_else(|_| format!("{time:?}"), |time| format!("{time:#}"))
    }
}

/// Whether the `Content-Type` is JSON.
pub fn says_json(request: &Request) -> bool {
    media_type(request).is_some_and(|media| {
        media == "application/json"
            || (media.starts_with("application/") && media.ends_with("+json"))
    })
}

/// The media type of the body in lower case, without its parameters.
fn media_type(request: &Request) -> Option<String> {
    let value = request.headers().get(header::CONTENT_TYPE)?.to_str().ok()?;
    let media = value.split(';').next().unwrap_or_default();
    Some(media.trim().to_ascii_lowercase())
}

fn not_json() -> Error {
    Error::new(
        Code::UnsupportedMediaType,
        "the body must be JSON; send the header `Content-Type: application/json`",
    )
}

async fn json_bytes(request: Request) -> Result<Bytes> {
    let is_json = says_json(&request);
    let body = body(request).await?;
    if body.is_empty() {
        return Err(Error::new(
            Code::InvalidBody,
            "the body is empty; send a JSON object",
        ));
    }
    match is_json {
        true => Ok(body),
        false => Err(not_json()),
    }
}

/// The size limit of a body, in the extensions of every request.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

impl BodyLimit {
    /// The error of a longer body.
    pub fn exceeded(self) -> Error {
        let message = format!(
            "the body is larger than the {} bytes that this server takes (server.body_limit); send less at a time",
            self.0
        );
        Error::new(Code::BodyTooLarge, message)
    }
}

/// The whole body, within the limit of the server.
///
/// # Errors
/// `body_too_large`, `invalid_body`
pub async fn body(request: Request) -> Result<Bytes> {
    let limit = request.extensions().get::<BodyLimit>().copied();
    let limit = limit.ok_or_else(|| Error::internal("this route has no limit for bodies"))?;
    let broken = |error: axum::Error| {
        Error::new(Code::InvalidBody, "the body broke off before its end").with_source(error)
    };
    read(request.into_body(), limit.0, || limit.exceeded(), broken).await
}

/// A body of up to `limit` bytes. One with a larger `Content-Length` is refused at once.
///
/// # Errors
/// `too_large` or `broken`.
pub async fn read(
    body: Body,
    limit: usize,
    too_large: impl Fn() -> Error,
    broken: impl Fn(axum::Error) -> Error,
) -> Result<Bytes> {
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    to_bytes(body, limit).await.map_err(|error| {
        let is_too_large =
            std::error::Error::source(&error).is_some_and(|cause| cause.is::<LengthLimitError>());
        match is_too_large {
            true => too_large(),
            false => broken(error),
        }
    })
}

/// Reads JSON; failures name the field at fault.
///
/// # Errors
/// `invalid_body`
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    // Some programs of Windows write a byte order mark before every text.
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    // Serde takes a list of values for a struct too.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(Error::new(
            Code::InvalidBody,
            "the body is a list; send a JSON object",
        ));
    }
    if holds_nul(body) {
        return Err(Error::new(Code::InvalidBody, NUL));
    }
    // The path of a failure is looked up only after one, because tracking it costs time for every field.
    serde_json::from_slice(body).or_else(|_| parse_slowly(body))
}

fn parse_slowly<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let broken = |error: &serde_json::Error| {
        Error::new(
            Code::InvalidBody,
            format!("the body is not valid JSON: {error}"),
        )
    };
    let error = match serde_path_to_error::deserialize(&mut deserializer) {
        Ok(value) => {
            deserializer.end().map_err(|error| broken(&error))?;
            return Ok(value);
        }
        Err(error) => error,
    };
    let (mut path, inner) = (error.path().to_string(), error.inner());
    if !inner.is_data() {
        return Err(refused_enum::<T>(body).unwrap_or_else(|| broken(inner)));
    }
    let message = inner.to_string();
    if message.starts_with("invalid type: floating point")
        && let Some(body) = with_integers(body)
    {
        return parse_slowly(body.as_bytes());
    }
    if path == "." {
        path = field_at_fault::<T>(body, &message).unwrap_or(path);
    }
    Err(refused(Code::InvalidBody, &path, &message))
}

/// The error of a body that is valid JSON although its parser says otherwise: `serde_json` reports a syntax error for
/// an enum that is neither a text nor an object with one field. Read from a [`Value`], the mistake names its types.
fn refused_enum<T: DeserializeOwned>(body: &[u8]) -> Option<Error> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    make_integers(&mut value);
    let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
    let (path, message) = (error.path().to_string(), error.inner().to_string());
    Some(refused(Code::InvalidBody, &path, &message))
}

/// The error for what Serde refused at a path, with the parameter at fault.
pub(crate) fn refused(code: Code, path: &str, message: &str) -> Error {
    let (param, message) = explain(path, message);
    let error = Error::new(code, message);
    match param {
        Some(param) => error.param(param),
        None => error,
    }
}

/// A body with `5.0` written as `5`: JSON has no integers, and some languages write every number with a point. Other
/// numbers stay as they are written. `None` if there is none to change.
fn with_integers(body: &[u8]) -> Option<String> {
    let body = std::str::from_utf8(body).ok()?;
    let (mut written, mut rest) = (String::with_capacity(body.len()), 0);
    for at in exact::numbers(body) {
        let number = &body[at.clone()];
        let is_float = number.contains(['.', 'e', 'E']) && exact::is_kept(number);
        let float = serde_json::from_str(number).ok().filter(|_| is_float);
        if let Some(integer) = float.and_then(whole) {
            written.push_str(&body[rest..at.start]);
            written.push_str(&integer.to_string());
            rest = at.end;
        }
    }
    written.push_str(&body[rest..]);
    (rest > 0).then_some(written)
}

/// The integer that a float is.
fn whole(float: f64) -> Option<i64> {
    /// Up to here a float represents every integer exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}

fn make_integers(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(make_integers),
        Value::Object(fields) => fields.values_mut().for_each(make_integers),
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            if let Some(integer) = float.and_then(whole) {
                *number = integer.into();
            }
        }
        _ => {}
    }
}

/// No text may contain it, because databases end texts with it.
pub const NUL: &str = "the character U+0000 is allowed nowhere; leave it out";

/// Whether a text of a JSON document holds U+0000, which is always written `\u0000` there.
pub fn holds_nul(json: &[u8]) -> bool {
    let escaped = memchr::memmem::find_iter(json, br"\u0000");
    // After an even number of backslashes, the backslashes are escaped, not the `u`.
    escaped
        .map(|at| {
            json[..at]
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count()
        })
        .any(|before| before % 2 == 0)
}

#[cfg(test)]
mod tests;
