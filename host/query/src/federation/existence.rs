//! Moves a semi or anti join down to the table that it asks about, so that their datasource can do both.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use datafusion::{
    common::{
        Column, ExprSchema as _, NullEquality, Result,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::{Expr, Join, JoinType, LogicalPlan},
};

use super::{
    cut::joinable_source,
    regroup::{is_choice, is_plain},
};

/// A semi or anti join above a chain, moved down to the input that it asks about, if that is of its own datasource: an
/// inner join keeps or drops such a row whatever else it is joined with.
pub fn sunk(plan: LogicalPlan) -> Result<LogicalPlan> {
    if let LogicalPlan::Join(join) = &plan
        && is_existence(join)
    {
        let left = sunk((*join.left).clone())?;
        if let Some(of) = joinable_source(&join.right)
            && let Some(sunk) = sink(&left, join, of)?
        {
            return Ok(sunk);
        }
    }
    Ok(plan)
}

fn has(plan: &LogicalPlan, column: &Column) -> bool {
    plan.schema().maybe_index_of_column(column).is_some()
}

fn sink(plan: &LogicalPlan, existence: &Join, of: usize) -> Result<Option<LogicalPlan>> {
    let inputs: Vec<&LogicalPlan> = match plan {
        LogicalPlan::Join(join) if is_plain(join) => vec![&join.left, &join.right],
        LogicalPlan::Projection(projection) if is_choice(projection) => vec![&projection.input],
        other if joinable_source(other) == Some(of) => {
            let mut join = existence.clone();
            join.schema = Arc::clone(other.schema());
            join.left = Arc::new(other.clone());
            return Ok(Some(LogicalPlan::Join(join)));
        }
        _ => return Ok(None),
    };
    for (index, input) in inputs.iter().enumerate() {
        if let Some(existence) = asked_of(existence, plan, input)?
            && let Some(sunk) = sink(input, &existence, of)?
        {
            let mut inputs: Vec<LogicalPlan> = inputs.iter().copied().cloned().collect();
            if let Some(input) = inputs.get_mut(index) {
                *input = sunk;
            }
            return plan.with_new_exprs(plan.expressions(), inputs).map(Some);
        }
    }
    Ok(None)
}

/// The same question about one input of a plan; `None` if it is about others too. In place of a column of another
/// input stands one of this input that the plan, if it is an inner join, makes equal to it.
fn asked_of(existence: &Join, plan: &LogicalPlan, input: &LogicalPlan) -> Result<Option<Join>> {
    let asked = existence.on.iter().map(|(left, _)| left);
    let columns = asked.chain(&existence.filter).flat_map(Expr::column_refs);
    let columns: BTreeSet<&Column> = columns.filter(|column| has(plan, column)).collect();
    let mut places = BTreeMap::new();
    for column in &columns {
        if !has(input, column) {
            let Some(equal) = equal_column(plan, column, input)? else {
                return Ok(None);
            };
            places.insert((*column).clone(), equal);
        }
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let in_place = |expr: Expr| {
        let placed = expr.transform(|expr| {
            let place = match &expr {
                Expr::Column(column) => places.get(column),
                _ => None,
            };
            let place = place.map(|place| Transformed::yes(Expr::Column(place.clone())));
            Ok(place.unwrap_or_else(|| Transformed::no(expr)))
        });
        placed.data()
    };
    let mut join = existence.clone();
    let on = join.on.into_iter();
    let on = on.map(|(left, right)| Ok((in_place(left)?, right)));
    join.on = on.collect::<Result<_>>()?;
    join.filter = join.filter.map(in_place).transpose()?;
    Ok(Some(join))
}

/// A column of an input of an inner join whose values are exactly those of a column of the other input.
fn equal_column(
    plan: &LogicalPlan,
    column: &Column,
    input: &LogicalPlan,
) -> Result<Option<Column>> {
    let LogicalPlan::Join(join) = plan else {
        return Ok(None);
    };
    for (left, right) in &join.on {
        let (Expr::Column(left), Expr::Column(right)) = (left, right) else {
            continue;
        };
        let equal = match column {
            column if column == left => right,
            column if column == right => left,
            _ => continue,
        };
        let types = [column, equal].map(|column| plan.schema().data_type(column));
        let [one, other] = types;
        let (one, other) = (one?, other?);
        // Equal floats may still differ: there are two zeros.
        if has(input, equal) && one == other && !one.is_floating() && !one.is_nested() {
            return Ok(Some(equal.clone()));
        }
    }
    Ok(None)
}

/// Whether it keeps rows of its left side by whether the right side has such rows.
fn is_existence(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware
}
