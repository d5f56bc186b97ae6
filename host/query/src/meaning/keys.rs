//! What a join makes of the keys of groups.
//!
//! Groups have a key: no two rows have the same. DataFusion knows that, and goes on knowing it above a join that repeats
//! such rows: it then sorts, groups and removes duplicates by the key alone. So the inputs of joins that have groups stand
//! below a node that tells of no key, until the plan is optimised.

use std::{cmp::Ordering, fmt, sync::Arc};

use datafusion::{
    common::{
        DFSchemaRef, FunctionalDependencies, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion},
    },
    logical_expr::{Expr, Extension, Join, LogicalPlan, UserDefinedLogicalNodeCore},
    optimizer::AnalyzerRule,
};

/// Puts the node below joins.
#[derive(Debug)]
pub struct ForgetKeys;

impl AnalyzerRule for ForgetKeys {
    fn name(&self) -> &'static str {
        "forget_keys"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Join(join) => Ok(Transformed::yes(LogicalPlan::Join(without_keys(join)?))),
            other => other.recompute_schema().map(Transformed::yes),
        })
        .data()
    }
}

/// The plan without such nodes, once it is optimised.
pub fn optimised(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down_with_subqueries(|node| {
        Ok(match &node {
            LogicalPlan::Extension(Extension { node: own }) => {
                match own.as_any().downcast_ref::<Keyless>() {
                    Some(keyless) => Transformed::yes((*keyless.input).clone()),
                    None => Transformed::no(node),
                }
            }
            _ => Transformed::no(node),
        })
    })
    .data()
}

fn without_keys(join: Join) -> Result<Join> {
    Join::try_new(
        keyless(join.left)?,
        keyless(join.right)?,
        join.on,
        join.filter,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )
}

fn keyless(input: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    if !has_key(&input) || is_correlated(&input)? {
        return Ok(input);
    }
    Ok(Arc::new(LogicalPlan::Extension(Extension {
        node: Arc::new(Keyless::over(input)?),
    })))
}

/// Whether it gives groups or different rows, and not by a join, whose inputs are looked at by themselves.
fn has_key(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) => true,
        LogicalPlan::Join(_) | LogicalPlan::Extension(_) => false,
        other => other.inputs().into_iter().any(has_key),
    }
}

/// Whether it uses columns of the statement around it. What pulls these up has to see the nodes.
fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        found |= node.contains_outer_reference();
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// The same rows, without a key.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Keyless {
    input: Arc<LogicalPlan>,
    schema: DFSchemaRef,
}

impl Keyless {
    fn over(input: Arc<LogicalPlan>) -> Result<Self> {
        let schema = input.schema().as_ref().clone();
        let schema = schema.with_functional_dependencies(FunctionalDependencies::empty())?;
        Ok(Self {
            input,
            schema: Arc::new(schema),
        })
    }
}

impl fmt::Debug for Keyless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyless")
    }
}

impl PartialOrd for Keyless {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for Keyless {
    fn name(&self) -> &str {
        "Keyless"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.into_iter().next() {
            Some(input) => Self::over(Arc::new(input)),
            None => Ok(self.clone()),
        }
    }

    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        std::collections::HashSet::new()
    }

    fn necessary_children_exprs(&self, columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![columns.to_vec()])
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }
}
