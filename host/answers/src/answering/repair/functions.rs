//! Functions and operators of other dialects, and how this dialect writes them.

use std::collections::HashSet;

use super::{Advice, MAX_ADVICES, MAX_UNKNOWN, Replace, nearest::nearest};
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
    [("left", 2, None)] =>
        "substr($1, 1, $2)", "left($1, $2)", "LEFT($1, $2)", "LEFT($1, $2)", "substring($1, 1, $2)",
        "substr($1, 1, $2)";
    [("right", 2, None)] =>
        "substr($1, -max($2, 0), max($2, 0))", "right($1, $2)", "RIGHT($1, $2)", "RIGHT($1, $2)", "substring($1, -($2))", "";
    [("array_agg", 1, None), ("grouparray", 1, None), ("json_group_array", 1, None), ("json_arrayagg", 1, None)] =>
        "json_group_array($1)", "array_agg($1)", "JSON_ARRAYAGG($1)", "", "groupArray($1)", "array_agg($1)";
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
        "CAST(julianday(date($1)) - julianday(date($2)) AS INTEGER)", "(CAST($1 AS date) - CAST($2 AS date))", "DATEDIFF($1, $2)",
        "DATEDIFF(day, $2, $1)", "dateDiff('day', $2, $1)", "(CAST($1 AS date) - CAST($2 AS date))";
    [("rand", 0, None), ("newid", 0, None), ("random", 0, None)] =>
        "random()", "random()", "RAND()", "RAND()", "rand()", "random()";
];

/// Adds how this dialect writes the calls that it does not know. Works on text that may be no statement.
pub fn advise(sql: &str, words: &[Word], dialect: Dialect, advice: &mut Advice) {
    let letters: Vec<char> = sql.chars().collect();
    let text = |from: usize, until: usize| -> String {
        let letters = letters.get(from..until).unwrap_or_default();
        letters.iter().collect()
    };
    let functions: HashSet<String> = outline::functions(dialect)
        .map(str::to_ascii_lowercase)
        .collect();
    let mut looked_up = 0;
    for Call { at, commas, close } in calls(words) {
        let Some((word, end)) = words.get(at).zip(words.get(close)) else {
            continue;
        };
        let name = word.text.to_lowercase();
        let is_known = functions.contains(&name);
        let is_meant = is_known || stands_before_brackets(&name);
        let has_separator = name == "group_concat" && dialect != Dialect::Mysql;
        if (is_meant && name != "extract" && !has_separator) || is_cte(words, close) {
            continue;
        }
        if advice.replace.len() >= MAX_ADVICES || looked_up >= MAX_UNKNOWN {
            break;
        }
        looked_up += 1;
        // A position counts from 1, so it is the index of the letter behind a bracket or a comma.
        let place = |index: usize| words.get(index).map_or(0, |word| word.position as usize);
        let mut arguments = Vec::new();
        let mut from = place(at + 1);
        for comma in commas.into_iter().chain([close]) {
            let argument = text(from, place(comma).saturating_sub(1));
            arguments.push(argument.trim().to_owned());
            from = place(comma);
        }
        if arguments.len() == 1 {
            arguments.retain(|only| !only.is_empty());
        }
        let written = text(
            (word.position as usize).saturating_sub(1),
            end.position as usize,
        );
        if let Some(separated) = separated(&name, &arguments, dialect) {
            arguments = separated;
        } else if is_known && name != "extract" {
            continue;
        }
        if name == "dateadd" && arguments.len() == 3 && !is_known {
            let instead = date_add(&arguments, dialect);
            match instead.len() {
                0 => advice.hint("write the unit of DATEADD in full, such as month or minute"),
                1 => {}
                _ => advice.hint("date() drops the time of day, datetime() adds one; choose the one that is meant"),
            }
            if !instead.is_empty() {
                advice
                    .replace
                    .push(Replace::new(written, word.position, instead));
            }
            continue;
        }
        match translation(&name, &arguments, dialect) {
            Some(instead) if instead.is_empty() || same(&instead, &written) => {}
            Some(instead) => {
                advice
                    .replace
                    .push(Replace::new(written, word.position, vec![instead]))
            }
            None if is_meant => {}
            None => advise_name(word, dialect, advice),
        }
    }
}

/// A name with brackets behind it. The numbers are indices of words.
struct Call {
    at: usize,
    /// Those between its arguments.
    commas: Vec<usize>,
    close: usize,
}

