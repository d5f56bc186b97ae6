//! Model providers: a name for a language-model vendor, and what is needed to reach it.

mod store;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{Caller, Role},
    connection_data::{self, Clear, Holder, Rules, Stored},
    secrets::SecretKeys,
};
use mindhost_base::{
    config::Config,
    error::{Code, Error, Result},
    names,
};
use mindhost_plugin_api::{Call, Model, Target};
use mindhost_plugins::registry::Registry;
use mindhost_store::{ReadCache, ResourceKind, Store, new_id, now, timestamp};

const TABLE: &str = "providers";

/// The provider that every workspace has from the start, and the plugin that serves it.
pub const BUILTIN: (&str, &str) = ("offline", "model-offline");

/// A model provider.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Id.
    pub id: String,
    /// Id of its workspace.
    pub workspace_id: String,
    /// Unique in the workspace.
    pub name: String,
    /// Name of the model plugin.
    pub plugin: String,
    /// For people; may be empty.
    pub description: String,
    /// With secrets masked and sealed.
    pub connection_data: Stored,
    /// Whether new Minds get it when they name none.
    pub is_default: bool,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// When anything of it changed.
    pub modified_at: jiff::Timestamp,
}

impl Provider {
    /// What its secrets are bound to.
    fn holder(&self) -> Holder<'_> {
        Holder {
            table: TABLE,
            id: &self.id,
            workspace: &self.workspace_id,
            gets: &self.plugin,
            version: None,
        }
    }

    /// The model that it uses when a Mind names none; empty when the plugin decides.
    pub fn default_model(&self) -> &str {
        let model = self.connection_data.shown.get("model");
        model.and_then(Value::as_str).unwrap_or_default()
    }
}

/// A provider to be made.
#[derive(Debug)]
pub struct NewProvider {
    /// `[A-Za-z][A-Za-z0-9_-]{0,63}`
    pub name: String,
    /// Name of the model plugin.
    pub plugin: String,
    /// May be empty.
    pub description: String,
    /// In clear.
    pub connection_data: Map<String, Value>,
    /// Whether it becomes the default.
    pub is_default: bool,
}

/// What shall change; `None` leaves as it is.
#[derive(Debug, Default)]
pub struct Changes {
    /// A new name.
    pub name: Option<String>,
    /// Another plugin. Decides where secrets go.
    pub plugin: Option<String>,
    /// A new text.
    pub description: Option<String>,
    /// The properties that change.
    pub connection_data: Option<Map<String, Value>>,
    /// Becomes the default.
    pub is_default: Option<bool>,
}

/// The default provider of a workspace, if it has one yet.
///
/// # Errors
/// When the store fails.
pub async fn default_of(store: &Store, workspace: &str) -> Result<Option<Provider>> {
    let all = store::list(store, workspace).await?;
    Ok(all.into_iter().find(|provider| provider.is_default))
}

/// Sees to it that a workspace has the built-in provider, and a default.
///
/// # Errors
/// When the store fails.
pub async fn ensure_builtin(store: &Store, workspace: &str) -> Result<()> {
    store::ensure_builtin(store, workspace).await
}

/// A provider that can be asked.
pub struct Ready {
    /// Name of the plugin that asks it.
    pub plugin: String,
    /// What the plugin is pointed at, secrets in clear.
    pub target: Target,
}

