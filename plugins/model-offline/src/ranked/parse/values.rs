//! Conditions with values and plain numbers, and rows that lack others.

use super::*;

impl Parser<'_> {
    /// Values with the columns that stand beside them.
    pub(super) fn values(&mut self) -> Result<(), Stuck> {
        let mut at = 0;
        while at < self.items.len() {
            if self.used[at] || !self.items[at].is_value() {
                at += 1;
                continue;
            }
            let before = self.back(at, &[Op::Is, Op::Have]);
            if let Some(Op::Like(place)) = before.and_then(|b| self.op(b)) {
                let mark = before.unwrap_or(at);
                let named = self
                    .back(mark, &[Op::Is, Op::Have])
                    .filter(|b| self.name(*b).is_some_and(|n| self.items[n].column() > 0.5));
                let column = self.left(mark).or(named).ok_or_else(|| self.stuck(at))?;
                let text = match &self.items[at].kind {
                    Kind::Quote(text) => text.clone(),
                    _ => self.items[at].text.clone(),
                };
                let negated = self.negated_before(mark);
                self.take(mark..at + 1);
                self.used[column] = true;
                self.frame.filters.push(Filter {
                    at,
                    column: Some(column),
                    quality: None,
                    test: Test::Like(place, text),
                    negated,
                    or: false,
                });
                at += 1;
                continue;
            }
            at = self.value_list(at)?;
        }
        Ok(())
    }

    pub(super) fn value_list(&mut self, at: usize) -> Result<usize, Stuck> {
        let mut values = vec![at];
        let mut end = at + 1;
        let both = self
            .back(at, &[])
            .is_some_and(|b| self.op(b) == Some(Op::Both));
        loop {
            let next = self.skip_ops(end, &[Op::Comma, Op::Or, Op::In]);
            let joins = (end..next).any(|i| matches!(self.op(i), Some(Op::Or)))
                || ((end..next).any(|i| self.op(i) == Some(Op::Comma)));
            let or = (end..next).any(|i| self.op(i) == Some(Op::Or));
            let value = self
                .get(next)
                .is_some_and(|i| i.is_value() || or && i.value() > 0.9);
            if !joins || !value || !self.share_column(at, next) {
                break;
            }
            values.push(next);
            end = next + 1;
        }
        let twice = |(i, v): (usize, &usize)| {
            values[..i]
                .iter()
                .any(|w| self.items[*w].text == self.items[*v].text)
        };
        if values.iter().enumerate().any(twice) {
            // "in Rome, Rome or in Bonn, Bonn": places in places.
            return Err(self.stuck(at));
        }
        let or = (at..end).any(|i| self.op(i) == Some(Op::Or));
        if or && self.op(end) == Some(Op::Relative) {
            // "houses or flats with two rooms": whether the condition is for both is not said.
            return Err(self.stuck(end));
        }
        let mut passed = vec![
            Op::Is,
            Op::Named,
            Op::Not,
            Op::Compare(Comparison::Equal, None),
        ];
        let named = self
            .back(at, &[Op::Is])
            .is_some_and(|b| self.op(b) == Some(Op::Named));
        if self.items[at].kind == Kind::Names {
            passed.push(Op::Have);
        }
        let left = self.back(at, &passed);
        // "in the town of Ulm"
        let left = left
            .and_then(|l| {
                let town = l
                    .checked_sub(1)
                    .filter(|t| self.op(l) == Some(Op::Of) && self.is_column(*t))?;
                let place = self
                    .back(town, &[])
                    .is_some_and(|b| self.op(b) == Some(Op::In));
                place.then_some(town)
            })
            .or(left);
        let column = left
            .and_then(|l| self.name(l))
            .filter(|l| self.fits_value(*l, at, named));
        let right = self.name(end).filter(|r| {
            column.is_none()
                && self.items[*r].column() > 0.5
                && self.same_column(*r, at)
                && !self.holds_value(*r, at)
        });
        let from = column.map_or(at, |l| l + 1);
        let negated = (from..at).any(|i| self.op(i) == Some(Op::Not))
            || self.negated_before(from)
            || (from != at && self.negated_before(at));
        self.take(from..end);
        for c in column.iter().chain(&right) {
            self.used[*c] = true;
        }
        let column = column.or(right);
        let test = Test::Values(values);
        self.frame.filters.push(Filter {
            at,
            column,
            quality: None,
            test,
            negated,
            or: false,
        });
        self.frame.both |= both;
        Ok(end)
    }

    pub(super) fn share_column(&self, a: At, b: At) -> bool {
        let (a, b) = (&self.items[a], &self.items[b]);
        let unknown = a.hits.is_empty() || b.hits.is_empty();
        unknown
            || a.hits.iter().any(|x| {
                b.hits
                    .iter()
                    .any(|y| same_value_column(&x.target, &y.target))
            })
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
        let value = &self.items[value];
        self.items[name].hits.iter().any(|h| match h.target {
            Target::Column(c) => value
                .hits
                .iter()
                .any(|v| matches!(&v.target, Target::Value(w, _) if *w == c)),
            _ => false,
        })
    }

    /// "cat toys": the name is that of the table which holds the value, rather than of its column.
    fn holds_value(&self, name: At, value: At) -> bool {
        let item = &self.items[name];
        let value = &self.items[value];
        item.hits.iter().any(|h| match h.target {
            Target::Table(t) => {
                h.score >= item.column()
                    && value
                        .hits
                        .iter()
                        .any(|v| matches!(&v.target, Target::Value(c, _) if c.table == t))
            }
            _ => false,
        })
    }

    /// Plain numbers: "classroom 109", "in 2014"
    pub(super) fn numbers(&mut self) -> Result<(), Stuck> {
        for at in 0..self.items.len() {
            if self.used[at] {
                continue;
            }
            let filter = |column, quality, test| Filter {
                at,
                column,
                quality,
                test,
                negated: false,
                or: false,
            };
            let kind = self.items[at].kind.clone();
            let left = self
                .back(at, &[Op::Is, Op::Compare(Comparison::Equal, None)])
                .and_then(|b| self.name(b))
                .filter(|n| self.items[*n].column() > 0.5)
                .or_else(|| {
                    // "a weight of 10"
                    let of = at.checked_sub(1).filter(|b| self.op(*b) == Some(Op::Of))?;
                    let column = of.checked_sub(1).and_then(|b| self.name(b))?;
                    let had =
                        (0..column).any(|i| matches!(self.op(i), Some(Op::Have | Op::Relative)));
                    (had && self.is_column(column) && self.is_numeric(column)).then_some(column)
                });
            match kind {
                Kind::Number(number) => {
                    let behind = self.back(at, &[]);
                    let dated = behind.is_some_and(|b| {
                        matches!(self.op(b), Some(Op::In | Op::Of))
                            || self.soft(at - 1)
                                && self.items[at - 1].text.eq_ignore_ascii_case("year")
                    });
                    let since =
                        behind.is_some_and(|b| self.items[b].text.eq_ignore_ascii_case("since"));
                    let before = self.back(at, &[Op::Is]).unwrap_or(0);
                    let other = self.alternative(at);
                    if let Some((column, quality, test)) = other {
                        // "born in 1948 or 1949"
                        let test = match test {
                            Test::Year(c, _) => Test::Year(c, number),
                            _ => Test::Number(Comparison::Equal, number),
                        };
                        self.frame.filters.push(Filter {
                            or: true,
                            ..filter(column, quality, test)
                        });
                    } else if self.op(before) == Some(Op::Not) {
                        let column = self.left(before).ok_or_else(|| self.stuck(at))?;
                        let test = Test::Number(Comparison::Equal, number);
                        self.take(before..at + 1);
                        self.used[column] = true;
                        self.frame.filters.push(Filter {
                            negated: true,
                            ..filter(Some(column), None, test)
                        });
                    } else if let Some(l) = left {
                        let year = is_year(&number) && !self.is_numeric(l);
                        let test = if year {
                            Test::Year(Comparison::Equal, number)
                        } else {
                            Test::Number(Comparison::Equal, number)
                        };
                        self.used[l] = true;
                        self.frame.filters.push(filter(Some(l), None, test));
                    } else if is_year(&number) && dated && !since {
                        self.frame.filters.push(filter(
                            None,
                            Some(Quality::Time),
                            Test::Year(Comparison::Equal, number),
                        ));
                    } else {
                        return Err(self.stuck(at));
                    }
                    self.used[at] = true;
                }
                Kind::Period(period) => {
                    let left = left.filter(|l| {
                        self.is_column(*l) || self.is_of_kind(*l, crate::catalog::Kind::Date)
                    });
                    let test = Test::Days(period);
                    self.used[at] = true;
                    if let Some(l) = left {
                        self.used[l] = true;
                    }
                    let quality = left.is_none().then_some(Quality::Time);
                    self.frame.filters.push(filter(left, quality, test));
                }
                _ => {}
            }
        }
        Ok(())
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
            let related = (at + 1..next).any(|i| {
                (self.soft(i) || self.items[i].optional)
                    && lexis::is_relation(&self.items[i].text.to_lowercase())
            });
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
            if self.frame.without.is_some() || (name.is_none() && value.is_none()) {
                return Err(self.stuck(at));
            }
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

pub(super) fn same_value_column(a: &Target, b: &Target) -> bool {
    matches!((a, b), (Target::Value(x, _), Target::Value(y, _)) if x == y)
}
