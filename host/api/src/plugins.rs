//! `/plugins`, for operators; admins may look.

mod release;
mod usage;

use crate::{
    error::ApiResult,
    routes::{ADMIN, OPERATOR, Routes, Tag},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    admission::{ClientLeft, CreatedName},
    ask,
    extract::{self, Json, Path, Query},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::{
    auth::{Auth, Caller},
    rollouts::{ActivationOptions, Rollout, Rollouts},
};
use mindhost_plugin_api::PluginKind;
use mindhost_plugins::{
    active::{ActivePlugins, MissingVersion},
    registry::{Inspection, Installed, Registry, Slot, Status, VersionFacts},
    rights::{Incumbents, Right, Rights, listed},
};
use mindhost_runtime::{health::HealthReport, meter::VersionMeter};
use mindhost_store::Store;

/// `/plugins`
pub(super) fn routes() -> Routes {
    let install = OPERATOR.beyond_minds("install plugins").fails(&[
        Code::PluginRefused,
        Code::NameTaken,
        Code::InvalidBody,
        Code::BodyTooLarge,
        Code::UnsupportedMediaType,
    ]);
    let activate = OPERATOR.beyond_minds("activate plugins").fails(&[
        Code::PluginNotFound,
        Code::PluginAmbiguous,
        Code::WrongState,
        Code::RolloutActive,
        Code::RightsNotAccepted,
    ]);
    let roll_back = OPERATOR
        .beyond_minds("roll plugins back")
        .fails(&[Code::PluginNotFound, Code::WrongState]);
    let rollout = OPERATOR
        .beyond_minds("see rollouts")
        .fails(&[Code::PluginNotFound, Code::RolloutNotFound]);
    let remove = OPERATOR.beyond_minds("remove plugins").fails(&[
        Code::PluginNotFound,
        Code::PluginAmbiguous,
        Code::InUse,
    ]);
    Routes::of(Tag::Plugins)
        .route(routes!(self::list), ADMIN)
        .route(routes!(self::install), install)
        .route(routes!(self::get), ADMIN.fails(&[Code::PluginNotFound]))
        .route(routes!(self::activate), activate)
        .route(routes!(self::roll_back), roll_back)
        .route(routes!(self::rollout), rollout)
        .route(routes!(self::remove), remove)
        .and(usage::routes())
        .and(release::routes())
}

/// The longest that a request waits for a rollout.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// A plugin with its versions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Plugin)]
pub(super) struct PluginBody {
    /// `connector-postgres`
    #[schema(example = "connector-sqlite")]
    name: String,
    /// Connector or model.
    kind: PluginKind,
    /// Digest of the version that serves; null when none does.
    #[schema(required = true)]
    active: Option<String>,
    /// Active versions for what this plugin serves that this host does not serve, because it lacks the file or cannot
    /// use it. Another version serves in their place, or none.
    missing: Vec<MissingVersion>,
    /// JSON schema of the connection data of the version that serves, for forms; null when none does.
    #[schema(required = true, value_type = Option<Object>)]
    connection_data: Option<Value>,
    /// What is installed, lowest version first.
    versions: Vec<Version>,
    /// The newest rollouts, newest first; for operators of all Minds alone: they name datasources of all workspaces.
    rollouts: Vec<Rollout>,
}

/// An installed version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginVersion)]
struct Version {
    #[serde(flatten)]
    installed: Installed,
    /// All that it may do.
    rights: Vec<Right>,
    /// Whether it may be called; for those who do not see all workspaces, in the own one. Missing if it was not called
    /// since this host started.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<HealthReport>,
    /// What it may do that the version before it may not; its activation needs `accept_rights` with these names.
    wider_rights: Vec<Right>,
}

/// A file, and what it would be allowed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InspectedPlugin)]
pub(super) struct InspectionBody {
    #[serde(flatten)]
    inspected: Inspection,
    /// What it may do that the version before it may not; its activation needs `accept_rights` with these names.
    wider_rights: Vec<Right>,
}

/// Version to activate.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ActivatePlugin)]
#[serde(deny_unknown_fields)]
pub(super) struct Activate {
    /// A version, or the beginning of a digest. Unless given, the highest whose last rollout did not fail and was
    /// not rolled back.
    #[schema(example = "1.2.0")]
    version: Option<String>,
    /// A share of the calls first.
    canary: Option<Canary>,
    /// Activate it even if it fails with datasources that work now.
    #[serde(default)]
    force: bool,
    /// Names of rights beyond those of the version before that it may have: those that 409 `rights_not_accepted` lists.
    #[serde(default)]
    accept_rights: Vec<String>,
}

/// A share of the calls for some time.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Canary {
    /// Per cent of the calls.
    #[schema(minimum = 0.01, maximum = 100.0, example = 5.0)]
    percent: f64,
    /// For so many seconds.
    #[schema(minimum = 1, maximum = 86_400, example = 60)]
    seconds: u64,
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// Wait so many seconds at most until the new version serves or never will.
    #[param(minimum = 0, maximum = 300)]
    wait: Option<u64>,
}

