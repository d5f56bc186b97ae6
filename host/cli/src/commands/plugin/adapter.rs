//! The conformance kit's way to call a plugin: through the host's own sandbox.

mod connector;
mod convert;
mod model;
mod source;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use mindhost_base::{Error, config::PluginSettings, error::Code};
use mindhost_conformance::subject::{self, Cause, Failure, Limits, Noticed, Plugin, kind_named};
use mindhost_plugin_api::{
    Call, MASK, is_secret,
    manifest::{CredentialScheme, Manifest},
};
use mindhost_plugins::record::{Tape, recorded};
use mindhost_runtime::{
    package::Refusal,
    standalone::{Cache, StandalonePlugin},
};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use super::{configured::Configured, lines::Line};

/// How long a cancelled call may go on before the host ends it.
const CANCEL_GRACE: Duration = Duration::from_secs(4);

/// One plugin, loaded once for each set of limits that the kit asks for.
pub(super) struct Adapter {
    configured: Configured,
    manifest: serde_json::Value,
    /// Compiled code, for this run alone: a plugin must describe itself at least once.
    compiled: TempDir,
    key: [u8; 32],
    loaded: tokio::sync::Mutex<HashMap<Limits, Arc<StandalonePlugin>>>,
    /// Where the calls under the usual limits are noted.
    tape: Option<Arc<Tape>>,
    /// Connections that are being closed.
    farewells: TaskTracker,
    noticed: Arc<Notes>,
}

/// What was noticed, shared with every connection.
struct Notes {
    noticed: Mutex<Noticed>,
    /// Whether the plugin gets any secret. What the host adds itself it cannot tell, and what a vendor says is not its fault.
    holds_secrets: bool,
}

impl Adapter {
    /// Loads the plugin with the usual limits. Inside of the result: why the host refuses it.
    pub async fn load(
        configured: Configured,
        tape: Option<Arc<Tape>>,
    ) -> anyhow::Result<Result<Self, Refusal>> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let manifest = &configured.package.manifest;
        let adapter = Self {
            manifest: serde_json::to_value(manifest)?,
            noticed: Arc::new(Notes {
                noticed: Mutex::default(),
                holds_secrets: holds_secrets(manifest),
            }),
            configured,
            compiled: TempDir::new()?,
            key,
            loaded: tokio::sync::Mutex::default(),
            tape,
            farewells: TaskTracker::new(),
        };
        Ok(adapter.with(Limits::USUAL).await.map(|_| adapter))
    }

    /// The plugin under some limits.
    async fn with(&self, limits: Limits) -> Result<Arc<StandalonePlugin>, Refusal> {
        let mut loaded = self.loaded.lock().await;
        if let Some(alone) = loaded.get(&limits) {
            return Ok(Arc::clone(alone));
        }
        let settings = PluginSettings {
            batch_bytes: limits.batch_bytes,
            max_cell_bytes: limits.cell_bytes,
            max_memory_bytes: limits.memory_bytes,
            // Longer than the kit waits for an end, so that it can tell who ended a call.
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

    /// Keeps what the host logs of the plugin.
    pub fn hear(&self, line: Line) {
        let mut noticed = self.noticed.lock();
        match line {
            Line::Said(level, text) => {
                if self.noticed.holds_secrets && text.contains(MASK) {
                    noticed.leaks.push(text.clone());
                }
                noticed
                    .lines
                    .push(format!("{} {text}", level.as_str().to_lowercase()));
            }
            Line::Refused(why) => noticed.refusals.push(why),
            Line::Dropped(count) => noticed.dropped_lines += count,
            Line::Failed(detail) => noticed.lines.push(detail),
        }
    }
}

#[async_trait]
impl Plugin for Adapter {
    fn manifest(&self) -> &serde_json::Value {
        &self.manifest
    }

    fn noticed(&self) -> Noticed {
        std::mem::take(&mut *self.noticed.lock())
    }

    async fn settle(&self) {
        self.farewells.close();
        self.farewells.wait().await;
        for alone in self.loaded.lock().await.values() {
            alone.drain().await;
        }
    }
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Noticed> {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A failed call in the kit's terms.
    fn failure(&self, error: &Error) -> Failure {
        if self.holds_secrets && error.message().contains(MASK) {
            self.lock().leaks.push(error.message().to_owned());
        }
        Failure {
            cause: cause(error),
            message: error.message().to_owned(),
            code: error.engine_code().unwrap_or_default().to_owned(),
            position: error.position(),
        }
    }
}

fn cause(error: &Error) -> Cause {
    match (error.reported(), error.code()) {
        (Some(kind), _) => kind_named(kind).map_or(Cause::Broken, Cause::Reported),
        // What the host says of what a plugin gave: rows that do not fit their columns, an answer without an end.
        (None, Code::PluginError | Code::UpstreamError) => Cause::Broken,
        (None, Code::Timeout) => Cause::TimedOut,
        (None, Code::Cancelled) => Cause::Cancelled,
        (None, Code::ResultTooLarge) => Cause::TooLarge,
        // The host's word for a connection that an earlier call used up.
        (None, Code::Internal) => Cause::Gone,
        _ => Cause::Host,
    }
}

fn holds_secrets(manifest: &Manifest) -> bool {
    let is_hosts = |name: &String| {
        let rules = manifest.credentials.iter();
        rules
            .filter(|rule| rule.scheme != CredentialScheme::GuestHeld)
            .any(|rule| rule.property == *name)
    };
    let properties = manifest.connection_data["properties"].as_object();
    let mut properties = properties.into_iter().flatten();
    properties.any(|(name, schema)| is_secret(schema) && !is_hosts(name))
}

fn call(bounds: &subject::Call) -> Call {
    Call::new(bounds.timeout, bounds.cancel.clone())
}

fn refused(refusal: &Refusal) -> Failure {
    Failure {
        cause: Cause::Host,
        message: refusal.to_string(),
        code: String::new(),
        position: None,
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
