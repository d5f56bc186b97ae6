//! A last sort key for ordered statements, so that rows with equal keys do not move between pages.
//!
//! PostgreSQL and MySQL may order such rows in another way for each LIMIT, and pages then lose rows and repeat others.
//! The key is one that costs the engine next to nothing: what the tables, the groups or the distinct rows are unique
//! by. The statement stays as it is where that is not known.

use std::collections::HashMap;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, ObjectName, OrderByKind, Query, Select, SelectItem, SetExpr,
    SetQuantifier, TableFactor, Value,
};

use crate::rules::Rules;

/// The columns of primary keys, by schema and name of the table.
pub(crate) type Keys<'a> = HashMap<(&'a str, &'a str), &'a [String]>;

/// Functions that compute a value from each row, and types with brackets. Of any other name it is not known here
/// whether it makes groups.
const OF_ONE_ROW: [&str; 27] = [
    "abs",
    "cast",
    "ceil",
    "coalesce",
    "concat",
    "date",
    "date_format",
    "date_trunc",
    "decimal",
    "extract",
    "floor",
    "greatest",
    "ifnull",
    "least",
    "left",
    "length",
    "lower",
    "month",
    "nullif",
    "numeric",
    "round",
    "substring",
    "to_char",
    "trim",
    "upper",
    "varchar",
    "year",
];

/// The text of an ordered statement whose order is total. `None` if no last key is known, or none is needed.
pub(super) fn in_total_order(query: &Query, rules: &Rules, keys: &Keys<'_>) -> Option<String> {
    let Some(order) = &query.order_by else {
        return match (&query.with, query.body.as_ref()) {
            (None, SetExpr::Query(inner)) => {
                Some(format!("({})", in_total_order(inner, rules, keys)?))
            }
            _ => None,
        };
    };
    let OrderByKind::Expressions(sorted) = &order.kind else {
        return None;
    };
    let sorted: Vec<&Expr> = sorted.iter().map(|key| &key.expr).collect();
    let last = match query.body.as_ref() {
        SetExpr::Select(select) => last_key(select, &sorted, rules, keys)?,
        SetExpr::SetOperation {
            left,
            set_quantifier: SetQuantifier::None | SetQuantifier::Distinct,
            ..
        } => numbers_of_columns(first_select(left)?)?,
        _ => return None,
    };
    Some(format!("{query}, {last}"))
}

/// What the rows of a SELECT are unique by.
fn last_key(select: &Select, sorted: &[&Expr], rules: &Rules, keys: &Keys<'_>) -> Option<String> {
    match (&select.distinct, &select.group_by) {
        (Some(Distinct::Distinct), _) => numbers_of_columns(select),
        (Some(_), _) => None,
        (None, GroupByExpr::Expressions(groups, modifiers)) if modifiers.is_empty() => {
            match groups.is_empty() {
                true => key_of_rows(select, sorted, rules, keys),
                false => key_of_groups(groups),
            }
        }
        (None, _) => None,
    }
}

/// The groups, if each is a column or the number of one.
fn key_of_groups(groups: &[Expr]) -> Option<String> {
    let is_simple = |group: &Expr| match group {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        _ => false,
    };
    groups.iter().all(is_simple).then(|| list(groups))
}

/// The primary keys of the tables, if all have one and each row of the result is one of theirs.
fn key_of_rows(
    select: &Select,
    sorted: &[&Expr],
    rules: &Rules,
    keys: &Keys<'_>,
) -> Option<String> {
    let items = select.projection.iter().map(ToString::to_string);
    let mut computed = items.chain(sorted.iter().map(ToString::to_string));
    if select.having.is_some() || !computed.all(|text| is_of_one_row(&text)) {
        return None;
    }
    let mut key: Vec<String> = Vec::new();
    let mut is_needed = false;
    for from in &select.from {
        let joined = from.joins.iter().map(|join| &join.relation);
        for table in std::iter::once(&from.relation).chain(joined) {
            let (qualifier, columns) = key_of(table, keys)?;
            is_needed |= !columns
                .iter()
                .all(|column| is_sorted_by(column, sorted, select));
            let quote = rules.quote();
            key.extend(columns.iter().map(|column| {
                let escaped = column.replace(quote, &format!("{quote}{quote}"));
                format!("{qualifier}.{quote}{escaped}{quote}")
            }));
        }
    }
    is_needed.then(|| key.join(", "))
}

/// How a table is named in its statement, and its primary key.
fn key_of<'a>(table: &TableFactor, keys: &Keys<'a>) -> Option<(String, &'a [String])> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = table
    else {
        return None;
    };
    let key = keys.get(&schema_and_name(name)?)?;
    match alias {
        Some(alias) if !alias.columns.is_empty() => None,
        Some(alias) => Some((alias.name.to_string(), *key)),
        None => Some((name.to_string(), *key)),
    }
}

fn schema_and_name(name: &ObjectName) -> Option<(&str, &str)> {
    let [schema, name] = name.0.as_slice() else {
        return None;
    };
    let (schema, name) = (schema.as_ident()?, name.as_ident()?);
    Some((&schema.value, &name.value))
}

/// Whether the rows are sorted by a column itself, and not by another expression that the statement calls so.
fn is_sorted_by(column: &str, sorted: &[&Expr], select: &Select) -> bool {
    let is_renamed = select.projection.iter().any(|item| {
        matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value.eq_ignore_ascii_case(column))
    });
    let is_column = |expr: &&Expr| match expr {
        Expr::Identifier(name) => name.value.eq_ignore_ascii_case(column),
        Expr::CompoundIdentifier(names) => names
            .last()
            .is_some_and(|name| name.value.eq_ignore_ascii_case(column)),
        _ => false,
    };
    let is_of_one_table =
        select.from.iter().all(|from| from.joins.is_empty()) && select.from.len() == 1;
    is_of_one_table && !is_renamed && sorted.iter().any(is_column)
}

