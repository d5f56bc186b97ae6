//! Datasources: a name for a database, and what is needed to reach it.

use mindhost_plugins::active::ActivePlugins;
mod check;
mod rules;
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
use mindhost_plugin_api::{Connector, TableRef, Target};
use mindhost_plugins::registry::{Hold, Loaded, Registry};
use mindhost_store::{ResourceKind, Store, new_id, now, timestamp};

use rules::Ceiling;
pub use rules::{Settings, SettingsChange};

const TABLE: &str = "datasources";

/// A datasource.
#[derive(Clone, Debug)]
pub struct Datasource {
    /// Id.
    pub id: String,
    /// Id of its workspace.
    pub workspace_id: String,
    /// Unique in the workspace.
    pub name: String,
    /// Engine kind, as the caller spelled it.
    pub engine: String,
    /// For people and models; may be empty.
    pub description: String,
    /// With secrets masked and sealed.
    pub connection_data: Stored,
    /// Limits, and what a model may see.
    pub settings: Settings,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// When anything of it changed.
    pub modified_at: jiff::Timestamp,
}

impl Datasource {
    /// What its secrets are bound to.
    fn holder(&self) -> Holder<'_> {
        Holder {
            table: TABLE,
            id: &self.id,
            workspace: &self.workspace_id,
            gets: &self.engine,
            version: self.settings.plugin_digest.as_deref(),
        }
    }
}

/// A datasource to be made.
#[derive(Debug)]
pub struct NewDatasource {
    /// `[A-Za-z][A-Za-z0-9_]{0,61}`
    pub name: String,
    /// Engine kind.
    pub engine: String,
    /// May be empty.
    pub description: String,
    /// In clear.
    pub connection_data: Map<String, Value>,
    /// Limits, and what a model may see.
    pub settings: Settings,
}

/// What shall change; `None` leaves as it is.
#[derive(Debug, Default)]
pub struct Changes {
    /// A new name.
    pub name: Option<String>,
    /// Must be what it is.
    pub engine: Option<String>,
    /// A new text.
    pub description: Option<String>,
    /// The properties that change.
    pub connection_data: Option<Map<String, Value>>,
    /// Changes the settings.
    pub settings: SettingsChange,
}

/// A datasource that was made or changed, with the tables that the test of its connection saw.
#[derive(Debug)]
pub struct Saved {
    /// As it is stored now.
    pub datasource: Datasource,
    /// `None` when the connection was not tested.
    pub tables: Option<Vec<TableRef>>,
}

/// The datasources of all workspaces.
pub struct Datasources {
    store: Store,
    keys: SecretKeys,
    registry: Arc<Registry>,
    check_timeout: Duration,
    max_connections: u32,
    ceiling: Ceiling,
    ending: CancellationToken,
}

/// A version that a datasource wants to keep. It stays installed as long as this is there.
struct Wanted {
    connector: Arc<dyn Connector>,
    _hold: Hold,
}

impl Datasources {
    /// Over a store, with the keys that open its secrets.
    pub fn new(
        store: Store,
        keys: SecretKeys,
        registry: Arc<Registry>,
        config: &Config,
        ending: CancellationToken,
    ) -> Self {
        Self {
            store,
            keys,
            registry,
            check_timeout: config.catalog.check_timeout,
            max_connections: config.sql.max_connections,
            ceiling: Ceiling::of(&config.sql),
            ending,
        }
    }

    /// Makes a datasource. With `check` its connection is tested first, and nothing is stored if that fails.
    ///
    /// # Errors
    /// `invalid_parameter`, `invalid_connection_data`, `secret_required`, `no_plugin`, `connection_failed`,
    /// `name_taken`; `forbidden` for a key that is limited to some Minds, and for one that is no operator's and names a
    /// version that has not proved itself
    pub async fn create(&self, caller: &Caller, new: NewDatasource, check: bool) -> Result<Saved> {
        caller.require(Role::Editor)?;
        caller.require_all_minds("connect another datasource")?;
        names::check_datasource(&new.name)?;
        rules::check_description(&new.description)?;
        new.settings.check(&Settings::default(), self.ceiling)?;
        if store::by_name(&self.store, &caller.workspace, &new.name)
            .await?
            .is_some()
        {
            return Err(store::taken(&new.name));
        }
        self.store
            .check_quota(ResourceKind::Datasources, &caller.workspace)
            .await?;
        let keeps = new.settings.plugin_digest.clone();
        let wanted = self.wanted(caller, &new.engine, keeps.as_deref()).await?;
        let connector = match &wanted {
            None => self.registry.engine(&new.engine)?,
            Some(wanted) => Arc::clone(&wanted.connector),
        };
        let rules = Rules::new(&connector.manifest().connection_data);
        let clear = connection_data::new(new.connection_data, &rules)?;
        let at = timestamp(now());
        let mut datasource = Datasource {
            connection_data: Stored::default(),
            id: new_id(),
            workspace_id: caller.workspace.to_string(),
            name: new.name,
            engine: new.engine,
            description: new.description,
            settings: new.settings,
            created_at: at,
            modified_at: at,
        };
        let tables = self.checked(&connector, &datasource, &clear, check).await?;
        // Not before the test, which may last longer than a rotation of the secret key waits for rows under the old one.
        datasource.connection_data = Stored::seal(&clear, &rules, &self.keys, datasource.holder())?;
        store::insert(&self.store, &datasource).await?;
        self.keep(keeps.as_deref()).await;
        Ok(Saved { datasource, tables })
    }

