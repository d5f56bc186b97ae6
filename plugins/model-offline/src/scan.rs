//! From mentions to the shape of the question, left to right.

use crate::catalog::{Catalog, ColumnRef, Kind};
use crate::mentions::{Mention, What};
use crate::names::Target;
use crate::problem::Problem;
use crate::sketch::{Ask, Group, Having, Rank, RankBy, Sketch, Test, TestAsk};
use crate::vocabulary::{Aggregate, Comparison, Operator as Op};

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
    Like(crate::vocabulary::Place),
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
            What::BadPeriod(trouble) => Err(Problem::Date(mention.text.clone(), *trouble)),
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

    /// "total" and "number" are columns too, unless what they could work on follows.
    fn is_really_a_name(&self, at: usize, op: Op) -> bool {
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
            Op::Aggregate(_) | Op::Count => !takes_next,
            Op::Revenue | Op::Units => named_column,
            Op::By | Op::And | Op::Or | Op::Not | Op::With => false,
            _ => mention.hits[0].score >= 90,
        }
    }

    fn operator(&mut self, at: usize, op: Op) -> Result<usize, Problem> {
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
            Op::Sold => self.sketch.sold = true,
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
            Op::Currency(code) => self
                .sketch
                .currencies
                .push((code, self.mentions[at].text.clone())),
        }
        Ok(1)
    }

    /// A function is named; after "by" or "highest" it is the measure of a ranking.
    fn aggregate(&mut self, at: usize, next: Pending) -> Result<(), Problem> {
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
    fn measure(&mut self, ask: Ask) -> Result<(), Problem> {
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

    fn ask(&mut self, ask: Ask) -> Result<(), Problem> {
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

    fn compares_next(&self, at: usize) -> bool {
        matches!(
            self.mentions.get(at + 1).map(|m| &m.what),
            Some(What::Op(Op::Compare(..)))
        )
    }

    fn rank(&mut self, descending: bool, by: RankBy) {
        self.take_limit();
        // "top 10 most expensive products": the second word says by what.
        self.sketch.rank = Some(Rank { descending, by });
    }

    fn first(&mut self, at: usize, first: bool) {
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

    fn take_limit(&mut self) {
        if let Some(n) = self.held.take().and_then(|at| self.whole_number(at)) {
            self.sketch.limit = Some(n);
        }
    }

    fn whole_number(&self, at: usize) -> Option<u64> {
        match &self.mentions[at].what {
            What::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    fn number(&mut self, at: usize) -> Result<usize, Problem> {
        let What::Number(number) = self.mentions[at].what.clone() else {
            return Ok(1);
        };
        let before = at.checked_sub(1).map(|i| &self.mentions[i]);
        match self.pending {
            Pending::Compare(comparison, price) => self.compared(at, comparison, price, number),
            Pending::Between(None) => {
                self.pending = Pending::Between(Some(at));
                Ok(1)
            }
            Pending::Between(Some(first)) => {
                let What::Number(low) = self.mentions[first].what.clone() else {
                    return Ok(1);
                };
                self.pending = Pending::Nothing;
                let words = format!("between {low} and {number}");
                let name = self.take_column_before();
                self.test(name, Test::Between(low, number), &words);
                Ok(1)
            }
            _ => {
                let after_rank = matches!(
                    before.map(|b| &b.what),
                    Some(What::Op(Op::Top(_) | Op::First(_)))
                );
                let after_column = self.last.is_some_and(|l| l + 1 == at && self.is_numeric(l));
                if let Some(n) = self.whole_number(at).filter(|_| after_rank) {
                    self.sketch.limit = Some(n);
                } else if after_column {
                    let name = self.take_column_before();
                    self.test(
                        name,
                        Test::Compare(Comparison::Equal, number.clone()),
                        &number,
                    );
                } else {
                    self.hold(at);
                }
                Ok(1)
            }
        }
    }

    fn hold(&mut self, at: usize) {
        if let Some(unused) = self.held.replace(at) {
            self.unknown.push(self.mentions[unused].text.clone());
        }
    }

    /// "price over 100", "more than 5 orders", "average rating above 4", "orders over 100".
    fn compared(
        &mut self,
        at: usize,
        comparison: Comparison,
        price: bool,
        number: String,
    ) -> Result<usize, Problem> {
        self.pending = Pending::Nothing;
        let words = format!("{} {number}", self.mentions[at - 1].text);
        let ask_before = self
            .sketch
            .ask
            .or(self.sketch.having.as_ref().map(|h| h.ask));
        if let Some(having) = self.sketch.having.as_mut().filter(|h| h.number.is_empty()) {
            (having.comparison, having.number) = (comparison, number);
            return Ok(1);
        }
        if let Some(ask) =
            ask_before.filter(|a| Some(a.mention()) == self.last && !matches!(a, Ask::Count(_)))
        {
            self.sketch.ask = None;
            self.sketch.having = Some(Having {
                ask,
                comparison,
                number,
            });
            return Ok(1);
        }
        if let Some(name) = self.last.filter(|l| self.is_numeric(*l)) {
            self.sketch.plain.retain(|p| *p != name);
            self.test(Some(name), Test::Compare(comparison, number), &words);
            return Ok(1);
        }
        let next = at + 1;
        let following = self
            .mentions
            .get(next)
            .filter(|m| m.follows && !price && self.sketch.having.is_none());
        match following.map(|m| (&m.what, m.is_table())) {
            Some((What::Name, true)) => {
                self.sketch.having = Some(Having {
                    ask: Ask::Count(next),
                    comparison,
                    number,
                });
                self.settle(false);
                Ok(2)
            }
            Some((What::Op(Op::Units), _)) if !self.is_really_a_name(next, Op::Units) => {
                self.sketch.having = Some(Having {
                    ask: Ask::Units(next),
                    comparison,
                    number,
                });
                self.settle(false);
                Ok(2)
            }
            Some(_) if self.is_numeric(next) => {
                self.test(Some(next), Test::Compare(comparison, number), &words);
                Ok(2)
            }
            _ => {
                self.test(None, Test::Compare(comparison, number), &words);
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

    fn name(&mut self, at: usize) -> Result<usize, Problem> {
        let mention = &self.mentions[at];
        if self.held.is_some() && self.is_numeric(at) {
            // "5 stars"
            let number = self
                .held
                .take()
                .map(|h| self.mentions[h].text.clone())
                .unwrap_or_default();
            self.test(
                Some(at),
                Test::Compare(Comparison::Equal, number.clone()),
                &number,
            );
            return Ok(1);
        }
        let is_value = mention.has_value()
            && !self.is_date_of_period(at)
            && (mention.value_score() > mention.name_score()
                || self.last.is_some_and(|l| self.values_fit(l, at)));
        let is_flag = self.column_kind(at) == Some(Kind::Boolean)
            && !matches!(self.pending, Pending::Group(_));
        if is_value {
            let words = mention.text.clone();
            let name = self.last.filter(|l| self.values_fit(*l, at));
            self.sketch.plain.retain(|p| Some(*p) != name);
            self.test(name, Test::Value(at), &words);
            if matches!(self.pending, Pending::With | Pending::Group(_)) {
                self.pending = Pending::Nothing;
            }
            self.last = name;
            return Ok(1);
        }
        if is_flag && self.pending != Pending::Without {
            self.test(Some(at), Test::Truth, &mention.text.clone());
            return Ok(1);
        }
        self.name_in_role(at)
    }

    /// "shipped in 2024" is about the day of shipping, though "shipped" is a status too.
    fn is_date_of_period(&self, at: usize) -> bool {
        let dated = self
            .columns(at)
            .any(|c| self.catalog.column(c).kind == Kind::Date);
        dated
            && matches!(
                self.mentions.get(at + 1).map(|m| &m.what),
                Some(What::Period(_))
            )
    }

    /// Whether the mention at `at` names a value of the column at `column`.
    fn values_fit(&self, column: usize, at: usize) -> bool {
        let columns: Vec<ColumnRef> = self.columns(column).collect();
        self.mentions[at]
            .hits
            .iter()
            .any(|h| matches!(&h.target, Target::Value(c, _) if columns.contains(c)))
    }

    fn name_in_role(&mut self, at: usize) -> Result<usize, Problem> {
        let pending = self.pending;
        let table = self.mentions[at].is_table();
        let mut group = false;
        match pending {
            Pending::Count => self.ask(Ask::Count(at))?,
            // "total orders" is their number.
            Pending::Total if table => self.ask(Ask::Count(at))?,
            Pending::Total => self.ask(Ask::Aggregate(Aggregate::Sum, at))?,
            Pending::Aggregate(f) => self.ask(Ask::Aggregate(f, at))?,
            Pending::Group(by) => {
                let measure =
                    by && self.sketch.ask.is_none() && self.is_numeric(at) && !self.is_key(at);
                match &mut self.sketch.rank {
                    Some(rank) if measure && rank.by == RankBy::Measure => {
                        rank.by = RankBy::Column(at)
                    }
                    _ => {
                        self.sketch.groups.push(Group::Name(at));
                        group = true;
                    }
                }
            }
            Pending::Most(descending, counts) => {
                if table && counts {
                    self.sketch.rank = Some(Rank {
                        descending,
                        by: RankBy::Measure,
                    });
                    self.ask(Ask::Count(at))?;
                } else if table {
                    self.sketch.rank = Some(Rank {
                        descending,
                        by: RankBy::Amount,
                    });
                    self.sketch.plain.push(at);
                } else {
                    self.sketch.rank = Some(Rank {
                        descending,
                        by: RankBy::Column(at),
                    });
                }
            }
            Pending::Sorted => {
                let descending = self.sketch.rank.is_some_and(|r| r.descending);
                self.sketch.rank = Some(Rank {
                    descending,
                    by: RankBy::Column(at),
                });
            }
            Pending::Common if table => {
                self.ask(Ask::Units(at))?;
                self.sketch.plain.push(at);
            }
            Pending::Common => self.sketch.groups.push(Group::Name(at)),
            Pending::Without => {
                let test = if table { Test::NoRows } else { Test::Null };
                self.test(Some(at), test, &self.mentions[at].text.clone());
            }
            Pending::With
                if !table
                    && !self.sketch.listing
                    && self.sketch.ask.is_some()
                    && !self.condition_next(at) =>
            {
                self.test(Some(at), Test::NotNull, &self.mentions[at].text.clone());
            }
            _ => {
                if table {
                    self.take_limit();
                }
                self.sketch.plain.push(at);
            }
        }
        self.settle(group);
        self.last = Some(at);
        Ok(1)
    }

    /// Whether a comparison, a value or a text comes next, so that the column belongs to it.
    fn condition_next(&self, at: usize) -> bool {
        self.mentions.get(at + 1).is_some_and(|m| {
            let op = matches!(
                m.what,
                What::Op(Op::Compare(..) | Op::Between | Op::Like(_) | Op::Empty | Op::Not)
            );
            op || matches!(m.what, What::Number(_) | What::Text(_) | What::Period(_))
                || m.has_value()
        })
    }

    fn is_key(&self, at: usize) -> bool {
        self.columns(at)
            .any(|c| self.catalog.table(c.table).is_key(c.column))
    }

    fn settle(&mut self, group: bool) {
        self.pending = Pending::Nothing;
        self.last_was_group = group;
        self.last = None;
    }

    fn finish(mut self) -> Result<Sketch, Problem> {
        for unused in [self.held, self.negated].into_iter().flatten() {
            self.unknown.push(self.mentions[unused].text.clone());
        }
        if !self.unknown.is_empty() {
            return Err(Problem::Unknown(self.unknown));
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
