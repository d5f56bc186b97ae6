//! Meters of the use of plugins, by version and target.
//!
//! A [`Series`] is what is handed to those who count. Whatever is added to it is added to its version too, so that the
//! figures of a version only grow, whatever becomes of its targets. The number of targets is bounded: what nobody used
//! for the longest time makes room, and what does not fit is counted for the version alone.

mod figures;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

pub use figures::{Figure, Figures, Meter};

use super::health::{Health, HealthReport, Users};
use super::ids::{TargetId, VersionId};
use mindhost_base::{
    config::FaultSettings,
    error::{Blame, Error, Kind},
    locks::lock,
};
use mindhost_plugin_api::Target;

/// Targets of one version with their own meter.
const MAX_TARGETS: usize = 1_000;
/// Versions with a meter. Unused ones are evicted first.
const MAX_VERSIONS: usize = 64;

/// The meters of all versions since the start.
#[derive(Debug)]
pub struct Meters {
    versions: Mutex<Vec<Arc<VersionMeter>>>,
    faults: FaultSettings,
}

impl Meters {
    /// None yet; `faults` is how much is forgiven.
    pub fn new(faults: FaultSettings) -> Arc<Self> {
        Arc::new(Self {
            versions: Mutex::default(),
            faults,
        })
    }

    /// The meter of a version, created at the first call.
    pub fn version(&self, id: VersionId) -> Arc<VersionMeter> {
        let mut versions = lock(&self.versions);
        if let Some(known) = versions.iter().find(|one| one.id == id) {
            known.is_removed.store(false, Ordering::Relaxed);
            return Arc::clone(known);
        }
        if versions.len() >= MAX_VERSIONS
            && let Some(unused) = versions.iter().position(|one| Arc::strong_count(one) == 1)
        {
            versions.remove(unused);
        }
        let new = VersionMeter::new(id, self.faults.clone());
        versions.push(Arc::clone(&new));
        new
    }

    /// Every version that is not removed, in the order of first use.
    pub fn versions(&self) -> Vec<Arc<VersionMeter>> {
        let versions = lock(&self.versions);
        let known = versions.iter().filter(|one| !one.is_removed());
        known.cloned().collect()
    }

