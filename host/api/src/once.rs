//! `Idempotency-Key`: a request that comes twice is done once.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::{error::ApiResult, extract, routes::below, state::AppState};
use mindhost_answers::{
    answering::{Answering, Ask, events::EventReader},
    idempotency::{Idempotency, Outcome},
};
use mindhost_base::error::{Error, Result};
use mindhost_core::auth::Caller;

static NAME: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Largest body of an answer that is remembered, in bytes. Resources are far smaller.
const LARGEST: usize = 16 << 20;

/// What [`resource`] needs.
#[derive(Clone)]
pub struct ResourceRoute {
    route: &'static str,
    idempotency: Arc<Idempotency>,
    tasks: TaskTracker,
}

impl ResourceRoute {
    /// Of one route of a server.
    pub fn of(state: &AppState, route: &'static str) -> Self {
        Self {
            route,
            idempotency: state.idempotency.clone(),
            tasks: state.shutdown.tasks.clone(),
        }
    }
}

/// The middleware of routes that make a resource: requests are done once for each name.
pub async fn resource(
    State(parts): State<ResourceRoute>,
    request: Request,
    next: Next,
) -> ApiResult<Response> {
    let Some(name) = name(request.headers())? else {
        return Ok(next.run(request).await);
    };
    let (head, body) = request.into_parts();
    let caller = extract::caller(&head)?;
    let body = extract::body(Request::from_parts(head.clone(), body)).await?;
    let request = {
        // The same request of another resource is another request.
        let place = parts.route.contains('{').then(|| below(head.uri.path()));
        let query = head.uri.query().unwrap_or_default();
        let sent = place.map(str::as_bytes).into_iter();
        let sent: Vec<&[u8]> = sent.chain([query.as_bytes(), &body[..]]).collect();
        parts
            .idempotency
            .request(&caller, parts.route, &name, &sent)?
    };
    let tasks = parts.tasks.clone();
    let work = async move {
        let (claim, known) = parts.idempotency.begin(request).await?;
        if let Some(Outcome::Reply(status, body)) = known {
            return replayed(status, body);
        }
        claim.require_room().await?;
        let response = next.run(Request::from_parts(head, Body::from(body))).await;
        if !response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = to_bytes(body, LARGEST).await.map_err(Error::internal)?;
        let text = String::from_utf8_lossy(&body).into_owned();
        claim
            .finish(&Outcome::Reply(head.status.as_u16(), text))
            .await?;
        Ok(Response::from_parts(head, Body::from(body)))
    };
    // A client that leaves does not leave half of it done: it will ask again.
    let done: Result<Response> = tasks
        .spawn(work.in_current_span())
        .await
        .map_err(Error::internal)?;
    Ok(done?)
}

/// Begins an answer, or joins or repeats the one that the same request began before. One that failed, or whose result
/// is gone, is made again.
///
/// # Errors
/// As [`Answering::start`]; `idempotency_key_reused`.
pub async fn answer(
    answering: &Answering,
    idempotency: &Arc<Idempotency>,
    caller: &Caller,
    asked: KeyedRequest<'_>,
    ask: Ask,
) -> Result<EventReader> {
    let Some(name) = name(asked.headers)? else {
        return answering.start(caller, ask).await;
    };
    let request = idempotency.request(caller, asked.route, &name, &[asked.body])?;
    let (claim, known) = idempotency.begin(request).await?;
    if let Some(Outcome::Response(id)) = known
        && let Some(reader) = answering.attach(caller, id).await?
    {
        return Ok(reader);
    }
    let reader = answering.start(caller, ask).await?;
    if let Some(record) = reader.log().record() {
        claim.finish(&Outcome::Response(record.id)).await?;
    }
    Ok(reader)
}

/// A question as it came in.
pub struct KeyedRequest<'a> {
    /// Path with placeholders, such as `/minds/{name}/knowledge`.
    pub route: &'static str,
    /// All headers of the request; only `Idempotency-Key` is looked at.
    pub headers: &'a HeaderMap,
    /// The bytes as they came: another body under the same key is a mistake.
    pub body: &'a [u8],
}

/// Whether a request came with an `Idempotency-Key`.
pub fn is_named(headers: &HeaderMap) -> bool {
    headers.contains_key(&NAME)
}

fn name(headers: &HeaderMap) -> Result<Option<String>> {
    let text = |value: &HeaderValue| {
        value.to_str().map(str::to_owned).map_err(|_| {
            Error::invalid(
                "Idempotency-Key",
                "the header Idempotency-Key must be visible ASCII; a UUID works",
            )
        })
    };
    let mut values = headers.get_all(&NAME).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(Error::invalid(
            "Idempotency-Key",
            "the header Idempotency-Key was sent twice; send it once",
        )),
        (value, None) => value.map(text).transpose(),
    }
}

fn replayed(status: u16, body: String) -> Result<Response> {
    let status = StatusCode::from_u16(status).map_err(Error::internal)?;
    let json = HeaderValue::from_static("application/json");
    let headers = [
        (header::CONTENT_TYPE, json),
        (REPLAYED.clone(), HeaderValue::from_static("true")),
    ];
    Ok((status, headers, body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sent: &[&[u8]], expected: Result<Option<&str>, &str>) {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(NAME.clone(), HeaderValue::from_bytes(value).unwrap());
        }
        let found = name(&headers);
        let found = found.as_ref().map(Option::as_deref);
        assert_eq!(found.map_err(Error::message), expected, "{sent:?}");
    }

    #[test]
    fn name_that_is_sent_twice_or_is_no_text_is_refused() {
        check(&[], Ok(None));
        check(&[b"a"], Ok(Some("a")));
        check(
            &[b"a", b"b"],
            Err("the header Idempotency-Key was sent twice; send it once"),
        );
        check(
            &[b"\xff"],
            Err("the header Idempotency-Key must be visible ASCII; a UUID works"),
        );
    }
}
