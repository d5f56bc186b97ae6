//! An operator that stops filters on their way down.

use std::{collections::HashSet, fmt, sync::Arc};

use datafusion::{
    common::{Result, config::ConfigOptions},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan,
        filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase},
    },
};

use crate::pass_through::passes_rows_of_input;

/// The same rows. No filter about some of its columns passes.
#[derive(Clone, Debug)]
pub struct SieveExec {
    input: Arc<dyn ExecutionPlan>,
    /// The places of the columns whose filters do.
    open: HashSet<usize>,
}

impl SieveExec {
    /// Stops the filters about columns with one of these names.
    pub fn new(input: Arc<dyn ExecutionPlan>, closed: &HashSet<String>) -> Self {
        let schema = input.schema();
        let fields = schema.fields().iter().enumerate();
        let open = fields
            .filter(|(_, field)| !closed.contains(field.name()))
            .map(|(index, _)| index)
            .collect();
        Self { input, open }
    }
}

impl DisplayAs for SieveExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SieveExec")
    }
}

impl ExecutionPlan for SieveExec {
    passes_rows_of_input!("SieveExec");

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let open = self.open.clone();
        let passing =
            ChildFilterDescription::from_child_with_allowed_indices(&filters, open, &self.input)?;
        Ok(FilterDescription::new().with_child(passing))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
