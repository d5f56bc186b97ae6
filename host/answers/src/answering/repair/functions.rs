//! Functions and operators of other dialects, and how this dialect writes them.

use super::{Advice, Replace, nearest::nearest};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{self, Word};

/// What several dialects write differently: how each writes it, with `$1` for the first argument. An empty template
/// means that the dialect has no short way.
struct Concept {
    /// Names that it has anywhere, each with its number of arguments and a constant that one of them must be.
    forms: &'static [(&'static str, usize, Option<&'static str>)],
    sqlite: &'static str,
    postgresql: &'static str,
    mysql: &'static str,
    mssql: &'static str,
    clickhouse: &'static str,
    datafusion: &'static str,
}

impl Concept {
    fn template(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgresql => self.postgresql,
            Dialect::Mysql => self.mysql,
            Dialect::Mssql => self.mssql,
            Dialect::Clickhouse => self.clickhouse,
            Dialect::Datafusion | Dialect::Trino | Dialect::Generic => self.datafusion,
        }
    }
}

macro_rules! concepts {
    ($([$($form:expr),+] => $sqlite:literal, $postgresql:literal, $mysql:literal, $mssql:literal, $clickhouse:literal,
        $datafusion:literal;)+) => {
        &[$(Concept {
            forms: &[$($form),+],
            sqlite: $sqlite,
            postgresql: $postgresql,
            mysql: $mysql,
            mssql: $mssql,
            clickhouse: $clickhouse,
            datafusion: $datafusion,
        }),+]
    };
}

