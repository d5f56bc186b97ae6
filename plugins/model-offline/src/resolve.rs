//! From the shape of a question to a query: tries each reading, keeps the best that accounts for every word.

use crate::catalog::{Catalog, ColumnRef, Kind};
use crate::conditions;
use crate::measures::{self, Candidate};
use crate::mentions::Mention;
use crate::names::Target;
use crate::pick::{View, concept_column, date_column, label_columns};
use crate::plan::{Condition, Expr, Output, Plan, Shape};
use crate::problem::Problem;
use crate::reach::{Reach, Step};
use crate::roles::{Settled, ranking_limit};
use crate::sketch::{Ask, Group, Rank, RankBy, Sketch};

/// Groups shown at most, and rows when a listing says no number.
const MOST_GROUPS: u64 = 100;
const LISTED_ROWS: u64 = 20;

/// Finds the query for a question, or says why there is none.
pub fn resolve(
    catalog: &Catalog,
    mentions: &[Mention],
    settled: &Settled,
) -> Result<Plan, Problem> {
    let readings = readings(catalog, mentions, settled)?;
    let mut best: Vec<(i32, Plan)> = Vec::new();
    let mut first_problem = None;
    for reading in readings {
        match Builder::new(catalog, mentions, settled, &reading).build(&reading) {
            Ok(plan) => {
                let joins = i32::try_from(plan.joins.len()).unwrap_or(i32::MAX);
                best.push((reading.cost + joins, plan));
            }
            Err(problem) => {
                first_problem.get_or_insert(problem);
            }
        }
    }
    best.sort_by_key(|(cost, _)| *cost);
    match best.as_slice() {
        [] => Err(first_problem.unwrap_or(Problem::NothingAsked)),
        [(a, one), (b, other), ..] if a == b && one.base != other.base => {
            let names = [one, other]
                .map(|p| catalog.table(p.base).name.clone())
                .to_vec();
            Err(Problem::Ambiguous(one.title.clone(), names))
        }
        [(_, plan), ..] => Ok(plan.clone()),
    }
}

/// One way to read the question: the table it is about, and the figure.
struct Reading {
    base: usize,
    measure: Option<Candidate>,
    cost: i32,
}

fn readings(
    catalog: &Catalog,
    mentions: &[Mention],
    settled: &Settled,
) -> Result<Vec<Reading>, Problem> {
    let sketch = &settled.sketch;
    let with = |c: Candidate| Reading {
        base: c.base,
        cost: c.cost,
        measure: Some(c),
    };
    if let Some((table, latest)) = settled.dated {
        let found = mentions[table].tables().filter_map(|(t, s)| {
            measures::dated(catalog, t, latest).map(|c| Reading {
                cost: 100 - s,
                ..with(c)
            })
        });
        let found: Vec<Reading> = found.collect();
        return if found.is_empty() {
            Err(Problem::unsupported(format!(
                "I find no date that says when \"{}\" came to be.",
                mentions[table].text
            )))
        } else {
            Ok(found)
        };
    }
    if let Some(ask) = sketch.ask {
        return Ok(measures::candidates(catalog, mentions, ask, sketch)?
            .into_iter()
            .map(with)
            .collect());
    }
    let tables: Vec<(usize, i32)> = sketch
        .plain
        .iter()
        .flat_map(|p| mentions[*p].tables())
        .collect();
    if !sketch.groups.is_empty() {
        if let Some(figure) = sketch.plain.iter().find(|p| !mentions[**p].is_table()) {
            return Err(Problem::unsupported(format!(
                "For each group, do you want the number, the total or the average? I cannot tell for \"{}\".",
                mentions[*figure].text
            )));
        }
        let tables = if tables.is_empty() {
            group_tables(mentions, sketch)
        } else {
            tables
        };
        return Ok(tables
            .iter()
            .flat_map(|(t, s)| measures::counts_of(catalog, *t, 100 - s))
            .map(with)
            .collect());
    }
    let columns = sketch
        .plain
        .iter()
        .chain(sketch.tests.iter().filter_map(|t| t.name.as_ref()))
        .flat_map(|p| &mentions[*p].hits);
    let owners = columns.filter_map(|h| match h.target {
        Target::Column(c) => Some((c.table, h.score)),
        _ => None,
    });
    let tables = if tables.is_empty() {
        owners.collect()
    } else {
        tables
    };
    if tables.is_empty() {
        return Err(Problem::NothingAsked);
    }
    Ok(tables
        .into_iter()
        .map(|(base, s)| Reading {
            base,
            measure: None,
            cost: 100 - s,
        })
        .collect())
}

