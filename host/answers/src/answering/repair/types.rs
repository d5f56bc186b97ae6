//! Comparisons and aggregates whose types do not fit, and a GROUP BY that lacks columns.

use super::{
    Advice, MAX_ADVICES, Replace,
    statement_scope::{KnownTable, StatementScope},
};
use mindhost_base::error::Error;
use mindhost_catalog::{ColumnDetail, TableDetail};
use mindhost_plugin_api::Dialect;
use mindhost_sql::outline::{Block, Column, Comparison, Literal, Outline, same_column};

/// What a column holds, by the name of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Decimals, floating-point numbers and money.
    Number,
    /// Strings of any length, and enums.
    Text,
    /// Dates and times.
    Time,
    /// Anything else.
    Other,
}

/// The kind of a type, as any engine names it.
pub fn kind(data_type: &str) -> Kind {
    let name = data_type.to_lowercase();
    let name = name
        .trim_start_matches("nullable(")
        .trim_start_matches("lowcardinality(");
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if begins(&["interval", "point"]) {
        Kind::Other
    } else if begins(&[
        "int",
        "bigint",
        "smallint",
        "tinyint",
        "mediumint",
        "uint",
        "serial",
        "bigserial",
    ]) {
        Kind::Integer
    } else if begins(&[
        "decimal", "numeric", "real", "double", "float", "money", "number",
    ]) {
        Kind::Number
    } else if begins(&[
        "text",
        "char",
        "varchar",
        "character",
        "string",
        "nvarchar",
        "nchar",
        "utf8",
        "clob",
        "longtext",
        "mediumtext",
        "enum",
    ]) {
        Kind::Text
    } else if begins(&["date", "time"]) {
        Kind::Time
    } else {
        Kind::Other
    }
}

/// The details of a column of the statement, which reads the tables `used`.
pub fn detail<'a, 'b>(
    known: &StatementScope<'b>,
    outline: &Outline,
    used: &[KnownTable<'b>],
    column: &Column,
    described: &'a [TableDetail],
) -> Option<(&'a TableDetail, &'a ColumnDetail)> {
    let owner = known.owner(column, outline, used)?;
    let table = described.iter().find(|table| owner.is_in(table))?;
    let mut columns = table.columns.iter();
    let found = columns.find(|one| same_column(known.dialect, &column.name, &one.name))?;
    Some((table, found))
}

/// Adds what to write in place of comparisons and aggregates that no engine takes.
pub fn advise(
    known: &StatementScope<'_>,
    outline: &Outline,
    described: &[TableDetail],
    advice: &mut Advice,
) {
    let used = known.used(outline);
    for comparison in &outline.comparisons {
        if advice.replace.len() >= MAX_ADVICES {
            break;
        }
        let Some((_, column)) = detail(known, outline, &used, &comparison.column, described) else {
            continue;
        };
        let kind = kind(&column.data_type);
        let of_type = format!("{} is of the type {}", column.name, column.data_type);
        if let Some(instead) = fitting(comparison, kind, known.dialect) {
            let replace = Replace::new(comparison.text.clone(), 0, vec![instead]);
            // BETWEEN and IN are several comparisons.
            if !advice.replace.contains(&replace) {
                advice.replace.push(replace);
            }
            advice.hint(of_type);
        } else if let Some(rule) = rule(comparison, kind) {
            advice.hint(format!("{of_type}; {rule}"));
        }
    }
    for call in &outline.calls {
        let name = call.name.text.to_lowercase();
        let (["sum" | "avg"], [column]) = ([name.as_str()], &call.columns[..]) else {
            continue;
        };
        if let Some((table, found)) = detail(known, outline, &used, column, described)
            && matches!(
                kind(&found.data_type),
                Kind::Text | Kind::Time | Kind::Other
            )
        {
            let numbers = table
                .columns
                .iter()
                .filter(|one| matches!(kind(&one.data_type), Kind::Number | Kind::Integer));
            let names: Vec<&str> = numbers.map(|one| one.name.as_str()).take(8).collect();
            advice.hint(format!(
                "{name} takes numbers, and {} is of the type {}; numbers of {} are: {}",
                found.name,
                found.data_type,
                table.name,
                names.join(", ")
            ));
        }
    }
}

/// A comparison whose constant fits the column.
fn fitting(comparison: &Comparison, kind: Kind, dialect: Dialect) -> Option<String> {
    let column = written(&comparison.column);
    let operator = &comparison.operator;
    if kind == Kind::Time
        && let Some(condition) = years(comparison)
    {
        return Some(format!("{} {condition}", year_of(&column, dialect)));
    }
    // Only `column operator constant` is written anew.
    let constant = comparison
        .text
        .strip_prefix(&format!("{column} {operator} "))?;
    if operator == "IN" || constant.contains(" ESCAPE ") {
        return None;
    }
    let is_like = operator.ends_with("LIKE");
    match (kind, &comparison.literal) {
        (Kind::Text, Literal::Number(number)) if !is_order(operator) => {
            Some(format!("{column} {operator} '{number}'"))
        }
        // As a constant, an engine reads it as a whole number.
        (Kind::Integer, Literal::Text(text)) if !is_like && is_decimal(text) => {
            Some(format!("{column} {operator} {text}"))
        }
        (Kind::Time | Kind::Integer | Kind::Number, Literal::Text(text)) if is_like => {
            let text_type = match dialect {
                Dialect::Mysql => "char",
                Dialect::Mssql => "varchar(40)",
                Dialect::Clickhouse => "String",
                _ => "text",
            };
            let text = text.replace('\'', "''");
            Some(format!("CAST({column} AS {text_type}) {operator} '{text}'"))
        }
        _ => None,
    }
}

/// The year of a column, as this dialect writes it.
pub fn year_of(column: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => format!("CAST(strftime('%Y', {column}) AS INTEGER)"),
        Dialect::Clickhouse => format!("toYear({column})"),
        Dialect::Mssql | Dialect::Mysql => format!("YEAR({column})"),
        _ => format!("EXTRACT(YEAR FROM {column})"),
    }
}

