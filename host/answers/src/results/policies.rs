//! The policies of a Mind and of a key, applied to what a caller may read.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Attributes, Rule},
};
use mindhost_catalog::{Restrictions, ScopeStatistics};
use mindhost_core::{
    auth::{Caller, KeyPolicies, KeyPolicy},
    datasources::{Datasource, Datasources},
    minds::{Mind, MindPolicy},
};
use mindhost_plugin_api::{Dialect, TableRef};
use mindhost_sql::{
    guard::{GuardedStatement, ScopeTable},
    policy::{self, TablePolicy},
};

use super::Results;

/// The rules for one datasource, by table: those of the Mind, then those of the key.
#[derive(Debug, Default)]
pub(super) struct DatasourceRules<'a>(HashMap<&'a TableRef, Vec<&'a Rule>>);

impl<'a> DatasourceRules<'a> {
    /// Of a Mind, which has the policies of the key that asks. `gone` are ids of datasources that no longer exist.
    pub fn of(mind: &'a Mind, id: &str, name: &str, gone: &HashSet<&str>) -> Self {
        let mut rules = Self::default();
        rules.add_mind(mind, id);
        rules.add_key(&mind.of_key, id, name, gone);
        rules
    }

    fn add_mind(&mut self, mind: &'a Mind, id: &str) {
        let policies = mind.policies.iter();
        for one in policies.filter(|one| one.datasource_id == id) {
            self.0.entry(&one.table).or_default().push(&one.rule);
        }
    }

    /// A policy of a key holds for the datasource of its id and for one of its name. If its own is gone, what was in it
    /// may have come back under any name, so the policy holds for every table of its name.
    fn add_key(&mut self, policies: &'a KeyPolicies, id: &str, name: &str, gone: &HashSet<&str>) {
        for one in policies.list() {
            if one.datasource_id == id
                || one.datasource.eq_ignore_ascii_case(name)
                || gone.contains(one.datasource_id.as_str())
            {
                self.0.entry(&one.table).or_default().push(&one.rule);
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts the rules on the tables. Returns what the catalog withholds.
    pub fn apply(
        &self,
        dialect: Dialect,
        attributes: &Attributes,
        tables: &mut [ScopeTable],
    ) -> Restrictions {
        let mut restrictions = Restrictions::default();
        if self.is_empty() {
            return restrictions;
        }
        // A table that the catalog lacks now may be in it when the catalog is read.
        let mut missing: HashSet<&TableRef> = self.0.keys().copied().collect();
        for table in tables {
            let Some(rules) = self.0.get(&table.table) else {
                continue;
            };
            missing.remove(&table.table);
            let policy = TablePolicy::new(dialect, table, rules, attributes);
            for rule in rules {
                restrictions.add(&table.table, rule, policy.closed().is_some());
            }
            table.columns = policy.visible().to_vec();
            // The plan of a statement over several datasources shows by them how many rows there are, and of what.
            table.row_count = None;
            table.statistics = Arc::default();
            table.policy = Some(policy.into());
        }
        for table in missing {
            for rule in self.0.get(table).into_iter().flatten() {
                restrictions.add(table, rule, true);
            }
        }
        restrictions
    }
}

/// The datasources of a key's policies that no longer exist.
///
/// # Errors
/// When the store fails.
pub(super) async fn gone<'a>(
    policies: &'a KeyPolicies,
    workspace: &str,
    datasources: &Datasources,
) -> Result<HashSet<&'a str>> {
    let all: HashSet<&str> = policies
        .list()
        .iter()
        .map(|one| one.datasource_id.as_str())
        .collect();
    let mut gone = HashSet::new();
    for id in all {
        if datasources.get_by_id(workspace, id).await?.is_none() {
            gone.insert(id);
        }
    }
    Ok(gone)
}

/// What an access depends on besides the version of the Mind: the policies of the key, and those attributes that the
/// policies name.
pub(super) fn cache_key(mind: &Mind, attributes: &Attributes) -> Result<String> {
    let of_key = &mind.of_key;
    if mind.policies.is_empty() && of_key.list().is_empty() {
        return Ok(mind.id.clone());
    }
    let of_mind = mind.policies.iter().map(|one| &one.rule);
    let rules = of_mind.chain(of_key.list().iter().map(|one| &one.rule));
    let mut named: Vec<String> = rules.flat_map(policy::attributes).collect();
    named.sort_unstable();
    named.dedup();
    let values: Vec<_> = named.iter().map(|name| attributes.get(name)).collect();
    let values = mindhost_store::to_json(&values)?;
    Ok(format!("{} {} {values}", mind.id, of_key.digest()))
}

/// The error of a statement that reads a table with a policy. The words of the engine may hold values of rows and names
/// of columns that the caller does not see.
pub(super) fn withheld(error: Error, guarded: &GuardedStatement) -> Error {
    let is_of_engine = matches!(
        error.code(),
        Code::SqlInvalid | Code::SqlPermissionDenied | Code::UpstreamError | Code::PluginError
    );
    if !is_of_engine || !guarded.is_policed() {
        return error;
    }
    let told = Error::new(
        error.code(),
        "the engine refused this statement; its message is withheld, because a policy is on a table of the statement. \
         Check names, types and functions",
    );
    match error.blame() {
        Some(blame) => told.blamed(blame),
        None => told,
    }
}

/// A policy of a Mind or of a key, to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    /// UUID of the datasource.
    pub datasource_id: &'a str,
    /// Schema and name of the table.
    pub table: &'a TableRef,
    /// What is seen of it.
    pub rule: &'a Rule,
}

