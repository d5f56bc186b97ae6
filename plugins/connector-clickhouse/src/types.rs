//! ClickHouse's names of types, and what they become.

use mindhost_sdk::{Column, DataType, Error, Result};

use crate::error::malformed;
use crate::server::Server;

/// Longest name of a type; an `Enum16` lists all of its names.
const MAX_NAME: usize = 1 << 20;
/// How deep types may be nested.
const MAX_DEPTH: usize = 32;

/// A type of ClickHouse. `LowCardinality(T)` and `SimpleAggregateFunction(f, T)` are T.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of so many bytes: 1 to 32.
    Int {
        bytes: usize,
        signed: bool,
    },
    Float32,
    Float64,
    BFloat16,
    Decimal {
        scale: usize,
    },
    Bool,
    String,
    FixedString(usize),
    Uuid,
    Ipv4,
    Ipv6,
    /// `Date` and `Date32`.
    Date,
    /// `DateTime` and `DateTime64`, with their zone if they name one.
    Instant {
        scale: usize,
        zone: Option<String>,
    },
    /// `Time` and `Time64`.
    Time,
    Enum(Vec<(i16, String)>),
    /// `IntervalDay` and the like: a number of them.
    Interval,
    /// The type of NULL.
    Nothing,
    Array(Box<Type>),
    Map(Box<Type>, Box<Type>),
    /// With names, or without.
    Tuple(Vec<(Option<String>, Type)>),
    Json,
    /// `Variant`, `Dynamic`, and types that this plugin does not know: what the server writes.
    Other,
    /// A state of an aggregation, which has no value.
    State,
}

/// A type, and whether its values may be NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

impl Type {
    /// Reads a type as the server writes it.
    ///
    /// # Errors
    /// `Upstream` if it is not one.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_NAME {
            return Err(malformed("the name of a type that is too long"));
        }
        of(text.trim(), 0)
    }

    /// The column of a result.
    ///
    /// # Errors
    /// `InvalidStatement` for a state of an aggregation.
    pub(crate) fn column(&self, name: &str, native: &str, server: &Server) -> Result<Column> {
        if self.holds_state() {
            return Err(Error::invalid_statement(format!(
                "column `{name}` is {native}, the state of an aggregation; finish it with finalizeAggregation({name}) \
                 or with a function whose name ends in Merge"
            )));
        }
        let column = Column::new(name, self.data_type(server))
            .native_type(native)
            .nullable(self.nullable);
        // A text of ClickHouse is bytes. Those that are not UTF-8 travel as bytes, and so does what holds one.
        Ok(match self.kind {
            Kind::String
            | Kind::FixedString(_)
            | Kind::Array(_)
            | Kind::Map(..)
            | Kind::Tuple(_) => column.dynamic(),
            _ => column,
        })
    }

    fn data_type(&self, server: &Server) -> DataType {
        match &self.kind {
            Kind::Int {
                bytes: 8,
                signed: false,
            } => DataType::Uint64,
            Kind::Int { bytes: 16.., .. } | Kind::Decimal { .. } => DataType::Decimal,
            Kind::Int { .. } | Kind::Interval => DataType::Int64,
            Kind::Float32 | Kind::Float64 | Kind::BFloat16 => DataType::Float64,
            Kind::Bool => DataType::Boolean,
            Kind::Date => DataType::Date,
            Kind::Time => DataType::Time,
            Kind::Instant { zone, .. } if is_utc(zone.as_deref(), server) => DataType::TimestampUtc,
            Kind::Instant { .. } => DataType::Timestamp,
            Kind::Array(_) | Kind::Map(..) | Kind::Tuple(_) | Kind::Json => DataType::Json,
            Kind::String
            | Kind::FixedString(_)
            | Kind::Uuid
            | Kind::Ipv4
            | Kind::Ipv6
            | Kind::Enum(_)
            | Kind::Nothing
            | Kind::Other
            | Kind::State => DataType::Text,
        }
    }

    /// Whether Arrow carries the values exactly, from this server. The others come as text.
    pub(crate) fn fits_arrow(&self, server: &Server) -> bool {
        match &self.kind {
            Kind::Int { .. }
            | Kind::Float32
            | Kind::Float64
            | Kind::Decimal { .. }
            | Kind::Bool
            | Kind::String
            | Kind::FixedString(_)
            | Kind::Ipv4
            | Kind::Ipv6
            | Kind::Date
            | Kind::Enum(_)
            | Kind::Nothing => true,
            // For Arrow the server makes these nanoseconds, which end in 2262; it fails for a later instant. A scale of
            // 9 is nanoseconds to begin with, so it has no such instant.
            Kind::Instant { scale, .. } => !matches!(scale, 7 | 8),
            // An interval has a form of its own for each unit, and another one in newer servers.
            Kind::Interval => false,
            // Before this setting the two halves were in the order of the server's memory.
            Kind::Uuid => server.sets("output_format_arrow_uuid_as_fixed_byte_array"),
            _ => false,
        }
    }

    /// Whether a part of it is the state of an aggregation.
    pub(crate) fn holds_state(&self) -> bool {
        match &self.kind {
            Kind::State => true,
            Kind::Array(item) => item.holds_state(),
            Kind::Map(key, value) => key.holds_state() || value.holds_state(),
            Kind::Tuple(fields) => fields.iter().any(|(_, field)| field.holds_state()),
            _ => false,
        }
    }
}