/// What a comparison says of its column, if all its constants are years: `= 2021`, `BETWEEN 2021 AND 2022`,
/// `IN ('2021', '2022')`. The years stand without quotes then.
pub fn years(comparison: &Comparison) -> Option<String> {
    let column = written(&comparison.column);
    let condition = comparison.text.strip_prefix(&column)?.strip_prefix(' ')?;
    let mut words = condition
        .split(|letter: char| " ,()'=<>!".contains(letter))
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek()?;
    let fits = |word: &str| is_year(word) || ["BETWEEN", "AND", "IN", "NOT"].contains(&word);
    words.all(fits).then(|| condition.replace('\'', ""))
}

/// What is said of a comparison that is not written anew, because what it means is not certain.
fn rule(comparison: &Comparison, kind: Kind) -> Option<&'static str> {
    let operator = &comparison.operator;
    match (kind, &comparison.literal) {
        (Kind::Text, Literal::Number(_)) if is_order(operator) => {
            Some("a text is before or after another by its letters; CAST it to compare numbers")
        }
        (Kind::Integer | Kind::Number, Literal::Text(text))
            if !operator.ends_with("LIKE") && text.trim().parse::<f64>().is_err() =>
        {
            Some(
                "a number stands without quotes, unit and separators of thousands, with a decimal point",
            )
        }
        (Kind::Time, Literal::Text(text)) if !operator.ends_with("LIKE") && is_month(text) => Some(
            "compare with whole dates, from the first day of a month to before that of the next",
        ),
        _ => None,
    }
}

/// Whether a text is a month such as `2024-02`.
fn is_month(text: &str) -> bool {
    let is_two = |month: &str| month.len() == 2 && month.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('-')
        .is_some_and(|(year, month)| is_year(year) && is_two(month))
}

fn is_order(operator: &str) -> bool {
    operator.starts_with(['<', '>']) && operator != "<>"
}

/// Whether a text is a number with a fraction, and nothing else.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let parts = text.strip_prefix('-').unwrap_or(text).split_once('.');
    // Three digits behind the point may be the rest of a thousand.
    parts.is_some_and(|(whole, fraction)| digits(whole) && digits(fraction) && fraction.len() != 3)
}

fn is_year(number: &str) -> bool {
    number
        .parse::<u32>()
        .is_ok_and(|year| (1900..=2100).contains(&year))
}

/// A column as the statement has it.
pub fn written(column: &Column) -> String {
    let quoted = |name: &mindhost_sql::outline::Name| match name.quote {
        Some('[') => format!("[{}]", name.text),
        Some(quote) => format!("{quote}{}{quote}", name.text),
        None => name.text.clone(),
    };
    match &column.qualifier {
        Some(qualifier) => format!("{}.{}", quoted(qualifier), quoted(&column.name)),
        None => quoted(&column.name),
    }
}

/// Whether an engine refused a statement because of what it groups by. Others of its errors say nothing of it.
pub fn is_of_grouping(error: &Error) -> bool {
    let message = error.message().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
    has(&["group by", "group_by", "non-aggregate", "nonaggregate"])
        && !has(&["syntax", "not allowed"])
}

