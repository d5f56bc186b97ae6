//! For a plugin's own native tests.

mod answers;
mod curl;
mod fixtures;
mod opened;
mod stand_in;

use crate::batch::{Row, rows_of};
use crate::error::{Error, Result};
use crate::values::{Batch, Column};

pub use fixtures::Fixtures;
pub use opened::{OpenConnector, OpenScanner, open_connector, open_scanner};
pub(crate) use stand_in::send;
pub use stand_in::{StandIn, stand_in};

pub use answers::{all_events, calls, damaged, stop, text, transcript, usage};

/// The rows of a batch in either form, for comparison. `columns` are those of the answer.
///
/// # Errors
/// `Internal` when the bytes are not an Arrow stream of these columns.
pub fn rows(batch: &Batch, columns: &[Column]) -> Result<Vec<Row>> {
    match batch {
        Batch::Rows(rows) => Ok(rows.clone()),
        Batch::Arrow(stream) => {
            rows_of(stream, columns).map_err(|error| Error::internal(error.to_string()))
        }
    }
}
