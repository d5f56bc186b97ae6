//! Admission: finds the key of a request, applies its limits, checks its role, and writes the audit entry.

mod audit_guard;
mod counted_body;
mod request_body;
mod rights;

use crate::error::ApiError;
use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

pub(super) use self::audit_guard::{CreatedIn, CreatedName, Tool};
use self::{audit_guard::AuditGuard, counted_body::CountedBody, request_body::RequestBody};
use super::{
    AppState,
    middleware::{ClientAddress, RequestId},
    remote,
    routes::Rules,
};
use mindhost_base::{
    detached_task::DetachOnDrop,
    error::{Code, Error, Result},
};
use mindhost_core::auth::{Caller, limits::Permit};
use mindhost_plugins::serving_versions::ServingVersions;

/// The plugin versions behind an answer, as far as they are known when its headers are sent.
const SERVED_BY: HeaderName = HeaderName::from_static("x-mindhost-plugins");

/// Ends when the client of a request is gone, in the extensions of its request. A change completes without its client;
/// what is only waited for on its behalf need not.
#[derive(Clone)]
pub(super) struct ClientLeft(CancellationToken);

impl ClientLeft {
    /// The outcome; none if the client left before.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.run_until_cancelled(work).await
    }
}

/// The admission to one route.
#[derive(Clone)]
pub(super) struct Admission {
    state: AppState,
    rules: Arc<Rules>,
}

/// Admits a request, and audits and counts its outcome. Handlers take the caller from the request.
pub(super) async fn admit(
    State(admission): State<Admission>,
    mut request: Request,
    next: Next,
) -> Response {
    let Admission { state, rules } = &admission;
    note_remote_clients(state, &request);
    let caller = match caller(state, request.headers(), request.extensions()).await {
        Ok(caller) => caller,
        Err(error) => return ApiError(error).into_response(),
    };
    let permit = match state.limits.acquire(&caller.key_id) {
        Ok(permit) => permit,
        Err(error) => return ApiError(error).into_response(),
    };
    let configured = state.config.admin_key.get();
    let noted = AuditGuard::of(&mut request, rules, &caller, &state.audit, configured);
    let is_act = noted.as_ref().is_some_and(AuditGuard::is_act);
    request.extensions_mut().insert(caller.clone());
    let left = CancellationToken::new();
    request.extensions_mut().insert(ClientLeft(left.clone()));
    let tasks = state.shutdown.tasks.clone();
    let answer = admission.answer(caller, request, next, noted, permit);
    if !is_act {
        return answer.await;
    }
    // If the client disconnects, a change still completes and is audited; a shutdown waits for it.
    let _left = left.drop_guard();
    let answer = tasks.track_future(answer.in_current_span());
    DetachOnDrop::new(answer).await
}

/// Bounds the time in which a request to an open route is received, as for all others.
pub(super) async fn receive(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(head, body)).await;
    }
    let body = RequestBody::new(body, &state.config.server, None);
    let fault = body.fault();
    let response = next.run(Request::from_parts(head, Body::new(body))).await;
    match fault.error() {
        Some(error) => ApiError(error).into_response(),
        None => response,
    }
}

impl Admission {
    /// The admission to a route with these rules.
    pub fn new(state: AppState, rules: Arc<Rules>) -> Self {
        Self { state, rules }
    }

    /// The answer, after its audit entry was written. The key's permit is released with its last byte.
    async fn answer(
        self,
        caller: Caller,
        request: Request,
        next: Next,
        noted: Option<AuditGuard>,
        permit: Permit,
    ) -> Response {
        let served = ServingVersions::default();
        let handled = self.handle(&caller, request, next);
        let mut response = served.during(handled).await;
        if let Ok(shown) = HeaderValue::try_from(served.shown())
            && !shown.is_empty()
        {
            response.headers_mut().insert(SERVED_BY, shown);
        }
        // The change is done, so its answer is sent however much the key's clients have left unread.
        let only_read = noted.is_none();
        if let Some(noted) = noted {
            let taken = noted.end(&response);
            taken.await;
        }
        let (head, body) = response.into_parts();
        match CountedBody::new(body, caller.tally, permit, only_read) {
            Ok(body) => Response::from_parts(head, Body::new(body)),
            Err(error) => ApiError(error).into_response(),
        }
    }

