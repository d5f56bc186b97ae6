//! Where the conditions go: into the joins, or into a test of the key.

use super::*;

impl Resolver<'_> {
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
        let whole = self.over_named(base, (whole, &all), &positive)?;
        let in_main: Vec<usize> = edges.iter().map(|e| e.to).chain([base]).collect();
        let repeats = whole.iter().any(|e| e.many && !in_main.contains(&e.to));
        let both = self.frame.both;
        // "customers with an invoice that is not paid" may have another one that is.
        let beside = |f: &Resolved| {
            let passes = |i: &Item| {
                let joins = matches!(i.op(), Some(Op::Is | Op::Not | Op::Relative));
                i.kind == Kind::Soft || joins
            };
            let before = (0..f.at).rev().find(|i| !passes(&self.items[*i]));
            let near = before.into_iter().chain([f.at + 1]);
            let mut near = near.filter(|i| *i < self.items.len());
            near.any(|i| self.item_table(i) == Some(f.condition.column.table))
        };
        let is_far = |f: &Resolved| f.condition.negated && f.condition.column.table != base;
        if repeats && positive.iter().any(|f| is_far(f) && beside(f)) {
            return Err(Trouble::Shape("some rows that are not so"));
        }
        let groups = grouped_conditions(positive);
        if both {
            return self.both(query, base, edges, whole, groups, repeats);
        }
        let negated_far = groups.iter().any(|g| {
            g.iter()
                .any(|c| c.negated && !in_main.contains(&c.column.table))
        });
        // A list of more than these rows shows them as often as they match; one that has a row twice is asked back.
        let lists = !self
            .frame
            .select
            .iter()
            .any(|f| matches!(f, Figure::Agg(..) | Figure::Count(..)))
            && self.frame.rank.is_none()
            && !(self.subject == Some(base)
                && !self.key(base).is_empty()
                && needed.iter().all(|t| *t == base));
        if !repeats || (lists && without.is_none() && !negated_far) {
            query.source = Source::new(base, whole, groups);
        } else {
            refuse(self.key(base).is_empty(), "a table without a key")?;
            let (near, far): (Vec<_>, Vec<_>) = groups
                .into_iter()
                .partition(|g| g.iter().all(|c| in_main.contains(&c.column.table)));
            query.source = Source::new(base, edges, near);
            // "speak languages other than Dutch": beside it, or not it.
            refuse(negated_far, "others among several")?;
            let member = Source::new(base, whole, far).member(false);
            query.members.push(member);
        }
        if let Some((_, at)) = without {
            self.lacking(query, base, at, negative)?;
            refuse(
                self.subject.is_none(),
                "rows that lack others, and a name for them",
            )?;
        } else if !negative.is_empty() {
            return Err(Trouble::Shape("a condition with not"));
        }
        Ok(())
    }

    /// "clerks who sold tools of the guild 'Grey'" are no clerks of that guild, where both tools and clerks have one: the
    /// way goes on from the rows that are named right before.
    fn over_named(
        &self,
        base: usize,
        (way, wanted): (Vec<Edge>, &[usize]),
        filters: &[Resolved],
    ) -> Answer<Vec<Edge>> {
        let tree: Vec<usize> = way.iter().map(|e| e.to).chain([base]).collect();
        let is_over = |table: usize, rows: usize| {
            let before = |at: &usize| way.iter().find(|e| e.to == *at).map(|e| e.from);
            std::iter::successors(Some(table), before).any(|t| t == rows)
        };
        let other = filters.iter().find_map(|filter| {
            let table = filter.condition.column.table;
            let sentence = (0..filter.at)
                .rev()
                .take_while(|i| !self.items[*i].is(Op::Break));
            let mut named = sentence
                .filter_map(|i| self.item_table(i))
                .filter(|t| *t != table);
            let rows = named
                .next()
                .filter(|t| tree.contains(t) && self.graph.meets(*t, table, &tree))?;
            (table != base && !is_over(table, rows) && !is_over(rows, table))
                .then_some((table, rows))
        });
        let Some((table, rows)) = other else {
            return Ok(way);
        };
        let others: Vec<usize> = wanted.iter().copied().filter(|t| *t != table).collect();
        let mut way = self.graph.connect(base, &others).map_err(Trouble::NoWay)?;
        let end = self.graph.connect(rows, &[table]).map_err(Trouble::NoWay)?;
        let is_taken = |t: usize| t == base || way.iter().any(|e| e.to == t);
        if !is_taken(rows) || end.iter().any(|e| is_taken(e.to)) {
            return Err(Trouble::Shape("rows that two others lead to"));
        }
        way.extend(end);
        Ok(way)
    }

    /// Whether a column is of rows that the question neither names nor refers to: "female doctors", where only patients
    /// have a gender.
    pub(super) fn is_borrowed(&self, column: ColumnRef, subject: usize) -> bool {
        let measured = self.measure.as_ref().map(|(_, c)| c.base);
        let mut named = self
            .mentioned
            .iter()
            .copied()
            .chain([subject])
            .chain(measured);
        !named.any(|t| self.graph.leads(t, column.table))
    }

    /// Refuses a condition on such rows, unless it names one of them or a verb relates them: "who speak Dutch".
    pub(super) fn no_borrowed(&self, filters: &[Resolved], subject: usize) -> Answer<()> {
        let related = |at: At| {
            let verb = |i: &&Item| lexis::is_relation(&i.text.to_lowercase());
            let near = |i: &&Item| verb(i) || !i.is_name() || i.optional;
            let before = self.items[..at].iter().rev().take_while(near);
            let behind = self.items[at + 1..].iter().take_while(near);
            before.chain(behind).any(|i| verb(&i))
        };
        let borrowed = |f: &&Resolved| {
            let column = f.condition.column;
            // "students absent in 2023": the verb is the date.
            let dated =
                matches!(f.condition.check, Check::Days(_)) && self.items[f.at].kind == Kind::Names;
            self.is_borrowed(column, subject)
                && !(dated || related(f.at))
                && !self.label(column.table).contains(&column)
        };
        match filters.iter().find(borrowed) {
            Some(filter) => Err(self.weak(filter.at, filter.condition.column)),
            None => Ok(()),
        }
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
        refuse(
            negative.iter().any(|f| f.condition.column.table == base),
            "a condition with not",
        )?;
        refuse(
            table == base || self.key(base).len() != 1,
            "rows that lack themselves",
        )?;
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
            query
                .source
                .conditions
                .push(vec![Condition::new(key, Check::Missing)]);
            return Ok(());
        }
        refuse(!joins.iter().any(|e| e.many), "a reference that is missing")?;
        query
            .members
            .push(Source::new(base, joins, grouped_conditions(negative)).member(true));
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
        refuse(
            !same || self.frame.without.is_some(),
            "both, with different columns",
        )?;
        if !query.order.is_empty() || query.limit.is_some() || !self.frame.order.is_empty() {
            return Err(Trouble::Shape("both, with an order"));
        }
        let counts = self.frame.has_figure();
        let told_apart = repeats && !self.key(base).is_empty();
        refuse(counts && !told_apart, "a count of rows that meet both")?;
        if told_apart {
            query.source = Source::new(base, edges, Vec::new());
            for group in groups {
                query
                    .members
                    .push(Source::new(base, whole.clone(), vec![group]).member(false));
            }
            return Ok(());
        }
        query.source = Source::new(base, whole, vec![first.clone()]);
        query.intersect = Some(vec![second.clone()]);
        Ok(())
    }
}
