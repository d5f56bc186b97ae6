//! EXISTS looks for rows alone: what its subquery selects has no meaning, nor has their order. DataFusion plans both all
//! the same, and cannot join a subquery that selects a column of the statement around it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, LimitClause, Query, SelectItem, SetExpr, Statement, Value, Visit as _, VisitMut as _,
    Visitor, VisitorMut,
};

/// Leaves out what has no meaning.
pub fn without_columns(statement: &mut Statement) {
    let _ = statement.visit(&mut Subqueries);
}

struct Subqueries;

impl VisitorMut for Subqueries {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Exists { subquery, .. } = expr {
            bare(subquery);
        }
        ControlFlow::Continue(())
    }
}

fn bare(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else {
        return;
    };
    // An aggregate makes one row of all, and DISTINCT may be of some columns alone.
    let is_plain = select.distinct.is_none() && select.having.is_none();
    if !is_plain || !select.projection.iter().all(is_of_one_row) {
        return;
    }
    if !matches!(select.projection.as_slice(), [SelectItem::Wildcard(_)]) {
        let one = Value::Number("1".to_owned(), false);
        select.projection = vec![SelectItem::UnnamedExpr(Expr::value(one))];
    }
    let is_limited = query
        .limit_clause
        .as_ref()
        .is_some_and(|limit| !is_some_rows(limit));
    if !is_limited && query.fetch.is_none() {
        query.order_by = None;
        query.limit_clause = None;
    }
}

/// Whether it is LIMIT with a number other than 0, and nothing else.
fn is_some_rows(limit: &LimitClause) -> bool {
    let LimitClause::LimitOffset {
        limit: Some(Expr::Value(count)),
        offset: None,
        limit_by,
    } = limit
    else {
        return false;
    };
    let is_some = matches!(&count.value, Value::Number(count, _) if count.parse::<u64>().is_ok_and(|count| count > 0));
    is_some && limit_by.is_empty()
}

fn is_of_one_row(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => true,
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            expr.visit(&mut Calls).is_continue()
        }
        _ => false,
    }
}

/// Ends at a function, which may be an aggregate or make rows, and at a subquery.
struct Calls;

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
