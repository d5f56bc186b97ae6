//! What looks wrong about a result: empty where the catalog has values, sums that a join multiplies, divisions of
//! integers.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use super::{
    Subject,
    statement_scope::StatementScope,
    types::{self, Kind},
};
use mindhost_catalog::{ColumnDetail, TableDetail};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{self, Aggregate, Block, Comparison, Literal, Operand, Outline};

/// Warnings beside one result.
const MAX_WARNINGS: usize = 4;
/// Values that a warning lists.
const MAX_VALUES: usize = 3;

/// The warnings for a statement that ran. `total` is the number of its rows, `rows` the first of them, if they may be
/// read.
pub async fn warnings(subject: &Subject<'_>, total: u64, rows: Option<&Value>) -> Vec<String> {
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
    if !is_empty && !multiplies && !divides {
        return Vec::new();
    }
    let names: Vec<String> = known
        .used(&outline)
        .iter()
        .map(|table| table.in_full())
        .collect();
    let described = subject.described(&names).await;
    let mut found = Vec::new();
    if is_empty {
        empty(&known, &outline, &described, &mut found);
    }
    for block in &outline.blocks {
        fan_out(&known, &outline, block, &described, &mut found);
    }
    if divides {
        divisions(&known, &outline, &described, &mut found);
    }
    found.truncate(MAX_WARNINGS);
    found
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

/// Filters on values that the catalog does not have there, but elsewhere or in another spelling.
fn empty(
    known: &StatementScope<'_>,
    outline: &Outline,
    described: &[TableDetail],
    found: &mut Vec<String>,
) {
    for comparison in &outline.comparisons {
        let Literal::Text(text) = &comparison.literal else {
            continue;
        };
        if !["=", "IN"].contains(&comparison.operator.as_str()) {
            continue;
        }
        if let Some((table, column)) = types::detail(known, outline, &comparison.column, described)
        {
            found.extend(value(comparison, text, table, column, described));
        }
    }
    let is_filtered = outline.blocks.iter().any(|block| block.is_filtered);
    let joins = outline.blocks.iter().any(|block| block.tables.len() > 1);
    let with_rows = described
        .iter()
        .filter(|table| table.row_count.is_some_and(|rows| rows > 0));
    if found.is_empty() && joins && !is_filtered && with_rows.count() == described.len() {
        found.push("the result is empty although each of its tables has rows; check the conditions of the joins".to_owned());
    }
}

fn value(
    comparison: &Comparison,
    text: &str,
    table: &TableDetail,
    column: &ColumnDetail,
    described: &[TableDetail],
) -> Option<String> {
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
        .map(|value| format!("'{value}'"))
        .collect();
    let here = format!("nothing fits {}", comparison.text);
    if !alike.is_empty() {
        return Some(format!(
            "{here}; the catalog has {} in {}.{}",
            alike.join(", "),
            table.name,
            column.name
        ));
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
        Some(elsewhere) => Some(format!("{here}; the catalog has this value in {elsewhere}")),
        None if !values.is_empty() => {
            let some: Vec<String> = values
                .iter()
                .take(MAX_VALUES)
                .map(|value| format!("'{value}'"))
                .collect();
            Some(format!(
                "{here}; common values of {}.{} are {}",
                table.name,
                column.name,
                some.join(", ")
            ))
        }
        None => None,
    }
}

/// Aggregates over a table whose rows a join repeats.
fn fan_out(
    known: &StatementScope<'_>,
    outline: &Outline,
    block: &Block,
    described: &[TableDetail],
    found: &mut Vec<String>,
) {
    let index = |column: &outline::Column| {
        let owner = known.owner(column, outline)?.in_full();
        described
            .iter()
            .position(|table| format!("{}.{}", table.datasource, table.name) == owner)
    };
    let mut edges: Vec<(usize, usize, &str)> = Vec::new();
    for (left, right) in &block.equal {
        if let (Some(a), Some(b)) = (index(left), index(right))
            && a != b
        {
            edges.push((a, b, right.name.text.as_str()));
            edges.push((b, a, left.name.text.as_str()));
        }
    }
    for aggregate in &block.aggregates {
        let Some(of) = summed(aggregate).and_then(index) else {
            continue;
        };
        if let Some(by) = multiplier(of, &edges, described) {
            let text = format!(
                "{} over {} counts its rows once for each row of {}, which the join repeats; aggregate in a subquery \
                 before the join, or count DISTINCT keys",
                aggregate.function, described[of].name, described[by].name
            );
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
}

/// The column of an aggregate whose value changes with repeated rows.
fn summed(aggregate: &Aggregate) -> Option<&outline::Column> {
    let changes = ["sum", "avg", "count", "total"].contains(&aggregate.function.as_str());
    aggregate
        .columns
        .first()
        .filter(|_| changes && !aggregate.distinct)
}

/// A table that repeats the rows of `of`: one that is joined by columns that are not its primary key.
fn multiplier(
    of: usize,
    edges: &[(usize, usize, &str)],
    described: &[TableDetail],
) -> Option<usize> {
    let mut seen = HashSet::from([of]);
    let mut queue = VecDeque::from([of]);
    while let Some(table) = queue.pop_front() {
        for (_, to, _) in edges
            .iter()
            .filter(|(from, to, _)| *from == table && !seen.contains(to))
        {
            let columns: Vec<&str> = edges
                .iter()
                .filter(|(from, other, _)| *from == table && other == to)
                .map(|(.., column)| *column)
                .collect();
            let key = &described.get(*to)?.primary_key;
            // Without a known key nothing can be said.
            let is_one = key.is_empty()
                || key.iter().all(|one| {
                    columns
                        .iter()
                        .any(|column| column.eq_ignore_ascii_case(one))
                });
            if !is_one {
                return Some(*to);
            }
            queue.push_back(*to);
        }
        seen.extend(
            edges
                .iter()
                .filter(|(from, ..)| *from == table)
                .map(|(_, to, _)| *to),
        );
    }
    None
}

/// Whether the dialect drops the fraction of a division of integers.
fn truncates(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Mysql | Dialect::Clickhouse)
}

fn divisions(
    known: &StatementScope<'_>,
    outline: &Outline,
    described: &[TableDetail],
    found: &mut Vec<String>,
) {
    let is_integer = |operand: &Operand| match operand {
        Operand::Integer => true,
        Operand::Column(column) => types::detail(known, outline, column, described)
            .is_some_and(|(_, column)| types::kind(&column.data_type) == Kind::Integer),
        Operand::Other => false,
    };
    for division in &outline.divisions {
        if is_integer(&division.left) && is_integer(&division.right) {
            found.push(format!(
                "{} divides integers, which drops the fraction in this dialect; write 1.0 * in front of it",
                division.text
            ));
        }
    }
}
