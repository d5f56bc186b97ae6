//! What SQLite does not do as SQL Server: compare texts and moments, and add decimals.

use std::cmp::Ordering;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::types::SqlType;

/// Digits behind the point that a sum is computed with.
const SCALE: u32 = 12;

/// Gives a connection the collations and functions that tables and statements name.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    connection.create_collation("sql_text", texts)?;
    connection.create_collation("sql_moment", moments)?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function("exact_sum", 1, flags, ExactSum)
}

/// The clause for a column of a type.
pub(crate) fn collation(kind: &str) -> &'static str {
    let is_binary = kind.to_ascii_lowercase().contains("_bin");
    match SqlType::parse(kind) {
        Some(SqlType::Char(..) | SqlType::NChar(..)) if !is_binary => " COLLATE sql_text",
        Some(SqlType::DateTimeOffset(_)) => " COLLATE sql_moment",
        _ => "",
    }
}

/// As the collation of most servers: without case, and with blanks at the end of the shorter one.
fn texts(a: &str, b: &str) -> Ordering {
    let folded = |text: &str| text.trim_end_matches(' ').to_lowercase();
    folded(a).cmp(&folded(b))
}

/// Moments with an offset, by their time in UTC.
fn moments(a: &str, b: &str) -> Ordering {
    let utc = |text: &str| {
        let (local, zone) = text.rsplit_once(' ')?;
        let (sign, zone) = zone.split_at_checked(1)?;
        let (hours, minutes) = zone.split_once(':')?;
        let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
        let minutes = if sign == "-" { -minutes } else { minutes };
        let (days, ticks) = crate::types::moment(local)?;
        Some(i64::from(days) * crate::types::DAY_TICKS + ticks - minutes * 600_000_000)
    };
    utc(a).cmp(&utc(b))
}

/// A moment of a statement in the form that tables have here: a blank for the `T`, no zeros at the end of a fraction,
/// and a blank before the offset.
pub(crate) fn stored_moment(text: &str) -> String {
    let text = text.replace('T', " ");
    let offset = text.get(10..).and_then(|clock| clock.find(['+', '-']));
    let (local, offset) = text.split_at(offset.map_or(text.len(), |at| at + 10));
    let local = match local.contains('.') {
        true => local.trim_end_matches('0').trim_end_matches('.'),
        false => local,
    };
    match offset {
        "" => local.to_owned(),
        offset => format!("{} {offset}", local.trim_end()),
    }
}

/// `sum`, which keeps every digit of a decimal.
struct ExactSum;

/// A sum of no value yet, of integers, of decimals as a multiple of their last place, or of floats beyond those.
enum Sum {
    None,
    Whole(i128),
    Decimal(i128),
    Float(f64),
}

impl Aggregate<Sum, Value> for ExactSum {
    fn init(&self, _: &mut Context<'_>) -> Result<Sum> {
        Ok(Sum::None)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Sum) -> Result<()> {
        let text = match context.get_raw(0) {
            ValueRef::Null => return Ok(()),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Blob(_) => return Err(failed("Operand data type varbinary is invalid.")),
        };
        let unit = 10_i128.pow(SCALE);
        let whole = text.parse::<i128>().ok();
        *sum = match (&*sum, whole, decimal(&text)) {
            (Sum::None, Some(number), _) => Sum::Whole(number),
            (Sum::Whole(before), Some(number), _) => Sum::Whole(before + number),
            (Sum::None, _, Some(number)) => Sum::Decimal(number),
            (Sum::Whole(before), _, Some(number)) => Sum::Decimal(before * unit + number),
            (Sum::Decimal(before), _, Some(number)) => Sum::Decimal(before + number),
            (before, ..) => {
                let number: f64 = text.parse().map_err(|_| failed("This is no number."))?;
                Sum::Float(number + float(before))
            }
        };
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<Sum>) -> Result<Value> {
        Ok(match sum {
            None | Some(Sum::None) => Value::Null,
            Some(Sum::Whole(number)) => match i64::try_from(number) {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::Text(number.to_string()),
            },
            Some(Sum::Decimal(number)) => {
                let text = decimal_text(number);
                match text.parse::<f64>() {
                    // A number, so that it is compared as one, where it is the same number.
                    Ok(float) if float.to_string() == text => Value::Real(float),
                    _ => Value::Text(text),
                }
            }
            Some(Sum::Float(number)) => Value::Real(number),
        })
    }
}

fn float(sum: &Sum) -> f64 {
    match sum {
        Sum::None => 0.0,
        Sum::Whole(number) => *number as f64,
        Sum::Decimal(number) => *number as f64 / 10_f64.powi(SCALE as i32),
        Sum::Float(number) => *number,
    }
}

fn failed(message: &str) -> Error {
    Error::UserFunctionError(message.into())
}

/// A decimal as a multiple of its last place; none where it has more digits, or an exponent.
fn decimal(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let missing = (SCALE as usize).checked_sub(fraction.len())?;
    format!("{whole}{fraction}{}", "0".repeat(missing))
        .parse()
        .ok()
}

fn decimal_text(number: i128) -> String {
    let digits = format!("{:013}", number.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len() - SCALE as usize);
    let sign = if number < 0 { "-" } else { "" };
    let text = format!("{sign}{whole}.{fraction}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_without_case_and_without_blanks_at_the_end() {
        assert_eq!(texts("Tea ", "tEA"), Ordering::Equal);
        assert_eq!(texts(" tea", "tea"), Ordering::Less);
        assert_eq!(texts("té", "te"), Ordering::Greater);
    }

    #[test]
    fn moments_are_compared_in_utc() {
        let one = "2024-02-29 12:00:00 +02:00";
        assert_eq!(moments(one, "2024-02-29 10:00:00 +00:00"), Ordering::Equal);
        assert_eq!(moments(one, "2024-02-29 05:30:00 -05:00"), Ordering::Less);
        assert_eq!(
            stored_moment("2024-02-29T10:00:00.000000+00:00"),
            "2024-02-29 10:00:00 +00:00"
        );
    }

    #[test]
    fn sum_keeps_every_digit() {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let sum = |values: &str| {
            let sql = format!("SELECT exact_sum(column1) FROM (VALUES {values})");
            connection
                .query_row(&sql, [], |row| row.get::<_, Value>(0))
                .unwrap()
        };
        assert_eq!(sum("(0.1), (0.7), (NULL), (-0.05)"), Value::Real(0.75));
        assert_eq!(sum("(1), (2)"), Value::Integer(3));
        assert_eq!(sum("(NULL)"), Value::Null);
        let wide = "('123456789012345678.91'), (0.07)";
        assert_eq!(sum(wide), Value::Text("123456789012345678.98".into()));
    }
}
