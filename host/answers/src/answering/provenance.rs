//! The provenance of values that a model writes into SQL.
//!
//! A text in one database may instruct the model to copy rows from another one. So a model may not write a value that
//! it read from one datasource into a statement for another, unless the caller wrote that value. This stops literal
//! copies; an encoded value is not detected.
//!
//! One number, date or decimal identifies its origin; of a text, the complete text or two of its words do. Values that
//! are common in SQL are ignored: parts of dates, date patterns, first and last days of months, and round numbers.

mod values;

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use serde_json::{Value, json};

use self::values::ExactValue;

use mindhost_base::error::{Code, Error, Result};

/// Letters of a word that identifies its origin. Shorter words are too common.
const MIN_WORD: usize = 4;
/// Letters of a complete value.
const MIN_VALUE: usize = 3;
/// Smaller numbers are too common.
const MIN_NUMBER: u128 = 100;
/// Years are too common.
const YEARS: std::ops::RangeInclusive<u128> = 1900..=2100;

/// Common numbers: degrees, bytes and units of time.
const MEASURES: &[u128] = &[
    120, 144, 168, 180, 240, 300, 336, 360, 364, 365, 366, 720, 1_024, 1_440, 3_600, 86_400,
    604_800,
];
/// Parts of dates and of date patterns.
const TIMES: &[&str] = &[
    "century",
    "date",
    "datetime",
    "days",
    "decade",
    "epoch",
    "fmday",
    "fmmonth",
    "friday",
    "hh12",
    "hh24",
    "hour",
    "hours",
    "isodow",
    "isoyear",
    "iyyy",
    "microseconds",
    "millennium",
    "milliseconds",
    "minute",
    "minutes",
    "monday",
    "month",
    "months",
    "quarter",
    "saturday",
    "second",
    "seconds",
    "sunday",
    "thursday",
    "timestamp",
    "tuesday",
    "wednesday",
    "week",
    "weeks",
    "year",
    "years",
    "yyyy",
    "yyyymm",
    "yyyymmdd",
];

/// The origin of what an earlier answer says if that is not based on one datasource. No datasource has this name.
pub const EARLIER_ANSWER: &str = "an earlier answer";

/// What the model has read, by origin.
#[derive(Debug)]
pub struct Provenance {
    /// In UTC; days that are counted from it are common.
    today: Date,
    /// By the caller and the author of the Mind.
    said: Content,
    /// By name of the datasource.
    read: HashMap<String, Content>,
}

/// What identifies the origin of a text.
#[derive(Debug, Default)]
struct Content {
    /// In lower case, with complete texts.
    words: HashSet<String>,
    values: HashSet<ExactValue>,
    /// The complete texts among the words.
    texts: HashSet<String>,
}

impl Provenance {
    /// For an answer to these words.
    pub fn new(words: &str, today: Date) -> Self {
        let mut provenance = Self {
            today,
            said: Content::default(),
            read: HashMap::new(),
        };
        provenance.say(words);
        provenance
    }

    /// Adds words of the caller.
    pub fn say(&mut self, words: &str) {
        let mut said = Content::default();
        said.add(words, 1);
        said.add(&without_separators(words), 1);
        // Large numbers with separators: 73,421 and 73 421.
        let joined = words.replace([',', '\'', '_', '\u{a0}', '\u{202f}'], "");
        said.add(&joined, 1);
        // Decimals with a comma: 12,34.
        let (decimals, _) = values::take(&words.to_lowercase().replace(',', "."));
        said.values.extend(decimals);
        said.values
            .extend(values::short_dates(&words.to_lowercase()));
        let beside = said.values.iter().flat_map(ExactValue::neighbours);
        self.said.values.extend(beside);
        self.said.words.extend(said.words);
        self.said.values.extend(said.values);
    }

    /// Records that the model reads this content of a datasource.
    pub fn read(&mut self, datasource: &str, content: &Value) {
        let read = self.read.entry(datasource.to_owned()).or_default();
        leaves(content, &mut |leaf| read.add_read(leaf));
    }

