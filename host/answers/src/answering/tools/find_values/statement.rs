//! The statement that looks for a value in one column.

use super::{Candidate, MOST_FITTING, MOST_ROWS, MOST_VALUES};
use mindhost_plugin_api::Dialect;
use mindhost_retrieval::Table;

/// Letters whose capitals a statement replaces one by one.
const MOST_CAPITALS: usize = 16;

/// What stands for any one letter in a value that [`lowered`] gives. It is not in a value that can be found.
const ANY: char = '\0';

/// The statement that finds a lower-case value in one column. Quotes are doubled. `%` and `_` are escaped where the
/// dialect has ESCAPE. There `[` and `\`, and elsewhere all four, become the wildcard for one letter. A table that may
/// have any number of rows is read through a subquery with a limit, so that the engine can stop. To ClickHouse, a
/// backslash in a name begins an escape; the guard refuses every such name there, so that column counts as not read.
pub(super) fn statement(dialect: Dialect, candidate: Candidate<'_>, value: &str) -> String {
    let quote = |name: &str| match dialect {
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
        Dialect::Mssql => format!("[{}]", name.replace(']', "]]")),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    let Table { schema, name, .. } = candidate.table;
    let table = match schema.is_empty() {
        true => quote(name),
        false => format!("{}.{}", quote(schema), quote(name)),
    };
    let column = quote(&candidate.column.name);
    let (lowered, value) = lowered(dialect, &column, value);
    let Pattern {
        text: pattern,
        escape,
        is_exact,
    } = pattern(dialect, &value);
    let limits = |rows: u64| match dialect {
        Dialect::Mssql => (format!("TOP {rows} "), String::new()),
        _ => (String::new(), format!(" LIMIT {rows}")),
    };
    let source = match candidate.table.row_count {
        Some(_) => table,
        None => {
            let (top, limit) = limits(MOST_ROWS);
            format!("(SELECT {top}{column} FROM {table}{limit}) AS some_rows")
        }
    };
    let (top, limit) = limits(match is_exact {
        true => MOST_VALUES as u64,
        false => MOST_FITTING,
    });
    format!(
        "SELECT DISTINCT {top}{column} FROM {source} WHERE {lowered} LIKE '%{pattern}%'{escape}{limit}"
    )
}

/// What stands between the `%` of a LIKE.
struct Pattern {
    text: String,
    /// The clause behind the pattern; empty if nothing is escaped.
    escape: &'static str,
    /// Whether no other value fits.
    is_exact: bool,
}

fn pattern(dialect: Dialect, value: &str) -> Pattern {
    let has_escape = !matches!(
        dialect,
        Dialect::Clickhouse | Dialect::Datafusion | Dialect::Generic
    );
    let escapes = has_escape && value.contains(['%', '_']);
    let (mut text, mut is_exact) = (String::new(), true);
    for letter in value.chars() {
        match letter {
            '%' | '_' | '!' if escapes => text.extend(['!', letter]),
            letter if r"%_[\".contains(letter) || letter.is_control() => {
                text.push('_');
                is_exact = false;
            }
            '\'' => text.push_str("''"),
            letter => text.push(letter),
        }
    }
    Pattern {
        text,
        escape: if escapes { " ESCAPE '!'" } else { "" },
        is_exact,
    }
}

/// A column in lower case, and a lower-case value as it may stand there. LOWER of SQLite and ClickHouse knows only the
/// letters of ASCII. SQLite has no other function, so the capitals of the value's other letters are replaced one by one.
/// A letter that cannot be had in this way, such as `ß` and `ς`, becomes [`ANY`].
fn lowered(dialect: Dialect, column: &str, value: &str) -> (String, String) {
    let mut text = match dialect {
        Dialect::Clickhouse if !value.is_ascii() => format!("lowerUTF8({column})"),
        _ => format!("LOWER({column})"),
    };
    if dialect != Dialect::Sqlite {
        return (text, value.to_owned());
    }
    // Its lower case is two characters.
    let dotted = "i\u{307}";
    if value.contains(dotted) {
        text = format!("REPLACE({text}, 'İ', '{dotted}')");
    }
    let mut replaced = Vec::new();
    let mut pattern = String::new();
    for letter in value.chars() {
        let capital = only(letter.to_uppercase());
        let has_one = capital.is_some_and(|capital| only(capital.to_lowercase()) == Some(letter));
        let is_plain = letter.is_ascii() || capital == Some(letter) || replaced.contains(&letter);
        match capital {
            _ if is_plain => pattern.push(letter),
            Some(capital) if has_one && replaced.len() < MOST_CAPITALS => {
                text = format!("REPLACE({text}, '{capital}', '{letter}')");
                replaced.push(letter);
                pattern.push(letter);
            }
            _ => pattern.push(ANY),
        }
    }
    (text, pattern)
}

