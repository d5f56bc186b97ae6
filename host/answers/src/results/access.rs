//! What a Mind may read now, and from which datasources.

use std::{sync::Arc, time::Duration};

use super::policies::{self, DatasourceRules};
use mindhost_base::{
    error::{Code, Error, Result},
    policy::Attributes,
};
use mindhost_catalog::{Catalog, ScopeStatistics, View, ViewSource};
use mindhost_core::{
    datasources::{Datasource, Datasources},
    minds::Mind,
};
use mindhost_plugin_api::{Dialect, Target};
use mindhost_plugins::registry::Registry;
use mindhost_sql::{
    guard::{GuardedStatement, ReadTable, Scope, ScopeDatasource},
    policy::TablePolicy,
};

/// One datasource of the Mind, ready for calls.
#[derive(Clone, Debug)]
pub struct Source {
    /// Engine kind, for the registry.
    pub engine: String,
    /// Digest of the plugin version that it is pinned to.
    pub plugin_digest: Option<String>,
    /// Whether results are compared with those of a version on trial.
    pub shadow: bool,
    /// What the plugin is pointed at.
    pub target: Arc<Target>,
    /// The datasource's own limit.
    pub statement_timeout: Option<Duration>,
    /// Whether rows may go to a model vendor.
    pub send_rows: bool,
}

impl Source {
    /// Made of a datasource as it is now.
    ///
    /// # Errors
    /// When its secrets cannot be read.
    pub(super) async fn of(datasource: Datasource, datasources: &Datasources) -> Result<Self> {
        Ok(Self {
            statement_timeout: datasources.statement_timeout(&datasource.settings),
            send_rows: datasource.settings.send_rows,
            target: Arc::new(datasources.target(&datasource).await?),
            engine: datasource.engine,
            plugin_digest: datasource.settings.plugin_digest,
            shadow: datasource.settings.shadow,
        })
    }
}

/// The scope for the guard, and a source for each of its datasources, in the same order.
#[derive(Clone, Debug)]
pub struct Access {
    /// What a statement may name.
    pub scope: Scope,
    /// What the catalog shows of it.
    pub view: View,
    sources: Vec<Source>,
}

impl Access {
    /// Without datasources behind the scope.
    #[cfg(test)]
    pub fn of(scope: Scope) -> Self {
        Self {
            scope,
            view: View::default(),
            sources: Vec::new(),
        }
    }

    /// One of its datasources.
    pub fn source(&self, index: usize) -> Option<&Source> {
        self.sources.get(index)
    }

