//! What every request passes through, outermost first: request id and log span, CORS, compression, panics.

use crate::error::ApiError;
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Instant,
};

use axum::{
    Router,
    extract::{ConnectInfo, MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn_with_state, map_response},
    response::{IntoResponse, Response},
};
use ipnet::IpNet;
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    cors::{AllowHeaders, AllowOrigin, CorsLayer},
};
use tracing::{Instrument, Span};

use super::{AppState, head, http_meter::HttpMeter};
use mindhost_base::{config::Server, error::Error};
use mindhost_telemetry::traces;

/// The id of a request, in its extensions.
#[derive(Clone, Debug)]
pub(super) struct RequestId(pub Arc<str>);

/// Address of the client, in the extensions of its request: that of its connection, or what a trusted proxy says.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientAddress(pub IpAddr);

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The headers of an answer that a page of another origin may read: all that clients decide by.
const EXPOSED: [&str; 10] = [
    "allow",
    "content-disposition",
    "idempotency-replayed",
    "mcp-session-id",
    "retry-after",
    "www-authenticate",
    "x-mindhost-plugin",
    "x-mindhost-plugins",
    "x-request-id",
    "x-should-retry",
];

/// Puts the layers around the routes.
pub(super) fn wrap(router: Router, observer: Observer, server: &Server) -> Router {
    let router = router.layer(CatchPanicLayer::custom(super::error::panicked));
    let router = match server.compression {
        true => router
            .layer(map_response(keep_status))
            .layer(CompressionLayer::new())
            .layer(map_response(restore_status)),
        false => router,
    };
    let router = match server.cors_origins.is_empty() {
        true => router,
        false => router.layer(cors(&server.cors_origins)),
    };
    router.layer(from_fn_with_state(observer, trace))
}

/// The status that a handler gave, in the extensions of its response.
#[derive(Clone, Copy)]
struct HandlerStatus(StatusCode);

async fn keep_status(mut response: Response) -> Response {
    let status = HandlerStatus(response.status());
    response.extensions_mut().insert(status);
    response
}

/// The compression layer answers 406 to an `Accept-Encoding` that refuses all it can send, but the handler has done its
/// work by then. RFC 9110 (12.5.3) lets a server disregard the header: such an answer is sent as it is, not compressed.
async fn restore_status(mut response: Response) -> Response {
    if let Some(HandlerStatus(status)) = response.extensions_mut().remove() {
        *response.status_mut() = status;
    }
    response
}

/// What sees every request.
#[derive(Clone)]
pub(super) struct Observer {
    proxies: Arc<[IpNet]>,
    meter: HttpMeter,
}

impl Observer {
    pub fn of(state: &AppState) -> Self {
        Self {
            proxies: state.config.server.trusted_proxies.clone().into(),
            meter: state.http_meter.clone(),
        }
    }
}

fn cors(origins: &[String]) -> CorsLayer {
    let origins: Vec<_> = origins
        .iter()
        .filter_map(|origin| HeaderValue::from_str(origin).ok())
        .collect();
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        // Clients send headers of their own: how often they tried, what they run on. None of them gives any right, and
        // the key is no cookie that a page could have sent for it.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED.map(HeaderName::from_static))
}

async fn trace(
    State(observer): State<Observer>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id(&request);
    request.extensions_mut().insert(RequestId(id.clone()));
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("-", MatchedPath::as_str);
    let method = request.method().clone();
    let client = client(&request, peer.ip(), &observer.proxies);
    request.extensions_mut().insert(ClientAddress(client));
    let span = tracing::info_span!("request", request_id = %id, %method, route, %client);
    traces::continue_trace(&span, request.headers());
    let mut noting = Noting {
        meter: observer.meter,
        method,
        route: matched,
        span: span.clone(),
        started: Instant::now(),
        is_noted: false,
    };
    async move {
        let mut response = match head::check(&mut request) {
            Ok(()) => next.run(request).await,
            Err(error) => refused(error),
        };
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID.clone(), value);
        }
        // A browser takes no answer for another kind of file than it says to be.
        let nosniff = HeaderValue::from_static("nosniff");
        response
            .headers_mut()
            .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        noting.note(response.status().as_u16());
        response
    }
    .instrument(span)
    .await
}

/// The status of a request whose client went away before the answer began.
const GONE_AWAY: u16 = 499;

/// Notes a request in the metrics, the trace and the log, when its answer begins or its client goes away before that.
struct Noting {
    meter: HttpMeter,
    method: Method,
    route: Option<MatchedPath>,
    span: Span,
    started: Instant,
    is_noted: bool,
}

