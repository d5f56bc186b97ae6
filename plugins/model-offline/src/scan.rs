//! From mentions to the shape of the question, left to right.

mod named;
mod numbers;
mod operators;

use crate::catalog::{Catalog, ColumnRef, Kind};
use crate::mentions::{Mention, What};
use crate::names::Target;
use crate::problem::Problem;
use crate::sketch::{Ask, Group, Rank, RankBy, Sketch, Test, TestAsk};
use crate::vocabulary::{Aggregate, Comparison};

/// What the words so far make of the next name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    Count,
    Aggregate(Aggregate),
    /// "total", which counts tables and adds up columns.
    Total,
    /// True after "by", which may also bring in the measure of a ranking.
    Group(bool),
    /// True for "most" and "fewest", which count; "highest" and the like take an amount.
    Most(bool, bool),
    Sorted,
    Common,
    Without,
    With,
    Compare(Comparison, bool),
    Like(crate::vocabulary::MatchPosition),
    Between(Option<usize>),
}

struct Scan<'a> {
    catalog: &'a Catalog,
    mentions: &'a [Mention],
    sketch: Sketch,
    pending: Pending,
    /// A number whose role the next mention decides.
    held: Option<usize>,
    negated: Option<usize>,
    /// The last name, while nothing but fillers followed it.
    last: Option<usize>,
    last_was_group: bool,
    unknown: Vec<String>,
    new: Option<usize>,
    /// Told only where everything else was understood.
    bad_date: Option<Problem>,
}

/// Finds the shape of a question. Every mention gets a role, or the question is refused.
pub fn scan(catalog: &Catalog, mentions: &[Mention]) -> Result<Sketch, Problem> {
    let mut scan = Scan {
        catalog,
        mentions,
        sketch: Sketch::default(),
        pending: Pending::Nothing,
        held: None,
        negated: None,
        last: None,
        last_was_group: false,
        unknown: Vec::new(),
        new: None,
        bad_date: None,
    };
    let mut at = 0;
    while at < mentions.len() {
        at += scan.step(at)?;
    }
    scan.finish()
}

impl Scan<'_> {
    fn step(&mut self, at: usize) -> Result<usize, Problem> {
        let mention = &self.mentions[at];
        match &mention.what {
            What::Op(op) if self.is_really_a_name(at, *op) => self.name(at),
            What::Op(op) => self.operator(at, *op),
            What::Name => self.name(at),
            What::Number(_) => self.number(at),
            What::Text(text) => {
                let test = match self.pending {
                    Pending::Like(place) => Test::Like(place, text.clone()),
                    _ => Test::Text(text.clone()),
                };
                if matches!(self.pending, Pending::Like(_)) {
                    self.pending = Pending::Nothing;
                }
                let is_text = self
                    .last
                    .is_some_and(|l| self.column_kind(l) == Some(Kind::Text));
                let name = if is_text {
                    self.take_column_before()
                } else {
                    None
                };
                self.test(name, test, &mention.text);
                Ok(1)
            }
            What::Period(period) => {
                let dated = |m: usize| {
                    self.columns(m)
                        .any(|c| self.catalog.column(c).kind == Kind::Date)
                };
                let name = self
                    .last
                    .filter(|m| !self.mentions[*m].is_table() && dated(*m));
                self.sketch.plain.retain(|p| Some(*p) != name);
                self.test(name, Test::Period(*period), &mention.text);
                Ok(1)
            }
            What::BadPeriod(trouble) => {
                self.bad_date
                    .get_or_insert(Problem::Date(mention.text.clone(), *trouble));
                Ok(1)
            }
            What::Bucket(unit, _) => {
                self.sketch.groups.push(Group::Bucket(*unit));
                self.settle(true);
                Ok(1)
            }
            What::Unknown => {
                self.unknown.push(mention.text.clone());
                Ok(1)
            }
        }
    }

    fn test(&mut self, name: Option<usize>, test: Test, words: &str) {
        let negated = self.negated.take().is_some();
        self.sketch.tests.push(TestAsk {
            name,
            test,
            negated,
            words: words.to_owned(),
        });
    }

    /// The column mentioned just before a condition belongs to it.
    fn take_column_before(&mut self) -> Option<usize> {
        let name = self
            .last
            .take()
            .filter(|l| self.column_kind(*l).is_some() && self.sketch.plain.contains(l))?;
        self.sketch.plain.retain(|p| *p != name);
        Some(name)
    }

    fn columns(&self, at: usize) -> impl Iterator<Item = ColumnRef> {
        self.mentions[at]
            .hits
            .iter()
            .filter_map(|h| match h.target {
                Target::Column(c) => Some(c),
                _ => None,
            })
    }

    fn column_kind(&self, at: usize) -> Option<Kind> {
        if self.mentions[at].is_table() {
            return None;
        }
        self.columns(at).next().map(|c| self.catalog.column(c).kind)
    }

    fn is_numeric(&self, at: usize) -> bool {
        !self.mentions[at].is_table()
            && self
                .columns(at)
                .any(|c| self.catalog.column(c).is_numeric())
    }

    /// "which product sold the most", "which customer spent the most": the measure stands before the "most".
    fn rank_by_what_was_said(&mut self) {
        let Pending::Most(descending, _) = self.pending else {
            return;
        };
        let sold = self.sketch.sold.map(Ask::Units);
        if let Some(ask) = self.sketch.ask.or(sold) {
            self.sketch.ask = Some(ask);
            self.sketch.rank = Some(Rank {
                descending,
                by: RankBy::Measure,
            });
            self.pending = Pending::Nothing;
        }
    }

    fn settle(&mut self, group: bool) {
        self.pending = Pending::Nothing;
        self.last_was_group = group;
        self.last = None;
    }

    fn finish(mut self) -> Result<Sketch, Problem> {
        self.rank_by_what_was_said();
        let timed = self
            .sketch
            .tests
            .iter()
            .any(|t| matches!(t.test, Test::Period(_)))
            || self
                .sketch
                .groups
                .iter()
                .any(|g| matches!(g, Group::Bucket(_)));
        let new = self.new.filter(|_| !timed);
        for unused in [self.held, self.negated, new].into_iter().flatten() {
            self.unknown.push(self.mentions[unused].text.clone());
        }
        if !self.unknown.is_empty() {
            return Err(Problem::Unknown(self.unknown));
        }
        if let Some(problem) = self.bad_date {
            return Err(problem);
        }
        let incomplete = match self.pending {
            Pending::Nothing | Pending::With | Pending::Group(_) => None,
            Pending::Count => Some("what to count"),
            Pending::Aggregate(_) | Pending::Total => Some("which column to calculate"),
            Pending::Most(..) | Pending::Common => Some("what to rank by"),
            Pending::Sorted => Some("what to sort by"),
            Pending::Without => Some("what is missing"),
            Pending::Compare(..) | Pending::Between(_) => Some("which number to compare with"),
            Pending::Like(_) => Some("the text to look for, in quotes"),
        };
        let half_having = self
            .sketch
            .having
            .as_ref()
            .is_some_and(|h| h.number.is_empty());
        match incomplete.or(half_having.then_some("which number to compare with")) {
            // "what are the total sales" ends in its measure; "which products were sold" needs no more.
            Some(missing) if !(self.pending == Pending::Count && self.sketch.ask.is_some()) => {
                Err(Problem::unsupported(format!(
                    "The question does not say {missing}, as far as I can tell."
                )))
            }
            _ => Ok(self.sketch),
        }
    }
}

fn two_measures() -> Problem {
    Problem::unsupported(
        "I can work out one figure at a time, and that question asks for two. Please ask for each.",
    )
}
