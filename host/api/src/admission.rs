//! What every request of the API passes: who is asking, whether that key may ask now, and what is noted of it.

mod arriving;
mod counted;
mod noted;
mod rights;

use crate::error::ApiError;
use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRef, Request, State},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

pub(super) use self::noted::{Made, MadeIn, Tool};
use self::{arriving::Arriving, counted::Counted, noted::Noted, rights::Rights};
use super::{
    AppState,
    middleware::{ClientAddress, RequestId},
    remote,
};
use mindhost_base::{
    config::Config,
    detached_task::Detaching,
    error::{Code, Error, Result},
};
use mindhost_core::{
    audit::Audit,
    auth::{
        Auth, Caller,
        failed_logins::FailedLogins,
        limits::{Limits, Permit},
    },
    usage::Usage,
};
use mindhost_plugins::served::Served;
use mindhost_runtime::policy::Locality;

/// Which versions of plugins an answer came from, as far as it is known when its headers are sent.
const SERVED_BY: HeaderName = HeaderName::from_static("x-mindhost-plugins");

/// What the admission needs.
#[derive(Clone)]
pub(super) struct Gate {
    auth: Arc<Auth>,
    config: Arc<Config>,
    limits: Arc<Limits>,
    failed_logins: Arc<FailedLogins>,
    locality: Arc<Locality>,
    audit: Audit,
    usage: Usage,
    rights: Rights,
    tasks: TaskTracker,
}

impl FromRef<AppState> for Gate {
    fn from_ref(state: &AppState) -> Self {
        Self {
            auth: state.auth.clone(),
            config: state.config.clone(),
            limits: state.limits.clone(),
            failed_logins: state.failed_logins.clone(),
            locality: state.locality.clone(),
            audit: state.audit.clone(),
            usage: state.usage.clone(),
            rights: Rights::from_ref(state),
            tasks: state.shutdown.tasks.clone(),
        }
    }
}

/// Lets a request in, and notes and counts what came of it. Handlers take the caller from the request.
pub(super) async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    gate.look_for_strangers(&request);
    let caller = match gate.caller(request.headers(), request.extensions()).await {
        Ok(caller) => caller,
        Err(error) => return ApiError(error).into_response(),
    };
    let place = match gate.limits.acquire(&caller.key_id) {
        Ok(place) => place,
        Err(error) => return ApiError(error).into_response(),
    };
    let configured = gate.config.admin_key.get();
    let noted = Noted::of(&mut request, &caller, &gate.audit, configured);
    let is_act = noted.as_ref().is_some_and(Noted::is_act);
    request.extensions_mut().insert(caller.clone());
    let tasks = gate.tasks.clone();
    let answer = answer(gate, caller, request, next, noted, place);
    if !is_act {
        return answer.await;
    }
    // Whoever leaves does not leave an act without its note: it goes on to its end, and a shutdown waits for it.
    let answer = tasks.track_future(answer.in_current_span());
    Detaching::new(answer).await
}

/// The answer, once its note was taken. The key's place is given back with the last byte of it.
async fn answer(
    gate: Gate,
    caller: Caller,
    request: Request,
    next: Next,
    noted: Option<Noted>,
    place: Permit,
) -> Response {
    let served = Served::default();
    let mut response = served.during(gate.answer(&caller, request, next)).await;
    if let Ok(shown) = HeaderValue::try_from(served.shown())
        && !shown.is_empty()
    {
        response.headers_mut().insert(SERVED_BY, shown);
    }
    // What was done is done: of that the answer goes out, however much waits for the key's clients.
    let only_read = noted.is_none();
    if let Some(noted) = noted {
        let taken = noted.end(&response);
        taken.await;
    }
    let (head, body) = response.into_parts();
    match Counted::new(body, caller.tally, place, only_read) {
        Ok(body) => Response::from_parts(head, Body::new(body)),
        Err(error) => ApiError(error).into_response(),
    }
}

impl Gate {
    /// Looks for the first request from another machine, before anything is done for it. Health checks and documents, which need
    /// no key, do not come here: who asks for them reaches nothing.
    fn look_for_strangers(&self, request: &Request) {
        if self.locality.is_remote() {
            return;
        }
        if let Some(sign) = remote::sign(request)
            && self.locality.saw_remote()
        {
            tracing::warn!(
                sign,
                "a request came from another machine or through a proxy: loopback access is now off \
                 until restart (egress.allow_loopback is \"auto\"); set egress.allow_loopback to true or false"
            );
        }
    }

    async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller> {
        let key = key(headers)?;
        let address = extensions.get::<ClientAddress>().map(|client| client.0);
        if let Some(address) = address
            && !self.auth.has_accepted(key)
            && let Err(refused) = self.failed_logins.check(address)
        {
            let Some(_permit) = self.failed_logins.lookup_permit().await else {
                return Err(refused);
            };
            return match self.auth.authenticate(key).await {
                Err(error) if error.code() == Code::InvalidApiKey => Err(refused),
                found => Ok(self.counted(found?)),
            };
        }
        let caller = match (self.auth.authenticate(key).await, address) {
            (Err(error), Some(address)) if error.code() == Code::InvalidApiKey => {
                let id = extensions.get::<RequestId>().map(|id| id.0.to_string());
                self.failed_logins.count(address, id);
                return Err(error);
            }
            (found, _) => found?,
        };
        Ok(self.counted(caller))
    }

    fn counted(&self, caller: Caller) -> Caller {
        let tally = self
            .usage
            .tally(caller.workspace.clone(), caller.key_id.clone());
        caller.counted_in(tally)
    }

    /// What the handlers say, unless the body or the key let them down.
    async fn answer(&self, caller: &Caller, request: Request, next: Next) -> Response {
        let (mut head, body) = request.into_parts();
        let is_empty = body.is_end_stream();
        if let Err(error) = self.rights.check(caller, &mut head, is_empty).await {
            return ApiError(error).into_response();
        }
        if is_empty {
            let response = next.run(Request::from_parts(head, body)).await;
            return self.unless_ended(caller, response).await;
        }
        if is_encoded(&head.headers) {
            return ApiError(encoded()).into_response();
        }
        let server = &self.config.server;
        let body = Arriving::new(body, server, self.auth.clone(), caller.clone());
        let fault = body.fault();
        let request = Request::from_parts(head, Body::new(body));
        let response = next.run(request).await;
        match fault.error() {
            Some(error) => ApiError(error).into_response(),
            None => self.unless_ended(caller, response).await,
        }
    }

    /// A failure of ours is none when the key went meanwhile, and its workspace with it.
    async fn unless_ended(&self, caller: &Caller, response: Response) -> Response {
        if response.status() != StatusCode::INTERNAL_SERVER_ERROR {
            return response;
        }
        match self.auth.confirm(caller).await {
            Err(error) if error.code() == Code::InvalidApiKey => ApiError(error).into_response(),
            _ => response,
        }
    }
}

/// A path without the prefix that all routes have.
fn below(path: &str) -> &str {
    let path = path.strip_prefix("/api").unwrap_or(path);
    path.strip_prefix("/v1").unwrap_or(path)
}

/// Whether a body is not as it stands.
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

fn key(headers: &HeaderMap) -> Result<&str> {
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim())
        .ok_or_else(|| {
            Error::new(
                Code::InvalidApiKey,
                "no API key was sent; send one as `Authorization: Bearer <key>`",
            )
        })
}
