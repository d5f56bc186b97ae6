//! Model providers: a name for a language-model vendor, and what is needed to reach it.

mod store;

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{Caller, Role},
    connection_data::{self, ClearData, Rules, StoredData},
    secrets::SecretKeys,
    stored_connections::{
        self as shared, CommonColumns, StoredConnection, StoredConnections,
        store::{self as rows, AnyQuery},
    },
};
use mindhost_base::{
    config::Config,
    error::{Code, Error, Result},
    names,
};
use mindhost_plugin_api::{Model, Target};
use mindhost_plugins::registry::Registry;
use mindhost_store::{AnyRow, ReadCache, ResourceKind, Row, Store, new_id, now, timestamp};

/// The provider that every workspace has from the start, and the plugin that serves it.
pub const BUILTIN: (&str, &str) = ("offline", "model-offline");

/// A configured model vendor: the plugin that serves it, and what the plugin connects with.
#[derive(Clone, Debug)]
pub struct Provider {
    /// UUID; Minds refer to it.
    pub id: String,
    /// Id of the workspace whose Minds may use it.
    pub workspace_id: String,
    /// Unique in the workspace.
    pub name: String,
    /// The `name` in the manifest of the plugin that serves it.
    pub plugin: String,
    /// For people; may be empty.
    pub description: String,
    /// With secrets masked and sealed.
    pub connection_data: StoredData,
    /// Whether new Minds get it when they name none.
    pub is_default: bool,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// When anything of it changed.
    pub modified_at: jiff::Timestamp,
}

impl StoredConnection for Provider {
    const TABLE: &'static str = "providers";
    const NOUN: &'static str = "provider";
    const COUNTED: ResourceKind = ResourceKind::Providers;
    const NOT_FOUND: Code = Code::ProviderNotFound;
    const SERVED_BY: &'static str = "plugin";
    const OWN_COLUMN: &'static str = "is_default";

    fn from_row(row: &AnyRow) -> Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            workspace_id: row.try_get("workspace_id")?,
            name: row.try_get("name")?,
            plugin: row.try_get("plugin")?,
            description: row.try_get("description")?,
            connection_data: rows::connection_data(row)?,
            is_default: row.try_get::<i64, _>("is_default")? == 1,
            created_at: timestamp(row.try_get("created_at")?),
            modified_at: timestamp(row.try_get("modified_at")?),
        })
    }

    fn shared(&self) -> CommonColumns<'_> {
        CommonColumns {
            id: &self.id,
            workspace_id: &self.workspace_id,
            name: &self.name,
            served_by: &self.plugin,
            pin: None,
            description: &self.description,
            connection_data: &self.connection_data,
            created_at: self.created_at,
            modified_at: self.modified_at,
        }
    }

    fn bind_own<'q>(&'q self, query: AnyQuery<'q>) -> Result<AnyQuery<'q>> {
        Ok(query.bind(i64::from(self.is_default)))
    }
}

impl Provider {
    /// The model that it uses when a Mind names none; empty when the plugin decides.
    pub fn default_model(&self) -> &str {
        let model = self.connection_data.shown.get("model");
        model.and_then(Value::as_str).unwrap_or_default()
    }
}

/// What a provider is made of, not checked yet.
#[derive(Debug)]
pub struct NewProvider {
    /// `[A-Za-z][A-Za-z0-9_-]{0,63}`
    pub name: String,
    /// The `name` in the manifest of the plugin that serves it.
    pub plugin: String,
    /// May be empty.
    pub description: String,
    /// In clear.
    pub connection_data: Map<String, Value>,
    /// Whether it becomes the default.
    pub is_default: bool,
}

/// A change; `None` keeps the value.
#[derive(Debug, Default)]
pub struct Changes {
    /// A new name.
    pub name: Option<String>,
    /// Another plugin. Decides where secrets go.
    pub plugin: Option<String>,
    /// Empty removes it.
    pub description: Option<String>,
    /// The properties that change.
    pub connection_data: Option<Map<String, Value>>,
    /// True takes it from the current default. False is an error for that one.
    pub is_default: Option<bool>,
}

/// The default provider of a workspace, if it has one yet.
///
/// # Errors
/// When the store fails.
pub async fn default_of(store: &Store, workspace: &str) -> Result<Option<Provider>> {
    let all = rows::list::<Provider>(store, workspace).await?;
    Ok(all.into_iter().find(|provider| provider.is_default))
}

/// Gives a workspace the built-in provider if it has none, and makes it the default if there is no other.
///
/// # Errors
/// When the store fails.
pub async fn ensure_builtin(store: &Store, workspace: &str) -> Result<()> {
    store::ensure_builtin(store, workspace).await
}

/// A provider and its connection data in clear, ready for calls.
pub struct Ready {
    /// The `name` in the manifest of the plugin that calls it.
    pub plugin: String,
    /// What the plugin is pointed at, secrets in clear.
    pub target: Target,
}

