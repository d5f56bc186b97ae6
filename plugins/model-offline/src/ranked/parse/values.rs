//! Conditions with values and plain numbers, and rows that lack others.

use super::*;
use crate::pick::label_columns;

impl Parser<'_> {
    /// Values with the columns that stand beside them.
    pub(super) fn values(&mut self) -> Result<(), Stuck> {
        self.referring()?;
        let mut at = 0;
        while at < self.items.len() {
            if self.used[at] || !self.items[at].is_value() {
                at += 1;
                continue;
            }
            let before = self.back(at, &[Op::Is, Op::Have]);
            at = match before.map(|b| (b, self.op(b))) {
                Some((mark, Some(Op::Like(place)))) => self.pattern(at, mark, place)?,
                _ => self.value_list(at)?,
            };
        }
        Ok(())
    }

    /// "who reports to Ann", "staff whose manager is Ann": the rows that refer to that one, and not what it refers to.
    fn referring(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            let passes = |item: &&Item| {
                let word = item.text.to_lowercase();
                item.is(Op::Is)
                    || item.is(Op::In) && lexis::holds("to under", &word)
                    || item.kind == Kind::Soft && lexis::holds("the a an", &word)
            };
            let small = self.items[at + 1..].iter().take_while(passes);
            let value = at + 1 + small.count();
            let is_said = self.name(at).is_some_and(|n| self.is_column(n))
                && self.get(value).is_some_and(Item::is_value)
                && !self.same_column(at, value);
            if !is_said {
                self.refuse(self.refers_to_described(at), at)?;
                continue;
            }
            // The value names a row of the table that has the column.
            let names_row = |c: ColumnRef| {
                let label = label_columns(self.catalog.table(c.table));
                let is_name = |v: ColumnRef| v.table == c.table && label.contains(&v.column);
                self.items[value].has_value(is_name)
            };
            let item = &self.items[at];
            let refers = |c: ColumnRef| self.catalog.parent_key(c).is_some() && names_row(c);
            let refers = item.has_column(0.85, refers);
            let is_verb = item.text.to_lowercase().ends_with(" to");
            let is_unknown = !refers && is_verb && item.has_column(0.85, names_row);
            // "reports to Ann Berg", where the first and the last name have a column each, or "to Ann or Bob".
            let is_longer = match self.op(value + 1) {
                Some(Op::Comma | Op::And | Op::Or) => self
                    .values_behind(value)
                    .any(|other| self.share_column(value, other)),
                _ => self.get(value + 1).is_some_and(Item::is_value),
            };
            self.refuse(is_unknown || refers && is_longer, at)?;
            if refers {
                let filter = Filter::new(value, Some(at), Test::RefersTo(value));
                self.keep(at..value + 1, filter);
            }
        }
        Ok(())
    }

    /// "who reports to the person called Ann", "to someone in Bonn": a description of the rows that are referred to.
    fn refers_to_described(&self, at: usize) -> bool {
        let item = &self.items[at];
        let is_verb = item.text.to_lowercase().ends_with(" to");
        let leads = self.items.get(at + 1).is_some_and(|next| match next.op() {
            Some(Op::Is) => true,
            None | Some(Op::In | Op::Both) => is_verb || next.text.eq_ignore_ascii_case("to"),
            _ => false,
        });
        let is_column = self.name(at).is_some_and(|n| self.is_column(n));
        let is_described = |value: usize| {
            let holds_value = |c: ColumnRef| {
                let label = label_columns(self.catalog.table(c.table));
                let is_key = self.catalog.parent_key(c).is_some();
                self.items[value].has_value(|v| {
                    v.table == c.table && (is_key || is_verb && label.contains(&v.column))
                })
            };
            !self.same_column(at, value) && item.has_column(0.85, holds_value)
        };
        is_column && leads && self.values_behind(at).any(is_described)
    }

    /// The values behind a place in its sentence.
    fn values_behind(&self, at: usize) -> impl Iterator<Item = usize> {
        let sentence = at + 1..self.items.len();
        let sentence = sentence.take_while(move |next| self.op(*next) != Some(Op::Break));
        sentence.filter(move |next| self.items[*next].is_value())
    }

    /// "whose name contains 'a'", "contains 'a' or 'b'": patterns of one column, and the place behind them.
    fn pattern(&mut self, at: usize, mark: usize, place: MatchPosition) -> Result<usize, Stuck> {
        let named = self
            .back(mark, &[Op::Is, Op::Have])
            .and_then(|b| self.name(b));
        // "diagnoses containing 'flu'": rows are called so by the column that names them.
        let named = named.filter(|n| self.items[*n].column() > 0.5 || self.is_table(*n));
        let column = self.left(mark).or(named).ok_or_else(|| self.stuck(at))?;
        // "orders that contain fruit": what they are made of, and no part of their name.
        let called = |c: ColumnRef| Some(c.table) == self.items[column].best_table();
        let elsewhere = !self.items[at].hits.is_empty() && !self.items[at].has_value(called);
        self.refuse(self.is_table(column) && elsewhere, mark)?;
        let negated = self.negated_before(mark);
        let (mut from, mut value, mut or) = (mark, at, false);
        loop {
            let item = &self.items[value];
            let text = match &item.kind {
                Kind::Quote(text) => text,
                _ => &item.text,
            };
            let test = Test::Like(place, text.clone());
            let filter = Filter::new(value, Some(column), test);
            self.keep(
                from..value + 1,
                Filter {
                    negated,
                    or,
                    ..filter
                },
            );
            self.used[column] = !self.is_table(column);
            from = value + 1;
            let next = self.skip_ops(from, &[Op::Or]);
            or = (from..next).any(|i| self.op(i) == Some(Op::Or));
            if !or || !self.get(next).is_some_and(Item::is_value) {
                return Ok(from);
            }
            self.refuse(
                negated || !matches!(self.items[next].kind, Kind::Quote(_)),
                next,
            )?;
            value = next;
        }
    }

    /// "in Rome or Bonn", "the genre is novel": values of one column, and the place behind them.
    fn value_list(&mut self, at: usize) -> Result<usize, Stuck> {
        let mut values = vec![at];
        let mut end = at + 1;
        let says = |me: &Self, range: std::ops::Range<usize>, op| {
            range.clone().any(|i| me.op(i) == Some(op))
        };
        // "outside Ulm and Bonn": none of both.
        let before = self.back(at, &[Op::Is, Op::In]);
        let denied = before.is_some_and(|b| self.op(b) == Some(Op::Not));
        let joint = if denied { Op::And } else { Op::Comma };
        loop {
            let next = self.skip_ops(end, &[Op::Comma, Op::Or, Op::In, joint]);
            let or = says(self, end..next, Op::Or) || denied && says(self, end..next, Op::And);
            let joins = or || says(self, end..next, Op::Comma);
            let value = |i: &Item| i.is_value() || or && i.value() > 0.9;
            if !joins || !self.get(next).is_some_and(value) || !self.share_column(at, next) {
                break;
            }
            let text = &self.items[next].text;
            // "in Rome, Rome or in Bonn, Bonn": places in places.
            self.refuse(values.iter().any(|v| self.items[*v].text == *text), next)?;
            values.push(next);
            end = next + 1;
        }
        if says(self, at..end, Op::Or) && self.op(end) == Some(Op::Relative) {
            // "houses or flats with two rooms": whether the condition is for both is not said.
            return Err(self.stuck(end));
        }
        let equal = Op::Compare(Comparison::Equal, None);
        let mut passed = vec![Op::Is, Op::Named, Op::Not, equal];
        if self.items[at].kind == Kind::Names {
            passed.push(Op::Have);
        }
        let left = self.back(at, &passed);
        // "in the town of Ulm", "have a grade of A"
        let of = left
            .filter(|l| self.op(*l) == Some(Op::Of))
            .and_then(|l| l.checked_sub(1));
        let town = of.filter(|t| {
            let place = self
                .back(*t, &[])
                .is_some_and(|b| matches!(self.op(b), Some(Op::In | Op::By | Op::Have)));
            place && self.is_column(*t)
        });
        let named = self
            .back(at, &[Op::Is])
            .is_some_and(|b| self.op(b) == Some(Op::Named));
        let column = town
            .or(left)
            .and_then(|l| self.name(l))
            .filter(|l| self.fits_value(*l, at, named));
        let right = self.name(end).filter(|r| {
            let fits = self.items[*r].column() > 0.5 && self.same_column(*r, at);
            column.is_none() && fits && !self.holds_value(*r, at)
        });
        let both = self
            .back(column.unwrap_or(at), &[])
            .is_some_and(|b| self.op(b) == Some(Op::Both));
        let from = column.map_or(at, |l| l + 1);
        let negated = says(self, from..at, Op::Not)
            || self.negated_before(from)
            || (from != at && self.negated_before(at));
        let filter = Filter::new(at, column.or(right), Test::Values(values));
        self.keep(from..end, Filter { negated, ..filter });
        self.frame.both |= both;
        Ok(end)
    }

    pub(super) fn share_column(&self, a: At, b: At) -> bool {
        let (a, b) = (&self.items[a], &self.items[b]);
        let unknown = a.hits.is_empty() || b.hits.is_empty();
        unknown || a.has_value(|x| b.has_value(|y| x == y))
    }

    /// Whether a name may be the column of the value.
    pub(super) fn fits_value(&self, name: At, value: At, named: bool) -> bool {
        let item = &self.items[name];
        if item.column() < 0.5 || (named && item.table() >= item.column()) {
            return false;
        }
        self.same_column(name, value)
            || (matches!(self.items[value].kind, Kind::Quote(_)) && item.column() >= item.table())
    }

    pub(super) fn same_column(&self, name: At, value: At) -> bool {
        self.items[name].has_column(0.0, |c| self.items[value].has_value(|v| v == c))
    }

    /// "cat toys": the name is that of the table which holds the value, rather than of its column.
    fn holds_value(&self, name: At, value: At) -> bool {
        let item = &self.items[name];
        let held = |t| self.items[value].has_value(|c| c.table == t);
        let best = item.hits.iter().filter(|h| h.score >= item.column());
        best.filter_map(Hit::table).any(held)
    }

    /// Plain numbers and times: "classroom 109", "in 2014", "in March 2024"
    pub(super) fn numbers(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            let filter = match self.get(at).map(|i| i.kind.clone()) {
                Some(Kind::Number(number)) => self.equal(at, number)?,
                Some(Kind::Period(period)) => {
                    let date = |l: &At| {
                        self.is_column(*l) || self.is_of_kind(*l, crate::catalog::Kind::Date)
                    };
                    Filter::timed(
                        at,
                        self.column_of_number(at).filter(date),
                        Test::Days(period),
                    )
                }
                Some(Kind::Clock(time)) => {
                    let test = Test::Clock(Comparison::Equal, time);
                    Filter::timed(at, self.column_of_number(at), test)
                }
                _ => continue,
            };
            self.keep(at..at + 1, filter);
        }
        Ok(())
    }

    /// The column that stands before a number.
    pub(super) fn column_of_number(&self, at: usize) -> Option<At> {
        let equal = Op::Compare(Comparison::Equal, None);
        let before = self.back(at, &[Op::Is, equal]).and_then(|b| self.name(b));
        before
            .filter(|n| self.items[*n].column() > 0.5)
            .or_else(|| {
                // "that have a weight of 10"
                let column = at
                    .checked_sub(2)
                    .filter(|c| self.op(c + 1) == Some(Op::Of))?;
                let had = (0..column).any(|i| matches!(self.op(i), Some(Op::Have | Op::Relative)));
                self.figures(column).filter(|_| had)
            })
    }

    /// What a number that stands alone says.
    fn equal(&mut self, at: usize, number: String) -> Result<Filter, Stuck> {
        if let Some((column, quality, test)) = self.alternative(at) {
            // "born in 1948 or 1949"
            let test = match test {
                Test::Year(c, _) => Test::Year(c, number),
                _ => Test::Number(Comparison::Equal, number),
            };
            let filter = Filter::new(at, column, test);
            return Ok(Filter {
                quality,
                or: true,
                ..filter
            });
        }
        let equal = Test::Number(Comparison::Equal, number.clone());
        let year = Test::Year(Comparison::Equal, number.clone());
        if let Some(column) = self.column_of_number(at) {
            let in_years = is_year(&number) && !self.is_numeric(column);
            return Ok(Filter::new(
                at,
                Some(column),
                if in_years { year } else { equal },
            ));
        }
        let behind = self.back(at, &[]);
        let says_year =
            self.soft(at.wrapping_sub(1)) && self.items[at - 1].text.eq_ignore_ascii_case("year");
        let dated =
            behind.is_some_and(|b| says_year || matches!(self.op(b), Some(Op::In | Op::Of)));
        let since = behind.is_some_and(|b| self.items[b].text.eq_ignore_ascii_case("since"));
        if is_year(&number) && dated && !since {
            return Ok(Filter::timed(at, None, year));
        }
        Err(self.stuck(at))
    }

    /// What a number before "or" is compared with, where the one behind it stands alone.
    fn alternative(&mut self, at: usize) -> Option<(Option<At>, Option<Quality>, Test)> {
        let or = at.checked_sub(1).filter(|o| self.op(*o) == Some(Op::Or))?;
        let number = or.checked_sub(1)?;
        let ends = self.items.get(at + 1).is_none_or(|i| i.is(Op::Break));
        let filter = self.frame.filters.iter().find(|f| f.at == number && ends)?;
        let equal = matches!(
            filter.test,
            Test::Number(Comparison::Equal, _) | Test::Year(Comparison::Equal, _)
        );
        let found = (filter.column, filter.quality, filter.test.clone());
        (equal && !filter.negated).then(|| {
            self.used[or] = true;
            found
        })
    }

    /// "students who do not have any pet"
    pub(super) fn without(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            if self.used[at] || !matches!(self.op(at), Some(Op::Without | Op::Not)) {
                continue;
            }
            let small = [Op::In, Op::Have, Op::Is, Op::Of, Op::By];
            let mut next = self.skip_ops(at + 1, &small);
            while self.items.get(next).is_some_and(|i| i.optional) && !self.is_table(next) {
                // "have not registered in", where a column is `date_registered`.
                next = self.skip_ops(next + 1, &small);
            }
            let related = (at + 1..next).any(|i| self.soft(i) || self.items[i].optional);
            if self.op(at) == Some(Op::Not) && !related {
                continue;
            }
            let value = self
                .frame
                .filters
                .iter()
                .position(|f| f.at == next && !f.negated && matches!(f.test, Test::Values(_)));
            if value.is_some() {
                next = self.skip_ops(next + 1, &[Op::In]);
            }
            let name = self.name(next).filter(|n| self.is_table(*n));
            self.refuse(
                self.frame.without.is_some() || (name.is_none() && value.is_none()),
                at,
            )?;
            self.used[at] = true;
            if let Some(name) = name {
                self.used[name] = true;
            }
            self.frame.without = Some((at, name));
        }
        Ok(())
    }

    /// "A or B" between two conditions.
    pub(super) fn link_filters(&mut self) -> Result<(), Stuck> {
        self.frame.filters.sort_by_key(|f| f.at);
        let ors: Vec<usize> = (0..self.items.len())
            .filter(|i| self.op(*i) == Some(Op::Or) && !self.used[*i])
            .collect();
        for or in ors {
            let after = self
                .frame
                .filters
                .iter()
                .position(|f| f.at > or || f.column.is_some_and(|c| c > or));
            match after.filter(|p| *p > 0) {
                Some(position) => self.frame.filters[position].or = true,
                None => return Err(self.stuck(or)),
            }
        }
        Ok(())
    }
}
