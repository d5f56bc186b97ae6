//! The figures of two versions that serve side by side, and the rules by which the new one fails its trial.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use mindhost_base::locks::lock;

/// The unit of shares: parts of the whole.
const WHOLE: u64 = 10_000;
/// The number of faults from which their share counts.
const FEW_FAULTS: u64 = 3;
/// The number of times on each side from which they are compared.
const FEW_TIMES: usize = 30;
/// Times are compared once per so many new ones, because it sorts them.
const JUDGED: usize = 8;
/// How many of the newest times are kept for each side.
const KEPT: usize = 512;
/// Standard deviations between the observed share and the lower bound of the true one, at 97.5 % confidence.
const SURE: f64 = 1.96;

/// One of the two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that serves.
    Stable,
    /// The one on trial.
    Candidate,
}

/// The thresholds at which a version fails its trial.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Faults of the new version, as a share of its calls, above those of the stable one.
    pub fault_share: f64,
    /// How many times as long as the stable one it may take, at the median and at the 95th percentile.
    pub slower: f64,
    /// An absolute allowance on top, for times of about a millisecond.
    pub slack: Duration,
}

/// The versions side by side.
#[derive(Debug)]
pub struct Watch {
    thresholds: Thresholds,
    /// In parts of [`WHOLE`].
    share: AtomicU64,
    drawn: AtomicU64,
    stable: CallCounts,
    candidate: CallCounts,
    doubts: Mutex<Doubts>,
    /// Why the candidate failed.
    verdict: Mutex<Option<String>>,
    condemned: CancellationToken,
    /// One statement at a time is compared.
    comparing: Arc<Semaphore>,
}

/// The counters of one version.
#[derive(Debug, Default)]
struct CallCounts {
    calls: AtomicU64,
    faults: AtomicU64,
    last_fault: Mutex<String>,
    times: Mutex<Times>,
}

/// The failures of the candidate that the stable version was not tried with. Some are the fault of a statement that takes
/// long, so those of one workspace do not take a version from the others.
#[derive(Debug, Default)]
struct Doubts {
    /// Failures by workspace.
    by_workspace: BTreeMap<String, u64>,
    /// The workspaces that the candidate served.
    served: BTreeSet<String>,
}

impl Doubts {
    fn all(&self) -> u64 {
        self.by_workspace.values().sum()
    }

    /// How many of them count.
    fn count(&self) -> u64 {
        match self.by_workspace.len() > 1 || self.served.len() <= 1 {
            true => self.all(),
            false => 0,
        }
    }
}

/// The newest times, in microseconds.
#[derive(Debug, Default)]
struct Times {
    kept: Vec<u64>,
    next: usize,
}

/// The figures of one version. A call is a statement up to its first rows, a catalog call, or a turn of a model.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Figures {
    /// Calls that it served.
    pub calls: u64,
    /// Calls that failed by the version's own fault.
    pub faults: u64,
    /// Median time of a statement until its first rows, or of a turn until its first word, in milliseconds; 0 without
    /// any.
    pub median_ms: f64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: f64,
}

impl Watch {
    /// A trial with this share of the calls, from 0.0 to 1.0.
    pub fn new(share: f64, thresholds: Thresholds) -> Self {
        let watch = Self {
            thresholds,
            share: AtomicU64::new(0),
            drawn: AtomicU64::new(0),
            stable: CallCounts::default(),
            candidate: CallCounts::default(),
            doubts: Mutex::default(),
            verdict: Mutex::default(),
            condemned: CancellationToken::new(),
            comparing: Arc::new(Semaphore::new(1)),
        };
        watch.set_share(share);
        watch
    }

