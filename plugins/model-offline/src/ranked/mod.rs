//! Ranked readings: the words of a question are linked to the catalog, the question is taken apart, and the best
//! fitting tables and columns become one query. What has no reading, or two that fit alike, is said.

mod follow;
mod forms;
mod frame;
mod hit;
mod items;
mod join;
mod keys;
mod lengths;
mod lexis;
mod link;
mod outputs;
mod pair;
mod parse;
mod pronouns;
mod read;
mod requests;
mod resolve;
mod rivals;
mod sentences;
mod standing;
mod terms;
mod times;

use jiff::civil::Date;

pub use join::Graph;
pub use keys::infer as infer_keys;

use follow::Asked;
use items::Item;
use lexis::Op;
use parse::Stuck;
use resolve::Trouble;

use crate::catalog::Catalog;
use crate::query::Query;

/// Why a question has no reading.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// It could not be taken apart.
    Stuck(Stuck),
    /// Its names could not be told.
    Trouble(Trouble),
}

/// How many columns a refusal names.
const MOST_NAMED: usize = 4;

/// The best reading of a question, which may go on from those before it.
pub fn understand(
    catalog: &Catalog,
    question: &str,
    earlier: &[String],
    today: Option<Date>,
) -> Result<Query, Failure> {
    let reader = Reader {
        catalog,
        index: link::Index::of(catalog),
        today,
    };
    let (items, goes_on) = reader.items(question);
    if earlier.is_empty() && follow::only_groups(&items) {
        return Err(Failure::Stuck(Stuck::Goes));
    }
    let goes_on = goes_on && !earlier.is_empty();
    let asked = reader.asked(items, goes_on, || reader.last(earlier));
    asked.0.map(|asked| asked.query)
}

struct Reader<'a> {
    catalog: &'a Catalog,
    index: link::Index,
    today: Option<Date>,
}

impl Reader<'_> {
    /// The items of a question, and whether it goes on from another one.
    fn items(&self, question: &str) -> (Vec<Item>, bool) {
        // A word that brackets define and that is no value has done its part.
        let settled = |mut item: Item| {
            if item.kind == items::Kind::Unknown && item.optional {
                item.kind = items::Kind::Soft;
            }
            item
        };
        follow::read_next(question, |text| {
            let items = read::read(text, &self.index, self.today);
            items.into_iter().map(settled).collect()
        })
    }

    /// The last question that was answered, if the next one can go on from it. No more is read than that takes.
    fn last(&self, earlier: &[String]) -> Option<Asked> {
        let (question, before) = earlier.split_last()?;
        let (items, goes_on) = self.items(question);
        match self.asked(items, goes_on, || self.last(before)) {
            (Ok(asked), _) => Some(asked),
            // What was declined has no words to go on from; the question before it still holds.
            (Err(_), last) => last,
        }
    }

    /// The reading of a question, and the last one that was answered, if it goes on from that.
    fn asked(
        &self,
        items: Vec<Item>,
        goes_on: bool,
        last: impl FnOnce() -> Option<Asked>,
    ) -> (Result<Asked, Failure>, Option<Asked>) {
        if let Some(at) = pronouns::place(&items) {
            let last = last();
            return (self.carried(items, at, last.as_ref()), last);
        }
        if !goes_on {
            return (self.resolved(items), None);
        }
        let last = last();
        let items = match &last {
            Some(last) => follow::with_last(self.catalog, items, last),
            None => Err(Stuck::Goes),
        };
        let asked = items.map_err(Failure::Stuck);
        (asked.and_then(|items| self.resolved(items)), last)
    }

    fn resolved(&self, items: Vec<Item>) -> Result<Asked, Failure> {
        let defined = items
            .iter()
            .filter(|i| i.kind == items::Kind::Soft && i.optional);
        let note = |i: &Item| format!("\"{}\" is what the brackets behind it say", i.text);
        let mut notes: Vec<String> = defined.map(note).collect();
        // "in square kilometers"
        let is_unit = |i: &&Item| {
            let last = i.text.rsplit_once(' ').map(|words| words.1);
            i.kind == items::Kind::Soft && last.is_some_and(|word| forms::unit(word).is_some())
        };
        let note = |i: &Item| format!("\"{}\" changes no value", i.text);
        notes.extend(items.iter().filter(is_unit).map(note));
        let paired = self.paired(&items);
        let mut asked = paired.unwrap_or_else(|| self.single(items, false))?;
        asked.query.notes.extend(notes);
        Ok(asked)
    }

    /// The reading of a question for one figure, or for rows.
    fn single(&self, items: Vec<Item>, is_part: bool) -> Result<Asked, Failure> {
        let items = standing::halves(self.catalog, items);
        let items = rivals::settle(self.catalog, items);
        let items = standing::settle(self.catalog, &self.index, items)?;
        let mut frame = parse::parse(self.catalog, &items).map_err(Failure::Stuck)?;
        frame.is_part = is_part;
        let mut query = resolve::resolve(self.catalog, &items, &frame).map_err(Failure::Trouble)?;
        let to_come = times::to_come(self.catalog, &query, self.today);
        query.notes.extend(to_come);
        Ok(Asked {
            items,
            frame,
            query,
        })
    }

    /// A question about "their" rows, which are those of the last one with all its conditions.
    fn carried(&self, items: Vec<Item>, at: usize, last: Option<&Asked>) -> Result<Asked, Failure> {
        let word = items[at].text.clone();
        let refers = || Failure::Stuck(Stuck::Refers(word.clone()));
        let last = last.ok_or_else(refers)?;
        let items = pronouns::replaced(items, at, last).ok_or_else(refers)?;
        let mut asked = self.resolved(items).map_err(|_| refers())?;
        if !pronouns::keeps(&asked.query, &last.query) {
            return Err(refers());
        }
        let rows = &self.catalog.table(last.query.source.base).name;
        asked.query.notes.push(format!(
            "\"{word}\" stands for the `{rows}` of the question before"
        ));
        Ok(asked)
    }
}

