//! Whether the result of an answer is an accepted one.
//!
//! The rows are compared as a multiset, unless their order counts. Each accepted column is found in the answer by its
//! values, wherever it stands and whatever its name is; the answer may have a few columns more, but no other figure.

use std::{
    cmp::Ordering,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use crate::cells::{Cell, Rounding};

/// Ways to find the columns that are tried before the results count as different. More than a few exist only where
/// several columns have the same values in other orders.
const MAX_WAYS: usize = 2_000;
/// Rows, alike but for numbers, that are matched one by one. In larger groups they are compared in order of their
/// numbers, which fails only if numbers that are the same within the tolerance stand in another order.
const MAX_MATCHED: usize = 300;
/// Cells that are compared before the results count as different. It bounds the time for results with many columns that
/// are alike: the ways to choose among them grow faster than any number of columns.
const MAX_STEPS: usize = 5_000_000;

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
    /// Whether answers are rounded, for each column. A column without an entry is not.
    pub roundings: Vec<Rounding>,
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

impl Gold {
    fn rounding(&self, column: usize) -> Rounding {
        let rounding = self.roundings.get(column).copied();
        rounding.unwrap_or(Rounding::None)
    }
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
    // A result that is larger than the limit is compared all the same, if there is one way to find its columns.
    let steps = Steps::new(MAX_STEPS.max(8 * answer.len() * first.len()));
    let candidates = candidates(gold, answer, &steps)?;
    let is_number = |row: &Vec<Cell>, at: usize| matches!(row.get(at), Some(Cell::Number(_)));
    let figures = figures.iter().copied();
    let figures = figures.filter(|at| answer.iter().any(|row| is_number(row, *at)));
    let mut search = Search {
        gold,
        answer,
        candidates: &candidates,
        steps: &steps,
        figures: figures.collect(),
        other_figure: None,
        ways: 0,
        was_alike: false,
        is_chosen: vec![false; first.len()],
    };
    match search.found(&mut Vec::new()) {
        true => Ok(()),
        false => Err(search.why()),
    }
}

/// How many cells may still be compared.
struct Steps(std::cell::Cell<usize>);

impl Steps {
    fn new(count: usize) -> Self {
        Self(std::cell::Cell::new(count))
    }

    /// Whether so many cells may be compared, which then count.
    fn take(&self, count: usize) -> bool {
        let rest = self.0.get().checked_sub(count);
        self.0.set(rest.unwrap_or(0));
        rest.is_some()
    }

    fn are_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// The values of one column, without the order of the rows.
struct Column<'a> {
    /// Its numbers, in order.
    numbers: Vec<&'a Cell>,
    /// A hash of its other values, and of how many numbers there are.
    names: u64,
    /// A hash of all its values.
    content: u64,
}

impl<'a> Column<'a> {
    fn of(rows: &'a Rows, at: usize) -> Self {
        let mut cells: Vec<&Cell> = rows.iter().map(|row| &row[at]).collect();
        cells.sort_by(|one, other| name(one).cmp(&name(other)).then(by_number(one, other)));
        let mut names = DefaultHasher::new();
        let mut content = DefaultHasher::new();
        for cell in &cells {
            name(cell).hash(&mut names);
            if let Cell::Number(number) = cell {
                (number.value.to_bits(), number.whole).hash(&mut content);
            }
        }
        let names = names.finish();
        names.hash(&mut content);
        cells.retain(|cell| matches!(cell, Cell::Number(_)));
        Self {
            numbers: cells,
            names,
            content: content.finish(),
        }
    }

    /// Whether the column of an answer has the same values.
    fn accepts(&self, answer: &Self, rounding: Rounding, steps: &Steps) -> bool {
        if self.content == answer.content {
            return true;
        }
        let accepts = |one: usize, other: usize| {
            steps.take(1) && self.numbers[one].accepts(answer.numbers[other], rounding)
        };
        self.names == answer.names
            && self.numbers.len() == answer.numbers.len()
            && same_group(self.numbers.len(), &accepts)
    }
}

/// For each accepted column the columns of the answer with the same values, the likeliest first.
fn candidates(gold: &Gold, answer: &Rows, steps: &Steps) -> Result<Vec<Vec<usize>>, String> {
    let width = answer.first().map_or(0, Vec::len);
    let columns: Vec<Column> = (0..width).map(|at| Column::of(answer, at)).collect();
    let of = |at: usize| {
        let rounding = gold.rounding(at);
        let column = Column::of(&gold.rows, at);
        let is_same = |other: &usize| column.accepts(&columns[*other], rounding, steps);
        let mut found: Vec<usize> = (0..width).filter(is_same).collect();
        if found.len() > 1 {
            // Two statements often give their rows in one order and their columns too.
            found.sort_by_key(|other| *other != at);
            let is_same_by_row = |other: &usize| {
                let mut pairs = gold.rows.iter().zip(answer);
                pairs.all(|(one, row)| steps.take(1) && one[at].accepts(&row[*other], rounding))
            };
            if let Some(best) = found.iter().position(is_same_by_row) {
                found[..=best].rotate_right(1);
            }
        }
        match found.is_empty() {
            true => Err(format!(
                "no column holds the values of column {} ({})",
                at + 1,
                sample(gold, at)
            )),
            false => Ok(found),
        }
    };
    (0..gold.columns).map(of).collect()
}

fn sample(gold: &Gold, at: usize) -> String {
    let shown = gold.rows.iter().take(3).map(|row| match &row[at] {
        Cell::Null => "NULL".to_owned(),
        Cell::Number(number) => number.value.to_string(),
        Cell::Text(text) => text.chars().take(40).collect(),
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if gold.rows.len() > 3 {
        text.push_str(", …");
    }
    text
}

struct Search<'a> {
    gold: &'a Gold,
    answer: &'a Rows,
    candidates: &'a [Vec<usize>],
    steps: &'a Steps,
    /// Columns that the answer may have only if they are chosen.
    figures: Vec<usize>,
    /// One of them that was not, though the rows of the chosen ones were the same.
    other_figure: Option<usize>,
    ways: usize,
    /// Whether some way gave the same rows in another order.
    was_alike: bool,
    /// Of each column of the answer, whether it is chosen.
    is_chosen: Vec<bool>,
}

impl Search<'_> {
    /// Extends a choice of columns to one with which the results are the same.
    fn found(&mut self, chosen: &mut Vec<usize>) -> bool {
        let candidates = self.candidates;
        let Some(candidates) = candidates.get(chosen.len()) else {
            self.ways += 1;
            return self.is_same(chosen) && self.has_no_other_figure(chosen);
        };
        for candidate in candidates {
            if self.ways >= MAX_WAYS || !self.steps.take(1) {
                break;
            }
            if self.is_chosen[*candidate] {
                continue;
            }
            self.is_chosen[*candidate] = true;
            chosen.push(*candidate);
            if self.found(chosen) {
                return true;
            }
            chosen.pop();
            self.is_chosen[*candidate] = false;
        }
        false
    }

    fn has_no_other_figure(&mut self, chosen: &[usize]) -> bool {
        let is_asked_for = |at: usize| {
            let mut chosen = chosen.iter().enumerate();
            chosen.any(|(place, one)| self.is_same_column(*one, at, self.gold.rounding(place)))
        };
        let mut figures = self.figures.iter().copied();
        let other = figures.find(|at| !is_asked_for(*at));
        self.other_figure = other.or(self.other_figure);
        other.is_none()
    }

    /// Whether two columns of the answer have the same values, row by row. The same values in other rows do not do.
    fn is_same_column(&self, one: usize, other: usize, rounding: Rounding) -> bool {
        let mut rows = self.answer.iter();
        one == other || rows.all(|row| row[one].accepts(&row[other], rounding))
    }

    /// Why no way was found.
    fn why(&self) -> String {
        match self.other_figure {
            Some(at) => format!("column {} is a figure that was not asked for", at + 1),
            None if self.was_alike => "the same rows in another order".to_owned(),
            None if self.steps.are_spent() => {
                "the same values in each column, but too many columns that are alike".to_owned()
            }
            None => "the same values in each column, but other rows".to_owned(),
        }
    }

    fn is_same(&mut self, chosen: &[usize]) -> bool {
        if !self.steps.take(self.answer.len() * chosen.len()) {
            return false;
        }
        let gold: Vec<Row> = self.gold.rows.iter().map(|row| Row::of(row)).collect();
        let answer = self.answer.iter();
        let answer = answer.map(|row| Row::new(chosen.iter().map(|at| &row[*at]).collect()));
        let answer: Vec<Row> = answer.collect();
        let pairs = Pairs {
            gold: self.gold,
            steps: self.steps,
        };
        if !pairs.same_rows(&gold, &answer) {
            return false;
        }
        let is_same = match &self.gold.order {
            Order::Any => true,
            Order::Exact => pairs.same_in_order(&gold, &answer),
            Order::By(keys) => pairs.same_groups(&gold, &answer, keys),
        };
        self.was_alike |= !is_same;
        is_same
    }
}

/// A row with the columns that are compared.
struct Row<'a> {
    cells: Vec<&'a Cell>,
    /// A hash of its texts. Numbers are not among them, since they may be the same without being equal.
    names: u64,
}

