//! From the shape of a question to a query: tries each reading, keeps the best that accounts for every word.

mod figures;
mod rows;

use crate::catalog::{Catalog, ColumnRef};
use crate::conditions;
use crate::measures::{self, Candidate};
use crate::mentions::{Mention, What};
use crate::names::Target;
use crate::pick::View;
use crate::problem::Problem;
use crate::query::{Check, Condition, Edge, Expr, Output, Query, Shape, Source};
use crate::reach::{Reach, Step};
use crate::roles::{Settled, ranking_limit};
use crate::sketch::{Ask, Group, RankBy, Sketch, Test};
use crate::vocabulary::Operator as Op;

/// Finds the query for a question, or says why there is none.
pub fn resolve(
    catalog: &Catalog,
    mentions: &[Mention],
    settled: &Settled,
) -> Result<Query, Problem> {
    let readings = readings(catalog, mentions, settled)?;
    let mut best: Vec<(i32, Query)> = Vec::new();
    let mut first_problem = None;
    for reading in readings {
        match Builder::new(catalog, mentions, settled, &reading).build(&reading) {
            Ok(plan) => {
                let joins = i32::try_from(plan.source.joins.len()).unwrap_or(i32::MAX);
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
        [(a, one), (b, other), ..] if a == b && one.source.base != other.source.base => {
            let names = [one, other]
                .map(|p| catalog.table(p.source.base).name.clone())
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

    fn build(mut self, reading: &Reading) -> Result<Query, Problem> {
        let base = reading.base;
        self.refuse_exclusion_over_many(reading)?;
        let mut conditions = Vec::new();
        for test in conditions::merged(self.sketch, self.mentions, &self.view())? {
            if !matches!(test.condition.check, Check::NoRows(_)) {
                self.touched.push(test.condition.column.table);
            }
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
        let keeps_unmatched = self.sketch.rank.is_none() && having.is_none();
        Ok(Query {
            source: Source {
                base,
                joins: self.joins(keeps_unmatched)?,
                conditions: conditions.into_iter().map(|c| vec![c]).collect(),
            },
            outputs: self.outputs,
            distinct: reading.measure.is_none() && self.sketch.distinct,
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
            ..Query::default()
        })
    }

    /// What is counted through the rows that refer to it can be asked what it has, not what it lacks.
    fn refuse_exclusion_over_many(&self, reading: &Reading) -> Result<(), Problem> {
        let through = reading.measure.as_ref().is_some_and(|m| m.counts.is_some())
            || self.sketch.having.is_some();
        // "no orders in 2024": what follows may belong to the orders that are not there.
        let tests = &self.sketch.tests;
        let lacking = tests.iter().rposition(|t| t.test == Test::NoRows);
        let followed = lacking.is_some_and(|at| at + 1 < tests.len());
        match tests
            .iter()
            .find(|t| (through || followed) && conditions::excludes(t))
        {
            Some(test) => Err(Problem::unsupported(format!(
                "I can count what has something in another table, but not what lacks it under a condition, as in \"{}\" here.",
                test.words
            ))),
            None => Ok(()),
        }
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
            conditions.push(Condition {
                column: ColumnRef {
                    table,
                    column: *key,
                },
                check: Check::Missing,
                negated: true,
            });
        }
    }

    /// The foreign keys to follow, each once, nearest first.
    fn joins(&self, keeps_unmatched: bool) -> Result<Vec<Edge>, Problem> {
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
        let edge = |step: &Step| self.edge(*step, keeps_unmatched);
        Ok(joins.iter().map(edge).collect())
    }

    fn edge(&self, step: Step, keeps_unmatched: bool) -> Edge {
        let table = self.catalog.table(step.from);
        let key = &table.foreign_keys[step.key];
        let is_open = key.columns.iter().any(|c| table.columns[*c].nullable);
        let own = key.columns.iter().copied();
        Edge {
            from: step.from,
            to: key.target,
            pairs: own.zip(key.target_columns.iter().copied()).collect(),
            many: false,
            guessed: false,
            keeps_unmatched: keeps_unmatched && is_open,
        }
    }

    /// Whether a ranking is of one thing: "the conductor with the most years".
    fn is_of_one(&self) -> bool {
        let most = |m: &Mention| matches!(m.what, What::Op(Op::Most(_)));
        let Some(at) = self.mentions.iter().position(most) else {
            return false;
        };
        let noun = self.mentions[..at].iter().rfind(|m| m.is_table());
        noun.is_some_and(|m| {
            let text = m.text.to_lowercase();
            text == crate::words::stem(&text)
        })
    }

    fn limit(&self, measured: bool) -> Option<u64> {
        let ranked = self.sketch.rank.is_some_and(|r| {
            r.by != RankBy::Key && !matches!(r.by, RankBy::Column(_)) || self.sketch.limit.is_some()
        });
        let by_column = self
            .sketch
            .rank
            .is_some_and(|r| matches!(r.by, RankBy::Column(_)));
        let is_first = by_column && (!self.sketch.listing || self.is_of_one());
        if ranked || (!measured && is_first) {
            Some(ranking_limit(self.sketch, self.mentions))
        } else if measured {
            None
        } else {
            self.sketch.limit.map(|limit| limit.clamp(1, 1000))
        }
    }
}
