//! SQLite's result codes as the kinds of the contract.

use mindhost_sdk::{Error, ErrorKind};
use rusqlite::ffi::{self, ErrorCode};

/// The error of a statement, with the place in its text where SQLite names one.
pub fn from_sqlite(error: rusqlite::Error, statement: &str) -> Error {
    match error {
        rusqlite::Error::SqliteFailure(error, message) => {
            from_code(error, message.unwrap_or_else(|| error.to_string()))
        }
        rusqlite::Error::SqlInputError {
            error, msg, offset, ..
        } => {
            let mapped = from_code(error, msg);
            match position(statement, offset) {
                Some(position) => mapped.position(position),
                None => mapped,
            }
        }
        rusqlite::Error::MultipleStatement => {
            Error::invalid_statement("only one statement can be run at a time")
        }
        rusqlite::Error::InvalidQuery => Error::invalid_statement("the statement gives no rows"),
        other => Error::internal(other.to_string()),
    }
}

fn from_code(error: ffi::Error, message: String) -> Error {
    let (kind, usable) = match error.code {
        ErrorCode::Unknown
        | ErrorCode::TypeMismatch
        | ErrorCode::ParameterOutOfRange
        | ErrorCode::ConstraintViolation => (ErrorKind::InvalidStatement, true),
        ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::PermissionDenied
        | ErrorCode::ReadOnly => (ErrorKind::Permission, true),
        ErrorCode::OperationInterrupted | ErrorCode::OperationAborted => {
            (ErrorKind::Cancelled, true)
        }
        ErrorCode::TooBig | ErrorCode::OutOfMemory => (ErrorKind::TooLarge, true),
        ErrorCode::NotADatabase => (ErrorKind::InvalidConfig, false),
        ErrorCode::CannotOpen => (ErrorKind::NotFound, false),
        ErrorCode::SystemIoFailure => (ErrorKind::ConnectionLost, false),
        ErrorCode::DatabaseCorrupt
        | ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::SchemaChanged => (ErrorKind::Upstream, false),
        _ => (ErrorKind::Internal, false),
    };
    let message = match error.code {
        ErrorCode::OutOfMemory => {
            "the statement needs more memory than it may have; sort or group fewer rows".to_owned()
        }
        _ => message,
    };
    Error::new(kind, message)
        .code(error.extended_code.to_string())
        .connection_usable(usable)
}

/// From a byte offset to characters from 1.
fn position(statement: &str, offset: i32) -> Option<u32> {
    let before = statement.get(..usize::try_from(offset).ok()?)?;
    u32::try_from(before.chars().count() + 1).ok()
}
