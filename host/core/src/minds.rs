//! Minds: datasources, a language model and instructions under one name.

pub mod policies;
mod rules;
mod store;

pub use store::free_evaluations;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    auth::{Caller, KeyPolicies, Role},
    providers::Providers,
};
use mindhost_base::{
    error::{Code, Error, Result},
    names,
    policy::Rule,
};
use mindhost_plugin_api::TableRef;
use mindhost_store::{ReadCache, ResourceKind, Store, new_id, now, timestamp};

/// What the callers of a Mind see of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MindPolicy {
    /// UUID, so that the policy outlives a new name.
    pub datasource_id: String,
    /// Schema and name of the table in that datasource.
    pub table: TableRef,
    /// What is seen.
    pub rule: Rule,
}

/// A name that answers questions: some datasources, a model, and what callers may see.
#[derive(Clone, Debug)]
pub struct Mind {
    /// Id; conversations bind to it.
    pub id: String,
    /// Id of the only workspace whose keys see it.
    pub workspace_id: String,
    /// Unique in the workspace; may change.
    pub name: String,
    /// In the order given.
    pub datasources: Vec<MindDatasource>,
    /// UUID, so that the provider may get a new name.
    pub provider_id: String,
    /// The name of that provider now.
    pub provider: String,
    /// The model that it asks for; empty when the plugin decides.
    pub model_name: String,
    /// `system_prompt`, `prompt_template`, `is_demo`, `allow_direct_queries`, and whatever else the caller keeps here.
    pub parameters: Map<String, Value>,
    /// What its callers see of its tables; all of a table without one.
    pub policies: Vec<MindPolicy>,
    /// What the policies of the caller's key withhold besides. They come with the Mind, so that no path to its rows can
    /// be without them; they are not stored with it.
    pub of_key: Arc<KeyPolicies>,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// When anything of it changed.
    pub updated_at: jiff::Timestamp,
}

/// A datasource that a Mind may read, and how much of it.
#[derive(Clone, Debug)]
pub struct MindDatasource {
    /// UUID of the datasource.
    pub id: String,
    /// Its name now.
    pub name: String,
    /// The selected tables; `None` means all, those that come later included.
    pub tables: Option<Vec<TableRef>>,
}

impl Mind {
    /// Whether callers may send SQL of their own.
    pub fn allows_direct_queries(&self) -> bool {
        self.flag("allow_direct_queries")
    }

    /// Whether it is marked as a demo.
    pub fn is_demo(&self) -> bool {
        self.flag("is_demo")
    }

    /// The Mind as the holder of a key asks it.
    fn asked_by(mut self, caller: &Caller) -> Self {
        self.of_key = Arc::clone(&caller.policies);
        self
    }

    fn flag(&self, name: &str) -> bool {
        self.parameters
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }
}

/// What a Mind is made of, before its names and parameters are checked.
#[derive(Debug)]
pub struct NewMind {
    /// `[A-Za-z][A-Za-z0-9_-]{0,63}`
    pub name: String,
    /// With their tables resolved.
    pub datasources: Vec<MindDatasource>,
    /// Name of the provider; `None` means the default.
    pub provider: Option<String>,
    /// `None` means the provider's default.
    pub model_name: Option<String>,
    /// As [`Mind::parameters`]; may be empty.
    pub parameters: Map<String, Value>,
}

/// A change; `None` keeps the value.
#[derive(Debug, Default)]
pub struct Changes {
    /// A new name.
    pub name: Option<String>,
    /// The complete new list.
    pub datasources: Option<Vec<MindDatasource>>,
    /// Another provider. Takes the provider's default model unless `model_name` is given too.
    pub provider: Option<String>,
    /// Another model; empty goes back to the provider's default.
    pub model_name: Option<String>,
    /// The complete new parameters.
    pub parameters: Option<Map<String, Value>>,
}

