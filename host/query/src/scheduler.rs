//! A fair scheduler for statements.
//!
//! Statements over scanners share a few threads. Each runs for a short time slice, up to the end of a batch. The next
//! slice goes to the target that has used the least time, and within it to the statement that has. So neither a long
//! statement nor many of them starve another target.
//!
//! A join may compare for minutes before it has a batch. It calls [`Share::pause`] in between, which leaves the thread
//! to others and blocks until it is the statement's turn.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    common::Result,
    execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext},
    physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan},
};
use futures_util::Stream;
use tokio::time::Sleep;

use crate::pass_through::passes_rows_of_input;
use mindhost_base::locks::lock;

/// The time slice of a statement.
const SLICE: Duration = Duration::from_millis(10);
/// How far a target may lag behind. An idle target cannot save up more.
const MAX_LAG: Duration = Duration::from_millis(500);
/// How often a waiter checks by itself: the one that was woken may belong to a statement that does not read now.
const RECHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The scheduler of all statements of a host.
#[derive(Debug)]
pub struct Scheduler {
    state: Mutex<State>,
    /// Slices that may run at once.
    threads: usize,
}

#[derive(Debug, Default)]
struct State {
    targets: HashMap<Arc<str>, TargetUsage>,
    waiting: Vec<Waiter>,
    tickets: u64,
    /// Slices that run now.
    running: usize,
    /// The most time that any target has used.
    clock: Duration,
}

/// The time used by a target that has statements.
#[derive(Debug)]
struct TargetUsage {
    time: Duration,
    statements: usize,
}

/// A part of a statement that waits for a slice.
#[derive(Debug)]
struct Waiter {
    ticket: u64,
    share: Arc<Share>,
    wakers: Vec<Waker>,
    /// When it was woken.
    woken: Option<Instant>,
}

/// The time used by one statement.
pub struct Share {
    scheduler: Arc<Scheduler>,
    target: Arc<str>,
    /// Nanoseconds.
    used: AtomicU64,
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({})", self.target)
    }
}

impl Scheduler {
    /// A scheduler for so many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            state: Mutex::default(),
            threads,
        }
    }

    /// Registers a statement of a target.
    pub fn share(self: &Arc<Self>, target: &str) -> Arc<Share> {
        let target: Arc<str> = target.into();
        let mut state = lock(&self.state);
        let least = state.targets.values().map(|used| used.time).min();
        let used = state
            .targets
            .entry(Arc::clone(&target))
            .or_insert(TargetUsage {
                time: least.unwrap_or_default(),
                statements: 0,
            });
        used.statements += 1;
        Arc::new(Share {
            scheduler: Arc::clone(self),
            target,
            used: AtomicU64::new(0),
        })
    }
}

impl Share {
    /// If the slice of this thread is over, leaves the thread to others and blocks until the statement may go on.
    pub fn pause(self: &Arc<Self>) {
        let ran = CURRENT.with_borrow(|slice| slice.as_ref().map(|slice| slice.since.elapsed()));
        let Some(ran) = ran.filter(|ran| *ran >= SLICE) else {
            return;
        };
        lock(&self.scheduler.state).end(self, ran);
        // Another thread takes over the tasks of this one, if this one blocks for long enough.
        tokio::task::block_in_place(|| {
            let this = std::thread::current();
            tokio::spawn(async move { this.unpark() });
            std::thread::park_timeout(RECHECK_INTERVAL);
            self.wait_for_turn();
        });
        CURRENT.with_borrow_mut(|slice| {
            if let Some(slice) = slice {
                slice.since = Instant::now();
            }
        });
    }

    /// Blocks until a slice may start, and counts it as running.
    fn wait_for_turn(self: &Arc<Self>) {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut ticket = None;
        loop {
            let mut state = lock(&self.scheduler.state);
            if let Some(ticket) = ticket.take() {
                state.remove(ticket);
            }
            let is_later = state.is_later(self);
            if !is_later && state.running < self.scheduler.threads {
                state.running += 1;
                return;
            }
            ticket = Some(state.wait(self, vec![waker.clone()]));
            if is_later {
                state.wake_next();
            }
            drop(state);
            std::thread::park_timeout(RECHECK_INTERVAL);
        }
    }
}

/// Wakes a thread that waits for its turn.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = lock(&self.scheduler.state);
        if let Some(used) = state.targets.get_mut(&self.target) {
            used.statements -= 1;
            if used.statements == 0 {
                state.targets.remove(&self.target);
            }
        }
    }
}

