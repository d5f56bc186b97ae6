//! Figures over a run.

use serde::{Deserialize, Serialize};

use crate::{
    judged::{Judged, Mark},
    suite::Expect,
};

/// Figures over all questions of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = EvaluationFigures)]
pub struct Figures {
    /// Questions with an answer, without those that could not be judged.
    pub answerable: usize,
    /// Right ones among them.
    pub right: usize,
    /// Wrong ones among them.
    pub wrong: usize,
    /// Declined ones among them.
    pub declined: usize,
    /// Failed ones among them.
    pub failed: usize,
    /// Questions that are to be declined.
    pub unanswerable: usize,
    /// Those that were.
    pub rightly_declined: usize,
    /// Questions that could not be judged.
    pub invalid: usize,
    /// Execution accuracy: right answers by answerable questions, from 0 to 1; null without any.
    pub accuracy: Option<f64>,
    /// Wrong answers by all judged questions, those that were to be declined among them.
    pub wrong_share: Option<f64>,
    /// Mean share of needed tables that the model was told of, over the questions whose steps show it.
    pub recall_tables: Option<f64>,
    /// The same of columns.
    pub recall_columns: Option<f64>,
    /// Questions whose steps show it.
    pub recall_known: usize,
    /// Answers with a number that is neither in the rows nor derived from them.
    #[serde(default)]
    pub unsupported: usize,
    /// Statements that were refused or failed.
    pub repairs: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Price of all tokens.
    pub cost: Option<f64>,
    /// Half of the answers took at most so many milliseconds. What failed is no answer.
    pub latency_p50_ms: Option<u64>,
    /// Nineteen of twenty did.
    pub latency_p95_ms: Option<u64>,
}

impl Figures {
    /// Counts.
    pub fn of(questions: &[Judged]) -> Self {
        let judged = || questions.iter().filter(|one| one.mark != Mark::Invalid);
        let answerable = || judged().filter(|one| one.expect == Expect::Answer);
        let count = |mark| answerable().filter(|one| one.mark == mark).count();
        let unanswerable = || judged().filter(|one| one.expect == Expect::Declined);
        let wrong_in_all = judged().filter(|one| one.mark == Mark::Wrong).count();
        let costs: Vec<f64> = questions.iter().filter_map(|one| one.cost).collect();
        let latencies = Latencies::of(judged());
        Self {
            answerable: answerable().count(),
            right: count(Mark::Right),
            wrong: count(Mark::Wrong),
            declined: count(Mark::Declined),
            failed: count(Mark::Failed),
            unanswerable: unanswerable().count(),
            rightly_declined: unanswerable().filter(|one| one.mark == Mark::Right).count(),
            invalid: questions.len() - judged().count(),
            accuracy: ratio(count(Mark::Right), answerable().count()),
            wrong_share: ratio(wrong_in_all, judged().count()),
            recall_tables: mean(judged().filter_map(|one| one.recall_tables)),
            recall_columns: mean(judged().filter_map(|one| one.recall_columns)),
            recall_known: judged().filter(|one| one.recall_tables.is_some()).count(),
            unsupported: judged()
                .filter(|one| !one.unsupported_numbers.is_empty())
                .count(),
            repairs: questions.iter().map(|one| u64::from(one.repairs)).sum(),
            input_tokens: questions.iter().map(|one| one.input_tokens).sum(),
            output_tokens: questions.iter().map(|one| one.output_tokens).sum(),
            cost: (!costs.is_empty()).then(|| costs.iter().sum()),
            latency_p50_ms: latencies.percentile(50),
            latency_p95_ms: latencies.percentile(95),
        }
    }
}

/// How long the answers took, the shortest first. A question that failed has none: it may not even have been asked.
pub(crate) struct Latencies(Vec<u64>);

impl Latencies {
    /// Of these questions, without those that failed.
    pub(crate) fn of<'a>(questions: impl Iterator<Item = &'a Judged>) -> Self {
        let answered = questions.filter(|one| one.mark != Mark::Failed);
        let mut latencies: Vec<u64> = answered.map(|one| one.latency_ms).collect();
        latencies.sort_unstable();
        Self(latencies)
    }

    /// The least value that so many percent do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Option<u64> {
        percentile(&self.0, percent)
    }
}

fn ratio(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The least value that so many percent do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A question with this mark.
    pub(crate) fn judged(id: &str, expect: Expect, mark: Mark) -> Judged {
        Judged {
            id: id.into(),
            question: format!("Question {id}?"),
            expect,
            mark,
            repairs: 1,
            input_tokens: 10,
            output_tokens: 2,
            latency_ms: id.len() as u64,
            ..Judged::default()
        }
    }

    #[test]
    fn shares_are_of_what_could_be_judged() {
        use Expect::{Answer, Declined};
        let figures = Figures::of(&[
            judged("a", Answer, Mark::Right),
            judged("bb", Answer, Mark::Wrong),
            judged("ccc", Answer, Mark::Declined),
            judged("dddd", Answer, Mark::Failed),
            judged("eeeee", Answer, Mark::Invalid),
            judged("ffffff", Declined, Mark::Right),
            judged("ggggggg", Declined, Mark::Wrong),
        ]);
        assert_eq!(figures.accuracy, Some(0.25));
        assert_eq!(figures.wrong_share, Some(2.0 / 6.0));
        assert_eq!(
            (
                figures.unanswerable,
                figures.rightly_declined,
                figures.invalid
            ),
            (2, 1, 1)
        );
        assert_eq!((figures.repairs, figures.input_tokens), (7, 70));
        assert_eq!(
            (figures.latency_p50_ms, figures.latency_p95_ms),
            (Some(3), Some(7)),
            "without the failed one"
        );
        let failed = Figures::of(&[judged("", Answer, Mark::Failed)]);
        assert_eq!(failed.latency_p50_ms, None);
        assert_eq!(figures.cost, None);
        assert_eq!(Figures::of(&[]).accuracy, None);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!(
            (percentile(&values, 50), percentile(&values, 95)),
            (Some(50), Some(95))
        );
        assert_eq!(percentile(&[7], 95), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }
}
