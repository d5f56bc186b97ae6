//! Plugins tried and tested by themselves: `mindhost plugin run`, `test` and `replay`.

mod broken;
mod kept;
mod observed;
mod replayed;
mod scale;
mod standalone;

use std::{
    path::Path,
    process::{Command, Output},
};

use mindhost_tests::{Value, build};

/// `mindhost plugin {args}` in a directory, with no setting of the caller's.
fn plugin(dir: &Path, args: &[&str]) -> Output {
    let output = command(dir, args).output();
    output.expect("the program of the build")
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(build::host_binary());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MINDHOST_") {
            command.env_remove(name);
        }
    }
    command.arg("plugin").args(args).current_dir(dir);
    command
}

/// As [`plugin`], without holding up the test's other tasks.
pub async fn plugin_async(dir: &Path, args: &[&str]) -> Output {
    let (dir, args) = (dir.to_owned(), args.iter().map(|arg| (*arg).to_owned()));
    let args: Vec<String> = args.collect();
    let run = move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        plugin(&dir, &args)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A packed plugin of the build.
fn built(name: &str) -> String {
    let file = build::plugins_dir().join(format!("{name}.wasm"));
    file.to_string_lossy().into_owned()
}

/// A directory with a small SQLite database and a configuration for it.
fn shop() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(dir.path().join("shop.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, photo BLOB);
             INSERT INTO item VALUES (1, 'tea', 2.5, x'00ff'), (2, 'salt', NULL, NULL), (3, 'it''s', 1.0, x'');
             CREATE TABLE note (item INTEGER REFERENCES item (id), text TEXT);
             INSERT INTO note VALUES (1, 'green'), (3, 'rare');
             CREATE VIEW cheap AS SELECT id, name FROM item WHERE price < 2;",
        )
        .unwrap();
    let change = "import sqlite3; c = sqlite3.connect('shop.db'); c.execute(\\\"INSERT INTO note VALUES (2, 'new')\\\"); c.commit()";
    let config = format!(
        "[connection_data]\npath = \"shop.db\"\n\n[tests]\nchange = [\"python3\", \"-c\", \"{change}\"]\nobserve = \"SELECT count(*) FROM note\"\n"
    );
    std::fs::write(dir.path().join("conformance.toml"), config).unwrap();
    dir
}

/// Writes a configuration and gives its name.
pub fn config(dir: &Path, content: &Value) -> &'static str {
    const NAME: &str = "config.json";
    std::fs::write(dir.join(NAME), content.to_string()).unwrap();
    NAME
}
