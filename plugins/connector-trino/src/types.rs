//! Trino's names of types.

use mindhost_sdk::{Column, DataType, Result};

use crate::error::malformed;

/// How deep types may stand in each other.
const MAX_DEPTH: usize = 64;
/// The longest name of a type.
const MAX_NAME: usize = 1 << 20;

/// A type of Trino.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean,
    /// `tinyint` to `bigint`.
    Integer,
    /// `real` and `double`.
    Float,
    Decimal,
    Date,
    /// Without a zone.
    Time,
    Timestamp,
    /// `timestamp with time zone`.
    Instant,
    /// A text that is a document.
    Json,
    /// `varbinary`, and what has no text: sketches.
    Bytes,
    Array(Box<Type>),
    /// The keys are texts of JSON; only the values have a type.
    Map(Box<Type>),
    /// The names of the fields, where they have some.
    Row(Vec<(Option<String>, Type)>),
    /// Whatever the server writes as text.
    Text,
}

impl Type {
    /// Reads a type as the server writes it: `row(a bigint, "b c" array(varchar))`.
    ///
    /// # Errors
    /// `Upstream` for brackets that do not fit, and for types in more than 64 others.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_NAME {
            return Err(malformed("a name of a type that is too long"));
        }
        Self::read(text.trim(), 0).ok_or_else(|| malformed("a type that cannot be read"))
    }

    fn read(text: &str, depth: usize) -> Option<Self> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (name, inside, behind) = split(text)?;
        let name = name.trim().to_ascii_lowercase();
        let of = match (name.as_str(), behind.trim().to_ascii_lowercase().as_str()) {
            ("boolean", "") => Self::Boolean,
            ("tinyint" | "smallint" | "integer" | "int" | "bigint", "") => Self::Integer,
            ("real" | "double", "") => Self::Float,
            ("decimal", "") => Self::Decimal,
            ("date", "") => Self::Date,
            ("time", "") => Self::Time,
            ("timestamp", "") => Self::Timestamp,
            ("timestamp", "with time zone") | ("timestamp with time zone", "") => Self::Instant,
            ("json", "") => Self::Json,
            (
                "varbinary" | "hyperloglog" | "p4hyperloglog" | "qdigest" | "tdigest" | "setdigest",
                "",
            ) => Self::Bytes,
            ("array", "") => Self::Array(Box::new(Self::read(inside?.trim(), depth + 1)?)),
            ("map", "") => match parts(inside?)?.as_slice() {
                [_, value] => Self::Map(Box::new(Self::read(value.trim(), depth + 1)?)),
                _ => return None,
            },
            ("row", "") => {
                let fields = parts(inside?)?.into_iter();
                Self::Row(
                    fields
                        .map(|field| Self::field(field.trim(), depth))
                        .collect::<Option<_>>()?,
                )
            }
            _ => Self::Text,
        };
        Some(of)
    }

    /// A field of a row: `a bigint`, `"b c" bigint`, or `bigint` alone.
    fn field(text: &str, depth: usize) -> Option<(Option<String>, Self)> {
        if let Some(rest) = text.strip_prefix('"') {
            let end = end_of_quotes(rest)?;
            let name = rest.get(..end)?.replace("\"\"", "\"");
            let of = Self::read(rest.get(end + 1..)?.trim(), depth + 1)?;
            return Some((Some(name), of));
        }
        let word = text.find([' ', '(']).unwrap_or(text.len());
        let (first, rest) = text.split_at(word);
        // Types of several words begin with one of these; a field of such a name is written in quotes by the server
        // only if it must, so that `time bigint` is a field and `time with time zone` a type.
        let is_type = !rest.starts_with(' ')
            || rest.starts_with(" with time zone")
            || (first.eq_ignore_ascii_case("interval") && is_interval(rest))
            || (first == "double" && rest == " precision");
        match is_type {
            true => Some((None, Self::read(text, depth + 1)?)),
            false => Some((Some(first.to_owned()), Self::read(rest.trim(), depth + 1)?)),
        }
    }

    /// The type in the host's terms.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Decimal => DataType::Decimal,
            Self::Date => DataType::Date,
            Self::Time => DataType::Time,
            Self::Timestamp => DataType::Timestamp,
            Self::Instant => DataType::TimestampUtc,
            Self::Bytes => DataType::Bytes,
            Self::Json | Self::Array(_) | Self::Map(_) | Self::Row(_) => DataType::Json,
            Self::Text => DataType::Text,
        }
    }

    /// The column of a result; the protocol does not say whether it may hold NULL.
    pub(crate) fn column(&self, name: &str, native: &str) -> Column {
        Column::new(name, self.data_type()).native_type(native)
    }
}

