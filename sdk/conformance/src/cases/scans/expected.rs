//! What a filter leaves of the rows of a table, as the kit computes it by itself.

use std::cmp::Ordering;

use mindhost_plugin_api::{
    DataType, Value,
    scanner::{Filter, FilterOp},
};

/// Values of a column with which filters are made.
const VALUES: usize = 5;

/// Whether a cell passes a filter; none where the kit cannot say.
pub(super) fn passes(cell: &Value, filter: &Filter) -> Option<bool> {
    if *cell == Value::Null {
        return Some(filter.op == FilterOp::IsNull);
    }
    let compared = |wanted: fn(Ordering) -> bool| order(cell, filter.values.first()?).map(wanted);
    match filter.op {
        FilterOp::IsNull => Some(false),
        FilterOp::IsNotNull => Some(true),
        FilterOp::Eq => compared(Ordering::is_eq),
        FilterOp::NotEq => compared(Ordering::is_ne),
        FilterOp::Lt => compared(Ordering::is_lt),
        FilterOp::LtEq => compared(Ordering::is_le),
        FilterOp::Gt => compared(Ordering::is_gt),
        FilterOp::GtEq => compared(Ordering::is_ge),
        FilterOp::InList => {
            let orders: Option<Vec<_>> = filter.values.iter().map(|one| order(cell, one)).collect();
            Some(orders?.contains(&Ordering::Equal))
        }
        FilterOp::Like => match (cell, filter.values.first()) {
            (Value::Text(text), Some(Value::Text(pattern))) => Some(is_like(text, pattern)),
            (Value::Text(_), _) => Some(false),
            _ => None,
        },
    }
}

/// Order of two values of one type, as the host's query engine has it. NaN has none here.
fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Boolean(one), Value::Boolean(other)) => Some(one.cmp(other)),
        (Value::Int64(one), Value::Int64(other))
        | (Value::Timestamp(one), Value::Timestamp(other))
        | (Value::TimestampUtc(one), Value::TimestampUtc(other)) => Some(one.cmp(other)),
        (Value::Uint64(one), Value::Uint64(other)) | (Value::Time(one), Value::Time(other)) => {
            Some(one.cmp(other))
        }
        (Value::Float64(one), Value::Float64(other)) => one.partial_cmp(other),
        (Value::Date(one), Value::Date(other)) => Some(one.cmp(other)),
        (Value::Text(one), Value::Text(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
        (Value::Decimal(one), Value::Decimal(other)) => Some(signed(one)?.cmp(&signed(other)?)),
        _ => None,
    }
}

/// A mark of a pattern.
enum Mark {
    /// `%`: any text.
    Any,
    /// `_`: one character.
    One,
    /// This character; behind `\`, whatever it is.
    Plain(char),
}

/// Whether a text fits a pattern. Takes time in the product of both lengths at most: one `%` is tried at a time.
fn is_like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut chars = pattern.chars();
    let marks: Vec<Mark> = std::iter::from_fn(|| {
        Some(match chars.next()? {
            '%' => Mark::Any,
            '_' => Mark::One,
            '\\' => Mark::Plain(chars.next().unwrap_or('\\')),
            plain => Mark::Plain(plain),
        })
    })
    .collect();
    let (mut at, mut mark) = (0, 0);
    // Where to go on when a character does not fit: behind the last `%`, one character later.
    let mut again = None;
    while let Some(here) = text.get(at) {
        let fits = match marks.get(mark) {
            Some(Mark::Any) => {
                mark += 1;
                again = Some((at, mark));
                continue;
            }
            Some(Mark::One) => true,
            Some(Mark::Plain(wanted)) => wanted == here,
            None => false,
        };
        (at, mark) = match (fits, &mut again) {
            (true, _) => (at + 1, mark + 1),
            (false, None) => return false,
            (false, Some((from, behind))) => {
                *from += 1;
                (*from, *behind)
            }
        };
    }
    let mut rest = marks.iter().skip(mark);
    rest.all(|mark| matches!(mark, Mark::Any))
}

/// A decimal as a whole number: its digits, and 12 behind the point.
fn signed(text: &str) -> Option<i128> {
    const SCALE: usize = 12;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > SCALE {
        return None;
    }
    let scaled: i128 = format!("{whole}{fraction:0<SCALE$}").parse().ok()?;
    Some(if negative { -scaled } else { scaled })
}

/// Filters on one column of every kind that the host may ask for, over values that are there and some that are not.
pub(super) fn filters(name: &str, data_type: DataType, cells: &[&Value]) -> Vec<Filter> {
    let filter = |op, values: &[Value]| Filter {
        column: name.to_owned(),
        op,
        values: values.to_vec(),
    };
    let mut made = vec![
        filter(FilterOp::IsNull, &[]),
        filter(FilterOp::IsNotNull, &[]),
    ];
    let values = values(data_type, cells);
    for value in &values {
        let one = std::slice::from_ref(value);
        made.extend(
            [
                FilterOp::Eq,
                FilterOp::NotEq,
                FilterOp::Lt,
                FilterOp::LtEq,
                FilterOp::Gt,
                FilterOp::GtEq,
                FilterOp::InList,
            ]
            .map(|op| filter(op, one)),
        );
        if let Value::Text(text) = value {
            let patterns = patterns(text).into_iter().map(Value::Text);
            made.extend(patterns.map(|pattern| filter(FilterOp::Like, &[pattern])));
        }
    }
    // In both orders: whoever looks at the first or the last value alone is seen.
    let turned: Vec<_> = values.iter().rev().cloned().collect();
    if values.len() > 1 {
        made.push(filter(FilterOp::InList, &values));
        made.push(filter(FilterOp::InList, &turned));
        made.extend(turned.windows(2).map(|pair| filter(FilterOp::InList, pair)));
    }
    made
}

