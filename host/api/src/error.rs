//! The one body of all failures, and the only place where a kind becomes a status.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use mindhost_base::error::{Blame, Code, Error, Kind, Right};

/// `Retry-After` of a 429 for which nothing says how long to wait.
const USUAL_DELAY: Duration = Duration::from_secs(1);

/// The status of a kind.
pub fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Kind::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
        Kind::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
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
pub(super) fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Unauthenticated => "authentication_error",
        Kind::Forbidden => "permission_error",
        Kind::RateLimited => "rate_limit_error",
        Kind::Internal | Kind::BadGateway | Kind::Unavailable | Kind::Timeout => "server_error",
        _ => "invalid_request_error",
    }
}

/// The body of every failure.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody<'a> {
    error: ErrorObject<'a>,
    /// The message again, for clients that read only this.
    detail: &'a str,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorObject<'a> {
    /// What is wrong, and what to do next.
    message: &'a str,
    /// The sort of failure, in the words of OpenAI's API.
    #[schema(example = "invalid_request_error")]
    r#type: &'static str,
    /// Stable; `host/docs/errors.md` lists all of them.
    #[schema(example = "invalid_parameter")]
    code: &'static str,
    /// The parameter at fault.
    #[schema(required = true, example = "name")]
    param: Option<&'a str>,
    /// Who is at fault when an answer could not be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<Blame>,
    /// Where in the SQL text, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
    /// The engine's or vendor's own code: an SQLSTATE, an HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_code: Option<&'a str>,
    /// With `rights_not_accepted`: what the version may do that the one before may not.
    #[serde(skip_serializing_if = "<[Right]>::is_empty")]
    rights: &'a [Right],
}

impl<'a> ErrorObject<'a> {
    /// Of a failure.
    pub fn of(error: &'a Error) -> Self {
        Self {
            message: error.message(),
            r#type: type_name(error.kind()),
            code: error.code().as_str(),
            param: error.param_name(),
            blame: error.blame(),
            position: error.position(),
            engine_code: error.engine_code(),
            rights: error.rights(),
        }
    }
}

/// The fields of an `error` event: flat, as OpenAI's clients read them, and the whole object.
pub fn stream_fields(error: &Error) -> Value {
    error.log();
    json!({
        "code": error.code().as_str(),
        "message": error.message(),
        "param": error.param_name(),
        "error": ErrorObject::of(error),
    })
}

/// What a handler or an extractor answers.
pub type ApiResult<T> = Result<T, ApiError>;

/// A failure that becomes an HTTP response.
#[derive(Debug)]
pub struct ApiError(pub Error);

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self(error) = self;
        error.log();
        let body = ErrorBody {
            error: ErrorObject::of(&error),
            detail: error.message(),
        };
        let mut response = (status(error.kind()), Json(body)).into_response();
        if error.kind() == Kind::Unauthenticated {
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        if error.is_permanent() {
            let no = HeaderValue::from_static("false");
            response.headers_mut().insert("x-should-retry", no);
        }
        // Each 429 says when to come again, also if a vendor did not.
        let usual = (error.kind() == Kind::RateLimited).then_some(USUAL_DELAY);
        if let Some(delay) = error.retry_after().or(usual) {
            let seconds = delay.as_secs_f64().ceil() as u64;
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

pub(super) async fn route_not_found(method: Method, uri: Uri) -> ApiError {
    ApiError(Error::new(
        Code::RouteNotFound,
        format!(
            "there is no route {method} {}; the API begins at /api/v1",
            uri.path()
        ),
    ))
}

pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    ApiError(Error::new(
        Code::MethodNotAllowed,
        format!(
            "{} does not take {method}; the header Allow lists what it takes",
            uri.path()
        ),
    ))
}

/// The answer to a panic in a handler. What it said was logged by the panic hook.
pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError(Error::internal("a handler panicked")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_whether_and_when_to_retry() {
        let headers = |error: Error| {
            let response = ApiError(error).into_response();
            ["x-should-retry", "retry-after"].map(|name| {
                let value = response.headers().get(name)?;
                Some(value.to_str().unwrap().to_owned())
            })
        };
        let new = |code| Error::new(code, "no");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(headers(new(Code::RateLimited)), [None, text("1")]);
        let later = new(Code::RateLimited).with_retry_after(Duration::from_millis(6_100));
        assert_eq!(headers(later), [None, text("7")]);
        assert_eq!(
            headers(new(Code::QuotaExceeded)),
            [text("false"), text("1")]
        );
        assert_eq!(headers(new(Code::Timeout)), [None, None]);
        assert_eq!(
            headers(new(Code::Timeout).permanent()),
            [text("false"), None]
        );
    }

    #[test]
    fn the_documentation_lists_every_code_with_its_status_and_what_to_do() {
        let documented: Vec<Vec<&str>> = include_str!("../../docs/errors.md")
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
            .collect();
        let known: Vec<Vec<String>> = Code::ALL
            .iter()
            .map(|code| {
                let status = status(code.kind()).as_u16().to_string();
                vec![
                    format!("`{}`", code.as_str()),
                    status,
                    code.summary().to_owned(),
                ]
            })
            .collect();
        let lines: Vec<_> = documented.iter().map(|line| &line[..3]).collect();
        assert_eq!(
            lines, known,
            "docs/errors.md has a line for each code, in order"
        );
        for line in &documented {
            assert!(line.len() == 4 && line[3].ends_with('.'), "{line:?}");
        }
    }
}
