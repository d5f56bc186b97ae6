//! What the dialects write differently, and how each of them writes it.

use mindhost_plugin_api::Dialect;

/// What several dialects write differently: how each writes it, with `$1` for the first argument. An empty template
/// means that the dialect has no short way.
pub struct Concept {
    /// Names that it has anywhere, each with its number of arguments and a constant that one of them must be.
    pub forms: &'static [(&'static str, usize, Option<&'static str>)],
    sqlite: &'static str,
    postgresql: &'static str,
    mysql: &'static str,
    mssql: &'static str,
    clickhouse: &'static str,
    datafusion: &'static str,
}

impl Concept {
    /// How a dialect writes it.
    pub fn template(&self, dialect: Dialect) -> &'static str {
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
pub const CONCEPTS: &[Concept] = concepts![
    [("strftime", 2, Some("%Y-%m")), ("date_format", 2, Some("%Y-%m")), ("to_char", 2, Some("YYYY-MM")),
     ("to_char", 2, Some("yyyy-mm")), ("formatdatetime", 2, Some("%Y-%m")), ("format", 2, Some("yyyy-MM"))] =>
        "strftime('%Y-%m', $date)", "to_char($date, 'YYYY-MM')", "DATE_FORMAT($date, '%Y-%m')",
        "FORMAT($date, 'yyyy-MM')", "formatDateTime($date, '%Y-%m')", "to_char($date, '%Y-%m')";
    [("strftime", 2, Some("%Y")), ("date_format", 2, Some("%Y")), ("to_char", 2, Some("YYYY")),
     ("to_char", 2, Some("yyyy"))] =>
        "strftime('%Y', $date)", "to_char($date, 'YYYY')", "DATE_FORMAT($date, '%Y')", "FORMAT($date, 'yyyy')",
        "formatDateTime($date, '%Y')", "to_char($date, '%Y')";
    [("strftime", 2, Some("%Y-%m-%d")), ("date_format", 2, Some("%Y-%m-%d")), ("to_char", 2, Some("YYYY-MM-DD")),
     ("to_char", 2, Some("yyyy-mm-dd"))] =>
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
    // At least 0 and less than 1, another in each row. `random()` is any integer in SQLite, `rand()` in ClickHouse.
    [("rand", 0, None), ("random", 0, None)] =>
        "((random() & 9007199254740991) / 9007199254740992.0)", "random()", "RAND()", "", "randCanonical()",
        "random()";
    [("mean", 1, None)] => "avg($1)", "avg($1)", "AVG($1)", "AVG($1)", "avg($1)", "avg($1)";
    // Of a sample.
    [("stdev", 1, None), ("stddev", 1, None), ("stddev_samp", 1, None), ("stddevsamp", 1, None)] =>
        "", "stddev_samp($1)", "STDDEV_SAMP($1)", "STDEV($1)", "stddevSamp($1)", "stddev_samp($1)";
    // Of the population.
    [("stdevp", 1, None), ("stddev_pop", 1, None), ("stddevpop", 1, None)] =>
        "", "stddev_pop($1)", "STDDEV_POP($1)", "STDEVP($1)", "stddevPop($1)", "stddev_pop($1)";
    [("square", 1, None)] =>
        "power($1, 2)", "power($1, 2)", "POWER($1, 2)", "POWER($1, 2)", "power($1, 2)", "power($1, 2)";
    [("isnull", 1, None)] =>
        "($1 IS NULL)", "($1 IS NULL)", "($1 IS NULL)", "", "($1 IS NULL)", "($1 IS NULL)";
];
