//! Names and types of columns, as the first lines show them.

use std::collections::{HashMap, HashSet};

use mindhost_sdk::scanner::{minor_of, value_of_text};
use mindhost_sdk::{Column, DataType, Error, ErrorKind, Result, Value};
use serde::Deserialize;

/// A type as the configuration writes it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TypeName {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Int64,
    /// A number.
    Float64,
    /// An exact number.
    Decimal,
    /// Text.
    Text,
    /// `2024-02-29`
    Date,
    /// `23:59:59.5`
    Time,
    /// A date and a time.
    Timestamp,
    /// A date and a time with the distance from UTC.
    TimestampUtc,
    /// JSON.
    Json,
}

impl TypeName {
    pub fn data_type(self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Decimal => DataType::Decimal,
            Self::Text => DataType::Text,
            Self::Date => DataType::Date,
            Self::Time => DataType::Time,
            Self::Timestamp => DataType::Timestamp,
            Self::TimestampUtc => DataType::TimestampUtc,
            Self::Json => DataType::Json,
        }
    }
}

/// Columns of a file at most, as for the host.
pub const MAX_COLUMNS: usize = 4_096;
/// Digits of a decimal at most.
const MAX_DIGITS: usize = 38;
/// Whole numbers up to this are floats with all their digits: 2^53.
const MAX_EXACT: u64 = 1 << 53;
/// Digits of a decimal behind the point, where the first lines show no more.
const USUAL_SCALE: usize = 10;

/// The types that a column may have, from the narrowest; a value rules some out. Decimal stands for whole numbers that
/// are too large for int64: as float64 they would lose digits, and two ids become one.
const CANDIDATES: [DataType; 8] = [
    DataType::Boolean,
    DataType::Int64,
    DataType::Decimal,
    DataType::Float64,
    DataType::Date,
    DataType::Time,
    DataType::Timestamp,
    DataType::TimestampUtc,
];

/// What is left of a column's candidates.
#[derive(Clone, Debug, Default)]
pub struct Guess {
    ruled_out: [bool; CANDIDATES.len()],
    has_value: bool,
    /// Another value than `nan` or `inf`, which are names where no number is among them.
    has_more_than_words: bool,
    /// The most digits behind the point.
    scale: usize,
    /// A JSON array or object.
    has_document: bool,
    /// A JSON string without a character: a text, and no date.
    is_empty_text: bool,
}

impl Guess {
    /// Takes a field into account. An empty one says nothing.
    pub fn see(&mut self, field: &[u8]) {
        self.see_of(field, |_| true);
    }

    /// Takes the text of a JSON string into account. `"12"` is no number, but `"2024-02-29"` is a date.
    pub fn see_string(&mut self, text: &str) {
        self.is_empty_text |= text.is_empty();
        self.see_of(text.as_bytes(), takes_strings);
    }

    /// Takes a text without a character into account, where that is not NULL.
    pub fn see_empty_text(&mut self) {
        self.is_empty_text = true;
    }

    /// Takes a JSON array or object into account.
    pub fn see_document(&mut self) {
        self.has_document = true;
    }

    fn see_of(&mut self, field: &[u8], may_be: impl Fn(DataType) -> bool) {
        if field.is_empty() {
            return;
        }
        self.has_value = true;
        let text = std::str::from_utf8(field).ok();
        self.has_more_than_words |= !text.is_some_and(is_word);
        let fraction = text.and_then(|text| text.split_once('.'));
        let digits = fraction.map_or(0, |(_, digits)| digits.len());
        self.scale = self.scale.max(digits.min(MAX_DIGITS - 1));
        for (ruled_out, candidate) in self.ruled_out.iter_mut().zip(CANDIDATES) {
            *ruled_out =
                *ruled_out || !may_be(candidate) || !text.is_some_and(|text| fits(text, candidate));
        }
    }

    /// The column, of the type that the configuration gives or else of the one that is left. Text has no types of its
    /// own, so the native type is the name of the type, in the catalog and in results.
    pub fn column(&self, name: String, given: Option<TypeName>) -> Column {
        let guessed = || (self.data_type(), 0);
        let given = given.map(|given| (given.data_type(), self.scale.max(USUAL_SCALE)));
        let (data_type, scale) = given.unwrap_or_else(guessed);
        let column = Column::new(name, data_type);
        match data_type {
            DataType::Decimal => column.native_type(format!("decimal({MAX_DIGITS},{scale})")),
            _ => column.native_type(data_type.name()),
        }
    }

    fn data_type(&self) -> DataType {
        if self.has_document {
            return DataType::Json;
        }
        if self.is_empty_text {
            return DataType::Text;
        }
        let mut left = self.ruled_out.iter().zip(CANDIDATES);
        match left.find(|(ruled_out, _)| !**ruled_out) {
            Some((_, DataType::Float64)) if !self.has_more_than_words => DataType::Text,
            Some((_, candidate)) if self.has_value => candidate,
            _ => DataType::Text,
        }
    }
}