    /// The datasources of a guarded statement.
    pub fn sources<'a>(
        &'a self,
        guarded: &'a GuardedStatement,
    ) -> impl Iterator<Item = &'a Source> {
        let indices = guarded.reads().datasources().iter();
        indices.filter_map(|index| self.source(*index))
    }

    /// Why a statement that was accepted with this access is not allowed with `now`; `None` if it is. Tables that are
    /// missing in the catalog do not count, because the catalog lacks tables while it is loaded.
    pub fn withdrawn(&self, guarded: &GuardedStatement, now: &Self) -> Option<&'static str> {
        let mut indices = guarded.reads().datasources().iter();
        indices.find_map(|index| self.withdrawn_from(*index, guarded, now))
    }

    fn withdrawn_from(
        &self,
        index: usize,
        guarded: &GuardedStatement,
        now: &Self,
    ) -> Option<&'static str> {
        let (source, scope) = (self.source(index)?, self.scope.datasources.get(index)?);
        let read = || {
            guarded
                .tables()
                .iter()
                .filter(move |read| read.datasource == index)
        };
        let Some(index) = now
            .view
            .sources
            .iter()
            .position(|one| one.id == source.target.id)
        else {
            return Some("the Mind no longer has the datasource of the export");
        };
        let (view, scope_now) = (&now.view.sources[index], &now.scope.datasources[index]);
        if now.sources[index].target.connection_data != source.target.connection_data {
            return Some("the connection of the datasource was changed");
        }
        if let Some(selected) = &view.tables
            && read().any(|read| !selected.contains(&read.table))
        {
            return Some("the Mind no longer has a table of the export");
        }
        if read().any(|read| policy_of(scope, read) != policy_of(scope_now, read)) {
            return Some("the policy of a table of the export was changed");
        }
        let schemas = &scope_now.function_schemas;
        if scope
            .function_schemas
            .iter()
            .any(|one| !schemas.contains(one))
        {
            return Some("the functions of a schema are no longer allowed");
        }
        None
    }

    /// The same without the datasources that `begun` does not have.
    pub fn within(self: &Arc<Self>, begun: &Self) -> Arc<Self> {
        let is_kept = |id: &str| begun.view.sources.iter().any(|one| one.id == id);
        if self.view.sources.iter().all(|one| is_kept(&one.id)) {
            return Arc::clone(self);
        }
        let mut kept = Self::clone(self);
        kept.scope.datasources.retain(|one| is_kept(&one.id));
        kept.view.sources.retain(|one| is_kept(&one.id));
        kept.sources.retain(|one| is_kept(&one.target.id));
        Arc::new(kept)
    }

    /// Name and dialect of each datasource.
    pub fn dialects(&self) -> Vec<(&str, Dialect)> {
        self.scope
            .datasources
            .iter()
            .map(|one| (one.name.as_str(), one.dialect))
            .collect()
    }

    /// The dialect of the datasource with this name; `None` if the Mind has no such datasource.
    pub fn dialect_of(&self, name: &str) -> Option<Dialect> {
        self.scope
            .datasources
            .iter()
            .find(|one| one.name == name)
            .map(|one| one.dialect)
    }

    /// Whether rows of every datasource here may go to a model vendor.
    pub fn sends_rows(&self) -> bool {
        self.sources.iter().all(|source| source.send_rows)
    }

    /// The same, limited to one datasource; unchanged without a name.
    ///
    /// # Errors
    /// When the Mind has no such datasource.
    pub fn narrowed(self: &Arc<Self>, name: Option<&str>) -> Result<Arc<Self>> {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(Arc::clone(self));
        };
        let Some(index) = self
            .scope
            .datasources
            .iter()
            .position(|one| one.name == name)
        else {
            let names: Vec<_> = self
                .scope
                .datasources
                .iter()
                .map(|one| one.name.as_str())
                .collect();
            return Err(Error::new(
                Code::DatasourceNotInMind,
                format!(
                    "this Mind has no datasource '{name}'; it has: {}",
                    names.join(", ")
                ),
            ));
        };
        Ok(Arc::new(Self {
            scope: Scope {
                datasources: vec![self.scope.datasources[index].clone()],
            },
            view: View {
                sources: vec![self.view.sources[index].clone()],
            },
            sources: vec![self.sources[index].clone()],
        }))
    }
}

/// The policy of a table that a statement reads. One that the catalog lacks counts as closed only where it has one.
fn policy_of<'a>(scope: &'a ScopeDatasource, read: &ReadTable) -> Option<&'a TablePolicy> {
    let mut tables = scope.tables.iter();
    let found = tables.find(|table| table.table == read.table)?;
    found.policy.as_deref()
}