impl Noting {
    fn note(&mut self, status: u16) {
        self.is_noted = true;
        let time = self.started.elapsed();
        let route = self.route.as_ref().map(MatchedPath::as_str);
        self.meter.answered(&self.method, route, status, time);
        traces::record_status(&self.span, status);
        let ms = (time.as_secs_f64() * 1e4).round() / 10.0;
        match status {
            GONE_AWAY => tracing::info!(status, ms, "the client went away"),
            _ => tracing::info!(status, ms, "answered"),
        }
    }
}

/// The server drops what it does for a client that is gone.
impl Drop for Noting {
    fn drop(&mut self) {
        if !self.is_noted {
            let span = self.span.clone();
            span.in_scope(|| self.note(GONE_AWAY));
        }
    }
}

/// What comes behind an ambiguous head is not read.
fn refused(error: Error) -> Response {
    let mut response = ApiError(error).into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

/// The client's own id where it is harmless in a log line and a header, else a new one. A key is not harmless there.
fn request_id(request: &Request) -> Arc<str> {
    let harmless = |id: &&str| {
        (1..=128).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
            && !id.contains("mh_")
    };
    request
        .headers()
        .get(&REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(harmless)
        .map_or_else(|| uuid::Uuid::now_v7().to_string().into(), Into::into)
}

/// The address of the client: what a trusted proxy says, read from the right until the first address that is not
/// a trusted proxy itself. What is no address ends it: the client wrote whatever stands before that.
fn client(request: &Request, peer: IpAddr, proxies: &[IpNet]) -> IpAddr {
    let trusted = |ip: &IpAddr| proxies.iter().any(|net| net.contains(&ip.to_canonical()));
    if !trusted(&peer) {
        return peer;
    }
    let values = request.headers().get_all("x-forwarded-for").iter();
    let parts = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let found = parts
        .rev()
        .map(forwarded)
        .find(|ip| !ip.is_some_and(|ip| trusted(&ip)));
    found.flatten().unwrap_or(peer)
}

/// An address as proxies write it, some of them with its port.
fn forwarded(part: &str) -> Option<IpAddr> {
    let part = part.trim();
    let bare = part.trim_start_matches('[').trim_end_matches(']');
    let with_port = || part.parse::<SocketAddr>().ok().map(|address| address.ip());
    let ip = bare.parse().ok().or_else(with_port)?;
    Some(IpAddr::to_canonical(&ip))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let mut request = axum::http::Request::get("/");
        for value in forwarded {
            request = request.header("x-forwarded-for", *value);
        }
        let request = request.body(axum::body::Body::empty()).unwrap();
        let proxies = ["10.0.0.0/8".parse().unwrap()];
        let found = client(&request, peer.parse().unwrap(), &proxies);
        assert_eq!(found.to_string(), expected, "{peer} {forwarded:?}");
    }

    #[tokio::test]
    async fn request_of_a_client_that_goes_away_is_counted() {
        let meter = HttpMeter::default();
        let observer = Observer {
            proxies: Arc::default(),
            meter: meter.clone(),
        };
        let never = axum::routing::get(std::future::pending::<()>);
        let router = Router::new()
            .route("/never", never)
            .layer(from_fn_with_state(observer, trace));
        let mut request = axum::http::Request::get("/never")
            .header(header::HOST, "localhost")
            .body(axum::body::Body::empty())
            .unwrap();
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        request.extensions_mut().insert(ConnectInfo(client));
        let answer = tower::ServiceExt::oneshot(router, request);
        let until = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(until, answer).await.is_err());

        let (mut metrics, mut text) = (
            prometheus_client::registry::Registry::default(),
            String::new(),
        );
        meter.register(&mut metrics);
        prometheus_client::encoding::text::encode(&mut text, &metrics).unwrap();
        let counted = r#"method="GET",route="/never",status="499"} 1"#;
        assert!(text.contains(counted), "{text}");
    }

    #[test]
    fn a_client_is_who_a_trusted_proxy_says_and_never_who_it_says_itself() {
        check("192.0.2.1", &["192.0.2.9"], "192.0.2.1");
        check("10.0.0.1", &["192.0.2.9"], "192.0.2.9");
        check(
            "10.0.0.1",
            &["192.0.2.66, 192.0.2.9, 10.0.0.2"],
            "192.0.2.9",
        );
        check("10.0.0.1", &["192.0.2.66", "192.0.2.9:4711"], "192.0.2.9");
        check("10.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1");
        check("10.0.0.1", &["192.0.2.66, unknown"], "10.0.0.1");
        check("10.0.0.1", &[], "10.0.0.1");
    }
}
