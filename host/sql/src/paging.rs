//! Cuts the pages of a statement and counts its rows.

mod total_order;

use sqlparser::ast::{
    Expr, GroupByExpr, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Value,
};

pub(super) use self::total_order::Keys;
use super::rules::Rules;
use mindhost_plugin_api::{Dialect, Paging};

/// The paging of a statement, computed once from its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether there is an ORDER BY at the top.
    pub ordered: bool,
    /// The statement to which LIMIT and OFFSET can be appended; `None` if the host must skip rows. Its order is total
    /// where the statement has an order that PostgreSQL or MySQL would not keep from page to page, and a key is known.
    pub unlimited: Option<String>,
    /// Whether OFFSET stands before LIMIT.
    pub offset_first: bool,
    /// The statement that counts the rows; `None` if they must be read for that.
    pub count: Option<String>,
}

impl Plan {
    /// `text` is the printed `query`, `keys` the primary keys of its tables.
    pub fn of(
        mut query: Query,
        text: &str,
        rules: &Rules,
        paging: Paging,
        volatile: bool,
        keys: &Keys<'_>,
    ) -> Self {
        // In ClickHouse ORDER BY, LIMIT and OFFSET behind a set operation are those of its last SELECT, and none may stand
        // behind a bracket.
        let is_whole = rules.dialect != Dialect::Clickhouse
            || matches!(query.body.as_ref(), SetExpr::Select(_));
        let ordered = is_whole && is_ordered(&query);
        // SQL Server needs an ORDER BY before OFFSET, so the host always cuts its pages.
        if paging == Paging::InMemory || rules.dialect == Dialect::Mssql {
            return Self {
                ordered,
                offset_first: false,
                unlimited: None,
                count: None,
            };
        }
        let limited = is_limited(&query);
        // LIMIT is the last clause, so appending one is the same as adding it to the tree. SQLite has no LIMIT behind
        // VALUES, which have no order that a derived table could lose.
        let unlimited = match (limited, rules.dialect) {
            (true, _) => None,
            _ if !is_whole => None,
            (false, Dialect::Sqlite) if ends_in_values(&query.body) => {
                Some(format!("SELECT * FROM ({text})"))
            }
            (false, Dialect::Postgresql | Dialect::Mysql) if ordered => Some(
                total_order::in_total_order(&query, rules, keys).unwrap_or_else(|| text.to_owned()),
            ),
            (false, _) => Some(text.to_owned()),
        };
        let countable = !volatile
            && !fills(&query)
            && (rules.dialect != Dialect::Mysql
                || has_distinct_names(&query.body)
                || !limited && without_columns(&mut query.body));
        let count = countable.then(|| {
            if !limited {
                query.order_by = None;
            }
            let count = if rules.dialect == Dialect::Postgresql {
                "pg_catalog.count"
            } else {
                "count"
            };
            format!("SELECT {count}(*) FROM ({query}) AS counted")
        });
        Self {
            ordered,
            offset_first: rules.dialect == Dialect::Trino,
            unlimited,
            count,
        }
    }
}

/// Whether the statement has an ORDER BY at the top, or within brackets around it all.
fn is_ordered(query: &Query) -> bool {
    match (&query.order_by, query.body.as_ref()) {
        (Some(_), _) => true,
        (None, SetExpr::Query(inner)) => is_ordered(inner),
        (None, _) => false,
    }
}

/// Whether the statement has a LIMIT or the like at the top, or within brackets around it all.
fn is_limited(query: &Query) -> bool {
    let own = query.limit_clause.is_some() || query.fetch.is_some();
    own || match query.body.as_ref() {
        SetExpr::Select(select) => select.top.is_some(),
        SetExpr::Query(inner) => is_limited(inner),
        _ => false,
    }
}

/// Whether the ORDER BY makes rows: ClickHouse's WITH FILL.
fn fills(query: &Query) -> bool {
    matches!(
        &query.order_by,
        Some(OrderBy { kind: OrderByKind::Expressions(exprs), .. })
            if exprs.iter().any(|expr| expr.with_fill.is_some())
    )
}

