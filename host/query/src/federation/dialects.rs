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
    /// Behind a text: makes comparisons those of bytes.
    pub bytewise: &'static str,
    /// Whether a comparison without [`Rules::bytewise`] stands beside the one with it, so that an index can be used.
    pub uses_index: bool,
    /// Behind a sort key; `None` where NULLs cannot be placed.
    pub nulls: bool,
}

const PLAIN: Rules = Rules {
    quotes: ('"', '"'),
    filters: false,
    exact: false,
    whole_plans: false,
    like: false,
    bytewise: "",
    uses_index: false,
    nulls: false,
};

static DATAFUSION: Rules = Rules {
    filters: true,
    exact: true,
    whole_plans: true,
    like: true,
    nulls: true,
    ..PLAIN
};

static POSTGRESQL: Rules = Rules {
    filters: true,
    exact: true,
    whole_plans: true,
    like: true,
    bytewise: r#" COLLATE "C""#,
    uses_index: true,
    nulls: true,
    ..PLAIN
};

static SQLITE: Rules = Rules {
    filters: true,
    bytewise: " COLLATE BINARY",
    ..PLAIN
};

/// Texts are compared by code point. The host filters again, as it does over any engine that its tests do not compare.
static TRINO: Rules = Rules {
    filters: true,
    nulls: true,
    ..PLAIN
};

static GENERIC: Rules = PLAIN;

static MYSQL: Rules = Rules {
    quotes: ('`', '`'),
    ..PLAIN
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
        Dialect::Clickhouse | Dialect::Generic => &GENERIC,
    }
}

impl Rules {
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
        match column.data_type {
            DataType::Int64 => Self::Integer,
            DataType::Decimal => Self::Decimal,
            // What is shown as 0.1 is a little more than that where it is compared.
            DataType::Float64 if dialect == Dialect::Trino && column.native_type == "real" => {
                Self::Opaque
            }
            DataType::Float64 => Self::Float,
            DataType::Date => Self::Date,
            DataType::Timestamp if dialect != Dialect::Sqlite => Self::Timestamp,
            DataType::TimestampUtc if dialect != Dialect::Sqlite => Self::TimestampUtc,
            DataType::Boolean if dialect != Dialect::Sqlite => Self::Boolean,
            DataType::Text if is_text(&column.native_type, dialect) => Self::Text,
            _ => Self::Opaque,
        }
    }

    /// Whether both are compared by value, not by their engine's form of it.
    pub fn compares_with(self, other: Self) -> bool {
        use Kind::{Decimal, Integer, Opaque};
        (self == other && self != Opaque)
            || matches!((self, other), (Integer, Decimal) | (Decimal, Integer))
    }

    /// Whether the order of these is the same everywhere.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Self::Opaque | Self::Float | Self::Boolean)
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
        Dialect::Mysql | Dialect::Mssql | Dialect::Clickhouse | Dialect::Generic => false,
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
    fn names_are_quoted_as_each_dialect_wants() {
        assert_eq!(rules(Dialect::Postgresql).quoted(r#"a"b"#), r#""a""b""#);
        assert_eq!(rules(Dialect::Mysql).quoted("a`b"), "`a``b`");
        assert_eq!(rules(Dialect::Mssql).quoted("a]b"), "[a]]b]");
    }
}
