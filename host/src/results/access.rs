//! What a Mind may see right now, and where it is.

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::{Catalog, View, ViewSource},
    datasources::Datasources,
    error::{Code, Error, Result},
    minds::Mind,
    plugins::{Dialect, Target, registry::Registry},
    sql::guard::{Guarded, Scope, ScopeDatasource},
};

/// One datasource of the Mind, ready to be asked.
#[derive(Clone, Debug)]
pub struct Source {
    /// Engine kind, for the registry.
    pub engine: String,
    /// The version that it keeps.
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
    /// With nothing behind it.
    #[cfg(test)]
    pub fn of(scope: Scope) -> Self {
        Self {
            scope,
            view: View::default(),
            sources: Vec::new(),
        }
    }

    /// Where a guarded statement goes.
    pub fn source(&self, guarded: &Guarded) -> &Source {
        &self.sources[guarded.datasource]
    }

    /// Name and dialect of each datasource.
    pub fn dialects(&self) -> Vec<(&str, Dialect)> {
        self.scope
            .datasources
            .iter()
            .map(|one| (one.name.as_str(), one.dialect))
            .collect()
    }

    /// The dialect of one of them.
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

    /// The same, limited to one datasource; all of it without a name.
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

/// Loads what a Mind may see.
///
/// # Errors
/// `no_plugin` when nothing serves the engine of one of its datasources any more.
pub async fn load(
    mind: &Mind,
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
        let tables = catalog
            .scope_tables(&datasource.id, chosen.tables.as_deref())
            .await?;
        access.scope.datasources.push(ScopeDatasource {
            id: datasource.id.clone(),
            name: datasource.name.clone(),
            dialect: manifest.dialect.unwrap_or(Dialect::Generic),
            tables,
            function_schemas: datasource.settings.function_schemas.clone(),
            paging: manifest.capabilities.paging,
        });
        access.view.sources.push(ViewSource {
            id: datasource.id.clone(),
            name: datasource.name.clone(),
            tables: chosen.tables.clone(),
            send_values: datasource.settings.send_values,
        });
        access.sources.push(Source {
            statement_timeout: datasources.statement_timeout(&datasource.settings),
            send_rows: datasource.settings.send_rows,
            target: Arc::new(datasources.target(&datasource).await?),
            engine: datasource.engine,
            plugin_digest: datasource.settings.plugin_digest,
            shadow: datasource.settings.shadow,
        });
    }
    Ok(access)
}