/// The least, the greatest and some others, then one that is not there.
fn values(data_type: DataType, cells: &[&Value]) -> Vec<Value> {
    let mut sorted: Vec<&Value> = Vec::new();
    for cell in cells {
        if is_of(data_type, cell) && sorted.iter().all(|known| known != cell) {
            sorted.push(cell);
        }
    }
    sorted.sort_by(|one, other| order(one, other).unwrap_or(Ordering::Equal));
    let last = sorted.len().saturating_sub(1);
    let step = sorted.len().div_ceil(VALUES - 1).max(1);
    let mut values: Vec<Value> = sorted
        .iter()
        .enumerate()
        .filter(|(index, _)| index % step == 0 || *index == last)
        .map(|(_, value)| (*value).clone())
        .collect();
    let absent = match sorted.last() {
        Some(Value::Int64(most)) => most.checked_add(1).map(Value::Int64),
        Some(Value::Uint64(most)) => most.checked_add(1).map(Value::Uint64),
        Some(Value::Float64(most)) => Some(Value::Float64(most + 0.5)),
        Some(Value::Date(most)) => most.checked_add(1).map(Value::Date),
        Some(Value::Timestamp(most)) => most.checked_add(1).map(Value::Timestamp),
        Some(Value::TimestampUtc(most)) => most.checked_add(1).map(Value::TimestampUtc),
        Some(Value::Text(most)) => Some(Value::Text(format!("{most}~"))),
        _ => None,
    };
    values.extend(absent);
    values
}

/// Whether the host may put such a value into a filter on such a column.
fn is_of(data_type: DataType, value: &Value) -> bool {
    match value {
        Value::Bytes(_) | Value::Json(_) => false,
        Value::Float64(number) if number.is_nan() => false,
        _ => value.data_type() == Some(data_type),
    }
}

/// Patterns that fit a text, and some that all but fit it.
fn patterns(text: &str) -> Vec<String> {
    let escaped = |part: &mut dyn Iterator<Item = char>| {
        part.flat_map(|c| match c {
            '%' | '_' | '\\' => vec!['\\', c],
            c => vec![c],
        })
        .collect::<String>()
    };
    let count = text.chars().count();
    let half = count / 2;
    let (start, end) = (
        escaped(&mut text.chars().take(half)),
        escaped(&mut text.chars().skip(half)),
    );
    vec![
        escaped(&mut text.chars()),
        format!("{start}%"),
        format!("%{end}"),
        format!("%{start}%"),
        "_".repeat(count),
        format!("{start}\\%"),
        text.to_uppercase()
            .replace('\\', "\\\\")
            .replace(['%', '_'], "_"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_compare_as_numbers() {
        let less = |one: &str, other: &str| {
            order(&Value::Decimal(one.into()), &Value::Decimal(other.into()))
        };
        assert_eq!(less("9.50", "10"), Some(Ordering::Less));
        assert_eq!(less("-3", "-2.99"), Some(Ordering::Less));
        assert_eq!(less("1.0", "1.00"), Some(Ordering::Equal));
        assert_eq!(less("NaN", "1"), None);
    }

    #[test]
    fn every_kind_of_filter_is_made_and_judged() {
        let cells = [
            Value::Text("50%".into()),
            Value::Text("tea".into()),
            Value::Null,
        ];
        let made = filters("c", DataType::Text, &cells.iter().collect::<Vec<_>>());
        for op in [
            FilterOp::Eq,
            FilterOp::NotEq,
            FilterOp::Lt,
            FilterOp::LtEq,
            FilterOp::Gt,
            FilterOp::GtEq,
            FilterOp::InList,
            FilterOp::IsNull,
            FilterOp::IsNotNull,
            FilterOp::Like,
        ] {
            assert!(made.iter().any(|filter| filter.op == op), "{op:?}");
        }
        for filter in &made {
            for cell in &cells {
                assert!(passes(cell, filter).is_some(), "{filter:?} {cell:?}");
            }
        }
        let list = Filter {
            column: "c".into(),
            op: FilterOp::InList,
            values: cells[..2].to_vec(),
        };
        assert_eq!(passes(&cells[1], &list), Some(true));
    }

    #[test]
    fn patterns_fit_whole_texts() {
        for (text, pattern, expected) in [
            ("shop", "sh%", true),
            ("shop", "%op", true),
            ("shop", "s__p", true),
            ("shop", "s_p", false),
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
