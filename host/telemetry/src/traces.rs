//! Traces: spans of requests and plugin calls, sent to an OpenTelemetry collector over OTLP/HTTP.
//!
//! A task sends finished spans in batches from a bounded queue. When the collector is slow or down, the queue fills and
//! spans are dropped.

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

/// Capacity of the queue in spans.
const QUEUE_SPANS: usize = 8_192;
/// Spans per batch.
const BATCH_SPANS: usize = 512;
/// How long the first span of a batch waits for more.
const BATCH_DELAY: Duration = Duration::from_millis(500);
/// Timeout of the collector for a batch.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the last spans at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether a collector is set. Without one, no span is built.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// The span exporter.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    shutdown: CancellationToken,
    sender: JoinHandle<()>,
}

/// Why traces cannot start.
#[derive(Debug, thiserror::Error)]
#[error(
    "telemetry.otlp_endpoint: {0}; write the URL of an OpenTelemetry collector, such as \"http://127.0.0.1:4318\""
)]
pub struct EndpointError(String);

impl Traces {
    /// Starts the exporter, if the settings name a collector. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the endpoint is not an `http` URL.
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
            .with_timeout(SEND_TIMEOUT)
            .build()
            .map_err(|error| EndpointError(error.to_string()))?;
        exporter.set_resource(&resource);
        let (spans, queue) = mpsc::channel(QUEUE_SPANS);
        let dropped = Arc::new(AtomicU64::new(0));
        let shutdown = CancellationToken::new();
        let sender = Sender {
            exporter,
            queue,
            dropped: Arc::clone(&dropped),
            shutdown: shutdown.clone(),
        };
        let share = f64::from(settings.sample_percent.min(100)) / 100.0;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(
                share,
            ))))
            .with_span_processor(SpanQueue { spans, dropped })
            .build();
        ENABLED.store(true, Ordering::Relaxed);
        Ok(Some(Self {
            provider,
            shutdown,
            sender: tokio::spawn(sender.run()),
        }))
    }

    /// The tracer that creates the spans.
    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("mindhost")
    }

    /// Sends the queued spans and stops.
    pub async fn shut_down(self) {
        self.shutdown.cancel();
        if tokio::time::timeout(FLUSH_TIMEOUT, self.sender)
            .await
            .is_err()
        {
            tracing::warn!("the collector did not take the last spans in time");
        }
    }
}

/// The collector's URL for traces: the path of OTLP, unless the endpoint has a path.
fn traces_url(endpoint: &str) -> Result<String, EndpointError> {
    let mut url = url::Url::parse(endpoint).map_err(|error| EndpointError(error.to_string()))?;
    if url.scheme() != "http" {
        return Err(EndpointError(String::from(
            "only http is supported; run a collector on this machine or network that forwards the spans over TLS",
        )));
    }
    if url.path() == "/" {
        url.set_path("/v1/traces");
    }
    Ok(url.into())
}

/// Queues finished spans.
#[derive(Debug)]
struct SpanQueue {
    spans: mpsc::Sender<SpanData>,
    dropped: Arc<AtomicU64>,
}

impl SpanProcessor for SpanQueue {
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

/// The task that sends batches.
struct Sender {
    exporter: SpanExporter,
    queue: mpsc::Receiver<SpanData>,
    dropped: Arc<AtomicU64>,
    shutdown: CancellationToken,
}

impl Sender {
    async fn run(mut self) {
        let shutdown = self.shutdown.clone();
        let mut is_down = false;
        loop {
            let mut batch = Vec::new();
            let first = shutdown
                .run_until_cancelled(self.queue.recv_many(&mut batch, BATCH_SPANS))
                .await;
            if first.is_none() {
                self.queue.close();
            }
            if batch.len() < BATCH_SPANS && first.is_some() {
                let _ = shutdown
                    .run_until_cancelled(tokio::time::sleep(BATCH_DELAY))
                    .await;
            }
            while batch.len() < BATCH_SPANS
                && let Ok(span) = self.queue.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            is_down = self.send(batch, is_down).await;
        }
    }

    /// Sends a batch. Returns whether the collector is down, which is logged once per outage.
    async fn send(&self, batch: Vec<SpanData>, was_down: bool) -> bool {
        let spans = batch.len() as u64;
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.exporter.export(batch)).await;
        let problem = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(String::from("timed out")),
        };
        match &problem {
            Some(problem) => {
                self.dropped.fetch_add(spans, Ordering::Relaxed);
                if !was_down {
                    tracing::warn!(
                        problem,
                        "the collector of telemetry.otlp_endpoint does not accept spans; they are dropped"
                    );
                }
            }
            None => {
                let dropped = self.dropped.swap(0, Ordering::Relaxed);
                if dropped > 0 {
                    tracing::warn!(
                        dropped,
                        "spans were dropped; the collector accepts them again"
                    );
                }
            }
        }
        problem.is_some()
    }
}

/// Whether spans are sent to a collector.
pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Makes a span part of the caller's trace (W3C `traceparent`).
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    if !is_enabled() || !headers.contains_key("traceparent") {
        return;
    }
    let context = TraceContextPropagator::new().extract(&Headers(headers));
    // Fails for a span that is not recorded, and then there is no trace to continue.
    let _ = span.set_parent(context);
}

/// Records the status of a response.
pub fn record_status(span: &Span, status: u16) {
    if !is_enabled() {
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
    fn endpoint_without_a_path_gets_that_of_traces() {
        let check = |endpoint: &str, expected: &str| {
            assert_eq!(traces_url(endpoint).unwrap(), expected);
        };
        check("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces");
        check("http://c.example/", "http://c.example/v1/traces");
        check("http://c.example/otlp", "http://c.example/otlp");
    }

    #[test]
    fn unusable_endpoint_is_refused_with_an_example() {
        for wrong in ["collector", "https://c.example", "127.0.0.1:4318"] {
            let error = traces_url(wrong).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:4318"), "{error}");
        }
    }
}
