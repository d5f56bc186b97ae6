//! What a store holds beside the guest: its WASI context, its limits, the word to stop, its log.

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

/// Resources of the host (streams, pollables, headers, …) that an instance may hold at once.
const MAX_RESOURCES: usize = 1_024;
/// Bytes of the headers of one request or answer. They lie in the host's memory, so a guest can have this much for each
/// of its resources.
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
    /// A state that can reach what `grants` names and nothing else: no environment, no arguments, no input.
    pub fn new(grants: Arc<Grants>, limiter: Limiter, log: Arc<GuestLog>, series: Series) -> Self {
        let mut wasi = WasiCtx::builder();
        let refusals = Refusals::new(Arc::clone(&log));
        // Sockets and name look-up are our own; what WASI itself would do stays refused.
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

    /// Counts the memory that the guest has grown to.
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

/// Adds our own imports: `control` and `log`.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    control::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    log::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

/// The host's word on the call that is running.
#[derive(Default)]
pub struct Control {
    deadline: Mutex<Option<Instant>>,
    stop: CancellationToken,
}

impl Control {
    /// Sets the end of the next call.
    pub fn begin(&self, deadline: Instant) {
        *lock(&self.deadline) = Some(deadline);
    }

    /// Tells the guest to end the call early. There is no way back: the instance is not used again.
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

/// The log of one instance: redacted, cut and limited in rate.
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

    /// A log for a plugin that serves a target, by their names.
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

    /// At most `max` bytes of a text without the target's secrets.
    pub fn redacted(&self, text: &str, max: usize) -> String {
        self.redactor.redact_cut(text, max)
    }

    /// As [`Self::redacted`], on one line.
    pub fn clean(&self, text: &str, max: usize) -> String {
        let escaped = self.redacted(text, max).escape_debug().to_string();
        cut(&escaped, max).to_owned()
    }

    /// Says what the plugin was refused, within the plugin's own share of lines.
    pub fn refused(&self, why: &str) {
        if self.admit() {
            let (plugin, target) = (self.plugin.as_str(), self.target.as_str());
            tracing::info!(plugin, target, why, "refused a plugin");
        }
    }

    /// Bytes of an unfinished line that are worth keeping: what is shown, and enough to recognise a secret that
    /// begins in it.
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

    /// Whether one more line fits into this second; says once a second how many did not.
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
    /// A flood that ends with its instance is told too.
    fn drop(&mut self) {
        let lines = lock(&self.window).lines;
        self.tell_dropped(lines);
    }
}

/// Standard output and error of a guest, a line at a time into its log. A panic message comes this way.
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

/// The text up to `max` bytes, cut between characters.
pub fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max))
        .unwrap_or_default()
}
