//! Log lines: for people or for machines, each with the id of the request that it belongs to. And traces.

pub mod traces;

use std::io::IsTerminal;

use tracing::{Metadata, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{ParseError, filter_fn},
    fmt,
    prelude::*,
    registry,
    registry::LookupSpan,
    util::TryInitError,
};

pub use self::traces::Traces;
use mindhost_base::config::{Log, LogFormat, Telemetry};

/// Why logging cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The setting is no filter.
    #[error("log.level: {0}; use a level such as \"info\" or \"info,mindhost=debug\"")]
    Level(#[from] ParseError),
    /// The setting is no collector.
    #[error(transparent)]
    Endpoint(#[from] traces::EndpointError),
    /// Somebody logs already in this process.
    #[error(transparent)]
    Started(#[from] TryInitError),
}

/// Starts logging to standard error, and sending spans where they are wanted; what is returned must be ended. Standard
/// output belongs to the commands. Needs a tokio runtime.
///
/// # Errors
/// When `log.level` is no filter or `telemetry.otlp_endpoint` no collector.
pub fn start(log: &Log, telemetry: &Telemetry) -> Result<Option<Traces>, LogError> {
    let filter = EnvFilter::builder().parse(filter(&log.level))?;
    let traces = Traces::start(telemetry)?;
    match &traces {
        None => registry().with(filter).with(lines(log)).try_init(),
        // The spans that are sent are not those that the lines name, so each has a filter of its own.
        Some(traces) => {
            let ours = |metadata: &Metadata<'_>| {
                metadata.is_span() && metadata.target().starts_with("mindhost")
            };
            let spans = tracing_opentelemetry::layer()
                .with_tracer(traces.tracer())
                .with_location(false)
                .with_threads(false)
                .with_tracked_inactivity(false)
                .with_filter(filter_fn(ours).with_max_level_hint(LevelFilter::DEBUG));
            registry()
                .with(lines(log).with_filter(filter))
                .with(spans)
                .try_init()
        }
    }?;
    // A panic is a line of the log like any other, with the request that it belongs to.
    std::panic::set_hook(Box::new(
        |panic| tracing::error!(%panic, "a part of the server panicked"),
    ));
    Ok(traces)
}

/// The library that speaks the Model Context Protocol calls it an error when a client does not wait for its answer. What
/// goes wrong in a call we say ourselves, so it is heard only where the setting names it.
fn filter(level: &str) -> String {
    match level.contains("rmcp") {
        true => level.to_owned(),
        false => format!("{level},rmcp=off"),
    }
}

fn lines<S>(log: &Log) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        // It would print there that printing there failed, and panic.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    match log.format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .boxed(),
    }
}
