//! `/plugins/{name}/usage`: what a plugin has used, and how its versions are.

use crate::{
    error::ApiResult,
    routes::{OPERATOR, Routes, Tag},
};
use std::sync::Arc;

use axum::extract::State;
use jiff::{ToSpan, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::super::{
    extract::{Path, Query},
    list::limit,
};
use mindhost_base::error::{Code, Error};
use mindhost_core::{
    auth::Caller,
    usage::plugins::{Line, PluginUsage, Span},
};
use mindhost_plugins::registry::Registry;
use mindhost_runtime::{
    health::HealthReport,
    meter::{Figures, VersionMeter},
};

/// `/plugins/{name}/usage`
pub(crate) fn routes() -> Routes {
    let rules = OPERATOR
        .beyond_minds("see what plugins use")
        .fails(&[Code::PluginNotFound]);
    Routes::of(Tag::Plugins).route(routes!(get), rules)
}

/// Lines of a list, by default and at most.
const DEFAULT_LIMIT: u32 = 1000;
const MAX_LIMIT: u32 = 10_000;

/// The parameters of a list; days in UTC, the last 30 unless asked otherwise.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct List {
    /// The first day, in UTC; 29 days before the last one unless given.
    #[param(example = "2026-01-01")]
    from: Option<Date>,
    /// The last day, in UTC; today unless given.
    #[param(example = "2026-01-31")]
    until: Option<Date>,
    /// How many lines of days at most.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 10_000, default = 1000)]
    limit: Option<i64>,
}

/// What a plugin has used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginUsage)]
pub(crate) struct Account {
    #[schema(example = "plugin.usage")]
    object: &'static str,
    /// Name of the plugin.
    plugin: String,
    /// The first day, in UTC.
    from: Date,
    /// The last day, in UTC.
    until: Date,
    /// Since this host started, each version that was used.
    since_start: Vec<Version>,
    /// By day, newest first, of all hosts of the store.
    days: Vec<Line>,
    /// Whether there are more lines than asked for.
    has_more: bool,
}

/// What a version has used since this host started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginVersionUsage)]
struct Version {
    /// The version of the plugin.
    version: String,
    /// SHA-256 of its file.
    digest: String,
    /// Whether it may be called.
    health: HealthReport,
    /// Instances that are alive.
    instances: u64,
    /// Over all its targets, those that are gone too.
    figures: Figures,
    /// Each datasource or provider that uses it.
    targets: Vec<Target>,
}

/// What one target has used of a version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginTargetUsage)]
struct Target {
    /// Id of the datasource or provider.
    id: String,
    /// Its name.
    name: String,
    /// Name of its workspace.
    workspace: String,
    /// Instances that are alive.
    instances: u64,
    /// What it used.
    figures: Figures,
}

/// Shows what a plugin has used, and how its versions are
///
/// By version and target since this host started, and by day for all hosts of the store.
#[utoipa::path(get, path = "/plugins/{name}/usage", operation_id = "get_plugin_usage",
    params(List),
    responses((status = 200, body = Account, description = "What it has used.")))]
pub(crate) async fn get(
    caller: Caller,
    State(registry): State<Arc<Registry>>,
    State(usage): State<PluginUsage>,
    Path(name): Path<String>,
    Query(list): Query<List>,
) -> ApiResult<axum::Json<Account>> {
    caller.require_host("see what plugins use")?;
    let today = || jiff::Timestamp::now().to_zoned(TimeZone::UTC).date();
    let until = list.until.unwrap_or_else(today);
    let from = list.from.unwrap_or(until.saturating_sub(29.days()));
    if from > until {
        return Err(Error::invalid("from", "`from` is later than `until`").into());
    }
    let since_start: Vec<Version> = versions(&registry, &name).iter().map(version).collect();
    let span = Span {
        plugin: name.clone(),
        from,
        until,
        limit: limit(list.limit, DEFAULT_LIMIT, MAX_LIMIT)?,
    };
    let (days, has_more) = usage.read(&span).await?;
    if since_start.is_empty() && days.is_empty() {
        return Err(not_found(&registry, &name).into());
    }
    Ok(axum::Json(Account {
        object: "plugin.usage",
        plugin: name,
        from,
        until,
        since_start,
        days,
        has_more,
    }))
}

pub(super) fn versions(registry: &Registry, name: &str) -> Vec<Arc<VersionMeter>> {
    let all = registry.meters().map(|meters| meters.versions());
    let mut versions = all.unwrap_or_default();
    versions.retain(|version| version.id.plugin == name);
    versions
}

fn version(version: &Arc<VersionMeter>) -> Version {
    let targets = version.targets();
    Version {
        version: version.id.version.clone(),
        digest: version.id.digest.clone(),
        health: version.report(),
        instances: version.meter.instances(),
        figures: version.meter.read(),
        targets: targets
            .iter()
            .map(|target| Target {
                id: target.id.id.clone(),
                name: target.id.name.clone(),
                workspace: target.id.workspace.clone(),
                instances: target.meter.instances(),
                figures: target.meter.read(),
            })
            .collect(),
    }
}

/// There is nothing to tell of a plugin: nobody has installed it, or nobody has used it.
pub(super) fn not_found(registry: &Registry, name: &str) -> Error {
    let shown: String = name.escape_debug().take(64).collect();
    match registry.find(name, None) {
        Err(error) => error,
        Ok(_) => Error::new(
            Code::PluginNotFound,
            format!("the plugin `{shown}` is installed, and was not used in this time"),
        ),
    }
}
