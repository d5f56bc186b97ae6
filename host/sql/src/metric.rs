//! The SQL of a metric: one expression that makes one value, the tables behind FROM, and the condition behind WHERE.

mod unjoined;

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArguments, ObjectNamePart, Query, SelectItem, SetExpr, Visit as _,
    Visitor,
};

use super::{
    guard::{self, STACK_BYTES},
    lexical::{self, Source},
    outline::outline,
    rules::Rules,
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::Dialect;

/// Units of time, which MySQL's functions have as names: `timestampdiff(day, a, b)`.
const UNITS: [&str; 9] = [
    "microsecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
];

/// Checks that `expression` is one expression that combines the rows of `from`, that `from` is tables and their joins,
/// that `filter` is one condition, and that tables side by side in `from` are joined by it. All have passed the guard before, each in a statement of its own. None has a
/// comment: a model may write the parts in one line, where the comment would take the filter away.
///
/// An expression over tables alone has one value if it has an aggregate. A window has one for each row, and functions
/// such as `unnest` make several of one. SQLite and MySQL give the value of any row for a column outside of an
/// aggregate; the other engines refuse it.
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
        let rules = Rules::of(dialect);
        let query = guard::read(&Source::new(&sql)?, rules)?;
        let value = value_of(&query)?;
        let filtered = format!("{sql}WHERE ({}\n)", filter.unwrap_or("1 = 1"));
        unjoined::check(&guard::read(&Source::new(&filtered)?, rules)?)?;
        let mut found = Found::new(rules);
        let _ = value.visit(&mut found);
        let of_tables = outline(&format!("SELECT 1 FROM {from}\n"), dialect);
        let is_of_tables = of_tables.is_some_and(|one| one.blocks.len() == 1);
        let takes_any_row = matches!(dialect, Dialect::Sqlite | Dialect::Mysql);
        match found.loose {
            _ if found.has_window || (is_of_tables && !found.has_aggregate) => {
                Err(one_per_row(value))
            }
            _ if found.has_rows => Err(several_rows()),
            Some(column) if is_of_tables && takes_any_row => Err(of_any_row(&column)),
            _ => Ok(()),
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

/// What an expression has outside of its subqueries.
struct Found {
    rules: &'static Rules,
    /// How many queries and aggregates are around.
    queries: usize,
    aggregates: usize,
    has_aggregate: bool,
    has_window: bool,
    /// Whether a function in it makes several rows of a value.
    has_rows: bool,
    /// The first column outside of aggregates.
    loose: Option<Expr>,
}

impl Found {
    fn new(rules: &'static Rules) -> Self {
        Self {
            rules,
            queries: 0,
            aggregates: 0,
            has_aggregate: false,
            has_window: false,
            has_rows: false,
            loose: None,
        }
    }

    /// Whether a function combines rows. One that is not in the list of the guard is the owner's, and may.
    fn combines(&self, function: &Function) -> bool {
        let name = self.name(function);
        let arguments = match &function.args {
            FunctionArguments::List(list) => list.args.len(),
            _ => 0,
        };
        // Over more than one argument, SQLite's are the least and the greatest of them.
        let is_of_arguments = self.rules.dialect == Dialect::Sqlite
            && matches!(name.as_str(), "min" | "max")
            && arguments > 1;
        let is_known =
            self.rules.allows_function(&name) || self.rules.keywords.contains(name.as_str());
        !is_of_arguments && (self.rules.is_aggregate(&name) || !is_known)
    }

    fn name(&self, function: &Function) -> String {
        let last = function.name.0.last().and_then(ObjectNamePart::as_ident);
        last.map_or_else(String::new, |name| {
            self.rules
                .fold_built_in(&name.value, name.quote_style.is_some())
        })
    }

    fn makes_rows(&self, function: &Function) -> bool {
        let name = self.name(function);
        self.rules.rows.contains_key(name.as_str()) || name.eq_ignore_ascii_case("arrayJoin")
    }
}

impl Visitor for Found {
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
        if self.queries > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Function(function) if function.over.is_some() => self.has_window = true,
            Expr::Function(function) if self.makes_rows(function) => self.has_rows = true,
            Expr::Function(function) if self.combines(function) => {
                self.has_aggregate = true;
                self.aggregates += 1;
            }
            Expr::Identifier(name) if UNITS.contains(&name.value.to_lowercase().as_str()) => {}
            Expr::Identifier(_) | Expr::CompoundIdentifier(_)
                if self.aggregates == 0 && self.loose.is_none() =>
            {
                self.loose = Some(expr.clone());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.queries == 0
            && let Expr::Function(function) = expr
            && function.over.is_none()
            && !self.makes_rows(function)
            && self.combines(function)
        {
            self.aggregates = self.aggregates.saturating_sub(1);
        }
        ControlFlow::Continue(())
    }
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

fn several_rows() -> Error {
    let message =
        "`expression` makes several rows, not one figure; leave out the function that does";
    Error::invalid("expression", message)
}

fn of_any_row(column: &Expr) -> Error {
    let message = format!(
        "`expression` has the column `{column}` outside of an aggregate, where it is that of any row; write \
         `sum({column})`, `max({column})` or another aggregate"
    );
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
                ("(sum(amount) / count(*))", "orders CROSS JOIN items"),
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
                // Its filter would be lost, and the value be there for each row.
                (
                    "(SELECT max(amount) FROM orders)",
                    "items",
                    "expression",
                    "combine the rows",
                ),
                (
                    "EXISTS (SELECT max(amount) FROM orders)",
                    "items",
                    "expression",
                    "combine the rows",
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
    fn column_outside_of_an_aggregate_is_refused_where_the_engine_would_take_any_row() {
        for dialect in [Dialect::Sqlite, Dialect::Mysql] {
            let of = |expression| check(dialect, expression, "orders", None);
            let error = of("sum(amount) + amount").unwrap_err();
            assert!(error.message().contains("`max(amount)`"), "{error}");
            assert!(of("sum(amount + tax) - count(DISTINCT id)").is_ok());
            assert!(of("sum(amount) - (SELECT min(amount) FROM items)").is_ok());
        }
        let days = "timestampdiff(day, min(placed), max(placed))";
        let checked = check(Dialect::Mysql, days, "orders", None);
        assert!(checked.is_ok(), "{checked:?}");
    }

    #[test]
    fn rows_out_of_one_value_are_no_figure() {
        for (dialect, expression) in [
            (Dialect::Postgresql, "unnest(array_agg(amount))"),
            (Dialect::Postgresql, "generate_series(1, count(*))"),
            (
                Dialect::Postgresql,
                "jsonb_array_elements(jsonb_agg(amount))",
            ),
            (Dialect::Clickhouse, "arrayJoin(groupArray(amount))"),
        ] {
            let error = check(dialect, expression, "orders", None).unwrap_err();
            assert!(
                error.message().contains("several rows"),
                "{expression} {error}"
            );
        }
    }

    #[test]
    fn aggregates_of_an_engine_are_figures_and_its_other_functions_are_none() {
        for (dialect, expression, is_figure) in [
            (
                Dialect::Postgresql,
                "percentile_cont(0.5) WITHIN GROUP (ORDER BY amount)",
                true,
            ),
            (Dialect::Postgresql, "shop.best(amount)", true),
            (Dialect::Postgresql, "age(placed)", false),
            (Dialect::Postgresql, "width_bucket(amount, 0, 9, 3)", false),
            (Dialect::Sqlite, "typeof(amount)", false),
            (Dialect::Sqlite, "random()", false),
            (
                Dialect::Mysql,
                "group_concat(status ORDER BY id SEPARATOR ', ')",
                true,
            ),
            (Dialect::Clickhouse, "uniqExactIf(id, amount > 3)", true),
            (Dialect::Clickhouse, "toYear(placed)", false),
        ] {
            let checked = check(dialect, expression, "orders", None);
            assert_eq!(checked.is_ok(), is_figure, "{expression} {checked:?}");
        }
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
