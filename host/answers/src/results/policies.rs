//! The policies of a Mind, applied to what a caller may read.

use std::sync::Arc;

use mindhost_base::{
    error::{Code, Error, Result},
    policy::Attributes,
};
use mindhost_catalog::{Restrictions, ScopeStatistics};
use mindhost_core::minds::{Mind, MindPolicy};
use mindhost_plugin_api::Dialect;
use mindhost_sql::{
    guard::{GuardedStatement, ScopeTable},
    policy::{self, TablePolicy},
};

use super::Results;

/// Puts the policies of a Mind on the tables of one of its datasources. Returns what the catalog withholds.
pub(super) fn apply(
    mind: &Mind,
    datasource_id: &str,
    dialect: Dialect,
    attributes: &Attributes,
    tables: &mut [ScopeTable],
) -> Restrictions {
    let mut restrictions = Restrictions::default();
    if mind.policies.is_empty() {
        return restrictions;
    }
    for table in tables {
        let Some(rule) = mind.rule(datasource_id, &table.table) else {
            continue;
        };
        let policy = TablePolicy::new(dialect, table, rule, attributes);
        restrictions.add(&table.table, rule, policy.closed().is_some());
        table.columns = policy.visible().to_vec();
        // The plan of a statement over several datasources shows by them how many rows there are, and of what.
        table.row_count = None;
        table.statistics = Arc::default();
        table.policy = Some(policy.into());
    }
    restrictions
}

/// What an access depends on besides the version of the Mind: those attributes that its policies name.
pub(super) fn cache_key(mind: &Mind, attributes: &Attributes) -> Result<String> {
    if mind.policies.is_empty() {
        return Ok(mind.id.clone());
    }
    let mut named: Vec<String> = mind
        .policies
        .iter()
        .flat_map(|one| policy::attributes(&one.rule))
        .collect();
    named.sort_unstable();
    named.dedup();
    let values: Vec<_> = named.iter().map(|name| attributes.get(name)).collect();
    Ok(format!("{} {}", mind.id, mindhost_store::to_json(&values)?))
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

/// Whether the policy of a Mind fits its table, for those who write policies.
#[derive(Debug)]
pub struct Problem {
    /// From 0, in the list of policies that was checked.
    pub index: usize,
    /// What does not fit.
    pub error: Error,
}

impl Results {
    /// What does not fit in policies of a Mind: tables that it does not have, and rules that are not allowed or do not
    /// fit their tables.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn check_policies(
        &self,
        mind: &Mind,
        policies: &[MindPolicy],
    ) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for (index, one) in policies.iter().enumerate() {
            let table = std::slice::from_ref(&one.table);
            let found = self
                .catalog
                .scope_tables(&one.datasource_id, Some(table), ScopeStatistics::None)
                .await?;
            let checked = match found.first() {
                Some(table) => {
                    let dialect = self.dialect(mind, &one.datasource_id).await?;
                    policy::check(dialect, table, &one.rule)
                }
                None => Err(Error::new(
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

    async fn dialect(&self, mind: &Mind, datasource_id: &str) -> Result<Dialect> {
        let datasource = self
            .datasources
            .get_by_id(&mind.workspace_id, datasource_id)
            .await?;
        let Some(datasource) = datasource else {
            return Ok(Dialect::Generic);
        };
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = self.registry.connector(&datasource.engine, pin).await?;
        Ok(connector.manifest().dialect.unwrap_or(Dialect::Generic))
    }
}

#[cfg(test)]
mod tests {
    use mindhost_base::policy::Rule;
    use mindhost_plugin_api::{ColumnStatistics, TableRef};

    use super::*;

    #[test]
    fn table_with_a_policy_is_planned_without_the_catalog() {
        let table = |name: &str| ScopeTable {
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
        };
        let rule = Rule {
            hidden: vec!["pay".to_owned()],
            ..Rule::default()
        };
        let mind = Mind {
            id: String::new(),
            workspace_id: String::new(),
            name: String::new(),
            datasources: Vec::new(),
            provider_id: String::new(),
            provider: String::new(),
            model_name: String::new(),
            parameters: Default::default(),
            policies: vec![MindPolicy {
                datasource_id: "shop".to_owned(),
                table: TableRef::new("main", "staff"),
                rule,
            }],
            created_at: Default::default(),
            updated_at: Default::default(),
        };
        let mut tables = [table("staff"), table("item")];
        apply(
            &mind,
            "shop",
            Dialect::Sqlite,
            &Attributes::default(),
            &mut tables,
        );
        let known = tables.map(|table| (table.row_count, table.statistics.len()));
        assert_eq!(known, [(None, 0), (Some(7), 1)]);
    }
}
