//! What every part of the server uses: errors, settings, and rules for names. It knows nothing of plugins, SQL, the store
//! or HTTP.

pub mod config;
pub mod detached_task;
pub mod error;
pub mod locks;
pub mod names;
pub mod owner_only;

pub use error::{Error, Result};
