//! What a component may import, and what becomes of one that imports more.

use std::collections::BTreeSet;

use mindhost_plugins::registry::Status;
use mindhost_runtime::package::pack;
use serde_json::{Value, json};
use wasmparser::Payload;

use crate::fixture::{Sandbox, guest, settings};

/// What an interface can reach, and so which test of `reach.rs` must hold it.
#[derive(Debug, PartialEq)]
enum Capable {
    Nothing,
    Sockets,
    Paths,
    Http,
}

/// Everything that a guest may import. An interface that is added here is one that somebody has classified.
const OFFERED: &[(&str, Capable)] = &[
    ("wasi:io/error@0.2.6", Capable::Nothing),
    ("wasi:io/poll@0.2.6", Capable::Nothing),
    ("wasi:io/streams@0.2.6", Capable::Nothing),
    ("wasi:cli/environment@0.2.6", Capable::Nothing),
    ("wasi:cli/exit@0.2.6", Capable::Nothing),
    ("wasi:cli/stdin@0.2.6", Capable::Nothing),
    ("wasi:cli/stdout@0.2.6", Capable::Nothing),
    ("wasi:cli/stderr@0.2.6", Capable::Nothing),
    ("wasi:cli/terminal-input@0.2.6", Capable::Nothing),
    ("wasi:cli/terminal-output@0.2.6", Capable::Nothing),
    ("wasi:cli/terminal-stdin@0.2.6", Capable::Nothing),
    ("wasi:cli/terminal-stdout@0.2.6", Capable::Nothing),
    ("wasi:cli/terminal-stderr@0.2.6", Capable::Nothing),
    ("wasi:clocks/monotonic-clock@0.2.6", Capable::Nothing),
    ("wasi:clocks/wall-clock@0.2.6", Capable::Nothing),
    ("wasi:random/random@0.2.6", Capable::Nothing),
    ("wasi:random/insecure@0.2.6", Capable::Nothing),
    ("wasi:random/insecure-seed@0.2.6", Capable::Nothing),
    ("wasi:filesystem/types@0.2.6", Capable::Paths),
    ("wasi:filesystem/preopens@0.2.6", Capable::Paths),
    ("wasi:sockets/network@0.2.6", Capable::Nothing),
    ("wasi:sockets/instance-network@0.2.6", Capable::Nothing),
    ("wasi:sockets/ip-name-lookup@0.2.6", Capable::Sockets),
    ("wasi:sockets/tcp@0.2.6", Capable::Sockets),
    ("wasi:sockets/tcp-create-socket@0.2.6", Capable::Sockets),
    ("wasi:sockets/udp@0.2.6", Capable::Sockets),
    ("wasi:sockets/udp-create-socket@0.2.6", Capable::Sockets),
    ("wasi:http/types@0.2.6", Capable::Http),
    ("wasi:http/outgoing-handler@0.2.6", Capable::Http),
    ("mindhost:plugin/control@0.1.0", Capable::Nothing),
    ("mindhost:plugin/log@0.1.0", Capable::Nothing),
];

/// Every interface of WASI 0.2, with something in it that the linker would know: a function, or a resource.
const WASI: &[(&str, &str)] = &[
    ("wasi:io/error@0.2.6", "resource error"),
    ("wasi:io/poll@0.2.6", "poll"),
    ("wasi:io/streams@0.2.6", "resource input-stream"),
    ("wasi:cli/environment@0.2.6", "get-environment"),
    ("wasi:cli/exit@0.2.6", "exit"),
    ("wasi:cli/run@0.2.6", "run"),
    ("wasi:cli/stdin@0.2.6", "get-stdin"),
    ("wasi:cli/stdout@0.2.6", "get-stdout"),
    ("wasi:cli/stderr@0.2.6", "get-stderr"),
    ("wasi:cli/terminal-input@0.2.6", "resource terminal-input"),
    ("wasi:cli/terminal-output@0.2.6", "resource terminal-output"),
    ("wasi:cli/terminal-stdin@0.2.6", "get-terminal-stdin"),
    ("wasi:cli/terminal-stdout@0.2.6", "get-terminal-stdout"),
    ("wasi:cli/terminal-stderr@0.2.6", "get-terminal-stderr"),
    ("wasi:clocks/monotonic-clock@0.2.6", "now"),
    ("wasi:clocks/wall-clock@0.2.6", "now"),
    ("wasi:clocks/timezone@0.2.6", "display"),
    ("wasi:random/random@0.2.6", "get-random-bytes"),
    ("wasi:random/insecure@0.2.6", "get-insecure-random-bytes"),
    ("wasi:random/insecure-seed@0.2.6", "insecure-seed"),
    ("wasi:filesystem/types@0.2.6", "filesystem-error-code"),
    ("wasi:filesystem/preopens@0.2.6", "get-directories"),
    ("wasi:sockets/network@0.2.6", "resource network"),
    ("wasi:sockets/instance-network@0.2.6", "instance-network"),
    ("wasi:sockets/ip-name-lookup@0.2.6", "resolve-addresses"),
    ("wasi:sockets/tcp@0.2.6", "resource tcp-socket"),
    ("wasi:sockets/tcp-create-socket@0.2.6", "create-tcp-socket"),
    ("wasi:sockets/udp@0.2.6", "resource udp-socket"),
    ("wasi:sockets/udp-create-socket@0.2.6", "create-udp-socket"),
    ("wasi:http/types@0.2.6", "resource fields"),
    ("wasi:http/outgoing-handler@0.2.6", "handle"),
    ("wasi:http/incoming-handler@0.2.6", "handle"),
    ("mindhost:plugin/control@0.1.0", "remaining-ms"),
    ("mindhost:plugin/log@0.1.0", "log"),
    ("mindhost:plugin/connector@0.1.0", "cancel"),
    ("mindhost:plugin/model@0.1.0", "start"),
];