/// Whether a text is what follows `interval` in a type. Within a row, Trino writes it in capitals.
fn is_interval(rest: &str) -> bool {
    [" day to second", " year to month"]
        .iter()
        .any(|units| rest.eq_ignore_ascii_case(units))
}

/// Name, what stands in the first brackets, and what stands behind them.
fn split(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let Some(open) = text.find('(') else {
        return Some((text, None, ""));
    };
    let close = open + closing(text.get(open..)?)?;
    Some((
        text.get(..open)?,
        text.get(open + 1..close),
        text.get(close + 1..)?,
    ))
}

/// The place of the bracket that closes the one at the beginning.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quoted) = (0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// What stands between the commas that are in no brackets.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut depth, mut quoted, mut start) = (0_usize, false, 0);
    let mut parts = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth = depth.checked_sub(1)?,
            b',' if !quoted && depth == 0 => {
                parts.push(text.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    (depth == 0 && !quoted).then_some(parts)
}

/// The place of the quote that ends a name.
fn end_of_quotes(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'"')?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(fields: &[(Option<&str>, Type)]) -> Type {
        let owned = |(name, of): &(Option<&str>, Type)| (name.map(str::to_owned), of.clone());
        Type::Row(fields.iter().map(owned).collect())
    }

    #[test]
    fn names_of_types_are_read() {
        for (text, of) in [
            ("bigint", Type::Integer),
            ("decimal(38, 2)", Type::Decimal),
            ("timestamp(12)", Type::Timestamp),
            ("timestamp(3) with time zone", Type::Instant),
            ("time(6)", Type::Time),
            ("time(6) with time zone", Type::Text),
            ("interval day to second", Type::Text),
            ("HyperLogLog", Type::Bytes),
            ("qdigest(bigint)", Type::Bytes),
            ("char(3)", Type::Text),
            ("unknown", Type::Text),
            (
                "array(array(bigint))",
                Type::Array(Box::new(Type::Array(Box::new(Type::Integer)))),
            ),
            ("map(row(a bigint), json)", Type::Map(Box::new(Type::Json))),
            (
                r#"row(a bigint, "b, ""(c" varchar(3), timestamp(3) with time zone, real)"#,
                row(&[
                    (Some("a"), Type::Integer),
                    (Some(r#"b, "(c"#), Type::Text),
                    (None, Type::Instant),
                    (None, Type::Float),
                ]),
            ),
            (
                "row(time bigint, date date)",
                row(&[(Some("time"), Type::Integer), (Some("date"), Type::Date)]),
            ),
            (
                "row(INTERVAL DAY TO SECOND, interval year to month, x INTERVAL YEAR TO MONTH)",
                row(&[
                    (None, Type::Text),
                    (None, Type::Text),
                    (Some("x"), Type::Text),
                ]),
            ),
            (
                "row(interval row(x interval day to second), interval INTERVAL DAY TO SECOND)",
                row(&[
                    (Some("interval"), row(&[(Some("x"), Type::Text)])),
                    (Some("interval"), Type::Text),
                ]),
            ),
        ] {
            assert_eq!(Type::parse(text).unwrap(), of, "{text}");
        }
    }

    #[test]
    fn what_is_no_type_is_the_servers_fault() {
        let deep = format!("{}bigint{}", "array(".repeat(99), ")".repeat(99));
        for text in ["array(", "map(bigint)", "row(\"a)", "array", deep.as_str()] {
            assert!(Type::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in r#"(row|map|array|time|["(), a-c])*"#) {
            let _ = Type::parse(&text);
        }
    }
}