/// The calls whose brackets are closed, in their order. One pass finds them all, however deep they are nested.
fn calls(words: &[Word]) -> Vec<Call> {
    let mut found: Vec<Call> = Vec::new();
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        match word.text.as_str() {
            "(" => open.push((index, Vec::new())),
            "," => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(index);
                }
            }
            ")" => {
                let Some((bracket, commas)) = open.pop() else {
                    continue;
                };
                let name = bracket.checked_sub(1).and_then(|at| words.get(at));
                if name.is_some_and(|name| name.is_name) {
                    found.push(Call {
                        at: bracket - 1,
                        commas,
                        close: index,
                    });
                }
            }
            _ => {}
        }
    }
    found.sort_by_key(|call| call.at);
    found
}

/// Whether `AS (` follows the bracket: then it is a CTE with the names of its columns.
fn is_cte(words: &[Word], close: usize) -> bool {
    let is = |index: usize, text: &str| {
        let word = words.get(index);
        word.is_some_and(|word| word.text.eq_ignore_ascii_case(text))
    };
    is(close + 1, "as") && is(close + 2, "(")
}

/// Whether a word in lower case is a keyword or a type that brackets may follow.
fn stands_before_brackets(name: &str) -> bool {
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
    IN_FRONT.contains(&name) || TYPES.contains(&name)
}

/// Adds the nearest function.
fn advise_name(word: &Word, dialect: Dialect, advice: &mut Advice) {
    let instead = nearest(
        &word.text.to_lowercase(),
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
        let date = arguments
            .iter()
            .find(|one| wanted.is_some_and(|wanted| !constant(one).eq_ignore_ascii_case(wanted)));
        let date = date.or(arguments.first()).map_or("", String::as_str);
        return Some(filled(concept.template(dialect), date, arguments));
    }
    None
}

/// The units of DATEADD that mean the same in all dialects that have it: the names of each, the unit of an interval,
/// and how many of those it is.
const UNITS: [(&str, &[&str], &str, u8); 8] = [
    ("year", &["years", "yy", "yyyy"], "year", 1),
    ("quarter", &["quarters", "qq", "q"], "month", 3),
    ("month", &["months", "mm"], "month", 1),
    ("week", &["weeks", "wk"], "day", 7),
    ("day", &["days", "dd", "d"], "day", 1),
    ("hour", &["hours", "hh"], "hour", 1),
    ("minute", &["minutes", "mi"], "minute", 1),
    ("second", &["seconds", "ss", "s"], "second", 1),
];

/// How this dialect writes `DATEADD(unit, count, date)`; none if that is not known.
fn date_add(arguments: &[String], dialect: Dialect) -> Vec<String> {
    let [unit, count, date] = arguments else {
        return Vec::new();
    };
    let unit = unit.trim_matches('\'').to_lowercase();
    let is_it = |(name, others, ..): &&(&str, &[&str], &str, u8)| {
        *name == unit || others.contains(&unit.as_str())
    };
    let Some((name, _, part, parts)) = UNITS.iter().find(is_it) else {
        return Vec::new();
    };
    match dialect {
        Dialect::Sqlite => {
            let amount = match parts {
                1 => format!("({count})"),
                _ => format!("({parts} * ({count}))"),
            };
            // The last day of a shorter month, as DATEADD has it.
            let floor = match *part {
                "month" | "year" => ", 'floor'",
                _ => "",
            };
            let call = |function| format!("{function}({date}, {amount} || ' {part}'{floor})");
            match *part {
                "hour" | "minute" | "second" => vec![call("datetime")],
                _ => vec![call("date"), call("datetime")],
            }
        }
        Dialect::Mysql => vec![format!("DATE_ADD({date}, INTERVAL ({count}) {name})")],
        Dialect::Mssql => vec![format!("DATEADD({name}, {count}, {date})")],
        Dialect::Clickhouse => vec![format!("dateAdd({name}, {count}, {date})")],
        _ => vec![format!("({date} + ({count}) * INTERVAL '{parts} {part}')")],
    }
}

