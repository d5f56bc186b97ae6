//! A question as a row of items: operators, names, literals, and words without a role.

use super::lexis::{Op, holds};
use super::link::Hit;
use crate::catalog::ColumnRef;
use crate::dates::{DateTrouble, Period};
use crate::dialect::Unit;
use crate::measures::Measure;

/// What an item is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A word or phrase of the language.
    Op(Op),
    /// Something of the catalog; see the hits.
    Names,
    /// A number without quotes, in SQL's notation.
    Number(String),
    /// A quoted text; the hits are values that are it.
    Quote(String),
    /// Days.
    Period(Period),
    /// A time of day, as `HH:MM:SS`.
    Clock(String),
    /// A time that could not be read.
    BadPeriod(DateTrouble),
    /// Months and the like, which rows are grouped by.
    Unit(Unit),
    /// A figure that is defined over columns: "revenue".
    Measure(Measure),
    /// "first" and "last" (true) after "when".
    End(bool),
    /// "the first 10 rows of"
    FirstRows(u64),
    /// A word that carries nothing.
    Soft,
    /// A word that nothing explains.
    Unknown,
}

/// One word or phrase of a question with its role.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its role.
    pub kind: Kind,
    /// As written.
    pub text: String,
    /// What it may mean in the catalog.
    pub hits: Vec<Hit>,
    /// Whether it may be left without a use.
    pub optional: bool,
    /// Whether it starts with a capital or a digit inside a sentence.
    pub proper: bool,
    /// Whether it is a date of what happened to the rows: "were paid".
    pub happened: bool,
}

impl Item {
    /// An item that means nothing of the catalog.
    pub fn plain(kind: Kind, text: &str) -> Self {
        Self {
            kind,
            text: text.to_owned(),
            hits: Vec::new(),
            optional: false,
            proper: false,
            happened: false,
        }
    }

    /// Whether this is that operator.
    pub fn is(&self, op: Op) -> bool {
        self.kind == Kind::Op(op)
    }

    /// Whether its text is one of these words, whatever their case.
    pub fn says(&self, words: &str) -> bool {
        holds(words, &self.text.to_lowercase())
    }

    /// The operator, if it is one.
    pub fn op(&self) -> Option<Op> {
        match self.kind {
            Kind::Op(op) => Some(op),
            _ => None,
        }
    }

    fn best<T>(&self, part: impl Fn(&Hit) -> Option<T>) -> Option<(T, f32)> {
        let parts = self.hits.iter().filter_map(|h| Some((part(h)?, h.score)));
        parts.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How well it names a table.
    pub fn table(&self) -> f32 {
        self.best(Hit::table).map_or(0.0, |b| b.1)
    }

    /// How well it names a column.
    pub fn column(&self) -> f32 {
        self.best(Hit::column).map_or(0.0, |b| b.1)
    }

    /// How well it names a value.
    pub fn value(&self) -> f32 {
        self.best(Hit::value).map_or(0.0, |b| b.1)
    }

    /// Whether some column that it means, as well as `least`, is like that.
    pub fn has_column(&self, least: f32, is: impl Fn(ColumnRef) -> bool) -> bool {
        let columns = self
            .hits
            .iter()
            .filter(|h| h.score >= least)
            .filter_map(Hit::column);
        columns.into_iter().any(is)
    }

    /// Whether it is a value of a column like that.
    pub fn has_value(&self, is: impl Fn(ColumnRef) -> bool) -> bool {
        self.hits.iter().filter_map(Hit::value).any(is)
    }

    /// Whether it names a table, rather than a column.
    pub fn is_table(&self) -> bool {
        self.table() > 0.0 && self.table() >= self.column()
    }

    /// The table that it names best of all.
    pub fn best_table(&self) -> Option<usize> {
        let names = self.is_name() && self.table() >= self.column();
        self.best(Hit::table).filter(|_| names).map(|b| b.0)
    }

    /// Whether it is first of all a value.
    pub fn is_value(&self) -> bool {
        match self.kind {
            Kind::Quote(_) => true,
            Kind::Names => {
                self.value() > self.table().max(self.column())
                    || (self.value() > 0.0 && self.proper)
            }
            _ => false,
        }
    }

    /// Whether it is first of all the name of a table or column.
    pub fn is_name(&self) -> bool {
        self.kind == Kind::Names && !self.is_value()
    }
}

/// Texts that may be values: quoted ones, words that nothing explains, and rows of words with capitals.
pub fn sought(items: &[Item]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let open = match &item.kind {
            Kind::Quote(text) => {
                if item.hits.is_empty() {
                    texts.push(text.clone());
                }
                false
            }
            Kind::Unknown => true,
            _ => {
                item.text
                    .starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
                    && at > 0
            }
        };
        if open && !matches!(item.kind, Kind::Quote(_)) {
            run.push(&item.text);
            continue;
        }
        close(&mut run, &mut texts);
    }
    close(&mut run, &mut texts);
    texts.dedup();
    texts.truncate(12);
    texts
}

fn close(run: &mut Vec<&str>, texts: &mut Vec<String>) {
    if run.len() > 1 {
        texts.push(run.join(" "));
    }
    for word in run.drain(..) {
        if word.chars().count() > 1 && word.parse::<f64>().is_err() {
            texts.push(word.to_owned());
        }
    }
}
