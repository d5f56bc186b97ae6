//! Cuts the pages of a statement and counts its rows.

use sqlparser::ast::{OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr};

use super::rules::Rules;
use mindhost_plugin_api::{Dialect, Paging};

/// The paging of a statement, computed once from its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether there is an ORDER BY at the top.
    pub ordered: bool,
    /// The statement to which LIMIT and OFFSET can be appended; `None` if the host must skip rows.
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
            (false, _) => Some(text.to_owned()),
        };
        let countable = !volatile
            && !fills(&query)
            && (rules.dialect != Dialect::Mysql || has_distinct_names(&query.body));
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

/// Whether the column names of this query are certainly unique. MySQL refuses a derived table with duplicates.
fn has_distinct_names(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => {
            let Select { projection, .. } = select.as_ref();
            let names: Option<Vec<String>> = projection
                .iter()
                .map(|item| match item {
                    SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
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
