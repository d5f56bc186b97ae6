//! Queries for figures of groups, and rankings of groups.

use super::*;
use crate::ranked::frame::Rank;

impl Resolver<'_> {
    /// Figures for each group, rankings of groups, groups of a certain size.
    pub(super) fn grouped(
        &mut self,
        subject: usize,
        select: Vec<Expr>,
        filters: Vec<Resolved>,
    ) -> Answer<Query> {
        refuse(
            self.frame.without.is_some() || self.frame.both,
            "groups with another condition",
        )?;
        if self
            .frame
            .rank
            .as_ref()
            .is_some_and(|r| !r.by.is_over_groups())
        {
            return Err(Trouble::Shape("a ranking of single rows among groups"));
        }
        // "which town has the most shops, and how many are in each town": the first, or all.
        let all = |rank: &Rank| {
            let and = |at: &At| (rank.at..*at).any(|i| self.items[i].is(Op::And));
            rank.limit == 1 && self.frame.groups.iter().any(|at| *at > rank.at && and(at))
        };
        refuse(
            self.frame.rank.as_ref().is_some_and(all),
            "the first group, and all groups",
        )?;
        let (base, counts) = self.fact(subject)?;
        let buckets = self.buckets(base)?;
        let column = |e: &Expr| match e {
            Expr::Column(c) => Some(*c),
            _ => None,
        };
        let plain: Vec<ColumnRef> = select.iter().filter_map(column).collect();
        let figures: Vec<Expr> = select
            .iter()
            .filter(|e| column(e).is_none())
            .cloned()
            .collect();
        let mut keys: Vec<ColumnRef> = Vec::new();
        let mut shown: Vec<ColumnRef> = plain.clone();
        for at in self.frame.groups.clone() {
            let item = &self.items[at];
            let own = self.column_hits(at).into_iter().find(|(c, s)| {
                let named = |t| self.own_key(base, t) == Some(*c) && self.label(t) != self.key(t);
                let named = self.item_table(at).is_some_and(named);
                c.table == base
                    && *s >= item.table()
                    && !named
                    && !plain.iter().any(|p| p.table != base)
            });
            let several = item.table() >= 0.9 && item.column() >= 0.9;
            let label =
                |c: &ColumnRef| self.label(c.table).contains(c) || self.key(c.table).contains(c);
            if several
                && own.is_none()
                && !self
                    .column_hits(at)
                    .iter()
                    .all(|(c, s)| *s < 0.9 || label(c))
            {
                return Err(Trouble::Shape("a group that may be rows or a column"));
            }
            if let Some((column, _)) = own.filter(|_| item.table() > 0.0) {
                keys.push(column);
                shown.push(column);
                continue;
            }
            if self.only_owns_next(at, &plain) {
                continue;
            }
            if item.is_table() {
                let table = self.table(at)?;
                let in_table = plain.iter().any(|c| c.table == table);
                let label = self.label(table);
                let own = self
                    .own_key(base, table)
                    .filter(|_| !in_table && label == self.key(table));
                if let Some(own) = own {
                    keys.push(own);
                    shown.push(own);
                    continue;
                }
                keys.extend(self.key(table));
                if !in_table {
                    shown.extend(label);
                    shown.extend(self.key(table));
                }
                keys.extend(self.label(table).into_iter().filter(|_| !in_table));
            } else {
                let column = self.shown(at)?;
                keys.push(column);
                shown.push(column);
            }
        }
        let by_column = !self.frame.groups.is_empty()
            && self
                .frame
                .groups
                .iter()
                .all(|at| self.item_table(*at).is_none());
        if by_column && self.frame.rank.is_none() && plain.iter().any(|c| !keys.contains(c)) {
            return Err(Trouble::Shape("columns beside those of the groups"));
        }
        let entity = self.subject.unwrap_or(subject);
        // "top 3 kinds by average price"; a total may be that of each row.
        let by_other = self.frame.rank.as_ref().is_some_and(
            |rank| matches!(rank.by, Figure::Agg(aggregate, _) if aggregate != Aggregate::Sum),
        );
        if self.frame.groups.is_empty() && buckets.is_empty() {
            let own = plain.first().map_or(entity, |c| c.table);
            let named = self.mentioned.contains(&own) && own != base;
            if plain.is_empty() {
                refuse(entity == base, "a count of its own rows")?;
                keys = self.key(entity);
                shown = self.label(entity);
                for key in &keys {
                    if !shown.contains(key) {
                        shown.push(*key);
                    }
                }
            } else if named && !self.is_value_of_rows(&plain) {
                keys = self.key(own);
            } else if !counts && own == base && !by_other {
                return Err(Trouble::Shape("a figure beside a column"));
            }
        }
        // "the neighbourhood with the most shops", where each shop has a row with the name of its neighbourhood.
        let is_part = |t: usize| {
            let shares = matches!(self.label(t)[..], [name] if self.is_shared(name));
            // Rows that other rows are the key of are no things of their own.
            let refers = |k: &ColumnRef| {
                let mut keys = self.catalog.table(t).foreign_keys.iter();
                keys.any(|f| f.columns == [k.column])
            };
            let of_others = matches!(self.key(t).as_slice(), [only] if refers(only));
            t != base && shares && (of_others || self.graph.belongs(t, base))
        };
        // A name of its own is no group: two freelancers are called Ann Poe, and each is an employee.
        let is_own = |c: &ColumnRef| {
            let [name] = self.label(c.table)[..] else {
                return false;
            };
            let counts = self.catalog.column(name).distinct_count;
            let counts = counts.zip(self.catalog.table(c.table).row_count);
            let is_rare = counts.is_none_or(|(values, rows)| values * 4 > rows * 3);
            is_part(c.table) && (is_rare || !self.names_rows(name))
        };
        if shown
            .iter()
            .any(|c| self.key(c.table).contains(c) && is_own(c))
        {
            return Err(Trouble::Shape(
                "groups that are rows or names that rows share",
            ));
        }
        let is_row = |c: &ColumnRef| is_part(c.table) && self.key(c.table).contains(c);
        if !shown.iter().all(is_row) {
            keys.retain(|c| !is_row(c));
            shown.retain(|c| !is_row(c));
        }
        for column in &shown {
            if !keys.contains(column) {
                keys.push(*column);
            }
        }
        dedup(&mut keys);
        dedup(&mut shown);
        self.names_someone(&shown)?;
        refuse(
            keys.is_empty() && buckets.is_empty(),
            "a group without a key",
        )?;
        let mut order = self.order(&select)?;
        if order.is_empty() {
            order.extend(buckets.iter().map(|b| (b.clone(), false)));
            // Years come one after the other too.
            let years = |c: &&ColumnRef| {
                let source = self.catalog.column(**c);
                let year = split(&source.name).iter().any(|w| w == "year");
                source.kind == Type::Date || year && source.is_numeric()
            };
            let years = keys.iter().find(years).filter(|_| buckets.is_empty());
            order.extend(years.map(|c| (Expr::Column(*c), false)));
        }
        for (expr, _) in &mut order {
            // "per month, starting from the earliest date"
            let same = |b: &&Expr| matches!(expr, Expr::Column(_)) && b.column() == expr.column();
            if let Some(bucket) = buckets.iter().find(same) {
                *expr = bucket.clone();
            }
        }
        if order
            .iter()
            .any(|(e, _)| matches!(e, Expr::Column(c) if !keys.contains(c) && !buckets.contains(e)))
        {
            return Err(Trouble::Shape(
                "an order of groups by a column of their rows",
            ));
        }
        let mut having = match &self.frame.having {
            Some((figure, comparison, number)) => {
                Some((self.figure(figure, 0)?, *comparison, number.clone()))
            }
            None => None,
        };
        let mut all: Vec<Expr> = buckets.clone();
        all.extend(shown.iter().map(|c| Expr::Column(*c)));
        let only_count = having.is_some()
            && plain.is_empty()
            && figures == [Expr::Count(None)]
            && self.frame.groups.is_empty();
        if !only_count {
            all.extend(figures.iter().cloned());
        }
        for expr in order
            .iter()
            .map(|o| &o.0)
            .chain(having.iter().map(|h| &h.0))
        {
            if !all.contains(expr) && !only_count {
                all.push(expr.clone());
            }
        }
        let mut needed: Vec<usize> = keys.iter().map(|c| c.table).collect();
        needed.extend(self.needed(&all, &order));
        needed.extend(self.measure.as_ref().map(|(_, c)| c.base));
        let mut query = Query {
            limit: self.frame.rank.as_ref().map(|r| r.limit),
            ..Query::default()
        };
        self.place(&mut query, base, &needed, filters)?;
        let relates = |i: &Item| lexis::is_relation(&i.text.to_lowercase());
        let is_borrowed = shown.iter().any(|c| self.is_borrowed(*c, base));
        if is_borrowed && !self.items.iter().any(relates) {
            return Err(Trouble::Shape("a group of rows that it does not name"));
        }
        if self.measure.is_none() {
            let ordered = order.iter_mut().map(|o| &mut o.0);
            let chosen = having.iter_mut().map(|h| &mut h.0);
            let mut exprs: Vec<&mut Expr> = all.iter_mut().chain(ordered).chain(chosen).collect();
            self.count_once(&query, &keys, &mut exprs)?;
        }
        let aggregates = all
            .iter()
            .any(|e| matches!(e, Expr::Agg(..) | Expr::Taught(..)));
        let repeats = query.source.joins.iter().filter(|e| e.many).count();
        if (aggregates && repeats > 0) || repeats > 1 {
            return Err(Trouble::Shape("a figure over rows that a join repeats"));
        }
        let own = self.key(base);
        if !own.is_empty()
            && !self.frame.is_part
            && own.iter().all(|k| keys.contains(k))
            && query.source.joins.iter().all(|e| !e.many)
        {
            return Err(Trouble::Shape("a figure of single rows"));
        }
        let names = |k: &ColumnRef| k.table == base && self.label(base) == [*k];
        if counts
            && self.frame.rank.is_none()
            && keys.iter().any(names)
            && !query.source.joins.is_empty()
        {
            return Err(Trouble::Shape("a count beside the names of what it counts"));
        }
        // "employees with two or more jobs", where each employee has one job.
        if let Some(last) = query.source.joins.last()
            && counts
            && query.source.joins.iter().all(|e| e.many)
            && self.key(last.to).iter().all(|k| keys.contains(k))
        {
            return Err(Trouble::Shape("a count of what each row has one of"));
        }
        self.note_rows_without(base, &query, having.as_ref());
        let ranked = keys.clone();
        query.groups = buckets
            .into_iter()
            .chain(keys.into_iter().map(Expr::Column))
            .collect();
        query.count_groups = only_count.then(|| "count".to_owned());
        let shown = if only_count { &query.groups } else { &all };
        query.outputs = outputs::named(self.catalog, shown, self.measure_names().as_ref());
        query.having = having;
        query.order = order;
        self.rank_known_groups(&mut query, &ranked);
        let key = query.groups.clone();
        settle_order(&mut query, &key);
        Ok(query)
    }

    /// "which plane model has the most flights": what is asked for is a model, and not a plane.
    fn is_value_of_rows(&self, plain: &[ColumnRef]) -> bool {
        let [column] = plain else {
            return false;
        };
        let names = self.label(column.table).contains(column);
        let behind_table = |f: &Figure| match f {
            Figure::Plain(at) => {
                let before = at.checked_sub(1).and_then(|b| self.item_table(b));
                before == Some(column.table)
            }
            _ => false,
        };
        !names
            && !self.key(column.table).contains(column)
            && self.frame.select.iter().any(behind_table)
    }

    /// Counts each row once, where a join repeats the rows that are counted.
    fn count_once(&self, query: &Query, keys: &[ColumnRef], exprs: &mut [&mut Expr]) -> Answer<()> {
        let base = query.source.base;
        let joins = &query.source.joins;
        // A row of a bridge is one pair, where its key is the pair.
        let is_pair = match joins.as_slice() {
            [to, on] => {
                let bridge = &self.catalog.table(to.to).primary_key;
                let ends = to.pairs.iter().map(|p| p.1);
                let pair: Vec<usize> = ends.chain(on.pairs.iter().map(|p| p.0)).collect();
                on.from == to.to
                    && !bridge.is_empty()
                    && bridge.iter().all(|k| pair.contains(k))
                    && self.key(on.to).iter().all(|k| keys.contains(k))
            }
            _ => false,
        };
        if is_pair || !joins.iter().any(|edge| edge.many) {
            return Ok(());
        }
        for expr in exprs.iter_mut().filter(|e| ***e == Expr::Count(None)) {
            match self.key(base).as_slice() {
                [key] => **expr = Expr::Count(Some(*key)),
                _ => return Err(Trouble::Shape("a count of rows that a join repeats")),
            }
        }
        Ok(())
    }

    /// Rows that have no value to group by do not make a group that can come first.
    fn rank_known_groups(&mut self, query: &mut Query, keys: &[ColumnRef]) {
        let Some(rank) = &self.frame.rank else {
            return;
        };
        if let (Figure::Agg(Aggregate::Sum, _), Some((expr, _))) = (&rank.by, query.order.first())
            && let Some(column) = expr.column()
        {
            let column = self.catalog.label(column);
            self.notes
                .push(format!("each group is ranked by the sum of `{column}`"));
        }
        for column in keys {
            let whole = self.key(column.table);
            let is_told_apart = !whole.is_empty() && whole.iter().all(|k| keys.contains(k));
            if self.catalog.column(*column).nullable && !is_told_apart {
                let present = Condition::new(*column, Check::Missing).not();
                query.source.conditions.push(vec![present]);
                let column = self.catalog.label(*column);
                self.notes
                    .push(format!("rows without `{column}` are not ranked"));
            }
        }
    }

    /// Whether a name says only whose column is next, which is one of the groups or `shown`: "by vet specialty". With the
    /// column that names the rows, each row is a group.
    fn only_owns_next(&self, at: At, shown: &[ColumnRef]) -> bool {
        let next = at + 1;
        let Some(table) = self.item_table(at).filter(|_| next < self.items.len()) else {
            return false;
        };
        let is_group = self.frame.groups.contains(&next);
        let hits = self.column_hits(next);
        let best = hits.iter().map(|h| h.1).fold(0.0, f32::max);
        hits.iter().any(|(column, score)| {
            column.table == table
                && *score >= best
                && (is_group || shown.contains(column))
                && !self.label(table).contains(column)
                && !self.key(table).contains(column)
        })
    }

    /// Says that groups without rows are not there, where the fewest are asked for.
    fn note_rows_without(
        &mut self,
        base: usize,
        query: &Query,
        having: Option<&(Expr, Comparison, String)>,
    ) {
        let fewest = |rank: &Rank| !rank.descending && matches!(rank.by, Figure::Count(..));
        let few = |(_, comparison, _): &(Expr, Comparison, String)| {
            matches!(comparison, Comparison::Below | Comparison::AtMost)
        };
        if (self.frame.rank.as_ref().is_some_and(fewest) || having.is_some_and(few))
            && let Some(join) = query.source.joins.first()
        {
            let group = if join.from == base {
                join.to
            } else {
                join.from
            };
            let [group, counted] =
                [group, base].map(|table| self.catalog.table(table).name.clone());
            self.notes
                .push(format!("`{group}` without any `{counted}` are not counted"));
        }
    }

    /// The column of `base` that refers to the key of `table`: grouping by it needs no join.
    pub(super) fn own_key(&self, base: usize, table: usize) -> Option<ColumnRef> {
        let [key] = self.catalog.table(table).primary_key.as_slice() else {
            return None;
        };
        let keys = &self.catalog.table(base).foreign_keys;
        let mut found = keys
            .iter()
            .filter(|k| k.target == table && k.target_columns == [*key] && k.columns.len() == 1);
        match (found.next(), found.next()) {
            (Some(k), None) => Some(ColumnRef::new(base, k.columns[0])),
            _ => None,
        }
    }

    /// "the number of different customers and the average price per kind of order": customers that orders belong to are
    /// counted among the orders. Without "different" only where the groups are nothing of the customers themselves.
    pub(super) fn child_of_counted(&mut self) -> Answer<Option<usize>> {
        let mut counted: Vec<(usize, bool)> = Vec::new();
        let mut others = Vec::new();
        for figure in self.frame.figures().cloned().collect::<Vec<_>>() {
            match figure {
                Figure::Count(at, distinct) if self.items[at].is_table() => {
                    counted.push((self.table(at)?, distinct));
                }
                Figure::Agg(..) => {
                    others.extend(self.figure(&figure, 0)?.column().map(|c| c.table))
                }
                Figure::Measure(..) | Figure::Count(..) => return Ok(None),
                _ => {}
            }
        }
        let mut grouped = Vec::new();
        let plain = self.frame.select.iter().filter_map(|f| match f {
            Figure::Plain(at) => Some(*at),
            _ => None,
        });
        for at in self
            .frame
            .groups
            .iter()
            .copied()
            .chain(plain)
            .collect::<Vec<_>>()
        {
            let table = self.item_table(at);
            grouped.push(match table {
                Some(table) => table,
                None => self.column(at)?.table,
            });
        }
        if grouped.is_empty() || self.frame.having.is_some() {
            return Ok(None);
        }
        let is_child = |child: &usize| {
            let mut parents = counted.iter().filter(|(t, _)| t != child).peekable();
            parents.peek().is_some()
                && others.iter().all(|t| t == child)
                && parents.all(|(parent, distinct)| {
                    let own = grouped.iter().any(|g| self.graph.leads(*parent, *g));
                    self.own_key(*child, *parent).is_some() && (*distinct || !own)
                })
        };
        let mut tables = counted.iter().map(|c| c.0).chain(others.iter().copied());
        Ok(tables.find(is_child))
    }

    /// The table whose rows are counted or aggregated, and whether something is counted.
    pub(super) fn fact(&mut self, subject: usize) -> Answer<(usize, bool)> {
        let mut tables = Vec::new();
        let mut counts = false;
        let figures: Vec<Figure> = self.frame.figures().cloned().collect();
        let having = self.frame.having.is_some();
        for (place, figure) in figures.iter().enumerate() {
            match figure {
                Figure::Count(..) => {
                    let table = self.counted(figure)?;
                    let outer = having
                        && place < self.frame.select.len()
                        && table == self.subject
                        && self.frame.groups.is_empty();
                    counts = true;
                    if !outer {
                        tables.extend(table);
                    }
                }
                Figure::Measure(..) => tables.extend(self.measure.as_ref().map(|(_, c)| c.base)),
                Figure::Agg(..) => tables.extend(self.figure(figure, 0)?.column().map(|c| c.table)),
                _ => {}
            }
        }
        tables.sort_unstable();
        tables.dedup();
        if let Some(child) = self.child {
            return Ok((child, counts));
        }
        match tables.as_slice() {
            [one] => Ok((*one, counts)),
            [] => Ok((subject, counts)),
            _ => Err(Trouble::Shape("figures of several tables")),
        }
    }
}

pub(super) fn dedup(columns: &mut Vec<ColumnRef>) {
    let mut seen = Vec::new();
    columns.retain(|c| {
        let new = !seen.contains(c);
        seen.push(*c);
        new
    });
}
