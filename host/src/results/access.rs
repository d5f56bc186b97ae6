//! What a Mind may see right now, and where it is.

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::Catalog,
    datasources::Datasources,
    error::{Code, Error, Result},
    minds::Mind,
    plugins::{Target, registry::Registry},
    sql::guard::{Guarded, Scope, ScopeDatasource},
};

/// One datasource of the Mind, ready to be asked.
#[derive(Clone, Debug)]
pub struct Source {
    /// Engine kind, for the registry.
    pub engine: String,
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
    sources: Vec<Source>,
}

impl Access {
    /// Where a guarded statement goes.
    pub fn source(&self, guarded: &Guarded) -> &Source {
        &self.sources[guarded.datasource]
    }

    /// The same, limited to one datasource; all of it without a name.
    ///
    /// # Errors
    /// When the Mind has no such datasource.
    pub fn narrowed(&self, name: Option<&str>) -> Result<Access> {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(self.clone()) };
        let Some(index) = self.scope.datasources.iter().position(|one| one.name == name) else {
            let names: Vec<_> = self.scope.datasources.iter().map(|one| one.name.as_str()).collect();
            return Err(Error::new(
                Code::DatasourceNotInMind,
                format!("this Mind has no datasource '{name}'; it has: {}", names.join(", ")),
            ));
        };
        Ok(Access {
            scope: Scope { datasources: vec![self.scope.datasources[index].clone()] },
            sources: vec![self.sources[index].clone()],
        })
    }
}