/// Whether texts of a column are in UTC. Those of new servers are, whatever the column's zone.
pub(crate) fn is_utc(zone: Option<&str>, server: &Server) -> bool {
    let zone = zone.unwrap_or(&server.zone);
    server.tells_instants()
        || matches!(
            zone,
            "UTC" | "Etc/UTC" | "GMT" | "Etc/GMT" | "Zulu" | "Etc/Zulu" | "UCT"
        )
}

fn of(text: &str, depth: usize) -> Result<Type> {
    let unknown = || malformed("a type that cannot be read");
    if depth > MAX_DEPTH {
        return Err(unknown());
    }
    let (name, inside) = match text.split_once('(') {
        Some((name, rest)) => (
            name.trim(),
            Some(rest.trim_end().strip_suffix(')').ok_or_else(unknown)?),
        ),
        None => (text, None),
    };
    let items = inside.map(items).transpose()?.unwrap_or_default();
    let item = |at: usize| {
        items
            .get(at)
            .map_or_else(|| Err(unknown()), |item| of(item, depth + 1))
    };
    let kind = match name {
        "Nullable" => {
            return Ok(Type {
                nullable: true,
                ..item(0)?
            });
        }
        "LowCardinality" => return item(0),
        "SimpleAggregateFunction" => return item(1),
        "Array" => Kind::Array(Box::new(item(0)?)),
        "Map" => Kind::Map(Box::new(item(0)?), Box::new(item(1)?)),
        "Tuple" => tuple(&items, depth)?,
        "Nested" => {
            let kind = tuple(&items, depth)?;
            Kind::Array(Box::new(Type {
                kind,
                nullable: false,
            }))
        }
        "Enum8" | "Enum16" | "Enum" => Kind::Enum(
            items
                .iter()
                .map(|item| member(item))
                .collect::<Result<_>>()?,
        ),
        "Point" => point(),
        "Ring" | "LineString" => arrays_of(point(), 1),
        "Polygon" | "MultiLineString" => arrays_of(point(), 2),
        "MultiPolygon" => arrays_of(point(), 3),
        _ => plain(name, &items),
    };
    let nullable = matches!(kind, Kind::Nothing | Kind::Other);
    Ok(Type { kind, nullable })
}

