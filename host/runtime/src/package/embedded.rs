//! The manifest in the code of a component, which it gives when it is asked to describe itself.

use mindhost_plugin_api::manifest::{Manifest, SECTION};

use super::{Refusal, sections::sections};

/// Checks before packing that a component was built with this manifest: the SDKs put its text into the code, and a host
/// refuses a plugin that describes itself differently. Code without such a text is accepted, and asked by the host.
///
/// # Errors
/// If the code has other manifests alone, or is no component.
pub fn check_built_with(component: &[u8], manifest: &str) -> Result<(), Refusal> {
    let wanted = super::parse_manifest(manifest.as_bytes())?;
    let mut others = Vec::new();
    for section in sections(component)? {
        if section.name() != Some(SECTION) {
            others.extend(manifests_in(section.whole));
        }
    }
    let Some(built_with) = others.last().filter(|_| !others.contains(&wanted)) else {
        return Ok(());
    };
    let told = |one: &Manifest| format!("{} {} ({})", one.name, one.version, one.world);
    let (old, new) = (told(built_with), told(&wanted));
    let difference = match old == new {
        true => format!("another manifest of {old}"),
        false => format!("the manifest of {old}, not with that of {new}"),
    };
    Err(Refusal(format!(
        "was built with {difference}; build it again, or pack the manifest that it was built with"
    )))
}

/// Every text of a manifest in these bytes.
fn manifests_in(bytes: &[u8]) -> Vec<Manifest> {
    let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'{');
    let texts = starts.filter_map(|(at, _)| {
        let inside = bytes.get(at + 1..)?.trim_ascii_start();
        inside.starts_with(b"\"").then(|| bytes.get(at..))?
    });
    let read = |text| {
        let mut values = serde_json::Deserializer::from_slice(text).into_iter();
        values.next()?.ok()
    };
    texts.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::package::pack;

    fn manifest(version: &str) -> Value {
        json!({
            "kind": "connector", "name": "connector-x", "title": "X", "version": version,
            "wit": "0.1.0", "world": "sql-connector", "engines": ["x"], "dialect": "generic",
            "connection_data": {"type": "object", "properties": {"host": {"type": "string"}}}
        })
    }

    /// A component whose code has these bytes among others.
    fn with(text: &str) -> Vec<u8> {
        let code = wasm_encoder::CustomSection {
            name: "code".into(),
            data: format!("\u{1}{{\"a\": 1}}{{ {{}}{text}{{\"kind\": 2")
                .into_bytes()
                .into(),
        };
        let mut component = wasm_encoder::Component::new();
        component.section(&code);
        component.finish()
    }

    #[test]
    fn component_with_an_older_manifest_is_refused() {
        let (old, new) = (manifest("1.0.0"), manifest("1.1.0").to_string());
        for text in [old.to_string(), format!("{old:#}")] {
            let component = with(&text);
            assert_eq!(check_built_with(&component, &old.to_string()), Ok(()));
            let refusal = check_built_with(&component, &new).unwrap_err().to_string();
            assert!(
                refusal.contains(
                    "connector-x 1.0.0 (sql-connector), not with that of connector-x 1.1.0 (sql-connector)"
                ),
                "{refusal}"
            );
        }
        let both = with(&format!("{old}{new}"));
        assert_eq!(check_built_with(&both, &new), Ok(()));
    }

    #[test]
    fn manifest_that_was_packed_before_does_not_count() {
        let packed = pack(&with(""), &manifest("1.0.0").to_string()).unwrap();
        let new = manifest("1.1.0").to_string();
        assert_eq!(check_built_with(&packed, &new), Ok(()));
    }
}
