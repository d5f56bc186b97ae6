//! Looks an unknown word up among the values of the tables, so that rare values are found too.

use crate::catalog::{Catalog, ColumnRef, Kind, Table};
use crate::countries;
use crate::tools::Rows;
use crate::words::name_stems;

/// Values that a look-up gives at most. With as many, there may be others, and none of them is taken.
pub const MOST_FOUND: u64 = 60;
/// Columns that one statement searches at most, and rows of a table that it goes through.
const MOST_COLUMNS: usize = 16;
const MOST_ROWS: u64 = 2_000_000;

/// The statement that looks the words up, and the datasource that it goes to. `None` when there is nowhere to look.
pub fn statement(catalog: &Catalog, words: &[String]) -> Option<(String, String)> {
    let words: Vec<&String> = words.iter().filter(|w| w.chars().count() > 2).collect();
    let first = catalog.tables.first().filter(|_| !words.is_empty())?;
    let (datasource, dialect) = (first.datasource.clone(), first.dialect);
    let columns = columns(catalog, &datasource);
    let parts: Vec<String> = columns
        .iter()
        .map(|c| {
            let (table, column) = (catalog.table(c.table), catalog.column(*c));
            let stems = name_stems(&column.plain);
            let others = words.iter().flat_map(|w| countries::same_place(&stems, w));
            let texts: Vec<String> = words.iter().map(|w| w.as_str()).chain(others).map(|w| dialect.text(w)).collect();
            let list = texts.iter().map(|t| format!("LOWER({t})")).collect::<Vec<_>>().join(", ");
            let name = dialect.name(&column.name);
            let from = if table.schema.is_empty() { String::new() } else { format!("{}.", dialect.name(&table.schema)) };
            format!(
                "SELECT DISTINCT {} AS {}, {name} AS {} FROM {from}{} WHERE LOWER({name}) IN ({list})",
                dialect.text(&catalog.label(*c)),
                dialect.name("column"),
                dialect.name("value"),
                dialect.name(&table.name)
            )
        })
        .collect();
    (!parts.is_empty()).then(|| {
        let (top, limit) = dialect.limit(MOST_FOUND);
        let all = parts.join("\nUNION ALL\n");
        let statement = match top.is_empty() {
            true => format!("{all}{limit}"),
            false => format!("SELECT {top}* FROM (\n{all}\n) AS found"),
        };
        (datasource, statement)
    })
}

/// Text columns whose values are not all known: names first, then those with few different values.
fn columns(catalog: &Catalog, datasource: &str) -> Vec<ColumnRef> {
    let fits = |t: &Table| {
        t.datasource == datasource && !t.is_view() && t.row_count.is_none_or(|n| n <= MOST_ROWS)
    };
    let mut found: Vec<(u8, ColumnRef)> = Vec::new();
    for (table, source) in catalog.tables.iter().enumerate().filter(|(_, t)| fits(t)) {
        for (column, c) in source.columns.iter().enumerate() {
            let known = c
                .distinct_count
                .is_some_and(|n| n <= c.common_values.len() as u64);
            let stems = name_stems(&c.plain);
            let named = |words: &[&str]| stems.iter().any(|s| words.contains(&s.as_str()));
            if c.kind != Kind::Text
                || known
                || named(&["hash", "password", "token", "comment", "note", "body"])
            {
                continue;
            }
            let few = c.distinct_count.is_some_and(|n| n <= 2_000);
            let rank = match () {
                () if named(&["name", "title", "country", "city"]) => 0,
                () if few => 1,
                () if named(&["sku", "code", "email"]) => 2,
                () => continue,
            };
            found.push((rank, ColumnRef::new(table, column)));
        }
    }
    found.sort_unstable();
    found
        .into_iter()
        .take(MOST_COLUMNS)
        .map(|(_, c)| c)
        .collect()
}

/// The catalog with the values that were found.
pub fn learned(catalog: &Catalog, rows: &Rows) -> Catalog {
    let mut catalog = catalog.clone();
    let is_whole = (rows.rows.len() as u64) < MOST_FOUND;
    for row in rows.rows.iter().filter(|_| is_whole) {
        let [Some(label), Some(value)] = [0, 1].map(|i| row.get(i).and_then(|v| v.as_str())) else {
            continue;
        };
        for table in &mut catalog.tables {
            for column in &mut table.columns {
                if format!("{}.{}", table.name, column.name) == label
                    && !column.common_values.iter().any(|v| v == value)
                {
                    column.common_values.push(value.to_owned());
                }
            }
        }
    }
    catalog
}
