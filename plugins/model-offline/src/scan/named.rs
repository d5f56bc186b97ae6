//! Names of the catalog: tables, columns and values in their roles.

use super::{Pending, Scan};
use crate::catalog::{ColumnRef, Kind};
use crate::mentions::What;
use crate::names::Target;
use crate::problem::Problem;
use crate::sketch::{Ask, Group, Rank, RankBy, Test};
use crate::vocabulary::{Aggregate, Comparison, Operator as Op};

impl Scan<'_> {
    pub(super) fn name(&mut self, at: usize) -> Result<usize, Problem> {
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
            && !(self.pending == Pending::Without && self.column_kind(at).is_some())
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
    pub(super) fn is_date_of_period(&self, at: usize) -> bool {
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
    pub(super) fn values_fit(&self, column: usize, at: usize) -> bool {
        let columns: Vec<ColumnRef> = self.columns(column).collect();
        self.mentions[at]
            .hits
            .iter()
            .any(|h| matches!(&h.target, Target::Value(c, _) if columns.contains(c)))
    }

    pub(super) fn name_in_role(&mut self, at: usize) -> Result<usize, Problem> {
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
                // "never ordered" is about rows of another table, "never delivered" may be about a date of this one.
                let dated = self
                    .columns(at)
                    .any(|c| self.catalog.column(c).kind == Kind::Date);
                let test = if table || dated {
                    Test::NoRows
                } else {
                    Test::Null
                };
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
            _ if self.sketch.ask.is_some() && self.column_kind(at) == Some(Kind::Date) => {
                // "the amount paid": what has such a date.
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
    pub(super) fn condition_next(&self, at: usize) -> bool {
        self.mentions.get(at + 1).is_some_and(|m| {
            let op = matches!(
                m.what,
                What::Op(Op::Compare(..) | Op::Between | Op::Like(_) | Op::Empty | Op::Not)
            );
            op || matches!(m.what, What::Number(_) | What::Text(_) | What::Period(_))
                || m.has_value()
        })
    }

    pub(super) fn is_key(&self, at: usize) -> bool {
        self.columns(at)
            .any(|c| self.catalog.table(c.table).is_key(c.column))
    }
}
