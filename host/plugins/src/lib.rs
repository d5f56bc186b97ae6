//! The installed plugins: which versions there are and what they may do, which of them serves, how another takes its place,
//! and what passes between the host and one of them. It knows no workspace, datasource or Mind, and no HTTP.

pub mod active;
pub mod artifacts;
#[cfg(test)]
mod fixture;
pub mod record;
pub mod registry;
pub mod rights;
pub mod served;
pub mod signatures;
mod slot;
pub mod trial;
