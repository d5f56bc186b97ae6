//! The SQL Server connector of Mindhost.
//!
//! The layers, from the bottom: [`framed`] is the socket, whose TLS handshake may travel inside of packets; [`wire`]
//! cuts messages out of packets; [`handshake`] (with [`prelogin`] and [`login`]) makes a session; [`session`] sends
//! batches, reads their tokens and stops them by an attention; [`types`], [`decode`], [`codepage`] and [`time`] turn
//! cells into values; [`cursor`] streams one statement, which [`screen`] has looked at; [`catalog`] asks the server
//! about itself; [`connector`] is what the host calls.

mod catalog;
mod codepage;
mod config;
mod connector;
mod cursor;
mod decode;
mod error;
mod framed;
mod handshake;
mod login;
mod prelogin;
mod screen;
mod session;
mod time;
mod types;
mod wire;

pub use connector::Mssql;
pub use cursor::Cursor;

mindhost_sdk::export_connector!(Mssql);
