//! Converts errors of DataFusion to those of the host.

use std::time::Duration;

use datafusion::common::DataFusionError;

use super::{
    meaning::lookups::UNNAMED,
    memory::StatementMemory,
    names::{CATALOG, NO_SCHEMA},
    spill::{SpillError, StatementDisk},
};
use mindhost_base::error::{Blame, Code, Error};

/// Longest message, in bytes.
const MAX_MESSAGE: usize = 2_048;

/// What stands in messages about parts that the planner made of a subquery, and the caller did not write.
const INVENTED: [&str; 9] = [
    "Physical plan does not support logical expression",
    "__compared",
    "__correlated_sq_",
    "__key_",
    "__looked_",
    "__lookup_",
    "__part_",
    "__row",
    "__truth_",
];

/// What DataFusion says of a form of SQL, and what to write in its place.
const ADVICE: [(&str, &str); 11] = [
    (
        "Empty tuple not supported",
        "GROUP BY () is not supported here; leave out GROUP BY, and the total is one row",
    ),
    (
        "`retract_batch` is not implemented",
        "an aggregate of the statement cannot be computed over a frame whose first row moves; begin its frame with \
         UNBOUNDED PRECEDING, or group in a subquery and join it",
    ),
    (
        "in sqltorel: ",
        "an expression of the statement is not supported here; write it in another way",
    ),
    (
        "Correlated scalar subquery must be aggregated",
        "a (SELECT …) that depends on the statement around it must give one value by an aggregate here, even if a key \
         allows no second row; write (SELECT max(x) …), or join its table with LEFT JOIN",
    ),
    (
        "GROUP BY clause in a scalar correlated subquery",
        "a (SELECT …) that depends on the statement around it may group only by what it compares with that statement; \
         leave out GROUP BY, or join its groups with LEFT JOIN",
    ),
    (
        "Correlated scalar subquery can only be used in",
        "a (SELECT …) that depends on the statement around it cannot stand in ON here, nor in the ORDER BY of DISTINCT \
         or UNION, and in ORDER BY it uses the columns of FROM, not the names that SELECT gives; join its table with \
         LEFT JOIN",
    ),
    (
        "In/Exist/SetComparison subquery can only be used in",
        "EXISTS and IN (SELECT …) cannot stand in the ORDER BY of DISTINCT or UNION here, nor in DISTINCT ON, and in \
         another ORDER BY they use the columns of FROM; give them a name in SELECT, and order by that",
    ),
    (
        UNNAMED,
        "the value of a (SELECT …) in GROUP BY, in an aggregate or in a window cannot have a name (AS …) here that its \
         GROUP BY, HAVING or ORDER BY may use; leave the name out",
    ),
    (
        "does not support logical expression ScalarSubquery",
        "a (SELECT …) cannot be run as a value in the way it is written; if it depends on the statement around it, \
         give it an aggregate and no LIMIT, (SELECT max(x) …), compare with that statement by `=` alone, and use that \
         statement's columns in none of its aggregates and not in its ORDER BY, or join its table with LEFT JOIN",
    ),
    (
        "does not support logical expression OuterReferenceColumn",
        "a subquery or a LATERAL table cannot use the tables around it in the way it is written; compare with them by \
         `=` in its WHERE, compute with their columns outside of it, and in place of ORDER BY … LIMIT number the rows \
         with row_number() OVER (PARTITION BY … ORDER BY …) in a table that is joined",
    ),
    (
        "does not support undecorrelated Subquery",
        "a LATERAL table cannot use the tables around it in the way it is written; compare with them by `=` in its \
         WHERE, without HAVING, or join its table and GROUP BY",
    ),
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
        DataFusionError::NotImplemented(what) => match advised(what) {
            Some(error) => error,
            None if says_invented(what) => unplanned(what),
            None => Error::new(Code::SqlNotSupported, shown(what)).blamed(Blame::Upstream),
        },
        DataFusionError::Internal(what) => Error::new(
            Code::SqlNotSupported,
            "the statement cannot be run in the way it is written; write it more plainly",
        )
        .with_source(what.clone()),
        other => {
            let message = other.strip_backtrace();
            let told = advised(&message).or_else(|| mistyped(&message));
            match told.or_else(|| ungrouped(&message)) {
                Some(error) => error,
                None if says_invented(&message) => unplanned(&message),
                None => invalid(&message),
            }
        }
    }
}

