//! Names and types of columns, as the first lines show them.

use csv::ByteRecord;
use mindhost_sdk::scanner::value_of_text;
use mindhost_sdk::{DataType, Error, ErrorKind, Result};
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

/// The types that a column may have, from the narrowest; a value rules some out.
const CANDIDATES: [DataType; 7] = [
    DataType::Boolean,
    DataType::Int64,
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
}

impl Guess {
    pub fn see(&mut self, field: &[u8]) {
        if field.is_empty() {
            return;
        }
        self.has_value = true;
        let text = std::str::from_utf8(field).ok();
        for (ruled_out, candidate) in self.ruled_out.iter_mut().zip(CANDIDATES) {
            *ruled_out = *ruled_out || !text.is_some_and(|text| fits(text, candidate));
        }
    }

    pub fn data_type(&self) -> DataType {
        let mut left = self.ruled_out.iter().zip(CANDIDATES);
        match left.find(|(ruled_out, _)| !**ruled_out) {
            Some((_, candidate)) if self.has_value => candidate,
            _ => DataType::Text,
        }
    }
}

/// Whether a text is a value of the type and nothing else: `007` and `nan` are names rather than numbers.
fn fits(text: &str, data_type: DataType) -> bool {
    let is_number = matches!(data_type, DataType::Int64 | DataType::Float64);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit()) && !is_padded;
    (!is_number || is_plain) && value_of_text(text, data_type).is_some()
}

/// The names in the first line. A name that is absent or there twice gets a number.
pub fn names(header: &ByteRecord) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(header.len());
    for (index, field) in header.iter().enumerate() {
        let name = std::str::from_utf8(field)
            .map_err(|_| Error::new(ErrorKind::Upstream, "the first line is not UTF-8"))?
            .trim();
        let wanted = match name {
            "" => format!("column_{}", index + 1),
            name => name.to_owned(),
        };
        let is_free = |candidate: &String| !names.contains(candidate);
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let name = std::iter::once(wanted.clone())
            .chain(numbered)
            .find(is_free);
        names.push(name.unwrap_or(wanted));
    }
    match names.is_empty() {
        true => Err(Error::new(
            ErrorKind::Upstream,
            "the file is empty; its first line must name the columns",
        )),
        false => Ok(names),
    }
}
