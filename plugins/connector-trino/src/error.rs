//! From Trino's errors to the kinds of the contract.

use std::time::Duration;

use mindhost_sdk::{Error, ErrorKind, control};

use crate::wire::{ErrorLocation, Failure};

/// When to ask a server again whose queue is full.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The error of a statement, with its place in the caller's text.
pub(crate) fn failed(failure: &Failure, sql: &str) -> Error {
    let kind = kind(failure);
    let error = Error::new(kind, failure.message.as_str())
        .code(failure.error_name.as_str())
        .connection_usable(kind != ErrorKind::Auth);
    let error = match failure
        .error_location
        .and_then(|place| position(place, sql))
    {
        Some(position) => error.position(position),
        None => error,
    };
    match kind {
        ErrorKind::InvalidConfig => {
            error.context("the server refused `session_properties` in connection_data")
        }
        ErrorKind::RateLimited => error.retry_after(RETRY_AFTER),
        _ => error,
    }
}

fn kind(failure: &Failure) -> ErrorKind {
    match failure.error_name.as_str() {
        "PERMISSION_DENIED" => ErrorKind::Permission,
        "EXCEEDED_TIME_LIMIT" | "EXCEEDED_CPU_LIMIT" => ErrorKind::Timeout,
        "QUERY_QUEUE_FULL" => ErrorKind::RateLimited,
        // A caller's statement sets none.
        "INVALID_SESSION_PROPERTY" => ErrorKind::InvalidConfig,
        "USER_CANCELED" | "ADMINISTRATIVELY_KILLED" if control::is_cancelled() => {
            ErrorKind::Cancelled
        }
        "USER_CANCELED" | "ADMINISTRATIVELY_KILLED" | "ABANDONED_QUERY" | "ABANDONED_TASK" => {
            ErrorKind::Upstream
        }
        _ if failure.error_type == "USER_ERROR" => ErrorKind::InvalidStatement,
        _ => ErrorKind::Upstream,
    }
}

/// The place of an error in characters from 1.
fn position(place: ErrorLocation, sql: &str) -> Option<u32> {
    let line = usize::try_from(place.line_number).ok()?.checked_sub(1)?;
    let before = sql.split_inclusive('\n').take(line);
    let before: usize = before.map(|line| line.chars().count()).sum();
    let at = before.checked_add(usize::try_from(place.column_number).ok()?)?;
    (at <= sql.chars().count() + 1).then_some(())?;
    u32::try_from(at).ok().filter(|at| *at > 0)
}

/// The server said what the protocol does not allow.
pub(crate) fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Upstream, format!("the server sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, of: &str) -> Error {
        let failure = Failure {
            message: "line 2:3: no".into(),
            error_name: name.into(),
            error_type: of.into(),
            error_location: Some(ErrorLocation {
                line_number: 2,
                column_number: 3,
            }),
        };
        failed(&failure, "SELECT é,\n  x")
    }

    #[test]
    fn an_error_has_its_kind_and_its_place() {
        let wrong = error("COLUMN_NOT_FOUND", "USER_ERROR");
        assert_eq!(wrong.kind(), ErrorKind::InvalidStatement);
        assert_eq!(
            (wrong.engine_code(), wrong.statement_position()),
            ("COLUMN_NOT_FOUND", Some(13))
        );
        for (name, of, kind) in [
            ("PERMISSION_DENIED", "USER_ERROR", ErrorKind::Permission),
            (
                "EXCEEDED_TIME_LIMIT",
                "INSUFFICIENT_RESOURCES",
                ErrorKind::Timeout,
            ),
            (
                "QUERY_QUEUE_FULL",
                "INSUFFICIENT_RESOURCES",
                ErrorKind::RateLimited,
            ),
            ("REMOTE_TASK_ERROR", "INTERNAL_ERROR", ErrorKind::Upstream),
            ("JDBC_ERROR", "EXTERNAL", ErrorKind::Upstream),
        ] {
            assert_eq!(error(name, of).kind(), kind, "{name}");
        }
    }

    #[test]
    fn a_refused_session_property_is_a_fault_of_the_configuration() {
        let refused = error("INVALID_SESSION_PROPERTY", "USER_ERROR");
        assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
        let message = "the server refused `session_properties` in connection_data: line 2:3: no";
        assert_eq!(refused.message(), message);
    }

    #[test]
    fn a_place_outside_of_the_statement_is_none() {
        let place = |line_number, column_number| ErrorLocation {
            line_number,
            column_number,
        };
        assert_eq!(position(place(1, 1), "x"), Some(1));
        for place in [place(0, 1), place(9, 9), place(u32::MAX, u32::MAX)] {
            assert_eq!(position(place, "x"), None);
        }
    }
}