/// The model providers of all workspaces.
pub struct Providers {
    /// By workspace and id.
    cache: ReadCache<Arc<Ready>>,
    rows: StoredConnections,
    registry: Arc<Registry>,
}

impl Providers {
    /// Over a store, with the keys that open its secrets.
    pub fn new(
        store: Store,
        keys: SecretKeys,
        registry: Arc<Registry>,
        config: &Config,
        ending: CancellationToken,
    ) -> Self {
        Self {
            cache: ReadCache::new(&store),
            rows: StoredConnections::new(store, keys, config, ending),
            registry,
        }
    }

    /// Creates a provider. With `check` its connection is tested first, and nothing is stored if the test fails.
    ///
    /// # Errors
    /// `invalid_parameter`, `invalid_connection_data`, `secret_required`, `unknown_plugin`, `connection_failed`,
    /// `name_taken`
    pub async fn create(&self, caller: &Caller, new: NewProvider, check: bool) -> Result<Provider> {
        caller.require(Role::Admin)?;
        caller.require_all_minds("create a provider")?;
        names::check("provider", &new.name)?;
        let workspace = &caller.workspace;
        self.rows
            .check_new::<Provider>(workspace, &new.name)
            .await?;
        let model = self.named_model(&new.plugin)?;
        let rules = Rules::new(&model.manifest().connection_data);
        let clear = connection_data::new(new.connection_data, &rules)?;
        let at = timestamp(now());
        let mut provider = Provider {
            connection_data: StoredData::default(),
            id: new_id(),
            workspace_id: workspace.to_string(),
            name: new.name,
            plugin: new.plugin,
            description: new.description,
            is_default: new.is_default,
            created_at: at,
            modified_at: at,
        };
        if check {
            self.test_change(&model, &provider, clear.clone()).await?;
        }
        provider.connection_data = self.rows.seal(&provider, &clear, &rules)?;
        store::insert(&self.rows.store, &provider).await?;
        Ok(provider)
    }

    /// Applies `changes`. With `check` a changed connection is tested first.
    ///
    /// # Errors
    /// As [`Self::create`], and `provider_not_found`.
    pub async fn update(
        &self,
        caller: &Caller,
        name: &str,
        changes: Changes,
        check: bool,
    ) -> Result<Provider> {
        caller.require(Role::Admin)?;
        let old = self.get(caller, name).await?;
        caller.require_all_minds("change a provider: other Minds may use it too")?;
        if old.is_default && changes.is_default == Some(false) {
            return Err(Error::invalid(
                "default",
                "there must be a default; set `default: true` on another provider",
            ));
        }
        let mut changed = Provider {
            name: changes.name.unwrap_or_else(|| old.name.clone()),
            plugin: changes.plugin.unwrap_or_else(|| old.plugin.clone()),
            description: changes
                .description
                .unwrap_or_else(|| old.description.clone()),
            is_default: changes.is_default.unwrap_or(old.is_default),
            modified_at: timestamp(now()),
            ..old.clone()
        };
        names::check("provider", &changed.name)?;
        if old.name == BUILTIN.0 && (changed.name != old.name || changed.plugin != old.plugin) {
            return Err(built_in());
        }
        let is_moved = changed.plugin != old.plugin;
        if is_moved || changes.connection_data.is_some() {
            let model = match is_moved {
                true => self.named_model(&changed.plugin)?,
                false => self.model(&changed.plugin)?,
            };
            let rules = Rules::new(&model.manifest().connection_data);
            let sent = changes.connection_data.unwrap_or_default();
            // The plugin decides where secrets go, so another plugin gets none of the stored ones.
            let clear = match is_moved {
                true => connection_data::new(sent, &rules)?,
                false => self.rows.patch(&old, sent, &rules)?,
            };
            if check {
                self.test_change(&model, &changed, clear.clone()).await?;
            }
            changed.connection_data = self.rows.seal(&changed, &clear, &rules)?;
        }
        store::update(&self.rows.store, &old, &changed).await?;
        self.forget(&old).await;
        Ok(changed)
    }

    /// Deletes a provider.
    ///
    /// # Errors
    /// `provider_not_found`; `resource_in_use` when a Mind uses it or it is the default; `wrong_state` for the
    /// built-in one.
    pub async fn delete(&self, caller: &Caller, name: &str) -> Result<()> {
        caller.require(Role::Admin)?;
        let provider = self.get(caller, name).await?;
        caller.require_all_minds("delete a provider: other Minds may use it too")?;
        if provider.name == BUILTIN.0 {
            return Err(built_in());
        }
        if provider.is_default {
            return Err(store::is_the_default());
        }
        store::delete(&self.rows.store, &provider).await?;
        self.forget(&provider).await;
        Ok(())
    }

