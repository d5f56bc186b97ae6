//! The Trino connector of Mindhost.
//!
//! The layers, from the bottom: [`http`] sends requests, only to the coordinator and the storage of the connection data;
//! [`wire`] is what the server answers, and [`error`] what it means when it refuses. [`client`] runs a statement page
//! after page, inside a read-only transaction; [`segments`] fetches and unpacks the pages that travel as files.
//! [`types`] reads Trino's names of types, [`cells`] and [`nested`] its values. [`cursor`] streams; [`catalog`] asks
//! about tables and their statistics; [`connector`] is what the host calls.

mod catalog;
mod cells;
mod client;
mod config;
mod connector;
mod cursor;
mod error;
mod http;
mod nested;
mod segments;
mod time;
mod types;
mod wire;

pub use connector::Trino;
pub use cursor::Cursor;

mindhost_sdk::export_connector!(Trino);
