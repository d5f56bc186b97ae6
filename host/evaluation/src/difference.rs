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
    /// Ids of questions that only the new run has; none if the earlier run did not ask all of its own.
    pub added: Vec<String>,
    /// Ids of questions that only the earlier run has; none if the new run has not asked all of its own.
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

/// The judged questions of one run, to compare with another's.
#[derive(Clone, Copy, Debug)]
pub struct RunQuestions<'a> {
    /// Those that were judged.
    pub questions: &'a [Judged],
    /// Whether they are all of its suite.
    pub is_complete: bool,
}

impl Difference {
    /// Compares by id.
    pub fn between(earlier: RunQuestions<'_>, now: RunQuestions<'_>) -> Self {
        let all = [earlier.is_complete, now.is_complete];
        let (earlier, now) = (earlier.questions, now.questions);
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
        let missing = |from: &[Judged], marks: &HashMap<String, Mark>, of_all: bool| {
            let ids = from.iter().map(|one| one.id.clone());
            ids.filter(|id| of_all && !marks.contains_key(id)).collect()
        };
        let accuracy = |questions: &[Judged], other: &HashMap<String, Mark>| {
            let both = questions.iter();
            let both = both.filter(|one| other.contains_key(&one.id)).cloned();
            Figures::of(&both.collect::<Vec<_>>()).accuracy
        };
        let accuracies = (accuracy(now, &before), accuracy(earlier, &after));
        Self {
            changed: now.iter().filter_map(change).collect(),
            added: missing(now, &before, all[0]),
            removed: missing(earlier, &after, all[1]),
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
    fn question_that_is_still_to_be_asked_is_not_removed() {
        let judged = |id: &str| Judged {
            id: id.to_owned(),
            ..Judged::default()
        };
        let (earlier, now) = ([judged("a"), judged("b")], [judged("b"), judged("c")]);
        let between = |all: [bool; 2]| {
            let asked = |questions, is_complete| RunQuestions {
                questions,
                is_complete,
            };
            let difference = Difference::between(asked(&earlier, all[0]), asked(&now, all[1]));
            (difference.added, difference.removed)
        };
        assert_eq!(between([true, true]), (vec!["c".into()], vec!["a".into()]));
        assert_eq!(between([true, false]), (vec!["c".into()], vec![]));
        assert_eq!(between([false, true]), (vec![], vec!["a".into()]));
    }
}
