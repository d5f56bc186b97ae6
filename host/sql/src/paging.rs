//! Cuts the pages of a statement and counts its rows.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr,
    SetOperator, SetQuantifier, TableAlias, TableFactor, TableWithJoins, Value,
};

use super::rules::Rules;
use mindhost_plugin_api::{Dialect, Paging};

/// The paging of a statement, computed once from its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether there is an ORDER BY at the top.
    pub ordered: bool,
    /// The statement to which LIMIT and OFFSET can be appended; `None` if the host must skip rows. Its order is total
    /// where the statement has an order and the engine would not keep that of equal rows from page to page.
    pub unlimited: Option<String>,
    /// Whether OFFSET stands before LIMIT.
    pub offset_first: bool,
    /// The statement that counts the rows; `None` if they must be read for that.
    pub count: Option<String>,
}

impl Plan {
    /// `text` is the printed `query`.
    pub fn of(mut query: Query, text: &str, rules: &Rules, paging: Paging, volatile: bool) -> Self {
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
            (false, Dialect::Postgresql | Dialect::Mysql) if ordered => {
                in_total_order(&query, rules.dialect)
            }
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

/// The text of an ordered statement with a last sort key that tells its rows apart. Without one, PostgreSQL and MySQL
/// may put rows with equal keys in another order for each LIMIT, so that pages lose and repeat rows. `None` if no such
/// key is known. The key of PostgreSQL is the row by its bytes, which every type has.
fn in_total_order(query: &Query, dialect: Dialect) -> Option<String> {
    if let (None, None, SetExpr::Query(inner)) = (&query.with, &query.order_by, &*query.body) {
        return Some(format!("({})", in_total_order(inner, dialect)?));
    }
    query.order_by.as_ref()?;
    let last_key = match (query.body.as_ref(), dialect) {
        // Sort keys can only be columns of the result, which have an order where they are made distinct.
        (SetExpr::Select(select), Dialect::Postgresql)
            if !matches!(select.distinct, Some(Distinct::Distinct)) =>
        {
            format!("ROW({}) USING OPERATOR(pg_catalog.*<)", row_of(select)?)
        }
        (
            SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                ..
            },
            Dialect::Postgresql,
        ) => return None,
        (body, _) => numbers_of_columns(first_select(body)?)?,
    };
    Some(format!("{query}, {last_key}"))
}

/// What the columns of the result are computed from, as a list. Literals are the same in each row. A subquery would run
/// for each row of the tables and not of the page, so the rows that it is computed from stand for it where they can.
fn row_of(select: &Select) -> Option<String> {
    let is_subquery = |expr: &Expr| matches!(expr, Expr::Subquery(_));
    let has_only_columns = |item: &SelectItem| is_column_or(item, is_subquery);
    let mut rows = Vec::new();
    let has_rows = is_ungrouped(select)
        && select.projection.iter().all(has_only_columns)
        && add_rows(&select.from, &mut rows).is_some();
    let mut columns = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                if is_subquery(expr) && has_rows {
                    columns.append(&mut rows);
                } else if !is_literal(expr) {
                    columns.push(expr.to_string());
                }
            }
            SelectItem::QualifiedWildcard(..) => columns.push(item.to_string()),
            SelectItem::Wildcard(_) => add_rows(&select.from, &mut columns)?,
            SelectItem::ExprWithAliases { .. } => return None,
        }
    }
    Some(columns.join(", "))
}

/// Adds `t.*` for each table of a FROM. `None` if one of them has no name.
fn add_rows(from: &[TableWithJoins], columns: &mut Vec<String>) -> Option<()> {
    from.iter()
        .try_for_each(|tables| add_stars(tables, columns))
}

/// Adds `t.*` for each table. `None` if one of them has no name.
fn add_stars(tables: &TableWithJoins, columns: &mut Vec<String>) -> Option<()> {
    let joined = tables.joins.iter().map(|join| &join.relation);
    for table in std::iter::once(&tables.relation).chain(joined) {
        match table {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => columns.push(match alias {
                Some(alias) => star(alias),
                None => format!("{name}.*"),
            }),
            TableFactor::Table {
                alias: Some(alias), ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            }
            | TableFactor::Function {
                alias: Some(alias), ..
            }
            | TableFactor::UNNEST {
                alias: Some(alias), ..
            }
            | TableFactor::NestedJoin {
                alias: Some(alias), ..
            } => columns.push(star(alias)),
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                add_stars(table_with_joins, columns)?;
            }
            _ => return None,
        }
    }
    Some(())
}

fn star(alias: &TableAlias) -> String {
    format!("{}.*", alias.name)
}

