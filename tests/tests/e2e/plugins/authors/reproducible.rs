//! The same project becomes the same bytes: in a folder of another name, and when it is built again later.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use mindhost_tests::{Project, expect_success};

use super::{JAVASCRIPT, Language, PYTHON, TYPESCRIPT};

#[test]
fn a_plugin_in_javascript_is_built_to_the_same_bytes() {
    same_bytes(&JAVASCRIPT);
}

#[test]
fn a_plugin_in_typescript_is_built_to_the_same_bytes() {
    same_bytes(&TYPESCRIPT);
}

/// Two builds of the three that the other languages have: each takes half a minute.
#[test]
fn a_plugin_in_python_is_built_to_the_same_bytes() {
    let first = component(&PYTHON.project());
    let moved = PYTHON.project().moved("another/and longer");
    // What lies beside the sources, and what Python keeps of another run, is no part of the plugin.
    fs::create_dir(moved.path().join("__pycache__")).unwrap();
    fs::write(
        moved.path().join("__pycache__/plugin.cpython-314.pyc"),
        "old",
    )
    .unwrap();
    for name in [
        ".notes",
        "plugin.key",
        "plugin.key.pub",
        "report.xml",
        "build.log",
    ] {
        fs::write(moved.path().join(name), "mine").unwrap();
    }
    age(&moved.path());
    compare(&first, &component(&moved), "in another folder, later");
}

/// The SDK is in the project, as rust.md says. The other dependencies are compiled once, in the target folder that all
/// projects of the tests share.
#[test]
fn a_plugin_in_rust_is_built_to_the_same_bytes() {
    let project = || Project::new("connector-repeated", "scanner", "rust");
    let own_sdk = |project: Project| {
        let path = project.path().join("Cargo.toml");
        let manifest = fs::read_to_string(&path).unwrap();
        let sdk = manifest.split("mindhost-sdk = { path = \"").nth(1).unwrap();
        let sdk = sdk.split('"').next().unwrap();
        let copied = Command::new("cp")
            .args(["-R", sdk])
            .arg(project.path().join("mindhost-sdk"))
            .output()
            .unwrap();
        expect_success(&copied, "cp");
        fs::write(&path, manifest.replace(sdk, "mindhost-sdk")).unwrap();
        project
    };
    let first = component(&own_sdk(project()));
    let second = component(&own_sdk(project().moved("another/and longer")));
    compare(&first, &second, "in another folder");
    let place = b"mindhost-sdk/src/";
    assert!(
        first.windows(place.len()).any(|bytes| bytes == place),
        "a message of a panic has the place of the SDK"
    );
    assert!(
        !first.windows(5).any(|bytes| bytes == b"/tmp/"),
        "no folder of this machine"
    );
}

/// Three builds: the second in another folder, the third in the folder of the first, whose files are older by then.
fn same_bytes(language: &Language) {
    let project = language.project();
    let first = component(&project);
    let moved = language.project().moved("another/and longer");
    compare(&first, &component(&moved), "in another folder");
    age(&project.path());
    compare(&first, &component(&project), "later");
}

/// What `./build.sh` makes. [`Project::build`] would give what it has made before of the same files.
fn component(project: &Project) -> Vec<u8> {
    let output = project.script("build.sh").output().unwrap();
    expect_success(&output, "build.sh");
    let mut built = fs::read_dir(project.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
        .filter(|path| !path.ends_with("component.wasm"));
    fs::read(built.next().expect("a packed plugin")).unwrap()
}

/// Makes all files of a project a day older.
fn age(folder: &Path) {
    let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => age(&entry.path()),
            kind if kind.is_file() => File::open(entry.path())
                .and_then(|file| file.set_modified(yesterday))
                .unwrap(),
            // The packages that all tests share.
            _ => {}
        }
    }
}

#[track_caller]
fn compare(one: &[u8], other: &[u8], when: &str) {
    if one == other {
        return;
    }
    let at = one.iter().zip(other).position(|(one, other)| one != other);
    let at = at.unwrap_or_else(|| one.len().min(other.len()));
    panic!(
        "{when}: {} and {} bytes, which differ from byte {at} on, in {}",
        one.len(),
        other.len(),
        section(one, at)
    );
}

/// The names of modules' sections by their number.
const SECTIONS: [&str; 13] = [
    "custom",
    "type",
    "import",
    "function",
    "table",
    "memory",
    "global",
    "export",
    "start",
    "element",
    "code",
    "data",
    "data count",
];

/// The way to a byte of a component: `section 82 (module), section 9 (data)`.
fn section(wasm: &[u8], at: usize) -> String {
    let is_component = wasm.get(6) == Some(&1);
    let mut start = 8;
    let mut number = 0;
    while let Some((kind, body)) = header(wasm, start) {
        let end = body.1;
        if at < end {
            let name = match (is_component, kind) {
                (true, 1) => "module",
                (true, 4) => "component",
                (true, _) => "of the component",
                (false, kind) => SECTIONS
                    .get(usize::from(kind))
                    .copied()
                    .unwrap_or("unknown"),
            };
            let here = format!("section {number} ({name})");
            let is_nested = is_component && matches!(kind, 1 | 4) && at >= body.0;
            return match wasm.get(body.0..end) {
                Some(nested) if is_nested => {
                    format!("{here}, {}", section(nested, at - body.0))
                }
                _ => here,
            };
        }
        start = end;
        number += 1;
    }
    "no section".to_owned()
}

/// The kind of the section that starts here, and from where to where its body is.
fn header(wasm: &[u8], start: usize) -> Option<(u8, (usize, usize))> {
    let kind = *wasm.get(start)?;
    let mut size = 0;
    for (index, byte) in wasm.get(start + 1..)?.iter().take(5).enumerate() {
        size |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let body = start + 2 + index;
            return Some((kind, (body, body + size)));
        }
    }
    None
}
