//! One figure of two: over the same rows with a condition for each, or over the rows of two statements.

use super::Writer;
use crate::query::{Condition, Expr, Output, Pair, Query, Way, figure_of};
use crate::vocabulary::Aggregate;

impl Writer<'_> {
    pub(super) fn pair(&self, query: &Query, pair: &Pair) -> String {
        let second = &pair.second;
        let is_same = query.source.base == second.source.base
            && query.source.joins == second.source.joins
            && query.members == second.members
            && query.groups == second.groups;
        let sql = match () {
            () if is_same => self.of_same_rows(query, pair),
            () if second.groups.is_empty() && !query.groups.is_empty() => {
                let whole =
                    self.figure(second, &[]) + &self.source(&second.source, &second.members);
                let whole = format!("(SELECT {})", whole.replace('\n', " "));
                let figure = made(pair.way, &self.figure(query, &[]), &whole);
                self.select(query, &figure)
                    + &self.source(&query.source, &query.members)
                    + &self.grouped(query)
            }
            () => self.of_two(query, pair),
        };
        let order = query.order.iter().filter_map(|(e, down)| {
            let name = self.dialect.name(query.name_of(e)?);
            Some(name + self.direction(*down))
        });
        let order: Vec<String> = order.collect();
        match order.is_empty() || query.groups.is_empty() {
            true => sql,
            false => format!("{sql}\nORDER BY {}", order.join(", ")),
        }
    }

    /// The conditions that both have say which rows; those of one say what it is worked out over.
    fn of_same_rows(&self, query: &Query, pair: &Pair) -> String {
        let second = &pair.second;
        let (first_all, second_all) = (&query.source.conditions, &second.source.conditions);
        let only = |all: &[Vec<Condition>], other: &[Vec<Condition>]| -> Vec<String> {
            let own = all.iter().filter(|c| !other.contains(c));
            own.map(|c| self.any(c)).collect()
        };
        let first = self.figure(query, &only(first_all, second_all));
        let other = self.figure(second, &only(second_all, first_all));
        let mut source = query.source.clone();
        source.conditions.retain(|c| second_all.contains(c));
        self.select(query, &made(pair.way, &first, &other))
            + &self.source(&source, &query.members)
            + &self.grouped(query)
    }

    /// Each statement gives its figure beside nothing of the other, and the rows of a group are put together.
    fn of_two(&self, query: &Query, pair: &Pair) -> String {
        let [first, second] = ["first", "second"].map(|n| self.dialect.name(n));
        let part = |one: &Query, is_first: bool| {
            let counts = |q: &Query| matches!(figure_of(q), Some(Expr::Count(_)));
            let other = if is_first { &pair.second } else { query };
            let none = if counts(other) { "0" } else { "NULL" };
            let figure = self.figure(one, &[]);
            let (a, b) = if is_first {
                (&*figure, none)
            } else {
                (none, &*figure)
            };
            let groups = keys(one)
                .map(|o| format!("{} AS {}, ", self.expr(&o.expr), self.dialect.name(&o.name)));
            let groups: String = groups.collect();
            format!("SELECT {groups}{a} AS {first}, {b} AS {second}")
                + &self.source(&one.source, &one.members)
                + &self.grouped(one)
        };
        let names: Vec<String> = keys(query).map(|o| self.dialect.name(&o.name)).collect();
        let figure = made(
            pair.way,
            &format!("SUM({first})"),
            &format!("SUM({second})"),
        );
        let shown: String = names.iter().map(|name| format!("{name}, ")).collect();
        let grouped = match names.is_empty() {
            true => String::new(),
            false => format!("\nGROUP BY {}", names.join(", ")),
        };
        format!(
            "SELECT {shown}{figure} AS {}\nFROM (\n{}\nUNION ALL\n{}\n) AS {}{grouped}",
            self.dialect.name(pair.way.name()),
            part(query, true),
            part(&pair.second, false),
            self.dialect.name("parts"),
        )
    }

    fn select(&self, query: &Query, figure: &str) -> String {
        let output = |o: &Output| {
            let expr = if o.expr.is_figure() {
                figure.to_owned()
            } else {
                self.expr(&o.expr)
            };
            format!("{expr} AS {}", self.dialect.name(&o.name))
        };
        let all: Vec<String> = query.outputs.iter().map(output).collect();
        format!("SELECT {}", all.join(", "))
    }

    pub(super) fn grouped(&self, query: &Query) -> String {
        let groups: Vec<String> = query.groups.iter().map(|e| self.expr(e)).collect();
        match groups.is_empty() {
            true => String::new(),
            false => format!("\nGROUP BY {}", groups.join(", ")),
        }
    }

    /// The figure of a query over those of its rows that meet the conditions.
    fn figure(&self, query: &Query, conditions: &[String]) -> String {
        let Some(expr) = figure_of(query) else {
            return "NULL".to_owned();
        };
        if conditions.is_empty() {
            return self.expr(expr);
        }
        let case = |value: &str| format!("CASE WHEN {} THEN {value} END", conditions.join(" AND "));
        match expr {
            Expr::Count(None) => format!("COUNT({})", case("1")),
            Expr::Count(Some(c)) => format!("COUNT(DISTINCT {})", case(&self.column(*c))),
            Expr::Agg(aggregate, amount) => {
                let amount = case(&self.amount(*aggregate, amount));
                match aggregate {
                    Aggregate::Sum => format!("SUM({amount})"),
                    Aggregate::Average => self.dialect.average(&amount),
                    Aggregate::Min => format!("MIN({amount})"),
                    Aggregate::Max => format!("MAX({amount})"),
                }
            }
            other => self.expr(other),
        }
    }
}

fn keys(query: &Query) -> impl Iterator<Item = &Output> {
    query.outputs.iter().filter(|o| !o.expr.is_figure())
}

/// Never a division of whole numbers, and no value where there is nothing to divide by.
fn made(way: Way, first: &str, second: &str) -> String {
    match way {
        Way::Difference => format!("{first} - {second}"),
        Way::Percent => format!("1e2 * {first} / NULLIF({second}, 0)"),
        Way::Ratio | Way::Average => format!("1e0 * {first} / NULLIF({second}, 0)"),
    }
}
