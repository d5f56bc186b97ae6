//! Which tables and columns can give the figure that is asked for; the resolver tries each.

use crate::catalog::{Catalog, ColumnRef, Kind, Table};
use crate::mentions::Mention;
use crate::names::Target;
use crate::pick::{concept_column, date_column};
use crate::problem::Problem;
use crate::query::{Amount, Discount, Expr};
use crate::reach::children;
use crate::sketch::{Ask, Sketch};
use crate::vocabulary::{Aggregate, canonical};
use crate::words::name_stems;

/// A figure over the rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The table whose rows are gone through.
    pub base: usize,
    /// The figure.
    pub expr: Expr,
    /// Its name in words: "number of orders".
    pub title: String,
    /// Its name as a column of the result.
    pub name: String,
    /// Candidates of a lower cost go first.
    pub cost: i32,
    /// How the words were read, when that is not plain.
    pub note: Option<String>,
    /// A table whose rows are what is counted, though the base is another.
    pub counts: Option<usize>,
}

/// All candidates for what the question asks to be worked out.
pub fn candidates(
    catalog: &Catalog,
    mentions: &[Mention],
    ask: Ask,
    sketch: &Sketch,
) -> Result<Vec<Candidate>, Problem> {
    let mention = &mentions[ask.mention()];
    let found = match ask {
        Ask::Count(_) if sketch.sold.is_some() => sold(catalog, mention),
        Ask::Count(_) => counts(catalog, mention, sketch.distinct),
        Ask::Aggregate(function, _) => aggregates(catalog, mention, function),
        Ask::Revenue(_) => revenue(catalog),
        Ask::Units(_) => units(catalog),
        Ask::Rated(_) => rated(catalog),
    };
    if found.is_empty() {
        return Err(Problem::unsupported(match ask {
            Ask::Revenue(_) => format!(
                "I find no column from which I can tell \"{}\".",
                mention.text
            ),
            Ask::Units(_) => "I find no table of sold things with a quantity.".to_owned(),
            Ask::Rated(_) => "I find no column that holds ratings.".to_owned(),
            _ => format!(
                "I find no column for \"{}\" that I could calculate with.",
                mention.text
            ),
        }));
    }
    Ok(found)
}

/// Words for the rows of a table.
pub fn plural(table: &Table) -> String {
    table.name.replace('_', " ")
}

/// The number of rows of a table: also over the rows that refer to it, each row counted once.
pub fn counts_of(catalog: &Catalog, table: usize, cost: i32) -> Vec<Candidate> {
    let noun = plural(catalog.table(table));
    let title = format!("number of {noun}");
    let direct = Candidate {
        base: table,
        expr: Expr::Count(None),
        title: title.clone(),
        name: noun.replace(' ', "_"),
        cost,
        note: None,
        counts: None,
    };
    let over_children = children(catalog, table)
        .into_iter()
        .filter(|s| !catalog.table(s.from).is_view())
        // Two keys to the table: which one is meant is not said.
        .filter(|s| {
            let keys = &catalog.table(s.from).foreign_keys;
            keys.iter().filter(|k| k.target == table).count() == 1
        })
        .map(|step| {
            let key = &catalog.table(step.from).foreign_keys[step.key];
            Candidate {
                base: step.from,
                expr: Expr::Count(Some(ColumnRef {
                    table: step.from,
                    column: key.columns[0],
                })),
                title: title.clone(),
                name: noun.replace(' ', "_"),
                cost: cost + 20,
                note: Some(format!(
                    "each of the {noun} is counted once, through `{}`",
                    catalog.table(step.from).name
                )),
                counts: Some(table),
            }
        });
    std::iter::once(direct).chain(over_children).collect()
}