/// Adds what PostgreSQL rounds to a number of digits.
pub fn rounding(error: &Error, advice: &mut Advice) {
    if error.message().contains("round(double precision, integer)") {
        advice.hint("round to digits takes numeric; write round(CAST(x AS numeric), 2)");
    }
}

/// Adds the GROUP BY of a SELECT with aggregates and other columns: what it groups by, and what is not grouped.
pub fn group_by(outline: &Outline, advice: &mut Advice) {
    let mut blocks = outline.blocks.iter();
    let lacks = |block: &&Block| {
        let is_grouped = !block.aggregates.is_empty() || !block.grouped.is_empty();
        is_grouped && !block.ungrouped.is_empty()
    };
    if let Some(block) = blocks.find(lacks) {
        let by: Vec<&str> = block
            .grouped
            .iter()
            .chain(&block.ungrouped)
            .map(String::as_str)
            .collect();
        advice.group_by = Some(format!("GROUP BY {}", by.join(", ")));
        advice.hint("every column of the result is in GROUP BY or inside an aggregate");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindhost_base::error::Code;
    use mindhost_sql::outline;

    #[test]
    fn only_errors_of_grouping_are_told_from_others() {
        for (message, expected) in [
            (
                "column \"a.x\" must appear in the GROUP BY clause or be used in an aggregate function",
                true,
            ),
            ("'shop.a.x' isn't in GROUP BY", true),
            (
                "In aggregated query without GROUP BY, expression #1 contains nonaggregated column",
                true,
            ),
            ("column a.nation does not exist", false),
            ("aggregate functions are not allowed in GROUP BY", false),
            (
                "You have an error in your SQL syntax near 'GROUP BY'",
                false,
            ),
        ] {
            let error = Error::new(Code::SqlInvalid, message);
            assert_eq!(is_of_grouping(&error), expected, "{message}");
        }
    }

    #[test]
    fn columns_are_added_to_the_grouping_that_is_there() {
        let advised = |sql: &str| {
            let mut advice = Advice::default();
            group_by(
                &outline::outline(sql, Dialect::Postgresql).unwrap(),
                &mut advice,
            );
            advice.group_by
        };
        let people = "SELECT a.first || ' ' || a.last AS who, count(*) FROM a GROUP BY a.id, a.first, a.last";
        assert_eq!(advised(people), None);
        let lacking = "SELECT a.first, a.last, count(*) FROM a GROUP BY a.id, a.last";
        assert_eq!(
            advised(lacking).as_deref(),
            Some("GROUP BY a.id, a.last, a.first")
        );
        assert_eq!(
            advised("SELECT a.first, count(*) FROM a").as_deref(),
            Some("GROUP BY a.first")
        );
    }

    #[test]
    fn only_text_that_is_a_number_becomes_one() {
        for (kind, condition, expected) in [
            (Kind::Number, "price >= '1,000'", None),
            (Kind::Number, "price >= '12,50'", None),
            (Kind::Number, "price >= '1.000,50'", None),
            (Kind::Number, "price > '10 EUR'", None),
            (Kind::Integer, "ymd >= '2024-02-15'", None),
            (Kind::Integer, "qty > '2.5'", Some("qty > 2.5")),
            (Kind::Integer, "qty >= '1.000'", None),
            (
                Kind::Integer,
                "qty LIKE '1%'",
                Some("CAST(qty AS text) LIKE '1%'"),
            ),
            (Kind::Integer, "qty LIKE '1!%' ESCAPE '!'", None),
            (Kind::Text, "zip = 10115", Some("zip = '10115'")),
            (Kind::Text, "zip >= 500", None),
        ] {
            let sql = format!("SELECT 1 FROM t WHERE {condition}");
            let outline = outline::outline(&sql, Dialect::Postgresql).unwrap();
            let found = fitting(&outline.comparisons[0], kind, Dialect::Postgresql);
            assert_eq!(found.as_deref(), expected, "{condition}");
            let is_told = rule(&outline.comparisons[0], kind).is_some();
            let is_number = condition.contains("1.000'") || condition.contains("ESCAPE");
            assert_eq!(is_told, expected.is_none() && !is_number, "{condition}");
        }
    }

    #[test]
    fn kinds_of_types_of_all_engines() {
        for (name, expected) in [
            ("integer", Kind::Integer),
            ("BIGINT", Kind::Integer),
            ("Nullable(UInt32)", Kind::Integer),
            ("DECIMAL(10,2)", Kind::Number),
            ("double precision", Kind::Number),
            ("character varying(20)", Kind::Text),
            ("LowCardinality(String)", Kind::Text),
            ("timestamp with time zone", Kind::Time),
            ("Date32", Kind::Time),
            ("interval", Kind::Other),
            ("jsonb", Kind::Other),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }
}
