//! Whether a result is DuckDB's answer. The types of DuckDB say how close a cell must be:
//!
//! - Integers, texts and dates are equal, and so are decimals: sums and products of them are exact in every engine.
//! - SQLite has no decimals and computes with floats. Rounded to the digits of DuckDB they are equal, or they differ by
//!   one part in 10^15: a float has no more digits.
//! - Where DuckDB gives a double (averages and quotients), floats are equal to one part in 10^9. Other engines give
//!   decimals there, each with another number of digits: those are less than one unit of their own last digit away, and
//!   have at least four digits behind the point, unless [`Quotients`] say otherwise of an engine.
//!
//! No table has a `char` column, so no blank at the end of a text is left out.

use serde_json::Value;

/// Of the value, for floats.
const TOLERANCE: f64 = 1e-9;
/// The same, for floats in place of decimals.
const FLOAT_DIGITS: f64 = 1e-15;
/// The decimals that an engine gives for averages and quotients.
#[derive(Clone, Copy)]
pub struct Quotients {
    /// Digits behind the point, at least.
    pub least_scale: u32,
    /// How far they may be from the exact value, in units of their last digit: half a unit if the engine rounds, one if
    /// it cuts.
    pub units: f64,
}

/// Those of all engines but for one that a test knows better.
const USUAL: Quotients = Quotients {
    least_scale: 4,
    units: 1.0,
};

/// An error that shows the first row that differs; `types` are DuckDB's.
pub fn rows(found: &[Value], expected: &[Value], types: &[String]) -> Result<(), String> {
    rows_with(found, expected, types, USUAL)
}

/// As [`rows`], of an engine with other averages and quotients.
pub fn rows_with(
    found: &[Value],
    expected: &[Value],
    types: &[String],
    quotients: Quotients,
) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} rows for {}", found.len(), expected.len()));
    }
    let mut both = found.iter().zip(expected);
    match both.find(|(found, expected)| !row(found, expected, types, quotients)) {
        None => Ok(()),
        Some((found, expected)) => Err(format!("{found} for {expected}")),
    }
}

fn row(found: &Value, expected: &Value, types: &[String], quotients: Quotients) -> bool {
    let (Some(found), Some(expected)) = (found.as_array(), expected.as_array()) else {
        return false;
    };
    found.len() == types.len()
        && expected.len() == types.len()
        && found
            .iter()
            .zip(expected)
            .zip(types)
            .all(|((found, expected), data_type)| cell(found, expected, data_type, quotients))
}

fn cell(found: &Value, expected: &Value, data_type: &str, quotients: Quotients) -> bool {
    if found.is_null() || expected.is_null() {
        return found == expected;
    }
    match data_type.split('(').next() {
        Some("INTEGER" | "BIGINT" | "HUGEINT") => {
            Decimal::of(found).is_some_and(|found| Some(found) == Decimal::of(expected))
        }
        Some("DECIMAL") => decimal(found, expected).unwrap_or(false),
        Some("DOUBLE") => double(found, expected, quotients).unwrap_or(false),
        _ => found == expected,
    }
}

/// Only floats are numbers in JSON, and what SQLite stores as an integer.
fn decimal(found: &Value, expected: &Value) -> Option<bool> {
    let (number, exact) = (Decimal::of(found)?, Decimal::of(expected)?);
    if !found.is_number() {
        return Some(number == exact);
    }
    let (a, b) = (found.as_f64()?, expected.as_str()?.parse::<f64>().ok()?);
    Some(number.rounded(exact.scale)? == exact || (a - b).abs() <= FLOAT_DIGITS * b.abs())
}

fn double(found: &Value, expected: &Value, quotients: Quotients) -> Option<bool> {
    let expected = expected.as_f64()?;
    let close = TOLERANCE * expected.abs();
    Some(match found.as_f64() {
        Some(found) => (found - expected).abs() <= close,
        None => {
            let decimal = Decimal::of(found)?;
            let unit = 0.1_f64.powi(i32::try_from(decimal.scale).ok()?);
            let distance = (found.as_str()?.parse::<f64>().ok()? - expected).abs();
            decimal.scale >= quotients.least_scale && distance <= unit * quotients.units + close
        }
    })
}

/// An exact number: `units` of the last of `scale` digits behind the point.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    units: i128,
    scale: u32,
}

impl Decimal {
    fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::Number(number) => number.to_string(),
            other => other.as_str()?.to_owned(),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        Some(Self {
            units: format!("{whole}{fraction}").parse().ok()?,
            scale: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// With so many digits behind the point.
    fn rounded(self, scale: u32) -> Option<Self> {
        let units = match self.scale.checked_sub(scale) {
            None => self
                .units
                .checked_mul(10_i128.checked_pow(scale - self.scale)?)?,
            Some(0) => self.units,
            Some(more) => {
                let unit = 10_i128.checked_pow(more)?;
                let half = self.units.signum() * (unit / 2);
                self.units.checked_add(half)? / unit
            }
        };
        Some(Self { units, scale })
    }
}

/// `1.50` is `1.5`.
impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rounded(scale), other.rounded(scale));
        a.zip(b).is_some_and(|(a, b)| a.units == b.units)
    }
}

#[test]
fn answers_that_differ_in_their_last_digit_are_different() {
    use serde_json::json;
    for (found, expected, data_type, equal) in [
        (json!(10_001), json!(10_000), "BIGINT", false),
        (json!("64"), json!(64), "HUGEINT", true),
        (json!("64.5"), json!(64), "HUGEINT", false),
        (json!("1.5"), json!("1.50"), "DECIMAL(38,2)", true),
        (json!("1.51"), json!("1.50"), "DECIMAL(38,2)", false),
        (json!("1.501"), json!("1.50"), "DECIMAL(38,2)", false),
        (json!(1.500_000_1), json!("1.50"), "DECIMAL(38,2)", true),
        (json!(1.506), json!("1.50"), "DECIMAL(38,2)", false),
        (json!(-380), json!("-380.00"), "DECIMAL(38,2)", true),
        (
            json!(10_385_578_376.585_466),
            json!("10385578376.585467"),
            "DECIMAL(38,6)",
            true,
        ),
        (json!("0.0500"), json!(0.050_09), "DOUBLE", true),
        (json!("0.0500"), json!(0.050_11), "DOUBLE", false),
        (json!("15"), json!(15.2), "DOUBLE", false),
        (json!(15.2), json!(15.200_001), "DOUBLE", false),
        (json!(null), json!(0.0), "DOUBLE", false),
        (json!("MAIL "), json!("MAIL"), "VARCHAR", false),
        (json!("1995-01-01"), json!("1995-01-01"), "DATE", true),
    ] {
        let found_equal = cell(&found, &expected, data_type, USUAL);
        assert_eq!(found_equal, equal, "{found} for {expected} {data_type}");
    }
    let rounded = Quotients {
        least_scale: 2,
        units: 0.5,
    };
    for (found, equal) in [("0.05", true), ("0.06", false), ("0.1", false)] {
        let found_equal = cell(&json!(found), &json!(0.050_09), "DOUBLE", rounded);
        assert_eq!(found_equal, equal, "{found}, rounded to two digits");
    }
}
