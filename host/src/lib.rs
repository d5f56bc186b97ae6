//! Mindhost: answers questions about databases.
//!
//! `ARCHITECTURE.md` beside this crate is the map.

pub mod answering;
pub mod api;
pub mod auth;
pub mod catalog;
pub mod config;
pub mod connection_data;
pub mod conversations;
pub mod datasources;
pub mod error;
pub mod minds;
pub mod plugins;
pub mod providers;
pub mod results;
pub mod secrets;
pub mod sql;
pub mod store;
pub mod telemetry;

pub use error::{Error, Result};
