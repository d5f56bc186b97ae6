//! A statement that keeps the first rows of its order, with the rows behind them.

use sqlparser::ast::{
    Distinct, Expr, LimitClause, OrderByKind, Query, SelectItem, SetExpr, TopQuantity, Value,
};

use super::{Facts, place};
use crate::{cells::Cell, compare::Rows};

/// Rows behind the limit that are read, to find those that the order puts level with the last one.
const ROWS_BEHIND: u64 = 100;
/// Choices of such rows that are accepted results.
const MAX_CHOICES: usize = 100;

/// A statement whose limit is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The statement, with what it orders by behind its columns.
    pub sql: String,
    /// The rows that the original keeps.
    limit: usize,
    /// The columns of the original.
    columns: usize,
    /// The columns that it orders by.
    keys: Vec<usize>,
}

impl Facts {
    /// Whether it keeps the first rows of its order.
    pub fn has_limit(&self) -> bool {
        let ordered = self.query.clone();
        let ordered = ordered.filter(|query| query.order_by.is_some());
        ordered.is_some_and(|mut query| raise(&mut query).is_some())
    }

    /// The statement with a higher limit, if it has an order and a limit. `columns` are the names of its result.
    pub fn raised(&self, columns: &[String]) -> Option<Raised> {
        let mut query = self.query.clone()?;
        let terms = match &query.order_by.as_ref()?.kind {
            OrderByKind::Expressions(terms) => terms.iter().map(|term| term.expr.clone()),
            OrderByKind::All(_) => return None,
        };
        let terms: Vec<Expr> = terms.collect();
        let limit = raise(&mut query)?;
        let items = self.items();
        let (mut keys, mut added) = (Vec::new(), Vec::new());
        for term in terms {
            keys.push(place(&term, columns, &items).unwrap_or_else(|| {
                added.push(term);
                columns.len() + added.len() - 1
            }));
        }
        if !added.is_empty() {
            let SetExpr::Select(select) = &mut *query.body else {
                return None;
            };
            if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
                return None;
            }
            let added = added.into_iter().map(SelectItem::UnnamedExpr);
            select.projection.extend(added);
        }
        Some(Raised {
            sql: query.to_string(),
            limit: usize::try_from(limit).ok()?,
            columns: columns.len(),
            keys,
        })
    }
}

/// Raises the limit of a query; gives the one that it had. `None` if it has none that is a plain number, or leaves out
/// the first rows.
fn raise(query: &mut Query) -> Option<u64> {
    if query.limit_clause.is_none() && query.fetch.is_none() {
        return raise_top(query);
    }
    let limit = match (&mut query.limit_clause, &mut query.fetch) {
        (
            Some(LimitClause::LimitOffset {
                limit: Some(limit),
                offset: None,
                limit_by,
            }),
            None,
        ) if limit_by.is_empty() => limit,
        (None, Some(fetch)) if !fetch.with_ties && !fetch.percent => fetch.quantity.as_mut()?,
        _ => return None,
    };
    let before = number(limit)?;
    *limit = raised(before)?;
    Some(before)
}

fn raise_top(query: &mut Query) -> Option<u64> {
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    let top = select.top.as_mut()?;
    let before = match top.quantity.as_ref()? {
        TopQuantity::Constant(number) => *number,
        TopQuantity::Expr(expr) => number(expr)?,
    };
    if top.with_ties || top.percent {
        return None;
    }
    top.quantity = Some(TopQuantity::Expr(raised(before)?));
    Some(before)
}

fn raised(limit: u64) -> Option<Expr> {
    let raised = limit.checked_add(ROWS_BEHIND)?;
    Some(Expr::value(Value::Number(raised.to_string(), false)))
}

fn number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

