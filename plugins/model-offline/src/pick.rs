//! Columns that a table is known by: what names its rows, when they came to be, what they amount to.

use crate::catalog::{Kind, Table};
use crate::words::name_stems;

/// The columns that name a row of a table to a person.
pub fn label_columns(table: &Table) -> Vec<usize> {
    let head = name_stems(&table.plain).pop().unwrap_or_default();
    let position = |wanted: &str| table.find_plain(wanted);
    let called = |name: &str| position(name).or_else(|| position(&format!("{head}_{name}")));
    let any = |names: &[&str]| names.iter().find_map(|name| called(name));
    if let Some(at) = any(&["name", "full_name"]) {
        return vec![at];
    }
    // The title of a person is that of many.
    let either = |long: &str, short: &str| position(long).or_else(|| position(short));
    if let (Some(first), Some(last)) = (either("first_name", "fname"), either("last_name", "lname"))
    {
        return vec![first, last];
    }
    if let Some(at) = any(&["title", "label", "display_name"]) {
        return vec![at];
    }
    let wanted = "company_name company username code sku email order_number number";
    let found = wanted.split(' ').find_map(position);
    found.map_or_else(|| table.primary_key.clone(), |at| vec![at])
}

/// The date that says when a row came to be. Several with the same claim: none.
pub fn date_column(table: &Table) -> Option<usize> {
    match date_columns(table).as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// The dates with the best claim to say when a row came to be.
pub fn date_columns(table: &Table) -> Vec<usize> {
    let head = name_stems(&table.plain).pop().unwrap_or_default();
    let rank = |at: usize| {
        let stems = name_stems(&table.columns[at].plain);
        let has = |w: &str| stems.iter().any(|s| s == w);
        if [
            "birth", "birthday", "born", "update", "updated", "modified", "deleted", "expiry",
            "expire", "valid", "due",
        ]
        .iter()
        .any(|w| has(w))
        {
            return 0;
        }
        if has(&head) || stems.first().is_some_and(|s| s.starts_with(&head)) {
            5
        } else if has("placed") || has("date") && stems.len() == 1 {
            4
        } else if has("created") || has("registered") || has("joined") || has("signup") {
            3
        } else if stems.iter().any(|s| {
            head.starts_with(s.trim_end_matches("ed").trim_end_matches("pp")) && s.len() > 3
        }) {
            2
        } else {
            1
        }
    };
    let mut dates: Vec<usize> = (0..table.columns.len())
        .filter(|c| table.columns[*c].kind == Kind::Date && rank(*c) > 0)
        .collect();
    let top = dates.iter().map(|c| rank(*c)).max();
    dates.retain(|c| Some(rank(*c)) == top);
    dates
}

/// The one column of a table whose name says the concept ("amount", "price", "quantity", "rating").
pub fn concept_column(table: &Table, concept: &str) -> Option<usize> {
    let rank = |at: usize| {
        if !table.columns[at].is_numeric() || table.is_key(at) {
            return 0;
        }
        let stems = name_stems(&table.columns[at].plain);
        let is = |w: &str| {
            stems
                .iter()
                .any(|s| s == w || crate::vocabulary::concept(s) == w)
        };
        let other = [
            "tax",
            "discount",
            "shipping",
            "cost",
            "refund",
            "sub",
            "subtotal",
            "net",
            "compare",
            "old",
            "min",
            "max",
            "stock",
            "inventory",
            "reorder",
            "buy",
        ];
        // A price of a unit is no number of units.
        let is_price = concept == "quantity" && (is("price") || is("amount"));
        if !is(concept) || is_price || stems.iter().any(|s| other.contains(&s.as_str())) {
            0
        } else if stems.len() == 1 || stems.iter().any(|s| s == "grand") {
            4
        } else if stems.iter().any(|s| s == "total" || s == "unit") {
            3
        } else {
            2
        }
    };
    let top = (0..table.columns.len())
        .map(rank)
        .max()
        .filter(|r| *r > 0)?;
    let mut best = (0..table.columns.len()).filter(|c| rank(*c) == top);
    match (best.next(), best.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}