    /// The handler's answer, unless the body broke off or the key ended.
    async fn handle(&self, caller: &Caller, request: Request, next: Next) -> Response {
        let state = &self.state;
        let (mut head, body) = request.into_parts();
        let is_empty = body.is_end_stream();
        let checked = rights::check(state, &self.rules, caller, &mut head, is_empty);
        if let Err(error) = checked.await {
            return ApiError(error).into_response();
        }
        if is_empty {
            let response = next.run(Request::from_parts(head, body)).await;
            return self.unless_ended(caller, response).await;
        }
        if is_encoded(&head.headers) {
            return ApiError(encoded()).into_response();
        }
        let server = &state.config.server;
        let key = (state.auth.clone(), caller.clone());
        let body = RequestBody::new(body, server, Some(key));
        let fault = body.fault();
        let request = Request::from_parts(head, Body::new(body));
        let response = next.run(request).await;
        match fault.error() {
            Some(error) => ApiError(error).into_response(),
            None => self.unless_ended(caller, response).await,
        }
    }

    /// If the key was revoked mid-request, perhaps with its workspace, answers 401, not 500.
    async fn unless_ended(&self, caller: &Caller, response: Response) -> Response {
        if response.status() != StatusCode::INTERNAL_SERVER_ERROR {
            return response;
        }
        match self.state.auth.confirm(caller).await {
            Err(error) if error.code() == Code::InvalidApiKey => ApiError(error).into_response(),
            _ => response,
        }
    }
}

/// Checks for the first request from another machine, before it is handled. Health checks and documents need no key and
/// reach nothing, so they are not checked.
fn note_remote_clients(state: &AppState, request: &Request) {
    if state.locality.is_remote() {
        return;
    }
    if let Some(sign) = remote::sign(request)
        && state.locality.saw_remote()
    {
        tracing::warn!(
            sign,
            "a request came from another machine or through a proxy: loopback access is now off \
             until restart (egress.allow_loopback is \"auto\"); set egress.allow_loopback to true or false"
        );
    }
}

async fn caller(state: &AppState, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller> {
    let key = key(headers)?;
    let address = extensions.get::<ClientAddress>().map(|client| client.0);
    if let Some(address) = address
        && !state.auth.has_accepted(key)
        && let Err(refused) = state.failed_logins.check(address)
    {
        let Some(_permit) = state.failed_logins.lookup_permit().await else {
            return Err(refused);
        };
        return match state.auth.authenticate(key).await {
            Err(error) if error.code() == Code::InvalidApiKey => Err(refused),
            found => Ok(of_request(state, found?, extensions)),
        };
    }
    let caller = match (state.auth.authenticate(key).await, address) {
        (Err(error), Some(address)) if error.code() == Code::InvalidApiKey => {
            let id = extensions.get::<RequestId>().map(|id| id.0.to_string());
            state.failed_logins.count(address, id);
            return Err(error);
        }
        (found, _) => found?,
    };
    Ok(of_request(state, caller, extensions))
}

fn of_request(state: &AppState, caller: Caller, extensions: &Extensions) -> Caller {
    let tally = state
        .usage
        .tally(caller.workspace.clone(), caller.key_id.clone());
    let mut caller = caller.counted_in(tally);
    caller.request_id = extensions.get::<RequestId>().map(|id| id.0.clone());
    caller
}

/// Whether a body has a content encoding.
fn is_encoded(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn encoded() -> Error {
    Error::new(
        Code::UnsupportedMediaType,
        "compressed bodies are not supported; send it without the header `Content-Encoding`",
    )
}

/// The text of the key. A message never repeats the header, which may hold one.
fn key(headers: &HeaderMap) -> Result<&str> {
    let refused = |message: &str| Error::new(Code::InvalidApiKey, message);
    let value = headers
        .get(header::AUTHORIZATION)
        .ok_or_else(|| refused("no API key was sent; send one as `Authorization: Bearer <key>`"))?;
    let parts = value.to_str().ok().and_then(|text| text.split_once(' '));
    parts
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim())
        .ok_or_else(|| {
            refused(
                "the header `Authorization` is not of the form `Bearer <key>`; send the word Bearer, a space and the \
                 API key",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_without_a_bearer_key_is_told_how_to_send_one() {
        const ABSENT: &str = "no API key was sent; send one as `Authorization: Bearer <key>`";
        const OTHER_FORM: &str = "the header `Authorization` is not of the form `Bearer <key>`; send the word Bearer, \
             a space and the API key";
        for (sent, expected) in [
            (None, ABSENT),
            (Some("mh_secret"), OTHER_FORM),
            (Some("Basic mh_secret"), OTHER_FORM),
            (Some("Bearer"), OTHER_FORM),
            (Some("Bearer mh_secret"), "mh_secret"),
            (Some("bearer  mh_secret"), "mh_secret"),
        ] {
            let header = sent.map(|text| (header::AUTHORIZATION, HeaderValue::from_static(text)));
            let headers = HeaderMap::from_iter(header);
            match key(&headers) {
                Ok(key) => assert_eq!(key, expected),
                Err(error) => assert_eq!(error.message(), expected, "{sent:?}"),
            }
        }
    }
}
