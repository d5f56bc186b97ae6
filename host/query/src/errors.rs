//! What DataFusion says went wrong, in the host's codes.

use std::time::Duration;

use datafusion::common::DataFusionError;

use super::{
    catalog::{CATALOG, NO_SCHEMA},
    memory::StatementMemory,
};
use mindhost_base::error::{Blame, Code, Error};

/// Longest message that is shown, in bytes.
const MAX_MESSAGE: usize = 2_048;

/// Turns an error of a plan or its run into the host's. One that came out of a source comes back as it was.
pub fn convert(error: &DataFusionError, memory: &StatementMemory) -> Error {
    match error.find_root() {
        DataFusionError::External(own) => match own.downcast_ref::<Error>() {
            Some(own) => own.clone(),
            // Sources fail with errors of ours; this is a pattern that cannot be read, or the like.
            None => invalid(&own.to_string()),
        },
        DataFusionError::ResourcesExhausted(_) if memory.host_was_full() => Error::new(
            Code::Overloaded,
            "all statements over files and APIs together use as much memory as they may (plugins.max_total_query_memory_bytes); try again",
        )
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(1)),
        DataFusionError::ResourcesExhausted(what) => Error::new(
            Code::ResultTooLarge,
            format!(
                "the statement needs more than {} MiB of memory (plugins.query_memory_bytes); join, sort or group fewer rows",
                memory.max() >> 20
            ),
        )
        .with_source(what.clone()),
        DataFusionError::NotImplemented(what) => {
            Error::new(Code::SqlNotSupported, shown(what)).blamed(Blame::Upstream)
        }
        DataFusionError::Internal(what) => Error::new(
            Code::SqlNotSupported,
            "the statement cannot be run in the way it is written; write it more plainly",
        )
        .with_source(what.clone()),
        other => invalid(&other.strip_backtrace()),
    }
}

fn invalid(message: &str) -> Error {
    Error::new(Code::SqlInvalid, shown(message)).blamed(Blame::Upstream)
}

fn shown(message: &str) -> String {
    let message = message
        .strip_prefix("Error during planning: ")
        .or_else(|| message.strip_prefix("Schema error: "))
        .or_else(|| message.strip_prefix("Execution error: "))
        .or_else(|| message.strip_prefix("Arrow error: "))
        .unwrap_or(message);
    // Tables are known by the catalog's one name, which nobody wrote, and those without a schema by that of none.
    let message = message
        .replace(&format!("{CATALOG}."), "")
        .replace(&format!("{NO_SCHEMA}."), "")
        .replace(&format!("\"{NO_SCHEMA}\"."), "");
    let mut end = message.len().min(MAX_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message[..end].to_owned()
}

/// An error of the host on its way through DataFusion.
pub fn carried(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
