//! The cells of results, as they are compared.

use serde_json::Value;

/// Relative difference within which two numbers with fractions are the same.
const TOLERANCE: f64 = 1e-6;

/// Whether an answer with more digits is rounded before it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// No.
    None,
    /// To this many digits after the point, as the accepted statement does.
    To(u32),
    /// To the digits of each accepted number, at least one: a person wrote it.
    AsWritten,
}

/// One value of a result, in the form in which results are compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL, which is the same as NULL only.
    Null,
    /// A number, also where it comes as text. Truth values are 1 and 0.
    Number(Number),
    /// Anything else. Dates and times in ISO 8601, without a time of midnight and without UTC.
    Text(String),
}

/// A number as a double, and exactly if it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its value, rounded to a double.
    pub value: f64,
    /// Its exact value if it is whole.
    pub whole: Option<i128>,
    /// Digits after the point, as written.
    pub digits: u32,
}

impl Cell {
    /// A cell as the API writes it.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Number(Number {
                value: f64::from(u8::from(*truth)),
                whole: Some(i128::from(*truth)),
                digits: 0,
            }),
            Value::Number(number) => match Number::of_float(&number.to_string()) {
                Some(number) => Self::Number(number),
                None => Self::Text(number.to_string()),
            },
            Value::String(text) => match Number::of_text(text) {
                Some(number) => Self::Number(number),
                None => Self::Text(moment(text.trim_end())),
            },
            nested => Self::Text(nested.to_string()),
        }
    }

    /// Whether an answer's cell is the same as this one.
    pub fn accepts(&self, answer: &Self, rounding: Rounding) -> bool {
        match (self, answer) {
            (Self::Number(gold), Self::Number(answer)) => gold.accepts(*answer, rounding),
            (gold, answer) => gold == answer,
        }
    }
}

impl Number {
    /// Text that is written as a number, and not as a code such as `007` or `1e5`.
    fn of_text(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let is_digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_number =
            is_digits(whole) && is_digits(fraction) && (whole == "0" || !whole.starts_with('0'));
        is_number.then(|| Self::of_float(text))?
    }

    fn of_float(text: &str) -> Option<Self> {
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_whole = fraction.bytes().all(|byte| byte == b'0');
        let whole = if is_whole { whole.parse().ok() } else { None };
        let digits = match is_whole {
            // Small numbers are written as `1e-7`.
            _ if text.contains(['e', 'E']) => {
                if value.fract() == 0.0 {
                    0
                } else {
                    u32::from(u8::MAX)
                }
            }
            true => 0,
            false => u32::try_from(fraction.len()).unwrap_or(u32::MAX),
        };
        Some(Self {
            value,
            whole,
            digits,
        })
    }

    fn accepts(self, answer: Self, rounding: Rounding) -> bool {
        if let (Some(gold), Some(answer)) = (self.whole, answer.whole) {
            return gold == answer;
        }
        let difference = (self.value - answer.value).abs();
        let size = self.value.abs().max(answer.value.abs());
        let digits = match rounding {
            Rounding::None => None,
            Rounding::To(digits) => Some(digits),
            Rounding::AsWritten => Some(self.digits).filter(|digits| *digits > 0),
        };
        let is_rounded = |digits: u32| {
            let half = 0.5 * 10_f64.powi(-i32::try_from(digits).unwrap_or(0));
            answer.digits > digits && difference <= half * (1.0 + TOLERANCE)
        };
        difference <= TOLERANCE * size || digits.is_some_and(is_rounded)
    }
}