/// A template with arguments in place of `$date`, `$1`, …. What stands in an argument is not replaced again: one with
/// many `$1` could become very long.
fn filled(template: &str, date: &str, arguments: &[String]) -> String {
    let mut pieces = template.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (argument, rest) = match piece.strip_prefix("date") {
            Some(rest) => (date, rest),
            None => {
                let rest = piece.trim_start_matches(|letter: char| letter.is_ascii_digit());
                let number = piece.strip_suffix(rest).unwrap_or_default();
                let index = number.parse::<usize>().ok();
                let index = index.and_then(|number| number.checked_sub(1));
                let argument = index.and_then(|index| arguments.get(index));
                (argument.map_or("", String::as_str), rest)
            }
        };
        text.push_str(argument);
        text.push_str(rest);
    }
    text
}

/// The arguments of MySQL's `GROUP_CONCAT(a ORDER BY b SEPARATOR ', ')`, where the dialect has the separator as an
/// argument: the order stands behind it, if the dialect has it there.
fn separated(name: &str, arguments: &[String], dialect: Dialect) -> Option<Vec<String>> {
    let [only] = arguments else { return None };
    // Letters outside of ASCII keep their length.
    let lower = only.to_ascii_lowercase();
    let at = lower
        .rfind(" separator ")
        .filter(|_| name == "group_concat" && dialect != Dialect::Mysql)?;
    let separator = only[at + " separator ".len()..].trim();
    let (of, order) = match lower[..at].find(" order by ") {
        Some(order) => (&only[..order], &only[order..at]),
        None => (&only[..at], ""),
    };
    let order = match dialect {
        Dialect::Clickhouse | Dialect::Mssql => "",
        _ => order,
    };
    Some(vec![of.to_owned(), format!("{separator}{order}")])
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
            (Dialect::Sqlite, "LEFT(name, 3)", "substr(name, 1, 3)"),
            (Dialect::Sqlite, "array_agg(name)", "json_group_array(name)"),
            (
                Dialect::Postgresql,
                "DATEADD(month, 3, placed_at)",
                "(placed_at + (3) * INTERVAL '1 month')",
            ),
            (
                Dialect::Postgresql,
                "DATEADD(qq, n - 1, placed_at)",
                "(placed_at + (n - 1) * INTERVAL '3 month')",
            ),
            (
                Dialect::Sqlite,
                "DATEADD(hour, 3, placed_at)",
                "datetime(placed_at, (3) || ' hour')",
            ),
            (
                Dialect::Sqlite,
                "DATEADD(week, n - 1, placed_at)",
                "date(placed_at, (7 * (n - 1)) || ' day')",
            ),
            (
                Dialect::Sqlite,
                "DATEADD(month, 3, placed_at)",
                "date(placed_at, (3) || ' month', 'floor')",
            ),
            (
                Dialect::Sqlite,
                "RIGHT(name, n)",
                "substr(name, -max(n, 0), max(n, 0))",
            ),
            (
                Dialect::Postgresql,
                "GROUP_CONCAT(name ORDER BY name SEPARATOR ', ')",
                "string_agg(name, ', ' ORDER BY name)",
            ),
            (
                Dialect::Sqlite,
                "GROUP_CONCAT(name SEPARATOR ', ')",
                "group_concat(name, ', ')",
            ),
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
    fn unit_that_dialects_read_differently_is_not_translated() {
        // A month in SQL Server and a minute in Snowflake.
        let found = advised("SELECT DATEADD(m, 3, d)", Dialect::Postgresql);
        assert_eq!(found, []);
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

    #[test]
    fn argument_with_signs_of_a_template_is_kept() {
        let found = advised("SELECT IFNULL($2, $1)", Dialect::Postgresql);
        let expected = ("IFNULL($2, $1)", "COALESCE($2, $1)");
        assert_eq!(found, [(expected.0.to_owned(), expected.1.to_owned())]);
    }

    #[test]
    fn many_unknown_calls_are_not_all_looked_up() {
        for (sql, expected) in [
            ("cuont(1), ".repeat(25_000), MAX_ADVICES),
            // What is none is not counted.
            (format!("{}cuont(1)", "a IN (1) AND ".repeat(20_000)), 1),
            // Not like any function.
            ("zzzwqxkjwq(1), ".repeat(17_000), 0),
            // The brackets of these do not end.
            ("cuont(".repeat(40_000), 0),
            (
                format!("{}{}", "cuont(".repeat(30_000), ")".repeat(30_000)),
                MAX_ADVICES,
            ),
            (format!("{}1", "abs(1), ".repeat(30_000)), 0),
        ] {
            let found = advised(&sql, Dialect::Sqlite);
            let start: String = sql.chars().take(20).collect();
            assert_eq!(found.len(), expected, "{start}");
        }
    }
}
