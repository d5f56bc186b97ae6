//! Functions that DataFusion has under another name or in another form.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Statement, Value, VisitMut as _, VisitorMut, visit_expressions_mut,
};

use super::{merged_columns::only_part, templates};
use crate::names::folded;

/// Their names, which stand on the guard's list without being functions of the session.
#[cfg(test)]
pub const NAMES: [&str; 4] = ["ceiling", "last_day", "mod", "sign"];

/// Those that count. DataFusion gives unsigned integers, which no difference below zero has a place in, and whose quotient
/// by another integer is no integer.
const COUNTS: [&str; 10] = [
    "approx_distinct",
    "array_length",
    "array_ndims",
    "array_position",
    "cardinality",
    "dense_rank",
    "ntile",
    "rank",
    "regr_count",
    "row_number",
];

/// The last day of the month of `__day`.
const LAST_DAY: &str = "CAST(date_trunc('month', CAST(__day AS TIMESTAMP(6))) + INTERVAL '1 month' - INTERVAL '1 day' \
                        AS DATE)";
/// Years begin with 1, and so do centuries.
const DECADE: &str = "CAST(extract(year FROM __day) / 10 AS bigint)";
const CENTURY: &str = "CAST((extract(year FROM __day) + 99) / 100 AS bigint)";
const MILLENNIUM: &str = "CAST((extract(year FROM __day) + 999) / 1000 AS bigint)";
const DAY: &str = "__day";

/// Writes calls of them in the form that DataFusion has.
pub fn written_out(statement: &mut Statement) {
    let _ = statement.visit(&mut Calls);
}

struct Calls;

impl VisitorMut for Calls {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let written = match expr {
            Expr::Function(call) => in_other_form(call),
            Expr::Extract {
                field, expr: day, ..
            } => years_of(&field.to_string(), day),
            _ => None,
        };
        if let Some(written) = written {
            *expr = written;
        }
        ControlFlow::Continue(())
    }
}

fn in_other_form(call: &Function) -> Option<Expr> {
    let name = folded(only_part(&call.name)?);
    if COUNTS.contains(&name.as_str()) {
        return Some(Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(Expr::Function(call.clone())),
            data_type: DataType::BigInt(None),
            format: None,
            array: false,
        });
    }
    match (name.as_str(), values(call)?.as_slice()) {
        ("ceiling", [_]) => Some(renamed(call, "ceil")),
        ("sign", [_]) => Some(renamed(call, "signum")),
        ("mod", [dividend, divisor]) => Some(Expr::Nested(Box::new(Expr::BinaryOp {
            left: bracketed(dividend),
            op: BinaryOperator::Modulo,
            right: bracketed(divisor),
        }))),
        ("last_day", [day]) => on_day(LAST_DAY, day),
        ("date_part", [part, day]) => years_of(text(part)?, day),
        _ => None,
    }
}

/// The arguments of a plain call.
fn values(call: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let is_plain = call.over.is_none()
        && call.filter.is_none()
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    let values = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if is_plain => Some(value),
        _ => None,
    });
    values.collect()
}

fn renamed(call: &Function, name: &str) -> Expr {
    Expr::Function(Function {
        name: vec![Ident::new(name)].into(),
        ..call.clone()
    })
}

fn bracketed(value: &Expr) -> Box<Expr> {
    Box::new(Expr::Nested(Box::new(value.clone())))
}

fn text(value: &Expr) -> Option<&str> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A part of a day that DataFusion does not have: the number of its decade, century or millennium.
fn years_of(part: &str, day: &Expr) -> Option<Expr> {
    let template = match part.to_ascii_lowercase().as_str() {
        "decade" | "decades" => DECADE,
        "century" | "centuries" => CENTURY,
        "millennium" | "millennia" => MILLENNIUM,
        _ => return None,
    };
    on_day(template, day)
}

fn on_day(template: &str, day: &Expr) -> Option<Expr> {
    let mut written = templates::expression(template)?;
    let _ = visit_expressions_mut(&mut written, |part| {
        if matches!(part, Expr::Identifier(name) if name.value == DAY) {
            *part = day.clone();
        }
        ControlFlow::<()>::Continue(())
    });
    Some(written)
}
