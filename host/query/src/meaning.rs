//! Statements mean what SQL says. DataFusion takes some forms for something else: those that can be written in another
//! way are, and the others are refused ([`refused`]).

mod comparisons;
mod correlations;
mod division;
pub mod exponents;
mod interval_length;
pub mod keys;
pub mod merged_columns;
mod narrowing;
pub mod outer_constants;
mod patterns;
pub mod refused;
mod rounding;
pub mod similar;
pub mod text_length;
mod times;
mod truth_values;
mod unknown;
mod using_wildcard;

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::{
        Expr, LogicalPlan, Operator, expr_rewriter::NamePreserver, utils::merge_schema,
    },
    optimizer::AnalyzerRule,
};

/// Before DataFusion casts the sides of comparisons and the arguments of functions to common types.
#[derive(Debug)]
pub struct BeforeCasts;

/// After it did.
#[derive(Debug)]
pub struct AfterCasts;

impl AnalyzerRule for BeforeCasts {
    fn name(&self) -> &'static str {
        "meaning_before_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let node = expressions(node, |part, schema| {
                let part = times::exact(part, schema)?;
                let part = division::exact(part, schema)?;
                comparisons::exact(part, schema).map(rounding::fixed_digits)
            })?;
            node.map_data(comparisons::exact_join)?
                .map_data(comparisons::exact_union)
        })
        .data()
    }
}

impl AnalyzerRule for AfterCasts {
    fn name(&self) -> &'static str {
        "meaning_after_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let node = match node {
                LogicalPlan::Filter(filter) => unknown::told_from_false(filter)?,
                other => truth_values::counted(other)?,
            };
            expressions(node, |part, schema| {
                correlations::unambiguous(narrowing::kept(part, schema))
            })
        })
        .data()
    }
}

/// Changes each expression of an operator from the leaves up, and keeps the names of its columns.
fn expressions(
    node: LogicalPlan,
    mut change: impl FnMut(Expr, &DFSchema) -> Result<Expr>,
) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&node.inputs());
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|part| change(part, &schema).map(Transformed::yes))?;
        Ok(changed.update_data(|expr| name.restore(expr)))
    })
}

/// Of two values of one type.
pub fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(
        op,
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

/// The analyzer rules with these before and after.
pub fn around(
    rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
) -> impl Iterator<Item = Arc<dyn AnalyzerRule + Send + Sync>> {
    let before: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(BeforeCasts);
    let after: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(AfterCasts);
    let keys: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(keys::ForgetKeys);
    [before].into_iter().chain(rules).chain([after, keys])
}