impl<'a> From<&'a MindPolicy> for Checked<'a> {
    fn from(policy: &'a MindPolicy) -> Self {
        Self {
            datasource_id: &policy.datasource_id,
            table: &policy.table,
            rule: &policy.rule,
        }
    }
}

impl<'a> From<&'a KeyPolicy> for Checked<'a> {
    fn from(policy: &'a KeyPolicy) -> Self {
        Self {
            datasource_id: &policy.datasource_id,
            table: &policy.table,
            rule: &policy.rule,
        }
    }
}

/// A policy that does not fit its table, for those who write policies.
#[derive(Debug)]
pub struct Problem {
    /// From 0, in the list of policies that was checked.
    pub index: usize,
    /// What does not fit.
    pub error: Error,
}

impl Results {
    /// What does not fit in policies: tables that the catalog does not have, and rules that are not allowed or do not
    /// fit their tables.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn check_policies(
        &self,
        workspace: &str,
        policies: &[Checked<'_>],
    ) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        // Many keys may have policies for one table.
        let mut tables: HashMap<(&str, &TableRef), Option<(Dialect, ScopeTable)>> = HashMap::new();
        for (index, one) in policies.iter().enumerate() {
            let at = (one.datasource_id, one.table);
            let table = match tables.entry(at) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(self.table(workspace, at).await?),
            };
            let checked = match table {
                Some((dialect, table)) => policy::check(*dialect, table, one.rule),
                _ => Err(Error::new(
                    Code::InvalidPolicy,
                    format!("the catalog has no table `{}` any more", one.table),
                )
                .param("table")),
            };
            if let Err(error) = checked {
                problems.push(Problem { index, error });
            }
        }
        Ok(problems)
    }

    async fn table(
        &self,
        workspace: &str,
        (datasource_id, table): (&str, &TableRef),
    ) -> Result<Option<(Dialect, ScopeTable)>> {
        let selection = Some(std::slice::from_ref(table));
        let found = self
            .catalog
            .scope_tables(datasource_id, selection, ScopeStatistics::None);
        let Some(found) = found.await?.pop() else {
            return Ok(None);
        };
        let datasource = self.datasources.get_by_id(workspace, datasource_id);
        let dialect = match datasource.await? {
            Some(datasource) => self.dialect(&datasource).await?,
            None => Dialect::Generic,
        };
        Ok(Some((dialect, found)))
    }

    async fn dialect(&self, datasource: &Datasource) -> Result<Dialect> {
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = self.registry.connector(&datasource.engine, pin).await?;
        Ok(connector.manifest().dialect.unwrap_or(Dialect::Generic))
    }

    /// What policies withhold of the catalog of a datasource from a caller: those of all these Minds, and those of its
    /// key. Where no plugin serves the engine, tables with policies are closed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn restrictions(
        &self,
        caller: &Caller,
        minds: &[Mind],
        datasource: &Datasource,
    ) -> Result<Restrictions> {
        let gone = gone(&caller.policies, &caller.workspace, &self.datasources).await?;
        let mut rules = DatasourceRules::default();
        for mind in minds {
            rules.add_mind(mind, &datasource.id);
        }
        rules.add_key(&caller.policies, &datasource.id, &datasource.name, &gone);
        let mut restrictions = Restrictions::default();
        if rules.is_empty() {
            return Ok(restrictions);
        }
        let dialect = self.dialect(datasource).await.unwrap_or(Dialect::Generic);
        let named: Vec<TableRef> = rules.0.keys().map(|table| (*table).clone()).collect();
        let (catalog, id) = (&self.catalog, &datasource.id);
        let tables = catalog.scope_tables(id, Some(&named), ScopeStatistics::None);
        let tables = tables.await?;
        for (table, rules) in rules.0 {
            let known = tables.iter().find(|known| known.table == *table);
            for rule in rules {
                // One by one: the Minds need not agree, and each shows the table to somebody.
                let is_closed = known.is_none_or(|known| {
                    let policy = TablePolicy::new(dialect, known, &[rule], &caller.attributes);
                    policy.closed().is_some()
                });
                restrictions.add(table, rule, is_closed);
            }
        }
        Ok(restrictions)
    }
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::ColumnStatistics;

    use super::*;

    fn table(name: &str) -> ScopeTable {
        ScopeTable {
            table: TableRef::new("main", name),
            columns: vec!["id".to_owned(), "pay".to_owned()],
            row_count: Some(7),
            statistics: Arc::new([ColumnStatistics {
                column: "pay".to_owned(),
                null_fraction: None,
                distinct_count: Some(7),
                common_values: Vec::new(),
                min_value: None,
                max_value: None,
                estimated: false,
                sampled_rows: None,
            }]),
            policy: None,
        }
    }

    fn hiding_pay() -> Rule {
        Rule {
            hidden: vec!["pay".to_owned()],
            ..Rule::default()
        }
    }

    /// A Mind whose own policy is on `staff` of the datasource `1`, asked by a key whose policy is on `item` of it.
    fn mind() -> Mind {
        let of_key = KeyPolicies::new(vec![KeyPolicy {
            datasource_id: "1".to_owned(),
            datasource: "shop".to_owned(),
            table: TableRef::new("main", "item"),
            rule: hiding_pay(),
        }]);
        Mind {
            id: String::new(),
            workspace_id: String::new(),
            name: String::new(),
            datasources: Vec::new(),
            provider_id: String::new(),
            provider: String::new(),
            model_name: String::new(),
            parameters: Default::default(),
            policies: vec![MindPolicy {
                datasource_id: "1".to_owned(),
                table: TableRef::new("main", "staff"),
                rule: hiding_pay(),
            }],
            of_key: Arc::new(of_key.unwrap()),
            created_at: Default::default(),
            updated_at: Default::default(),
        }
    }

    #[test]
    fn table_with_a_policy_is_planned_without_the_catalog() {
        let mind = mind();
        let rules = DatasourceRules::of(&mind, "1", "shop", &HashSet::new());
        let mut tables = ["staff", "item", "sale"].map(table);
        rules.apply(Dialect::Sqlite, &Attributes::default(), &mut tables);
        let known = tables.map(|table| (table.row_count, table.statistics.len()));
        assert_eq!(known, [(None, 0), (None, 0), (Some(7), 1)]);
    }

    #[test]
    fn policy_of_a_key_never_ceases_to_bind() {
        let mind = mind();
        let binds = |id: &str, name: &str, gone: &[&str]| {
            let gone = gone.iter().copied().collect();
            let rules = DatasourceRules::of(&mind, id, name, &gone);
            rules.0.contains_key(&TableRef::new("main", "item"))
        };
        assert!(binds("1", "shop", &[]));
        assert!(binds("1", "renamed", &[]));
        assert!(binds("2", "shop", &[]) && binds("2", "SHOP", &[]));
        assert!(!binds("2", "other", &[]));
        assert!(binds("2", "other", &["1"]));
    }

    #[test]
    fn accesses_of_keys_with_different_policies_are_different() {
        let attributes = Attributes::default();
        let key = |mind: &Mind| cache_key(mind, &attributes).unwrap();
        let with = mind();
        let without = Mind {
            of_key: Arc::default(),
            ..with.clone()
        };
        assert_ne!(key(&with), key(&without));
        let unbound = Mind {
            policies: Vec::new(),
            ..without.clone()
        };
        let bound = Mind {
            policies: Vec::new(),
            ..with
        };
        assert_ne!(key(&bound), key(&unbound));
    }
}