/// Loads what a caller with these attributes may see through a Mind, which has the policies of the caller's key.
///
/// # Errors
/// `no_plugin` when no plugin serves the engine of one of its datasources.
pub async fn load(
    mind: &Mind,
    attributes: &Attributes,
    datasources: &Datasources,
    catalog: &Catalog,
    registry: &Registry,
) -> Result<Access> {
    let mut access = Access {
        scope: Scope::default(),
        sources: Vec::new(),
        view: View {
            sources: Vec::new(),
        },
    };
    let statistics = match mind.datasources.len() {
        0 | 1 => ScopeStatistics::None,
        _ => ScopeStatistics::Columns,
    };
    let gone = policies::gone(&mind.of_key, &mind.workspace_id, datasources).await?;
    for chosen in &mind.datasources {
        let Some(datasource) = datasources
            .get_by_id(&mind.workspace_id, &chosen.id)
            .await?
        else {
            continue;
        };
        let pin = datasource.settings.plugin_digest.as_deref();
        let connector = registry.connector(&datasource.engine, pin).await?;
        let manifest = connector.manifest();
        let mut scope = catalog
            .scope_tables(&datasource.id, chosen.tables.as_deref(), statistics)
            .await?;
        let dialect = manifest.dialect.unwrap_or(Dialect::Generic);
        let rules = DatasourceRules::of(mind, &datasource.id, &datasource.name, &gone);
        let restrictions = rules.apply(dialect, attributes, &mut scope);
        access.scope.datasources.push(ScopeDatasource {
            id: datasource.id.clone(),
            name: datasource.name.clone(),
            dialect,
            tables: scope.tables,
            // Such a function may read any table.
            function_schemas: match rules.is_empty() {
                true => datasource.settings.function_schemas.clone(),
                false => Vec::new(),
            },
            paging: manifest.capabilities.paging,
        });
        access.view.sources.push(ViewSource {
            id: datasource.id.clone(),
            name: datasource.name.clone(),
            tables: chosen.tables.clone(),
            send_values: datasource.settings.send_values,
            send_rows: datasource.settings.send_rows,
            restrictions,
        });
        access
            .sources
            .push(Source::of(datasource, datasources).await?);
    }
    Ok(access)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mindhost_plugin_api::TableRef;
    use mindhost_sql::guard::{ScopeTable, guard};

    fn table(name: &str) -> TableRef {
        TableRef::new("main", name)
    }

    /// An access to one datasource, with the tables of its catalog and the selection of the Mind.
    fn access(listed: &[&str], selected: Option<&[&str]>, path: &str) -> Access {
        let (id, name) = ("id of shop".to_owned(), "shop".to_owned());
        let target = Target {
            id: id.clone(),
            workspace: "default".to_owned(),
            folder: "default".to_owned(),
            name: name.clone(),
            connection_data: Arc::new(json!({"path": path}).as_object().unwrap().clone()),
            max_connections: 8,
        };
        let listed = listed.iter().map(|name| ScopeTable::new(table(name), &[]));
        Access {
            scope: Scope::from(ScopeDatasource {
                id: id.clone(),
                function_schemas: vec!["extra".to_owned()],
                ..ScopeDatasource::new("shop", Dialect::Sqlite, listed.collect())
            }),
            view: View {
                sources: vec![ViewSource {
                    id,
                    name,
                    tables: selected.map(|names| names.iter().map(|name| table(name)).collect()),
                    send_values: true,
                    send_rows: true,
                    restrictions: Default::default(),
                }],
            },
            sources: vec![Source {
                engine: "sqlite".to_owned(),
                plugin_digest: None,
                shadow: false,
                target: Arc::new(target),
                statement_timeout: None,
                send_rows: true,
            }],
        }
    }

    #[test]
    fn datasource_that_was_added_later_is_left_out() {
        let begun = access(&["item"], None, "shop.db");
        let now = Arc::new(access(&["sale"], None, "shop.db"));
        assert!(Arc::ptr_eq(&now.within(&begun), &now));
        let mut more = access(&["item"], None, "shop.db");
        let other = access(&["secret"], None, "other.db");
        more.scope.datasources.extend(other.scope.datasources);
        more.view.sources.extend(other.view.sources);
        more.sources.extend(other.sources);
        let id = "id of other".to_owned();
        more.scope.datasources[1].id = id.clone();
        more.view.sources[1].id = id.clone();
        let mut target = Target::clone(&more.sources[1].target);
        target.id = id;
        more.sources[1].target = Arc::new(target);
        let kept = Arc::new(more).within(&begun);
        assert_eq!(kept.scope.datasources.len(), 1);
        assert_eq!(kept.view.sources.len(), 1);
        assert_eq!(kept.sources.len(), 1);
        assert_eq!(kept.sources[0].target.id, "id of shop");
    }

    #[test]
    fn withdrawn_access_stops_export_but_catalog_load_does_not() {
        let begun = access(&["item", "sale"], None, "shop.db");
        let guarded = guard("SELECT * FROM item", &begun.scope).unwrap();
        let withdrawn = |now: &Access| begun.withdrawn(&guarded, now);
        // The catalog is empty for a moment, and the guard would refuse the statement.
        let loading = access(&[], None, "shop.db");
        assert!(guard("SELECT * FROM item", &loading.scope).is_err());
        assert_eq!(withdrawn(&loading), None);
        assert_eq!(withdrawn(&begun), None);
        let selected = access(&["item"], Some(&["item"]), "shop.db");
        assert_eq!(withdrawn(&selected), None);

        let without = access(&["item", "sale"], Some(&["sale"]), "shop.db");
        assert!(withdrawn(&without).unwrap().contains("table"));
        let elsewhere = access(&["item", "sale"], None, "other.db");
        assert!(withdrawn(&elsewhere).unwrap().contains("connection"));
        let mut fewer = begun.clone();
        fewer.scope.datasources[0].function_schemas.clear();
        assert!(withdrawn(&fewer).unwrap().contains("functions"));
        let gone = Access::of(Scope::default());
        assert!(withdrawn(&gone).unwrap().contains("datasource"));
    }
}
