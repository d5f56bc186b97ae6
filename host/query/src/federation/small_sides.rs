//! The side of a join that is read first.
//!
//! DataFusion takes the one with fewer rows too, but it expects other numbers of rows than the order of the joins was
//! chosen by ([`estimates`]). Here both go by the same, so that the largest table of a chain is read last, with the
//! keys of all others.

use std::sync::Arc;

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        aggregates::{AggregateExec, AggregateOutputMode},
        coalesce_partitions::CoalescePartitionsExec,
        filter::FilterExec,
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode},
        placeholder_row::PlaceholderRowExec,
        projection::ProjectionExec,
    },
};

use super::estimates;

/// The rule of DataFusion behind which this one stands.
const BEFORE: &str = "join_selection";

/// Another plan for one operator, if there is a better one.
type Better = fn(&dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>>;

/// Puts the sides of joins the other way round where that is better.
#[derive(Debug)]
struct Sides {
    name: &'static str,
    better: Better,
}

type Rules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// The rules of the physical plan, and one that puts the smaller side of each join where it is read first, and lets that
/// side begin first.
pub fn small_sides_first(rules: Rules) -> Rules {
    with(rules, "small_sides_first", swapped)
}

/// The rules of the physical plan, and one that puts a side of one row where it is read first, so that the other side is
/// not kept. That is all that is known of tables without a catalog.
pub fn single_rows_first(rules: Rules) -> Rules {
    with(rules, "single_rows_first", with_single_row_first)
}

fn with(mut rules: Rules, name: &'static str, better: Better) -> Rules {
    if let Some(place) = rules.iter().position(|rule| rule.name() == BEFORE) {
        rules.insert(place + 1, Arc::new(Sides { name, better }));
    }
    rules
}

impl PhysicalOptimizerRule for Sides {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match (self.better)(node.as_ref())? {
                Some(better) => Transformed::yes(better),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A join without keys with its sides the other way round, if its right side alone is one row.
fn with_single_row_first(node: &dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>()
        && join.join_type().supports_swap()
        && is_single_row(join.right())
        && !is_single_row(join.left())
    {
        return join.swap_inputs().map(Some);
    }
    if let Some(join) = node.downcast_ref::<CrossJoinExec>()
        && is_single_row(join.right())
        && !is_single_row(join.left())
    {
        return join.swap_inputs().map(Some);
    }
    Ok(None)
}

/// Whether an operator gives one row at most, as an aggregate without groups does.
fn is_single_row(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<PlaceholderRowExec>() || plan.fetch() == Some(1) {
        return true;
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregate.group_expr().is_empty()
            && aggregate.mode().output_mode() == AggregateOutputMode::Final;
    }
    let keeps = plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<CoalescePartitionsExec>();
    keeps && plan.children().into_iter().all(is_single_row)
}

/// A join with its sides the other way round, if its right side is smaller; a cross join also as one that begins with its
/// left side.
fn swapped(node: &dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let can_swap = join.join_type().supports_swap() && !join.null_aware;
        return match can_swap && rows(join.left()) > rows(join.right()) {
            true => join.swap_inputs(PartitionMode::CollectLeft).map(Some),
            false => Ok(None),
        };
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        let can_swap = join.join_type().supports_swap();
        return match can_swap && rows(join.left()) > rows(join.right()) {
            true => join.swap_inputs().map(Some),
            false => Ok(None),
        };
    }
    let Some(join) = node.downcast_ref::<CrossJoinExec>() else {
        return Ok(None);
    };
    // `CrossJoinExec` begins with its right side, which it reads last. That side could take the only connection of a
    // datasource, and keep it while the left one waits for it.
    let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
    let must_swap = rows(&left) > rows(&right);
    let join = NestedLoopJoinExec::try_new(left, right, None, &JoinType::Inner, None)?;
    match must_swap {
        true => join.swap_inputs().map(Some),
        false => Ok(Some(Arc::new(join))),
    }
}

/// Rows that an operator gives, roughly.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    estimates::operator(plan).rows
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::datatypes::{DataType, Field, Schema},
        physical_plan::empty::EmptyExec,
    };

    use super::*;

    #[test]
    fn cross_join_begins_with_the_side_that_it_reads_first() {
        let table = |name: &str| -> Arc<dyn ExecutionPlan> {
            let field = Field::new(name, DataType::Int64, true);
            Arc::new(EmptyExec::new(Arc::new(Schema::new(vec![field]))))
        };
        let join = CrossJoinExec::new(table("a"), table("b"));
        let made = swapped(&join).unwrap().unwrap();
        let made = made.downcast_ref::<NestedLoopJoinExec>().unwrap();
        assert_eq!(made.left().schema().field(0).name(), "a");
        assert!(made.filter().is_none());
        assert_eq!(made.schema(), join.schema());
    }

    #[test]
    fn single_row_of_a_join_without_keys_is_read_first() {
        let schema =
            |name: &str| Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, true)]));
        let big: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(schema("big")));
        let one: Arc<dyn ExecutionPlan> = Arc::new(PlaceholderRowExec::new(schema("one")));
        let nested = |left: &Arc<dyn ExecutionPlan>, right: &Arc<dyn ExecutionPlan>| {
            let (left, right) = (Arc::clone(left), Arc::clone(right));
            NestedLoopJoinExec::try_new(left, right, None, &JoinType::Inner, None).unwrap()
        };
        let cross = CrossJoinExec::new(Arc::clone(&big), Arc::clone(&one));
        for join in [&cross as &dyn ExecutionPlan, &nested(&big, &one)] {
            let made = with_single_row_first(join).unwrap().unwrap();
            assert_eq!(made.schema(), join.schema());
            // Above it, the columns are put back in their order.
            let inner = made.children().into_iter().next().unwrap();
            assert_eq!(inner.schema().field(0).name(), "one");
        }
        let join = nested(&one, &big);
        assert!(with_single_row_first(&join).unwrap().is_none());
        let join = CrossJoinExec::new(Arc::clone(&one), one);
        assert!(with_single_row_first(&join).unwrap().is_none());
    }
}