/// Whether to install.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct DryRun {
    /// Only say what the file is and what it asks for; nothing is kept.
    dry_run: Option<bool>,
}

/// Lists the plugins with their versions
#[utoipa::path(get, path = "/plugins", operation_id = "list_plugins",
    responses((status = 200, body = Vec<PluginBody>, description = "All of them, by name.")))]
pub(super) async fn list(
    caller: Caller,
    State(registry): State<Arc<Registry>>,
    State(rollouts): State<Rollouts>,
    State(store): State<Store>,
) -> ApiResult<axum::Json<Vec<PluginBody>>> {
    let mut names: Vec<String> = registry
        .installed()
        .into_iter()
        .filter_map(|one| Some(one.about?.name))
        .collect();
    names.dedup();
    let reader = Reader::new(&caller, &store, &registry, &rollouts).await?;
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        all.push(shown(&reader, &registry, &rollouts, &name).await?);
    }
    Ok(axum::Json(all))
}

/// Gets a plugin with its versions and its newest rollouts
#[utoipa::path(get, path = "/plugins/{name}", operation_id = "get_plugin",
    responses((status = 200, body = PluginBody, description = "The plugin.")))]
pub(super) async fn get(
    caller: Caller,
    State(registry): State<Arc<Registry>>,
    State(rollouts): State<Rollouts>,
    State(store): State<Store>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<PluginBody>> {
    let reader = Reader::new(&caller, &store, &registry, &rollouts).await?;
    Ok(axum::Json(
        shown(&reader, &registry, &rollouts, &name).await?,
    ))
}

/// Installs a plugin file
///
/// It is verified and kept under its SHA-256, and serves nothing before it is activated. With `dry_run=true` it is only
/// shown: what it is, who signed it, and its access.
#[utoipa::path(post, path = "/plugins", operation_id = "install_plugin",
    params(DryRun, ("x-mindhost-signature" = Option<String>, Header,
        description = "The text of its minisign signature, in base64.")),
    request_body(content = Vec<u8>, content_type = "application/wasm", description = "The component with its manifest."),
    responses((status = 200, body = InspectionBody, description = "With `dry_run=true`: what it is."),
        (status = 201, body = InspectionBody, description = "It is installed.")))]
pub(super) async fn install(
    caller: Caller,
    State(registry): State<Arc<Registry>>,
    State(rollouts): State<Rollouts>,
    State(auth): State<Arc<Auth>>,
    Query(query): Query<DryRun>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(
    StatusCode,
    Extension<CreatedName>,
    axum::Json<InspectionBody>,
)> {
    caller.require_host("install plugins")?;
    if !says_wasm(&headers) {
        return Err(Error::new(
            Code::UnsupportedMediaType,
            "send the plugin file as the body, with the content type application/wasm",
        )
        .into());
    }
    let signature = signature(&headers)?;
    let limit = registry.max_package_bytes()?;
    let (bytes, signature) = (file(body, limit).await?, signature.as_deref());
    auth.confirm(&caller).await?;
    let (status, inspected) = match query.dry_run.unwrap_or(false) {
        true => (StatusCode::OK, registry.inspect(bytes, signature).await?),
        false => (
            StatusCode::CREATED,
            registry.install(bytes, signature).await?,
        ),
    };
    let about = &inspected.about;
    let made = CreatedName(format!("{} {} {}", about.name, about.version, about.digest));
    let rights = Rights::of(&inspected.manifest, about.signer.as_deref());
    let asked = InspectionBody {
        wider_rights: rollouts.incumbents().await?.wider(&rights),
        inspected,
    };
    Ok((status, Extension(made), axum::Json(asked)))
}

/// Puts an installed version into the place of the one that serves
///
/// A version that may do more than the one before it (reach more, hold more secrets, serve more engines) needs
/// `accept_rights`. Running calls are not interrupted. The version is compiled and tried with the datasources that use
/// the plugin first; then it serves a share of the calls, if `canary` says so, then all of them. Too many faults and it
/// goes back by itself.
#[utoipa::path(post, path = "/plugins/{name}/activate", operation_id = "activate_plugin",
    params(Wait), request_body(content = Option<Activate>),
    responses((status = 202, body = Rollout, description = "How it stands.")))]
