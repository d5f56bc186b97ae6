//! What operators that pass on the rows of one input have in common.

/// The methods of `ExecutionPlan` of an operator with a field `input`, whose rows it gives in the same order and
/// partitions. The operator must be `Clone`; it computes no expression.
macro_rules! passes_rows_of_input {
    ($name:literal) => {
        fn name(&self) -> &str {
            $name
        }

        fn properties(&self) -> &Arc<datafusion::physical_plan::PlanProperties> {
            self.input.properties()
        }

        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            vec![&self.input]
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> Result<datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: Arc<Self>,
            mut children: Vec<Arc<dyn ExecutionPlan>>,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(match children.pop() {
                Some(input) => {
                    let mut over = Self::clone(&self);
                    over.input = input;
                    Arc::new(over)
                }
                None => self,
            })
        }
    };
}

pub(crate) use passes_rows_of_input;
