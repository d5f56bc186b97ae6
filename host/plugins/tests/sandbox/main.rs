//! Plugins from the outside: what a hostile guest can do to the host (nothing), and what a decent one can.
//!
//! The guests are in `tests/guests`; `just test` builds them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a fixture that cannot do its work fails the test with the reason"
)]

mod complex;
mod fixture;
mod hostile;
mod imports;
mod limits;
mod lines;
mod models;
mod reach;
mod serving;
mod texts;
