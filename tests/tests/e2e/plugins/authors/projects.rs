//! What a new project brings beside the plugin: unit tests, types, and what a build server runs.

use std::{fs, path::Path, process::Output};

use mindhost_tests::{Project, build, expect_success};

use super::super::new::Engine;
use super::{Language, PYTHON, TYPESCRIPT, errors};

const LANGUAGES: [&str; 3] = ["javascript", "typescript", "python"];
/// The templates that are there in all languages.
const TEMPLATES: [&str; 5] = [
    "sql-http",
    "file-scanner",
    "rest-scanner",
    "echo-model",
    "streaming-model",
];

fn project(template: &str, language: &'static str) -> Project {
    let name = match template.ends_with("-model") {
        true => "parrot",
        false => "connector-space",
    };
    Project::of_template(name, template, language)
}

/// The unit tests of a project, in plain Node or Python.
fn unit_tests(project: &Project, language: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = match language {
        "python" => project.command("python3", &["-B", "-m", "unittest"]),
        _ => project.command(path(&build::node()), &["--test"]),
    };
    command.envs(variables.iter().copied()).output().unwrap()
}

/// The checker of types over a project.
fn types(project: &Project, language: &str) -> Output {
    let mut command = match language {
        "python" => project.command(
            path(&build::mypy()),
            &["--python-version", "3.10", "--cache-dir", "/dev/null"],
        ),
        _ => project.command(
            path(&build::node()),
            &["node_modules/typescript/lib/tsc.js"],
        ),
    };
    command.output().unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn replace(project: &Project, file: &str, right: &str, wrong: &str) {
    let path = project.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(right), "{file}: {right}");
    fs::write(path, text.replacen(right, wrong, 1)).unwrap();
}

#[test]
fn the_unit_tests_of_new_projects_pass_without_a_server() {
    for language in LANGUAGES {
        for template in TEMPLATES {
            let project = project(template, language);
            expect_success(
                &unit_tests(&project, language, &[]),
                &format!("{language} {template}"),
            );
        }
    }
}

#[test]
fn the_unit_tests_of_new_projects_in_rust_pass_without_a_server_and_fail_with_their_plugin() {
    for (template, file, right, wrong) in [
        (
            "sql-http",
            "src/lib.rs",
            "400 => ErrorKind::InvalidStatement",
            "400 => ErrorKind::Upstream",
        ),
        (
            "sql-tcp",
            "src/wire.rs",
            "\"timeout\" => ErrorKind::Timeout",
            "\"timeout\" => ErrorKind::Upstream",
        ),
        (
            "rest-scanner",
            "src/lib.rs",
            "{url}&after={cursor}",
            "{url}&before={cursor}",
        ),
        (
            "streaming-model",
            "src/chat.rs",
            "usage.completion_tokens),",
            "usage.prompt_tokens),",
        ),
    ] {
        let project = project(template, "rust");
        let cargo = || project.command("cargo", &["test", "--quiet"]);
        expect_success(&cargo().output().unwrap(), template);
        replace(&project, file, right, wrong);
        assert!(!cargo().output().unwrap().status.success(), "{template}");
    }
}

#[test]
fn the_unit_tests_of_new_projects_fail_with_their_plugin() {
    for (language, file) in [
        ("javascript", "plugin.js"),
        ("typescript", "plugin.ts"),
        ("python", "plugin.py"),
    ] {
        for (template, right, wrong) in [
            (
                "sql-http",
                "400: \"invalid-statement\"",
                "400: \"upstream\"",
            ),
            ("rest-scanner", "RETRIES = 4", "RETRIES = 0"),
            (
                "streaming-model",
                "429: \"rate-limited\"",
                "429: \"upstream\"",
            ),
        ] {
            let project = project(template, language);
            replace(&project, file, right, wrong);
            let failed = unit_tests(&project, language, &[]);
            assert!(!failed.status.success(), "{language} {template}");
        }
    }
}

#[test]
fn what_a_server_said_once_is_replayed_in_unit_tests() {
    for (template, variable, language) in [
        ("sql-http", "ENGINE", "javascript"),
        ("sql-http", "ENGINE", "python"),
        ("rest-scanner", "API", "javascript"),
        ("rest-scanner", "API", "python"),
    ] {
        let project = project(template, language);
        let fixtures = project.path().join("fixtures.json");
        let shipped = fs::read_to_string(&fixtures).unwrap();
        fs::remove_file(&fixtures).unwrap();
        let missing = unit_tests(&project, language, &[]);
        assert!(!missing.status.success());
        let told = format!(
            "{}{}",
            errors(&missing),
            String::from_utf8_lossy(&missing.stdout)
        );
        assert!(told.contains("RECORD_HTTP=1"), "{told}");

        let engine = Engine::start(&project.path());
        let real = [(variable, &*engine.told), ("RECORD_HTTP", "1")];
        expect_success(&unit_tests(&project, language, &real), "recording");
        drop(engine);
        expect_success(&unit_tests(&project, language, &[]), "replaying");
        let recorded = fs::read_to_string(&fixtures).unwrap();
        assert!(
            !recorded.contains("sesame") && !recorded.contains("127.0.0.1"),
            "{recorded}"
        );
        let version = |text: &str| match sqlite(text) {
            Some(version) => text.replace(version, ""),
            None => text.to_owned(),
        };
        assert_eq!(
            version(&recorded),
            version(&shipped),
            "{language} {template}: the fixtures of the template"
        );
    }
}

