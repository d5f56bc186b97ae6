//! Which versions served a request, for the header of its answer.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use mindhost_base::locks::lock;

tokio::task_local! {
    static SERVED: Served;
}

/// The versions that served one request so far.
#[derive(Clone, Debug, Default)]
pub struct Served(Arc<Mutex<BTreeSet<String>>>);

impl Served {
    /// Runs the work of a request; what serves it is noted here.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        SERVED.scope(self.clone(), work).await
    }

    /// That of the request whose work this is, for a task of its own; another one outside of requests.
    pub fn current() -> Self {
        SERVED.try_with(Self::clone).unwrap_or_default()
    }

    /// `postgres sha256=…`, separated by commas; empty when no plugin was asked.
    pub fn shown(&self) -> String {
        let served: Vec<String> = lock(&self.0).iter().cloned().collect();
        served.join(", ")
    }
}

/// Notes that a version serves the request whose work this is. `what` is the engine, or the name of the model plugin.
pub fn note(what: &str, digest: &str) {
    let _ = SERVED.try_with(|served| lock(&served.0).insert(format!("{what} sha256={digest}")));
}