/// Whether an expression has a value for each row: no subquery, and no function but those that are known to.
fn is_of_one_row(text: &str) -> bool {
    let mut before_brackets: Vec<&str> = text.split('(').collect();
    before_brackets.pop();
    let is_known = |before: &&str| {
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '`');
        let name = before.rsplit(|c| !is_of_name(c)).next();
        let name = name.unwrap_or_default().to_lowercase();
        name.is_empty() || OF_ONE_ROW.contains(&name.as_str())
    };
    !text.contains("SELECT") && before_brackets.iter().all(is_known)
}

/// `1, 2, 3` for three columns; `None` if their number is not certain.
fn numbers_of_columns(select: &Select) -> Option<String> {
    let is_one = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    let numbers = 1..=select.projection.len();
    select
        .projection
        .iter()
        .all(is_one)
        .then(|| list(&numbers.collect::<Vec<_>>()))
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

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::Dialect;

    use crate::{
        guard::{GuardedStatement, PageStatement, guard},
        scope::Scope,
        tests::shop,
    };

    /// The shop, where orders have the key `id`, and categories one of two columns.
    fn scope(dialect: Dialect) -> Scope {
        let mut scope = shop(dialect);
        for table in &mut scope.datasources[0].tables {
            let key: &[&str] = match table.table.name.as_str() {
                "orders" => &["id"],
                "categories" => &["Kind", "order"],
                _ => &[],
            };
            table.key = key.iter().map(ToString::to_string).collect();
        }
        scope
    }

    fn guarded(sql: &str, dialect: Dialect) -> GuardedStatement {
        guard(sql, &scope(dialect)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// What stands behind the last ORDER BY of the first page.
    fn order(sql: &str, dialect: Dialect) -> String {
        let page = guarded(sql, dialect).page(5, 0);
        let PageStatement::Engine(text) = page else {
            panic!("{sql}: the host cuts the page");
        };
        let (_, order) = text.rsplit_once("ORDER BY ").unwrap();
        let (order, _) = order.rsplit_once(" LIMIT 5").unwrap();
        order.to_owned()
    }

    #[test]
    fn rows_of_tables_are_sorted_by_their_keys_at_last() {
        for (sql, expected) in [
            (
                "SELECT * FROM orders ORDER BY total DESC",
                r#"total DESC, "public"."orders"."id""#,
            ),
            (
                "SELECT round(o.total, 1) AS t FROM orders o JOIN categories c ON c.kind = o.status ORDER BY t",
                r#"t, o."id", c."Kind", c."order""#,
            ),
            (
                "SELECT total AS id FROM orders ORDER BY id",
                r#"id, "public"."orders"."id""#,
            ),
        ] {
            assert_eq!(order(sql, Dialect::Postgresql), expected, "{sql}");
        }
        assert_eq!(
            order("SELECT * FROM orders ORDER BY total", Dialect::Mysql),
            "total, `shop`.`orders`.`id`"
        );
        let page = guarded(
            "(SELECT id FROM orders ORDER BY total)",
            Dialect::Postgresql,
        )
        .page(5, 0);
        let sent = "(SELECT id FROM \"public\".\"orders\" ORDER BY total, \"public\".\"orders\".\"id\") \
                    LIMIT 5 OFFSET 0";
        assert_eq!(page, PageStatement::Engine(sent.to_owned()));
    }

    #[test]
    fn groups_and_distinct_rows_are_sorted_by_themselves_at_last() {
        for (sql, expected) in [
            (
                "SELECT status, count(*) FROM orders GROUP BY status ORDER BY 2",
                "2, status",
            ),
            (
                "SELECT DISTINCT status, total FROM orders ORDER BY status",
                "status, 1, 2",
            ),
            (
                "SELECT id FROM orders UNION SELECT id FROM customers ORDER BY id",
                "id, 1",
            ),
        ] {
            for dialect in [Dialect::Postgresql, Dialect::Mysql] {
                assert_eq!(order(sql, dialect), expected, "{sql}");
            }
        }
    }

    #[test]
    fn order_stays_as_it_is_where_it_is_total_or_no_key_is_known() {
        for (sql, expected) in [
            ("SELECT id, total FROM orders ORDER BY id DESC", "id DESC"),
            ("SELECT count(*) FROM orders ORDER BY 1", "1"),
            (
                "SELECT 1 FROM orders ORDER BY count(*)",
                "pg_catalog.count(*)",
            ),
            ("SELECT (SELECT max(o.total)) FROM orders o ORDER BY 1", "1"),
            ("SELECT id FROM customers ORDER BY name", "name"),
            (
                "SELECT o.id FROM orders o, customers c ORDER BY o.total",
                "o.total",
            ),
            (
                "SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY id",
                "id",
            ),
            ("(SELECT id FROM orders) ORDER BY id", "id"),
            ("SELECT DISTINCT * FROM orders ORDER BY id", "id"),
            (
                "SELECT DISTINCT ON (status) id FROM orders ORDER BY status",
                "status",
            ),
            (
                "SELECT a FROM (SELECT total AS a FROM orders) AS x ORDER BY a",
                "a",
            ),
            (
                "WITH orders AS (SELECT 1 AS id) SELECT id FROM orders ORDER BY id",
                "id",
            ),
        ] {
            assert_eq!(order(sql, Dialect::Postgresql), expected, "{sql}");
        }
    }
}
