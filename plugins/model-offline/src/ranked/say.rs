//! The answer in words. Every figure in it is from a result; the rest says how the question was read.

use super::query::{Check, Condition, Expr, Query};
use super::write::{aggregate_word, output_name, sign};
use crate::answer::withheld;
use crate::catalog::Catalog;
use crate::dates;
use crate::markdown;
use crate::tools::{RowCount, Rows};
use crate::vocabulary::{Aggregate, MatchPosition};

/// Decimals of an average in the text; its row has all of them.
const DECIMALS: u32 = 4;

/// Writes the answer to a question from its query and the result.
pub fn say(catalog: &Catalog, query: &Query, rows: &Rows) -> String {
    if rows.rows_withheld || (rows.rows.is_empty() && rows.row_count != RowCount::Exactly(0)) {
        return withheld(rows);
    }
    let rows = &rows.rounded(query.select.iter().map(|expr| {
        let is_average = matches!(expr, Expr::Agg(Aggregate::Average, _));
        is_average.then_some(DECIMALS)
    }));
    let body = match rows.rows.as_slice() {
        [] => return nothing(catalog, query),
        // A count of nothing is as likely a word that was read wrongly.
        [row] if row.len() == 1 && row[0].as_i64() == Some(0) => return nothing(catalog, query),
        [row] if row.len() == 1 => match &row[0] {
            value if value.is_null() => format!(
                "There is no {}{}: no row with a value matches.",
                title(catalog, query),
                found(catalog, query)
            ),
            value => format!(
                "The {}{} is **{}**.",
                title(catalog, query),
                found(catalog, query),
                markdown::value(value)
            ),
        },
        _ => table(catalog, query, rows),
    };
    if query.notes.is_empty() {
        return body;
    }
    format!(
        "{}\n\nHow I read it: {}.",
        body.trim_end(),
        query.notes.join("; ")
    )
}

/// What is said where nothing was found: that is not taken for the answer.
fn nothing(catalog: &Catalog, query: &Query) -> String {
    let notes = match query.notes.as_slice() {
        [] => String::new(),
        notes => format!("\n\nHow I read it: {}.", notes.join("; ")),
    };
    format!(
        "I find no row of {}{}. Either there is none, or a word means something else than I took it for.{notes}",
        catalog.table(query.source.base).name,
        found(catalog, query)
    )
}

fn table(catalog: &Catalog, query: &Query, rows: &Rows) -> String {
    let names: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
    let order = match query.order.first() {
        Some((expr, down)) => {
            let way = if *down {
                "largest first"
            } else {
                "smallest first"
            };
            format!(
                ", by {} ({way})",
                output_name(catalog, query, expr).replace('_', " ")
            )
        }
        None => String::new(),
    };
    format!(
        "{}{}{order}:\n\n{}{}",
        capital(&title(catalog, query)),
        found(catalog, query),
        markdown::table(&names, &rows.rows),
        rows.more(false)
    )
}

fn title(catalog: &Catalog, query: &Query) -> String {
    let base = catalog.table(query.source.base).name.replace('_', " ");
    if query.count_groups {
        let group = query.groups.first().map_or(query.source.base, |c| c.table);
        return format!("number of {}", catalog.table(group).name.replace('_', " "));
    }
    let parts: Vec<String> = query
        .select
        .iter()
        .map(|e| match e {
            Expr::Count(None) => format!("number of {base}"),
            Expr::Count(Some(c)) => format!("number of different {}", catalog.label(*c)),
            Expr::Agg(a, c) => format!("{} {}", aggregate_word(*a), catalog.label(*c)),
            Expr::Column(c) => catalog.label(*c),
        })
        .collect();
    match parts.as_slice() {
        [] => base,
        parts if parts.len() > 5 => base,
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => parts.concat(),
    }
}

fn found(catalog: &Catalog, query: &Query) -> String {
    let group = |conditions: &Vec<Condition>| {
        conditions
            .iter()
            .map(|c| describe(catalog, c))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let mut parts: Vec<String> = query
        .source
        .conditions
        .iter()
        .filter(|g| {
            !matches!(
                g.as_slice(),
                [Condition {
                    check: Check::Missing,
                    ..
                }]
            )
        })
        .map(group)
        .collect();
    parts.extend(query.intersect.iter().flatten().map(group));
    for member in &query.members {
        let end = member
            .source
            .joins
            .last()
            .map_or(member.source.base, |e| e.to);
        let verb = if member.negated {
            "no row of"
        } else {
            "a row of"
        };
        let mut text = format!("there is {verb} {}", catalog.table(end).name);
        let inner: Vec<String> = member.source.conditions.iter().map(group).collect();
        if !inner.is_empty() {
            text += &format!(" with {}", inner.join(" and "));
        }
        parts.push(text);
    }
    if let Some((expr, comparison, number)) = &query.having {
        parts.push(format!(
            "the {} is {} {number}",
            output_name(catalog, query, expr).replace('_', " "),
            sign(*comparison)
        ));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!(" where {}", parts.join(" and "))
    }
}

fn describe(catalog: &Catalog, condition: &Condition) -> String {
    let column = catalog.label(condition.column);
    let not = if condition.negated { "not " } else { "" };
    match &condition.check {
        Check::Number(c, n) => format!("{column} is {not}{} {n}", sign(*c)),
        Check::Range(a, b) => format!("{column} is {not}between {a} and {b}"),
        Check::Texts(texts, _) => {
            let list: Vec<String> = texts.iter().map(|t| format!("'{t}'")).collect();
            format!("{column} is {not}{}", list.join(" or "))
        }
        Check::Like(place, text) => {
            let word = match place {
                MatchPosition::Inside => "contains",
                MatchPosition::Start => "starts with",
                MatchPosition::End => "ends with",
            };
            format!("{column} {not}{word} '{text}'")
        }
        Check::Days(period) => format!("{column} is {not}{}", dates::describe(*period)),
        Check::Average(c) => format!("{column} is {} its average", sign(*c)),
        Check::Missing => format!("{column} is {not}missing"),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
