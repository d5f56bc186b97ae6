//! The policies of a Mind and of a key, applied to what a caller may read.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mindhost_base::{
    error::{Code, Error, Result},
    policy::{Attributes, Rule},
};
use mindhost_catalog::{Restrictions, ScopeStatistics, ScopeTables};
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

use super::{RefusedInPlan, Results};

/// The rules for one datasource.
#[derive(Debug, Default)]
pub(super) struct DatasourceRules<'a> {
    of_mind: HashMap<&'a TableRef, Vec<&'a Rule>>,
    /// With whether it is for the datasource itself: what schemas mean in another one is not known.
    of_key: Vec<(&'a KeyPolicy, bool)>,
}

/// The tables of a catalog that have the name of a policy of the key, by that name in lower case.
type Namesakes = HashMap<String, Vec<TableRef>>;

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
            self.of_mind.entry(&one.table).or_default().push(&one.rule);
        }
    }

    /// A policy of a key holds for the datasource of its id and for one of its name. If its own is gone, what was in it
    /// may have come back under any name, so the policy holds for every table of its name.
    fn add_key(&mut self, policies: &'a KeyPolicies, id: &str, name: &str, gone: &HashSet<&str>) {
        for one in policies.list() {
            let is_own = one.datasource_id == id;
            if is_own
                || one.datasource.eq_ignore_ascii_case(name)
                || gone.contains(one.datasource_id.as_str())
            {
                self.of_key.push((one, is_own));
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of_mind.is_empty() && self.of_key.is_empty()
    }

    fn namesakes(&self, scope: &ScopeTables) -> Namesakes {
        let names = self
            .of_key
            .iter()
            .map(|(one, _)| one.table.name.to_lowercase());
        let mut found: Namesakes = names.map(|name| (name, Vec::new())).collect();
        if found.is_empty() {
            return found;
        }
        let listed = scope.tables.iter().map(|table| &table.table);
        for table in listed.chain(&scope.others) {
            if let Some(tables) = found.get_mut(&table.name.to_lowercase()) {
                tables.push(table.clone());
            }
        }
        found
    }

    /// The rules by table: those of the Mind, then those of the key. A policy of a key whose table is not in the
    /// catalog holds for every table there of its name, and so does one in another datasource than its own. The schema of a table changes with the connection or the engine
    /// of the datasource, and the case of its name in engines that ignore it, but the key cannot be changed.
    fn by_table<'b>(&'b self, namesakes: &'b Namesakes) -> HashMap<&'b TableRef, Vec<&'b Rule>> {
        let mut rules: HashMap<&'b TableRef, Vec<&'b Rule>> = self.of_mind.clone();
        for (one, is_own) in &self.of_key {
            rules.entry(&one.table).or_default().push(&one.rule);
            let tables = namesakes.get(&one.table.name.to_lowercase());
            let tables = tables.map(Vec::as_slice).unwrap_or_default();
            if *is_own && tables.contains(&one.table) {
                continue;
            }
            for table in tables.iter().filter(|table| **table != one.table) {
                rules.entry(table).or_default().push(&one.rule);
            }
        }
        rules
    }

    /// Puts the rules on the tables. Returns what the catalog withholds.
    pub fn apply(
        &self,
        dialect: Dialect,
        attributes: &Attributes,
        scope: &mut ScopeTables,
    ) -> Restrictions {
        let mut restrictions = Restrictions::default();
        if self.is_empty() {
            return restrictions;
        }
        let namesakes = self.namesakes(scope);
        let by_table = self.by_table(&namesakes);
        // A table that the catalog lacks now may be in it when the catalog is read.
        let mut missing: HashSet<&TableRef> = by_table.keys().copied().collect();
        for table in &mut scope.tables {
            let Some(rules) = by_table.get(&table.table) else {
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
            for rule in by_table.get(table).into_iter().flatten() {
                restrictions.add(table, rule, true);
            }
        }
        close_unlisted(&mut restrictions, &namesakes);
        restrictions
    }
}

/// A table that comes into the catalog later may be one for which a policy of the key holds then.
fn close_unlisted(restrictions: &mut Restrictions, namesakes: &Namesakes) {
    for (name, listed) in namesakes {
        restrictions.close_unlisted(name, listed.iter().cloned());
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
    let told = match error.blame() {
        Some(blame) => told.blamed(blame),
        None => told,
    };
    match RefusedInPlan::is_source_of(&error) {
        true => told.with_source(RefusedInPlan),
        false => told,
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
    /// Whether it holds for other tables of that name where the catalog does not have its table.
    pub is_of_key: bool,
}

impl<'a> From<&'a MindPolicy> for Checked<'a> {
    fn from(policy: &'a MindPolicy) -> Self {
        Self {
            datasource_id: &policy.datasource_id,
            table: &policy.table,
            rule: &policy.rule,
            is_of_key: false,
        }
    }
}

impl<'a> From<&'a KeyPolicy> for Checked<'a> {
    fn from(policy: &'a KeyPolicy) -> Self {
        Self {
            datasource_id: &policy.datasource_id,
            table: &policy.table,
            rule: &policy.rule,
            is_of_key: true,
        }
    }
}

/// What is known of a datasource whose policies are checked: its dialect, and those of its tables that they are for.
struct KnownTables {
    dialect: Result<Dialect>,
    tables: HashMap<TableRef, ScopeTable>,
}

impl KnownTables {
    /// # Errors
    /// When the catalog does not have the table, no plugin says what the dialect is, or the rule does not fit.
    fn check(&self, one: &Checked<'_>) -> Result<()> {
        let Some(table) = self.tables.get(one.table) else {
            let holds = match one.is_of_key {
                true => "; the policy holds for every table of that name",
                false => "",
            };
            let message = format!("the catalog has no table `{}` any more{holds}", one.table);
            return Err(Error::new(Code::InvalidPolicy, message).param("table"));
        };
        let dialect = self.dialect.clone()?;
        policy::check(dialect, table, one.rule)
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

/// The tables that policies are for, by the ids of their datasources.
pub(super) fn tables_of<'a>(policies: &[Checked<'a>]) -> HashMap<&'a str, Vec<TableRef>> {
    let mut named: HashMap<&str, Vec<TableRef>> = HashMap::new();
    for one in policies {
        let tables = named.entry(one.datasource_id).or_default();
        tables.push(one.table.clone());
    }
    named
}