    /// Removes an uninstalled version, once its last use is reported and nothing of it runs.
    pub fn remove(&self, digest: &str) {
        for version in lock(&self.versions).iter() {
            if version.id.digest == digest {
                version.is_removed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The meter of the version with this digest; `None` if nothing was counted for it, or it is gone.
    pub fn of_digest(&self, digest: &str) -> Option<Arc<VersionMeter>> {
        let versions = lock(&self.versions);
        let mut found = versions.iter().filter(|one| one.id.digest == digest);
        found.next().cloned()
    }

    /// The use of every target since the last call. Removes targets and versions that are gone.
    pub fn take_news(&self) -> Vec<UsageDelta> {
        let mut news = Vec::new();
        lock(&self.versions).retain(|version| {
            // Checked first: an unused version cannot have more to report.
            let is_gone = version.is_removed() && Arc::strong_count(version) == 1;
            news.extend(version.take_news());
            !is_gone
        });
        news
    }
}

/// The use of a version by a target in some period.
#[derive(Clone, Debug)]
pub struct UsageDelta {
    /// What was used.
    pub version: VersionId,
    /// What it was used for.
    pub target: TargetId,
    /// The use in the period.
    pub figures: Figures,
}

/// One version of a plugin: its use and its health.
#[derive(Debug)]
pub struct VersionMeter {
    /// Which version this counts for.
    pub id: VersionId,
    /// The use by all targets.
    pub meter: Meter,
    /// Its circuit breakers.
    pub health: Health,
    targets: Mutex<HashMap<String, Arc<TargetMeter>>>,
    /// Whether it is uninstalled.
    is_removed: AtomicBool,
}

/// The use of a version by one datasource or provider.
#[derive(Debug)]
pub struct TargetMeter {
    /// Which datasource or provider this counts for.
    pub id: TargetId,
    /// What this version did for the target since the start.
    pub meter: Meter,
    /// A counter of the last use, for eviction.
    used: AtomicU64,
    /// Whether the target was changed or deleted, and not used since.
    is_forgotten: AtomicBool,
    /// The use that has been reported.
    reported: Mutex<Figures>,
}

impl VersionMeter {
    fn new(id: VersionId, faults: FaultSettings) -> Arc<Self> {
        Arc::new(Self {
            health: Health::new(id.clone(), faults),
            id,
            meter: Meter::default(),
            targets: Mutex::default(),
            is_removed: AtomicBool::new(false),
        })
    }

    fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Relaxed)
    }

    /// Counts for the version and for this target.
    pub fn series(self: &Arc<Self>, target: &Target) -> Series {
        Series {
            version: Arc::clone(self),
            target: Some(self.target(target)),
        }
    }

    /// The series without a target.
    pub fn own(self: &Arc<Self>) -> Series {
        Series {
            version: Arc::clone(self),
            target: None,
        }
    }

    fn target(&self, target: &Target) -> Arc<TargetMeter> {
        static CLOCK: AtomicU64 = AtomicU64::new(0);
        let now = CLOCK.fetch_add(1, Ordering::Relaxed);
        let mut targets = lock(&self.targets);
        if let Some(known) = targets.get(&target.id)
            && known.id.name == target.name
        {
            known.used.store(now, Ordering::Relaxed);
            known.is_forgotten.store(false, Ordering::Relaxed);
            return Arc::clone(known);
        }
        let new = Arc::new(TargetMeter::new(target, now));
        if targets.len() >= MAX_TARGETS {
            let idle = targets.values().filter(|one| Arc::strong_count(one) == 1);
            match idle.min_by_key(|one| one.used.load(Ordering::Relaxed)) {
                Some(oldest) => {
                    let oldest = oldest.id.id.clone();
                    targets.remove(&oldest);
                }
                // All targets are in use, so this one counts for the version only.
                None => return new,
            }
        }
        targets.insert(target.id.clone(), Arc::clone(&new));
        new
    }

    /// Forgets a target that was changed or deleted, unless it is used again.
    pub fn forget(&self, target_id: &str) {
        self.health.forget(target_id);
        if let Some(target) = lock(&self.targets).get(target_id) {
            target.is_forgotten.store(true, Ordering::Relaxed);
        }
    }

    /// The users of the version, seen from a workspace.
    pub fn users(&self, workspace: &str) -> Users {
        let targets = lock(&self.targets);
        let known = || targets.values().filter(|one| !one.is_forgotten());
        let workspaces: BTreeSet<&str> = known().map(|one| one.id.workspace.as_str()).collect();
        Users {
            here: known().filter(|one| one.id.workspace == workspace).count(),
            targets: known().count(),
            workspaces: workspaces.len(),
        }
    }

    /// How it is.
    pub fn report(&self) -> HealthReport {
        let targets = self.targets();
        let users = targets.iter().map(|one| one.id.workspace.clone());
        self.health.report(&users.collect())
    }

    /// The targets that use it, by workspace and name.
    pub fn targets(&self) -> Vec<Arc<TargetMeter>> {
        let targets = lock(&self.targets);
        let known = targets.values().filter(|one| !one.is_forgotten());
        let mut known: Vec<_> = known.cloned().collect();
        known.sort_by(|a, b| (&a.id.workspace, &a.id.name).cmp(&(&b.id.workspace, &b.id.name)));
        known
    }

    fn take_news(&self) -> Vec<UsageDelta> {
        let mut news = Vec::new();
        lock(&self.targets).retain(|_, target| {
            let figures = target.take_news();
            if !figures.is_nothing() {
                news.push(UsageDelta {
                    version: self.id.clone(),
                    target: target.id.clone(),
                    figures,
                });
            }
            !target.is_forgotten() || Arc::strong_count(target) > 1
        });
        news
    }
}

impl TargetMeter {
    fn new(target: &Target, used: u64) -> Self {
        Self {
            id: TargetId {
                id: target.id.clone(),
                name: target.name.clone(),
                workspace: target.workspace.clone(),
            },
            meter: Meter::default(),
            used: AtomicU64::new(used),
            is_forgotten: AtomicBool::new(false),
            reported: Mutex::default(),
        }
    }

    fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Relaxed)
    }

    fn take_news(&self) -> Figures {
        let mut reported = lock(&self.reported);
        let now = self.meter.read();
        let news = now.since(&reported);
        *reported = now;
        news
    }
}

/// Counts the use of one version by one target. Clones share the counters.
#[derive(Clone, Debug)]
pub struct Series {
    version: Arc<VersionMeter>,
    target: Option<Arc<TargetMeter>>,
}

impl Series {
    /// The version that everything here counts for.
    pub fn version(&self) -> &Arc<VersionMeter> {
        &self.version
    }

    /// The target; none for work of the host itself.
    pub fn target(&self) -> Option<&TargetId> {
        self.target.as_ref().map(|target| &target.id)
    }

    /// Adds to a figure of the version, and of the target if there is one.
    pub fn add(&self, figure: Figure, count: u64) {
        self.each(|meter| meter.add(figure, count));
    }

    /// Adds a duration to a figure in nanoseconds.
    pub fn add_time(&self, figure: Figure, time: Duration) {
        self.add(figure, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a failure for the component at fault. An error of the caller, or a cancellation, counts for nobody else.
    pub fn failed(&self, error: &Error) {
        self.add(blamed(error), 1);
    }

    /// Records the memory of one instance.
    pub fn reached_memory(&self, bytes: u64) {
        self.each(|meter| meter.reached_memory(bytes));
    }

    /// Counts an instance as alive until the guard is dropped.
    pub fn instance(&self) -> AliveGuard {
        self.add(Figure::InstancesStarted, 1);
        self.each(|meter| meter.instance(true));
        AliveGuard(self.clone())
    }

    fn each(&self, f: impl Fn(&Meter)) {
        f(&self.version.meter);
        if let Some(target) = &self.target {
            f(&target.meter);
        }
    }
}

/// Counts an instance as alive.
#[derive(Debug)]
pub struct AliveGuard(Series);

impl Drop for AliveGuard {
    fn drop(&mut self) {
        self.0.each(|meter| meter.instance(false));
    }
}

fn blamed(error: &Error) -> Figure {
    match (error.kind(), error.blame()) {
        (Kind::Invalid | Kind::Cancelled, _) => Figure::CallerErrors,
        (_, Some(Blame::Plugin)) => Figure::PluginErrors,
        (_, Some(Blame::Upstream)) => Figure::UpstreamErrors,
        (_, Some(Blame::Host) | None) => Figure::HostErrors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> Arc<VersionMeter> {
        let faults = mindhost_base::config::Config::defaults()
            .unwrap()
            .plugins
            .limits
            .faults;
        Meters::new(faults).version(VersionId {
            plugin: "connector-x".into(),
            version: "1.0.0".into(),
            digest: "d".into(),
        })
    }

    fn target(id: &str) -> Target {
        Target {
            id: id.into(),
            workspace: "default".into(),
            folder: "default".into(),
            name: format!("name of {id}"),
            connection_data: Arc::default(),
            max_connections: 1,
        }
    }

    #[test]
    fn removed_version_is_reported_once_more_and_goes_with_its_last_user() {
        let faults = mindhost_base::config::Config::defaults().unwrap();
        let meters = Meters::new(faults.plugins.limits.faults);
        let id = VersionId {
            plugin: "connector-x".into(),
            version: "1.0.0".into(),
            digest: "d".into(),
        };
        let version = meters.version(id.clone());
        version.series(&target("1")).add(Figure::Calls, 1);
        meters.remove("d");
        assert!(meters.versions().is_empty());
        assert_eq!(meters.take_news().len(), 1);
        version.series(&target("1")).add(Figure::Calls, 2);
        drop(version);
        assert_eq!(meters.take_news()[0].figures.calls, 2);
        assert!(lock(&meters.versions).is_empty());
        // After another installation it starts from zero.
        assert_eq!(meters.version(id).meter.read().calls, 0);
        assert_eq!(meters.versions().len(), 1);
    }

    #[test]
    fn a_version_has_what_all_its_targets_have() {
        let version = version();
        let (one, other) = (version.series(&target("1")), version.series(&target("2")));
        one.add(Figure::Rows, 3);
        other.add(Figure::Rows, 4);
        version.series(&target("1")).add(Figure::Rows, 1);
        assert_eq!(version.meter.read().rows, 8);
        let rows = |one: &Arc<TargetMeter>| one.meter.read().rows;
        assert_eq!(
            version.targets().iter().map(rows).collect::<Vec<_>>(),
            [4, 4]
        );
    }

    #[test]
    fn an_instance_is_alive_until_it_is_dropped() {
        let version = version();
        let alive = version.series(&target("1")).instance();
        assert_eq!(version.meter.instances(), 1);
        drop(alive);
        assert_eq!(version.meter.instances(), 0);
        assert_eq!(version.meter.read().instances_started, 1);
    }

    #[test]
    fn the_number_of_targets_is_bounded_and_those_at_rest_go_first() {
        let version = version();
        let held = version.series(&target("held"));
        for id in 0..2 * MAX_TARGETS {
            version
                .series(&target(&id.to_string()))
                .add(Figure::Calls, 1);
        }
        let targets = version.targets();
        assert_eq!(targets.len(), MAX_TARGETS);
        assert!(targets.iter().any(|one| Some(&one.id) == held.target()));
        assert_eq!(version.meter.read().calls, 2 * MAX_TARGETS as u64);
    }

    #[test]
    fn forgotten_target_is_reported_once_more_and_goes() {
        let version = version();
        version.series(&target("1")).add(Figure::Calls, 5);
        assert_eq!(version.take_news()[0].figures.calls, 5);
        assert!(version.take_news().is_empty());
        version.series(&target("1")).add(Figure::Calls, 2);
        version.forget("1");
        assert!(version.targets().is_empty());
        assert_eq!(version.take_news()[0].figures.calls, 2);
        assert!(lock(&version.targets).is_empty());
        assert_eq!(version.meter.read().calls, 7, "the version only grows");
    }

    #[test]
    fn a_changed_target_that_is_used_again_keeps_its_figures() {
        let version = version();
        version.series(&target("1")).add(Figure::Calls, 5);
        version.forget("1");
        version.series(&target("1")).add(Figure::Calls, 1);
        assert_eq!(version.targets()[0].meter.read().calls, 6);
    }

    #[test]
    fn a_failure_is_counted_by_who_is_to_blame() {
        use mindhost_base::error::Code;
        let series = version().series(&target("1"));
        series.failed(&Error::new(Code::PluginError, "it panicked").blamed(Blame::Plugin));
        series.failed(&Error::new(Code::SqlInvalid, "no such table").blamed(Blame::Upstream));
        series.failed(&Error::new(Code::UpstreamUnreachable, "refused").blamed(Blame::Upstream));
        series.failed(&Error::internal("a bug"));
        let figures = series.version().meter.read();
        assert_eq!(figures.plugin_errors, 1);
        assert_eq!(figures.caller_errors, 1);
        assert_eq!(figures.upstream_errors, 1);
        assert_eq!(figures.host_errors, 1);
    }
}
