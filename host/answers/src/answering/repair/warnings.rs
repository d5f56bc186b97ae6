//! What looks wrong about a result: empty where the catalog has values, sums and counts that a join multiplies,
//! divisions of integers, dates beside years, and words that another engine reads otherwise.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    MAX_BYTES, Subject, cartesian,
    fan_out::Joined,
    mysql_words, ranges,
    statement_scope::{KnownTable, StatementScope},
    types::{self, Kind},
    year_constants,
};
use mindhost_catalog::{ColumnDetail, TableDetail};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{self, Comparison, Literal, Operand, Outline, Word};

/// Warnings beside one result.
const MAX_WARNINGS: usize = 4;
/// Values that a warning lists.
const MAX_VALUES: usize = 3;
/// The bound on the rows of a table that has fewer than ten, where the number may not be told.
const LEAST_BOUND: u64 = 10;

/// What looks wrong, with the values of the catalog that the text has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warning {
    /// For the model.
    pub text: String,
    /// The datasource of the values; empty if there are none.
    pub datasource: String,
    /// As the catalog has them.
    pub values: Vec<String>,
}

impl Warning {
    /// A text without values of the catalog.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A text with values of a table.
    pub fn with_values(text: String, table: &TableDetail, values: Vec<String>) -> Self {
        Self {
            text,
            datasource: table.datasource.clone(),
            values,
        }
    }
}

/// The warnings for a statement that ran. `total` is the number of its rows, `rows` the first of them, if they may be
/// read.
pub async fn warnings(subject: &Subject<'_>, total: u64, rows: Option<&Value>) -> Vec<Warning> {
    if subject.sql.len() > MAX_BYTES {
        return Vec::new();
    }
    let dialect = subject.dialect();
    let Some(outline) = outline::outline(subject.sql, dialect) else {
        return Vec::new();
    };
    let known = StatementScope::new(subject.access, dialect);
    let is_empty = total == 0 || rows.is_some_and(is_nothing);
    let multiplies = outline
        .blocks
        .iter()
        .any(|block| block.tables.len() > 1 && !block.aggregates.is_empty());
    let divides = truncates(dialect) && !outline.divisions.is_empty();
    let has_years = outline
        .comparisons
        .iter()
        .any(|one| types::years(one).is_some());
    let used = known.used(&outline);
    let words = outline::words(subject.sql, dialect);
    let mut found = match dialect {
        Dialect::Mysql => mysql_words::warnings(&words, &used),
        _ => Vec::new(),
    };
    if !is_empty && !multiplies && !divides && !has_years {
        return found;
    }
    let names: Vec<String> = used.iter().map(KnownTable::in_full).collect();
    let described = subject.described(&names).await;
    if has_years {
        years(&known, &outline, &used, &described, &mut found);
    }
    if is_empty {
        empty(&known, &outline, &used, &described, &mut found);
    }
    fan_out(&known, &outline, &used, (&words, &described), &mut found);
    if divides {
        divisions(&known, &outline, &used, &described, &mut found);
    }
    found.truncate(MAX_WARNINGS);
    found
}

