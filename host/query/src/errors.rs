//! Converts errors of DataFusion to those of the host.

use std::time::Duration;

use datafusion::common::DataFusionError;

use super::{
    memory::StatementMemory,
    names::{CATALOG, NO_SCHEMA},
    spill::{SpillError, StatementDisk},
};
use mindhost_base::error::{Blame, Code, Error};

/// Longest message, in bytes.
const MAX_MESSAGE: usize = 2_048;

/// What stands in messages about parts that the planner made of a subquery, and the caller did not write.
const INVENTED: [&str; 4] = [
    "Physical plan does not support logical expression",
    "__correlated_sq_",
    "__key_",
    "__truth_",
];

/// Converts an error of planning or execution. An error of a source stays as it is.
pub fn convert(
    error: &DataFusionError,
    memory: &StatementMemory,
    disk: Option<&StatementDisk>,
) -> Error {
    let root = error.find_root();
    if let Some(disk) = disk
        && let Some(failure) = disk.failure()
        && !matches!(root, DataFusionError::External(own) if own.is::<Error>())
    {
        return unwritten(disk, failure);
    }
    match root {
        DataFusionError::External(own) => match own.downcast_ref::<Error>() {
            Some(own) => own.clone(),
            // Sources fail with errors of ours; this is a pattern that cannot be read, or the like.
            None => invalid(&own.to_string()),
        },
        DataFusionError::ResourcesExhausted(_) if memory.host_limit_reached() => Error::new(
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
        DataFusionError::NotImplemented(what) => match says_invented(what) {
            true => unplanned(what),
            false => Error::new(Code::SqlNotSupported, shown(what)).blamed(Blame::Upstream),
        },
        DataFusionError::Internal(what) => Error::new(
            Code::SqlNotSupported,
            "the statement cannot be run in the way it is written; write it more plainly",
        )
        .with_source(what.clone()),
        other => {
            let message = other.strip_backtrace();
            match says_invented(&message) {
                true => unplanned(&message),
                false => invalid(&message),
            }
        }
    }
}

fn says_invented(message: &str) -> bool {
    INVENTED.iter().any(|part| message.contains(part))
}

/// The error of a subquery that DataFusion cannot plan.
fn unplanned(message: &str) -> Error {
    Error::new(
        Code::SqlNotSupported,
        "a subquery cannot be run in the way it is written; give its columns names of their own, or join it in place of IN or EXISTS",
    )
    .with_source(message.to_owned())
}

/// The error of a statement that could not write to disk.
fn unwritten(disk: &StatementDisk, failure: SpillError) -> Error {
    match failure {
        SpillError::Statement => Error::new(
            Code::ResultTooLarge,
            format!(
                "the statement needs its memory and more than {} MiB of disk (plugins.query_spill_bytes); join, sort or group fewer rows",
                disk.max() >> 20
            ),
        ),
        SpillError::Host => Error::new(
            Code::Overloaded,
            "all statements over files, APIs and several datasources together use as much disk as they may (plugins.max_total_query_spill_bytes); try again",
        )
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(1)),
        SpillError::Disk => Error::new(
            Code::StorageFull,
            "the statement needs more than its memory, and the server could not write to its disk; tell the operator",
        ),
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

/// Wraps an error of the host, to pass it through DataFusion.
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
