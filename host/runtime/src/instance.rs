//! An instance of a plugin, and the only way to call it.
//!
//! The future of a call owns the instance and continues in the background if its caller drops it. So every call ends in
//! the same order: the guest is asked to stop, then the engine, and after a grace period the instance is dropped.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use super::{
    call_time::Timed,
    engine::Runtime,
    grants::Grants,
    guest_log::GuestLog,
    host_errors::{cancelled, overloaded},
    limits::{ExceededLimit, Limiter, Scope},
    permits::{ConnectionPermit, Hangs, InstancePermit},
    refusals::Refusals,
    state::State,
    world::{GuestFuture, World},
};
use crate::meter::{AliveGuard, Figure, Series};
use mindhost_base::{
    config::PluginSettings,
    detached_task::DetachOnDrop,
    error::{Blame, Code, Error, Result},
};
use mindhost_plugin_api::Call;

/// An instance of a component with its own memory, from its start until it is dropped.
pub struct Instance<G> {
    store: Store<State>,
    guest: G,
    runtime: Arc<Runtime>,
    max_call_time: Duration,
    _permit: InstancePermit,
    _alive: AliveGuard,
}

/// The parameters of a new instance.
pub struct StartOptions<'a> {
    /// What it may reach.
    pub grants: &'a Arc<Grants>,
    /// Gets what the guest logs, its refusals and its traps.
    pub log: &'a Arc<GuestLog>,
    /// Held until the instance is dropped.
    pub permit: InstancePermit,
    /// Where its calls, time, bytes and memory are counted.
    pub series: Series,
    /// Its limits.
    pub settings: &'a PluginSettings,
}

/// Bytes of a trap's description that are logged; it holds names out of the guest.
const MAX_DETAIL: usize = 8 << 10;
/// The part of the grace period, as a divisor, in which only the guest is asked to stop.
const GUEST_SHARE: u32 = 5;
/// How long a blocking call may exceed the grace period before its thread is abandoned.
const BLOCKING_DELAY: Duration = Duration::from_millis(500);

/// How long a call may exceed the grace period before its caller gets an error.
const REPLY_DELAY: Duration = Duration::from_millis(50);
/// Interval of the checks whether a guest still waits for its engine.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What to do when a call must end early.
pub struct OnStop {
    /// Cancels the statement in the engine, after the guest is asked.
    pub cancel_engine: Option<Box<dyn FnOnce() + Send>>,
    /// Held until the call ends, which may be long after its caller got an error.
    pub permit: Arc<ConnectionPermit>,
    /// Whether the guest may wait for its engine to confirm the end.
    pub waits: bool,
}

/// The end of a call: its result, and the instance if it can be used again.
pub type CallOutcome<R, G> = (Result<R>, Option<Box<Instance<G>>>);

