//! What the tests of this crate share.

use mindhost_runtime::package::{Package, pack};
use serde_json::json;

/// A package of that version, with nothing in it that could run.
pub fn packed(version: &str) -> Package {
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
    let manifest = json!({
        "kind": "connector", "name": "connector-x", "title": "X", "version": version,
        "wit": "0.1.0", "world": "sql-connector", "engines": ["x"], "dialect": "generic",
        "connection_data": {"type": "object", "properties": {"host": {"type": "string"}}}
    });
    Package::parse(pack(EMPTY, &manifest.to_string()).unwrap()).unwrap()
}
