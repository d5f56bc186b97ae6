//! What decides about a name that is shown, and what may be left over.

use super::*;
use crate::ranked::standing::{is_alone, only_came};
use crate::words::split;

/// Values of columns that say yes or no.
const FLAGS: &[&str] = &["t", "f", "y", "n", "true", "false", "yes", "no", "0", "1"];

impl Parser<'_> {
    /// Whether a name stands behind the "are" of what is counted.
    pub(super) fn says_what_counted_are(&self, at: At) -> bool {
        let before = self.back(at, &[]).and_then(|b| self.op(b));
        let counts = |f: &Figure| matches!(f, Figure::Count(..));
        before == Some(Op::Is) && self.frame.select.iter().any(counts)
    }

    /// Whether the texts of a column say yes or no.
    pub(super) fn says_yes_or_no(&self, column: ColumnRef) -> bool {
        let values = &self.catalog.column(column).common_values;
        let flag = |v: &String| FLAGS.contains(&v.to_lowercase().as_str());
        !values.is_empty() && values.len() <= 2 && values.iter().all(flag)
    }

    /// Whether a name that may be a table stands in a list of columns: "the grapes and prices of wines".
    pub(super) fn beside_column(&self, at: At) -> bool {
        let item = &self.items[at];
        let column = |i: usize| {
            self.items
                .get(i)
                .is_some_and(|x| x.is_name() && x.column() > 0.0)
        };
        let next = self
            .op(at + 1)
            .is_some_and(|o| matches!(o, Op::And | Op::Comma))
            && column(self.skip(at + 2));
        let before = self.back(at, &[Op::And, Op::Comma]);
        let listed = before.is_some_and(|b| {
            b + 1 < at
                && column(b)
                && (b + 1..at).any(|i| matches!(self.op(i), Some(Op::And | Op::Comma)))
        });
        item.column() >= 0.9 && (next || listed) && self.op(at.wrapping_sub(1)) != Some(Op::Of)
    }

    /// Whether a name is a table with one column of money, and no column is called so.
    pub(super) fn has_amount(&self, at: At) -> bool {
        let item = &self.items[at];
        let behind = self.name(at + 1).is_some_and(|n| self.is_column(n));
        let amount = |t: usize| concept_column(self.catalog.table(t), "amount").is_some();
        let figure =
            |c: ColumnRef| self.catalog.is_figure(c) && !self.catalog.table(c.table).is_view();
        !item.has_column(0.85, figure) && !behind && item.best_table().is_some_and(amount)
    }

    /// "total fines" is their number or the sum of what they amount to.
    pub(super) fn total_of_rows(&self) -> Result<(), Stuck> {
        let both = |at: &usize| {
            let next = self.skip(at + 1);
            let total = self.op(*at) == Some(Op::Agg(Aggregate::Sum))
                && self.items[*at].text.eq_ignore_ascii_case("total");
            let rows = self
                .name(next)
                .filter(|n| self.is_table(*n) && self.has_amount(*n));
            rows.filter(|_| total)
        };
        let Some(rows) = (0..self.items.len()).find_map(|at| both(&at)) else {
            return Ok(());
        };
        let item = &self.items[rows];
        let table = item.best_table().map(|t| self.catalog.table(t));
        let amount = table.and_then(|t| Some(&t.columns[concept_column(t, "amount")?].name));
        let sum = amount.map(|column| format!("sum of {column}"));
        let choices = [format!("number of {}", item.text)].into_iter().chain(sum);
        Err(Stuck::Several(
            format!("total {}", item.text),
            choices.collect(),
        ))
    }

    /// A measure, or a function over the amounts of a table: "the average order value".
    pub(super) fn is_whole(&self, figure: &Figure) -> bool {
        match figure {
            Figure::Measure(..) => true,
            Figure::Agg(_, at) => self.is_table(*at) && self.has_amount(*at),
            _ => false,
        }
    }

    /// "number of orders by status", but not "songs written by a singer".
    pub(super) fn grouping(&self, at: usize) -> bool {
        let figures = self.frame.has_figure();
        let noun = at.checked_sub(1).is_some_and(|b| {
            matches!(self.items[b].kind, Kind::Names | Kind::Measure(_)) && !self.items[b].optional
        });
        let next = self.name(self.skip(at + 1));
        figures && noun && next.is_some_and(|n| !self.is_numeric(n) && !self.are_described(n))
    }

    /// Nothing of weight may be left over.
    pub(super) fn rest(&mut self) -> Result<(), Stuck> {
        for (at, item) in self.items.iter().enumerate() {
            let small = item.kind == Kind::Soft || !self.used[at];
            if small && is_alone(self.items, at) && !only_came(self.items, at) {
                let word = item.text.to_lowercase();
                let is_said =
                    |name: &str| split(name).iter().any(|w| lexis::is_same_verb(&word, w));
                let mut tables = self.catalog.tables.iter();
                self.refuse(
                    !lexis::is_relation(&word) || !tables.any(|t| is_said(&t.plain)),
                    at,
                )?;
                self.frame.verbs.push(at);
            }
            if self.used[at] || item.optional {
                continue;
            }
            let passive = at > 0 && (self.soft(at - 1) || self.items[at - 1].optional);
            let carries = match &item.kind {
                Kind::Soft => false,
                // "payments by card"
                Kind::Op(Op::By)
                    if self
                        .items
                        .get(self.skip(at + 1))
                        .is_some_and(Item::is_value)
                        && self.frame.has_figure() =>
                {
                    false
                }
                // "the names of songs by singers from Chile"
                Kind::Op(Op::By) if self.used.get(self.skip(at + 1)) == Some(&true) => {
                    let plain = |f: &Figure| matches!(f, Figure::Plain(_));
                    let next = self.skip(at + 1);
                    let asked = !self.frame.filters.is_empty() || self.frame.rank.is_some();
                    !(passive
                        || (self.is_table(next) && asked && self.frame.select.iter().all(plain)))
                }
                Kind::Op(Op::By) => !passive,
                Kind::Op(op) => !op.connects() && *op != Op::Or,
                _ => true,
            };
            self.refuse(carries, at)?;
        }
        Ok(())
    }
}
