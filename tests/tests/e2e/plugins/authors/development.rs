//! The builds of `mindhost plugin dev`: the engine is built once, and the plugin's code is put into it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use mindhost_tests::{Project, build, expect_success, json};

use super::{JAVASCRIPT, Language, PYTHON, TYPESCRIPT, errors, serve};

#[tokio::test]
async fn a_development_build_in_javascript_is_the_plugin_with_its_lines() {
    develops(&JAVASCRIPT, "if (name === \"broken\")", "  tables()").await;
}

#[tokio::test]
async fn a_development_build_in_typescript_is_the_plugin_with_its_lines() {
    develops(&TYPESCRIPT, "if (name === \"broken\")", "  tables()").await;
}

#[tokio::test]
async fn a_development_build_in_python_is_the_plugin_with_its_lines() {
    develops(&PYTHON, "total([\"one\"])", "    def tables(self)").await;
}

/// Two builds: the second one has a comment more, which moves the lines.
async fn develops(language: &Language, failing: &str, moved: &str) {
    let project = language.project();
    let (url, _) = serve().await;
    let (file, source) = language.files[0];
    let line = language.line(0, failing);
    let comment = if language.name == "python" { "#" } else { "//" };

    let published = project.path().join("component.wasm");
    fs::write(&published, "published").unwrap();
    let first = run(&project, &url, "SELECT max(n) AS n FROM items").await;
    assert!(first.0.contains("n\n-\n3\n"), "{first:?}");
    let engines = made(&project);
    assert_eq!(engines.len(), 1, "{engines:?}");
    let written = fs::metadata(&engines[0]).unwrap().modified().unwrap();

    let longer = source.replacen(
        moved,
        &format!("{comment} One more line: \u{1f600}\n{moved}"),
        1,
    );
    fs::write(project.path().join(file), longer).unwrap();
    let (_, told) = run(&project, &url, "SELECT * FROM broken").await;
    let place = match language.name {
        "python" => format!("File \"{file}\", line {}, in scan", line + 1),
        _ => format!("at scan ({file}:{}:", line + 1),
    };
    assert!(told.contains(&place), "no `{place}` in\n{told}");
    assert_eq!(made(&project), engines);
    let again = fs::metadata(&engines[0]).unwrap().modified().unwrap();
    assert_eq!(again, written, "the engine is not built again");
    assert_eq!(fs::read_to_string(published).unwrap(), "published");
}

/// Builds the project as `plugin dev` does, and runs a statement. Gives what came and what was said.
async fn run(project: &Project, url: &str, statement: &str) -> (String, String) {
    let folder = folder(project);
    let mut build = project.script("build.sh");
    let built = build.env("DEV_OF_MINDHOST", &folder).output().unwrap();
    expect_success(&built, "build.sh");
    let mut command = Command::new(build::host_binary());
    command
        .args(["plugin", "run"])
        .arg(folder.join("connector-items.wasm"))
        .args(["--config", &json!({"url": url}).to_string(), statement])
        .env("MINDHOST_PLUGINS__COMPILER", "winch");
    // The test's own runtime serves at the same time.
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let rows = String::from_utf8(output.stdout.clone()).unwrap();
    (rows, errors(&output))
}

fn folder(project: &Project) -> PathBuf {
    project.path().join(".mindhost")
}

/// The components without a plugin.
fn made(project: &Project) -> Vec<PathBuf> {
    let of_plugin = ["connector-items.wasm", "component.wasm"];
    let is_engine = |path: &Path| !of_plugin.iter().any(|name| path.ends_with(name));
    let entries = fs::read_dir(folder(project)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| is_engine(path)).collect()
}