/// The ids of the Minds with these names, for the command line, which has no caller.
///
/// # Errors
/// `mind_not_found`
pub async fn ids(store: &Store, workspace: &str, names: &[String]) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let mind = store::by_name(store, workspace, name).await?;
        ids.push(mind.ok_or_else(|| not_found(name))?.id);
    }
    Ok(ids)
}

/// The Minds of all workspaces.
pub struct Minds {
    providers: Arc<Providers>,
    /// Saves looking up the id of a Mind by workspace and name.
    ids_by_name: ReadCache<Arc<str>>,
    /// By workspace, id, and the policies of the caller's key.
    cache: ReadCache<Arc<Mind>>,
    store: Store,
}

impl Minds {
    /// Over a store.
    pub fn new(store: Store, providers: Arc<Providers>) -> Self {
        Self {
            providers,
            ids_by_name: ReadCache::new(&store),
            cache: ReadCache::new(&store),
            store,
        }
    }

    /// Creates a Mind.
    ///
    /// # Errors
    /// `invalid_parameter`, `unknown_provider`, `unknown_datasource`, `name_taken`; `forbidden` for a key that is
    /// limited to some Minds: it would not see the new one.
    pub async fn create(&self, caller: &Caller, new: NewMind) -> Result<Mind> {
        caller.require(Role::Editor)?;
        caller.require_all_minds("create another Mind")?;
        names::check("Mind", &new.name)?;
        rules::check_parameters(&new.parameters)?;
        rules::check_model_name(new.model_name.as_deref())?;
        rules::check_datasources(&new.datasources)?;
        self.store
            .check_quota(ResourceKind::Minds, &caller.workspace)
            .await?;
        let provider = self
            .providers
            .resolve(&caller.workspace, new.provider.as_deref())
            .await?;
        let at = timestamp(now());
        let mind = Mind {
            id: new_id(),
            workspace_id: caller.workspace.to_string(),
            name: new.name,
            datasources: new.datasources,
            provider_id: provider.id,
            provider: provider.name,
            model_name: new.model_name.unwrap_or_default(),
            parameters: new.parameters,
            policies: Vec::new(),
            of_key: Arc::default(),
            created_at: at,
            updated_at: at,
        };
        store::insert(&self.store, &mind).await?;
        self.get(caller, &mind.name).await
    }

    /// Applies `changes`.
    ///
    /// # Errors
    /// As [`Self::create`], and `mind_not_found`.
    pub async fn update(&self, caller: &Caller, name: &str, changes: Changes) -> Result<Mind> {
        caller.require(Role::Editor)?;
        let old = self.get(caller, name).await?;
        let new_name = changes.name.unwrap_or_else(|| old.name.clone());
        names::check("Mind", &new_name)?;
        rules::check_model_name(changes.model_name.as_deref())?;
        if let Some(parameters) = &changes.parameters {
            rules::check_parameters(parameters)?;
        }
        if let Some(datasources) = &changes.datasources {
            rules::check_datasources(datasources)?;
            policies::check_kept(&old, datasources)?;
        }
        let provider_id = match &changes.provider {
            Some(name) => {
                self.providers
                    .resolve(&caller.workspace, Some(name))
                    .await?
                    .id
            }
            None => old.provider_id.clone(),
        };
        // Another vendor does not know the old one's model.
        let model_name = match (changes.model_name, provider_id == old.provider_id) {
            (Some(model_name), _) => Some(model_name),
            (None, true) => None,
            (None, false) => Some(String::new()),
        };
        let change = store::Change {
            name: new_name,
            provider_id,
            model_name,
            parameters: changes.parameters,
            datasources: changes.datasources,
        };
        store::update(&self.store, &old, &change).await?;
        self.get(caller, &change.name).await
    }

    /// Deletes a Mind. Its conversations stay and can be read.
    ///
    /// # Errors
    /// `mind_not_found`
    pub async fn delete(&self, caller: &Caller, name: &str) -> Result<()> {
        caller.require(Role::Editor)?;
        let mind = self.get(caller, name).await?;
        match store::delete(&self.store, &mind.id).await? {
            true => Ok(()),
            false => Err(not_found(name)),
        }
    }

