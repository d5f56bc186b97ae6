//! Maps failures of the store to codes.

use std::time::Duration;

use super::{Blame, Code, Error};

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut => busy(),
            other => match Temporary::of(&other) {
                Some(Temporary::Busy) => busy().with_source(other),
                Some(Temporary::DiskFull) => Self::storage_full().with_source(other),
                None => Self::internal(other),
            },
        }
    }
}

/// A failure that is not a fault of this server: it passes, or an operator frees space.
enum Temporary {
    Busy,
    DiskFull,
}

impl Temporary {
    /// Reads the codes of SQLite, whose low byte is the primary code, and of PostgreSQL: too many connections,
    /// deadlock, serialization failure, lock timeout, disk full.
    fn of(error: &sqlx::Error) -> Option<Self> {
        let code = error.as_database_error()?.code()?;
        match code.parse::<u32>().map(|code| code & 0xff) {
            Ok(5 | 6) if code.len() < 5 => Some(Self::Busy),
            Ok(13) if code.len() < 5 => Some(Self::DiskFull),
            _ => match &*code {
                "53300" | "40P01" | "40001" | "55P03" => Some(Self::Busy),
                "53100" => Some(Self::DiskFull),
                _ => None,
            },
        }
    }
}

fn busy() -> Error {
    Error::new(
        Code::Overloaded,
        "the store is busy; try again after the time in the header Retry-After",
    )
    .blamed(Blame::Host)
    .with_retry_after(Duration::from_secs(1))
}
