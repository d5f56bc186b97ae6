//! Orders, groups and rankings of a question.

use super::*;

impl Parser<'_> {
    /// "ordered by age descending", "in alphabetical order"
    pub(super) fn order(&mut self) -> Result<(), Stuck> {
        let marks =
            |op: Option<Op>| matches!(op, Some(Op::OrderBy | Op::Alphabetical | Op::Direction(_)));
        let Some(mut start) = (0..self.items.len()).find(|at| marks(self.op(*at))) else {
            return Ok(());
        };
        let later = (start + 1..self.items.len())
            .find(|at| marks(self.op(*at)) || self.op(*at) == Some(Op::By));
        let at_start = self.skip(0) == start || self.op(start.wrapping_sub(1)) == Some(Op::Break);
        let open = !self.items[start].text.to_lowercase().ends_with(" by");
        if let Some(later) = later
            .filter(|l| at_start && open && self.op(start) == Some(Op::OrderBy) && *l > start + 1)
        {
            // "Sort the names of all counties in ascending order of population."
            if (start + 1..later).any(|i| self.items[i].is_name()) {
                self.used[start] = true;
                start = later;
            }
        }
        let mut at = start;
        let mut direction = None;
        let mut keys: Vec<(Figure, Option<bool>)> = Vec::new();
        while at < self.items.len() {
            match self.op(at) {
                Some(Op::Direction(down)) if keys.is_empty() => direction = Some(down),
                Some(Op::Direction(down)) => self.direct(&mut keys, at, down)?,
                Some(Op::Alphabetical) => {
                    self.frame.alphabetical = Some(false);
                    // "in alphabetical order the names of all songs" goes on with what is shown.
                    if keys.is_empty()
                        && self.items[at].text.ends_with("order")
                        && self.name(self.skip(at + 1)).is_some()
                    {
                        at += 1;
                        break;
                    }
                }
                // "newest first"
                Some(Op::Most(down, Some(quality))) if keys.is_empty() => {
                    keys.push((Figure::Quality(quality), Some(down)));
                }
                // "in descending order, and return the name": the order ends here, but not in "by age descending and
                // name ascending".
                Some(Op::And | Op::Comma)
                    if (direction.is_some() || keys.iter().any(|k| k.1.is_some()))
                        && !keys.is_empty()
                        && !self.is_directed(at) =>
                {
                    break;
                }
                Some(Op::OrderBy | Op::By | Op::And | Op::Comma | Op::Of | Op::In | Op::Both) => {}
                Some(Op::NumberOf | Op::HowMany | Op::Agg(_)) => {
                    let Some((figure, next)) = self.figure(at) else {
                        break;
                    };
                    let key = match figure {
                        // "the number of rooms", where a column holds it.
                        Figure::Count(what, false)
                            if self.items[what].table() == 0.0 && self.is_numeric(what) =>
                        {
                            Figure::Plain(what)
                        }
                        figure => figure,
                    };
                    keys.push((key, None));
                    at = next - 1;
                }
                None if self.soft(at) && !self.ends_order(&keys, at) => {}
                // "by the number of books they have written"
                Some(Op::Have) if !keys.is_empty() && self.soft(at - 1) && self.soft(at + 1) => {}
                None if self.name(at).is_some() && keys.len() < 3 => {
                    if self.is_table(at) && !keys.is_empty() {
                        break;
                    }
                    let owner = self.is_table(at)
                        && self.name(at + 1).is_some_and(|next| self.is_column(next));
                    if owner || self.is_table(at) && self.items[at].column() < 0.6 {
                        // "sorted by the students' age" names the table first.
                        if self.name(self.skip(at + 1)).is_none() {
                            break;
                        }
                        self.frame.tables.push(at);
                    } else {
                        // "of the price of dish": what of it is no order of its own.
                        let of = self
                            .back(at, &[])
                            .is_some_and(|b| self.op(b) == Some(Op::Of));
                        self.refuse(of && !keys.is_empty(), at)?;
                        // "by placed date": two names side by side, which together may mean a third column.
                        if matches!(keys.last(), Some((Figure::Plain(last), _)) if last + 1 == at) {
                            return Err(self.stuck(at));
                        }
                        keys.push((Figure::Plain(at), None));
                    }
                }
                _ => break,
            }
            at += 1;
        }
        if keys.is_empty() && self.frame.alphabetical.is_none() {
            // "ordered from highest to lowest"
            self.refuse(
                direction.is_none() || self.op(start) != Some(Op::OrderBy),
                start,
            )?;
            self.frame.by_figure = direction;
        }
        let down = direction.unwrap_or(false);
        if self.frame.alphabetical.is_some() {
            self.frame.alphabetical = Some(down);
        }
        // Back over the conjunctions that only served the list.
        while at > start && matches!(self.op(at - 1), Some(Op::And | Op::Comma | Op::Of | Op::In)) {
            at -= 1;
        }
        self.take(start..at);
        let directed = keys.into_iter().map(|(k, own)| (k, own.unwrap_or(down)));
        self.frame.order = directed.collect();
        if !self.frame.order.is_empty() {
            self.frame.alphabetical = None;
        }
        Ok(())
    }

    /// "by age descending": the direction of what stands before it. Behind "by town then age" it is that of the age;
    /// behind "by town and age" it may be that of both, unless it says the order: "in descending order".
    fn direct(
        &self,
        keys: &mut [(Figure, Option<bool>)],
        at: usize,
        down: bool,
    ) -> Result<(), Stuck> {
        let open: Vec<usize> = (0..keys.len()).filter(|k| keys[*k].1.is_none()).collect();
        let then = self.items[..at].iter().any(is_then);
        match open.as_slice() {
            [] => return Err(self.stuck(at)),
            [.., last] if then => keys[*last].1 = Some(down),
            [_, _, ..] if down && !self.items[at].text.to_lowercase().starts_with("in ") => {
                return Err(self.stuck(at));
            }
            open => open.iter().for_each(|k| keys[*k].1 = Some(down)),
        }
        Ok(())
    }

    /// Whether a name with a direction of its own, or one behind "then", follows.
    fn is_directed(&self, at: usize) -> bool {
        let next = self.skip_ops(at + 1, &[Op::By]);
        let directed = matches!(self.op(self.skip(next + 1)), Some(Op::Direction(_)));
        self.name(next).is_some() && (directed || self.items[at..next].iter().any(is_then))
    }

    /// Whether a small word behind a direction is no part of the order: "descending, show the names".
    fn ends_order(&self, keys: &[(Figure, Option<bool>)], at: usize) -> bool {
        keys.last().is_some_and(|k| k.1.is_some()) && !self.is_directed(at - 1)
    }

    /// "for each country", "per year"
    pub(super) fn groups(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            let each = self.op(at) == Some(Op::Each) && !self.used[at];
            if !each {
                continue;
            }
            let mut next = self.skip_ops(at + 1, &[Op::Of, Op::Distinct]);
            self.used[at] = true;
            // "for each number of rooms", where a column holds it.
            let held = self.skip(next + 1);
            if self.op(next) == Some(Op::NumberOf)
                && self
                    .name(held)
                    .is_some_and(|n| !self.is_table(n) && self.is_numeric(n))
            {
                self.used[next] = true;
                next = held;
            }
            let lost =
                || self.op(next) == Some(Op::Each) || self.get(next).is_some_and(Item::is_value);
            if self.name(next).is_none() && (next > at + 1 || lost()) {
                // "in each state", where nothing is called so, or "per manager", where that is a value.
                return Err(self.stuck(next - 1));
            }
            while let Some(name) = self.name(next) {
                let inner = self.skip(next + 1);
                let owner = self.is_table(name)
                    && self.name(inner).is_some_and(|n| self.is_column(n))
                    && inner == next + 1;
                self.used[next] = true;
                if owner {
                    self.frame.tables.push(name);
                    next = inner;
                    continue;
                }
                self.frame.groups.push(name);
                let joined = self.op(next + 1) == Some(Op::And);
                let after = self.skip(next + 2);
                // "per customer town and dish kind": each with the rows that have it
                let owned = self.name(after).is_some_and(|n| self.is_table(n))
                    && self.name(after + 1).is_some_and(|n| self.is_column(n));
                let column = after + usize::from(owned);
                let more = joined
                    && self
                        .name(column)
                        .is_some_and(|n| self.is_column(n) && !self.is_numeric(n));
                let ends = self
                    .items
                    .get(column + 1)
                    .is_none_or(|i| matches!(i.op(), Some(Op::Break | Op::Comma | Op::By)));
                if !more || !ends {
                    break;
                }
                next = after;
            }
        }
        Ok(())
    }
}

/// "by town, then by age"
fn is_then(item: &Item) -> bool {
    item.text.eq_ignore_ascii_case("then")
}
