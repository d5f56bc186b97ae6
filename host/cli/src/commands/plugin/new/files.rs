//! The files of new projects: the templates and SDKs of the repository at build time.

use super::{Language, template::Template};

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

/// The JSON schema of `test.json`.
pub(super) const TEST_SCHEMA: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../sdk/test.schema.json"
));

/// The README's text for a template.
pub(super) fn about(template: Template) -> &'static str {
    let [(_, text)]: &[File; 1] = match template {
        Template::SqlHttp => files!("templates/sql-http": "about.md"),
        Template::SqlTcp => files!("templates/sql-tcp": "about.md"),
        Template::FileScanner => files!("templates/file-scanner": "about.md"),
        Template::RestScanner => files!("templates/rest-scanner": "about.md"),
        Template::EchoModel => files!("templates/echo-model": "about.md"),
        Template::StreamingModel => files!("templates/streaming-model": "about.md"),
    };
    text
}

/// The files with placeholders.
pub(super) fn templates(template: Template, language: Language) -> Vec<File> {
    let tests = match language {
        Language::Javascript | Language::Typescript => unit_tests(template),
        Language::Rust | Language::Python => &[],
    };
    [
        of_template(template),
        testing(template),
        of_language(language),
        source(template, language),
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

fn of_template(template: Template) -> &'static [File] {
    match template {
        Template::SqlHttp => {
            files!("templates/sql-http": "manifest.json", "test.json", "server.py", "fixtures.json")
        }
        Template::SqlTcp => {
            files!("templates/sql-tcp": "manifest.json", "test.json", "server.py")
        }
        Template::FileScanner => {
            files!("templates/file-scanner": "manifest.json", "test.json", "planets.jsonl")
        }
        Template::RestScanner => {
            files!("templates/rest-scanner": "manifest.json", "test.json", "server.py", "fixtures.json")
        }
        Template::EchoModel => files!("templates/echo-model": "manifest.json", "test.json"),
        Template::StreamingModel => {
            files!("templates/streaming-model": "manifest.json", "test.json", "server.py", "answer.txt")
        }
    }
}

/// How the conformance kit is run, and what the servers that it needs have in common.
fn testing(template: Template) -> &'static [File] {
    match template {
        Template::FileScanner | Template::EchoModel => files!("templates": "test.sh"),
        Template::SqlHttp | Template::SqlTcp => {
            files!("templates/loopback": "test.sh", "loopback.py", "planets.py")
        }
        Template::RestScanner | Template::StreamingModel => {
            files!("templates/loopback": "test.sh", "loopback.py")
        }
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
fn unit_tests(template: Template) -> &'static [File] {
    match template {
        Template::SqlHttp => files!("templates/sql-http": "plugin.test.js"),
        Template::SqlTcp => &[],
        Template::FileScanner => files!("templates/file-scanner": "plugin.test.js"),
        Template::RestScanner => files!("templates/rest-scanner": "plugin.test.js"),
        Template::EchoModel => files!("templates/echo-model": "plugin.test.js"),
        Template::StreamingModel => files!("templates/streaming-model": "plugin.test.js"),
    }
}

fn source(template: Template, language: Language) -> &'static [File] {
    match language {
        Language::Rust => rust(template),
        Language::Javascript => javascript(template),
        Language::Typescript => typescript(template),
        Language::Python => python(template),
    }
}