/// The model providers of all workspaces.
pub struct Providers {
    remembered: ReadCache<Arc<Ready>>,
    store: Store,
    keys: SecretKeys,
    registry: Arc<Registry>,
    check_timeout: Duration,
    ending: CancellationToken,
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
            remembered: ReadCache::new(&store),
            store,
            keys,
            registry,
            check_timeout: config.catalog.check_timeout,
            ending,
        }
    }

    /// Makes a provider. With `check` the vendor is asked first, and nothing is stored if that fails.
    ///
    /// # Errors
    /// `invalid_parameter`, `invalid_connection_data`, `secret_required`, `unknown_plugin`, `connection_failed`,
    /// `name_taken`
    pub async fn create(&self, caller: &Caller, new: NewProvider, check: bool) -> Result<Provider> {
        caller.require(Role::Admin)?;
        caller.require_all_minds("make a provider")?;
        names::check("provider", &new.name)?;
        if store::by_name(&self.store, &caller.workspace, &new.name)
            .await?
            .is_some()
        {
            return Err(store::taken(&new.name));
        }
        self.store
            .check_quota(ResourceKind::Providers, &caller.workspace)
            .await?;
        let model = self.chosen(&new.plugin)?;
        let rules = Rules::new(&model.manifest().connection_data);
        let clear = connection_data::new(new.connection_data, &rules)?;
        let at = timestamp(now());
        let mut provider = Provider {
            connection_data: Stored::default(),
            id: new_id(),
            workspace_id: caller.workspace.to_string(),
            name: new.name,
            plugin: new.plugin,
            description: new.description,
            is_default: new.is_default,
            created_at: at,
            modified_at: at,
        };
        if check {
            let target = self.target_of(&provider, clear.clone()).await?;
            self.ask(&model, &target).await?;
        }
        // Not before the test, which may last longer than a rotation of the secret key waits for rows under the old one.
        provider.connection_data = Stored::seal(&clear, &rules, &self.keys, provider.holder())?;
        store::insert(&self.store, &provider).await?;
        Ok(provider)
    }

    /// Changes what is named in `changes`. With `check` a changed connection is tested first.
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
        let moved = changed.plugin != old.plugin;
        if moved || changes.connection_data.is_some() {
            let model = match moved {
                true => self.chosen(&changed.plugin)?,
                false => self.model(&changed.plugin)?,
            };
            let rules = Rules::new(&model.manifest().connection_data);
            let sent = changes.connection_data.unwrap_or_default();
            // The plugin decides where secrets go, so a new one gets none of the old.
            let clear = match moved {
                true => connection_data::new(sent, &rules)?,
                false => {
                    let stored =
                        old.connection_data
                            .open_for_change(&self.keys, old.holder(), &sent)?;
                    connection_data::changed(&stored, sent, &rules)?
                }
            };
            if check {
                let target = self.target_of(&changed, clear.clone()).await?;
                self.ask(&model, &target).await?;
            }
            // Last, as in `create`.
            changed.connection_data = Stored::seal(&clear, &rules, &self.keys, changed.holder())?;
        }
        store::update(&self.store, &old, &changed).await?;
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
            let message =
                "the default provider cannot be deleted; set `default: true` on another one first";
            return Err(Error::new(Code::InUse, message));
        }
        store::delete(&self.store, &provider).await?;
        self.forget(&provider).await;
        Ok(())
    }

    /// Has the plugin forget what it keeps of a provider that changed or is gone.
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
        store::list(&self.store, &caller.workspace).await
    }

    /// The provider of that name.
    ///
    /// # Errors
    /// `provider_not_found`
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Provider> {
        let found = store::by_name(&self.store, &caller.workspace, name).await?;
        found.ok_or_else(|| not_found(name))
    }

    /// The provider of that id, whoever asks, ready to be asked itself: the same value as long as nothing changed, and
    /// at most for a second.
    ///
    /// # Errors
    /// `provider_not_found`
    pub async fn current(&self, workspace: &str, id: &str) -> Result<Arc<Ready>> {
        let key = format!("{workspace}/{id}");
        if let Some(ready) = self.remembered.get(&key) {
            return Ok(ready);
        }
        let find = async {
            let found = store::by_id(&self.store, workspace, id).await?;
            let provider = found.ok_or_else(|| not_found(id))?;
            Ok(Arc::new(Ready {
                target: self.target(&provider).await?,
                plugin: provider.plugin,
            }))
        };
        self.remembered.read(&key, find).await
    }

    /// The provider that a Mind names, or the default.
    ///
    /// # Errors
    /// `unknown_provider` with those there are.
    pub async fn resolve(&self, workspace: &str, name: Option<&str>) -> Result<Provider> {
        let all = store::list(&self.store, workspace).await?;
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
        let clear = provider
            .connection_data
            .open(&self.keys, provider.holder())?;
        self.target_of(provider, clear).await
    }

    async fn target_of(&self, provider: &Provider, clear: Clear) -> Result<Target> {
        let workspace = self.store.workspace(&provider.workspace_id).await?;
        Ok(Target {
            id: provider.id.clone(),
            workspace: workspace.name.clone(),
            folder: workspace.folder.clone(),
            name: provider.name.clone(),
            connection_data: Arc::new(clear),
            max_connections: u32::MAX,
        })
    }

    /// What a model plugin is pointed at for the providers of all workspaces that use it, those that changed last first. At
    /// most `limit`.
    ///
    /// # Errors
    /// When the store fails or the secrets do not open.
    pub async fn using(&self, plugin: &str, limit: usize) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        for provider in store::using(&self.store, plugin).await?.iter().take(limit) {
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
        self.ask(&model, &self.target(provider).await?).await
    }

    async fn ask(&self, model: &Arc<dyn Model>, target: &Target) -> Result<()> {
        let cancel = self.ending.child_token();
        let _guard = cancel.clone().drop_guard();
        let call = Call::new(self.check_timeout, cancel);
        model
            .check(target, &call)
            .await
            .map(drop)
            .map_err(connection_data::refused)
    }

    /// As [`Self::model`], for a plugin that the caller names: that there is none is the caller's mistake.
    fn chosen(&self, plugin: &str) -> Result<Arc<dyn Model>> {
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

/// Binds secrets that an earlier version of the program sealed to where they go. Those that do not open are left as they are.
///
/// # Errors
/// When the store fails.
pub async fn bind_secrets(store: &Store, keys: &SecretKeys) -> Result<()> {
    for provider in store::with_secrets(store).await? {
        match provider.connection_data.bound(keys, provider.holder()) {
            Ok(Some(bound)) => store::replace_secrets(store, &provider, &bound).await?,
            Ok(None) => {}
            Err(error) => connection_data::left_sealed(provider.holder(), &error),
        }
    }
    Ok(())
}

/// Seals with the key that seals now what another one sealed, and says how many rows that were. What somebody changes in
/// between is left for the next time, and what does not open is left as it is.
///
/// # Errors
/// When the store fails.
pub async fn reseal_secrets(store: &Store, keys: &SecretKeys) -> Result<u64> {
    let mut sealed = 0;
    for provider in store::with_secrets(store).await? {
        if !provider.connection_data.is_outdated(keys) {
            continue;
        }
        let holder = provider.holder();
        match provider.connection_data.moved(keys, holder, holder) {
            Ok(anew) => {
                store::replace_secrets(store, &provider, &anew).await?;
                sealed += 1;
            }
            Err(error) => connection_data::left_sealed(provider.holder(), &error),
        }
    }
    Ok(sealed)
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

fn not_found(name: &str) -> Error {
    Error::new(
        Code::ProviderNotFound,
        format!("there is no provider '{name}'; `GET /providers` lists those there are"),
    )
}
