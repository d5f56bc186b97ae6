//! Limits on the size of a plan, checked before planning: the planner inlines each WITH at every mention, so a short
//! text can become a plan that exceeds the memory.

use std::{collections::HashMap, ops::ControlFlow};

use datafusion::{
    common::tree_node::{TreeNode as _, TreeNodeRecursion},
    logical_expr::{Expr, LogicalPlan},
};
use sqlparser::ast::{ObjectName, Query, Statement, Visit as _, Visitor};

use mindhost_base::error::{Code, Error, Result};

/// Tables that a statement may read, with every WITH inlined.
const MAX_TABLES: u64 = 500;
/// Nodes of a filter after pushdown.
const MAX_PARTS: usize = 20_000;
/// Depth of a filter after pushdown. Planning time is a power of it.
const MAX_DEPTH: usize = 200;

/// Refuses a statement that becomes too large with every WITH inlined.
pub fn check(statement: &Statement) -> Result<()> {
    let mut counter = TableCounter {
        names: HashMap::new(),
        weight: 0,
    };
    let _ = statement.visit(&mut counter);
    match counter.weight <= MAX_TABLES {
        true => Ok(()),
        false => Err(Error::new(
            Code::SqlNotSupported,
            format!(
                "the statement reads more than {MAX_TABLES} tables when each name of its WITH is written out; mention them less often"
            ),
        )),
    }
}

/// Counts tables. Ignores scopes: of several WITHs of one name, the largest counts.
struct TableCounter {
    names: HashMap<String, u64>,
    weight: u64,
}

impl Visitor for TableCounter {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let mut body = TableCounter {
                names: self.names.clone(),
                weight: 0,
            };
            let _ = cte.query.visit(&mut body);
            let name = cte.alias.name.value.to_lowercase();
            let known = self.names.entry(name).or_default();
            *known = body.weight.max(*known).max(1);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = match relation.0.as_slice() {
            [name] => name.as_ident().map(|name| name.value.to_lowercase()),
            _ => None,
        };
        let weight = name.and_then(|name| self.names.get(&name)).unwrap_or(&1);
        self.weight = self.weight.saturating_add(*weight);
        match self.weight > MAX_TABLES {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Whether a filter would become too large if the expressions of the node below replaced its columns.
pub fn would_outgrow(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else {
        return false;
    };
    let columns = parts(&filter.predicate, |part| matches!(part, Expr::Column(_)));
    let below = filter.input.expressions();
    let largest = below.iter().map(|expr| parts(expr, |_| true)).max();
    let deepest = below.iter().map(depth).max().unwrap_or(0);
    columns.saturating_mul(largest.unwrap_or(0)) > MAX_PARTS
        || depth(&filter.predicate).saturating_add(deepest) > MAX_DEPTH
}

fn depth(expr: &Expr) -> usize {
    let mut deepest = 0;
    // Looking never fails.
    let _ = expr.apply_children(|child| {
        deepest = deepest.max(depth(child));
        Ok(TreeNodeRecursion::Continue)
    });
    deepest + 1
}

fn parts(expr: &Expr, is_counted: impl Fn(&Expr) -> bool) -> usize {
    let mut count = 0;
    // Counting never fails.
    let _ = expr.apply(|part| {
        count += usize::from(is_counted(part));
        Ok(TreeNodeRecursion::Continue)
    });
    count
}

#[cfg(test)]
mod tests {
    use datafusion::{
        logical_expr::{LogicalPlanBuilder, Operator, binary_expr},
        prelude::{col, lit},
    };

    use super::*;

    /// A filter on a column that is computed in so many steps, each in the one before.
    fn filter(levels: usize) -> LogicalPlan {
        let deep = (1..levels).fold(lit("a"), |expr, _| {
            binary_expr(expr, Operator::StringConcat, lit("b"))
        });
        let rows = LogicalPlanBuilder::empty(true);
        let computed = rows.project([deep.alias("x")]).unwrap();
        computed
            .filter(col("x").eq(lit("a")))
            .unwrap()
            .build()
            .unwrap()
    }

    #[test]
    fn filter_that_would_become_deep_stays_where_it_is() {
        assert!(!would_outgrow(&filter(150)));
        assert!(would_outgrow(&filter(250)));
    }
}
