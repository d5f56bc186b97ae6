//! Names of versions and targets, for meters, health and logs.

use serde::Serialize;

/// Identifies a version of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
pub struct VersionId {
    /// `connector-sqlite`
    pub plugin: String,
    /// The version that its manifest says.
    pub version: String,
    /// SHA-256 of the file, in hex.
    pub digest: String,
}

/// A datasource or provider, for metrics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// What meters and breakers are kept by.
    pub id: String,
    /// As its workspace calls it, for people.
    pub name: String,
    /// Name of its workspace, for people and for breakers.
    pub workspace: String,
}