impl<'a> Row<'a> {
    fn new(cells: Vec<&'a Cell>) -> Self {
        let mut names = DefaultHasher::new();
        for (at, cell) in cells.iter().enumerate() {
            if !matches!(cell, Cell::Number(_)) {
                (at, name(cell)).hash(&mut names);
            }
        }
        let names = names.finish();
        Self { cells, names }
    }

    fn of(row: &'a [Cell]) -> Self {
        Self::new(row.iter().collect())
    }
}

/// Compares accepted rows with those of an answer, whose columns stand in the same order.
struct Pairs<'a> {
    gold: &'a Gold,
    steps: &'a Steps,
}

impl Pairs<'_> {
    fn same_row(&self, gold: &Row, answer: &Row) -> bool {
        let mut pairs = gold.cells.iter().zip(&answer.cells).enumerate();
        self.steps.take(gold.cells.len())
            && pairs.all(|(at, (one, other))| one.accepts(other, self.gold.rounding(at)))
    }

    fn same_in_order(&self, gold: &[Row], answer: &[Row]) -> bool {
        let mut pairs = gold.iter().zip(answer);
        pairs.all(|(one, other)| self.same_row(one, other))
    }

    /// Whether each run of rows with the same keys has the same rows at the same place.
    fn same_groups(&self, gold: &[Row], answer: &[Row], keys: &[usize]) -> bool {
        let mut from = 0;
        while from < gold.len() {
            let is_tied = |row: &&Row| {
                let mut keys = keys.iter();
                keys.all(|key| row.cells[*key] == gold[from].cells[*key])
            };
            let until = from + gold[from..].iter().take_while(is_tied).count();
            if !self.same_rows(&gold[from..until], &answer[from..until]) {
                return false;
            }
            from = until;
        }
        true
    }

    /// Whether two lists hold the same rows, each as often.
    fn same_rows(&self, gold: &[Row], answer: &[Row]) -> bool {
        let (gold, answer) = (sorted(gold), sorted(answer));
        let (mut gold, mut answer) = (&gold[..], &answer[..]);
        if gold.len() != answer.len() {
            return false;
        }
        while let Some(first) = gold.first() {
            let length = |rows: &[&Row]| {
                let alike = rows.iter().take_while(|row| row.names == first.names);
                alike.count()
            };
            let (ours, theirs) = (length(gold), length(answer));
            let accepts = |one: usize, other: usize| self.same_row(gold[one], answer[other]);
            if ours != theirs || !same_group(ours, &accepts) {
                return false;
            }
            (gold, answer) = (&gold[ours..], &answer[ours..]);
        }
        true
    }
}

