//! A logical query as SQL text in the dialect of its datasource.

use super::join::Edge;
use super::query::{Check, Condition, Expr, Membership, Query, Source};
use crate::catalog::{Catalog, ColumnRef};
use crate::dialect::Dialect;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// Writes one SELECT statement. `qualified` says whether table names carry their schema.
pub fn write(catalog: &Catalog, query: &Query, qualified: bool) -> String {
    let dialect = catalog.table(query.source.base).dialect;
    Writer {
        catalog,
        dialect,
        qualified,
    }
    .query(query)
}

/// The name that an output has in the result, such as `count` or `average_age`.
pub fn output_name(catalog: &Catalog, query: &Query, expr: &Expr) -> String {
    let column = |c: &ColumnRef| catalog.column(*c).name.clone();
    match expr {
        Expr::Column(c) => {
            let twice = query
                .select
                .iter()
                .filter(|e| matches!(e, Expr::Column(o) if column(o) == column(c)))
                .count()
                > 1;
            if twice {
                format!("{}_{}", catalog.table(c.table).name, column(c))
            } else {
                column(c)
            }
        }
        Expr::Count(None) => "count".to_owned(),
        Expr::Count(Some(c)) => format!("different_{}", column(c)),
        Expr::Agg(a, c) => format!("{}_{}", aggregate_word(*a), column(c)),
    }
}

/// "average", "total", …
pub fn aggregate_word(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Sum => "total",
        Aggregate::Average => "average",
        Aggregate::Min => "minimum",
        Aggregate::Max => "maximum",
    }
}

struct Writer<'a> {
    catalog: &'a Catalog,
    dialect: Dialect,
    qualified: bool,
}

impl Writer<'_> {
    fn query(&self, query: &Query) -> String {
        if let Some(other) = &query.intersect {
            let mut second = query.clone();
            second.source.conditions = other.clone();
            second.intersect = None;
            let mut first = query.clone();
            first.intersect = None;
            return format!(
                "{}\nINTERSECT\n{}",
                self.body(&first, ""),
                self.body(&second, "")
            );
        }
        if query.count_groups {
            let name = self.dialect.name("count");
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
        let outputs = query.select.iter().map(|e| {
            let name = output_name(self.catalog, query, e);
            match e {
                Expr::Column(c) if self.catalog.column(*c).name == name => self.expr(e),
                _ => format!("{} AS {}", self.expr(e), self.dialect.name(&name)),
            }
        });
        let distinct = if query.distinct { "DISTINCT " } else { "" };
        let mut sql = format!(
            "SELECT {distinct}{top}{}",
            outputs.collect::<Vec<_>>().join(", ")
        );
        sql += &self.source(&query.source, &query.members);
        if !query.groups.is_empty() {
            let groups: Vec<String> = query.groups.iter().map(|c| self.column(*c)).collect();
            sql += &format!("\nGROUP BY {}", groups.join(", "));
        }
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
        let mut sql = format!("\nFROM {}", self.table(source.base));
        for edge in &source.joins {
            sql += &self.join(edge);
        }
        let mut conditions: Vec<String> = source.conditions.iter().map(|c| self.any(c)).collect();
        conditions.extend(members.iter().map(|m| self.member(m)));
        if !conditions.is_empty() {
            sql += &format!("\nWHERE {}", conditions.join("\n  AND "));
        }
        sql
    }

    fn member(&self, member: &Membership) -> String {
        let base = member.source.base;
        let keys = &self.catalog.table(base).primary_key;
        let key: Vec<String> = keys
            .iter()
            .map(|column| {
                self.column(ColumnRef {
                    table: base,
                    column: *column,
                })
            })
            .collect();
        let not = if member.negated { "NOT " } else { "" };
        if let [key] = key.as_slice() {
            let inner = self.source(&member.source, &[]).replace('\n', " ");
            return format!("{key} {not}IN (SELECT {key}{inner})");
        }
        // Several columns make the key: the rows are compared under another name.
        let inner = self.source(&member.source, &[]).replace('\n', " ");
        let list = key.join(", ");
        format!("({list}) {not}IN (SELECT {list}{inner})")
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
            let own = self.column(ColumnRef {
                table: edge.from,
                column: *a,
            });
            format!(
                "{} = {own}",
                self.column(ColumnRef {
                    table: edge.to,
                    column: *b
                })
            )
        });
        format!(
            "\nJOIN {} ON {}",
            self.table(edge.to),
            pairs.collect::<Vec<_>>().join(" AND ")
        )
    }

    fn column(&self, at: ColumnRef) -> String {
        let table = self.dialect.name(&self.catalog.table(at.table).name);
        format!(
            "{table}.{}",
            self.dialect.name(&self.catalog.column(at).name)
        )
    }

    /// A column as a number.
    fn amount(&self, at: ColumnRef) -> String {
        let column = self.column(at);
        if self.catalog.column(at).holds_numbers() {
            return self.dialect.number(&column);
        }
        column
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column(c) => self.column(*c),
            Expr::Count(None) => "COUNT(*)".to_owned(),
            Expr::Count(Some(c)) => format!("COUNT(DISTINCT {})", self.column(*c)),
            Expr::Agg(aggregate, c) => {
                let column = self.amount(*c);
                match aggregate {
                    Aggregate::Sum => format!("SUM({column})"),
                    Aggregate::Min => format!("MIN({column})"),
                    Aggregate::Max => format!("MAX({column})"),
                    Aggregate::Average => self.dialect.average(&column),
                }
            }
        }
    }

    fn order(&self, query: &Query, expr: &Expr, down: bool) -> String {
        let text = match expr {
            Expr::Column(c) => self.amount(*c),
            _ if query.select.contains(expr) => {
                self.dialect.name(&output_name(self.catalog, query, expr))
            }
            _ => self.expr(expr),
        };
        let nulls = if down && matches!(self.dialect, Dialect::Postgres | Dialect::DataFusion) {
            " NULLS LAST"
        } else {
            ""
        };
        format!("{text}{}{nulls}", if down { " DESC" } else { "" })
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
                self.amount(condition.column)
            }
            _ => self.column(condition.column),
        };
        let not = if condition.negated { "NOT " } else { "" };
        match &condition.check {
            Check::Number(c, n) if condition.negated => format!("{column} {} {n}", opposite(*c)),
            Check::Number(c, n) => format!("{column} {} {n}", sign(*c)),
            Check::Range(a, b) => format!("{column} {not}BETWEEN {a} AND {b}"),
            Check::Texts(texts, known) => self.texts(&column, texts, *known, condition.negated),
            Check::Like(place, text) => {
                let escaped = text.replace(['%', '_'], "");
                let pattern = match place {
                    MatchPosition::Inside => format!("%{escaped}%"),
                    MatchPosition::Start => format!("{escaped}%"),
                    MatchPosition::End => format!("%{escaped}"),
                };
                format!(
                    "LOWER({column}) {not}LIKE LOWER({})",
                    self.dialect.text(&pattern)
                )
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
            Check::Average(c) => {
                let table = self.table(condition.column.table);
                let average = self.expr(&Expr::Agg(Aggregate::Average, condition.column));
                format!("{column} {} (SELECT {average} FROM {table})", sign(*c))
            }
            Check::Missing => format!("{column} IS {not}NULL"),
        }
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

/// The comparison as an operator of SQL.
pub fn sign(comparison: Comparison) -> &'static str {
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
