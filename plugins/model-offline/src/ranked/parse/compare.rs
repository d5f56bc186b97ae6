//! Comparisons with numbers, dates and averages.

use super::*;

impl Parser<'_> {
    /// "older than 20", "with more than 3 songs", "above the average"
    pub(super) fn comparisons(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            if self.used[at] {
                continue;
            }
            match self.op(at) {
                Some(Op::Compare(Comparison::AtLeast, None))
                    if self.items[at].text.eq_ignore_ascii_case("or more") =>
                {
                    self.or_more(at)?
                }
                Some(Op::Compare(comparison, quality)) => {
                    self.comparison(at, comparison, quality)?
                }
                Some(Op::Between) => self.range(at)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The column right before a comparison.
    pub(super) fn left(&self, at: usize) -> Option<At> {
        // "a distance of more than 1000"
        let of = at
            .checked_sub(2)
            .filter(|b| self.op(b + 1) == Some(Op::Of) && self.items[b + 1].text == "of")
            .filter(|b| {
                self.name(*b)
                    .is_some_and(|n| self.is_column(n) && self.is_numeric(n))
            });
        let before = of.or_else(|| self.back(at, &[Op::Is, Op::Have]))?;
        self.name(before)
            .filter(|n| !self.items[*n].optional)
            .filter(|n| {
                self.is_column(*n) || (self.items[*n].column() > 0.85 && self.is_numeric(*n))
            })
    }

    /// A column of numbers with a number right behind it.
    fn column_behind(&self, at: usize) -> Option<At> {
        let column = self
            .name(at)
            .filter(|n| self.is_column(*n) && self.is_numeric(*n))?;
        let number = self.get(self.skip(column + 1))?;
        matches!(number.kind, Kind::Number(_)).then_some(column)
    }

    /// "above 10 and below 20": the second comparison is about the column of the first.
    pub(super) fn shared_left(&self, at: usize) -> Option<At> {
        let joint = self
            .back(at, &[Op::Is])
            .filter(|b| matches!(self.op(*b), Some(Op::And | Op::Or)))?;
        let number = self.back(joint, &[])?;
        if !self.used[number] || !matches!(self.items[number].kind, Kind::Number(_)) {
            return None;
        }
        let last = self.frame.filters.last().filter(|f| f.at < number)?;
        last.column
    }

    pub(super) fn comparison(
        &mut self,
        at: usize,
        comparison: Comparison,
        quality: Option<Quality>,
    ) -> Result<(), Stuck> {
        let right = self.skip_ops(at + 1, &[Op::Is, Op::Of]);
        // "that cost more than 10"
        let costs = at.checked_sub(1).is_some_and(|b| {
            let text = self.items[b].text.to_lowercase();
            (self.items[b].optional || self.soft(b))
                && matches!(text.as_str(), "cost" | "costs" | "costing" | "priced")
        });
        let quality = quality.or(costs.then_some(Quality::Price));
        if self.negated_before(at) {
            return Err(self.stuck(at));
        }
        let left = self.left(at).or_else(|| self.shared_left(at));
        let (left, right) = match self.column_behind(right) {
            // "after the year 2008"
            Some(column)
                if self.items[column].text.eq_ignore_ascii_case("year")
                    && self.items[column].column() < 0.9 =>
            {
                (None, self.skip(column + 1))
            }
            // "below age 30"
            Some(column) if left.is_none() => (Some(column), self.skip(column + 1)),
            _ => (left, right),
        };
        let filter = |column, quality, test| Filter {
            at,
            column,
            quality,
            test,
            negated: false,
            or: false,
        };
        if self.op(right) == Some(Op::Agg(Aggregate::Average)) {
            let mut end = right + 1;
            let named = self.name(self.skip_ops(end, &[Op::Of]));
            let column = match (left, named) {
                (Some(l), Some(r)) if self.items[r].hits == self.items[l].hits => {
                    end = r + 1;
                    Some(l)
                }
                (Some(l), None) => Some(l),
                (None, Some(r)) if self.is_numeric(r) => {
                    end = r + 1;
                    Some(r)
                }
                _ => return Err(self.stuck(at)),
            };
            self.take(at..end);
            if let Some(l) = column {
                self.used[l] = true;
            }
            self.frame
                .filters
                .push(filter(column, None, Test::Average(comparison)));
            return Ok(());
        }
        if let Some(Kind::Period(period)) = self.get(right).map(|i| i.kind.clone()) {
            let days = facts::bounded(period, comparison);
            self.take(at..right + 1);
            if let Some(l) = left {
                self.used[l] = true;
            }
            self.frame.filters.push(filter(
                left,
                left.is_none().then_some(Quality::Time),
                Test::Days(days),
            ));
            return Ok(());
        }
        let Some(Kind::Number(number)) = self.get(right).map(|i| i.kind.clone()) else {
            return Err(self.stuck(at));
        };
        let temporal = matches!(
            self.items[at].text.to_lowercase().as_str(),
            "after" | "before"
        );
        let measured = |name: At, words: &[&str]| {
            let last = self.items[name].text.to_lowercase();
            words.contains(&last.rsplit(' ').next().unwrap_or_default())
        };
        // "whose weight is heavier than 10" names what is heavier.
        let quality = quality.filter(|q| {
            !left.is_some_and(|l| self.is_numeric(l) && measured(l, lexis::columns_of(*q)))
        });
        if let Some(q) = quality {
            self.take(at..right + 1);
            self.frame
                .filters
                .push(filter(None, Some(q), Test::Number(comparison, number)));
            return Ok(());
        }
        let averaged = left.and_then(|l| {
            let before = l.checked_sub(1).filter(|b| !self.used[*b])?;
            match self.op(before)? {
                Op::Agg(aggregate) if !temporal => Some((before, l, aggregate)),
                _ => None,
            }
        });
        if let Some((before, l, aggregate)) = averaged.filter(|_| self.frame.having.is_none()) {
            // "an average rating above 3"
            self.take(before..right + 1);
            self.frame.having = Some((Figure::Agg(aggregate, l), comparison, number));
            return Ok(());
        }
        let counted_left = left.is_some_and(|l| {
            self.back(l, &[])
                .is_some_and(|b| self.op(b) == Some(Op::NumberOf))
                && !self.is_numeric(l)
        });
        let has = left.is_some_and(|l| (l..at).any(|i| self.op(i) == Some(Op::Have)));
        let left = left.filter(|_| {
            !(has
                && self
                    .name(self.skip_ops(right + 1, &[Op::Distinct, Op::Of]))
                    .is_some())
        });
        if let Some(l) = left
            .filter(|l| self.is_numeric(*l) || temporal || (self.is_column(*l) && !counted_left))
        {
            let test = if temporal && is_year(&number) {
                Test::Year(comparison, number)
            } else {
                Test::Number(comparison, number)
            };
            self.take(at..right + 1);
            self.used[l] = true;
            if let Some(b) = self
                .back(l, &[])
                .filter(|b| self.op(*b) == Some(Op::NumberOf))
            {
                self.used[b] = true;
            }
            self.frame.filters.push(filter(Some(l), None, test));
            return Ok(());
        }
        if temporal && is_year(&number) {
            self.take(at..right + 1);
            self.frame.filters.push(filter(
                None,
                Some(Quality::Time),
                Test::Year(comparison, number),
            ));
            return Ok(());
        }
        if let Some(l) = left.filter(|_| counted_left) {
            return self.have_count(at, right + 1, l, comparison, number);
        }
        let more = self.op(right + 1) == Some(Op::Compare(Comparison::AtLeast, None));
        if more {
            return Err(self.stuck(at));
        }
        // "more than 30000 in salary"
        let inside = (self.op(right + 1) == Some(Op::In)).then(|| self.skip(right + 2));
        let inside = inside.filter(|i| {
            self.name(*i)
                .is_some_and(|n| self.is_column(n) && self.is_numeric(n))
        });
        let counted = inside.unwrap_or_else(|| self.skip_ops(right + 1, &[Op::Distinct, Op::Of]));
        let distinct = (right + 1..counted).any(|i| self.op(i) == Some(Op::Distinct));
        if let Some(r) = self.name(counted) {
            if self.is_numeric(r) && self.items[r].column() >= self.items[r].table() && !distinct {
                self.take(at..counted + 1);
                self.frame
                    .filters
                    .push(filter(Some(r), None, Test::Number(comparison, number)));
                return Ok(());
            }
            if distinct {
                return Err(self.stuck(at));
            }
            return self.have_count(at, counted + 1, r, comparison, number);
        }
        let of_rows = self
            .back(at, &[])
            .is_some_and(|b| self.name(b).is_some_and(|n| self.is_table(n)));
        if of_rows
            && self
                .items
                .get(right + 1)
                .is_none_or(|i| i.is(Op::Break) || matches!(i.op(), Some(Op::In)))
        {
            // "orders over 100"
            self.take(at..right + 1);
            let test = Test::Number(comparison, number);
            self.frame
                .filters
                .push(filter(None, Some(Quality::Amount), test));
            return Ok(());
        }
        Err(self.stuck(at))
    }

    /// "two or more songs"
    pub(super) fn or_more(&mut self, at: usize) -> Result<(), Stuck> {
        let number = at
            .checked_sub(1)
            .and_then(|b| self.get(b))
            .and_then(|i| match &i.kind {
                Kind::Number(n) => Some(n.clone()),
                _ => None,
            });
        let name = self.name(self.skip(at + 1)).filter(|n| self.is_table(*n));
        match (number, name) {
            (Some(number), Some(name)) => {
                self.have_count(at - 1, name + 1, name, Comparison::AtLeast, number)
            }
            _ => Err(self.stuck(at)),
        }
    }

    pub(super) fn have_count(
        &mut self,
        at: usize,
        end: usize,
        what: At,
        comparison: Comparison,
        number: String,
    ) -> Result<(), Stuck> {
        if self.frame.having.is_some() || (self.is_column(what) && self.holds_figures(what)) {
            return Err(self.stuck(at));
        }
        self.take(at..end);
        self.used[what] = true;
        if let Some(b) = self
            .back(what, &[])
            .filter(|b| self.op(*b) == Some(Op::NumberOf))
        {
            self.used[b] = true;
        }
        self.frame.having = Some((Figure::Count(what, false), comparison, number));
        Ok(())
    }

    pub(super) fn range(&mut self, at: usize) -> Result<(), Stuck> {
        let number = |p: &Self, i: usize| match p.get(i).map(|x| &x.kind) {
            Some(Kind::Number(n)) => Some(n.clone()),
            _ => None,
        };
        let first = self.skip(at + 1);
        let and = self.skip_ops(first + 1, &[Op::And, Op::In]);
        let (Some(low), Some(high)) = (number(self, first), number(self, and)) else {
            return Err(self.stuck(at));
        };
        let after = self
            .name(self.skip(and + 1))
            .filter(|n| self.is_numeric(*n));
        let column = self.left(at).or(after).ok_or_else(|| self.stuck(at))?;
        if self.negated_before(at) {
            return Err(self.stuck(at));
        }
        self.take(at..and + 1);
        self.used[column] = true;
        let test = Test::Range(low, high);
        self.frame.filters.push(Filter {
            at,
            column: Some(column),
            quality: None,
            test,
            negated: false,
            or: false,
        });
        Ok(())
    }
}
