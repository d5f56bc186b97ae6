//! Comparisons with numbers, dates and averages.

use super::*;

impl Parser<'_> {
    /// "older than 20", "with more than 3 songs", "above the average"
    pub(super) fn comparisons(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            match self.op(at).filter(|_| !self.used[at]) {
                Some(Op::Compare(comparison, quality))
                    if self.items[at].text.to_lowercase().starts_with("or ") =>
                {
                    self.or_more(at, comparison, quality)?
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

    fn number(&self, at: usize) -> Option<String> {
        match self.get(at).map(|i| &i.kind) {
            Some(Kind::Number(number)) => Some(number.clone()),
            _ => None,
        }
    }

    /// The name at a place, if it is a column of numbers.
    pub(super) fn figures(&self, at: usize) -> Option<At> {
        self.name(at)
            .filter(|n| self.is_column(*n) && self.is_numeric(*n))
    }

    /// The column right before a comparison.
    pub(super) fn left(&self, at: usize) -> Option<At> {
        // "a distance of more than 1000"
        let of = at.checked_sub(2).filter(|b| self.items[b + 1].text == "of");
        let before = of.filter(|b| self.figures(*b).is_some());
        let before = before.or_else(|| self.back(at, &[Op::Is, Op::Have]))?;
        self.name(before).filter(|n| {
            let item = &self.items[*n];
            !item.optional && (self.is_column(*n) || item.column() > 0.85 && self.is_numeric(*n))
        })
    }

    /// "above 10 and below 20": the second comparison is about the column of the first.
    fn shared_left(&self, at: usize) -> Option<At> {
        let joint = self.back(at, &[Op::Is])?;
        let number = self.back(joint, &[])?;
        let joins = matches!(self.op(joint), Some(Op::And | Op::Or));
        let compared = self.used[number] && matches!(self.items[number].kind, Kind::Number(_));
        let last = self
            .frame
            .filters
            .last()
            .filter(|f| joins && compared && f.at < number)?;
        last.column
    }

    /// "that cost more than 10", "that lasted more than 3 days"
    fn costs(&self, at: usize) -> Option<Quality> {
        let verb = at
            .checked_sub(1)
            .filter(|b| self.items[*b].optional || self.soft(*b))?;
        let text = self.items[verb].text.to_lowercase();
        let lasts =
            || lexis::holds("last lasts lasted lasting took", &text).then_some(Quality::Length);
        lexis::holds("cost costs costing priced", &text)
            .then_some(Quality::Price)
            .or_else(lasts)
    }

    fn comparison(
        &mut self,
        at: usize,
        comparison: Comparison,
        quality: Option<Quality>,
    ) -> Result<(), Stuck> {
        let not = self.negated_before(at);
        self.refuse(not, at)?;
        let mut right = self.skip_ops(at + 1, &[Op::Is, Op::Of]);
        let mut left = self.left(at).or_else(|| self.shared_left(at));
        let behind = self.figures(right);
        if let Some((column, number)) = behind.map(|c| (c, self.skip(c + 1)))
            && self.number(number).is_some()
        {
            let item = &self.items[column];
            if item.text.eq_ignore_ascii_case("year") && item.column() < 0.9 {
                // "after the year 2008"
                (left, right) = (None, number);
            } else if left.is_none() {
                // "below age 30"
                (left, right) = (Some(column), number);
            }
        }
        if self.op(right) == Some(Op::Agg(Aggregate::Average)) {
            return self.average((at, right), left, comparison, quality);
        }
        if let Some(Kind::Period(period)) = self.get(right).map(|i| i.kind.clone()) {
            // What is older than a day was before it.
            self.refuse(quality.is_some(), at)?;
            let days = Test::Days(bounded(period, comparison));
            self.keep(at..right + 1, Filter::timed(at, left, days));
            return Ok(());
        }
        if let Some(Kind::Clock(time)) = self.get(right).map(|i| i.kind.clone()) {
            let filter = Filter::timed(at, left, Test::Clock(comparison, time));
            self.keep(at..right + 1, filter);
            return Ok(());
        }
        let number = self.number(right).ok_or_else(|| self.stuck(at))?;
        let text = self.items[at].text.to_lowercase();
        let temporal = [
            "after",
            "before",
            "later than",
            "earlier than",
            "prior to",
            "until",
        ]
        .iter()
        .any(|end| text.ends_with(end));
        let in_years = temporal && is_year(&number);
        // "whose weight is heavier than 10" names what is heavier.
        let measures = |l: At, q: Quality| {
            let last = self.items[l].text.to_lowercase();
            let last = last.rsplit(' ').next().unwrap_or_default().to_owned();
            self.is_numeric(l) && lexis::columns_of(q).contains(&last.as_str())
        };
        let quality = quality.or_else(|| self.costs(at));
        if let Some(quality) = quality.filter(|q| !left.is_some_and(|l| measures(l, *q))) {
            let test = Test::Number(comparison, number);
            self.keep(at..right + 1, Filter::of_quality(at, quality, test));
            return Ok(());
        }
        let aggregate = left.and_then(|l| {
            let before = l.checked_sub(1).filter(|b| !self.used[*b])?;
            match self.op(before)? {
                Op::Agg(aggregate) if !temporal && self.frame.having.is_none() => {
                    Some((before, aggregate, l))
                }
                _ => None,
            }
        });
        if let Some((before, aggregate, column)) = aggregate {
            // "an average rating above 3"
            self.take(before..right + 1);
            self.frame.having = Some((Figure::Agg(aggregate, column), comparison, number));
            return Ok(());
        }
        let number_of = left
            .and_then(|l| self.back(l, &[]))
            .filter(|b| self.op(*b) == Some(Op::NumberOf));
        let counts = number_of.is_some() && left.is_some_and(|l| !self.is_numeric(l));
        let counted = self.skip_ops(right + 1, &[Op::Distinct, Op::Of]);
        let has = left.is_some_and(|l| (l..at).any(|i| self.op(i) == Some(Op::Have)));
        let left = left.filter(|_| !has || self.name(counted).is_none());
        if let Some(l) =
            left.filter(|l| self.is_numeric(*l) || temporal || self.is_column(*l) && !counts)
        {
            let test = if in_years {
                Test::Year(comparison, number)
            } else {
                Test::Number(comparison, number)
            };
            if let Some(number_of) = number_of {
                self.used[number_of] = true;
            }
            self.keep(at..right + 1, Filter::new(at, Some(l), test));
            return Ok(());
        }
        if in_years {
            self.keep(
                at..right + 1,
                Filter::timed(at, None, Test::Year(comparison, number)),
            );
            return Ok(());
        }
        // "more than 30000 in salary"
        let inside = (self.op(right + 1) == Some(Op::In)).then(|| self.skip(right + 2));
        let counted = inside
            .filter(|i| self.figures(*i).is_some())
            .unwrap_or(counted);
        let distinct = (right + 1..counted).any(|i| self.op(i) == Some(Op::Distinct));
        if let Some(name) = self.name(counted) {
            self.refuse(distinct, at)?;
            if self.is_numeric(name) && self.items[name].column() >= self.items[name].table() {
                let test = Test::Number(comparison, number);
                self.keep(at..counted + 1, Filter::new(at, Some(name), test));
                return Ok(());
            }
            return self.have_count(at, counted + 1, name, comparison, number);
        }
        // "orders over 100"
        let rows = self.back(at, &[]).and_then(|b| self.name(b));
        let ends = self
            .items
            .get(right + 1)
            .is_none_or(|i| i.is(Op::Break) || i.is(Op::In));
        self.refuse(!(ends && rows.is_some_and(|n| self.is_table(n))), at)?;
        let test = Test::Number(comparison, number);
        self.keep(at..right + 1, Filter::of_quality(at, Quality::Amount, test));
        Ok(())
    }

    /// "above the average", "above the average age"
    fn average(
        &mut self,
        (at, right): (usize, usize),
        left: Option<At>,
        comparison: Comparison,
        quality: Option<Quality>,
    ) -> Result<(), Stuck> {
        let named = self.name(self.skip_ops(right + 1, &[Op::Of]));
        if let (None, None, Some(quality)) = (left, named, quality) {
            // "who are older than average"
            let test = Test::Average(comparison);
            self.keep(at..right + 1, Filter::of_quality(at, quality, test));
            return Ok(());
        }
        let (column, end) = match (left, named) {
            (Some(l), Some(r)) if self.items[r].hits == self.items[l].hits => (l, r + 1),
            (Some(l), None) => (l, right + 1),
            (None, Some(r)) if self.is_numeric(r) => (r, r + 1),
            _ => return Err(self.stuck(at)),
        };
        self.keep(
            at..end,
            Filter::new(at, Some(column), Test::Average(comparison)),
        );
        Ok(())
    }

    /// "two or more songs", "a rating of 4 or higher"
    fn or_more(
        &mut self,
        at: usize,
        comparison: Comparison,
        quality: Option<Quality>,
    ) -> Result<(), Stuck> {
        let number = at.checked_sub(1).and_then(|b| self.number(b));
        let number = number.ok_or_else(|| self.stuck(at))?;
        if let Some(column) = self
            .column_of_number(at - 1)
            .filter(|c| self.is_numeric(*c))
        {
            let test = Test::Number(comparison, number);
            self.keep(at - 1..at + 1, Filter::new(at - 1, Some(column), test));
            return Ok(());
        }
        if let Some(quality) = quality {
            // "members who are 60 or older"
            let test = Test::Number(comparison, number);
            self.keep(at - 1..at + 1, Filter::of_quality(at, quality, test));
            return Ok(());
        }
        let name = self.name(self.skip(at + 1)).filter(|n| self.is_table(*n));
        let name = name.ok_or_else(|| self.stuck(at))?;
        self.have_count(at - 1, name + 1, name, comparison, number)
    }

    fn have_count(
        &mut self,
        at: usize,
        end: usize,
        what: At,
        by: Comparison,
        number: String,
    ) -> Result<(), Stuck> {
        self.refuse(self.frame.having.is_some(), at)?;
        if self.holds_count(what) && !self.is_narrowed(what) {
            return Err(self.counted_two_ways(what, what));
        }
        self.take(at..end);
        self.used[what] = true;
        self.frame.having = Some((Figure::Count(what, false), by, number));
        Ok(())
    }

    /// "between 3 and 5"
    fn range(&mut self, at: usize) -> Result<(), Stuck> {
        let first = self.skip(at + 1);
        let last = self.skip_ops(first + 1, &[Op::And, Op::In]);
        let numbers = self.number(first).zip(self.number(last));
        let after = self
            .name(self.skip(last + 1))
            .filter(|n| self.is_numeric(*n));
        // "founded between 1850 and 1900", where a column of numbers is called so
        let verb = at.checked_sub(1).and_then(|b| self.figures(b));
        let column = self
            .left(at)
            .or(after)
            .or(verb.filter(|b| self.items[*b].column() >= 0.95));
        let (Some((low, high)), Some(_), false) = (numbers, column, self.negated_before(at)) else {
            return Err(self.stuck(at));
        };
        self.keep(
            at..last + 1,
            Filter::new(at, column, Test::Range(low, high)),
        );
        Ok(())
    }
}