impl Raised {
    /// The other results that the original may as well have given: of the rows that its order puts level with its last
    /// one it may keep any. `rows` are those of the raised statement. Empty if no such row is behind the limit, or if
    /// there are too many choices.
    pub fn other_results(&self, rows: &Rows) -> Vec<Rows> {
        let Some(last) = self.limit.checked_sub(1).and_then(|last| rows.get(last)) else {
            return Vec::new();
        };
        let is_level = |row: &&Vec<Cell>| {
            let mut keys = self.keys.iter();
            keys.all(|key| row.get(*key) == last.get(*key))
        };
        let kept = rows.iter().take(self.limit).rev();
        let kept = kept.take_while(is_level).count();
        let behind = rows.iter().skip(self.limit).take_while(is_level).count();
        let sure = self.limit - kept;
        if behind == 0 {
            return Vec::new();
        }
        let Some(choices) = choices(kept + behind, kept) else {
            return Vec::new();
        };
        let columns = |row: &Vec<Cell>| row.iter().take(self.columns).cloned().collect();
        let result = |choice: Vec<usize>| {
            let level = choice.iter().map(|at| &rows[sure + at]);
            rows.iter().take(sure).chain(level).map(columns).collect()
        };
        choices.into_iter().map(result).collect()
    }
}

/// All choices of `count` places among `all`, each in order; `None` if there are too many.
fn choices(all: usize, count: usize) -> Option<Vec<Vec<usize>>> {
    let mut choices = vec![Vec::new()];
    for chosen in 0..count {
        // Behind each place there is room for the rest, so no choice is begun in vain.
        let until = all - (count - chosen - 1);
        let longer = choices.iter().flat_map(|choice: &Vec<usize>| {
            let from = choice.last().map_or(0, |last| last + 1);
            (from..until).map(move |next| [choice.as_slice(), &[next]].concat())
        });
        choices = longer.collect();
        if choices.len() > MAX_CHOICES {
            return None;
        }
    }
    Some(choices)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::compare::rows;

    fn raised(sql: &str, columns: &[&str]) -> Option<Raised> {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        Facts::of(sql).raised(&columns)
    }

    #[test]
    fn limit_is_raised_and_keys_are_added() {
        let sql = |sql: &str| raised(sql, &["name"]).map(|one| one.sql);
        assert_eq!(
            sql("SELECT name FROM t ORDER BY price DESC LIMIT 1").unwrap(),
            "SELECT name, price FROM t ORDER BY price DESC LIMIT 101"
        );
        assert_eq!(
            sql("SELECT TOP 2 name FROM t ORDER BY name").unwrap(),
            "SELECT TOP (102) name FROM t ORDER BY name"
        );
        for other in [
            "SELECT name FROM t LIMIT 1",
            "SELECT name FROM t ORDER BY name",
            "SELECT name FROM t ORDER BY price LIMIT 1 OFFSET 1",
            "SELECT DISTINCT name FROM t ORDER BY price LIMIT 1",
        ] {
            assert_eq!(sql(other), None, "{other}");
        }
    }

    #[test]
    fn level_rows_stand_for_each_other() {
        let results = |sql: &str, data: Value| {
            let data: Vec<Vec<Value>> = serde_json::from_value(data).unwrap();
            let raised = raised(sql, &["name"]).unwrap();
            raised.other_results(&rows(&data))
        };
        let expected =
            |data: Value| rows(&serde_json::from_value::<Vec<Vec<Value>>>(data).unwrap());
        let first = "SELECT name FROM t ORDER BY price LIMIT 1";
        assert_eq!(
            results(first, json!([["a", 1], ["b", 1], ["c", 2]])),
            [expected(json!([["a"]])), expected(json!([["b"]]))]
        );
        assert!(results(first, json!([["a", 1], ["b", 2]])).is_empty());
        let second = "SELECT name FROM t ORDER BY price LIMIT 2";
        assert_eq!(
            results(second, json!([["a", 1], ["b", 2], ["c", 2]])),
            [
                expected(json!([["a"], ["b"]])),
                expected(json!([["a"], ["c"]]))
            ]
        );
    }
}
