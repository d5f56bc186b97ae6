//! Datasources: a name for a database, and what is needed to reach it.

mod files;
mod rules;
mod store;

use std::{sync::Arc, time::Duration};

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
use mindhost_plugin_api::{Connector, TableRef, Target};
use mindhost_plugins::{
    active::ActivePlugins,
    registry::{HeldFor, Hold, LoadedPlugin, Registry},
};
use mindhost_store::{AnyRow, ResourceKind, Row, Store, json, new_id, now, timestamp, to_json};

pub use files::{StoredFile, Upload};
use rules::Ceiling;
pub use rules::{Settings, SettingsChange};

/// A connection to a database under a name of the workspace.
#[derive(Clone, Debug)]
pub struct Datasource {
    /// UUID, which stays when it is renamed.
    pub id: String,
    /// Workspace whose Minds may use it.
    pub workspace_id: String,
    /// Unique in the workspace.
    pub name: String,
    /// Engine kind, as the caller spelled it.
    pub engine: String,
    /// For people and models; may be empty.
    pub description: String,
    /// With secrets masked and sealed.
    pub connection_data: StoredData,
    /// Limits, and what a model may see.
    pub settings: Settings,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// When anything of it changed.
    pub modified_at: jiff::Timestamp,
}

impl StoredConnection for Datasource {
    const TABLE: &'static str = "datasources";
    const NOUN: &'static str = "datasource";
    const COUNTED: ResourceKind = ResourceKind::Datasources;
    const NOT_FOUND: Code = Code::DatasourceNotFound;
    const SERVED_BY: &'static str = "engine";
    const OWN_COLUMN: &'static str = "settings";

    fn from_row(row: &AnyRow) -> Result<Self> {
        let settings: String = row.try_get("settings")?;
        Ok(Self {
            id: row.try_get("id")?,
            workspace_id: row.try_get("workspace_id")?,
            name: row.try_get("name")?,
            engine: row.try_get("engine")?,
            description: row.try_get("description")?,
            connection_data: rows::connection_data(row)?,
            settings: json(&settings)?,
            created_at: timestamp(row.try_get("created_at")?),
            modified_at: timestamp(row.try_get("modified_at")?),
        })
    }

    fn shared(&self) -> CommonColumns<'_> {
        CommonColumns {
            id: &self.id,
            workspace_id: &self.workspace_id,
            name: &self.name,
            served_by: &self.engine,
            pin: self.settings.plugin_digest.as_deref(),
            description: &self.description,
            connection_data: &self.connection_data,
            created_at: self.created_at,
            modified_at: self.modified_at,
        }
    }

    fn bind_own<'q>(&'q self, query: AnyQuery<'q>) -> Result<AnyQuery<'q>> {
        Ok(query.bind(to_json(&self.settings)?))
    }
}

/// What a datasource is made of, checked and not stored yet.
#[derive(Debug)]
pub struct NewDatasource {
    /// `[A-Za-z][A-Za-z0-9_]{0,61}`
    pub name: String,
    /// Engine kind as the caller spells it, such as `postgres`. It cannot change later.
    pub engine: String,
    /// May be empty.
    pub description: String,
    /// In clear.
    pub connection_data: Map<String, Value>,
    /// Limits, and what a model may see.
    pub settings: Settings,
}

/// A change; `None` keeps the value.
#[derive(Debug, Default)]
pub struct Changes {
    /// A new name.
    pub name: Option<String>,
    /// Must be the current engine.
    pub engine: Option<String>,
    /// Empty removes it.
    pub description: Option<String>,
    /// The properties that change.
    pub connection_data: Option<Map<String, Value>>,
    /// Each setting by itself; the others keep their values.
    pub settings: SettingsChange,
}

/// A datasource that was created or changed, with the tables that the test of its connection found.
#[derive(Debug)]
pub struct SavedDatasource {
    /// As it is stored now.
    pub datasource: Datasource,
    /// `None` when the connection was not tested.
    pub tables: Option<Vec<TableRef>>,
}

/// The datasources of all workspaces.
pub struct Datasources {
    rows: StoredConnections,
    registry: Arc<Registry>,
    max_connections: u32,
    ceiling: Ceiling,
    uploads: files::UploadSettings,
}