    /// Changes what is named in `changes`. With `check` a changed connection is tested first; another version of the plugin
    /// is one too.
    ///
    /// # Errors
    /// As [`Self::create`], and `datasource_not_found`.
    pub async fn update(
        &self,
        caller: &Caller,
        name: &str,
        changes: Changes,
        check: bool,
    ) -> Result<Saved> {
        caller.require(Role::Editor)?;
        let old = self.get(caller, name).await?;
        caller.require_all_minds("change a datasource: other Minds may use it too")?;
        if changes.engine.is_some_and(|engine| engine != old.engine) {
            let message = format!(
                "the engine of a datasource cannot change (it is '{}'); make another datasource",
                old.engine
            );
            return Err(Error::invalid("engine", message));
        }
        let mut changed = Datasource {
            name: changes.name.unwrap_or_else(|| old.name.clone()),
            description: changes
                .description
                .unwrap_or_else(|| old.description.clone()),
            settings: changes.settings.apply(&old.settings),
            modified_at: timestamp(now()),
            ..old.clone()
        };
        names::check_datasource(&changed.name)?;
        rules::check_description(&changed.description)?;
        changed.settings.check(&old.settings, self.ceiling)?;
        let moved = changed.settings.plugin_digest != old.settings.plugin_digest;
        let keeps = changed.settings.plugin_digest.clone().filter(|_| moved);
        let wanted = self.wanted(caller, &old.engine, keeps.as_deref()).await?;
        let mut tables = None;
        if moved || changes.connection_data.is_some() {
            let sent = changes.connection_data.unwrap_or_default();
            // The code that is trusted with the secrets is a part of where they go.
            if moved {
                let why = "`plugin_digest` changed, and it decides which code gets the secret";
                connection_data::sent_anew(&old.connection_data, &sent, why)?;
            }
            let connector = match &wanted {
                None => self.connector(&changed).await?,
                Some(wanted) => Arc::clone(&wanted.connector),
            };
            let rules = Rules::new(&connector.manifest().connection_data);
            let stored = old
                .connection_data
                .open_for_change(&self.keys, old.holder(), &sent)?;
            let clear = connection_data::changed(&stored, sent, &rules)?;
            if check {
                tables = Some(self.tried(&connector, &changed, &clear).await?);
            }
            // Last, as in `create`.
            changed.connection_data = Stored::seal(&clear, &rules, &self.keys, changed.holder())?;
        }
        store::update(&self.store, &old, &changed).await?;
        self.keep(keeps.as_deref()).await;
        self.forget(&old).await;
        if moved {
            self.let_go().await?;
        }
        Ok(Saved {
            datasource: changed,
            tables,
        })
    }

    /// Deletes a datasource. With `cascade` it is taken out of the Minds that use it.
    ///
    /// # Errors
    /// `datasource_not_found`; `resource_in_use` with the Minds that use it; `forbidden` for a key that is limited to
    /// some Minds.
    pub async fn delete(&self, caller: &Caller, name: &str, cascade: bool) -> Result<()> {
        caller.require(Role::Editor)?;
        let datasource = self.get(caller, name).await?;
        caller.require_all_minds("delete a datasource: other Minds may use it too")?;
        store::delete(&self.store, &datasource, cascade).await?;
        self.forget(&datasource).await;
        if datasource.settings.plugin_digest.is_some() {
            self.let_go().await?;
        }
        Ok(())
    }

