//! The rules of the repository that no compiler knows, so that nobody has to remember them.

mod promises;

use std::{collections::BTreeSet, path::Path, process::Command};

use crate::build::workspace_dir;

/// A file of the repository: its path from the root, and its text where it is text.
struct File {
    path: String,
    text: String,
}

/// Everything that is committed or would be.
fn files() -> Vec<File> {
    let root = workspace_dir();
    let list = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .expect("git lists the files; install git");
    assert!(
        list.status.success(),
        "{}",
        String::from_utf8_lossy(&list.stderr)
    );
    let paths = String::from_utf8(list.stdout).expect("paths in UTF-8");
    // A file that was deleted and not committed yet is still listed.
    let read = |path: &str| {
        Some(File {
            path: path.to_owned(),
            text: text(&root.join(path))?,
        })
    };
    paths.lines().filter_map(read).collect()
}

fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8(bytes).unwrap_or_default())
}

fn sources() -> Vec<File> {
    files()
        .into_iter()
        .filter(|file| file.path.ends_with(".rs"))
        .collect()
}

/// Lines of code that hold one of the words, as `path:line: text`; comments are not code, and unit tests may do more.
fn uses(files: &[File], words: &[&str], home: impl Fn(&str) -> bool) -> Vec<String> {
    let others = files
        .iter()
        .filter(|file| is_host_source(&file.path) && !home(&file.path))
        .filter(|file| !belongs_to(&file.path, "tests"));
    let lines = others.flat_map(|file| {
        let code = file.text.split("\n#[cfg(test)]\nmod ").next();
        (1..)
            .zip(code.unwrap_or_default().lines())
            .map(move |(number, line)| (file, number, line))
    });
    lines
        .filter(|(_, _, line)| {
            !line.trim_start().starts_with("//") && words.iter().any(|word| line.contains(word))
        })
        .map(|(file, number, line)| format!("{}:{number}: {}", file.path, line.trim()))
        .collect()
}

/// True for `host/<crate>/src/…`.
fn is_host_source(path: &str) -> bool {
    let below = path
        .strip_prefix("host/")
        .and_then(|path| path.split_once('/'));
    below.is_some_and(|(_, path)| path.starts_with("src/"))
}

/// True when a file is `<name>.rs` or lies below a folder `<name>`.
fn belongs_to(path: &str, name: &str) -> bool {
    Path::new(path)
        .with_extension("")
        .components()
        .any(|part| part.as_os_str() == name)
}

#[track_caller]
fn nothing(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}\n{}", found.join("\n"));
}

#[test]
fn the_top_level_is_closed() {
    const ALLOWED: &[&str] = &[
        "Cargo.toml",
        "Cargo.lock",
        "host",
        "wit",
        "plugins",
        "sdk",
        "tests",
        "justfile",
        "README.md",
        "LICENSE",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "rust-toolchain.toml",
    ];
    let top: BTreeSet<String> = files()
        .iter()
        .filter_map(|file| file.path.split('/').next().map(str::to_owned))
        .collect();
    let others = top
        .into_iter()
        .filter(|name| !name.starts_with('.') && !ALLOWED.contains(&name.as_str()));
    nothing(
        others.collect(),
        "the top level holds what README.md names, and nothing else:",
    );
}

#[test]
fn each_library_has_one_home() {
    let files = sources();
    let sqlx = uses(&files, &["sqlx::"], |path| {
        belongs_to(path, "store") || path == "host/plugins/src/active.rs"
    });
    nothing(sqlx, "sqlx is named in store files only:");
    let environment = uses(&files, &["env::var", "env::vars"], |path| {
        // The demo starts a server as a person would, in an environment of its own.
        belongs_to(path, "config") || path.starts_with("host/demo/")
    });
    nothing(
        environment,
        "the environment is read in config and in the demo only:",
    );
}

#[test]
fn what_is_remembered_changes_through_the_store() {
    // These write records, keys or facts, nothing of which is ever remembered by `store::ReadCache`.
    const RECORDS: &[&str] = &[
        "host/answers/src/answering/",
        "host/core/src/audit/",
        "host/core/src/auth/",
        "host/answers/src/conversations/",
        "host/core/src/rollouts/",
        "host/store/src/facts.rs",
        "host/core/src/workspaces/",
        // The progress of a run.
        "host/catalog/src/store/runs.rs",
        "host/catalog/src/store/write.rs",
        "host/catalog/src/store/fixture.rs",
    ];
    let is_record = |path: &str| RECORDS.iter().any(|record| path.starts_with(record));
    let past = uses(
        &sources(),
        &[
            ".execute(store.pool())",
            ".execute(self.pool())",
            ".execute(self.store.pool())",
        ],
        is_record,
    );
    nothing(
        past,
        "a statement that changes what there is goes through Store::change or Store::begin:",
    );
    let records = uses(&sources(), &[".begin_records()"], |path| {
        let others = [
            "host/answers/src/conversations.rs",
            "host/answers/src/feedback/",
            "host/answers/src/idempotency/",
            "host/core/src/usage/",
            "host/store/src/",
        ];
        is_record(path) || others.iter().any(|other| path.starts_with(other))
    });
    nothing(
        records,
        "only records are written with Store::begin_records:",
    );
}

