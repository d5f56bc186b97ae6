//! What one side of a join has become known as, as conditions for the other side.
//!
//! A hash join of DataFusion reads its smaller side first. Then it knows the least and the greatest key, and of few
//! keys all. It tells the scans below its other side ([`DynamicFilterPhysicalExpr`]), which have not begun by then.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    arrow::datatypes::{DataType as Physical, Schema},
    common::ScalarValue,
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr,
        expressions::{
            BinaryExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal,
        },
    },
};

use super::{
    expressions::{Scope, Value},
    key_filters::key_filters,
    kinds::Kind,
    subquery_values,
};
use mindhost_plugin_api::Dialect;

/// Digits of an integer of 64 bits.
const INTEGER_DIGITS: i8 = 20;

/// What is known of the other side.
#[derive(Debug, PartialEq, Eq)]
pub enum DynamicFilters {
    /// It has no rows, so no row of this side is needed.
    Empty,
    /// Conditions that each needed row of this side fulfils.
    Conditions(Vec<String>),
}

/// The values that stand for the columns of the filters in a statement; those without one are in no condition.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// What the statement speaks.
    pub dialect: Dialect,
    /// Their types for the join.
    pub schema: &'a Schema,
    /// By their places.
    pub values: &'a [Option<Value>],
}

impl Columns<'_> {
    fn at(&self, place: usize) -> Option<Value> {
        self.values.get(place).cloned().flatten()
    }
}

/// What filters have become known, for the columns of a statement.
pub fn dynamic_filters(filters: &[Arc<dyn PhysicalExpr>], columns: Columns<'_>) -> DynamicFilters {
    let mut conditions = Vec::new();
    for filter in filters {
        let now = match filter.downcast_ref::<DynamicFilterPhysicalExpr>() {
            Some(dynamic) => dynamic.current().ok(),
            None => Some(Arc::clone(filter)),
        };
        if let Some(now) = now
            && collect(&now, columns, &mut conditions)
        {
            return DynamicFilters::Empty;
        }
    }
    DynamicFilters::Conditions(conditions)
}

/// Those conditions, from the shortest on, that have room in a statement, and takes their room. The join tests every
/// row anyway.
pub fn that_fit(mut conditions: Vec<String>, room: &mut usize) -> Vec<String> {
    const AND: usize = " AND ".len();
    conditions.sort_by_key(String::len);
    conditions.retain(|condition| match room.checked_sub(condition.len() + AND) {
        Some(rest) => {
            *room = rest;
            true
        }
        None => false,
    });
    conditions
}

/// Collects the conditions of a conjunction. Those without a form are left out: the join tests every row anyway. True
/// if nothing fulfils it.
fn collect(expr: &Arc<dyn PhysicalExpr>, columns: Columns<'_>, found: &mut Vec<String>) -> bool {
    if let Some(constant) = expr.downcast_ref::<Literal>() {
        return matches!(constant.value(), ScalarValue::Boolean(Some(false)));
    }
    if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
        return dynamic
            .current()
            .is_ok_and(|now| collect(&now, columns, found));
    }
    let scope = Scope::widening(columns.dialect, &[]);
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        if *binary.op() == Operator::And {
            let left = collect(binary.left(), columns, found);
            return collect(binary.right(), columns, found) || left;
        }
        return compared(binary, columns, &scope, found);
    } else if let Some(list) = expr.downcast_ref::<InListExpr>() {
        found.extend(listed(list, columns, &scope));
    }
    false
}

/// The comparison of a column with a constant, as [`collect`].
fn compared(
    binary: &BinaryExpr,
    columns: Columns<'_>,
    scope: &Scope<'_>,
    found: &mut Vec<String>,
) -> bool {
    let known = |side| {
        let of_subquery = || subquery_values::value(side);
        constant(side).cloned().or_else(of_subquery)
    };
    let (left, right) = (binary.left(), binary.right());
    let (column, op, constant) = match (known(left), known(right)) {
        (None, Some(constant)) => (left, Some(*binary.op()), constant),
        (Some(constant), None) => (right, binary.op().swap(), constant),
        _ => return false,
    };
    let Some(op) = op.filter(is_comparison) else {
        return false;
    };
    if constant.is_null() {
        return true;
    }
    if let Some(column) = value(column, columns) {
        found.extend(scope.compared_to(&column, op, &constant));
    } else if let Some((column, op, constant)) = whole(column, op, &constant, columns) {
        found.extend(scope.compared_to(&column, op, &constant));
    }
    false
}

