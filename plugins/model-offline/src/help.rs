//! What this model is, and what it can be asked about a catalog.

use crate::catalog::{Catalog, Kind};
use crate::pick::{concept_column, date_column};

/// What this model is, with examples.
pub fn text(catalog: &Catalog) -> String {
    format!(
        "I answer plain questions about the tables of this Mind by fixed rules, without a language model: counts, totals, \
         averages, smallest and largest values, rankings, groups, and filters on values and dates.\n\nFor example:\n{}",
        examples(catalog).join("\n")
    )
}

fn examples(catalog: &Catalog) -> Vec<String> {
    let mut found = Vec::new();
    let tables: Vec<_> = catalog.tables.iter().filter(|t| !t.is_view()).collect();
    if let Some(table) = tables
        .iter()
        .max_by_key(|t| t.foreign_keys.len() + usize::from(date_column(t).is_some()) * 2)
    {
        found.push(format!(
            "- How many {} are there?",
            table.name.replace('_', " ")
        ));
        if date_column(table).is_some() {
            found.push(format!(
                "- Number of {} per month",
                table.name.replace('_', " ")
            ));
        }
    }
    let status = tables.iter().find_map(|t| {
        let few = |c: &&crate::catalog::Column| {
            c.kind == Kind::Text && c.distinct_count.is_some_and(|n| (2..=12).contains(&n))
        };
        t.columns.iter().find(few).map(|c| (t, c))
    });
    if let Some((table, column)) = status {
        found.push(format!(
            "- {} by {}",
            capital(&table.name.replace('_', " ")),
            column.name.replace('_', " ")
        ));
    }
    let priced = tables.iter().find_map(|t| {
        let column = concept_column(t, "price").or_else(|| concept_column(t, "amount"))?;
        Some((t, &t.columns[column]))
    });
    if let Some((table, column)) = priced {
        found.push(format!(
            "- What is the average {} of {}?",
            column.name.replace('_', " "),
            table.name.replace('_', " ")
        ));
    }
    found.push("- What tables are there?".to_owned());
    found
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
