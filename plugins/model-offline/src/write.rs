//! A query as SQL text in the dialect of its datasource.

mod pair;

use crate::catalog::{Catalog, ColumnRef};
use crate::dialect::{Dialect, Unit};
use crate::query::{Amount, Check, Condition, Discount, Edge, Expr, Membership, Query, Source};
use crate::spans::End;
use crate::taught::Formula;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// The days of a week in their order, as engines name them.
const WEEK: &str = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday";

/// Writes one SELECT statement. `qualified` says whether table names carry their schema.
pub fn write(catalog: &Catalog, query: &Query, qualified: bool) -> String {
    let dialect = catalog.table(query.source.base).dialect;
    let metric = query.taught().map(|at| &catalog.metrics[at]);
    Writer {
        catalog,
        dialect,
        qualified,
        told: metric.and_then(|m| m.formula.as_ref()),
    }
    .query(query)
}

struct Writer<'a> {
    catalog: &'a Catalog,
    dialect: Dialect,
    qualified: bool,
    /// The taught metric whose tables and rows the statement has.
    told: Option<&'a Formula>,
}

impl Writer<'_> {
    fn query(&self, query: &Query) -> String {
        if let Some(pair) = &query.pair {
            return self.pair(query, pair);
        }
        if let Some(other) = &query.intersect {
            let mut second = query.clone();
            second.source.conditions = other.clone();
            let [first, second] = [query, &second].map(|q| self.body(q, ""));
            return format!("{first}\nINTERSECT\n{second}");
        }
        if let Some(name) = &query.count_groups {
            let name = self.dialect.name(name);
            return format!(
                "SELECT COUNT(*) AS {name}\nFROM (\n{}\n) AS {}",
                self.body(query, ""),
                self.dialect.name("groups")
            );
        }
        let (top, limit) = query
            .limit
            .map(|limit| self.dialect.limit(limit))
            .unwrap_or_default();
        let mut sql = self.body(query, &top);
        let order: Vec<String> = query
            .order
            .iter()
            .map(|(e, down)| self.order(query, e, *down))
            .collect();
        if !order.is_empty() {
            sql += &format!("\nORDER BY {}", order.join(", "));
        }
        sql + &limit
    }

    fn body(&self, query: &Query, top: &str) -> String {
        let outputs = query.outputs.iter().map(|o| match &o.expr {
            Expr::Column(c) if self.is_called(*c, &o.name) => self.expr(&o.expr),
            expr => format!("{} AS {}", self.expr(expr), self.dialect.name(&o.name)),
        });
        let distinct = if query.distinct { "DISTINCT " } else { "" };
        let mut sql = format!(
            "SELECT {distinct}{top}{}",
            outputs.collect::<Vec<_>>().join(", ")
        );
        sql += &self.source(&query.source, &query.members);
        sql += &self.grouped(query);
        if let Some((expr, comparison, number)) = &query.having {
            sql += &format!(
                "\nHAVING {} {} {number}",
                self.expr(expr),
                sign(*comparison)
            );
        }
        sql
    }

    fn source(&self, source: &Source, members: &[Membership]) -> String {
        let from = match self.told {
            Some(told) => told.from.clone(),
            None => self.table(source.base),
        };
        let mut sql = format!("\nFROM {from}");
        for edge in source.joins.iter().filter(|e| self.alias(e.to).is_none()) {
            sql += &self.join(edge);
        }
        let filter = self.told.and_then(|told| told.filter.as_ref());
        let mut conditions: Vec<String> = filter.iter().map(|f| format!("({f})")).collect();
        conditions.extend(source.conditions.iter().map(|c| self.any(c)));
        conditions.extend(members.iter().map(|m| self.member(m)));
        if !conditions.is_empty() {
            sql += &format!("\nWHERE {}", conditions.join("\n  AND "));
        }
        sql
    }

    fn member(&self, member: &Membership) -> String {
        let base = member.source.base;
        let keys = &self.catalog.table(base).primary_key;
        let key = |writer: &Self| {
            let columns = keys.iter().map(|column| ColumnRef::new(base, *column));
            let all: Vec<String> = columns.map(|c| writer.column(c)).collect();
            all.join(", ")
        };
        let not = if member.negated { "NOT " } else { "" };
        let plain = self.plain();
        let inner = plain.source(&member.source, &[]).replace('\n', " ");
        let own = match keys.as_slice() {
            [_] => key(self),
            // Several columns make the key.
            _ => format!("({})", key(self)),
        };
        format!("{own} {not}IN (SELECT {}{inner})", key(&plain))
    }

    /// For a statement within this one, which has tables of its own.
    fn plain(&self) -> Self {
        Self {
            told: None,
            ..*self
        }
    }

    /// What the statement of a taught metric calls a table.
    fn alias(&self, table: usize) -> Option<&str> {
        let mut tables = self.told?.tables.iter();
        let (_, alias) = tables.find(|(at, _)| *at == table)?;
        Some(alias)
    }

    fn table(&self, at: usize) -> String {
        let table = self.catalog.table(at);
        let name = self.dialect.name(&table.name);
        if table.schema.is_empty() || !self.qualified {
            return name;
        }
        format!("{}.{name} AS {name}", self.dialect.name(&table.schema))
    }

    fn join(&self, edge: &Edge) -> String {
        let pairs = edge.pairs.iter().map(|(a, b)| {
            let own = self.column(ColumnRef::new(edge.from, *a));
            format!("{} = {own}", self.column(ColumnRef::new(edge.to, *b)))
        });
        format!(
            "\nJOIN {} ON {}",
            self.table(edge.to),
            pairs.collect::<Vec<_>>().join(" AND ")
        )
    }

    fn column(&self, at: ColumnRef) -> String {
        if let Some(span) = &self.catalog.column(at).span {
            let date = |column| self.date(ColumnRef { column, ..at });
            let to = match span.to {
                End::Column(to) => date(to),
                End::Today(today) => self.dialect.date(today),
            };
            return self.dialect.span(&date(span.from), &to, span.unit);
        }
        let table = match self.alias(at.table) {
            Some(alias) => alias.to_owned(),
            None => self.dialect.name(&self.catalog.table(at.table).name),
        };
        format!(
            "{table}.{}",
            self.dialect.name(&self.catalog.column(at).name)
        )
    }

    /// A column as a date or a timestamp; texts that hold dates are no such for every engine.
    fn date(&self, at: ColumnRef) -> String {
        let column = self.column(at);
        let native = self.catalog.column(at).native_type.to_lowercase();
        match native.starts_with("date") || native.starts_with("timestamp") {
            true => column,
            false => self.dialect.moment(&column),
        }
    }

    /// Whether a column needs no other name to be called so in a result.
    fn is_called(&self, at: ColumnRef, name: &str) -> bool {
        let column = self.catalog.column(at);
        column.name == name && column.span.is_none()
    }

    /// A column as a number.
    fn number(&self, at: ColumnRef) -> String {
        let column = self.column(at);
        if self.catalog.column(at).holds_numbers() {
            return self.dialect.number(&column);
        }
        column
    }

    /// Whether a figure is made from a column of binary fractions.
    fn is_binary(&self, expr: &Expr) -> bool {
        let binary = |c: &ColumnRef| {
            let native = self.catalog.column(*c).native_type.to_lowercase();
            ["double", "real", "float"]
                .iter()
                .any(|b| native.starts_with(b))
        };
        match expr {
            Expr::Agg(_, Amount::Column(c)) => binary(c),
            Expr::Agg(
                _,
                Amount::Product {
                    quantity, price, ..
                },
            ) => binary(quantity) || binary(price),
            _ => false,
        }
    }

    fn amount(&self, aggregate: Aggregate, amount: &Amount) -> String {
        let operand = |c: &ColumnRef, sql: String| match aggregate {
            Aggregate::Min | Aggregate::Max => sql,
            Aggregate::Sum | Aggregate::Average => {
                let native = &self.catalog.column(*c).native_type;
                self.dialect.summand(sql, native)
            }
        };
        let (quantity, price, discount) = match amount {
            Amount::Column(c) => return operand(c, self.number(*c)),
            Amount::Product {
                quantity,
                price,
                discount,
            } => (quantity, price, discount),
        };
        let factor = |c: &ColumnRef| operand(c, self.column(*c));
        let product = format!("{} * {}", factor(quantity), factor(price));
        let Some((column, discount)) = discount else {
            return product;
        };
        let column = format!("COALESCE({}, 0)", factor(column));
        match discount {
            Discount::Share => format!("{product} * (1 - {column})"),
            Discount::Percent => format!("{product} * (1 - {column} / 100.0)"),
            Discount::Taken => format!("{product} - {column}"),
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        let (aggregate, amount) = match expr {
            Expr::Column(c) => return self.column(*c),
            Expr::Bucket(unit, c) => return self.dialect.bucket(*unit, &self.date(*c)),
            Expr::Count(None) => return "COUNT(*)".to_owned(),
            Expr::Count(Some(c)) => return format!("COUNT(DISTINCT {})", self.column(*c)),
            Expr::Agg(aggregate, amount) => (aggregate, self.amount(*aggregate, amount)),
            Expr::Taught(..) => {
                let expression = self.told.map_or("NULL", |told| told.expression.as_str());
                return format!("({expression})");
            }
        };
        match (aggregate, expr.decimals(self.catalog)) {
            (Aggregate::Sum, Some(decimals)) => {
                let is_binary = self.is_binary(expr);
                let sum = format!("SUM({amount})");
                self.dialect.round(&sum, decimals, is_binary)
            }
            (Aggregate::Sum, None) => format!("SUM({amount})"),
            (Aggregate::Min, _) => format!("MIN({amount})"),
            (Aggregate::Max, _) => format!("MAX({amount})"),
            // Only the text of the answer rounds it.
            (Aggregate::Average, _) => self.dialect.average(&amount),
        }
    }

    /// Engines differ in where NULL sorts; a ranking never starts with it.
    fn order(&self, query: &Query, expr: &Expr, down: bool) -> String {
        let text = match expr {
            Expr::Column(c) => self.number(*c),
            // A week starts on Monday, and not with an F.
            Expr::Bucket(Unit::Weekday, _) => {
                let days = WEEK.split(' ').zip(1..);
                let days: Vec<String> = days.map(|(d, n)| format!("WHEN '{d}' THEN {n}")).collect();
                format!("MIN(CASE {} {} END)", self.expr(expr), days.join(" "))
            }
            _ => match query.name_of(expr) {
                Some(name) => self.dialect.name(name),
                None => self.expr(expr),
            },
        };
        text + self.direction(down)
    }

    fn direction(&self, down: bool) -> &'static str {
        let lasts = matches!(self.dialect, Dialect::Postgres | Dialect::DataFusion);
        match down {
            true if lasts => " DESC NULLS LAST",
            true => " DESC",
            false => "",
        }
    }

    fn any(&self, conditions: &[Condition]) -> String {
        let all: Vec<String> = conditions.iter().map(|c| self.condition(c)).collect();
        if all.len() == 1 {
            all.concat()
        } else {
            format!("({})", all.join(" OR "))
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        let column = match condition.check {
            Check::Number(..) | Check::Range(..) | Check::Average(_) => {
                self.number(condition.column)
            }
            Check::Days(_) => self.date(condition.column),
            _ => self.column(condition.column),
        };
        let not = if condition.negated { "NOT " } else { "" };
        match &condition.check {
            Check::Number(c, n) if condition.negated => format!("{column} {} {n}", opposite(*c)),
            Check::Number(c, n) => format!("{column} {} {n}", sign(*c)),
            Check::Range(a, b) => format!("{column} {not}BETWEEN {a} AND {b}"),
            Check::Texts(texts, known) => self.texts(&column, texts, *known, condition.negated),
            Check::Like(place, text) => self.like(&column, *place, text, not),
            Check::Truth => {
                let native = &self.catalog.column(condition.column).native_type;
                let truth = match (native.to_lowercase().contains("int"), condition.negated) {
                    (false, negated) => self.dialect.truth(!negated),
                    (true, false) => "1",
                    (true, true) => "0",
                };
                format!("{column} = {truth}")
            }
            Check::Days(period) => {
                let from = period
                    .from
                    .map(|d| format!("{column} >= {}", self.dialect.date(d)));
                let to = period
                    .to
                    .map(|d| format!("{column} < {}", self.dialect.date(d)));
                let both: Vec<String> = from.into_iter().chain(to).collect();
                let text = both.join(" AND ");
                if condition.negated {
                    format!("NOT ({text})")
                } else {
                    text
                }
            }
            Check::Clock(c, time) => {
                let sign = if condition.negated {
                    opposite(*c)
                } else {
                    sign(*c)
                };
                format!("{column} {sign} {}", self.dialect.text(time))
            }
            Check::Average(c) => {
                let table = self.table(condition.column.table);
                let inner = self.plain().number(condition.column);
                let average = self.dialect.average(&inner);
                format!("{column} {} (SELECT {average} FROM {table})", sign(*c))
            }
            Check::Missing => format!("{column} IS {not}NULL"),
            Check::RefersTo(key, name, texts) => {
                let inner = self.plain();
                let (table, key) = (self.table(key.table), inner.column(*key));
                let is_called = self.texts(&inner.column(*name), texts, true, false);
                format!("{column} {not}IN (SELECT {key} FROM {table} WHERE {is_called})")
            }
        }
    }

    fn like(&self, column: &str, place: MatchPosition, text: &str, not: &str) -> String {
        let plain = text
            .replace('!', "!!")
            .replace('%', "!%")
            .replace('_', "!_");
        let escape = if plain == text { "" } else { " ESCAPE '!'" };
        let pattern = match place {
            MatchPosition::Inside => format!("%{plain}%"),
            MatchPosition::Start => format!("{plain}%"),
            MatchPosition::End => format!("%{plain}"),
        };
        let pattern = self.dialect.text(&pattern);
        format!("LOWER({column}) {not}LIKE LOWER({pattern}){escape}")
    }

    fn texts(&self, column: &str, texts: &[String], known: bool, negated: bool) -> String {
        let literal = |t: &String| {
            if known {
                self.dialect.text(t)
            } else {
                format!("LOWER({})", self.dialect.text(t))
            }
        };
        let side = if known {
            column.to_owned()
        } else {
            format!("LOWER({column})")
        };
        match texts {
            [one] => format!(
                "{side} {} {}",
                if negated { "<>" } else { "=" },
                literal(one)
            ),
            _ => {
                let list: Vec<String> = texts.iter().map(literal).collect();
                format!(
                    "{side} {}IN ({})",
                    if negated { "NOT " } else { "" },
                    list.join(", ")
                )
            }
        }
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Above => ">",
        Comparison::AtLeast => ">=",
        Comparison::Below => "<",
        Comparison::AtMost => "<=",
        Comparison::Equal => "=",
    }
}

fn opposite(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Above => "<=",
        Comparison::AtLeast => "<",
        Comparison::Below => ">=",
        Comparison::AtMost => ">",
        Comparison::Equal => "<>",
    }
}
