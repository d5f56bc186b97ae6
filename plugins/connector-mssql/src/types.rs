//! What a column is: TYPE_INFO of the protocol, the engine's name of the type, and the type of the contract.

use mindhost_sdk::{Column, DataType, Result};

use crate::codepage::CodePage;
use crate::error::malformed;
use crate::wire::Wire;

/// More columns than the host takes.
const MAX_COLUMNS: usize = 4096;
/// The length that stands for `max`.
const MAX_LENGTH: u16 = 0xFFFF;
/// The largest precision and the largest scale of fractions of a second.
const MAX_PRECISION: u8 = 38;
const MAX_FRACTION: u8 = 7;
/// The user type of `timestamp`, which is also called `rowversion`.
const ROWVERSION: u32 = 80;
const IDENTIFIERS: [&str; 3] = ["hierarchyid", "geometry", "geography"];

/// How the value of a column is written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// So many bytes, never NULL.
    Fixed(usize),
    /// A length of one byte; 0 is NULL.
    Byte,
    /// A length of two bytes; 0xFFFF is NULL.
    Short,
    /// A text pointer, a time stamp and a length of four bytes; a text pointer without bytes is NULL.
    Pointer,
    /// A length of four bytes; 0 is NULL.
    Long,
    /// Chunks (partially length-prefixed).
    Chunks,
}

/// What the bytes of a value mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bit,
    /// `tinyint` is unsigned, the others are not; the value's own length says which it is.
    Integer,
    Float,
    Money,
    Decimal {
        scale: u8,
    },
    Guid,
    Date,
    Time {
        scale: u8,
    },
    DateTime2 {
        scale: u8,
    },
    DateTimeOffset {
        scale: u8,
    },
    /// `datetime` of 8 bytes, `smalldatetime` of 4.
    DateTime,
    Text(CodePage),
    Utf16,
    Bytes,
    Variant,
}

/// A column of an answer.
#[derive(Clone, Debug)]
pub(crate) struct ColumnMeta {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) layout: Layout,
    pub(crate) native: String,
    nullable: bool,
}

impl ColumnMeta {
    /// Reads the rest of the token COLMETADATA.
    ///
    /// # Errors
    /// `Upstream` when it is malformed or has too many columns.
    pub(crate) fn read_all(wire: &mut Wire) -> Result<Vec<Self>> {
        let count = usize::from(wire.u16()?);
        if count == 0xFFFF {
            return Ok(Vec::new());
        }
        if count > MAX_COLUMNS {
            return Err(malformed("a result of more than 4,096 columns"));
        }
        (0..count).map(|_| Self::read(wire)).collect()
    }

    fn read(wire: &mut Wire) -> Result<Self> {
        let user_type = wire.u32()?;
        let flags = wire.u16()?;
        let mut column = Self::read_type(wire)?;
        if column.layout == Layout::Pointer {
            // The name of the table, in parts.
            for _ in 0..wire.u8()? {
                wire.long_text()?;
            }
        }
        if user_type == ROWVERSION && column.kind == Kind::Bytes {
            column.native = "rowversion".into();
        }
        column.name = wire.short_text()?;
        column.nullable = flags & 1 != 0;
        Ok(column)
    }

    /// Reads a TYPE_INFO.
    pub(crate) fn read_type(wire: &mut Wire) -> Result<Self> {
        let token = wire.u8()?;
        let (kind, layout, native) = match token {
            0x1F => (Kind::Null, Layout::Fixed(0), "null".to_owned()),
            0x30 => fixed(Kind::Integer, 1, "tinyint"),
            0x32 => fixed(Kind::Bit, 1, "bit"),
            0x34 => fixed(Kind::Integer, 2, "smallint"),
            0x38 => fixed(Kind::Integer, 4, "int"),
            0x7F => fixed(Kind::Integer, 8, "bigint"),
            0x3A => fixed(Kind::DateTime, 4, "smalldatetime"),
            0x3D => fixed(Kind::DateTime, 8, "datetime"),
            0x3B => fixed(Kind::Float, 4, "real"),
            0x3E => fixed(Kind::Float, 8, "float"),
            0x7A => fixed(Kind::Money, 4, "smallmoney"),
            0x3C => fixed(Kind::Money, 8, "money"),
            0x24 | 0x26 | 0x68 | 0x6D | 0x6E | 0x6F => sized(token, wire.u8()?)?,
            0x37 | 0x3F | 0x6A | 0x6C => decimal(token, wire)?,
            0x28 => (Kind::Date, Layout::Byte, "date".into()),
            0x29..=0x2B => fraction(token, wire.u8()?)?,
            0xA5 | 0xA7 | 0xAD | 0xAF | 0xE7 | 0xEF => short(token, wire)?,
            0x22 | 0x23 | 0x63 => pointer(token, wire)?,
            0x62 => {
                wire.u32()?;
                (Kind::Variant, Layout::Long, "sql_variant".into())
            }
            0xF0 => user_defined(wire)?,
            0xF1 => xml(wire)?,
            // SQL Server 2025; it is sent so only to clients that asked for it.
            0xF4 => (Kind::Text(CodePage::UTF_8), Layout::Chunks, "json".into()),
            _ => return Err(malformed("a type")),
        };
        Ok(Self {
            name: String::new(),
            kind,
            layout,
            native,
            nullable: true,
        })
    }