fn plain(name: &str, items: &[&str]) -> Kind {
    let number = |at: usize| items.get(at).and_then(|item| item.parse::<usize>().ok());
    let zone = |at: usize| items.get(at).map(|item| unquoted(item));
    match name {
        "Float32" => Kind::Float32,
        "Float64" => Kind::Float64,
        "BFloat16" => Kind::BFloat16,
        "Decimal" => Kind::Decimal {
            scale: number(1).unwrap_or(0),
        },
        "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => Kind::Decimal {
            scale: number(0).unwrap_or(0),
        },
        "Bool" => Kind::Bool,
        "String" => Kind::String,
        "FixedString" => Kind::FixedString(number(0).unwrap_or(0)),
        "UUID" => Kind::Uuid,
        "IPv4" => Kind::Ipv4,
        "IPv6" => Kind::Ipv6,
        "Date" | "Date32" => Kind::Date,
        "DateTime" => Kind::Instant {
            scale: 0,
            zone: zone(0),
        },
        "DateTime64" => Kind::Instant {
            scale: number(0).unwrap_or(3).min(9),
            zone: zone(1),
        },
        "Time" | "Time64" => Kind::Time,
        "Nothing" => Kind::Nothing,
        "JSON" | "Object" => Kind::Json,
        "AggregateFunction" => Kind::State,
        _ if name.starts_with("Interval") => Kind::Interval,
        _ => integer(name).unwrap_or(Kind::Other),
    }
}

/// `UInt8` to `Int256`.
fn integer(name: &str) -> Option<Kind> {
    let (signed, digits) = match name.strip_prefix("UInt") {
        Some(digits) => (false, digits),
        None => (true, name.strip_prefix("Int")?),
    };
    let bits: usize = digits.parse().ok()?;
    matches!(bits, 8 | 16 | 32 | 64 | 128 | 256).then_some(Kind::Int {
        bytes: bits / 8,
        signed,
    })
}

fn point() -> Kind {
    let float = || {
        (
            None,
            Type {
                kind: Kind::Float64,
                nullable: false,
            },
        )
    };
    Kind::Tuple(vec![float(), float()])
}

fn arrays_of(kind: Kind, depth: usize) -> Kind {
    (0..depth).fold(kind, |kind, _| {
        Kind::Array(Box::new(Type {
            kind,
            nullable: false,
        }))
    })
}

/// `a UInt8, b String`, or the types alone.
fn tuple(items: &[&str], depth: usize) -> Result<Kind> {
    let field = |item: &&str| {
        let (name, rest) = name_before(item);
        match name {
            Some(name) => Ok((Some(name), of(rest, depth + 1)?)),
            None => Ok((None, of(item, depth + 1)?)),
        }
    };
    Ok(Kind::Tuple(items.iter().map(field).collect::<Result<_>>()?))
}

/// The name of a field, if there is one before its type, and the type.
fn name_before(item: &str) -> (Option<String>, &str) {
    if item.starts_with(['`', '"']) {
        let end = end_of_quoted(item.as_bytes(), 0);
        let (name, rest) = item.split_at_checked(end).unwrap_or((item, ""));
        return (Some(unquoted(name)), rest.trim());
    }
    let end = item.find([' ', '(', '\'']).unwrap_or(item.len());
    match item.get(end..) {
        Some(rest) if rest.starts_with(' ') && !rest.trim_start().starts_with('(') => {
            (item.get(..end).map(str::to_owned), rest.trim())
        }
        _ => (None, item),
    }
}

/// `'a' = 1`
fn member(item: &str) -> Result<(i16, String)> {
    let bad = || malformed("an Enum that cannot be read");
    let end = end_of_quoted(item.as_bytes(), 0);
    let (name, rest) = item.split_at_checked(end).ok_or_else(bad)?;
    let number = rest
        .trim()
        .strip_prefix('=')
        .and_then(|number| number.trim().parse().ok());
    Ok((number.ok_or_else(bad)?, unquoted(name)))
}

