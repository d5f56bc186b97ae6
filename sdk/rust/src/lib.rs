//! Write a Mindhost plugin in Rust: a trait to implement and one export macro.
//!
//! A **connector** makes a SQL engine available to the host: implement [`Connector`] and call
//! [`export_connector!`]. A **scanner** does with less: it yields the rows of tables (files, a REST API), and the host
//! gives it SQL; [`Scanner`] and [`export_scanner!`]. A **model provider** does the same for a language model: [`Model`] and
//! [`export_model!`] (and [`Embeddings`] with [`export_model_with_embeddings!`]). The crate then builds as a WebAssembly
//! component with `cargo build --target wasm32-wasip2`; for any other target the macros emit nothing, so that unit
//! tests and benchmarks call the implementation natively.
//!
//! The documentation of each trait method says when the host calls it, how often, and what not overriding it
//! means. The rules that hold for plugins in every language are in `wit/README.md` of the repository.
//!
//! # Rows
//!
//! [`BatchBuilder`] collects the rows of one answer. It writes Arrow where the types allow it and plain rows where
//! they do not, keeps to the host's limits, and is what nearly every connector wants. [`ArrowBatchBuilder`] and
//! [`RowsBuilder`] are the two forms by themselves.
//!
//! # Models over HTTP
//!
//! [`vendor`] has what their plugins share: answers that are streamed, tool calls in pieces, the words of a refusal.
//!
//! # Waiting
//!
//! [`control`] is the host's word on the call that is running: how long it may take, and whether it is still
//! wanted. Anything that waits looks there.

mod batch;
#[allow(
    unsafe_code,
    missing_docs,
    unused_qualifications,
    clippy::all,
    clippy::unwrap_used,
    clippy::panic,
    reason = "generated code"
)]
#[doc(hidden)]
pub mod bindings;
pub mod catalog;
mod config;
mod connector;
pub mod control;
pub mod datetime;
mod error;
pub mod http;
pub mod log;
pub mod model;
pub mod net;
mod sanity;
pub mod scanner;
pub mod server;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;
mod values;
pub mod vendor;

pub use batch::{ArrowBatchBuilder, BatchBuilder, BatchLimits, Row, RowsBuilder};
pub use catalog::{
    ColumnStatistics, ForeignKeyColumn, KeyColumn, StatisticsOptions, Table, TableColumn, TableRef,
};
pub use config::Config;
pub use connector::{Connector, ServerInfo, Statement};
pub use error::{Error, ErrorKind, Result};
pub use model::{Embeddings, Model};
pub use scanner::Scanner;
pub use values::{Batch, Column, DataType, Extra, Value, double_of_single};

/// What the export macros name; not for authors.
#[doc(hidden)]
pub mod exports {
    pub use crate::connector::export::ExportedConnector;
    pub use crate::model::export::ExportedModel;
    pub use crate::scanner::export::ExportedScanner;
}
