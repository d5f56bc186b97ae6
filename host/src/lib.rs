//! Mindhost: answers questions about databases.
//!
//! `ARCHITECTURE.md` beside this crate is the map.

pub mod error;
pub mod plugins;
pub mod sql;