    /// Changes the share.
    pub fn set_share(&self, share: f64) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "between 0 and 10,000"
        )]
        let parts = (share.clamp(0.0, 1.0) * WHOLE as f64).round() as u64;
        self.share.store(parts, Ordering::Relaxed);
    }

    /// The version for the next call. Calls are spread evenly: a share of a twentieth is every twentieth call.
    pub fn draw(&self) -> Side {
        let share = self.share.load(Ordering::Relaxed);
        let before = self.drawn.fetch_add(share, Ordering::Relaxed);
        match before / WHOLE != (before + share) / WHOLE && !self.condemned.is_cancelled() {
            true => Side::Candidate,
            false => Side::Stable,
        }
    }

    /// A statement gave its first rows or its end, or a turn its first event, after this time.
    pub fn succeeded(&self, side: Side, time: Duration) {
        self.went_well(side);
        let looked_at = lock(&self.seen(side).times).add(time);
        if side == Side::Candidate && looked_at.is_multiple_of(JUDGED) {
            self.judge(Self::too_slow);
        }
    }

    /// A call succeeded whose time is not compared: a catalog run makes many calls to one version.
    pub fn went_well(&self, side: Side) {
        self.seen(side).calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A version begins to serve a connection of a workspace.
    pub fn serves(&self, side: Side, workspace: &str) {
        let mut doubts = lock(&self.doubts);
        if side == Side::Candidate && !doubts.served.contains(workspace) {
            doubts.served.insert(workspace.to_owned());
        }
    }

    /// A call failed on the candidate and succeeded on the stable version.
    pub fn failed(&self, why: &str) {
        self.candidate.calls.fetch_add(1, Ordering::Relaxed);
        self.count_fault(Side::Candidate, why);
    }

    /// A call of a workspace failed, perhaps by the version's fault.
    pub fn may_have_failed(&self, side: Side, workspace: &str, why: &str) {
        self.seen(side).calls.fetch_add(1, Ordering::Relaxed);
        self.may_have_failed_after_all(side, workspace, why);
    }

    /// As [`Self::may_have_failed`], for a call that was counted as a success.
    pub fn may_have_failed_after_all(&self, side: Side, workspace: &str, why: &str) {
        if side == Side::Candidate {
            let mut doubts = lock(&self.doubts);
            *doubts.by_workspace.entry(workspace.to_owned()).or_default() += 1;
        }
        self.count_fault(side, why);
    }

    fn count_fault(&self, side: Side, why: &str) {
        let seen = self.seen(side);
        seen.faults.fetch_add(1, Ordering::Relaxed);
        why.clone_into(&mut lock(&seen.last_fault));
        if side == Side::Candidate {
            self.judge(Self::too_many_faults);
        }
    }

    /// A permit to compare a statement on both versions. There is one at a time.
    pub fn take_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.comparing).try_acquire_owned().ok()
    }

    /// The versions gave different answers to one statement.
    pub fn differed(&self, how: &str) {
        self.condemn(format!(
            "it gave another result than the stable version: {how}"
        ));
    }

    /// Completes when the candidate fails, with the reason.
    pub async fn condemned(&self) -> String {
        self.condemned.cancelled().await;
        lock(&self.verdict).clone().unwrap_or_default()
    }

    /// The figures of one version.
    pub fn figures(&self, side: Side) -> Figures {
        let seen = self.seen(side);
        let times = lock(&seen.times);
        Figures {
            calls: seen.calls.load(Ordering::Relaxed),
            faults: seen.faults.load(Ordering::Relaxed),
            median_ms: millis(times.quantile(0.5)),
            p95_ms: millis(times.quantile(0.95)),
        }
    }

    fn seen(&self, side: Side) -> &CallCounts {
        match side {
            Side::Stable => &self.stable,
            Side::Candidate => &self.candidate,
        }
    }

    fn condemn(&self, why: String) {
        lock(&self.verdict).get_or_insert(why);
        self.condemned.cancel();
    }

    fn judge(&self, look: impl FnOnce(&Self) -> Option<String>) {
        if !self.condemned.is_cancelled()
            && let Some(why) = look(self)
        {
            self.condemn(why);
        }
    }

    fn too_many_faults(&self) -> Option<String> {
        let calls = self.candidate.calls.load(Ordering::Relaxed);
        let all = self.candidate.faults.load(Ordering::Relaxed);
        let doubts = lock(&self.doubts);
        let proven = all.saturating_sub(doubts.all());
        let faults = proven + doubts.count();
        drop(doubts);
        let allowed = self.thresholds.fault_share + self.stable.share_of_faults();
        if faults < FEW_FAULTS || at_least(faults, calls) <= allowed {
            return None;
        }
        let last = lock(&self.candidate.last_fault).clone();
        let otherwise = match faults - proven {
            0 => String::from(" where the stable version did not"),
            doubtful => format!(", {doubtful} of them not tried with the stable version"),
        };
        Some(format!(
            "{faults} of its {calls} calls failed{otherwise}; the last one: {last}"
        ))
    }

    fn too_slow(&self) -> Option<String> {
        let Thresholds { slower, slack, .. } = self.thresholds;
        let (stable, candidate) = (lock(&self.stable.times), lock(&self.candidate.times));
        if stable.kept.len().min(candidate.kept.len()) < FEW_TIMES {
            return None;
        }
        let over = |quantile: f64| {
            let (old, new) = (stable.quantile(quantile), candidate.quantile(quantile));
            let allowed = Duration::from_micros(old).mul_f64(slower) + slack;
            (Duration::from_micros(new) > allowed).then_some((old, new))
        };
        // Both must be slower: the tail alone may be one slow statement.
        let ((old, new), _) = over(0.5).zip(over(0.95))?;
        Some(format!(
            "it took {:.1} ms to the first rows or words at the median, the stable version {:.1} ms",
            millis(new),
            millis(old)
        ))
    }
}

impl CallCounts {
    fn share_of_faults(&self) -> f64 {
        let calls = self.calls.load(Ordering::Relaxed).max(1);
        let faults = self.faults.load(Ordering::Relaxed);
        ratio(faults, calls)
    }
}

impl Times {
    /// Returns its number.
    fn add(&mut self, time: Duration) -> usize {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        match self.kept.len() < KEPT {
            true => self.kept.push(micros),
            false => self.kept[self.next] = micros,
        }
        self.next = (self.next + 1) % KEPT;
        self.next
    }

