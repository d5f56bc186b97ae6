//! What an accepted statement says about its result: its order, its rounding, the tables and columns that it needs.

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::{
    ast::{
        Expr, ObjectName, OrderBy, OrderByKind, Query, SelectItem, SetExpr, Statement, Value,
        Visit, Visitor,
    },
    dialect::{self, Dialect},
    parser::Parser,
};

use crate::{cells::Rounding, compare::Order};

/// A statement, as far as it can be read.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Names of tables without schema, in lower case.
    pub tables: BTreeSet<String>,
    /// Names of columns without table, in lower case.
    pub columns: BTreeSet<String>,
    query: Option<Box<Query>>,
}

impl Facts {
    /// Reads a statement in any dialect. Of one that cannot be read, nothing is known.
    pub fn of(sql: &str) -> Self {
        let Some(statement) = parsed(sql) else {
            return Self::default();
        };
        let mut names = Names::default();
        let _ = statement.visit(&mut names);
        let Names {
            tables,
            columns,
            hidden,
        } = names;
        let without = |found: BTreeSet<String>| &found - &hidden;
        Self {
            tables: without(tables),
            columns: without(columns),
            query: match statement {
                Statement::Query(query) => Some(query),
                _ => None,
            },
        }
    }

    /// Whether the order of its rows counts. `columns` are the names of its result.
    pub fn order(&self, columns: &[String]) -> Order {
        let order = self
            .query
            .as_ref()
            .and_then(|query| query.order_by.as_ref());
        let Some(OrderBy { kind, .. }) = order else {
            return Order::Any;
        };
        let OrderByKind::Expressions(terms) = kind else {
            return Order::Exact;
        };
        let items = self.items();
        let place = |term: &Expr| place(term, columns, &items);
        let keys: Option<Vec<usize>> = terms.iter().map(|term| place(&term.expr)).collect();
        keys.map_or(Order::Exact, Order::By)
    }

    /// The digits that the statement rounds to.
    pub fn rounding(&self) -> Rounding {
        let mut found = Rounds::default();
        if let Some(query) = &self.query {
            let _ = query.visit(&mut found);
        }
        found.digits.map_or(Rounding::None, Rounding::To)
    }

    /// The expressions of its result, as text in lower case.
    fn items(&self) -> Vec<String> {
        let body = self.query.as_ref().map(|query| &*query.body);
        let Some(SetExpr::Select(select)) = body else {
            return Vec::new();
        };
        let text = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                expr.to_string().to_lowercase()
            }
            other => other.to_string(),
        };
        select.projection.iter().map(text).collect()
    }
}

/// The column of the result that a term of ORDER BY names: by its number, its name, or its expression.
fn place(term: &Expr, columns: &[String], items: &[String]) -> Option<usize> {
    if let Expr::Value(value) = term
        && let Value::Number(number, _) = &value.value
    {
        let number: usize = number.to_string().parse().ok()?;
        return number.checked_sub(1).filter(|place| *place < columns.len());
    }
    let text = term.to_string().to_lowercase();
    let by_expression = items.iter().position(|item| *item == text);
    let by_name = || {
        let last = text.rsplit('.').next()?.trim_matches(['"', '`', '[', ']']);
        columns
            .iter()
            .position(|column| column.to_lowercase() == last)
    };
    // Places among the expressions are those of the columns unless one of them is `*`.
    let by_expression = by_expression.filter(|_| items.len() == columns.len());
    by_expression.or_else(by_name)
}

fn parsed(sql: &str) -> Option<Statement> {
    let dialects: [&dyn Dialect; 6] = [
        &dialect::GenericDialect {},
        &dialect::SQLiteDialect {},
        &dialect::PostgreSqlDialect {},
        &dialect::MySqlDialect {},
        &dialect::MsSqlDialect {},
        &dialect::ClickHouseDialect {},
    ];
    dialects.iter().find_map(|dialect| {
        let mut statements = Parser::parse_sql(*dialect, sql).ok()?;
        (statements.len() == 1).then(|| statements.pop())?
    })
}

#[derive(Default)]
struct Names {
    tables: BTreeSet<String>,
    columns: BTreeSet<String>,
    /// Names that the statement itself makes.
    hidden: BTreeSet<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.hidden.insert(table.alias.name.value.to_lowercase());
        }
        if let SetExpr::Select(select) = &*query.body {
            for item in &select.projection {
                if let SelectItem::ExprWithAlias { expr, alias } = item
                    && !matches!(expr, Expr::Identifier(name) if name.value.eq_ignore_ascii_case(&alias.value))
                {
                    self.hidden.insert(alias.value.to_lowercase());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let last = relation.0.last().and_then(|part| part.as_ident());
        self.tables
            .extend(last.map(|name| name.value.to_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        self.columns
            .extend(name.map(|name| name.value.to_lowercase()));
        ControlFlow::Continue(())
    }
}

/// The most digits of `round(…, digits)`.
#[derive(Default)]
struct Rounds {
    digits: Option<u32>,
}

impl Visitor for Rounds {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && function.name.to_string().eq_ignore_ascii_case("round")
        {
            let text = function.args.to_string();
            let last = text
                .trim_end_matches(')')
                .rsplit(',')
                .next()
                .filter(|_| text.contains(','));
            let digits = last.and_then(|last| last.trim().parse().ok()).unwrap_or(0);
            self.digits = self.digits.max(Some(digits));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sql: &str, columns: &[&str]) -> Order {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        Facts::of(sql).order(&columns)
    }

    #[test]
    fn order_counts_where_the_statement_itself_has_one() {
        assert_eq!(order("SELECT a FROM t", &["a"]), Order::Any);
        assert_eq!(
            order("SELECT a FROM (SELECT a FROM t ORDER BY a) x", &["a"]),
            Order::Any
        );
        assert_eq!(
            order("SELECT a, b FROM t ORDER BY 2 DESC, A", &["a", "b"]),
            Order::By(vec![1, 0])
        );
        assert_eq!(
            order(
                "SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT(*)",
                &["a", "count(*)"]
            ),
            Order::By(vec![1])
        );
        assert_eq!(
            order("SELECT t.a FROM t ORDER BY t.b", &["a"]),
            Order::Exact
        );
        assert_eq!(order("not SQL", &["a"]), Order::Any);
    }

    #[test]
    fn names_are_those_of_the_database() {
        let facts = Facts::of(
            "WITH best AS (SELECT c.Country, count(*) AS n FROM shop.Customers c GROUP BY 1) \
             SELECT country, n, o.total FROM best JOIN orders o ON o.id = n ORDER BY n",
        );
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(names(&facts.tables), "customers orders");
        assert_eq!(names(&facts.columns), "country id total");
    }

    #[test]
    fn rounding_is_that_of_the_statement() {
        assert_eq!(
            Facts::of("SELECT round(avg(a), 2) FROM t").rounding(),
            Rounding::To(2)
        );
        assert_eq!(
            Facts::of("SELECT ROUND(a) FROM t").rounding(),
            Rounding::To(0)
        );
        assert_eq!(Facts::of("SELECT a FROM t").rounding(), Rounding::None);
    }
}
