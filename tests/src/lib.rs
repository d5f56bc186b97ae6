//! What the end-to-end tests are written with: a running server, a client for it, real databases and a
//! scripted language model.
//!
//! A test reads as the example that it is:
//!
//! ```no_run
//! # async fn example() {
//! use mindhost_tests::{Host, json};
//!
//! let host = Host::start().await;
//! let shop = host.sqlite("shop", "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)").await;
//! let mind = host.mind("assistant").datasource(&shop.name).direct_queries().create().await;
//! let result = mind.rows("SELECT count(*) FROM item").await;
//! assert_eq!(result, [[json!(0)]]);
//! # }
//! ```
//!
//! Nothing here is skipped when something is missing: a test that needs a database fails with the command
//! that installs it. Everything that is started dies with the test process, even when that is killed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a fixture that cannot do its work fails the test with the reason"
)]

pub mod build;
mod clickhouse;
mod client;
mod collector;
mod datasource;
mod eventually;
pub mod fuzz;
mod host;
mod liar;
mod line_server;
mod mariadb;
mod mind;
mod model;
mod plugin;
mod ports;
mod postgres;
mod process;
mod project;
pub mod ready;
mod registry;
mod signing;
mod sse;
mod swap;
mod sweep;
#[cfg(test)]
mod tidy;
pub mod tpch;
mod wire;

pub use clickhouse::ClickHouse;
pub use client::{Reply, Request};
pub use collector::Collector;
pub use datasource::Datasource;
pub use eventually::{eventually, eventually_within};
pub use host::{ADMIN_KEY, Builder, Host};
pub use liar::{Cell, HeardRequest, Lie, LyingHttp, LyingPostgres, Said};
pub use line_server::LineServer;
pub use mariadb::{MariaDatabase, MariaDb};
pub use mind::{Mind, NewMind};
pub use model::{Asked, Embeddings, Gate, ScriptedModel, Turn, Vendor};
pub use plugin::{Version, served_by};
pub use ports::free_port;
pub use postgres::{Postgres, PostgresDatabase};
pub use process::{Process, spawn, spawn_service};
pub use project::{Project, expect_success};
pub use registry::OciRegistry;
pub use serde_json::{Value, json};
pub use signing::SigningKey;
pub use sse::{Event, EventStream};
pub use swap::plugin_is_replaced_under_load;
pub use wire::{Answer, Wire};
