//! Attacks on a running server, one file a door. Each test says who attacks, what they try and what they get instead.
//!
//! `host/docs/security.md` says what each boundary promises and names the test here that holds it.

mod deep_json;
mod early_answers;
mod exports;
mod identity;
mod instances;
mod line_protocols;
mod long_writes;
mod loopback;
mod lying_server;
mod model_leaks;
mod pinning;
mod planning;
mod plugin_rights;
mod policies;
mod prompt_injection;
mod quota;
mod roles_first;
mod secrets;
mod slow_readers;
mod smuggling;
mod spreadsheets;
mod tenants;
mod uploads;
