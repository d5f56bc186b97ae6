//! Attacks on a running server, one file a door. Each test says who attacks, what they try and what they get instead.
//!
//! `host/docs/security.md` says what each boundary promises and names the test here that holds it.

mod identity;
mod line_protocols;
mod loopback;
mod pinning;
mod plugin_rights;
mod secrets;
mod tenants;