/// The comparison of a column of integers, read as floats, with a float: which integers it holds for. Below 2^53 there is
/// a float for each integer, and no greater integer becomes one of these.
fn whole(
    column: &Arc<dyn PhysicalExpr>,
    op: Operator,
    constant: &ScalarValue,
    columns: Columns<'_>,
) -> Option<(Value, Operator, ScalarValue)> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let cast = column.downcast_ref::<CastExpr>()?;
    let column = value(cast.expr(), columns)?;
    let ScalarValue::Float64(Some(float)) = *constant else {
        return None;
    };
    let is_integer = matches!(column.kind, Kind::Integer | Kind::Unsigned);
    if !is_integer
        || *cast.cast_type() != Physical::Float64
        || float.is_nan()
        || float.abs() >= EXACT
    {
        return None;
    }
    let bound = match op {
        Operator::Lt | Operator::GtEq => float.ceil(),
        Operator::Gt | Operator::LtEq => float.floor(),
        _ if float.fract() == 0.0 => float,
        _ => return None,
    };
    Some((column, op, ScalarValue::Int64(Some(bound as i64))))
}

/// Whether an operator is true of no row with a NULL.
fn is_comparison(op: &Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A list of keys, of one column or of several.
fn listed(list: &InListExpr, columns: Columns<'_>, scope: &Scope<'_>) -> Vec<String> {
    if let Some(of) = value(list.expr(), columns) {
        let values = list.list().iter().map(constant);
        // No row is equal to NULL.
        let values = values.filter(|value| !value.is_some_and(ScalarValue::is_null));
        let values = values.map(|value| scope.constant(of.kind, value?));
        let values: Option<Vec<Value>> = values.collect();
        let mut seen = HashSet::new();
        let values = values.map(|values| {
            let new = values
                .into_iter()
                .filter(|value| seen.insert(value.sql.clone()));
            new.collect::<Vec<_>>()
        });
        let condition = values.and_then(|values| scope.listed(&of, &values, list.negated()));
        return condition.into_iter().collect();
    }
    let column = |expr: &dyn PhysicalExpr| {
        let column = expr.downcast_ref::<Column>()?;
        columns.at(column.index())
    };
    key_filters(list, column, scope).unwrap_or_default()
}

/// A column, or one whose integers are decimals for the comparison, or decimals ones of more digits, or that it casts to
/// the type that it has: UNION does so.
fn value(expr: &Arc<dyn PhysicalExpr>, columns: Columns<'_>) -> Option<Value> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return columns.at(column.index());
    }
    let cast = expr.downcast_ref::<CastExpr>()?;
    let value = value(cast.expr(), columns)?;
    let from = cast.expr().data_type(columns.schema).ok()?;
    if from == *cast.cast_type() {
        return Some(value);
    }
    let Physical::Decimal128(digits, scale) = *cast.cast_type() else {
        return None;
    };
    let before_point = digits as i8 - scale;
    let is_same = match (value.kind, from) {
        (Kind::Integer | Kind::Unsigned, _) => before_point >= INTEGER_DIGITS,
        // An engine may have no room for the digits of both. These have.
        (Kind::Decimal, Physical::Decimal128(from, of)) => {
            let has_room = matches!(columns.dialect, Dialect::Postgresql | Dialect::Mysql);
            has_room && scale >= of && before_point >= from as i8 - of
        }
        _ => false,
    };
    is_same.then_some(value)
}

fn constant(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    Some(expr.downcast_ref::<Literal>()?.value())
}

