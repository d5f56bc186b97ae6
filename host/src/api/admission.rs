//! What every request of the API passes: who is asking, whether that key may ask now, and what is noted of it.

mod arriving;
mod counted;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRef, MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use http_body::Body as _;

use self::{arriving::Arriving, counted::Counted};
use super::{AppState, middleware::RequestId};
use crate::{
    audit::{Audit, Note},
    auth::{Auth, Caller, limits::Limits},
    config::Config,
    error::{Code, Error, Result},
    plugins::served::Served,
    usage::Usage,
};

/// Asking is noted too, but nobody waits for that.
const ASKING: &[&str] = &["/responses", "/chat/completions", "/conversations", "/mcp"];

/// Which versions of plugins an answer came from, as far as it is known when its headers are sent.
const SERVED_BY: HeaderName = HeaderName::from_static("x-mindhost-plugins");

/// What a handler made, for the audit trail; it goes into the extensions of its answer.
#[derive(Clone, Debug)]
pub(super) struct Made(pub String);

/// What the admission needs.
#[derive(Clone)]
pub(super) struct Gate {
    auth: Arc<Auth>,
    config: Arc<Config>,
    limits: Arc<Limits>,
    audit: Audit,
    usage: Usage,
}

impl FromRef<AppState> for Gate {
    fn from_ref(state: &AppState) -> Self {
        Self {
            auth: state.auth.clone(),
            config: state.config.clone(),
            limits: state.limits.clone(),
            audit: state.audit.clone(),
            usage: state.usage.clone(),
        }
    }
}

/// Lets a request in, and notes and counts what came of it. Handlers take the caller from the request.
pub(super) async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let caller = match gate.caller(request.headers()).await {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    let place = match gate.limits.enter(&caller.key_id) {
        Ok(place) => place,
        Err(error) => return error.into_response(),
    };
    let noted = noted(&request);
    let tally = caller.tally.clone();
    request.extensions_mut().insert(caller.clone());
    let served = Served::default();
    let mut response = served.during(gate.answer(&caller, request, next)).await;
    if let Ok(shown) = HeaderValue::try_from(served.shown())
        && !shown.is_empty()
    {
        response.headers_mut().insert(SERVED_BY, shown);
    }
    if let Some(noted) = noted {
        let made = response.extensions().get::<Made>().cloned();
        gate.note(&caller, noted, response.status(), made).await;
    }
    response.map(|body| Body::new(Counted::new(body, tally, place)))
}

impl Gate {
    async fn caller(&self, headers: &HeaderMap) -> Result<Caller> {
        let caller = self.auth.authenticate(key(headers)?).await?;
        let tally = self
            .usage
            .tally(caller.workspace.clone(), caller.key_id.clone());
        Ok(Caller {
            tally: Some(Arc::new(tally)),
            ..caller
        })
    }

    /// What the handlers say, unless the body or the key let them down.
    async fn answer(&self, caller: &Caller, request: Request, next: Next) -> Response {
        let (head, body) = request.into_parts();
        if body.is_end_stream() {
            let response = next.run(Request::from_parts(head, body)).await;
            return self.unless_ended(caller, response).await;
        }
        let server = &self.config.server;
        let body = Arriving::new(body, server, self.auth.clone(), caller.clone());
        let fault = body.fault();
        let request = Request::from_parts(head, Body::new(body));
        let response = next.run(request).await;
        match fault.error() {
            Some(error) => error.into_response(),
            None => self.unless_ended(caller, response).await,
        }
    }

    /// A failure of ours is none when the key went meanwhile, and its workspace with it.
    async fn unless_ended(&self, caller: &Caller, response: Response) -> Response {
        if response.status() != StatusCode::INTERNAL_SERVER_ERROR {
            return response;
        }
        match self.auth.confirm(caller).await {
            Err(error) if error.code() == Code::InvalidApiKey => error.into_response(),
            _ => response,
        }
    }

    async fn note(&self, caller: &Caller, noted: Noted, status: StatusCode, made: Option<Made>) {
        let note = Note {
            workspace: caller.workspace.clone(),
            key: Some(caller.key_id.clone()),
            action: noted.action,
            resource: noted.resource,
            made: made.map(|made| made.0),
            status: Some(status.as_u16()),
            request_id: noted.request_id,
        };
        match noted.is_asking {
            true => self.audit.note(note).await,
            false => self.audit.note_now(note).await,
        }
    }
}

/// What of a request goes into the audit trail.
struct Noted {
    action: String,
    resource: String,
    request_id: Option<String>,
    is_asking: bool,
}

/// Nothing for reading.
fn noted(request: &Request) -> Option<Noted> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let extensions = request.extensions();
    let template = extensions
        .get::<MatchedPath>()
        .map_or("", |path| below(path.as_str()));
    let id = extensions.get::<RequestId>();
    Some(Noted {
        action: format!("{} {template}", request.method()),
        resource: without_keys(below(request.uri().path())),
        request_id: id.map(|id| id.0.to_string()),
        is_asking: ASKING.iter().any(|asking| template.starts_with(asking)),
    })
}

/// A path without the prefix that all routes have.
fn below(path: &str) -> &str {
    let path = path.strip_prefix("/api").unwrap_or(path);
    path.strip_prefix("/v1").unwrap_or(path)
}

/// A path in which nobody finds the text of a key, whoever wrote it there by mistake.
fn without_keys(path: &str) -> String {
    let shown = |part: &str| match part.starts_with("mh_") {
        true => "mh_…".to_owned(),
        false => part.chars().take(128).collect(),
    };
    let parts: Vec<String> = path.split('/').take(12).map(shown).collect();
    parts.join("/")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_noted_without_the_text_of_a_key() {
        assert_eq!(without_keys("/keys/mh_secret/rotate"), "/keys/mh_…/rotate");
        assert_eq!(without_keys("/minds/sales"), "/minds/sales");
    }
}
