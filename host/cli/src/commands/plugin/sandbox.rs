//! The plugin under test of the conformance kit, in the host's own sandbox.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use mindhost_base::{
    Error, Result,
    config::PluginSettings,
    error::{Blame, Code},
};
use mindhost_conformance::{Limits, LoadedPlugin, Noticed, Sandbox};
use mindhost_plugin_api::{MASK, Manifest, TableRef};
use mindhost_plugins::record::{Tape, recorded};
use mindhost_runtime::{
    package::Refusal,
    standalone::{self, Cache, StandalonePlugin},
};
use tempfile::TempDir;

use super::{configured::PluginSetup, lines::Line};

/// Grace period of a cancelled call: longer than the kit waits for a scan, so that the kit can tell who ended the call.
const CANCEL_GRACE: Duration = Duration::from_secs(25);

/// One plugin, loaded once for each set of limits that the kit asks for.
pub(super) struct TestSandbox {
    configured: PluginSetup,
    /// Cache of compiled code for this run only, so that the plugin is called to describe itself.
    compiled: TempDir,
    key: [u8; 32],
    loaded: tokio::sync::Mutex<HashMap<Limits, Arc<StandalonePlugin>>>,
    /// The recording of the calls under the usual limits.
    tape: Option<Arc<Tape>>,
    noticed: Mutex<Noticed>,
}

impl TestSandbox {
    /// Loads the plugin with the usual limits. The inner error is the host's refusal.
    pub async fn load(
        configured: PluginSetup,
        tape: Option<Arc<Tape>>,
    ) -> anyhow::Result<std::result::Result<Self, Refusal>> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let sandbox = Self {
            configured,
            compiled: TempDir::new()?,
            key,
            loaded: tokio::sync::Mutex::default(),
            tape,
            noticed: Mutex::default(),
        };
        Ok(sandbox.under(Limits::USUAL).await.map(|_| sandbox))
    }

    /// The plugin under the given limits.
    async fn under(&self, limits: Limits) -> std::result::Result<Arc<StandalonePlugin>, Refusal> {
        let mut loaded = self.loaded.lock().await;
        if let Some(alone) = loaded.get(&limits) {
            return Ok(Arc::clone(alone));
        }
        let settings = PluginSettings {
            batch_bytes: limits.batch_bytes,
            max_cell_bytes: limits.cell_bytes,
            max_memory_bytes: limits.memory_bytes,
            cancel_grace: CANCEL_GRACE,
            ..self.configured.settings.clone()
        };
        let cache: Cache = (self.compiled.path().to_owned(), self.key);
        let package = self.configured.package.clone();
        let roots = self.configured.roots.clone();
        let mut alone = StandalonePlugin::load(package, settings, roots, Some(cache)).await?;
        if let Some(tape) = self.tape.as_ref().filter(|_| limits == Limits::USUAL) {
            alone.loaded = recorded(&alone.loaded, tape);
        }
        let alone = Arc::new(alone);
        loaded.insert(limits, Arc::clone(&alone));
        Ok(alone)
    }

    /// Collects the host's log about the plugin.
    pub fn hear(&self, line: Line) {
        let mut noticed = self.notes();
        match line {
            Line::Said(level, text) => {
                let level = level.as_str().to_lowercase();
                noticed.lines.push(format!("{level} {text}"));
                if text.contains(MASK) {
                    noticed.leaks.push(text);
                }
            }
            Line::Refused(why) => noticed.refusals.push(why),
            Line::Dropped(count) => {
                noticed.dropped_lines += count;
                noticed.most_dropped = noticed.most_dropped.max(count);
            }
            Line::Failed(detail) => noticed.lines.push(detail),
            // The kit counts what the plugin says, and the host says this.
            Line::Exchange(_) | Line::Compiling | Line::NotCached(_) => {}
        }
    }

    fn notes(&self) -> MutexGuard<'_, Noticed> {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Sandbox for TestSandbox {
    fn manifest(&self) -> &Manifest {
        &self.configured.package.manifest
    }

    async fn load(&self, limits: Limits) -> Result<LoadedPlugin> {
        let alone = self.under(limits).await.map_err(|refusal| {
            Error::new(Code::PluginRefused, refusal.to_string()).blamed(Blame::Plugin)
        })?;
        Ok(match (&alone.loaded, &alone.scanner) {
            (standalone::LoadedPlugin::Model(model), _) => LoadedPlugin::Model(Arc::clone(model)),
            (standalone::LoadedPlugin::Connector(connector), None) => {
                LoadedPlugin::Connector(Arc::clone(connector))
            }
            (standalone::LoadedPlugin::Connector(connector), Some(scanner)) => {
                LoadedPlugin::Scanner(Arc::clone(scanner), Arc::clone(connector))
            }
        })
    }

    fn qualified(&self, sql: &str, tables: Vec<TableRef>) -> Result<String> {
        let guarded = self.configured.guarded(sql, tables)?;
        Ok(guarded.text().to_owned())
    }

    fn noticed(&self) -> Noticed {
        std::mem::take(&mut *self.notes())
    }

    async fn settle(&self) {
        for alone in self.loaded.lock().await.values() {
            alone.drain().await;
        }
    }
}