/// Cuts a list at its commas, but not within brackets and quotes.
fn items(text: &str) -> Result<Vec<&str>> {
    let (bytes, mut at, mut start, mut depth) = (text.as_bytes(), 0, 0, 0_usize);
    let mut items = Vec::new();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'`' | b'"' => {
                at = end_of_quoted(bytes, at);
                continue;
            }
            b'(' => depth += 1,
            b')' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| malformed("a type with a bracket too many"))?
            }
            b',' if depth == 0 => {
                items.push(text.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = text.get(start..).unwrap_or_default().trim();
    if !last.is_empty() {
        items.push(last);
    }
    Ok(items)
}

/// Where the quoted text ends that starts at `at`; backslashes escape.
fn end_of_quoted(bytes: &[u8], at: usize) -> usize {
    let quote = bytes.get(at).copied();
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            _ if Some(byte) == quote => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// A text without its quotes and escapes.
fn unquoted(text: &str) -> String {
    let inside = text
        .get(1..text.len().saturating_sub(1))
        .unwrap_or_default();
    String::from_utf8_lossy(&crate::tsv::unescaped(inside.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        Type::parse(text).unwrap().kind
    }

    #[test]
    fn wrappers_are_taken_off() {
        let text = Type {
            kind: Kind::String,
            nullable: true,
        };
        assert_eq!(
            Type::parse("LowCardinality(Nullable(String))").unwrap(),
            text
        );
        assert_eq!(Type::parse("Nullable(String)").unwrap(), text);
        assert_eq!(
            kind("SimpleAggregateFunction(max, UInt64)"),
            Kind::Int {
                bytes: 8,
                signed: false
            }
        );
    }

    #[test]
    fn names_in_types_may_hold_anything() {
        let members = vec![(-1, "it's, (a)".into()), (2, "b".into())];
        assert_eq!(
            kind(r"Enum8('it\'s, (a)' = -1, 'b' = 2)"),
            Kind::Enum(members)
        );
        let Kind::Tuple(fields) =
            kind("Tuple(a UInt8, `b c` Array(Decimal(9, 2)), d Tuple(String, Int8))")
        else {
            panic!("no tuple")
        };
        let names: Vec<_> = fields
            .iter()
            .map(|(name, _)| name.as_deref().unwrap())
            .collect();
        assert_eq!(names, ["a", "b c", "d"]);
        let Kind::Tuple(fields) = kind("Tuple(UInt8, Enum8('a b' = 1))") else {
            panic!("no tuple")
        };
        assert!(fields.iter().all(|(name, _)| name.is_none()));
    }

    #[test]
    fn zones_and_scales_are_read() {
        let berlin = Some("Europe/Berlin".to_owned());
        assert_eq!(
            kind("DateTime('Europe/Berlin')"),
            Kind::Instant {
                scale: 0,
                zone: berlin.clone()
            }
        );
        assert_eq!(
            kind("DateTime64(6, 'Europe/Berlin')"),
            Kind::Instant {
                scale: 6,
                zone: berlin
            }
        );
        assert_eq!(kind("Decimal(76, 40)"), Kind::Decimal { scale: 40 });
        assert_eq!(kind("Variant(String, UInt8)"), Kind::Other);
    }

    #[test]
    fn instants_that_the_server_would_multiply_beyond_their_range_come_as_text() {
        let server = Server::with(0, &[]);
        for scale in 0..=9 {
            let fits = Type::parse(&format!("Nullable(DateTime64({scale}, 'UTC'))"))
                .unwrap()
                .fits_arrow(&server);
            assert_eq!(fits, !matches!(scale, 7 | 8), "{scale}");
        }
        assert!(Type::parse("DateTime").unwrap().fits_arrow(&server));
    }

    #[test]
    fn broken_types_are_errors() {
        for text in [
            "Array(",
            "Array",
            "Nullable()",
            "Map(String)",
            "Enum8('a')",
            "Array(Int8))",
        ] {
            assert!(Type::parse(text).is_err(), "{text}");
        }
        let deep = format!("{}Int8{}", "Array(".repeat(100), ")".repeat(100));
        assert!(Type::parse(&deep).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(Array|Tuple|Enum8|Map|[(),'`= a-z0-9\\\\]){0,40}") {
            let _ = Type::parse(&text);
        }
    }
}
