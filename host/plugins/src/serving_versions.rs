//! Records which plugin versions served a request, for a header of its response.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use mindhost_base::locks::lock;

tokio::task_local! {
    static SERVED: ServingVersions;
}

/// The versions that have served one request.
#[derive(Clone, Debug, Default)]
pub struct ServingVersions(Arc<Mutex<BTreeSet<String>>>);

impl ServingVersions {
    /// Runs the work of a request and records what serves it.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        SERVED.scope(self.clone(), work).await
    }

    /// The record of the current request, to pass to another task; a new one outside of requests.
    pub fn current() -> Self {
        SERVED.try_with(Self::clone).unwrap_or_default()
    }

    /// `postgres sha256=…`, separated by commas; empty when no plugin was called.
    pub fn shown(&self) -> String {
        let served: Vec<String> = lock(&self.0).iter().cloned().collect();
        served.join(", ")
    }
}

/// Records that a version serves the current request. `what` is the engine, or the name of the model plugin.
pub fn note(what: &str, digest: &str) {
    let _ = SERVED.try_with(|served| lock(&served.0).insert(format!("{what} sha256={digest}")));
}