    /// The words and values of a text that the model read elsewhere than in this datasource.
    pub fn brought(&self, datasource: &str, text: &str) -> Vec<String> {
        let mut written = Content::default();
        written.add_read(text);
        let meant = written.values.into_iter().map(ExactValue::of_literal);
        written.values = meant.collect();
        self.remove_known(datasource, &mut written);
        let elsewhere = |is_of: &dyn Fn(&Content) -> bool| {
            let mut read = self.read.iter();
            read.any(|(name, content)| name != datasource && is_of(content))
        };
        let words = written.words.into_iter();
        let words = words.filter(|word| elsewhere(&|read: &Content| read.words.contains(word)));
        let mut brought: Vec<String> = words.collect();
        let values = written.values.iter();
        let values =
            values.filter(|value| elsewhere(&|read: &Content| read.values.contains(*value)));
        brought.extend(values.map(ToString::to_string));
        brought.sort();
        brought
    }

    /// Records that the model reads an earlier answer, which is from this datasource but for what was
    /// [`brought`](Self::brought) into it.
    pub fn read_answer(&mut self, datasource: &str, text: &str, brought: &[String]) {
        let (mut written, mut others) = (Content::default(), Content::default());
        written.add_read(text);
        for other in brought {
            others.add(other, MIN_WORD);
        }
        let today = self.today;
        written.words.retain(|word| !others.words.contains(word));
        // What is usual may be written anyway, and a day of any year would permit the date that was brought.
        written
            .values
            .retain(|value| !value.is_usual(today) && !others.values.contains(value));
        let read = self.read.entry(datasource.to_owned()).or_default();
        read.words.extend(written.words);
        read.values.extend(written.values);
        self.read(EARLIER_ANSWER, &json!(brought));
    }

    /// Checks the names that a statement for a datasource gives, such as aliases. The words of a name are those of any
    /// statement, so it counts as a whole, and those of its words that have a digit.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_names(&self, datasource: &str, names: &[String]) -> Result<()> {
        let has_digit = |word: &String| word.contains(|letter: char| letter.is_ascii_digit());
        for name in names {
            let mut written = Content::default();
            let spaced = name.replace('_', " ");
            written.add(&without_separators(&spaced), MIN_WORD);
            let spaced = written.add(&spaced, MIN_WORD);
            let whole = written.add(name, MIN_WORD);
            written
                .words
                .retain(|word| *word == whole || *word == spaced || has_digit(word));
            self.remove_known(datasource, &mut written);
            let is_from = |read: &Content| {
                let mut words = written.words.iter();
                let mut values = written.values.iter();
                values.any(|value| read.values.contains(value))
                    || words.any(|word| match has_digit(word) {
                        true => read.words.contains(word),
                        false => read.texts.contains(word),
                    })
            };
            let mut read = self.read.iter();
            let found = read.find(|&(origin, content)| origin != datasource && is_from(content));
            if let Some((from, _)) = found {
                return Err(not_allowed(datasource, from));
            }
        }
        Ok(())
    }

    /// Checks the literals of a statement for a datasource.
    ///
    /// # Errors
    /// `sql_literal_not_allowed` when one of them comes from another datasource.
    pub fn check(&self, datasource: &str, literals: &[String]) -> Result<()> {
        for literal in literals {
            let mut written = Content::default();
            let whole = written.add(literal, MIN_WORD);
            // The complete text is one of its words.
            let spelled = written.words.iter().filter(|word| **word != whole).count();
            written.add(&without_separators(literal), MIN_WORD);
            let meant = written.values.into_iter().map(ExactValue::of_literal);
            written.values = meant.collect();
            self.remove_known(datasource, &mut written);
            // Of the dates that a short one can be, the caller has written one.
            let short = values::short_dates(&literal.to_lowercase());
            if !short.iter().any(|date| self.may_write(datasource, date)) {
                written.values.extend(short);
            }
            let brought = self
                .read
                .iter()
                .find(|(name, read)| *name != datasource && written.is_from(read, &whole, spelled));
            if let Some((from, _)) = brought {
                return Err(not_allowed(datasource, from));
            }
        }
        Ok(())
    }

    /// Removes what may be written for a datasource wherever else it was read.
    fn remove_known(&self, datasource: &str, written: &mut Content) {
        written.words.retain(|word| {
            let date = values::compact_date(word);
            let is_known_date = date.is_some_and(|date| self.is_known(datasource, &date));
            let mut known = self.known(datasource);
            !is_known_date && !known.any(|one| one.words.contains(word))
        });
        written
            .values
            .retain(|value| !self.may_write(datasource, value));
    }

    /// Whether a value is usual, or known where it is written to.
    fn may_write(&self, datasource: &str, value: &ExactValue) -> bool {
        value.is_usual(self.today) || self.is_known(datasource, value)
    }

    /// Whether the caller has written a value, or the datasource has it.
    fn is_known(&self, datasource: &str, value: &ExactValue) -> bool {
        let forms = [Some(value.clone()), value.less_exact()];
        let mut forms = forms.iter().flatten();
        forms.any(|form| {
            let mut known = self.known(datasource);
            known.any(|one| one.values.contains(form))
        })
    }

    fn known(&self, datasource: &str) -> impl Iterator<Item = &Content> {
        std::iter::once(&self.said).chain(self.read.get(datasource))
    }
}

