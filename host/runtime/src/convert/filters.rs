//! Converts filters for a guest, and its replies.

use crate::bindings::{scanner as guest, types};
use mindhost_plugin_api::{
    Value,
    scanner::{Filter, FilterOp, Pushdown},
};

/// Converts a filter for the guest.
pub fn to_filter(filter: &Filter) -> guest::Filter {
    guest::Filter {
        column: filter.column.clone(),
        op: match filter.op {
            FilterOp::Eq => guest::FilterOp::Eq,
            FilterOp::NotEq => guest::FilterOp::NotEq,
            FilterOp::Lt => guest::FilterOp::Lt,
            FilterOp::LtEq => guest::FilterOp::LtEq,
            FilterOp::Gt => guest::FilterOp::Gt,
            FilterOp::GtEq => guest::FilterOp::GtEq,
            FilterOp::InList => guest::FilterOp::InList,
            FilterOp::IsNull => guest::FilterOp::IsNull,
            FilterOp::IsNotNull => guest::FilterOp::IsNotNull,
            FilterOp::Like => guest::FilterOp::Like,
        },
        values: filter.values.iter().map(to_value).collect(),
    }
}

fn to_value(value: &Value) -> types::Value {
    match value {
        Value::Null => types::Value::Null,
        Value::Boolean(value) => types::Value::Boolean(*value),
        Value::Int64(value) => types::Value::Int64(*value),
        Value::Uint64(value) => types::Value::Uint64(*value),
        Value::Float64(value) => types::Value::Float64(*value),
        Value::Decimal(text) => types::Value::Decimal(text.clone()),
        Value::Text(text) => types::Value::Text(text.clone()),
        Value::Bytes(bytes) => types::Value::Bytes(bytes.clone()),
        Value::Date(days) => types::Value::Date(*days),
        Value::Time(micros) => types::Value::Time(*micros),
        Value::Timestamp(micros) => types::Value::Timestamp(*micros),
        Value::TimestampUtc(micros) => types::Value::TimestampUtc(*micros),
        Value::Json(text) => types::Value::Json(text.clone()),
        Value::Other(text) => types::Value::Other(text.clone()),
    }
}

/// Converts the support of a filter.
pub fn pushdown(answer: guest::Pushdown) -> Pushdown {
    match answer {
        guest::Pushdown::No => Pushdown::No,
        guest::Pushdown::Inexact => Pushdown::Inexact,
        guest::Pushdown::Exact => Pushdown::Exact,
    }
}
