//! The `policies` of keys: names in requests, and what is shown of them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use axum::extract::FromRef;

use crate::{
    AppState,
    policies::{PolicyEntry, ShownPolicy, find_table, refuse},
};
use mindhost_answers::results::{
    Results,
    policies::{Checked, Problem},
};
use mindhost_base::{
    error::{Code, Error, Result},
    policy::Attributes,
};
use mindhost_catalog::{Catalog, Source};
use mindhost_core::{
    auth::{Caller, KeyPolicies, KeyPolicy, keys::Key},
    datasources::Datasources,
    minds::Minds,
};
use mindhost_sql::policy::check_attributes;

/// Finds what policies of keys are about, and checks them.
#[derive(Clone)]
pub(crate) struct Policies {
    catalog: Arc<Catalog>,
    datasources: Arc<Datasources>,
    minds: Arc<Minds>,
    results: Results,
}

impl FromRef<AppState> for Policies {
    fn from_ref(state: &AppState) -> Self {
        Self {
            catalog: state.catalog.clone(),
            datasources: state.datasources.clone(),
            minds: state.minds.clone(),
            results: state.results.clone(),
        }
    }
}

impl Policies {
    /// The policies of a new key, over datasources that the caller sees.
    ///
    /// # Errors
    /// `unknown_datasource`, `unknown_table`, `ambiguous_table`; `invalid_policy` when one does not fit its table, the
    /// engine cannot run its SQL, or it names an attribute that the key does not have; `invalid_parameter` for too many.
    pub async fn checked(
        &self,
        caller: &Caller,
        entries: Vec<PolicyEntry>,
        attributes: &Attributes,
    ) -> Result<Arc<KeyPolicies>> {
        KeyPolicies::check_count(entries.len())?;
        let mut policies = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            policies.push(self.resolved(caller, index, entry).await?);
        }
        let policies = KeyPolicies::new(policies)?;
        let checked: Vec<_> = policies.list().iter().map(Checked::from).collect();
        let problems = self.results.check_policies(&caller.workspace, &checked);
        refuse(problems.await?)?;
        let unnamed = policies.list().iter().enumerate();
        let unnamed = unnamed.filter_map(|(index, one)| {
            let error = check_attributes(&one.rule, attributes).err()?;
            Some(Problem { index, error })
        });
        refuse(unnamed.collect())?;
        let tried = self
            .results
            .try_policies(caller, &checked, Some(attributes));
        refuse(tried.await?)?;
        Ok(Arc::new(policies))
    }

    async fn resolved(
        &self,
        caller: &Caller,
        index: usize,
        entry: PolicyEntry,
    ) -> Result<KeyPolicy> {
        let found = self.datasources.get(caller, &entry.datasource).await;
        let datasource = found.map_err(|error| match error.code() {
            Code::DatasourceNotFound => Error::new(Code::UnknownDatasource, error.message())
                .param(format!("policies[{index}].datasource")),
            _ => error,
        })?;
        let rule = entry.rule(index)?;
        let seen = self.minds.visible_tables(caller, &datasource.id).await?;
        let source = Source::from(&datasource).limited_to(seen.as_deref());
        let param = format!("policies[{index}].table");
        Ok(KeyPolicy {
            table: find_table(&self.catalog, source, entry.table, &param).await?,
            datasource_id: datasource.id,
            datasource: datasource.name,
            rule,
        })
    }

    /// The policies of each of these keys, for tables that the caller sees.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn shown(&self, caller: &Caller, keys: &[Key]) -> Result<Vec<Vec<ShownPolicy>>> {
        let seen = self.seen(caller, keys).await?;
        let all = || seen.iter().flatten().copied();
        let names = self.names(caller, all()).await?;
        let checked: Vec<_> = all().map(Checked::from).collect();
        let problems = self.results.check_policies(&caller.workspace, &checked);
        let mut problems: HashMap<usize, Error> = problems
            .await?
            .into_iter()
            .map(|problem| (problem.index, problem.error))
            .collect();
        let mut index = 0..;
        let mut show = |one: &&KeyPolicy| {
            let problem = index.next().and_then(|index| problems.remove(&index));
            let problem = problem.map(|error| error.message().to_owned());
            let (name, problem) = match names.get(one.datasource_id.as_str()) {
                Some(name) => (name, problem),
                None => (&one.datasource, Some(GONE.to_owned())),
            };
            ShownPolicy::new(name.clone(), &one.table, &one.rule, problem)
        };
        let shown = seen
            .iter()
            .map(|of_key| of_key.iter().map(&mut show).collect());
        Ok(shown.collect())
    }

    /// The policies of each key for tables that the caller sees.
    async fn seen<'a>(&self, caller: &Caller, keys: &'a [Key]) -> Result<Vec<Vec<&'a KeyPolicy>>> {
        let all = keys.iter().flat_map(|key| key.policies.list());
        let ids: HashSet<&str> = all.map(|one| one.datasource_id.as_str()).collect();
        let mut visible = HashMap::new();
        for id in ids {
            visible.insert(id, self.minds.visible_tables(caller, id).await?);
        }
        let is_seen = |one: &&KeyPolicy| {
            let tables = visible.get(one.datasource_id.as_str());
            let tables = tables.and_then(Option::as_ref);
            tables.is_none_or(|tables| tables.contains(&one.table))
        };
        let of_key = |key: &'a Key| {
            key.policies
                .list()
                .iter()
                .filter(is_seen)
                .collect::<Vec<_>>()
        };
        Ok(keys.iter().map(of_key).collect())
    }

    /// The names of the datasources that exist, by id.
    async fn names<'a>(
        &self,
        caller: &Caller,
        policies: impl Iterator<Item = &'a KeyPolicy>,
    ) -> Result<HashMap<&'a str, String>> {
        let ids: HashSet<&str> = policies.map(|one| one.datasource_id.as_str()).collect();
        let mut names = HashMap::new();
        for id in ids {
            if let Some(found) = self.datasources.get_by_id(&caller.workspace, id).await? {
                names.insert(id, found.name);
            }
        }
        Ok(names)
    }
}

/// The policies of a new key, which were just checked.
pub(crate) fn shown_new(policies: &KeyPolicies) -> Vec<ShownPolicy> {
    let shown = policies.list().iter();
    let shown =
        shown.map(|one| ShownPolicy::new(one.datasource.clone(), &one.table, &one.rule, None));
    shown.collect()
}

/// What is wrong with a policy whose datasource was deleted.
const GONE: &str =
    "the datasource was deleted; the policy holds for tables of this name in every datasource";
