//! Which columns of a result say nothing when they are added up: averages, ratios, least and greatest values.

use std::{collections::HashSet, ops::ControlFlow};

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArguments, Query, Select,
    SelectItem, SetExpr, TableFactor, Value, Visit, Visitor,
};

use super::read::parse;
use mindhost_plugin_api::Dialect;

/// Functions whose results can be added up.
const SUMS: [&str; 8] = [
    "sum",
    "count",
    "total",
    "countif",
    "count_if",
    "sumif",
    "sum_if",
    "count_big",
];
/// Beginnings of the names of functions whose results cannot.
const OTHERS: [&str; 27] = [
    "any_value",
    "approx_",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "avg",
    "corr",
    "covar",
    "cume_dist",
    "first_value",
    "geometric_mean",
    "kurt",
    "last_value",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "nth_value",
    "percent",
    "quantile",
    "rank",
    "regr_",
    "skew",
    "std",
    "uniq",
];
/// Rounds of looking for columns that are such columns of subqueries.
const ROUNDS: usize = 8;

/// For each column of a result with these names, whether the statement makes it a figure whose sum says nothing. Names
/// of columns are taken alike wherever they are, so it may say so of one too many. A column of a table is never one.
pub fn unsummable(sql: &str, dialect: Dialect, names: &[&str]) -> Vec<bool> {
    let found = parse(sql, dialect, |_, query| {
        let mut figures = Figures::default();
        let _ = Visit::visit(query, &mut figures);
        let others = figures.others();
        let mut branches = Vec::new();
        branches_of(&query.body, &mut branches);
        // Behind a wildcard, the place does not tell the column.
        let known = branches.iter().map(|select| {
            let items = &select.projection;
            &items[..items.iter().position(is_wildcard).unwrap_or(items.len())]
        });
        let known: Vec<&[SelectItem]> = known.collect();
        let is_other = |(place, name): (usize, &&str)| {
            known
                .iter()
                .any(|items| match items.get(place).and_then(expression) {
                    Some(expr) => Figure::of(None, expr).is_other(&others),
                    None => others.contains(&name.to_lowercase()),
                })
        };
        names.iter().enumerate().map(is_other).collect()
    });
    found.unwrap_or_else(|| vec![false; names.len()])
}

/// A named expression of a SELECT.
struct Figure {
    name: Option<String>,
    /// Whether its sum says nothing, whatever its columns are.
    is_other: bool,
    /// The columns in it that no sum is of, in lower case.
    columns: Vec<String>,
    /// The sums that stand around the expression that is read.
    sums: usize,
}

/// The expressions of all SELECTs.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    /// The names of the columns whose sum says nothing.
    fn others(self) -> HashSet<String> {
        let mut others = HashSet::new();
        for _ in 0..ROUNDS {
            let before = others.len();
            for figure in &self.0 {
                if let Some(name) = &figure.name
                    && figure.is_other(&others)
                {
                    others.insert(name.clone());
                }
            }
            if others.len() == before {
                break;
            }
        }
        others
    }

    /// The columns of a query that has other names for them.
    fn rename<'a>(&mut self, query: &Query, names: impl Iterator<Item = &'a str>) {
        let mut branches = Vec::new();
        branches_of(&query.body, &mut branches);
        for (place, name) in names.enumerate() {
            let items = branches
                .iter()
                .filter_map(|select| select.projection.get(place));
            let figures = items.filter_map(expression);
            self.0
                .extend(figures.map(|expr| Figure::of(Some(name), expr)));
        }
    }
}

impl Visitor for Figures {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let names = cte.alias.columns.iter();
            self.rename(&cte.query, names.map(|column| column.name.value.as_str()));
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
            let names = alias.columns.iter();
            self.rename(subquery, names.map(|column| column.name.value.as_str()));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            let name = match item {
                SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
                // Engines name it after the function.
                SelectItem::UnnamedExpr(Expr::Function(function)) => Some(name_of(function)),
                _ => None,
            };
            if let (Some(name), Some(expr)) = (name, expression(item)) {
                self.0.push(Figure::of(Some(&name), expr));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Figure {
    fn of(name: Option<&str>, expr: &Expr) -> Self {
        let mut figure = Self {
            name: name.map(str::to_lowercase),
            is_other: false,
            columns: Vec::new(),
            sums: 0,
        };
        let _ = Visit::visit(expr, &mut figure);
        figure
    }

    fn is_other(&self, others: &HashSet<String>) -> bool {
        self.is_other || self.columns.iter().any(|column| others.contains(column))
    }
}

impl Visitor for Figure {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if is_sum(expr) {
            self.sums += 1;
        }
        if self.sums > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(name) => self.columns.push(name.value.to_lowercase()),
            Expr::CompoundIdentifier(parts) => {
                let name = parts.last().map(|name| name.value.to_lowercase());
                self.columns.extend(name);
            }
            Expr::Function(function) => {
                let name = name_of(function);
                self.is_other |= function.over.is_some()
                    || is_distinct(function)
                    || OTHERS.iter().any(|other| name.starts_with(other));
            }
            // A sum in thousands is a sum.
            Expr::BinaryOp {
                op: BinaryOperator::Divide,
                right,
                ..
            } => {
                self.is_other |= !is_number(right);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if is_sum(expr) {
            self.sums -= 1;
        }
        ControlFlow::Continue(())
    }
}

/// Whether it is a sum or count of its own rows: not of different values, and not one that runs on from row to row.
fn is_sum(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function)
        if function.over.is_none()
            && !is_distinct(function)
            && SUMS.contains(&name_of(function).as_str()))
}

