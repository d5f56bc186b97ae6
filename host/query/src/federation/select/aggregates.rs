//! Aggregates in the words of a dialect.

use datafusion::{
    arrow::datatypes::DataType as Physical,
    common::ScalarValue,
    logical_expr::{
        Expr,
        expr::{AggregateFunction, AggregateFunctionParams},
    },
};

use super::super::{
    dialects::{Rules, rules},
    expressions::{Scope, Value},
    kinds::Kind,
};
use mindhost_plugin_api::Dialect;

/// Digits behind the point of an average that MySQL computes: it has 30 digits there at most, 20 of them for the quotient.
const MAX_AVERAGED_SCALE: usize = 14;
/// Digits that an average has more than its column.
const AVERAGE_DIGITS: usize = 4;
/// Digits that a sum of ten thousand million rows has more than its column.
const SUMMED_DIGITS: usize = 10;
/// Digits of a decimal.
const MAX_DIGITS: usize = 38;
/// Digits of an average behind the point, in Trino those of an integer in a statement.
const MAX_LITERAL_DIGITS: usize = 18;

/// Whether equal values of it are the same group everywhere. A float has two zeros.
pub(super) fn is_groupable(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Opaque | Kind::Float | Kind::LongText | Kind::ZonedText
    )
}

/// Whether the engine counts as many different values as the host.
fn is_countable(kind: Kind, rules: &Rules) -> bool {
    let is_stored = rules.groups_stored_texts && (kind.is_text() || kind.is_stored_text());
    is_groupable(kind) && !is_stored
}

/// A text that is compared by its bytes.
pub(super) fn in_bytes(value: Value, rules: &Rules) -> Value {
    match value.kind {
        Kind::Text | Kind::Utf16 | Kind::CodePage => Value {
            sql: rules.bytes(&value.sql),
            ..value
        },
        _ => value,
    }
}

/// An aggregate as SQL, if the engine computes the same. Of no rows, which no group has, most are NULL.
pub(super) fn aggregated(
    expr: &Expr,
    result: &Physical,
    scope: &Scope<'_>,
    is_grouped: bool,
) -> Option<Value> {
    let rules = rules(scope.dialect);
    let or_null = |sql: String| match is_grouped || rules.empty_is_null {
        true => sql,
        false => format!("toNullable({sql})"),
    };
    let Expr::AggregateFunction(AggregateFunction { func, params }) = expr.clone().unalias() else {
        return None;
    };
    let AggregateFunctionParams {
        args,
        distinct,
        filter,
        order_by,
        null_treatment,
    } = params;
    let [arg] = args.as_slice() else {
        return None;
    };
    if filter.is_some() || !order_by.is_empty() || null_treatment.is_some() {
        return None;
    }
    let every_row = matches!(arg, Expr::Literal(ScalarValue::Int64(Some(_)), _));
    if func.name() == "count" && every_row && !distinct {
        return Some(Value {
            sql: format!("{}(*)", rules.count),
            kind: Kind::Integer,
        });
    }
    let of = scope.value(arg)?;
    let (sql, kind) = match (func.name(), of.kind, distinct) {
        // Some types cannot be counted there, but all of them can be NULL.
        ("count", Kind::Opaque, false) if scope.dialect == Dialect::Mssql => (
            format!("count_big(CASE WHEN {} IS NOT NULL THEN 1 END)", of.sql),
            Kind::Integer,
        ),
        ("count", _, false) => (format!("{}({})", rules.count, of.sql), Kind::Integer),
        // `count(DISTINCT …)` may be an estimate there, by a setting.
        ("count", kind, true)
            if is_countable(kind, rules) && scope.dialect == Dialect::Clickhouse =>
        {
            (format!("uniqExact({})", of.sql), Kind::Integer)
        }
        ("count", kind, true) if is_countable(kind, rules) => (
            format!("{}(DISTINCT {})", rules.count, in_bytes(of, rules).sql),
            Kind::Integer,
        ),
        ("min" | "max", Kind::Text, _) => {
            let bytes = or_null(rules.bytes(&of.sql));
            (
                rules.text_again(&format!("{}({bytes})", func.name())),
                Kind::Text,
            )
        }
        // PostgreSQL has them since its version 18.
        ("min" | "max", Kind::Uuid, _) => return None,
        ("min" | "max", kind, _) if kind.is_ordered() => {
            (format!("{}({})", func.name(), or_null(of.sql)), kind)
        }
        ("sum", Kind::Float, false) => (format!("sum({})", of.sql), Kind::Float),
        ("sum", Kind::Integer | Kind::Unsigned | Kind::Decimal, false) => {
            let of = scope
                .exact_number(arg)
                .filter(|of| of.kind != Kind::Unsigned)?;
            let sql = match (of.kind, scope.dialect) {
                (Kind::Integer, _) if !rules.mixes_numbers => {
                    format!("toDecimal128({}, 0)", of.sql)
                }
                // The sum of a narrow type is of that type, and fails beyond it.
                (Kind::Integer, Dialect::Mssql) => format!("CAST({} AS DECIMAL(38, 0))", of.sql),
                _ => of.sql,
            };
            (format!("sum({})", or_null(sql)), Kind::Decimal)
        }
        ("avg", Kind::Integer | Kind::Unsigned | Kind::Decimal, false) => {
            let of = scope
                .exact_number(arg)
                .filter(|of| of.kind == Kind::Decimal)?;
            (
                average(&or_null(of.sql), result, scope.dialect)?,
                Kind::Decimal,
            )
        }
        _ => return None,
    };
    Some(Value { sql, kind })
}

