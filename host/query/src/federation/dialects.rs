//! What each dialect may be asked to do. Whatever is not listed here is done in the host, so that a statement gives the
//! same rows wherever its parts run.

use mindhost_plugin_api::Dialect;

/// What is pushed down to a dialect.
#[derive(Debug)]
pub struct Rules {
    /// The quotes of names.
    quotes: (char, char),
    /// Whether a name in the list of SELECT stands for what it names in all of the statement, as in old servers of
    /// ClickHouse: then each is the name of one column alone.
    pub names_everywhere: bool,
    /// Whether filters of one table go there at all.
    pub filters: bool,
    /// Whether a filter there keeps exactly the rows that it keeps in the host. Where cells may have other types than
    /// their columns (SQLite), it may keep more, and the host filters again.
    pub exact: bool,
    /// Whether groups go there, and limits above conditions. They need exact filters.
    pub groups: bool,
    /// Whether groups of one table go there although cells may have other types than their columns, with a look at each
    /// cell that they read; see [`super::cells`].
    pub checked_groups: bool,
    /// Whether a text is grouped by what its engine stores, of which two forms may be one text in the host. The host
    /// then puts such groups together.
    pub groups_stored_texts: bool,
    /// Whether joins and subqueries go there too.
    pub joins: bool,
    /// Whether `+`, `-`, `*` and CASE go there: what overflows has to be an error.
    pub computes: bool,
    /// Whether LIKE sees case, as in the host.
    pub like: bool,
    /// Whether `\` is the escape of LIKE, as in the host.
    pub like_escapes: bool,
    /// Whether there is GLOB, which can compare as LIKE does in the host.
    pub glob: bool,
    /// Around a text: makes comparisons those of bytes.
    bytewise: (&'static str, &'static str),
    /// Whether such texts have the order of their UTF-8.
    pub orders_texts: bool,
    /// Whether that changes the type of the text, so that both sides of a comparison need it, and a result needs
    /// [`Rules::text_again`].
    pub bytes_are_binary: bool,
    /// Around bytes: makes them a text again.
    text_again: (&'static str, &'static str),
    /// Around a text: makes LIKE compare as in the host.
    like_text: (&'static str, &'static str),
    /// Whether a comparison without [`Rules::bytes`] stands beside the one with it, so that an index can be used.
    uses_index: bool,
    /// Whether a column may have a character set of its own. A comparison of it with a text that its set cannot hold is
    /// an error there, unless both are compared by [`Rules::bytes`].
    has_charsets: bool,
    /// How NULLs are placed in an order.
    pub nulls: NullOrder,
    /// Whether there is FULL JOIN.
    pub full_joins: bool,
    /// Whether EXISTS may compare texts. MariaDB remembers its result by the outer columns, which it compares by their
    /// collation: what was found for `a` then holds for `A` too.
    pub exists_with_texts: bool,
    /// The type of 64-bit integers in CAST.
    pub int64: &'static str,
    /// The aggregate that counts with 64 bits.
    pub count: &'static str,
    /// Whether a limit stands behind SELECT, as TOP, and not at the end.
    pub has_top: bool,
    /// Whether `x IN (1)` is false where `x` is NULL, and `x NOT IN (1)` true, in place of unknown.
    pub in_knows_null: bool,
    /// Whether `min`, `max` and `sum` of no rows are NULL for each column, and not its type's first value.
    pub empty_is_null: bool,
    /// Whether integers and decimals of all sizes are compared, and sums of integers do not wrap.
    pub mixes_numbers: bool,
    /// Values of one `IN` at most.
    pub max_listed: usize,
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
    /// By a key of its own that is a number, where a truth value is no value.
    CaseKey,
}

const PLAIN: Rules = Rules {
    quotes: ('"', '"'),
    names_everywhere: false,
    filters: false,
    exact: false,
    groups: false,
    checked_groups: false,
    groups_stored_texts: false,
    joins: false,
    computes: false,
    like: false,
    like_escapes: true,
    glob: false,
    bytewise: ("", ""),
    orders_texts: true,
    bytes_are_binary: false,
    text_again: ("", ""),
    like_text: ("", ""),
    uses_index: false,
    has_charsets: false,
    nulls: NullOrder::Unknown,
    full_joins: true,
    exists_with_texts: true,
    int64: "BIGINT",
    count: "count",
    has_top: false,
    in_knows_null: false,
    empty_is_null: true,
    mixes_numbers: true,
    max_listed: 5_000,
};

/// For engines whose planners are quick with so many.
const MANY_LISTED: usize = 10_000;

/// For engines that do all of it.
const WHOLE: Rules = Rules {
    filters: true,
    exact: true,
    groups: true,
    joins: true,
    computes: true,
    like: true,
    nulls: NullOrder::Keywords,
    ..PLAIN
};

static DATAFUSION: Rules = Rules {
    max_listed: MANY_LISTED,
    ..WHOLE
};

