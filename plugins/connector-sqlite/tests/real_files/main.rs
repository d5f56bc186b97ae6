//! The connector on real files, called natively.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail as the test does"
)]

mod catalog;
mod files;
mod guard;
mod support;
mod values;
