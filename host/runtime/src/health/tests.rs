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
    of_workspace("default", id)
}

fn of_workspace(workspace: &str, id: &str) -> TargetId {
    TargetId {
        id: format!("{workspace}/{id}"),
        name: id.into(),
        workspace: workspace.into(),
    }
}

/// So many targets of one workspace.
fn users(targets: usize) -> Users {
    Users {
        here: targets,
        targets,
        workspaces: 1,
    }
}

/// One target in each of so many workspaces.
fn workspaces(workspaces: usize) -> Users {
    Users {
        here: 1,
        targets: workspaces,
        workspaces,
    }
}

/// How it is for those workspaces.
fn report(health: &Health, users: &[&str]) -> HealthReport {
    health.report(&users.iter().map(|&name| name.to_owned()).collect())
}

/// Faults of one target until its budget is used up.
fn exhaust(health: &Health, id: &str, known: usize) {
    for _ in 0..3 {
        health.record_fault(&target(id), "it panicked", users(known));
    }
}

#[test]
fn target_without_budget_is_backed_off_and_twice_as_long_the_next_time() {
    let health = health();
    let bad = target("bad");
    for _ in 0..2 {
        health.record_fault(&bad, "it panicked", users(5));
        assert!(health.admit(&bad).is_ok());
    }
    health.record_fault(&bad, "it panicked", users(5));
    let error = health.admit(&bad).unwrap_err();
    assert_eq!(error.code(), Code::PluginSuspended);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert!(error.message().contains("it panicked"), "{error}");
    assert!(health.admit(&target("good")).is_ok());
    for seconds in [2, 4, 4] {
        health.pass(Duration::from_secs(4));
        assert!(health.admit(&bad).is_ok(), "it is tried again");
        health.record_fault(&bad, "it panicked", users(5));
        let wait = health.admit(&bad).unwrap_err().retry_after();
        assert_eq!(wait, Some(Duration::from_secs(seconds)));
    }
    assert_eq!(report(&health, &["default"]).status, HealthStatus::Ok);
    assert_eq!(report(&health, &["default"]).targets[0].name, "bad");
}

#[test]
fn successes_restore_the_budget_and_end_a_backoff() {
    let health = health();
    let target = target("half");
    for _ in 0..20 {
        health.record_fault(&target, "it panicked", users(5));
        health.record_success(&target);
        assert!(health.admit(&target).is_ok());
    }
    exhaust(&health, "half", 5);
    assert!(health.admit(&target).is_err());
    health.record_success(&target);
    assert!(health.admit(&target).is_ok());
    assert!(!health.release(), "nothing is left");
}

#[test]
fn faults_long_ago_do_not_count() {
    let health = health();
    for _ in 0..10 {
        health.record_fault(&target("rare"), "it panicked", users(5));
        health.pass(Duration::from_secs(61));
    }
    assert!(health.admit(&target("rare")).is_ok());
}

#[test]
fn one_faulty_datasource_does_not_stop_the_others() {
    let health = health();
    for _ in 0..50 {
        exhaust(&health, "bad", 4);
        health.record_success(&target("good"));
        health.pass(Duration::from_secs(5));
    }
    assert!(health.admit(&target("good")).is_ok());
    assert_eq!(report(&health, &["default"]).status, HealthStatus::Ok);
}

#[test]
fn version_that_fails_for_all_is_quarantined() {
    let health = health();
    for id in ["a", "b", "c"] {
        assert!(health.admit(&target("other")).is_ok());
        exhaust(&health, id, 10);
    }
    let error = health.admit(&target("other")).unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert!(!error.message().contains("it panicked"), "others' words");
    assert_eq!(
        report(&health, &["default"]).status,
        HealthStatus::BackingOff
    );
    for _ in 0..2 {
        health.pass(Duration::from_secs(5));
        health.record_fault(&target("a"), "it panicked", users(10));
    }
    let report = report(&health, &["default"]);
    assert_eq!(report.status, HealthStatus::Quarantined);
    assert_eq!(report.reason.as_deref(), Some("it panicked"));
    health.pass(Duration::from_secs(86_400));
    let error = health.admit(&target("other")).unwrap_err();
    assert!(error.message().contains("quarantine"), "{error}");
    assert!(health.release());
    assert!(health.admit(&target("other")).is_ok());
}

