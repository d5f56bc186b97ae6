//! The columns of a result that its statement rounds.

use std::{collections::BTreeMap, ops::ControlFlow};

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select, SelectItem,
    SetExpr, TableAlias, TableFactor, Visit, Visitor,
};

use super::{Facts, aggregates::projected};
use crate::cells::Rounding;

impl Facts {
    /// How each column of its result is rounded. `columns` are the names of the result. A column is rounded if it is
    /// `round(…)`, picks one of several rounded values, or has the name of a column that an inner query rounds.
    pub fn roundings(&self, columns: &[String]) -> Vec<Rounding> {
        let mut named = RoundedNames::default();
        let mut exprs = None;
        if let Some(query) = &self.query {
            let _ = query.visit(&mut named);
            exprs = first_exprs(query);
        }
        let exprs = exprs.filter(|exprs| exprs.len() == columns.len());
        let of = |(at, column): (usize, &String)| {
            let expr = exprs.as_ref().and_then(|exprs| exprs.get(at).copied());
            let digits = match expr {
                Some(expr) => named.of(expr),
                None => named.of_name(column),
            };
            digits.map_or(Rounding::None, Rounding::To)
        };
        columns.iter().enumerate().map(of).collect()
    }
}

/// The SELECT that names the columns of a result.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// The expressions of the result of a query.
fn first_exprs(query: &Query) -> Option<Vec<&Expr>> {
    first_select(&query.body).and_then(projected)
}

/// Whether an expression is a value that the statement writes out, such as NULL or 0.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::UnaryOp { expr: inner, .. } => is_literal(inner),
        Expr::Value(_) => true,
        _ => false,
    }
}

/// The names that queries give to what they round, in lower case, with the digits.
#[derive(Default)]
struct RoundedNames(BTreeMap<String, u32>);

impl RoundedNames {
    /// The digits that an expression is rounded to, if it is. What is computed from a rounded number is not.
    fn of(&self, expr: &Expr) -> Option<u32> {
        match expr {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.of(inner),
            Expr::Identifier(name) => self.of_name(&name.value),
            Expr::CompoundIdentifier(names) => self.of_name(&names.last()?.value),
            Expr::Subquery(query) => match first_exprs(query)?.as_slice() {
                [only] => self.of(only),
                _ => None,
            },
            Expr::Case {
                conditions,
                else_result,
                ..
            } => {
                let results = conditions.iter().map(|when| &when.result);
                self.of_each(results.chain(else_result.as_deref()))
            }
            Expr::Function(function) => self.of_call(function),
            _ => None,
        }
    }

    fn of_name(&self, name: &str) -> Option<u32> {
        self.0.get(&name.to_lowercase()).copied()
    }

    /// The most digits of several expressions, if each is rounded or a literal.
    fn of_each<'a>(&self, exprs: impl Iterator<Item = &'a Expr>) -> Option<u32> {
        let computed = exprs.filter(|expr| !is_literal(expr));
        let digits: Option<Vec<u32>> = computed.map(|expr| self.of(expr)).collect();
        digits?.into_iter().max()
    }

    fn of_call(&self, function: &Function) -> Option<u32> {
        let FunctionArguments::List(list) = &function.args else {
            return None;
        };
        let mut exprs = list.args.iter().filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        });
        match function.name.to_string().to_lowercase().as_str() {
            "round" => {
                let digits = exprs.nth(1).map(ToString::to_string);
                Some(digits.and_then(|text| text.parse().ok()).unwrap_or(0))
            }
            "coalesce" | "ifnull" | "nullif" | "max" | "min" => self.of(exprs.next()?),
            "if" | "iif" => self.of_each(exprs.skip(1)),
            _ => None,
        }
    }

    fn add(&mut self, name: &str, digits: Option<u32>) {
        if let Some(digits) = digits {
            self.0.insert(name.to_lowercase(), digits);
        }
    }

    /// Notes the names that an alias such as `x(a, b)` gives to the columns of a query.
    fn add_alias(&mut self, alias: &TableAlias, query: &Query) {
        let exprs = first_exprs(query).unwrap_or_default();
        for (column, expr) in alias.columns.iter().zip(exprs) {
            self.add(&column.name.value, self.of(expr));
        }
    }
}

