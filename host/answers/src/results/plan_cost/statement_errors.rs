//! Whether an engine that does not explain a statement says that the statement is wrong.
//!
//! It may refuse to explain for another reason: it does not know this EXPLAIN, or the account may not see the plan of a
//! view. So only codes count that can be of nothing but the statement. With any other code the statement runs, and the
//! engine says then what is wrong with it.

use mindhost_base::error::{Code, Error};
use mindhost_plugin_api::Dialect;

/// SQLSTATE classes of a wrong number of columns, of wrong values, of ambiguous names, and of wrong names and types.
const CLASSES: [&str; 4] = ["21", "22", "23", "42"];
/// A syntax error may be one of the EXPLAIN.
const SYNTAX: &str = "42601";
/// Errors of MySQL in these classes that may be of the EXPLAIN: two of syntax, and "not supported yet".
const MYSQL: [&str; 3] = ["1064", "1149", "1235"];
/// Names, types, arguments and aggregates of ClickHouse.
const CLICKHOUSE: [&str; 14] = [
    "16", "36", "42", "43", "46", "47", "53", "60", "70", "184", "207", "215", "352", "386",
];
/// The same of Trino.
const TRINO: [&str; 18] = [
    "AMBIGUOUS_NAME",
    "COLUMN_NOT_FOUND",
    "DIVISION_BY_ZERO",
    "EXPRESSION_NOT_AGGREGATE",
    "EXPRESSION_NOT_IN_DISTINCT",
    "EXPRESSION_NOT_SCALAR",
    "FUNCTION_NOT_AGGREGATE",
    "FUNCTION_NOT_FOUND",
    "INVALID_CAST_ARGUMENT",
    "INVALID_COLUMN_REFERENCE",
    "INVALID_FUNCTION_ARGUMENT",
    "INVALID_LITERAL",
    "MISMATCHED_COLUMN_ALIASES",
    "MISSING_GROUP_BY",
    "NESTED_AGGREGATION",
    "TABLE_NOT_FOUND",
    "TYPE_MISMATCH",
    "TYPE_NOT_FOUND",
];

/// Whether this error of an EXPLAIN is one of the statement behind it.
pub(super) fn is_of_statement(dialect: Dialect, error: &Error) -> bool {
    if error.code() != Code::SqlInvalid {
        return false;
    }
    let code = error.engine_code().unwrap_or_default();
    let is_listed = |state: &str| CLASSES.iter().any(|class| state.starts_with(class));
    match dialect {
        Dialect::Postgresql => is_listed(code) && code != SYNTAX,
        // `1054 (42S22)`
        Dialect::Mysql => code
            .split_once(" (")
            .is_some_and(|(number, state)| is_listed(state) && !MYSQL.contains(&number)),
        Dialect::Clickhouse => CLICKHOUSE.contains(&code),
        Dialect::Trino => TRINO.contains(&code),
        _ => false,
    }
}

/// The error with its position in the statement itself.
pub(super) fn without_prefix(error: Error, prefix: &str) -> Error {
    let before = u32::try_from(prefix.chars().count()).unwrap_or(u32::MAX);
    let position = error.position().and_then(|at| at.checked_sub(before));
    error.with_position(position.filter(|at| *at > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_wrong(dialect: Dialect, code: &str) -> bool {
        let error = Error::new(Code::SqlInvalid, "no").with_engine_code(code);
        is_of_statement(dialect, &error)
    }

    #[test]
    fn wrong_names_and_types_are_of_the_statement() {
        for (dialect, code) in [
            (Dialect::Postgresql, "42703"),
            (Dialect::Postgresql, "22012"),
            (Dialect::Mysql, "1054 (42S22)"),
            (Dialect::Mysql, "1305 (42000)"),
            (Dialect::Mysql, "1052 (23000)"),
            (Dialect::Clickhouse, "47"),
            (Dialect::Trino, "COLUMN_NOT_FOUND"),
        ] {
            assert!(is_wrong(dialect, code), "{dialect:?} {code}");
        }
    }

    #[test]
    fn what_may_be_of_the_explain_is_not() {
        for (dialect, code) in [
            (Dialect::Postgresql, "42601"),
            (Dialect::Postgresql, "0A000"),
            (Dialect::Postgresql, ""),
            (Dialect::Mysql, "1064 (42000)"),
            // A view whose plan the account may not see.
            (Dialect::Mysql, "1345 (HY000)"),
            (Dialect::Mysql, "42000"),
            (Dialect::Clickhouse, "62"),
            (Dialect::Trino, "SYNTAX_ERROR"),
            (Dialect::Sqlite, "42703"),
        ] {
            assert!(!is_wrong(dialect, code), "{dialect:?} {code}");
        }
        let denied = Error::new(Code::SqlPermissionDenied, "no").with_engine_code("42703");
        assert!(!is_of_statement(Dialect::Postgresql, &denied));
    }

    #[test]
    fn position_is_counted_in_the_statement() {
        let at = |position: u32| {
            let error = Error::new(Code::SqlInvalid, "no").with_position(position);
            without_prefix(error, "EXPLAIN ").position()
        };
        assert_eq!(at(16), Some(8));
        assert_eq!((at(8), at(2)), (None, None));
    }
}
