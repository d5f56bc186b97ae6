//! A connector that breaks the contract in the way that its configuration says: `mode` is what it does wrong, `at`
//! the function in which it does. Everywhere else it is a decent connector with one table of one row.

#![allow(clippy::panic, reason = "misbehaving is what it is for")]

#[cfg(target_family = "wasm")]
mod acts;
#[cfg(target_family = "wasm")]
mod churn;
#[cfg(target_family = "wasm")]
mod component;
#[cfg(target_family = "wasm")]
mod lies;
#[cfg(target_family = "wasm")]
mod model;
#[cfg(target_family = "wasm")]
mod reach;
#[cfg(target_family = "wasm")]
mod web;
