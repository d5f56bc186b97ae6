//! Figures that are defined over columns: revenue, units sold, ratings.

use crate::catalog::{Catalog, Column, ColumnRef};
use crate::pick::concept_column;
use crate::query::{Amount, Discount, Expr};
use crate::vocabulary::{Aggregate, concept};
use crate::words::{Token, name_stems, starts_with};

/// A figure that people name without a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Money taken.
    Revenue,
    /// Pieces sold.
    Units,
    /// The average of a column that holds ratings.
    Rating,
    /// A metric that the Mind was taught, by its index.
    Taught(usize),
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
    pub fn names(self, catalog: &Catalog) -> (&str, &str) {
        match self {
            Self::Taught(metric) => {
                let name = catalog.metrics[metric].name.as_str();
                (name, name)
            }
            Self::Revenue => ("revenue", "total revenue"),
            Self::Units => ("units_sold", "number of units sold"),
            Self::Rating => ("average_rating", "average rating"),
        }
    }

    /// Whether it is a number of rows or pieces, which "how many" asks for.
    pub fn counts(self, catalog: &Catalog) -> bool {
        match self {
            Self::Taught(metric) => catalog.metrics[metric].is_over("count"),
            _ => self == Self::Units,
        }
    }

    /// Whether its total is the measure itself.
    pub fn adds_up(self, catalog: &Catalog) -> bool {
        match self {
            Self::Taught(metric) => self.counts(catalog) || catalog.metrics[metric].is_over("sum"),
            _ => true,
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
    let all = PHRASES
        .iter()
        .flat_map(|(m, all)| all.iter().map(move |p| (p, *m)));
    let found = all.filter_map(|(p, m)| Some((starts_with(&tokens[at..], p)?, m)));
    found.max_by_key(|(used, _)| *used)
}

/// All tables and columns that can give a measure of the rules; a taught one has its own.
pub fn candidates(catalog: &Catalog, measure: Measure) -> Vec<Candidate> {
    match measure {
        Measure::Revenue => revenue(catalog),
        Measure::Units => units(catalog),
        Measure::Rating => rated(catalog),
        Measure::Taught(_) => Vec::new(),
    }
}

/// Sold things by line: a table with a quantity and a price.
struct Lines {
    table: usize,
    quantity: ColumnRef,
    price: ColumnRef,
}

/// The one column of each table that fits a concept.
fn columns<'a>(catalog: &'a Catalog, concept: &'a str) -> impl Iterator<Item = ColumnRef> + 'a {
    let tables = catalog
        .tables
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.is_view());
    tables.filter_map(move |(table, t)| {
        let column = concept_column(t, concept)?;
        Some(ColumnRef::new(table, column))
    })
}

fn lines(catalog: &Catalog) -> Vec<Lines> {
    let line = |quantity: ColumnRef| {
        let table = catalog.table(quantity.table);
        let column = concept_column(table, "price")
            .filter(|column| *column != quantity.column && !table.foreign_keys.is_empty())?;
        let price = ColumnRef { column, ..quantity };
        Some(Lines {
            table: quantity.table,
            quantity,
            price,
        })
    };
    columns(catalog, "quantity").filter_map(line).collect()
}

/// A function over one column, with how it is said.
fn over(
    catalog: &Catalog,
    aggregate: Aggregate,
    column: ColumnRef,
    cost: usize,
    said: &str,
) -> Candidate {
    Candidate {
        base: column.table,
        expr: Expr::Agg(aggregate, Amount::Column(column)),
        cost,
        note: (!said.is_empty()).then(|| format!("{said} the sum of `{}`", catalog.label(column))),
    }
}

fn units(catalog: &Catalog) -> Vec<Candidate> {
    let one = |l: &Lines| over(catalog, Aggregate::Sum, l.quantity, 0, "units sold are");
    lines(catalog).iter().map(one).collect()
}

fn rated(catalog: &Catalog) -> Vec<Candidate> {
    let rated = columns(catalog, "rating");
    rated
        .map(|c| over(catalog, Aggregate::Average, c, 0, ""))
        .collect()
}