impl Content {
    /// Adds what a text that the model reads has.
    fn add_read(&mut self, text: &str) {
        self.add(text, MIN_WORD);
        self.add(&without_separators(text), MIN_WORD);
        self.values
            .extend(values::short_dates(&text.to_lowercase()));
    }

    /// Adds what a text has, and returns the complete text without its dates, in lower case.
    fn add(&mut self, text: &str, min_word: usize) -> String {
        let (values, text) = values::take(&text.to_lowercase());
        self.values.extend(values);
        let whole = text.trim();
        let is_value = whole.chars().count() >= MIN_VALUE && whole.chars().any(char::is_alphabetic);
        if is_value && !TIMES.contains(&whole) {
            self.words.insert(whole.to_owned());
            self.texts.insert(whole.to_owned());
        }
        if let Some(number) = values::respelt(whole) {
            self.add(&number, min_word);
        }
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            // A number like 20240301 may also be that of a customer, so it is a word too.
            self.values.extend(values::compact_date(word));
            // As each engine reads it: 10253 for 010253.
            let (tells, word) = match (word.parse::<u128>(), is_number(word)) {
                (Ok(number), _) => (
                    number >= MIN_NUMBER && !is_usual(number),
                    number.to_string(),
                ),
                (Err(_), true) => (true, word.trim_start_matches('0').to_owned()),
                (Err(_), false) => (
                    word.chars().count() >= min_word && !TIMES.contains(&word),
                    word.to_owned(),
                ),
            };
            if tells {
                self.words.insert(word);
            }
        }
        whole.to_owned()
    }

    /// Whether this, of a literal with so many words besides the complete text, was copied from what was read.
    fn is_from(&self, read: &Self, whole: &str, spelled: usize) -> bool {
        let brought = self.words.iter().filter(|word| read.words.contains(*word));
        let tells = |word: &String| word == whole || is_number(word);
        self.values.iter().any(|value| read.values.contains(value))
            || brought.clone().any(tells)
            || brought.count() >= spelled.clamp(1, 2)
    }
}

fn not_allowed(datasource: &str, from: &str) -> Error {
    let (origin, advice) = match from == EARLIER_ANSWER {
        true => (
            from.to_owned(),
            "Write the statement without it, or first find it in this datasource with find_values",
        ),
        false => (
            format!("`{from}`"),
            "Write the statement without it, or answer from what each datasource gives by itself",
        ),
    };
    Error::new(
        Code::SqlLiteralNotAllowed,
        format!(
            "a value in this statement for `{datasource}` comes from {origin}, and the question does not have it; \
             what is read in one datasource may not be sent to another. {advice}"
        ),
    )
}

/// The text with large numbers in one piece: 73421 for 73,421, 73.421 and 73 421.
fn without_separators(text: &str) -> String {
    const SEPARATORS: [char; 9] = [
        ',', '.', '\'', '\u{2019}', '_', ' ', '\u{a0}', '\u{2009}', '\u{202f}',
    ];
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let separates = |at: usize| {
        SEPARATORS.contains(&letters[at])
            && at > 0
            && is_digit(at - 1)
            && (1..=3).all(|next| is_digit(at + next))
            && !is_digit(at + 4)
    };
    let kept = (0..letters.len()).filter(|at| !separates(*at));
    kept.map(|at| letters[at]).collect()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a number is common in SQL: 1, 2, 2.5 and 5 times a power of ten, years, and units.
fn is_usual(number: u128) -> bool {
    let mut first = number;
    while first >= 100 && first.is_multiple_of(10) {
        first /= 10;
    }
    matches!(first, 10 | 20 | 25 | 50) || YEARS.contains(&number) || MEASURES.contains(&number)
}

fn leaves(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Number(number) => each(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, each)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests;