impl Visitor for RoundedNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.add_alias(&table.alias, &table.query);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived {
            subquery,
            alias: Some(alias),
            ..
        } = table
        {
            self.add_alias(alias, subquery);
        }
        ControlFlow::Continue(())
    }

    /// The queries within a query come first, so that it can give their names another name.
    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let select = first_select(&query.body);
        for item in select.iter().flat_map(|select| &select.projection) {
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                self.add(&alias.value, self.of(expr));
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Rounding::{None, To};

    #[track_caller]
    fn check(sql: &str, columns: &[&str], expected: &[Rounding]) {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(Facts::of(sql).roundings(&columns), expected, "{sql}");
    }

    #[test]
    fn rounding_is_that_of_each_column() {
        check(
            "SELECT a, round(avg(b), 2), avg(c) FROM t GROUP BY a",
            &["a", "b", "c"],
            &[None, To(2), None],
        );
        check("SELECT ROUND(a) FROM t", &["a"], &[To(0)]);
        check("SELECT a FROM t", &["a"], &[None]);
        check(
            "SELECT CAST(round(coalesce(a, 3)) AS text), coalesce(round(b, 1), 0) FROM t",
            &["a", "b"],
            &[To(0), To(1)],
        );
        check("not SQL", &["a"], &[None]);
    }

    #[test]
    fn what_is_computed_from_a_rounded_number_is_not_rounded() {
        check(
            "SELECT round(a) / 7, sum(round(b, 1)) FROM t",
            &["a", "b"],
            &[None, None],
        );
    }

    #[test]
    fn column_of_an_inner_query_is_found_by_its_name() {
        let inner = "(SELECT a, round(avg(b), 1) AS Mean FROM t GROUP BY a) x";
        check(
            &format!("SELECT x.mean, a FROM {inner}"),
            &["mean", "a"],
            &[To(1), None],
        );
        check(
            &format!("SELECT * FROM {inner}"),
            &["a", "Mean"],
            &[None, To(1)],
        );
        check(
            "SELECT round(a, 3) FROM t UNION SELECT b FROM u",
            &["a"],
            &[To(3)],
        );
    }
    #[test]
    fn one_of_several_rounded_values_is_rounded() {
        for one in [
            "CASE WHEN count(*) = 0 THEN NULL ELSE round(avg(a), 1) END",
            "CASE WHEN a > 0 THEN round(a, 1) WHEN a = 0 THEN CAST(NULL AS numeric) ELSE -1 END",
            "nullif(round(avg(a), 1), 0)",
            "iif(count(*) = 0, 0, round(avg(a), 1))",
            "max(round(a, 1))",
            "(SELECT round(avg(a), 1) FROM u)",
        ] {
            check(&format!("SELECT {one} FROM t"), &["a"], &[To(1)]);
        }
        for mixed in [
            "CASE WHEN a > 0 THEN round(a, 1) ELSE b END",
            "CASE WHEN round(a, 1) > 0 THEN a END",
            "CASE WHEN a > 0 THEN 1.5 END",
        ] {
            check(&format!("SELECT {mixed} FROM t"), &["a"], &[None]);
        }
    }

    #[test]
    fn rounded_column_may_get_another_name() {
        let inner = "(SELECT round(avg(a), 1) AS m FROM t GROUP BY b) x";
        check(
            &format!("SELECT max(m), min(x.m), avg(m) FROM {inner}"),
            &["a", "b", "c"],
            &[To(1), To(1), None],
        );
        check(
            &format!("SELECT n FROM (SELECT m AS n FROM {inner}) y"),
            &["n"],
            &[To(1)],
        );
        let chain = "WITH x(b, m) AS (SELECT b, round(a, 1) FROM t), y(n) AS (SELECT m FROM x)";
        check(
            &format!("{chain} SELECT b, m, n FROM y"),
            &["b", "m", "n"],
            &[None, To(1), To(1)],
        );
        check(
            "SELECT x.m FROM (SELECT round(a, 1) FROM t) AS x(m)",
            &["m"],
            &[To(1)],
        );
    }
}
