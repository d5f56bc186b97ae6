//! Splits batches by the size of their text.
//!
//! Text between operators is views, so a join repeats it without a copy. The next operator may copy each view. So the
//! batches of joins and filters are split into pieces whose copied text has a bounded size.

use std::{fmt, sync::Arc};

use datafusion::{
    arrow::{
        array::{Array, AsArray, RecordBatch},
        datatypes::DataType,
    },
    common::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, stream::RecordBatchStreamAdapter,
    },
};
use futures_util::{StreamExt as _, stream};

use crate::pass_through::passes_rows_of_input;

/// Bytes of copied text per piece. A single row may have more.
const MAX_BYTES: usize = 16 << 20;

/// Splits a batch with much text.
pub fn cut(batch: &RecordBatch) -> Vec<RecordBatch> {
    let mut cuts = vec![0];
    let mut bytes = 0;
    let is_large = batch.columns().iter().map(total).sum::<usize>() > MAX_BYTES;
    for row in (0..batch.num_rows()).filter(|_| is_large) {
        let row_bytes: usize = batch.columns().iter().map(|column| cell(column, row)).sum();
        if bytes > 0 && bytes + row_bytes > MAX_BYTES {
            cuts.push(row);
            bytes = 0;
        }
        bytes += row_bytes;
    }
    let ends = cuts.iter().copied().skip(1).chain([batch.num_rows()]);
    let pieces = cuts.iter().copied().zip(ends);
    pieces
        .map(|(from, to)| batch.slice(from, to - from))
        .collect()
}

/// Bytes of all text of a column, with every repetition.
pub fn total(column: &Arc<dyn Array>) -> usize {
    match column.data_type() {
        DataType::Utf8View => lengths(column.as_string_view().views()),
        DataType::BinaryView => lengths(column.as_binary_view().views()),
        _ => 0,
    }
}

/// The length of a text, which is in the lower half of its view.
fn lengths(views: &[u128]) -> usize {
    views.iter().map(|view| *view as u32 as usize).sum()
}

fn cell(column: &Arc<dyn Array>, row: usize) -> usize {
    let view = match column.data_type() {
        DataType::Utf8View => column.as_string_view().views().get(row),
        DataType::BinaryView => column.as_binary_view().views().get(row),
        _ => None,
    };
    view.map_or(0, |view| *view as u32 as usize)
}

/// An operator that splits the batches of its input.
#[derive(Clone, Debug)]
pub struct SplitExec {
    input: Arc<dyn ExecutionPlan>,
}

impl SplitExec {
    /// Wraps an operator.
    pub fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { input }
    }
}

impl DisplayAs for SplitExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SplitExec")
    }
}

impl ExecutionPlan for SplitExec {
    passes_rows_of_input!("SplitExec");

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batches = self.input.execute(partition, context)?;
        let schema = batches.schema();
        let pieces = batches.flat_map(|batch| {
            stream::iter(match batch {
                Ok(batch) => cut(&batch).into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, pieces)))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::{
        array::StringViewArray,
        datatypes::{Field, Schema},
    };

    use super::*;

    fn batch(lengths: &[usize]) -> RecordBatch {
        let texts = lengths.iter().map(|length| Some("x".repeat(*length)));
        let array = StringViewArray::from_iter(texts);
        let schema = Schema::new(vec![Field::new("t", DataType::Utf8View, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(array)]).unwrap()
    }

    fn rows(lengths: &[usize]) -> Vec<usize> {
        cut(&batch(lengths))
            .iter()
            .map(RecordBatch::num_rows)
            .collect()
    }

    #[test]
    fn batches_are_cut_where_their_texts_are_large() {
        let half = MAX_BYTES / 2;
        assert_eq!(rows(&[]), [0]);
        assert_eq!(rows(&[1; 5_000]), [5_000]);
        assert_eq!(rows(&[half, half, 1]), [2, 1]);
        assert_eq!(rows(&[1, MAX_BYTES + 1, 1]), [1, 1, 1]);
    }
}
