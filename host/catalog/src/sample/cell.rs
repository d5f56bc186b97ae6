//! One value of a column, borrowed from its batch, with its order and its text.

use std::{
    borrow::Cow,
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use mindhost_sql::text;

use super::place::place;

/// A value that is not NULL.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Decimal(&'a str),
    Text(&'a str),
    /// Counted, never shown.
    Bytes(&'a [u8]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(u64),
    /// Microseconds since 1970, no zone.
    Timestamp(i64),
    /// Microseconds since 1970 in UTC.
    TimestampUtc(i64),
    /// Counted, never shown.
    Json(&'a str),
    /// A date or time that the type of its column cannot hold, with its place if that is known.
    Beyond(&'a str, Option<i128>),
}

/// A value that outlives its batch. Long text is truncated to what statistics show.
#[derive(Clone, Debug)]
pub enum OwnedCell {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Decimal(Box<str>),
    Text(Box<str>),
    Date(i32),
    Time(u64),
    Timestamp(i64),
    TimestampUtc(i64),
    Beyond(Box<str>, Option<i128>),
}

/// Bytes to which text is truncated: more than statistics show.
const MAX_TEXT_BYTES: usize = 1_200;

impl<'a> Cell<'a> {
    /// Copies the value; `None` for values that are never shown.
    pub fn into_owned(self) -> Option<OwnedCell> {
        Some(match self {
            Cell::Boolean(value) => OwnedCell::Boolean(value),
            Cell::Integer(value) => OwnedCell::Integer(value),
            Cell::Float(value) => OwnedCell::Float(value),
            Cell::Decimal(text) => OwnedCell::Decimal(beginning(text).into()),
            Cell::Text(text) => OwnedCell::Text(beginning(text).into()),
            Cell::Date(days) => OwnedCell::Date(days),
            Cell::Time(micros) => OwnedCell::Time(micros),
            Cell::Timestamp(micros) => OwnedCell::Timestamp(micros),
            Cell::TimestampUtc(micros) => OwnedCell::TimestampUtc(micros),
            Cell::Beyond(text, place) => OwnedCell::Beyond(beginning(text).into(), place),
            Cell::Bytes(_) | Cell::Json(_) => return None,
        })
    }

    /// The text as in results; `None` for values that are never shown.
    pub fn text(self) -> Option<Cow<'a, str>> {
        Some(match self {
            Cell::Decimal(text) | Cell::Text(text) | Cell::Beyond(text, _) => Cow::Borrowed(text),
            Cell::Boolean(value) => value.to_string().into(),
            Cell::Integer(value) => value.to_string().into(),
            Cell::Float(value) => match text::special(value) {
                Some(name) => Cow::Borrowed(name),
                None => float(value).into(),
            },
            Cell::Date(days) => text::date(days).to_string().into(),
            Cell::Time(micros) => text::time(micros).to_string().into(),
            Cell::Timestamp(micros) => text::timestamp(micros, false).to_string().into(),
            Cell::TimestampUtc(micros) => text::timestamp(micros, true).to_string().into(),
            Cell::Bytes(_) | Cell::Json(_) => return None,
        })
    }

    /// Its approximate size in bytes.
    pub fn size(self) -> usize {
        match self {
            Cell::Decimal(text) | Cell::Text(text) | Cell::Json(text) | Cell::Beyond(text, _) => {
                text.len()
            }
            Cell::Bytes(bytes) => bytes.len(),
            _ => 8,
        }
    }

    /// Orders values: numbers, times, text. A column without a type may hold all of them. Among numbers, `false` is 0 and
    /// `true` is 1, as in MySQL.
    pub fn compare(self, other: Cell<'_>) -> Ordering {
        use Cell::{
            Beyond, Boolean, Date, Decimal, Float, Integer, Text, Time, Timestamp, TimestampUtc,
        };
        match (self, other) {
            (Boolean(a), Boolean(b)) => a.cmp(&b),
            (Integer(a), Integer(b)) => a.cmp(&b),
            (Decimal(a), Decimal(b)) => compare_decimals(a, b),
            (Integer(a), Decimal(b)) => compare_decimals(&a.to_string(), b),
            (Decimal(a), Integer(b)) => compare_decimals(a, &b.to_string()),
            (Float(a), Float(b)) => a.total_cmp(&b),
            (Date(a), Date(b)) => a.cmp(&b),
            (Time(a), Time(b)) => a.cmp(&b),
            (Timestamp(a), Timestamp(b)) | (TimestampUtc(a), TimestampUtc(b)) => a.cmp(&b),
            (Text(a), Text(b)) => beginning(a).cmp(beginning(b)),
            (a @ Beyond(..), b) | (a, b @ Beyond(..)) => a.place().cmp(&b.place()),
            (a, b) => match a.rank().cmp(&b.rank()) {
                Ordering::Equal => a.number().total_cmp(&b.number()),
                different => different,
            },
        }
    }

    /// Where a date or time stands among the values of its column.
    fn place(self) -> Option<i128> {
        match self {
            Cell::Beyond(_, known) => known,
            Cell::Date(_) | Cell::Time(_) | Cell::Timestamp(_) | Cell::TimestampUtc(_) => {
                place(&self.text()?)
            }
            _ => None,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Cell::Boolean(_) | Cell::Integer(_) | Cell::Float(_) | Cell::Decimal(_) => 1,
            Cell::Time(_) => 2,
            Cell::Date(_) => 3,
            Cell::Timestamp(_) => 4,
            Cell::TimestampUtc(_) => 5,
            Cell::Text(_) => 6,
            Cell::Json(_) => 7,
            Cell::Bytes(_) => 8,
            Cell::Beyond(..) => 9,
        }
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "decides only between numbers of different kinds"
    )]
    fn number(self) -> f64 {
        match self {
            Cell::Boolean(value) => f64::from(u8::from(value)),
            Cell::Integer(value) => value as f64,
            Cell::Float(value) => value,
            Cell::Decimal(text) => text.parse().unwrap_or(f64::NAN),
            _ => 0.0,
        }
    }
}

impl Hash for Cell<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Cell::Boolean(value) => value.hash(state),
            Cell::Integer(value) => value.hash(state),
            // Engines treat 0.0 and -0.0 as equal.
            Cell::Float(value) => (if *value == 0.0 { 0 } else { value.to_bits() }).hash(state),
            Cell::Decimal(text) | Cell::Text(text) | Cell::Json(text) | Cell::Beyond(text, _) => {
                text.hash(state);
            }
            Cell::Bytes(bytes) => bytes.hash(state),
            Cell::Date(days) => days.hash(state),
            Cell::Time(micros) => micros.hash(state),
            Cell::Timestamp(micros) | Cell::TimestampUtc(micros) => micros.hash(state),
        }
    }
}

