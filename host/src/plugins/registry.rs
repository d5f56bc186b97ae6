//! The plugins that are active: one connector an engine, models by name.

use std::{collections::BTreeMap, sync::Arc};

use super::{Connector, Model};
use crate::error::{Blame, Code, Error, Result};

/// Finds the plugin that serves an engine or a provider.
#[derive(Default)]
pub struct Registry {
    /// By engine kind, aliases included.
    connectors: BTreeMap<String, Arc<dyn Connector>>,
    /// By the name of the plugin.
    models: BTreeMap<String, Arc<dyn Model>>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("engines", &self.connectors.keys())
            .field("models", &self.models.keys())
            .finish()
    }
}

impl Registry {
    /// Over these plugins; where two serve one engine the first does.
    pub fn new(
        connectors: impl IntoIterator<Item = Arc<dyn Connector>>,
        models: impl IntoIterator<Item = Arc<dyn Model>>,
    ) -> Self {
        let mut registry = Self::default();
        for connector in connectors {
            for engine in &connector.manifest().engines {
                let free = registry.connectors.entry(engine.clone());
                free.or_insert_with(|| connector.clone());
            }
        }
        for model in models {
            let name = model.manifest().name.clone();
            registry.models.entry(name).or_insert(model);
        }
        registry
    }

    /// The connector that serves an engine.
    ///
    /// # Errors
    /// `no_plugin`, with the engines that are served.
    pub fn connector(&self, engine: &str) -> Result<Arc<dyn Connector>> {
        self.connectors.get(engine).cloned().ok_or_else(|| {
            let engines = self.connectors.keys().cloned().collect::<Vec<_>>();
            missing(&format!("engine '{engine}'"), "engines", &engines)
        })
    }

    /// The model plugin of this name.
    ///
    /// # Errors
    /// `no_plugin`, with the model plugins there are.
    pub fn model(&self, plugin: &str) -> Result<Arc<dyn Model>> {
        self.models.get(plugin).cloned().ok_or_else(|| {
            let models = self.models.keys().cloned().collect::<Vec<_>>();
            missing(
                &format!("model provider '{plugin}'"),
                "model plugins",
                &models,
            )
        })
    }

    /// Each engine kind with its connector, by name.
    pub fn connectors(&self) -> impl Iterator<Item = (&str, &Arc<dyn Connector>)> {
        self.connectors
            .iter()
            .map(|(engine, connector)| (engine.as_str(), connector))
    }

    /// Each model plugin, by name.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Arc<dyn Model>)> {
        self.models
            .iter()
            .map(|(name, model)| (name.as_str(), model))
    }
}

fn missing(what: &str, kind: &str, there_are: &[String]) -> Error {
    let list = match there_are {
        [] => format!("there are no {kind}: put plugins into MINDHOST_PLUGINS_DIR and restart"),
        some => format!("the {kind} there are: {}", some.join(", ")),
    };
    Error::new(
        Code::NoPlugin,
        format!("no plugin serves the {what}; {list}"),
    )
    .blamed(Blame::Host)
}
