//! A plan as SQL text in the dialect of its datasource.

use crate::catalog::{Catalog, ColumnRef};
use crate::dialect::Dialect;
use crate::plan::{Amount, Condition, Discount, Expr, Plan};
use crate::reach::Step;
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// Writes one SELECT statement.
pub fn write(catalog: &Catalog, plan: &Plan, qualified: bool) -> String {
    Writer {
        catalog,
        dialect: catalog.table(plan.base).dialect,
        qualified,
    }
    .plan(plan)
}

struct Writer<'a> {
    catalog: &'a Catalog,
    dialect: Dialect,
    /// Whether table names carry their schema.
    qualified: bool,
}

impl Writer<'_> {
    fn plan(&self, plan: &Plan) -> String {
        let (top, limit) = plan
            .limit
            .map(|limit| self.dialect.limit(limit))
            .unwrap_or_default();
        let distinct = if plan.distinct { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{top}{}", self.outputs(plan));
        sql += &format!("\nFROM {}", self.table(plan.base));
        for step in &plan.joins {
            sql += &self.join(*step, plan.keep_unmatched);
        }
        let conditions: Vec<String> = plan.conditions.iter().map(|c| self.condition(c)).collect();
        if !conditions.is_empty() {
            sql += &format!("\nWHERE {}", conditions.join("\n  AND "));
        }
        if !plan.groups.is_empty() {
            let groups: Vec<String> = plan.groups.iter().map(|g| self.expr(g)).collect();
            sql += &format!("\nGROUP BY {}", groups.join(", "));
        }
        if let Some((expr, comparison, number)) = &plan.having {
            sql += &format!(
                "\nHAVING {} {} {number}",
                self.expr(expr),
                sign(*comparison)
            );
        }
        if let Some(name) = &plan.count_groups {
            return format!(
                "SELECT COUNT(*) AS {}\nFROM (\n{sql}\n) AS {}",
                self.dialect.name(name),
                self.dialect.name("groups")
            );
        }
        let order: Vec<String> = plan
            .order
            .iter()
            .map(|(e, descending)| self.order(plan, e, *descending))
            .collect();
        if !order.is_empty() {
            sql += &format!("\nORDER BY {}", order.join(", "));
        }
        sql + &limit
    }

    fn outputs(&self, plan: &Plan) -> String {
        let outputs = plan.outputs.iter().map(|o| match &o.expr {
            Expr::Column(c) if self.catalog.column(*c).name == o.name => self.expr(&o.expr),
            expr => format!("{} AS {}", self.expr(expr), self.dialect.name(&o.name)),
        });
        outputs.collect::<Vec<_>>().join(", ")
    }

    /// Engines differ in where NULL sorts; a ranking never starts with it.
    fn order(&self, plan: &Plan, expr: &Expr, descending: bool) -> String {
        let text = match plan.outputs.iter().find(|o| o.expr == *expr) {
            Some(output) if !matches!(expr, Expr::Column(_)) => self.dialect.name(&output.name),
            _ => match expr {
                Expr::Column(c) if self.catalog.column(*c).holds_numbers() => {
                    self.dialect.number(&self.column(*c))
                }
                _ => self.expr(expr),
            },
        };
        let direction = if descending { " DESC" } else { "" };
        let nulls = if descending && self.dialect == Dialect::Postgres {
            " NULLS LAST"
        } else {
            ""
        };
        format!("{text}{direction}{nulls}")
    }

    fn table(&self, at: usize) -> String {
        let table = self.catalog.table(at);
        let name = self.dialect.name(&table.name);
        if table.schema.is_empty() || !self.qualified {
            return name;
        }
        format!("{}.{name} AS {name}", self.dialect.name(&table.schema))
    }

    fn join(&self, step: Step, keep_unmatched: bool) -> String {
        let key = &self.catalog.table(step.from).foreign_keys[step.key];
        let nullable = key
            .columns
            .iter()
            .any(|c| self.catalog.table(step.from).columns[*c].nullable);
        let kind = if keep_unmatched && nullable {
            "LEFT JOIN"
        } else {
            "JOIN"
        };
        let pairs = key
            .columns
            .iter()
            .zip(&key.target_columns)
            .map(|(own, other)| {
                let own = self.column(ColumnRef {
                    table: step.from,
                    column: *own,
                });
                format!(
                    "{} = {own}",
                    self.column(ColumnRef {
                        table: key.target,
                        column: *other
                    })
                )
            });
        format!(
            "\n{kind} {} ON {}",
            self.table(key.target),
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

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column(c) => self.column(*c),
            Expr::Words(columns) => {
                let columns: Vec<String> = columns.iter().map(|c| self.column(*c)).collect();
                self.dialect.join_words(&columns)
            }
            Expr::Bucket(unit, c) => self.dialect.bucket(*unit, &self.column(*c)),
            Expr::CountRows => "COUNT(*)".to_owned(),
            Expr::CountDistinct(c) => format!("COUNT(DISTINCT {})", self.column(*c)),
            Expr::Aggregate(function, amount, decimals) => {
                let amount = self.amount(amount);
                let name = match function {
                    // Only the text of the answer rounds it.
                    Aggregate::Average => return self.dialect.average(&amount),
                    Aggregate::Sum => "SUM",
                    Aggregate::Min => "MIN",
                    Aggregate::Max => "MAX",
                };
                let call = format!("{name}({amount})");
                decimals.map_or_else(|| call.clone(), |d| self.dialect.round(&call, d))
            }
        }
    }

    fn amount(&self, amount: &Amount) -> String {
        match amount {
            Amount::Column(c) => self.column(*c),
            Amount::Product {
                quantity,
                price,
                discount,
            } => {
                let product = format!("{} * {}", self.column(*quantity), self.column(*price));
                let Some((column, discount)) = discount else {
                    return product;
                };
                let column = format!("COALESCE({}, 0)", self.column(*column));
                match discount {
                    Discount::Share => format!("{product} * (1 - {column})"),
                    Discount::Percent => format!("{product} * (1 - {column} / 100.0)"),
                    Discount::Taken => format!("{product} - {column}"),
                }
            }
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match condition {
            Condition::In(column, values, negated) => {
                let list: Vec<String> = values.iter().map(|v| self.dialect.text(v)).collect();
                match (list.as_slice(), negated) {
                    ([one], false) => format!("{} = {one}", self.column(*column)),
                    ([one], true) => format!("{} <> {one}", self.column(*column)),
                    _ => format!(
                        "{} {}IN ({})",
                        self.column(*column),
                        not(*negated),
                        list.join(", ")
                    ),
                }
            }
            Condition::Equals(columns, text, negated) => {
                let columns: Vec<String> = columns.iter().map(|c| self.column(*c)).collect();
                let left = self.dialect.join_words(&columns);
                let sign = if *negated { "<>" } else { "=" };
                format!("LOWER({left}) {sign} LOWER({})", self.dialect.text(text))
            }
            Condition::Like(column, place, text, negated) => {
                let escaped = text
                    .replace('!', "!!")
                    .replace('%', "!%")
                    .replace('_', "!_");
                let pattern = match place {
                    MatchPosition::Inside => format!("%{escaped}%"),
                    MatchPosition::Start => format!("{escaped}%"),
                    MatchPosition::End => format!("%{escaped}"),
                };
                let pattern = self.dialect.text(&pattern);
                format!(
                    "LOWER({}) {}LIKE LOWER({pattern}) ESCAPE '!'",
                    self.column(*column),
                    not(*negated)
                )
            }
            Condition::Compare(column, comparison, number, negated) => {
                let test = format!("{} {} {number}", self.column(*column), sign(*comparison));
                if *negated {
                    format!("NOT ({test})")
                } else {
                    test
                }
            }
            Condition::Between(column, low, high, negated) => {
                format!(
                    "{} {}BETWEEN {low} AND {high}",
                    self.column(*column),
                    not(*negated)
                )
            }
            Condition::Truth(column, value) => {
                format!("{} = {}", self.column(*column), self.dialect.truth(*value))
            }
            Condition::Period(column, period, negated) => {
                let from = period
                    .from
                    .map(|d| format!("{} >= {}", self.column(*column), self.dialect.date(d)));
                let to = period
                    .to
                    .map(|d| format!("{} < {}", self.column(*column), self.dialect.date(d)));
                let both = from.into_iter().chain(to).collect::<Vec<_>>().join(" AND ");
                if *negated {
                    format!("NOT ({both})")
                } else {
                    both
                }
            }
            Condition::Null(column, null) => {
                format!("{} IS {}NULL", self.column(*column), not(!*null))
            }
            Condition::NoRows(step) => {
                let key = &self.catalog.table(step.from).foreign_keys[step.key];
                let own = self.column(ColumnRef {
                    table: step.from,
                    column: key.columns[0],
                });
                let other = self.column(ColumnRef {
                    table: key.target,
                    column: key.target_columns[0],
                });
                format!(
                    "NOT EXISTS (SELECT 1 FROM {} WHERE {own} = {other})",
                    self.table(step.from)
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