/// Whether a text is one that is read as a float and no number: `nan`, `inf` or `Infinity`, in any case.
fn is_word(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let words = ["nan", "inf", "infinity"];
    words.iter().any(|word| unsigned.eq_ignore_ascii_case(word))
}

/// Whether a JSON string can be a value of a type that the first lines show: `"12"` is no number.
pub fn takes_strings(data_type: DataType) -> bool {
    matches!(
        data_type,
        DataType::Text
            | DataType::Json
            | DataType::Date
            | DataType::Time
            | DataType::Timestamp
            | DataType::TimestampUtc
    )
}

/// Whether a text is a value of the type and nothing else: `007` is a name rather than a number.
fn fits(text: &str, data_type: DataType) -> bool {
    is_written_as(text, data_type) && value(text, data_type).is_some()
}

/// Whether a text that can be read as a value of the type is one and nothing else.
fn is_written_as(text: &str, data_type: DataType) -> bool {
    let is_number = matches!(
        data_type,
        DataType::Int64 | DataType::Decimal | DataType::Float64
    );
    if !is_number {
        return true;
    }
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let is_padded = matches!(digits, [b'0', second, ..] if *second != b'.');
    // `.5` and `+1.5` mean nothing else.
    if data_type == DataType::Float64 && (is_word(text) || !is_padded && digits.contains(&b'.')) {
        return true;
    }
    let is_plain = digits.first().is_some_and(u8::is_ascii_digit) && !is_padded;
    let is_whole = || digits.iter().all(u8::is_ascii_digit);
    is_plain
        && match data_type {
            DataType::Decimal => digits.len() <= MAX_DIGITS && is_whole(),
            DataType::Float64 => {
                let is_exact = |number: i64| number.unsigned_abs() <= MAX_EXACT;
                !is_whole() || text.parse().is_ok_and(is_exact)
            }
            _ => true,
        }
}

/// A text as a value. A number that is too large for a float is none.
#[inline]
fn value(text: &str, data_type: DataType) -> Option<Value> {
    match value_of_text(text, data_type)? {
        Value::Float64(number) if number.is_infinite() && text.contains(char::is_numeric) => None,
        value => Some(value),
    }
}

/// A field as a value of its column, with all its digits; `None` where that is not possible.
#[inline]
pub fn value_of(text: &str, column: &Column) -> Option<Value> {
    let fits = column.data_type != DataType::Decimal || has_room(text, scale(column));
    value(text, column.data_type).filter(|_| fits)
}

/// As [`value_of`], for a column whose type the first lines show: `None` also where the text would have ruled that type
/// out among them. Otherwise `00501` would be a name there and a number here.
#[inline]
pub fn guessed_value_of(text: &str, column: &Column) -> Option<Value> {
    value_of(text, column).filter(|_| is_written_as(text, column.data_type))
}

fn has_room(text: &str, scale: usize) -> bool {
    u32::try_from(scale).is_ok_and(|scale| minor_of(text, scale).is_some())
}

/// The digits behind the point that `Guess::column` has written.
fn scale(column: &Column) -> usize {
    let digits = column.native_type.rsplit_once(',');
    let scale = digits.and_then(|(_, scale)| scale.strip_suffix(')')?.parse().ok());
    scale.unwrap_or(USUAL_SCALE)
}

/// The names in the first line. A name that is absent or there twice gets a number.
///
/// # Errors
/// When there is none, there are too many, or one is not UTF-8.
pub fn names<'a>(header: impl Iterator<Item = &'a [u8]>) -> Result<Vec<String>> {
    let texts = header.map(std::str::from_utf8);
    let texts: Vec<&str> = texts
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| Error::new(ErrorKind::Upstream, "the first line is not UTF-8"))?;
    match texts.is_empty() {
        true => Err(Error::new(
            ErrorKind::Upstream,
            "the file is empty; its first line must name the columns",
        )),
        false => unique(texts.into_iter()),
    }
}

/// Column names, each once. One that is absent or there twice gets a number.
///
/// # Errors
/// When there are too many.
pub fn unique<'a>(given: impl ExactSizeIterator<Item = &'a str>) -> Result<Vec<String>> {
    if given.len() > MAX_COLUMNS {
        let message = format!("a file has more than {MAX_COLUMNS} columns");
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    let wanted = given.enumerate().map(|(index, name)| match name.trim() {
        "" => format!("column_{}", index + 1),
        name => name.to_owned(),
    });
    Ok(numbered(wanted))
}

/// Names, each once: one that is there twice gets a number.
pub fn numbered(given: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut taken: HashSet<String> = HashSet::new();
    // The next number of each name, so that a name which is there a thousand times is not tried a million times.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for wanted in given {
        let mut name = wanted.clone();
        while taken.contains(&name) {
            let number = numbers.entry(wanted.clone()).or_insert(1);
            *number += 1;
            name = format!("{wanted}_{number}");
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}
