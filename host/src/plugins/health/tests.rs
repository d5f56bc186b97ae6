use super::*;

fn faults() -> FaultSettings {
    FaultSettings {
        budget: 3,
        window: Duration::from_secs(60),
        backoff: Duration::from_secs(1),
        max_backoff: Duration::from_secs(4),
        quarantine_after: 2,
    }
}

fn health() -> Health {
    let id = VersionId {
        plugin: "connector-x".into(),
        version: "1.0.0".into(),
        digest: "d".into(),
    };
    let health = Health::new(id, faults());
    *lock(&health.time) = Some(Instant::now());
    health
}

impl Health {
    fn pass(&self, time: Duration) {
        if let Some(now) = lock(&self.time).as_mut() {
            *now += time;
        }
    }
}

fn target(id: &str) -> TargetId {
    TargetId {
        id: id.into(),
        name: id.into(),
        workspace: "default".into(),
    }
}

/// Faults of one target until its budget is used up.
fn exhaust(health: &Health, id: &str, known: usize) {
    for _ in 0..3 {
        health.fault(&target(id), "it panicked", known);
    }
}

#[test]
fn a_target_rests_when_its_budget_is_used_up_and_twice_as_long_the_next_time() {
    let health = health();
    let bad = target("bad");
    for _ in 0..2 {
        health.fault(&bad, "it panicked", 5);
        assert!(health.admit(&bad).is_ok());
    }
    health.fault(&bad, "it panicked", 5);
    let error = health.admit(&bad).unwrap_err();
    assert_eq!(error.code(), Code::PluginSuspended);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert!(error.message().contains("it panicked"), "{error}");
    assert!(health.admit(&target("good")).is_ok());
    for seconds in [2, 4, 4] {
        health.pass(Duration::from_secs(4));
        assert!(health.admit(&bad).is_ok(), "it is tried again");
        health.fault(&bad, "it panicked", 5);
        let wait = health.admit(&bad).unwrap_err().retry_after();
        assert_eq!(wait, Some(Duration::from_secs(seconds)));
    }
    assert_eq!(health.report().status, HealthStatus::Ok);
    assert_eq!(health.report().targets[0].name, "bad");
}

#[test]
fn good_uses_restore_the_budget_and_a_good_one_after_a_rest_ends_it() {
    let health = health();
    let target = target("half");
    for _ in 0..20 {
        health.fault(&target, "it panicked", 5);
        health.went_well("half");
        assert!(health.admit(&target).is_ok());
    }
    exhaust(&health, "half", 5);
    assert!(health.admit(&target).is_err());
    health.went_well("half");
    assert!(health.admit(&target).is_ok());
    assert!(!health.release(), "nothing is left");
}

#[test]
fn faults_long_ago_do_not_count() {
    let health = health();
    for _ in 0..10 {
        health.fault(&target("rare"), "it panicked", 5);
        health.pass(Duration::from_secs(61));
    }
    assert!(health.admit(&target("rare")).is_ok());
}

#[test]
fn one_bad_datasource_does_not_take_the_others_down() {
    let health = health();
    for _ in 0..50 {
        exhaust(&health, "bad", 4);
        health.went_well("good");
        health.pass(Duration::from_secs(5));
    }
    assert!(health.admit(&target("good")).is_ok());
    assert_eq!(health.report().status, HealthStatus::Ok);
}

#[test]
fn a_version_that_serves_nobody_any_more_ends_in_quarantine() {
    let health = health();
    for id in ["a", "b", "c"] {
        assert!(health.admit(&target("other")).is_ok());
        exhaust(&health, id, 10);
    }
    let error = health.admit(&target("other")).unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert!(!error.message().contains("it panicked"), "others' words");
    assert_eq!(health.report().status, HealthStatus::BackingOff);
    for _ in 0..2 {
        health.pass(Duration::from_secs(5));
        health.fault(&target("a"), "it panicked", 10);
    }
    let report = health.report();
    assert_eq!(report.status, HealthStatus::Quarantined);
    assert_eq!(report.reason.as_deref(), Some("it panicked"));
    health.pass(Duration::from_secs(86_400));
    let error = health.admit(&target("other")).unwrap_err();
    assert!(error.message().contains("quarantine"), "{error}");
    assert!(health.release());
    assert!(health.admit(&target("other")).is_ok());
}

#[test]
fn a_version_with_one_target_is_judged_by_it_alone() {
    let health = health();
    for _ in 0..5 {
        exhaust(&health, "only", 1);
        health.pass(Duration::from_secs(5));
    }
    assert_eq!(health.report().status, HealthStatus::Quarantined);
}

#[test]
fn a_changed_target_begins_anew() {
    let health = health();
    exhaust(&health, "bad", 5);
    health.forget("bad");
    assert!(health.admit(&target("bad")).is_ok());
}
