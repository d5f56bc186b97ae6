//! Names of a result's columns that the statement does not name: the text of the expression, as other engines do it.
//! DataFusion's own names are parts of its plan, such as `sales.orders.quantity + Int64(1)`.

use std::borrow::Cow;

use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, Statement};

use super::{distinct_names::Shown, table_names::Written};

/// What the statement says of the names. How many columns `*` stands for is not known here, so the names are counted
/// from both ends.
#[derive(Default)]
pub struct ColumnNames {
    /// From the first column to the first `*`.
    first: Vec<Option<String>>,
    /// From the last column back to the last `*`.
    last: Vec<Option<String>>,
    /// The names to show for those that the host itself gave, if it planned with such.
    own: Shown,
    /// The same for tables, which are in names that the plan makes.
    tables: Written,
}

impl ColumnNames {
    /// Reads the list that names the columns of the result.
    pub fn of(statement: &Statement) -> Self {
        let Statement::Query(query) = statement else {
            return Self::default();
        };
        let Some(select) = first_select(query) else {
            return Self::default();
        };
        let named = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => text(expr),
            _ => None,
        };
        let is_counted = |item: &&SelectItem| {
            matches!(
                item,
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
            )
        };
        let items = &select.projection;
        Self {
            first: items.iter().take_while(is_counted).map(named).collect(),
            last: items
                .iter()
                .rev()
                .take_while(is_counted)
                .map(named)
                .collect(),
            own: Shown::new(),
            tables: Written::default(),
        }
    }

    /// The same, for a plan in which some columns have names of the host.
    pub fn with_own(self, own: Shown) -> Self {
        Self { own, ..self }
    }

    /// The same, for a plan in which some tables have names of the host.
    pub fn with_tables(self, tables: Written) -> Self {
        Self { tables, ..self }
    }

    /// The name to show for a column of the plan: it has this name there and this place among so many.
    pub fn shown<'a>(&'a self, name: &'a str, place: usize, columns: usize) -> Cow<'a, str> {
        let from_end = columns.saturating_sub(place + 1);
        let text = self.first.get(place).or_else(|| self.last.get(from_end));
        let text = || text.and_then(Option::as_deref);
        let said = self.own.get(name).map(String::as_str).or_else(text);
        said.map_or_else(|| self.tables.restored(name), Cow::Borrowed)
    }
}

/// The SELECT that names the columns: the first one of a set operation.
fn first_select(query: &Query) -> Option<&Select> {
    let mut body = &*query.body;
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &query.body,
            _ => return None,
        };
    }
}

/// The text of an expression; none for a column, which has its own name.
fn text(expr: &Expr) -> Option<String> {
    let inside = without_brackets(expr);
    let is_column = matches!(inside, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    (!is_column).then(|| expr.to_string())
}

/// What stands in the brackets around an expression.
pub fn without_brackets(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::{dialect::GenericDialect, parser::Parser};

    /// The names that are shown for those of a plan.
    fn shown(sql: &str, planned: &[&str]) -> Vec<String> {
        let parsed = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
        let names = ColumnNames::of(&parsed[0]);
        let places = planned.iter().enumerate();
        places
            .map(|(place, name)| names.shown(name, place, planned.len()).into_owned())
            .collect()
    }

    #[test]
    fn expressions_are_named_by_their_text() {
        assert_eq!(
            shown(
                "SELECT a + 1, (b), c AS d, (e * 2) FROM t",
                &["x", "b", "d", "y"]
            ),
            ["a + 1", "b", "d", "(e * 2)"]
        );
        assert_eq!(
            shown("SELECT count(*), t.*, sum(a) FROM t", &["x", "a", "b", "y"]),
            ["count(*)", "a", "b", "sum(a)"]
        );
        assert_eq!(
            shown("(SELECT 1 UNION SELECT 2) UNION SELECT 3", &["x"]),
            ["1"]
        );
        assert_eq!(shown("VALUES (1)", &["column1"]), ["column1"]);
    }

    #[test]
    fn what_stands_between_two_stars_keeps_the_name_of_the_plan() {
        let planned = ["a", "x", "b"];
        assert_eq!(shown("SELECT t.*, a + 1, u.* FROM t, u", &planned), planned);
    }
}