impl Results {
    /// What does not fit in policies: tables that the catalog does not have, rules that are not allowed or do not fit
    /// their tables, and datasources whose dialect no plugin says.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn check_policies(
        &self,
        workspace: &str,
        policies: &[Checked<'_>],
    ) -> Result<Vec<Problem>> {
        // Many keys may have policies for one datasource.
        let mut known = HashMap::new();
        for (id, tables) in tables_of(policies) {
            known.insert(id, self.known_tables(workspace, id, &tables).await?);
        }
        let problem = |(index, one): (usize, &Checked<'_>)| {
            let error = known.get(one.datasource_id)?.check(one).err()?;
            Some(Problem { index, error })
        };
        Ok(policies.iter().enumerate().filter_map(problem).collect())
    }

    async fn known_tables(
        &self,
        workspace: &str,
        datasource_id: &str,
        tables: &[TableRef],
    ) -> Result<KnownTables> {
        let found = self
            .catalog
            .scope_tables(datasource_id, Some(tables), ScopeStatistics::None);
        let found = found.await?.tables.into_iter();
        let datasource = self.datasources.get_by_id(workspace, datasource_id);
        let dialect = match datasource.await? {
            Some(datasource) => self.dialect(&datasource).await,
            None => Ok(Dialect::Generic),
        };
        Ok(KnownTables {
            dialect,
            tables: found.map(|table| (table.table.clone(), table)).collect(),
        })
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
        let catalog = &self.catalog;
        let scope = catalog.scope_tables(&datasource.id, None, ScopeStatistics::None);
        let scope = scope.await?;
        let namesakes = rules.namesakes(&scope);
        for (table, rules) in rules.by_table(&namesakes) {
            let known = scope.tables.iter().find(|known| known.table == *table);
            for rule in rules {
                // One by one: the Minds need not agree, and each shows the table to somebody.
                let is_closed = known.is_none_or(|known| {
                    let policy = TablePolicy::new(dialect, known, &[rule], &caller.attributes);
                    policy.closed().is_some()
                });
                restrictions.add(table, rule, is_closed);
            }
        }
        close_unlisted(&mut restrictions, &namesakes);
        Ok(restrictions)
    }
}

#[cfg(test)]
mod tests {
    use mindhost_plugin_api::ColumnStatistics;
    use mindhost_sql::guard::{ScopeDatasource, guard};

    use super::*;

    fn named(name: &str) -> TableRef {
        let (schema, name) = name.split_once('.').unwrap();
        TableRef::new(schema, name)
    }

