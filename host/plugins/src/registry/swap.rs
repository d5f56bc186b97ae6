//! One version takes the place of another, or serves beside it.

use std::{collections::BTreeMap, sync::Arc};

use super::{super::trial::Watch, Registry, Slot, table::Table};
use mindhost_base::{
    error::{Error, Result},
    locks,
};
use mindhost_plugin_api::Connector;
use mindhost_runtime::{Loaded, Ready};

impl Registry {
    /// Puts a version in the place of whoever serves what it serves. Calls that are under way end on the old one, which
    /// goes when the last of them is over, or when `plugins.drain_timeout` is. With a watch the new version is on
    /// trial until [`Self::end_trial`], with the old one behind it.
    pub fn activate(&self, loaded: &Loaded, watch: Option<&Arc<Watch>>) {
        let mut replaced = Vec::new();
        self.change(|table| replaced = table.replace(loaded, watch));
        for old in &replaced {
            self.drain_one(old);
        }
    }

    /// Takes a version out of its places, which others get back.
    pub fn restore(&self, loaded: &Loaded, before: &BTreeMap<Slot, Loaded>) {
        let mut gone = Vec::new();
        self.change(|table| gone = table.restore(loaded, before));
        for old in &gone {
            self.drain_one(old);
        }
    }

    /// Gives a version a share of the calls of whoever serves what it serves.
    pub fn put_on_trial(&self, loaded: &Loaded, watch: &Arc<Watch>) {
        self.change(|table| table.put_on_trial(loaded, watch));
    }

    /// Ends the trial of a version: whoever is active serves alone.
    pub fn end_trial(&self, loaded: &Loaded) {
        self.change(|table| table.end_trials_of(loaded));
        if !self.table().serves(loaded.plugin().digest()) {
            self.drain_one(loaded);
        }
    }

    /// Lets a version serve the datasources that keep it, beside the active one.
    ///
    /// # Errors
    /// `plugin_refused`, `plugin_not_found`; `invalid_parameter` for one that is no connector.
    pub async fn pin(&self, digest: &str) -> Result<Arc<dyn Connector>> {
        if let Some(pinned) = self.table().pinned.get(digest) {
            return Ok(Arc::clone(pinned));
        }
        let ready = self.ready(digest).await?;
        self.pin_ready(&ready)
    }

    pub(super) fn pin_ready(&self, ready: &Ready) -> Result<Arc<dyn Connector>> {
        let Loaded::Connector(connector) = ready.serve() else {
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

    /// Lets go of the versions that no datasource keeps any more.
    pub fn unpin_all_but(&self, digests: &[String]) {
        let mut gone = Vec::new();
        self.change(|table| {
            let unused = |digest: &String, _: &mut Arc<dyn Connector>| !digests.contains(digest);
            gone = table.pinned.extract_if(.., unused).collect();
        });
        for (_, connector) in gone {
            self.drain_one(&Loaded::Connector(connector));
        }
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Table)) {
        let mut table = locks::write(&self.table);
        let mut next = Table::clone(&table);
        change(&mut next);
        *table = Arc::new(next);
    }

    /// Keeps nothing idle of a plugin any more, and ends in the background what it still does when the time is over.
    fn drain_one(&self, old: &Loaded) {
        let (Some(workshop), Some(end)) = (&self.workshop, old.plugin().retire()) else {
            return;
        };
        let digest = old.plugin().digest().to_owned();
        let timeout = workshop.drain_timeout;
        workshop.runtime.tasks().spawn(async move {
            let ended = tokio::time::timeout(timeout, end.gone.cancelled()).await;
            match ended {
                Ok(()) => tracing::info!(digest, "a replaced plugin has ended its last call"),
                Err(_) => {
                    tracing::warn!(digest, "a replaced plugin still worked after plugins.drain_timeout; its calls are ended");
                    end.cut.cancel();
                }
            }
        });
    }
}
