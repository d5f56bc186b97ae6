//! Files of columns: Parquet and Arrow IPC.
//!
//! A reader gives Arrow batches of the columns that a scan needs, as they are in the file. `predicate` drops rows,
//! `convert` gives the rest the physical types of the contract, and `output` cuts them into batches for the host.

mod arrow;
mod convert;
mod decimal_text;
mod json;
mod kind;
mod output;
mod parquet;
pub mod predicate;
mod scan;
mod shape;

pub use scan::ColumnarScan;
pub use shape::{columns, row_count};

use arrow_array::ArrayRef;
use mindhost_sdk::Result;

use crate::format::Format;
use crate::layout::{File, Layout};

use self::kind::FileColumn;
use self::predicate::Predicate;

/// Rows that a reader gives at once, at most.
const MAX_ROWS: usize = 8_192;
/// About how many bytes a reader gives at once.
const BATCH_BYTES: usize = 8 << 20;

/// One open file, before it is known which of its columns are wanted.
enum Opened {
    Parquet(Box<parquet::ParquetFile>),
    Arrow(Box<arrow::ArrowFile>),
}

/// Some rows of a file: one array for each wanted column, in the order in which they were wanted.
struct Rows {
    arrays: Vec<ArrayRef>,
    count: usize,
}

/// A file while its rows are read.
trait Batches {
    /// The next rows; none at the end.
    fn next(&mut self) -> Result<Option<Rows>>;
}

impl Opened {
    fn open(root: &str, file: &File, layout: &Layout) -> Result<Self> {
        Ok(match layout.format {
            Format::Parquet => {
                Self::Parquet(Box::new(parquet::ParquetFile::open(root, &file.path)?))
            }
            _ => Self::Arrow(Box::new(arrow::ArrowFile::open(root, &file.path)?)),
        })
    }

    fn columns(&self) -> &[FileColumn] {
        match self {
            Self::Parquet(file) => file.columns(),
            Self::Arrow(file) => file.columns(),
        }
    }

    /// The number of rows, where the file says it.
    fn rows(&self) -> Option<u64> {
        match self {
            Self::Parquet(file) => Some(file.rows()),
            Self::Arrow(_) => None,
        }
    }

    /// Reads the columns at these places, without rows that the file's own statistics exclude.
    fn read(self, wanted: &[usize], predicates: &[(usize, Predicate)]) -> Result<Box<dyn Batches>> {
        Ok(match self {
            Self::Parquet(file) => Box::new(file.read(wanted, predicates)?),
            Self::Arrow(file) => Box::new(file.read(wanted)?),
        })
    }
}
