//! One instance of a plugin, and the one way to call it.
//!
//! The future of a call owns the instance, and goes on in the background when nobody waits for it any more. So it
//! always ends in order: the guest is told to stop, the engine is told to stop, and after a grace period the
//! instance is dropped.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use wasmtime::{Engine, Store, Trap, UpdateDeadline, component::InstancePre};
use wasmtime_wasi::I32Exit;

use super::{
    engine::Runtime,
    grants::Grants,
    limits::{Exceeded, Limiter, Scope},
    place::Place,
    pool::Slot,
    refusals::Refusals,
    state::{GuestLog, State},
    stopwatch::Timed,
};
use crate::meter::{Alive, Figure, Series};
use mindhost_base::{
    config::PluginSettings,
    detached_task::DetachOnDrop,
    error::{Blame, Code, Error, Result},
};
use mindhost_plugin_api::Call;

/// The future of one call into a guest.
pub type GuestFuture<'a, R> = BoxFuture<'a, wasmtime::Result<R>>;

/// What can be instantiated: the pre-linked component of one world.
pub trait World: Clone + Send + Sync + 'static {
    /// The typed exports.
    type Guest: Send + Sync + 'static;
    /// The typed exports of a linked component.
    ///
    /// # Errors
    /// When it lacks one.
    fn of(linked: InstancePre<State>) -> wasmtime::Result<Self>;
    /// Where its instances run.
    fn engine(&self) -> &Engine;
    /// Asks it what it is.
    fn describe<'a>(store: &'a mut Store<State>, guest: &'a Self::Guest)
    -> GuestFuture<'a, String>;
    /// Makes an instance in a store.
    fn instantiate<'a>(&'a self, store: &'a mut Store<State>) -> GuestFuture<'a, Self::Guest>;
}

/// An instance with its store.
pub struct Instance<G> {
    store: Store<State>,
    guest: G,
    runtime: Arc<Runtime>,
    max_call_time: Duration,
    _place: Place,
    _alive: Alive,
}

/// What an instance is started with.
pub struct Terms<'a> {
    /// What it may reach.
    pub grants: &'a Arc<Grants>,
    /// Where its lines go.
    pub log: &'a Arc<GuestLog>,
    /// Its room.
    pub place: Place,
    /// Where it is counted.
    pub series: Series,
    /// Its limits.
    pub settings: &'a PluginSettings,
}

/// Bytes of a trap's description that are logged; it holds names out of the guest.
const MAX_DETAIL: usize = 8 << 10;
/// The share of the grace period in which the guest alone knows that its call must end.
const WORD_FIRST: u32 = 5;
/// How long a blocking call may outlast its grace before its thread is left to itself.
const STUCK: Duration = Duration::from_millis(500);

/// How long a call may outlast its grace before its caller is answered without it.
const AFTERWARDS: Duration = Duration::from_millis(50);
/// How long a guest that waits for its engine is left alone before it is looked at again.
const GLANCE: Duration = Duration::from_millis(500);

/// What happens when a call must end early.
pub struct OnStop {
    /// Stops what the call runs in the engine, once the guest was told.
    pub tell: Option<Box<dyn FnOnce() + Send>>,
    /// Kept until the call is over, which may be long after its caller was answered.
    pub slot: Slot,
    /// Whether the guest may go on waiting for its engine to say that it has ended.
    pub waits: bool,
}

/// The end of a call: its result, and the instance if it can be used again.
pub type Ended<R, G> = (Result<R>, Option<Box<Instance<G>>>);

