//! The PostgreSQL connector of Mindhost.
//!
//! The layers, from the bottom: [`wire`] cuts messages out of the transport that [`handshake`] (with [`auth`]) has
//! made; [`session`] keeps requests and answers in step and owns the transactions; [`cursor`] streams one statement
//! through [`decode`], with [`plans`] for those that come again and [`aggregate`] for those that answer one row;
//! [`catalog`] and [`statistics`] ask the server about itself; [`connector`] is what the host calls.

mod aggregate;
mod array;
mod auth;
mod binary;
mod catalog;
mod config;
mod connector;
mod cursor;
mod decode;
mod error;
mod fields;
mod handshake;
mod plans;
mod search_path;
mod session;
mod statistics;
mod text_row;
mod time;
mod types;
mod wire;

pub use connector::Postgres;
pub use cursor::Cursor;

mindhost_sdk::export_connector!(Postgres);
