//! The answer in words. Every figure in it is from a result; the rest says how the question was read.

use crate::catalog::{Catalog, Kind};
use crate::conditions;
use crate::markdown;
use crate::plan::{Expr, Plan, Shape};
use crate::tools::{RowCount, Rows};
use crate::vocabulary::{Aggregate, Comparison};

/// Writes the answer to a question from its query and the result.
pub fn write(catalog: &Catalog, plan: &Plan, rows: &Rows) -> String {
    if rows.rows_withheld || (rows.rows.is_empty() && rows.row_count != RowCount::Exactly(0)) {
        return withheld(rows);
    }
    let rows = &rows.rounded(plan.outputs.iter().map(|output| match output.expr {
        Expr::Aggregate(Aggregate::Average, _, decimals) => decimals,
        _ => None,
    }));
    let body = match plan.shape {
        Shape::Single => single(catalog, plan, rows),
        _ if rows.rows.is_empty() => format!("No row matches{}.", conditions_of(catalog, plan)),
        Shape::Ranking(descending) => ranking(catalog, plan, rows, descending),
        Shape::Groups => groups(catalog, plan, rows),
        Shape::Rows => listing(catalog, plan, rows),
    };
    let mut notes = plan.notes.clone();
    notes.dedup();
    if notes.is_empty() {
        return body;
    }
    format!(
        "{}\n\nHow I read it: {}.",
        body.trim_end(),
        notes.join("; ")
    )
}

/// Writes the answer to a question whose statement the Mind was taught; `origin` says what it is.
pub fn taught(rows: &Rows, origin: &str) -> String {
    if rows.rows_withheld || (rows.rows.is_empty() && rows.row_count != RowCount::Exactly(0)) {
        return withheld(rows);
    }
    let body = match rows.rows.as_slice() {
        [] => "No row matches.".to_owned(),
        [row] if row.len() == 1 => format!(
            "**{}**",
            row.first().map(markdown::value).unwrap_or_default()
        ),
        _ => format!("{}{}", table(rows), rows.more(false)),
    };
    format!("{}\n\nThis is the result of {origin}.", body.trim_end())
}

/// Without the rows there is nothing to say about them; an empty list must not be taken for an empty result.
pub fn withheld(rows: &Rows) -> String {
    let count = match &rows.row_count {
        RowCount::Exactly(1) => "one row".to_owned(),
        RowCount::Exactly(n) => format!("{n} rows"),
        RowCount::Roughly(count) => format!("{count} rows"),
    };
    format!(
        "The query ran and gave {count}, but the rows were not shown to me, as the datasource's setting `send_rows` may ask for. \
         Read them from the result of this answer."
    )
}

fn single(catalog: &Catalog, plan: &Plan, rows: &Rows) -> String {
    let found = conditions_of(catalog, plan);
    let value = rows
        .rows
        .first()
        .and_then(|r| r.last())
        .filter(|v| !v.is_null());
    match value {
        Some(value) => format!(
            "The {}{found} is **{}**.",
            plan.title,
            markdown::value(value)
        ),
        None => format!(
            "There is no {}{found}: no row with a value matches.",
            plan.title
        ),
    }
}

fn ranking(catalog: &Catalog, plan: &Plan, rows: &Rows, descending: bool) -> String {
    let found = conditions_of(catalog, plan);
    let by = by(catalog, plan, descending);
    let [row] = rows.rows.as_slice() else {
        let what = format!("The {} {}", rows.rows.len(), several(&plan.noun));
        return format!("{what} with {by}{found}:\n\n{}", table(rows));
    };
    if let ([label, value], false) = (row.as_slice(), plan.limit != Some(1)) {
        let (label, value) = (markdown::value(label), markdown::value(value));
        return format!(
            "The {} with {by}{found} is **{label}**: {value}.",
            plan.noun
        );
    }
    format!("The {} with {by}{found}:\n\n{}", plan.noun, table(rows))
}

/// "the highest total revenue", "the latest ordered at".
fn by(catalog: &Catalog, plan: &Plan, descending: bool) -> String {
    let dated = matches!(plan.order.first(), Some((Expr::Column(c), _)) if catalog.column(*c).kind == Kind::Date);
    let word = match (dated, descending) {
        (true, true) => "latest",
        (true, false) => "earliest",
        (false, true) => "highest",
        (false, false) => "lowest",
    };
    format!("the {word} {}", plan.rank_title)
}

fn groups(catalog: &Catalog, plan: &Plan, rows: &Rows) -> String {
    let title = capital(&plan.title);
    let having = plan
        .having
        .as_ref()
        .map(|(_, comparison, number)| format!(", where it is {}{number}", words(*comparison)));
    let having = having.unwrap_or_default();
    let found = conditions_of(catalog, plan);
    format!(
        "{title} per {}{found}{having}:\n\n{}{}",
        plan.noun,
        table(rows),
        more(plan, rows)
    )
}

fn listing(catalog: &Catalog, plan: &Plan, rows: &Rows) -> String {
    let found = conditions_of(catalog, plan);
    if let [row] = rows.rows.as_slice()
        && let [value] = row.as_slice()
    {
        return format!(
            "The only row of {}{found} has {} **{}**.",
            plan.title,
            rows.columns[0].name,
            markdown::value(value)
        );
    }
    format!(
        "{} of {}{found}:\n\n{}{}",
        row_count(rows),
        plan.title,
        table(rows),
        more(plan, rows)
    )
}

fn row_count(rows: &Rows) -> String {
    match rows.rows.len() {
        1 => "One row".to_owned(),
        n => format!("{n} rows"),
    }
}

fn table(rows: &Rows) -> String {
    let names: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
    markdown::table(&names, &rows.rows)
}

fn more(plan: &Plan, rows: &Rows) -> String {
    let is_full = plan.limit == Some(rows.rows.len() as u64);
    rows.more(is_full)
}

fn conditions_of(catalog: &Catalog, plan: &Plan) -> String {
    let words: Vec<String> = plan
        .conditions
        .iter()
        .map(|c| conditions::describe(catalog, c))
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" where {}", words.join(" and "))
    }
}

fn words(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Above => "above ",
        Comparison::AtLeast => "at least ",
        Comparison::Below => "below ",
        Comparison::AtMost => "at most ",
        Comparison::Equal => "",
    }
}

/// A noun for several: "product" becomes "products", "category" "categories".
pub fn several(noun: &str) -> String {
    if let Some(base) = noun
        .strip_suffix('y')
        .filter(|b| !b.ends_with(['a', 'e', 'o', 'u']))
    {
        return format!("{base}ies");
    }
    if noun.ends_with('s') {
        return if noun.ends_with("ss") || noun.ends_with("us") {
            format!("{noun}es")
        } else {
            noun.to_owned()
        };
    }
    format!("{noun}s")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