    fn table(name: &str) -> ScopeTable {
        ScopeTable {
            table: named(name),
            columns: vec!["id".to_owned(), "pay".to_owned()],
            key: Vec::new(),
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

    /// The tables of a Mind, and the others of the datasource.
    fn scope(tables: &[&str], others: &[&str]) -> ScopeTables {
        ScopeTables {
            tables: tables.iter().map(|name| table(name)).collect(),
            others: others.iter().map(|name| named(name)).collect(),
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
        let mut scope = scope(&["main.staff", "main.item", "main.sale"], &[]);
        rules.apply(Dialect::Sqlite, &Attributes::default(), &mut scope);
        let known = scope.tables.iter();
        let known = known.map(|table| (table.row_count, table.statistics.len()));
        assert_eq!(
            known.collect::<Vec<_>>(),
            [(None, 0), (None, 0), (Some(7), 1)]
        );
    }

    #[test]
    fn policy_of_a_key_never_ceases_to_bind() {
        let mind = mind();
        let binds = |id: &str, name: &str, gone: &[&str]| {
            let gone = gone.iter().copied().collect();
            let rules = DatasourceRules::of(&mind, id, name, &gone);
            !rules.of_key.is_empty()
        };
        assert!(binds("1", "shop", &[]));
        assert!(binds("1", "renamed", &[]));
        assert!(binds("2", "shop", &[]) && binds("2", "SHOP", &[]));
        assert!(!binds("2", "other", &[]));
        assert!(binds("2", "other", &["1"]));
    }

    /// Those tables of a scope on which the policy of the key, which is on `main.item`, holds.
    fn bound(mut scope: ScopeTables) -> Vec<String> {
        let mind = mind();
        let rules = DatasourceRules::of(&mind, "1", "shop", &HashSet::new());
        rules.apply(Dialect::Sqlite, &Attributes::default(), &mut scope);
        let bound = scope.tables.iter().filter(|table| table.policy.is_some());
        bound.map(|table| table.table.to_string()).collect()
    }

    #[test]
    fn policy_of_a_key_holds_for_namesakes_where_its_table_is_not_listed() {
        // The database, which is the schema, has another name.
        assert_eq!(
            bound(scope(&["main_2026.item", "main_2026.sale"], &[])),
            ["main_2026.item"]
        );
        // The datasource was made again with another engine, and the table has another case.
        assert_eq!(bound(scope(&["public.item"], &[])), ["public.item"]);
        assert_eq!(bound(scope(&["main.Item"], &[])), ["main.Item"]);
        assert_eq!(
            bound(scope(&["a.item", "b.ITEM", "a.items"], &[])),
            ["a.item", "b.ITEM"]
        );
        // Where the table is listed, the policy is for it alone, also if the Mind does not have it.
        assert_eq!(
            bound(scope(&["main.item", "archive.item"], &[])),
            ["main.item"]
        );
        assert!(bound(scope(&["archive.item"], &["main.item"])).is_empty());
        // The policy of a Mind is for the table that an editor named.
        assert!(bound(scope(&["public.staff"], &[])).is_empty());
    }

    #[test]
    fn namesake_that_a_policy_does_not_fit_is_closed() {
        let mind = mind();
        let rules = DatasourceRules::of(&mind, "1", "shop", &HashSet::new());
        let mut scope = scope(&["public.item"], &[]);
        scope.tables[0].columns = vec!["id".to_owned(), "wages".to_owned()];
        rules.apply(Dialect::Postgresql, &Attributes::default(), &mut scope);
        let policy = scope.tables[0].policy.as_ref().unwrap();
        assert!(policy.closed().is_some());
        assert!(scope.tables[0].columns.is_empty());
    }

    #[test]
    fn withheld_error_is_still_one_of_the_plan() {
        let mind = mind();
        let rules = DatasourceRules::of(&mind, "1", "shop", &HashSet::new());
        let mut read = scope(&["main.item"], &[]);
        rules.apply(Dialect::Sqlite, &Attributes::default(), &mut read);
        let scope = ScopeDatasource::new("shop", Dialect::Sqlite, read.tables).into();
        let guarded = guard("SELECT id FROM item", &scope).unwrap();
        let engine = || Error::new(Code::SqlInvalid, "no column pay");
        let told = withheld(engine().with_source(RefusedInPlan), &guarded);
        assert!(RefusedInPlan::is_source_of(&told) && !told.message().contains("pay"));
        assert!(!RefusedInPlan::is_source_of(&withheld(engine(), &guarded)));
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
