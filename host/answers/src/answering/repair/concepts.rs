//! What the dialects write differently, and how each of them writes it.

use mindhost_plugin_api::Dialect;

/// What several dialects write differently: how each writes it, with `$1` for the first argument and `$date` for the
/// first one that is not the constant of the form. An empty template means that the dialect has no short way.
pub struct Concept {
    /// Names that it has anywhere, each with its number of arguments and a constant that one of them must be.
    pub forms: &'static [(&'static str, usize, Option<&'static str>)],
    sqlite: &'static str,
    postgresql: &'static str,
    mysql: &'static str,
    mssql: &'static str,
    clickhouse: &'static str,
    datafusion: &'static str,
    trino: &'static str,
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
            Dialect::Trino => self.trino,
            Dialect::Datafusion | Dialect::Generic => self.datafusion,
        }
    }
}

macro_rules! concepts {
    ($([$($form:expr),+] => $sqlite:literal, $postgresql:literal, $mysql:literal, $mssql:literal, $clickhouse:literal,
        $datafusion:literal $(, trino $trino:literal)?;)+) => {
        &[$(Concept {
            forms: &[$($form),+],
            sqlite: $sqlite,
            postgresql: $postgresql,
            mysql: $mysql,
            mssql: $mssql,
            clickhouse: $clickhouse,
            datafusion: $datafusion,
            trino: concepts!(@trino $datafusion $(, $trino)?),
        }),+]
    };
    (@trino $datafusion:literal, $trino:literal) => { $trino };
    (@trino $datafusion:literal) => { $datafusion };
}

