//! `sdk/docs/guide.md`, done as it says: every block of it, in its order, against a real server.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use mindhost_tests::{build, expect_success, free_port};
use tempfile::TempDir;

/// What stands between the outputs of two blocks.
const MARK: &str = "---- end of a block ----";

/// A fenced block of the page.
struct Block<'a> {
    /// `sh`, `text`, `rust file=src/lib.rs`
    kind: &'a str,
    text: &'a str,
}

#[test]
fn the_guide_works_as_it_stands() {
    let page = std::fs::read_to_string(build::workspace_dir().join("sdk/docs/guide.md")).unwrap();
    let blocks: Vec<_> = blocks(&page).collect();
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("guide.sh");
    std::fs::write(&script, as_script(&blocks)).unwrap();
    let output = run(&script, folder.path());
    expect_success(&output, "the guide");
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut outputs = printed.split(MARK);
    let mut last = "";
    for block in &blocks {
        match block.kind {
            "sh" => last = outputs.next().unwrap(),
            "text" => {
                for line in block.text.lines() {
                    assert!(last.contains(line), "no line `{line}` in\n{last}");
                }
            }
            _ => {}
        }
    }
}

/// The blocks, in their order.
fn blocks(page: &str) -> impl Iterator<Item = Block<'_>> {
    // A page is text and blocks in turn, divided by lines that begin with three back-ticks.
    page.split("\n```").skip(1).step_by(2).map(|block| {
        let (kind, text) = block.split_once('\n').unwrap();
        Block { kind, text }
    })
}

/// One script of all that is to be done: a block goes on where the one before stopped.
fn as_script(blocks: &[Block<'_>]) -> String {
    let mut script = String::from("set -euo pipefail\n");
    // Whatever goes wrong, nothing that the page starts is left behind.
    script += r#"trap 'status=$?; set +e; kill $(jobs -p) 2> /dev/null; redis-cli -p "$PORT" -a "open sesame" shutdown nosave > /dev/null 2>&1; exit $status' EXIT"#;
    script += "\n";
    for Block { kind, text } in blocks {
        if *kind == "sh" {
            script += &format!("{text}\necho '{MARK}'\n");
        } else if let Some((_, file)) = kind.split_once(" file=") {
            script += &format!("cat > {file} <<'END OF THE FILE'\n{text}\nEND OF THE FILE\n");
        } else {
            assert_eq!(*kind, "text", "a block that is neither run nor compared");
        }
    }
    script
}

fn run(script: &Path, folder: &Path) -> std::process::Output {
    let binaries = build::host_binary();
    let usual = std::env::var("PATH").unwrap();
    let mut command = Command::new("setsid");
    command
        .arg("--wait")
        .arg("bash")
        .arg(script)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env(
            "PATH",
            format!("{}:{usual}", binaries.parent().unwrap().display()),
        )
        .env("SDK", build::workspace_dir().join("sdk/rust"))
        .env(
            "CARGO_TARGET_DIR",
            build::target_dir().join("projects/rust"),
        )
        .env("PORT", free_port().to_string())
        .env("LISTEN", format!("127.0.0.1:{}", free_port()));
    command.output().unwrap()
}
