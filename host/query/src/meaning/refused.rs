//! What DataFusion plans and computes in another way than SQL means it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, LimitClause, Query, SetExpr, SetOperator, SetQuantifier, Statement,
    Value, Visit as _, Visitor,
};

use super::similar;
use mindhost_base::error::{Code, Error, Result};

/// Refuses such a statement.
///
/// # Errors
/// `sql_not_supported`, with what to write instead.
pub fn check(statement: &Statement) -> Result<()> {
    match statement.visit(&mut Refusal) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(Error::new(Code::SqlNotSupported, why)),
    }
}

struct Refusal;

impl Visitor for Refusal {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<&'static str> {
        let mut bodies = vec![query.body.as_ref()];
        while let Some(body) = bodies.pop() {
            let SetExpr::SetOperation {
                op,
                set_quantifier,
                left,
                right,
            } = body
            else {
                continue;
            };
            // It does not count how often a row is there.
            let counts = matches!(
                set_quantifier,
                SetQuantifier::All | SetQuantifier::AllByName
            );
            if counts && *op != SetOperator::Union {
                return ControlFlow::Break(
                    "INTERSECT ALL and EXCEPT ALL are not supported here; leave out ALL, or count the rows with GROUP BY",
                );
            }
            bodies.extend([left.as_ref(), right.as_ref()]);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<&'static str> {
        if let Expr::Exists { subquery, .. } = expr
            && skips_rows(subquery)
        {
            // It is lost where the subquery becomes a join.
            return ControlFlow::Break(
                "OFFSET in EXISTS (…) is not supported here; compare (SELECT count(*) …) with a number",
            );
        }
        // NULLs in them count as values.
        let is_row = |side: &Expr| matches!(side, Expr::Tuple(_));
        match expr {
            Expr::BinaryOp { left, op, right } if compares(op) && is_row(left) && is_row(right) => {
                ControlFlow::Break(
                    "comparisons of rows are not supported here; compare their values one by one: a = x AND b = y",
                )
            }
            Expr::IsNull(of) | Expr::IsNotNull(of) if is_row(of) => ControlFlow::Break(
                "IS NULL of rows is not supported here; test their values one by one: a IS NULL AND b IS NULL",
            ),
            Expr::BinaryOp {
                op:
                    BinaryOperator::BitwiseXor | BinaryOperator::PGExp | BinaryOperator::PGBitwiseXor,
                ..
            } => ControlFlow::Break(
                "`^` and `#` are powers in some engines and bits in others; write power(a, b)",
            ),
            Expr::Collate { .. } => ControlFlow::Break(
                "COLLATE is not supported here; leave it out: texts are compared and ordered by their bytes, as with \"C\"",
            ),
            other if similar::is_refused(other) => ControlFlow::Break(
                "SIMILAR TO takes a constant without ESCAPE here; write LIKE, or `~` with a regular expression",
            ),
            Expr::Substring {
                substring_from: Some(from),
                ..
            } if is_text(from) => ControlFlow::Break(
                "substring(text FROM 'pattern') is not supported here; write regexp_replace(text, '.*(pattern).*', '\\1')",
            ),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
}

fn skips_rows(query: &Query) -> bool {
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { offset, .. }) => offset.is_some(),
        Some(LimitClause::OffsetCommaLimit { .. }) => true,
        None => false,
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}
