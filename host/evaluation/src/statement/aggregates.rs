//! Aggregates in a result that the rest of its statement has no use for.

use std::ops::ControlFlow;

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArguments, GroupByExpr, OrderByKind, Query, Select,
    SelectItem, Visit, Visitor,
};

use super::{Facts, place};

const AGGREGATES: [&str; 9] = [
    "avg", "count", "max", "median", "min", "stddev", "sum", "total", "variance",
];
/// Functions that number rows.
const RANKS: [&str; 4] = ["row_number", "rank", "dense_rank", "ntile"];

impl Facts {
    /// The places of lone aggregates in its result, such as of an average beside a count. `columns` are the names of
    /// the result. An aggregate is not alone if the statement orders or filters by it, or computes another column from
    /// it; if it counts in a group, or picks a row; or if its name is that of a key. Of a statement that does
    /// not write out its columns nothing is known.
    pub fn lone_aggregates(&self, columns: &[String]) -> Vec<usize> {
        let (Some(query), Some(select)) = (self.query.as_deref(), self.select()) else {
            return Vec::new();
        };
        let (Some(exprs), Some(terms)) = (projected(select), order_terms(query)) else {
            return Vec::new();
        };
        if exprs.len() != columns.len() {
            return Vec::new();
        }
        let items = self.items();
        let filters = [&select.selection, &select.having, &select.qualify];
        let filters = filters.into_iter().flatten();
        let clauses: Vec<String> = filters.chain(terms.iter().copied()).map(lower).collect();
        let has_groups =
            !matches!(&select.group_by, GroupByExpr::Expressions(all, _) if all.is_empty());
        let has_rows = exprs.iter().any(|expr| !has_aggregate(expr));
        let is_of_use = |at: usize| {
            let (item, name) = (items[at].as_str(), columns[at].to_lowercase());
            let is_ordered = terms
                .iter()
                .any(|term| place(term, columns, &items) == Some(at));
            let filters = select.having.iter().chain(&select.qualify);
            let mut users = filters.chain(terms.iter().copied());
            let is_named = users.any(|user| names(user, &name));
            let others = items.iter().enumerate().filter(|(other, _)| *other != at);
            let mut others = others.map(|(_, text)| text).chain(&clauses);
            let counts_group = has_groups && is_plain_count(exprs[at]);
            // Some engines give the row of the largest or smallest value.
            let picks_row =
                !has_groups && has_rows && (item.starts_with("max(") || item.starts_with("min("));
            is_ordered
                || is_named
                || counts_group
                || picks_row
                || is_key(&name)
                || others.any(|text| text.contains(item))
        };
        let places = exprs.iter().enumerate();
        let lone = places.filter(|(at, expr)| has_aggregate(expr) && !is_of_use(*at));
        lone.map(|(at, _)| at).collect()
    }
}

/// The expressions of a result; `None` if one of them stands for several columns.
pub(super) fn projected(select: &Select) -> Option<Vec<&Expr>> {
    let items = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    items.collect()
}

/// What a statement orders by; `None` if by all columns.
fn order_terms(query: &Query) -> Option<Vec<&Expr>> {
    match query.order_by.as_ref().map(|order| &order.kind) {
        None => Some(Vec::new()),
        Some(OrderByKind::Expressions(terms)) => {
            Some(terms.iter().map(|term| &term.expr).collect())
        }
        Some(OrderByKind::All(_)) => None,
    }
}

fn lower(expr: &Expr) -> String {
    expr.to_string().to_lowercase()
}

/// Whether a column has the name of a key.
fn is_key(name: &str) -> bool {
    name == "id" || name.ends_with("_id") || name.ends_with("_key")
}

/// Whether an expression names this column.
fn names(expr: &Expr, column: &str) -> bool {
    let is_it =
        |expr: &Expr| matches!(expr, Expr::Identifier(name) if name.value.to_lowercase() == column);
    has(expr, is_it)
}

fn has_aggregate(expr: &Expr) -> bool {
    !is_call(expr, &RANKS) && has(expr, |expr| is_call(expr, &AGGREGATES))
}

/// Whether an expression is `count(…)` and no more: of all rows or of those with a value, and not of distinct values.
fn is_plain_count(expr: &Expr) -> bool {
    let Expr::Function(Function {
        args: FunctionArguments::List(args),
        filter: None,
        over: None,
        ..
    }) = expr
    else {
        return false;
    };
    is_call(expr, &["count"]) && args.duplicate_treatment != Some(DuplicateTreatment::Distinct)
}

