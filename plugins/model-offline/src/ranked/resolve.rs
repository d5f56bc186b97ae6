//! Chooses the table and column that each name of a frame means, and builds the query.

mod conditions;
mod context;
mod facts;
mod groups;
mod names;
mod place;
mod quality;
mod rows;

use super::frame::{At, Figure, Filter, Frame, Test};
use super::items::{Item, Kind};
use super::join::{Graph, NoWay};
use super::lexis::{self, Op, Quality};
use super::link::Target;
use super::outputs;
use super::rivals::MARGIN;
use crate::catalog::{Catalog, ColumnRef, Kind as Type};
use crate::dates;
use crate::measures::{Candidate, Measure};
use crate::pick::{concept_column, label_columns};
use crate::query::{Amount, Check, Condition, Edge, Expr, Query, Source};
use crate::spans::End;
use crate::vocabulary::{Aggregate, Comparison};
use crate::words::split;
use conditions::{contradictory, grouped_conditions};
use names::sure;
use rows::settle_order;

/// Readings whose weakest name scores lower are not taken: a synonym or a part of a name does for the table in question
/// only (see `WEAK`).
const WEAKEST: f32 = 0.9;
/// The same for the only column of the table in question that may be meant.
const WEAK: f32 = 0.8;

/// Why there is no query.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// Words with several meanings.
    Ambiguous(String, Vec<String>),
    /// Tables that are not connected in one way.
    NoWay(NoWay),
    /// Words that are too far from the names of the catalog.
    Weak(String, String),
    /// Words that fit only columns which are too far from what the question asks for.
    Apart(String, Vec<String>),
    /// A shape that the rules do not cover.
    Shape(&'static str),
    /// A taught metric whose statement does not lead to what the question asks it for.
    Taught(String),
}

type Answer<T> = Result<T, Trouble>;

/// Refuses a shape that the rules do not cover.
fn refuse(is_so: bool, shape: &'static str) -> Answer<()> {
    match is_so {
        true => Err(Trouble::Shape(shape)),
        false => Ok(()),
    }
}

/// Builds the query of a frame.
pub fn resolve(catalog: &Catalog, items: &[Item], frame: &Frame) -> Answer<Query> {
    let graph = Graph::of(catalog);
    let mut resolver = Resolver {
        catalog,
        items,
        frame,
        graph,
        mentioned: Vec::new(),
        subject: None,
        notes: Vec::new(),
        sure: sure(items),
        valued: Vec::new(),
        measure: None,
        child: None,
    };
    resolver.mention_tables()?;
    resolver.graph.named = resolver.on_the_way();
    resolver.measure_base()?;
    let mut query = resolver.build()?;
    let measure = resolver.measure_names();
    let mut notes = resolver.notes;
    let members = query.members.iter().flat_map(|m| &m.source.joins);
    notes.extend(guessed(catalog, query.source.joins.iter().chain(members)));
    let own = query.source.conditions.iter().flatten();
    for condition in own.filter(|c| c.negated && !matches!(c.check, Check::Missing | Check::Truth))
    {
        if catalog.column(condition.column).nullable {
            let label = catalog.label(condition.column);
            notes.push(format!(
                "rows without a value in `{label}` are not among them"
            ));
        }
    }
    notes.extend(spans_of(catalog, &query)?);
    notes.dedup();
    query.notes = notes;
    query.is_open = frame.rank.as_ref().is_some_and(|r| r.is_open);
    query.title = outputs::title(catalog, &query, measure.as_ref());
    Ok(query)
}

/// The keys of some joins that no foreign key declares.
pub fn guessed<'a>(catalog: &Catalog, edges: impl IntoIterator<Item = &'a Edge>) -> Vec<String> {
    let note = |edge: &Edge| {
        let (from, to) = (catalog.table(edge.from), catalog.table(edge.to));
        let (a, b) = edge.pairs.first()?;
        Some(format!(
            "no foreign key says so, but I took `{}.{}` and `{}.{}` for the same key",
            from.name, from.columns[*a].name, to.name, to.columns[*b].name
        ))
    };
    let edges = edges.into_iter().filter(|e| e.guessed);
    edges.filter_map(note).collect()
}

