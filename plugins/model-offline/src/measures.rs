//! Figures that are defined over columns: revenue, units sold, ratings.

use crate::catalog::{Catalog, ColumnRef};
use crate::pick::concept_column;
use crate::query::{Amount, Discount, Expr};
use crate::vocabulary::{Aggregate, canonical};
use crate::words::{Token, name_stems};

/// A figure that people name without a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Money taken.
    Revenue,
    /// Pieces sold.
    Units,
    /// The average of a column that holds ratings.
    Rating,
}

/// A measure over the rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The table whose rows are gone through.
    pub base: usize,
    /// The figure.
    pub expr: Expr,
    /// Candidates of a lower cost go first.
    pub cost: usize,
    /// How the word was read.
    pub note: Option<String>,
}

impl Measure {
    /// What the column of the result is called, and what it is in words.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Revenue => ("revenue", "total revenue"),
            Self::Units => ("units_sold", "number of units sold"),
            Self::Rating => ("average_rating", "average rating"),
        }
    }
}

#[rustfmt::skip]
const PHRASES: &[(Measure, &[&str])] = &[
    (Measure::Revenue, &["spent", "spend", "revenue", "revenues", "turnover", "sales", "sales revenue", "money",
        "sales amount"]),
    (Measure::Units, &["units sold", "items sold", "pieces sold", "quantity sold", "units", "sold units",
        "sales volume"]),
];

/// The longest measure that starts at a place, with the number of its tokens.
pub fn phrase(tokens: &[Token], at: usize) -> Option<(usize, Measure)> {
    let fits = |phrase: &str| {
        let words: Vec<&str> = phrase.split(' ').collect();
        let given = tokens[at..]
            .iter()
            .map(|t| t.norm.as_str())
            .take(words.len());
        given.eq(words.iter().copied()).then_some(words.len())
    };
    let all = PHRASES
        .iter()
        .flat_map(|(m, all)| all.iter().map(move |p| (p, *m)));
    let found = all.filter_map(|(p, m)| Some((fits(p)?, m)));
    found.max_by_key(|(used, _)| *used)
}

/// All tables and columns that can give a measure.
pub fn candidates(catalog: &Catalog, measure: Measure) -> Vec<Candidate> {
    match measure {
        Measure::Revenue => revenue(catalog),
        Measure::Units => units(catalog),
        Measure::Rating => rated(catalog),
    }
}

/// Sold things by line: a table with a quantity and a price.
struct Lines {
    table: usize,
    quantity: ColumnRef,
    price: ColumnRef,
}

fn lines(catalog: &Catalog) -> Vec<Lines> {
    let of = |at: usize| {
        let table = catalog.table(at);
        let place =
            |concept| concept_column(table, concept).map(|column| ColumnRef { table: at, column });
        let found = Lines {
            table: at,
            quantity: place("quantity")?,
            price: place("price")?,
        };
        (!table.is_view() && !table.foreign_keys.is_empty()).then_some(found)
    };
    (0..catalog.tables.len()).filter_map(of).collect()
}

fn units(catalog: &Catalog) -> Vec<Candidate> {
    let one = |l: &Lines| Candidate {
        base: l.table,
        expr: Expr::Agg(Aggregate::Sum, Amount::Column(l.quantity)),
        cost: 0,
        note: Some(format!(
            "units sold are the sum of `{}`",
            catalog.label(l.quantity)
        )),
    };
    lines(catalog).iter().map(one).collect()
}

fn revenue(catalog: &Catalog) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (at, table) in catalog
        .tables
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.is_view())
    {
        let head = name_stems(&table.name).pop().unwrap_or_default();
        let sells = matches!(canonical(&head), "order" | "invoice");
        if let Some(column) = concept_column(table, "amount").filter(|_| sells) {
            let column = ColumnRef { table: at, column };
            let expr = Expr::Agg(Aggregate::Sum, Amount::Column(column));
            found.push(taken(
                at,
                expr,
                0,
                format!("revenue is the sum of `{}`", catalog.label(column)),
            ));
        }
    }
    for line in lines(catalog) {
        found.push(line_revenue(catalog, &line));
    }
    found
}

fn line_revenue(catalog: &Catalog, line: &Lines) -> Candidate {
    let table = catalog.table(line.table);
    if let Some(column) = concept_column(table, "amount") {
        let column = ColumnRef {
            table: line.table,
            column,
        };
        let expr = Expr::Agg(Aggregate::Sum, Amount::Column(column));
        return taken(
            line.table,
            expr,
            30,
            format!("revenue is the sum of `{}`", catalog.label(column)),
        );
    }
    let (discount, words) = discount(catalog, line);
    let amount = Amount::Product {
        quantity: line.quantity,
        price: line.price,
        discount,
    };
    let note = format!(
        "revenue is the sum of `{}` × `{}`{words}",
        catalog.label(line.quantity),
        catalog.column(line.price).name
    );
    taken(line.table, Expr::Agg(Aggregate::Sum, amount), 30, note)
}

/// A discount is taken off only where it is plain what it means: a share of one, per cent, or money.
fn discount(catalog: &Catalog, line: &Lines) -> (Option<(ColumnRef, Discount)>, String) {
    let table = catalog.table(line.table);
    let position = (0..table.columns.len()).find(|c| {
        table.columns[*c].is_numeric()
            && name_stems(&table.columns[*c].name)
                .iter()
                .any(|s| s == "discount")
    });
    let Some(at) = position else {
        return (None, String::new());
    };
    let column = &table.columns[at];
    let name = &column.name;
    let description = column.description.to_lowercase();
    let says = |words: &[&str]| {
        words
            .iter()
            .any(|w| description.contains(w) || name.to_lowercase().contains(w))
    };
    let largest = column.max.as_deref().and_then(|m| m.parse::<f64>().ok());
    let place = ColumnRef {
        table: line.table,
        column: at,
    };
    if says(&["percent", "per cent", "pct", "%"]) {
        (
            Some((place, Discount::Percent)),
            format!(", less `{name}` per cent"),
        )
    } else if says(&[
        "euro", "eur", "usd", "dollar", "gbp", "pound", "amount", "money",
    ]) {
        (Some((place, Discount::Taken)), format!(", less `{name}`"))
    } else if largest.is_some_and(|max| max <= 1.0) {
        (
            Some((place, Discount::Share)),
            format!(", less the share `{name}`"),
        )
    } else {
        (None, format!(", before `{name}`"))
    }
}

fn taken(base: usize, expr: Expr, cost: usize, note: String) -> Candidate {
    Candidate {
        base,
        expr,
        cost,
        note: Some(note),
    }
}

fn rated(catalog: &Catalog) -> Vec<Candidate> {
    let tables = catalog
        .tables
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.is_view());
    let columns = tables.filter_map(|(at, t)| {
        Some(ColumnRef {
            table: at,
            column: concept_column(t, "rating")?,
        })
    });
    columns
        .map(|column| Candidate {
            base: column.table,
            expr: Expr::Agg(Aggregate::Average, Amount::Column(column)),
            cost: 0,
            note: None,
        })
        .collect()
}
