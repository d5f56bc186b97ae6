//! What changed since an earlier run.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    figures::Figures,
    judged::{Judged, Mark},
};

/// What changed since an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = EvaluationDifference)]
pub struct Difference {
    /// Questions whose marks differ, in the order of the new run.
    pub changed: Vec<Change>,
    /// Ids of questions that only the new run has judged. The earlier run may have ended before it asked them.
    pub added: Vec<String>,
    /// Ids of questions that only the earlier run has judged. The new run may not have asked them yet.
    pub removed: Vec<String>,
    /// Accuracy now, less accuracy then, over the questions of both runs.
    pub accuracy: Option<f64>,
}

/// A question with another mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EvaluationChange)]
pub struct Change {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The mark of the earlier run.
    pub before: Mark,
    /// The mark of the new run.
    pub now: Mark,
}

impl Difference {
    /// Compares by id. What a run has not judged is missing in it, whether its suite has it or not.
    pub fn between(earlier: &[Judged], now: &[Judged]) -> Self {
        let by_id = |questions: &[Judged]| -> HashMap<String, Mark> {
            let marks = questions.iter().map(|one| (one.id.clone(), one.mark));
            marks.collect()
        };
        let (before, after) = (by_id(earlier), by_id(now));
        let change = |one: &Judged| {
            let before = *before.get(&one.id)?;
            (before != one.mark).then(|| Change {
                id: one.id.clone(),
                question: one.question.clone(),
                before,
                now: one.mark,
            })
        };
        let missing = |from: &[Judged], marks: &HashMap<String, Mark>| {
            let ids = from.iter().map(|one| one.id.clone());
            ids.filter(|id| !marks.contains_key(id)).collect()
        };
        let accuracy = |questions: &[Judged], other: &HashMap<String, Mark>| {
            let both = questions.iter();
            let both = both.filter(|one| other.contains_key(&one.id)).cloned();
            Figures::of(&both.collect::<Vec<_>>()).accuracy
        };
        let accuracies = (accuracy(now, &before), accuracy(earlier, &after));
        Self {
            changed: now.iter().filter_map(change).collect(),
            added: missing(now, &before),
            removed: missing(earlier, &after),
            accuracy: match accuracies {
                (Some(now), Some(before)) => Some(now - before),
                _ => None,
            },
        }
    }

    /// The questions that have this mark now and had another.
    pub fn newly(&self, mark: Mark) -> impl Iterator<Item = &Change> {
        self.changed.iter().filter(move |change| change.now == mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_that_one_run_has_not_judged_is_missing_in_it() {
        let judged = |id: &str| Judged {
            id: id.to_owned(),
            ..Judged::default()
        };
        let all = ["a", "b", "c"].map(judged);
        let ids = |ids: &[&str]| -> Vec<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
        let ended_early = Difference::between(&all, &all[..1]);
        assert_eq!(ended_early.added, ids(&[]));
        assert_eq!(ended_early.removed, ids(&["b", "c"]));
        let went_on = Difference::between(&all[..1], &all);
        assert_eq!(went_on.added, ids(&["b", "c"]));
        assert_eq!(went_on.removed, ids(&[]));
        let other = Difference::between(&all[..2], &all[1..]);
        assert_eq!((other.added, other.removed), (ids(&["c"]), ids(&["a"])));
    }
}