/// Interfaces that exist elsewhere in the world and that no guest gets.
const WITHHELD: &[&str] = &[
    "wasi:http/incoming-handler@0.2.6",
    "wasi:cli/run@0.2.6",
    "wasi:clocks/timezone@0.2.6",
    "wasi:sockets/types@0.3.0",
    "wasi:filesystem/types@0.3.0",
    "wasi:http/handler@0.3.0",
    "wasi:keyvalue/store@0.2.0",
    "wasi:config/store@0.2.0",
    "wasi:nn/graph@0.2.0",
    "wasi:tls/types@0.2.0",
    "mindhost:plugin/store@0.1.0",
];

fn manifest(name: &str) -> String {
    let (_, manifest) = guest("memory");
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["name"] = json!(name);
    manifest["engines"] = json!([name]);
    manifest.to_string()
}

/// Why a component that imports one function of an interface, and exports nothing, is refused.
async fn refusals(interfaces: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut reasons = vec![String::new(); interfaces.len()];
    for (index, (interface, item)) in interfaces.iter().enumerate() {
        let export = match item.strip_prefix("resource ") {
            Some(resource) => format!("(export \"{resource}\" (type (sub resource)))"),
            None => format!("(export \"{item}\" (func))"),
        };
        let import = format!("(import \"{interface}\" (instance {export}))");
        let wasm = wat::parse_str(format!("(component {import})")).unwrap();
        let name = format!("import-{index:02}");
        match pack(&wasm, &manifest(&name)) {
            Ok(packed) => Sandbox::add(dir.path(), &name, &packed),
            Err(refusal) => reasons[index] = refusal.to_string(),
        }
    }
    let sandbox = Sandbox::load(dir, settings()).await;
    for installed in sandbox.registry.installed() {
        let stem = installed
            .file
            .as_ref()
            .unwrap()
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap();
        let index: usize = stem.strip_prefix("import-").unwrap().parse().unwrap();
        match &installed.status {
            Status::Refused(reason) => reasons[index].clone_from(reason),
            other => panic!("{stem} is {other:?}"),
        }
    }
    reasons
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interface_outside_the_agreed_set_is_refused() {
    let withheld: Vec<_> = WITHHELD.iter().map(|name| (*name, "run")).collect();
    for ((name, _), reason) in withheld.iter().zip(refusals(&withheld).await) {
        assert!(
            reason.contains("which no plugin gets") || reason.contains("does not fit this host"),
            "{name}: {reason}"
        );
    }
}

/// The linker tells whether it has an interface by what it misses: the thing itself, or only its right type.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_linker_has_is_what_was_classified() {
    let missing = |reason: &String| {
        reason.contains("implementation is missing") || reason.contains("which no plugin gets")
    };
    let reasons = refusals(WASI).await;
    let found = WASI.iter().zip(&reasons);
    let has: BTreeSet<&str> = found
        .filter(|(_, reason)| !missing(reason))
        .map(|((name, _), _)| *name)
        .collect();
    let offered: BTreeSet<&str> = OFFERED.iter().map(|(name, _)| *name).collect();
    assert_eq!(has, offered, "{reasons:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_without_its_world_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let wasm = wat::parse_str("(component)").unwrap();
    Sandbox::add(
        dir.path(),
        "empty",
        &pack(&wasm, &manifest("empty")).unwrap(),
    );
    let sandbox = Sandbox::load(dir, settings()).await;
    let status = &sandbox.registry.installed()[0].status;
    assert!(matches!(status, Status::Refused(why) if why.contains("does not export its world")));
}

/// The interfaces that a component imports, without their versions.
fn imports(component: &[u8]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut depth = 0;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => names.extend(
                section
                    .into_iter()
                    .map(|import| plain(import.unwrap().name.name)),
            ),
            _ => {}
        }
    }
    names
}

fn plain(interface: &str) -> String {
    interface.split('@').next().unwrap().to_owned()
}

#[test]
fn the_hostile_guest_tries_every_way_out() {
    let tried = imports(&guest("hostile").0);
    for (name, capable) in OFFERED {
        if *capable != Capable::Nothing {
            assert!(
                tried.contains(&plain(name)),
                "no test tries {name} ({capable:?})"
            );
        }
    }
}

#[test]
fn what_guests_import_is_classified() {
    let known: BTreeSet<String> = OFFERED.iter().map(|(name, _)| plain(name)).collect();
    for name in ["hostile", "memory"] {
        for import in imports(&guest(name).0) {
            let ours = import.starts_with("mindhost:plugin/");
            assert!(ours || known.contains(&import), "{name} imports {import}");
        }
    }
}
