//! What the API shows for the values that Trino writes, as the README has it. Nothing here is the connector's, so that
//! a mistake is not made twice: types are read from the protocol's signatures, not from their texts.

use chrono::{NaiveDateTime, TimeDelta};
use serde_json::Value;

use crate::trino::Rows;

/// Integers beyond this are texts.
const EXACT: u64 = 1 << 53;
/// The zones of the statements, with the hours that they are before UTC in winter.
const ZONES: [(&str, i64); 3] = [("UTC", 0), ("Europe/Berlin", 1), ("Asia/Tokyo", 9)];

/// An error that shows the first row that differs from Trino's.
pub fn in_order(found: &[Value], trinos: &Rows) -> Result<(), String> {
    if found.len() != trinos.rows.len() {
        return Err(format!("{} rows for {}", found.len(), trinos.rows.len()));
    }
    let mut both = found.iter().zip(&trinos.rows);
    match both.find(|(found, own)| !row(found, own, &trinos.types)) {
        None => Ok(()),
        Some((found, own)) => Err(format!("{found} for {own}")),
    }
}

/// As [`in_order`], of rows that may come in any order.
pub fn in_any_order(found: &[Value], trinos: &Rows) -> Result<(), String> {
    if found.len() != trinos.rows.len() {
        return Err(format!("{} rows for {}", found.len(), trinos.rows.len()));
    }
    let mut found: Vec<&Value> = found.iter().collect();
    for own in &trinos.rows {
        let same = found
            .iter()
            .position(|found| row(found, own, &trinos.types));
        let same = same.ok_or_else(|| format!("no {own} in {found:?}"))?;
        found.swap_remove(same);
    }
    Ok(())
}

fn row(found: &Value, own: &Value, types: &[Value]) -> bool {
    each(found, own, |(found, own), nth| {
        cell(found, own, &types[nth])
    })
}

/// Whether two arrays are as long, and the same at each place.
fn each(found: &Value, own: &Value, is_same: impl Fn((&Value, &Value), usize) -> bool) -> bool {
    let (Some(found), Some(own)) = (found.as_array(), own.as_array()) else {
        return false;
    };
    let mut both = found.iter().zip(own).enumerate();
    found.len() == own.len() && both.all(|(nth, both)| is_same(both, nth))
}

/// Whether a value is shown as one of a type.
fn cell(found: &Value, own: &Value, of: &Value) -> bool {
    if own.is_null() {
        return found.is_null();
    }
    match of["rawType"].as_str().unwrap() {
        "tinyint" | "smallint" | "integer" | "bigint" => {
            let number = own.as_i64().unwrap();
            match number.unsigned_abs() <= EXACT {
                true => found.as_i64() == Some(number),
                false => *found == number.to_string(),
            }
        }
        "real" | "double" if own.is_number() => found.is_number() && found.as_f64() == own.as_f64(),
        "time" => {
            let written = own.as_str().unwrap();
            let (clock, fraction) = written.split_once('.').unwrap_or((written, ""));
            *found == format!("{clock}{}", microseconds(fraction))
        }
        "timestamp" => *found == moment(own.as_str().unwrap(), 0),
        "timestamp with time zone" => {
            let (local, zone) = own.as_str().unwrap().rsplit_once(' ').unwrap();
            let known = ZONES.iter().find(|(name, _)| *name == zone);
            let (_, hours) =
                known.unwrap_or_else(|| panic!("a zone that is not known here: {own}"));
            *found == format!("{}Z", moment(local, *hours))
        }
        "json" => serde_json::from_str::<Value>(own.as_str().unwrap()).unwrap() == *found,
        "array" => each(found, own, |(found, own), _| {
            cell(found, own, parameter(of, 0))
        }),
        "map" => {
            let (Some(found), Some(own)) = (found.as_object(), own.as_object()) else {
                return false;
            };
            let has = |(key, own): (&String, &Value)| {
                let found = found.get(key);
                found.is_some_and(|found| cell(found, own, parameter(of, 1)))
            };
            found.len() == own.len() && own.iter().all(has)
        }
        "row" => {
            let fields = |nth: usize| &parameter(of, nth)["typeSignature"];
            each(found, own, |(found, own), nth| {
                cell(found, own, fields(nth))
            })
        }
        "boolean"
        | "real"
        | "double"
        | "decimal"
        | "varchar"
        | "char"
        | "varbinary"
        | "date"
        | "uuid"
        | "interval day to second"
        | "interval year to month"
        | "unknown" => found == own,
        other => panic!("no expectation for {other}"),
    }
}

fn parameter(of: &Value, nth: usize) -> &Value {
    &of["arguments"][nth]["value"]
}

fn moment(text: &str, hours: i64) -> String {
    let (local, fraction) = text.split_once('.').unwrap_or((text, ""));
    let local = NaiveDateTime::parse_from_str(local, "%Y-%m-%d %H:%M:%S").unwrap();
    let utc = local - TimeDelta::hours(hours);
    format!(
        "{}{}",
        utc.format("%Y-%m-%dT%H:%M:%S"),
        microseconds(fraction)
    )
}

/// Six digits behind a point, or nothing for zero.
fn microseconds(fraction: &str) -> String {
    let digits: String = format!("{fraction:0<6}").chars().take(6).collect();
    match digits.as_str() {
        "000000" => String::new(),
        digits => format!(".{digits}"),
    }
}
