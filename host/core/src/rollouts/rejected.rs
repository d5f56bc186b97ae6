//! Which versions a bare activation passes over.

use std::collections::BTreeSet;

use super::{Rollout, Stage};

/// The versions that failed or were rolled back when they were last activated, by digest. `newest_first` are the
/// rollouts of one plugin.
pub(super) fn rejected(newest_first: &[Rollout]) -> BTreeSet<String> {
    let mut judged = BTreeSet::new();
    let mut rejected = BTreeSet::new();
    for one in newest_first.iter().filter(|one| one.stage.is_end()) {
        // A rollback judges the version that it leaves.
        let left = one.from.as_ref().filter(|_| one.is_rollback);
        if let Some(left) = left.filter(|_| one.stage == Stage::Completed)
            && judged.insert(left.clone())
        {
            rejected.insert(left.clone());
        }
        if judged.insert(one.to.clone()) && one.stage != Stage::Completed {
            rejected.insert(one.to.clone());
        }
    }
    rejected
}
