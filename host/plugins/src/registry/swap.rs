//! Replaces a version by another, or lets two serve side by side.

use std::{collections::BTreeMap, sync::Arc};

use super::{super::trial::Watch, Registry, Slot, table::Table};
use mindhost_base::{
    error::{Error, Result},
    locks,
};
use mindhost_plugin_api::Connector;
use mindhost_runtime::{LoadedPlugin, Ready};

impl Registry {
    /// Activates a version in all of its slots. Calls in progress finish on the old version, which is dropped after the
    /// last of them, at the latest after `plugins.drain_timeout`. With a watch the new version is on trial until
    /// [`Self::end_trial`], and the old one is kept for a return.
    pub fn activate(&self, loaded: &LoadedPlugin, watch: Option<&Arc<Watch>>) {
        let mut replaced = Vec::new();
        self.change(|table| replaced = table.replace(loaded, watch));
        for old in &replaced {
            self.drain_one(old);
        }
    }

    /// Removes a version from its slots, and gives them back to the versions that had them before.
    pub fn restore(&self, loaded: &LoadedPlugin, before: &BTreeMap<Slot, LoadedPlugin>) {
        let mut gone = Vec::new();
        self.change(|table| gone = table.restore(loaded, before));
        for old in &gone {
            self.drain_one(old);
        }
    }

    /// Gives a version a share of the calls in each of its slots.
    pub fn put_on_trial(&self, loaded: &LoadedPlugin, watch: &Arc<Watch>) {
        self.change(|table| table.put_on_trial(loaded, watch));
    }

    /// Ends the trial of a version: the active one serves alone.
    pub fn end_trial(&self, loaded: &LoadedPlugin) {
        self.change(|table| table.end_trials_of(loaded));
        if !self.table().serves(loaded.plugin().digest()) {
            self.drain_one(loaded);
        }
    }

    /// Lets a version serve the datasources that pin it, beside the active one.
    ///
    /// # Errors
    /// `plugin_refused`, `plugin_not_found`; `invalid_parameter` if it is not a connector.
    pub async fn pin(&self, digest: &str) -> Result<Arc<dyn Connector>> {
        if let Some(pinned) = self.table().pinned.get(digest) {
            return Ok(Arc::clone(pinned));
        }
        let ready = self.ready(digest).await?;
        self.pin_ready(&ready)
    }

    pub(super) fn pin_ready(&self, ready: &Ready) -> Result<Arc<dyn Connector>> {
        let LoadedPlugin::Connector(connector) = ready.serve() else {
            return Err(Error::invalid(
                "plugin_digest",
                "`plugin_digest` must be that of a connector",
            ));
        };
        self.change(|table| {
            let pinned = table.pinned.entry(ready.digest().to_owned());
            pinned.or_insert_with(|| Arc::clone(&connector));
        });
        Ok(connector)
    }

    /// Drops the versions that no datasource pins any more.
    pub fn unpin_all_but(&self, digests: &[String]) {
        let mut gone = Vec::new();
        self.change(|table| {
            let unused = |digest: &String, _: &mut Arc<dyn Connector>| !digests.contains(digest);
            gone = table.pinned.extract_if(.., unused).collect();
        });
        for (_, connector) in gone {
            self.drain_one(&LoadedPlugin::Connector(connector));
        }
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Table)) {
        let mut table = locks::write(&self.table);
        let mut next = Table::clone(&table);
        change(&mut next);
        *table = Arc::new(next);
    }

    /// Closes the idle connections of a replaced plugin, and in the background cuts off its calls when the time is
    /// over.
    fn drain_one(&self, old: &LoadedPlugin) {
        let (Some(backend), Some(end)) = (&self.backend, old.plugin().retire()) else {
            return;
        };
        let digest = old.plugin().digest().to_owned();
        let timeout = backend.drain_timeout;
        backend.runtime.tasks().spawn(async move {
            let ended = tokio::time::timeout(timeout, end.gone.cancelled()).await;
            match ended {
                Ok(()) => tracing::info!(digest, "a replaced plugin has finished its calls"),
                Err(_) => {
                    tracing::warn!(digest, "plugins.drain_timeout is over; ending the remaining calls of a replaced plugin");
                    end.cut.cancel();
                }
            }
        });
    }
}
