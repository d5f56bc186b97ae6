//! A plugin file: a component with its manifest, read and checked without running it.

mod checks;
mod embedded;
mod sections;

use std::{
    fmt,
    io::Read as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

pub use checks::{check_origins, is_name, version_order};
pub use embedded::check_built_with;

use self::{checks::check_manifest, sections::sections};
use mindhost_base::error::write_escaped;
use mindhost_plugin_api::manifest::{Manifest, SECTION, why_unread};

/// A larger manifest is refused before it is parsed.
const MAX_MANIFEST_BYTES: usize = 256 << 10;
/// WASI 0.2 packages that every world may import.
const WASI: [&str; 7] = [
    "cli",
    "clocks",
    "filesystem",
    "http",
    "io",
    "random",
    "sockets",
];
/// Interfaces of the host that a guest may import.
const OURS: [&str; 4] = ["types", "catalog-types", "control", "log"];

/// Why this host cannot serve a file: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal with a reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Refusal {
    /// On one line, because the reason may contain text of the file and appears on terminals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, &self.0)
    }
}

impl std::error::Error for Refusal {}

/// A plugin file with a valid manifest.
#[derive(Clone)]
pub struct Package {
    /// As a section of the file has it, checked.
    pub manifest: Manifest,
    /// SHA-256 of the whole file, in hex.
    pub digest: String,
    /// The whole file, which is also the component.
    pub bytes: Vec<u8>,
}

impl Package {
    /// Reads a file of at most `max_bytes`.
    pub fn read(path: &Path, max_bytes: u64) -> Result<Self, Refusal> {
        Self::parse(read_file(path, max_bytes)?)
    }

    /// Checks the rules for manifests of new plugins.
    ///
    /// # Errors
    /// What to change in the manifest.
    pub fn check_new(&self) -> Result<(), Refusal> {
        checks::check_new(&self.manifest)
    }

    /// Validates the component, including the instructions of each function. Slow for a large one.
    ///
    /// # Errors
    /// What is wrong with it, and at which byte.
    pub fn validate(&self) -> Result<(), Refusal> {
        let valid = wasmparser::Validator::new().validate_all(&self.bytes);
        valid.map(drop).map_err(|error| {
            Refusal(format!(
                "is not a valid component, so it was damaged or built by a broken tool: {error}"
            ))
        })
    }

    /// Parses a component down to its manifest and imports.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Refusal> {
        let manifest = manifest_of(&bytes)?;
        check_imports(&bytes)?;
        let digest = digest(&bytes);
        Ok(Self {
            manifest,
            digest,
            bytes,
        })
    }
}

/// Reads a regular file of at most `max_bytes`. Reads nothing else, because a pipe may block and a device may have no
/// end.
///
/// # Errors
/// When it is not a regular file, is too large or cannot be read.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Refusal> {
    let cannot = |error: std::io::Error| Refusal(format!("cannot be read: {error}"));
    let is_regular = |meta: std::fs::Metadata| match meta.is_file() {
        true => Ok(meta),
        false => Err(Refusal::new("is not a regular file")),
    };
    // Checked before the open, which may have an effect on a device or a pipe, and again after it.
    is_regular(path.metadata().map_err(cannot)?)?;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(cannot)?;
    let size = is_regular(file.metadata().map_err(cannot)?)?.len();
    let too_large = |size: u64| {
        Refusal(format!(
            "is {size} bytes; plugins.max_package_bytes allows {max_bytes}"
        ))
    };
    if size > max_bytes {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    let mut bounded = file.take(max_bytes.saturating_add(1));
    bounded.read_to_end(&mut bytes).map_err(cannot)?;
    match bytes.len() as u64 > max_bytes {
        false => Ok(bytes),
        true => Err(too_large(bytes.len() as u64)),
    }
}