/// "most common status": the table is that of the column.
fn group_tables(mentions: &[Mention], sketch: &Sketch) -> Vec<(usize, i32)> {
    let names = sketch.groups.iter().filter_map(|g| match g {
        Group::Name(m) => Some(*m),
        Group::Bucket(_) => None,
    });
    let hits = names.flat_map(|m| &mentions[m].hits);
    hits.filter_map(|h| match h.target {
        Target::Column(c) => Some((c.table, h.score)),
        _ => None,
    })
    .collect()
}

struct Builder<'a> {
    catalog: &'a Catalog,
    mentions: &'a [Mention],
    settled: &'a Settled,
    sketch: &'a Sketch,
    reach: Reach,
    mentioned: Vec<usize>,
    outputs: Vec<Output>,
    groups: Vec<Expr>,
    /// Tables that something of the query is taken from.
    touched: Vec<usize>,
    notes: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(
        catalog: &'a Catalog,
        mentions: &'a [Mention],
        settled: &'a Settled,
        reading: &Reading,
    ) -> Self {
        let sketch = &settled.sketch;
        let asked = sketch.ask.map(Ask::mention);
        let names = sketch.plain.iter().copied().chain(asked);
        let mentioned = names
            .flat_map(|m| mentions[m].tables().map(|(t, _)| t))
            .collect();
        Self {
            catalog,
            mentions,
            settled,
            sketch,
            reach: Reach::from(catalog, reading.base),
            mentioned,
            outputs: Vec::new(),
            groups: Vec::new(),
            touched: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn build(mut self, reading: &Reading) -> Result<Plan, Problem> {
        let base = reading.base;
        let mut conditions = Vec::new();
        for test in conditions::merged(self.sketch, self.mentions, &self.view())? {
            self.touched.extend(conditions::tables(&test.condition));
            self.notes.extend(test.note);
            conditions.push(test.condition);
        }
        let rank_noun = self.add_groups()?;
        self.account_for_plain(base, reading, &mut conditions)?;
        let (order, rank_title) = match &reading.measure {
            Some(measure) => self.add_measure(measure),
            None => self.add_rows(base)?,
        };
        self.currencies()?;
        let joins = self.joins()?;
        let limit = self.limit(reading.measure.is_some());
        let having = self.sketch.having.as_ref().zip(reading.measure.as_ref());
        let count_groups = self
            .settled
            .count_groups
            .then(|| rank_noun.replace(' ', "_"));
        let shape = match (&reading.measure, self.sketch.rank) {
            _ if count_groups.is_some() => Shape::Single,
            (_, Some(rank)) if rank.by != RankBy::Key => Shape::Ranking(rank.descending),
            (None, _) => Shape::Rows,
            (Some(_), _) if self.groups.is_empty() => Shape::Single,
            _ => Shape::Groups,
        };
        let title = match (&reading.measure, &count_groups) {
            (_, Some(noun)) => format!("number of {}", noun.replace('_', " ")),
            (Some(measure), _) => measure.title.clone(),
            (None, _) => measures::plural(self.catalog.table(base)),
        };
        Ok(Plan {
            base,
            joins,
            keep_unmatched: self.sketch.rank.is_none() && having.is_none(),
            outputs: self.outputs,
            distinct: reading.measure.is_none() && self.sketch.distinct,
            conditions,
            groups: self.groups,
            having: having.map(|(h, m)| (m.expr.clone(), h.comparison, h.number.clone())),
            order,
            limit,
            count_groups,
            shape,
            title,
            noun: if rank_noun.is_empty() {
                self.catalog.table(base).name.replace('_', " ")
            } else {
                rank_noun
            },
            rank_title,
            notes: self.notes,
        })
    }

    fn view(&self) -> View<'_> {
        View {
            catalog: self.catalog,
            reach: &self.reach,
            mentioned: &self.mentioned,
        }
    }

    fn output(&mut self, expr: Expr, name: String) {
        let taken = self.outputs.iter().filter(|o| o.name == name).count();
        let name = if taken == 0 {
            name
        } else {
            format!("{name}_{}", taken + 1)
        };
        self.outputs.push(Output { expr, name });
    }

    /// Adds what is grouped by, and says what a group is.
    fn add_groups(&mut self) -> Result<String, Problem> {
        let mut nouns = Vec::new();
        for group in &self.sketch.groups {
            match group {
                Group::Bucket(unit) => {
                    let date = conditions::date_of(&self.view(), None, unit.name())?;
                    self.touched.push(date.table);
                    self.notes.push(format!(
                        "the {} is that of `{}`",
                        unit.name(),
                        self.catalog.label(date)
                    ));
                    self.groups.push(Expr::Bucket(*unit, date));
                    self.output(Expr::Bucket(*unit, date), unit.name().to_owned());
                    nouns.push(unit.name().to_owned());
                }
                Group::Name(m) => match self.view().table_or_column(&self.mentions[*m])? {
                    Target::Table(table) => nouns.push(self.group_by_table(table)),
                    Target::Column(c) | Target::Value(c, _) => {
                        self.touched.push(c.table);
                        self.groups.push(Expr::Column(c));
                        let name = self.catalog.column(c).name.clone();
                        nouns.push(self.column_noun(c));
                        self.output(Expr::Column(c), name);
                    }
                },
            }
        }
        Ok(nouns.join(" and "))
    }

    fn column_noun(&self, c: ColumnRef) -> String {
        let name = self.catalog.column(c).name.replace('_', " ");
        let plain = matches!(name.as_str(), "name" | "title" | "type" | "code");
        if plain {
            self.singular(c.table) + " " + &name
        } else {
            name
        }
    }

    fn singular(&self, table: usize) -> String {
        crate::words::name_stems(&self.catalog.table(table).name).join(" ")
    }

    /// Rows of a table are told apart by its key and shown by their name: two of one name stay two.
    fn group_by_table(&mut self, table: usize) -> String {
        self.touched.push(table);
        let source = self.catalog.table(table);
        let place = |column: usize| ColumnRef { table, column };
        for key in &source.primary_key {
            self.groups.push(Expr::Column(place(*key)));
        }
        let noun = self.singular(table);
        let labels: Vec<ColumnRef> = label_columns(source).into_iter().map(place).collect();
        for label in &labels {
            if !self.groups.contains(&Expr::Column(*label)) {
                self.groups.push(Expr::Column(*label));
            }
        }
        match labels.as_slice() {
            [one] => self.output(Expr::Column(*one), noun.replace(' ', "_")),
            [] => {}
            _ => self.output(Expr::Words(labels), noun.replace(' ', "_")),
        }
        noun
    }

    /// Tables and columns without a role must still be part of the query, or the question is not answered.
    fn account_for_plain(
        &mut self,
        base: usize,
        reading: &Reading,
        conditions: &mut Vec<Condition>,
    ) -> Result<(), Problem> {
        for plain in &self.sketch.plain {
            let mention = &self.mentions[*plain];
            if !mention.is_table() {
                if reading.measure.is_some() {
                    return Err(Problem::unsupported(format!(
                        "I do not see what to do with \"{}\" in that question.",
                        mention.text
                    )));
                }
                continue;
            }
            if mention.tables().any(|(t, _)| t == base)
                || reading
                    .measure
                    .as_ref()
                    .is_some_and(|m| mention.tables().any(|(t, _)| Some(t) == m.counts))
            {
                continue;
            }
            let table = self.view().table(mention)?;
            if !self.touched.contains(&table) {
                self.require_row_of(table, conditions);
            }
        }
        Ok(())
    }

    /// "orders of customers" are those that have one.
    fn require_row_of(&mut self, table: usize, conditions: &mut Vec<Condition>) {
        self.touched.push(table);
        if let Some(key) = self.catalog.table(table).primary_key.first() {
            conditions.push(Condition::Null(
                ColumnRef {
                    table,
                    column: *key,
                },
                false,
            ));
        }
    }

    fn add_measure(&mut self, measure: &Candidate) -> (Vec<(Expr, bool)>, String) {
        self.notes.extend(measure.note.clone());
        self.mixed_currencies(measure.base);
        let grouped_by_time = matches!(self.groups.first(), Some(Expr::Bucket(..)));
        self.output(measure.expr.clone(), measure.name.clone());
        let descending = self.sketch.rank.is_none_or(|r| r.descending);
        let ranked = self.sketch.rank.is_some() || self.sketch.having.is_some();
        let mut order = match self.groups.is_empty() {
            true => Vec::new(),
            false if grouped_by_time && !ranked => Vec::new(),
            false => vec![(measure.expr.clone(), descending)],
        };
        // Equal figures need an order of their own, so that the same question has the same answer.
        order.extend(
            self.outputs
                .iter()
                .filter(|o| o.expr != measure.expr)
                .map(|o| (o.expr.clone(), false)),
        );
        (order, measure.title.clone())
    }

    fn mixed_currencies(&mut self, base: usize) {
        let mixed = self.catalog.table(base).columns.iter().find(|c| {
            c.name.to_lowercase().contains("currency")
                && c.distinct_count.unwrap_or(c.common_values.len() as u64) > 1
        });
        if let Some(column) =
            mixed.filter(|_| self.sketch.ask.is_some_and(|a| !matches!(a, Ask::Count(_))))
        {
            self.notes.push(format!(
                "amounts of every `{}` are taken together as they are",
                column.name
            ));
        }
    }

    /// Chooses the columns of a listing.
    fn add_rows(&mut self, base: usize) -> Result<(Vec<(Expr, bool)>, String), Problem> {
        let source = self.catalog.table(base);
        let place = |column: usize| ColumnRef {
            table: base,
            column,
        };
        let plain: Vec<usize> = self
            .sketch
            .plain
            .iter()
            .copied()
            .filter(|p| !self.mentions[*p].is_table())
            .collect();
        let ranked = self
            .sketch
            .rank
            .map(|rank| self.rank_column(base, rank))
            .transpose()?
            .flatten();
        if plain.is_empty() {
            let shown: Vec<usize> = if ranked.is_some() {
                label_columns(source)
            } else {
                (0..source.columns.len())
                    .filter(|c| source.columns[*c].kind != Kind::Other)
                    .collect()
            };
            for column in shown {
                self.output(
                    Expr::Column(place(column)),
                    source.columns[column].name.clone(),
                );
            }
        } else if self.sketch.tests.iter().any(|t| {
            matches!(
                t.test,
                crate::sketch::Test::Text(_) | crate::sketch::Test::Value(_)
            )
        }) {
            for column in label_columns(source) {
                self.output(
                    Expr::Column(place(column)),
                    source.columns[column].name.clone(),
                );
            }
        }
        for mention in plain {
            let column = self.view().column(&self.mentions[mention], |_| true)?;
            self.touched.push(column.table);
            if !self.outputs.iter().any(|o| o.expr == Expr::Column(column)) {
                self.output(
                    Expr::Column(column),
                    self.catalog.column(column).name.clone(),
                );
            }
        }
        let mut order = Vec::new();
        let mut title = String::new();
        if let Some((column, descending)) = ranked {
            if !self.outputs.iter().any(|o| o.expr == Expr::Column(column)) {
                self.output(
                    Expr::Column(column),
                    self.catalog.column(column).name.clone(),
                );
            }
            self.touched.push(column.table);
            order.push((Expr::Column(column), descending));
            title = self.catalog.column(column).name.replace('_', " ");
        }
        if !self.sketch.distinct {
            order.extend(
                source
                    .primary_key
                    .iter()
                    .map(|k| (Expr::Column(place(*k)), false)),
            );
        }
        Ok((order, title))
    }

    fn rank_column(&self, base: usize, rank: Rank) -> Result<Option<(ColumnRef, bool)>, Problem> {
        let source = self.catalog.table(base);
        let noun = measures::plural(source);
        let missing = |what: &str| {
            Problem::unsupported(format!(
                "I find no {what} in `{noun}` to put them in order by."
            ))
        };
        let own = |column: Option<usize>, what: &str| {
            column
                .map(|column| ColumnRef {
                    table: base,
                    column,
                })
                .ok_or_else(|| missing(what))
        };
        let column = match rank.by {
            RankBy::Key | RankBy::Measure => return Ok(None),
            RankBy::Recency => own(date_column(source), "single date")?,
            RankBy::Price => own(concept_column(source, "price"), "price")?,
            RankBy::Amount => own(concept_column(source, "amount"), "amount")?,
            RankBy::Column(m) => {
                let column = self.view().column(&self.mentions[m], |_| true)?;
                if self.catalog.table(column.table).is_view() && column.table != base {
                    return Err(missing(&self.mentions[m].text));
                }
                column
            }
        };
        Ok(Some((column, rank.descending)))
    }

    /// A currency that the question names must be one that the catalog names too.
    fn currencies(&self) -> Result<(), Problem> {
        for (code, words) in &self.sketch.currencies {
            let names: &[&str] = match *code {
                "EUR" => &["eur", "euro", "€"],
                "USD" => &["usd", "dollar", "$"],
                _ => &["gbp", "pound", "£"],
            };
            let says = |text: &str| names.iter().any(|n| text.to_lowercase().contains(n));
            let tables = self.touched.iter().copied().chain([self.reach.base]);
            let known = tables.map(|t| self.catalog.table(t)).any(|t| {
                says(&t.description)
                    || t.columns.iter().any(|c| {
                        says(&c.name) || says(&c.description) || c.common_values == [*code]
                    })
            });
            if !known {
                return Err(Problem::unsupported(format!(
                    "The catalog does not say that these amounts are in \"{words}\", so I cannot tell. Leave the currency out to \
                     compare the stored numbers."
                )));
            }
        }
        Ok(())
    }

    /// The foreign keys to follow, each once, nearest first.
    fn joins(&self) -> Result<Vec<Step>, Problem> {
        let mut joins: Vec<Step> = Vec::new();
        let mut tables = vec![self.reach.base];
        for table in &self.touched {
            let Some(way) = self.reach.way(*table) else {
                let name = self.catalog.table(*table).name.clone();
                return Err(Problem::Unrelated(
                    name,
                    self.catalog.table(self.reach.base).name.clone(),
                ));
            };
            for step in way {
                let target = self.catalog.table(step.from).foreign_keys[step.key].target;
                if !joins.contains(step) {
                    if tables.contains(&target) {
                        let name = self.catalog.table(target).name.clone();
                        return Err(Problem::Unrelated(
                            name,
                            self.catalog.table(self.reach.base).name.clone(),
                        ));
                    }
                    joins.push(*step);
                    tables.push(target);
                }
            }
        }
        Ok(joins)
    }

    fn limit(&self, measured: bool) -> u64 {
        let ranked = self.sketch.rank.is_some_and(|r| {
            r.by != RankBy::Key && !matches!(r.by, RankBy::Column(_)) || self.sketch.limit.is_some()
        });
        let by_column = self
            .sketch
            .rank
            .is_some_and(|r| matches!(r.by, RankBy::Column(_)));
        if ranked {
            ranking_limit(self.sketch, self.mentions)
        } else if measured {
            MOST_GROUPS
        } else if by_column && !self.sketch.listing {
            ranking_limit(self.sketch, self.mentions)
        } else {
            self.sketch.limit.unwrap_or(LISTED_ROWS).clamp(1, 1000)
        }
    }
}