    /// The Minds that the caller may see, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Mind>> {
        let mut minds = store::list(&self.store, &caller.workspace).await?;
        minds.retain(|mind| caller.sees_mind(&mind.id));
        Ok(minds
            .into_iter()
            .map(|mind| mind.asked_by(caller))
            .collect())
    }

    /// The Mind of that name, if the caller may see it.
    ///
    /// # Errors
    /// `mind_not_found`
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Mind> {
        let found = store::by_name(&self.store, &caller.workspace, name).await?;
        found
            .filter(|mind| caller.sees_mind(&mind.id))
            .map(|mind| mind.asked_by(caller))
            .ok_or_else(|| not_found(name))
    }

    /// The tables of a datasource that the caller may see; `None` means all. A key that is limited to some Minds sees
    /// the tables of those.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn visible_tables(
        &self,
        caller: &Caller,
        datasource_id: &str,
    ) -> Result<Option<Vec<TableRef>>> {
        if caller.minds.is_none() {
            return Ok(None);
        }
        let mut seen = Vec::new();
        let minds = self.list(caller).await?;
        for datasource in minds.into_iter().flat_map(|mind| mind.datasources) {
            match datasource.tables {
                _ if datasource.id != datasource_id => {}
                Some(tables) => seen.extend(tables),
                None => return Ok(None),
            }
        }
        Ok(Some(seen))
    }
}

/// Cached lookups for answers.
impl Minds {
    /// The Mind of that id as it is in the store, for work in the background, which has no caller.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_by_id(&self, workspace: &str, id: &str) -> Result<Option<Mind>> {
        store::by_id(&self.store, workspace, id).await
    }

    /// As [`Self::get`], cached until something changes, at most for a second.
    ///
    /// # Errors
    /// `mind_not_found`
    pub async fn current(&self, caller: &Caller, name: &str) -> Result<Arc<Mind>> {
        let key = format!("{}/{name}", caller.workspace);
        let id = match self.ids_by_name.get(&key) {
            Some(id) => id,
            None => {
                let find = async { Ok(self.get(caller, name).await?.id.into()) };
                self.ids_by_name.read(&key, find).await?
            }
        };
        let mind = self.current_by_id(caller, &id).await?;
        mind.ok_or_else(|| not_found(name))
    }

    /// The Mind of that id, if it exists and the caller may see it. Cached until something changes, at most for a
    /// second.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn current_by_id(&self, caller: &Caller, id: &str) -> Result<Option<Arc<Mind>>> {
        if !caller.sees_mind(id) {
            return Ok(None);
        }
        let key = format!("{}/{id} {}", caller.workspace, caller.policies.digest());
        if let Some(mind) = self.cache.get(&key) {
            return Ok(Some(mind));
        }
        let find = async {
            let found = store::by_id(&self.store, &caller.workspace, id).await?;
            let asked = found.map(|mind| mind.asked_by(caller));
            asked.map(Arc::new).ok_or_else(|| not_found(id))
        };
        match self.cache.read(&key, find).await {
            Ok(mind) => Ok(Some(mind)),
            Err(error) if error.code() == Code::MindNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn not_found(name: &str) -> Error {
    Error::new(
        Code::MindNotFound,
        format!("there is no Mind '{name}'; `GET /minds` lists those there are"),
    )
}

/// For `sql_query`, and for stored SQL that came from it.
pub fn direct_queries_not_allowed(mind: &Mind) -> Error {
    Error::new(
        Code::DirectQueriesNotAllowed,
        format!("the Mind '{}' does not allow direct SQL queries; ask in words, or have an editor set its parameter `allow_direct_queries`", mind.name),
    )
    .param("tools")
}

/// For conversations whose Mind was deleted.
pub fn deleted(name: &str) -> Error {
    Error::new(
        Code::MindDeleted,
        format!(
            "the Mind '{name}' of this conversation was deleted; its messages can still be read"
        ),
    )
}
