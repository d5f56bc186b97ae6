//! `(a = x AND p) OR (a = x AND q)` of a subquery is `a = x AND (p OR q)`. Only so is `a = x` a condition by which the
//! subquery is joined with the statement around it.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, Statement, VisitMut as _, VisitorMut};

/// Writes such conditions of subqueries so.
pub fn before_alternatives(statement: &mut Statement) {
    let _ = statement.visit(&mut Subqueries);
}

struct Subqueries;

impl VisitorMut for Subqueries {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(query)
            | Expr::Exists {
                subquery: query, ..
            }
            | Expr::InSubquery {
                subquery: query, ..
            } => factored_in(query),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn factored_in(query: &mut Query) {
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(condition) = &mut select.selection
        && let Some(factored) = factored(condition)
    {
        *condition = factored;
    }
}

/// The condition with what all of its alternatives have in common before them; `None` if they have no `=` in common.
fn factored(condition: &Expr) -> Option<Expr> {
    let alternatives = parts(condition, &BinaryOperator::Or);
    let mut alternatives: Vec<Vec<&Expr>> = (alternatives.into_iter())
        .map(|alternative| parts(alternative, &BinaryOperator::And))
        .collect();
    let (first, others) = alternatives.split_first()?;
    let is_common = |one: &&Expr| {
        let is_equality = matches!(
            one,
            Expr::BinaryOp {
                op: BinaryOperator::Eq,
                ..
            }
        );
        is_equality && !others.is_empty() && others.iter().all(|other| other.contains(one))
    };
    let common: Vec<Expr> = first.iter().copied().filter(is_common).cloned().collect();
    if common.is_empty() {
        return None;
    }
    for alternative in &mut alternatives {
        alternative.retain(|one| !common.contains(one));
    }
    let joined = |parts: Vec<Expr>, op: BinaryOperator| {
        parts.into_iter().reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: op.clone(),
            right: Box::new(right),
        })
    };
    // One that has nothing else holds wherever another one does.
    let rest: Option<Vec<Expr>> = (alternatives.into_iter())
        .map(|parts| joined(parts.into_iter().cloned().collect(), BinaryOperator::And))
        .map(|rest| rest.map(|rest| Expr::Nested(Box::new(rest))))
        .collect();
    let rest = rest.and_then(|rest| joined(rest, BinaryOperator::Or));
    let rest = rest.map(|rest| Expr::Nested(Box::new(rest)));
    joined(
        common.into_iter().chain(rest).collect(),
        BinaryOperator::And,
    )
}

/// What a chain of an operator joins, without the brackets around it.
fn parts<'a>(condition: &'a Expr, of: &BinaryOperator) -> Vec<&'a Expr> {
    let (mut found, mut open) = (Vec::new(), vec![condition]);
    while let Some(part) = open.pop() {
        match part {
            Expr::Nested(inner) => open.push(inner),
            Expr::BinaryOp { left, op, right } if op == of => {
                open.push(right);
                open.push(left);
            }
            other => found.push(other),
        }
    }
    found
}
