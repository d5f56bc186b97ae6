//! SQL of this crate's own, into which parts of a statement are put.

use sqlparser::{
    ast::{Expr, Query},
    dialect::GenericDialect,
    parser::Parser,
};

/// A query of such a text. `None` for a text that is none.
pub fn query(sql: &str) -> Option<Box<Query>> {
    parser(sql)?.parse_query().ok()
}

/// An expression of such a text. `None` for a text that is none.
pub fn expression(sql: &str) -> Option<Expr> {
    parser(sql)?.parse_expr().ok()
}

fn parser(sql: &str) -> Option<Parser<'_>> {
    Parser::new(&GenericDialect {}).try_with_sql(sql).ok()
}
