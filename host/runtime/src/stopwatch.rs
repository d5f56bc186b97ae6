//! How long a call takes, and what of that time its guest computes or waits for the network.

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

/// From this length on a piece of work may have been interrupted by other threads, so the processor's own clock is worth
/// what it costs: it is a call of the operating system, as long as the whole of a short call.
const LONG: Duration = Duration::from_micros(100);

/// What one instance does over the network, and whether it waits for it.
#[derive(Debug)]
pub struct Traffic {
    series: Series,
    waits: Arc<AtomicU32>,
}

impl Traffic {
    /// Of an instance that is counted there.
    pub fn new(series: Series) -> Arc<Self> {
        Arc::new(Self {
            series,
            waits: Arc::default(),
        })
    }

    /// Where the instance is counted.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Bytes that came.
    pub fn received(&self, bytes: usize) {
        self.series.add(Figure::ReceivedBytes, bytes as u64);
    }

    /// Bytes that went.
    pub fn sent(&self, bytes: usize) {
        self.series.add(Figure::SentBytes, bytes as u64);
    }

    /// A wait that lasts until this is dropped.
    pub fn wait(&self) -> Waiting {
        self.waits.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(&self.waits))
    }

    /// A wait that lasts as long as this does.
    pub async fn waited<T>(&self, what: impl Future<Output = T>) -> T {
        let _waiting = self.wait();
        what.await
    }

    fn is_waited_for(&self) -> bool {
        self.waits.load(Ordering::Relaxed) > 0
    }
}

/// A wait for the network.
#[derive(Debug)]
pub struct Waiting(Arc<AtomicU32>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call whose time is counted, also when it is dropped before its end.
pub struct Timed<F> {
    call: F,
    times: Times,
}

/// The times of a call.
struct Times {
    traffic: Arc<Traffic>,
    begun: Option<Instant>,
    /// When the guest stopped computing to wait, and whether it is the network that it waits for.
    paused: Option<(Instant, bool)>,
    was_long: bool,
    computed: Duration,
    upstream: Duration,
}

impl<F> Timed<F> {
    /// Counts the time of a call, from when it is first polled.
    pub fn new(call: F, traffic: Arc<Traffic>) -> Self {
        Self {
            call,
            times: Times {
                traffic,
                begun: None,
                paused: None,
                was_long: false,
                computed: Duration::ZERO,
                upstream: Duration::ZERO,
            },
        }
    }

    /// Whether the network was waited for in most of the time so far.
    pub fn waited_for_network(&self) -> bool {
        let times = &self.times;
        let (begun, now) = (times.begun.unwrap_or_else(Instant::now), Instant::now());
        times.upstream_until(now) * 2 > now - begun
    }
}

impl<F> Timed<F> {
    /// Whether it is the network that is waited for now.
    pub fn waits_for_network(&self) -> bool {
        matches!(self.times.paused, Some((_, true)))
    }
}

impl<F: Future + Unpin> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { call, times } = &mut *self;
        let start = Instant::now();
        times.begun.get_or_insert(start);
        times.upstream = times.upstream_until(start);
        times.paused = None;
        let exact = times.was_long.then(processor_time);
        let polled = Pin::new(call).poll(cx);
        let end = Instant::now();
        let elapsed = end - start;
        times.was_long = elapsed >= LONG;
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
        let Some(begun) = self.begun else {
            return;
        };
        // One that had ended took until its end; one that is dropped waited until now.
        let end = match self.paused {
            Some((since, false)) => since,
            _ => Instant::now(),
        };
        let series = self.traffic.series();
        series.add(Figure::Calls, 1);
        series.add_time(Figure::CallTime, end - begun);
        series.add_time(Figure::CpuTime, self.computed);
        series.add_time(Figure::UpstreamTime, self.upstream_until(end));
    }
}

/// What this thread has computed.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// Of an instance of a plugin that is not there.
#[cfg(test)]
pub fn traffic() -> Arc<Traffic> {
    use crate::meter::{Meters, VersionId};
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
    async fn a_guest_that_waits_for_the_network_does_not_compute() {
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
    async fn another_wait_is_not_the_networks() {
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
    async fn a_call_that_is_dropped_counts_too_and_one_that_never_began_does_not() {
        let traffic = traffic();
        let waits = traffic.clone();
        let call = async move { waits.waited(std::future::pending::<()>()).await };
        let mut call = Box::pin(Timed::new(Box::pin(call), traffic.clone()));
        assert!(futures_util::poll!(&mut call).is_pending());
        pass(Duration::from_millis(2));
        assert!(call.waited_for_network());
        drop(call);
        drop(Timed::new(std::future::ready(()), traffic.clone()));
        let figures = figures(&traffic);
        assert_eq!(figures.calls, 1);
        assert!(figures.upstream_ns >= 2_000_000, "{figures:?}");
        assert!(!traffic.is_waited_for());
    }
}
