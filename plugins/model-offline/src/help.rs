//! What this model is, and what it can be asked about a catalog.

use crate::catalog::{Catalog, Column, Kind, Table};
use crate::markdown::capital;
use crate::pick::{concept_column, date_column};
use crate::ranked;
use crate::words::split;

/// What this model is, with examples.
pub fn text(catalog: &Catalog) -> String {
    let examples: Vec<String> = examples(catalog)
        .iter()
        .map(|e| format!("- {}", capital(e)))
        .collect();
    format!(
        "I answer plain questions about the tables of this Mind by fixed rules, without a language model: counts, totals, \
         averages, smallest and largest values, rankings, groups, and filters on values and dates.\n\nFor example:\n{}",
        examples.join("\n")
    )
}

fn examples(catalog: &Catalog) -> Vec<String> {
    let plain = |name: &str| split(name).join(" ");
    let tables: Vec<&Table> = catalog.tables.iter().filter(|t| !t.is_view()).collect();
    let mut found = Vec::new();
    let weight = |t: &&&Table| t.foreign_keys.len() + 2 * usize::from(date_column(t).is_some());
    if let Some(table) = tables.iter().max_by_key(weight) {
        let rows = plain(&table.name);
        found.push(format!("how many {rows} are there?"));
        found.extend(date_column(table).map(|_| format!("number of {rows} per month")));
    }
    let few = |c: &&Column| {
        c.kind == Kind::Text && c.distinct_count.is_some_and(|n| (2..=12).contains(&n))
    };
    let mut groups = tables
        .iter()
        .filter_map(|t| Some((t, t.columns.iter().find(few)?)));
    found.extend(
        groups
            .next()
            .map(|(t, c)| format!("{} by {}", plain(&t.name), plain(&c.name))),
    );
    let money = |t: &Table| concept_column(t, "price").or_else(|| concept_column(t, "amount"));
    let mut priced = tables
        .iter()
        .filter_map(|t| Some((t, &t.columns[money(t)?])));
    let average = |(t, c): (&&Table, &Column)| {
        format!(
            "what is the average {} of {}?",
            plain(&c.name),
            plain(&t.name)
        )
    };
    found.extend(priced.next().map(average));
    // A name may be a word that questions have for something else.
    found.retain(|example| ranked::understand(catalog, example, &[], None).is_ok());
    found.push("what tables are there?".to_owned());
    found
}