#[test]
fn each_promise_has_its_test_and_each_attack_its_promise() {
    let page = text(&workspace_dir().join(promises::PAGE)).expect(promises::PAGE);
    let written: BTreeSet<String> = sources()
        .iter()
        .flat_map(|file| promises::written(&file.path, &file.text))
        .collect();
    nothing(
        promises::broken(&page, &written),
        "the threat model and the tests name each other:",
    );
}

#[test]
fn each_file_of_attacks_is_compiled() {
    let folder = workspace_dir().join("tests/tests/e2e");
    let modules = text(&folder.join("attacks.rs")).expect("attacks.rs");
    let files = std::fs::read_dir(folder.join("attacks")).expect("attacks");
    let files = files.map(|entry| entry.expect("a file").path());
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let is_missing = |name: &String| !modules.contains(&format!("\nmod {name};"));
    nothing(
        names.filter(is_missing).collect(),
        "tests/tests/e2e/attacks.rs has no `mod` for:",
    );
}

#[test]
fn no_file_is_too_long_to_be_one_idea() {
    let long = sources()
        .into_iter()
        .filter(|file| file.text.lines().count() > 600);
    nothing(
        long.map(|file| file.path).collect(),
        "more than 600 lines; split along what it says:",
    );
}

#[test]
fn nothing_is_left_over() {
    // Written in two halves, so that this file does not find itself.
    let words = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("#[ign", "ore"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    // The hashes in a lock file may spell anything.
    let written = files()
        .into_iter()
        .filter(|file| !file.path.ends_with("package-lock.json"));
    let found = written.flat_map(|file| {
        let lines = (1..).zip(file.text.lines().map(str::to_owned));
        let hits = lines.filter(|(_, line)| words.iter().any(|word| line.contains(word)));
        hits.map(|(number, line)| format!("{}:{number}: {}", file.path, line.trim()))
            .collect::<Vec<_>>()
    });
    nothing(found.collect(), "left over:");
}

#[test]
fn the_readme_shows_the_plugin_that_is_built() {
    let root = workspace_dir();
    let readme = text(&root.join("README.md")).expect("README.md");
    let example = text(&root.join("sdk/rust/examples/model-echo/lib.rs")).expect("the example");
    // Its first line says what the file is; the README says it in prose.
    let code = example.split_once("\n\n").map_or("", |(_, code)| code);
    assert!(
        readme.contains(code),
        "copy sdk/rust/examples/model-echo/lib.rs into README.md"
    );
}

#[test]
fn each_plugin_says_what_it_takes() {
    let files = files();
    let has = |path: String| files.iter().any(|file| file.path == path);
    let plugins = files.iter().filter_map(|file| {
        file.path
            .strip_prefix("plugins/")?
            .strip_suffix("/Cargo.toml")
    });
    let silent = plugins.filter(|plugin| !has(format!("plugins/{plugin}/README.md")));
    nothing(
        silent.map(str::to_owned).collect(),
        "a plugin without a README.md that says its connection_data, types and limits:",
    );
}

#[test]
fn nothing_is_committed_that_a_run_has_made() {
    let endings = [
        ".db", ".db-wal", ".db-shm", ".key", ".wasm", ".cwasm", ".log",
    ];
    let made = files()
        .into_iter()
        // Those of the museum cannot be made again: their SDK is of the past.
        .filter(|file| !file.path.starts_with("tests/museum/"))
        .filter(|file| endings.iter().any(|ending| file.path.ends_with(ending)));
    nothing(
        made.map(|file| file.path).collect(),
        "made by a run, not by a person:",
    );
}

#[test]
fn both_stores_have_the_same_migrations() {
    let names = |engine: &str| -> BTreeSet<String> {
        let folder = format!("host/store/migrations/{engine}/");
        files()
            .iter()
            .filter_map(|file| file.path.strip_prefix(&folder).map(str::to_owned))
            .collect()
    };
    assert_eq!(
        names("sqlite"),
        names("postgres"),
        "a migration for one store is missing for the other"
    );
}

#[test]
fn a_released_wit_never_changes() {
    let wit = workspace_dir().join("wit");
    let released = std::fs::read_dir(wit.join("released")).expect("wit/released");
    let lists = released.map(|entry| text(&entry.expect("a list").path()).expect("a list"));
    let lists: Vec<String> = lists.collect();
    let sums: Vec<(&str, &str)> = lists
        .iter()
        .flat_map(|list| list.lines())
        .filter_map(|line| line.split_once("  "))
        .collect();
    let changed = sums.iter().filter(|(sum, path)| {
        let content = std::fs::read(wit.join(path)).unwrap_or_default();
        sum256(&content) != *sum
    });
    nothing(
        changed.map(|(_, path)| format!("wit/{path}")).collect(),
        "a released file of the contract has changed; see CONTRIBUTING.md:",
    );
    let unknown = files().into_iter().filter(|file| {
        let path = file
            .path
            .strip_prefix("wit/")
            .filter(|path| path.ends_with(".wit"));
        path.is_some_and(|path| sums.iter().all(|(_, listed)| *listed != path))
    });
    nothing(
        unknown.map(|file| file.path).collect(),
        "in no list of wit/released; CONTRIBUTING.md says how a file gets there:",
    );
}

fn sum256(content: &[u8]) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
