//! What a component in Python has beside its own source: packages of one environment, and texts that are Unicode.

use std::{fs, os::unix, path::Path, process::Command};

use mindhost_tests::{Project, build, expect_success};

use super::errors;

#[test]
fn component_in_python_has_the_packages_of_its_environment_and_speaks_unicode() {
    let project = Project::of_template("parrot", "echo-model", "python");
    let environment = project.path().join(".venv");
    let python = environment.join("bin/python");
    let made = project
        .command("python3", &["-m", "venv", "--without-pip", ".venv"])
        .output()
        .unwrap();
    expect_success(&made, "python3 -m venv");
    let tool = build::componentize_py().with_file_name("componentize-py");
    unix::fs::symlink(tool, environment.join("bin/componentize-py")).unwrap();
    let asked = project
        .command(
            python.to_str().unwrap(),
            &[
                "-c",
                "import sysconfig; print(sysconfig.get_path('purelib'))",
            ],
        )
        .output()
        .unwrap();
    expect_success(&asked, "sysconfig");
    let packages = String::from_utf8(asked.stdout).unwrap();
    let package = Path::new(packages.trim()).join("parrot_words.py");
    fs::write(package, "WORDS = \"two words\"\n").unwrap();
    fs::write(project.path().join("plugin.py"), include_str!("parrot.py")).unwrap();
    let built = project
        .script("build.sh")
        .env("PYTHON", &python)
        .output()
        .unwrap();
    expect_success(&built, "build.sh");

    let ask = |question: &str| {
        Command::new(build::host_binary())
            .args(["plugin", "run"])
            .arg(project.path().join("parrot.wasm"))
            .args(["--config", r#"{"greeting": "Hello"}"#, question])
            .output()
            .unwrap()
    };
    let answered = ask("speak");
    expect_success(&answered, "plugin run");
    let said = String::from_utf8(answered.stdout).unwrap();
    assert_eq!(said.trim_end(), "two words \u{1f600} half \u{fffd}!");
    for (question, expected) in [
        ("refuse", "half \u{fffd}"),
        ("late", "import it at the top of plugin.py"),
    ] {
        let refused = ask(question);
        assert!(!refused.status.success(), "{question}");
        let told = errors(&refused);
        let last = told.trim_end().lines().last().unwrap_or_default();
        assert!(last.contains(expected), "no `{expected}` in\n{told}");
    }
    let manifest = project.path().join("manifest.json");
    let next = fs::read_to_string(&manifest).unwrap();
    fs::write(
        &manifest,
        next.replace(r#""version": "0.1.0""#, r#""version": "0.2.0""#),
    )
    .unwrap();
    let packed = Command::new(build::host_binary())
        .args([
            "plugin",
            "pack",
            "component.wasm",
            "--manifest",
            "manifest.json",
        ])
        .args(["--output", "parrot.wasm"])
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(!packed.status.success());
    let told = errors(&packed);
    let expected = "component.wasm: was built with the manifest of parrot 0.1.0 (model-provider), not with that of parrot 0.2.0";
    assert!(told.contains(expected), "{told}");
}

/// In less than a second, where a build takes many.
#[test]
fn mistakes_in_a_project_in_python_are_told_before_its_build() {
    let project = Project::of_template("parrot", "echo-model", "python");
    let failed = |file: &str, text: &str| {
        let path = project.path().join(file);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, text).unwrap();
        let output = project.script("build.sh").output().unwrap();
        fs::write(&path, before).unwrap();
        assert!(!output.status.success(), "{file}");
        errors(&output).trim_end().to_owned()
    };
    assert_eq!(
        failed("plugin.py", "class Plug: ...\n"),
        "plugin.py has no class `Plugin`"
    );
    assert_eq!(
        failed("manifest.json", "{\n  \"name\" 1\n}\n"),
        "manifest.json:2:10\n  \"name\" 1\n         ^ Expecting ':' delimiter"
    );
}

#[test]
fn environment_that_was_not_finished_is_installed_again() {
    let project = Project::of_template("parrot", "echo-model", "python");
    let build = |python: Option<&str>| {
        let mut build = project.script("build.sh");
        match python {
            Some(python) => build.env("PYTHON", python),
            None => build.env_remove("PYTHON"),
        };
        // No network.
        build
            .env("PIP_INDEX_URL", "http://127.0.0.1:9")
            .env("PIP_RETRIES", "0");
        errors(&build.output().unwrap())
    };
    for time in ["first", "second"] {
        let told = build(None);
        assert!(
            told.contains("No matching distribution found for componentize-py"),
            "{time}: {told}"
        );
    }
    // A Python of the author's own gets nothing from here.
    let told = build(Some("python3"));
    assert!(
        told.contains("componentize-py is not installed beside"),
        "{told}"
    );
}
