//! The files of new projects: the templates and SDKs of the repository at build time.

use super::{Kind, Language};

/// A file: its path in the project, and its text.
pub(super) type File = (&'static str, &'static str);

/// A list of files below a folder of `sdk`, by their path there. `path => name` gives one another name.
macro_rules! files {
    ($folder:literal: $($path:literal $(=> $name:literal)?),* $(,)?) => {
        &[$((
            files!(@name $path $($name)?),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/", $folder, "/", $path)),
        )),*]
    };
    (@name $path:literal) => { $path };
    (@name $path:literal $name:literal) => { $name };
}

/// The template of a README; `about` describes the kind.
pub(super) const README: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../sdk/templates/README.md"
));

/// The JSON schema of manifests, to which the manifest of a project points editors.
pub(super) const MANIFEST_SCHEMA: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../sdk/manifest.schema.json"
));

/// The README's text for a kind.
pub(super) fn about(kind: Kind) -> &'static str {
    let [(_, text)]: &[File; 1] = match kind {
        Kind::Connector => files!("templates/connector": "about.md"),
        Kind::Scanner => files!("templates/scanner": "about.md"),
        Kind::Model => files!("templates/model": "about.md"),
    };
    text
}

/// The files with placeholders.
pub(super) fn templates(kind: Kind, language: Language) -> Vec<File> {
    let tests = match language {
        Language::Javascript | Language::Typescript => unit_tests(kind),
        Language::Rust | Language::Python => &[],
    };
    [
        of_kind(kind),
        of_language(language),
        source(kind, language),
        tests,
    ]
    .concat()
}

/// The SDK that is a part of the project, below its folder `mindhost`; a project in Rust depends on a crate instead.
pub(super) fn sdk(language: Language) -> Vec<File> {
    match language {
        Language::Rust => Vec::new(),
        Language::Javascript | Language::Typescript => [JAVASCRIPT, WIT].concat(),
        Language::Python => [PYTHON, WIT].concat(),
    }
}

fn of_kind(kind: Kind) -> &'static [File] {
    match kind {
        Kind::Connector => {
            files!("templates/connector": "manifest.json", "test.json", "test.sh", "server.py", "fixtures.json")
        }
        Kind::Scanner => {
            files!("templates/scanner": "manifest.json", "test.json", "test.sh", "planets.jsonl")
        }
        Kind::Model => files!("templates/model": "manifest.json", "test.json", "test.sh"),
    }
}

fn of_language(language: Language) -> &'static [File] {
    match language {
        Language::Rust => files!("templates/rust":
            "Cargo.toml.in" => "Cargo.toml", "build.sh", "gitignore" => ".gitignore", "workflow.yml" => ".github/workflows/plugin.yml"),
        Language::Javascript => files!("templates/javascript":
            "package.json", "build.sh", "gitignore" => ".gitignore", "workflow.yml" => ".github/workflows/plugin.yml"),
        Language::Typescript => files!("templates/typescript":
            "package.json", "tsconfig.json", "build.sh", "gitignore" => ".gitignore", "workflow.yml" => ".github/workflows/plugin.yml"),
        Language::Python => files!("templates/python":
            "requirements.txt", "pyproject.toml", "build.sh", "gitignore" => ".gitignore",
            "workflow.yml" => ".github/workflows/plugin.yml"),
    }
}

/// The unit tests that plugins in JavaScript and TypeScript have in common.
fn unit_tests(kind: Kind) -> &'static [File] {
    match kind {
        Kind::Connector => files!("templates/connector": "plugin.test.js"),
        Kind::Scanner => files!("templates/scanner": "plugin.test.js"),
        Kind::Model => files!("templates/model": "plugin.test.js"),
    }
}

fn source(kind: Kind, language: Language) -> &'static [File] {
    match (language, kind) {
        (Language::Rust, Kind::Connector) => {
            files!("templates/rust/connector": "src/lib.rs", "src/lines.rs", "src/tests.rs")
        }
        (Language::Rust, Kind::Scanner) => files!("templates/rust/scanner": "src/lib.rs"),
        (Language::Rust, Kind::Model) => files!("templates/rust/model": "src/lib.rs"),
        (Language::Javascript, Kind::Connector) => {
            files!("templates/javascript/connector": "plugin.js")
        }
        (Language::Javascript, Kind::Scanner) => {
            files!("templates/javascript/scanner": "plugin.js")
        }
        (Language::Javascript, Kind::Model) => {
            files!("templates/javascript/model": "plugin.js")
        }
        (Language::Typescript, Kind::Connector) => {
            files!("templates/typescript/connector": "plugin.ts")
        }
        (Language::Typescript, Kind::Scanner) => {
            files!("templates/typescript/scanner": "plugin.ts")
        }
        (Language::Typescript, Kind::Model) => {
            files!("templates/typescript/model": "plugin.ts")
        }
        (Language::Python, Kind::Connector) => {
            files!("templates/python/connector": "plugin.py", "test_plugin.py")
        }
        (Language::Python, Kind::Scanner) => {
            files!("templates/python/scanner": "plugin.py", "test_plugin.py")
        }
        (Language::Python, Kind::Model) => {
            files!("templates/python/model": "plugin.py", "test_plugin.py")
        }
    }
}

const JAVASCRIPT: &[File] = files!("javascript":
    "build.mjs", "catalog.js", "connector.js", "console.js", "control.js", "entry.js", "error.js", "files.js",
    "globals.d.ts", "host.js", "http.js", "index.d.ts", "index.js", "json.js", "model.js", "rows.js",
    "runtime.mjs", "scanner.js", "sourcemap.mjs", "testing-fetch.mjs", "testing.d.ts", "testing.js", "text.js",
    "trace.js", "values.js", "wasi-host.js", "wasi-http.js", "wasi-wait.js", "wasi.js");

const PYTHON: &[File] = files!("python/mindhost":
    "__init__.py", "_host.py", "build.py", "catalog.py", "control.py", "errors.py", "http.py", "kinds.py", "log.py",
    "messages.py", "py.typed", "rows.py", "testing.py", "values.py", "glue/connector.py", "glue/connector_world.py",
    "glue/mindhost_output.py", "glue/mindhost_wasi.py", "glue/mindhost_wire.py", "glue/model.py",
    "glue/model_world.py", "glue/scanner.py", "glue/scanner_world.py", "glue/shared.py");

const WIT: &[File] = files!("wit":
    "worlds.wit" => "wit/worlds.wit",
    "deps/mindhost-plugin/catalog.wit" => "wit/deps/mindhost-plugin/catalog.wit",
    "deps/mindhost-plugin/connector.wit" => "wit/deps/mindhost-plugin/connector.wit",
    "deps/mindhost-plugin/model.wit" => "wit/deps/mindhost-plugin/model.wit",
    "deps/mindhost-plugin/scanner.wit" => "wit/deps/mindhost-plugin/scanner.wit",
    "deps/mindhost-plugin/types.wit" => "wit/deps/mindhost-plugin/types.wit",
    "deps/mindhost-plugin/worlds.wit" => "wit/deps/mindhost-plugin/worlds.wit",
    "deps/wasi-clocks/clocks.wit" => "wit/deps/wasi-clocks/clocks.wit",
    "deps/wasi-filesystem/filesystem.wit" => "wit/deps/wasi-filesystem/filesystem.wit",
    "deps/wasi-http/http.wit" => "wit/deps/wasi-http/http.wit",
    "deps/wasi-io/io.wit" => "wit/deps/wasi-io/io.wit");
