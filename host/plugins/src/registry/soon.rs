//! Plugins that are compiled in the background, so that a start does not wait for slow ones.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{Registry, table::Table};
use mindhost_base::locks;
use mindhost_runtime::{
    Ready,
    package::{Package, Refusal},
};

impl Registry {
    /// Starts to compile packages, and waits at most that long. A version whose code is late counts as usable until
    /// [`Self::follow`] knows better; calls to it wait.
    pub(super) async fn compile_soon(&self, packages: Vec<Arc<Package>>, wait: Duration) {
        let Ok(backend) = self.backend() else {
            return;
        };
        let begun: Vec<_> = packages
            .into_iter()
            .map(|package| Arc::new(backend.loader.load_in_background(package)))
            .collect();
        for ready in &begun {
            if let Some(one) = locks::write(&self.known).get_mut(ready.digest()) {
                one.ready = Some(Arc::clone(ready));
            }
        }
        let all = join_all(begun.iter().map(|ready| ready.wait_until_compiled()));
        if timeout(wait, all).await.is_err() {
            let late = begun.iter().filter(|ready| !ready.is_compiled());
            let late: Vec<_> = late.map(|ready| ready.manifest().name.as_str()).collect();
            tracing::info!(
                plugins = late.join(", "),
                "plugins still compiling (plugins.compile_wait); calls to them wait"
            );
        }
        for ready in begun.iter().filter(|ready| ready.is_compiled()) {
            if let Err(refusal) = ready.wait_until_compiled().await {
                self.refuse(ready.digest(), &refusal);
            }
        }
    }

    /// An installed version with its code, or with code that is being compiled.
    pub(super) fn at_hand(&self, digest: &str) -> Option<Arc<Ready>> {
        locks::read(&self.known).get(digest)?.ready.clone()
    }

    /// As [`Self::at_hand`], but compiles a version that has no code.
    pub(super) async fn begun(&self, digest: &str) -> Option<Arc<Ready>> {
        match self.at_hand(digest) {
            Some(ready) => Some(ready),
            None => self.ready(digest).await.ok(),
        }
    }

    /// The names of the plugins that have no code yet, in order.
    pub fn compiling(&self) -> Vec<String> {
        let all = self.compiled();
        let late = all.iter().filter(|(_, ready)| !ready.is_compiled());
        let late: BTreeSet<_> = late
            .map(|(_, ready)| ready.manifest().name.clone())
            .collect();
        late.into_iter().collect()
    }

    /// Waits in the background for code that is being compiled. If a version turns out to be unusable, the next one
    /// gets its slot, as at a start.
    pub fn follow(self: &Arc<Self>) {
        for (digest, ready) in self.compiled() {
            if ready.is_compiled() {
                continue;
            }
            let registry = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(refusal) = ready.wait_until_compiled().await {
                    registry.lose(&digest, &refusal).await;
                }
            });
        }
    }

    async fn lose(&self, digest: &str, refusal: &Refusal) {
        tracing::warn!(digest, reason = %refusal, "plugin refused");
        self.refuse(digest, refusal);
        self.change(|table| table.remove(digest));
        let incumbents = locks::read(&self.incumbents).clone();
        let mut filled = Table::clone(&self.table());
        self.fill(&mut filled, &incumbents).await;
        self.change(|table| {
            for loaded in filled.serving() {
                table.claim(&loaded, |_| true);
            }
        });
    }
}
