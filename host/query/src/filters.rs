//! Conditions that a scanner may be asked about: one column against constants.

use datafusion::{
    common::ScalarValue,
    logical_expr::{
        BinaryExpr, Expr, Operator,
        expr::{InList, Like},
    },
};

use super::decode::decimal_text;
use mindhost_plugin_api::{
    Column, DataType, Value,
    scanner::{Filter, FilterOp},
};

/// Values of one `in-list` at most: a scanner may put them into a URL.
const MAX_VALUES: usize = 1_000;

/// The filter that says the same as an expression; `None` where there is none.
pub fn translate(expr: &Expr, columns: &[Column]) -> Option<Filter> {
    let filter = match expr {
        Expr::Column(_) => one(named(expr, columns)?, FilterOp::Eq, Value::Boolean(true)),
        Expr::Not(inner) => one(named(inner, columns)?, FilterOp::Eq, Value::Boolean(false)),
        Expr::IsNull(inner) => none(named(inner, columns)?, FilterOp::IsNull),
        Expr::IsNotNull(inner) => none(named(inner, columns)?, FilterOp::IsNotNull),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Or,
            right,
        }) => either(translate(left, columns)?, translate(right, columns)?)?,
        Expr::BinaryExpr(comparison) => compared(comparison, columns)?,
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) if list.len() <= MAX_VALUES => {
            let column = named(expr, columns)?;
            let values = list.iter().map(|value| constant(value, column.data_type));
            Filter {
                column: column.name.clone(),
                op: FilterOp::InList,
                values: values.collect::<Option<_>>()?,
            }
        }
        Expr::Like(Like {
            negated: false,
            expr,
            pattern,
            escape_char: None | Some('\\'),
            case_insensitive: false,
        }) => {
            let column = named(expr, columns)?;
            let pattern = constant(pattern, column.data_type)?;
            let is_text = column.data_type == DataType::Text;
            one(is_text.then_some(column)?, FilterOp::Like, pattern)
        }
        _ => return None,
    };
    Some(filter)
}

fn one(column: &Column, op: FilterOp, value: Value) -> Filter {
    Filter {
        column: column.name.clone(),
        op,
        values: vec![value],
    }
}

fn none(column: &Column, op: FilterOp) -> Filter {
    Filter {
        column: column.name.clone(),
        op,
        values: Vec::new(),
    }
}

/// `a = 1 OR a = 2` is `a IN (1, 2)`: the planner writes short lists so.
fn either(left: Filter, right: Filter) -> Option<Filter> {
    let is_list = |filter: &Filter| matches!(filter.op, FilterOp::Eq | FilterOp::InList);
    let same = left.column == right.column && is_list(&left) && is_list(&right);
    let values: Vec<_> = left.values.into_iter().chain(right.values).collect();
    (same && values.len() <= MAX_VALUES).then_some(Filter {
        column: left.column,
        op: FilterOp::InList,
        values,
    })
}

fn compared(comparison: &BinaryExpr, columns: &[Column]) -> Option<Filter> {
    let BinaryExpr { left, op, right } = comparison;
    let (column, op, value) = match (named(left, columns), named(right, columns)) {
        (Some(column), None) => (column, *op, right),
        (None, Some(column)) => (column, op.swap()?, left),
        _ => return None,
    };
    let op = match op {
        Operator::Eq => FilterOp::Eq,
        Operator::NotEq => FilterOp::NotEq,
        Operator::Lt => FilterOp::Lt,
        Operator::LtEq => FilterOp::LtEq,
        Operator::Gt => FilterOp::Gt,
        Operator::GtEq => FilterOp::GtEq,
        _ => return None,
    };
    Some(one(column, op, constant(value, column.data_type)?))
}

fn named<'a>(expr: &Expr, columns: &'a [Column]) -> Option<&'a Column> {
    let Expr::Column(name) = expr else {
        return None;
    };
    columns.iter().find(|column| column.name == name.name)
}