#[test]
fn version_with_one_target_depends_on_it_alone() {
    let health = health();
    for _ in 0..5 {
        exhaust(&health, "only", 1);
        health.pass(Duration::from_secs(5));
    }
    assert_eq!(
        report(&health, &["default"]).status,
        HealthStatus::Quarantined
    );
}

#[test]
fn changed_target_has_its_full_budget() {
    let health = health();
    exhaust(&health, "bad", 5);
    health.forget("default/bad");
    assert!(health.admit(&target("bad")).is_ok());
}

/// Rests and faults of one workspace, until its version is in quarantine there.
fn take_away(health: &Health, workspace: &str, users: Users) {
    let bad = of_workspace(workspace, "bad");
    for _ in 0..12 {
        health.record_fault(&bad, "it panicked", users);
        health.pass(Duration::from_secs(5));
    }
    let error = health.admit(&of_workspace(workspace, "new")).unwrap_err();
    assert!(error.message().contains("quarantine"), "{error}");
    assert!(!error.message().contains("it panicked"), "others' words");
}

#[test]
fn one_workspace_cannot_suspend_a_version_for_others() {
    let health = health();
    // No other workspace has used it since the start.
    take_away(&health, "bad", workspaces(1));
    assert!(health.admit(&target("good")).is_ok());
    let alone = report(&health, &["bad"]);
    assert_eq!(alone.status, HealthStatus::Quarantined);
    assert_eq!(alone.reason.as_deref(), Some("it panicked"));
    let shared = report(&health, &["bad", "default"]);
    assert_eq!(shared.status, HealthStatus::Ok);
    assert_eq!(shared.workspaces[0].workspace, "bad");
    assert_eq!(shared.workspaces[0].status, HealthStatus::Quarantined);
    assert_eq!(shared.clone().of_workspace("default").workspaces.len(), 0);
    assert_eq!(shared.of_workspace("bad").targets.len(), 0);
}

#[test]
fn version_that_fails_in_several_workspaces_is_backed_off_for_all() {
    let health = health();
    for workspace in ["a", "b", "c"] {
        assert!(health.admit(&target("other")).is_ok(), "{workspace}");
        for _ in 0..3 {
            health.record_fault(
                &of_workspace(workspace, "only"),
                "it panicked",
                workspaces(5),
            );
        }
    }
    let error = health.admit(&target("other")).unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(report(&health, &["a"]).status, HealthStatus::BackingOff);
}

#[test]
fn two_workspaces_suffice_if_there_are_no_more() {
    let health = health();
    take_away(&health, "a", workspaces(2));
    assert!(health.admit(&target("other")).is_ok());
    take_away(&health, "b", workspaces(2));
    assert!(health.admit(&target("other")).is_err());
}

#[test]
fn workspace_is_released_by_itself() {
    let health = health();
    take_away(&health, "a", workspaces(3));
    take_away(&health, "b", workspaces(3));
    assert!(!health.release_workspace("default"));
    assert!(health.release_workspace("a"));
    assert!(health.admit(&of_workspace("a", "bad")).is_ok());
    assert!(health.admit(&of_workspace("b", "bad")).is_err());
}

#[test]
fn success_in_another_workspace_limits_the_backoff_to_the_target() {
    let health = health();
    for _ in 0..10 {
        for _ in 0..3 {
            health.record_fault(&of_workspace("a", "bad"), "it panicked", workspaces(2));
            health.record_success(&target("good"));
        }
        health.pass(Duration::from_secs(5));
    }
    assert!(health.admit(&of_workspace("a", "new")).is_ok());
}
