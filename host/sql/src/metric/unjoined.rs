//! Tables of a metric that a comma puts side by side and that no condition joins: each row of one counts with each row
//! of the others.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, TableFactor, Visit as _, Visitor};

use mindhost_base::error::{Error, Result};

/// Checks the query `SELECT … FROM <from> WHERE <filter>`. A CROSS JOIN says that each row is meant. Tables that a
/// function makes, or a LATERAL subquery, belong to the row before them.
///
/// # Errors
/// `invalid_parameter` for `from`.
pub fn check(query: &Query) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Ok(());
    };
    let items = select.from.iter();
    let tables: Vec<String> = items
        .filter(|item| stands_alone(&item.relation))
        .map(|item| format!("`{}`", item.relation))
        .collect();
    let joins = select.selection.as_ref().map_or(0, joining);
    if tables.len() <= joins + 1 {
        return Ok(());
    }
    let message = format!(
        "`from` has {} side by side, and too few conditions join them, so each row of one counts with each row of the \
         others; write `… JOIN … ON …`, or CROSS JOIN if you mean that",
        tables.join(" and ")
    );
    Err(Error::invalid("from", message))
}

fn stands_alone(table: &TableFactor) -> bool {
    match table {
        TableFactor::Table { args, .. } => args.is_none(),
        TableFactor::Derived { lateral, .. } => !lateral,
        TableFactor::NestedJoin { .. } => true,
        _ => false,
    }
}

/// The conditions that may join tables: those with more than one column.
fn joining(condition: &Expr) -> usize {
    match condition {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => joining(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
            right,
        } => joining(left) + joining(right),
        other => {
            let mut columns = Columns(0);
            let _ = other.visit(&mut columns);
            usize::from(columns.0 > 1)
        }
    }
}

struct Columns(usize);

impl Visitor for Columns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.0 += usize::from(matches!(
            expr,
            Expr::Identifier(_) | Expr::CompoundIdentifier(_)
        ));
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::Dialect;

    use crate::metric;

    fn is_accepted(from: &str, filter: Option<&str>) -> bool {
        let dialects = [Dialect::Sqlite, Dialect::Postgresql, Dialect::Mysql];
        let accepted = dialects
            .map(|dialect| metric::check(dialect, "sum(amount)", from, filter))
            .map(|checked| match checked {
                Ok(()) => true,
                Err(error) => {
                    assert_eq!(error.param_name(), Some("from"), "{error}");
                    assert!(error.message().contains("CROSS JOIN"), "{error}");
                    false
                }
            });
        assert!(accepted.iter().all(|one| *one == accepted[0]), "{from}");
        accepted[0]
    }

    #[test]
    fn tables_that_no_condition_joins_are_refused() {
        for (from, filter, expected) in [
            ("orders, staff", None, false),
            ("orders o, staff s", Some("o.status = 'paid'"), false),
            ("orders o, staff s", Some("o.a = 1 OR s.b = 2"), false),
            ("orders o, (SELECT 1 AS one) t", None, false),
            (
                "orders o, staff s, items i",
                Some("o.staff_id = s.id"),
                false,
            ),
            ("orders o, staff s", Some("o.staff_id = s.id"), true),
            (
                "orders o, staff s",
                Some("(o.a > 1 AND (o.day BETWEEN s.since AND s.until))"),
                true,
            ),
            (
                "orders o, staff s, items i",
                Some("o.staff_id = s.id AND i.order_id = o.id"),
                true,
            ),
            ("orders CROSS JOIN staff", None, true),
            ("orders o JOIN staff s ON o.staff_id = s.id", None, true),
        ] {
            assert_eq!(is_accepted(from, filter), expected, "{from} {filter:?}");
        }
        let of_row = "orders o, unnest(o.items) AS item";
        let checked = metric::check(Dialect::Postgresql, "sum(amount)", of_row, None);
        assert!(checked.is_ok(), "{checked:?}");
    }
}
