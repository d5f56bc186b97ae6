//! Plugins from the outside: what a hostile guest can do to the host (nothing), and what a decent one can.
//!
//! The guests are in `tests/guests`; `just test` builds them.

mod fixture;
mod imports;
mod lies;
mod limits;
mod reach;
mod serving;