    /// The column as the host sees it.
    pub(crate) fn column(&self) -> Column {
        let column = Column::new(&self.name, self.data_type()).native_type(&self.native);
        column.nullable(self.nullable)
    }

    fn data_type(&self) -> DataType {
        match self.kind {
            Kind::Bit => DataType::Boolean,
            Kind::Integer => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Money | Kind::Decimal { .. } => DataType::Decimal,
            Kind::Date => DataType::Date,
            Kind::Time { .. } => DataType::Time,
            Kind::DateTime2 { .. } | Kind::DateTime => DataType::Timestamp,
            Kind::DateTimeOffset { .. } => DataType::TimestampUtc,
            Kind::Null | Kind::Guid | Kind::Text(_) | Kind::Utf16 => DataType::Text,
            Kind::Bytes => DataType::Bytes,
            Kind::Variant => DataType::Any,
        }
    }
}

type Described = (Kind, Layout, String);

fn fixed(kind: Kind, bytes: usize, native: &str) -> Described {
    (kind, Layout::Fixed(bytes), native.to_owned())
}

fn sized(token: u8, bytes: u8) -> Result<Described> {
    let (kind, native) = match (token, bytes) {
        (0x24, 16) => (Kind::Guid, "uniqueidentifier"),
        (0x26, 1) => (Kind::Integer, "tinyint"),
        (0x26, 2) => (Kind::Integer, "smallint"),
        (0x26, 4) => (Kind::Integer, "int"),
        (0x26, 8) => (Kind::Integer, "bigint"),
        (0x68, 1) => (Kind::Bit, "bit"),
        (0x6D, 4) => (Kind::Float, "real"),
        (0x6D, 8) => (Kind::Float, "float"),
        (0x6E, 4) => (Kind::Money, "smallmoney"),
        (0x6E, 8) => (Kind::Money, "money"),
        (0x6F, 4) => (Kind::DateTime, "smalldatetime"),
        (0x6F, 8) => (Kind::DateTime, "datetime"),
        _ => return Err(malformed("a type")),
    };
    Ok((kind, Layout::Byte, native.into()))
}

fn decimal(token: u8, wire: &mut Wire) -> Result<Described> {
    let [_, precision, scale] = wire.array()?;
    if precision == 0 || precision > MAX_PRECISION || scale > precision {
        return Err(malformed("a type"));
    }
    let name = match token {
        0x3F | 0x6C => "numeric",
        _ => "decimal",
    };
    let native = format!("{name}({precision},{scale})");
    Ok((Kind::Decimal { scale }, Layout::Byte, native))
}

fn fraction(token: u8, scale: u8) -> Result<Described> {
    if scale > MAX_FRACTION {
        return Err(malformed("a type"));
    }
    let (kind, name) = match token {
        0x29 => (Kind::Time { scale }, "time"),
        0x2A => (Kind::DateTime2 { scale }, "datetime2"),
        _ => (Kind::DateTimeOffset { scale }, "datetimeoffset"),
    };
    Ok((kind, Layout::Byte, format!("{name}({scale})")))
}

fn short(token: u8, wire: &mut Wire) -> Result<Described> {
    let length = wire.u16()?;
    let (kind, name, unit) = match token {
        0xA5 => (Kind::Bytes, "varbinary", 1),
        0xAD => (Kind::Bytes, "binary", 1),
        0xA7 => (Kind::Text(CodePage::read(wire)?), "varchar", 1),
        0xAF => (Kind::Text(CodePage::read(wire)?), "char", 1),
        other => {
            CodePage::read(wire)?;
            let name = if other == 0xE7 { "nvarchar" } else { "nchar" };
            (Kind::Utf16, name, 2)
        }
    };
    Ok(match length {
        MAX_LENGTH => (kind, Layout::Chunks, format!("{name}(max)")),
        length => (kind, Layout::Short, format!("{name}({})", length / unit)),
    })
}

fn pointer(token: u8, wire: &mut Wire) -> Result<Described> {
    wire.u32()?;
    let (kind, native) = match token {
        0x22 => (Kind::Bytes, "image"),
        0x23 => (Kind::Text(CodePage::read(wire)?), "text"),
        _ => {
            CodePage::read(wire)?;
            (Kind::Utf16, "ntext")
        }
    };
    Ok((kind, Layout::Pointer, native.into()))
}

fn user_defined(wire: &mut Wire) -> Result<Described> {
    wire.u16()?;
    wire.short_text()?;
    let schema = wire.short_text()?;
    let name = wire.short_text()?;
    wire.long_text()?;
    let native = match IDENTIFIERS.contains(&name.as_str()) || schema.is_empty() {
        true => name,
        false => format!("{schema}.{name}"),
    };
    Ok((Kind::Bytes, Layout::Chunks, native))
}

fn xml(wire: &mut Wire) -> Result<Described> {
    match wire.u8()? {
        0 => {}
        // The collection of schemas that the documents follow.
        1 => {
            wire.short_text()?;
            wire.short_text()?;
            wire.long_text()?;
        }
        _ => return Err(malformed("a type")),
    }
    Ok((Kind::Utf16, Layout::Chunks, "xml".into()))
}