pub(super) async fn activate(
    caller: Caller,
    Extension(client): Extension<ClientLeft>,
    State(rollouts): State<Rollouts>,
    State(auth): State<Arc<Auth>>,
    Path(name): Path<String>,
    Query(query): Query<Wait>,
    body: Option<Json<Activate>>,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<Rollout>)> {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    let wish = ActivationOptions {
        canary: body.canary.map(Canary::checked).transpose()?,
        force: body.force,
        accept_rights: body.accept_rights,
    };
    let (version, at_most) = (body.version.as_deref(), query.at_most()?);
    auth.confirm(&caller).await?;
    let rollout = rollouts.activate(&caller, &name, version, wish).await?;
    let waited = client.or(rollouts.wait(&rollout, at_most)).await;
    let rollout = waited.unwrap_or(Ok(rollout))?;
    let accepted = match rollout.accepted_rights.is_empty() {
        true => String::new(),
        false => format!(" accept_rights={}", listed(&rollout.accepted_rights)),
    };
    let made = CreatedName(format!("{} {}{accepted}", rollout.plugin, rollout.to));
    Ok((StatusCode::ACCEPTED, Extension(made), axum::Json(rollout)))
}

/// Goes back to the version that served before
///
/// At once, and without trying it. A rollout that is in progress is aborted.
#[utoipa::path(post, path = "/plugins/{name}/rollback", operation_id = "roll_back_plugin",
    responses((status = 200, body = Rollout, description = "How it ended.")))]
pub(super) async fn roll_back(
    caller: Caller,
    State(rollouts): State<Rollouts>,
    State(auth): State<Arc<Auth>>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<Rollout>> {
    auth.confirm(&caller).await?;
    Ok(axum::Json(rollouts.roll_back(&caller, &name).await?))
}

/// Gets a rollout
#[utoipa::path(get, path = "/plugins/{name}/rollouts/{id}", operation_id = "get_rollout",
    responses((status = 200, body = Rollout, description = "How it stands.")))]
pub(super) async fn rollout(
    caller: Caller,
    State(rollouts): State<Rollouts>,
    Path((name, id)): Path<(String, String)>,
) -> ApiResult<axum::Json<Rollout>> {
    caller.require_host("see rollouts")?;
    let id = ask::id(&id, "", "id", Code::RolloutNotFound)?;
    Ok(axum::Json(rollouts.get(&name, id).await?))
}

/// Removes an installed version
///
/// One that serves, is on trial, or is pinned by a datasource stays: 409 says which of these holds, and what to do.
#[utoipa::path(delete, path = "/plugins/{name}/versions/{version}", operation_id = "remove_plugin_version",
    responses((status = 204, description = "Removed.")))]
