//! Requests, by route.

use std::time::Duration;

use axum::http::Method;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry as Metrics, Unit},
};

/// Bounds of the histogram in seconds: from a cached answer to a slow model.
const BOUNDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

/// Counts requests. Clones share the counters.
#[derive(Clone, Debug)]
pub struct HttpMeter {
    requests: Family<RequestLabels, Counter>,
    times: Family<Route, Histogram, fn() -> Histogram>,
}

impl Default for HttpMeter {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            times: Family::new_with_constructor(|| Histogram::new(BOUNDS)),
        }
    }
}

impl HttpMeter {
    /// Counts a request at the start of its answer. `route` is the path template, if a route matched.
    pub fn answered(&self, method: &Method, route: Option<&str>, status: u16, time: Duration) {
        let (method, route) = (known(method), template(route));
        let answered = RequestLabels {
            method,
            route: route.clone(),
            status,
        };
        self.requests.get_or_create(&answered).inc();
        let times = self.times.get_or_create(&Route { method, route });
        times.observe(time.as_secs_f64());
    }

    pub(super) fn register(&self, metrics: &mut Metrics) {
        metrics.register(
            "http_requests",
            "Requests by route and status",
            self.requests.clone(),
        );
        metrics.register_with_unit(
            "http_request",
            "Time until an answer begins",
            Unit::Seconds,
            self.times.clone(),
        );
    }
}

/// Clients can invent methods, and each would be a series.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The same name for both prefixes of a route.
fn template(route: Option<&str>) -> String {
    match route {
        Some(route) if route.starts_with("/v1/") => format!("/api{route}"),
        Some(route) => route.to_owned(),
        None => String::from("none"),
    }
}
