//! The relation that stands in place of a table: `(SELECT … FROM the table WHERE the filter, with a barrier)`.
//!
//! The barrier keeps the engine from computing the caller's expressions for rows that the filter removes. Without it a
//! planner may test `1 / (salary - 100) = 1` first, and the error would tell about rows that the caller must not see.

use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
};

use super::RuleRefusal;
use crate::{guard, lexical::Source, rules::Rules, scope::ScopeTable};
use mindhost_plugin_api::Dialect;

/// What the table is called within the relation. ClickHouse takes `a.b` for an element of a column `a` first, so it is
/// no word that a column may have.
const SELF: &str = "mindhost_policy";

/// Whether the dialect has a barrier.
pub(super) fn has_barrier(dialect: Dialect) -> bool {
    with_barrier(dialect).is_some()
}

/// A SELECT with a condition and the barrier of the dialect.
fn with_barrier(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        // The planner takes a subquery with an OFFSET as it is.
        Dialect::Postgresql => Some("SELECT c FROM t AS mindhost_policy WHERE 1 = 1 OFFSET 0"),
        // More rows than any table has. A condition is never moved below a limit.
        Dialect::Sqlite | Dialect::Datafusion | Dialect::Clickhouse | Dialect::Trino => {
            Some("SELECT c FROM t AS mindhost_policy WHERE 1 = 1 LIMIT 9223372036854775807")
        }
        Dialect::Mysql => {
            Some("SELECT c FROM t AS mindhost_policy WHERE 1 = 1 LIMIT 18446744073709551615")
        }
        Dialect::Mssql => {
            Some("SELECT TOP (9223372036854775807) c FROM t AS mindhost_policy WHERE 1 = 1")
        }
        Dialect::Generic => None,
    }
}

/// The relation of a table with these visible columns. Masks stand around the filter and the barrier: in some engines
/// the name of a masked column in a WHERE beside it would mean the mask.
pub(super) fn of(
    rules: &'static Rules,
    table: &ScopeTable,
    visible: &[String],
    filter: Option<Expr>,
    masks: Vec<(String, Expr)>,
) -> Result<Query, RuleRefusal> {
    let plain = "SELECT c FROM t AS mindhost_policy";
    let skeleton = match (&filter, with_barrier(rules.dialect)) {
        (Some(_), Some(barrier)) => barrier,
        _ => plain,
    };
    let name = [&table.table.schema, &table.table.name];
    let name = name.map(|name| Ident::with_quote(rules.quote(), name));
    let mut query = parsed(rules, skeleton)?;
    let select = select(&mut query)?;
    let written: String = masks.iter().map(|(_, mask)| mask.to_string()).collect();
    let read = table.columns.iter().filter(|column| {
        let is_masked = masks.iter().any(|(masked, _)| masked == *column);
        // To show it, or to make a mask from it.
        (visible.contains(column) && !is_masked)
            || written.contains(&own(rules, column).to_string())
    });
    select.projection = read.map(|column| item(rules, column, None)).collect();
    if filter.is_some() {
        select.selection = filter;
    }
    match select.from.as_mut_slice() {
        [
            TableWithJoins {
                relation: TableFactor::Table { name: slot, .. },
                ..
            },
        ] => {
            *slot = ObjectName::from(name.to_vec());
        }
        _ => return Err(impossible()),
    }
    let is_mask = |column: &String| masks.iter().position(|(masked, _)| masked == column);
    if masks.is_empty() {
        return Ok(query);
    }
    if rules.dialect != Dialect::Clickhouse {
        let items = visible.iter().map(|column| {
            let mask = is_mask(column).and_then(|at| masks.get(at));
            item(rules, column, mask.map(|(_, mask)| mask.clone()))
        });
        return around(rules, query, items.collect());
    }
    // In ClickHouse the name of a column within a mask would mean another mask of the same SELECT that has this name.
    // So the masks get names that no column has, and their own around that.
    let names: Vec<String> = (0..masks.len()).map(|at| free(table, at)).collect();
    let items = visible
        .iter()
        .map(|column| match is_mask(column) {
            Some(at) => (names.get(at), masks.get(at)),
            None => (Some(column), None),
        })
        .filter_map(|(name, mask)| Some(item(rules, name?, mask.map(|(_, mask)| mask.clone()))));
    let within = around(rules, query, items.collect())?;
    let items = visible.iter().map(|column| {
        let name = is_mask(column).and_then(|at| names.get(at));
        item(rules, column, name.map(|name| own(rules, name)))
    });
    around(rules, within, items.collect())
}

/// A name for the mask at this place that no column of the table has.
fn free(table: &ScopeTable, at: usize) -> String {
    let mut name = format!("mindhost_mask_{at}");
    while table.columns.contains(&name) {
        name.push('_');
    }
    name
}

/// A SELECT of these items from a query.
fn around(
    rules: &'static Rules,
    inner: Query,
    items: Vec<SelectItem>,
) -> Result<Query, RuleRefusal> {
    let mut query = parsed(rules, "SELECT c FROM (SELECT 1) AS mindhost_policy")?;
    let select = select(&mut query)?;
    select.projection = items;
    match select.from.as_mut_slice() {
        [
            TableWithJoins {
                relation: TableFactor::Derived { subquery, .. },
                ..
            },
        ] => {
            **subquery = inner;
        }
        _ => return Err(impossible()),
    }
    Ok(query)
}

/// The column of the table behind the name that the table has in the relation.
pub(super) fn own(rules: &Rules, column: &str) -> Expr {
    let quoted = |name: &str| Ident::with_quote(rules.quote(), name);
    Expr::CompoundIdentifier(vec![quoted(SELF), quoted(column)])
}

/// A column, or its mask, under the name of the column.
fn item(rules: &Rules, column: &str, mask: Option<Expr>) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr: mask.unwrap_or_else(|| own(rules, column)),
        alias: Ident::with_quote(rules.quote(), column),
    }
}

fn parsed(rules: &'static Rules, sql: &str) -> Result<Query, RuleRefusal> {
    let source = Source::new(sql).map_err(|_| impossible())?;
    guard::read(&source, rules).map_err(|_| impossible())
}

fn select(query: &mut Query) -> Result<&mut Select, RuleRefusal> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(impossible()),
    }
}

/// The texts of this module are constant.
fn impossible() -> RuleRefusal {
    RuleRefusal::of("", "the policy cannot be written in this dialect")
}