/// A constant as a value of the column's type, if it is exactly that.
fn constant(expr: &Expr, data_type: DataType) -> Option<Value> {
    let Expr::Literal(value, _) = expr else {
        return None;
    };
    Some(match (data_type, value) {
        (DataType::Boolean, ScalarValue::Boolean(Some(value))) => Value::Boolean(*value),
        (DataType::Int64, ScalarValue::Int64(Some(value))) => Value::Int64(*value),
        (DataType::Uint64, ScalarValue::UInt64(Some(value))) => Value::Uint64(*value),
        (DataType::Float64, ScalarValue::Float64(Some(value))) => Value::Float64(*value),
        (DataType::Decimal, ScalarValue::Decimal128(Some(value), _, scale)) => {
            Value::Decimal(decimal_text(*value, *scale)?)
        }
        (
            DataType::Text,
            ScalarValue::Utf8(Some(text))
            | ScalarValue::LargeUtf8(Some(text))
            | ScalarValue::Utf8View(Some(text)),
        ) => Value::Text(text.clone()),
        (DataType::Date, ScalarValue::Date32(Some(days))) => Value::Date(*days),
        (DataType::Time, ScalarValue::Time64Microsecond(Some(micros))) => {
            Value::Time(u64::try_from(*micros).ok()?)
        }
        (DataType::Timestamp, ScalarValue::TimestampMicrosecond(Some(micros), None)) => {
            Value::Timestamp(*micros)
        }
        (DataType::TimestampUtc, ScalarValue::TimestampMicrosecond(Some(micros), Some(_))) => {
            Value::TimestampUtc(*micros)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    fn columns() -> Vec<Column> {
        let column = |name: &str, data_type| Column {
            name: name.to_owned(),
            data_type,
            native_type: String::new(),
            nullable: true,
        };
        vec![
            column("id", DataType::Int64),
            column("name", DataType::Text),
            column("paid", DataType::Boolean),
            column("doc", DataType::Json),
        ]
    }

    fn check(expr: &Expr, op: FilterOp, values: &[Value]) {
        let filter = translate(expr, &columns()).expect("a filter");
        assert_eq!(
            (filter.op, filter.values.as_slice()),
            (op, values),
            "{expr}"
        );
    }

    #[test]
    fn one_column_against_constants_is_a_filter() {
        let one = || Value::Int64(1);
        check(&col("id").eq(lit(1i64)), FilterOp::Eq, &[one()]);
        check(&lit(1i64).lt(col("id")), FilterOp::Gt, &[one()]);
        check(&col("id").is_null(), FilterOp::IsNull, &[]);
        check(&col("paid"), FilterOp::Eq, &[Value::Boolean(true)]);
        check(&!col("paid"), FilterOp::Eq, &[Value::Boolean(false)]);
        let list = [one(), Value::Int64(2), Value::Int64(3)];
        check(
            &col("id").in_list(vec![lit(1i64), lit(2i64), lit(3i64)], false),
            FilterOp::InList,
            &list,
        );
        let short = col("id").eq(lit(1i64)).or(col("id").eq(lit(2i64)));
        check(&short.or(col("id").eq(lit(3i64))), FilterOp::InList, &list);
        check(
            &col("name").like(lit("a%")),
            FilterOp::Like,
            &[Value::Text("a%".into())],
        );
    }

    #[test]
    fn everything_else_stays_with_the_host() {
        for expr in [
            col("id").eq(col("id")),
            col("id").eq(lit("1")),
            col("id").eq(lit(ScalarValue::Int64(None))),
            col("id").in_list(vec![lit(1i64)], true),
            col("name").not_like(lit("a%")),
            col("name").ilike(lit("a%")),
            col("id").eq(lit(1i64)).or(col("name").eq(lit("a"))),
            col("id").lt(lit(1i64)).or(col("id").gt(lit(5i64))),
            (col("id") + lit(1i64)).eq(lit(2i64)),
            col("doc").eq(lit("{}")),
        ] {
            assert_eq!(translate(&expr, &columns()), None, "{expr}");
        }
    }
}
