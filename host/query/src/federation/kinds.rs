//! How values of a column may be compared in its engine.

use mindhost_plugin_api::{Column, DataType, Dialect};

/// How values of a column may be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of up to 64 bits, with a sign.
    Integer,
    /// The same without a sign. Their sums and products may not fit in the engine.
    Unsigned,
    /// Exact numbers.
    Decimal,
    /// Floating-point numbers.
    Float,
    /// Texts whose engine can compare them by bytes.
    Text,
    /// The same, where the engine groups and orders long texts by their first bytes alone.
    LongText,
    /// Days.
    Date,
    /// Moments without a zone.
    Timestamp,
    /// Moments with one.
    TimestampUtc,
    /// Truth values.
    Boolean,
    /// Moments of ClickHouse, with so many digits behind the second. Constants beside them have as many.
    Instant(u8),
    /// Moments of Trino as a text with a zone. Where clocks were set back it means two; the host takes the first, and
    /// the engine knows the other.
    ZonedText,
    /// UUIDs, whose order is that of their lower-case texts.
    Uuid,
    /// Whatever else: it is read, and not compared in the engine.
    Opaque,
}

impl Kind {
    /// The kind of a column of a table.
    pub fn of(column: &Column, dialect: Dialect) -> Self {
        match dialect {
            Dialect::Clickhouse => Self::of_clickhouse(column),
            Dialect::Trino => Self::of_trino(column),
            Dialect::Mssql => Self::of_mssql(column),
            _ => Self::of_others(column, dialect),
        }
    }

    fn of_others(column: &Column, dialect: Dialect) -> Self {
        let native = column.native_type.as_str();
        match column.data_type {
            DataType::Int64 => Self::Integer,
            DataType::Uint64 => Self::Unsigned,
            DataType::Decimal => Self::Decimal,
            // What is shown as 0.1 is a little more than that where it is compared.
            DataType::Float64 if dialect == Dialect::Mysql && native.starts_with("float") => {
                Self::Opaque
            }
            DataType::Float64 if dialect == Dialect::Postgresql && native == "real" => Self::Opaque,
            DataType::Float64 => Self::Float,
            DataType::Date => Self::Date,
            DataType::Timestamp if dialect != Dialect::Sqlite => Self::Timestamp,
            DataType::TimestampUtc if dialect != Dialect::Sqlite => Self::TimestampUtc,
            // In MySQL every number but 0 is true, and only 1 equals TRUE.
            DataType::Boolean if !matches!(dialect, Dialect::Sqlite | Dialect::Mysql) => {
                Self::Boolean
            }
            DataType::Text if dialect == Dialect::Postgresql && native == "uuid" => Self::Uuid,
            DataType::Text if is_text(native, dialect) => match dialect {
                Dialect::Mysql if !is_short(native) => Self::LongText,
                _ => Self::Text,
            },
            _ => Self::Opaque,
        }
    }

    /// By its name in ClickHouse: a fraction in a statement is a float there, an enum refuses other texts than its own,
    /// and an interval is a number of something. A decimal of more than 64 bits overflows where it is compared.
    fn of_clickhouse(column: &Column) -> Self {
        let mut name = column.native_type.as_str();
        for wrapper in ["LowCardinality(", "Nullable("] {
            name = name
                .strip_prefix(wrapper)
                .and_then(|inner| inner.strip_suffix(')'))
                .unwrap_or(name);
        }
        let (bare, digits) = name.split_once('(').unwrap_or((name, ""));
        match bare {
            "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" => Self::Integer,
            "UInt64" => Self::Unsigned,
            "String" => Self::Text,
            "Date" => Self::Date,
            "Decimal" if is_short_decimal(digits) => Self::Decimal,
            // In the time of a zone, one that the host reads may be another one than the engine compares.
            _ if column.data_type != DataType::TimestampUtc => Self::Opaque,
            "DateTime" => Self::Instant(0),
            "DateTime64" => match digits.split([',', ')']).next().unwrap_or_default().parse() {
                Ok(digits) if digits <= MICROSECONDS => Self::Instant(digits),
                _ => Self::Opaque,
            },
            _ => Self::Opaque,
        }
    }