/// SHA-256 in lower-case hexadecimal, which identifies a file.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The `.wasm` files of a directory, by name, each read or refused. A missing directory counts as empty.
pub fn scan(dir: &Path, max_bytes: u64) -> Vec<(PathBuf, Result<Package, Refusal>)> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "wasm")
        })
        .collect();
    paths.sort();
    std::thread::scope(|scope| {
        let reads: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(|| Package::read(path, max_bytes)))
            .collect();
        let results: Vec<_> = reads
            .into_iter()
            .map(|read| {
                read.join()
                    .unwrap_or_else(|_| Err(Refusal::new("could not be taken apart")))
            })
            .collect();
        paths.iter().cloned().zip(results).collect()
    })
}

/// Checks a manifest by itself, as [`pack`] does first.
pub fn check_manifest_text(manifest: &str) -> Result<(), Refusal> {
    checks::check_new(&parse_manifest(manifest.as_bytes())?)
}

/// Writes a manifest into a component, replacing an existing one. The result is a plugin that this host can install.
pub fn pack(component: &[u8], manifest: &str) -> Result<Vec<u8>, Refusal> {
    check_manifest_text(manifest)?;
    let mut packed = Vec::with_capacity(component.len() + manifest.len() + 64);
    packed.extend_from_slice(component.get(..8).ok_or_else(not_a_component)?);
    for section in sections(component)? {
        if section.name() != Some(SECTION) {
            packed.extend_from_slice(section.whole);
        }
    }
    // Stored without white space, so that the file does not depend on the author's formatting.
    let value: serde_json::Value = serde_json::from_str(manifest).map_err(not_json)?;
    let section = wasm_encoder::CustomSection {
        name: SECTION.into(),
        data: value.to_string().into_bytes().into(),
    };
    let mut addition = wasm_encoder::Component::new();
    addition.section(&section);
    packed.extend_from_slice(addition.as_slice().get(8..).unwrap_or_default());
    Package::parse(packed.clone())?;
    Ok(packed)
}

fn manifest_of(bytes: &[u8]) -> Result<Manifest, Refusal> {
    let sections = sections(bytes)?;
    let mut found = sections
        .iter()
        .filter(|section| section.name() == Some(SECTION));
    let section = found.next().ok_or_else(|| {
        Refusal(format!(
            "has no section {SECTION}; add one with `mindhost plugin pack FILE --manifest manifest.json`"
        ))
    })?;
    if found.next().is_some() {
        return Err(Refusal(format!("has more than one section {SECTION}")));
    }
    parse_manifest(section.data())
}

fn parse_manifest(json: &[u8]) -> Result<Manifest, Refusal> {
    if json.len() > MAX_MANIFEST_BYTES {
        return Err(Refusal(format!(
            "its manifest is {} bytes; {MAX_MANIFEST_BYTES} is the most",
            json.len()
        )));
    }
    let manifest: Manifest = serde_json::from_slice(json).map_err(not_json)?;
    check_manifest(&manifest)?;
    Ok(manifest)
}

fn not_json(error: serde_json::Error) -> Refusal {
    Refusal(format!(
        "its manifest cannot be read: {}",
        why_unread(&error)
    ))
}

