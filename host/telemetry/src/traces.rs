//! Traces: spans of requests and of calls to plugins, sent to an OpenTelemetry collector over OTLP/HTTP.
//!
//! Spans that have ended wait in a queue of a fixed length for a task that sends them in batches. When the collector is
//! slow or away the queue is full and spans are dropped: the server never waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use http::HeaderMap;
use opentelemetry::{
    Context, KeyValue,
    propagation::{Extractor, TextMapPropagator},
    trace::{Status, TracerProvider as _},
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    propagation::TraceContextPropagator,
    trace::{
        Sampler, SdkTracer, SdkTracerProvider, Span as SdkSpan, SpanData, SpanExporter as _,
        SpanProcessor,
    },
};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use mindhost_base::config::Telemetry;

/// Spans that may wait.
const QUEUE: usize = 8_192;
/// Spans that are sent at a time.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_millis(500);
/// How long the collector may take for a batch.
const SEND: Duration = Duration::from_secs(10);
/// How long the last spans may take when the server ends.
const LAST: Duration = Duration::from_secs(3);

/// Whether spans are wanted, so that nothing is done for them where they are not.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Sends spans until it is ended.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    ending: CancellationToken,
    sender: JoinHandle<()>,
}

/// Why traces cannot begin.
#[derive(Debug, thiserror::Error)]
#[error(
    "telemetry.otlp_endpoint: {0}; write the URL of an OpenTelemetry collector, such as \"http://127.0.0.1:4318\""
)]
pub struct EndpointError(String);

impl Traces {
    /// Begins to send, if the settings name a collector. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the endpoint is no URL of a collector.
    pub fn start(settings: &Telemetry) -> Result<Option<Self>, EndpointError> {
        if settings.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.name", settings.service_name.clone()),
                KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            ])
            .build();
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(traces_url(&settings.otlp_endpoint)?)
            .with_timeout(SEND)
            .build()
            .map_err(|error| EndpointError(error.to_string()))?;
        exporter.set_resource(&resource);
        let (spans, waiting) = mpsc::channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let ending = CancellationToken::new();
        let sender = Sender {
            exporter,
            waiting,
            dropped: Arc::clone(&dropped),
            ending: ending.clone(),
        };
        let share = f64::from(settings.sample_percent.min(100)) / 100.0;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(
                share,
            ))))
            .with_span_processor(Queue { spans, dropped })
            .build();
        WANTED.store(true, Ordering::Relaxed);
        Ok(Some(Self {
            provider,
            ending,
            sender: tokio::spawn(sender.run()),
        }))
    }

    /// What makes the spans.
    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("mindhost")
    }

    /// Sends what still waits, for a while.
    pub async fn end(self) {
        self.ending.cancel();
        if tokio::time::timeout(LAST, self.sender).await.is_err() {
            tracing::warn!("the collector did not take the last spans in time");
        }
    }
}

/// The collector's address for traces: what OTLP says, unless a path is named.
fn traces_url(endpoint: &str) -> Result<String, EndpointError> {
    let mut url = url::Url::parse(endpoint).map_err(|error| EndpointError(error.to_string()))?;
    if url.scheme() != "http" {
        return Err(EndpointError(String::from(
            "only http is spoken; have a collector on this machine or network pass the spans on over TLS",
        )));
    }
    if url.path() == "/" {
        url.set_path("/v1/traces");
    }
    Ok(url.into())
}

/// Takes spans as they end.
#[derive(Debug)]
struct Queue {
    spans: mpsc::Sender<SpanData>,
    dropped: Arc<AtomicU64>,
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.spans.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Sends spans, a batch at a time.
struct Sender {
    exporter: SpanExporter,
    waiting: mpsc::Receiver<SpanData>,
    dropped: Arc<AtomicU64>,
    ending: CancellationToken,
}

impl Sender {
    async fn run(mut self) {
        let ending = self.ending.clone();
        let mut is_away = false;
        loop {
            let mut batch = Vec::new();
            let first = ending
                .run_until_cancelled(self.waiting.recv_many(&mut batch, BATCH))
                .await;
            if first.is_none() {
                self.waiting.close();
            }
            if batch.len() < BATCH && first.is_some() {
                let _ = ending.run_until_cancelled(tokio::time::sleep(GATHER)).await;
            }
            while batch.len() < BATCH
                && let Ok(span) = self.waiting.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            is_away = self.send(batch, is_away).await;
        }
    }

    /// Whether the collector is away: said once, until it is back.
    async fn send(&self, batch: Vec<SpanData>, was_away: bool) -> bool {
        let spans = batch.len() as u64;
        let sent = tokio::time::timeout(SEND, self.exporter.export(batch)).await;
        let problem = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(String::from("it took too long")),
        };
        match &problem {
            Some(problem) => {
                self.dropped.fetch_add(spans, Ordering::Relaxed);
                if !was_away {
                    tracing::warn!(
                        problem,
                        "the collector of telemetry.otlp_endpoint takes no spans; they are dropped"
                    );
                }
            }
            None => {
                let dropped = self.dropped.swap(0, Ordering::Relaxed);
                if dropped > 0 {
                    tracing::warn!(
                        dropped,
                        "spans were dropped; the collector takes them again"
                    );
                }
            }
        }
        problem.is_some()
    }
}

/// Whether spans are wanted.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Makes a span part of the trace that the caller of a request began (W3C `traceparent`).
pub fn take_up(span: &Span, headers: &HeaderMap) {
    if !is_wanted() || !headers.contains_key("traceparent") {
        return;
    }
    let context = TraceContextPropagator::new().extract(&Headers(headers));
    // Fails for a span that is not recorded, and then there is no trace to continue.
    let _ = span.set_parent(context);
}

/// Notes how a request was answered.
pub fn note_status(span: &Span, status: u16) {
    if !is_wanted() {
        return;
    }
    span.set_attribute("http.response.status_code", i64::from(status));
    if status >= 500 {
        span.set_status(Status::error(""));
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_traces_is_added_where_none_is_named() {
        let check = |endpoint: &str, expected: &str| {
            assert_eq!(traces_url(endpoint).unwrap(), expected);
        };
        check("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces");
        check("http://c.example/", "http://c.example/v1/traces");
        check("http://c.example/otlp", "http://c.example/otlp");
    }

    #[test]
    fn an_endpoint_that_cannot_be_used_says_what_to_write() {
        for wrong in ["collector", "https://c.example", "127.0.0.1:4318"] {
            let error = traces_url(wrong).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:4318"), "{error}");
        }
    }
}