impl<G: Send + Sync + 'static> Instance<G> {
    /// Instantiates a component within the bounds of a call.
    pub async fn start<W: World<Guest = G>>(
        runtime: &Arc<Runtime>,
        world: &W,
        terms: Terms<'_>,
        call: &Call,
    ) -> Result<Box<Self>> {
        let host = Arc::downgrade(runtime);
        let Terms {
            grants,
            log,
            place,
            series,
            settings,
        } = terms;
        let limiter = Limiter::new(
            Arc::clone(&place.memory),
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
            () = tokio::time::sleep_until(call.deadline) => return Err(timed_out(Blame::Plugin)),
        };
        store.data().report_memory();
        match started {
            Ok(guest) => Ok(Box::new(Self {
                store,
                guest,
                runtime: Arc::clone(runtime),
                max_call_time: settings.max_call_time,
                _place: place,
                _alive: alive,
            })),
            Err(error) => Err(fault(&store, &error)),
        }
    }

    /// Where the background work of this host is counted.
    pub fn tasks(&self) -> TaskTracker {
        self.runtime.tasks.clone()
    }

    /// What the guest is refused; see [`Refusals::take`].
    pub fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(&self.store.data().refusals)
    }

    /// Runs one call. The instance comes back only when the guest returned; after a trap, a timeout or a
    /// cancellation it is gone.
    pub async fn run<R, F>(
        self: Box<Self>,
        call: &Call,
        on_stop: Option<OnStop>,
        f: F,
    ) -> Ended<R, G>
    where
        R: Send + 'static,
        F: for<'a> FnOnce(&'a mut Store<State>, &'a G) -> GuestFuture<'a, R> + Send + 'static,
    {
        let tasks = self.runtime.tasks.clone();
        let blocking = self.store.data().grants.uses_files();
        let stop = call.cancel.child_token();
        // Dropping this future, because the client left, stops the call as if it had been cancelled.
        let _stop_on_drop = stop.clone().drop_guard();
        let deadline = call.deadline.min(Instant::now() + self.max_call_time);
        let stopped = stop.clone();
        let grace = self.runtime.settings.cancel_grace;
        let waits = on_stop.as_ref().is_some_and(|on_stop| on_stop.waits);
        let work = self.drive(deadline, stop, on_stop, f);
        let late = |blame, patience| async move {
            let why = tokio::select! {
                () = stopped.cancelled() => cancelled(),
                () = tokio::time::sleep_until(deadline) => timed_out(blame),
            };
            tokio::time::sleep(grace + patience).await;
            why
        };
        if !blocking {
            let work = DetachOnDrop::new(tasks.track_future(work));
            if !waits {
                return work.await;
            }
            // The caller is answered; the guest may wait longer for the engine to confirm the end.
            return tokio::select! {
                biased;
                ended = work => ended,
                why = late(Blame::Upstream, AFTERWARDS) => (Err(why), None),
            };
        }
        let handle = Handle::current();
        let task = tasks.spawn_blocking(move || handle.block_on(work));
        // The thread may hang in the operating system, where no timer of the call is looked at: a file on a server
        // that does not answer. Nobody waits for it; its instance stays lost until it returns.
        tokio::select! {
            ended = task => ended.unwrap_or_else(|error| (Err(Error::internal(error)), None)),
            why = late(Blame::Host, STUCK) => (Err(why), None),
        }
    }

    async fn drive<R, F>(
        mut self: Box<Self>,
        deadline: Instant,
        stop: CancellationToken,
        on_stop: Option<OnStop>,
        f: F,
    ) -> Ended<R, G>
    where
        F: for<'a> FnOnce(&'a mut Store<State>, &'a G) -> GuestFuture<'a, R>,
    {
        // Nothing has begun, so nothing has to be wound up and the instance stays good.
        if stop.is_cancelled() {
            return (Err(cancelled()), Some(self));
        }
        if Instant::now() >= deadline {
            return (Err(timed_out(Blame::Host)), Some(self));
        }
        let runtime = Arc::clone(&self.runtime);
        let control = Arc::clone(&self.store.data().control);
        let grace = self.runtime.settings.cancel_grace;
        control.begin(deadline);
        self.store.data().refusals.begin();
        self.store.set_epoch_deadline(1);
        let traffic = Arc::clone(&self.store.data().traffic);
        let mut running = Timed::new(f(&mut self.store, &self.guest), traffic);
        let early = tokio::select! {
            biased;
            () = stop.cancelled() => cancelled(),
            result = &mut running => {
                drop(running);
                self.store.data().report_memory();
                return match result {
                    Ok(value) => (Ok(value), Some(self)),
                    Err(error) => (Err(fault(&self.store, &error)), None),
                };
            }
            () = tokio::time::sleep_until(deadline) => timed_out(match running.waited_for_network() {
                true => Blame::Upstream,
                false => Blame::Plugin,
            }),
        };
        // In this order: the guest hears of it and may end by itself; the engine hears of it; the instance goes. What
        // the guest returns now is too late; the time is for taking leave of the engine.
        control.stop();
        let first = grace / WORD_FIRST;
        let mut returned = tokio::time::timeout(first, &mut running).await.is_ok();
        let (tell, waits, _slot) = on_stop.map_or((None, false, None), |on_stop| {
            (on_stop.tell, on_stop.waits, Some(on_stop.slot))
        });
        if let Some(tell) = tell {
            tell();
        }
        if !returned {
            returned = tokio::time::timeout(grace - first, &mut running)
                .await
                .is_ok();
        }
        if !returned && waits {
            runtime.outlast(&mut running).await;
        }
        drop(running);
        self.store.data().report_memory();
        (Err(early), None)
    }
}

