//! What every crate of the server shares: the error type, the settings and the rules for names. It never opens a
//! connection and knows nothing of plugins, SQL or HTTP.

pub mod config;
pub mod decimal;
pub mod detached_task;
pub mod error;
pub mod locks;
pub mod names;
pub mod owner_only;
pub mod policy;
pub mod spelling;

pub use error::{Error, Result};