/// Whether so many rows that differ in numbers only are the same, each as often. `accepts` compares the accepted one at
/// the first place with that of the answer at the second; both lists are in order.
fn same_group(count: usize, accepts: &impl Fn(usize, usize) -> bool) -> bool {
    (0..count).all(|at| accepts(at, at)) || (count <= MAX_MATCHED && matched(count, accepts))
}

/// Finds a partner for each row, by augmenting paths.
fn matched(count: usize, accepts: &impl Fn(usize, usize) -> bool) -> bool {
    let mut partner: Vec<Option<usize>> = vec![None; count];
    (0..count).all(|row| augment(row, accepts, &mut partner, &mut vec![false; count]))
}

fn augment(
    row: usize,
    accepts: &impl Fn(usize, usize) -> bool,
    partner: &mut [Option<usize>],
    visited: &mut [bool],
) -> bool {
    for other in 0..partner.len() {
        if visited[other] || !accepts(row, other) {
            continue;
        }
        visited[other] = true;
        let is_free = match partner[other] {
            None => true,
            Some(before) => augment(before, accepts, partner, visited),
        };
        if is_free {
            partner[other] = Some(row);
            return true;
        }
    }
    false
}

/// The rows by their texts, then by their numbers.
fn sorted<'a>(rows: &'a [Row<'a>]) -> Vec<&'a Row<'a>> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|one, other| {
        let pairs = one.cells.iter().zip(&other.cells);
        let mut orders = pairs.map(|(one, other)| by_number(one, other));
        let names = one.names.cmp(&other.names);
        names.then_with(|| {
            let first = orders.find(|order| order.is_ne());
            first.unwrap_or(Ordering::Equal)
        })
    });
    rows
}

/// The order of two numbers; other cells have none.
fn by_number(one: &Cell, other: &Cell) -> Ordering {
    match (one, other) {
        (Cell::Number(one), Cell::Number(other)) => {
            let values = one.value.total_cmp(&other.value);
            values.then(one.whole.cmp(&other.whole))
        }
        _ => Ordering::Equal,
    }
}

/// The text of a cell; numbers have the same.
fn name(cell: &Cell) -> (u8, &str) {
    match cell {
        Cell::Null => (0, ""),
        Cell::Number(_) => (1, ""),
        Cell::Text(text) => (2, text.as_str()),
    }
}

#[cfg(test)]
mod tests;
