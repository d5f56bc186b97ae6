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
    /// Texts of SQL Server in UTF-16. Half of a surrogate pair is U+FFFD for the host.
    Utf16,
    /// Texts of SQL Server in a code page that the plan does not know. ASCII is the same in each.
    CodePage,
    /// Moments of SQL Server in three hundredths of a second (`datetime`), which the host reads in milliseconds.
    Ticks,
    /// Truth values of SQL Server, where a column is no condition.
    Bit,
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
            // A number beside it is one there too: 5 is the year 2005, and -1 the greatest OID.
            DataType::Int64 if dialect == Dialect::Mysql && native.starts_with("year") => {
                Self::Opaque
            }
            DataType::Int64 if dialect == Dialect::Postgresql && native == "oid" => Self::Opaque,
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
            DataType::Boolean => Self::Bit,
            // A seventh digit that is not 0 is an error where it is read, so no row has it.
            DataType::Timestamp if native.starts_with("datetime2") || native == "smalldatetime" => {
                Self::Timestamp
            }
            DataType::Timestamp if native == "datetime" => Self::Ticks,
            DataType::TimestampUtc => Self::TimestampUtc,
            DataType::Text if native.starts_with("nvarchar") || native.starts_with("nchar") => {
                Self::Utf16
            }
            DataType::Text if native.starts_with("varchar") || native.starts_with("char") => {
                Self::CodePage
            }
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

    /// Whether it is a text that its engine compares with constants alone, by what it stores.
    pub fn is_stored_text(self) -> bool {
        matches!(self, Self::Utf16 | Self::CodePage)
    }

    /// Whether it is compared by bytes.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::LongText)
    }

    /// Whether the order of these is the same everywhere.
    pub fn is_ordered(self) -> bool {
        !matches!(
            self,
            Self::Opaque
                | Self::ZonedText
                | Self::Float
                | Self::Boolean
                | Self::Bit
                | Self::LongText
                | Self::Utf16
                | Self::CodePage
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
        // `UUID` has the affinity of numbers: `'05'` is 5 beside a column of it.
        Dialect::Sqlite => ["CHAR", "CLOB", "TEXT"]
            .iter()
            .any(|part| native.to_ascii_uppercase().contains(part)),
        Dialect::Datafusion => true,
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
    fn integer_that_its_engine_compares_otherwise_is_opaque() {
        for (native, dialect, wanted) in [
            ("year", Dialect::Mysql, Kind::Opaque),
            ("int", Dialect::Mysql, Kind::Integer),
            ("oid", Dialect::Postgresql, Kind::Opaque),
            ("bigint", Dialect::Postgresql, Kind::Integer),
        ] {
            let kind = Kind::of(&column(DataType::Int64, native), dialect);
            assert_eq!(kind, wanted, "{native}");
        }
    }

    #[test]
    fn text_of_sqlite_has_the_affinity_of_texts() {
        let kind = |native: &str| Kind::of(&column(DataType::Text, native), Dialect::Sqlite);
        assert_eq!(kind("varchar(20)"), Kind::Text);
        assert_eq!(kind("TEXT"), Kind::Text);
        assert_eq!(kind("UUID"), Kind::Opaque);
        assert_eq!(kind("STRING"), Kind::Opaque);
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
    fn types_of_sql_server_are_known_by_their_names() {
        let kind = |data_type, native: &str| Kind::of(&column(data_type, native), Dialect::Mssql);
        for (data_type, native, wanted) in [
            (DataType::Int64, "bigint", Kind::Integer),
            (DataType::Decimal, "numeric(12,2)", Kind::Decimal),
            (DataType::Date, "date", Kind::Date),
            (DataType::Boolean, "bit", Kind::Bit),
            (DataType::Timestamp, "datetime2(7)", Kind::Timestamp),
            (DataType::Timestamp, "smalldatetime", Kind::Timestamp),
            (DataType::Timestamp, "datetime", Kind::Ticks),
            (
                DataType::TimestampUtc,
                "datetimeoffset(3)",
                Kind::TimestampUtc,
            ),
            (DataType::Text, "nvarchar(max)", Kind::Utf16),
            (DataType::Text, "nchar(3)", Kind::Utf16),
            (DataType::Text, "varchar(10)", Kind::CodePage),
            (DataType::Text, "char(10)", Kind::CodePage),
            // Sums of money overflow, and what is shown as 0.1 is a little more than that where it is compared.
            (DataType::Decimal, "money", Kind::Opaque),
            (DataType::Float64, "float", Kind::Opaque),
            (DataType::Time, "time(3)", Kind::Opaque),
            // Shown in upper case, not compared, and of any type.
            (DataType::Text, "uniqueidentifier", Kind::Opaque),
            (DataType::Text, "ntext", Kind::Opaque),
            (DataType::Text, "xml", Kind::Opaque),
            (DataType::Any, "sql_variant", Kind::Opaque),
        ] {
            assert_eq!(kind(data_type, native), wanted, "{native}");
        }
    }

    #[test]
    fn texts_of_sql_server_have_no_order_and_no_equal_of_another_type() {
        for kind in [Kind::Utf16, Kind::CodePage] {
            assert!(kind.is_stored_text() && !kind.is_text() && !kind.is_ordered());
            assert!(!kind.compares_with(Kind::Text) && !Kind::Text.compares_with(kind));
        }
        assert!(!Kind::Utf16.compares_with(Kind::CodePage));
        assert!(!Kind::Ticks.compares_with(Kind::Timestamp));
    }
}
