//! A question as a row of items: operators, names, literals, and words without a role.

use super::lexis::Op;
use super::link::{Hit, Target};
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
        }
    }

    /// Whether this is that operator.
    pub fn is(&self, op: Op) -> bool {
        self.kind == Kind::Op(op)
    }

    /// The operator, if it is one.
    pub fn op(&self) -> Option<Op> {
        match self.kind {
            Kind::Op(op) => Some(op),
            _ => None,
        }
    }

    /// The best score among meanings that `fits` accepts.
    fn best(&self, fits: fn(&Target) -> bool) -> f32 {
        let scores = self
            .hits
            .iter()
            .filter(|h| fits(&h.target))
            .map(|h| h.score);
        scores.fold(0.0, f32::max)
    }

    /// The table that it names best of all.
    pub fn best_table(&self) -> Option<usize> {
        let names = self.is_name() && self.table() >= self.column();
        let tables = self
            .hits
            .iter()
            .filter(|_| names)
            .filter_map(|h| match h.target {
                Target::Table(t) => Some((t, h.score)),
                _ => None,
            });
        tables.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(t, _)| t)
    }

    /// How well it names a table.
    pub fn table(&self) -> f32 {
        self.best(|t| matches!(t, Target::Table(_)))
    }

    /// How well it names a column.
    pub fn column(&self) -> f32 {
        self.best(|t| matches!(t, Target::Column(_)))
    }

    /// How well it names a value.
    pub fn value(&self) -> f32 {
        self.best(|t| matches!(t, Target::Value(..)))
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

/// Whether one of the items is an operation out of reach, whatever values are found.
pub fn is_out_of_reach(items: &[Item]) -> bool {
    items.iter().any(|i| i.is(Op::Beyond))
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