/// In the order SQLite, PostgreSQL, MySQL, SQL Server, ClickHouse, DataFusion, and Trino where it differs from that.
#[rustfmt::skip]
pub const CONCEPTS: &[Concept] = concepts![
    [("strftime", 2, Some("%Y-%m")), ("date_format", 2, Some("%Y-%m")), ("to_char", 2, Some("YYYY-MM")),
     ("to_char", 2, Some("yyyy-mm")), ("formatdatetime", 2, Some("%Y-%m")), ("format", 2, Some("yyyy-MM"))] =>
        "strftime('%Y-%m', $date)", "to_char($date, 'YYYY-MM')", "DATE_FORMAT($date, '%Y-%m')",
        "FORMAT($date, 'yyyy-MM')", "formatDateTime($date, '%Y-%m')", "to_char($date, '%Y-%m')",
        trino "date_format($date, '%Y-%m')";
    [("strftime", 2, Some("%Y")), ("date_format", 2, Some("%Y")), ("to_char", 2, Some("YYYY")),
     ("to_char", 2, Some("yyyy"))] =>
        "strftime('%Y', $date)", "to_char($date, 'YYYY')", "DATE_FORMAT($date, '%Y')", "FORMAT($date, 'yyyy')",
        "formatDateTime($date, '%Y')", "to_char($date, '%Y')", trino "date_format($date, '%Y')";
    [("strftime", 2, Some("%Y-%m-%d")), ("date_format", 2, Some("%Y-%m-%d")), ("to_char", 2, Some("YYYY-MM-DD")),
     ("to_char", 2, Some("yyyy-mm-dd"))] =>
        "strftime('%Y-%m-%d', $date)", "to_char($date, 'YYYY-MM-DD')", "DATE_FORMAT($date, '%Y-%m-%d')",
        "FORMAT($date, 'yyyy-MM-dd')", "formatDateTime($date, '%Y-%m-%d')", "to_char($date, '%Y-%m-%d')",
        trino "date_format($date, '%Y-%m-%d')";
    [("strftime", 2, Some("%m")), ("date_format", 2, Some("%m")), ("to_char", 2, Some("MM"))] =>
        "strftime('%m', $date)", "to_char($date, 'MM')", "DATE_FORMAT($date, '%m')", "FORMAT($date, 'MM')",
        "formatDateTime($date, '%m')", "to_char($date, '%m')", trino "date_format($date, '%m')";
    [("strftime", 2, Some("%d")), ("date_format", 2, Some("%d")), ("to_char", 2, Some("DD"))] =>
        "strftime('%d', $date)", "to_char($date, 'DD')", "DATE_FORMAT($date, '%d')", "FORMAT($date, 'dd')",
        "formatDateTime($date, '%d')", "to_char($date, '%d')", trino "date_format($date, '%d')";
    [("strftime", 2, Some("%H")), ("date_format", 2, Some("%H")), ("to_char", 2, Some("HH24"))] =>
        "strftime('%H', $date)", "to_char($date, 'HH24')", "DATE_FORMAT($date, '%H')", "FORMAT($date, 'HH')",
        "formatDateTime($date, '%H')", "to_char($date, '%H')", trino "date_format($date, '%H')";
    [("date_trunc", 2, Some("month")), ("datetrunc", 2, Some("month")), ("tostartofmonth", 1, None)] =>
        "strftime('%Y-%m-01', $date)", "date_trunc('month', $date)", "DATE_FORMAT($date, '%Y-%m-01')",
        "DATETRUNC(month, $date)", "toStartOfMonth($date)", "date_trunc('month', $date)";
    [("date_trunc", 2, Some("year")), ("datetrunc", 2, Some("year")), ("tostartofyear", 1, None)] =>
        "strftime('%Y-01-01', $date)", "date_trunc('year', $date)", "DATE_FORMAT($date, '%Y-01-01')",
        "DATETRUNC(year, $date)", "toStartOfYear($date)", "date_trunc('year', $date)";
    [("date_trunc", 2, Some("quarter")), ("datetrunc", 2, Some("quarter")), ("tostartofquarter", 1, None)] =>
        "date($date, 'start of month', '-' || ((strftime('%m', $date) - 1) % 3) || ' months')",
        "date_trunc('quarter', $date)", "(MAKEDATE(YEAR($date), 1) + INTERVAL (QUARTER($date) - 1) QUARTER)",
        "DATETRUNC(quarter, $date)", "toStartOfQuarter($date)", "date_trunc('quarter', $date)";
    // From Monday.
    [("date_trunc", 2, Some("week")), ("datetrunc", 2, Some("iso_week")), ("tomonday", 1, None)] =>
        "date($date, '-6 days', 'weekday 1')", "date_trunc('week', $date)",
        "(DATE($date) - INTERVAL WEEKDAY($date) DAY)", "DATETRUNC(iso_week, $date)", "toMonday($date)",
        "date_trunc('week', $date)";
    [("date_trunc", 2, Some("day")), ("datetrunc", 2, Some("day")), ("tostartofday", 1, None)] =>
        "date($date)", "date_trunc('day', $date)", "DATE($date)", "CAST($date AS date)", "toStartOfDay($date)",
        "date_trunc('day', $date)";
    [("date_trunc", 2, Some("hour")), ("datetrunc", 2, Some("hour")), ("tostartofhour", 1, None)] =>
        "strftime('%Y-%m-%d %H:00:00', $date)", "date_trunc('hour', $date)",
        "DATE_FORMAT($date, '%Y-%m-%d %H:00:00')", "DATETRUNC(hour, $date)", "toStartOfHour($date)",
        "date_trunc('hour', $date)";
    [("year", 1, None), ("toyear", 1, None), ("extract_year", 1, None), ("date_part", 2, Some("year")),
     ("datepart", 2, Some("year"))] =>
        "CAST(strftime('%Y', $date) AS INTEGER)", "EXTRACT(YEAR FROM $date)", "YEAR($date)", "YEAR($date)",
        "toYear($date)", "date_part('year', $date)", trino "year($date)";
    [("quarter", 1, None), ("toquarter", 1, None), ("extract_quarter", 1, None), ("date_part", 2, Some("quarter")),
     ("datepart", 2, Some("quarter"))] =>
        "((CAST(strftime('%m', $date) AS INTEGER) + 2) / 3)", "EXTRACT(QUARTER FROM $date)", "QUARTER($date)",
        "DATEPART(quarter, $date)", "toQuarter($date)", "date_part('quarter', $date)", trino "quarter($date)";
    [("month", 1, None), ("tomonth", 1, None), ("extract_month", 1, None), ("date_part", 2, Some("month")),
     ("datepart", 2, Some("month"))] =>
        "CAST(strftime('%m', $date) AS INTEGER)", "EXTRACT(MONTH FROM $date)", "MONTH($date)", "MONTH($date)",
        "toMonth($date)", "date_part('month', $date)", trino "month($date)";
    [("day", 1, None), ("dayofmonth", 1, None), ("todayofmonth", 1, None), ("extract_day", 1, None),
     ("date_part", 2, Some("day")), ("datepart", 2, Some("day"))] =>
        "CAST(strftime('%d', $date) AS INTEGER)", "EXTRACT(DAY FROM $date)", "DAY($date)", "DAY($date)",
        "toDayOfMonth($date)", "date_part('day', $date)", trino "day($date)";
    [("hour", 1, None), ("tohour", 1, None), ("extract_hour", 1, None), ("date_part", 2, Some("hour")),
     ("datepart", 2, Some("hour"))] =>
        "CAST(strftime('%H', $date) AS INTEGER)", "EXTRACT(HOUR FROM $date)", "HOUR($date)",
        "DATEPART(hour, $date)", "toHour($date)", "date_part('hour', $date)", trino "hour($date)";
    // From Sunday, which is 0.
    [("extract_dow", 1, None), ("date_part", 2, Some("dow"))] =>
        "CAST(strftime('%w', $date) AS INTEGER)", "EXTRACT(DOW FROM $date)", "(DAYOFWEEK($date) - 1)", "",
        "(toDayOfWeek($date) % 7)", "date_part('dow', $date)", trino "(day_of_week($date) % 7)";
    [("now", 0, None), ("getdate", 0, None), ("sysdate", 0, None), ("sysdatetime", 0, None)] =>
        "datetime('now')", "now()", "NOW()", "GETDATE()", "now()", "now()";
    [("curdate", 0, None), ("today", 0, None)] =>
        "date('now')", "CURRENT_DATE", "CURDATE()", "CAST(GETDATE() AS date)", "today()", "current_date()",
        trino "current_date";
    [("ifnull", 2, None), ("nvl", 2, None), ("isnull", 2, None)] =>
        "COALESCE($1, $2)", "COALESCE($1, $2)", "COALESCE($1, $2)", "COALESCE($1, $2)", "COALESCE($1, $2)",
        "COALESCE($1, $2)";
    [("nvl2", 3, None)] =>
        "CASE WHEN $1 IS NULL THEN $3 ELSE $2 END", "CASE WHEN $1 IS NULL THEN $3 ELSE $2 END",
        "CASE WHEN $1 IS NULL THEN $3 ELSE $2 END", "CASE WHEN $1 IS NULL THEN $3 ELSE $2 END",
        "CASE WHEN $1 IS NULL THEN $3 ELSE $2 END", "CASE WHEN $1 IS NULL THEN $3 ELSE $2 END";
    [("len", 1, None), ("length", 1, None), ("char_length", 1, None), ("lengthutf8", 1, None)] =>
        "length($1)", "length($1)", "CHAR_LENGTH($1)", "LEN($1)", "lengthUTF8($1)", "character_length($1)",
        trino "length($1)";
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
        "DATEDIFF(day, $2, $1)", "dateDiff('day', $2, $1)", "(CAST($1 AS date) - CAST($2 AS date))",
        trino "date_diff('day', CAST($2 AS date), CAST($1 AS date))";
    // As SQL Server counts: the ends of days, months and years between two dates.
    [("datediff", 3, Some("day")), ("datediff", 3, Some("dd"))] =>
        "CAST(julianday(date($3)) - julianday(date($2)) AS INTEGER)", "(CAST($3 AS date) - CAST($2 AS date))",
        "DATEDIFF($3, $2)", "DATEDIFF(day, $2, $3)", "dateDiff('day', $2, $3)",
        "(CAST($3 AS date) - CAST($2 AS date))", trino "date_diff('day', CAST($2 AS date), CAST($3 AS date))";
    [("datediff", 3, Some("month")), ("datediff", 3, Some("mm"))] =>
        "((strftime('%Y', $3) - strftime('%Y', $2)) * 12 + strftime('%m', $3) - strftime('%m', $2))",
        "((EXTRACT(YEAR FROM $3) - EXTRACT(YEAR FROM $2)) * 12 + EXTRACT(MONTH FROM $3) - EXTRACT(MONTH FROM $2))",
        "PERIOD_DIFF(DATE_FORMAT($3, '%Y%m'), DATE_FORMAT($2, '%Y%m'))", "DATEDIFF(month, $2, $3)",
        "dateDiff('month', $2, $3)",
        "((date_part('year', $3) - date_part('year', $2)) * 12 + date_part('month', $3) - date_part('month', $2))",
        trino "((year($3) - year($2)) * 12 + month($3) - month($2))";
    [("datediff", 3, Some("year")), ("datediff", 3, Some("yy")), ("datediff", 3, Some("yyyy"))] =>
        "(strftime('%Y', $3) - strftime('%Y', $2))", "(EXTRACT(YEAR FROM $3) - EXTRACT(YEAR FROM $2))",
        "(YEAR($3) - YEAR($2))", "DATEDIFF(year, $2, $3)", "dateDiff('year', $2, $3)",
        "(date_part('year', $3) - date_part('year', $2))", trino "(year($3) - year($2))";
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

/// Functions that a dialect has, but not with so many arguments.
pub const WITH_OTHER_ARGUMENTS: &[(Dialect, &str, usize)] = &[
    (Dialect::Mysql, "isnull", 2),
    (Dialect::Mysql, "datediff", 3),
    (Dialect::Mssql, "datediff", 2),
    (Dialect::Clickhouse, "datediff", 2),
    // Only PostgreSQL 16 and later have it, and only for moments.
    (Dialect::Postgresql, "date_add", 2),
    (Dialect::Postgresql, "date_add", 3),
];
