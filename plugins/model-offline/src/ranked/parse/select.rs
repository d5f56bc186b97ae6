//! What a question shows: what orders, groups and conditions leave over.

use super::*;
use crate::pick::label_columns;

impl Parser<'_> {
    /// What is left before the conditions is shown.
    pub(super) fn select(&mut self) -> Result<(), Stuck> {
        let mut at = 0;
        let mut aggregates: Vec<Aggregate> = Vec::new();
        let mut running: Option<Aggregate> = None;
        while at < self.items.len() {
            if self.used[at] {
                at += 1;
                continue;
            }
            let head = self.heads[at];
            match self.op(at) {
                Some(Op::By) if self.grouping(at) => {
                    let next = self.skip(at + 1);
                    self.take(at..next + 1);
                    self.frame.groups.push(next);
                }
                Some(Op::HowMany | Op::NumberOf)
                    if (head || self.frame.rank.is_some()) && aggregates.is_empty() =>
                {
                    let (figure, end) = self.figure(at).ok_or_else(|| self.stuck(at))?;
                    let other = self.skip(end + 1);
                    if matches!(figure, Figure::Count(_, true))
                        && self.op(end) == Some(Op::And)
                        && self.name(other).is_some_and(|n| self.is_column(n))
                    {
                        // "the number of different towns and streets": of each, or of both together.
                        return Err(self.stuck(other));
                    }
                    if let Figure::Count(name, false) = figure
                        && self.holds_count(name)
                        && !self.is_only_name(name)
                        && !self.is_narrowed(name)
                    {
                        return Err(self.counted_two_ways(at, name));
                    }
                    let total = self.items[at].text.to_lowercase().contains("total");
                    self.push_count(figure, total);
                    self.take(at..end);
                    running = None;
                    at = end;
                    continue;
                }
                Some(Op::NumberOf)
                    if !aggregates.is_empty()
                        && self
                            .name(self.skip(at + 1))
                            .is_some_and(|n| self.is_numeric(n)) =>
                {
                    self.used[at] = true;
                }
                Some(Op::Agg(Aggregate::Sum))
                    if self
                        .frame
                        .select
                        .iter()
                        .any(|f| matches!(f, Figure::Count(..)))
                        && self.items[at].text.eq_ignore_ascii_case("in total") =>
                {
                    self.used[at] = true;
                }
                Some(Op::Agg(aggregate)) if head => {
                    if let Some((figure @ (Figure::Measure(..) | Figure::Agg(..)), end)) =
                        self.figure(at)
                        && self.is_whole(&figure)
                    {
                        self.frame.select.push(figure);
                        self.take(at..end);
                        at = end;
                        continue;
                    }
                    if let Some((Figure::Count(what, distinct), end)) = self.figure(at) {
                        self.push_count(Figure::Count(what, distinct), false);
                        self.take(at..end);
                        at = end;
                        continue;
                    }
                    aggregates.push(aggregate);
                    self.used[at] = true;
                }
                Some(Op::Distinct) => {
                    self.frame.distinct = true;
                    self.used[at] = true;
                }
                Some(op) if op.connects() || op == Op::By => {
                    let ends = matches!(op, Op::Of | Op::Is | Op::Relative | Op::Break);
                    running = running.filter(|_| !ends || !aggregates.is_empty());
                }
                None if self.figure(at).is_some() => {
                    let (figure, end) = self.figure(at).ok_or_else(|| self.stuck(at))?;
                    let totals = self.adds_up(&figure);
                    self.refuse(
                        aggregates.iter().any(|a| *a != Aggregate::Sum || !totals),
                        at,
                    )?;
                    aggregates.clear();
                    self.frame.select.push(figure);
                    self.take(at..end);
                }
                None if self.name(at).is_some() => {
                    self.shown(at, head, &mut aggregates, &mut running)?;
                }
                _ => {}
            }
            at += 1;
        }
        if self.frame.held_counts > 0 && self.frame.select.len() == 1 && self.frame.rank.is_none() {
            // One figure for each row, or their sum: the question does not say.
            return Err(Stuck::Unclear("number of".to_owned()));
        }
        if !aggregates.is_empty() {
            return Err(Stuck::Unclear("the figure".to_owned()));
        }
        self.total_alone();
        self.rows_asked()
    }

    /// "total charge of smokers" is one figure, also where a column is called so.
    fn total_alone(&mut self) {
        let frame = &self.frame;
        let whole = frame.groups.is_empty() && frame.units.is_empty() && frame.rank.is_none();
        let [Figure::Plain(at)] = frame.select[..] else {
            return;
        };
        let is_total = self.items[at].text.to_lowercase().starts_with("total ");
        let words = self.items[..at].iter().map(|i| i.text.to_lowercase());
        let is_said = words.eq(["what", "is", "the"]) || at == 0;
        if whole && frame.order.is_empty() && is_total && is_said && self.is_numeric(at) {
            self.frame.select = vec![Figure::Agg(Aggregate::Sum, at)];
        }
    }

    /// "Which active buyers are from Germany?" asks for rows, and the taught metric that counts them is no answer.
    fn rows_asked(&self) -> Result<(), Stuck> {
        let counting = self.frame.select.iter().find_map(|f| match f {
            Figure::Measure(m @ Measure::Taught(_), at) if m.counts(self.catalog) => Some(*at),
            _ => None,
        });
        let ranked = self.frame.rank.as_ref();
        let grouped = ranked.is_some_and(|r| r.by.is_over_groups())
            || !self.frame.groups.is_empty()
            || !self.frame.units.is_empty();
        let Some(at) = counting.filter(|_| !grouped) else {
            return Ok(());
        };
        let start = (0..at).rev().find(|i| self.op(*i) == Some(Op::Break));
        let before = &self.items[start.map_or(0, |i| i + 1)..at];
        let counts = |i: &Item| matches!(i.op(), Some(Op::HowMany | Op::NumberOf | Op::Agg(_)));
        let is_small = |i: &Item| i.says("what is was the our");
        if before.iter().any(counts) || before.iter().all(is_small) {
            return Ok(());
        }
        Err(self.stuck(at))
    }

    pub(super) fn push_count(&mut self, figure: Figure, total: bool) {
        if let Figure::Measure(..) = figure {
            self.frame.select.push(figure);
            return;
        }
        if let Figure::Count(what, false) = figure {
            let item = &self.items[what];
            if item.column() >= 0.85 && item.table() == 0.0 && self.is_numeric(what) {
                // "number of deaths", where a column holds it.
                let figure = if total {
                    Figure::Agg(Aggregate::Sum, what)
                } else {
                    Figure::Plain(what)
                };
                self.frame.held_counts += usize::from(!total);
                self.frame.select.push(figure);
                return;
            }
        }
        if let Figure::Count(what, _) = figure {
            if self.is_table(what) {
                self.frame.tables.push(what);
                self.frame.subject = self.frame.subject.or(Some(what));
            }
            if !self.frame.select.contains(&figure) {
                self.frame.select.push(figure);
            }
        }
    }

    pub(super) fn shown(
        &mut self,
        at: At,
        head: bool,
        aggregates: &mut Vec<Aggregate>,
        running: &mut Option<Aggregate>,
    ) -> Result<(), Stuck> {
        let next_table = self.skip_ops(at + 1, &[Op::Of, Op::In]);
        let of_table = next_table > at + 1
            && self.name(next_table).is_some_and(|n| self.is_table(n))
            || matches!(self.op(at + 1), Some(Op::Of)) && self.name(next_table).is_some();
        let named = matches!(
            self.items[at].text.to_lowercase().as_str(),
            "name" | "names"
        );
        let is_code = |n: At| self.items[n].table() == 0.0 && self.is_numeric(n);
        if named && head && of_table && self.name(next_table).is_some_and(is_code) {
            // "the name of the capital", of which there is the number alone.
            return Err(self.stuck(next_table));
        }
        if named
            && head
            && of_table
            && self
                .name(next_table)
                .is_some_and(|n| self.items[n].table() == 0.0 && !self.is_numeric(n))
        {
            // "the names of the directors", where a column holds the directors.
            self.refuse(self.is_key(next_table), at)?;
            self.used[at] = true;
            return Ok(());
        }
        let before = at.checked_sub(1).filter(|b| {
            let item = &self.items[*b];
            item.is_name() && item.column() >= 0.85 && item.table() == 0.0
        });
        if let (true, Some(before)) = (named, before) {
            // "the country name", where a column holds the countries.
            self.refuse(self.is_numeric(before) || self.is_key(before), at)?;
            self.used[at] = true;
            return Ok(());
        }
        let item = &self.items[at];
        let after_of = at
            .checked_sub(1)
            .and_then(|_| self.back(at, &[]))
            .and_then(|b| self.op(b))
            == Some(Op::Of);
        // "average song duration" names the rows and the column.
        let of_rows = !aggregates.is_empty()
            && item.table() >= item.column()
            && self
                .name(at + 1)
                .is_some_and(|n| self.is_column(n) && self.is_numeric(n));
        let as_column = item.column() > 0.0
            && !of_rows
            && (self.is_column(at)
                || !aggregates.is_empty()
                || self.beside_column(at)
                || (item.column() >= 0.8 && of_table && !after_of && self.frame.tables.is_empty()));
        let goes_on = matches!(
            self.op(at + 1),
            Some(Op::In | Op::By | Op::Compare(..) | Op::Between)
        );
        let counts = self
            .frame
            .select
            .iter()
            .any(|f| matches!(f, Figure::Count(..)));
        let ends = counts && at + 1 == self.items.len();
        let relates = lexis::is_relation(&item.text.to_lowercase());
        if as_column && (goes_on || ends) && item.optional && relates {
            // "campuses are located in Chico" does not ask for a location, nor does "how many orders did Ann place".
            return Ok(());
        }
        let date = |c: ColumnRef| self.catalog.column(c).kind == crate::catalog::Kind::Date;
        let is_verb = item.text.ends_with("ed") && item.has_column(item.column(), date);
        if as_column && is_verb && self.op(at + 1) == Some(Op::By) {
            // "songs released by Ann" asks for no date.
            self.used[at] = true;
            return Ok(());
        }
        // "the number of rooms" is one figure for each row, or their sum.
        if as_column
            && head
            && self.items[at].text.to_lowercase().starts_with("number of ")
            && aggregates.is_empty()
        {
            self.frame.held_counts += 1;
        }
        if as_column {
            if !head {
                if item.optional {
                    return Ok(());
                }
                return Err(self.stuck(at));
            }
            if !aggregates.is_empty() {
                for aggregate in aggregates.drain(..) {
                    self.frame.select.push(Figure::Agg(aggregate, at));
                    *running = Some(aggregate);
                }
            } else if let Some(aggregate) = running.filter(|_| self.is_numeric(at)) {
                self.frame.select.push(Figure::Agg(aggregate, at));
            } else if self.says_what_counted_are(at) {
                // "how many users are logged in": a condition, not a column to show.
                return Err(self.stuck(at));
            } else if !self.frame.select.contains(&Figure::Plain(at)) {
                *running = None;
                self.frame.select.push(Figure::Plain(at));
            }
        } else if item.table() > 0.0 {
            // "located in Ulm" names no table `location`.
            if item.optional && (item.table() < 0.95 || item.text.ends_with("ed")) {
                return Ok(());
            }
            let joint = self.back(at, &[]).and_then(|b| self.op(b));
            let listed = matches!(joint, Some(Op::And | Op::Comma));
            let asks = |i: &Item| i.says("which what who whose");
            let and = self.back(at, &[Op::In, Op::Is, Op::Relative]);
            let and = and.filter(|b| matches!(self.op(*b), Some(Op::And)));
            if and.is_some_and(|and| self.items[and..at].iter().any(asks)) {
                // "…, and which category is it in?": what of the category is not said.
                return Err(self.stuck(at));
            }
            let pronoun = self.items.get(at + 1).is_some_and(|i| {
                matches!(i.text.to_lowercase().as_str(), "they" | "he" | "she" | "it")
            });
            if head
                && listed
                && !self.frame.select.is_empty()
                && pronoun
                && !self.frame.tables.is_empty()
            {
                // "the names of teachers and the courses they teach"
                self.frame.select.push(Figure::Plain(at));
                self.used[at] = true;
                return Ok(());
            }
            let owns_next = self.name(at + 1).is_some_and(|n| self.is_column(n));
            if head && listed && !self.frame.select.is_empty() && !owns_next {
                // "the name of each teacher and what course": what of the course is not said.
                return Err(self.stuck(at));
            }
            let next = self.skip(at + 2);
            let behind = self.back(at, &[Op::Both]).and_then(|b| self.op(b));
            let beside = self.name(next).filter(|n| self.is_column(*n));
            let listed = behind == Some(Op::Break) && self.op(at + 1) == Some(Op::And);
            if listed && beside.is_some() && !self.frame.select.is_empty() {
                // "Show both shops and prices." behind another sentence
                let table = item.best_table().map(|t| self.catalog.table(t));
                self.refuse(table.is_none_or(|t| label_columns(t).len() != 1), at)?;
                self.frame.select.push(Figure::Plain(at));
                self.used[at] = true;
                return Ok(());
            }
            let words = |n: usize| at.checked_sub(n).map(|b| self.items[b].text.to_lowercase());
            let ends = self
                .items
                .get(at + 1)
                .is_none_or(|i| matches!(i.op(), Some(Op::Break | Op::Relative)));
            if ends && words(1).as_deref() == Some("the") && words(2).as_deref() == Some("with") {
                // "films with the cinemas that show them": whether these are shown too is not said.
                return Err(self.stuck(at));
            }
            self.frame.tables.push(at);
            if head
                && self.frame.select.is_empty()
                && self.op(at + 1) == Some(Op::And)
                && self.name(next).is_some_and(|n| self.is_table(n))
                && self.name(next + 1).is_some_and(|n| self.is_column(n))
            {
                // "the checking and savings balances": the column of both.
                return Err(self.stuck(at));
            }
            if head {
                self.frame.subject = self.frame.subject.or(Some(at));
            }
        } else {
            return Err(self.stuck(at));
        }
        self.used[at] = true;
        Ok(())
    }
}
