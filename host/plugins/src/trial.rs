//! Trials of new versions: the new version gets a share of the calls, and both versions are watched.
//!
//! Callers should not notice. A call that fails on the new version before its first result is repeated on the stable
//! one. It counts as a failure of the new version only if the stable one succeeds.

mod connector;
mod model;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;

pub use self::watch::{Figures, Side, Thresholds, Watch};
use mindhost_plugin_api::{Connector, Model, Plugin, intercept::Intercepted};

/// A version on trial, with the stable one that it is to replace or has replaced.
pub struct Trial<P: ?Sized> {
    /// The new version.
    pub candidate: Arc<P>,
    /// The old one.
    pub stable: Arc<P>,
    /// The figures of both.
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

    /// The part of a version in the trial.
    pub fn side_of(&self, digest: &str) -> Option<Side> {
        if self.candidate.digest() == digest {
            return Some(Side::Candidate);
        }
        (self.stable.digest() == digest).then_some(Side::Stable)
    }
}

impl<P: ?Sized> Trial<P> {
    /// The version for the next call, and how it is watched.
    fn draw(&self) -> (Arc<P>, DrawnVersion<P>) {
        let (drawn, fallback) = match self.watch.draw() {
            Side::Candidate => (&self.candidate, Some(Arc::clone(&self.stable))),
            Side::Stable => (&self.stable, None),
        };
        let watch = Arc::clone(&self.watch);
        (Arc::clone(drawn), DrawnVersion { watch, fallback })
    }
}

impl Trial<dyn Connector> {
    /// The version for the next call.
    pub fn choose(&self) -> Arc<dyn Connector> {
        let (connector, drawn) = self.draw();
        Intercepted::new(connector, drawn)
    }
}

impl Trial<dyn Model> {
    /// The version for the next call.
    pub fn choose(&self) -> Arc<dyn Model> {
        let (model, drawn) = self.draw();
        Intercepted::new(model, drawn)
    }
}

/// How the version that serves a call is watched.
struct DrawnVersion<P: ?Sized> {
    watch: Arc<Watch>,
    /// The stable version, behind the one on trial.
    fallback: Option<Arc<P>>,
}

impl<P: ?Sized> DrawnVersion<P> {
    fn side(&self) -> Side {
        match self.fallback {
            Some(_) => Side::Candidate,
            None => Side::Stable,
        }
    }
}