/// Whether it is a literal, whose type PostgreSQL may not know.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => is_literal(inner),
        _ => false,
    }
}

/// `1, 2, 3` for three columns; `None` if their number is not certain.
fn numbers_of_columns(select: &Select) -> Option<String> {
    let is_one = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    select.projection.iter().all(is_one).then(|| {
        let numbers = (1..=select.projection.len()).map(|number| number.to_string());
        numbers.collect::<Vec<_>>().join(", ")
    })
}

/// The SELECT that names the columns of a body.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&query.body),
        _ => None,
    }
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
        guard::{GuardedStatement, PageStatement, guard},
        tests::shop,
    };

    fn guarded(sql: &str, dialect: Dialect) -> GuardedStatement {
        guard(sql, &shop(dialect)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The end of the first page from its ORDER BY on; none if the host cuts it.
    fn order(sql: &str, dialect: Dialect) -> Option<String> {
        match guarded(sql, dialect).page(5, 0) {
            PageStatement::Skip { .. } => None,
            PageStatement::Engine(text) => {
                let (_, order) = text.rsplit_once("ORDER BY ").unwrap_or(("", text.as_str()));
                let (order, _) = order.rsplit_once(" LIMIT 5").unwrap();
                Some(order.to_owned())
            }
        }
    }

    #[test]
    fn order_of_postgresql_is_total() {
        let ordered = |sql: &str, expected: &str| {
            let order = order(sql, Dialect::Postgresql);
            let expected = format!("{expected} USING OPERATOR(pg_catalog.*<)");
            assert_eq!(order, Some(expected), "{sql}");
        };
        ordered(
            "SELECT id, 'x', total AS t FROM orders ORDER BY t DESC",
            "t DESC, ROW(id, total)",
        );
        ordered(
            "SELECT status, count(*) FROM orders GROUP BY status ORDER BY 2",
            "2, ROW(status, pg_catalog.count(*))",
        );
        ordered(
            "SELECT * FROM orders ORDER BY total",
            r#"total, ROW("public"."orders".*)"#,
        );
        ordered(
            "SELECT * FROM orders o JOIN (SELECT 1 AS one) AS x ON true ORDER BY total",
            "total, ROW(o.*, x.*)",
        );
        // A subquery does not run for rows of other pages, unless the number of rows may depend on the items.
        ordered(
            "SELECT id, (SELECT max(id) FROM customers) FROM orders o ORDER BY total",
            "total, ROW(id, o.*)",
        );
        ordered(
            "SELECT count(*), (SELECT 1) FROM orders o ORDER BY 1",
            "1, ROW(pg_catalog.count(*), (SELECT 1))",
        );
        ordered(
            "SELECT DISTINCT ON (id) o.*, id + 1 FROM orders o ORDER BY id",
            "id, ROW(o.*, id + 1)",
        );
        let page = guarded("(SELECT id FROM orders ORDER BY 1)", Dialect::Postgresql).page(5, 0);
        let sent = "(SELECT id FROM \"public\".\"orders\" ORDER BY 1, ROW(id) USING OPERATOR(pg_catalog.*<)) \
                    LIMIT 5 OFFSET 0";
        assert_eq!(page, PageStatement::Engine(sent.to_owned()));
    }

    #[test]
    fn distinct_rows_of_postgresql_are_ordered_by_their_columns() {
        let sql = "SELECT DISTINCT status, total FROM orders ORDER BY status";
        let order_of = |sql| order(sql, Dialect::Postgresql);
        assert_eq!(order_of(sql).as_deref(), Some("status, 1, 2"));
        let sql = "SELECT id FROM orders UNION SELECT id FROM customers ORDER BY id";
        assert_eq!(order_of(sql).as_deref(), Some("id, 1"));
        // How many columns there are is not known, or whether they have an order.
        let sql = "SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY id";
        assert_eq!(order_of(sql), None);
        assert_eq!(order_of("SELECT DISTINCT * FROM orders ORDER BY id"), None);
    }

    #[test]
    fn order_of_mysql_is_total_or_the_host_cuts_the_page() {
        let order_of = |sql| order(sql, Dialect::Mysql);
        assert_eq!(
            order_of("SELECT id, total FROM orders ORDER BY total DESC").as_deref(),
            Some("total DESC, 1, 2")
        );
        assert_eq!(
            order_of("SELECT id FROM orders UNION SELECT id FROM customers ORDER BY 1").as_deref(),
            Some("1, 1")
        );
        assert_eq!(order_of("SELECT * FROM orders ORDER BY total"), None);
        assert!(order_of("SELECT * FROM orders").is_some());
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
