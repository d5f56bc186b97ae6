//! What each dialect may be asked to do. Whatever is not listed here is done in the host, so that a statement gives the
//! same rows wherever its parts run.

use mindhost_plugin_api::{Column, DataType, Dialect};

/// What is pushed down to a dialect.
#[derive(Debug)]
pub struct Rules {
    /// The quotes of names.
    quotes: (char, char),
    /// Whether filters of one table go there at all.
    pub filters: bool,
    /// Whether a filter there keeps exactly the rows that it keeps in the host. Where cells may have other types than
    /// their columns (SQLite), it may keep more, and the host filters again.
    pub exact: bool,
    /// Whether joins, groups and limits go there. They need exact filters.
    pub whole_plans: bool,
    /// Whether LIKE compares as in the host: by case, with `\` as escape.
    pub like: bool,
    /// Around a text: makes comparisons those of bytes.
    bytewise: (&'static str, &'static str),
    /// Whether that changes the type of the text, so that both sides of a comparison need it, and a result needs
    /// [`Rules::text_again`].
    pub bytes_are_binary: bool,
    /// Around bytes: makes them a text again.
    text_again: (&'static str, &'static str),
    /// Around a text: makes LIKE compare as in the host.
    like_text: (&'static str, &'static str),
    /// Whether a comparison without [`Rules::bytes`] stands beside the one with it, so that an index can be used.
    pub uses_index: bool,
    /// How NULLs are placed in an order.
    pub nulls: NullOrder,
    /// Whether there is FULL JOIN.
    pub full_joins: bool,
    /// Whether EXISTS may compare texts. MariaDB remembers its result by the outer columns, which it compares by their
    /// collation: what was found for `a` then holds for `A` too.
    pub exists_with_texts: bool,
    /// The type of 64-bit integers in CAST.
    pub int64: &'static str,
}

/// How a dialect places NULLs in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullOrder {
    /// Not at all, or its tests do not compare it with the host.
    Unknown,
    /// `NULLS FIRST` and `NULLS LAST`.
    Keywords,
    /// By a key of its own: `x IS NULL`.
    OwnKey,
}

const PLAIN: Rules = Rules {
    quotes: ('"', '"'),
    filters: false,
    exact: false,
    whole_plans: false,
    like: false,
    bytewise: ("", ""),
    bytes_are_binary: false,
    text_again: ("", ""),
    like_text: ("", ""),
    uses_index: false,
    nulls: NullOrder::Unknown,
    full_joins: true,
    exists_with_texts: true,
    int64: "BIGINT",
};

static DATAFUSION: Rules = Rules {
    filters: true,
    exact: true,
    whole_plans: true,
    like: true,
    nulls: NullOrder::Keywords,
    ..PLAIN
};

static POSTGRESQL: Rules = Rules {
    filters: true,
    exact: true,
    whole_plans: true,
    like: true,
    bytewise: ("", r#" COLLATE "C""#),
    like_text: ("", r#" COLLATE "C""#),
    uses_index: true,
    nulls: NullOrder::Keywords,
    ..PLAIN
};

static SQLITE: Rules = Rules {
    filters: true,
    bytewise: ("", " COLLATE BINARY"),
    ..PLAIN
};

/// Texts are compared by code point. The host filters again, as it does over any engine that its tests do not compare.
static TRINO: Rules = Rules {
    filters: true,
    nulls: NullOrder::Keywords,
    ..PLAIN
};

/// Texts are compared by their bytes. The host filters again, as over Trino.
static CLICKHOUSE: Rules = Rules {
    filters: true,
    ..PLAIN
};

static GENERIC: Rules = PLAIN;

/// Every collation of MariaDB and most of MySQL ignore blanks at the end, and a text may have another character set than
/// the connection, so texts are compared as the bytes of their UTF-8. For `LIKE` they stay texts: `_` is a character.
static MYSQL: Rules = Rules {
    quotes: ('`', '`'),
    filters: true,
    exact: true,
    whole_plans: true,
    like: true,
    bytewise: ("CAST(CONVERT(", " USING utf8mb4) AS BINARY)"),
    bytes_are_binary: true,
    text_again: ("CONVERT(", " USING utf8mb4)"),
    like_text: ("CONVERT(", " USING utf8mb4) COLLATE utf8mb4_bin"),
    uses_index: true,
    nulls: NullOrder::OwnKey,
    full_joins: false,
    exists_with_texts: false,
    int64: "SIGNED",
};

static MSSQL: Rules = Rules {
    quotes: ('[', ']'),
    ..PLAIN
};

/// The rules of a dialect. One without rules of its own gives columns, and nothing more.
pub fn rules(dialect: Dialect) -> &'static Rules {
    match dialect {
        Dialect::Datafusion => &DATAFUSION,
        Dialect::Postgresql => &POSTGRESQL,
        Dialect::Sqlite => &SQLITE,
        Dialect::Mysql => &MYSQL,
        Dialect::Mssql => &MSSQL,
        Dialect::Trino => &TRINO,
        Dialect::Clickhouse => &CLICKHOUSE,
        Dialect::Generic => &GENERIC,
    }
}

impl Rules {
    /// A text that is compared by its bytes.
    pub fn bytes(&self, text: &str) -> String {
        around(self.bytewise, text)
    }

    /// The text of such bytes.
    pub fn text_again(&self, bytes: &str) -> String {
        around(self.text_again, bytes)
    }

    /// A text on the left of LIKE.
    pub fn like_text(&self, text: &str) -> String {
        around(self.like_text, text)
    }

    /// A name in quotes.
    pub fn quoted(&self, name: &str) -> String {
        let (open, close) = self.quotes;
        let mut text = String::with_capacity(name.len() + 2);
        text.push(open);
        for character in name.chars() {
            text.push(character);
            if character == close {
                text.push(close);
            }
        }
        text.push(close);
        text
    }
}

fn around((before, behind): (&str, &str), text: &str) -> String {
    format!("{before}{text}{behind}")
}

/// How values of a column may be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of up to 64 bits.
    Integer,
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
    /// Whatever else: it is read, and not compared in the engine.
    Opaque,
}

