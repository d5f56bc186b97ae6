//! The SQL of a metric: one expression that makes one value, the tables behind FROM, and the condition behind WHERE.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Visit as _, Visitor};

use super::{
    guard::{self, STACK_BYTES},
    lexical::{self, Source},
    outline::{FunctionCall, Outline, outline},
    policy,
    rules::Rules,
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::Dialect;

/// Functions of one row in every dialect that has them, beside those of the rules of policies.
const OF_ONE_ROW: &[&str] = &[
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "curtime",
    "date",
    "date_format",
    "date_part",
    "datediff",
    "datetime",
    "day",
    "extract",
    "format",
    "getdate",
    "hour",
    "if",
    "initcap",
    "instr",
    "julianday",
    "lcase",
    "localtime",
    "localtimestamp",
    "mod",
    "now",
    "nvl",
    "printf",
    "sign",
    "sqrt",
    "strftime",
    "sysdatetime",
    "time",
    "to_char",
    "to_date",
    "today",
    "trunc",
    "ucase",
];

/// Checks that `expression` is one expression that combines the rows of `from`, that `from` is tables and their joins,
/// and that `filter` is one condition. All have passed the guard before, each in a statement of its own. None has a
/// comment: a model may write the parts in one line, where the comment would take the filter away.
///
/// A window has one value for each row. An expression over tables alone has one if it calls no function, or only
/// functions that are known to be of one row. Which others combine rows is up to the engine, so they pass.
///
/// # Errors
/// `invalid_parameter` for the part to blame; `sql_syntax` for what cannot be parsed.
pub fn check(dialect: Dialect, expression: &str, from: &str, filter: Option<&str>) -> Result<()> {
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
        without_comments("expression", expression, dialect)?;
        without_comments("from", from, dialect)?;
        alone("expression", expression, dialect)?;
        if let Some(filter) = filter {
            without_comments("filter", filter, dialect)?;
            alone("filter", filter, dialect)?;
        }
        let sql = format!("SELECT ({expression}\n) FROM {from}\n");
        let query = guard::read(&Source::new(&sql)?, Rules::of(dialect))?;
        let value = value_of(&query)?;
        let one_block = |sql: &str| outline(sql, dialect).filter(|one| one.blocks.len() == 1);
        let is_of_one_row = |call: &FunctionCall| {
            let name = call.name.text.to_lowercase();
            // Over more than one argument, SQLite's are the least and the greatest of them.
            let is_of_arguments = dialect == Dialect::Sqlite
                && matches!(name.as_str(), "min" | "max")
                && call.arguments.len() > 1;
            is_of_arguments || OF_ONE_ROW.contains(&name.as_str()) || policy::is_row_function(&name)
        };
        let combines_nothing = |one: &Outline| one.calls.iter().all(is_of_one_row);
        let computed = one_block(&format!("SELECT ({expression}\n)"));
        let of_tables = one_block(&format!("SELECT 1 FROM {from}\n"));
        match computed.as_ref().is_some_and(combines_nothing) && of_tables.is_some() {
            true => Err(one_per_row(value)),
            false if has_window(value) => Err(one_per_row(value)),
            false => Ok(()),
        }
    })
}

fn without_comments(param: &str, part: &str, dialect: Dialect) -> Result<()> {
    // In MySQL `--` begins a comment only before white space.
    let text = format!("{part}\n");
    let tokens = lexical::tokens(&Source::new(&text)?, Rules::of(dialect))?;
    match tokens.iter().any(|token| lexical::is_comment(&token.token)) {
        true => {
            let message =
                format!("`{param}` must have no comment; put what it says into `description`");
            Err(Error::invalid(param, message))
        }
        false => Ok(()),
    }
}

/// Whether an expression calls a function over a window, outside of its subqueries.
fn has_window(expr: &Expr) -> bool {
    struct Windows {
        queries: usize,
    }
    impl Visitor for Windows {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.queries += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.queries = self.queries.saturating_sub(1);
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function) if function.over.is_some() && self.queries == 0 => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Windows { queries: 0 }).is_break()
}

/// Checks that a part is one expression by itself. In brackets it could close them, and begin others for another part.
fn alone(param: &str, part: &str, dialect: Dialect) -> Result<()> {
    // In brackets, because T-SQL reads `SELECT a = b` as `b AS a`; the line ends a comment.
    let sql = format!("SELECT ({part}\n)");
    let query = guard::read(&Source::new(&sql)?, Rules::of(dialect))?;
    let item = match query.body.as_ref() {
        SetExpr::Select(select) => match select.projection.as_slice() {
            [SelectItem::UnnamedExpr(Expr::Tuple(_))] => return Err(several(param)),
            // A subquery has brackets of its own.
            [SelectItem::UnnamedExpr(Expr::Subquery(_))] => return Err(statement(param)),
            [item @ SelectItem::UnnamedExpr(Expr::Nested(_))] => Some(item),
            _ => None,
        },
        _ => None,
    };
    // Whatever else the text has is printed, too.
    match item.is_some_and(|item| query.to_string() == format!("SELECT {item}")) {
        true => Ok(()),
        false => {
            let message = format!(
                "`{param}` must be one expression by itself; each bracket in it needs its other half"
            );
            Err(Error::invalid(param, message))
        }
    }
}

