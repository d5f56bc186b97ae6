//! Statements mean what SQL says. DataFusion takes some forms for something else: those that can be written in another
//! way are, and the others are refused ([`refused`]).

pub mod calls;
pub mod common_conditions;
mod comparisons;
mod correlated_keys;
mod correlations;
mod division;
pub mod exists;
pub mod exponents;
pub mod fetch;
pub mod floats;
mod implied_groups;
mod interval_length;
pub mod interval_products;
pub mod interval_texts;
pub mod keys;
mod lifted_lookups;
pub mod lookups;
pub mod membership;
pub mod merged_columns;
mod narrowing;
pub mod natural;
pub mod no_rows;
pub mod outer_constants;
mod patterns;
pub mod reals;
pub mod refused;
mod rounding;
pub mod row_groups;
mod scalar;
pub mod similar;
mod sort_keys;
mod templates;
pub mod text_length;
mod texts;
mod times;
pub mod truth_texts;
mod truth_values;
pub mod unjoined;
mod unknown;
mod using_wildcard;
pub mod with_names;
mod zeros;

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

pub use zeros::ZerosOfLists;

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
                let part = comparisons::exact(part, schema).map(rounding::fixed_digits)?;
                let part = rounding::half_to_even(part, schema);
                zeros::equal(sort_keys::of_aggregate(part), schema)
            })?;
            // What stands above compares the columns by their new types.
            node.map_data(LogicalPlan::recompute_schema)?
                .map_data(sort_keys::of_distinct)?
                .map_data(comparisons::exact_join)?
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
            unjoined::check_lateral(&node)?;
            let node = match node {
                LogicalPlan::Filter(filter) => unknown::told_from_false(filter)?,
                other => truth_values::counted(other)?,
            };
            // Those in an order are told by another name: what they use may stand below it.
            let is_ordered = matches!(node, LogicalPlan::Sort(_) | LogicalPlan::Distinct(_));
            expressions(node, |part, schema| {
                if !is_ordered {
                    correlations::check_reach(&part, schema)?;
                }
                unjoined::check_value(&part)?;
                let part = texts::of_postgresql(narrowing::kept(part, schema), schema);
                correlations::unambiguous(part)
            })?
            .map_data(LogicalPlan::recompute_schema)
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
    let mut changed = |expr: Expr| -> Result<Transformed<Expr>> {
        let name = names.save(&expr);
        let changed = expr.transform_up(|part| change(part, &schema).map(Transformed::yes))?;
        Ok(changed.update_data(|expr| name.restore(expr)))
    };
    node.map_expressions(|expr| match expr {
        // Each of its columns has a name, and it has none.
        Expr::GroupingSet(_) => expr.map_children(&mut changed),
        // Its arguments are columns of the grouping sets, by their names.
        Expr::AggregateFunction(ref function) if function.func.name() == GROUPING => {
            let name = names.save(&expr);
            let inner = expr.map_children(&mut changed)?;
            Ok(inner.update_data(|expr| name.restore(expr)))
        }
        other => changed(other),
    })
}

/// The function that says which columns a grouping set has.
const GROUPING: &str = "grouping";

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
    let lifted: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(lifted_lookups::LiftedLookups);
    let before: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(BeforeCasts);
    let after: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(AfterCasts);
    let keys: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(keys::ForgetKeys);
    [lifted, before]
        .into_iter()
        .chain(rules)
        .chain([after, keys])
}