fn rust(template: Template) -> &'static [File] {
    match template {
        Template::SqlHttp => files!("templates/rust": "sql-http/src/lib.rs" => "src/lib.rs",
            "sql-http/src/tests.rs" => "src/tests.rs",
            "sql/cells.rs" => "src/cells.rs"),
        Template::SqlTcp => files!("templates/rust": "sql-tcp/src/lib.rs" => "src/lib.rs",
            "sql-tcp/src/wire.rs" => "src/wire.rs", "sql-tcp/src/tests.rs" => "src/tests.rs",
            "sql-tcp/config.toml" => ".cargo/config.toml", "sql/cells.rs" => "src/cells.rs"),
        Template::FileScanner => files!("templates/rust/file-scanner": "src/lib.rs"),
        Template::RestScanner => {
            files!("templates/rust/rest-scanner": "src/lib.rs", "src/tests.rs")
        }
        Template::EchoModel => files!("templates/rust/echo-model": "src/lib.rs"),
        Template::StreamingModel => {
            files!("templates/rust/streaming-model": "src/lib.rs", "src/chat.rs", "src/tests.rs")
        }
    }
}

fn javascript(template: Template) -> &'static [File] {
    match template {
        Template::SqlHttp => files!("templates/javascript/sql-http": "plugin.js"),
        Template::SqlTcp => &[],
        Template::FileScanner => files!("templates/javascript/file-scanner": "plugin.js"),
        Template::RestScanner => files!("templates/javascript/rest-scanner": "plugin.js"),
        Template::EchoModel => files!("templates/javascript/echo-model": "plugin.js"),
        Template::StreamingModel => files!("templates/javascript/streaming-model": "plugin.js"),
    }
}

fn typescript(template: Template) -> &'static [File] {
    match template {
        Template::SqlHttp => files!("templates/typescript/sql-http": "plugin.ts"),
        Template::SqlTcp => &[],
        Template::FileScanner => files!("templates/typescript/file-scanner": "plugin.ts"),
        Template::RestScanner => files!("templates/typescript/rest-scanner": "plugin.ts"),
        Template::EchoModel => files!("templates/typescript/echo-model": "plugin.ts"),
        Template::StreamingModel => files!("templates/typescript/streaming-model": "plugin.ts"),
    }
}

fn python(template: Template) -> &'static [File] {
    match template {
        Template::SqlHttp => {
            files!("templates/python/sql-http": "plugin.py", "test_plugin.py")
        }
        Template::SqlTcp => &[],
        Template::FileScanner => {
            files!("templates/python/file-scanner": "plugin.py", "test_plugin.py")
        }
        Template::RestScanner => {
            files!("templates/python/rest-scanner": "plugin.py", "test_plugin.py")
        }
        Template::EchoModel => {
            files!("templates/python/echo-model": "plugin.py", "test_plugin.py")
        }
        Template::StreamingModel => {
            files!("templates/python/streaming-model": "plugin.py", "test_plugin.py")
        }
    }
}

const JAVASCRIPT: &[File] = files!("javascript":
    "build.mjs", "catalog.js", "connector.js", "console.js", "control.js", "dev.mjs", "entry.js", "error.js",
    "files.js", "globals.d.ts", "host.js", "http.js", "index.d.ts", "index.js", "json-values.js", "json.js",
    "late-host.js", "late.js", "model.js", "rows.js", "runtime.mjs", "scanner.js", "sourcemap.mjs",
    "testing-fetch.mjs", "testing.d.ts", "testing.js", "text.js", "trace.js", "values.js", "wasi-host.js",
    "wasi-http.js", "wasi-wait.js", "wasi.js");

const PYTHON: &[File] = files!("python/mindhost":
    "__init__.py", "_dev.py", "_events.py", "_host.py", "_json_values.py", "_output.py", "_stage.py", "_texts.py",
    "build.py", "catalog.py", "constant.c", "control.py", "errors.py", "http.py", "kinds.py", "log.py",
    "messages.py", "py.typed", "rows.py", "testing.py", "values.py", "glue/connector.py", "glue/connector_world.py",
    "glue/mindhost_late.py", "glue/mindhost_library.py", "glue/mindhost_output.py", "glue/mindhost_wasi.py",
    "glue/mindhost_wire.py", "glue/model.py", "glue/model_world.py", "glue/scanner.py", "glue/scanner_world.py",
    "glue/shared.py");

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
