//! Log lines on standard error, and traces to an OpenTelemetry collector. It never writes to standard output and never
//! waits for the collector.

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

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// `log.level` is not a filter.
    #[error("log.level: {0}; use a level such as \"info\" or \"info,mindhost=debug\"")]
    Level(#[from] ParseError),
    /// `log.level` has a word that is no level, or none at all. As a filter it would be the name of a module, and mute
    /// all others.
    #[error(
        "log.level: `{0}` is not a level; use off, error, warn, info, debug or trace, and write a module with its \
         level, as in \"info,mindhost=debug\""
    )]
    NoLevel(String),
    /// `telemetry.otlp_endpoint` is not a collector.
    #[error(transparent)]
    Endpoint(#[from] traces::EndpointError),
    /// The process has a logger already.
    #[error(transparent)]
    Started(#[from] TryInitError),
}

/// Starts logging to standard error and, if the settings name a collector, sending spans. Call [`Traces::shut_down`] at
/// the end. Standard output belongs to the commands. Needs a tokio runtime.
///
/// # Errors
/// When `log.level` is not a filter or `telemetry.otlp_endpoint` not a collector.
pub fn start(log: &Log, telemetry: &Telemetry) -> Result<Option<Traces>, LogError> {
    let filter = filter(&log.level)?;
    let traces = Traces::start(telemetry)?;
    match &traces {
        None => registry().with(filter).with(line_layer(log)).try_init(),
        // The collector gets other spans than the log lines, so each layer has its own filter.
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
                .with(line_layer(log).with_filter(filter))
                .with(spans)
                .try_init()
        }
    }?;
    // A panic becomes a log line with the id of its request.
    std::panic::set_hook(Box::new(
        |panic| tracing::error!(%panic, "a part of the server panicked"),
    ));
    Ok(traces)
}

/// The filter of `log.level`. Mutes the MCP library unless the setting names it: it logs an error when a client
/// disconnects, and the host logs failed calls itself.
///
/// # Errors
/// When `level` is not a filter.
pub fn filter(level: &str) -> Result<EnvFilter, LogError> {
    let is_name = |level: &str| !level.is_empty() && level.parse::<LevelFilter>().is_ok();
    let is_module = |module: &str| {
        !module.is_empty()
            && module
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c))
    };
    let is_level = |part: &str| match part.split_once('=') {
        _ if part.contains(['[', '{']) => true,
        Some((module, level)) => is_module(module.trim()) && is_name(level.trim()),
        None => is_name(part),
    };
    let parts = level.split(',').map(str::trim);
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    if parts.peek().is_none() {
        return Err(LogError::NoLevel(level.to_owned()));
    }
    if let Some(wrong) = parts.find(|part| !is_level(part)) {
        return Err(LogError::NoLevel(wrong.to_owned()));
    }
    let muted = match level.contains("rmcp") {
        true => level.to_owned(),
        false => format!("{level},rmcp=off"),
    };
    Ok(EnvFilter::builder().parse(muted)?)
}

fn line_layer<S>(log: &Log) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        // It would report a failed write to standard error on standard error, and panic.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_level_is_refused_instead_of_muting_the_log() {
        for level in [
            "inof",
            "info,mindhost",
            "warning",
            "debug,inof",
            "info mindhost=debug",
            "info;mindhost_api=debug",
            "info=",
            "mindhost=inof",
            "",
            " ",
            ",",
        ] {
            let error = filter(level).unwrap_err().to_string();
            assert!(error.starts_with("log.level: "), "{level}: {error}");
        }
        for level in [
            "info",
            "WARN",
            "off",
            "info,mindhost=debug",
            "mindhost_api=trace",
            "warn,rmcp=info",
            "info,mindhost[request]=debug",
        ] {
            assert!(filter(level).is_ok(), "{level}");
        }
    }
}
