//! `sdk/manifest.schema.json`, which editors read, says what this host accepts.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let text = text
        .replace("{{name}}", "space")
        .replace("{{engine}}", "space");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema() -> Value {
    read(&root().join("sdk/manifest.schema.json"))
}

/// Every manifest of the repository that is meant to be right.
fn manifests() -> Vec<PathBuf> {
    let folders = [
        "plugins",
        "sdk/templates",
        "sdk/rust/examples",
        "tests/guests",
    ];
    let entries = folders
        .into_iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path().join("manifest.json"));
    paths.filter(|path| path.exists()).collect()
}

#[test]
fn every_manifest_of_the_repository_is_valid_to_an_editor() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let found = manifests();
    assert!(found.len() > 15, "{found:?}");
    for path in found {
        let errors: Vec<_> = validator
            .iter_errors(&read(&path))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn a_misspelt_property_is_told_with_its_line_and_the_one_that_was_meant() {
    let told = |name: &str, wrong: &str| {
        let text = serde_json::to_string_pretty(&full()).unwrap();
        let text = text.replacen(&format!("\"{name}\""), &format!("\"{wrong}\""), 1);
        why_unread(&serde_json::from_str::<Manifest>(&text).unwrap_err())
    };
    let title = told("title", "tilte");
    assert!(title.starts_with("line "), "{title}");
    assert!(
        title.ends_with("there is no property `tilte`; did you mean `title`?"),
        "{title}"
    );
    let kind = told("connector", "conector");
    assert!(kind.ends_with("did you mean `connector`?"), "{kind}");
    let syntax = serde_json::from_str::<Manifest>("{,}").unwrap_err();
    assert!(why_unread(&syntax).ends_with("at line 1 column 2"));
}

#[test]
fn an_editor_knows_the_keys_that_the_host_knows() {
    let full: Manifest = serde_json::from_value(full()).unwrap();
    let mut host = keys(&serde_json::to_value(&full).unwrap());
    host.insert("$schema".into());
    assert_eq!(host, keys(&schema()["properties"]));
    let places = [
        ("capabilities", "/properties/capabilities/properties"),
        ("network", "/properties/network/items/properties"),
        ("http", "/properties/http/items/properties"),
        ("files", "/properties/files/items/properties"),
        ("credentials", "/properties/credentials/items/properties"),
    ];
    let written = serde_json::to_value(&full).unwrap();
    for (key, place) in places {
        let own = written[key].get(0).unwrap_or(&written[key]);
        assert_eq!(keys(own), keys(schema().pointer(place).unwrap()), "{key}");
    }
}

#[test]
fn what_the_host_refuses_an_editor_marks() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert!(validator.is_valid(&full()));
    for (key, value) in [
        ("kind", json!("plugin")),
        ("name", json!("Space")),
        ("version", json!("1.0")),
        ("wit", json!("0.2.0")),
        ("world", json!("model-provider")),
        ("engines", json!([])),
        ("dialect", json!("datafusion")),
        ("colour", json!("blue")),
        ("network", json!([{"host": "host"}])),
        (
            "credentials",
            json!([{"property": "key", "scheme": "header"}]),
        ),
        (
            "credentials",
            json!([{"property": "key", "scheme": "oauth"}]),
        ),
        (
            "credentials",
            json!([{"property": "key", "scheme": "oauth2-client-credentials", "name": "client"}]),
        ),
        (
            "credentials",
            json!([{"property": "key", "scheme": "bearer", "token_url": "token_url"}]),
        ),
        ("connection_data", json!({"type": "string"})),
    ] {
        let mut wrong = full();
        wrong[key] = value;
        assert!(!validator.is_valid(&wrong), "{key}: {}", wrong[key]);
    }
}

#[test]
fn the_schema_of_a_manifest_says_nothing_of_the_plugin() {
    let mut noted = full();
    noted["$schema"] = json!("./manifest.schema.json");
    let plain: Manifest = serde_json::from_value(full()).unwrap();
    assert_eq!(serde_json::from_value::<Manifest>(noted).unwrap(), plain);
}

/// The pages for authors show whole manifests.
#[test]
fn manifests_in_the_pages_of_the_sdk_are_valid() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for page in ["guide.md", "javascript.md", "python.md"] {
        let text = fs::read_to_string(root().join("sdk/docs").join(page)).unwrap();
        let blocks = text.split("\n```json").skip(1);
        let blocks =
            blocks.filter_map(|block| Some(block.split_once('\n')?.1.split_once("```")?.0));
        let manifests: Vec<&str> = blocks.filter(|block| block.contains("\"world\"")).collect();
        assert!(!manifests.is_empty(), "{page}");
        for manifest in manifests {
            let shown: Value = serde_json::from_str(manifest).expect(page);
            assert!(validator.is_valid(&shown), "{page}: {shown}");
            serde_json::from_value::<Manifest>(shown).expect(page);
        }
    }
}

/// A manifest with every key.
fn full() -> Value {
    json!({
        "kind": "connector", "name": "space", "title": "Space", "version": "0.1.0", "wit": "0.1.0",
        "world": "sql-connector", "description": "Everything.", "engines": ["space"], "dialect": "generic",
        "capabilities": {"cancel": true, "snapshot": true, "paging": "in-memory"},
        "network": [{"host": "host", "port": "port", "default_port": 1}],
        "http": [{"url": "url", "default": "https://space.example"}],
        "files": [{"path": "path", "kind": "file", "access": "read", "siblings": ["-wal"]}],
        "credentials": [{
            "property": "key", "scheme": "oauth2-client-credentials", "name": "client", "url": "url",
            "token_url": "token_url", "scope": "scope",
        }],
        "connection_data": {"type": "object", "properties": {"key": {"type": "string", "x-secret": true}}},
    })
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}