/// In the order SQLite, PostgreSQL, MySQL, SQL Server, ClickHouse, DataFusion.
#[rustfmt::skip]
const CONCEPTS: &[Concept] = concepts![
    [("strftime", 2, Some("%Y-%m")), ("date_format", 2, Some("%Y-%m")), ("to_char", 2, Some("YYYY-MM")),
     ("formatdatetime", 2, Some("%Y-%m")), ("format", 2, Some("yyyy-MM"))] =>
        "strftime('%Y-%m', $date)", "to_char($date, 'YYYY-MM')", "DATE_FORMAT($date, '%Y-%m')",
        "FORMAT($date, 'yyyy-MM')", "formatDateTime($date, '%Y-%m')", "to_char($date, '%Y-%m')";
    [("strftime", 2, Some("%Y")), ("date_format", 2, Some("%Y")), ("to_char", 2, Some("YYYY"))] =>
        "strftime('%Y', $date)", "to_char($date, 'YYYY')", "DATE_FORMAT($date, '%Y')", "FORMAT($date, 'yyyy')",
        "formatDateTime($date, '%Y')", "to_char($date, '%Y')";
    [("strftime", 2, Some("%Y-%m-%d")), ("date_format", 2, Some("%Y-%m-%d")), ("to_char", 2, Some("YYYY-MM-DD"))] =>
        "strftime('%Y-%m-%d', $date)", "to_char($date, 'YYYY-MM-DD')", "DATE_FORMAT($date, '%Y-%m-%d')",
        "FORMAT($date, 'yyyy-MM-dd')", "formatDateTime($date, '%Y-%m-%d')", "to_char($date, '%Y-%m-%d')";
    [("date_trunc", 2, Some("month")), ("tostartofmonth", 1, None)] =>
        "strftime('%Y-%m-01', $date)", "date_trunc('month', $date)", "DATE_FORMAT($date, '%Y-%m-01')",
        "DATETRUNC(month, $date)", "toStartOfMonth($date)", "date_trunc('month', $date)";
    [("date_trunc", 2, Some("year")), ("tostartofyear", 1, None)] =>
        "strftime('%Y-01-01', $date)", "date_trunc('year', $date)", "DATE_FORMAT($date, '%Y-01-01')",
        "DATETRUNC(year, $date)", "toStartOfYear($date)", "date_trunc('year', $date)";
    [("date_trunc", 2, Some("day")), ("tostartofday", 1, None)] =>
        "date($date)", "date_trunc('day', $date)", "DATE($date)", "CAST($date AS date)", "toStartOfDay($date)",
        "date_trunc('day', $date)";
    [("year", 1, None), ("toyear", 1, None), ("extract_year", 1, None)] =>
        "CAST(strftime('%Y', $1) AS INTEGER)", "EXTRACT(YEAR FROM $1)", "YEAR($1)", "YEAR($1)", "toYear($1)",
        "date_part('year', $1)";
    [("month", 1, None), ("tomonth", 1, None), ("extract_month", 1, None)] =>
        "CAST(strftime('%m', $1) AS INTEGER)", "EXTRACT(MONTH FROM $1)", "MONTH($1)", "MONTH($1)", "toMonth($1)",
        "date_part('month', $1)";
    [("day", 1, None), ("dayofmonth", 1, None), ("todayofmonth", 1, None), ("extract_day", 1, None)] =>
        "CAST(strftime('%d', $1) AS INTEGER)", "EXTRACT(DAY FROM $1)", "DAY($1)", "DAY($1)", "toDayOfMonth($1)",
        "date_part('day', $1)";
    [("now", 0, None), ("getdate", 0, None), ("sysdate", 0, None), ("sysdatetime", 0, None)] =>
        "datetime('now')", "now()", "NOW()", "GETDATE()", "now()", "now()";
    [("curdate", 0, None), ("today", 0, None)] =>
        "date('now')", "CURRENT_DATE", "CURDATE()", "CAST(GETDATE() AS date)", "today()", "current_date()";
    [("ifnull", 2, None), ("nvl", 2, None), ("isnull", 2, None)] =>
        "COALESCE($1, $2)", "COALESCE($1, $2)", "COALESCE($1, $2)", "COALESCE($1, $2)", "COALESCE($1, $2)",
        "COALESCE($1, $2)";
    [("len", 1, None), ("length", 1, None), ("char_length", 1, None), ("lengthutf8", 1, None)] =>
        "length($1)", "length($1)", "CHAR_LENGTH($1)", "LEN($1)", "lengthUTF8($1)", "character_length($1)";
    [("group_concat", 1, None), ("string_agg", 1, None)] =>
        "group_concat($1)", "string_agg($1, ',')", "GROUP_CONCAT($1)", "STRING_AGG($1, ',')",
        "arrayStringConcat(groupArray($1), ',')", "string_agg($1, ',')";
    [("group_concat", 2, None), ("string_agg", 2, None), ("listagg", 2, None)] =>
        "group_concat($1, $2)", "string_agg($1, $2)", "GROUP_CONCAT($1 SEPARATOR $2)", "STRING_AGG($1, $2)",
        "arrayStringConcat(groupArray($1), $2)", "string_agg($1, $2)";
    [("substr", 3, None), ("mid", 3, None), ("substring", 3, None)] =>
        "substr($1, $2, $3)", "substr($1, $2, $3)", "SUBSTRING($1, $2, $3)", "SUBSTRING($1, $2, $3)",
        "substring($1, $2, $3)", "substr($1, $2, $3)";
    [("if", 3, None), ("iif", 3, None)] =>
        "CASE WHEN $1 THEN $2 ELSE $3 END", "CASE WHEN $1 THEN $2 ELSE $3 END", "CASE WHEN $1 THEN $2 ELSE $3 END",
        "CASE WHEN $1 THEN $2 ELSE $3 END", "CASE WHEN $1 THEN $2 ELSE $3 END", "CASE WHEN $1 THEN $2 ELSE $3 END";
    [("ucase", 1, None), ("toupper", 1, None), ("upperutf8", 1, None)] =>
        "upper($1)", "upper($1)", "UPPER($1)", "UPPER($1)", "upper($1)", "upper($1)";
    [("lcase", 1, None), ("tolower", 1, None), ("lowerutf8", 1, None)] =>
        "lower($1)", "lower($1)", "LOWER($1)", "LOWER($1)", "lower($1)", "lower($1)";
    [("ceil", 1, None), ("ceiling", 1, None)] =>
        "ceil($1)", "ceil($1)", "CEIL($1)", "CEILING($1)", "ceil($1)", "ceil($1)";
    [("datediff", 2, None)] =>
        "(julianday($1) - julianday($2))", "(CAST($1 AS date) - CAST($2 AS date))", "DATEDIFF($1, $2)",
        "DATEDIFF(day, $2, $1)", "dateDiff('day', $2, $1)", "(CAST($1 AS date) - CAST($2 AS date))";
    [("rand", 0, None), ("newid", 0, None), ("random", 0, None)] =>
        "random()", "random()", "RAND()", "RAND()", "rand()", "random()";
];

