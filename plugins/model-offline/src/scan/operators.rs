//! Phrases of the language: what each makes of the words after it.

use super::{Pending, Scan, two_measures};
use crate::mentions::What;
use crate::names::Target;
use crate::problem::Problem;
use crate::sketch::{Ask, Having, Rank, RankBy, Test};
use crate::vocabulary::{Aggregate, Comparison, Operator as Op};

impl Scan<'_> {
    /// "total" and "number" are columns too, unless what they could work on follows.
    pub(super) fn is_really_a_name(&self, at: usize, op: Op) -> bool {
        let mention = &self.mentions[at];
        if mention.hits.is_empty() {
            return false;
        }
        let next = self.mentions.get(at + 1).map(|m| &m.what);
        let takes_next = matches!(
            next,
            Some(
                What::Name
                    | What::Op(
                        Op::Revenue
                            | Op::Units
                            | Op::Count
                            | Op::Aggregate(_)
                            | Op::Distinct
                            | Op::Rows
                    )
            )
        );
        let named_column = mention.hits.iter().any(|h| match h.target {
            Target::Column(c) => {
                h.score >= 95
                    && self.catalog.column(c).is_numeric()
                    && !self.catalog.table(c.table).is_view()
            }
            _ => false,
        });
        match op {
            // Of "average total" only the first word is a function.
            Op::Aggregate(_) if named_column && self.works_out() => true,
            Op::Aggregate(_) | Op::Count => !takes_next,
            Op::Revenue | Op::Units => named_column,
            Op::Sold | Op::By | Op::And | Op::Or | Op::Not | Op::With => false,
            _ => mention.hits[0].score >= 90,
        }
    }

    /// Whether a function waits for what it works on.
    fn works_out(&self) -> bool {
        matches!(self.pending, Pending::Aggregate(f) if f != Aggregate::Sum)
    }

    pub(super) fn operator(&mut self, at: usize, op: Op) -> Result<usize, Problem> {
        let keeps_last = matches!(
            op,
            Op::And | Op::Or | Op::Not | Op::Compare(..) | Op::Between | Op::Like(_) | Op::Empty
        );
        let last = self.last;
        if !keeps_last {
            self.last = None;
        }
        match op {
            Op::Count => self.aggregate(at, Pending::Count)?,
            Op::HowMuch => self.pending = Pending::Aggregate(Aggregate::Sum),
            Op::Aggregate(Aggregate::Sum)
                if !self.mentions[at].text.to_lowercase().starts_with("sum") =>
            {
                self.aggregate(at, Pending::Total)?;
            }
            Op::Aggregate(f) => self.aggregate(at, Pending::Aggregate(f))?,
            Op::Distinct => self.sketch.distinct = true,
            Op::By => self.pending = Pending::Group(true),
            Op::Each => self.pending = Pending::Group(false),
            Op::SortedBy => self.pending = Pending::Sorted,
            Op::Direction(descending) => match &mut self.sketch.rank {
                Some(rank) => rank.descending = descending,
                None => self.unknown.push(self.mentions[at].text.clone()),
            },
            Op::Top(descending) => self.rank(descending, RankBy::Measure),
            Op::First(first) => self.first(at, first),
            Op::Most(descending) => {
                let counts = matches!(
                    self.mentions[at].text.to_lowercase().as_str(),
                    "most" | "fewest" | "least"
                );
                self.take_limit();
                self.pending = Pending::Most(descending, counts);
            }
            Op::Recent(descending) => self.rank(descending, RankBy::Recency),
            Op::Priced(descending) => self.rank(descending, RankBy::Price),
            Op::Common => {
                self.rank(true, RankBy::Measure);
                self.pending = Pending::Common;
            }
            Op::BestSelling => {
                self.rank(true, RankBy::Measure);
                self.ask(Ask::Units(at))?;
            }
            Op::Rated(descending) => {
                self.rank(descending, RankBy::Measure);
                self.ask(Ask::Rated(at))?;
            }
            Op::Compare(comparison, price) => self.pending = Pending::Compare(comparison, price),
            Op::Between => self.pending = Pending::Between(None),
            Op::List => self.sketch.listing = true,
            Op::Rows => {
                self.take_limit();
                self.sketch.listing |= self.pending != Pending::Count;
            }
            Op::Not => self.negated = Some(at),
            Op::Without => self.pending = Pending::Without,
            Op::With => self.pending = Pending::With,
            Op::And | Op::Or => {
                if self.last_was_group && self.pending == Pending::Nothing {
                    self.pending = Pending::Group(false);
                }
            }
            Op::When => self.sketch.when = true,
            Op::Sold => self.sketch.sold = Some(at),
            Op::Units => self.measure(Ask::Units(at))?,
            Op::Revenue => self.measure(Ask::Revenue(at))?,
            Op::Like(place) => self.pending = Pending::Like(place),
            Op::Empty => {
                let name = self.take_column_before();
                match name.or(last) {
                    Some(name) => {
                        self.test(Some(name), Test::Null, &self.mentions[at].text.clone())
                    }
                    None => self.unknown.push(self.mentions[at].text.clone()),
                }
            }
            Op::New => self.new = Some(at),
            Op::Currency(code) => self
                .sketch
                .currencies
                .push((code, self.mentions[at].text.clone())),
        }
        Ok(1)
    }

    /// A function is named; after "by" or "highest" it is the measure of a ranking.
    pub(super) fn aggregate(&mut self, at: usize, next: Pending) -> Result<(), Problem> {
        match self.pending {
            Pending::Aggregate(Aggregate::Sum)
            | Pending::Total
            | Pending::Nothing
            | Pending::With
            | Pending::Count => {}
            Pending::Group(true) | Pending::Sorted => {
                let descending = self.sketch.rank.is_none_or(|r| r.descending);
                self.sketch.rank = Some(Rank {
                    descending,
                    by: RankBy::Measure,
                });
            }
            Pending::Most(descending, _) => {
                self.sketch.rank = Some(Rank {
                    descending,
                    by: RankBy::Measure,
                })
            }
            _ => {
                return Err(Problem::unsupported(format!(
                    "I cannot work out \"{}\" over another calculation in one question.",
                    self.mentions[at].text
                )));
            }
        }
        self.pending = next;
        Ok(())
    }

    /// Revenue and units need no column: the measure is named.
    pub(super) fn measure(&mut self, ask: Ask) -> Result<(), Problem> {
        match self.pending {
            Pending::Most(descending, _) => {
                self.sketch.rank = Some(Rank {
                    descending,
                    by: RankBy::Measure,
                })
            }
            Pending::Group(true) | Pending::Sorted if self.sketch.rank.is_none() => {
                self.sketch.rank = Some(Rank {
                    descending: true,
                    by: RankBy::Measure,
                });
            }
            Pending::Aggregate(f) if f != Aggregate::Sum => {
                return Err(Problem::unsupported(format!(
                    "I can total \"{}\", per group too; other functions over it need a column by its name.",
                    self.mentions[ask.mention()].text
                )));
            }
            _ => {}
        }
        self.pending = Pending::Nothing;
        self.ask(ask)?;
        self.last = Some(ask.mention());
        Ok(())
    }

    pub(super) fn ask(&mut self, ask: Ask) -> Result<(), Problem> {
        match self.sketch.ask {
            // "how many products have an average rating above 4": the second is a condition, if a number follows.
            Some(first) if self.compares_next(ask.mention()) && self.sketch.having.is_none() => {
                let Ask::Count(_) = first else {
                    return Err(two_measures());
                };
                self.sketch.having = Some(Having {
                    ask,
                    comparison: Comparison::Equal,
                    number: String::new(),
                });
            }
            Some(_) => return Err(two_measures()),
            None => self.sketch.ask = Some(ask),
        }
        Ok(())
    }

    pub(super) fn compares_next(&self, at: usize) -> bool {
        matches!(
            self.mentions.get(at + 1).map(|m| &m.what),
            Some(What::Op(Op::Compare(..)))
        )
    }

    pub(super) fn rank(&mut self, descending: bool, by: RankBy) {
        self.take_limit();
        // "top 10 most expensive products": the second word says by what.
        self.sketch.rank = Some(Rank { descending, by });
    }

    pub(super) fn first(&mut self, at: usize, first: bool) {
        let number_next = matches!(
            self.mentions.get(at + 1).map(|m| &m.what),
            Some(What::Number(_))
        );
        let rows_next = self.mentions[at + 1..]
            .iter()
            .take(2)
            .any(|m| m.what == What::Op(Op::Rows));
        let by = if first && (number_next || rows_next) {
            RankBy::Key
        } else {
            RankBy::Recency
        };
        self.sketch.listing |= by == RankBy::Key;
        self.rank(!first, by);
    }

    pub(super) fn take_limit(&mut self) {
        if let Some(n) = self.held.take().and_then(|at| self.whole_number(at)) {
            self.sketch.limit = Some(n);
        }
    }

    pub(super) fn whole_number(&self, at: usize) -> Option<u64> {
        match &self.mentions[at].what {
            What::Number(n) => n.parse().ok(),
            _ => None,
        }
    }
}