/// Dates that are compared with years.
fn years(
    known: &StatementScope<'_>,
    outline: &Outline,
    used: &[KnownTable<'_>],
    described: &[TableDetail],
    found: &mut Vec<Warning>,
) {
    for comparison in &outline.comparisons {
        let column = types::detail(known, outline, used, &comparison.column, described);
        let warning =
            column.and_then(|column| year_constants::warning(comparison, column, known.dialect));
        // BETWEEN and IN are several comparisons.
        found.extend(warning.filter(|warning| !found.contains(warning)));
    }
}

/// Whether a result is one row of zeros and nulls, as aggregates over no rows give.
fn is_nothing(rows: &Value) -> bool {
    let nothing = |cell: &Value| cell.is_null() || cell == 0 || *cell == "0";
    match rows.as_array().map(Vec::as_slice) {
        Some([row]) => row
            .as_array()
            .is_some_and(|row| !row.is_empty() && row.iter().all(nothing)),
        _ => false,
    }
}

/// Filters on values that the catalog does not have there, but elsewhere or in another spelling, and on numbers and
/// dates outside of what it has there.
fn empty(
    known: &StatementScope<'_>,
    outline: &Outline,
    used: &[KnownTable<'_>],
    described: &[TableDetail],
    found: &mut Vec<Warning>,
) {
    for comparison in &outline.comparisons {
        if found.len() >= MAX_WARNINGS {
            return;
        }
        let column = &comparison.column;
        if let Some((table, column)) = types::detail(known, outline, used, column, described) {
            let warning = ranges::outside(comparison, table, column)
                .or_else(|| value(comparison, table, column, described));
            found.extend(warning);
        }
    }
    let is_filtered = outline.blocks.iter().any(|block| block.is_filtered);
    let joins = outline.blocks.iter().any(|block| block.tables.len() > 1);
    if found.is_empty() && joins && !is_filtered && described.iter().all(has_rows) {
        found.push(Warning::plain(
            "the result is empty although each of its tables has rows; check the conditions of the joins",
        ));
    }
}

/// Whether the catalog says that a table has rows. Where the number may not be told, a table with few of them does not
/// count: it may have none.
fn has_rows(table: &TableDetail) -> bool {
    let is_counted = table.row_count.is_some_and(|rows| rows > 0);
    is_counted || table.rows_below.is_some_and(|below| below > LEAST_BOUND)
}

fn value(
    comparison: &Comparison,
    table: &TableDetail,
    column: &ColumnDetail,
    described: &[TableDetail],
) -> Option<Warning> {
    let text = match &comparison.literal {
        Literal::Text(text) if ["=", "IN"].contains(&comparison.operator.as_str()) => text,
        _ => return None,
    };
    let values = column.common_values.as_deref()?;
    if values.iter().any(|value| value == text) {
        return None;
    }
    let alike = |value: &&String| {
        value.trim().eq_ignore_ascii_case(text.trim())
            || value.to_lowercase() == text.to_lowercase()
            || (text.chars().count() > 3
                && strsim::normalized_damerau_levenshtein(
                    &value.to_lowercase(),
                    &text.to_lowercase(),
                ) > 0.7)
    };
    let alike: Vec<String> = values
        .iter()
        .filter(alike)
        .take(MAX_VALUES)
        .cloned()
        .collect();
    let here = format!("nothing fits {}", comparison.text);
    if !alike.is_empty() {
        let listed = quoted(&alike);
        let told = format!(
            "{here}; the catalog has {listed} in {}.{}",
            table.name, column.name
        );
        return Some(Warning::with_values(told, table, alike));
    }
    let has = |one: &ColumnDetail| {
        let values = one.common_values.iter().flatten();
        values
            .into_iter()
            .any(|value| value.to_lowercase() == text.to_lowercase())
    };
    let elsewhere = described.iter().find_map(|other| {
        let found = other.columns.iter().find(|one| has(one))?;
        Some(format!("{}.{}", other.name, found.name))
    });
    match elsewhere {
        Some(elsewhere) => Some(Warning::plain(format!(
            "{here}; the catalog has this value in {elsewhere}"
        ))),
        None if !values.is_empty() => {
            let some: Vec<String> = values.iter().take(MAX_VALUES).cloned().collect();
            let told = format!(
                "{here}; common values of {}.{} are {}",
                table.name,
                column.name,
                quoted(&some)
            );
            Some(Warning::with_values(told, table, some))
        }
        None => None,
    }
}

fn quoted(values: &[String]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("'{value}'")).collect();
    quoted.join(", ")
}

/// Aggregates over rows that a join repeats, in each SELECT.
fn fan_out(
    known: &StatementScope<'_>,
    outline: &Outline,
    used: &[KnownTable<'_>],
    (words, described): (&[Word], &[TableDetail]),
    found: &mut Vec<Warning>,
) {
    let place = |table: KnownTable<'_>| described.iter().position(|one| table.is_in(one));
    let owner = |column: &outline::Column| known.owner(column, outline, used).and_then(place);
    let constants = outline.comparisons.iter().filter(|one| one.operator == "=");
    let narrowed: HashSet<usize> = constants.filter_map(|one| owner(&one.column)).collect();
    for block in &outline.blocks {
        let tables = block.tables.iter().filter_map(|table| known.find(table));
        let joined = Joined {
            block,
            described,
            tables: tables.filter_map(place).collect(),
            narrowed: &narrowed,
            owner,
        };
        let cartesian = cartesian::warning(known, outline, block, words, described);
        for warning in joined.warnings().into_iter().chain(cartesian) {
            if !found.contains(&warning) {
                found.push(warning);
            }
        }
    }
}

/// Whether the dialect drops the fraction of a division of integers.
fn truncates(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Mysql | Dialect::Clickhouse)
}

fn divisions(
    known: &StatementScope<'_>,
    outline: &Outline,
    used: &[KnownTable<'_>],
    described: &[TableDetail],
    found: &mut Vec<Warning>,
) {
    let is_integer = |operand: &Operand| match operand {
        Operand::Integer => true,
        Operand::Column(column) => types::detail(known, outline, used, column, described)
            .is_some_and(|(_, column)| types::kind(&column.data_type) == Kind::Integer),
        Operand::Other => false,
    };
    for division in &outline.divisions {
        if is_integer(&division.left) && is_integer(&division.right) {
            found.push(Warning::plain(format!(
                "{} divides integers, which drops the fraction in this dialect; write 1.0 * in front of it",
                division.text
            )));
        }
    }
}
