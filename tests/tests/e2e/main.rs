//! The end-to-end tests: one binary over a real server, real databases and a scripted model. Its modules
//! mirror the URL tree.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod admission;
mod attacks;
mod audit;
mod chat;
mod clients;
mod commands;
mod conformance;
mod console;
mod conversations;
mod datasources;
mod errors;
mod evaluation;
mod federation;
mod fixture;
mod foreign;
mod health;
mod keys;
mod limits;
mod mcp;
mod metrics;
mod minds;
mod openapi;
mod plugins;
mod policies;
mod providers;
mod responses;
mod running;
mod serving;
mod shapes;
mod sql;
mod stores;
mod telemetry;
mod usage;
mod workspaces;
