//! What the columns of a result are called, and what they are in words.

use crate::catalog::{Catalog, ColumnRef};
use crate::measures::Measure;
use crate::query::{Amount, Expr, Output, Query};
use crate::vocabulary::Aggregate;

/// The outputs of a statement with names such as `count` or `average_age`.
pub fn named(catalog: &Catalog, select: &[Expr], measure: Option<&(Expr, Measure)>) -> Vec<Output> {
    let column = |e: &Expr| e.column().map(|c| catalog.column(c).name.as_str());
    let name = |expr: &Expr| {
        let own = column(expr).unwrap_or_default();
        match expr {
            Expr::Bucket(unit, _) => unit.name().to_owned(),
            _ if measure.is_some_and(|m| m.0 == *expr) => {
                measure.map_or_else(String::new, |m| m.1.names(catalog).0.to_owned())
            }
            Expr::Count(None) => "count".to_owned(),
            Expr::Count(Some(c)) if is_key(catalog, *c) => "count".to_owned(),
            Expr::Count(Some(_)) => format!("different_{own}"),
            Expr::Agg(aggregate, _) => format!("{}_{own}", word(*aggregate)),
            _ => {
                let columns = select.iter().filter(|e| !e.is_figure());
                let twice = columns.filter(|e| column(e) == column(expr)).count() > 1;
                let table = expr.column().filter(|_| twice);
                let table = table.map(|c| format!("{}_", catalog.table(c.table).name));
                table.unwrap_or_default() + own
            }
        }
    };
    let output = |expr: &Expr| Output {
        name: name(expr),
        expr: expr.clone(),
    };
    select.iter().map(output).collect()
}

/// Whether a column is the whole key of its table: its values are the rows.
fn is_key(catalog: &Catalog, column: ColumnRef) -> bool {
    catalog.table(column.table).primary_key == [column.column]
}

/// "average", "total", …
fn word(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Sum => "total",
        Aggregate::Average => "average",
        Aggregate::Min => "minimum",
        Aggregate::Max => "maximum",
    }
}

/// What a query shows, in words.
pub fn title(catalog: &Catalog, query: &Query, measure: Option<&(Expr, Measure)>) -> String {
    let rows = |table: usize| catalog.table(table).name.replace('_', " ");
    let base = query.source.base;
    if query.count_groups.is_some() {
        let group = query.groups.first().and_then(Expr::column);
        return format!("number of {}", rows(group.map_or(base, |c| c.table)));
    }
    let part = |output: &Output| {
        let label = output.expr.column().map(|c| catalog.label(c));
        if let Some((_, measure)) = measure.filter(|m| m.0 == output.expr) {
            return measure.names(catalog).1.to_owned();
        }
        match (&output.expr, label) {
            (Expr::Bucket(unit, _), _) => unit.name().to_owned(),
            (Expr::Agg(a, Amount::Column(_)), Some(label)) => format!("{} {label}", word(*a)),
            (Expr::Count(Some(c)), _) if is_key(catalog, *c) => {
                format!("number of {}", rows(c.table))
            }
            (Expr::Count(_), Some(label)) => format!("number of different {label}"),
            (_, Some(label)) => label,
            (_, None) => format!("number of {}", rows(base)),
        }
    };
    let figures = query.outputs.iter().filter(|o| o.expr.is_figure());
    let figures: Vec<String> = figures.map(part).collect();
    if let ([figure], false) = (figures.as_slice(), query.groups.is_empty()) {
        let groups = query.outputs.iter().filter(|o| !o.expr.is_figure());
        // The rows of a table are told apart by its key, and need no other name.
        let of_rows = |o: &&Output| {
            let column = o
                .expr
                .column()
                .filter(|_| matches!(o.expr, Expr::Column(_)))?;
            let table = catalog.table(column.table);
            let is_grouped = |c: &usize| {
                query
                    .groups
                    .contains(&Expr::Column(ColumnRef::new(column.table, *c)))
            };
            let whole = !table.primary_key.is_empty() && table.primary_key.iter().all(is_grouped);
            whole.then(|| crate::words::name_stems(&table.name).join(" "))
        };
        let mut groups: Vec<String> = groups
            .map(|o| of_rows(&o).unwrap_or_else(|| o.name.replace('_', " ")))
            .collect();
        groups.dedup();
        return format!("{figure} per {}", groups.join(" and "));
    }
    let parts: Vec<String> = query.outputs.iter().map(part).collect();
    match parts.as_slice() {
        [] => rows(base),
        parts if parts.len() > 5 => rows(base),
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => parts.concat(),
    }
}
