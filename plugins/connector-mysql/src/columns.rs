//! The types of columns, as the server describes them.

use mindhost_sdk::{Column, DataType, Result};

use crate::bits::BitType;
use crate::error::malformed;
use crate::packet::Reader;
use crate::session::not_utf8;

/// The charset of bytes.
const BINARY: u16 = 63;
const NOT_NULL: u16 = 1;
const UNSIGNED: u16 = 32;
/// MariaDB sets it for what it computes. A value that lies in a table, a temporary one too, has the flags of its column.
const COMPUTED: u16 = 128;
const ENUM: u16 = 256;
const SET: u16 = 2048;
/// The scale of numbers that have none.
const NO_SCALE: u8 = 31;

/// How the text of a cell is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Unsigned,
    /// `tinyint(1)`: 0 and 1 are truth values, and others the integers that they are.
    TinyBoolean,
    BitBoolean(BitType),
    Bits(BitType),
    Float,
    Decimal,
    Text,
    Json,
    Bytes,
    Date,
    Time,
    Timestamp,
    TimestampUtc,
    Geometry,
}

impl Kind {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Kind::Integer => DataType::Int64,
            Kind::Unsigned | Kind::Bits(_) => DataType::Uint64,
            Kind::TinyBoolean | Kind::BitBoolean(_) => DataType::Boolean,
            Kind::Float => DataType::Float64,
            Kind::Decimal => DataType::Decimal,
            Kind::Text | Kind::Geometry => DataType::Text,
            Kind::Json => DataType::Json,
            Kind::Bytes => DataType::Bytes,
            Kind::Date => DataType::Date,
            Kind::Time => DataType::Time,
            Kind::Timestamp => DataType::Timestamp,
            Kind::TimestampUtc => DataType::TimestampUtc,
        }
    }
}

/// A column of an answer.
#[derive(Debug)]
pub(crate) struct ColumnType {
    name: String,
    native: String,
    nullable: bool,
    pub(crate) kind: Kind,
}

impl ColumnType {
    /// The column for the host.
    pub(crate) fn column(&self) -> Column {
        let column = Column::new(self.name.as_str(), self.kind.data_type())
            .native_type(self.native.as_str())
            .nullable(self.nullable);
        match self.kind {
            Kind::TinyBoolean => column.dynamic(),
            _ => column,
        }
    }
}

/// What the server says of a type.
#[derive(Clone, Copy)]
struct Described<'a> {
    number: u8,
    charset: u16,
    length: u32,
    flags: u16,
    scale: u8,
    /// MariaDB's own name for what it sends as another type: `json`, `uuid`, `inet6`, `point`.
    extended: &'a str,
}

/// Reads the description of a column. `extended` is whether it may carry MariaDB's names of types.
pub(crate) fn read(body: &[u8], extended: bool) -> Result<ColumnType> {
    let (name, described) =
        parse(body, extended).ok_or_else(|| malformed("a description of columns"))?;
    let name = std::str::from_utf8(name).map_err(|_| not_utf8())?;
    let kind = kind(described);
    Ok(ColumnType {
        name: name.to_owned(),
        native: native(described, kind),
        nullable: described.flags & NOT_NULL == 0,
        kind,
    })
}

fn parse(body: &[u8], extended: bool) -> Option<(&[u8], Described<'_>)> {
    let mut reader = Reader(body);
    // Catalog, schema, table, table in the schema.
    for _ in 0..4 {
        reader.text()?;
    }
    let name = reader.text()?;
    reader.text()?;
    let extended = match extended {
        true => extended_name(reader.text()?)?,
        false => "",
    };
    // The length of what follows.
    reader.number()?;
    let charset = reader.u16()?;
    let length = reader.u32()?;
    let number = reader.u8()?;
    let flags = reader.u16()?;
    let scale = reader.u8()?;
    let described = Described {
        number,
        charset,
        length,
        flags,
        scale,
        extended,
    };
    Some((name, described))
}