impl State {
    /// The sort key: the smallest goes first.
    fn key(&self, share: &Share) -> (Duration, u64) {
        let used = self.targets.get(&share.target).map(|used| used.time);
        let used = used
            .unwrap_or_default()
            .max(self.clock.saturating_sub(MAX_LAG));
        (used, share.used.load(Ordering::Relaxed))
    }

    fn charge(&mut self, share: &Share, time: Duration) {
        let floor = self.clock.saturating_sub(MAX_LAG);
        if let Some(used) = self.targets.get_mut(&share.target) {
            used.time = used.time.max(floor) + time;
            self.clock = self.clock.max(used.time);
        }
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        share.used.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Counts the end of a slice.
    fn end(&mut self, share: &Share, ran: Duration) {
        self.charge(share, ran);
        self.running -= 1;
    }

    /// Whether a waiter goes before this statement.
    fn is_later(&self, share: &Share) -> bool {
        let next = self.next().and_then(|index| self.waiting.get(index));
        next.is_some_and(|next| self.key(&next.share) < self.key(share))
    }

    fn wait(&mut self, share: &Arc<Share>, wakers: Vec<Waker>) -> u64 {
        self.tickets += 1;
        self.waiting.push(Waiter {
            ticket: self.tickets,
            share: Arc::clone(share),
            wakers,
            woken: None,
        });
        self.tickets
    }

    /// The next waiter, except those that were woken just now.
    fn next(&self) -> Option<usize> {
        let is_asleep = |waiter: &Waiter| {
            waiter
                .woken
                .is_none_or(|since| since.elapsed() > RECHECK_INTERVAL)
        };
        let asleep = self.waiting.iter().enumerate();
        let asleep = asleep.filter(|(_, waiter)| is_asleep(waiter));
        let next = asleep.min_by_key(|(_, waiter)| (self.key(&waiter.share), waiter.ticket));
        next.map(|(index, _)| index)
    }

    fn wake_next(&mut self) {
        if let Some(index) = self.next()
            && let Some(waiter) = self.waiting.get_mut(index)
        {
            waiter.woken = Some(Instant::now());
            waiter.wakers.iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Removes a waiter and wakes its inner futures, which must be polled again.
    fn remove(&mut self, ticket: u64) {
        let Some(index) = self
            .waiting
            .iter()
            .position(|waiter| waiter.ticket == ticket)
        else {
            return;
        };
        let waiter = self.waiting.swap_remove(index);
        if waiter.woken.is_none() {
            waiter.wakers.iter().for_each(Waker::wake_by_ref);
        }
    }
}

/// The current slice of this thread.
struct Slice {
    since: Instant,
    /// Wakers of the parts that stopped at its end.
    stopped: Vec<Waker>,
}

thread_local! {
    static CURRENT: RefCell<Option<Slice>> = const { RefCell::new(None) };
}

/// Ends the slice of this thread on drop, so also on a panic.
struct SliceGuard<'a> {
    share: &'a Arc<Share>,
}

impl<'a> SliceGuard<'a> {
    fn start(share: &'a Arc<Share>) -> Self {
        lock(&share.scheduler.state).running += 1;
        CURRENT.set(Some(Slice {
            since: Instant::now(),
            stopped: Vec::new(),
        }));
        Self { share }
    }

    /// The wakers of the parts that stopped.
    fn stopped(&self) -> Vec<Waker> {
        CURRENT.with_borrow_mut(|slice| {
            slice
                .as_mut()
                .map(|slice| std::mem::take(&mut slice.stopped))
                .unwrap_or_default()
        })
    }
}

impl Drop for SliceGuard<'_> {
    fn drop(&mut self) {
        let ran = CURRENT.take().map(|slice| slice.since.elapsed());
        let mut state = lock(&self.share.scheduler.state);
        state.end(self.share, ran.unwrap_or_default());
    }
}

/// A stream that runs in time slices.
pub struct SlicedStream {
    inner: SendableRecordBatchStream,
    share: Arc<Share>,
    ticket: Option<u64>,
    look: Option<Pin<Box<Sleep>>>,
}

impl SlicedStream {
    /// Wraps the stream of a statement or of one of its operators.
    pub fn new(inner: SendableRecordBatchStream, share: Arc<Share>) -> Self {
        Self {
            inner,
            share,
            ticket: None,
            look: None,
        }
    }