/// Whether an expression calls one of these functions.
fn is_call(expr: &Expr, functions: &[&str]) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let name = function.name.to_string().to_lowercase();
    functions.contains(&name.as_str())
}

/// Whether an expression is one that is looked for, or has one in it.
fn has(expr: &Expr, is_it: impl Fn(&Expr) -> bool) -> bool {
    expr.visit(&mut Finder(is_it)).is_break()
}

/// Ends at the first expression that is looked for.
struct Finder<F>(F);

impl<F: Fn(&Expr) -> bool> Visitor for Finder<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match (self.0)(expr) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lone(sql: &str, columns: &[&str]) -> Vec<usize> {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        Facts::of(sql).lone_aggregates(&columns)
    }

    #[test]
    fn aggregates_without_a_use_are_alone() {
        assert_eq!(
            lone("SELECT count(*), round(avg(a), 2) FROM t", &["n", "x"]),
            [0, 1]
        );
        assert_eq!(
            lone(
                "SELECT a, sum(b), avg(b) FROM t GROUP BY a ORDER BY 3",
                &["a", "sum", "avg"]
            ),
            [1]
        );
        assert_eq!(
            lone("SELECT name, (SELECT max(b) FROM u) FROM t", &["name", "m"]),
            [1]
        );
    }

    #[test]
    fn plain_count_of_group_is_not_alone() {
        let of_group = |count: &str| {
            let sql = format!(
                "SELECT c.name, {count} FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name"
            );
            lone(&sql, &["name", "n"])
        };
        for count in ["count(*)", "count(o.id)", "COUNT(ALL o.id)"] {
            assert_eq!(of_group(count), [0; 0], "{count}");
        }
        for count in [
            "count(DISTINCT o.id)",
            "count(*) FILTER (WHERE o.total > 5)",
            "count(o.id) OVER ()",
            "100.0 * count(o.id) / 7",
        ] {
            assert_eq!(of_group(count), [1], "{count}");
        }
        assert_eq!(lone("SELECT count(o.id) FROM orders o", &["n"]), [0]);
    }

    #[test]
    fn aggregate_named_in_order_expression_is_not_alone() {
        let sql = |order: &str| {
            format!("SELECT name, sum(x) AS t FROM u GROUP BY name ORDER BY {order} DESC LIMIT 1")
        };
        for order in ["coalesce(t, 0)", "abs(\"T\")", "coalesce(sum(x), 0)"] {
            assert_eq!(lone(&sql(order), &["name", "t"]), [0; 0], "{order}");
        }
        assert_eq!(lone(&sql("lower(name)"), &["name", "t"]), [1]);
    }

    #[test]
    fn aggregates_of_use_and_other_columns_are_not_alone() {
        let none = |sql: &str, columns: &[&str]| assert_eq!(lone(sql, columns), [0; 0], "{sql}");
        none("SELECT id, name, price * 2 FROM t", &["id", "name", "p"]);
        none(
            r#"SELECT a, SUM(b) AS "Total" FROM t GROUP BY a ORDER BY "Total" DESC LIMIT 1"#,
            &["a", "Total"],
        );
        none(
            "SELECT a, sum(b) FROM t GROUP BY a HAVING sum(b) > 5",
            &["a", "sum"],
        );
        none(
            "SELECT a, sum(b) AS n FROM t GROUP BY a HAVING n > 5",
            &["a", "n"],
        );
        none(
            "SELECT a, count(*), sum(b) FROM t GROUP BY a ORDER BY sum(b)",
            &["a", "n", "s"],
        );
        // The share has a use for the others, and nothing has one for the share.
        assert_eq!(
            lone(
                "SELECT sum(a), count(*), 100.0 * sum(a) / count(*) FROM t",
                &["part", "all", "share"]
            ),
            [2]
        );
        none("SELECT name, max(price) FROM t", &["name", "price"]);
        none(
            "SELECT name, min(id) AS id FROM t GROUP BY name",
            &["name", "id"],
        );
        none(
            "SELECT a, rank() OVER (ORDER BY sum(b)) FROM t GROUP BY a",
            &["a", "rank"],
        );
        none("SELECT * FROM t", &["a", "b"]);
        none(
            "SELECT count(*), sum(a) FROM t UNION SELECT 1, 2",
            &["n", "s"],
        );
    }
}