/// The version of SQLite in fixtures, which is that of the machine.
fn sqlite(fixtures: &str) -> Option<&str> {
    let (_, rest) = fixtures.split_once("\\\"version\\\": \\\"")?;
    Some(rest.split_once('\\')?.0)
}

#[test]
fn the_types_of_new_projects_are_right() {
    for language in ["typescript", "python"] {
        for template in TEMPLATES {
            let project = project(template, language);
            expect_success(
                &types(&project, language),
                &format!("{language} {template}"),
            );
        }
    }
    for language in [&TYPESCRIPT, &PYTHON] {
        let project = language.project();
        fs::remove_file(project.path().join(tests_of(language))).unwrap();
        if language.name == "python" {
            replace(
                &project,
                "pyproject.toml",
                "\"plugin.py\", \"test_plugin.py\"",
                "\"plugin.py\"",
            );
        }
        expect_success(&types(&project, language.name), language.name);
    }
}

#[test]
fn mistakes_in_types_are_found() {
    for (language, template, file, right, wrong, found) in [
        (
            "typescript",
            "file-scanner",
            "plugin.ts",
            "type: \"int64\"",
            "type: \"int\"",
            "'\"int\"' is not assignable",
        ),
        (
            "typescript",
            "file-scanner",
            "plugin.ts",
            "PluginError(\"upstream\"",
            "PluginError(\"up\"",
            "ErrorKind",
        ),
        (
            "typescript",
            "echo-model",
            "plugin.ts",
            "stop: \"end\"",
            "stop: \"ended\"",
            "is not assignable",
        ),
        (
            "typescript",
            "sql-http",
            "plugin.ts",
            "response.status",
            "response.state",
            "'state' does not exist",
        ),
        (
            "typescript",
            "file-scanner",
            "plugin.ts",
            "files.readLines(this.path).next()",
            "fetch(this.path)",
            "'fetch'",
        ),
        (
            "python",
            "echo-model",
            "plugin.py",
            "message.role == \"user\"",
            "message.rôle == \"user\"",
            "has no attribute",
        ),
        (
            "python",
            "echo-model",
            "plugin.py",
            "{\"stop\": \"end\"}",
            "{\"stop\": \"ended\"}",
            "Incompatible types in \"yield\"",
        ),
        (
            "python",
            "sql-http",
            "plugin.py",
            "response.status",
            "response.state",
            "has no attribute \"state\"",
        ),
        (
            "python",
            "file-scanner",
            "plugin.py",
            "primary_key=[\"name\"]",
            "primary_key=\"name\"",
            "incompatible type \"str\"",
        ),
        (
            "python",
            "file-scanner",
            "plugin.py",
            "\"diameter_km\", \"int64\"",
            "\"diameter_km\", \"int\"",
            "incompatible type \"Literal['int']\"",
        ),
        (
            "python",
            "file-scanner",
            "plugin.py",
            "PluginError(\"upstream\"",
            "PluginError(\"up\"",
            "incompatible type \"Literal['up']\"",
        ),
    ] {
        let project = project(template, language);
        replace(&project, file, right, wrong);
        let failed = types(&project, language);
        let told = String::from_utf8_lossy(&failed.stdout);
        assert!(
            !failed.status.success() && told.contains(found),
            "{language} {template} {wrong}: {told}"
        );
    }
}

fn tests_of(language: &Language) -> &'static str {
    match language.name {
        "python" => "test_plugin.py",
        _ => "plugin.test.js",
    }
}

/// The steps of the workflow for GitHub, in a shell, with the actions that only GitHub has left out.
#[test]
fn what_a_build_server_runs_passes() {
    for language in ["javascript", "typescript", "python", "rust"] {
        // Cargo takes what another test made of a project of the same name for that of this one.
        let project = Project::of_template("connector-served", "rest-scanner", language);
        let workflow =
            fs::read_to_string(project.path().join(".github/workflows/plugin.yml")).unwrap();
        let steps = steps(&workflow);
        assert!(steps.len() >= 4, "{workflow}");
        project.build();
        for step in &steps {
            let here = project.path().join(".mindhost/mindhost");
            let mut command = project.command("bash", &["-euo", "pipefail", "-c", step]);
            command.env("MINDHOST", &here);
            command.env(
                "URL_OF_MINDHOST",
                format!("file://{}", path(&build::host_binary())),
            );
            let done = command.output().unwrap();
            expect_success(&done, &format!("{language}: {step}"));
        }
        let report = fs::read_to_string(project.path().join("report.xml")).unwrap();
        assert!(report.contains("<testsuite"), "{report}");
        let get = steps.iter().find(|step| step.contains("curl")).unwrap();
        let mut first = project.command("bash", &["-euo", "pipefail", "-c", get]);
        let refused = first.env("URL_OF_MINDHOST", "").output().unwrap();
        assert!(
            errors(&refused).contains("set the variable URL_OF_MINDHOST"),
            "{}",
            errors(&refused)
        );
    }
}

/// What the steps of a workflow run.
fn steps(workflow: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut is_block = false;
    for line in workflow.lines() {
        let trimmed = line.trim_start().trim_start_matches("- ");
        let indent = line.len() - line.trim_start().len();
        if let Some(command) = trimmed.strip_prefix("run: ") {
            is_block = command == "|";
            steps.push(if is_block {
                String::new()
            } else {
                command.to_owned()
            });
        } else if is_block && indent >= 10 {
            let step = steps.last_mut().unwrap();
            step.push_str(line.trim());
            step.push('\n');
        } else {
            is_block = false;
        }
    }
    steps
}
