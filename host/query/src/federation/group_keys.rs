//! Joins with the groups of several datasources, by the keys of the groups alone.
//!
//! A join tells the scans below its other side the keys that it found, all in one condition. Below the groups such a
//! condition can stand only if it is about their keys: which rows of a group are read must not depend on what is
//! computed of them. So what is computed is compared behind the keys, as a filter of the join, and the condition is
//! about the keys. What the join keeps is the same.

use std::collections::BTreeSet;

use datafusion::{
    common::{
        Column, JoinType, NullEquality, Result,
        tree_node::{Transformed, TransformedResult as _, TreeNodeRecursion},
    },
    logical_expr::{Aggregate, Expr, ExprSchemable as _, Join, LogicalPlan, utils::conjunction},
};

use super::{
    estimates,
    sources::{RemoteTable, with_table},
};

/// The plan with such joins.
pub fn join_by_group_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) => Ok(by_group_keys(join)?.update_data(LogicalPlan::Join)),
        other => Ok(Transformed::no(other)),
    })
    .data()
}

fn by_group_keys(mut join: Join) -> Result<Transformed<Join>> {
    let is_plain = matches!(join.join_type, JoinType::Inner | JoinType::LeftSemi)
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware;
    if !is_plain {
        return Ok(Transformed::no(join));
    }
    // The larger side is told the keys of the smaller one.
    let is_right = estimates::plan(&join.left).rows <= estimates::plan(&join.right).rows;
    let of_groups = |(left, right): &(Expr, Expr)| match is_right {
        true => origin(&join.right, right),
        false => origin(&join.left, left),
    };
    let mut on = Vec::new();
    let mut moved = Vec::new();
    for pair in &join.on {
        // Equality of other types might not be that of keys: floats have two zeros.
        let data_type = pair.0.get_type(join.left.schema())?;
        let is_exact = !data_type.is_floating() && !data_type.is_nested();
        match of_groups(pair) == Origin::Computed && is_exact {
            true => moved.push(pair.0.clone().eq(pair.1.clone())),
            false => on.push(pair.clone()),
        }
    }
    let has_key = on.iter().any(|pair| of_groups(pair) == Origin::Key);
    if moved.is_empty() || !has_key {
        return Ok(Transformed::no(join));
    }
    join.on = on;
    join.filter = conjunction(join.filter.into_iter().chain(moved));
    Ok(Transformed::yes(join))
}

/// Where a column of a plan comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It is a key of groups of several datasources.
    Key,
    /// It is computed of such groups.
    Computed,
    Other,
}

fn origin(plan: &LogicalPlan, expr: &Expr) -> Origin {
    let Expr::Column(column) = expr else {
        return Origin::Other;
    };
    let Some(index) = plan.schema().maybe_index_of_column(column) else {
        return Origin::Other;
    };
    match plan {
        LogicalPlan::Aggregate(aggregate) if is_in_host(aggregate) => {
            match index < aggregate.group_expr.len() {
                true => Origin::Key,
                false => Origin::Computed,
            }
        }
        LogicalPlan::Projection(projection) => match projection.expr.get(index) {
            Some(Expr::Alias(alias)) => origin(&projection.input, &alias.expr),
            Some(expr) => origin(&projection.input, expr),
            None => Origin::Other,
        },
        LogicalPlan::SubqueryAlias(alias) => {
            let (relation, field) = alias.input.schema().qualified_field(index);
            let column = Column::new(relation.cloned(), field.name());
            origin(&alias.input, &Expr::Column(column))
        }
        LogicalPlan::Filter(filter) => origin(&filter.input, expr),
        _ => Origin::Other,
    }
}

/// Whether the groups are surely computed in the host. A datasource that computes them takes conditions on all columns.
fn is_in_host(aggregate: &Aggregate) -> bool {
    let (mut groups, mut joins) = (Vec::new(), BTreeSet::new());
    // Looking never fails.
    let _ = aggregate.input.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            groups.push(with_table(scan, RemoteTable::takes_groups).unwrap_or_default());
            let source = with_table(scan, |table| table.takes_joins().then_some(table.index));
            joins.insert(source.flatten());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    match groups.as_slice() {
        [takes_groups] => !takes_groups,
        _ => joins.len() > 1 || joins.contains(&None),
    }
}
