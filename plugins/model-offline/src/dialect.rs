//! How the engines write what differs: quoting, dates, rounding.

use jiff::civil::Date;

use crate::spans;

/// How an engine writes SQL, as the host names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL, and whatever calls itself something unknown: it is closest to the standard.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// ClickHouse.
    Clickhouse,
    /// SQL Server.
    Mssql,
    /// SQL over scanners.
    DataFusion,
}

/// A length of time that rows are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// `2024-03-31`
    Day,
    /// The Monday on which the week starts.
    Week,
    /// `2024-03`
    Month,
    /// `2024-Q1`
    Quarter,
    /// `2024`
    Year,
    /// `Monday`
    Weekday,
}

impl Unit {
    /// The name of the unit, which is also the name of the result's column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
            Self::Weekday => "weekday",
        }
    }
}

impl Dialect {
    /// The dialect with this name.
    pub fn of(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "sqlite" => Self::Sqlite,
            "mysql" | "mariadb" => Self::Mysql,
            "clickhouse" => Self::Clickhouse,
            "mssql" | "sqlserver" | "tsql" => Self::Mssql,
            "datafusion" => Self::DataFusion,
            _ => Self::Postgres,
        }
    }

    /// A quoted identifier.
    pub fn name(self, name: &str) -> String {
        match self {
            Self::Mysql => format!("`{}`", name.replace('`', "``")),
            Self::Mssql => format!("[{}]", name.replace(']', "]]")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// Some rows only: what stands behind SELECT, and what stands at the end of the statement.
    pub fn limit(self, rows: u64) -> (String, String) {
        match self {
            Self::Mssql => (format!("TOP ({rows}) "), String::new()),
            _ => (String::new(), format!("\nLIMIT {rows}")),
        }
    }

    /// A string literal.
    pub fn text(self, value: &str) -> String {
        let value = value.replace('\0', "").replace('\'', "''");
        match self {
            Self::Mysql | Self::Clickhouse => format!("'{}'", value.replace('\\', "\\\\")),
            _ => format!("'{value}'"),
        }
    }

    /// A text that holds a date, as what compares with dates. SQLite and MySQL take it as it is.
    pub fn moment(self, text: &str) -> String {
        match self {
            Self::Sqlite | Self::Mysql => text.to_owned(),
            Self::Postgres | Self::DataFusion => format!("CAST({text} AS timestamp)"),
            Self::Clickhouse => format!("parseDateTime64BestEffort({text})"),
            Self::Mssql => format!("CAST({text} AS datetime2)"),
        }
    }

    /// A literal that compares with dates and timestamps.
    pub fn date(self, date: Date) -> String {
        match self {
            Self::Postgres | Self::DataFusion => format!("DATE '{date}'"),
            Self::Clickhouse => format!("toDate32('{date}')"),
            // A text that is compared with a `datetime` is read as the language of the session has it.
            Self::Mssql => format!("CAST('{date}' AS date)"),
            _ => format!("'{date}'"),
        }
    }

    /// How a truth value is written; SQLite and SQL Server have 1 and 0.
    pub fn truth(self, value: bool) -> &'static str {
        match (self, value) {
            (Self::Sqlite | Self::Mssql, true) => "1",
            (Self::Sqlite | Self::Mssql, false) => "0",
            (_, true) => "TRUE",
            (_, false) => "FALSE",
        }
    }

    /// The average of an expression. SQL Server gives a whole number for whole numbers.
    pub fn average(self, expression: &str) -> String {
        match self {
            Self::Mssql => format!("AVG(CAST({expression} AS float))"),
            _ => format!("AVG({expression})"),
        }
    }

    /// Turns a column of text that holds numbers into a decimal with four places.
    pub fn number(self, expression: &str) -> String {
        format!("CAST({expression} AS DECIMAL(18, 4))")
    }

    /// A column of this type, as what is added up. PostgreSQL sums single precision in single precision, and shows six
    /// digits of it.
    pub fn summand(self, column: String, native_type: &str) -> String {
        let native = native_type.to_lowercase();
        match self {
            Self::Postgres if matches!(&*native, "real" | "float4") => {
                format!("CAST({column} AS double precision)")
            }
            _ => column,
        }
    }

    /// An expression rounded to a number of decimals, without the noise of binary fractions. `is_binary`: its numbers are
    /// such fractions; a decimal would show all of these places ("19500.000000").
    pub fn round(self, expression: &str, decimals: u32, is_binary: bool) -> String {
        match self {
            Self::Postgres if is_binary => {
                format!(
                    "CAST(ROUND(CAST({expression} AS numeric), {decimals}) AS double precision)"
                )
            }
            Self::Postgres => format!("ROUND(CAST({expression} AS numeric), {decimals})"),
            _ => format!("ROUND({expression}, {decimals})"),
        }
    }

    /// The time from one date to another, with parts of the unit or in full ones.
    pub fn span(self, from: &str, to: &str, unit: spans::Unit) -> String {
        let Some(seconds) = unit.seconds else {
            return self.years(from, to);
        };
        let sql = match self {
            // A day with its time is a binary fraction, so what follows from it is rounded.
            Self::Sqlite => {
                format!("ROUND((julianday({to}) - julianday({from})) * 86400, 3)")
            }
            Self::Postgres => {
                format!("EXTRACT(EPOCH FROM (CAST({to} AS timestamp) - CAST({from} AS timestamp)))")
            }
            Self::Mysql => format!("TIMESTAMPDIFF(SECOND, {from}, {to})"),
            Self::Clickhouse => format!("dateDiff('second', {from}, {to})"),
            Self::Mssql => format!("DATEDIFF_BIG(second, {from}, {to})"),
            Self::DataFusion => format!(
                "(date_part('epoch', CAST({to} AS timestamp)) - date_part('epoch', CAST({from} AS timestamp)))"
            ),
        };
        let number = match seconds {
            1 => sql,
            _ => format!("({sql} / {seconds}.0)"),
        };
        match (unit.whole, self) {
            (false, _) => number,
            (true, Self::Sqlite) => format!("CAST({number} AS INTEGER)"),
            (true, Self::Mysql) => format!("TRUNCATE({number}, 0)"),
            (true, Self::Mssql) => format!("ROUND({number}, 0, 1)"),
            (true, _) => format!("TRUNC({number})"),
        }
    }

    /// Full years from one date to another: days are compared as numbers such as 20240331 where there is no function.
    fn years(self, from: &str, to: &str) -> String {
        let day = |date: &str| match self {
            Self::Sqlite => format!("CAST(strftime('%Y%m%d', {date}) AS INTEGER)"),
            Self::Mssql => {
                format!("CONVERT(int, CONVERT(char(8), CAST({date} AS date), 112))")
            }
            _ => format!(
                "CAST(date_part('year', {date}) * 10000 + date_part('month', {date}) * 100 + date_part('day', {date}) \
                 AS int)"
            ),
        };
        match self {
            Self::Postgres => format!(
                "CAST(EXTRACT(YEAR FROM age(CAST({to} AS timestamp), CAST({from} AS timestamp))) AS integer)"
            ),
            Self::Mysql => format!("TIMESTAMPDIFF(YEAR, {from}, {to})"),
            Self::Clickhouse => format!("age('year', {from}, {to})"),
            _ => format!("(({} - {}) / 10000)", day(to), day(from)),
        }
    }

    /// The period of a date or timestamp as text that sorts in time.
    pub fn bucket(self, unit: Unit, column: &str) -> String {
        match self {
            Self::Sqlite => sqlite_bucket(unit, column),
            Self::Mssql => mssql_bucket(unit, column),
            Self::Postgres | Self::DataFusion => {
                let format = match unit {
                    Unit::Weekday => return format!("to_char({column}, 'FMDay')"),
                    Unit::Day | Unit::Week => "YYYY-MM-DD",
                    Unit::Month => "YYYY-MM",
                    Unit::Quarter if self == Self::DataFusion => {
                        return format!(
                            "concat(to_char({column}, 'YYYY'), '-Q', date_part('quarter', {column}))"
                        );
                    }
                    Unit::Quarter => "YYYY-\"Q\"Q",
                    Unit::Year => "YYYY",
                };
                format!(
                    "to_char(date_trunc('{}', {column}), '{format}')",
                    unit.name()
                )
            }
            Self::Mysql => mysql_bucket(unit, column),
            Self::Clickhouse => clickhouse_bucket(unit, column),
        }
    }
}

fn sqlite_bucket(unit: Unit, column: &str) -> String {
    match unit {
        Unit::Day => format!("strftime('%Y-%m-%d', {column})"),
        // Forward to Sunday, then back to the Monday of the same week.
        Unit::Week => format!("strftime('%Y-%m-%d', {column}, 'weekday 0', '-6 days')"),
        Unit::Month => format!("strftime('%Y-%m', {column})"),
        Unit::Quarter => {
            let month = format!("CAST(strftime('%m', {column}) AS INTEGER)");
            format!("strftime('%Y', {column}) || '-Q' || (({month} + 2) / 3)")
        }
        Unit::Year => format!("strftime('%Y', {column})"),
        Unit::Weekday => {
            const NAMES: &str = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";
            let names = NAMES.split(' ').enumerate();
            let names: Vec<String> = names
                .map(|(at, name)| format!("WHEN '{at}' THEN '{name}'"))
                .collect();
            format!("CASE strftime('%w', {column}) {} END", names.join(" "))
        }
    }
}

fn mssql_bucket(unit: Unit, column: &str) -> String {
    match unit {
        Unit::Day => format!("CONVERT(char(10), {column}, 23)"),
        // Day 0 of SQL Server was a Monday.
        Unit::Week => {
            format!(
                "CONVERT(char(10), DATEADD(day, -(DATEDIFF(day, 0, {column}) % 7), {column}), 23)"
            )
        }
        Unit::Month => format!("CONVERT(char(7), {column}, 23)"),
        Unit::Quarter => {
            format!("CONCAT(YEAR({column}), '-Q', DATEPART(quarter, {column}))")
        }
        Unit::Year => format!("CONVERT(char(4), {column}, 23)"),
        Unit::Weekday => format!("DATENAME(weekday, {column})"),
    }
}

fn mysql_bucket(unit: Unit, column: &str) -> String {
    match unit {
        Unit::Day => format!("DATE_FORMAT({column}, '%Y-%m-%d')"),
        Unit::Week => {
            format!("DATE_FORMAT(DATE_SUB({column}, INTERVAL WEEKDAY({column}) DAY), '%Y-%m-%d')")
        }
        Unit::Month => format!("DATE_FORMAT({column}, '%Y-%m')"),
        Unit::Quarter => format!("CONCAT(YEAR({column}), '-Q', QUARTER({column}))"),
        Unit::Year => format!("DATE_FORMAT({column}, '%Y')"),
        Unit::Weekday => format!("DAYNAME({column})"),
    }
}

fn clickhouse_bucket(unit: Unit, column: &str) -> String {
    match unit {
        Unit::Day => format!("toString(toDate32({column}))"),
        Unit::Week => format!("toString(toMonday({column}))"),
        Unit::Month => format!("formatDateTime({column}, '%Y-%m')"),
        Unit::Quarter => {
            format!("concat(toString(toYear({column})), '-Q', toString(toQuarter({column})))")
        }
        Unit::Year => format!("toString(toYear({column}))"),
        Unit::Weekday => format!("formatDateTime({column}, '%W')"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_cannot_break_out() {
        assert_eq!(Dialect::Postgres.name("a\"b"), "\"a\"\"b\"");
        assert_eq!(Dialect::Mysql.name("a`b"), "`a``b`");
        assert_eq!(Dialect::Sqlite.text("O'Neil"), "'O''Neil'");
        assert_eq!(Dialect::Mysql.text("\\'"), "'\\\\'''");
    }

    #[test]
    fn each_dialect_groups_by_month_in_its_own_way() {
        assert_eq!(
            Dialect::Sqlite.bucket(Unit::Month, "c"),
            "strftime('%Y-%m', c)"
        );
        assert_eq!(
            Dialect::Postgres.bucket(Unit::Month, "c"),
            "to_char(date_trunc('month', c), 'YYYY-MM')"
        );
        assert_eq!(
            Dialect::Mysql.bucket(Unit::Month, "c"),
            "DATE_FORMAT(c, '%Y-%m')"
        );
        assert_eq!(
            Dialect::Clickhouse.bucket(Unit::Month, "c"),
            "formatDateTime(c, '%Y-%m')"
        );
    }

    #[test]
    fn lengths_of_time_are_counted_with_parts_or_in_full() {
        let unit = |whole| spans::Unit {
            name: "hours",
            seconds: Some(3_600),
            whole,
        };
        let span = |dialect: Dialect, whole| dialect.span("a", "b", unit(whole));
        assert_eq!(
            span(Dialect::Sqlite, true),
            "CAST((ROUND((julianday(b) - julianday(a)) * 86400, 3) / 3600.0) AS INTEGER)"
        );
        assert_eq!(
            span(Dialect::Mysql, true),
            "TRUNCATE((TIMESTAMPDIFF(SECOND, a, b) / 3600.0), 0)"
        );
        assert_eq!(
            span(Dialect::Mssql, false),
            "(DATEDIFF_BIG(second, a, b) / 3600.0)"
        );
        assert_eq!(
            span(Dialect::Clickhouse, true),
            "TRUNC((dateDiff('second', a, b) / 3600.0))"
        );
        let whole = span(Dialect::Postgres, true);
        assert!(whole.starts_with("TRUNC((EXTRACT(EPOCH"), "{whole}");
    }

    #[test]
    fn dates_that_are_texts_become_dates_where_an_engine_needs_it() {
        assert_eq!(Dialect::Sqlite.moment("c"), "c");
        assert_eq!(Dialect::Postgres.moment("c"), "CAST(c AS timestamp)");
        assert_eq!(Dialect::Mssql.moment("c"), "CAST(c AS datetime2)");
        let day = jiff::civil::date(2024, 3, 5);
        assert_eq!(Dialect::Mssql.date(day), "CAST('2024-03-05' AS date)");
        assert_eq!(
            Dialect::DataFusion.bucket(Unit::Quarter, "c"),
            "concat(to_char(c, 'YYYY'), '-Q', date_part('quarter', c))"
        );
    }
}
