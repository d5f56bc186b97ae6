//! `GROUP BY (a, b)` groups by each of the values in the brackets. DataFusion takes them for one value, and has none.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, GroupByExpr, Select, Statement, VisitMut as _, VisitorMut};

/// Writes such groups without the brackets.
pub fn unbracketed(statement: &mut Statement) {
    let _ = statement.visit(&mut Groups);
}

struct Groups;

impl VisitorMut for Groups {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by
            && groups.iter().any(is_row)
        {
            *groups = std::mem::take(groups)
                .into_iter()
                .flat_map(values)
                .collect();
        }
        ControlFlow::Continue(())
    }
}

/// Whether it has several values. Without any, it is refused.
fn is_row(group: &Expr) -> bool {
    matches!(group, Expr::Tuple(values) if !values.is_empty())
}

fn values(group: Expr) -> Vec<Expr> {
    match group {
        Expr::Tuple(values) if !values.is_empty() => values,
        one => vec![one],
    }
}
