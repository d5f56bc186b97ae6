//! Values of subqueries as conditions for the datasource whose rows are compared with them.
//!
//! DataFusion computes a subquery that does not depend on the statement around it before that begins
//! ([`ScalarSubqueryExpr`]). So its value is known when a scan sends its statement, and is a constant there.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{RecordBatch, RecordBatchOptions},
        datatypes::Schema,
    },
    common::{
        Result, ScalarValue,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _},
    },
    logical_expr::ColumnarValue,
    physical_expr::{
        PhysicalExpr, scalar_subquery::ScalarSubqueryExpr, split_conjunction,
        utils::collect_columns,
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, filter::FilterExec, replace_children_if_necessary},
};

use super::remote::RemoteExec;

type Rules = Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>;

/// The rules of the physical plan, and one that tells scans the conditions above them with values of subqueries.
pub fn told_subquery_values(mut rules: Rules) -> Rules {
    // Nothing stands between a scan and its conditions yet.
    rules.insert(0, Arc::new(TellSubqueryValues));
    rules
}

/// Tells scans the conditions above them that use the value of a subquery. These stay where they are, so the scan may
/// give more rows.
#[derive(Debug)]
struct TellSubqueryValues;

impl PhysicalOptimizerRule for TellSubqueryValues {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else {
                return Ok(Transformed::no(node));
            };
            let Some(scan) = filter.input().downcast_ref::<RemoteExec>() else {
                return Ok(Transformed::no(node));
            };
            let conditions = split_conjunction(filter.predicate()).into_iter();
            let conditions: Vec<_> = conditions
                .filter(|one| has_subquery(one))
                .cloned()
                .collect();
            match scan.with_values(conditions) {
                Some(told) => {
                    replace_children_if_necessary(node, vec![Arc::new(told)]).map(Transformed::yes)
                }
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "tell_subquery_values"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn has_subquery(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.exists(|part| Ok(part.is::<ScalarSubqueryExpr>()))
        .unwrap_or(false)
}

/// The value of an expression that is the same for all rows and has been waiting for a subquery; `None` of any other
/// one, and while it is not known.
pub fn value(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    let is_volatile = expr.exists(|part| Ok(part.is_volatile_node())).ok()?;
    if is_volatile || !has_subquery(expr) || !collect_columns(expr).is_empty() {
        return None;
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one_row =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
    match expr.evaluate(&one_row.ok()?).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0).ok(),
    }
}