/// Adds how this dialect writes the calls that it does not know. Works on text that may be no statement.
pub fn advise(sql: &str, words: &[Word], dialect: Dialect, advice: &mut Advice) {
    let letters: Vec<char> = sql.chars().collect();
    for (index, word) in words.iter().enumerate() {
        if !word.is_name || words.get(index + 1).is_none_or(|next| next.text != "(") {
            continue;
        }
        let Some((arguments, end)) = arguments(&letters, words, index + 1) else {
            continue;
        };
        let name = word.text.to_lowercase();
        let is_known = outline::functions(dialect).any(|known| known.eq_ignore_ascii_case(&name));
        if (is_known && name != "extract") || is_cte(words, end) {
            continue;
        }
        let written: String = letters
            .iter()
            .take(end)
            .skip(word.position as usize - 1)
            .collect();
        match translation(&name, &arguments, dialect) {
            Some(instead) if same(&instead, &written) => {}
            Some(instead) => {
                advice
                    .replace
                    .push(Replace::new(written, word.position, vec![instead]))
            }
            None => advise_name(word, dialect, advice),
        }
    }
}

/// Whether `AS (` follows what ends here: then it is a CTE with the names of its columns.
fn is_cte(words: &[Word], end: usize) -> bool {
    let mut behind = words.iter().filter(|word| word.position as usize > end);
    let is_as = |word: &Word| word.text.eq_ignore_ascii_case("as");
    behind.next().is_some_and(is_as) && behind.next().is_some_and(|word| word.text == "(")
}

/// Adds the nearest function, unless the word is a keyword in front of brackets.
fn advise_name(word: &Word, dialect: Dialect, advice: &mut Advice) {
    const IN_FRONT: [&str; 34] = [
        "in", "as", "over", "and", "or", "not", "on", "where", "from", "join", "select", "values",
        "using", "by", "exists", "any", "all", "some", "filter", "group", "case", "when", "then",
        "else", "having", "union", "with", "between", "like", "cast", "extract", "distinct",
        "interval", "decimal",
    ];
    const TYPES: [&str; 6] = [
        "varchar",
        "char",
        "numeric",
        "nvarchar",
        "float",
        "timestamp",
    ];
    let name = word.text.to_lowercase();
    if IN_FRONT.contains(&name.as_str()) || TYPES.contains(&name.as_str()) {
        return;
    }
    let instead = nearest(
        &name,
        outline::functions(dialect).map(|one| (one.to_owned(), one.to_owned())),
    );
    // A table function looks like a call.
    if !instead.is_empty() {
        advice
            .replace
            .push(Replace::new(word.text.clone(), word.position, instead));
    }
}

fn same(a: &str, b: &str) -> bool {
    let plain =
        |text: &str| -> String { text.split_whitespace().collect::<String>().to_lowercase() };
    plain(a) == plain(b)
}

/// How this dialect writes a call, if it is a known concept.
fn translation(name: &str, arguments: &[String], dialect: Dialect) -> Option<String> {
    let extracted = arguments.first().and_then(|one| extract(name, one));
    let (name, arguments) = match &extracted {
        Some((name, argument)) => (name.as_str(), std::slice::from_ref(argument)),
        None => (name, arguments),
    };
    let constant = |text: &str| text.trim_matches('\'').to_owned();
    for concept in CONCEPTS {
        let fits = |(form, count, wanted): &&(&str, usize, Option<&str>)| {
            let has = |wanted: &str| {
                arguments
                    .iter()
                    .any(|one| constant(one).eq_ignore_ascii_case(wanted))
            };
            *form == name && *count == arguments.len() && wanted.is_none_or(has)
        };
        let Some((.., wanted)) = concept.forms.iter().find(fits) else {
            continue;
        };
        let mut text = concept.template(dialect).to_owned();
        let date = arguments
            .iter()
            .find(|one| wanted.is_some_and(|wanted| !constant(one).eq_ignore_ascii_case(wanted)));
        if let Some(date) = date {
            text = text.replace("$date", date);
        } else if let Some(first) = arguments.first() {
            text = text.replace("$date", first);
        }
        for (index, argument) in arguments.iter().enumerate().rev() {
            text = text.replace(&format!("${}", index + 1), argument);
        }
        return Some(text);
    }
    None
}