impl<G: Send + Sync + 'static> Instance<G> {
    /// Instantiates a component within the bounds of a call.
    pub async fn start<W: World<Guest = G>>(
        runtime: &Arc<Runtime>,
        world: &W,
        options: StartOptions<'_>,
        call: &Call,
    ) -> Result<Box<Self>> {
        let host = Arc::downgrade(runtime);
        let StartOptions {
            grants,
            log,
            permit,
            series,
            settings,
        } = options;
        let limiter = Limiter::new(
            Arc::clone(&permit.memory),
            settings.max_memory_bytes,
            Box::new(move |scope| host.upgrade().is_some_and(|host| host.reclaim(scope))),
        );
        let alive = series.instance();
        let state = State::new(Arc::clone(grants), limiter, Arc::clone(log), series);
        let mut store = Store::new(world.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_epoch_deadline(1);
        // Yielding lets the task that polls the guest see its timers; see `drive`.
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        // A component may run code when it is instantiated, so this is bounded like any other call.
        let traffic = Arc::clone(&store.data().traffic);
        let instantiated = Timed::new(world.instantiate(&mut store), traffic);
        let started = tokio::select! {
            started = instantiated => started,
            () = call.cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => return Err(call.timed_out().blamed(Blame::Plugin)),
        };
        store.data().report_memory();
        match started {
            Ok(guest) => Ok(Box::new(Self {
                store,
                guest,
                runtime: Arc::clone(runtime),
                max_call_time: settings.max_call_time,
                _permit: permit,
                _alive: alive,
            })),
            Err(error) => Err(fault(&store, &error)),
        }
    }

    /// The tracker of background tasks.
    pub fn tasks(&self) -> TaskTracker {
        self.runtime.tasks.clone()
    }

    /// The refusals of the guest; see [`Refusals::take`].
    pub fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(&self.store.data().refusals)
    }

    /// Runs one call. Returns the instance only if the guest returned; a trap, a timeout or a cancellation drops it.
    pub async fn run<R, F>(
        self: Box<Self>,
        call: &Call,
        on_stop: Option<OnStop>,
        f: F,
    ) -> CallOutcome<R, G>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a mut Store<State>, &'a G) -> GuestFuture<'a, R> + Send + 'static,
    {
        let tasks = self.runtime.tasks.clone();
        let grants = &self.store.data().grants;
        let (blocking, prompt) = (grants.uses_files(), grants.has_prompt_files());
        let stop = call.cancel.child_token();
        // If the client disconnects, this future is dropped, which cancels the call.
        let _stop_on_drop = stop.clone().drop_guard();
        let bounds = Call {
            cancel: stop.clone(),
            ..call.within(self.max_call_time)
        };
        let bounds = match bounds.deadline < call.deadline {
            true => bounds.limited_by("plugins.max_call_time"),
            false => bounds,
        };
        // Held until the guest has ended, even if its thread is abandoned.
        let thread = match blocking {
            true => {
                let workspace = grants.workspace().unwrap_or_default().to_owned();
                let hangs = match prompt {
                    true => Hangs::No,
                    false => Hangs::Perhaps,
                };
                let threads = &self.runtime.file_threads;
                match threads.acquire(&workspace, hangs, &bounds).await {
                    Ok(thread) => Some(thread),
                    Err(why) => return (Err(why), Some(self)),
                }
            }
            false => None,
        };
        let grace = self.runtime.settings.cancel_grace;
        let waits = on_stop.as_ref().is_some_and(|on_stop| on_stop.waits);
        let work = self.drive(bounds.clone(), on_stop, f);
        let late = |blame, extra| async move {
            let why = tokio::select! {
                () = bounds.cancel.cancelled() => cancelled(),
                () = tokio::time::sleep_until(bounds.deadline) => bounds.timed_out().blamed(blame),
            };
            tokio::time::sleep(grace + extra).await;
            why
        };
        if !blocking {
            let work = DetachOnDrop::new(tasks.track_future(work));
            if !waits {
                return work.await;
            }
            // The caller gets an error; the guest may wait longer for the engine to confirm the end.
            return tokio::select! {
                biased;
                ended = work => ended,
                why = late(Blame::Upstream, REPLY_DELAY) => (Err(why), None),
            };
        }
        let mut work = Box::pin(work);
        // Short calls end in their first slice, before another thread would have taken them over.
        if prompt
            && let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await
        {
            return ended;
        }
        let handle = Handle::current();
        let task = match handle.runtime_flavor() {
            // The call may end before another thread would be awake, so it runs on this one. Its other tasks move to
            // another thread.
            RuntimeFlavor::MultiThread => tasks.spawn(async move {
                let _thread = thread;
                tokio::task::block_in_place(|| Handle::current().block_on(work))
            }),
            _ => tasks.spawn_blocking(move || {
                let _thread = thread;
                handle.block_on(work)
            }),
        };
        // The thread may hang in a system call, such as a read from a file server, where no timer runs. It is abandoned
        // and its instance is lost until it returns.
        tokio::select! {
            ended = task => ended.unwrap_or_else(|error| (Err(Error::internal(error)), None)),
            why = late(Blame::Host, BLOCKING_DELAY) => (Err(why), None),
        }
    }

    async fn drive<R, F>(
        mut self: Box<Self>,
        call: Call,
        on_stop: Option<OnStop>,
        f: F,
    ) -> CallOutcome<R, G>
    where
        F: for<'a> FnOnce(&'a mut Store<State>, &'a G) -> GuestFuture<'a, R>,
    {
        // The call has not begun, so the instance stays usable.
        if call.cancel.is_cancelled() {
            return (Err(cancelled()), Some(self));
        }
        if Instant::now() >= call.deadline {
            return (Err(call.timed_out().blamed(Blame::Host)), Some(self));
        }
        let runtime = Arc::clone(&self.runtime);
        let control = Arc::clone(&self.store.data().control);
        let grace = self.runtime.settings.cancel_grace;
        control.begin(call.deadline);
        self.store.data().refusals.begin();
        self.store.set_epoch_deadline(1);
        let traffic = Arc::clone(&self.store.data().traffic);
        let mut running = Timed::new(f(&mut self.store, &self.guest), traffic);
        let early = tokio::select! {
            biased;
            () = call.cancel.cancelled() => cancelled(),
            result = &mut running => {
                drop(running);
                self.store.data().report_memory();
                return match result {
                    Ok(value) => (Ok(value), Some(self)),
                    Err(error) => (Err(fault(&self.store, &error)), None),
                };
            }
            () = tokio::time::sleep_until(call.deadline) => {
                call.timed_out().blamed(match running.waited_for_network() {
                    true => Blame::Upstream,
                    false => Blame::Plugin,
                })
            }
        };
        // Stop the guest, then the engine, then drop the instance. The result of the guest is ignored; it gets the time
        // to end its session with the engine.
        control.stop();
        let first = grace / GUEST_SHARE;
        let mut returned = tokio::time::timeout(first, &mut running).await.is_ok();
        let (cancel_engine, waits, _permit) = on_stop.map_or((None, false, None), |on_stop| {
            (on_stop.cancel_engine, on_stop.waits, Some(on_stop.permit))
        });
        if let Some(cancel_engine) = cancel_engine {
            cancel_engine();
        }
        if !returned {
            returned = tokio::time::timeout(grace - first, &mut running)
                .await
                .is_ok();
        }
        if !returned && waits {
            runtime.wait_for_confirmation(&mut running).await;
        }
        drop(running);
        self.store.data().report_memory();
        (Err(early), None)
    }
}

