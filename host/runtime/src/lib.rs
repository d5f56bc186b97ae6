//! Runs plugins as WebAssembly components: sandbox, limits, pools and metering. Only this crate names wasmtime. It
//! never decides which version serves, and reads no store.

pub mod bindings;
mod cache;
mod call_time;
mod code;
mod compiler;
mod connector;
mod connects;
mod convert;
mod engine;
mod errors;
mod files;
mod grants;
pub mod health;
mod http;
pub mod ids;
mod instance;
mod limits;
mod loader;
pub mod meter;
pub mod metered;
mod model;
pub mod package;
mod permits;
pub mod policy;
mod pool;
mod rate_limits;
mod refusals;
mod roots;
mod scanner;
mod shared;
mod sockets;
pub mod standalone;
mod state;
mod tcp;

pub use compiler::{Compilers, run as compile};
pub use engine::Runtime;
pub use loader::{Loaded, Loader, Ready};
pub use permits::InstanceUsage;
