//! `SELECT *` over joins with `USING`: the columns that are one of two come first, then those of each table, as in
//! PostgreSQL. DataFusion leaves out that of the table whose name comes later in the alphabet, which has no value where an
//! outer join has no row of the other.

use std::collections::HashMap;

use sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, WildcardAdditionalOptions,
};

use super::merged_columns::only_part;
use crate::names::folded;

/// What `*` stands for.
pub struct Columns {
    /// The names of those that are one of two.
    merged: Vec<String>,
    tables: Vec<Table>,
}

struct Table {
    name: ObjectName,
    /// The names of its columns that are merged.
    merged: Vec<String>,
}

impl Columns {
    /// Those of a FROM. `None` where no join merges columns, or where the statement alone does not say which.
    pub fn of(select: &Select) -> Option<Self> {
        let [from] = select.from.as_slice() else {
            return None;
        };
        let mut columns = Self {
            merged: Vec::new(),
            tables: vec![Table::of(&from.relation)?],
        };
        for join in &from.joins {
            let mut table = Table::of(&join.relation)?;
            let names = match by(&join.join_operator)? {
                JoinConstraint::Using(names) => names.as_slice(),
                JoinConstraint::On(_) | JoinConstraint::None => &[],
                JoinConstraint::Natural => return None,
            };
            let mut merged = Vec::new();
            for name in names {
                let key = folded(only_part(name)?);
                match columns.merged.iter().position(|known| *known == key) {
                    Some(at) => _ = columns.merged.remove(at),
                    None => match columns.tables.as_mut_slice() {
                        [only] => only.merged.push(key.clone()),
                        // Any of these tables may have it.
                        _ => return None,
                    },
                }
                table.merged.push(key.clone());
                merged.push(key);
            }
            merged.append(&mut columns.merged);
            columns.merged = merged;
            columns.tables.push(table);
        }
        (!columns.merged.is_empty()).then_some(columns)
    }

    /// Puts them in the place of each `*`. `values` are those of the merged columns.
    pub fn put_into(&self, list: &mut Vec<SelectItem>, values: &HashMap<String, Expr>) {
        let items = std::mem::take(list);
        for item in items {
            match item {
                SelectItem::Wildcard(_) => list.extend(self.items(values)),
                other => list.push(other),
            }
        }
    }

    fn items(&self, values: &HashMap<String, Expr>) -> Vec<SelectItem> {
        let merged = self.merged.iter().map(|name| match values.get(name) {
            Some(column @ Expr::CompoundIdentifier(_)) => SelectItem::UnnamedExpr(column.clone()),
            Some(value) => SelectItem::ExprWithAlias {
                expr: value.clone(),
                alias: quoted(name),
            },
            None => SelectItem::UnnamedExpr(Expr::Identifier(quoted(name))),
        });
        let tables = self.tables.iter().map(|table| {
            let names = table.merged.iter();
            let names: Vec<_> = names.map(|name| vec![Ident::new(name)].into()).collect();
            let options = WildcardAdditionalOptions {
                opt_exclude: (!names.is_empty()).then_some(ExcludeSelectItem::Multiple(names)),
                ..WildcardAdditionalOptions::default()
            };
            let name = SelectItemQualifiedWildcardKind::ObjectName(table.name.clone());
            SelectItem::QualifiedWildcard(name, options)
        });
        merged.chain(tables).collect()
    }
}

/// Whether the list has a `*` without conditions of its own.
pub fn is_in(list: &[SelectItem]) -> bool {
    list.iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_)))
}

impl Table {
    fn of(table: &TableFactor) -> Option<Self> {
        let name = match table {
            TableFactor::Table {
                alias: Some(alias), ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            } => vec![alias.name.clone()].into(),
            TableFactor::Table { name, .. } => name.clone(),
            _ => return None,
        };
        Some(Self {
            name,
            merged: Vec::new(),
        })
    }
}

fn by(join: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator::{CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    match join {
        Join(by) | Inner(by) | Left(by) | LeftOuter(by) | Right(by) | RightOuter(by)
        | FullOuter(by) | CrossJoin(by) => Some(by),
        _ => None,
    }
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
