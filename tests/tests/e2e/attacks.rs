//! Attacks on a running server, one file a door. Each test says who attacks, what they try and what they get instead.

mod deep_json;
mod early_answers;
mod lying_vendor;
mod model_leaks;
mod pinning;
mod planning;
mod plugin_rights;
mod prompt_injection;
mod roles_first;
mod smuggling;
mod spreadsheets;
mod tenants;