impl Runtime {
    /// Waits up to `cancel_confirm_timeout` while a guest waits for its engine to confirm the end of a statement. Until
    /// then the statement may still run there, and its connection counts as in use.
    async fn wait_for_confirmation<F: Future + Unpin>(&self, running: &mut Timed<F>) {
        let until = Instant::now() + self.settings.cancel_confirm_timeout;
        let shutdown = self.shutdown.cancelled();
        tokio::pin!(shutdown);
        while running.waits_for_network() {
            if Instant::now() >= until {
                tracing::warn!(
                    "an engine did not confirm the end of a statement within plugins.cancel_confirm_timeout"
                );
                return;
            }
            let poll = tokio::time::timeout(POLL_INTERVAL, &mut *running);
            tokio::select! {
                ended = poll => if ended.is_ok() { return },
                () = &mut shutdown => return,
            }
        }
    }
}

fn out_of_memory(scope: &Scope) -> &'static str {
    match scope {
        Scope::Host => "all plugins together ran out of memory (plugins.max_total_memory_bytes)",
        Scope::Workspace(_) => {
            "the plugins of this workspace ran out of memory (plugins.max_workspace_memory_bytes)"
        }
        Scope::Plugin(_) => {
            "the instances of this plugin ran out of memory (max_total_memory_bytes in its section of plugins.limits)"
        }
        Scope::Target(_) => {
            "the connections of this datasource ran out of memory (plugins.max_target_memory_bytes)"
        }
    }
}

/// The error of a guest that trapped, in a few words. The log gets the backtrace.
fn fault(store: &Store<State>, error: &wasmtime::Error) -> Error {
    let state = store.data();
    let why = match state.limiter.exceeded() {
        Some(ExceededLimit::Instance) => "it ran out of memory (plugins.max_memory_bytes)",
        Some(ExceededLimit::Shared(scope)) => return overloaded(out_of_memory(scope)),
        Some(ExceededLimit::Table) => "it asked for too large a table",
        None => match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => "its stack overflowed",
            // The stack of most languages lies in linear memory and runs out of its bounds.
            Some(Trap::MemoryOutOfBounds) => {
                "its stack overflowed, or it used memory that it does not have"
            }
            Some(Trap::UnreachableCodeReached) => "it panicked",
            Some(Trap::Interrupt | Trap::OutOfFuel) => "it ran out of time",
            Some(_) => "it trapped",
            None if error.downcast_ref::<I32Exit>().is_some() => "it tried to exit",
            None => "it returned an invalid value",
        },
    };
    state.traffic.series().add(Figure::Traps, 1);
    let detail = state.log.redacted(&format!("{error:?}"), MAX_DETAIL);
    tracing::warn!(
        plugin = state.log.plugin(),
        detail,
        "a plugin failed: {why}"
    );
    Error::new(Code::PluginError, format!("the plugin failed: {why}")).blamed(Blame::Plugin)
}
