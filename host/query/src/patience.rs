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
    optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::ExecutionPlan,
};

use super::{
    pieces::Pieces,
    scheduler::{Share, SlicedExec},
    size,
    steps::may_go_on,
};

type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;
type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rules that make sense of names and types.
pub fn analyzer(rules: Vec<Analysis>) -> Vec<Analysis> {
    let bounded = |rule: Analysis| -> Analysis { Arc::new(Bounded(rule)) };
    rules.into_iter().map(bounded).collect()
}

/// The rules of the logical plan.
pub fn logical(rules: Vec<Logical>) -> Vec<Logical> {
    let bounded = |rule: Logical| -> Logical { Arc::new(Bounded(rule)) };
    rules.into_iter().map(bounded).collect()
}

/// The rules of the physical plan. Filters are pushed into scans before; what the rules here would push later no scan
/// takes.
pub fn physical(rules: Vec<Physical>, share: &Arc<Share>) -> Vec<Physical> {
    let is_wanted = |rule: &Physical| !rule.name().starts_with("FilterPushdown");
    let bounded = |rule: Physical| -> Physical { Arc::new(Bounded(rule)) };
    let mut rules: Vec<_> = rules.into_iter().filter(is_wanted).map(bounded).collect();
    rules.push(Arc::new(TurnsBack(Arc::clone(share))));
    rules
}

/// A rule that is not begun when the time of the statement is over. Planning is one long computation, and this is where
/// it can end.
#[derive(Debug)]
struct Bounded<R>(R);

impl AnalyzerRule for Bounded<Analysis> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        may_go_on(config)?;
        self.0.analyze(plan, config)
    }
}

/// Called for each node of the plan. A rule that writes expressions into filters is left out where they would become too
/// long.
impl OptimizerRule for Bounded<Logical> {
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
        may_go_on(&config.options())?;
        match self.name() == "push_down_filter" && size::would_outgrow(&plan) {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

impl PhysicalOptimizerRule for Bounded<Physical> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        may_go_on(config)?;
        self.0.optimize(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Operators that make many batches out of one give their turn back between them, and their rows in pieces.
#[derive(Debug)]
struct TurnsBack(Arc<Share>);

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
                true => {
                    let pieces = Arc::new(Pieces::new(node));
                    Transformed::yes(Arc::new(SlicedExec::new(pieces, Arc::clone(&self.0))) as _)
                }
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
