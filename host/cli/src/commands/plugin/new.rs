//! `mindhost plugin new`: a project that builds, passes the conformance kit and serves as it is.

mod files;
mod template;

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::commands::say::say;
use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};

use template::Template;

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The name of the plugin: lower-case letters, digits and `-`. A connector serves the engine of that name without
    /// the prefix `connector-`.
    name: String,
    /// The kind of plugin.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// What the project begins with. A template has a kind, so one of the two is enough.
    #[arg(long, value_enum)]
    template: Option<Template>,
    /// Its language.
    #[arg(long, value_enum)]
    language: Language,
    /// For Rust: the folder of the crate mindhost-sdk, such as `sdk/rust` in a checkout. The crate is not published yet,
    /// so a project without it does not build.
    #[arg(long, value_name = "FOLDER")]
    sdk: Option<PathBuf>,
    /// The folder to create; it must not exist. Default: the name of the plugin.
    #[arg(long, short)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A SQL engine.
    Connector,
    /// A source without SQL, which only returns rows.
    Scanner,
    /// A language model.
    Model,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    Javascript,
    Typescript,
    Python,
}

/// Names that cargo refuses for packages.
const RESERVED: &str = " abstract alloc as async await become box break const continue core crate do dyn else enum \
    extern false final fn for gen if impl in let loop macro match mod move mut override priv proc-macro pub ref return \
    self static std struct super test trait true try type typeof unsafe unsized use virtual where while yield ";

pub(super) fn run(new: &New) -> anyhow::Result<()> {
    check_name(&new.name)?;
    ensure!(
        new.sdk.is_none() || new.language == Language::Rust,
        "--sdk is for Rust; a project in another language has its SDK in its folder `mindhost`"
    );
    let template = Template::chosen(new.template, new.kind, new.language)?;
    let folder = new
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(&new.name));
    let words = words(new, template)?;
    fs::create_dir(&folder).with_context(|| {
        format!(
            "{}: choose a folder that does not exist yet, in one that does",
            folder.display()
        )
    })?;
    for (name, text) in files::templates(template, new.language) {
        write(&folder, name, &filled(text, &words))?;
    }
    write(&folder, "README.md", &filled(files::README, &words))?;
    write(&folder, "manifest.schema.json", files::MANIFEST_SCHEMA)?;
    write(&folder, "test.schema.json", files::TEST_SCHEMA)?;
    for (name, text) in files::sdk(new.language) {
        write(&folder.join("mindhost"), name, text)?;
    }
    say!(
        "made {}. Now:\n    cd {}\n    ./build.sh\n    ./test.sh",
        folder.display(),
        folder.display()
    );
    if needs_registry(new) {
        say!("{FROM_REGISTRY}");
    }
    Ok(())
}

/// The note for a Rust project that was created without `--sdk`.
const FROM_REGISTRY: &str = "The crate mindhost-sdk is not published yet, so this project does not build as it is. Check \
    out the repository of Mindhost, and name its folder sdk/rust: make the project with `--sdk FOLDER`, or write \
    `mindhost-sdk = { path = \"FOLDER\" }` in its Cargo.toml.";

fn needs_registry(new: &New) -> bool {
    new.language == Language::Rust && new.sdk.is_none()
}

/// Checks a name against the rules for plugins, engines and packages.
fn check_name(name: &str) -> anyhow::Result<()> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let valid = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(inside)
        && !name.ends_with('-')
        && name != "connector-";
    if !valid {
        bail!(
            "`{}` cannot be the name of a plugin; use lower-case letters, digits and `-`, at most 64, a letter first and \
             no `-` at the end",
            name.escape_debug().take(80).collect::<String>()
        );
    }
    ensure!(
        !RESERVED.contains(&format!(" {name} ")),
        "`{name}` is a Rust keyword; choose another name, such as `connector-{name}`"
    );
    ensure!(
        name != "mindhost-sdk",
        "`mindhost-sdk` is the crate that a plugin in Rust depends on; choose another name"
    );
    Ok(())
}

