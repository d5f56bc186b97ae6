//! The SQL of a metric: one expression that makes one value, and the tables behind FROM.

use sqlparser::ast::{Expr, Query, SelectItem, SetExpr};

use super::{
    guard::{self, STACK_BYTES},
    lexical::Source,
    outline::{Outline, outline},
    rules::Rules,
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::Dialect;

/// Checks that `expression` is one expression that combines the rows of `from`, and that `from` is tables and their
/// joins. Both have passed the guard before, each in a statement of its own.
///
/// An expression that calls no function, over tables alone, has one value for each row. Which functions combine rows
/// is up to the engine, so every call passes.
///
/// # Errors
/// `invalid_parameter` for `expression` or `from`; `sql_syntax` for what cannot be parsed.
pub fn check(dialect: Dialect, expression: &str, from: &str) -> Result<()> {
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        let sql = format!("SELECT ({expression}\n) FROM {from}\n");
        let query = guard::read(&Source::new(&sql)?, Rules::of(dialect))?;
        let value = value_of(&query)?;
        let one_block = |sql: &str| outline(sql, dialect).filter(|one| one.blocks.len() == 1);
        let calls_nothing = |one: &Outline| one.calls.is_empty();
        let computed = one_block(&format!("SELECT ({expression}\n)"));
        let of_tables = one_block(&format!("SELECT 1 FROM {from}\n"));
        match computed.as_ref().is_some_and(calls_nothing) && of_tables.is_some() {
            true => Err(one_per_row(value)),
            false => Ok(()),
        }
    })
}

/// The only expression of a query that has nothing but it and FROM.
fn value_of(query: &Query) -> Result<&Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(not_tables());
    };
    let [item @ SelectItem::UnnamedExpr(value)] = select.projection.as_slice() else {
        return Err(several());
    };
    let tables: Vec<String> = select.from.iter().map(ToString::to_string).collect();
    // Whatever else the text has is printed, too.
    if query.to_string() != format!("SELECT {item} FROM {}", tables.join(", ")) {
        return Err(not_tables());
    }
    match without_brackets(value) {
        Expr::Tuple(_) => Err(several()),
        value => Ok(value),
    }
}

fn without_brackets(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => without_brackets(inner),
        other => other,
    }
}

fn several() -> Error {
    let message = "`expression` must be exactly one expression; add a metric for each other one";
    Error::invalid("expression", message)
}

fn not_tables() -> Error {
    let message =
        "`from` must be a table or joined tables and nothing else; put conditions into `filter`";
    Error::invalid("from", message)
}

fn one_per_row(value: &Expr) -> Error {
    let advice = match value {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            format!("write `sum({value})`, `max({value})` or another aggregate")
        }
        _ => "combine the rows, for example with `sum(…)`".to_owned(),
    };
    let message = format!("`expression` makes a value for each row, not one figure; {advice}");
    Error::invalid("expression", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECTS: [Dialect; 5] = [
        Dialect::Sqlite,
        Dialect::Postgresql,
        Dialect::Mysql,
        Dialect::Mssql,
        Dialect::Datafusion,
    ];

    #[test]
    fn figure_over_tables_is_accepted() {
        for dialect in DIALECTS {
            for (expression, from) in [
                ("sum(amount)", "orders"),
                ("count(*)", "orders o JOIN items i ON i.order_id = o.id"),
                ("(sum(amount) / count(*))", "orders, items"),
                ("(SELECT max(amount) FROM orders)", "items"),
                // A subquery may give one row.
                ("total", "(SELECT sum(amount) AS total FROM orders) t"),
            ] {
                let checked = check(dialect, expression, from);
                assert!(checked.is_ok(), "{dialect:?} {expression}: {checked:?}");
            }
        }
    }

    #[test]
    fn what_is_no_figure_is_refused_with_advice() {
        for dialect in DIALECTS {
            for (expression, from, param, advice) in [
                ("amount", "orders", "expression", "`sum(amount)`"),
                ("(o.amount)", "orders o", "expression", "`sum(o.amount)`"),
                ("amount * 2", "orders", "expression", "combine the rows"),
                ("sum(amount), 2", "orders", "expression", "exactly one"),
                ("(sum(amount), 2)", "orders", "expression", "exactly one"),
                (
                    "sum(amount)",
                    "orders UNION SELECT 2",
                    "from",
                    "joined tables",
                ),
                (
                    "sum(amount)",
                    "orders GROUP BY status",
                    "from",
                    "joined tables",
                ),
                ("sum(amount)", "orders WHERE id = 1", "from", "`filter`"),
            ] {
                let error = check(dialect, expression, from).unwrap_err();
                assert_eq!(
                    error.param_name(),
                    Some(param),
                    "{dialect:?} {expression} {from}"
                );
                assert!(error.message().contains(advice), "{dialect:?} {error}");
            }
        }
    }
}