static POSTGRESQL: Rules = Rules {
    bytewise: ("", r#" COLLATE "C""#),
    like_text: ("", r#" COLLATE "C""#),
    uses_index: true,
    max_listed: MANY_LISTED,
    ..WHOLE
};

/// A database may be in UTF-16, whose bytes have another order than the host's. Cells may have other types than their
/// columns, and a row of a join has no place for a look at the cells that it was joined by, so joins stay in the host.
static SQLITE: Rules = Rules {
    filters: true,
    checked_groups: true,
    groups_stored_texts: true,
    glob: true,
    bytewise: ("", " COLLATE BINARY"),
    orders_texts: false,
    max_listed: MANY_LISTED,
    ..PLAIN
};

/// Texts are compared by code point, which is the order of their bytes. FULL JOIN takes equal keys alone there.
static TRINO: Rules = Rules {
    like_escapes: false,
    full_joins: false,
    ..WHOLE
};

/// Texts are compared by their bytes. Joins stay in the host, because no plan knows what its server makes of them: old
/// ones know no NULL in them and join two tables at most, the connection data may say `join_use_nulls: false`, a
/// profile with `readonly = 1` takes no setting, and the guard takes none in a statement. What overflows wraps there,
/// or is an error where it would not be one in the host.
static CLICKHOUSE: Rules = Rules {
    names_everywhere: true,
    filters: true,
    exact: true,
    groups: true,
    in_knows_null: true,
    empty_is_null: false,
    mixes_numbers: false,
    ..PLAIN
};

static GENERIC: Rules = PLAIN;

/// Every collation of MariaDB and most of MySQL ignore blanks at the end, and a text may have another character set than
/// the connection, so texts are compared as the bytes of their UTF-8. For `LIKE` they stay texts: `_` is a character.
static MYSQL: Rules = Rules {
    quotes: ('`', '`'),
    bytewise: ("CAST(CONVERT(", " USING utf8mb4) AS BINARY)"),
    bytes_are_binary: true,
    text_again: ("CONVERT(", " USING utf8mb4)"),
    like_text: ("CONVERT(", " USING utf8mb4) COLLATE utf8mb4_bin"),
    uses_index: true,
    has_charsets: true,
    nulls: NullOrder::OwnKey,
    full_joins: false,
    exists_with_texts: false,
    int64: "SIGNED",
    max_listed: MANY_LISTED,
    ..WHOLE
};

/// Texts have collations, which pad with blanks too, and UTF-16 has another order than UTF-8, so texts are compared
/// with constants, and grouped, as the bytes that are stored. A byte that is not 0 stands behind them: where one side
/// is shorter, binary values may be filled with zeros. There are no truth values. LIKE has classes of characters and
/// looks at halves of characters. The arithmetic of decimals rounds where 38 digits are not enough. The server fails on
/// lists of many thousand values.
static MSSQL: Rules = Rules {
    quotes: ('[', ']'),
    groups_stored_texts: true,
    computes: false,
    like: false,
    bytewise: ("(CAST(", " AS VARBINARY(MAX)) + CAST(1 AS BINARY(1)))"),
    bytes_are_binary: true,
    uses_index: true,
    nulls: NullOrder::CaseKey,
    count: "count_big",
    has_top: true,
    max_listed: 1_000,
    ..WHOLE
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

    /// Whether a comparison with these constants also stands without [`Rules::bytes`]. Every character set has ASCII.
    pub fn takes_index(&self, constants: &str) -> bool {
        self.uses_index && (!self.has_charsets || constants.is_ascii())
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

    /// Whether the guard takes this name in quotes: only if the parser prints it as it reads it. It prints quotes that
    /// are doubled or behind a backslash as they are, and brackets too.
    pub fn can_quote(&self, name: &str) -> bool {
        match self.quotes.0 {
            '[' => !name.contains(['[', ']']),
            quote => {
                let doubled = [quote, '\\'].map(|before| format!("{before}{quote}"));
                !doubled.iter().any(|pair| name.contains(pair.as_str()))
            }
        }
    }
}

fn around((before, behind): (&str, &str), text: &str) -> String {
    format!("{before}{text}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_each_dialect_wants() {
        assert_eq!(rules(Dialect::Postgresql).quoted(r#"a"b"#), r#""a""b""#);
        assert_eq!(rules(Dialect::Mysql).quoted("a`b"), "`a``b`");
        assert_eq!(rules(Dialect::Mssql).quoted("a]b"), "[a]]b]");
    }

    #[test]
    fn name_that_the_guard_cannot_print_is_found() {
        for (dialect, name, can) in [
            (Dialect::Postgresql, r#"a"b[c]`"#, true),
            (Dialect::Postgresql, r#"a""b"#, false),
            (Dialect::Sqlite, r#"a\"b"#, false),
            (Dialect::Mysql, "a`b\"\"", true),
            (Dialect::Mysql, "a``b", false),
            (Dialect::Mssql, r#"a"b"#, true),
            (Dialect::Mssql, "a]b", false),
        ] {
            assert_eq!(rules(dialect).can_quote(name), can, "{dialect:?} {name}");
        }
    }

    #[test]
    fn text_that_a_character_set_may_lack_is_compared_by_bytes_alone() {
        for (dialect, constants, takes_index) in [
            (Dialect::Mysql, "'a', 'b'", true),
            (Dialect::Mysql, "'a', '日本'", false),
            (Dialect::Postgresql, "'日本'", true),
            (Dialect::Sqlite, "'a'", false),
        ] {
            let found = rules(dialect).takes_index(constants);
            assert_eq!(found, takes_index, "{dialect:?} {constants}");
        }
    }
}
