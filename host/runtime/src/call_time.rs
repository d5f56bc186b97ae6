//! Times a call: its duration, the CPU time of its guest and its waits for the network.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use crate::meter::{Figure, Series};

/// From this length on, other threads may have interrupted a poll, so the next one reads the CPU clock. That is a
/// system call, which takes as long as a short guest call.
const LONG_POLL: Duration = Duration::from_micros(100);

/// The network traffic of one instance, and whether it waits for the network.
#[derive(Debug)]
pub struct Traffic {
    series: Series,
    waits: Arc<AtomicU32>,
}

impl Traffic {
    /// The traffic of an instance with this meter series.
    pub fn new(series: Series) -> Arc<Self> {
        Arc::new(Self {
            series,
            waits: Arc::default(),
        })
    }

    /// The meter series of the instance.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Counts received bytes.
    pub fn received(&self, bytes: usize) {
        self.series.add(Figure::ReceivedBytes, bytes as u64);
    }

    /// Counts sent bytes.
    pub fn sent(&self, bytes: usize) {
        self.series.add(Figure::SentBytes, bytes as u64);
    }

    /// Starts a wait that lasts until the guard is dropped.
    pub fn wait(&self) -> NetworkWait {
        self.waits.fetch_add(1, Ordering::Relaxed);
        NetworkWait(Arc::clone(&self.waits))
    }

    /// Awaits a future and counts the time as a wait for the network.
    pub async fn waited<T>(&self, what: impl Future<Output = T>) -> T {
        let _waiting = self.wait();
        what.await
    }

    /// Whether a wait for the network lasts now.
    pub fn is_waited_for(&self) -> bool {
        self.waits.load(Ordering::Relaxed) > 0
    }
}

/// While it lives, the time in which the guest is paused counts as waiting for the network.
#[derive(Debug)]
pub struct NetworkWait(Arc<AtomicU32>);

impl Drop for NetworkWait {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call whose time is counted, even if it is dropped before its end.
pub struct Timed<F> {
    call: F,
    times: Times,
}

/// Where the time of a call went; added to the meter when this is dropped.
struct Times {
    traffic: Arc<Traffic>,
    started: Option<Instant>,
    /// When the guest began to wait, and whether it waits for the network.
    paused: Option<(Instant, bool)>,
    was_long: bool,
    computed: Duration,
    upstream: Duration,
}

impl<F> Timed<F> {
    /// Times a call from its first poll.
    pub fn new(call: F, traffic: Arc<Traffic>) -> Self {
        Self {
            call,
            times: Times {
                traffic,
                started: None,
                paused: None,
                was_long: false,
                computed: Duration::ZERO,
                upstream: Duration::ZERO,
            },
        }
    }

    /// Whether the call has spent more than half of its time waiting for the network.
    pub fn waited_for_network(&self) -> bool {
        let times = &self.times;
        let (started, now) = (times.started.unwrap_or_else(Instant::now), Instant::now());
        times.upstream_until(now) * 2 > now - started
    }
}

impl<F> Timed<F> {
    /// Whether the call waits for the network now.
    pub fn waits_for_network(&self) -> bool {
        matches!(self.times.paused, Some((_, true)))
    }
}

impl<F: Future + Unpin> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { call, times } = &mut *self;
        let start = Instant::now();
        times.started.get_or_insert(start);
        times.upstream = times.upstream_until(start);
        times.paused = None;
        let exact = times.was_long.then(processor_time);
        let polled = Pin::new(call).poll(cx);
        let end = Instant::now();
        let elapsed = end - start;
        times.was_long = elapsed >= LONG_POLL;
        times.computed += exact.map_or(elapsed, |before| {
            processor_time().saturating_sub(before).min(elapsed)
        });
        times.paused = Some((end, polled.is_pending() && times.traffic.is_waited_for()));
        polled
    }
}

impl Times {
    fn upstream_until(&self, now: Instant) -> Duration {
        match self.paused {
            Some((since, true)) => self.upstream + (now - since),
            _ => self.upstream,
        }
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let Some(started) = self.started else {
            return;
        };
        // A finished call ended at its last poll; a dropped one waited until now.
        let end = match self.paused {
            Some((since, false)) => since,
            _ => Instant::now(),
        };
        let series = self.traffic.series();
        series.add(Figure::Calls, 1);
        series.add_time(Figure::CallTime, end - started);
        series.add_time(Figure::CpuTime, self.computed);
        series.add_time(Figure::UpstreamTime, self.upstream_until(end));
    }
}

/// The CPU time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// The traffic of a plugin that does not exist.
#[cfg(test)]
pub fn traffic() -> Arc<Traffic> {
    use crate::{ids::VersionId, meter::Meters};
    use mindhost_base::config::Config;
    let faults = Config::defaults().unwrap().plugins.limits.faults;
    let id = VersionId {
        plugin: "connector-x".into(),
        version: "1.0.0".into(),
        digest: "d".into(),
    };
    Traffic::new(Meters::new(faults).version(id).own())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Figures;

    fn figures(traffic: &Traffic) -> Figures {
        traffic.series().version().meter.read()
    }

    fn pass(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::thread::yield_now();
        }
    }

    /// Busy for some time of the processor.
    fn compute(time: Duration) {
        let begun = processor_time();
        while processor_time() - begun < time {
            std::hint::black_box(0);
        }
    }

    #[tokio::test]
    async fn network_wait_does_not_count_as_cpu_time() {
        let traffic = traffic();
        let (done, waited) = tokio::sync::oneshot::channel::<()>();
        let waits = traffic.clone();
        let call = async move {
            compute(Duration::from_millis(3));
            let _ = waits.waited(waited).await;
        };
        let mut call = Box::pin(Timed::new(Box::pin(call), traffic.clone()));
        assert!(futures_util::poll!(&mut call).is_pending());
        pass(Duration::from_millis(5));
        done.send(()).unwrap();
        call.await;
        let figures = figures(&traffic);
        assert_eq!(figures.calls, 1);
        assert!(figures.cpu_ns >= 3_000_000, "{figures:?}");
        assert!(figures.upstream_ns >= 5_000_000, "{figures:?}");
        assert!(figures.call_ns >= figures.cpu_ns + figures.upstream_ns);
    }

    #[tokio::test]
    async fn other_wait_does_not_count_as_network_time() {
        let traffic = traffic();
        let mut call = Box::pin(Timed::new(
            Box::pin(tokio::task::yield_now()),
            traffic.clone(),
        ));
        assert!(futures_util::poll!(&mut call).is_pending());
        pass(Duration::from_millis(5));
        call.await;
        assert_eq!(figures(&traffic).upstream_ns, 0);
    }

    #[tokio::test]
    async fn dropped_call_counts_unless_it_was_never_polled() {
        let traffic = traffic();
        let waits = traffic.clone();
        let call = async move { waits.waited(std::future::pending::<()>()).await };
        let mut call = Box::pin(Timed::new(Box::pin(call), traffic.clone()));
        assert!(futures_util::poll!(&mut call).is_pending());
        pass(Duration::from_millis(2));
        // Another thread may have interrupted the poll, so it may take longer until the wait is the most of the call.
        let began = Instant::now();
        while !call.waited_for_network() && began.elapsed() < Duration::from_secs(30) {
            pass(Duration::from_millis(1));
        }
        assert!(call.waited_for_network());
        drop(call);
        drop(Timed::new(std::future::ready(()), traffic.clone()));
        let figures = figures(&traffic);
        assert_eq!(figures.calls, 1);
        assert!(figures.upstream_ns >= 2_000_000, "{figures:?}");
        assert!(!traffic.is_waited_for());
    }
}
