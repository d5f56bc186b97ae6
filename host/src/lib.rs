//! Mindhost: answers questions about databases.
//!
//! `ARCHITECTURE.md` beside this crate is the map.
//!
//! The parts stand in the order in which they use each other: each uses only parts of the groups below its own.

pub mod api;

pub mod answering;

pub mod results;

pub mod catalog;
pub mod conversations;
pub mod idempotency;
pub mod minds;
pub mod rekeying;
pub mod rollouts;
pub mod workspaces;

pub mod datasources;
pub mod providers;

pub mod auth;
pub mod connection_data;

pub mod audit;
pub mod usage;

pub mod secrets;

pub mod sql;
pub mod store;
pub mod telemetry;

pub mod plugins;

pub mod config;
pub mod names;

pub mod detaching;
pub mod error;
pub mod locks;
pub mod private;

pub use error::{Error, Result};