impl Runtime {
    /// Waits while a guest waits for its engine to confirm the end of a statement, at most `cancel_confirm_timeout`. Until
    /// then the statement may still run there, and its connection counts as used.
    async fn outlast<F: Future + Unpin>(&self, running: &mut Timed<F>) {
        let until = Instant::now() + self.settings.cancel_confirm_timeout;
        let closing = self.closing.cancelled();
        tokio::pin!(closing);
        while running.waits_for_network() {
            if Instant::now() >= until {
                tracing::warn!(
                    "an engine did not confirm the end of a statement within plugins.cancel_confirm_timeout"
                );
                return;
            }
            let glance = tokio::time::timeout(GLANCE, &mut *running);
            tokio::select! {
                ended = glance => if ended.is_ok() { return },
                () = &mut closing => return,
            }
        }
    }
}

/// A permit for one more instance, waited for until the call ends.
pub async fn permit(places: &Arc<Semaphore>, call: &Call) -> Result<OwnedSemaphorePermit> {
    let wait = Arc::clone(places).acquire_owned();
    tokio::select! {
        permit = wait => permit.map_err(Error::internal),
        () = call.cancel.cancelled() => Err(cancelled()),
        () = tokio::time::sleep_until(call.deadline) => Err(overloaded(
            "all plugin instances of this server are busy; try again, or let the operator raise plugins.max_instances",
        )),
    }
}

/// The server is at a limit.
pub fn overloaded(message: impl Into<String>) -> Error {
    Error::new(Code::Overloaded, message)
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(1))
}

/// The caller wants no result any more.
pub fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the call was cancelled")
}

/// The version was replaced, and the time that its last calls had is over.
pub fn cut_off() -> Error {
    Error::new(
        Code::Overloaded,
        "the plugin was replaced by another version, and this call took longer than plugins.drain_timeout allows; ask again",
    )
    .blamed(Blame::Host)
}

/// `blame` is whoever took the time.
fn timed_out(blame: Blame) -> Error {
    Error::new(
        Code::Timeout,
        "the time limit ran out; simplify the statement or raise the time limit",
    )
    .blamed(blame)
}

/// The end of a call in which the guest was asked again and again: if no time was left, it was the guest that took it by
/// saying that there was nothing yet.
pub fn drained(error: Error) -> Error {
    match error.code() == Code::Timeout && error.blame() == Some(Blame::Host) {
        true => error.blamed(Blame::Plugin),
        false => error,
    }
}

/// The plugin did not keep the contract.
pub fn violation(what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::PluginError,
        format!("the plugin broke its contract: {what}"),
    )
    .blamed(Blame::Plugin)
}

fn used_up(scope: &Scope) -> &'static str {
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

/// Says in a few words why a guest ended. The backtrace is for the log.
fn fault(store: &Store<State>, error: &wasmtime::Error) -> Error {
    let state = store.data();
    let why = match state.limiter.exceeded() {
        Some(Exceeded::Instance) => "it ran out of memory (plugins.max_memory_bytes)",
        Some(Exceeded::Shared(scope)) => return overloaded(used_up(scope)),
        Some(Exceeded::Table) => "it wanted too large a table",
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
            None => "it gave something that cannot be taken over",
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
