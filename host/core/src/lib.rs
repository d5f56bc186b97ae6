//! Who may do what with what: workspaces and keys, datasources, model providers and Minds, their secrets, the rollout
//! of plugin versions, the audit trail and usage. It answers no question and reads no table of anybody's database; HTTP
//! is the business of `mindhost-api`.

pub mod audit;
pub mod auth;
pub mod connection_data;
pub mod datasources;
pub mod knowledge;
pub mod minds;
pub mod providers;
pub mod rekeying;
pub mod rollouts;
pub mod secrets;
mod stored_connections;
pub mod usage;
pub mod workspaces;
