//! The installed plugins: versions, rights, which version serves, trials of new versions, and recordings of calls. It
//! knows no workspace, datasource or Mind, and no HTTP.

pub mod active;
pub mod artifacts;
pub mod catalogue;
#[cfg(test)]
mod fixture;
pub mod record;
pub mod registry;
pub mod rights;
pub mod serving_versions;
pub mod signatures;
mod slot;
pub mod trial;
