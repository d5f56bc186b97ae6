//! `IN (SELECT …)` in its other forms. DataFusion compares one value with those of a subquery, and makes a join of
//! IN alone: so `= ANY` and `<> ALL` become IN, and a row before IN becomes a condition of EXISTS.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, SelectItem, SetExpr, Statement, TableAliasColumnDef,
    TableFactor, UnaryOperator, VisitMut as _, VisitorMut, visit_expressions,
};

use super::templates;
use mindhost_base::error::{Code, Error, Result};

const ROW: &str = "a row before IN (SELECT …) is supported in conditions of WHERE joined by AND, OR and NOT, without a \
                   subquery in it; write EXISTS (SELECT 1 … WHERE a = x AND b = y)";
const WIDTH: &str = "the row before IN and the subquery behind it must have as many values";
const COMPARED_ROW: &str = "rows before ANY and ALL are supported with = ANY and <> ALL alone; write EXISTS \
                            (SELECT 1 … WHERE a = x AND b = y)";

/// The subquery that a row is looked for in: its table is the one behind IN.
const EXISTS: &str = "SELECT 1 FROM (SELECT 1) AS __rows";
/// The name of that table.
const ROWS: &str = "__rows";

/// `= ANY` and `<> ALL` of a subquery as IN and NOT IN.
pub fn quantified_as_in(statement: &mut Statement) {
    let _ = statement.visit(&mut Quantified);
}

struct Quantified;

impl VisitorMut for Quantified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let (value, list, negated) = match expr {
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => (left, right, false),
            Expr::AllOp {
                left,
                compare_op: BinaryOperator::NotEq,
                right,
            } => (left, right, true),
            _ => return ControlFlow::Continue(()),
        };
        if let Expr::Subquery(subquery) = &**list {
            *expr = Expr::InSubquery {
                expr: value.clone(),
                subquery: subquery.clone(),
                negated,
            };
        }
        ControlFlow::Continue(())
    }
}

/// Rows before IN as conditions of EXISTS.
///
/// # Errors
/// `sql_not_supported` where that would be another condition, and `sql_invalid` for a row of another width.
pub fn rows_as_exists(statement: &mut Statement) -> Result<()> {
    match statement.visit(&mut Rows) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((code, why)) => Err(Error::new(code, why)),
    }
}

struct Rows;

impl VisitorMut for Rows {
    type Break = (Code, &'static str);

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let mut bodies = vec![query.body.as_mut()];
        while let Some(body) = bodies.pop() {
            match body {
                SetExpr::SetOperation { left, right, .. } => {
                    bodies.extend([left.as_mut(), right.as_mut()]);
                }
                SetExpr::Select(select) => {
                    if let Some(condition) = &mut select.selection {
                        in_condition(condition, false);
                    }
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    /// What is a row here still cannot be written as EXISTS.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::InSubquery { expr, subquery, .. } => match &**expr {
                Expr::Tuple(values) if differs(values, subquery) => {
                    ControlFlow::Break((Code::SqlInvalid, WIDTH))
                }
                Expr::Tuple(_) => ControlFlow::Break((Code::SqlNotSupported, ROW)),
                _ => ControlFlow::Continue(()),
            },
            Expr::AnyOp { left, .. } | Expr::AllOp { left, .. }
                if matches!(&**left, Expr::Tuple(_)) =>
            {
                ControlFlow::Break((Code::SqlNotSupported, COMPARED_ROW))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Replaces the rows in a condition of WHERE, which keeps what it is true for. `is_negated`: this part stands below an
/// odd number of NOT.
fn in_condition(condition: &mut Expr, is_negated: bool) {
    match condition {
        Expr::Nested(inner) => in_condition(inner, is_negated),
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => in_condition(expr, !is_negated),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or,
            right,
        } => {
            in_condition(left, is_negated);
            in_condition(right, is_negated);
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => {
            // NULL is not true, and its negation is not either: it counts as false here, and as true below a NOT.
            let counts_null = *negated != is_negated;
            if let Expr::Tuple(values) = &**expr
                && let Some(query) = matching_rows(values, subquery, counts_null)
            {
                *condition = Expr::Exists {
                    subquery: query,
                    negated: *negated,
                };
            }
        }
        _ => {}
    }
}

/// The rows of a subquery that equal a row, and those that may (`counts_null`).
fn matching_rows(values: &[Expr], subquery: &Query, counts_null: bool) -> Option<Box<Query>> {
    if differs(values, subquery) || values.iter().any(has_subquery) {
        return None;
    }
    let mut query = templates::query(EXISTS)?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    let [from] = select.from.as_mut_slice() else {
        return None;
    };
    let TableFactor::Derived {
        subquery: rows,
        alias: Some(alias),
        ..
    } = &mut from.relation
    else {
        return None;
    };
    **rows = subquery.clone();
    let mut condition: Option<Expr> = None;
    for (index, value) in values.iter().enumerate() {
        let column = format!("__row_{}", index + 1);
        let names = vec![Ident::new(ROWS), Ident::new(column.as_str())];
        let equal = both(
            Expr::CompoundIdentifier(names),
            BinaryOperator::Eq,
            value.clone(),
        );
        alias.columns.push(TableAliasColumnDef::from_name(column));
        condition = Some(match condition {
            Some(others) => both(others, BinaryOperator::And, equal),
            None => equal,
        });
    }
    select.selection = match counts_null {
        true => Some(Expr::IsNotFalse(Box::new(condition?))),
        false => condition,
    };
    Some(query)
}

fn both(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

/// Whether the statement tells that a subquery has another number of columns than a row has values.
fn differs(values: &[Expr], subquery: &Query) -> bool {
    let SetExpr::Select(select) = subquery.body.as_ref() else {
        return false;
    };
    let is_one = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    select.projection.iter().all(is_one) && select.projection.len() != values.len()
}

/// Whether there is a subquery, or a row, in a value.
fn has_subquery(value: &Expr) -> bool {
    let found = visit_expressions(value, |part| match part {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::Tuple(_) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