fn ends_in_values(body: &SetExpr) -> bool {
    match body {
        SetExpr::Values(_) => true,
        SetExpr::SetOperation { right, .. } => ends_in_values(right),
        _ => false,
    }
}

/// Puts a literal in place of the columns if that changes no number of rows: there are only columns of tables, and none
/// of them is grouped. Returns whether it did.
fn without_columns(body: &mut SetExpr) -> bool {
    let SetExpr::Select(select) = body else {
        return false;
    };
    let mut items = select.projection.iter();
    if !is_ungrouped(select) || !items.all(|item| is_column_or(item, |_| false)) {
        return false;
    }
    let one = Expr::Value(Value::Number("1".to_owned(), false).into());
    select.projection = vec![SelectItem::UnnamedExpr(one)];
    true
}

/// Whether the rows of a SELECT are those of its tables, if its items have no aggregate.
fn is_ungrouped(select: &Select) -> bool {
    let has_no_groups = matches!(
        &select.group_by,
        GroupByExpr::Expressions(exprs, modifiers) if exprs.is_empty() && modifiers.is_empty()
    );
    has_no_groups && select.distinct.is_none() && select.having.is_none()
}

/// Whether an item is a column of a table, all columns, or another expression that is as well.
fn is_column_or(item: &SelectItem, is_other: impl Fn(&Expr) -> bool) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) || is_other(expr)
        }
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => true,
        SelectItem::ExprWithAliases { .. } => false,
    }
}

/// Whether the column names of this query are certainly unique. MySQL refuses a derived table with duplicates.
fn has_distinct_names(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => {
            let Select { projection, .. } = select.as_ref();
            let names: Option<Vec<String>> = projection
                .iter()
                .map(|item| match item {
                    SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
                    SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                        Some(name.value.to_lowercase())
                    }
                    SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => {
                        names.last().map(|name| name.value.to_lowercase())
                    }
                    _ => None,
                })
                .collect();
            names.is_some_and(|mut names| {
                let all = names.len();
                names.sort();
                names.dedup();
                names.len() == all
            })
        }
        SetExpr::SetOperation { left, .. } => has_distinct_names(left),
        SetExpr::Query(query) => has_distinct_names(&query.body),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::Dialect;

    use crate::{
        guard::{GuardedStatement, guard},
        tests::shop,
    };

    fn guarded(sql: &str, dialect: Dialect) -> GuardedStatement {
        guard(sql, &shop(dialect)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    #[test]
    fn rows_of_mysql_are_counted_without_their_columns() {
        let count = |sql: &str| guarded(sql, Dialect::Mysql).count();
        for (sql, expected) in [
            (
                "SELECT o.*, c.* FROM orders AS o, customers AS c WHERE o.id = c.id ORDER BY 1",
                "(SELECT 1 FROM `shop`.`orders` AS o, `shop`.`customers` AS c WHERE o.id = c.id)",
            ),
            (
                "SELECT o.id, c.id FROM orders AS o, customers AS c",
                "(SELECT 1 FROM `shop`.`orders` AS o, `shop`.`customers` AS c)",
            ),
            (
                "SELECT DISTINCT id, total FROM orders",
                "(SELECT DISTINCT id, total FROM `shop`.`orders`)",
            ),
        ] {
            let expected = format!("SELECT count(*) FROM {expected} AS counted");
            assert_eq!(count(sql).as_deref(), Some(expected.as_str()), "{sql}");
        }
        // MySQL refuses two columns with one name in a subquery, and these cannot be left out.
        for sql in [
            "SELECT DISTINCT o.id, c.id FROM orders o, customers c",
            "SELECT DISTINCT * FROM orders",
            "SELECT count(*) FROM orders",
            "SELECT id, id FROM orders GROUP BY id",
            "SELECT id, id FROM orders LIMIT 3",
        ] {
            assert_eq!(count(sql), None, "{sql}");
        }
    }
}