    fn of_trino(column: &Column) -> Self {
        let native = column.native_type.as_str();
        let digits = || {
            let (_, rest) = native.split_once('(')?;
            rest.split_once(')')?.0.parse::<u8>().ok()
        };
        let is_whole = || digits().is_some_and(|digits| digits <= MICROSECONDS);
        match column.data_type {
            // NaN is more than any number for the host, and is not for Trino.
            DataType::Float64 => Self::Opaque,
            DataType::Timestamp if is_whole() => Self::Timestamp,
            DataType::TimestampUtc if is_whole() => Self::ZonedText,
            DataType::Timestamp | DataType::TimestampUtc => Self::Opaque,
            _ => Self::of_others(column, Dialect::Trino),
        }
    }

    fn of_mssql(column: &Column) -> Self {
        let native = column.native_type.as_str();
        match column.data_type {
            DataType::Int64 => Self::Integer,
            DataType::Decimal if native.starts_with("decimal") || native.starts_with("numeric") => {
                Self::Decimal
            }
            DataType::Date => Self::Date,
            _ => Self::Opaque,
        }
    }

    /// Whether both are compared by value, not by their engine's form of it.
    pub fn compares_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Opaque | Self::ZonedText, _) => false,
            // The finer one is not a constant of the coarser type.
            (Self::Instant(of), Self::Instant(with)) => with <= of,
            _ => {
                self == other
                    || (self.is_text() && other.is_text())
                    || (self.is_exact_number() && other.is_exact_number())
            }
        }
    }

    /// Whether it is an integer or a decimal.
    fn is_exact_number(self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned | Self::Decimal)
    }

    /// Whether it is compared by bytes.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::LongText)
    }

    /// Whether the order of these is the same everywhere.
    pub fn is_ordered(self) -> bool {
        !matches!(
            self,
            Self::Opaque | Self::ZonedText | Self::Float | Self::Boolean | Self::LongText
        )
    }
}

/// Digits of a decimal of 64 bits.
pub const DECIMAL64_DIGITS: i8 = 18;
/// Digits behind a second that the host has.
const MICROSECONDS: u8 = 6;
/// Bytes of a text that MySQL looks at where it sorts for a group or an order (`max_sort_length`).
const MAX_SORTED: usize = 1024;

/// Whether a decimal of ClickHouse has 64 bits at most: it can have any scale, and a sum of it does not overflow. In
/// brackets are its digits and its scale.
fn is_short_decimal(brackets: &str) -> bool {
    let digits = brackets.split(',').next().unwrap_or_default().trim();
    digits
        .parse()
        .is_ok_and(|digits: i8| digits <= DECIMAL64_DIGITS)
}

/// Whether a text of MySQL has at most [`MAX_SORTED`] bytes in UTF-8.
fn is_short(native: &str) -> bool {
    let length = native
        .split_once('(')
        .and_then(|(_, rest)| rest.split(')').next()?.parse::<usize>().ok());
    match length {
        Some(characters) => characters.saturating_mul(4) <= MAX_SORTED,
        None => native == "char" || native == "tinytext",
    }
}