/// Refuses imports that are not in the contract, by name, before compilation.
fn check_imports(bytes: &[u8]) -> Result<(), Refusal> {
    let mut depth = 0u32;
    for payload in wasmparser::Parser::new(0).parse_all(bytes) {
        let payload =
            payload.map_err(|error| Refusal(format!("is not a valid component: {error}")))?;
        match payload {
            wasmparser::Payload::Version { encoding, .. }
                if depth == 0 && encoding != wasmparser::Encoding::Component =>
            {
                return Err(not_a_component());
            }
            wasmparser::Payload::ModuleSection { .. }
            | wasmparser::Payload::ComponentSection { .. } => depth += 1,
            wasmparser::Payload::End(_) => depth = depth.saturating_sub(1),
            wasmparser::Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let import = import
                        .map_err(|error| Refusal(format!("is not a valid component: {error}")))?;
                    check_import(import.name.name)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_import(name: &str) -> Result<(), Refusal> {
    let allowed = name
        .strip_prefix("wasi:")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(package, rest)| {
            WASI.contains(&package)
                && rest
                    .split_once('@')
                    .is_some_and(|(_, v)| v.starts_with("0.2."))
        })
        || name
            .strip_prefix("mindhost:plugin/")
            .and_then(|rest| rest.split('@').next())
            .is_some_and(|interface| OURS.contains(&interface));
    if allowed {
        return Ok(());
    }
    Err(Refusal(format!(
        "imports `{}`, which no plugin gets; allowed are mindhost:plugin/log and /control, and of WASI 0.2 {}",
        name.escape_debug().take(120).collect::<String>(),
        WASI.join(", ")
    )))
}

fn not_a_component() -> Refusal {
    Refusal::new("is not a WebAssembly component; build it for wasm32-wasip2")
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn manifest() -> Value {
        json!({
            "kind": "connector", "name": "connector-x", "title": "X", "version": "1.0.0",
            "wit": "0.1.0", "world": "sql-connector", "engines": ["x"], "dialect": "generic",
            "connection_data": {"type": "object", "properties": {"host": {"type": "string"}}}
        })
    }

    fn refusal(change: impl FnOnce(&mut Value)) -> String {
        let mut manifest = manifest();
        change(&mut manifest);
        pack(EMPTY, &manifest.to_string()).unwrap_err().to_string()
    }

    /// A component with one function that shall give a number.
    fn with_function(body: &[wasm_encoder::Instruction<'_>]) -> Package {
        use wasm_encoder::{CodeSection, Function, FunctionSection, Module, TypeSection, ValType};
        let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
        types.ty().function([], [ValType::I32]);
        functions.function(0);
        let mut function = Function::new([]);
        for instruction in body {
            function.instruction(instruction);
        }
        let mut code = CodeSection::new();
        code.function(&function);
        let mut module = Module::new();
        module.section(&types).section(&functions).section(&code);
        let mut component = wasm_encoder::Component::new();
        component.section(&wasm_encoder::ModuleSection(&module));
        Package::parse(pack(component.as_slice(), &manifest().to_string()).unwrap()).unwrap()
    }

    #[test]
    fn invalid_component_is_refused_without_compiling() {
        use wasm_encoder::Instruction::{End, I32Const};
        assert_eq!(with_function(&[I32Const(1), End]).validate(), Ok(()));
        let refusal = with_function(&[End]).validate().unwrap_err();
        assert!(refusal.to_string().contains("not a valid component"));
    }

    #[test]
    fn packing_twice_replaces_the_manifest() {
        let once = pack(EMPTY, &manifest().to_string()).unwrap();
        let mut second = manifest();
        second["version"] = json!("2.0.0");
        let twice = pack(&once, &second.to_string()).unwrap();
        assert_eq!(Package::parse(twice).unwrap().manifest.version, "2.0.0");
    }

    #[test]
    fn newer_contract_is_refused_with_both_ranges_and_the_next_step() {
        let text = refusal(|manifest| manifest["wit"] = json!("0.2.0"));
        assert_eq!(
            text,
            "needs WIT 0.2.x and this host serves 0.1.x; install a newer Mindhost"
        );
    }

    #[test]
    fn each_fault_of_a_manifest_is_named() {
        assert!(refusal(|m| m["world"] = json!("shell")).contains("`shell`"));
        assert!(refusal(|m| m["world"] = json!("model-provider")).contains("`sql-connector`"));
        assert!(refusal(|m| m["name"] = json!("Bad Name")).contains("`name`"));
        assert!(refusal(|m| m["version"] = json!("one")).contains("`version`"));
        assert!(refusal(|m| m["engines"] = json!([])).contains("`engines`"));
        assert!(refusal(|m| m["title"] = json!("a\u{1b}[2J")).contains("`title`"));
        assert!(refusal(|m| m["description"] = json!("\u{202e}a")).contains("`description`"));
        let forged = json!("a host\n  reads      nothing");
        for field in ["title", "description"] {
            let setting = |m: &mut Value| {
                m["connection_data"]["properties"]["host"][field] = forged.clone();
            };
            assert!(
                refusal(setting).contains(&format!("`connection_data.properties.host.{field}`"))
            );
        }
        let setting = |m: &mut Value| m["connection_data"]["properties"]["a\u{1b}c"] = json!({});
        assert!(refusal(setting).contains("`connection_data.properties`"));
        assert!(refusal(|m| m["a\nb"] = json!(1)).contains(r"a\nb"));
        assert!(refusal(|m| m["root_access"] = json!(true)).contains("root_access"));
        assert!(refusal(|m| m["files"] = json!([{"path": "pth"}])).contains("`pth`"));
        assert!(
            refusal(|m| m["connection_data"]["properties"]["host"]["type"] = json!("strnig"))
                .contains("not a JSON schema")
        );
    }

    #[test]
    fn scanner_cannot_declare_what_the_host_provides() {
        let scanner = |change: fn(&mut Value)| {
            let mut changed = manifest();
            changed["world"] = json!("scanner-connector");
            let fields = changed.as_object_mut().unwrap();
            fields.remove("dialect");
            fields.remove("capabilities");
            change(&mut changed);
            pack(EMPTY, &changed.to_string())
        };
        scanner(|_| ()).unwrap();
        let dialect = scanner(|m| m["dialect"] = json!("sqlite")).unwrap_err();
        assert!(dialect.to_string().contains("`dialect`"), "{dialect}");
        let claims = scanner(|m| m["capabilities"] = json!({"snapshot": true})).unwrap_err();
        assert!(claims.to_string().contains("`capabilities`"), "{claims}");
        assert!(refusal(|m| m["dialect"] = json!("datafusion")).contains("the host's own"));
    }

    #[test]
    fn destination_and_secret_properties_must_be_marked() {
        let marked = |m: &mut Value, name: &str, mark: &str| {
            m["connection_data"]["properties"][name] = json!({"type": "string", mark: true});
        };
        let network = json!([{"host": "host", "port": "port", "default_port": 1}]);
        let text = refusal(|m| m["network"] = network.clone());
        assert!(text.contains("mark the property `host` with `\"x-destination\": true`"));
        let text = refusal(|m| {
            m["credentials"] = json!([{"property": "host", "scheme": "guest-held"}]);
        });
        assert!(text.contains("mark the property `host` with `\"x-secret\": true`"));
        let text = refusal(|m| {
            marked(m, "key", "x-secret");
            m["connection_data"]["properties"]["host"]["properties"] =
                json!({"inner": {"x-secret": true}});
        });
        assert!(text.contains("`x-secret` inside of a property"), "{text}");
        let mut good = manifest();
        marked(&mut good, "host", "x-destination");
        marked(&mut good, "port", "x-destination");
        good["network"] = network;
        pack(EMPTY, &good.to_string()).unwrap();
    }

    #[test]
    fn connector_with_a_default_destination_is_refused() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut manifest = manifest();
            manifest["connection_data"]["properties"] =
                json!({"url": {"type": "string", "x-destination": true}});
            manifest["http"] = json!([{"url": "url"}]);
            change(&mut manifest);
            let packed = pack(EMPTY, &manifest.to_string());
            packed.err().map(|refusal| refusal.to_string())
        };
        let scanner = |m: &mut Value| {
            m["world"] = json!("scanner-connector");
            m.as_object_mut().unwrap().remove("dialect");
        };
        let origin = |m: &mut Value| m["http"][0]["default"] = json!("https://x.example");
        assert_eq!(with(&|_| ()), None);
        for refused in [
            with(&origin),
            with(&|m| {
                scanner(m);
                origin(m);
            }),
        ] {
            let text = refused.unwrap();
            assert!(text.contains("`default` for `url` in `http`"), "{text}");
        }
        let filled_in = with(&|m| {
            m["connection_data"]["properties"]["url"]["default"] = json!("https://x.example");
        });
        let text = filled_in.unwrap();
        assert!(text.contains("`default` for the property `url`"), "{text}");
        let model = with(&|m| {
            m["kind"] = json!("model");
            m["world"] = json!("model-provider");
            let fields = m.as_object_mut().unwrap();
            fields.remove("engines");
            fields.remove("dialect");
            origin(m);
        });
        assert_eq!(model, None);
    }

    #[test]
    fn a_credential_says_where_it_goes() {
        let with = |http: Value, rule: Value| {
            let mut manifest = manifest();
            manifest["connection_data"]["properties"] = json!({
                "url": {"x-destination": true}, "other": {"x-destination": true}, "key": {"x-secret": true},
                "client": {"x-destination": true}, "scope": {}
            });
            manifest["http"] = http;
            manifest["credentials"] = json!([rule]);
            pack(EMPTY, &manifest.to_string())
                .map(drop)
                .map_err(|refusal| refusal.to_string())
        };
        let bearer = json!({"property": "key", "scheme": "bearer"});
        let named = |url: &str| json!({"property": "key", "scheme": "bearer", "url": url});
        let both = json!([{"url": "url"}, {"url": "other"}]);
        assert!(with(json!([{"url": "url"}]), bearer.clone()).is_ok());
        assert!(with(both.clone(), named("other")).is_ok());
        assert!(
            with(both.clone(), bearer.clone())
                .unwrap_err()
                .contains("several entries")
        );
        assert!(
            with(json!([]), bearer)
                .unwrap_err()
                .contains("no entry in `http`")
        );
        assert!(with(both, named("key")).unwrap_err().contains("`url`"));
        let tokens = |field: &str, value: Value| {
            let mut rule = json!({
                "property": "key", "scheme": "oauth2-client-credentials", "name": "client", "url": "url",
                "token_url": "other",
            });
            rule[field] = value;
            with(json!([{"url": "url"}, {"url": "other"}]), rule)
        };
        assert_eq!(tokens("name", json!("client")), Ok(()));
        for (field, value, part) in [
            ("name", Value::Null, "needs a `name`"),
            ("name", json!("scope"), "x-destination"),
            ("token_url", Value::Null, "needs a `token_url`"),
            ("token_url", json!("key"), "`token_url` that is not"),
            ("token_url", json!("url"), "an entry of its own"),
            ("scope", json!("scope"), "x-destination"),
            (
                "scheme",
                json!("bearer"),
                "only `oauth2-client-credentials`",
            ),
        ] {
            let refused = tokens(field, value).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
        let host = json!({"property": "key", "scheme": "header", "name": "Host"});
        assert!(
            with(json!([{"url": "url"}]), host)
                .unwrap_err()
                .contains("cannot be the header")
        );
    }

    #[test]
    fn file_that_is_not_a_plugin_is_refused() {
        let text = |bytes: &[u8]| {
            Package::parse(bytes.to_vec())
                .err()
                .map(|refusal| refusal.to_string())
        };
        assert!(
            text(b"\0asm\x01\0\0\0")
                .unwrap()
                .contains("not a WebAssembly component")
        );
        assert!(text(b"").unwrap().contains("not a WebAssembly component"));
        assert!(text(EMPTY).unwrap().contains("mindhost plugin pack"));
        let packed = pack(EMPTY, &manifest().to_string()).unwrap();
        assert!(
            text(&packed[..packed.len() - 3])
                .unwrap()
                .contains("cut off")
        );
    }

    #[test]
    fn imports_outside_the_agreed_set_are_refused_by_name() {
        assert!(check_import("wasi:http/outgoing-handler@0.2.4").is_ok());
        assert!(check_import("mindhost:plugin/log@0.1.0").is_ok());
        for name in [
            "wasi:http/types@0.3.0",
            "wasi:nn/graph@0.2.0",
            "mindhost:plugin/store@0.1.0",
            "env",
        ] {
            assert!(check_import(name).unwrap_err().to_string().contains(name));
        }
    }

    #[test]
    fn release_sorts_after_its_pre_release() {
        assert!(version_order("1.10.0") > version_order("1.9.0"));
        assert!(version_order("1.0.0") > version_order("1.0.0-rc.1"));
        assert!(version_order("1.0.0-rc.10") > version_order("1.0.0-rc.9"));
        for wrong in ["1.0", "1.0.0-", "01.0.0", "1.0.0-rc.01"] {
            assert_eq!(version_order(wrong), None, "{wrong}");
        }
    }
}
