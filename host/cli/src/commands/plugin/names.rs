//! Checks plugin names and versions on the command line, before they are sent.

use anyhow::bail;
use mindhost_runtime::package::{is_name, version_order};

/// Hex digits of a digest that suffice to name a version.
const MIN_PREFIX: usize = 6;

/// The name of a plugin.
pub(super) fn name(text: &str) -> anyhow::Result<&str> {
    match is_name(text) {
        true => Ok(text),
        false => bail!(
            "`{}` is not a plugin name; use one such as connector-postgres. `mindhost plugin list` lists them",
            shown(text)
        ),
    }
}

/// A version, or the start of a digest.
pub(super) fn version(text: &str) -> anyhow::Result<&str> {
    let digest = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_digest = (MIN_PREFIX..=64).contains(&digest.len()) && digest.bytes().all(is_hex);
    match is_digest || version_order(text).is_some() {
        true => Ok(text),
        false => bail!(
            "`{}` is neither a version such as 1.2.0 nor the beginning of a digest ({MIN_PREFIX} letters or more)",
            shown(text)
        ),
    }
}

fn shown(text: &str) -> String {
    text.escape_debug().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_neither_a_name_nor_a_version() {
        for good in ["connector-postgres", "guest_memory", "a1"] {
            assert!(name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "..",
            "a/b",
            "A",
            "../../minds/x",
            "a b",
            "a%2fb",
            "./a.wasm",
        ] {
            assert!(name(bad).is_err(), "{bad}");
        }
        for good in ["1.2.0", "1.2.0-beta.1+x", "0123ab", "sha256:0123abcd"] {
            assert!(version(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "..",
            "1.2",
            "1.2.0-../../x",
            "abc",
            "../../../minds/victim",
            "1.2.0?x",
        ] {
            assert!(version(bad).is_err(), "{bad}");
        }
    }
}
