//! Datasources: a name for a database, and what is needed to reach it.

mod check;
mod rules;
mod store;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{Caller, Role},
    config::Config,
    connection_data::{self, Rules, Stored},
    error::{Code, Error, Result},
    names,
    plugins::{Connector, TableRef, Target, registry::Registry},
    secrets::SecretKey,
    store::{Store, new_id, now, timestamp},
};

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
    key: SecretKey,
    registry: Arc<Registry>,
    check_timeout: Duration,
    max_connections: u32,
    ending: CancellationToken,
}

impl Datasources {
    /// Over a store, with the key that opens its secrets.
    pub fn new(
        store: Store,
        key: SecretKey,
        registry: Arc<Registry>,
        config: &Config,
        ending: CancellationToken,
    ) -> Self {
        Self {
            store,
            key,
            registry,
            check_timeout: config.catalog.check_timeout,
            max_connections: config.sql.max_connections,
            ending,
        }
    }

    /// Makes a datasource. With `check` its connection is tested first, and nothing is stored if that fails.
    ///
    /// # Errors
    /// `invalid_parameter`, `invalid_connection_data`, `secret_required`, `no_plugin`, `connection_failed`,
    /// `name_taken`; `forbidden` for a key that is limited to some Minds
    pub async fn create(&self, caller: &Caller, new: NewDatasource, check: bool) -> Result<Saved> {
        caller.require(Role::Editor)?;
        caller.require_all_minds("connect another datasource")?;
        names::check_datasource(&new.name)?;
        rules::check_description(&new.description)?;
        new.settings.check()?;
        if store::by_name(&self.store, &caller.workspace, &new.name)
            .await?
            .is_some()
        {
            return Err(store::taken(&new.name));
        }
        let connector = self.registry.engine(&new.engine)?;
        let rules = Rules::new(&connector.manifest().connection_data);
        let clear = connection_data::new(new.connection_data, &rules)?;
        let at = timestamp(now());
        let id = new_id();
        let datasource = Datasource {
            connection_data: Stored::seal(&clear, &rules, &self.key, TABLE, &id)?,
            id,
            workspace_id: caller.workspace.to_string(),
            name: new.name,
            engine: new.engine,
            description: new.description,
            settings: new.settings,
            created_at: at,
            modified_at: at,
        };
        let tables = self.checked(&connector, &datasource, check).await?;
        store::insert(&self.store, &datasource).await?;
        Ok(Saved { datasource, tables })
    }

    /// Changes what is named in `changes`. With `check` a changed connection is tested first.
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
        changed.settings.check()?;
        let mut tables = None;
        if let Some(sent) = changes.connection_data {
            let connector = self.connector(&old.engine)?;
            let rules = Rules::new(&connector.manifest().connection_data);
            let stored = old.connection_data.open(&self.key, TABLE, &old.id)?;
            let clear = connection_data::changed(&stored, sent, &rules)?;
            changed.connection_data = Stored::seal(&clear, &rules, &self.key, TABLE, &old.id)?;
            tables = self.checked(&connector, &changed, check).await?;
        }
        store::update(&self.store, &old, &changed).await?;
        if let Ok(connector) = self.registry.connector(&old.engine) {
            connector.forget(&old.id).await;
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
        if let Ok(connector) = self.registry.connector(&datasource.engine) {
            connector.forget(&datasource.id).await;
        }
        Ok(())
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
            .open(&self.key, TABLE, &datasource.id)?;
        let max_connections = datasource.settings.max_connections;
        Ok(Target {
            id: datasource.id.clone(),
            workspace: self.store.workspace_name(&datasource.workspace_id).await?,
            name: datasource.name.clone(),
            connection_data: Arc::new(clear),
            max_connections: max_connections.unwrap_or(self.max_connections),
        })
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
        Ok((
            self.connector(&datasource.engine)?,
            self.target(&datasource).await?,
        ))
    }

    /// Tests the connection of a stored datasource.
    ///
    /// # Errors
    /// `connection_failed` with the engine's own message, `no_plugin`, `plugin_error`, `overloaded`
    pub async fn check(&self, datasource: &Datasource) -> Result<()> {
        let connector = self.connector(&datasource.engine)?;
        self.checked(&connector, datasource, true).await.map(drop)
    }

    async fn checked(
        &self,
        connector: &Arc<dyn Connector>,
        datasource: &Datasource,
        check: bool,
    ) -> Result<Option<Vec<TableRef>>> {
        if !check {
            return Ok(None);
        }
        let target = self.target(datasource).await?;
        check::tables(connector, &target, self.check_timeout, &self.ending)
            .await
            .map(Some)
    }

    fn connector(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        self.registry
            .connector(engine)
            .map_err(|error| error.param("engine"))
    }
}

pub(crate) fn not_found(name: &str) -> Error {
    Error::new(
        Code::DatasourceNotFound,
        format!("there is no datasource '{name}'; `GET /datasources` lists those there are"),
    )
}
