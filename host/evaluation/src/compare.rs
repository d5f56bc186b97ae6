//! Whether the result of an answer is an accepted one.
//!
//! The rows are compared as a multiset, unless their order counts. Each accepted column is found in the answer by its
//! values, wherever it stands and whatever its name is; the answer may have a few columns more, but no other figure.

use serde_json::Value;

use crate::cells::{Cell, Rounding};

/// Ways to find the columns that are tried before the results count as different. More than a few exist only where
/// several columns have the same values in other orders.
const MAX_WAYS: usize = 2_000;
/// Rows, alike but for numbers, that are matched one by one. In larger groups they are compared in order of their
/// numbers, which fails only if numbers that are the same within the tolerance stand in another order.
const MAX_MATCHED: usize = 300;

/// A result, as rows of cells.
pub type Rows = Vec<Vec<Cell>>;

/// An accepted result.
#[derive(Clone, Debug)]
pub struct Gold {
    /// Its rows; each has the same number of cells.
    pub rows: Rows,
    /// Cells of each row; of an accepted statement, also if it gives no rows.
    pub columns: usize,
    /// Whether the order of the rows counts.
    pub order: Order,
    /// Whether answers are rounded.
    pub rounding: Rounding,
}

/// Whether the order of rows counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// No.
    Any,
    /// It is that of these columns: rows that have the same values there may come in any order.
    By(Vec<usize>),
    /// Each row has its place.
    Exact,
}

/// Reads rows as the API sends them.
pub fn rows(data: &[Vec<Value>]) -> Rows {
    let row = |row: &Vec<Value>| row.iter().map(Cell::of).collect();
    data.iter().map(row).collect()
}

/// Compares an answer with an accepted result. It may have so many columns more, among which are none of `figures`: an
/// answer that gives several figures does not say which of them it means. A column without a number is no figure, and
/// one that repeats an accepted column is no other figure.
///
/// # Errors
/// What differs, for a person.
pub fn compare(
    gold: &Gold,
    answer: &Rows,
    extra_columns: usize,
    figures: &[usize],
) -> Result<(), String> {
    if gold.rows.len() != answer.len() {
        return Err(format!("{} rows, not {}", answer.len(), gold.rows.len()));
    }
    let Some(first) = answer.first() else {
        return Ok(());
    };
    if first.len() < gold.columns {
        return Err(format!("{} columns, not {}", first.len(), gold.columns));
    }
    if first.len() > gold.columns + extra_columns {
        return Err(format!(
            "{} columns, and {} with up to {extra_columns} more are accepted",
            first.len(),
            gold.columns
        ));
    }
    let candidates = candidates(gold, answer)?;
    let is_number = |row: &Vec<Cell>, at: usize| matches!(row.get(at), Some(Cell::Number(_)));
    let figures = figures.iter().copied();
    let figures = figures.filter(|at| answer.iter().any(|row| is_number(row, *at)));
    let mut search = Search {
        gold,
        answer,
        candidates: &candidates,
        figures: figures.collect(),
        other_figure: None,
        ways: 0,
        was_alike: false,
    };
    match search.found(&mut Vec::new()) {
        true => Ok(()),
        false => Err(search.why()),
    }
}

/// For each accepted column the columns of the answer with the same values.
fn candidates(gold: &Gold, answer: &Rows) -> Result<Vec<Vec<usize>>, String> {
    let width = answer.first().map_or(0, Vec::len);
    let column =
        |rows: &Rows, at: usize| -> Rows { rows.iter().map(|row| vec![row[at].clone()]).collect() };
    let columns: Vec<Rows> = (0..width).map(|at| column(answer, at)).collect();
    let of = |at: usize| {
        let gold_column = column(&gold.rows, at);
        let is_same = |other: &usize| same_rows(&gold_column, &columns[*other], gold.rounding);
        let found: Vec<usize> = (0..width).filter(is_same).collect();
        match found.is_empty() {
            true => Err(format!(
                "no column holds the values of column {} ({})",
                at + 1,
                sample(&gold_column)
            )),
            false => Ok(found),
        }
    };
    (0..gold.columns).map(of).collect()
}

fn sample(column: &Rows) -> String {
    let shown = column.iter().flatten().take(3).map(|cell| match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Number(number) => number.value.to_string(),
        Cell::Text(text) => text.chars().take(40).collect(),
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if column.len() > 3 {
        text.push_str(", …");
    }
    text
}

struct Search<'a> {
    gold: &'a Gold,
    answer: &'a Rows,
    candidates: &'a [Vec<usize>],
    /// Columns that the answer may have only if they are chosen.
    figures: Vec<usize>,
    /// One of them that was not, though the rows of the chosen ones were the same.
    other_figure: Option<usize>,
    ways: usize,
    /// Whether some way gave the same rows in another order.
    was_alike: bool,
}