impl OwnedCell {
    /// Borrows the value.
    pub fn cell(&self) -> Cell<'_> {
        match self {
            OwnedCell::Boolean(value) => Cell::Boolean(*value),
            OwnedCell::Integer(value) => Cell::Integer(*value),
            OwnedCell::Float(value) => Cell::Float(*value),
            OwnedCell::Decimal(text) => Cell::Decimal(text),
            OwnedCell::Text(text) => Cell::Text(text),
            OwnedCell::Date(days) => Cell::Date(*days),
            OwnedCell::Time(micros) => Cell::Time(*micros),
            OwnedCell::Timestamp(micros) => Cell::Timestamp(*micros),
            OwnedCell::TimestampUtc(micros) => Cell::TimestampUtc(*micros),
            OwnedCell::Beyond(text, place) => Cell::Beyond(text, *place),
        }
    }
}

/// A number as in results, where one that is very large or small has an exponent: its digits alone could be hundreds.
fn float(value: f64) -> String {
    let mut text = serde_json::Value::from(value).to_string();
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// Truncates text at a character boundary.
pub fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

/// Compares exactly, with any number of digits. `-Infinity` comes before all numbers, `Infinity` and then `NaN` after
/// them.
fn compare_decimals(a: &str, b: &str) -> Ordering {
    match (DecimalParts::of(a), DecimalParts::of(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        (Some(_), None) if b == "-Infinity" => Ordering::Greater,
        (None, Some(_)) if a == "-Infinity" => Ordering::Less,
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        // The three names are in the order of their bytes.
        (None, None) => a.cmp(b),
    }
}

/// The parts of a decimal number, without leading and trailing zeros.
struct DecimalParts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> DecimalParts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if digits.is_empty() || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let (whole, fraction) = (
            whole.trim_start_matches('0'),
            fraction.trim_end_matches('0'),
        );
        let is_zero = whole.is_empty() && fraction.is_empty();
        Some(Self {
            negative: negative && !is_zero,
            whole,
            fraction,
        })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let size = || {
            let by_length = self.whole.len().cmp(&other.whole.len());
            let by_digits = by_length.then_with(|| self.whole.cmp(other.whole));
            by_digits.then_with(|| self.fraction.cmp(other.fraction))
        };
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(),
            (true, true) => size().reverse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_text(cell: Cell<'_>, expected: &str) {
        assert_eq!(cell.text().as_deref(), Some(expected));
    }

    #[test]
    fn value_has_the_text_of_results() {
        check_text(Cell::Boolean(true), "true");
        check_text(Cell::Float(1.5), "1.5");
        check_text(Cell::Float(20.0), "20");
        for value in [1e300, 1e-300, -2.5e-9, f64::MAX] {
            let written = serde_json::Value::from(value).to_string();
            check_text(Cell::Float(value), &written);
            assert_eq!(written.parse(), Ok(value));
            assert!(written.len() < 25, "{written}");
        }
        check_text(Cell::Float(f64::NEG_INFINITY), "-Infinity");
        check_text(Cell::Date(-1), "1969-12-31");
        check_text(Cell::Time(3_723_050_000), "01:02:03.050000");
        check_text(Cell::Timestamp(1_000_000), "1970-01-01T00:00:01");
        check_text(Cell::TimestampUtc(1_500_000), "1970-01-01T00:00:01.500000Z");
    }

    #[test]
    fn time_far_from_today_has_a_text() {
        check_text(Cell::Date(i32::MAX), "+5881580-07-11");
        check_text(Cell::Timestamp(i64::MIN), "-290308-12-21T19:59:05.224192");
    }

    #[test]
    fn decimals_compare_by_value() {
        let ordered = [
            "-Infinity",
            "-10",
            "-9.5",
            "-0.001",
            "0.00",
            "0.5",
            "9",
            "10.0",
            "10.01",
            "Infinity",
            "NaN",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(
                    Cell::Decimal(a).compare(Cell::Decimal(b)),
                    i.cmp(&j),
                    "{a} {b}"
                );
            }
        }
        assert_eq!(compare_decimals("-0", "0.0"), Ordering::Equal);
    }

    #[test]
    fn date_beyond_its_type_compares_with_dates() {
        let beyond = |text| Cell::Beyond(text, place(text));
        let leap_day = Cell::Date(19_782);
        assert_eq!(leap_day.compare(beyond("2024-02-00")), Ordering::Greater);
        assert_eq!(beyond("-infinity").compare(leap_day), Ordering::Less);
        assert_eq!(
            beyond("0000-00-00").compare(beyond("infinity")),
            Ordering::Less
        );
        let midnight = Cell::Time(0);
        assert_eq!(beyond("-838:59:59").compare(midnight), Ordering::Less);
    }

    #[test]
    fn numbers_sort_before_text() {
        assert_eq!(Cell::Integer(9).compare(Cell::Text("10")), Ordering::Less);
        assert_eq!(
            Cell::Integer(2).compare(Cell::Float(1.5)),
            Ordering::Greater
        );
    }

    #[test]
    fn truth_values_are_numbers_among_numbers() {
        let ordered = [
            Cell::Integer(-128),
            Cell::Boolean(false),
            Cell::Boolean(true),
            Cell::Integer(2),
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(a.compare(*b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn decimals_compare_as_integers_do(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(compare_decimals(&a.to_string(), &b.to_string()), a.cmp(&b));
        }

        #[test]
        fn any_text_compares_with_itself_as_equal(text in ".*") {
            prop_assert_eq!(compare_decimals(&text, &text), Ordering::Equal);
        }
    }
}
