//! Maps failures of the store to codes.

use std::time::Duration;

use super::{Blame, Code, Error};

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match Temporary::of(&error) {
            Some(Temporary::NoConnection) => overloaded("is busy or cannot be reached"),
            Some(Temporary::Unreachable) => overloaded("cannot be reached"),
            Some(Temporary::Busy) => overloaded("is busy"),
            Some(Temporary::DiskFull) => Self::disk_full(),
            Some(Temporary::OutOfFiles) => Self::out_of_files(),
            None => return Self::internal(error),
        }
        .with_source(error)
    }
}

impl Error {
    /// Whether the store failed or could not be reached. Then nothing that needs it can go on.
    pub fn is_of_store(&self) -> bool {
        std::error::Error::source(self).is_some_and(|source| source.is::<sqlx::Error>())
    }
}

/// A failure that is not a fault of this server: it passes, or an operator frees space or starts the store.
#[derive(Debug, PartialEq)]
enum Temporary {
    /// The pool gave no connection in time. It does not say why.
    NoConnection,
    Unreachable,
    Busy,
    DiskFull,
    OutOfFiles,
}

impl Temporary {
    fn of(error: &sqlx::Error) -> Option<Self> {
        match error {
            sqlx::Error::PoolTimedOut => Some(Self::NoConnection),
            sqlx::Error::Io(error) if Error::is_out_of_files(error) => Some(Self::OutOfFiles),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) => Some(Self::Unreachable),
            other => Self::of_code(&other.as_database_error()?.code()?),
        }
    }

    /// Reads the codes of SQLite, whose low byte is the primary code, and of PostgreSQL: too many connections,
    /// deadlock, serialization failure, lock timeout, disk full, shutdown, crash, start, a database that takes no
    /// connections.
    fn of_code(code: &str) -> Option<Self> {
        match code.parse::<u32>() {
            // The index of the write-ahead log could not grow; SQLite has no other word for a full disk there.
            Ok(4874) => Some(Self::DiskFull),
            Ok(number) if code.len() < 5 => match number & 0xff {
                5 | 6 => Some(Self::Busy),
                13 => Some(Self::DiskFull),
                // The store was open before, so its file exists and may be opened.
                14 => Some(Self::OutOfFiles),
                _ => None,
            },
            _ => match code {
                "53300" | "40P01" | "40001" | "55P03" => Some(Self::Busy),
                "53100" => Some(Self::DiskFull),
                "57P01" | "57P02" | "57P03" | "55000" => Some(Self::Unreachable),
                _ => None,
            },
        }
    }
}

fn overloaded(why: &str) -> Error {
    let message = format!("the store {why}; try again after the time in the header Retry-After");
    Error::new(Code::Overloaded, message)
        .blamed(Blame::Host)
        .with_retry_after(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn unreachable_store_is_told_from_a_busy_one() {
        let lost = Error::from(sqlx::Error::Io(io::ErrorKind::ConnectionReset.into()));
        assert_eq!(lost.code(), Code::Overloaded);
        assert!(lost.message().contains("cannot be reached"), "{lost}");
        let waited = Error::from(sqlx::Error::PoolTimedOut);
        assert_eq!(waited.code(), Code::Overloaded);
        assert!(
            waited.message().contains("busy or cannot be reached"),
            "{waited}"
        );
        let no_files = Error::from(sqlx::Error::Io(io::Error::from_raw_os_error(24)));
        assert_eq!(no_files.code(), Code::Overloaded);
        assert!(no_files.message().contains("ulimit -n"), "{no_files}");
        assert_eq!(Error::from(sqlx::Error::RowNotFound).code(), Code::Internal);
        assert!(lost.is_of_store() && no_files.is_of_store());
        assert!(!Error::new(Code::Overloaded, "too many statements").is_of_store());
    }

    #[test]
    fn codes_of_both_databases_are_read() {
        for (code, expected) in [
            ("5", Some(Temporary::Busy)),
            ("517", Some(Temporary::Busy)),
            ("13", Some(Temporary::DiskFull)),
            ("4874", Some(Temporary::DiskFull)),
            ("14", Some(Temporary::OutOfFiles)),
            ("787", None),
            ("40001", Some(Temporary::Busy)),
            ("53100", Some(Temporary::DiskFull)),
            ("57P01", Some(Temporary::Unreachable)),
            ("23505", None),
        ] {
            assert_eq!(Temporary::of_code(code), expected, "{code}");
        }
    }

    #[test]
    fn file_on_a_full_disk_is_no_fault_of_the_server() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::FileTooLarge] {
            assert_eq!(Error::not_written(kind.into()).code(), Code::StorageFull);
        }
        let denied = Error::not_written(io::ErrorKind::PermissionDenied.into());
        assert_eq!(denied.code(), Code::Internal);
    }
}
