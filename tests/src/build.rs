//! Where the build has put what the tests run, and what to say when it has not.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

/// The target folder of the build that this program belongs to: `CARGO_TARGET_DIR`, or `target/` of the workspace.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace_dir().join(dir),
        None => workspace_dir().join("target"),
    }
}

/// The root of the repository.
pub fn workspace_dir() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// The server that was built in the same profile as the tests.
///
/// # Panics
/// When it is missing: cargo does not build it for this crate alone, `just test` does.
pub fn host_binary() -> PathBuf {
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    existing(
        target_dir().join(profile).join("mindhost"),
        "cargo build -p mindhost",
    )
}

/// The folder of packed plugins.
///
/// # Panics
/// When it is missing.
pub fn plugins_dir() -> PathBuf {
    existing(target_dir().join("plugins"), "just plugins")
}

/// A component that only tests load, from `tests/guests/<name>`.
///
/// # Panics
/// When it is missing.
pub fn guest(name: &str) -> PathBuf {
    existing(
        target_dir().join(format!("guests/guest-{name}.wasm")),
        "just test",
    )
}

/// The Python of the environment in which the unchanged clients are installed.
///
/// # Panics
/// When it is missing.
pub fn python() -> PathBuf {
    existing(target_dir().join("python/bin/python"), "just setup")
}

/// The Python that has the `openai` of the major version before.
///
/// # Panics
/// When it is missing.
pub fn python_openai2() -> PathBuf {
    existing(target_dir().join("python_openai2/bin/python"), "just setup")
}

/// The Python that has chDB, today's ClickHouse in a library.
///
/// # Panics
/// When it is missing.
pub fn chdb_python() -> PathBuf {
    existing(target_dir().join("chdb/bin/python"), "just setup")
}

/// The Python beside which componentize-py is installed, in the version that new projects name.
///
/// # Panics
/// When it is missing.
pub fn componentize_py() -> PathBuf {
    existing(
        target_dir().join("componentize_python/bin/python"),
        "just setup",
    )
}

/// The checker of types for Python.
///
/// # Panics
/// When it is missing.
pub fn mypy() -> PathBuf {
    existing(target_dir().join("mypy/bin/mypy"), "just setup")
}

/// The Node that the tests bring.
///
/// # Panics
/// When it is missing.
pub fn node() -> PathBuf {
    existing(target_dir().join("node/node"), "just setup")
}

/// The folder `node_modules` with componentize-qjs, esbuild and TypeScript, in the versions that new projects name.
///
/// # Panics
/// When it is missing.
pub fn componentize_qjs() -> PathBuf {
    existing(
        target_dir().join("componentize_node/node_modules"),
        "just setup",
    )
}

/// `tests/clients/go/pool.go`, compiled.
///
/// # Panics
/// When it is missing.
pub fn go_client() -> PathBuf {
    existing(target_dir().join("go/pool"), "just setup")
}

/// The fuzzer that reads OpenAPI documents.
///
/// # Panics
/// When it is missing.
pub fn schemathesis() -> PathBuf {
    existing(
        target_dir().join("schemathesis/bin/schemathesis"),
        "just setup",
    )
}

/// Runs a module with the Node and the packages of `tests/clients/node`; arguments are still to be added.
///
/// The module is read from standard input: then its imports are looked for in the working directory, where the
/// packages are, and nothing is installed among the sources.
///
/// # Panics
/// When something is missing.
pub fn node_script(module: &Path) -> Command {
    let folder = target_dir().join("node");
    let mut command = Command::new(existing(folder.join("node"), "just setup"));
    let module = File::open(module).expect("a module");
    command
        .current_dir(folder)
        .args(["--input-type=module", "-"])
        .stdin(module);
    command
}

fn existing(path: PathBuf, command: &str) -> PathBuf {
    assert!(
        path.exists(),
        "{} is missing; build it with `{command}`, or run everything with `just test`",
        path.display()
    );
    path
}