/// Whether a filter is about columns of this schema alone.
pub fn is_about(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    datafusion::physical_expr::utils::collect_columns(filter)
        .iter()
        .all(|column| column.index() < schema.fields().len())
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Field;

    use super::*;

    #[test]
    fn cast_to_the_type_of_a_column_is_the_column() {
        let schema = Schema::new(vec![Field::new("k", Physical::Int64, true)]);
        let values = [Some(Value {
            sql: String::from("t1.k"),
            kind: Kind::Integer,
        })];
        let columns = Columns {
            dialect: Dialect::Postgresql,
            schema: &schema,
            values: &values,
        };
        let cast = |to| -> Arc<dyn PhysicalExpr> {
            let column = Arc::new(Column::new("k", 0));
            Arc::new(CastExpr::new(column, to, None))
        };
        assert_eq!(value(&cast(Physical::Int64), columns), values[0]);
        assert_eq!(
            value(&cast(Physical::Decimal128(22, 2)), columns),
            values[0]
        );
        assert_eq!(value(&cast(Physical::Int32), columns), None);
    }

    #[test]
    fn decimal_of_more_digits_is_the_column() {
        let schema = Schema::new(vec![Field::new("p", Physical::Decimal128(10, 2), true)]);
        let values = [Some(Value {
            sql: String::from("t1.p"),
            kind: Kind::Decimal,
        })];
        let known = |dialect, digits, scale| {
            let columns = Columns {
                dialect,
                schema: &schema,
                values: &values,
            };
            let column = Arc::new(Column::new("p", 0));
            let cast = CastExpr::new(column, Physical::Decimal128(digits, scale), None);
            value(&(Arc::new(cast) as _), columns).is_some()
        };
        assert!(known(Dialect::Postgresql, 14, 6) && known(Dialect::Mysql, 12, 4));
        assert!(!known(Dialect::Postgresql, 12, 6) && !known(Dialect::Postgresql, 14, 1));
        assert!(!known(Dialect::Trino, 14, 6));
    }

    #[test]
    fn float_is_the_next_integer_that_fits() {
        let schema = Schema::new(vec![Field::new("k", Physical::Int64, true)]);
        let values = [Some(Value {
            sql: String::from("t1.k"),
            kind: Kind::Integer,
        })];
        let columns = Columns {
            dialect: Dialect::Postgresql,
            schema: &schema,
            values: &values,
        };
        let column = Arc::new(Column::new("k", 0));
        let read: Arc<dyn PhysicalExpr> = Arc::new(CastExpr::new(column, Physical::Float64, None));
        let conditions = |op, float| {
            let float = Arc::new(Literal::new(ScalarValue::Float64(Some(float))));
            let filter = Arc::new(BinaryExpr::new(Arc::clone(&read), op, float)) as _;
            match dynamic_filters(&[filter], columns) {
                DynamicFilters::Conditions(conditions) => conditions.concat(),
                DynamicFilters::Empty => String::from("empty"),
            }
        };
        for (op, float, expected) in [
            (Operator::Lt, 9.25, "(t1.k < 10)"),
            (Operator::Lt, 9.0, "(t1.k < 9)"),
            (Operator::LtEq, 9.25, "(t1.k <= 9)"),
            (Operator::Gt, -9.25, "(t1.k > (-10))"),
            (Operator::GtEq, -9.25, "(t1.k >= (-9))"),
            (Operator::Eq, -0.0, "(t1.k = 0)"),
            (Operator::Eq, 9.25, ""),
            (Operator::NotEq, 9.0, "(t1.k <> 9)"),
            (Operator::Gt, 1e16, ""),
            (Operator::Lt, f64::NAN, ""),
        ] {
            assert_eq!(conditions(op, float), expected, "{op} {float}");
        }
    }

    #[test]
    fn longest_conditions_are_left_out_where_there_is_no_room() {
        let conditions = || vec!["x".repeat(30), "y".repeat(10), "z".repeat(20)];
        let lengths = |mut room| {
            let fitting = that_fit(conditions(), &mut room).into_iter();
            fitting.map(|condition| condition.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(100), [10, 20, 30]);
        assert_eq!(lengths(40), [10, 20]);
        assert!(lengths(0).is_empty());
    }
}
