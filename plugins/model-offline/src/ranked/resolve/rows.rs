//! Queries for rows, and for figures over all rows.

use super::groups::dedup;
use super::*;
use crate::pick::date_column;
use crate::ranked::sentences::TAIL;
use crate::words::name_stems as stems;

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
        refuse(
            !self.frame.units.is_empty(),
            "a unit of time without a figure",
        )?;
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
            for figure in self.frame.select.clone() {
                // "for all cars, how many makers": makers are not the rows that are counted.
                if self.counted(&figure)?.is_some_and(|t| t != base) {
                    return Err(Trouble::Shape("figures of several tables"));
                }
            }
            let ordered = !self.frame.order.is_empty() || self.frame.by_figure.is_some();
            refuse(
                ordered || self.frame.rank.is_some(),
                "an order of one figure",
            )?;
        }
        // "for each city, the highest latitude": the first of each group.
        if self.frame.rank.is_some() && !self.frame.groups.is_empty() {
            return Err(Trouble::Shape("the first row of each group"));
        }
        for at in self.frame.groups.clone() {
            // "each owner's first name and the size of the dog": columns of each row, not groups. But "the name and hours
            // of each van", which has hours of several trips.
            let per = |at: At| self.items[at].text.eq_ignore_ascii_case("per");
            let rows = self.item_table(at);
            let is_far = |c: ColumnRef| rows.is_some_and(|t| !self.graph.leads(t, c.table));
            let mut shown = select.iter().filter_map(Expr::column);
            let several = shown.any(|c| self.catalog.is_figure(c) && is_far(c));
            let each = several || at.checked_sub(1).is_some_and(per);
            refuse(each && !aggregated, "a figure for each group")?;
            if rows.is_none() {
                let column = Expr::Column(self.column(at)?);
                refuse(aggregated, "a group beside a figure over all rows")?;
                if !select.contains(&column) {
                    select.push(column);
                }
            }
        }
        if select.is_empty() {
            refuse(self.subject.is_none(), "nothing to show")?;
            refuse(self.frame.distinct, "a column whose values differ")?;
            // "Show all towns and shops."
            let other = |at: usize| {
                let mut behind =
                    (at + 1..self.items.len()).filter(|i| self.items[*i].kind != Kind::Soft);
                let next = behind.next().and_then(|i| self.item_table(i));
                self.items[at].is(Op::And)
                    && next.is_some_and(|t| t != subject)
                    && self.item_table(at - 1) == Some(subject)
            };
            refuse((1..self.items.len()).any(other), "rows of several tables")?;
            // "Who got the heaviest parcel?" does not ask for all of the parcel.
            self.names_someone(&self.label(subject))?;
            select = self.everything_of(subject, &filters);
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
        let yes =
            |e: &Expr| matches!(e, Expr::Column(c) if self.catalog.column(*c).yes().is_some());
        // "which drugs have passed": those that have, and not whether.
        if self.asks_for_rows() && select.iter().any(yes) && !self.frame.select.is_empty() {
            return Err(Trouble::Shape("rows for which a column says yes"));
        }
        if let [Figure::Plain(at)] = self.frame.select[..]
            && self.asks_for_rows()
            && at > 1
            && self.items[at - 1].is(Op::Is)
            && self.items[1..at].iter().any(Item::is_table)
        {
            // "which faults are severe", where a column is called `severity`.
            let column = self.column(at)?;
            return Err(self.weak(at, column));
        }
        let plain = select.iter().filter(|e| !e.is_figure());
        let plain: Vec<ColumnRef> = plain.filter_map(Expr::column).collect();
        if !plain.is_empty() {
            self.names_someone(&plain)?;
        }
        let order = self.order(&select)?;
        refuse(
            self.ranks_groups(&select, &order),
            "an order of several rows each",
        )?;
        let distinct_count = aggregated && self.frame.distinct;
        if distinct_count && !select.iter().all(|e| matches!(e, Expr::Count(_))) {
            return Err(Trouble::Shape("a figure over different values"));
        }
        let mut query = Query {
            distinct: !aggregated && (self.frame.distinct || self.asks_which(&select, &filters)),
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
        if self.frame.rank.as_ref().is_some_and(|r| r.limit > 1)
            && query.source.joins.iter().any(|e| e.many)
        {
            return Err(Trouble::Shape("an order of several rows each"));
        }
        // "the shop with the largest quantity of lamps": of one kind of them, or of all.
        let pieces = |c: &ColumnRef| {
            concept_column(self.catalog.table(c.table), "quantity") == Some(c.column)
        };
        let repeated = |c: &ColumnRef| query.source.joins.iter().any(|e| e.many && e.to == c.table);
        if self.frame.rank.is_some()
            && matches!(order.first(), Some((Expr::Column(c), _)) if pieces(c) && repeated(c))
        {
            return Err(Trouble::Shape("a number for each of several rows"));
        }
        if let [Figure::Count(at, false)] = self.frame.select[..]
            && self.counts_pieces(at, base, &query)
        {
            let rows = &self.catalog.table(base).name;
            let choices = vec![
                format!("number of {rows}"),
                "sum of their quantities".to_owned(),
            ];
            return Err(Trouble::Ambiguous(self.items[at].text.clone(), choices));
        }
        // "the average grade point of the students", who share grades: each grade counts as often as it was given, but the
        // rows of grades are each there once.
        let weighs = |e: &Expr| matches!(e, Expr::Agg(Aggregate::Sum | Aggregate::Average, _));
        let is_weighed = select.iter().any(weighs)
            && !query.members.is_empty()
            && self.frame.without.is_none()
            && base != subject
            && !self.graph.belongs(subject, base);
        if aggregated && (is_weighed || query.source.joins.iter().any(|e| e.many)) {
            return Err(Trouble::Shape("a figure over rows that a join repeats"));
        }
        if let (Some(rank), Some((Expr::Column(column), false))) = (&self.frame.rank, order.first())
            && rank.limit > 0
        {
            query
                .source
                .conditions
                .push(vec![Condition::new(*column, Check::Missing).not()]);
        }
        let deciding = self.frame.rank.is_some() || self.frame.select.is_empty();
        if let (true, Some((expr, _))) = (deciding, order.first())
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

    /// "Who does Ann report to?" and "Who made the largest payment?" ask for a name, and not for a key or a number.
    pub(super) fn names_someone(&self, shown: &[ColumnRef]) -> Answer<()> {
        let who = self.items.first();
        let who = who.is_some_and(|i| i.says("who whom"));
        let is_name = |c: &ColumnRef| {
            let (table, column) = (self.catalog.table(c.table), self.catalog.column(*c));
            let is_key = table.is_key(c.column) && !self.is_its_name(c.table);
            !is_key && column.kind == Type::Text && !column.holds_numbers()
        };
        refuse(
            who && !shown.iter().any(is_name),
            "the name of the row that a key refers to",
        )
    }

    /// "How many shows in 2023 sold out": those that did, and not a figure for yes and one for no.
    pub(super) fn no_flag_beside(&mut self, select: &[Expr]) -> Answer<()> {
        let listed = |i: &Item| matches!(i.op(), Some(Op::And | Op::Comma | Op::By | Op::Each));
        let counted = self.frame.select.iter().find_map(|f| match f {
            Figure::Count(at, _) => Some(*at),
            _ => None,
        });
        let verb = |i: &Item| lexis::is_relation(&i.text.to_lowercase());
        for figure in self.frame.select.clone() {
            // "how many orders used a voucher": those with one, and not a figure for each.
            let between = match (&figure, counted) {
                (Figure::Plain(at), Some(rows)) if rows < *at => &self.items[rows + 1..*at],
                _ => &[],
            };
            let small = |i: &Item| i.kind == Kind::Soft || i.optional;
            if between.iter().all(small) && between.iter().any(verb) {
                return Err(Trouble::Shape("rows that have a value"));
            }
            if let Figure::Plain(at) = figure
                && select.iter().any(Expr::is_figure)
                && at
                    .checked_sub(1)
                    .is_some_and(|before| !listed(&self.items[before]))
                && self.catalog.column(self.column(at)?).yes().is_some()
            {
                return Err(Trouble::Shape("rows for which a column says yes"));
            }
        }
        Ok(())
    }

    /// Refuses a column that is another one than the question says: "the name of each film and the name of the cinema"
    /// are no name twice, and "their sales agent names" are not those of the customers.
    pub(super) fn is_of_its_rows(
        &self,
        at: At,
        column: ColumnRef,
        shown: &[(At, ColumnRef)],
        filters: &[Resolved],
    ) -> Answer<()> {
        let text = |at: At| stems(&self.items[at].text);
        let name = self.items[at].says("name names");
        let owned = self.items.get(at + 1).is_some_and(|i| i.is(Op::Of));
        // "the eye colour and the coat colour" are no colour twice, nor "the date and the date of shipment" one date.
        let named = self.items[at].has_column(0.0, |c| c == column);
        let again = |(before, c): &(At, ColumnRef)| {
            let is_other = match text(*before) == text(at) {
                true => owned && (name || self.items[*before + 1].is(Op::And)),
                false => !named || name && owned,
            };
            *c == column && is_other
        };
        let of_value = |f: &Resolved| f.at + 1 == at && f.condition.column.table != column.table;
        // "the notes of paid visits": those that are, and not whether.
        let told = self
            .catalog
            .column(column)
            .distinct_count
            .is_some_and(|n| n < 3);
        let narrows = told && self.item_table(at + 1) == Some(column.table);
        match narrows || shown.iter().any(again) || name && filters.iter().any(of_value) {
            true => Err(self.weak(at, column)),
            false => Ok(()),
        }
    }

    /// "Which shop has the highest rating, and what is its city?" asks for the name of the shop too.
    pub(super) fn with_names(&self, select: &mut Vec<Expr>) {
        let end = self.items.iter().position(|i| i.is(Op::Break));
        let tail = end.filter(|end| self.items[*end].text == TAIL);
        // "Which shop is the cheapest and its city"
        let asks = |i: &Item| i.says("which what who");
        let opens = self.items.first().is_some_and(asks) && self.item_table(1) == self.subject;
        // "Which shops are the cheapest? Show the price."
        let tail = tail.or(end.filter(|_| opens));
        let ranked = self.frame.rank.as_ref().map(|r| r.at);
        let tail = tail.or(ranked.filter(|_| opens && end.is_none()));
        // "customers and their phones" do not tell whose a phone is.
        let theirs = |at: &usize| {
            let words = self.items[*at].text.to_lowercase();
            lexis::holds("their its", words.rsplit(' ').next().unwrap_or_default())
        };
        let theirs = (1..self.items.len()).find(theirs);
        let first = theirs.and_then(|_| (0..self.items.len()).find(|at| self.items[*at].is_name()));
        let theirs = theirs.filter(|_| first.is_some_and(|at| self.item_table(at) == self.subject));
        let tail = tail.or(theirs);
        let Some((tail, rows)) = tail.zip(self.subject) else {
            return;
        };
        let mut shown = self.frame.select.iter();
        let only_behind = shown.all(|f| matches!(f, Figure::Plain(at) if *at > tail));
        let label = self.label(rows).into_iter().map(Expr::Column);
        let lacking: Vec<Expr> = label.filter(|e| !select.contains(e)).collect();
        if only_behind && !select.is_empty() {
            select.splice(0..0, lacking);
        }
    }

    /// Whether a question starts with "which" or "who", so that it asks for rows.
    fn asks_for_rows(&self) -> bool {
        let which = |i: &Item| i.says("which who");
        self.items.first().is_some_and(which)
    }

    /// "Which towns have parks?" asks for each town once, where several rows share it, and so does "What are the towns?",
    /// which names no rows.
    fn asks_which(&self, select: &[Expr], filters: &[Resolved]) -> bool {
        // "What towns have parks?"
        let asks = |i: &Item| match &*i.text.to_lowercase() {
            "which" => true,
            word => word == "what" && self.frame.select == [Figure::Plain(1)],
        };
        let which = self.items.first().is_some_and(asks);
        let [Expr::Column(column)] = select else {
            return false;
        };
        // Figures of rows that belong to others may be wanted as often as they are there.
        let of_others = |f: &Resolved| f.condition.column.table != column.table;
        let figure = self.catalog.is_figure(*column) && filters.iter().any(of_others);
        let no_rows = self.frame.tables.is_empty() && !figure;
        self.frame.groups.is_empty()
            && (which || no_rows)
            && self.is_shared(*column)
            && self.frame.rank.is_none()
            && self.frame.order.is_empty()
    }

    /// "How many lamps are in the shop 'Nord'?": kinds of them, or the pieces that the rows between the two hold.
    fn counts_pieces(&self, at: At, base: usize, query: &Query) -> bool {
        let members = query.members.iter().filter(|m| !m.negated);
        let joins = members
            .flat_map(|m| &m.source.joins)
            .chain(&query.source.joins);
        let holds = |e: &Edge| {
            let between = self.catalog.table(e.to);
            let pieces = concept_column(between, "quantity").is_some();
            e.from == base && e.many && pieces && between.foreign_keys.len() > 1
        };
        let held = self.items.get(at + 1).is_some_and(|i| {
            matches!(i.op(), Some(Op::Is | Op::In)) || i.kind == Kind::Soft && i.says("did do does")
        });
        held && date_column(self.catalog.table(base)).is_none() && joins.into_iter().any(holds)
    }

    /// Whether several rows have the same value in a column.
    pub(super) fn is_shared(&self, column: ColumnRef) -> bool {
        let (table, source) = (
            self.catalog.table(column.table),
            self.catalog.column(column),
        );
        let shared = source.distinct_count.zip(table.row_count);
        shared.is_some_and(|(values, rows)| values < rows)
    }

    /// "The top 3 continents by population", where rows have a continent: each would stand there for one row of many.
    fn ranks_groups(&self, select: &[Expr], order: &[(Expr, bool)]) -> bool {
        let repeats = |e: &Expr| matches!(e, Expr::Column(c) if self.is_shared(*c) && !self.label(c.table).contains(c));
        let mut others = select
            .iter()
            .filter(|e| !order.iter().any(|(o, _)| o == *e))
            .peekable();
        self.frame.rank.as_ref().is_some_and(|r| r.limit > 1)
            && others.peek().is_some()
            && others.all(repeats)
    }

    fn everything_of(&self, table: usize, filters: &[Resolved]) -> Vec<Expr> {
        let said = |i: &Item| {
            matches!(
                i.text.to_lowercase().as_str(),
                "information" | "info" | "details" | "everything" | "about"
            )
        };
        if self.items.iter().any(said) {
            return self.whole(table);
        }
        if self.is_its_name(table) {
            return self.key(table).into_iter().map(Expr::Column).collect();
        }
        if self.frame.rank.is_some()
            || !self.frame.order.is_empty()
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
                let source = self.catalog.table(table);
                let Some(date) = date_column(source) else {
                    // Nothing names these rows but all that they have.
                    return self.whole(table);
                };
                // An order is known by its date and what it comes to, and by what is said of it.
                let known = concept_column(source, "amount").into_iter();
                let known = [date].into_iter().chain(known);
                columns.extend(known.map(|column| ColumnRef::new(table, column)));
                let said = filters.iter().map(|f| f.condition.column);
                columns.extend(said.filter(|c| c.table == table));
                dedup(&mut columns);
            }
            return columns.into_iter().map(Expr::Column).collect();
        }
        self.whole(table)
    }

    /// All columns of a table.
    fn whole(&self, table: usize) -> Vec<Expr> {
        let all = self.catalog.table(table).columns.iter().enumerate();
        let own = all.filter(|(_, column)| column.span.is_none());
        own.map(|(at, _)| Expr::Column(ColumnRef::new(table, at)))
            .collect()
    }
}

/// Groups come with the largest figure first, and the first few of equals by their key, so that the same question has
/// the same answer.
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