    /// The version that a datasource wants to keep. Nothing is kept before the datasource is stored. Only operators
    /// choose versions that have never served or were taken back.
    async fn wanted(
        &self,
        caller: &Caller,
        engine: &str,
        digest: Option<&str>,
    ) -> Result<Option<Wanted>> {
        let Some(digest) = digest else {
            return Ok(None);
        };
        if caller.require_host("choose any version").is_err()
            && !ActivePlugins(&self.store).has_proved_itself(digest).await?
        {
            return Err(Error::new(
                Code::Forbidden,
                "this version has never served, is still on trial, or was taken back; name one that serves or has served, or ask an operator to set `plugin_digest`",
            )
            .param("plugin_digest"));
        }
        let wanted = |error: Error| match error.code() {
            Code::PluginNotFound | Code::PluginRefused => {
                Error::invalid("plugin_digest", error.message())
            }
            _ => error,
        };
        let hold = self.registry.hold(digest).map_err(wanted)?;
        let ready = self.registry.ready(digest).await.map_err(wanted)?;
        let Loaded::Connector(connector) = ready.serve() else {
            return Err(Error::invalid(
                "plugin_digest",
                "`plugin_digest` must be that of a connector",
            ));
        };
        match connector.manifest().engines.iter().any(|one| one == engine) {
            true => Ok(Some(Wanted {
                connector,
                _hold: hold,
            })),
            false => Err(Error::invalid(
                "plugin_digest",
                format!(
                    "the plugin {} does not serve the engine '{engine}'",
                    connector.manifest().name
                ),
            )),
        }
    }

    /// Lets a version serve a datasource that was stored with it. Its first call would do so too, but until then the
    /// version could be removed.
    async fn keep(&self, digest: Option<&str>) {
        if let Some(digest) = digest
            && let Err(error) = self.registry.pin(digest).await
        {
            tracing::warn!(digest, %error, "a datasource keeps a version that cannot serve");
        }
    }

    /// Lets go of versions that no datasource keeps any more.
    async fn let_go(&self) -> Result<()> {
        let kept = pinned(&self.store).await?;
        self.registry.unpin_all_but(&kept);
        Ok(())
    }

    /// Closes its idle connections.
    async fn forget(&self, datasource: &Datasource) {
        if let Ok(connector) = self.connector(datasource).await {
            connector.forget(&datasource.id).await;
        }
    }

    /// The datasources of all workspaces that some engines serve and that keep no version of their own, those that
    /// changed last first: the engine of each, and what to point a plugin at. At most `limit`.
    ///
    /// # Errors
    /// When the store fails or the secrets do not open.
    pub async fn following(
        &self,
        engines: &[String],
        limit: usize,
    ) -> Result<Vec<(String, Target)>> {
        let mut all = store::of_engines(&self.store, engines).await?;
        all.retain(|one| one.settings.plugin_digest.is_none());
        all.truncate(limit);
        let mut targets = Vec::with_capacity(all.len());
        for datasource in &all {
            targets.push((datasource.engine.clone(), self.target(datasource).await?));
        }
        Ok(targets)
    }

