//! Comparisons with a number or a date that lies outside of what the catalog has in the column.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use super::{
    types::{self, Kind},
    warnings::Warning,
};
use mindhost_catalog::{ColumnDetail, TableDetail};
use mindhost_sql::outline::{Comparison, Literal};

/// Where the values of the column begin or end, if no value between them can fit the comparison.
pub fn outside(
    comparison: &Comparison,
    table: &TableDetail,
    column: &ColumnDetail,
) -> Option<Warning> {
    let (min, max) = (column.min.as_deref()?, column.max.as_deref()?);
    let (Literal::Text(constant) | Literal::Number(constant)) = &comparison.literal;
    let (what, to_min, to_max) = match types::kind(&column.data_type) {
        Kind::Integer | Kind::Number => {
            let order = |bound: &str| number(constant)?.partial_cmp(&number(bound)?);
            ("numbers", order(min), order(max))
        }
        // SQLite keeps dates as texts.
        Kind::Time | Kind::Text | Kind::Other => {
            let order = |bound: &str| order_of_dates(constant, bound);
            ("dates", order(min), order(max))
        }
    };
    let (is_below, is_above) = match comparison.operator.as_str() {
        "=" | "IN" => (to_min == Some(Less), to_max == Some(Greater)),
        "<" => (matches!(to_min, Some(Less | Equal)), false),
        "<=" => (to_min == Some(Less), false),
        ">" => (false, matches!(to_max, Some(Greater | Equal))),
        ">=" => (false, to_max == Some(Greater)),
        _ => (false, false),
    };
    let (bound, verb) = match (is_below, is_above) {
        (true, _) => (min, "begin"),
        (_, true) => (max, "end"),
        _ => return None,
    };
    let text = format!(
        "nothing fits {}; in the catalog the {what} of {}.{} {verb} at {bound}",
        comparison.text, table.name, column.name
    );
    Some(Warning::with_values(text, table, vec![bound.to_owned()]))
}

/// Whether the catalog has dates in a column, of whatever type that is.
pub fn are_dates(column: &ColumnDetail) -> bool {
    let bounds = [&column.min, &column.max];
    let is_date = |bound: &Option<String>| bound.as_deref().and_then(date).is_some();
    bounds.into_iter().all(is_date)
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// The order of two dates in ISO 8601, with or without a time; `None` where one is the beginning of the other.
fn order_of_dates(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (date(one)?, date(other)?);
    let length = one.len().min(other.len());
    match one.get(..length)?.cmp(other.get(..length)?) {
        Equal if one.len() != other.len() => None,
        order => Some(order),
    }
}

/// A date or a month with a space before its time and without its zone, if that is UTC.
fn date(text: &str) -> Option<String> {
    let text = text.trim();
    let is_date = text.len() >= 7
        && text
            .bytes()
            .take(10)
            .enumerate()
            .all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    let plain = text.replacen('T', " ", 1);
    let zone = ["Z", "+00:00", "+00"].iter();
    let plain = zone.fold(plain.as_str(), |plain, zone| {
        plain.strip_suffix(zone).unwrap_or(plain)
    });
    is_date.then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(data_type: &str, range: (&str, &str), operator: &str, constant: &str) -> String {
        let sql = format!("SELECT 1 FROM t WHERE a {operator} {constant}");
        let outline = mindhost_sql::outline::outline(&sql, mindhost_plugin_api::Dialect::Sqlite);
        let column = ColumnDetail {
            name: "a".to_owned(),
            data_type: data_type.to_owned(),
            nullable: true,
            description: None,
            common_values: None,
            min: Some(range.0.to_owned()),
            max: Some(range.1.to_owned()),
            distinct_count: None,
            distinct_below: None,
            null_percentage: Some(0.0),
        };
        let table = TableDetail {
            datasource: "shop".to_owned(),
            name: "main.t".to_owned(),
            kind: "TABLE".to_owned(),
            description: None,
            row_count: Some(3),
            rows_below: None,
            columns: Vec::new(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
        };
        let outline = outline.unwrap();
        let mut found = outline.comparisons.iter();
        found
            .find_map(|one| outside(one, &table, &column))
            .map(|warning| warning.text)
            .unwrap_or_default()
    }

    #[test]
    fn constant_outside_of_the_catalog_is_told_with_the_nearest_bound() {
        const DATES: (&str, &str) = ("2023-01-02 08:00:00", "2024-05-01 17:30:00");
        for (kind, range, operator, constant, end) in [
            (
                "timestamp",
                DATES,
                ">=",
                "'2025-01-01'",
                "end at 2024-05-01 17:30:00",
            ),
            (
                "TEXT",
                DATES,
                ">",
                "'2024-06'",
                "end at 2024-05-01 17:30:00",
            ),
            (
                "date",
                DATES,
                "=",
                "'2022-12-31'",
                "begin at 2023-01-02 08:00:00",
            ),
            (
                "TEXT",
                DATES,
                "BETWEEN",
                "'2025-01-01' AND '2025-12-31'",
                "end at 2024-05-01",
            ),
            (
                "timestamptz",
                ("2023-01-02T08:00:00Z", "2024-05-01T17:30:00Z"),
                "<",
                "'2023-01-02 08:00:00'",
                "begin at",
            ),
            (
                "INTEGER",
                ("1", "100"),
                ">",
                "100",
                "numbers of main.t.a end at 100",
            ),
            ("decimal(10,2)", ("-5", "99.5"), "=", "-5.01", "begin at -5"),
            ("INTEGER", ("1", "9"), "IN", "(10, 5)", "end at 9"),
        ] {
            let told = told(kind, range, operator, constant);
            assert!(told.contains(end), "{operator} {constant}: {told:?}");
        }
    }

    #[test]
    fn constant_that_may_fit_is_no_warning() {
        const DATES: (&str, &str) = ("2023-01-02 08:00:00", "2024-05-01 17:30:00");
        for (kind, range, operator, constant) in [
            ("timestamp", DATES, "<", "'2025-01-01'"),
            ("timestamp", DATES, ">=", "'2024-05-01'"),
            ("timestamp", DATES, "=", "'2024-05-01'"),
            ("timestamp", DATES, "<>", "'2030-01-01'"),
            (
                "timestamp",
                DATES,
                "NOT BETWEEN",
                "'2030-01-01' AND '2031-01-01'",
            ),
            ("TEXT", ("apple", "pear"), "=", "'zebra'"),
            ("TEXT", ("10115", "20095"), "=", "'9'"),
            ("INTEGER", ("1", "100"), ">=", "100"),
            ("INTEGER", ("1", "100"), "<", "1000"),
            ("INTEGER", ("", ""), "=", "7"),
        ] {
            let told = told(kind, range, operator, constant);
            assert_eq!(told, "", "{operator} {constant}");
        }
    }
}
