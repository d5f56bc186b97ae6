//! Numbers: how many rows, or what a column or a total is compared with.

use super::{Pending, Scan};
use crate::mentions::What;
use crate::problem::Problem;
use crate::sketch::{Ask, Having, Test};
use crate::vocabulary::{Comparison, Operator as Op};

impl Scan<'_> {
    pub(super) fn number(&mut self, at: usize) -> Result<usize, Problem> {
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
                    // "below age 30"
                    let comparison = match at.checked_sub(2).map(|i| &self.mentions[i].what) {
                        Some(What::Op(Op::Compare(comparison, false))) => *comparison,
                        _ => Comparison::Equal,
                    };
                    let name = self.take_column_before();
                    self.test(name, Test::Compare(comparison, number.clone()), &number);
                } else {
                    self.hold(at);
                }
                Ok(1)
            }
        }
    }

    pub(super) fn hold(&mut self, at: usize) {
        if let Some(unused) = self.held.replace(at) {
            self.unknown.push(self.mentions[unused].text.clone());
        }
    }

    /// "price over 100", "more than 5 orders", "average rating above 4", "orders over 100".
    pub(super) fn compared(
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
}
