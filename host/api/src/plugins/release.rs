//! `/plugins/{name}/release`: a version that failed too often is called again.

use crate::{
    error::ApiResult,
    routes::{ADMIN, Routes, Tag},
};
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    super::extract::{Path, Query},
    usage::{not_found, versions},
};
use mindhost_base::error::{Code, Error};
use mindhost_core::auth::{Caller, Role};
use mindhost_plugins::registry::Registry;
use mindhost_runtime::health::HealthReport;
use mindhost_store::Store;

/// `/plugins/{name}/release`
pub(crate) fn routes() -> Routes {
    let rules = ADMIN
        .beyond_minds("release plugins")
        .fails(&[Code::PluginNotFound]);
    Routes::of(Tag::Plugins).route(routes!(release), rules)
}

/// Which version.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReleaseQuery {
    /// Only the version with this digest.
    digest: Option<String>,
}

/// How the versions of a plugin are.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginReleased)]
pub(crate) struct ReleaseReport {
    #[schema(example = "plugin.released")]
    object: &'static str,
    /// Name of the plugin.
    plugin: String,
    /// Name of the workspace for which they are called again; null for all.
    #[schema(required = true)]
    workspace: Option<String>,
    /// Each version that was looked at.
    versions: Vec<Version>,
}

/// How a version is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginVersionReleased)]
struct Version {
    /// The version of the plugin.
    version: String,
    /// SHA-256 of its file.
    digest: String,
    /// Whether it was not called, or not for some of its targets, or on the way there.
    was_in_trouble: bool,
    /// How it is now.
    health: HealthReport,
}

fn not_used(name: &str, digest: &str, used: &[String]) -> Error {
    let digest: String = digest.escape_debug().take(64).collect();
    Error::new(
        Code::PluginNotFound,
        format!(
            "no version of `{name}` with the digest `{digest}` was used since the server started; send one of them whole: {}",
            used.join(", ")
        ),
    )
    .param("digest")
}

/// Releases a plugin from quarantine
///
/// Ends its quarantine and every time for which it rests, and forgets the faults that led there. An operator does so for
/// all workspaces; an admin for the datasources and providers of the own one, and what the version is as a whole stays.
#[utoipa::path(post, path = "/plugins/{name}/release", operation_id = "release_plugin",
    params(ReleaseQuery),
    responses((status = 200, body = ReleaseReport, description = "It is called again.")))]
pub(crate) async fn release(
    caller: Caller,
    State(registry): State<Arc<Registry>>,
    State(store): State<Store>,
    Path(name): Path<String>,
    Query(which): Query<ReleaseQuery>,
) -> ApiResult<axum::Json<ReleaseReport>> {
    caller.require_all_minds("release plugins")?;
    let workspace = match caller.role >= Role::Operator {
        true => None,
        false => Some(store.workspace(&caller.workspace).await?.name.clone()),
    };
    let mut versions = versions(&registry, &name);
    if versions.is_empty() {
        return Err(not_found(&registry, &name).into());
    }
    if let Some(digest) = &which.digest {
        let used: Vec<String> = versions.iter().map(|one| one.id.digest.clone()).collect();
        versions.retain(|version| version.id.digest == *digest);
        if versions.is_empty() {
            return Err(not_used(&name, digest, &used).into());
        }
    }
    let released = versions.iter().map(|version| {
        let (was_in_trouble, health) = match &workspace {
            None => (version.health.release(), version.report()),
            Some(own) => {
                let was_in_trouble = version.health.release_workspace(own);
                (was_in_trouble, version.report().of_workspace(own))
            }
        };
        Version {
            version: version.id.version.clone(),
            digest: version.id.digest.clone(),
            was_in_trouble,
            health,
        }
    });
    Ok(axum::Json(ReleaseReport {
        object: "plugin.released",
        versions: released.collect(),
        workspace: workspace.clone(),
        plugin: name,
    }))
}
