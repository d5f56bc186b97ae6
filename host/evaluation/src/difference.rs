//! What changed since an earlier run.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    figures::{Figures, Latencies},
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
    /// Accuracy now, less accuracy then, over the questions that both runs could judge.
    pub accuracy: Option<f64>,
    /// Figures of the earlier run over the questions that both runs could judge. Recall and cost are those of the
    /// questions for which both runs know them, latencies those of the questions that failed in neither.
    pub before: Figures,
    /// Figures of the new run over the same questions.
    pub now: Figures,
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
        let (before, after) = (by_id(earlier), by_id(now));
        let change = |one: &Judged| {
            let before = before.get(one.id.as_str())?.mark;
            (before != one.mark).then(|| Change {
                id: one.id.clone(),
                question: one.question.clone(),
                before,
                now: one.mark,
            })
        };
        let figures_before = shared_figures(earlier, &after);
        let figures_now = shared_figures(now, &before);
        Self {
            changed: now.iter().filter_map(change).collect(),
            added: missing(now, &before),
            removed: missing(earlier, &after),
            accuracy: match (figures_now.accuracy, figures_before.accuracy) {
                (Some(now), Some(before)) => Some(now - before),
                _ => None,
            },
            before: figures_before,
            now: figures_now,
        }
    }

    /// The questions that have this mark now and had another.
    pub fn newly(&self, mark: Mark) -> impl Iterator<Item = &Change> {
        self.changed.iter().filter(move |change| change.now == mark)
    }
}

/// The questions of a run by their ids.
type ById<'a> = HashMap<&'a str, &'a Judged>;

fn by_id(questions: &[Judged]) -> ById<'_> {
    let by_id = questions.iter().map(|one| (one.id.as_str(), one));
    by_id.collect()
}

/// The ids that the other run does not have.
fn missing(questions: &[Judged], other: &ById<'_>) -> Vec<String> {
    let ids = questions.iter().map(|one| one.id.clone());
    ids.filter(|id| !other.contains_key(id.as_str())).collect()
}

/// Figures of one run over the questions that the other run has judged too. A mean or a sum over other questions would
/// differ without a change of the Mind, so what only one run knows of a question does not count; nor does the latency
/// of a question that failed in one of them.
fn shared_figures(questions: &[Judged], other: &ById<'_>) -> Figures {
    let both = questions.iter().filter_map(|one| {
        let other = other.get(one.id.as_str())?;
        let is_judged = one.mark != Mark::Invalid && other.mark != Mark::Invalid;
        is_judged.then_some((one, *other))
    });
    let both: Vec<(&Judged, &Judged)> = both.collect();
    let shared = both.iter().map(|(one, other)| Judged {
        recall_tables: one.recall_tables.filter(|_| other.recall_tables.is_some()),
        recall_columns: one
            .recall_columns
            .filter(|_| other.recall_columns.is_some()),
        cost: one.cost.filter(|_| other.cost.is_some()),
        ..(*one).clone()
    });
    let answered = both.iter().filter(|(_, other)| other.mark != Mark::Failed);
    let latencies = Latencies::of(answered.map(|(one, _)| *one));
    Figures {
        latency_p50_ms: latencies.percentile(50),
        latency_p95_ms: latencies.percentile(95),
        ..Figures::of(&shared.collect::<Vec<_>>())
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

    #[test]
    fn question_that_one_run_could_not_judge_counts_for_neither() {
        let judged = |id: &str, mark: Mark, latency_ms: u64| Judged {
            id: id.to_owned(),
            mark,
            latency_ms,
            ..Judged::default()
        };
        let earlier = [
            judged("a", Mark::Right, 100),
            judged("b", Mark::Invalid, 900),
            judged("c", Mark::Failed, 0),
        ];
        let now = [
            judged("a", Mark::Right, 200),
            judged("b", Mark::Wrong, 900),
            judged("c", Mark::Right, 700),
        ];
        let difference = Difference::between(&earlier, &now);
        let (before, now) = (&difference.before, &difference.now);
        assert_eq!((before.answerable, now.answerable), (2, 2));
        assert_eq!((before.accuracy, now.accuracy), (Some(0.5), Some(1.0)));
        assert_eq!(difference.accuracy, Some(0.5));
        let p95 = (before.latency_p95_ms, now.latency_p95_ms);
        assert_eq!(p95, (Some(100), Some(200)));
        assert_eq!(
            difference.changed.len(),
            2,
            "also the one that is judged now"
        );
    }

    #[test]
    fn figures_are_of_the_questions_that_both_runs_know() {
        let judged = |id: &str, recall: Option<f64>, cost: Option<f64>, latency_ms: u64| Judged {
            id: id.to_owned(),
            mark: Mark::Right,
            recall_tables: recall,
            repairs: 1,
            input_tokens: 10,
            cost,
            latency_ms,
            ..Judged::default()
        };
        let earlier = [
            judged("a", Some(1.0), Some(0.5), 100),
            judged("b", None, None, 300),
            judged("gone", Some(0.0), Some(9.0), 900),
        ];
        let now = [
            judged("a", Some(0.5), Some(0.25), 200),
            judged("b", Some(0.0), Some(9.0), 200),
            judged("new", Some(0.0), Some(9.0), 900),
        ];
        let Difference { before, now, .. } = Difference::between(&earlier, &now);
        assert_eq!((before.right, now.right), (2, 2));
        assert_eq!(
            (before.recall_tables, now.recall_tables),
            (Some(1.0), Some(0.5))
        );
        assert_eq!((before.cost, now.cost), (Some(0.5), Some(0.25)));
        assert_eq!((before.repairs, before.input_tokens), (2, 20));
        assert_eq!(
            (before.latency_p95_ms, now.latency_p95_ms),
            (Some(300), Some(200))
        );
    }
}