    /// Has the plugin drop what it caches for a provider that changed or was deleted.
    async fn forget(&self, provider: &Provider) {
        if let Ok(model) = self.registry.model(&provider.plugin) {
            model.forget(&provider.id).await;
        }
    }

    /// The providers of the caller's workspace, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Provider>> {
        rows::list(&self.rows.store, &caller.workspace).await
    }

    /// The provider of that name.
    ///
    /// # Errors
    /// `provider_not_found`
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Provider> {
        let found = rows::by_name(&self.rows.store, &caller.workspace, name).await?;
        found.ok_or_else(|| shared::not_found::<Provider>(name))
    }

    /// The provider of that id, without a check of who may see it. Cached until something changes, at most for a
    /// second.
    ///
    /// # Errors
    /// `provider_not_found`
    pub async fn current(&self, workspace: &str, id: &str) -> Result<Arc<Ready>> {
        let key = format!("{workspace}/{id}");
        if let Some(ready) = self.cache.get(&key) {
            return Ok(ready);
        }
        let find = async {
            let found = rows::by_id::<Provider>(&self.rows.store, workspace, id).await?;
            let provider = found.ok_or_else(|| shared::not_found::<Provider>(id))?;
            Ok(Arc::new(Ready {
                target: self.target(&provider).await?,
                plugin: provider.plugin,
            }))
        };
        self.cache.read(&key, find).await
    }

    /// The provider that a Mind names, or the default.
    ///
    /// # Errors
    /// `unknown_provider`, which lists the providers.
    pub async fn resolve(&self, workspace: &str, name: Option<&str>) -> Result<Provider> {
        let all = rows::list::<Provider>(&self.rows.store, workspace).await?;
        let names: Vec<_> = all.iter().map(|provider| provider.name.clone()).collect();
        let wanted = |provider: &Provider| match name {
            Some(name) => provider.name == name,
            None => provider.is_default,
        };
        all.into_iter().find(wanted).ok_or_else(|| {
            let message = format!(
                "there is no provider '{}'; the providers there are: {}",
                name.unwrap_or("default"),
                names.join(", ")
            );
            Error::new(Code::UnknownProvider, message).param("provider")
        })
    }

    /// What a plugin is pointed at for this provider, secrets in clear.
    ///
    /// # Errors
    /// When the secrets do not open.
    pub async fn target(&self, provider: &Provider) -> Result<Target> {
        let clear = self.rows.open(provider)?;
        self.rows.target(provider, clear, u32::MAX).await
    }

    /// What a model plugin is pointed at for at most `limit` providers of all workspaces that use it, those that
    /// changed last first.
    ///
    /// # Errors
    /// When the store fails or the secrets do not open.
    pub async fn targets_of(&self, plugin: &str, limit: usize) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        let all = rows::served_by::<Provider>(&self.rows.store, &[plugin.to_owned()]).await?;
        for provider in all.iter().take(limit) {
            targets.push(self.target(provider).await?);
        }
        Ok(targets)
    }

    /// Tests a stored provider.
    ///
    /// # Errors
    /// `connection_failed` with the vendor's own message, `no_plugin`, `plugin_error`, `overloaded`
    pub async fn check(&self, provider: &Provider) -> Result<()> {
        let model = self.model(&provider.plugin)?;
        self.test(&model, &self.target(provider).await?).await
    }

    /// Tests under an id of its own, of which nothing stays: a failure says nothing about a provider that exists, and one
    /// that does not come to be has no metrics.
    async fn test_change(
        &self,
        model: &Arc<dyn Model>,
        provider: &Provider,
        clear: ClearData,
    ) -> Result<()> {
        let target = Target {
            id: new_id(),
            ..self.rows.target(provider, clear, u32::MAX).await?
        };
        let tested = self.test(model, &target).await;
        model.forget(&target.id).await;
        tested
    }

    async fn test(&self, model: &Arc<dyn Model>, target: &Target) -> Result<()> {
        let (call, _guard) = self.rows.test_call();
        let answered = model.check(target, &call).await;
        answered.map(drop).map_err(connection_data::test_failed)
    }

    /// As [`Self::model`], for a plugin that the request names: a missing one is an error of the caller.
    fn named_model(&self, plugin: &str) -> Result<Arc<dyn Model>> {
        self.model(plugin).map_err(|error| match error.code() {
            Code::NoPlugin => Error::new(Code::UnknownPlugin, error.message()).param("plugin"),
            _ => error,
        })
    }

    fn model(&self, plugin: &str) -> Result<Arc<dyn Model>> {
        self.registry
            .model(plugin)
            .map_err(|error| error.param("plugin"))
    }
}

fn built_in() -> Error {
    Error::new(
        Code::WrongState,
        format!(
            "the provider '{}' is built in; it can neither be renamed nor deleted",
            BUILTIN.0
        ),
    )
}
