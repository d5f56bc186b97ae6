//! The data of a wasmtime store: WASI context, limits and control.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::{
    WasiCtx, WasiCtxView, WasiView,
    p2::{DynPollable, Pollable, subscribe},
};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::{
    bindings::{control, log},
    call_time::Traffic,
    grants::Grants,
    guest_log::{GuestLog, LineLog},
    http_hooks::Sender,
    limits::{Handles, Limiter},
    refusals::Refusals,
};
use crate::meter::Series;
use mindhost_base::locks::lock;

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
            .stdout(LineLog::output(&log))
            .stderr(LineLog::error(&log));
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

struct StopSignal(CancellationToken);

#[wasmtime_wasi::async_trait]
impl Pollable for StopSignal {
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
        let stopped = self.table.push(StopSignal(self.control.stop.clone()))?;
        subscribe(&mut self.table, stopped)
    }
}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.log.line(level, &message);
        Ok(())
    }
}