fn is_distinct(function: &Function) -> bool {
    matches!(&function.args, FunctionArguments::List(list)
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct))
}

fn name_of(function: &Function) -> String {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    last.map_or_else(String::new, |name| name.value.to_lowercase())
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_number(inner),
        _ => false,
    }
}

fn is_wildcard(item: &SelectItem) -> bool {
    expression(item).is_none()
}

fn expression(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// The SELECTs whose rows are those of the body.
fn branches_of<'a>(body: &'a SetExpr, found: &mut Vec<&'a Select>) {
    match body {
        SetExpr::Select(select) => found.push(select),
        SetExpr::Query(query) => branches_of(&query.body, found),
        SetExpr::SetOperation { left, right, .. } => {
            branches_of(left, found);
            branches_of(right, found);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_unsummable(sql: &str) -> bool {
        let found = unsummable(sql, Dialect::Postgresql, &["country", "revenue"]);
        assert!(!found[0], "{sql}");
        found[1]
    }

    #[test]
    fn averages_ratios_and_extremes_are_no_sums() {
        for figure in [
            "avg(total)",
            "round(avg(total), 2)",
            "max(total)",
            "min(total) + 1",
            "coalesce(avg(total), 0)",
            "sum(total) / count(*)",
            "100.0 * sum(total) / nullif(sum(tax), 0)",
            "count(DISTINCT total)",
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY total)",
            "sum(sum(total)) OVER (ORDER BY country)",
            "stddev(total)",
            "CASE WHEN count(*) > 1 THEN avg(total) END",
            "AVG(total)::numeric(10, 2)",
            "(SELECT max(x) FROM t)",
        ] {
            for sql in [
                format!("SELECT country, {figure} AS revenue FROM t GROUP BY 1"),
                format!(
                    "WITH x AS (SELECT country, {figure} AS m FROM t GROUP BY 1) SELECT country, m AS revenue FROM x"
                ),
                format!(
                    "WITH x (c, m) AS (SELECT country, {figure} FROM t GROUP BY 1) SELECT c, m FROM x"
                ),
                format!("SELECT * FROM (SELECT country, {figure} AS revenue FROM t GROUP BY 1) x"),
                format!(
                    "SELECT c, round(x.m) FROM (SELECT country, {figure} FROM t GROUP BY 1) AS x (c, m)"
                ),
                format!(
                    "SELECT country, sum(a) FROM t GROUP BY 1 UNION ALL SELECT country, {figure} FROM t GROUP BY 1"
                ),
            ] {
                assert!(is_unsummable(&sql), "{sql}");
            }
        }
    }

    #[test]
    fn sums_and_columns_of_tables_may_be_added_up() {
        for figure in [
            "sum(total)",
            "count(*)",
            "round(sum(total) / 1000.0, 1)",
            "coalesce(sum(total), 0)",
            "sum(a / b)",
            "sum(price) - sum(cost)",
            "sum(CASE WHEN total > (SELECT avg(x) FROM t) THEN 1 ELSE 0 END)",
            "total",
            "count(*) FILTER (WHERE total > 1)",
            "minutes",
            "sum(m)",
        ] {
            for sql in [
                format!("SELECT country, {figure} AS revenue FROM t GROUP BY 1"),
                format!(
                    "SELECT country, {figure} AS revenue FROM (SELECT country, max(x) AS m FROM t GROUP BY 1) t"
                ),
            ] {
                assert!(!is_unsummable(&sql), "{sql}");
            }
        }
        assert_eq!(unsummable("no statement", Dialect::Sqlite, &["a"]), [false]);
    }

    #[test]
    fn wildcard_before_a_column_leaves_its_name() {
        let sql = "SELECT x.*, 1 AS one FROM (SELECT country, avg(a) AS mean FROM t GROUP BY 1) x";
        let found = unsummable(sql, Dialect::Sqlite, &["country", "mean", "one"]);
        assert_eq!(found, [false, true, false]);
    }
}