    fn quantile(&self, quantile: f64) -> u64 {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into at most 512 times"
        )]
        let index = (sorted.len().saturating_sub(1) as f64 * quantile).round() as usize;
        sorted.get(index).copied().unwrap_or_default()
    }
}

/// The lower bound of the true share when `hits` of `all` were observed: Wilson's score interval (E. B. Wilson, 1927),
/// which also holds for few calls.
fn at_least(hits: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    #[allow(clippy::cast_precision_loss, reason = "counts of calls")]
    let n = all as f64;
    let share = ratio(hits, all);
    let square = SURE * SURE;
    let middle = share + square / (2.0 * n);
    let reach = SURE * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    ((middle - reach) / (1.0 + square / n)).max(0.0)
}

fn ratio(part: u64, whole: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts of calls")]
    let ratio = part as f64 / whole as f64;
    ratio
}

fn millis(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn watch(share: f64) -> Watch {
        Watch::new(
            share,
            Thresholds {
                fault_share: 0.02,
                slower: 2.0,
                slack: MS,
            },
        )
    }

    fn is_condemned(watch: &Watch) -> bool {
        watch.condemned.is_cancelled()
    }

    #[test]
    fn a_share_is_spread_evenly() {
        let watch = watch(0.05);
        let drawn: Vec<bool> = (0..100).map(|_| watch.draw() == Side::Candidate).collect();
        assert_eq!(drawn.iter().filter(|&&is| is).count(), 5);
        assert!(drawn.chunks(20).all(|some| some.contains(&true)));
        watch.set_share(1.0);
        assert!((0..100).all(|_| watch.draw() == Side::Candidate));
        watch.set_share(0.0);
        assert!((0..100).all(|_| watch.draw() == Side::Stable));
    }

    #[test]
    fn a_fifth_of_faults_is_noticed_within_a_few_calls_and_nothing_is_drawn_any_more() {
        let watch = watch(1.0);
        let mut calls = 0;
        while !is_condemned(&watch) {
            calls += 1;
            match calls % 5 {
                0 => watch.failed("it panicked"),
                _ => watch.succeeded(Side::Candidate, MS),
            }
        }
        assert!(calls <= 20, "{calls}");
        assert_eq!(watch.draw(), Side::Stable);
    }

    #[test]
    fn a_single_fault_and_the_rate_of_the_active_one_are_borne() {
        let watch = watch(0.5);
        watch.failed("once");
        assert!(!is_condemned(&watch));
        for side in [Side::Stable, Side::Candidate] {
            for n in 0..200 {
                match n % 5 {
                    0 => watch.may_have_failed(side, "w", "the database is down"),
                    _ => watch.succeeded(side, MS),
                }
            }
        }
        assert!(!is_condemned(&watch));
    }

    #[test]
    fn a_slower_version_is_found_wanting_and_a_slow_tail_alone_is_not() {
        let slow = watch(0.5);
        let tail = watch(0.5);
        for n in 0..200 {
            slow.succeeded(Side::Stable, MS);
            slow.succeeded(Side::Candidate, 10 * MS);
            tail.succeeded(Side::Stable, MS);
            tail.succeeded(Side::Candidate, if n % 10 == 0 { 50 * MS } else { MS });
        }
        assert!(is_condemned(&slow));
        assert!(!is_condemned(&tail));
    }

    #[test]
    fn what_fails_after_its_first_rows_is_one_call_and_one_fault() {
        let watch = watch(1.0);
        for _ in 0..3 {
            watch.succeeded(Side::Candidate, MS);
            watch.may_have_failed_after_all(Side::Candidate, "w", "it panicked");
        }
        let figures = watch.figures(Side::Candidate);
        assert_eq!((figures.calls, figures.faults), (3, 3));
        assert!(is_condemned(&watch));
    }

    #[test]
    fn doubtful_failures_of_one_workspace_count_only_where_it_is_alone() {
        let (watch, alone) = (watch(1.0), watch(1.0));
        watch.serves(Side::Candidate, "slow");
        watch.serves(Side::Candidate, "other");
        for _ in 0..100 {
            watch.may_have_failed(Side::Candidate, "slow", "the time limit ran out");
        }
        assert!(!is_condemned(&watch));
        watch.may_have_failed(Side::Candidate, "other", "the time limit ran out");
        assert!(is_condemned(&watch));

        alone.serves(Side::Candidate, "slow");
        for _ in 0..3 {
            alone.may_have_failed(Side::Candidate, "slow", "the time limit ran out");
        }
        let why = lock(&alone.verdict).clone().unwrap();
        assert!(why.contains("3 of them not tried with the stable"), "{why}");
    }

    #[tokio::test]
    async fn the_reason_names_the_last_fault() {
        let watch = watch(1.0);
        for _ in 0..3 {
            watch.failed("it panicked");
        }
        let why = watch.condemned().await;
        assert!(why.contains("3 of its 3 calls"), "{why}");
        assert!(why.contains("it panicked"), "{why}");
    }
}
