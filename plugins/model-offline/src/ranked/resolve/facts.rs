//! Measures, and the dates that periods and months are about.

use super::*;
use crate::dialect::Unit;
use crate::measures::{self, Candidate, Measure};
use crate::pick::{concept_column, date_column, date_columns};

impl Resolver<'_> {
    /// Chooses the table whose rows give the measure of the question: the cheapest that leads to all that the question
    /// names.
    pub(super) fn measure_base(&mut self) -> Answer<()> {
        let mut measures = self.frame.figures().filter_map(|f| match f {
            Figure::Measure(measure, at) => Some((*measure, *at)),
            _ => None,
        });
        let Some((measure, at)) = measures.next() else {
            return Ok(());
        };
        // Every figure of a statement would be of the rows of a taught metric: its filter holds for all of them.
        let is_other =
            |f: &Figure| matches!(f, Figure::Count(..) | Figure::Agg(..) | Figure::End(..));
        let is_taught = matches!(measure, Measure::Taught(_));
        if measures.any(|other| other.0 != measure)
            || is_taught && self.frame.figures().any(is_other)
        {
            return Err(Trouble::Shape("two figures at once"));
        }
        let mut wanted: Vec<Vec<usize>> = self.mentioned.iter().map(|t| vec![*t]).collect();
        wanted.extend(self.subject.map(|t| vec![t]));
        wanted.extend(self.item_table(at).map(|t| vec![t]));
        for place in self
            .frame
            .groups
            .iter()
            .chain(self.frame.filters.iter().map(|f| &f.at))
        {
            let tables: Vec<usize> = self.items[*place]
                .hits
                .iter()
                .filter_map(|h| match &h.target {
                    Target::Column(c) | Target::Value(c, _) => Some(c.table),
                    Target::Table(_) => None,
                })
                .collect();
            if self.item_table(*place).is_none() && !tables.is_empty() {
                wanted.push(tables);
            }
        }
        let cost = |candidate: &Candidate| {
            let parents = self.graph.parents(self.catalog, candidate.base);
            let steps = |t: &usize| parents.get(t).map(|p| p.0);
            let far = wanted
                .iter()
                .map(|tables| tables.iter().filter_map(steps).min());
            far.sum::<Option<usize>>()
                .map(|steps| candidate.cost + steps)
        };
        let candidates: Vec<Candidate> = match measure {
            Measure::Taught(metric) => self.taught(metric).into_iter().collect(),
            _ => measures::candidates(self.catalog, measure),
        };
        let mut found: Vec<(usize, Candidate)> = candidates
            .into_iter()
            .filter_map(|c| Some((cost(&c)?, c)))
            .collect();
        found.sort_by_key(|(cost, _)| *cost);
        match found.as_slice() {
            [] => Err(match measure {
                Measure::Taught(_) => Trouble::Taught(measure.names(self.catalog).0.to_owned()),
                _ => Trouble::Shape("a figure that its tables do not have"),
            }),
            [(a, one), (b, other), ..] if a == b => {
                let names = [one, other].map(|c| self.catalog.table(c.base).name.clone());
                Err(Trouble::Ambiguous(
                    measure.names(self.catalog).1.to_owned(),
                    names.to_vec(),
                ))
            }
            [(_, best), ..] => {
                self.notes.extend(best.note.clone());
                self.measure = Some((measure, best.clone()));
                Ok(())
            }
        }
    }

    /// A taught metric over the rows of that of its tables which leads to the others, so that no row comes twice.
    fn taught(&self, metric: usize) -> Option<Candidate> {
        let taught = &self.catalog.metrics[metric];
        let tables = &taught.formula.as_ref()?.tables;
        let leads = |base: &usize| {
            let parents = self.graph.parents(self.catalog, *base);
            tables.iter().all(|t| parents.contains_key(&t.0))
        };
        let base = tables.iter().map(|t| t.0).find(leads)?;
        Some(Candidate {
            base,
            expr: Expr::Taught(metric, ColumnRef::new(base, 0)),
            cost: 0,
            note: Some(taught.note.clone()),
        })
    }

    /// The tables that the statement of a taught metric joins.
    pub(super) fn told(&self) -> Vec<usize> {
        let metric = match &self.measure {
            Some((Measure::Taught(metric), _)) => self.catalog.metrics.get(*metric),
            _ => None,
        };
        let formula = metric.and_then(|m| m.formula.as_ref());
        formula.map_or_else(Vec::new, |f| f.tables.iter().map(|t| t.0).collect())
    }

    /// Of several columns that a word may mean, those nearest to the rows of the measure.
    pub(super) fn nearest_to_measure(&self, columns: &mut Vec<(ColumnRef, f32)>) {
        let Some((_, candidate)) = &self.measure else {
            return;
        };
        let parents = self.graph.parents(self.catalog, candidate.base);
        let top = columns.iter().map(|c| c.1).fold(0.0, f32::max);
        let far = |c: ColumnRef| parents.get(&c.table).map(|(steps, gaps)| 3 * steps + gaps);
        let least = columns
            .iter()
            .filter(|c| c.1 > top - 0.1)
            .filter_map(|c| far(c.0))
            .min();
        if least.is_some() {
            columns.retain(|c| c.1 > top - 0.1 && far(c.0) == least);
        }
    }

    /// The chosen expression of the measure.
    pub(super) fn measured(&self) -> Answer<Expr> {
        let expr = self.measure.as_ref().map(|(_, c)| c.expr.clone());
        expr.ok_or(Trouble::Shape("a figure without a column"))
    }

    /// Whether rows of a table, or of a taught metric, have several dates with the same claim to be theirs.
    pub(super) fn has_rival_dates(&self, base: usize) -> bool {
        let told = self.told();
        let mut own = told.iter().chain([&base]);
        own.any(|t| date_columns(self.catalog.table(*t)).len() > 1)
    }

    /// The date of a table, or of the nearest table that each of its rows leads to.
    pub(super) fn date_of(&self, base: usize) -> Option<ColumnRef> {
        if self.has_rival_dates(base) {
            return None;
        }
        let parents = self.graph.parents(self.catalog, base);
        // The tables of a taught metric come before others.
        let told = self.told();
        let dates = parents.iter().filter_map(|(table, (steps, _))| {
            let column = date_column(self.catalog.table(*table))?;
            let far = match told.contains(table) {
                true => (*steps).min(1),
                false => steps + 1,
            };
            Some((far, ColumnRef::new(*table, column)))
        });
        let mut dates: Vec<(usize, ColumnRef)> = dates.collect();
        dates.sort_unstable();
        let nearest = dates.first()?.0;
        let near: Vec<ColumnRef> = dates
            .iter()
            .filter(|d| d.0 == nearest)
            .map(|d| d.1)
            .collect();
        match near.as_slice() {
            [one] => Some(*one),
            several => several
                .iter()
                .find(|c| self.is_part_of(base, c.table))
                .copied(),
        }
    }

    /// Whether rows are parts of those of another table: the lines of an order.
    pub(super) fn is_part_of(&self, table: usize, whole: usize) -> bool {
        let source = self.catalog.table(table);
        let mut keys = source.foreign_keys.iter().filter(|k| k.target == whole);
        keys.any(|k| k.columns.iter().all(|c| source.primary_key.contains(c)))
    }

    /// The date that a time in the question is about, where the catalog has a date for it: that of the measure, else of
    /// the table that stands before it. Without a measure, a date of other rows is another time than theirs.
    pub(super) fn time(&self, at: At) -> Option<ColumnRef> {
        let base = self.measure.as_ref().map(|(_, c)| c.base);
        let lacking = self.frame.without.is_some_and(|(w, _)| w < at);
        let near = self
            .counted_before(at)
            .or_else(|| self.nearest_before(at))
            .or(self.subject)
            .or(self.mentioned.first().copied());
        let own = base.is_none();
        let base = base.or(near).filter(|_| !lacking)?;
        let fits = |c: &ColumnRef| {
            let of_rows = c.table == base || self.is_part_of(base, c.table);
            !own || of_rows && self.verb_fits(at, *c)
        };
        self.date_of(base).filter(fits)
    }

    /// The table whose rows are counted or summed, where a time only stands behind those that they are grouped by:
    /// "orders per employee in 1993" are not those of employees who came then. A verb before the time says whose it is:
    /// "orders per employee hired in 1993".
    pub(super) fn counted_before(&self, at: At) -> Option<usize> {
        let place = self.frame.figures().find_map(|figure| match figure {
            Figure::Count(place, _) | Figure::Agg(_, place) => Some(*place),
            _ => None,
        })?;
        let closest = || {
            let hits = self.column_hits(place).into_iter();
            let scored = hits.map(|(c, s)| (c.table, s + self.closeness(place, c.table)));
            scored.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(t, _)| t)
        };
        let table = self.item_table(place).or_else(closest)?;
        let is_by = |i: &At| matches!(self.items[*i].op(), Some(Op::Each | Op::By));
        let by = (place..at).find(is_by)?;
        let named = (by..at).rev().find_map(|i| self.item_table(i));
        let is_other = named.is_some_and(|near| near != table);
        (is_other && !self.is_done(at)).then_some(table)
    }

    /// "shipped in 2024": the date column that the word names, nearest to what the question is about.
    pub(super) fn dated_column(&mut self, at: At) -> Option<ColumnRef> {
        let dates = self.column_hits(at).into_iter();
        let dates = dates.filter(|(c, _)| self.catalog.column(*c).kind == Type::Date);
        let top = dates.clone().map(|d| d.1).fold(0.0, f32::max).min(0.85);
        let dates = dates.filter(|(_, s)| *s >= top);
        let from = self
            .subject
            .into_iter()
            .chain(self.mentioned.iter().copied())
            .collect::<Vec<_>>();
        let far = |c: ColumnRef| {
            from.iter()
                .filter_map(|f| self.graph.distance(*f, c.table))
                .min()
                .unwrap_or(9)
        };
        let mut found: Vec<(usize, ColumnRef)> = dates.map(|(c, _)| (far(c), c)).collect();
        found.sort_unstable();
        match found.as_slice() {
            [(_, one)] => Some(*one),
            [(a, one), (b, _), ..] if a < b => Some(*one),
            _ => None,
        }
    }

    /// Groups by months and the like.
    pub(super) fn buckets(&mut self, base: usize) -> Answer<Vec<Expr>> {
        let units: Vec<(Option<At>, Unit)> = self.frame.units.clone();
        let mut found = Vec::new();
        for (named, unit) in units {
            if let (None, Some(column)) = (named, self.column_of(base, unit)) {
                let label = self.catalog.label(column);
                self.notes.push(format!("the {} is `{label}`", unit.name()));
                found.push(Expr::Column(column));
                continue;
            }
            // Without a measure, a date of other rows is another time than theirs.
            let measured = self.measure.is_some();
            let own = |c: &ColumnRef| measured || c.table == base || self.is_part_of(base, c.table);
            let date = match named {
                Some(at) => self.dated_column(at),
                None => match self.date_of_verb(base) {
                    Some(date) => Some(date),
                    // "products reviewed per month" are not those that came then.
                    None => self.date_of(base).filter(own).filter(|c| {
                        let at = self.items.iter().position(|i| i.kind == Kind::Unit(unit));
                        measured || at.is_none_or(|at| self.verb_fits(at, *c))
                    }),
                },
            };
            let date = date.ok_or(Trouble::Shape("a single date to group by"))?;
            self.notes.push(format!(
                "the {} is that of `{}`",
                unit.name(),
                self.catalog.label(date)
            ));
            found.push(Expr::Bucket(unit, date));
        }
        Ok(found)
    }

    /// The one date of a table that a verb of the question names: "trips started per month".
    fn date_of_verb(&self, table: usize) -> Option<ColumnRef> {
        let verbs = self.items.iter().map(|i| i.text.to_lowercase());
        let verbs: Vec<String> = verbs.filter(|w| lexis::is_relation(w)).collect();
        let columns = self.catalog.table(table).columns.iter().enumerate();
        let is_named = |name: &str| {
            let name = split(name);
            let said = |w: &String| verbs.iter().any(|v| lexis::is_same_verb(v, w));
            name.iter().any(said)
        };
        let mut found = columns.filter(|(_, c)| c.kind == Type::Date && is_named(&c.plain));
        let only = found.next().filter(|_| found.next().is_none())?;
        Some(ColumnRef::new(table, only.0))
    }

    /// The column of a table that is called like a unit of time. A month or a day of it may be of any year, so the date
    /// of a table comes before those.
    fn column_of(&self, table: usize, unit: Unit) -> Option<ColumnRef> {
        let is_called = |name: &str| name.eq_ignore_ascii_case(unit.name());
        let columns = &self.catalog.table(table).columns;
        let found = columns.iter().position(|c| is_called(&c.plain))?;
        let is_whole = match unit {
            Unit::Year => columns[found].is_numeric(),
            Unit::Weekday => true,
            _ => false,
        };
        is_whole.then_some(ColumnRef::new(table, found))
    }

    /// The column of money of a table that is worked with: "orders over 100", "the average order value".
    pub(super) fn amount(&mut self, table: usize, words: &str) -> Answer<ColumnRef> {
        let source = self.catalog.table(table);
        let found = ["amount", "price"]
            .iter()
            .find_map(|c| concept_column(source, c));
        let column =
            found.ok_or_else(|| Trouble::Weak(words.to_owned(), "an amount".to_owned()))?;
        let column = ColumnRef::new(table, column);
        self.notes.push(format!(
            "\"{words}\" is read as `{}`",
            self.catalog.label(column)
        ));
        Ok(column)
    }
}