/// The one table that a question names, if it names nothing else of the catalog. `asking` are words that only ask.
pub fn only_table(catalog: &Catalog, question: &str, asking: &str) -> Option<usize> {
    let index = link::Index::of(catalog);
    let items = read::read(question, &index, None);
    let asks = |i: &&Item| lexis::holds(asking, &i.text.to_lowercase());
    let others = items
        .iter()
        .filter(|i| !asks(i) && !i.optional && i.op().is_none());
    let mut named = others.filter(|i| i.kind != items::Kind::Soft);
    match (named.next(), named.next()) {
        (Some(only), None) => only.best_table(),
        _ => None,
    }
}

/// Texts of the question that may be values: quoted, with a capital, or unknown. There are none where the question has
/// no reading, whatever values they turn out to be.
pub fn sought(catalog: &Catalog, question: &str, today: Option<Date>) -> Vec<String> {
    let items = read::read(question, &link::Index::of(catalog), today);
    match items.iter().any(|i| i.is(Op::Beyond)) {
        true => Vec::new(),
        false => items::sought(&items),
    }
}

impl Failure {
    /// The problem in a sentence or two.
    pub fn sentence(&self) -> String {
        match self {
            Self::Stuck(Stuck::Unknown(words)) => {
                let list: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
                format!(
                    "I did not understand {}: I find no table, column or known value for it, and I will not \
                     answer a question with parts of it left out.",
                    list.join(", ")
                )
            }
            Self::Stuck(Stuck::Unclear(word)) => {
                format!(
                    "I cannot tell what \"{word}\" asks for here, and I will not answer a question with parts of it \
                     left out."
                )
            }
            Self::Stuck(Stuck::Date(words, trouble)) => trouble.sentence(words),
            Self::Stuck(Stuck::Goes) => {
                "I cannot tell what of the question before still holds. Please ask the whole question.".to_owned()
            }
            Self::Stuck(Stuck::Refers(word)) => {
                format!(
                    "I cannot tell what \"{word}\" stands for here. Each question must name what it is about."
                )
            }
            Self::Stuck(Stuck::Several(words, choices)) | Self::Trouble(Trouble::Ambiguous(words, choices)) => {
                let list: Vec<String> = choices.iter().map(|c| format!("`{c}`")).collect();
                format!("\"{words}\" can mean several things here: {}. Please say which one you mean.", list.join(", "))
            }
            Self::Trouble(Trouble::NoWay(_)) => {
                "I found no single way between the tables of that question over the foreign keys, so I cannot combine \
                 them."
                    .to_owned()
            }
            Self::Trouble(Trouble::Weak(words, name)) => {
                format!(
                    "I am not sure that \"{words}\" means {name}, so I do not answer. Please use the names of the \
                     catalog."
                )
            }
            Self::Trouble(Trouble::Apart(words, columns)) if columns.is_empty() => {
                format!("I cannot tell which column \"{words}\" is about, so I do not answer. Please name the column.")
            }
            Self::Trouble(Trouble::Apart(words, columns)) => {
                let list: Vec<String> = columns.iter().take(MOST_NAMED).map(|c| format!("`{c}`")).collect();
                format!(
                    "\"{words}\" may mean {}, but I am not sure how that belongs to the rest of the question, so I do \
                     not answer. Please use the names of the catalog.",
                    list.join(" or ")
                )
            }
            Self::Trouble(Trouble::Taught(name)) => {
                format!(
                    "\"{name}\" is a metric of this Mind, and its definition does not lead to what you ask it for. Ask \
                     for it by its bare name, or for what each of its rows belongs to."
                )
            }
            Self::Trouble(Trouble::Shape(shape)) => {
                format!("The question needs {shape}, which I cannot put together. Please ask for one thing at a time.")
            }
        }
    }
}
