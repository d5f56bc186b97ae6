//! The ClickHouse connector of Mindhost.
//!
//! The layers, from the bottom: [`http`] sends a statement and tells an answer from an error ([`error`]); [`server`] is
//! what the connector learned about the server when it opened, and the settings that follow from it. [`types`] reads
//! ClickHouse's names of types. A result comes in one of two formats: [`arrow`] (Arrow messages, read by [`cells`]) or
//! [`tsv`] (text, for old servers and for types that Arrow does not carry exactly, read by [`text`] and [`nested`]).
//! [`cursor`] chooses and streams; [`catalog`] asks the server about its tables; [`connector`] is what the host calls.

mod arrow;
#[cfg(test)]
mod arrow_tests;
mod catalog;
mod cells;
mod config;
mod connector;
mod cursor;
mod error;
mod http;
mod nested;
mod server;
mod text;
mod time;
mod tsv;
mod types;
mod wide;

pub use connector::ClickHouse;
pub use cursor::Cursor;

mindhost_sdk::export_connector!(ClickHouse);