/// Pairs of a key (0 for the type, 1 for the format) and a name. One of them is there, if any.
fn extended_name(pairs: &[u8]) -> Option<&str> {
    let mut reader = Reader(pairs);
    let mut name = &b""[..];
    while !reader.0.is_empty() {
        reader.u8()?;
        name = reader.text()?;
    }
    std::str::from_utf8(name).ok()
}

fn kind(described: Described<'_>) -> Kind {
    let unsigned = described.flags & UNSIGNED != 0;
    let binary = described.charset == BINARY;
    match described.number {
        1 if described.length == 1 && !unsigned => Kind::TinyBoolean,
        8 if unsigned => Kind::Unsigned,
        1 | 2 | 3 | 8 | 9 | 13 => Kind::Integer,
        4 | 5 => Kind::Float,
        0 | 246 => Kind::Decimal,
        7 | 17 => Kind::TimestampUtc,
        12 | 18 => Kind::Timestamp,
        10 | 14 => Kind::Date,
        11 | 19 => Kind::Time,
        16 => {
            let of = BitType::new(described.length, described.flags & COMPUTED != 0);
            match described.length {
                1 => Kind::BitBoolean(of),
                _ => Kind::Bits(of),
            }
        }
        245 => Kind::Json,
        255 => Kind::Geometry,
        6 => Kind::Text,
        _ if described.extended == "json" => Kind::Json,
        // Their text has the charset of numbers.
        _ if matches!(described.extended, "uuid" | "inet6" | "inet4") => Kind::Text,
        _ if binary && described.flags & (ENUM | SET) == 0 => Kind::Bytes,
        _ => Kind::Text,
    }
}

/// The type as the server's own tools write it, as far as its description tells.
fn native(described: Described<'_>, kind: Kind) -> String {
    let base = match described.number {
        _ if !described.extended.is_empty() => return described.extended.to_owned(),
        1 if kind == Kind::TinyBoolean => "tinyint(1)",
        1 => "tinyint",
        2 => "smallint",
        3 => "int",
        8 => "bigint",
        9 => "mediumint",
        13 => "year",
        4 => "float",
        5 => "double",
        0 | 246 => return decimal(described),
        7 | 17 => "timestamp",
        12 | 18 => "datetime",
        10 | 14 => "date",
        11 | 19 => "time",
        16 => return format!("bit({})", described.length),
        245 => "json",
        255 => "geometry",
        6 => "null",
        _ if described.flags & ENUM != 0 => "enum",
        _ if described.flags & SET != 0 => "set",
        number => return text(number, described),
    };
    match described.flags & UNSIGNED != 0 && matches!(described.number, 1..=5 | 8 | 9) {
        true => format!("{base} unsigned"),
        false => base.to_owned(),
    }
}

fn decimal(described: Described<'_>) -> String {
    let scale = described.scale.min(NO_SCALE);
    let unsigned = described.flags & UNSIGNED != 0;
    // The length counts the sign and the point.
    let extra = u32::from(!unsigned) + u32::from(scale > 0);
    let digits = described.length.saturating_sub(extra);
    let name = format!("decimal({digits},{scale})");
    match unsigned {
        true => format!("{name} unsigned"),
        false => name,
    }
}

fn text(number: u8, described: Described<'_>) -> String {
    let binary = described.charset == BINARY;
    // In utf8mb4 a character counts four bytes.
    let length = if binary {
        described.length
    } else {
        described.length / 4
    };
    match (number, binary) {
        (254, true) => format!("binary({length})"),
        (254, false) => format!("char({length})"),
        (249..=252, true) => "blob".to_owned(),
        (249..=252, false) => "text".to_owned(),
        (242, _) => "vector".to_owned(),
        (_, true) => format!("varbinary({length})"),
        (_, false) => format!("varchar({length})"),
    }
}
