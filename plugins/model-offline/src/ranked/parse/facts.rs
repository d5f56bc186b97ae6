//! Conditions and groups that the kind of a column tells: dates, flags, missing values, units of time.

use super::*;
use crate::catalog::Kind as Type;
use crate::words::split;

impl Parser<'_> {
    /// Whether a name may be a column of this kind.
    pub(super) fn is_of_kind(&self, at: At, kind: Type) -> bool {
        self.items[at].has_column(0.85, |c| self.catalog.column(c).kind == kind)
    }

    /// "shipped in 2024" is about the day of shipping, though "shipped" is a status too; "registered before 2023".
    pub(super) fn dated(&mut self) {
        for at in 0..self.items.len() {
            let item = &self.items[at];
            // What stands right before a time is the date that it is about, though it is only a part of its name.
            let date = |c: ColumnRef| self.catalog.column(c).kind == Type::Date;
            let is_part = !item.is_table() && item.has_column(item.column(), date);
            let is_date = self.is_of_kind(at, Type::Date) || is_part && !item.is_value();
            if self.used[at] || item.kind != Kind::Names || !is_date {
                continue;
            }
            let next = self.skip_ops(at + 1, &[Op::In]);
            let (compared, place) = match self.op(next) {
                Some(Op::Compare(c, None)) => (c, self.skip(next + 1)),
                _ => (Comparison::Equal, next),
            };
            let test = match self.get(place).map(|i| &i.kind) {
                Some(Kind::Period(period)) => Test::Days(bounded(*period, compared)),
                Some(Kind::Number(n))
                    if is_year(n)
                        && place > at + 1
                        && !self.items[next].text.eq_ignore_ascii_case("over") =>
                {
                    Test::Year(compared, n.clone())
                }
                _ => continue,
            };
            let negated = self.negated_before(at);
            // "predicted to graduate in 2023", for `predicted_graduation`.
            let columns = |at: usize| self.items[at].hits.iter().filter_map(Hit::column);
            let whole = self.back(at, &[Op::In]).filter(|b| {
                let same = columns(*b).any(|c| date(c) && columns(at).any(|o| o == c));
                same && self.name(*b).is_some() && !self.is_table(*b)
            });
            whole.into_iter().for_each(|b| self.used[b] = true);
            self.keep(
                at..place + 1,
                Filter {
                    negated,
                    ..Filter::new(at, Some(at), test)
                },
            );
        }
    }

    /// "fines that were paid": there is a date of it.
    pub(super) fn happened(&mut self) {
        for at in 0..self.items.len() {
            if self.items[at].happened && !self.used[at] {
                let negated = !self.negated_before(at);
                let filter = Filter::new(at, Some(at), Test::Missing);
                self.keep(at..at + 1, Filter { negated, ..filter });
            }
        }
    }

    /// "products that are not discontinued", "newsletter customers": a column that is true or false.
    pub(super) fn flags(&mut self) {
        for at in 0..self.items.len() {
            let grouped = at > 0
                && matches!(
                    self.op(at - 1),
                    Some(Op::By | Op::Each | Op::And | Op::Comma | Op::Distinct)
                );
            let is_boolean = self.is_of_kind(at, Type::Boolean);
            if self.name(at).is_none() || grouped || !(is_boolean || self.says_so(at)) {
                continue;
            }
            let lacks = self
                .back(at, &[])
                .filter(|b| self.op(*b) == Some(Op::Without) && !self.used[*b]);
            if let Some(lacks) = lacks {
                self.used[lacks] = true;
            }
            let negated = self.negated_before(at) || lacks.is_some();
            self.keep(
                at..at,
                Filter {
                    negated,
                    ..Filter::new(at, Some(at), Test::Truth)
                },
            );
        }
    }

    /// Whether a column of the texts yes and no is said of rows: "approved drugs", "drugs that are approved", and not
    /// "the approval of each drug".
    fn says_so(&self, at: At) -> bool {
        let flag = |c: ColumnRef| self.catalog.column(c).yes().is_some();
        let own = |t: usize| self.items[at].has_column(0.85, |c| flag(c) && c.table == t);
        let rows = |at: At| self.item_rows(at).is_some_and(own);
        let before = self.back(at, &[]).filter(|b| !self.is_article(b + 1..at));
        let start = (0..at)
            .rfind(|i| self.op(*i) == Some(Op::Break))
            .unwrap_or(0);
        let spoken = (start..at).any(rows);
        let ends = self
            .items
            .get(at + 1)
            .is_none_or(|i| i.op().is_some() && !i.is(Op::Of));
        let is_said = before.is_some_and(|b| {
            let says = matches!(self.op(b), Some(Op::Is | Op::Not | Op::Without));
            spoken && (says || ends && rows(b))
        });
        rows(at + 1) || is_said
    }

    /// The table that a name can only be.
    fn item_rows(&self, at: At) -> Option<usize> {
        let item = self.items.get(at).filter(|i| i.is_table())?;
        item.best_table()
    }

    fn is_article(&self, mut range: std::ops::Range<usize>) -> bool {
        range.any(|i| self.items[i].says("the a an"))
    }

    /// "customers without a phone", "reviews that have a comment", "shipments that were never delivered".
    pub(super) fn missing(&mut self) {
        let counts = self.items.iter().any(|i| i.is(Op::HowMany));
        for at in 0..self.items.len() {
            let lacks = self.op(at) == Some(Op::Without);
            let has = counts
                && matches!(self.op(at), Some(Op::Have | Op::Relative))
                && matches!(self.items[at].text.as_str(), "have" | "has" | "with");
            if self.used[at] || !(lacks || has) {
                continue;
            }
            let column = self.skip(at + 1);
            let Some(item) = self.get(column).filter(|i| i.kind == Kind::Names) else {
                continue;
            };
            let never = lacks && self.is_date_of_rows_before(column);
            let plain = item.is_name() && item.column() > item.table() && item.column() >= 0.85;
            let ends = self.items.get(column + 1).is_none_or(|i| {
                matches!(i.kind, Kind::Soft) || matches!(i.op(), Some(Op::Break | Op::And))
            });
            if (plain && ends && self.may_be_empty(column)) || never {
                let filter = Filter::new(at, Some(column), Test::Missing);
                self.keep(
                    at..at + 1,
                    Filter {
                        negated: has,
                        ..filter
                    },
                );
            }
        }
    }

    /// "out of stock", "are in stock": nothing of what a column counts, or something of it.
    pub(super) fn stocked(&mut self) {
        for at in 0..self.items.len() {
            let out =
                self.items[at].text.eq_ignore_ascii_case("out") && self.op(at + 1) == Some(Op::Of);
            let place = at + 1 + usize::from(out);
            let is = at
                .checked_sub(1)
                .is_some_and(|b| matches!(self.op(b), Some(Op::Is | Op::Not)));
            let ends = self
                .items
                .get(place + 1)
                .is_none_or(|i| matches!(i.op(), Some(Op::Break | Op::And)));
            let held = self.items[at].text.eq_ignore_ascii_case("in") && is && ends;
            let Some(column) = self.figures(place).filter(|_| out || held) else {
                continue;
            };
            let comparison = if out {
                Comparison::Equal
            } else {
                Comparison::Above
            };
            let negated = self.negated_before(at);
            let test = Test::Number(comparison, "0".to_owned());
            let filter = Filter::new(at, Some(column), test);
            self.keep(at..place, Filter { negated, ..filter });
        }
    }

    /// Whether a word is a date of rows that the question names before it: "shipments that were never delivered".
    fn is_date_of_rows_before(&self, at: At) -> bool {
        let tables: Vec<usize> = self.items[..at]
            .iter()
            .filter_map(Item::best_table)
            .collect();
        let word = self.items[at].text.to_lowercase();
        let fits =
            |c: ColumnRef| self.catalog.column(c).kind == Type::Date && tables.contains(&c.table);
        // "not returned", for `return_date`
        let says = |c: ColumnRef| {
            let name = split(&self.catalog.column(c).plain);
            word.ends_with("ed") && name.iter().any(|part| lexis::is_same_verb(&word, part))
        };
        self.items[at].has_column(0.85, fits)
            || self.items[at].has_column(0.0, |c| fits(c) && says(c))
    }

    /// Whether the columns that a name means may have no value, as far as the catalog tells.
    fn may_be_empty(&self, at: At) -> bool {
        let says_no = |v: &String| matches!(v.to_lowercase().as_str(), "no" | "none" | "n");
        let item = &self.items[at];
        item.has_column(item.column(), |c| {
            let source = self.catalog.column(c);
            source.nullable && !self.says_yes_or_no(c) && !source.common_values.iter().any(says_no)
        })
    }

    /// "per month", "monthly", "which month", "per month, by visit date"
    pub(super) fn units(&mut self) {
        for at in 0..self.items.len() {
            let Kind::Unit(unit) = self.items[at].kind else {
                continue;
            };
            self.used[at] = true;
            let before = at
                .checked_sub(1)
                .filter(|b| matches!(self.op(*b), Some(Op::By | Op::Each)));
            if let Some(before) = before {
                self.used[before] = true;
            }
            let by = self.skip_ops(at + 1, &[Op::Comma]);
            let date = self
                .name(self.skip(by + 1))
                .filter(|n| self.op(by) == Some(Op::By) && self.is_of_kind(*n, Type::Date));
            if let Some(date) = date {
                self.take(at..date + 1);
            }
            let date = date.or_else(|| self.verb_of_date());
            self.frame.units.push((date, unit));
        }
    }

    /// "in which month did most members join": the verb that says which date is meant.
    fn verb_of_date(&mut self) -> Option<At> {
        let date = |c: ColumnRef| self.catalog.column(c).kind == Type::Date;
        let is_verb = |at: &At| {
            let ends = ["ed", "ing"]
                .iter()
                .any(|e| self.items[*at].text.ends_with(e));
            let closes = self.items.get(at + 1).is_none_or(|i| i.is(Op::Break));
            ends || closes && at.checked_sub(1).is_some_and(|b| self.is_table(b))
        };
        let is_date = |at: &At| {
            self.name(*at).is_some_and(|_| {
                let item = &self.items[*at];
                !item.is_table() && item.has_column(item.column(), date)
            })
        };
        let mut found = (0..self.items.len()).filter(|at| is_date(at) && is_verb(at));
        let only = found.next().filter(|_| found.next().is_none())?;
        self.used[only] = true;
        Some(only)
    }

    /// "the first 10 rows of orders"
    pub(super) fn first_rows(&mut self) {
        let found = self
            .items
            .iter()
            .enumerate()
            .find_map(|(at, i)| match i.kind {
                Kind::FirstRows(n) => Some((at, n)),
                _ => None,
            });
        if let Some((at, n)) = found {
            self.used[at] = true;
            self.frame.first_rows = Some(n);
        }
    }

    /// "orders by status", "revenue by channel and status": a few words without a verb.
    pub(super) fn short_groups(&mut self) {
        let opens = self.items.first().is_some_and(|i| {
            i.is_name() && self.is_table(0)
                || matches!(i.kind, Kind::Measure(_))
                || matches!(i.op(), Some(Op::Agg(_) | Op::NumberOf | Op::HowMany))
        });
        let ranks = self.items.iter().any(|i| {
            matches!(
                i.op(),
                Some(Op::Top | Op::Most(..) | Op::OrderBy | Op::Common(_))
            )
        });
        let Some(by) = (0..self.items.len()).find(|i| {
            self.op(*i) == Some(Op::By) && !self.used[*i] && !self.are_described(self.skip(i + 1))
        }) else {
            return;
        };
        let said = |i: usize| {
            matches!(
                self.items[i].kind,
                Kind::Names | Kind::Measure(_) | Kind::Unit(_)
            ) || self.soft(i) && self.items[i].text == "value"
        };
        let clean = (0..by).all(|i| {
            said(i)
                || matches!(
                    self.op(i),
                    Some(
                        Op::Agg(_) | Op::NumberOf | Op::HowMany | Op::Distinct | Op::Of | Op::Each
                    )
                )
        });
        if !opens || ranks || !clean || by == 0 {
            return;
        }
        let mut next = self.skip(by + 1);
        let mut found = Vec::new();
        while let Some(name) = self.name(next) {
            found.push(name);
            if self.op(name + 1) != Some(Op::And) {
                break;
            }
            next = self.skip(name + 2);
        }
        if let Some(last) = found.last().copied() {
            self.take(by..last + 1);
            self.frame.groups.extend(found);
        }
    }

    /// "albums by artists whose name is long", "by artists with a long name": certain rows, and no group.
    pub(super) fn are_described(&self, at: At) -> bool {
        let described = |i: &Item| i.says("whose who which that with");
        let next = self.items.get(at + 1);
        next.is_some_and(|i| i.is(Op::Relative) && described(i)) && self.is_table(at)
    }

    /// "Which writers live in Rome, and how many books did they write?" counts the books of each writer.
    pub(super) fn counted_beside(&mut self) {
        let Some(subject) = self.frame.subject else {
            return;
        };
        let counts = |f: &Figure| match f {
            Figure::Count(at, _) => {
                let breaks = (subject..*at).any(|i| self.op(i) == Some(Op::Break));
                breaks && self.items[*at].best_table() != self.items[subject].best_table()
            }
            _ => false,
        };
        let frame = &self.frame;
        let beside = frame.groups.is_empty()
            && frame.units.is_empty()
            && frame.rank.is_none()
            && frame.having.is_none();
        if beside && !frame.select.is_empty() && frame.select.iter().all(counts) {
            self.frame.groups.push(subject);
        }
    }

    /// Groups without a figure are counted: "orders by status".
    pub(super) fn counted_groups(&mut self) {
        let grouped = !self.frame.units.is_empty() || !self.frame.groups.is_empty();
        let ranked = self.frame.rank.is_some() || !self.frame.order.is_empty();
        if let (true, true, false, [table]) = (
            grouped,
            self.frame.select.is_empty(),
            ranked,
            self.frame.tables.as_slice(),
        ) && self.items.first().is_some_and(Item::is_name)
        {
            self.frame.select.push(Figure::Count(*table, false));
        }
    }

    /// "when was the last order"
    pub(super) fn ends(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            let Kind::End(last) = self.items[at].kind else {
                continue;
            };
            let rows = self
                .name(self.skip(at + 1))
                .filter(|n| self.is_table(*n))
                .ok_or_else(|| self.stuck(at))?;
            let end = if last { Aggregate::Max } else { Aggregate::Min };
            self.take(at..rows + 1);
            self.frame.tables.push(rows);
            self.frame.subject = Some(rows);
            self.frame.select.push(Figure::End(end, rows));
        }
        Ok(())
    }

    /// "orders that contain the product 'Blue Mug'": what follows is rows, not a part of a text.
    pub(super) fn holding(&mut self) {
        for at in 0..self.items.len() {
            let rows = self
                .name(self.skip(at + 1))
                .is_some_and(|n| self.is_table(n));
            let value = self.get(self.skip(at + 1) + 1).is_some_and(Item::is_value);
            if matches!(self.op(at), Some(Op::Like(_))) && rows && value {
                self.used[at] = true;
            }
        }
    }

    /// Whether a place says that the rows of a name are sold, where some table holds pieces sold.
    pub(super) fn are_sold(&self, name: At, at: At) -> bool {
        let word = self.get(at).map(|i| i.text.to_lowercase());
        let said = word.is_some_and(|w| lexis::holds("sold bought purchased", &w));
        let lines = measures::candidates(self.catalog, Measure::Units);
        said && self.is_table(name) && !lines.is_empty()
    }

    /// Whether the lines of what is sold refer to the rows of a name.
    pub(super) fn sells(&self, name: At) -> bool {
        let table = self.items[name].best_table();
        let lines = measures::candidates(self.catalog, Measure::Units);
        let mut keys = lines
            .iter()
            .flat_map(|l| &self.catalog.table(l.base).foreign_keys);
        keys.any(|key| Some(key.target) == table)
    }

    /// "how many products were sold": the pieces of them.
    pub(super) fn sold(&mut self) -> Result<(), Stuck> {
        let all = 0..self.items.len();
        let counted = all.clone().find(|at| self.op(*at) == Some(Op::HowMany));
        let counted = counted.filter(|c| !self.used[*c]);
        let grouped = !self.frame.groups.is_empty() || !self.frame.units.is_empty();
        // "products sold per category"
        let opens = Some(0).filter(|_| grouped && self.are_sold(0, 1));
        let name = counted.map(|c| self.skip(c + 1)).or(opens);
        let Some(name) = name.and_then(|n| self.name(n)) else {
            return Ok(());
        };
        let Some(at) = all.clone().find(|at| self.are_sold(name, *at)) else {
            return Ok(());
        };
        if self.items.iter().any(|i| i.is(Op::Distinct)) {
            return Ok(());
        }
        self.refuse(!self.sells(name), at)?;
        self.take(name..name + 1);
        self.take(at..at + 1);
        self.take(counted.map_or(0..0, |c| c..c + 1));
        let figure = Figure::Measure(Measure::Units, name);
        self.frame.select.push(figure);
        Ok(())
    }
}

/// A period with a comparison before it: "after March 2024".
pub fn bounded(period: Period, comparison: Comparison) -> Period {
    Period {
        from: match comparison {
            Comparison::Above => period.to,
            Comparison::AtLeast | Comparison::Equal => period.from,
            _ => None,
        },
        to: match comparison {
            Comparison::Below => period.from,
            Comparison::AtMost | Comparison::Equal => period.to,
            _ => None,
        },
    }
}
