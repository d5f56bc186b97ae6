//! Filters, applied to values as the host would.

use std::cmp::Ordering;

use super::{Filter, FilterOp, Pushdown};
use crate::values::{DataType, Value};

impl Filter {
    /// A filter; for tests.
    pub fn new(column: impl Into<String>, op: FilterOp, values: Vec<Value>) -> Self {
        Self {
            column: column.into(),
            op,
            values,
        }
    }

    /// How far [`Filter::matches`] goes for a column of this type. Decimals and floats compare in more ways than one,
    /// and what JSON and `Any` hold is compared by the host alone.
    pub fn support(data_type: DataType) -> Pushdown {
        match data_type {
            DataType::Float64 | DataType::Decimal | DataType::Json | DataType::Any => Pushdown::No,
            _ => Pushdown::Exact,
        }
    }

    /// Whether a cell passes the filter. Texts compare by their bytes, as they do in the host. A value of another type
    /// than the filter's passes none.
    pub fn matches(&self, cell: &Value) -> bool {
        if matches!(cell, Value::Null) {
            return self.op == FilterOp::IsNull;
        }
        let first = self.values.first();
        let is = |wanted: fn(Ordering) -> bool| {
            first
                .and_then(|value| order(cell, value))
                .is_some_and(wanted)
        };
        match self.op {
            FilterOp::IsNull => false,
            FilterOp::IsNotNull => true,
            FilterOp::Eq => is(Ordering::is_eq),
            FilterOp::NotEq => is(Ordering::is_ne),
            FilterOp::Lt => is(Ordering::is_lt),
            FilterOp::LtEq => is(Ordering::is_le),
            FilterOp::Gt => is(Ordering::is_gt),
            FilterOp::GtEq => is(Ordering::is_ge),
            FilterOp::InList => self
                .values
                .iter()
                .any(|value| order(cell, value) == Some(Ordering::Equal)),
            FilterOp::Like => match (cell, first) {
                (Value::Text(text), Some(Value::Text(pattern))) => is_like(text, pattern),
                _ => false,
            },
        }
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Boolean(left), Value::Boolean(right)) => Some(left.cmp(right)),
        (Value::Int64(left), Value::Int64(right))
        | (Value::Timestamp(left), Value::Timestamp(right))
        | (Value::TimestampUtc(left), Value::TimestampUtc(right)) => Some(left.cmp(right)),
        (Value::Uint64(left), Value::Uint64(right)) | (Value::Time(left), Value::Time(right)) => {
            Some(left.cmp(right))
        }
        (Value::Date(left), Value::Date(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// `%` stands for any text, `_` for one character, `\` takes the next character as it is. Takes time in the product of
/// both lengths at most: one `%` is tried at a time.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut rest = text.chars();
    let mut wanted = pattern.chars();
    // Where to go on when a character does not fit: behind the last `%`, one character later.
    let mut again: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let before = wanted.clone();
        let fits = match wanted.next() {
            Some('%') => {
                again = Some((rest.clone(), wanted.clone()));
                continue;
            }
            None => rest.as_str().is_empty(),
            Some('_') => rest.next().is_some(),
            Some('\\') => rest.next() == Some(wanted.next().unwrap_or('\\')),
            Some(plain) => rest.next() == Some(plain),
        };
        match (fits, before.as_str().is_empty(), &mut again) {
            (true, true, _) => return true,
            (true, false, _) => {}
            (false, _, None) => return false,
            (false, _, Some((from, pattern))) => {
                if from.next().is_none() {
                    return false;
                }
                rest = from.clone();
                wanted = pattern.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(cell: Value, op: FilterOp, values: &[Value]) -> bool {
        Filter::new("c", op, values.to_vec()).matches(&cell)
    }

    #[test]
    fn cells_pass_as_in_sql() {
        let number = Value::Int64;
        assert!(matches(number(1), FilterOp::Eq, &[number(1)]));
        assert!(matches(number(1), FilterOp::NotEq, &[number(2)]));
        assert!(matches(number(1), FilterOp::Lt, &[number(2)]));
        assert!(matches(number(2), FilterOp::GtEq, &[number(2)]));
        assert!(matches(
            number(2),
            FilterOp::InList,
            &[number(1), number(2)]
        ));
        assert!(matches(number(1), FilterOp::IsNotNull, &[]));
        assert!(!matches(
            number(1),
            FilterOp::Eq,
            &[Value::Text("1".into())]
        ));
    }

    #[test]
    fn null_passes_is_null_alone() {
        for op in [
            FilterOp::Eq,
            FilterOp::NotEq,
            FilterOp::InList,
            FilterOp::IsNotNull,
        ] {
            assert!(!matches(Value::Null, op, &[Value::Int64(1)]));
        }
        assert!(matches(Value::Null, FilterOp::IsNull, &[]));
    }

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("shop", "sh%", true),
            ("shop", "%op", true),
            ("shop", "s__p", true),
            ("shop", "s_p", false),
            ("shop", "%", true),
            ("", "%", true),
            ("", "_", false),
            ("shop", "", false),
            ("50%", r"50\%", true),
            ("505", r"50\%", false),
            ("aab", "%ab", true),
            ("mississippi", "%iss%pi", true),
            ("mississippi", "%iss%pa", false),
            ("größe", "gr__e", true),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} LIKE {pattern}");
        }
    }
}
