//! The connector, in a running server, on a real Trino. `just test-trino` installs what this needs and runs it.
//!
//! The parts are programs: the server, Trino, and `curl` between them. A host can be taken from any build:
//! `CARGO_TARGET_DIR` names the folder with `debug/mindhost`, `plugins`, `trino`, `java` and `storage`. What all
//! engines have in common is in `mindhost_tests`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails with the reason"
)]

mod cancelling;
mod catalog;
/// How strictly answers to TPC-H are compared, as those of the other engines.
#[path = "../../../../tests/tests/e2e/federation/tpch/compare.rs"]
mod compare;
mod costs;
mod expected;
mod federated;
mod host;
mod moving;
mod policies;
mod postgres;
mod programs;
mod secured;
mod spooling;
mod statements;
mod storage;
mod swap;
mod tpch;
mod trino;
mod types;
