//! The MySQL and MariaDB connector of Mindhost.
//!
//! The layers, from the bottom: [`wire`] cuts packets out of the transport that [`handshake`] (with [`auth`]) has made
//! and knows where an answer ends; [`session`] keeps requests and answers in step and owns the transactions; [`cursor`]
//! streams one statement through [`decode`] by the types of [`columns`]; [`catalog`] and [`statistics`] ask the server
//! about itself; [`connector`] is what the host calls.

mod auth;
mod bits;
mod catalog;
mod columns;
mod config;
mod connector;
mod cursor;
mod decode;
mod error;
mod geometry;
mod handshake;
mod packet;
mod session;
mod statistics;
mod wire;

pub use connector::MySql;
pub use cursor::Cursor;

mindhost_sdk::export_connector!(MySql);