/// The only expression of a query that has nothing but it and FROM.
fn value_of(query: &Query) -> Result<&Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(not_tables());
    };
    let [item @ SelectItem::UnnamedExpr(value)] = select.projection.as_slice() else {
        return Err(several("expression"));
    };
    let tables: Vec<String> = select.from.iter().map(ToString::to_string).collect();
    // Whatever else the text has is printed, too.
    if query.to_string() != format!("SELECT {item} FROM {}", tables.join(", ")) {
        return Err(not_tables());
    }
    match without_brackets(value) {
        Expr::Tuple(_) => Err(several("expression")),
        value => Ok(value),
    }
}

fn without_brackets(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => without_brackets(inner),
        other => other,
    }
}

fn several(param: &str) -> Error {
    let advice = match param {
        "filter" => "join conditions with AND or OR",
        _ => "add a metric for each other one",
    };
    let message = format!("`{param}` must be exactly one expression; {advice}");
    Error::invalid(param, message)
}

fn statement(param: &str) -> Error {
    let keyword = match param {
        "filter" => "WHERE",
        _ => "SELECT",
    };
    let message = format!(
        "`{param}` must be an expression, not a statement; write only what follows {keyword}, or put brackets \
         around a subquery"
    );
    Error::invalid(param, message)
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
                ("count(*) - (SELECT min(id) FROM orders)", "items"),
                // A subquery may give one row.
                ("total", "(SELECT sum(amount) AS total FROM orders) t"),
            ] {
                let checked = check(dialect, expression, from, None);
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
                ("lower(status)", "orders", "expression", "combine the rows"),
                (
                    "round(abs(amount))",
                    "orders",
                    "expression",
                    "combine the rows",
                ),
                (
                    "sum(amount) OVER ()",
                    "orders",
                    "expression",
                    "combine the rows",
                ),
                (
                    "1 + max(amount) OVER (ORDER BY id)",
                    "orders",
                    "expression",
                    "combine the rows",
                ),
                (
                    "current_timestamp",
                    "orders",
                    "expression",
                    "combine the rows",
                ),
                (
                    "SELECT sum(amount) FROM orders",
                    "orders",
                    "expression",
                    "follows SELECT",
                ),
                ("sum(amount)) + (1", "orders", "expression", "bracket"),
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
                let error = check(dialect, expression, from, None).unwrap_err();
                assert_eq!(
                    error.param_name(),
                    Some(param),
                    "{dialect:?} {expression} {from}"
                );
                assert!(error.message().contains(advice), "{dialect:?} {error}");
            }
        }
    }

    #[test]
    fn greatest_of_two_arguments_is_no_figure_in_sqlite() {
        let of = |expression| check(Dialect::Sqlite, expression, "orders", None);
        assert!(of("max(amount, 0)").is_err());
        assert!(of("min(amount)").is_ok());
        assert!(of("max(sum(amount), 0)").is_ok());
    }

    #[test]
    fn filter_is_one_condition_within_its_brackets() {
        for dialect in DIALECTS {
            let of = |filter: &str| check(dialect, "sum(amount)", "orders", Some(filter));
            for filter in [
                "status = 'a' OR status = 'b'",
                "(status = 'a') OR (status = 'b')",
                "status IN ('a', ')', '-- a text', '/* a text */')",
                "EXISTS (SELECT 1 FROM items)",
            ] {
                assert!(of(filter).is_ok(), "{dialect:?} {filter}: {:?}", of(filter));
            }
            for (filter, advice) in [
                ("status = 'a') OR (status = 'b'", "bracket"),
                ("status = 'a') GROUP BY (status", "bracket"),
                ("status = 'a', status = 'b'", "AND or OR"),
                ("SELECT 1 = 0", "follows WHERE"),
            ] {
                let error = of(filter).unwrap_err();
                assert!(
                    error.message().contains(advice),
                    "{dialect:?} {filter}: {error}"
                );
                assert_eq!(error.param_name(), Some("filter"), "{dialect:?} {filter}");
            }
        }
    }

    #[test]
    fn comment_is_refused_in_each_part() {
        for dialect in DIALECTS {
            let parts = [
                ("sum(amount) --", "orders", "id > 25", "expression"),
                (
                    "sum(/* of all */ amount)",
                    "orders",
                    "id > 25",
                    "expression",
                ),
                ("sum(amount)", "orders --", "id > 25", "from"),
                ("sum(amount)", "orders /* o */", "id > 25", "from"),
                ("sum(amount)", "orders", "id > 25 -- new", "filter"),
            ];
            for (expression, from, filter, param) in parts {
                let error = check(dialect, expression, from, Some(filter)).unwrap_err();
                assert_eq!(error.param_name(), Some(param), "{dialect:?} {error}");
                assert!(error.message().contains("`description`"), "{error}");
            }
        }
        let error = check(Dialect::Mysql, "sum(amount)", "orders #", None).unwrap_err();
        assert_eq!(error.param_name(), Some("from"));
    }

    #[test]
    fn today_is_no_figure() {
        for (dialect, expression) in [
            (Dialect::Postgresql, "now()"),
            (Dialect::Postgresql, "current_date"),
            (Dialect::Mysql, "curdate()"),
            (Dialect::Mssql, "getdate()"),
        ] {
            let error = check(dialect, expression, "orders", None).unwrap_err();
            assert!(error.message().contains("each row"), "{expression} {error}");
        }
        let age = check(Dialect::Postgresql, "now() - max(placed)", "orders", None);
        assert!(age.is_ok(), "{age:?}");
    }
}