/// The only one, if there are not several.
fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::super::tests::scope;
    use super::*;
    use mindhost_retrieval::Column;
    use mindhost_sql::guard;

    #[test]
    fn statement_holds_any_value_and_any_name() {
        let table = Table {
            schema: "main".into(),
            name: "odd\"name".into(),
            row_count: Some(7),
            ..Table::default()
        };
        let column = Column {
            name: "a`b]".into(),
            ..Column::default()
        };
        let candidate = Candidate {
            table: &table,
            column: &column,
        };
        let value = r"o'neil \' 50%_[x";
        assert_eq!(
            statement(Dialect::Sqlite, candidate, value),
            "SELECT DISTINCT \"a`b]\" FROM \"main\".\"odd\"\"name\" WHERE LOWER(\"a`b]\") \
             LIKE '%o''neil _'' 50!%!__x%' ESCAPE '!' LIMIT 25"
        );
        assert!(
            statement(Dialect::Mysql, candidate, value)
                .starts_with("SELECT DISTINCT `a``b]` FROM `main`.`odd\"name`")
        );
        assert!(
            statement(Dialect::Mssql, candidate, "x")
                .starts_with("SELECT DISTINCT TOP 5 [a`b]]] FROM")
        );
    }

    #[test]
    fn wildcards_in_a_value_are_escaped_where_the_dialect_can() {
        let like = |dialect, value| {
            let Pattern {
                text,
                escape,
                is_exact,
            } = pattern(dialect, value);
            (format!("{text}{escape}"), is_exact)
        };
        for dialect in [
            Dialect::Postgresql,
            Dialect::Mysql,
            Dialect::Sqlite,
            Dialect::Mssql,
            Dialect::Trino,
        ] {
            let escaped = ("50!% a!_b!! ESCAPE '!'".to_owned(), true);
            assert_eq!(like(dialect, "50% a_b!"), escaped, "{dialect:?}");
        }
        let wildcards = ("50_ a_b!".to_owned(), false);
        assert_eq!(like(Dialect::Clickhouse, "50% a_b!"), wildcards);
        assert_eq!(like(Dialect::Datafusion, "a!"), ("a!".to_owned(), true));
    }

    #[test]
    fn table_of_an_unknown_size_is_read_through_a_limit() {
        let table = Table {
            name: "t".into(),
            ..Table::default()
        };
        let column = Column {
            name: "c".into(),
            ..Column::default()
        };
        let candidate = Candidate {
            table: &table,
            column: &column,
        };
        assert_eq!(
            statement(Dialect::Postgresql, candidate, "x"),
            "SELECT DISTINCT \"c\" FROM (SELECT \"c\" FROM \"t\" LIMIT 1000000) AS some_rows \
             WHERE LOWER(\"c\") LIKE '%x%' LIMIT 5"
        );
        assert_eq!(
            statement(Dialect::Mssql, candidate, "x"),
            "SELECT DISTINCT TOP 5 [c] FROM (SELECT TOP 1000000 [c] FROM [t]) AS some_rows \
             WHERE LOWER([c]) LIKE '%x%'"
        );
    }

    #[test]
    fn letters_that_sqlite_does_not_lower_are_replaced() {
        for (dialect, value, condition) in [
            (
                Dialect::Sqlite,
                "österreich, köln",
                "REPLACE(LOWER(\"c\"), 'Ö', 'ö') LIKE '%österreich, köln%' LIMIT 5",
            ),
            (
                Dialect::Sqlite,
                "éà",
                "REPLACE(REPLACE(LOWER(\"c\"), 'É', 'é'), 'À', 'à') LIKE '%éà%' LIMIT 5",
            ),
            // Without a capital, with two letters as one, and with a capital that has another lower case.
            (
                Dialect::Sqlite,
                "東 straße ς",
                "LOWER(\"c\") LIKE '%東 stra_e _%' LIMIT 25",
            ),
            (
                Dialect::Sqlite,
                "i\u{307}zmir",
                "REPLACE(LOWER(\"c\"), 'İ', 'i\u{307}') LIKE '%i\u{307}zmir%' LIMIT 5",
            ),
            (
                Dialect::Clickhouse,
                "österreich",
                "lowerUTF8(\"c\") LIKE '%österreich%' LIMIT 5",
            ),
            (
                Dialect::Postgresql,
                "österreich",
                "LOWER(\"c\") LIKE '%österreich%' LIMIT 5",
            ),
        ] {
            let column = Column {
                name: "c".into(),
                ..Column::default()
            };
            let table = Table {
                name: "t".into(),
                row_count: Some(7),
                ..Table::default()
            };
            let candidate = Candidate {
                table: &table,
                column: &column,
            };
            let expected = format!("SELECT DISTINCT \"c\" FROM \"t\" WHERE {condition}");
            assert_eq!(statement(dialect, candidate, value), expected);
        }
        let all: String = ('а'..='я').collect();
        let (text, pattern) = lowered(Dialect::Sqlite, "c", &all);
        assert_eq!(text.matches("REPLACE(").count(), MOST_CAPITALS);
        assert_eq!(pattern.matches(ANY).count(), 32 - MOST_CAPITALS);
    }

    #[test]
    fn guard_takes_the_statement_unless_a_name_could_end_its_quotes() {
        let accepts = |dialect, name: &str, value: &str| {
            let table = Table {
                schema: "main".into(),
                name: "t".into(),
                row_count: Some(7),
                ..Table::default()
            };
            let column = Column {
                name: name.into(),
                ..Column::default()
            };
            let candidate = Candidate {
                table: &table,
                column: &column,
            };
            let sql = statement(dialect, candidate, value);
            guard(&sql, &scope(dialect, &["id", name])).is_ok()
        };
        let all: String = ('а'..='я').collect();
        assert!(accepts(Dialect::Sqlite, "label", &all));
        for dialect in [
            Dialect::Postgresql,
            Dialect::Mysql,
            Dialect::Sqlite,
            Dialect::Mssql,
            Dialect::Trino,
        ] {
            assert!(accepts(dialect, "label", "50% a_b!"), "{dialect:?}");
        }
        assert!(accepts(Dialect::Clickhouse, "label", "x"));
        assert!(accepts(Dialect::Clickhouse, "label", "ö"));
        for name in [r"a\", r"a\b", r"a\\", r#"a\" FROM system.users -- "#] {
            assert!(!accepts(Dialect::Clickhouse, name, "x"), "{name}");
        }
    }
}
