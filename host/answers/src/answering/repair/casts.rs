//! Casts with `::`, where the dialect does not have them.

use super::{Advice, MAX_ADVICES, Replace, row_limits::between};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::Word;

/// A type of PostgreSQL, and how other dialects cast to it: `$1` is what is cast. An empty template means that no short
/// form means the same.
struct Cast {
    names: &'static [&'static str],
    sqlite: &'static str,
    mysql: &'static str,
    mssql: &'static str,
    trino: &'static str,
}

#[rustfmt::skip]
const CASTS: &[Cast] = &[
    // PostgreSQL rounds.
    Cast {
        names: &["int", "integer", "int2", "int4", "int8", "bigint", "smallint"],
        sqlite: "CAST(round($1) AS INTEGER)", mysql: "CAST($1 AS signed)",
        mssql: "CAST(round($1, 0) AS bigint)", trino: "CAST($1 AS bigint)",
    },
    Cast {
        names: &["text", "varchar", "char", "string"],
        sqlite: "CAST($1 AS TEXT)", mysql: "CAST($1 AS char)",
        mssql: "CAST($1 AS nvarchar(max))", trino: "CAST($1 AS varchar)",
    },
    // In a quotient, SQLite's NUMERIC may be an integer.
    Cast {
        names: &["numeric", "decimal"],
        sqlite: "CAST($1 AS REAL)", mysql: "CAST($1 AS decimal(38, 10))",
        mssql: "CAST($1 AS decimal(38, 10))", trino: "CAST($1 AS decimal(38, 10))",
    },
    Cast {
        names: &["float", "float8", "double", "real", "float4"],
        sqlite: "CAST($1 AS REAL)", mysql: "CAST($1 AS double)",
        mssql: "CAST($1 AS float)", trino: "CAST($1 AS double)",
    },
    // SQLite casts a date to its year.
    Cast {
        names: &["date"],
        sqlite: "date($1)", mysql: "CAST($1 AS date)", mssql: "CAST($1 AS date)", trino: "CAST($1 AS date)",
    },
    Cast {
        names: &["timestamp", "datetime"],
        sqlite: "datetime($1)", mysql: "CAST($1 AS datetime)",
        mssql: "CAST($1 AS datetime2)", trino: "CAST($1 AS timestamp)",
    },
];

impl Cast {
    /// How a dialect writes it; `None` where the dialect has `::`.
    fn template(&self, dialect: Dialect) -> Option<&'static str> {
        match dialect {
            Dialect::Sqlite => Some(self.sqlite),
            Dialect::Mysql => Some(self.mysql),
            Dialect::Mssql => Some(self.mssql),
            Dialect::Trino => Some(self.trino),
            Dialect::Postgresql | Dialect::Clickhouse | Dialect::Datafusion | Dialect::Generic => {
                None
            }
        }
    }
}

/// Adds how this dialect casts.
pub fn advise(sql: &str, words: &[Word], dialect: Dialect, advice: &mut Advice) {
    let templates: Vec<_> = CASTS
        .iter()
        .filter_map(|cast| Some((cast.names, cast.template(dialect)?)))
        .collect();
    if templates.is_empty() {
        return;
    }
    let opened = opened(words);
    for (index, word) in words.iter().enumerate() {
        if word.text != "::" {
            continue;
        }
        advice.hint("there is no `::`; write CAST(x AS type)");
        if advice.replace.len() >= MAX_ADVICES {
            return;
        }
        let Some((first, before)) = operand(words, &opened, index) else {
            continue;
        };
        let Some(name) = words.get(index + 1) else {
            continue;
        };
        let lower = name.text.to_lowercase();
        let is_it = |(names, _): &&(&[&str], &str)| names.contains(&lower.as_str());
        let Some((_, template)) = templates.iter().find(is_it) else {
            continue;
        };
        let mut last = name;
        match words.get(index + 2) {
            // `numeric(10, 2)`
            Some(next) if next.text == "(" || next.text == "::" => continue,
            Some(next) if lower == "double" && next.text.eq_ignore_ascii_case("precision") => {
                last = next;
            }
            _ => {}
        }
        let instead = template.replace("$1", &between(sql, first, before));
        let written = between(sql, first, last);
        advice
            .replace
            .push(Replace::new(written, first.position, vec![instead]));
    }
}

/// For each closing bracket, the index of the one that it closes.
fn opened(words: &[Word]) -> Vec<Option<usize>> {
    let mut open = Vec::new();
    let matched = words.iter().enumerate().map(|(index, word)| {
        match word.text.as_str() {
            "(" => open.push(index),
            ")" => return open.pop(),
            _ => {}
        }
        None
    });
    matched.collect()
}

/// The first and the last word of what stands before a cast: a name with its qualifiers, a constant, a call, brackets.
fn operand<'a>(
    words: &'a [Word],
    opened: &[Option<usize>],
    at: usize,
) -> Option<(&'a Word, &'a Word)> {
    let last = at.checked_sub(1)?;
    let mut first = last;
    if words.get(last)?.text == ")" {
        first = opened.get(last).copied().flatten()?;
        let name = first.checked_sub(1).and_then(|name| words.get(name));
        if name.is_some_and(|name| {
            name.is_name && !super::functions::stands_before_brackets(&name.text.to_lowercase())
        }) {
            first -= 1;
        }
    }
    while let Some(name) = first.checked_sub(2)
        && words.get(first - 1)?.text == "."
    {
        first = name;
    }
    Some((words.get(first)?, words.get(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_sql::outline;

    #[test]
    fn cast_with_colons_is_written_as_the_dialect_has_it() {
        for (dialect, written, instead) in [
            (Dialect::Sqlite, "o.placed_at::date", "date(o.placed_at)"),
            (
                Dialect::Sqlite,
                "sum(a + (b))::numeric",
                "CAST(sum(a + (b)) AS REAL)",
            ),
            (Dialect::Mysql, "'12'::int", "CAST('12' AS signed)"),
            (
                Dialect::Mysql,
                "(a / b)::double precision",
                "CAST((a / b) AS double)",
            ),
            (Dialect::Mssql, "name::text", "CAST(name AS nvarchar(max))"),
        ] {
            let sql = format!("SELECT 1 + {written} FROM t WHERE a IN (1, 2)");
            let mut advice = Advice::default();
            advise(&sql, &outline::words(&sql, dialect), dialect, &mut advice);
            let replaced: Vec<_> = advice
                .replace
                .iter()
                .map(|one| (one.written.as_str(), one.instead[0].as_str()))
                .collect();
            assert_eq!(replaced, [(written, instead)], "{dialect:?}");
        }
        for (dialect, sql, hints) in [
            (Dialect::Sqlite, "SELECT a::numeric(10, 2)", 1),
            (Dialect::Mysql, "SELECT a::jsonb, b::jsonb", 1),
            (Dialect::Postgresql, "SELECT a::date", 0),
        ] {
            let mut advice = Advice::default();
            advise(sql, &outline::words(sql, dialect), dialect, &mut advice);
            assert_eq!(
                (advice.replace.len(), advice.hints.len()),
                (0, hints),
                "{sql}"
            );
        }
    }
}
