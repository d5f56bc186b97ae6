//! The SQLite connector of Mindhost.
