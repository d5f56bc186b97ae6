//! Functions and operators of other dialects, and how this dialect writes them.

use std::collections::HashSet;

use super::{
    Advice, MAX_ADVICES, MAX_UNKNOWN, Replace,
    added_times::Added,
    concepts::{CONCEPTS, WITH_OTHER_ARGUMENTS},
    joined_texts,
    nearest::is_function_misspelt,
};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{self, Word};

/// Functions that a misspelt one may be.
const MAX_MISSPELT: usize = 3;
/// Bytes of what stands in place of a call. Some templates have an argument several times.
const MAX_INSTEAD: usize = 4_000;

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
    for call in calls(words) {
        let (at, close) = (call.at, call.close);
        let Some((word, end)) = words.get(at).zip(words.get(close)) else {
            continue;
        };
        let name = word.text.to_lowercase();
        let is_known = functions.contains(&name) && !has_other_arguments(&call, &name, dialect);
        let is_meant = is_known || stands_before_brackets(&name);
        let is_foreign_extract = name == "extract" && lacks_extract(dialect);
        let joins_texts = matches!(name.as_str(), "string_agg" | "group_concat" | "listagg")
            && !(is_known && dialect == Dialect::Clickhouse);
        if (is_meant && !is_foreign_extract && !joins_texts) || is_cte(words, close) {
            continue;
        }
        if advice.replace.len() >= MAX_ADVICES || looked_up >= MAX_UNKNOWN {
            break;
        }
        looked_up += 1;
        if joins_texts {
            match joined_texts::advise(sql, words, &call, dialect) {
                Some(Some(replace)) => advice.replace.push(replace),
                Some(None) => advice.hint(joined_texts::NO_SHORT_FORM),
                None => {}
            }
            continue;
        }
        // A position counts from 1, so it is the index of the letter behind a bracket or a comma.
        let place = |index: usize| words.get(index).map_or(0, |word| word.position as usize);
        let mut arguments = Vec::new();
        let mut from = place(at + 1);
        for comma in call.commas.iter().copied().chain([close]) {
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
        if let Some(added) = Added::of(&name, &arguments).filter(|_| !is_known) {
            let instead = added.written(dialect);
            match instead.len() {
                0 => advice.hint(format!(
                    "write the unit of {} in full, such as month or minute",
                    word.text
                )),
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
            Some(instead)
                if instead.is_empty()
                    || instead.len() > MAX_INSTEAD
                    || same(&instead, &written) => {}
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

/// Whether a dialect has a function, but not with the arguments of this call.
fn has_other_arguments(call: &Call, name: &str, dialect: Dialect) -> bool {
    let count = call.commas.len() + 1;
    WITH_OTHER_ARGUMENTS.contains(&(dialect, name, count))
}

/// Whether a dialect does not have EXTRACT.
fn lacks_extract(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Sqlite | Dialect::Mssql)
}

/// A name with brackets behind it. The numbers are indices of words.
pub struct Call {
    /// The name.
    pub at: usize,
    /// Those between its arguments.
    pub commas: Vec<usize>,
    /// The bracket at its end.
    pub close: usize,
}

/// The calls whose brackets are closed, in their order. One pass finds them all, however deep they are nested.
pub fn calls(words: &[Word]) -> Vec<Call> {
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
pub fn stands_before_brackets(name: &str) -> bool {
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

/// Adds the functions that may be meant by a misspelt one.
fn advise_name(word: &Word, dialect: Dialect, advice: &mut Advice) {
    let alike = outline::functions(dialect).filter(|one| is_function_misspelt(&word.text, one));
    let mut instead: Vec<String> = alike.map(str::to_owned).collect();
    instead.sort();
    instead.truncate(MAX_MISSPELT);
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
    for concept in CONCEPTS {
        for (form, count, wanted) in concept.forms {
            if *form != name || *count != arguments.len() {
                continue;
            }
            let at = match wanted {
                Some(wanted) => match constant(name, arguments, wanted) {
                    None => continue,
                    at => at,
                },
                None => None,
            };
            let mut others = arguments.iter().enumerate();
            let date = others.find(|(index, _)| Some(*index) != at);
            let date = date.map_or("", |(_, date)| date.as_str());
            return Some(filled(concept.template(dialect), date, arguments));
        }
    }
    None
}

/// Which argument is a constant. A unit may stand without quotes and in any case; in a format, `m` and `M` are two
/// things.
fn constant(name: &str, arguments: &[String], wanted: &str) -> Option<usize> {
    const OF_UNITS: [&str; 5] = [
        "date_trunc",
        "datetrunc",
        "date_part",
        "datepart",
        "datediff",
    ];
    let plain = |argument: &String| argument.trim_matches('\'').to_owned();
    if !OF_UNITS.contains(&name) {
        let is_it = |one: &String| plain(one) == wanted && one != wanted;
        return arguments.iter().position(is_it);
    }
    // `date_trunc(d, MONTH)` of BigQuery. Elsewhere another argument of this name is a column.
    let is_last = name == "date_trunc" && !arguments.first()?.starts_with('\'');
    let at = if is_last { arguments.len() - 1 } else { 0 };
    plain(arguments.get(at)?)
        .eq_ignore_ascii_case(wanted)
        .then_some(at)
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
            (Dialect::Postgresql, "mean(total)", "avg(total)"),
            (Dialect::Postgresql, "square(total)", "power(total, 2)"),
            (Dialect::Postgresql, "isnull(zip)", "(zip IS NULL)"),
            (
                Dialect::Postgresql,
                "isnull(zip, '-')",
                "COALESCE(zip, '-')",
            ),
            (Dialect::Mysql, "stdev(total)", "STDDEV_SAMP(total)"),
            (Dialect::Clickhouse, "stdev(total)", "stddevSamp(total)"),
            (
                Dialect::Sqlite,
                "rand()",
                "((random() & 9007199254740991) / 9007199254740992.0)",
            ),
            (
                Dialect::Sqlite,
                "date_trunc('MONTH', d)",
                "strftime('%Y-%m-01', d)",
            ),
            (
                Dialect::Mysql,
                "date_trunc(day, MONTH)",
                "DATE_FORMAT(day, '%Y-%m-01')",
            ),
            (
                Dialect::Postgresql,
                "DATEDIFF(Day, month, year)",
                "(CAST(year AS date) - CAST(month AS date))",
            ),
            (Dialect::Mysql, "ISNULL(zip, '-')", "COALESCE(zip, '-')"),
            (Dialect::Mysql, "DATEDIFF(day, a, b)", "DATEDIFF(b, a)"),
            (Dialect::Mssql, "DATEDIFF(b, a)", "DATEDIFF(day, a, b)"),
            (
                Dialect::Mssql,
                "EXTRACT(QUARTER FROM d)",
                "DATEPART(quarter, d)",
            ),
            (
                Dialect::Sqlite,
                "date_part('dow', d)",
                "CAST(strftime('%w', d) AS INTEGER)",
            ),
            (Dialect::Trino, "to_char(d, 'YYYY')", "date_format(d, '%Y')"),
            (
                Dialect::Postgresql,
                "DATE_SUB(d, INTERVAL 3 DAY)",
                "(d + (-(3)) * INTERVAL '1 day')",
            ),
            (
                Dialect::Datafusion,
                "DATEADD(quarter, 2, d)",
                "(d + INTERVAL '6 month')",
            ),
            (
                Dialect::Datafusion,
                "DATE_SUB(d, INTERVAL 3 DAY)",
                "(d + INTERVAL '-3 day')",
            ),
            (
                Dialect::Mssql,
                "date_add(d, INTERVAL '2 months')",
                "DATEADD(month, 2, d)",
            ),
            (
                Dialect::Trino,
                "DATEADD(day, n, d)",
                "date_add('day', n, d)",
            ),
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
    fn what_means_something_else_is_not_advised() {
        for (call, dialect) in [
            // A month in SQL Server and a minute in Snowflake.
            ("DATEADD(m, 3, d)", Dialect::Postgresql),
            // It has no product of an interval.
            ("DATEADD(month, n, d)", Dialect::Datafusion),
            // The codes of a format differ by their case.
            ("DATE_FORMAT(d, '%y')", Dialect::Postgresql),
            ("strftime('%Y-%M', d)", Dialect::Postgresql),
            ("strftime('%Y-%m-%D', d)", Dialect::Postgresql),
            ("FORMAT(d, 'yyyy-mm')", Dialect::Sqlite),
            // It has none.
            ("stdev(total)", Dialect::Sqlite),
            ("stddev(total)", Dialect::Sqlite),
            ("newid()", Dialect::Sqlite),
            // The unit is another one, and a column has the name of this one.
            ("date_trunc('minute', day)", Dialect::Sqlite),
            ("DATEDIFF(hour, day, month)", Dialect::Postgresql),
            ("EXTRACT(YEAR FROM d)", Dialect::Mysql),
            ("EXTRACT(YEAR FROM d)", Dialect::Trino),
            ("DATE_SUB(d, 3)", Dialect::Postgresql),
        ] {
            let found = advised(&format!("SELECT {call} FROM t"), dialect);
            assert_eq!(found, [], "{call}");
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
