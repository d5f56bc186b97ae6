//! The keys that a join by several columns found on one side, as conditions for the other side.
//!
//! Not every engine has `(a, b) IN ((1, 2), …)`, so pairs are written as `a = 1 AND b IN (2, …) OR …`.

use std::collections::BTreeMap;

use datafusion::{
    arrow::array::StructArray,
    common::ScalarValue,
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr,
        expressions::{InListExpr, Literal},
    },
};

use super::expressions::{Scope, Value};

/// Values of the column before the `AND` at most; of more, a condition would be slow to plan.
const MAX_GROUPS: usize = 64;

/// Conditions that every row with one of the keys fulfils, perhaps others too; `None` if there are none, or if this is
/// no list of such keys. `column` gives the value of a column of the statement.
pub fn key_filters(
    list: &InListExpr,
    column: impl Fn(&dyn PhysicalExpr) -> Option<Value>,
    scope: &Scope<'_>,
) -> Option<Vec<String>> {
    let function = list.expr().downcast_ref::<ScalarFunctionExpr>()?;
    if function.name() != "struct" || list.negated() {
        return None;
    }
    let columns = function.args().iter().map(|arg| column(arg.as_ref()));
    let columns: Vec<Value> = columns.collect::<Option<_>>()?;
    let mut keys = Vec::with_capacity(list.list().len());
    for key in list.list() {
        match key.downcast_ref::<Literal>()?.value() {
            ScalarValue::Struct(fields) => keys.extend(values(fields, &columns, scope)?),
            _ => return None,
        }
    }
    conditions(&columns, &keys, scope)
}

/// The values of a key; `Some(None)` if one is NULL, which equals nothing, and `None` if one has no form.
fn values(
    fields: &StructArray,
    columns: &[Value],
    scope: &Scope<'_>,
) -> Option<Option<Vec<Value>>> {
    let mut key = Vec::with_capacity(columns.len());
    for (field, column) in fields.columns().iter().zip(columns) {
        let value = ScalarValue::try_from_array(field, 0).ok()?;
        if value.is_null() {
            return Some(None);
        }
        key.push(scope.constant(column.kind, &value)?);
    }
    Some(Some(key))
}

fn conditions(columns: &[Value], keys: &[Vec<Value>], scope: &Scope<'_>) -> Option<Vec<String>> {
    if keys.is_empty() || keys.iter().any(|key| key.len() != columns.len()) {
        return None;
    }
    let distinct: Vec<Vec<Value>> = (0..columns.len())
        .map(|index| distinct(keys.iter().filter_map(|key| key.get(index))))
        .collect();
    if let [a, b] = columns {
        let (least, other) = match distinct.first()?.len() <= distinct.get(1)?.len() {
            true => ((0, a), (1, b)),
            false => ((1, b), (0, a)),
        };
        if distinct.get(least.0)?.len() <= MAX_GROUPS {
            return pairs(keys, least, other, scope).map(|condition| vec![condition]);
        }
    }
    let lists = columns
        .iter()
        .zip(&distinct)
        .filter_map(|(column, values)| scope.listed(column, values, false));
    Some(lists.collect())
}

/// Exactly the rows with one of the pairs.
fn pairs(
    keys: &[Vec<Value>],
    (first, a): (usize, &Value),
    (second, b): (usize, &Value),
    scope: &Scope<'_>,
) -> Option<String> {
    let mut groups: BTreeMap<&str, (&Value, Vec<&Value>)> = BTreeMap::new();
    for key in keys {
        let (one, two) = (key.get(first)?, key.get(second)?);
        let group = groups.entry(&one.sql).or_insert((one, Vec::new()));
        group.1.push(two);
    }
    let terms = groups.values().map(|(one, others)| {
        let equal = scope.compared(a, Operator::Eq, one)?;
        let listed = scope.listed(b, &distinct(others.iter().copied()), false)?;
        Some(format!("({equal} AND {listed})"))
    });
    let terms: Vec<String> = terms.collect::<Option<_>>()?;
    Some(format!("({})", terms.join(" OR ")))
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let by_text: BTreeMap<&str, &Value> = values.map(|value| (value.sql.as_str(), value)).collect();
    by_text.into_values().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::{super::kinds::Kind, *};
    use mindhost_plugin_api::Dialect;

    fn value(sql: &str) -> Value {
        Value {
            sql: sql.to_owned(),
            kind: Kind::Integer,
        }
    }

    fn of(keys: &[(i64, i64)]) -> Option<Vec<String>> {
        let columns = [value("a"), value("b")];
        let inputs = [];
        let scope = Scope::exact(Dialect::Postgresql, &inputs);
        let key = |(a, b): &(i64, i64)| vec![value(&a.to_string()), value(&b.to_string())];
        let keys: Vec<Vec<Value>> = keys.iter().map(key).collect();
        conditions(&columns, &keys, &scope)
    }

    #[test]
    fn pairs_are_grouped_by_the_column_with_fewer_values() {
        let conditions = of(&[(1, 7), (2, 7), (3, 8), (1, 7)]).unwrap();
        assert_eq!(
            conditions,
            ["(((b = 7) AND (a IN (1, 2))) OR ((b = 8) AND (a IN (3))))"]
        );
    }

    #[test]
    fn many_pairs_are_a_list_for_each_column() {
        let keys: Vec<(i64, i64)> = (0..100).map(|key| (key, key + 1_000)).collect();
        let conditions = of(&keys).unwrap();
        assert_eq!(conditions.len(), 2);
        assert!(conditions[0].starts_with("(a IN (0, 1, "));
        assert!(conditions[1].starts_with("(b IN (1000, 1001, "));
    }

    #[test]
    fn no_pairs_are_no_condition() {
        assert_eq!(of(&[]), None);
    }
}
