//! Log lines: for people or for machines, each with the id of the request that it belongs to.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, filter::ParseError, fmt, prelude::*, util::TryInitError};

use crate::config::{Log, LogFormat};

/// Why logging cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The setting is no filter.
    #[error("log.level: {0}; use a level such as \"info\" or \"info,mindhost=debug\"")]
    Level(#[from] ParseError),
    /// Somebody logs already in this process.
    #[error(transparent)]
    Started(#[from] TryInitError),
}

/// Starts logging to standard error. Standard output belongs to the commands.
///
/// # Errors
/// When `log.level` is no filter.
pub fn start(log: &Log) -> Result<(), LogError> {
    let filter = EnvFilter::builder().parse(&log.level)?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match log.format {
        LogFormat::Text => registry.with(lines.with_target(false)).try_init(),
        LogFormat::Json => registry
            .with(
                lines
                    .json()
                    .flatten_event(true)
                    .with_current_span(true)
                    .with_span_list(false),
            )
            .try_init(),
    }?;
    // A panic is a line of the log like any other, with the request that it belongs to.
    std::panic::set_hook(Box::new(
        |panic| tracing::error!(%panic, "a part of the server panicked"),
    ));
    Ok(())
}
