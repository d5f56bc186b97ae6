//! The console in the browser: its files, and the one-time links that open it signed in.
//!
//! The files need no key, as they hold nothing of anybody. What the console shows it asks of the API, with a key.

use std::{sync::Arc, time::SystemTime};

use axum::{
    Extension, Router,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    AppState,
    admission::CreatedName,
    error::{ApiResult, route_not_found},
    extract::Json,
    middleware::{ClientAddress, RequestId},
    routes::{OPEN, Routes, Tag, USER},
};
use mindhost_base::error::{Code, Error};
use mindhost_console::File;
use mindhost_core::{
    audit::Note,
    auth::{Auth, Caller, sign_in_codes::LIFETIME},
};

/// No other origin, nothing inline, no frames, and no text becomes markup or a script.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
     object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The routes of the one-time links.
pub(super) fn routes() -> Routes {
    let exchange = OPEN.fails(&[Code::InvalidApiKey, Code::RateLimited]);
    Routes::of(Tag::Keys)
        .route(routes!(create_link), USER.fails(&[Code::RateLimited]))
        .route(routes!(self::sign_in), exchange)
}

/// The files. They are no part of the API, so the document does not list them.
pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route("/", get(root))
        .route("/console", get(page))
        .route("/console/{*path}", get(page))
}

/// Leads people to the console; programs that ask for nothing are told where the API is.
async fn root(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    let vary = [(header::VARY, "accept")];
    if accept.is_some_and(|accept| accept.contains("text/html")) {
        return (vary, Redirect::to("/console")).into_response();
    }
    (vary, route_not_found(method, uri).await).into_response()
}

/// A file by its name, and the page for every other address: the script in it reads the address.
async fn page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri
        .path()
        .trim_start_matches("/console")
        .trim_start_matches('/');
    let file = match mindhost_console::file(path) {
        Some(file) => file,
        None if path.starts_with("assets/") => {
            return route_not_found(method, uri).await.into_response();
        }
        None => mindhost_console::index(),
    };
    answer(file, &headers)
}

fn answer(file: &'static File, headers: &HeaderMap) -> Response {
    let (encoding, bytes) = encoded(file, headers);
    let tag = format!("\"{}-{}\"", file.hash, encoding.unwrap_or("plain"));
    let caching = match file.is_immutable() {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| {
        known
            .split(',')
            .any(|one| one.trim().trim_start_matches("W/") == tag)
    });
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, file.media_type())], bytes).into_response(),
    };
    let answered = response.headers_mut();
    if let (Some(encoding), false) = (encoding, is_known) {
        answered.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        answered.insert(header::ETAG, tag);
    }
    for (name, value) in [
        (header::CACHE_CONTROL, caching),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            header::HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        answered.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The smallest form that the client takes.
fn encoded(file: &'static File, headers: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
    let accept = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    let accepts =
        |name: &str| accept.is_some_and(|accept| accept.split(',').any(|one| takes(one, name)));
    if !file.brotli.is_empty() && accepts("br") {
        return (Some("br"), file.brotli);
    }
    if !file.gzip.is_empty() && accepts("gzip") {
        return (Some("gzip"), file.gzip);
    }
    (None, file.plain)
}

/// Whether one entry of `Accept-Encoding` names this encoding and does not refuse it.
fn takes(entry: &str, name: &str) -> bool {
    let mut parts = entry.split(';').map(str::trim);
    let is_named = parts
        .next()
        .is_some_and(|one| one.eq_ignore_ascii_case(name));
    let refused = parts.filter_map(|part| part.strip_prefix("q="));
    is_named
        && !refused
            .map(str::parse::<f32>)
            .any(|weight| weight == Ok(0.0))
}

/// The body of `POST /console/links`.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewConsoleLink)]
#[serde(deny_unknown_fields)]
pub(super) struct NewLink {
    /// The text of the key of this request, once more: the server stores no texts of keys, and the link hands it over.
    #[schema(max_length = 1000, example = "mh_4QxK…")]
    key: String,
}

/// A one-time link.
#[derive(Serialize, ToSchema)]
#[schema(as = ConsoleLink)]
pub(super) struct Link {
    /// The address behind that of the server. Its code is in the fragment, which browsers send to no server.
    #[schema(example = "/console#code=4QxK…")]
    path: String,
    /// It cannot be used from then on.
    expires_at: jiff::Timestamp,
}

/// The body of `POST /console/sign-in`.
#[derive(Deserialize, ToSchema)]
#[schema(as = ConsoleSignIn)]
#[serde(deny_unknown_fields)]
pub(super) struct SignIn {
    /// Of a one-time link.
    #[schema(max_length = 100, example = "4QxK…")]
    code: String,
}

/// The key that a link was made with.
#[derive(Serialize, ToSchema)]
#[schema(as = ConsoleKey)]
pub(super) struct HandedOver {
    /// The text to send as `Authorization: Bearer …`.
    #[schema(example = "mh_4QxK…")]
    key: String,
}

/// Makes a one-time link that opens the console with the key of this request
///
/// `mindhost console` prints one. It can be used once, within ten minutes, on the host that made it. Making another one
/// with the same key ends it.
#[utoipa::path(post, path = "/console/links", operation_id = "create_console_link",
    responses((status = 201, body = Link, description = "The link.")))]