/// The amounts of orders and invoices, or what their lines come to.
fn revenue(catalog: &Catalog) -> Vec<Candidate> {
    let sells = |c: &ColumnRef| {
        let table = catalog.table(c.table);
        let head = name_stems(&table.plain).pop().unwrap_or_default();
        // A row of `books_order` says how many copies of a book an order has.
        matches!(concept(&head), "order" | "invoice") && table.primary_key.len() < 2
    };
    let has = |c: &ColumnRef, concept| concept_column(catalog.table(c.table), concept).is_some();
    // A sale with a price of its own, where nothing holds pieces.
    let alone =
        |c: &ColumnRef| !has(c, "amount") && !has(c, "quantity") && lines(catalog).is_empty();
    let priced = columns(catalog, "price").filter(sells).filter(alone);
    let orders = columns(catalog, "amount").filter(sells).chain(priced);
    let orders = orders.map(|c| over(catalog, Aggregate::Sum, c, 0, "revenue is"));
    orders
        .chain(lines(catalog).iter().map(|l| line_revenue(catalog, l)))
        .collect()
}

fn line_revenue(catalog: &Catalog, line: &Lines) -> Candidate {
    if let Some(column) = concept_column(catalog.table(line.table), "amount") {
        let column = ColumnRef::new(line.table, column);
        return over(catalog, Aggregate::Sum, column, 30, "revenue is");
    }
    let (discount, words) = discount(catalog, line.table);
    let (quantity, price) = (line.quantity, line.price);
    let note = format!(
        "revenue is the sum of `{}` × `{}`{words}",
        catalog.label(quantity),
        catalog.column(price).name
    );
    Candidate {
        base: line.table,
        expr: Expr::Agg(
            Aggregate::Sum,
            Amount::Product {
                quantity,
                price,
                discount,
            },
        ),
        cost: 30,
        note: Some(note),
    }
}

fn says_percent(text: &str) -> bool {
    let text = text.to_lowercase();
    let words = ["percent", "per cent", "pct", "%"];
    words.iter().any(|word| text.contains(word))
}

fn says_money(text: &str) -> bool {
    let text = text.to_lowercase();
    let words = ["eur", "usd", "dollar", "gbp", "pound", "money"];
    words.iter().any(|word| text.contains(word))
}

/// A discount is taken off only where it is plain what it means: a share of one, per cent, or money.
fn discount(catalog: &Catalog, at: usize) -> (Option<(ColumnRef, Discount)>, String) {
    let mut columns = catalog.table(at).columns.iter().enumerate();
    let is_discount =
        |c: &Column| c.is_numeric() && name_stems(&c.plain).iter().any(|s| s == "discount");
    let Some((place, column)) = columns.find(|(_, c)| is_discount(c)) else {
        return (None, String::new());
    };
    let name = &column.name;
    let largest = column.max.as_deref().and_then(|m| m.parse::<f64>().ok());
    let is_percent = says_percent(name);
    let is_amount = name_stems(&column.plain).iter().any(|s| s == "amount");
    let is_money = !is_percent && (is_amount || says_money(name));
    // The name comes before the description, where "amount" is said of any number.
    let (kind, words) = if is_percent || !is_money && says_percent(&column.description) {
        (Discount::Percent, format!(", less `{name}` per cent"))
    } else if is_money || says_money(&column.description) {
        (Discount::Taken, format!(", less `{name}`"))
    } else if largest.is_some_and(|max| max <= 1.0) {
        (Discount::Share, format!(", less the share `{name}`"))
    } else {
        return (None, format!(", before `{name}`"));
    };
    (Some((ColumnRef::new(at, place), kind)), words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the discount of a line means, by its name and its description.
    fn meaning(name: &str, description: &str) -> Option<Discount> {
        let column = |name: &str, description: &str| {
            json!({
                "name": name, "type": "REAL", "description": description, "min": "0.1", "max": "0.3",
            })
        };
        let columns = [
            column("quantity", ""),
            column("price", ""),
            column(name, description),
        ];
        let lines = json!({
            "datasource": "shop", "dialect": "sqlite", "table": "main.lines", "type": "TABLE", "columns": columns,
            "primary_key": [], "row_count": 3, "foreign_keys": [],
        });
        let catalog = Catalog::parse(&json!({"tables": [lines]}).to_string()).unwrap();
        discount(&catalog, 0).0.map(|(_, kind)| kind)
    }

    #[test]
    fn amount_in_a_description_does_not_make_a_discount_money() {
        let share = meaning("discount", "Amount of the discount, from 0 to 1");
        assert_eq!(share, Some(Discount::Share));
        let taken = meaning("discount", "Taken off the line, in euros");
        assert_eq!(taken, Some(Discount::Taken));
    }

    #[test]
    fn name_of_a_discount_comes_before_its_description() {
        let percent = meaning("discount_pct", "Amount in dollars that is not charged");
        assert_eq!(percent, Some(Discount::Percent));
        let taken = meaning("discount_amount", "About 10 percent of the price");
        assert_eq!(taken, Some(Discount::Taken));
    }
}