impl Resolver<'_> {
    /// Whether a column holds places of an order, of which the first is the best and a sum says nothing.
    pub(super) fn is_rank(&self, column: ColumnRef) -> bool {
        let column = self.catalog.column(column);
        let name = split(&column.plain);
        let last = name.last().map_or("", |w| w);
        column.name.ends_with('#')
            || lexis::holds("rank ranking position pos place standing no number", last)
    }

    /// The number of rows, or the sum of the column that says how many each of them stands for.
    pub(super) fn counted_rows(&mut self, at: At, table: usize) -> Answer<Expr> {
        let source = self.catalog.table(table);
        let held = source.columns.iter().position(|c| {
            c.is_numeric() && matches!(c.name.to_lowercase().as_str(), "count" | "cnt")
        });
        let Some(held) = held.map(|column| ColumnRef::new(table, column)) else {
            return Ok(Expr::Count(None));
        };
        let label = self.catalog.label(held);
        let rows = &source.name;
        // Rows with a name, or of several others, are things themselves: a category, a line of an order. So are those
        // with a certain count.
        let is_tally = source.foreign_keys.len() == 1 && self.label(table) == self.key(table);
        let mut conditions = self.frame.filters.iter().filter_map(|f| f.column);
        if !is_tally || conditions.any(|c| self.items[c].has_column(0.85, |c| c == held)) {
            let choices = [format!("number of {rows}"), format!("sum of {label}")];
            let words = self.items[at].text.clone();
            return Err(Trouble::Ambiguous(words, choices.to_vec()));
        }
        self.notes.push(format!(
            "a row of `{rows}` stands for as many as `{label}` says"
        ));
        Ok(Expr::Agg(Aggregate::Sum, Amount::Column(held)))
    }

    /// What the measure is called in the result, and in words.
    pub(super) fn measure_names(&self) -> Option<(Expr, Measure)> {
        self.measure.as_ref().map(|(m, c)| (c.expr.clone(), *m))
    }
}