    /// The datasources that the caller may see, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Datasource>> {
        let mut all = store::list(&self.store, &caller.workspace).await?;
        if let Some(minds) = &caller.minds {
            let visible = store::used_by(&self.store, minds).await?;
            all.retain(|datasource| visible.contains(&datasource.id));
        }
        Ok(all)
    }

    /// The datasource of that name, if the caller may see it.
    ///
    /// # Errors
    /// `datasource_not_found`
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Datasource> {
        let found = store::by_name(&self.store, &caller.workspace, name).await?;
        let visible = match (&found, &caller.minds) {
            (Some(datasource), Some(minds)) => store::used_by(&self.store, minds)
                .await?
                .contains(&datasource.id),
            _ => true,
        };
        found.filter(|_| visible).ok_or_else(|| not_found(name))
    }

    /// The datasource of that id, whoever asks.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_by_id(&self, workspace: &str, id: &str) -> Result<Option<Datasource>> {
        store::by_id(&self.store, workspace, id).await
    }

    /// What a plugin is pointed at for this datasource, secrets in clear.
    ///
    /// # Errors
    /// When the secrets do not open.
    pub async fn target(&self, datasource: &Datasource) -> Result<Target> {
        let clear = datasource
            .connection_data
            .open(&self.keys, datasource.holder())?;
        self.target_of(datasource, clear).await
    }

    async fn target_of(&self, datasource: &Datasource, clear: Clear) -> Result<Target> {
        let max_connections = datasource.settings.max_connections;
        let max_connections = max_connections.map(|most| most.min(self.ceiling.max_connections));
        let workspace = self.store.workspace(&datasource.workspace_id).await?;
        Ok(Target {
            id: datasource.id.clone(),
            workspace: workspace.name.clone(),
            folder: workspace.folder.clone(),
            name: datasource.name.clone(),
            connection_data: Arc::new(clear),
            max_connections: max_connections.unwrap_or(self.max_connections),
        })
    }

    /// The limit for one statement that a datasource has itself.
    pub fn statement_timeout(&self, settings: &Settings) -> Option<Duration> {
        let own = settings.statement_timeout();
        own.map(|time| time.min(self.ceiling.statement_timeout))
    }

    /// The connector that serves a datasource, and what to point it at.
    ///
    /// # Errors
    /// `datasource_not_found`, `no_plugin`
    pub async fn reach(&self, workspace: &str, id: &str) -> Result<(Arc<dyn Connector>, Target)> {
        let datasource = self
            .get_by_id(workspace, id)
            .await?
            .ok_or_else(|| not_found(id))?;
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = self.registry.serving(&datasource.engine, pin).await?;
        Ok((connector, self.target(&datasource).await?))
    }

    /// Tests the connection of a stored datasource.
    ///
    /// # Errors
    /// `connection_failed` with the engine's own message, `no_plugin`, `plugin_error`, `overloaded`
    pub async fn check(&self, datasource: &Datasource) -> Result<()> {
        let connector = self.connector(datasource).await?;
        let clear = datasource
            .connection_data
            .open(&self.keys, datasource.holder())?;
        let checked = self.checked(&connector, datasource, &clear, true).await;
        checked.map(drop)
    }

    /// Tests a changed connection under an id of its own, as that of a new datasource: what was wrong with the old data says
    /// nothing of the new, and a test that fails does not end the rest of a datasource that broke its plugin.
    async fn tried(
        &self,
        connector: &Arc<dyn Connector>,
        changed: &Datasource,
        clear: &Clear,
    ) -> Result<Vec<TableRef>> {
        let target = Target {
            id: new_id(),
            ..self.target_of(changed, clear.clone()).await?
        };
        let tables = check::tables(connector, &target, self.check_timeout, &self.ending).await;
        connector.forget(&target.id).await;
        tables
    }

    async fn checked(
        &self,
        connector: &Arc<dyn Connector>,
        datasource: &Datasource,
        clear: &Clear,
        check: bool,
    ) -> Result<Option<Vec<TableRef>>> {
        if !check {
            return Ok(None);
        }
        let target = self.target_of(datasource, clear.clone()).await?;
        check::tables(connector, &target, self.check_timeout, &self.ending)
            .await
            .map(Some)
    }

    async fn connector(&self, datasource: &Datasource) -> Result<Arc<dyn Connector>> {
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = self.registry.connector(&datasource.engine, pin).await;
        connector.map_err(|error| error.param("engine"))
    }
}

/// Digests of the plugin versions that datasources keep.
///
/// # Errors
/// When the store fails.
pub async fn pinned(store: &Store) -> Result<Vec<String>> {
    let settings = store::all_settings(store).await?;
    let mut digests: Vec<String> = settings
        .into_iter()
        .filter_map(|settings| settings.plugin_digest)
        .collect();
    digests.sort();
    digests.dedup();
    Ok(digests)
}

/// Binds secrets that an earlier version of the program sealed to where they go. Those that do not open are left as they are.
///
/// # Errors
/// When the store fails.
pub async fn bind_secrets(store: &Store, keys: &SecretKeys) -> Result<()> {
    for datasource in store::with_secrets(store).await? {
        match datasource.connection_data.bound(keys, datasource.holder()) {
            Ok(Some(bound)) => store::replace_secrets(store, &datasource, &bound).await?,
            Ok(None) => {}
            Err(error) => connection_data::left_sealed(datasource.holder(), &error),
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
    for datasource in store::with_secrets(store).await? {
        if !datasource.connection_data.is_outdated(keys) {
            continue;
        }
        let holder = datasource.holder();
        match datasource.connection_data.moved(keys, holder, holder) {
            Ok(anew) => {
                store::replace_secrets(store, &datasource, &anew).await?;
                sealed += 1;
            }
            Err(error) => connection_data::left_sealed(datasource.holder(), &error),
        }
    }
    Ok(sealed)
}

pub(crate) fn not_found(name: &str) -> Error {
    Error::new(
        Code::DatasourceNotFound,
        format!("there is no datasource '{name}'; `GET /datasources` lists those there are"),
    )
}