fn counts(catalog: &Catalog, mention: &Mention, distinct: bool) -> Vec<Candidate> {
    let top = mention.tables().map(|(_, s)| s).max().unwrap_or(0);
    let best_column = mention.name_score();
    let tables = mention
        .tables()
        .filter(|(_, s)| *s + 10 > top && *s + 10 > best_column);
    let mut found: Vec<Candidate> = tables
        .flat_map(|(t, s)| counts_of(catalog, t, 100 - s))
        .collect();
    if found.is_empty() || distinct {
        for hit in &mention.hits {
            let Target::Column(column) = hit.target else {
                continue;
            };
            // The word names the table: no column that only shares a part of the name.
            if !found.is_empty() && hit.score + 10 <= top {
                continue;
            }
            found.push(Candidate {
                base: column.table,
                expr: Expr::Count(Some(column)),
                title: format!("number of different values of {}", catalog.label(column)),
                name: format!("distinct_{}", catalog.column(column).name),
                cost: 100 - hit.score + 5,
                note: None,
                counts: None,
            });
        }
    }
    found
}

fn aggregates(catalog: &Catalog, mention: &Mention, function: Aggregate) -> Vec<Candidate> {
    let adds = matches!(function, Aggregate::Sum | Aggregate::Average);
    let usable = |c: ColumnRef| {
        let key = catalog.table(c.table).is_key(c.column);
        let column = catalog.column(c);
        (column.is_numeric() && !key) || (!adds && column.kind == Kind::Date)
    };
    let columns = mention.hits.iter().filter_map(|h| match h.target {
        Target::Column(c) if usable(c) => {
            Some(aggregate(catalog, function, c, 100 - h.score, false))
        }
        _ => None,
    });
    let tables = mention.tables().filter_map(|(t, score)| {
        let amount = concept_column(catalog.table(t), "amount")?;
        Some(aggregate(
            catalog,
            function,
            ColumnRef {
                table: t,
                column: amount,
            },
            130 - score,
            true,
        ))
    });
    columns.chain(tables).collect()
}

fn aggregate(
    catalog: &Catalog,
    function: Aggregate,
    column: ColumnRef,
    cost: i32,
    guessed: bool,
) -> Candidate {
    let word = match function {
        Aggregate::Sum => "total",
        Aggregate::Average => "average",
        Aggregate::Min => "lowest",
        Aggregate::Max => "highest",
    };
    let name = &catalog.column(column).name;
    let table = catalog.table(column.table);
    let word = match (catalog.column(column).kind, function) {
        (Kind::Date, Aggregate::Min) => "earliest",
        (Kind::Date, _) => "latest",
        _ => word,
    };
    Candidate {
        base: column.table,
        expr: Expr::Agg(function, Amount::Column(column)),
        title: format!("{word} {} of {}", name.replace('_', " "), plural(table)),
        name: format!("{word}_{name}"),
        cost,
        note: guessed.then(|| format!("the amount is `{}`", catalog.label(column))),
        counts: None,
    }
}

/// Dates of a table, for "when was the first order".
pub fn dated(catalog: &Catalog, table: usize, latest: bool) -> Option<Candidate> {
    let column = ColumnRef {
        table,
        column: date_column(catalog.table(table))?,
    };
    let function = if latest {
        Aggregate::Max
    } else {
        Aggregate::Min
    };
    Some(aggregate(catalog, function, column, 0, false))
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
        title: "number of units sold".to_owned(),
        name: "units_sold".to_owned(),
        cost: 0,
        note: Some(format!(
            "units sold are the sum of `{}`",
            catalog.label(l.quantity)
        )),
        counts: None,
    };
    lines(catalog).iter().map(one).collect()
}

/// "how many products were sold": units, where the table is what the lines refer to.
fn sold(catalog: &Catalog, mention: &Mention) -> Vec<Candidate> {
    let tables: Vec<usize> = mention.tables().map(|(t, _)| t).collect();
    let refers = |base: usize| {
        catalog
            .table(base)
            .foreign_keys
            .iter()
            .any(|k| tables.contains(&k.target))
    };
    let mut found = units(catalog);
    found.retain(|c| refers(c.base) || tables.contains(&c.base));
    found
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

fn taken(base: usize, expr: Expr, cost: i32, note: String) -> Candidate {
    Candidate {
        base,
        expr,
        title: "total revenue".into(),
        name: "revenue".into(),
        cost,
        note: Some(note),
        counts: None,
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
        .map(|c| aggregate(catalog, Aggregate::Average, c, 0, false))
        .collect()
}