pub(super) async fn create_link(
    caller: Caller,
    State(auth): State<Arc<Auth>>,
    Json(body): Json<NewLink>,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<Link>)> {
    let code = auth.create_sign_in_code(&caller, &body.key).await?;
    let expires_at = jiff::Timestamp::try_from(SystemTime::now() + LIFETIME)
        .map_err(|error| Error::internal(error.to_string()))?;
    let path = format!("/console#code={}", *code);
    let made = Extension(CreatedName("one-time link".to_owned()));
    Ok((
        StatusCode::CREATED,
        made,
        axum::Json(Link { path, expires_at }),
    ))
}

/// Gives the key of a one-time link, once
#[utoipa::path(post, path = "/console/sign-in", operation_id = "sign_in_console",
    responses((status = 200, body = HandedOver, description = "The key that the link was made with.")))]
pub(super) async fn sign_in(
    State(state): State<AppState>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    Extension(RequestId(id)): Extension<RequestId>,
    Json(body): Json<SignIn>,
) -> ApiResult<(
    [(header::HeaderName, &'static str); 1],
    axum::Json<HandedOver>,
)> {
    state.failed_logins.check(address)?;
    let taken = state.auth.take_sign_in_code(&body.code).await;
    if taken
        .as_ref()
        .is_err_and(|error| error.code() == Code::InvalidApiKey)
    {
        state.failed_logins.count(address, Some(id.to_string()));
    }
    let (caller, key) = taken?;
    let note = Note {
        workspace: caller.workspace,
        key: Some(caller.key_id),
        action: "POST /console/sign-in".to_owned(),
        resource: "/console/sign-in".to_owned(),
        mind: None,
        made: None,
        status: Some(200),
        request_id: Some(id.to_string()),
    };
    state.audit.note_and_wait(note).await;
    let key = key.to_string();
    Ok((
        [(header::CACHE_CONTROL, "no-store")],
        axum::Json(HandedOver { key }),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, expected: Option<&str>) {
        let file: &'static File = &File {
            path: "assets/a.js",
            hash: "1",
            plain: b"plain",
            gzip: b"gz",
            brotli: b"br",
        };
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accept.parse().unwrap())]);
        assert_eq!(encoded(file, &headers).0, expected, "{accept}");
    }

    #[test]
    fn smallest_encoding_that_the_client_takes_is_sent() {
        check("gzip, deflate, br", Some("br"));
        check("GZIP;q=0.5", Some("gzip"));
        check("br;q=0, gzip", Some("gzip"));
        check("br; q=0.0", None);
        check("identity", None);
    }

    #[test]
    fn known_file_is_not_sent_again() {
        let first = answer(mindhost_console::index(), &HeaderMap::new());
        let tag = first.headers()[header::ETAG].clone();
        let again = answer(
            mindhost_console::index(),
            &HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]),
        );
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}
