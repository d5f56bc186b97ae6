//! How the pages of a statement are cut and its rows counted.

use sqlparser::ast::{Query, Select, SelectItem, SetExpr};

use super::rules::Rules;
use mindhost_plugin_api::{Dialect, Paging};

/// Worked out once, while the tree is at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether the rows have an order at the top.
    pub ordered: bool,
    /// The statement to which LIMIT and OFFSET can be appended; `None` when the host must skip.
    pub unlimited: Option<String>,
    /// The statement that counts the rows; `None` when they must be read for it.
    pub count: Option<String>,
}

impl Plan {
    /// `text` is `query`, printed.
    pub fn of(mut query: Query, text: &str, rules: &Rules, paging: Paging, volatile: bool) -> Self {
        let ordered = is_ordered(&query);
        // SQL Server wants an ORDER BY before OFFSET, so its pages are cut here whatever the connector says.
        if paging == Paging::InMemory || rules.dialect == Dialect::Mssql {
            return Self {
                ordered,
                unlimited: None,
                count: None,
            };
        }
        let limited = query.limit_clause.is_some() || query.fetch.is_some() || has_top(&query.body);
        // The limit of the statement is its own last clause, so appending another one is adding it to the tree.
        // SQLite takes no LIMIT behind VALUES; they have no order that a derived table could lose.
        let unlimited = match (limited, rules.dialect) {
            (true, _) => None,
            (false, Dialect::Sqlite) if ends_in_values(&query.body) => {
                Some(format!("SELECT * FROM ({text})"))
            }
            (false, _) => Some(text.to_owned()),
        };
        let countable =
            !volatile && (rules.dialect != Dialect::Mysql || has_distinct_names(&query.body));
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
            unlimited,
            count,
        }
    }
}

/// An ORDER BY at the top, or in the brackets that are all of the statement.
fn is_ordered(query: &Query) -> bool {
    match (&query.order_by, query.body.as_ref()) {
        (Some(_), _) => true,
        (None, SetExpr::Query(inner)) => is_ordered(inner),
        (None, _) => false,
    }
}

fn has_top(body: &SetExpr) -> bool {
    matches!(body, SetExpr::Select(select) if select.top.is_some())
}

fn ends_in_values(body: &SetExpr) -> bool {
    match body {
        SetExpr::Values(_) => true,
        SetExpr::SetOperation { right, .. } => ends_in_values(right),
        _ => false,
    }
}

/// Whether a derived table of this query surely has no column name twice, which MySQL refuses.
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
