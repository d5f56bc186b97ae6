//! The plugins of this host: which of them serve.

use std::{collections::BTreeMap, sync::Arc};

use super::{Connector, Model};
use crate::error::{Code, Error, Result};

/// The plugins that serve, by engine and by name.
#[derive(Default)]
pub struct Registry {
    /// By every engine name, aliases included.
    connectors: BTreeMap<String, Arc<dyn Connector>>,
    models: BTreeMap<String, Arc<dyn Model>>,
}

impl Registry {
    /// A registry of plugins that are already there.
    pub fn of(connectors: Vec<Arc<dyn Connector>>, models: Vec<Arc<dyn Model>>) -> Self {
        let mut registry = Self::default();
        for connector in connectors {
            for engine in connector.manifest().engines.clone() {
                registry.connectors.insert(engine, Arc::clone(&connector));
            }
        }
        for model in models {
            registry.models.insert(model.manifest().name.clone(), model);
        }
        registry
    }

    /// The active connectors, each once, by the name of their first engine.
    pub fn connectors(&self) -> Vec<Arc<dyn Connector>> {
        let main = |(engine, connector): &(&String, &Arc<dyn Connector>)| {
            connector.manifest().engines.first() == Some(engine)
        };
        let connectors = self.connectors.iter().filter(main);
        connectors.map(|(_, one)| Arc::clone(one)).collect()
    }

    /// The active models, by name.
    pub fn models(&self) -> Vec<Arc<dyn Model>> {
        self.models.values().cloned().collect()
    }

    /// The connector of an engine that a caller names.
    ///
    /// # Errors
    /// `engine_not_found`
    pub fn engine(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        let missing = || {
            Error::new(
                Code::EngineNotFound,
                format!("there is no engine '{engine}'"),
            )
            .param("engine")
        };
        self.connectors.get(engine).cloned().ok_or_else(missing)
    }

    /// The connector of an existing datasource.
    ///
    /// # Errors
    /// `no_plugin`
    pub fn connector(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        let missing = || {
            Error::new(
                Code::NoPlugin,
                format!("no plugin serves the engine '{engine}'"),
            )
        };
        self.connectors.get(engine).cloned().ok_or_else(missing)
    }

    /// The model plugin of that name.
    ///
    /// # Errors
    /// `no_plugin`
    pub fn model(&self, name: &str) -> Result<Arc<dyn Model>> {
        let missing = || Error::new(Code::NoPlugin, format!("there is no model plugin '{name}'"));
        self.models.get(name).cloned().ok_or_else(missing)
    }
}
