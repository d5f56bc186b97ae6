//! Recording: the calls across the boundary, with arguments and results, as lines of JSON that can be replayed against
//! another plugin.
//!
//! [`recorded`] wraps a connector or model in an interceptor that writes each call. Secrets are masked before anything
//! is written. Of rows only their number, size and digest are written, unless the recording is a full one.

mod recorder;
mod tape;
mod written;

use std::sync::Arc;

use self::recorder::Recording;
pub use self::{
    tape::{Entry, Header, Outcome, Tape, TapeError, read, shown},
    written::to_request,
};
use mindhost_plugin_api::{Connector, Model, intercept::Intercepted};
use mindhost_runtime::LoadedPlugin;

/// Wraps a plugin so that every call is written to a tape.
pub fn recorded(loaded: &LoadedPlugin, tape: &Arc<Tape>) -> LoadedPlugin {
    let recording = Recording(Arc::clone(tape));
    match loaded {
        LoadedPlugin::Connector(connector) => {
            LoadedPlugin::Connector(Intercepted::<dyn Connector, _>::new(
                Arc::clone(connector),
                recording,
            ))
        }
        LoadedPlugin::Model(model) => LoadedPlugin::Model(Intercepted::<dyn Model, _>::new(
            Arc::clone(model),
            recording,
        )),
    }
}