/// How the lengths of time of a query are worked out.
fn spans_of(catalog: &Catalog, query: &Query) -> Answer<Vec<String>> {
    let shown = query.outputs.iter().map(|o| &o.expr);
    let chosen = query.having.iter().map(|h| &h.0);
    let exprs = shown.chain(chosen).chain(query.order.iter().map(|o| &o.0));
    let members = query.members.iter().map(|m| &m.source);
    let sources = members.chain([&query.source]);
    let conditions = sources.flat_map(|s| s.conditions.iter().flatten());
    let columns = exprs
        .filter_map(Expr::column)
        .chain(conditions.map(|c| c.column));
    let mut notes = Vec::new();
    for at in columns {
        let column = catalog.column(at);
        if let Some(span) = &column.span {
            if let Some(why) = span.refused {
                return Err(Trouble::Shape(why));
            }
            let note = span.describe(catalog.table(at.table), &column.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(notes)
}

struct Resolver<'a> {
    catalog: &'a Catalog,
    items: &'a [Item],
    frame: &'a Frame,
    graph: Graph,
    mentioned: Vec<usize>,
    subject: Option<usize>,
    notes: Vec<String>,
    /// Tables of columns that are named beyond doubt.
    sure: Vec<usize>,
    /// Tables that are only named with the value of a key of theirs: "students of the History department".
    valued: Vec<usize>,
    /// The measure of the question, and how it is worked out.
    measure: Option<(Measure, Candidate)>,
    /// The table whose rows all figures are of, where another that its rows belong to is counted beside them.
    child: Option<usize>,
}

/// A resolved condition with the way it joins the one before.
struct Resolved {
    condition: Condition,
    at: At,
    or: bool,
}

impl Resolver<'_> {
    pub(super) fn figure(&mut self, figure: &Figure, at: At) -> Answer<Expr> {
        Ok(match figure {
            Figure::Plain(at) => Expr::Column(self.shown(*at)?),
            Figure::Measure(..) => self.measured()?,
            Figure::End(end, at) => {
                let table = self.table(*at)?;
                let date = self.date_of(table).filter(|d| d.table == table);
                let date = date.ok_or(Trouble::Shape("a single date of those rows"))?;
                Expr::Agg(*end, Amount::Column(date))
            }
            Figure::Agg(aggregate, at) => {
                let numeric = self.column_hits(*at).into_iter().any(|(c, s)| {
                    s >= 0.85 && self.catalog.is_figure(c) && !self.catalog.table(c.table).is_view()
                });
                let of_rows = self.items[*at].best_table().filter(|_| !numeric);
                let column = match of_rows {
                    Some(table)
                        if concept_column(self.catalog.table(table), "amount").is_some() =>
                    {
                        self.amount(table, &self.items[*at].text.clone())?
                    }
                    _ => self.column(*at)?,
                };
                let source = self.catalog.column(column);
                let numeric = source.is_numeric() || source.holds_numbers();
                let ends = matches!(aggregate, Aggregate::Min | Aggregate::Max)
                    && self.catalog.column(column).kind == Type::Date;
                let adds = matches!(aggregate, Aggregate::Sum | Aggregate::Average);
                let is_key = self.catalog.table(column.table).is_key(column.column);
                let no_sum = *aggregate == Aggregate::Sum && self.is_rank(column);
                if !numeric && !ends || adds && is_key || no_sum {
                    return Err(Trouble::Weak(
                        self.items[*at].text.clone(),
                        "a number".to_owned(),
                    ));
                }
                Expr::Agg(*aggregate, Amount::Column(column))
            }
            Figure::Quality(quality) => Expr::Column(self.quality(at, *quality)?),
            Figure::Count(at, distinct) => {
                let item = &self.items[*at];
                if item.is_table() && !(*distinct && item.column() > 0.9) {
                    let table = self.table(*at)?;
                    if *distinct
                        && self.key(table).len() != 1
                        && self.label(table) == self.key(table)
                    {
                        // "different bookings": each is another one, or those of the same room are not.
                        return Err(Trouble::Shape("what tells those rows apart"));
                    }
                    let parent = self.child.and_then(|child| self.own_key(child, table));
                    match parent {
                        Some(key) => {
                            let label = self.catalog.label(key);
                            self.notes
                                .push(format!("each different value of `{label}` is counted once"));
                            Expr::Count(Some(key))
                        }
                        None => self.counted_rows(*at, table)?,
                    }
                } else {
                    let column = self.column(*at)?;
                    if self.catalog.is_figure(column) || self.catalog.column(column).holds_numbers()
                    {
                        // "number of rooms": rows, different values, or a sum of them.
                        return Err(self.weak(*at, column));
                    }
                    if !*distinct && (self.frame.rank.is_some() || self.frame.having.is_some()) {
                        // "the country with the most cities": a city is there once, though several rows are in it.
                        let once = self.is_shared(column) && !self.frame.groups.contains(at);
                        return Ok(Expr::Count(once.then_some(column)));
                    }
                    let alone = self.frame.select.len() == 1 && self.frame.filters.is_empty();
                    let exact = item.column() >= 0.95 && item.table() == 0.0;
                    let alone = alone && exact && self.frame.groups.is_empty();
                    let is_text = self.catalog.column(column).kind == Type::Text
                        && !self.catalog.table(column.table).is_key(column.column);
                    if !*distinct && alone && is_text {
                        // "How many customers are there?", where only a column is called so.
                        let label = self.catalog.label(column);
                        self.notes
                            .push(format!("each different value of `{label}` is counted once"));
                        return Ok(Expr::Count(Some(column)));
                    }
                    if !*distinct {
                        // "number of cities": rows, or different values.
                        return Err(self.weak(*at, column));
                    }
                    Expr::Count(Some(column))
                }
            }
        })
    }

    /// Words that are too far from the name of a column.
    pub(super) fn weak(&self, at: At, column: ColumnRef) -> Trouble {
        Trouble::Weak(self.items[at].text.clone(), self.catalog.label(column))
    }

    /// The table whose rows a count counts.
    pub(super) fn counted(&mut self, figure: &Figure) -> Answer<Option<usize>> {
        let Figure::Count(at, _) = figure else {
            return Ok(None);
        };
        let item = &self.items[*at];
        if item.is_table() {
            return self.table(*at).map(Some);
        }
        Ok(Some(self.column(*at)?.table))
    }

    pub(super) fn build(&mut self) -> Answer<Query> {
        let mut filters: Vec<Resolved> = Vec::new();
        for filter in &self.frame.filters {
            let condition = self.filter(filter, filters.last())?;
            if filters
                .iter()
                .any(|f| f.condition == condition && !filter.or)
            {
                // "female students, whose sex is F"
                continue;
            }
            filters.push(Resolved {
                condition,
                at: filter.at,
                or: filter.or,
            });
        }
        if self.subject.is_none() && self.mentioned.is_empty() {
            // "the population of Ulm" is a column of the row that is called so.
            let named = filters.iter().find(|f| {
                let before = f.at.checked_sub(1).map(|b| &self.items[b]);
                before.is_some_and(|i| i.is(Op::Of))
                    && self.label(f.condition.column.table) == [f.condition.column]
            });
            self.subject = named.map(|f| f.condition.column.table);
        }
        let beside = |t: &usize| {
            let named = self.frame.filters.iter().filter_map(|f| f.column.as_ref());
            let places = self.frame.tables.iter().chain(named);
            let mut places = places
                .filter(|at| self.item_table(**at) == Some(*t))
                .peekable();
            let value = |at: At| {
                let mut near = filters.iter().filter(|f| f.at.abs_diff(at) == 1);
                near.any(|f| {
                    let column = f.condition.column;
                    column.table != *t && self.own_key(column.table, *t) == Some(column)
                })
            };
            places.peek().is_some() && places.all(|at| value(*at))
        };
        let valued = self
            .mentioned
            .iter()
            .filter(|t| self.subject != Some(**t) && beside(t));
        self.valued = valued.copied().collect();
        self.child = self.child_of_counted()?;
        let mut select = Vec::new();
        let mut shown = Vec::new();
        for figure in &self.frame.select {
            let expr = self.figure(figure, 0)?;
            if let (Figure::Plain(at), Expr::Column(column)) = (figure, &expr) {
                self.is_of_its_rows(*at, *column, &shown, &filters)?;
                shown.push((*at, *column));
            }
            if !select.contains(&expr) {
                select.push(expr);
            }
        }
        self.no_flag_beside(&select)?;
        self.with_names(&mut select);
        let told = filters.iter().filter(|f| {
            let one = matches!(&f.condition.check, Check::Texts(t, _) if t.len() == 1);
            one && !f.or
                && !f.condition.negated
                && select.contains(&Expr::Column(f.condition.column))
        });
        let told = told.count();
        // "the first and last name of Ann Poe's advisor": not those that the question says.
        if told > 1 || told > 0 && told == select.len() {
            return Err(Trouble::Shape("columns whose values the question gives"));
        }
        let first_column = select.iter().find_map(|e| e.column().map(|c| c.table));
        let subject = self
            .subject
            .or(first_column)
            .or(self.mentioned.first().copied())
            .or(self.measure.as_ref().map(|(_, c)| c.base));
        let subject = subject
            .or(filters.first().map(|f| f.condition.column.table))
            .ok_or(Trouble::Shape("no table"))?;
        self.no_borrowed(&filters, subject)?;
        let figures = select.iter().any(|e| !matches!(e, Expr::Column(_)));
        let plain = select.iter().any(|e| matches!(e, Expr::Column(_)));
        let ranked = self.frame.rank.iter().map(|r| &r.by);
        let mut deciding = ranked.chain(self.frame.order.iter().map(|o| &o.0));
        let grouped = deciding.any(Figure::is_over_groups)
            || self.frame.having.is_some()
            || (figures
                && (plain || !self.frame.groups.is_empty() || !self.frame.units.is_empty()));
        let average = |f: &Filter| matches!(f.test, Test::Average(_));
        if self.frame.filters.len() > 1 && self.frame.filters.iter().any(average) {
            return Err(Trouble::Shape("an average of some rows only"));
        }
        let pair = self.mentioned.iter().any(|t| self.graph.is_paired(*t));
        let one = |f: &Resolved| {
            matches!(f.condition.check, Check::Texts(..))
                && self
                    .label(f.condition.column.table)
                    .contains(&f.condition.column)
        };
        refuse(
            pair && plain && filters.iter().any(one),
            "the other one of a pair",
        )?;
        // "orders shipped after May": a time of the shipping, and not of the shipped orders. A value behind "from" or "is"
        // does not happen, nor does "Yoga" behind "members who booked".
        let named = |i: &Item| i.is_table() && !lexis::is_relation(&i.text.to_lowercase());
        let happened = |w: &[Filter]| {
            let value = matches!(w[0].test, Test::Values(_)) && w[0].column.is_none();
            let before = w[0].at.checked_sub(1);
            let rows = before.is_some_and(|before| named(&self.items[before]));
            let near = (w[0].at + 1..w[1].at).all(|i| {
                let item = &self.items[i];
                item.kind == Kind::Soft || item.is(Op::In)
            });
            value && rows && near && w[1].quality == Some(Quality::Time)
        };
        refuse(
            self.frame.filters.windows(2).any(happened),
            "a time beside a value",
        )?;
        // "Anna Berg", where one table has an Anna and another a Berg: neither is meant.
        let torn = filters.windows(2).any(|w| {
            w[0].at + 1 == w[1].at
                && w[0].condition.column.table != w[1].condition.column.table
                && w.iter().all(|f| self.is_part_of_name(f.condition.column))
        });
        refuse(torn, "a full name that no row has")?;
        refuse(
            contradictory(&filters) && !self.frame.both,
            "two values of one column at once",
        )?;
        // "songs that Ann wrote or that were played in Rome": the rows of one table need not have one of the other.
        let both = self.items.iter().any(|i| i.is(Op::Both));
        let is_apart = |w: &[Resolved]| {
            let [a, b] = [&w[0], &w[1]].map(|f| f.condition.column);
            let is_own = |c: ColumnRef| self.graph.leads(subject, c.table);
            let is_far = a.table != b.table && !(is_own(a) && is_own(b));
            w[1].or && (is_far || a != b && filters.len() > 2) || both && is_far
        };
        refuse(filters.windows(2).any(is_apart), "several alternatives")?;
        let query = if grouped {
            self.grouped(subject, select, filters)?
        } else {
            self.listed(subject, select, filters)?
        };
        self.all_used(&query)?;
        Ok(query)
    }

    /// A table that the question names must be part of the query.
    pub(super) fn all_used(&self, query: &Query) -> Answer<()> {
        let mut used: Vec<usize> = vec![query.source.base];
        used.extend(query.source.joins.iter().map(|e| e.to));
        used.extend(
            query
                .groups
                .iter()
                .filter_map(Expr::column)
                .map(|c| c.table),
        );
        used.extend(&self.valued);
        if let Some(child) = self.child {
            let counts = |key| {
                let count = Expr::Count(Some(key));
                query.outputs.iter().any(|o| o.expr == count)
            };
            let counted = |t: &usize| self.own_key(child, *t).is_some_and(counts);
            used.extend(self.mentioned.iter().copied().filter(counted));
        }
        used.extend(self.told());
        let lacks = |key| {
            let mut conditions = query.source.conditions.iter().flatten();
            conditions.any(|c| c.column == key && c.check == Check::Missing)
        };
        let referred = |t: &usize| {
            self.own_key(query.source.base, *t)
                .is_some_and(|key| query.groups.contains(&Expr::Column(key)) || lacks(key))
        };
        used.extend(self.mentioned.iter().copied().filter(referred));
        for member in &query.members {
            used.extend(member.source.joins.iter().map(|e| e.to));
        }
        let goes_over = |at: &At| {
            let word = self.items[*at].text.to_lowercase();
            let is_said = |t: &usize| self.is_called(*t, &word);
            used.iter().any(is_said)
        };
        if let Some(verb) = self.frame.verbs.iter().find(|at| !goes_over(at)) {
            let text = self.items[*verb].text.clone();
            return Err(Trouble::Weak(text, "a table of this question".to_owned()));
        }
        let unused = self.mentioned.iter().find(|t| !used.contains(t));
        match unused {
            Some(_) => Err(Trouble::Shape("a table without a part in the query")),
            None => Ok(()),
        }
    }

    pub(super) fn needed(&self, select: &[Expr], order: &[(Expr, bool)]) -> Vec<usize> {
        let tables = select
            .iter()
            .chain(order.iter().map(|o| &o.0))
            .filter_map(|e| e.column().map(|c| c.table));
        tables.collect()
    }

    /// The oldest are those who were born first, also among those of the same age.
    fn by_birth(&self, figure: &Figure, by: Expr, down: bool) -> Answer<(Expr, bool)> {
        let of_age = *figure == Figure::Quality(Quality::Age);
        if of_age && by.column().is_some_and(|c| self.is_start(c)) {
            return Ok((by, !down));
        }
        let span = by
            .column()
            .and_then(|c| Some((c, self.catalog.column(c).span.as_ref()?)));
        Ok(match (&by, span) {
            (Expr::Column(_), Some((at, span))) if matches!(span.to, End::Today(_)) => {
                if let Some(why) = span.refused {
                    return Err(Trouble::Shape(why));
                }
                let column = span.from;
                (Expr::Column(ColumnRef { column, ..at }), !down)
            }
            _ => (by, down),
        })
    }

    pub(super) fn order(&mut self, select: &[Expr]) -> Answer<Vec<(Expr, bool)>> {
        let mut order = Vec::new();
        if let Some(rank) = &self.frame.rank {
            let by = self.figure(&rank.by, rank.at)?;
            // "the top ranking": the first, which has the smallest number, or the largest number.
            if by.column().is_some_and(|c| self.is_rank(c)) {
                return Err(Trouble::Shape("the first or the last of a ranking"));
            }
            order.push(self.by_birth(&rank.by, by, rank.descending)?);
            let mut others = Vec::new();
            for (figure, down) in &self.frame.order {
                let by = self.figure(figure, 0)?;
                others.push(self.by_birth(figure, by, *down)?);
            }
            let others_down = self.frame.by_figure.unwrap_or(rank.descending);
            let others_down = if others.len() > 1 {
                rank.descending
            } else {
                others_down
            };
            return if others.starts_with(&order) {
                Ok(others)
            } else if others.is_empty() && others_down == rank.descending {
                Ok(order)
            } else {
                Err(Trouble::Shape("a ranking with another order"))
            };
        }
        for (figure, down) in &self.frame.order {
            let timed = |i: &Item| matches!(i.op(), Some(Op::Most(_, Some(_))));
            let at = self.items.iter().position(timed).unwrap_or_default();
            let by = self.figure(figure, at)?;
            let column = by.column().filter(|_| !by.is_figure());
            if column.is_some_and(|c| names_times(&self.catalog.column(c).common_values)) {
                return Err(Trouble::Shape("an order of months or days by their names"));
            }
            order.push(self.by_birth(figure, by, *down)?);
        }
        if let Some(down) = self.frame.by_figure {
            let number = |e: &&Expr| {
                let own = e.column().filter(|_| matches!(e, Expr::Column(_)));
                e.is_figure() || own.is_some_and(|c| self.catalog.is_figure(c))
            };
            let mut figures = select.iter().filter(number);
            let (Some(figure), None) = (figures.next(), figures.next()) else {
                return Err(Trouble::Shape("an order that says by what"));
            };
            order.push((figure.clone(), down));
        }
        if let Some(down) = self.frame.alphabetical {
            let text = select.iter().find(
                |e| matches!(e, Expr::Column(c) if self.catalog.column(*c).kind == Type::Text),
            );
            order.push((
                text.cloned()
                    .ok_or(Trouble::Shape("an alphabetical order without a text"))?,
                down,
            ));
        }
        Ok(order)
    }
}

/// Whether texts are the names of months or of days of the week, whose letters have another order.
fn names_times(texts: &[String]) -> bool {
    const STARTS: &str =
        "jan feb mar apr may jun jul aug sep oct nov dec mon tue wed thu fri sat sun";
    let start = |text: &String| text.chars().take(3).collect::<String>().to_lowercase();
    texts.len() > 1 && texts.iter().all(|t| lexis::holds(STARTS, &start(t)))
}