    /// Whether the current slice is over. Then the stream stops until the next one.
    fn is_stopped(cx: &Context<'_>) -> Option<bool> {
        CURRENT.with_borrow_mut(|slice| {
            let slice = slice.as_mut()?;
            let is_over = slice.since.elapsed() >= SLICE;
            if is_over {
                slice.stopped.push(cx.waker().clone());
            }
            Some(is_over)
        })
    }

    /// Whether another waiter goes first.
    fn must_wait(&mut self, cx: &mut Context<'_>) -> bool {
        let mut state = lock(&self.share.scheduler.state);
        if let Some(ticket) = self.ticket.take() {
            state.remove(ticket);
        }
        let is_later = state.is_later(&self.share);
        if is_later {
            self.ticket = Some(state.wait(&self.share, vec![cx.waker().clone()]));
            state.wake_next();
        }
        drop(state);
        if is_later {
            self.arm_recheck(cx);
        }
        is_later
    }

    /// Arms the timer of the next check.
    fn arm_recheck(&mut self, cx: &mut Context<'_>) {
        let mut look = Box::pin(tokio::time::sleep(RECHECK_INTERVAL));
        if look.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        self.look = Some(look);
    }
}

impl Stream for SlicedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        match Self::is_stopped(cx) {
            Some(true) => return Poll::Pending,
            Some(false) => return Pin::new(&mut this.inner).poll_next(cx),
            None => {}
        }
        this.look = None;
        if this.must_wait(cx) {
            return Poll::Pending;
        }
        let slice = SliceGuard::start(&this.share);
        let polled = Pin::new(&mut this.inner).poll_next(cx);
        let stopped = slice.stopped();
        drop(slice);
        let mut state = lock(&this.share.scheduler.state);
        let waits = polled.is_pending() && !stopped.is_empty();
        if waits {
            this.ticket = Some(state.wait(&this.share, stopped));
        } else {
            stopped.iter().for_each(Waker::wake_by_ref);
        }
        if polled.is_pending() {
            state.wake_next();
        }
        drop(state);
        if waits {
            this.arm_recheck(cx);
        }
        polled
    }
}

impl RecordBatchStream for SlicedStream {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}

impl Drop for SlicedStream {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let mut state = lock(&self.share.scheduler.state);
            state.remove(ticket);
            state.wake_next();
        }
    }
}

/// An operator that gives its batches in slices.
#[derive(Clone, Debug)]
pub struct SlicedExec {
    input: Arc<dyn ExecutionPlan>,
    share: Arc<Share>,
}

impl SlicedExec {
    /// Around an operator of a statement.
    pub fn new(input: Arc<dyn ExecutionPlan>, share: Arc<Share>) -> Self {
        Self { input, share }
    }
}

impl DisplayAs for SlicedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlicedExec")
    }
}

impl ExecutionPlan for SlicedExec {
    passes_rows_of_input!("SlicedExec");

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batches = self.input.execute(partition, context)?;
        Ok(Box::pin(SlicedStream::new(
            batches,
            Arc::clone(&self.share),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(state: &State) -> Vec<String> {
        let mut order: Vec<&Waiter> = state.waiting.iter().collect();
        order.sort_by_key(|waiter| (state.key(&waiter.share), waiter.ticket));
        order
            .iter()
            .map(|waiter| waiter.share.target.to_string())
            .collect()
    }

    #[test]
    fn target_with_least_time_is_next_however_many_statements_others_have() {
        let scheduler = Arc::new(Scheduler::new(1));
        let many: Vec<_> = (0..5).map(|_| scheduler.share("many")).collect();
        let mut state = lock(&scheduler.state);
        for share in &many {
            state.charge(share, Duration::from_millis(100));
            state.wait(share, Vec::new());
        }
        drop(state);
        let one = scheduler.share("one");
        let mut state = lock(&scheduler.state);
        state.wait(&one, Vec::new());
        assert_eq!(names(&state)[0], "one");
        state.charge(&many[0], Duration::from_millis(10));
        assert_eq!(names(&state)[0], "one");
        state.charge(&one, Duration::from_millis(11));
        assert_eq!(names(&state)[0], "many");
    }

    #[test]
    fn idle_target_cannot_save_up_time() {
        let scheduler = Arc::new(Scheduler::new(1));
        let (busy, rested) = (scheduler.share("busy"), scheduler.share("rested"));
        let mut state = lock(&scheduler.state);
        state.charge(&busy, Duration::from_secs(60));
        let (lag, _) = state.key(&rested);
        assert_eq!(lag, Duration::from_secs(60) - MAX_LAG);
        state.charge(&rested, MAX_LAG + SLICE);
        assert!(state.key(&busy) < state.key(&rested));
    }
}
