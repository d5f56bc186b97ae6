//! From a plan with statements in it to operators that run.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::Result,
    execution::{SessionState, context::QueryPlanner},
    logical_expr::{
        LogicalPlan, UserDefinedLogicalNode, physical_planning_context::PhysicalPlanningContext,
    },
    optimizer::{Optimizer, optimize_projections::OptimizeProjections},
    physical_plan::ExecutionPlan,
    physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner},
};

use super::{
    Sources,
    cut::{Cutter, Remote},
    group_keys::join_by_group_keys,
    regroup::regroup,
    remote::RemoteExec,
};
use mindhost_base::locks::lock;

/// Orders the joins of an optimised plan anew and cuts it.
pub fn cut_plan(
    state: &SessionState,
    optimised: LogicalPlan,
    sources: &Sources,
) -> Result<LogicalPlan> {
    // The new order needs other columns in between. Other rules would bring the old order back.
    let columns = Optimizer::with_rules(vec![Arc::new(OptimizeProjections::new())]);
    let regrouped = join_by_group_keys(regroup(optimised)?)?;
    let regrouped = columns.optimize(regrouped, state, |_, _| {})?;
    Cutter::new(&mut lock(&sources.names)).cut(&regrouped)
}

/// A planner that knows the statements of a plan.
pub fn planner(sources: &Arc<Sources>) -> Arc<dyn QueryPlanner + Send + Sync> {
    Arc::new(Planner(Arc::clone(sources)))
}

#[derive(Debug)]
struct Planner(Arc<Sources>);

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let remotes = Arc::new(Remotes(Arc::clone(&self.0)));
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![remotes]);
        planner.create_physical_plan(plan, session).await
    }
}

struct Remotes(Arc<Sources>);

#[async_trait]
impl ExtensionPlanner for Remotes {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        _: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(remote) = node.as_any().downcast_ref::<Remote>() else {
            return Ok(None);
        };
        let schema = Arc::clone(node.schema().inner());
        let exec = RemoteExec::new(Arc::clone(&self.0), Arc::clone(&remote.select), schema);
        Ok(Some(Arc::new(exec)))
    }
}