/// The placeholders of the templates.
fn words(new: &New, template: Template) -> anyhow::Result<Vec<(&'static str, String)>> {
    let engine = engine(&new.name);
    let (language, source, needs) = match new.language {
        Language::Rust => (
            "Rust",
            "src/lib.rs",
            "Building needs `rustup target add wasm32-wasip2` once.",
        ),
        Language::Javascript => (
            "JavaScript",
            "plugin.js",
            "Building needs Node 18 or newer, and Node 22 for the same bytes from every build.",
        ),
        Language::Typescript => (
            "TypeScript",
            "plugin.ts",
            "Building needs Node 18 or newer, Node 22 for the same bytes from every build, and the unit tests Node 22.18, which reads TypeScript.",
        ),
        Language::Python => (
            "Python",
            "plugin.py",
            "Building needs Python 3.10 or newer.",
        ),
    };
    let using = match template.kind() {
        Kind::Connector | Kind::Scanner => {
            format!("A datasource then uses it as the engine `{engine}`.")
        }
        Kind::Model => format!("A provider then uses it as the plugin `{}`.", new.name),
    };
    let filter = match new.language {
        Language::Rust | Language::Python => "filter_support",
        Language::Javascript | Language::Typescript => "filterSupport",
    };
    let tests = match new.language {
        Language::Rust => "cargo test",
        Language::Javascript | Language::Typescript => "node --test",
        Language::Python => "python3 -m unittest",
    };
    let more = match new.language {
        Language::Rust => "",
        Language::Javascript => "| `plugin.test.js` | unit tests, which need no server |\n",
        Language::Typescript => {
            "| `plugin.test.js` | unit tests, which need no server |\n\
             | `tsconfig.json` | what `npx tsc` checks: the types |\n"
        }
        Language::Python => {
            "| `test_plugin.py` | unit tests, which need no server |\n\
             | `pyproject.toml` | what `mypy` and `pyright` check: the types |\n"
        }
    };
    let packages = match template {
        Template::SqlTcp => {
            "      - run: sudo apt-get update && sudo apt-get install --yes clang llvm wasi-libc\n"
        }
        _ => "",
    };
    let from = match needs_registry(new) {
        true => format!(" {FROM_REGISTRY}"),
        false => String::new(),
    };
    let mut words = vec![
        ("{{about}}", files::about(template).to_owned()),
        ("{{name}}", new.name.clone()),
        ("{{engine}}", engine.to_owned()),
        ("{{title}}", title(engine)),
        ("{{crate}}", new.name.replace('-', "_")),
        ("{{language}}", language.to_owned()),
        ("{{source}}", source.to_owned()),
        ("{{needs}}", format!("{needs}{from}")),
        ("{{use}}", using),
        ("{{filter}}", filter.to_owned()),
        ("{{tests}}", tests.to_owned()),
        ("{{more}}\n", more.to_owned()),
        ("      {{packages}}\n", packages.to_owned()),
    ];
    words.extend(sdk_words(new, template)?);
    Ok(words)
}

fn engine(name: &str) -> &str {
    name.strip_prefix("connector-").unwrap_or(name)
}

