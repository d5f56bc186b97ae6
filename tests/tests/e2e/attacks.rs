//! Attacks on a running server, one file a door. Each test says who attacks, what they try and what they get instead.
//!
//! `host/docs/security.md` says what each boundary promises and names the test here that holds it.

mod early_answers;
mod exports;
mod instances;
mod long_writes;
mod pinning;
mod plugin_rights;
mod quota;
mod roles_first;
mod slow_readers;
mod smuggling;
mod tenants;