/// One form for moments and times of a day; other texts as they are.
fn moment(text: &str) -> String {
    if !begins_with_day(text) {
        return time(text).unwrap_or_else(|| text.to_owned());
    }
    let (day, rest) = text.split_at(10);
    let Some(rest) = rest.strip_prefix([' ', 'T']) else {
        return text.to_owned();
    };
    let rest = rest.strip_suffix('Z').unwrap_or(rest);
    let rest = ["+00:00", "+00"]
        .iter()
        .find_map(|zone| rest.strip_suffix(zone))
        .unwrap_or(rest);
    let zone_at = rest.find(['+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    match time(clock) {
        Some(clock) if clock == "00:00:00" && zone.is_empty() => day.to_owned(),
        Some(clock) => format!("{day}T{clock}{zone}"),
        None => text.to_owned(),
    }
}

/// Whether a cell is a date, which stands for midnight of that day too.
pub fn is_day(text: &str) -> bool {
    text.len() == 10 && begins_with_day(text)
}

fn begins_with_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// A time of a day with its seconds, and with a fraction only if it is not zero.
fn time(text: &str) -> Option<String> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = clock.split(':');
    let is_time = (2..=3).contains(&parts.clone().count())
        && parts.all(|part| part.len() == 2 && is_digits(part))
        && is_digits(fraction);
    let seconds = if clock.len() == 5 { ":00" } else { "" };
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    is_time.then(|| format!("{clock}{seconds}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(gold: Value, answer: Value) -> bool {
        Cell::of(&gold).accepts(&Cell::of(&answer), Rounding::None)
    }

    #[test]
    fn values_are_the_same_whatever_type_carries_them() {
        assert!(same(json!(12.5), json!("12.50")));
        assert!(same(json!("100"), json!(100.0)));
        assert!(same(json!(true), json!(1)));
        assert!(same(
            json!("2023-01-05 10:00:00"),
            json!("2023-01-05T10:00:00.000Z")
        ));
        assert!(same(json!("2023-01-05"), json!("2023-01-05T00:00:00")));
        assert!(same(json!("2023-01-05 00:00"), json!("2023-01-05")));
        assert!(same(json!("Ann  "), json!("Ann")));
        assert!(same(json!({"a": [1]}), json!({"a": [1]})));
        assert!(same(Value::Null, Value::Null));
    }

    #[test]
    fn zeros_of_a_fraction_of_a_second_do_not_count() {
        assert!(same(
            json!("2023-01-05 10:00"),
            json!("2023-01-05 10:00:00.000")
        ));
        assert!(same(
            json!("2023-01-05 10:00:00.5"),
            json!("2023-01-05T10:00:00.500000Z")
        ));
        assert!(same(
            json!("2023-01-05 10:00:00.000+02:00"),
            json!("2023-01-05T10:00:00+02:00")
        ));
        assert!(same(json!("10:00:00"), json!("10:00:00.000")));
        assert!(!same(json!("10:00:00"), json!("10:00:00.001")));
        assert!(!same(
            json!("2023-01-05 10:00:00"),
            json!("2023-01-05 10:00:00+02:00")
        ));
        assert!(!same(json!("2023-01-05 at ten"), json!("2023-01-05")));
    }

    #[test]
    fn other_values_differ() {
        assert!(!same(Value::Null, json!("")));
        assert!(!same(Value::Null, json!(0)));
        assert!(!same(json!("007"), json!(7)));
        assert!(!same(json!("ann"), json!("Ann")));
        assert!(!same(json!(1_000_000), json!(1_000_001)));
        assert!(!same(json!("9007199254740993"), json!("9007199254740992")));
        assert!(!same(json!("2023-01-05"), json!("2023-01-05T00:00:01")));
        assert!(!same(json!("NaN"), json!(0)));
    }

    #[test]
    fn fractions_are_the_same_within_a_tolerance() {
        assert!(same(json!(0.1 + 0.2), json!(0.3)));
        assert!(same(json!(4_864_900.75), json!(4_864_900.750_000_1)));
        assert!(!same(json!(1.5), json!(1.500_1)));
        assert!(!same(json!(0.0), json!(0.000_001)));
    }

    #[test]
    fn answer_is_rounded_only_to_a_rounded_gold() {
        use Rounding::{AsWritten, None, To};
        let accepts = |gold: Value, answer: Value, rounding| {
            Cell::of(&gold).accepts(&Cell::of(&answer), rounding)
        };
        assert!(accepts(json!(3.67), json!(3.666_666), To(2)));
        assert!(accepts(json!(3.67), json!(3.666_666), AsWritten));
        assert!(accepts(json!(63.2), json!(63.2218), AsWritten));
        assert!(!accepts(json!(63), json!(63.2218), AsWritten));
        assert!(accepts(json!(4.0), json!(3.7), To(0)));
        assert!(!accepts(json!(3.67), json!(3.666_666), None));
        assert!(!accepts(json!(3.67), json!(3.676), To(2)));
        assert!(!accepts(json!(4.5), json!(4.46), To(2)));
        assert!(!accepts(json!(3.666_666), json!(3.67), AsWritten));
        assert!(!accepts(json!(4), json!(3.7), AsWritten));
        assert!(!accepts(json!(4), json!(5), To(0)));
    }
}
