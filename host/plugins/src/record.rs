//! Recording: the calls across the boundary, with arguments and results, as lines of JSON that can be replayed against
//! another plugin.
//!
//! `Recorded` is a connector or model that hands every call on and notes what came of it. Secrets are masked before
//! anything is written; of rows only their number, their size and a digest are kept, unless the recording is a full one.

mod connector;
mod model;
mod tape;
mod written;

use std::sync::Arc;

pub use self::{
    connector::RecordedConnector,
    model::RecordedModel,
    tape::{Entry, Header, Outcome, Tape, Unreadable, read, shown},
    written::{to_request, values},
};
use mindhost_runtime::Loaded;

/// The same plugin, with every call noted on a tape.
pub fn recorded(loaded: &Loaded, tape: &Arc<Tape>) -> Loaded {
    match loaded {
        Loaded::Connector(connector) => Loaded::Connector(Arc::new(RecordedConnector::new(
            Arc::clone(connector),
            Arc::clone(tape),
        ))),
        Loaded::Model(model) => Loaded::Model(Arc::new(RecordedModel::new(
            Arc::clone(model),
            Arc::clone(tape),
        ))),
    }
}