/// Whether a column of text is text for its engine too. Others are shown as text: `character(5)` ignores blanks at the
/// end, an enum is ordered by its declaration, an address by its bits.
fn is_text(native: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgresql => native == "text" || native.starts_with("character varying"),
        Dialect::Sqlite | Dialect::Datafusion => true,
        // `char(n)` is filled with blanks.
        Dialect::Trino => native.starts_with("varchar"),
        // An enum is ordered by its declaration.
        Dialect::Mysql => [
            "varchar",
            "char",
            "text",
            "tinytext",
            "mediumtext",
            "longtext",
        ]
        .contains(&native.split('(').next().unwrap_or_default()),
        Dialect::Mssql | Dialect::Clickhouse | Dialect::Generic => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(data_type: DataType, native: &str) -> Column {
        Column {
            name: String::from("c"),
            data_type,
            native_type: native.to_owned(),
            nullable: true,
        }
    }

    #[test]
    fn text_that_its_engine_compares_otherwise_is_opaque() {
        let kind = |native: &str| Kind::of(&column(DataType::Text, native), Dialect::Postgresql);
        assert_eq!(kind("text"), Kind::Text);
        assert_eq!(kind("character varying(20)"), Kind::Text);
        for native in ["character(5)", "citext", "public.mood", "inet", "name"] {
            assert_eq!(kind(native), Kind::Opaque, "{native}");
        }
    }

    #[test]
    fn types_of_clickhouse_are_known_by_their_names() {
        let kind =
            |native: &str| Kind::of(&column(DataType::TimestampUtc, native), Dialect::Clickhouse);
        assert_eq!(kind("LowCardinality(Nullable(String))"), Kind::Text);
        assert_eq!(kind("Nullable(Int64)"), Kind::Integer);
        assert_eq!(kind("Date"), Kind::Date);
        assert_eq!(kind("Nullable(Decimal(18, 2))"), Kind::Decimal);
        assert_eq!(kind("UInt64"), Kind::Unsigned);
        assert_eq!(kind("Nullable(DateTime)"), Kind::Instant(0));
        assert_eq!(kind("DateTime('Europe/Berlin')"), Kind::Instant(0));
        assert_eq!(kind("DateTime64(3)"), Kind::Instant(3));
        assert_eq!(kind("DateTime64(6, 'UTC')"), Kind::Instant(6));
        let local = column(DataType::Timestamp, "DateTime('Europe/Berlin')");
        assert_eq!(Kind::of(&local, Dialect::Clickhouse), Kind::Opaque);
        for native in [
            "DateTime64(7)",
            "DateTime64",
            "IntervalDay",
            "Enum8('a' = 1)",
            "FixedString(3)",
            "Decimal(19, 2)",
            "Date32",
            "Nullable(",
            "",
        ] {
            assert_eq!(kind(native), Kind::Opaque, "{native}");
        }
    }

    #[test]
    fn moments_finer_than_microseconds_are_opaque() {
        let kind = |data_type, native: &str| Kind::of(&column(data_type, native), Dialect::Trino);
        let (local, utc) = (DataType::Timestamp, DataType::TimestampUtc);
        assert_eq!(kind(local, "timestamp(6)"), Kind::Timestamp);
        assert_eq!(kind(utc, "timestamp(3) with time zone"), Kind::ZonedText);
        for (data_type, native) in [
            (local, "timestamp(9)"),
            (local, "timestamp"),
            (utc, "timestamp(12) with time zone"),
        ] {
            assert_eq!(kind(data_type, native), Kind::Opaque, "{native}");
        }
    }

    #[test]
    fn exact_numbers_and_days_of_sql_server_are_compared() {
        let kind = |data_type, native: &str| Kind::of(&column(data_type, native), Dialect::Mssql);
        assert_eq!(kind(DataType::Int64, "bigint"), Kind::Integer);
        assert_eq!(kind(DataType::Decimal, "numeric(12,2)"), Kind::Decimal);
        assert_eq!(kind(DataType::Date, "date"), Kind::Date);
        for (data_type, native) in [
            (DataType::Decimal, "money"),
            (DataType::Float64, "float"),
            (DataType::Boolean, "bit"),
            (DataType::Timestamp, "datetime2(3)"),
            (DataType::Text, "nvarchar(10)"),
        ] {
            assert_eq!(kind(data_type, native), Kind::Opaque, "{native}");
        }
    }
}
