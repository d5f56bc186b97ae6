//! Queries for rows, and for figures over all rows.

use super::*;

impl Resolver<'_> {
    /// Rows, or figures over all rows.
    pub(super) fn listed(
        &mut self,
        subject: usize,
        mut select: Vec<Expr>,
        filters: Vec<Resolved>,
    ) -> Answer<Query> {
        let figures: Vec<&Expr> = select
            .iter()
            .filter(|e| !matches!(e, Expr::Column(_)))
            .collect();
        let aggregated = !figures.is_empty();
        let mut base = subject;
        if aggregated {
            let tables: Vec<usize> = figures
                .iter()
                .filter_map(|e| e.column().map(|c| c.table))
                .collect();
            if let Some(table) = tables.first() {
                base = *table;
            }
            if tables.iter().any(|t| *t != base)
                || (figures.iter().any(|e| **e == Expr::Count(None)) && base != subject)
            {
                return Err(Trouble::Shape("figures of several tables"));
            }
            if !self.frame.order.is_empty() || self.frame.rank.is_some() {
                return Err(Trouble::Shape("an order of one figure"));
            }
        }
        if self.frame.rank.is_some() && !self.frame.groups.is_empty() {
            // "for each city, the highest latitude": the first of each group.
            return Err(Trouble::Shape("the first row of each group"));
        }
        for at in self.frame.groups.clone() {
            // "each owner's first name and the size of the dog": columns of each row, not groups.
            if self.item_table(at).is_none() {
                let column = Expr::Column(self.column(at)?);
                if aggregated {
                    return Err(Trouble::Shape("a group beside a figure over all rows"));
                }
                if !select.contains(&column) {
                    select.push(column);
                }
            }
        }
        if select.is_empty() {
            if self.subject.is_none() {
                return Err(Trouble::Shape("nothing to show"));
            }
            if self.frame.distinct {
                return Err(Trouble::Shape("a column whose values differ"));
            }
            select = self.everything_of(subject)?;
        }
        // "the game ids and the number of hours": of each row, or their sum.
        let shared = |e: &Expr| {
            matches!(e, Expr::Column(c) if self.is_shared(*c)
                && (self.catalog.column(*c).kind == Type::Text
                    || self.catalog.table(c.table).is_key(c.column)))
        };
        if self.frame.held_counts > 0 && select.iter().any(shared) && self.frame.rank.is_none() {
            return Err(Trouble::Shape("a number for each of several rows"));
        }
        let order = self.order(&select)?;
        let distinct_count = aggregated && self.frame.distinct;
        if distinct_count && !select.iter().all(|e| matches!(e, Expr::Count(_))) {
            return Err(Trouble::Shape("a figure over different values"));
        }
        let mut query = Query {
            distinct: !aggregated && (self.frame.distinct || self.asks_which(&select)),
            limit: self
                .frame
                .rank
                .as_ref()
                .map(|r| r.limit)
                .or(self.frame.first_rows),
            ..Query::default()
        };
        let needed = self.needed(&select, &order);
        self.place(&mut query, base, &needed, filters)?;
        if aggregated && query.source.joins.iter().any(|e| e.many) {
            return Err(Trouble::Shape("a figure over rows that a join repeats"));
        }
        if let (Some(rank), Some((Expr::Column(column), false))) = (&self.frame.rank, order.first())
            && rank.limit > 0
        {
            query.source.conditions.push(vec![Condition {
                column: *column,
                check: Check::Missing,
                negated: true,
            }]);
        }
        if let (true, Some((expr, _))) = (self.frame.rank.is_some(), order.first())
            && !select.contains(expr)
        {
            select.push(expr.clone());
        }
        query.outputs = outputs::named(self.catalog, &select, self.measure_names().as_ref());
        query.order = order;
        let key: Vec<Expr> = self.key(base).into_iter().map(Expr::Column).collect();
        settle_order(&mut query, &key);
        Ok(query)
    }

    /// "Which towns have parks?" asks for each town once, where several rows share it.
    fn asks_which(&self, select: &[Expr]) -> bool {
        let which = self
            .items
            .first()
            .is_some_and(|i| i.text.eq_ignore_ascii_case("which"));
        let [Expr::Column(column)] = select else {
            return false;
        };
        self.frame.groups.is_empty()
            && which
            && self.is_shared(*column)
            && self.frame.rank.is_none()
            && self.frame.order.is_empty()
    }

    /// Whether several rows have the same value in a column.
    fn is_shared(&self, column: ColumnRef) -> bool {
        let (table, source) = (
            self.catalog.table(column.table),
            self.catalog.column(column),
        );
        let shared = source.distinct_count.zip(table.row_count);
        shared.is_some_and(|(values, rows)| values < rows)
    }

    pub(super) fn everything_of(&self, table: usize) -> Answer<Vec<Expr>> {
        let said = |i: &Item| {
            matches!(
                i.text.to_lowercase().as_str(),
                "information" | "info" | "details" | "everything"
            )
        };
        if self.items.iter().any(said) {
            return Ok(self.whole(table));
        }
        if self.frame.rank.is_some()
            || !self.frame.filters.is_empty()
            || self.frame.without.is_some()
        {
            let mut columns = self.label(table);
            for key in self.key(table) {
                if !columns.contains(&key) {
                    columns.push(key);
                }
            }
            let timed = matches!(&self.frame.rank, Some(r) if matches!(r.by, Figure::Quality(Quality::Time | Quality::Amount)));
            if columns.iter().all(|c| self.key(table).contains(c)) && !timed {
                return Err(Trouble::Shape("rows without a column that names them"));
            }
            return Ok(columns.into_iter().map(Expr::Column).collect());
        }
        Ok(self.whole(table))
    }

    /// All columns of a table.
    fn whole(&self, table: usize) -> Vec<Expr> {
        let all = 0..self.catalog.table(table).columns.len();
        all.map(|column| Expr::Column(ColumnRef { table, column }))
            .collect()
    }

    /// Puts conditions where they do not repeat rows: into the joins, or into a test of the key.
    pub(super) fn place(
        &mut self,
        query: &mut Query,
        base: usize,
        needed: &[usize],
        filters: Vec<Resolved>,
    ) -> Answer<()> {
        let edges = self.graph.connect(base, needed).map_err(Trouble::NoWay)?;
        let without = self.frame.without;
        let (negative, positive): (Vec<Resolved>, Vec<Resolved>) =
            filters.into_iter().partition(|f| {
                without.is_some_and(|(at, _)| f.at > at && !self.joined_by_and(at, f.at))
            });
        let mut extra: Vec<usize> = positive.iter().map(|f| f.condition.column.table).collect();
        let lacking_from = without.map_or(At::MAX, |(at, _)| at);
        extra.extend(self.related_tables(base, lacking_from));
        let all: Vec<usize> = needed.iter().chain(&extra).copied().collect();
        let whole = self.graph.connect(base, &all).map_err(Trouble::NoWay)?;
        let in_main: Vec<usize> = edges.iter().map(|e| e.to).chain([base]).collect();
        let repeats = whole.iter().any(|e| e.many && !in_main.contains(&e.to));
        let both = self.frame.both;
        let groups = grouped_conditions(positive);
        if both {
            return self.both(query, base, edges, whole, groups, repeats);
        }
        let negated_far = groups.iter().any(|g| {
            g.iter()
                .any(|c| c.negated && !in_main.contains(&c.column.table))
        });
        // A list shows the rows as often as they match; one that has a row twice is asked back.
        let lists = !self
            .frame
            .select
            .iter()
            .any(|f| matches!(f, Figure::Agg(..) | Figure::Count(..)))
            && self.frame.rank.is_none();
        if !repeats || (lists && without.is_none() && !negated_far) {
            query.source = Source {
                base,
                joins: whole,
                conditions: groups,
            };
        } else {
            if self.key(base).is_empty() {
                return Err(Trouble::Shape("a table without a key"));
            }
            let (near, far): (Vec<_>, Vec<_>) = groups
                .into_iter()
                .partition(|g| g.iter().all(|c| in_main.contains(&c.column.table)));
            query.source = Source {
                base,
                joins: edges,
                conditions: near,
            };
            if negated_far {
                let [group] = far.as_slice() else {
                    return Err(Trouble::Shape("several conditions with not"));
                };
                let other = group.iter().any(|c| self.says_other(c));
                if other {
                    // "speak languages other than Dutch": beside it, or not it.
                    return Err(Trouble::Shape("others among several"));
                }
                let [condition] = group.as_slice() else {
                    return Err(Trouble::Shape("several conditions with not"));
                };
                let positive = Condition {
                    negated: false,
                    ..condition.clone()
                };
                let source = Source {
                    base,
                    joins: whole,
                    conditions: vec![vec![positive]],
                };
                query.members.push(Membership {
                    source,
                    negated: true,
                });
            } else {
                query.members.push(Membership {
                    source: Source {
                        base,
                        joins: whole,
                        conditions: far,
                    },
                    negated: false,
                });
            }
        }
        if let Some((_, at)) = without {
            self.lacking(query, base, at, negative)?;
            self.same_rows(query)?;
        } else if !negative.is_empty() {
            return Err(Trouble::Shape("a condition with not"));
        }
        Ok(())
    }

    /// Whether a condition excludes values by "other than".
    fn says_other(&self, condition: &Condition) -> bool {
        condition.negated
            && self
                .items
                .iter()
                .any(|i| i.text.eq_ignore_ascii_case("other than"))
    }

    pub(super) fn joined_by_and(&self, from: At, to: At) -> bool {
        (from..to).any(|i| matches!(self.items[i].op(), Some(Op::And | Op::Comma | Op::Break)))
    }

    /// Tables that the conditions mention without a column of theirs: "students who have pets".
    pub(super) fn related_tables(&self, base: usize, until: At) -> Vec<usize> {
        let after = |at: At| {
            (0..at)
                .rev()
                .take_while(|i| !self.items[*i].is(Op::Break))
                .any(|i| matches!(self.items[i].op(), Some(Op::Relative | Op::Have)))
        };
        let listed = self
            .frame
            .tables
            .iter()
            .filter(|at| **at < until && after(**at))
            .filter_map(|at| self.item_table(*at));
        listed
            .filter(|t| *t != base && !self.valued.contains(t))
            .collect()
    }

    /// Rows that lack others are told by their key or name; a code that several rows share is not theirs alone.
    fn same_rows(&self, query: &Query) -> Answer<()> {
        let base = query.source.base;
        let shared = self.frame.select.iter().any(|f| match f {
            Figure::Plain(at) => self.column_hits(*at).iter().any(|(c, s)| {
                let table = self.catalog.table(c.table);
                c.table == base
                    && *s > 0.9
                    && table.is_key(c.column)
                    && !table.primary_key.contains(&c.column)
            }),
            _ => false,
        });
        let which = matches!(query.outputs.as_slice(), [one] if matches!(one.expr, Expr::Column(c) if c.table == base && self.is_shared(c)));
        if which && query.members.iter().any(|m| m.negated) {
            return Err(Trouble::Shape("a column that several rows share"));
        }
        if shared || self.subject.is_none() {
            return Err(Trouble::Shape("a column that several rows share"));
        }
        Ok(())
    }

    pub(super) fn lacking(
        &mut self,
        query: &mut Query,
        base: usize,
        at: Option<At>,
        negative: Vec<Resolved>,
    ) -> Answer<()> {
        if at.is_none() && negative.iter().all(|f| f.condition.column.table == base) {
            // "channels that do not use Latin", where each channel has one language.
            for mut filter in negative {
                filter.condition.negated = true;
                query.source.conditions.push(vec![filter.condition]);
            }
            return Ok(());
        }
        let table = match at {
            Some(at) => self.table(at)?,
            // "who do not speak Dutch": the table that holds the value.
            None => negative
                .first()
                .map(|f| f.condition.column.table)
                .ok_or(Trouble::Shape("a condition with not"))?,
        };
        if negative.iter().any(|f| f.condition.column.table == base) {
            return Err(Trouble::Shape("a condition with not"));
        }
        if table == base || self.key(base).len() != 1 {
            return Err(Trouble::Shape("rows that lack themselves"));
        }
        let mut tables: Vec<usize> = negative.iter().map(|f| f.condition.column.table).collect();
        tables.push(table);
        let later = self
            .frame
            .tables
            .iter()
            .filter(|t| at.is_some_and(|a| **t > a));
        tables.extend(
            later
                .filter_map(|t| self.item_table(*t))
                .filter(|t| *t != base),
        );
        let joins = self.graph.connect(base, &tables).map_err(Trouble::NoWay)?;
        if let (true, Some(key)) = (negative.is_empty(), self.own_key(base, table)) {
            // "orders without a delivery address"
            query.source.conditions.push(vec![Condition {
                column: key,
                check: Check::Missing,
                negated: false,
            }]);
            return Ok(());
        }
        if !joins.iter().any(|e| e.many) {
            return Err(Trouble::Shape("a reference that is missing"));
        }
        let source = Source {
            base,
            joins,
            conditions: grouped_conditions(negative),
        };
        query.members.push(Membership {
            source,
            negated: true,
        });
        Ok(())
    }

    /// "both A and B": rows that meet the one and the other.
    pub(super) fn both(
        &mut self,
        query: &mut Query,
        base: usize,
        edges: Vec<Edge>,
        whole: Vec<Edge>,
        groups: Vec<Vec<Condition>>,
        repeats: bool,
    ) -> Answer<()> {
        let [first, second] = groups.as_slice() else {
            return Err(Trouble::Shape("both, with more than two conditions"));
        };
        let same = first.len() == 1
            && second.len() == 1
            && first[0].column == second[0].column
            && !first[0].negated
            && !second[0].negated;
        if !same || self.frame.without.is_some() {
            return Err(Trouble::Shape("both, with different columns"));
        }
        if !query.order.is_empty() || query.limit.is_some() || !self.frame.order.is_empty() {
            return Err(Trouble::Shape("both, with an order"));
        }
        let counts = self
            .frame
            .select
            .iter()
            .any(|f| !matches!(f, Figure::Plain(_)));
        let told_apart = repeats && !self.key(base).is_empty();
        if counts && !told_apart {
            return Err(Trouble::Shape("a count of rows that meet both"));
        }
        if told_apart {
            query.source = Source {
                base,
                joins: edges,
                conditions: Vec::new(),
            };
            for group in groups {
                let source = Source {
                    base,
                    joins: whole.clone(),
                    conditions: vec![group],
                };
                query.members.push(Membership {
                    source,
                    negated: false,
                });
            }
            return Ok(());
        }
        query.source = Source {
            base,
            joins: whole,
            conditions: vec![first.clone()],
        };
        query.intersect = Some(vec![second.clone()]);
        Ok(())
    }
}

/// Groups come with the largest figure first, and the first few of equals by their key, so that the same question has the
/// same answer.
pub(super) fn settle_order(query: &mut Query, key: &[Expr]) {
    let figure = query.outputs.iter().find(|o| o.expr.is_figure());
    let is_open =
        query.order.is_empty() && !query.groups.is_empty() && query.count_groups.is_none();
    let figure = figure.filter(|_| is_open).map(|o| (o.expr.clone(), true));
    if figure.is_none() && query.limit.is_none_or(|n| n < 2) {
        return;
    }
    query.order.extend(figure);
    for part in key {
        let shown = query.outputs.iter().any(|o| o.expr == *part);
        if (shown || !query.distinct) && query.order.iter().all(|(e, _)| e != part) {
            query.order.push((part.clone(), false));
        }
    }
}
