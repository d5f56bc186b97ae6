//! Tool calls in progress, so that a client can cancel one.
//!
//! Up to protocol version 2025-11-25, clients do not close the request of a cancelled call. They send a notification,
//! in a request of its own, with the id of the call. Every client counts its own ids, so the call is looked up among
//! those of the same key and, if the client sends its session id, of the same session. The server keeps no session
//! state: the id serves this purpose only.

use crate::error::ApiError;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use uuid::Uuid;

use mindhost_base::{
    error::{Code, Error},
    locks::lock,
};
use mindhost_core::auth::Caller;

/// The session header, which tells clients of one key apart.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Size limit of inspected messages, in bytes: far above that of a handshake or a cancellation.
const LONGEST: u64 = 65_536;

/// A client's id of a request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name {
    key: Arc<str>,
    session: Option<HeaderValue>,
    id: RequestId,
}

impl Name {
    pub fn of(caller: &Caller, headers: &HeaderMap, id: RequestId) -> Self {
        Self {
            key: caller.key_id.clone(),
            session: headers.get(SESSION).cloned(),
            id,
        }
    }
}

/// The calls of this server. The limit on requests in progress bounds them.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<HashMap<Name, Vec<Arc<Notify>>>>>);

impl Calls {
    /// Registers a call until the returned value is dropped.
    pub fn begin(&self, name: Name) -> Call {
        let end = Arc::new(Notify::new());
        let mut calls = lock(&self.0);
        calls.entry(name.clone()).or_default().push(end.clone());
        Call {
            calls: self.clone(),
            name,
            end,
        }
    }

    /// Cancels the call with this id. If several clients without sessions use the same id, the call is ambiguous and
    /// none is cancelled.
    fn take_back(&self, name: &Name) {
        if let Some([one]) = lock(&self.0).get(name).map(Vec::as_slice) {
            one.notify_one();
        }
    }
}

/// One call of a tool that a client may cancel by its request id.
pub struct Call {
    calls: Calls,
    name: Name,
    end: Arc<Notify>,
}

impl Call {
    /// Completes when the client cancels the call.
    pub async fn taken_back(&self) {
        self.end.notified().await;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut calls = lock(&self.calls.0);
        if let Some(same) = calls.get_mut(&self.name) {
            same.retain(|one| !Arc::ptr_eq(one, &self.end));
            if same.is_empty() {
                calls.remove(&self.name);
            }
        }
    }
}

/// The inspected part of a message.
#[derive(Deserialize)]
struct Message<'a> {
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The call that a notification cancels.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TakenBack {
    request_id: RequestId,
}

/// Handles cancellations, and gives a client a session id at its handshake. The library answers both messages but keeps
/// no state: it handles each request by itself.
pub async fn heed(State(calls): State<Calls>, request: Request, next: Next) -> Response {
    let length = request.body().size_hint().exact();
    if length.is_none_or(|length| length > LONGEST) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => {
            let message = format!("the body could not be read: {error}");
            return ApiError(Error::new(Code::InvalidBody, message)).into_response();
        }
    };
    let message = serde_json::from_slice::<Message<'_>>(&body).ok();
    let method = message.as_ref().map(|message| message.method.as_str());
    let begins = method == Some("initialize");
    if let (Some("notifications/cancelled"), Some(caller)) = (method, head.extensions.get()) {
        let params = message.as_ref().and_then(|message| message.params);
        let named = params.map(|params| serde_json::from_str::<TakenBack>(params.get()));
        if let Some(Ok(named)) = named {
            calls.take_back(&Name::of(caller, &head.headers, named.request_id));
        }
    }
    let mut response = next.run(Request::from_parts(head, Body::from(body))).await;
    if begins
        && response.status().is_success()
        && let Ok(session) = HeaderValue::try_from(Uuid::new_v4().to_string())
    {
        response.headers_mut().insert(SESSION, session);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(session: Option<&'static str>, id: i64) -> Name {
        Name {
            key: "k".into(),
            session: session.map(HeaderValue::from_static),
            id: RequestId::Number(id),
        }
    }

    fn is_taken_back(call: &Call) -> bool {
        use futures_util::FutureExt as _;
        call.taken_back().now_or_never().is_some()
    }

    #[test]
    fn only_the_call_that_is_surely_meant_is_taken_back() {
        let calls = Calls::default();
        let mine = calls.begin(name(Some("a"), 1));
        let others = [
            calls.begin(name(Some("b"), 1)),
            calls.begin(name(Some("a"), 2)),
            calls.begin(name(None, 1)),
        ];
        calls.take_back(&name(Some("a"), 1));
        assert!(is_taken_back(&mine));
        assert!(!others.iter().any(is_taken_back));

        let twin = calls.begin(name(None, 1));
        calls.take_back(&name(None, 1));
        assert!(!is_taken_back(&twin) && !others.iter().any(is_taken_back));
        drop(others);
        calls.take_back(&name(None, 1));
        assert!(is_taken_back(&twin));
        drop((mine, twin));
        assert!(lock(&calls.0).is_empty());
    }
}
