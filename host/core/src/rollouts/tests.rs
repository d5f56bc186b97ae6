//! Which versions a bare activation passes over.

use super::*;

fn rollout(from: &str, to: &str, stage: Stage, is_rollback: bool) -> Rollout {
    Rollout {
        id: Uuid::now_v7(),
        plugin: "p".to_owned(),
        from: Some(from.to_owned()),
        to: to.to_owned(),
        version: "1.0.0".to_owned(),
        stage,
        reason: None,
        accepted_rights: Vec::new(),
        checks: Vec::new(),
        canary_share: None,
        stable: Figures::default(),
        candidate: Figures::default(),
        is_rollback,
        started_by: None,
        request_id: None,
        started_at: Timestamp::now(),
        ended_at: None,
    }
}

#[test]
fn the_last_rollout_of_a_version_decides_whether_it_is_rejected() {
    let newest_first = [
        rollout("a", "f", Stage::Probation, false),
        rollout("b", "a", Stage::Completed, true),
        rollout("a", "b", Stage::Completed, false),
        rollout("a", "c", Stage::RolledBack, false),
        rollout("a", "d", Stage::Completed, false),
        rollout("a", "d", Stage::Failed, false),
        rollout("a", "e", Stage::Failed, false),
        rollout("a", "e", Stage::Completed, false),
    ];
    let rejected = rejected(&newest_first);
    assert_eq!(rejected.into_iter().collect::<Vec<_>>(), ["b", "c", "e"]);
}
