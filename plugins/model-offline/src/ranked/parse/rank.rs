//! Rankings: "the three oldest", "top 5 products by price".

use super::*;

/// Rows of a ranking that says neither one nor how many.
const SEVERAL: u64 = 5;

/// Whether a name is in the plural.
fn several(item: &Item) -> bool {
    let text = item.text.to_lowercase();
    item.is_name() && text.ends_with('s') && crate::words::stem(&text) != text
}

impl Parser<'_> {
    /// The number right before or after a place, as a limit.
    pub(super) fn limit(&mut self, at: usize, next: &mut usize) -> u64 {
        let number = |i: &Item| match &i.kind {
            Kind::Number(n) => n.parse::<u64>().ok().filter(|n| (1..=1000).contains(n)),
            _ => None,
        };
        if let Some(n) = at.checked_sub(1).and_then(|b| self.get(b)).and_then(number) {
            self.used[at - 1] = true;
            return n;
        }
        if let Some(n) = self.get(*next).and_then(number) {
            self.used[*next] = true;
            *next = self.skip(*next + 1);
            return n;
        }
        1
    }

    /// "which 3 customers have the most orders": the number before what is ranked.
    pub(super) fn leading_number(&mut self) -> Option<u64> {
        let ranks = |i: &Item| matches!(i.op(), Some(Op::Most(..) | Op::Common(_)));
        if !self.items.iter().any(ranks) {
            return None;
        }
        // "Name the four heaviest cars" asks for names.
        let name = usize::from(self.text_is(0, "name"));
        let at = self.skip_ops(name, &[Op::Is, Op::In]);
        let Kind::Number(number) = &self.get(at)?.kind else {
            return None;
        };
        let number = number.parse().ok().filter(|n| (2..=1000).contains(n))?;
        self.name(at + 1).filter(|n| self.is_table(*n))?;
        self.used[at] = true;
        Some(number)
    }

    pub(super) fn rank(&mut self) -> Result<(), Stuck> {
        let mut open_top = false;
        let mut first_of = self.leading_number();
        for at in 0..self.items.len() {
            let op = match self.op(at).filter(|_| !self.used[at]) {
                Some(op @ (Op::Most(..) | Op::Common(_) | Op::Top)) => op,
                _ => continue,
            };
            let mut next = self.skip(at + 1);
            let mut limit = self.limit(at, &mut next);
            if limit == 1 && self.is_ordered(op, next) {
                self.used[at] = true;
                continue;
            }
            let (descending, by, end) = match (op, self.figures(next)) {
                (Op::Most(down, quality), _) => {
                    let (by, end) = self.ranked_by(at, next, quality)?;
                    (down, by, end)
                }
                (Op::Common(down), _) => {
                    let (name, end) = self.common(at, next)?;
                    (down, Figure::Count(name, false), end)
                }
                (_, Some(name)) => (true, Figure::Plain(name), next + 1),
                _ => {
                    // "top customers" says neither one nor how many.
                    let open = limit == 1 && self.items.get(next).is_some_and(several);
                    open_top |= open;
                    first_of = Some(if open { SEVERAL } else { limit });
                    self.used[at] = true;
                    continue;
                }
            };
            let mut is_open = false;
            let listed = matches!(self.op(at), Some(Op::Most(_, Some(_)))) && self.skip(0) == at;
            if limit == 1 && listed && self.items.get(end).is_some_and(several) {
                // "best selling products"
                limit = SEVERAL;
                is_open = true;
            }
            if let (1, Some(n)) = (limit, first_of.take()) {
                limit = n;
            }
            self.refuse(self.frame.rank.is_some(), at)?;
            if limit == 1 && self.orders_all(&by, descending) {
                (at..end).for_each(|i| self.used[i] |= !self.items[i].is_value());
                if self.frame.order.is_empty() {
                    self.frame.order.push((by, descending));
                }
                self.frame.by_figure = None;
                continue;
            }
            let first = (0..at)
                .rev()
                .take_while(|i| self.op(*i) != Some(Op::Break))
                .all(|i| self.soft(i) || self.used[i] || matches!(self.op(i), Some(Op::Is)));
            for i in at..end {
                // "the most open orders": the value is a condition.
                self.used[i] |= !self.items[i].is_value();
            }
            // "the most populous city" is a city.
            let of_rows = self.name(end).is_some_and(|n| self.is_table(n));
            let alone = first && self.heads[at] && !of_rows;
            if let (true, Figure::Plain(name), 1) = (alone, &by, limit) {
                let aggregate = if descending {
                    Aggregate::Max
                } else {
                    Aggregate::Min
                };
                self.frame.select.push(Figure::Agg(aggregate, *name));
                continue;
            }
            self.frame.rank = Some(Rank {
                descending,
                by,
                limit,
                is_open,
                at,
            });
        }
        if let Some(limit) = first_of {
            self.rank_by_order(limit)?;
            self.frame
                .rank
                .iter_mut()
                .for_each(|r| r.is_open |= open_top);
        }
        Ok(())
    }

    /// "the longest rivers, from longest to shortest": all rows in the order of the superlative, where the question does
    /// not say how many.
    fn orders_all(&self, by: &Figure, descending: bool) -> bool {
        let place = |figure: &Figure| match figure {
            Figure::Plain(at) | Figure::Count(at, _) | Figure::Agg(_, at) => {
                &self.items[*at].hits[..]
            }
            _ => &[][..],
        };
        let is_said = match self.frame.order.as_slice() {
            [] => self.frame.by_figure == Some(descending),
            [(figure, down), ..] => {
                let same = std::mem::discriminant(figure) == std::mem::discriminant(by);
                let same = same && place(figure) == place(by) && !place(by).is_empty();
                *down == descending && (same || matches!(by, Figure::Quality(_)))
            }
        };
        is_said && self.items.iter().find(|i| i.is_name()).is_some_and(several)
    }

    /// "the highest mountains, from the highest to the lowest altitude": the order says what is high.
    fn is_ordered(&self, op: Op, next: At) -> bool {
        let several = self.name(next).filter(|n| several(&self.items[*n]));
        let rows = several.filter(|n| self.is_table(*n));
        let order = self
            .frame
            .order
            .first()
            .filter(|o| matches!(o.0, Figure::Plain(_)));
        rows.is_some() && order.is_some_and(|(_, down)| op == Op::Most(*down, None))
    }

    /// What is most common, and the place behind it.
    fn common(&mut self, at: usize, mut next: usize) -> Result<(At, usize), Stuck> {
        // "the most common payment method", where payments have a method
        let rows = self.name(next).filter(|n| self.is_table(*n));
        let inner = rows
            .and_then(|n| self.name(n + 1))
            .filter(|c| self.is_column(*c));
        if let (Some(rows), Some(column)) = (rows, inner) {
            self.frame.tables.push(rows);
            self.used[rows] = true;
            next = column;
        }
        let name = self.name(next).filter(|n| self.items[*n].column() > 0.6);
        // "the colour that is most common"
        let said = self.back(at, &[Op::Is, Op::Relative, Op::Have]);
        let behind = said.and_then(|b| self.name(b)).filter(|n| {
            self.is_column(*n) && self.items[*n].column() >= 0.8 && !self.is_numeric(*n)
        });
        let end = name.map_or(at + 1, |_| next + 1);
        let name = name.or(behind).ok_or_else(|| self.stuck(at))?;
        self.used[name] = true;
        self.frame.groups.push(name);
        self.frame.select.push(Figure::Plain(name));
        Ok((name, end))
    }

    /// "top 3 products sorted by price", "top 3 products by price"
    pub(super) fn rank_by_order(&mut self, limit: u64) -> Result<(), Stuck> {
        let by = (0..self.items.len()).find(|i| self.op(*i) == Some(Op::By) && !self.used[*i]);
        let said = self.items.iter().find_map(|i| match i.op() {
            Some(Op::Direction(down)) => Some(down),
            _ => None,
        });
        let found = match (by, self.frame.order.pop()) {
            (_, Some((figure, _))) => Some((figure, 0)),
            (Some(by), None) => {
                let next = self.skip(by + 1);
                let figure = self.figure(next).or_else(|| {
                    self.name(next)
                        .filter(|n| self.is_numeric(*n))
                        .map(|n| (Figure::Plain(n), n + 1))
                });
                if let Some((_, end)) = figure {
                    self.take(by..end);
                }
                figure.map(|(f, _)| (f, by))
            }
            _ => None,
        };
        let Some((figure, at)) = found else {
            return Err(Stuck::Unclear("top".to_owned()));
        };
        self.frame.rank = Some(Rank {
            descending: said.unwrap_or(true),
            by: figure,
            limit,
            is_open: false,
            at,
        });
        Ok(())
    }

    fn text_is(&self, at: usize, words: &str) -> bool {
        self.items[at].says(words)
    }

    /// "which product sold the most", "which customer spent the most": the measure stands before the "most".
    pub(super) fn said_before(&mut self, at: usize, next: usize) -> Option<Figure> {
        if !(self.items[at].text.eq_ignore_ascii_case("most")
            && self.get(next).is_none_or(|i| i.is(Op::Break)))
        {
            return None;
        }
        let place = (0..at)
            .rev()
            .find(|i| !self.soft(*i) || self.items[*i].text == "sold")?;
        let figure = match self.items[place].kind {
            Kind::Measure(measure) => Figure::Measure(measure, place),
            _ if self.items[place].text.eq_ignore_ascii_case("sold")
                && !measures::candidates(self.catalog, Measure::Units).is_empty() =>
            {
                Figure::Measure(Measure::Units, place)
            }
            _ => return None,
        };
        self.used[place] = true;
        Some(figure)
    }

    pub(super) fn ranked_by(
        &mut self,
        at: usize,
        next: usize,
        quality: Option<Quality>,
    ) -> Result<(Figure, usize), Stuck> {
        let measured = |n: &At| *n == at + 1 && self.is_column(*n) && self.is_numeric(*n);
        if let (Some(_), Some(name)) = (quality, self.name(next).filter(measured)) {
            // "the longest distance" names what is long.
            return Ok((Figure::Plain(name), next + 1));
        }
        let measure = match quality {
            Some(Quality::Sold) => Some(Measure::Units),
            Some(Quality::Rated) => Some(Measure::Rating),
            _ => None,
        };
        if let Some(measure) = measure {
            return Ok((Figure::Measure(measure, at), at + 1));
        }
        if let Some(quality) = quality {
            return Ok((Figure::Quality(quality), at + 1));
        }
        if let Some(figure) = self.said_before(at, next) {
            return Ok((figure, at + 1));
        }
        if let Some((figure, end)) = self.figure(next) {
            return Ok((figure, end));
        }
        let value = self.get(next).is_some_and(Item::is_value);
        let rows = self
            .name(next + 1)
            .filter(|n| value && self.is_table(*n) && self.op(at) != Some(Op::Top));
        let next = rows.unwrap_or(next);
        let name = self.name(next).ok_or_else(|| self.stuck(at))?;
        let counting = matches!(
            self.items[at].text.to_lowercase().as_str(),
            "most" | "fewest" | "least"
        );
        if !counting
            && self.has_amount(name)
            && self.op(at) != Some(Op::Top)
            && !self.items[at].text.contains(' ')
        {
            // "the largest order"
            return Ok((Figure::Quality(Quality::Amount), at + 1));
        }
        self.refuse(self.holds_count(name), at)?;
        let said = self.items[at].text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|w| said.contains(w));
        if self.is_numeric(name) && self.items[name].column() >= self.items[name].table() {
            // "the highest number of enrolled students": a column, or rows that are counted.
            let rows = self.name(next + 1).filter(|n| self.is_table(*n));
            return match rows.filter(|_| says(&["number"])) {
                Some(rows) => Err(self.stuck(rows)),
                None => Ok((Figure::Plain(name), next + 1)),
            };
        }
        let behind = self.back(at, &[Op::In]);
        let related = behind.is_some_and(|b| {
            matches!(self.op(b), Some(Op::Have | Op::Relative | Op::By)) || self.items[b].is_name()
        });
        // "what month were most orders placed"
        let timed = self.text_is(at, "most fewest least") && !self.frame.units.is_empty();
        let counts =
            says(&["number"]) || timed || related && says(&["most", "fewest", "least", "amount"]);
        // "the most length" is no number of different values.
        let things = self.items[name].column() > 0.0 && several(&self.items[name]);
        if counts && (self.is_table(name) || things) {
            return Ok((Figure::Count(name, false), next + 1));
        }
        Err(self.stuck(at))
    }
}