pub(super) async fn remove(
    caller: Caller,
    State(rollouts): State<Rollouts>,
    State(auth): State<Arc<Auth>>,
    Path((name, version)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    caller.require_host("remove plugins")?;
    auth.confirm(&caller).await?;
    rollouts.remove(&name, &version).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl Canary {
    fn checked(self) -> Result<(f64, Duration)> {
        if !(0.01..=100.0).contains(&self.percent) {
            return Err(Error::invalid(
                "canary.percent",
                "`canary.percent` must be between 0.01 and 100",
            ));
        }
        match (1..=86_400).contains(&self.seconds) {
            true => Ok((self.percent / 100.0, Duration::from_secs(self.seconds))),
            false => Err(Error::invalid(
                "canary.seconds",
                "`canary.seconds` must be between 1 and 86400",
            )),
        }
    }
}

impl Wait {
    fn at_most(&self) -> Result<Duration> {
        let wait = Duration::from_secs(self.wait.unwrap_or(0));
        match wait <= MAX_WAIT {
            true => Ok(wait),
            false => Err(Error::invalid("wait", "`wait` must be between 0 and 300")),
        }
    }
}

fn says_wasm(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let media = value
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next());
    media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/wasm"))
}

async fn file(body: Body, limit: u64) -> Result<Vec<u8>> {
    let too_large = || {
        Error::new(
            Code::BodyTooLarge,
            format!("the file is larger than plugins.max_package_bytes allows ({limit} bytes)"),
        )
    };
    let broken = |error: axum::Error| {
        Error::new(
            Code::InvalidBody,
            "the file broke off before its end; nothing was installed, so send it again",
        )
        .with_source(error)
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    extract::read(body, limit, too_large, broken)
        .await
        .map(Vec::from)
}

fn signature(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get("x-mindhost-signature") else {
        return Ok(None);
    };
    let text = BASE64_STANDARD.decode(value.as_bytes()).ok();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Some).ok_or_else(|| {
        Error::invalid(
            "x-mindhost-signature",
            "the header x-mindhost-signature must be the text of a minisign signature in base64",
        )
    })
}

/// What a caller sees of plugins.
struct Reader {
    /// The versions with which rights are compared.
    incumbents: Incumbents,
    /// Rollouts name datasources of all workspaces, and paths are those of the server's machine.
    sees_host: bool,
    /// The active versions that this host does not serve.
    missing: Vec<MissingVersion>,
    health: HealthScope,
}

/// The part of a health report that a caller sees.
enum HealthScope {
    All,
    /// The one with this name.
    Workspace(String),
    None,
}

impl Reader {
    async fn new(
        caller: &Caller,
        store: &Store,
        registry: &Registry,
        rollouts: &Rollouts,
    ) -> Result<Self> {
        let sees_host = caller.require_host("see rollouts").is_ok();
        let health = match (sees_host, &caller.minds) {
            (true, _) => HealthScope::All,
            (false, None) => {
                HealthScope::Workspace(store.workspace(&caller.workspace).await?.name.clone())
            }
            (false, Some(_)) => HealthScope::None,
        };
        Ok(Self {
            incumbents: rollouts.incumbents().await?,
            sees_host,
            missing: ActivePlugins(store).missing(registry).await?,
            health,
        })
    }

    /// The active versions that this host does not serve, for what these versions would serve.
    fn missing(&self, registry: &Registry, versions: &[Installed]) -> Vec<MissingVersion> {
        let about = versions.iter().filter_map(|one| one.about.as_ref());
        let manifests = about.filter_map(|about| registry.manifest(&about.digest));
        let slots: BTreeSet<String> = manifests
            .flat_map(|manifest| Slot::of(&manifest))
            .map(|slot| slot.to_string())
            .collect();
        let mine = |one: &&MissingVersion| slots.contains(&one.serves);
        self.missing.iter().filter(mine).cloned().collect()
    }

    fn health(&self, of: &VersionMeter) -> Option<HealthReport> {
        match &self.health {
            HealthScope::All => Some(of.report()),
            HealthScope::Workspace(own) => Some(of.report().of_workspace(own)),
            HealthScope::None => None,
        }
    }
}

async fn shown(
    reader: &Reader,
    registry: &Registry,
    rollouts: &Rollouts,
    name: &str,
) -> Result<PluginBody> {
    let about: VersionFacts = registry.find(name, None)?;
    let is_mine = |one: &Installed| one.about.as_ref().is_some_and(|about| about.name == name);
    let mut versions = registry.installed();
    versions.retain(is_mine);
    let active = versions.iter().find(|one| one.status == Status::Active);
    let active = active.and_then(|one| Some(one.about.as_ref()?.digest.clone()));
    let rollouts = match reader.sees_host {
        true => rollouts.list(name).await?,
        false => {
            versions.iter_mut().for_each(|one| one.file = None);
            Vec::new()
        }
    };
    let used = usage::versions(registry, name);
    let version = |installed: Installed| {
        let digest = installed.about.as_ref().map(|about| about.digest.as_str());
        let rights = digest.and_then(|digest| registry.rights(digest));
        let used = used
            .iter()
            .find(|one| digest == Some(one.id.digest.as_str()));
        Version {
            rights: rights.as_ref().map_or_else(Vec::new, Rights::all),
            wider_rights: rights.map_or_else(Vec::new, |rights| reader.incumbents.wider(&rights)),
            health: used.and_then(|one| reader.health(one)),
            installed,
        }
    };
    Ok(PluginBody {
        missing: reader.missing(registry, &versions),
        name: about.name,
        kind: about.kind,
        connection_data: active
            .as_deref()
            .and_then(|digest| Some(registry.manifest(digest)?.connection_data)),
        active,
        versions: versions.into_iter().map(version).collect(),
        rollouts,
    })
}
