//! Lines for the host's log. The host searches them for secrets and limits their rate and length; a plugin puts
//! none in all the same.
//!
//! ```
//! mindhost_sdk::log::info(format_args!("connected after {} attempts", 2));
//! ```

use std::fmt::Display;

use crate::bindings::connector::mindhost::plugin::log::Level;

/// For whoever debugs this plugin.
pub fn debug(message: impl Display) {
    write(Level::Debug, &message);
}

/// Worth knowing, nothing to do.
pub fn info(message: impl Display) {
    write(Level::Info, &message);
}

/// Something that an operator should look at; the call goes on.
pub fn warn(message: impl Display) {
    write(Level::Warn, &message);
}

/// Something that failed and that no returned error tells.
pub fn error(message: impl Display) {
    write(Level::Error, &message);
}

#[cfg(target_family = "wasm")]
fn write(level: Level, message: &dyn Display) {
    crate::bindings::connector::mindhost::plugin::log::log(level, &message.to_string());
}

/// A native build has no host; its tests read standard error.
#[cfg(not(target_family = "wasm"))]
fn write(level: Level, message: &dyn Display) {
    eprintln!("{level:?}: {message}");
}
