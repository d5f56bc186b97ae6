//! The one body of all failures, and the only place where a kind becomes a status.

use axum::{
    Json,
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::error::{Code, Error, Kind};

/// The status of a kind.
pub fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Kind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Kind::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Kind::BadGateway => StatusCode::BAD_GATEWAY,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// `error.type`, in the words that clients of OpenAI's API know.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Unauthenticated => "authentication_error",
        Kind::Forbidden => "permission_error",
        Kind::RateLimited => "rate_limit_error",
        Kind::Internal | Kind::BadGateway | Kind::Unavailable | Kind::Timeout => "server_error",
        _ => "invalid_request_error",
    }
}

/// The object under `error`: `message`, `type`, `code`, `param`, and what else is known.
pub fn object(error: &Error) -> Value {
    let mut object = json!({
        "message": error.message(),
        "type": type_name(error.kind()),
        "code": error.code().as_str(),
        "param": error.param_name(),
    });
    if let Some(blame) = error.blame() {
        object["blame"] = json!(blame);
    }
    if let Some(position) = error.position() {
        object["position"] = json!(position);
    }
    if let Some(code) = error.engine_code() {
        object["engine_code"] = json!(code);
    }
    object
}

/// The fields of an `error` event: flat, as OpenAI's clients read them, and the whole object.
pub fn stream_fields(error: &Error) -> Value {
    log(error);
    json!({
        "code": error.code().as_str(),
        "message": error.message(),
        "param": error.param_name(),
        "error": object(error),
    })
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        log(&self);
        let body = Json(json!({"error": object(&self), "detail": self.message()}));
        let mut response = (status(self.kind()), body).into_response();
        if self.kind() == Kind::Unauthenticated {
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        if let Some(delay) = self.retry_after() {
            let seconds = delay.as_secs_f64().ceil() as u64;
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The cause goes to the log and nowhere else.
fn log(error: &Error) {
    let mut causes = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        causes.push(inner.to_string());
        cause = inner.source();
    }
    let (code, cause) = (error.code().as_str(), causes.join(": "));
    match error.kind() {
        Kind::Internal => tracing::error!(code, cause, "{error}"),
        Kind::BadGateway | Kind::Unavailable | Kind::Timeout => {
            tracing::warn!(code, cause, "{error}");
        }
        _ => tracing::debug!(code, cause, "{error}"),
    }
}

pub(super) async fn route_not_found(method: Method, uri: Uri) -> Error {
    Error::new(
        Code::RouteNotFound,
        format!(
            "there is no route {method} {}; the API begins at /api/v1",
            uri.path()
        ),
    )
}

pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Error {
    Error::new(
        Code::MethodNotAllowed,
        format!(
            "{} does not take {method}; the header Allow lists what it takes",
            uri.path()
        ),
    )
}

/// The answer to a panic in a handler. What it said was logged by the panic hook.
pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Error::internal("a handler panicked").into_response()
}
