//! Files that are hostile before anything of them runs.

use std::sync::atomic::{AtomicU32, Ordering};

use mindhost_plugins::registry::Status;
use mindhost_runtime::package::pack;
use serde_json::{Value, json};

use crate::fixture::{Sandbox, guest, settings};

/// A file, and what it is refused for.
pub struct Package {
    pub name: &'static str,
    /// What the file does.
    pub does: &'static str,
    /// Words of the refusal.
    pub refused: &'static str,
    /// What contains it.
    pub by: &'static str,
    make: fn() -> Result<Vec<u8>, String>,
}

const READ: &str = "the manifest is read and judged before anything is compiled";
const ESCAPES: &str = "\u{1b}[2J\r\nforged: installed\u{7}";

pub const ROWS: &[Package] = &[
    Package {
        name: "title-with-escapes",
        does: "has a title that commands a terminal",
        refused: "`title` must be plain text",
        by: READ,
        make: || manifest(|one| one["title"] = json!(ESCAPES)),
    },
    Package {
        name: "description-turned-round",
        does: "has a description that is read backwards, so that it looks like another",
        refused: "`description` must be plain text",
        by: READ,
        make: || manifest(|one| one["description"] = json!("reads \u{202e}sgnihton")),
    },
    Package {
        name: "key-with-escapes",
        does: "has an unknown key that commands a terminal",
        refused: "there is no property",
        by: "a refusal is printed on one line, with its control characters escaped",
        make: || manifest(|one| one[ESCAPES] = json!(true)),
    },
    Package {
        name: "world-with-escapes",
        does: "is built for a world whose name commands a terminal",
        refused: "forged",
        by: "a refusal is printed on one line, with its control characters escaped",
        make: || manifest(|one| one["world"] = json!(ESCAPES)),
    },
    Package {
        name: "endless-manifest",
        does: "has a manifest of 1 MiB",
        refused: "is the most",
        by: "at most 256 KiB",
        make: || manifest(|one| one["connection_data"]["x"] = json!("x".repeat(1 << 20))),
    },
    Package {
        name: "deep-manifest",
        does: "has a manifest of a hundred thousand arrays in each other",
        refused: "cannot be read",
        by: "the parser ends at a depth of 128",
        make: || {
            let deep = "[".repeat(100_000) + &"]".repeat(100_000);
            pack(&guest("memory").0, &deep).map_err(|why| why.to_string())
        },
    },
    Package {
        name: "unmarked-secret",
        does: "has its host add a credential to requests that the schema does not call a secret",
        refused: "x-secret",
        by: READ,
        make: || {
            manifest(|one| {
                one["connection_data"]["properties"]["key"] = json!({"type": "string"});
                one["credentials"] = json!([{"property": "key", "scheme": "guest-held"}]);
            })
        },
    },
    Package {
        name: "other-description",
        does: "says other things of itself when it runs than its manifest does",
        refused: "differently",
        by: "new code is asked to describe itself, in 5 s and without a grant, before it serves",
        make: || manifest(|one| one["version"] = json!("9.9.9")),
    },
    Package {
        name: "endless-description",
        does: "never ends to describe itself",
        refused: "cannot describe itself",
        by: "new code is asked to describe itself, in 5 s and without a grant, before it serves",
        make: || {
            let (mut wasm, manifest) = guest("hostile");
            replace(&mut wasm, b"describe:quietly", b"describe:forever");
            with(&wasm, &manifest, |_| {})
        },
    },
    Package {
        name: "foreign-import",
        does: "imports what no plugin gets",
        refused: "which no plugin gets",
        by: "imports are compared with a list before anything is compiled",
        make: || component("(import \"wasi:nn/graph@0.2.0\" (instance))"),
    },
    Package {
        name: "giant-memory",
        does: "begins with 4 GiB of memory",
        refused: "which exceeds the limit",
        by: "no memory may begin larger than `plugins.max_memory_bytes`",
        make: || component("(core module $m (memory 65536)) (core instance (instantiate $m))"),
    },
    Package {
        name: "giant-table",
        does: "begins with a table of a million functions",
        refused: "which exceeds the limit",
        by: "tables have at most 100,000 elements",
        make: || {
            component("(core module $m (table 1000000 funcref)) (core instance (instantiate $m))")
        },
    },
    Package {
        name: "many-parts",
        does: "is made of a hundred instances",
        refused: "exceeds the configured maximum",
        by: "a component has at most 24 core instances, 2 memories and 8 tables",
        make: || {
            component(&format!(
                "(core module $m (memory 1)) {}",
                "(core instance (instantiate $m))".repeat(100)
            ))
        },
    },
    Package {
        name: "cut-off",
        does: "ends in the middle",
        refused: "cut off",
        by: "the file is taken apart before anything is compiled",
        make: || {
            let (wasm, manifest) = guest("memory");
            let packed = pack(&wasm, &manifest).map_err(|why| why.to_string())?;
            Ok(packed[..packed.len() / 2].to_vec())
        },
    },
];

fn replace(wasm: &mut [u8], old: &[u8], new: &[u8]) {
    let mut windows = wasm.windows(old.len());
    let at = windows.position(|window| window == old).unwrap();
    wasm[at..at + old.len()].copy_from_slice(new);
}

/// The guest `memory` with a changed manifest.
fn manifest(change: impl FnOnce(&mut Value)) -> Result<Vec<u8>, String> {
    let (wasm, manifest) = guest("memory");
    with(&wasm, &manifest, change)
}

/// A component with the manifest of the guest `memory`.
fn component(parts: &str) -> Result<Vec<u8>, String> {
    let wasm = wat::parse_str(format!("(component {parts})")).unwrap();
    with(&wasm, &guest("memory").1, |_| {})
}

/// A version of its own: a second file of one version would be refused for that.
fn with(wasm: &[u8], manifest: &str, change: impl FnOnce(&mut Value)) -> Result<Vec<u8>, String> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let mut manifest: Value = serde_json::from_str(manifest).unwrap();
    manifest["version"] = json!(format!("1.0.{}", FILES.fetch_add(1, Ordering::Relaxed)));
    change(&mut manifest);
    pack(wasm, &manifest.to_string()).map_err(|why| why.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_are_refused_and_harm_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (wasm, own) = guest("hostile");
    Sandbox::add(dir.path(), "decent", &pack(&wasm, &own).unwrap());
    let mut refusals: Vec<Option<String>> = Vec::new();
    for row in ROWS {
        match (row.make)() {
            Ok(packed) => {
                Sandbox::add(dir.path(), row.name, &packed);
                refusals.push(None);
            }
            Err(why) => refusals.push(Some(why)),
        }
    }
    let sandbox = Sandbox::load(dir, settings()).await;
    for (row, refusal) in ROWS.iter().zip(refusals) {
        let refusal = refusal.unwrap_or_else(|| {
            let installed = sandbox.registry.installed();
            let named = installed.iter().find(|one| {
                one.file.as_ref().and_then(|file| file.file_stem()) == Some(row.name.as_ref())
            });
            match &named.unwrap().status {
                Status::Refused(why) => why.clone(),
                other => panic!("{} is {other:?}", row.name),
            }
        });
        assert!(refusal.contains(row.refused), "{}: {refusal}", row.name);
        assert!(
            !refusal.chars().any(char::is_control),
            "{}: {refusal:?}",
            row.name
        );
    }
    assert!(sandbox.registry.engine("hostile").is_ok());
}
