//! The first rows of a statement, read in the call that starts it.
//!
//! A call of a guest that reads files leaves its thread to others, which takes longer than SQLite needs for a row. So
//! the start, the rows, the end and the close of a small result are one call in place of four.

use wasmtime::{Store, component::ResourceAny};

use super::super::{
    bindings::{sql::SqlConnector, types},
    connection_exports::{ConnectionExports as _, GuestResult},
    state::State,
};

/// Rows of the first batch.
pub const FIRST_ROWS: u32 = 256;
/// A batch of fewer bytes may be the last one.
const SMALL_BATCH_BYTES: usize = 16 << 10;

/// What was read.
#[derive(Default)]
pub struct FirstRows {
    /// At most two, of at most [`FIRST_ROWS`] rows.
    pub batches: Vec<types::Batch>,
    /// If these are all rows, the cursor is closed; whether its connection can be used again.
    pub closed: Option<bool>,
}

/// Reads the first rows of a cursor, and closes it at their end or on an error.
pub async fn read(
    store: &mut Store<State>,
    guest: &SqlConnector,
    cursor: ResourceAny,
    max_bytes: u32,
) -> wasmtime::Result<GuestResult<FirstRows>> {
    let mut first = FirstRows::default();
    while first.batches.len() < 2 {
        match guest
            .next(&mut *store, cursor, FIRST_ROWS, max_bytes)
            .await?
        {
            Ok(Some(batch)) => {
                let is_small = is_small(&batch);
                first.batches.push(batch);
                if !is_small {
                    break;
                }
            }
            Ok(None) => {
                first.closed = Some(close(store, guest, cursor).await?);
                break;
            }
            Err(mut error) => {
                error.connection_usable &= close(store, guest, cursor).await?;
                return Ok(Err(error));
            }
        }
    }
    Ok(Ok(first))
}

async fn close(
    store: &mut Store<State>,
    guest: &SqlConnector,
    cursor: ResourceAny,
) -> wasmtime::Result<bool> {
    let closed = guest.close(&mut *store, cursor).await?;
    cursor.resource_drop_async(store).await?;
    Ok(matches!(closed, Ok(true)))
}

fn is_small(batch: &types::Batch) -> bool {
    match batch {
        types::Batch::Rows(rows) => rows.len() < FIRST_ROWS as usize,
        types::Batch::Arrow(bytes) => bytes.len() < SMALL_BATCH_BYTES,
    }
}
