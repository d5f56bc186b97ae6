//! What DataFusion plans and computes in another way than SQL means it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArguments, GroupByExpr,
    LimitClause, Query, Select, SetExpr, SetOperator, SetQuantifier, Statement, Value, Visit as _,
    Visitor, visit_expressions,
};

use super::{merged_columns::only_part, similar};
use crate::names::folded;
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
        let fetch = query.fetch.as_ref();
        if fetch.is_some_and(|fetch| fetch.with_ties || fetch.percent) {
            return ControlFlow::Break(
                "FETCH … WITH TIES and PERCENT are not supported here; write LIMIT n, or compare rank() OVER (ORDER BY …) \
                 of a subquery with a number",
            );
        }
        if query.limit_clause.as_ref().is_some_and(has_subquery) {
            return ControlFlow::Break(
                "LIMIT and OFFSET take a number here, no (SELECT …); number the rows with row_number() OVER (ORDER BY …) \
                 in a subquery, and compare that number with the (SELECT …) in WHERE",
            );
        }
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

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<&'static str> {
        let GroupByExpr::Expressions(by, modifiers) = &select.group_by else {
            return ControlFlow::Continue(());
        };
        // It is not read.
        if !modifiers.is_empty() {
            return ControlFlow::Break(
                "WITH ROLLUP and WITH CUBE are not supported here; write GROUP BY ROLLUP (a, b)",
            );
        }
        by.iter().try_for_each(grouping_sets)
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
            Expr::BinaryOp { left, op, right }
                if compares(op) && (is_row(left) || is_row(right)) =>
            {
                ControlFlow::Break(
                    "comparisons of rows are not supported here; write (a, b) IN (SELECT x, y …) in place of \
                     (a, b) = (SELECT x, y …), or compare the values one by one",
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
            Expr::Function(call) if counts_rows(call) => ControlFlow::Break(
                "count(DISTINCT a, b) is not supported here; count the rows of a subquery: \
                 SELECT count(*) FROM (SELECT DISTINCT a, b FROM …)",
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

/// ROLLUP, CUBE or GROUPING SETS with what DataFusion does not take for a column.
fn grouping_sets(by: &Expr) -> ControlFlow<&'static str> {
    let is_rollup = matches!(by, Expr::Rollup(_) | Expr::Cube(_));
    let (Expr::Rollup(items) | Expr::Cube(items) | Expr::GroupingSets(items)) = by else {
        return ControlFlow::Continue(());
    };
    let is_number = |item: &Expr| matches!(item, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    if items.iter().flatten().any(is_number) {
        return ControlFlow::Break(
            "ROLLUP, CUBE and GROUPING SETS take no numbers of columns here; write the columns or expressions themselves",
        );
    }
    if is_rollup && items.iter().any(|item| item.len() != 1) {
        return ControlFlow::Break(
            "ROLLUP and CUBE take no columns in brackets of their own here; write the sets: \
             GROUPING SETS ((a, b, c), (a, b), ())",
        );
    }
    let mut seen = Vec::new();
    let is_twice = |set: &Vec<Expr>| {
        if !is_rollup {
            seen.clear();
        }
        set.iter().any(|item| {
            let is_seen = seen.iter().any(|other| is_same(item, other));
            seen.push(item.clone());
            is_seen
        })
    };
    match items.iter().any(is_twice) {
        true => ControlFlow::Break(
            "ROLLUP, CUBE and GROUPING SETS name each column once here; leave out the second mention of a column",
        ),
        false => ControlFlow::Continue(()),
    }
}

/// Whether two are one column: `k` beside `a.k` is the same, because it would be ambiguous otherwise.
fn is_same(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::Identifier(name), Expr::CompoundIdentifier(parts))
        | (Expr::CompoundIdentifier(parts), Expr::Identifier(name)) => parts
            .last()
            .is_some_and(|last| folded(last) == folded(name)),
        _ => one == other || one.to_string() == other.to_string(),
    }
}

/// Whether it counts the different rows of several values.
fn counts_rows(call: &Function) -> bool {
    let is_count = only_part(&call.name).is_some_and(|name| folded(name) == "count");
    match &call.args {
        FunctionArguments::List(list) if is_count => {
            list.duplicate_treatment == Some(DuplicateTreatment::Distinct) && list.args.len() > 1
        }
        _ => false,
    }
}

fn has_subquery(limit: &LimitClause) -> bool {
    let found = visit_expressions(limit, |expr| match expr {
        Expr::Subquery(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
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
