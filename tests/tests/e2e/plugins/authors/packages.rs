//! The SDKs as they are published, and projects that have nothing else of this repository.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use mindhost_tests::{Project, Value, build, expect_success, json};
use tempfile::TempDir;

/// What `npm pack` makes is all that a project in JavaScript or TypeScript needs beside its tools.
#[test]
fn a_project_is_built_and_tested_with_the_package_for_javascript() {
    let packed = packed("javascript", "python3");
    let project = bare("javascript");
    let modules = project.path().join("node_modules");
    fs::create_dir(&modules).unwrap();
    for entry in fs::read_dir(build::componentize_qjs()).unwrap() {
        let tool = entry.unwrap().path();
        symlink(&tool, modules.join(tool.file_name().unwrap())).unwrap();
    }
    unpack(
        &packed.path().join("mindhost-sdk-0.1.0.tgz"),
        &modules.join("mindhost-sdk"),
    );
    for name in ["plugin.js", "plugin.test.js"] {
        let source = fs::read_to_string(project.path().join(name)).unwrap();
        let source = source.replace("./mindhost/index.js", "mindhost-sdk");
        let source = source.replace("./mindhost/testing.js", "mindhost-sdk/testing");
        fs::write(project.path().join(name), source).unwrap();
    }
    let tool = "node_modules/mindhost-sdk/build.mjs";
    let arguments = [tool, "plugin.js", "manifest.json", "component.wasm"];
    let built = project.command("node", &arguments).output().unwrap();
    expect_success(&built, "build.mjs");
    let node = build::node();
    let tested = project.command(node.to_str().unwrap(), &["--test"]);
    expect_success(&{ tested }.output().unwrap(), "node --test");
    answers(&project);
}

/// The types of the package are enough for TypeScript, with what javascript.md says of `tsconfig.json`.
#[test]
fn a_project_in_typescript_has_its_types_from_the_package() {
    let packed = packed("javascript", "python3");
    let project = bare("typescript");
    let modules = project.path().join("node_modules");
    fs::create_dir(&modules).unwrap();
    unpack(
        &packed.path().join("mindhost-sdk-0.1.0.tgz"),
        &modules.join("mindhost-sdk"),
    );
    let change = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(project.path().join(name)).unwrap();
        assert!(text.contains(from), "no `{from}` in {name}");
        fs::write(project.path().join(name), text.replace(from, to)).unwrap();
    };
    change("plugin.ts", "./mindhost/index.js", "mindhost-sdk");
    let types = ("\"types\": []", "\"types\": [\"mindhost-sdk/globals\"]");
    change("tsconfig.json", types.0, types.1);
    let files = (
        "[\"plugin.ts\", \"mindhost/globals.d.ts\"]",
        "[\"plugin.ts\"]",
    );
    change("tsconfig.json", files.0, files.1);
    let compiler = build::componentize_qjs().join("typescript/bin/tsc");
    let checked = || {
        let mut command = project.command(build::node().to_str().unwrap(), &[]);
        command.arg(&compiler).output().unwrap()
    };
    expect_success(&checked(), "tsc");
    let source = fs::read_to_string(project.path().join("plugin.ts")).unwrap();
    // One that there is, and one that there is not.
    let uses = "console.log(1);\nfetch(\"x\");\n";
    fs::write(project.path().join("plugin.ts"), source + uses).unwrap();
    let told = String::from_utf8(checked().stdout).unwrap();
    assert!(told.contains("Cannot find name 'fetch'"), "{told}");
    assert!(!told.contains("console"), "{told}");
}

/// So is the wheel of `python -m build`.
#[test]
fn a_project_is_built_and_tested_with_the_package_for_python() {
    let tools = build::componentize_py();
    let packed = packed("python", tools.to_str().unwrap());
    let project = bare("python");
    let run = |program: &str, arguments: &[&str]| {
        let output = project.command(program, arguments).output().unwrap();
        expect_success(&output, program);
        String::from_utf8(output.stdout).unwrap()
    };
    run("python3", &["-m", "venv", "--without-pip", ".venv"]);
    let wheel = packed.path().join("mindhost_sdk-0.1.0-py3-none-any.whl");
    let own = project.path().join(".venv/bin/python");
    // The environment of the tools installs it, since nothing is downloaded here.
    let installed = Command::new(&tools)
        .args(["-m", "pip", "--quiet", "--python"])
        .arg(&own)
        .args(["install", "--no-deps", "--no-index"])
        .arg(&wheel)
        .output()
        .unwrap();
    expect_success(&installed, "pip install");
    symlink(
        tools.with_file_name("componentize-py"),
        own.with_file_name("componentize-py"),
    )
    .unwrap();
    run(".venv/bin/mindhost-build", &["component.wasm"]);
    run(".venv/bin/python", &["-m", "unittest"]);
    answers(&project);
}

/// The packages have the version of the host, and the tools that new projects name.
#[test]
fn packages_agree_with_the_templates_and_the_host() {
    let read = |path: &str| fs::read_to_string(build::workspace_dir().join(path)).unwrap();
    let json = |path: &str| -> Value { serde_json::from_str(&read(path)).unwrap() };
    let package = json("sdk/packages/javascript/package.json");
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    let tools = &json("sdk/templates/javascript/package.json")["devDependencies"];
    assert_eq!(&package["peerDependencies"], tools);
    let package = read("sdk/packages/python/pyproject.toml");
    let tool = read("sdk/templates/python/requirements.txt");
    for words in [
        format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
        format!("dependencies = [\"{}\"]", tool.trim()),
    ] {
        assert!(package.contains(&words), "no `{words}` in\n{package}");
    }
}

/// The package of a language, in a folder of its own.
fn packed(language: &str, python: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let packed = Command::new(python)
        .arg("-B")
        .arg(build::workspace_dir().join("sdk/packages/pack.py"))
        .arg(language)
        .arg(folder.path())
        .output()
        .unwrap();
    expect_success(&packed, "pack.py");
    folder
}

/// A project without the SDK that `plugin new` puts into it.
fn bare(language: &'static str) -> Project {
    let project = Project::new("connector-space", "scanner", language);
    fs::remove_dir_all(project.path().join("mindhost")).unwrap();
    project
}

fn unpack(archive: &Path, folder: &PathBuf) {
    fs::create_dir(folder).unwrap();
    let unpacked = Command::new("tar")
        .args([
            "xzf",
            archive.to_str().unwrap(),
            "--strip-components=1",
            "-C",
        ])
        .arg(folder)
        .output()
        .unwrap();
    expect_success(&unpacked, "tar");
}

/// Packs the component of the project and asks it.
fn answers(project: &Project) {
    let host = build::host_binary();
    let host = host.to_str().unwrap();
    let pack = [
        "plugin",
        "pack",
        "component.wasm",
        "--manifest",
        "manifest.json",
        "--output",
        "space.wasm",
    ];
    expect_success(
        &project.command(host, &pack).output().unwrap(),
        "plugin pack",
    );
    let config = json!({"path": "planets.jsonl"}).to_string();
    let statement = "SELECT count(*) AS planets FROM planets";
    let run = [
        "plugin",
        "run",
        "space.wasm",
        "--config",
        &config,
        statement,
    ];
    let ran = project.command(host, &run).output().unwrap();
    expect_success(&ran, "plugin run");
    assert!(String::from_utf8(ran.stdout).unwrap().contains("\n8\n"));
}
