//! What keeps a statement that computes for long from being in the way: it gives its turn back often, and so can be
//! ended; and plans do not grow beyond what their text explains.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::LogicalPlan,
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, coop::CooperativeExec},
};

use super::{pieces::Pieces, size};

type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rules of the logical plan.
pub fn logical(rules: Vec<Logical>) -> Vec<Logical> {
    let measured = |rule: Logical| match rule.name() {
        "push_down_filter" => Arc::new(Measured(rule)),
        _ => rule,
    };
    rules.into_iter().map(measured).collect()
}

/// A rule that writes expressions into filters, left out where they would become too long.
#[derive(Debug)]
struct Measured(Logical);

impl OptimizerRule for Measured {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match size::would_outgrow(&plan) {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

/// The rules of the physical plan. Filters are pushed into scans before; what the rules here would push later no scan
/// takes.
pub fn physical(rules: Vec<Physical>) -> Vec<Physical> {
    let is_wanted = |rule: &Physical| !rule.name().starts_with("FilterPushdown");
    let mut rules: Vec<_> = rules.into_iter().filter(is_wanted).collect();
    rules.push(Arc::new(TurnsBack));
    rules
}

/// Operators that make many batches out of one give their turn back between them, and their rows in pieces.
#[derive(Debug)]
struct TurnsBack;

/// Filters are among them because they put pieces together again.
const MULTIPLYING: [&str; 8] = [
    "CrossJoinExec",
    "FilterExec",
    "HashJoinExec",
    "LazyMemoryExec",
    "NestedLoopJoinExec",
    "PiecewiseMergeJoinExec",
    "SortMergeJoinExec",
    "UnnestExec",
];

impl PhysicalOptimizerRule for TurnsBack {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match MULTIPLYING.contains(&node.name()) {
                true => Transformed::yes(
                    Arc::new(CooperativeExec::new(Arc::new(Pieces::new(node)))) as _,
                ),
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "turns_back"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
