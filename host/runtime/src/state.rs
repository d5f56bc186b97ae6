//! The data of a wasmtime store: WASI context, limits, control and log.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::{
    WasiCtx, WasiCtxView, WasiView,
    cli::{IsTerminal, StdoutStream},
    p2::{DynPollable, OutputStream, Pollable, StreamResult, subscribe},
};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::{
    bindings::{control, log},
    call_time::Traffic,
    grants::Grants,
    http::Sender,
    limits::{Handles, Limiter},
    refusals::Refusals,
};
use crate::meter::Series;
use mindhost_base::locks::lock;
use mindhost_plugin_api::redact::Redactor;

/// Host resources (streams, pollables, headers, …) per instance.
const MAX_RESOURCES: usize = 1_024;
/// Bytes of the headers of one request or response. They use host memory, up to this much per resource.
const MAX_HEADERS: usize = 32 << 10;

/// The data of a store.
pub struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    sender: Sender,
    pub(super) grants: Arc<Grants>,
    pub(super) refusals: Arc<Refusals>,
    pub(super) limiter: Limiter,
    pub(super) handles: Arc<Handles>,
    pub(super) control: Arc<Control>,
    pub(super) log: Arc<GuestLog>,
    pub(super) traffic: Arc<Traffic>,
}

impl State {
    /// A state that can reach only what `grants` allows: no environment, no arguments, no input.
    pub fn new(grants: Arc<Grants>, limiter: Limiter, log: Arc<GuestLog>, series: Series) -> Self {
        let mut wasi = WasiCtx::builder();
        let refusals = Refusals::new(Arc::clone(&log));
        // The host implements sockets and name lookup; WASI's own stay refused.
        wasi.allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .allow_blocking_current_thread(grants.uses_files())
            .max_random_size(1 << 20)
            .stdout(LineLog(Arc::clone(&log)))
            .stderr(LineLog(Arc::clone(&log)));
        let traffic = Traffic::new(series);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(MAX_HEADERS);
        Self {
            wasi: wasi.build(),
            http,
            table,
            sender: Sender::new(
                Arc::clone(&grants),
                Arc::clone(&refusals),
                Arc::clone(&traffic),
            ),
            grants,
            refusals,
            limiter,
            handles: Arc::default(),
            control: Arc::new(Control::default()),
            log,
            traffic,
        }
    }

    /// Reports the memory of the guest to its meter.
    pub fn report_memory(&self) {
        self.traffic.series().reached_memory(self.limiter.used());
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.sender,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}

/// Adds the imports `control` and `log`.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    control::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    log::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

/// The deadline and cancellation of the running call.
#[derive(Default)]
pub struct Control {
    deadline: Mutex<Option<Instant>>,
    stop: CancellationToken,
}

impl Control {
    /// Sets the deadline of the next call.
    pub fn begin(&self, deadline: Instant) {
        *lock(&self.deadline) = Some(deadline);
    }

    /// Asks the guest to end the call. The instance is not used again.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    fn remaining(&self) -> Duration {
        lock(&self.deadline).map_or(Duration::ZERO, |end| {
            end.saturating_duration_since(Instant::now())
        })
    }
}

struct Stopped(CancellationToken);

#[wasmtime_wasi::async_trait]
impl Pollable for Stopped {
    async fn ready(&mut self) {
        self.0.cancelled().await;
    }
}

impl control::Host for State {
    fn remaining_ms(&mut self) -> wasmtime::Result<u64> {
        Ok(u64::try_from(self.control.remaining().as_millis()).unwrap_or(u64::MAX))
    }

    fn is_cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.control.stop.is_cancelled())
    }

    fn cancelled(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let stopped = self.table.push(Stopped(self.control.stop.clone()))?;
        subscribe(&mut self.table, stopped)
    }
}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.log.line(level, &message);
        Ok(())
    }
}

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

    /// Name of the plugin.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Text without the target's secrets, at most `max` bytes.
    pub fn redacted(&self, text: &str, max: usize) -> String {
        self.redactor.redact_cut(text, max)
    }

    /// As [`Self::redacted`], on one line.
    pub fn clean(&self, text: &str, max: usize) -> String {
        let escaped = self.redacted(text, max).escape_debug().to_string();
        cut(&escaped, max).to_owned()
    }

    /// Logs a refusal, within the rate limit of the plugin.
    pub fn refused(&self, why: &str) {
        if self.admit() {
            let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
            tracing::info!(plugin, target, why, "refused a plugin");
        }
    }

    /// Whether anybody listens to the lines of [`Self::exchange`].
    pub fn hears_exchanges(&self) -> bool {
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

    fn line(&self, level: log::Level, message: &str) {
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
            self.tell_dropped(window.lines);
            *window = Window {
                start: Instant::now(),
                lines: 0,
            };
        }
        window.lines = window.lines.saturating_add(1);
        window.lines <= self.max_lines
    }

    fn tell_dropped(&self, lines: u32) {
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
        self.tell_dropped(lines);
    }
}

/// Writes standard output and error of a guest to its log, line by line. Panic messages arrive here.
struct LineLog(Arc<GuestLog>);

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
            log: Arc::clone(&self.0),
            line: Vec::new(),
        })
    }
}

struct LineStream {
    log: Arc<GuestLog>,
    line: Vec<u8>,
}

impl LineStream {
    fn emit(&mut self) {
        if !self.line.is_empty() {
            let line = String::from_utf8_lossy(&self.line);
            self.log.line(log::Level::Info, &line);
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

/// Truncates text to `max` bytes at a character boundary.
pub fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max))
        .unwrap_or_default()
}
