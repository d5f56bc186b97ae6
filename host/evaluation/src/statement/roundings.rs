//! The columns of a result that its statement rounds.

use std::{collections::BTreeMap, ops::ControlFlow};

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select, SelectItem, SetExpr,
    Visit, Visitor,
};

use super::{Facts, aggregates::projected};
use crate::cells::Rounding;

impl Facts {
    /// How each column of its result is rounded. `columns` are the names of the result. A column is rounded if it is
    /// `round(…)`, or has the name of one that an inner query rounds.
    pub fn roundings(&self, columns: &[String]) -> Vec<Rounding> {
        let mut named = RoundedNames::default();
        let mut exprs = None;
        if let Some(query) = &self.query {
            let _ = query.visit(&mut named);
            exprs = first_select(&query.body).and_then(projected);
        }
        let exprs = exprs.filter(|exprs| exprs.len() == columns.len());
        let of = |(at, column): (usize, &String)| {
            let expr = exprs.as_ref().and_then(|exprs| exprs.get(at).copied());
            let digits = match expr {
                Some(expr) => digits(expr).or_else(|| named.digits(own_name(expr)?)),
                None => named.digits(column),
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

/// The name of the column that an expression is, without its table.
fn own_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(name.value.as_str()),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.as_str()),
        _ => None,
    }
}

/// The digits that an expression is rounded to, if it is. What is computed from a rounded number is not.
fn digits(expr: &Expr) -> Option<u32> {
    let function = match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => return digits(inner),
        Expr::Function(function) => function,
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match function.name.to_string().to_lowercase().as_str() {
        "round" => {
            let digits = list.args.get(1).map(ToString::to_string);
            Some(digits.and_then(|text| text.parse().ok()).unwrap_or(0))
        }
        "coalesce" | "ifnull" => match list.args.first()? {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(first)) => digits(first),
            _ => None,
        },
        _ => None,
    }
}

/// The names that queries give to what they round, in lower case, with the digits.
#[derive(Default)]
struct RoundedNames(BTreeMap<String, u32>);

impl RoundedNames {
    fn digits(&self, name: &str) -> Option<u32> {
        self.0.get(&name.to_lowercase()).copied()
    }
}

impl Visitor for RoundedNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let select = first_select(&query.body);
        for item in select.iter().flat_map(|select| &select.projection) {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && let Some(digits) = digits(expr)
            {
                self.0.insert(alias.value.to_lowercase(), digits);
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
}