/// Reads `YEAR FROM d` of EXTRACT.
fn extract(name: &str, argument: &str) -> Option<(String, String)> {
    if name != "extract" {
        return None;
    }
    let mut words = argument.splitn(3, char::is_whitespace);
    let (field, from, of) = (words.next()?, words.next()?, words.next()?);
    from.eq_ignore_ascii_case("from").then(|| {
        (
            format!("extract_{}", field.to_lowercase()),
            of.trim().to_owned(),
        )
    })
}

/// The arguments of the call whose bracket is the token `open`, as text, and where the call ends.
fn arguments(letters: &[char], words: &[Word], open: usize) -> Option<(Vec<String>, usize)> {
    let (mut depth, mut found) = (0_usize, Vec::new());
    let mut from = words.get(open)?.position as usize;
    let text = |from: usize, until: usize| -> String {
        letters
            .get(from..until)
            .unwrap_or_default()
            .iter()
            .collect::<String>()
            .trim()
            .to_owned()
    };
    for word in &words[open..] {
        let at = word.position as usize - 1;
        match word.text.as_str() {
            "(" => depth += 1,
            ")" if depth == 1 => {
                let last = text(from, at);
                if !last.is_empty() || !found.is_empty() {
                    found.push(last);
                }
                return Some((found, at + 1));
            }
            ")" => depth -= 1,
            "," if depth == 1 => {
                found.push(text(from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advised(sql: &str, dialect: Dialect) -> Vec<(String, String)> {
        let mut advice = Advice::default();
        advise(sql, &outline::words(sql, dialect), dialect, &mut advice);
        let first = |one: Replace| {
            (
                one.written,
                one.instead.into_iter().next().unwrap_or_default(),
            )
        };
        advice.replace.into_iter().map(first).collect()
    }

    #[test]
    fn calls_of_other_dialects_are_translated() {
        for (dialect, written, instead) in [
            (
                Dialect::Sqlite,
                "YEAR(o.placed_at)",
                "CAST(strftime('%Y', o.placed_at) AS INTEGER)",
            ),
            (
                Dialect::Sqlite,
                "EXTRACT(MONTH FROM placed_at)",
                "CAST(strftime('%m', placed_at) AS INTEGER)",
            ),
            (
                Dialect::Sqlite,
                "to_char(placed_at, 'YYYY-MM')",
                "strftime('%Y-%m', placed_at)",
            ),
            (
                Dialect::Postgresql,
                "strftime('%Y-%m', placed_at)",
                "to_char(placed_at, 'YYYY-MM')",
            ),
            (
                Dialect::Postgresql,
                "IFNULL(a, (b + 1))",
                "COALESCE(a, (b + 1))",
            ),
            (
                Dialect::Postgresql,
                "YEAR(placed_at)",
                "EXTRACT(YEAR FROM placed_at)",
            ),
            (
                Dialect::Mysql,
                "date_trunc('month', d)",
                "DATE_FORMAT(d, '%Y-%m-01')",
            ),
            (Dialect::Mssql, "length(name)", "LEN(name)"),
            (Dialect::Sqlite, "cuont(*)", "count"),
        ] {
            let found = advised(
                &format!("SELECT {written} FROM t WHERE a IN (1, 2)"),
                dialect,
            );
            assert_eq!(found.len(), 1, "{written}: {found:?}");
            assert_eq!(found[0].1, instead, "{written}");
        }
    }

    #[test]
    fn calls_of_the_dialect_are_left_alone() {
        let sql =
            "WITH x (a) AS (SELECT count(*) FROM t) SELECT sum(a), EXTRACT(YEAR FROM d) FROM x";
        assert_eq!(advised(sql, Dialect::Postgresql), []);
        // Their names are near to `ln` and `count`.
        let sql =
            "WITH RECURSIVE n(x) AS (SELECT 1), counts(y) as (SELECT 2) SELECT x, y FROM n, counts";
        assert_eq!(advised(sql, Dialect::Sqlite), []);
    }
}