impl Search<'_> {
    /// Extends a choice of columns to one with which the results are the same.
    fn found(&mut self, chosen: &mut Vec<usize>) -> bool {
        let Some(candidates) = self.candidates.get(chosen.len()) else {
            self.ways += 1;
            return self.is_same(chosen) && self.has_no_other_figure(chosen);
        };
        for candidate in candidates {
            if chosen.contains(candidate) || self.ways >= MAX_WAYS {
                continue;
            }
            chosen.push(*candidate);
            if self.found(chosen) {
                return true;
            }
            chosen.pop();
        }
        false
    }

    fn has_no_other_figure(&mut self, chosen: &[usize]) -> bool {
        let is_asked_for = |at: usize| chosen.iter().any(|one| self.is_same_column(*one, at));
        let mut figures = self.figures.iter().copied();
        let other = figures.find(|at| !is_asked_for(*at));
        self.other_figure = other.or(self.other_figure);
        other.is_none()
    }

    /// Whether two columns of the answer have the same values, row by row. The same values in other rows do not do.
    fn is_same_column(&self, one: usize, other: usize) -> bool {
        let mut rows = self.answer.iter();
        one == other || rows.all(|row| row[one].accepts(&row[other], self.gold.rounding))
    }

    /// Why no way was found.
    fn why(&self) -> String {
        match self.other_figure {
            Some(at) => format!("column {} is a figure that was not asked for", at + 1),
            None if self.was_alike => "the same rows in another order".to_owned(),
            None => "the same values in each column, but other rows".to_owned(),
        }
    }

    fn is_same(&mut self, chosen: &[usize]) -> bool {
        let Gold {
            rows: gold,
            order,
            rounding,
            ..
        } = self.gold;
        let pick = |row: &Vec<Cell>| chosen.iter().map(|at| row[*at].clone()).collect();
        let answer: Rows = self.answer.iter().map(pick).collect();
        if !same_rows(gold, &answer, *rounding) {
            return false;
        }
        let is_same = match order {
            Order::Any => true,
            Order::Exact => gold
                .iter()
                .zip(&answer)
                .all(|(one, other)| same_row(one, other, *rounding)),
            Order::By(keys) => same_groups(gold, &answer, keys, *rounding),
        };
        self.was_alike |= !is_same;
        is_same
    }
}

/// Whether each run of rows with the same keys has the same rows at the same place.
fn same_groups(gold: &Rows, answer: &Rows, keys: &[usize], rounding: Rounding) -> bool {
    let mut from = 0;
    while from < gold.len() {
        let is_tied = |row: &Vec<Cell>| keys.iter().all(|key| row[*key] == gold[from][*key]);
        let length = gold[from..].iter().take_while(|row| is_tied(row)).count();
        let until = from + length;
        if !same_rows(&gold[from..until], &answer[from..until], rounding) {
            return false;
        }
        from = until;
    }
    true
}

fn same_row(gold: &[Cell], answer: &[Cell], rounding: Rounding) -> bool {
    gold.iter()
        .zip(answer)
        .all(|(one, other)| one.accepts(other, rounding))
}

/// Whether two lists hold the same rows, each as often.
fn same_rows(gold: &[Vec<Cell>], answer: &[Vec<Cell>], rounding: Rounding) -> bool {
    let (mut gold, mut answer) = (sorted(gold), sorted(answer));
    let mut is_same = gold.len() == answer.len();
    while is_same && !gold.is_empty() {
        let names = names(gold[0]);
        let length = |rows: &[&Vec<Cell>]| {
            rows.iter()
                .take_while(|row| self::names(row) == names)
                .count()
        };
        let (ours, theirs) = (length(&gold), length(&answer));
        is_same = ours == theirs && same_group(&gold[..ours], &answer[..theirs], rounding);
        gold.drain(..ours);
        answer.drain(..theirs);
    }
    is_same
}

/// Whether rows that differ in numbers only are the same, each as often.
fn same_group(gold: &[&Vec<Cell>], answer: &[&Vec<Cell>], rounding: Rounding) -> bool {
    let mut pairs = gold.iter().zip(answer);
    if pairs.all(|(one, other)| same_row(one, other, rounding)) {
        return true;
    }
    gold.len() <= MAX_MATCHED && matched(gold, answer, rounding)
}

/// Finds a partner for each row, by augmenting paths.
fn matched(gold: &[&Vec<Cell>], answer: &[&Vec<Cell>], rounding: Rounding) -> bool {
    let mut partner: Vec<Option<usize>> = vec![None; answer.len()];
    (0..gold.len()).all(|row| {
        let mut visited = vec![false; answer.len()];
        augment(row, gold, answer, rounding, &mut partner, &mut visited)
    })
}

fn augment(
    row: usize,
    gold: &[&Vec<Cell>],
    answer: &[&Vec<Cell>],
    rounding: Rounding,
    partner: &mut [Option<usize>],
    visited: &mut [bool],
) -> bool {
    for other in 0..answer.len() {
        if visited[other] || !same_row(gold[row], answer[other], rounding) {
            continue;
        }
        visited[other] = true;
        let is_free = match partner[other] {
            None => true,
            Some(before) => augment(before, gold, answer, rounding, partner, visited),
        };
        if is_free {
            partner[other] = Some(row);
            return true;
        }
    }
    false
}

/// The rows by their texts, then by their numbers.
fn sorted(rows: &[Vec<Cell>]) -> Vec<&Vec<Cell>> {
    let mut rows: Vec<&Vec<Cell>> = rows.iter().collect();
    rows.sort_by(|one, other| {
        let numbers = || {
            let pairs = one.iter().zip(other.iter());
            let mut orders = pairs.map(|pair| match pair {
                (Cell::Number(one), Cell::Number(other)) => one
                    .value
                    .total_cmp(&other.value)
                    .then(one.whole.cmp(&other.whole)),
                _ => std::cmp::Ordering::Equal,
            });
            orders
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        names(one).cmp(&names(other)).then_with(numbers)
    });
    rows
}

/// The texts of a row. Numbers are not among them, since they may be the same without being equal.
fn names(row: &[Cell]) -> Vec<(u8, &str)> {
    let name = |cell| match cell {
        &Cell::Null => (0, ""),
        &Cell::Number(_) => (1, ""),
        Cell::Text(text) => (2, text.as_str()),
    };
    row.iter().map(name).collect()
}

#[cfg(test)]
mod tests;