/// The average of exact numbers, cut behind the digits that the host keeps.
fn average(of: &str, result: &Physical, dialect: Dialect) -> Option<String> {
    let Physical::Decimal128(digits, scale) = result else {
        return None;
    };
    let (digits, scale) = (usize::from(*digits), usize::try_from(*scale).ok()?);
    match dialect {
        Dialect::Datafusion => Some(format!("avg({of})")),
        Dialect::Postgresql => {
            let (factor, last) = ("0".repeat(scale), "0".repeat(scale.checked_sub(1)?));
            Some(format!(
                "(div(sum({of}) * 1{factor}, count({of})) * 0.{last}1)"
            ))
        }
        // The quotient has four digits more than the sum, the last one rounded. With sixteen more it cannot be rounded up
        // to the next digit that is kept: the distance is at least one part in the number of rows.
        Dialect::Mysql if scale <= MAX_AVERAGED_SCALE => Some(format!(
            "TRUNCATE(sum({of}) * 1.{} / count({of}), {scale})",
            "0".repeat(16)
        )),
        // It cuts what a quotient has beyond the digits of its first operand.
        Dialect::Clickhouse if scale <= MAX_LITERAL_DIGITS => Some(format!(
            "(toDecimal128(sum({of}), {scale}) / greatest(count({of}), 1))"
        )),
        // It rounds a quotient to the digits of the longer operand, so integers are divided, without their rest.
        Dialect::Trino if scale <= MAX_LITERAL_DIGITS => {
            let (factor, last) = ("0".repeat(scale), "0".repeat(scale.checked_sub(1)?));
            let whole = format!("CAST(sum({of}) * 1{factor} AS DECIMAL(38, 0))");
            Some(format!(
                "((({whole} - mod({whole}, count({of}))) / count({of})) * 0.{last}1)"
            ))
        }
        Dialect::Mssql => average_of_mssql(of, digits, scale),
        _ => None,
    }
}

/// The quotient of what can be divided without a rest is exact there, if no step needs more than 38 digits: then the
/// server would cut or round.
fn average_of_mssql(of: &str, digits: usize, scale: usize) -> Option<String> {
    let of_column = (
        digits.checked_sub(AVERAGE_DIGITS)?,
        scale.checked_sub(AVERAGE_DIGITS)?,
    );
    let summed = of_column.0 + SUMMED_DIGITS;
    if summed + scale + 2 > MAX_DIGITS {
        return None;
    }
    let zeros = "0".repeat(scale);
    let last = "0".repeat(scale - 1);
    let sum = format!("CAST(sum({of}) AS DECIMAL({summed}, {}))", of_column.1);
    let factor = format!("CAST(1{zeros} AS DECIMAL({}, 0))", scale + 1);
    let whole = format!(
        "CAST({sum} * {factor} AS DECIMAL({}, 0))",
        summed - of_column.1 + scale
    );
    let rows = format!("NULLIF(count_big({of}), 0)");
    Some(format!(
        "(CAST(({whole} - {whole} % {rows}) / {rows} AS DECIMAL({digits}, 0)) * 0.{last}1)"
    ))
}