/// The error of a form of SQL that DataFusion refuses in words of its own.
fn advised(message: &str) -> Option<Error> {
    let (_, advice) = ADVICE.iter().find(|(says, _)| message.contains(says))?;
    let error = Error::new(Code::SqlNotSupported, *advice);
    Some(error.with_source(message.to_owned()))
}

/// What stands before the own words of a function about the types of its arguments.
const REASON: &str = "user-defined coercion failed with: ";
/// What stands before a call, and behind it the signatures that the function has.
const NO_MATCH: &str = "No function matches the given name and argument types '";
const NO_CAST: &str = "Failed to coerce arguments to satisfy a call to '";

/// The error of a function whose arguments have other types than it takes. DataFusion lists all signatures of it, in
/// words of its own.
fn mistyped(message: &str) -> Option<Error> {
    if let Some((_, reason)) = message.split_once(REASON) {
        let reason = reason.split(NO_MATCH).next().unwrap_or(reason);
        return Some(invalid(reason.trim_end()));
    }
    let (name, types) = match message.split_once(NO_MATCH) {
        Some((_, call)) => {
            let (call, _) = call.split_once("'. ")?;
            call.strip_suffix(')')?.split_once('(')?
        }
        None => {
            let (_, call) = message.split_once(NO_CAST)?;
            let (name, rest) = call.split_once("' function: coercion from ")?;
            (name, rest.split_once(" to the signature ")?.0)
        }
    };
    let advice = match name {
        "to_char" => "it formats dates and times; write CAST(x AS text) for a number",
        _ => "cast them to types that it takes",
    };
    let plain = format!("`{name}` takes no arguments of the types ({types}); {advice}");
    Some(invalid(&plain).with_source(message.to_owned()))
}

/// The error of a column that is not grouped. DataFusion tells of wildcards, and lists what is grouped.
fn ungrouped(message: &str) -> Option<Error> {
    let (_, rest) = message.split_once("Column in ")?;
    let (clause, rest) = rest.split_once(" must be in GROUP BY or an aggregate function")?;
    let (_, column) = rest.split_once("column \"")?;
    let (column, _) = column.split_once("\" must appear in the GROUP BY clause")?;
    let advice = match clause {
        "HAVING" => {
            "; if SELECT gives this name to an aggregate, repeat the aggregate, for the name of a column means the column"
        }
        _ => "",
    };
    let plain = format!("{column} in {clause} must be in GROUP BY or inside an aggregate{advice}");
    Some(invalid(&plain).with_source(message.to_owned()))
}

fn says_invented(message: &str) -> bool {
    let begins = |at: usize| {
        let before = message.get(..at).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    };
    INVENTED
        .iter()
        .any(|part| message.match_indices(part).any(|(at, _)| begins(at)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_only_end_like_those_of_the_planner_are_the_callers() {
        assert!(says_invented("No field named __rows.a"));
        assert!(says_invented("No field named \"__key_1\""));
        assert!(!says_invented("No field named source__rows"));
    }

    #[test]
    fn lateral_table_that_is_not_joined_is_told_what_to_write() {
        let message = "Physical plan does not support undecorrelated Subquery";
        let error = advised(message).unwrap();
        assert_eq!(error.code(), Code::SqlNotSupported);
        assert!(error.message().starts_with("a LATERAL table"), "{error}");
    }

    #[test]
    fn refused_types_are_told_without_signatures() {
        for (message, expected) in [
            (
                "Error during planning: Failed to coerce arguments to satisfy a call to 'to_char' function: coercion \
                 from Int64, Utf8 to the signature OneOf([Exact([Date32, Utf8])]) failed No function matches the given \
                 name and argument types 'to_char(Int64, Utf8)'. You might need to add explicit type casts.\n\t\
                 Candidate functions:\n\tto_char(Date32, Utf8)",
                "`to_char` takes no arguments of the types (Int64, Utf8); it formats dates and times; write \
                 CAST(x AS text) for a number",
            ),
            (
                "Error during planning: Failed to coerce arguments to satisfy a call to '+' function: coercion from \
                 Date32, Boolean to the signature UserDefined failed",
                "`+` takes no arguments of the types (Date32, Boolean); cast them to types that it takes",
            ),
            (
                "Execution error: Function '-' user-defined coercion failed with: Error during planning: `-` needs a \
                 number, and this is Utf8",
                "`-` needs a number, and this is Utf8",
            ),
        ] {
            assert_eq!(mistyped(message).unwrap().message(), expected);
        }
        assert!(mistyped("Error during planning: no such thing").is_none());
    }
}
