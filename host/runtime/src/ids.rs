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
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Name of its workspace.
    pub workspace: String,
}