impl Kind {
    /// The kind of a column of a table.
    pub fn of(column: &Column, dialect: Dialect) -> Self {
        if dialect == Dialect::Clickhouse {
            return Self::of_clickhouse(&column.native_type);
        }
        match column.data_type {
            DataType::Int64 => Self::Integer,
            DataType::Decimal => Self::Decimal,
            // What is shown as 0.1 is a little more than that where it is compared.
            DataType::Float64 if dialect == Dialect::Trino && column.native_type == "real" => {
                Self::Opaque
            }
            DataType::Float64
                if dialect == Dialect::Mysql && column.native_type.starts_with("float") =>
            {
                Self::Opaque
            }
            DataType::Float64 => Self::Float,
            DataType::Date => Self::Date,
            DataType::Timestamp if dialect != Dialect::Sqlite => Self::Timestamp,
            DataType::TimestampUtc if dialect != Dialect::Sqlite => Self::TimestampUtc,
            // In MySQL every number but 0 is true, and only 1 equals TRUE.
            DataType::Boolean if !matches!(dialect, Dialect::Sqlite | Dialect::Mysql) => {
                Self::Boolean
            }
            DataType::Text if is_text(&column.native_type, dialect) => match dialect {
                Dialect::Mysql if !is_short(&column.native_type) => Self::LongText,
                _ => Self::Text,
            },
            _ => Self::Opaque,
        }
    }

    /// By its name in ClickHouse: a fraction in a statement is a float there, an enum refuses other texts than its own, and
    /// an interval is a number of something.
    fn of_clickhouse(native: &str) -> Self {
        let mut name = native;
        for wrapper in ["LowCardinality(", "Nullable("] {
            name = name
                .strip_prefix(wrapper)
                .and_then(|inner| inner.strip_suffix(')'))
                .unwrap_or(name);
        }
        match name {
            "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" => Self::Integer,
            "String" => Self::Text,
            "Date" => Self::Date,
            _ => Self::Opaque,
        }
    }

    /// Whether both are compared by value, not by their engine's form of it.
    pub fn compares_with(self, other: Self) -> bool {
        use Kind::{Decimal, Integer, Opaque};
        (self == other && self != Opaque)
            || (self.is_text() && other.is_text())
            || matches!((self, other), (Integer, Decimal) | (Decimal, Integer))
    }

    /// Whether it is compared by bytes.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::LongText)
    }

    /// Whether the order of these is the same everywhere.
    pub fn is_ordered(self) -> bool {
        !matches!(
            self,
            Self::Opaque | Self::Float | Self::Boolean | Self::LongText
        )
    }
}

/// Bytes of a text that MySQL looks at where it sorts for a group or an order (`max_sort_length`).
const MAX_SORTED: usize = 1024;

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
        for native in [
            "character(5)",
            "citext",
            "public.mood",
            "uuid",
            "inet",
            "name",
        ] {
            assert_eq!(kind(native), Kind::Opaque, "{native}");
        }
    }

    #[test]
    fn types_of_clickhouse_are_known_by_their_names() {
        let kind = |native: &str| Kind::of(&column(DataType::Any, native), Dialect::Clickhouse);
        assert_eq!(kind("LowCardinality(Nullable(String))"), Kind::Text);
        assert_eq!(kind("Nullable(Int64)"), Kind::Integer);
        assert_eq!(kind("Date"), Kind::Date);
        for native in [
            "UInt64",
            "IntervalDay",
            "Enum8('a' = 1)",
            "FixedString(3)",
            "Decimal(12, 2)",
            "Date32",
            "Nullable(",
            "",
        ] {
            assert_eq!(kind(native), Kind::Opaque, "{native}");
        }
    }

    #[test]
    fn names_are_quoted_as_each_dialect_wants() {
        assert_eq!(rules(Dialect::Postgresql).quoted(r#"a"b"#), r#""a""b""#);
        assert_eq!(rules(Dialect::Mysql).quoted("a`b"), "`a``b`");
        assert_eq!(rules(Dialect::Mssql).quoted("a]b"), "[a]]b]");
    }
}
