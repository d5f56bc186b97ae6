//! A new version on trial: it gets a share of the calls, and both versions are watched while it does.
//!
//! Whoever asks should not notice. A call that fails on the new version before it gave anything is made again on the
//! stable one; only where that one succeeds did the new version fail. What fails on both was not its fault.

mod connector;
mod model;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;

pub use self::watch::{Figures, Side, Thresholds, Watch};
use mindhost_plugin_api::{Connector, Model, Plugin, intercept::Intercepted};

/// A version on trial, beside the one that it shall replace or has replaced.
pub struct Trial<P: ?Sized> {
    /// The new version.
    pub candidate: Arc<P>,
    /// The old one.
    pub stable: Arc<P>,
    /// What is seen of both.
    pub watch: Arc<Watch>,
}

impl<P: Plugin + ?Sized> Trial<P> {
    /// A trial of one version beside another.
    pub fn new(candidate: &Arc<P>, stable: &Arc<P>, watch: &Arc<Watch>) -> Arc<Self> {
        Arc::new(Self {
            candidate: Arc::clone(candidate),
            stable: Arc::clone(stable),
            watch: Arc::clone(watch),
        })
    }

    /// Whether a version takes part.
    pub fn has(&self, digest: &str) -> bool {
        self.candidate.digest() == digest || self.stable.digest() == digest
    }
}

impl<P: ?Sized> Trial<P> {
    /// Who serves the next call, and how it is watched.
    fn draw(&self) -> (Arc<P>, Drawn<P>) {
        let (drawn, fallback) = match self.watch.draw() {
            Side::Candidate => (&self.candidate, Some(Arc::clone(&self.stable))),
            Side::Stable => (&self.stable, None),
        };
        let watch = Arc::clone(&self.watch);
        (Arc::clone(drawn), Drawn { watch, fallback })
    }
}

impl Trial<dyn Connector> {
    /// Who serves the next call.
    pub fn choose(&self) -> Arc<dyn Connector> {
        let (connector, drawn) = self.draw();
        Intercepted::new(connector, drawn)
    }
}

impl Trial<dyn Model> {
    /// Who serves the next call.
    pub fn choose(&self) -> Arc<dyn Model> {
        let (model, drawn) = self.draw();
        Intercepted::new(model, drawn)
    }
}

/// How the version is watched that was drawn to serve a call.
struct Drawn<P: ?Sized> {
    watch: Arc<Watch>,
    /// The stable version, behind the one on trial.
    fallback: Option<Arc<P>>,
}

impl<P: ?Sized> Drawn<P> {
    fn side(&self) -> Side {
        match self.fallback {
            Some(_) => Side::Candidate,
            None => Side::Stable,
        }
    }
}