/// A version to which a datasource is to be pinned. It cannot be removed while this value exists.
struct PinnedVersion {
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
            rows: StoredConnections::new(store, keys, config, ending),
            registry,
            max_connections: config.sql.max_connections,
            ceiling: Ceiling::of(&config.sql),
            uploads: files::UploadSettings::of(config),
        }
    }

    /// Creates a datasource. With `check` its connection is tested first, and nothing is stored if the test fails.
    ///
    /// # Errors
    /// `invalid_parameter`, `invalid_connection_data`, `secret_required`, `no_plugin`, `connection_failed`,
    /// `name_taken`; `forbidden` for a key that is limited to some Minds, and for a key that is not an operator's and pins a
    /// version that has not proved itself
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewDatasource,
        check: bool,
    ) -> Result<SavedDatasource> {
        caller.require(Role::Editor)?;
        caller.require_all_minds("connect another datasource")?;
        names::check_datasource(&new.name)?;
        rules::check_description(&new.description)?;
        new.settings.check(&Settings::default(), self.ceiling)?;
        let workspace = &caller.workspace;
        self.rows
            .check_new::<Datasource>(workspace, &new.name)
            .await?;
        let pin = new.settings.plugin_digest.clone();
        let pinned = self.pinned(caller, &new.engine, pin.as_deref()).await?;
        let connector = match &pinned {
            None => self.registry.engine(&new.engine)?,
            Some(pinned) => Arc::clone(&pinned.connector),
        };
        let rules = Rules::new(&connector.manifest().connection_data);
        let clear = connection_data::new(new.connection_data, &rules)?;
        let at = timestamp(now());
        let mut datasource = Datasource {
            connection_data: StoredData::default(),
            id: new_id(),
            workspace_id: workspace.to_string(),
            name: new.name,
            engine: new.engine,
            description: new.description,
            settings: new.settings,
            created_at: at,
            modified_at: at,
        };
        // An engine that reads a directory begins with an empty one: files are uploaded next.
        self.prepare_directory(connector.manifest(), &datasource, &clear)
            .await?;
        let saved = async {
            let mut tables = None;
            if check {
                tables = Some(self.test(&connector, &datasource, &clear).await?);
            }
            datasource.connection_data = self.rows.seal(&datasource, &clear, &rules)?;
            store::insert(&self.rows.store, &datasource).await?;
            Ok(tables)
        };
        let tables = match saved.await {
            Ok(tables) => tables,
            Err(error) => {
                // Of a datasource that does not exist, no connection and no metric may stay.
                connector.forget(&datasource.id).await;
                return Err(error);
            }
        };
        self.pin(pin.as_deref()).await;
        Ok(SavedDatasource { datasource, tables })
    }

    /// Applies `changes`. With `check` a changed connection is tested first; another plugin version is such a change.
    ///
    /// # Errors
    /// As [`Self::create`], and `datasource_not_found`.
    pub async fn update(
        &self,
        caller: &Caller,
        name: &str,
        changes: Changes,
        check: bool,
    ) -> Result<SavedDatasource> {
        caller.require(Role::Editor)?;
        let old = self.get(caller, name).await?;
        caller.require_all_minds("change a datasource: other Minds may use it too")?;
        if changes.engine.is_some_and(|engine| engine != old.engine) {
            let message = format!(
                "the engine of a datasource cannot change (it is '{}'); create another datasource",
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
        let is_repinned = changed.settings.plugin_digest != old.settings.plugin_digest;
        let pin = changed.settings.plugin_digest.clone();
        let pin = pin.filter(|_| is_repinned);
        let pinned = self.pinned(caller, &old.engine, pin.as_deref()).await?;
        let mut tables = None;
        if is_repinned || changes.connection_data.is_some() {
            let sent = changes.connection_data.unwrap_or_default();
            // The code that gets the secrets is a part of their destination.
            if is_repinned {
                let why = "`plugin_digest` changed, and it decides which code gets the secret";
                connection_data::require_secrets(&old.connection_data, &sent, why)?;
            }
            let connector = match &pinned {
                None => self.connector(&changed).await?,
                Some(pinned) => Arc::clone(&pinned.connector),
            };
            let rules = Rules::new(&connector.manifest().connection_data);
            let clear = self.rows.patch(&old, sent, &rules)?;
            if check {
                tables = Some(self.test_change(&connector, &changed, &clear).await?);
            }
            changed.connection_data = self.rows.seal(&changed, &clear, &rules)?;
        }
        store::update(&self.rows.store, &old, &changed).await?;
        self.pin(pin.as_deref()).await;
        self.forget(&old).await;
        if is_repinned {
            self.unpin_unused().await?;
        }
        Ok(SavedDatasource {
            datasource: changed,
            tables,
        })
    }

    /// Deletes a datasource. With `cascade` it is also removed from the Minds that use it.
    ///
    /// # Errors
    /// `datasource_not_found`; `resource_in_use` with the Minds that use it; `forbidden` for a key that is limited to
    /// some Minds.
    pub async fn delete(&self, caller: &Caller, name: &str, cascade: bool) -> Result<()> {
        caller.require(Role::Editor)?;
        let datasource = self.get(caller, name).await?;
        caller.require_all_minds("delete a datasource: other Minds may use it too")?;
        store::delete(&self.rows.store, &datasource, cascade).await?;
        self.forget(&datasource).await;
        if datasource.settings.plugin_digest.is_some() {
            self.unpin_unused().await?;
        }
        Ok(())
    }

    /// The version of this digest, which must serve `engine`. Only operators choose versions that have never served or
    /// were rolled back.
    async fn pinned(
        &self,
        caller: &Caller,
        engine: &str,
        digest: Option<&str>,
    ) -> Result<Option<PinnedVersion>> {
        let Some(digest) = digest else {
            return Ok(None);
        };
        if caller.require_host("choose any version").is_err()
            && !ActivePlugins(&self.rows.store)
                .has_proved_itself(digest)
                .await?
        {
            return Err(Error::new(
                Code::Forbidden,
                "this version has never served, is still on trial, or was taken back; name one that serves or has served, or ask an operator to set `plugin_digest`",
            )
            .param("plugin_digest"));
        }
        let refused = |error: Error| match error.code() {
            Code::PluginNotFound | Code::PluginRefused => {
                Error::invalid("plugin_digest", error.message())
            }
            _ => error,
        };
        let hold = self.registry.hold(digest, HeldFor::Pin).map_err(refused)?;
        let ready = self.registry.ready(digest).await.map_err(refused)?;
        let LoadedPlugin::Connector(connector) = ready.serve() else {
            return Err(Error::invalid(
                "plugin_digest",
                "`plugin_digest` must be that of a connector",
            ));
        };
        match connector.manifest().engines.iter().any(|one| one == engine) {
            true => Ok(Some(PinnedVersion {
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

    /// Has the registry keep a version for a datasource that was just stored. The first call would pin it too, but
    /// until then the version could be removed.
    async fn pin(&self, digest: Option<&str>) {
        if let Some(digest) = digest
            && let Err(error) = self.registry.pin(digest).await
        {
            tracing::warn!(digest, %error, "a datasource is pinned to a version that cannot serve");
        }
    }

    /// Has the registry unpin the versions that no datasource is pinned to any more.
    async fn unpin_unused(&self) -> Result<()> {
        let used = pinned_digests(&self.rows.store).await?;
        self.registry.unpin_all_but(&used);
        Ok(())
    }

    /// Closes its idle connections.
    async fn forget(&self, datasource: &Datasource) {
        if let Ok(connector) = self.connector(datasource).await {
            connector.forget(&datasource.id).await;
        }
    }

    /// At most `limit` datasources of all workspaces that follow the active version of these engines, those that
    /// changed last first: the engine of each, and what to point a plugin at.
    ///
    /// # Errors
    /// When the store fails or the secrets do not open.
    pub async fn unpinned_targets(
        &self,
        engines: &[String],
        limit: usize,
    ) -> Result<Vec<(String, Target)>> {
        let mut all = rows::served_by::<Datasource>(&self.rows.store, engines).await?;
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
        let mut all = rows::list::<Datasource>(&self.rows.store, &caller.workspace).await?;
        if let Some(minds) = &caller.minds {
            let visible = store::used_by(&self.rows.store, minds).await?;
            all.retain(|datasource| visible.contains(&datasource.id));
        }
        Ok(all)
    }

    /// The datasource of that name, if the caller may see it.
    ///
    /// # Errors
    /// `datasource_not_found`
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Datasource> {
        let found = rows::by_name::<Datasource>(&self.rows.store, &caller.workspace, name).await?;
        let visible = match (&found, &caller.minds) {
            (Some(datasource), Some(minds)) => store::used_by(&self.rows.store, minds)
                .await?
                .contains(&datasource.id),
            _ => true,
        };
        found
            .filter(|_| visible)
            .ok_or_else(|| shared::not_found::<Datasource>(name))
    }

    /// The datasource of that id, without a check of who may see it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn get_by_id(&self, workspace: &str, id: &str) -> Result<Option<Datasource>> {
        rows::by_id(&self.rows.store, workspace, id).await
    }

    /// What a plugin is pointed at for this datasource, secrets in clear.
    ///
    /// # Errors
    /// When the secrets do not open.
    pub async fn target(&self, datasource: &Datasource) -> Result<Target> {
        let clear = self.rows.open(datasource)?;
        self.target_of(datasource, clear).await
    }

    async fn target_of(&self, datasource: &Datasource, clear: ClearData) -> Result<Target> {
        let own = datasource.settings.max_connections;
        let own = own.map(|most| most.min(self.ceiling.max_connections));
        let max_connections = own.unwrap_or(self.max_connections);
        self.rows.target(datasource, clear, max_connections).await
    }

    /// The limit for one statement of a datasource that sets one.
    pub fn statement_timeout(&self, settings: &Settings) -> Option<Duration> {
        let own = settings.statement_timeout();
        own.map(|time| time.min(self.ceiling.statement_timeout))
    }

    /// The connector that serves a datasource, and what to point it at.
    ///
    /// # Errors
    /// `datasource_not_found`, `no_plugin`
    pub async fn connector_and_target(
        &self,
        workspace: &str,
        id: &str,
    ) -> Result<(Arc<dyn Connector>, Target)> {
        let datasource = self
            .get_by_id(workspace, id)
            .await?
            .ok_or_else(|| shared::not_found::<Datasource>(id))?;
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
        let clear = self.rows.open(datasource)?;
        self.test(&connector, datasource, &clear).await.map(drop)
    }

    /// Connects, has the engine answer a check, and lists its tables.
    async fn test(
        &self,
        connector: &Arc<dyn Connector>,
        datasource: &Datasource,
        clear: &ClearData,
    ) -> Result<Vec<TableRef>> {
        let target = self.target_of(datasource, clear.clone()).await?;
        self.test_target(connector, &target).await
    }

    /// Tests a changed connection under an id of its own, like that of a new datasource: a failure of the old data says
    /// nothing about the new data, and a failed test does not end the quarantine of a datasource that broke its plugin.
    async fn test_change(
        &self,
        connector: &Arc<dyn Connector>,
        changed: &Datasource,
        clear: &ClearData,
    ) -> Result<Vec<TableRef>> {
        let target = Target {
            id: new_id(),
            ..self.target_of(changed, clear.clone()).await?
        };
        let tables = self.test_target(connector, &target).await;
        connector.forget(&target.id).await;
        tables
    }

    async fn test_target(
        &self,
        connector: &Arc<dyn Connector>,
        target: &Target,
    ) -> Result<Vec<TableRef>> {
        let (call, _guard) = self.rows.test_call();
        let tables = async {
            let mut connection = connector.connect(target, &call).await?;
            connection.check(&call).await?;
            connection.tables(&call).await
        };
        tables.await.map_err(connection_data::test_failed)
    }

    async fn connector(&self, datasource: &Datasource) -> Result<Arc<dyn Connector>> {
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = self.registry.connector(&datasource.engine, pin).await;
        connector.map_err(|error| error.param("engine"))
    }
}

/// Digests of the plugin versions that datasources are pinned to.
///
/// # Errors
/// When the store fails.
pub async fn pinned_digests(store: &Store) -> Result<Vec<String>> {
    let settings = store::all_settings(store).await?;
    let mut digests: Vec<String> = settings
        .into_iter()
        .filter_map(|settings| settings.plugin_digest)
        .collect();
    digests.sort();
    digests.dedup();
    Ok(digests)
}