/// The title of a name: `Open sea` for `open-sea`.
fn title(engine: &str) -> String {
    let text = engine.replace('-', " ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// The dependency of a Rust project on the SDK, and the path of the WIT in it for cargo-component.
fn sdk_words(new: &New, template: Template) -> anyhow::Result<Vec<(&'static str, String)>> {
    let features = match template {
        Template::SqlTcp => ", features = [\"tls\"]",
        _ => "",
    };
    let Some(sdk) = &new.sdk else {
        let version = format!("{:?}", env!("CARGO_PKG_VERSION"));
        let sdk = match features {
            "" => version,
            features => format!("{{ version = {version}{features} }}"),
        };
        return Ok(vec![("{{sdk}}", sdk), ("{{component}}", String::new())]);
    };
    let found = sdk
        .canonicalize()
        .with_context(|| format!("{}", sdk.display()))?;
    let manifest = fs::read_to_string(found.join("Cargo.toml")).unwrap_or_default();
    ensure!(
        manifest.contains("name = \"mindhost-sdk\""),
        "{}: this is not the folder of the crate mindhost-sdk; in the repository it is sdk/rust",
        sdk.display()
    );
    let world = match template.kind() {
        Kind::Connector => "sql-connector",
        Kind::Scanner => "scanner-connector",
        Kind::Model => "model-provider",
    };
    let text = |path: &Path| toml_string(&path.to_string_lossy());
    let mut component = format!(
        "[package.metadata.component.target]\npath = {}\nworld = \"{world}\"\n\n[package.metadata.component.target.dependencies]\n",
        text(&found.join("wit"))
    );
    for (package, folder) in wit_dependencies(&found.join("wit/deps"))? {
        let _ = writeln!(
            component,
            "{} = {{ path = {} }}",
            toml_string(&package),
            text(&folder)
        );
    }
    component.push('\n');
    Ok(vec![
        (
            "{{sdk}}",
            format!("{{ path = {}{features} }}", text(&found)),
        ),
        ("{{component}}", component),
    ])
}

/// The WIT packages that the contract uses, each with its folder, for cargo-component. Other tools find them by
/// themselves.
fn wit_dependencies(folder: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        for file in fs::read_dir(&path)? {
            let text = fs::read_to_string(file?.path())?;
            let named = text.lines().find_map(|line| line.strip_prefix("package "));
            if let Some((package, _)) = named.and_then(|name| name.split_once('@')) {
                found.push((package.to_owned(), path.clone()));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// A TOML string; JSON's syntax for strings is valid TOML.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn filled(template: &str, words: &[(&str, String)]) -> String {
    words
        .iter()
        .fold(template.to_owned(), |text, (word, value)| {
            text.replace(word, value)
        })
}

/// Writes a new file. Scripts are executable.
fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    let mode = if name.ends_with(".sh") { 0o777 } else { 0o666 };
    let written = || {
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        file.write_all(text.as_bytes())
    };
    written().with_context(|| format!("{}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_plugins_engines_and_packages_alike() {
        for name in ["space", "connector-space", "a1-b2"] {
            check_name(name).unwrap();
        }
        for name in [
            "",
            "Space",
            "1a",
            "-a",
            "a-",
            "a b",
            "../a",
            "a/b",
            "a_b",
            "ä",
            "test",
            "mindhost-sdk",
            "connector-",
            &"a".repeat(65),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
        let said = check_name("a-").unwrap_err().to_string();
        assert!(said.contains("no `-` at the end"), "{said}");
        assert_eq!(title(engine("connector-open-sea")), "Open sea");
    }

    #[test]
    fn a_template_has_a_kind_and_a_kind_has_a_template() {
        for kind in Kind::value_variants() {
            let default = Template::chosen(None, Some(*kind), Language::Python).unwrap();
            assert_eq!(default.kind(), *kind);
        }
        let refused = |template, kind, language| {
            let chosen = Template::chosen(Some(template), kind, language);
            chosen.unwrap_err().to_string()
        };
        let kind = refused(Template::SqlTcp, Some(Kind::Model), Language::Rust);
        assert!(kind.contains("of the kind `connector`"), "{kind}");
        let neither = Template::chosen(None, None, Language::Rust).unwrap_err();
        assert!(neither.to_string().contains("--kind scanner"), "{neither}");
        let language = refused(Template::SqlTcp, None, Language::Typescript);
        assert!(
            language.contains("no template `sql-tcp` in typescript"),
            "{language}"
        );
    }

    #[test]
    fn sdk_of_a_template_with_sockets_speaks_tls() {
        let new = New {
            name: "space".into(),
            kind: None,
            template: Some(Template::SqlTcp),
            language: Language::Rust,
            sdk: None,
            output: None,
        };
        let words = sdk_words(&new, Template::SqlTcp).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let sdk = format!("{{ version = \"{version}\", features = [\"tls\"] }}");
        assert_eq!(words[0], ("{{sdk}}", sdk));
    }

    #[test]
    fn every_placeholder_of_the_templates_is_known() {
        for template in Template::value_variants() {
            for language in template.languages() {
                let new = New {
                    name: "space".into(),
                    kind: None,
                    template: Some(*template),
                    language: *language,
                    sdk: None,
                    output: None,
                };
                let words = words(&new, *template).unwrap();
                let readme = filled(files::README, &words);
                assert_eq!(
                    readme.contains("--sdk FOLDER"),
                    *language == Language::Rust,
                    "{readme}"
                );
                let templates = files::templates(*template, *language);
                for (name, text) in templates.into_iter().chain([("README.md", files::README)]) {
                    // GitHub's own placeholders stay.
                    let text = filled(text, &words).replace("${{ ", "");
                    assert!(!text.contains("{{"), "{name}: {text}");
                }
            }
        }
    }

    #[test]
    fn cargo_component_is_told_of_every_package_that_the_contract_uses() {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/rust/wit");
        let known = wit_dependencies(&wit.join("deps")).unwrap();
        let mut used = Vec::new();
        for file in fs::read_dir(&wit).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "wit") {
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            let uses = text.lines().map(str::trim_start);
            let uses = uses.filter_map(|line| line.strip_prefix("use ")?.split_once('/'));
            used.extend(uses.map(|(package, _)| package.to_owned()));
        }
        assert!(!used.is_empty());
        for package in used {
            assert!(known.iter().any(|(one, _)| *one == package), "{package}");
        }
    }
}
