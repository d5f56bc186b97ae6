//! Log lines: for people or for machines, each with the id of the request that it belongs to.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

use crate::config::{Log, LogFormat};

/// Starts logging to standard error. Standard output belongs to the commands.
///
/// # Errors
/// When `log.level` is no filter.
pub fn start(log: &Log) -> Result<(), String> {
    let filter = EnvFilter::builder().parse(&log.level).map_err(|e| {
        format!("log.level: {e}; use a level such as \"info\" or \"info,mindhost=debug\"")
    })?;
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
    }
    .map_err(|e| e.to_string())?;
    // A panic is a line of the log like any other, with the request that it belongs to.
    std::panic::set_hook(Box::new(
        |panic| tracing::error!(%panic, "a part of the server panicked"),
    ));
    Ok(())
}
