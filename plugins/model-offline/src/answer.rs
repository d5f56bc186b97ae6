//! The answer in words. Every figure in it is from a result; the rest says how the question was read.

use crate::catalog::Catalog;
use crate::dates;
use crate::dialect::Unit;
use crate::markdown::{self, capital};
use crate::pick::label_columns;
use crate::query::{Check, Condition, Expr, Query, Way};
use crate::tools::{RowCount, Rows};
use crate::vocabulary::{Aggregate, Comparison, MatchPosition};

/// Writes the answer to a question from its query and the result.
pub fn write(catalog: &Catalog, query: &Query, rows: &Rows) -> String {
    if rows.are_withheld() {
        return withheld(rows);
    }
    let rows = &rows.rounded(query.outputs.iter().map(|output| match output.expr {
        _ if query.pair.is_some() && output.expr.is_figure() => Some(4),
        Expr::Agg(Aggregate::Average, _) => output.expr.decimals(catalog),
        _ => None,
    }));
    let body = asked(catalog, query, rows);
    let mut notes = query.notes.clone();
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
    if rows.are_withheld() {
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

/// Columns and figures as they were asked for.
fn asked(catalog: &Catalog, query: &Query, rows: &Rows) -> String {
    match rows.rows.as_slice() {
        [] => return nothing(catalog, query),
        // A count of nothing is as likely a word that was read wrongly, unless all values are stored so.
        [row]
            if row.len() == 1
                && row[0].as_f64() == Some(0.0)
                && !has_known_values(catalog, query) =>
        {
            return nothing(catalog, query);
        }
        [row] if row.len() == 1 => return single(catalog, query, rows),
        _ => {}
    }
    let order = query.order.first().map(|(expr, down)| {
        let column = expr
            .column()
            .map_or("count", |c| catalog.column(c).name.as_str());
        let name = query.name_of(expr).unwrap_or(column).replace('_', " ");
        let way = match (expr, down) {
            (Expr::Bucket(Unit::Weekday, _), false) => "Monday",
            (_, true) => "largest",
            (_, false) => "smallest",
        };
        format!(", by {name} ({way} first)")
    });
    let once = if query.distinct { ", each once" } else { "" };
    format!(
        "{}{}{once}{}:\n\n{}{}",
        capital(&title(catalog, query)),
        conditions_of(catalog, query),
        order.unwrap_or_default(),
        table(rows),
        rows.more(false)
    )
}

/// Whether there are conditions, and each is that a column has a value that is known to be stored in it. A first and a
/// last name do not count: no row may have both.
fn has_known_values(catalog: &Catalog, query: &Query) -> bool {
    let own = query.source.conditions.iter().flatten();
    let names = own.clone().filter(|c| {
        let label = label_columns(catalog.table(c.column.table));
        label.len() > 1 && label.contains(&c.column.column)
    });
    let mut conditions = own.peekable();
    query.members.is_empty()
        && names.count() < 2
        && conditions.peek().is_some()
        && conditions.all(|c| {
            matches!(
                c.check,
                Check::Texts(_, true) | Check::Days(_) | Check::Truth
            )
        })
}

/// What is said where nothing was found: that is not taken for the answer.
fn nothing(catalog: &Catalog, query: &Query) -> String {
    format!(
        "I find no row of {}{}. Either there is none, or a word means something else than I took it for.",
        catalog.table(query.source.base).name,
        conditions_of(catalog, query)
    )
}

fn single(catalog: &Catalog, query: &Query, rows: &Rows) -> String {
    let found = conditions_of(catalog, query);
    let title = title(catalog, query);
    let value = rows
        .rows
        .first()
        .and_then(|r| r.last())
        .filter(|v| !v.is_null());
    match value {
        Some(value) => format!("The {title}{found} is **{}**.", markdown::value(value)),
        None => format!("There is no {title}{found}: no row with a value matches."),
    }
}

fn table(rows: &Rows) -> String {
    let names: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
    markdown::table(&names, &rows.rows)
}

/// What is shown, in words.
fn title(catalog: &Catalog, query: &Query) -> String {
    let Some(pair) = &query.pair else {
        return query.title.clone();
    };
    // The groups are those of the whole.
    let group = pair.second.title.split_once(" per ");
    let group = group.map_or_else(String::new, |(_, group)| format!(" per {group}"));
    let [first, second] = [query, &pair.second].map(|q| {
        let figure = q.title.strip_suffix(&group).unwrap_or(&q.title);
        format!("{figure}{}", each_condition(catalog, q))
    });
    match pair.way {
        Way::Ratio => format!("ratio of the {first} to the {second}{group}"),
        Way::Percent => format!("{first}, in per cent of the {second}{group}"),
        Way::Difference => format!("difference between the {first} and the {second}{group}"),
        Way::Average => format!("{first}, over the {second}{group}"),
    }
}

/// The conditions in words; those of two figures are said beside each of them.
fn conditions_of(catalog: &Catalog, query: &Query) -> String {
    match query.pair {
        Some(_) => String::new(),
        None => each_condition(catalog, query),
    }
}

fn each_condition(catalog: &Catalog, query: &Query) -> String {
    let any = |conditions: &Vec<Condition>| {
        let all = conditions.iter().map(|c| describe(catalog, c));
        all.collect::<Vec<_>>().join(" or ")
    };
    // A ranking leaves out rows without a value, which needs no words.
    let silent = |all: &[Condition]| match all {
        // What lacks a value is asked for; what has one may only be put in order by it.
        [one] => one.check == Check::Missing && one.negated && query.limit.is_some(),
        _ => false,
    };
    let own = query.source.conditions.iter().filter(|c| !silent(c));
    let mut parts: Vec<String> = own.map(any).collect();
    parts.extend(query.intersect.iter().flatten().map(any));
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
        let inner: Vec<String> = member.source.conditions.iter().map(any).collect();
        if !inner.is_empty() {
            text += &format!(" with {}", inner.join(" and "));
        }
        parts.push(text);
    }
    if let Some((expr, comparison, number)) = &query.having {
        let name = query.name_of(expr).unwrap_or("count").replace('_', " ");
        parts.push(format!("the {name} is {}{number}", words(*comparison)));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(" where {}", parts.join(" and ")),
    }
}

fn describe(catalog: &Catalog, condition: &Condition) -> String {
    let column = catalog.label(condition.column);
    let not = if condition.negated { "not " } else { "" };
    match &condition.check {
        Check::Number(c, number) => format!("{column} is {not}{}{number}", words(*c)),
        Check::Range(low, high) => format!("{column} is {not}between {low} and {high}"),
        Check::Texts(texts, _) => {
            let list: Vec<String> = texts.iter().map(|t| format!("'{t}'")).collect();
            format!("{column} is {not}{}", list.join(" or "))
        }
        Check::Like(place, text) => {
            let verb = match place {
                MatchPosition::Inside => "holding",
                MatchPosition::Start => "starting with",
                MatchPosition::End => "ending with",
            };
            format!("{column} is {not}{verb} '{text}'")
        }
        Check::Truth => format!("{column} is {}", !condition.negated),
        Check::Days(period) => format!("{column} is {not}{}", dates::describe(*period)),
        Check::Clock(c, time) => format!("{column} is {not}{}{time}", words(*c)),
        Check::Average(c) => format!("{column} is {}its average", words(*c)),
        Check::Missing if condition.negated => format!("{column} is present"),
        Check::Missing => format!("{column} is empty"),
        Check::RefersTo(_, name, texts) => {
            let list: Vec<String> = texts.iter().map(|t| format!("'{t}'")).collect();
            let (name, list) = (catalog.label(*name), list.join(" or "));
            format!("{column} is {not}that of the row whose {name} is {list}")
        }
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
