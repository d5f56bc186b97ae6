//! The log of a guest: the lines that it writes, and what the host logs about it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

use super::{bindings::log, text::truncated};
use mindhost_base::locks::lock;
use mindhost_plugin_api::redact::Redactor;

/// The log of one instance: redacted, truncated and rate-limited.
pub struct GuestLog {
    plugin: String,
    target: String,
    redactor: Redactor,
    max_lines: u32,
    window: Mutex<Window>,
}

struct Window {
    start: Instant,
    lines: u32,
}

/// Text with its control characters escaped. Quotes stay: people read this.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\'' | '\\' => line.push(letter),
            letter => line.extend(letter.escape_debug()),
        }
    }
    line
}

impl GuestLog {
    /// Longest line, in bytes.
    const MAX_LINE: usize = 2_048;

    /// The log of a plugin for a target, by their names.
    pub fn new(plugin: &str, target: &str, redactor: Redactor, max_lines: u32) -> Arc<Self> {
        Arc::new(Self {
            plugin: plugin.to_owned(),
            target: target.to_owned(),
            redactor,
            max_lines,
            window: Mutex::new(Window {
                start: Instant::now(),
                lines: 0,
            }),
        })
    }

    /// As the manifest names it; each line has it.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Text without the target's secrets, at most `max` bytes.
    pub fn redacted(&self, text: &str, max: usize) -> String {
        self.redactor.redact_cut(text, max)
    }

    /// As [`Self::redacted`], on one line.
    pub fn clean(&self, text: &str, max: usize) -> String {
        let escaped = one_line(&self.redacted(text, max));
        truncated(&escaped, max).to_owned()
    }

    /// Logs a refusal, within the rate limit of the plugin.
    pub fn refused(&self, why: &str) {
        if self.admit() {
            let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
            tracing::info!(plugin, target, why, "refused a plugin");
        }
    }

    /// Logs that a request was not sent because the host got no access token, within the rate limit of the plugin.
    pub fn without_token(&self, why: &str) {
        if self.admit() {
            let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
            tracing::info!(plugin, target, reason = why, "no access token for a plugin");
        }
    }

    /// Logs that the host could not open a file or a connection, within the rate limit of the plugin.
    pub fn out_of_files(&self) {
        if self.admit() {
            let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
            tracing::warn!(
                plugin,
                target,
                "no file or connection was opened for a plugin: the server has as many open as it may; raise its limit of \
                 open files (ulimit -n)"
            );
        }
    }

    /// Whether anybody listens to the lines of [`Self::exchange`].
    pub fn logs_exchanges(&self) -> bool {
        tracing::enabled!(tracing::Level::DEBUG)
    }

    /// Logs an HTTP exchange. The text has no secrets.
    pub fn exchange(&self, exchange: &str) {
        let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
        tracing::debug!(plugin, target, exchange, "an HTTP exchange of a plugin");
    }

    /// Bytes of an unfinished line to keep: the longest line, and enough to recognize a secret that begins in it.
    fn max_kept(&self) -> usize {
        Self::MAX_LINE + self.redactor.longest()
    }

    /// Logs a line of the guest, within the rate limit of the plugin.
    pub fn line(&self, level: log::Level, message: &str) {
        if !self.admit() {
            return;
        }
        let message = self.clean(message, Self::MAX_LINE);
        let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
        match level {
            log::Level::Debug => tracing::debug!(plugin, target, "{message}"),
            log::Level::Info => tracing::info!(plugin, target, "{message}"),
            log::Level::Warn => tracing::warn!(plugin, target, "{message}"),
            log::Level::Error => tracing::error!(plugin, target, "{message}"),
        }
    }

    /// Whether the rate limit allows one more line. Logs the number of dropped lines once per second.
    fn admit(&self) -> bool {
        let mut window = lock(&self.window);
        if window.start.elapsed() >= Duration::from_secs(1) {
            self.log_dropped(window.lines);
            *window = Window {
                start: Instant::now(),
                lines: 0,
            };
        }
        window.lines = window.lines.saturating_add(1);
        window.lines <= self.max_lines
    }

    fn log_dropped(&self, lines: u32) {
        let dropped = lines.saturating_sub(self.max_lines);
        if dropped > 0 {
            let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
            tracing::warn!(plugin, target, dropped, "the plugin logs too much");
        }
    }
}

impl Drop for GuestLog {
    /// Logs the lines that were dropped in the last second of the instance.
    fn drop(&mut self) {
        let lines = lock(&self.window).lines;
        self.log_dropped(lines);
    }
}

/// Writes standard output or error of a guest to its log, line by line. Panic messages arrive here.
pub struct LineLog {
    log: Arc<GuestLog>,
    level: log::Level,
}

impl LineLog {
    /// Standard output: what the plugin prints.
    pub fn output(log: &Arc<GuestLog>) -> Self {
        Self {
            log: Arc::clone(log),
            level: log::Level::Info,
        }
    }

    /// Standard error: something is wrong.
    pub fn error(log: &Arc<GuestLog>) -> Self {
        Self {
            log: Arc::clone(log),
            level: log::Level::Warn,
        }
    }
}

/// Whether a line of standard error begins the report of a panic, as Rust writes it.
fn begins_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

/// Whether a line is Rust's advice on how to get a backtrace. A plugin has no environment, and the host logs the
/// functions of a plugin that panicked.
fn is_backtrace_advice(line: &str) -> bool {
    line.starts_with("note: run with `RUST_BACKTRACE=1` ")
}

impl IsTerminal for LineLog {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LineLog {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(LineStream {
            log: Arc::clone(&self.log),
            level: self.level,
            line: Vec::new(),
        })
    }
}

struct LineStream {
    log: Arc<GuestLog>,
    level: log::Level,
    line: Vec<u8>,
}

impl LineStream {
    fn emit(&mut self) {
        if !self.line.is_empty() {
            let line = String::from_utf8_lossy(&self.line);
            // What follows is its message and where it came from; the instance ends then.
            if self.level == log::Level::Warn && begins_panic(&line) {
                self.level = log::Level::Error;
            }
            if self.level != log::Level::Error || !is_backtrace_advice(&line) {
                self.log.line(self.level, &line);
            }
            self.line.clear();
        }
    }
}

impl Drop for LineStream {
    fn drop(&mut self) {
        self.emit();
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for LineStream {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for LineStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let max = self.log.max_kept();
        for &byte in &bytes {
            if byte == b'\n' {
                self.emit();
            } else if self.line.len() < max {
                self.line.push(byte);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}
