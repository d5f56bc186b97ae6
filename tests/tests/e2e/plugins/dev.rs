//! `mindhost plugin dev`: a project is built, run and tested on each save.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Command,
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use mindhost_tests::{Process, Version, build, json, spawn};
use rustix::process::Signal;

/// How long a build, a run and a test may take together on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// `mindhost plugin dev` in a project, with what it says.
struct Dev {
    process: Process,
    lines: Receiver<String>,
}

impl Dev {
    fn start(project: &std::path::Path, args: &[&str]) -> Self {
        let (hears, says) = std::io::pipe().expect("a pipe");
        let errors = says.try_clone().expect("the pipe once more");
        let process = spawn(build::host_binary(), |command| {
            command
                .args(["plugin", "dev"])
                .args(args)
                .current_dir(project)
                .env("MINDHOST_DATA_DIR", project.join(".data"))
                .stdout(says)
                .stderr(errors);
        });
        let (tells, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(hears).lines().map_while(Result::ok) {
                let _ = tells.send(line);
            }
        });
        Self { process, lines }
    }

    /// What it says up to a line with these words.
    fn until(&self, words: &str) -> String {
        let (end, mut said) = (Instant::now() + PATIENCE, String::new());
        while !said.contains(words) {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => said = format!("{said}{line}\n"),
                Err(_) => panic!("`{words}` was not said: {said}"),
            }
        }
        said
    }
}

/// A project whose build copies a plugin that is there.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let at = |name: &str| project.path().join(name);
    let manifest = build::workspace_dir().join("plugins/connector-files/manifest.json");
    fs::copy(manifest, at("manifest.json")).unwrap();
    let version = Version::of_plugin("connector-files", "0.4.1");
    fs::write(at("made.bin"), version.bytes()).unwrap();
    fs::write(
        at("build.sh"),
        "set -e; grep -q right source.txt; cp made.bin connector-files.wasm",
    )
    .unwrap();
    fs::write(at("source.txt"), "right\n").unwrap();
    fs::create_dir(at("sales")).unwrap();
    fs::write(at("sales/item.csv"), "id,name\n1,tea\n2,salt\n").unwrap();
    let test = json!({"connection_data": {"path": "sales"}, "tests": {"table": "files.item"}});
    fs::write(at("test.json"), test.to_string()).unwrap();
    project
}

#[test]
fn a_save_builds_runs_and_tests_again() {
    let project = project();
    let source = project.path().join("source.txt");
    let dev = Dev::start(project.path(), &[]);
    let first = dev.until("waiting ");
    for words in [
        "built ",
        "1   tea",
        "plan     scan of files.item: columns id, name; at most 20 rows; 2 rows, ",
        "result ",
        "keeps the contract",
        "tested ",
    ] {
        assert!(first.contains(words), "{words}: {first}");
    }
    fs::write(&source, "wrong\n").unwrap();
    let broken = dev.until("waiting ");
    assert!(broken.contains("failed   `sh build.sh`"), "{broken}");
    fs::write(project.path().join("sales/item.csv"), "id,name\n7,rice\n").unwrap();
    fs::write(&source, "right again\n").unwrap();
    let fixed = dev.until("tested ");
    assert!(fixed.contains("7   rice"), "{fixed}");
}

/// Of the plugin that is published no byte changes, and what only tests read costs no build.
#[test]
fn development_leaves_the_plugin_to_publish_alone_and_builds_no_more_than_it_must() {
    let project = project();
    let at = |name: &str| project.path().join(name);
    let component = build::target_dir().join("wasm32-wasip2/plugin/connector_files.wasm");
    fs::copy(component, at("made.bin")).unwrap();
    let pack =
        "\"$MINDHOST\" plugin pack made.bin --manifest manifest.json --output connector-files.wasm";
    fs::write(at("build.sh"), format!("set -e\n{pack}\n")).unwrap();
    fs::write(at("connector-files.wasm"), "published").unwrap();
    let dev = Dev::start(project.path(), &["--no-test"]);
    let first = dev.until("waiting ");
    assert!(
        first.contains("built ") && first.contains("1   tea"),
        "{first}"
    );
    let test = json!({"connection_data": {"path": "sales"}, "tests": {"table": ["files.item"]}});
    fs::write(at("test.json"), test.to_string()).unwrap();
    let again = dev.until("waiting ");
    assert!(again.contains("changed  test.json"), "{again}");
    assert!(
        again.contains("1   tea") && !again.contains("building"),
        "{again}"
    );
    fs::write(at("source.txt"), "new\n").unwrap();
    let built = dev.until("waiting ");
    assert!(
        built.contains("built ") && built.contains("1   tea"),
        "{built}"
    );
    let published = fs::read_to_string(at("connector-files.wasm")).unwrap();
    assert_eq!(published, "published");
    // Built for the publisher, with the same command.
    assert!(at(".mindhost/connector-files.wasm").is_file());
    assert_eq!(
        fs::read_to_string(at(".mindhost/.gitignore")).unwrap(),
        "*\n"
    );
}

/// Two would build into one folder. What a first build writes, as `npm install` does, is no save.
#[test]
fn second_development_of_a_project_ends_and_names_the_first() {
    let project = project();
    let at = |name: &str| project.path().join(name);
    fs::write(
        at("build.sh"),
        "set -e; cp made.bin connector-files.wasm; date +%N > package-lock.json",
    )
    .unwrap();
    let first = Dev::start(project.path(), &["--no-test"]);
    first.until("waiting ");
    let second = Dev::start(project.path(), &["--no-test"]);
    let told = second.until("\n");
    let process = fs::read_to_string(at(".mindhost/dev.lock")).unwrap();
    let words = format!("(process {})", process.trim());
    assert!(
        told.contains("another `mindhost plugin dev`") && told.contains(&words),
        "{told}"
    );
    let more = first.lines.recv_timeout(Duration::from_secs(1));
    assert!(more.is_err(), "{more:?}");
    // The lock ends with its process, however that ends.
    drop(first);
    Dev::start(project.path(), &["--no-test"]).until("waiting ");
}

#[test]
fn a_source_that_is_gone_is_the_headline() {
    let project = project();
    let build =
        "echo 'some tool: went wrong' >&2; echo 'plugin.js is missing: write it' >&2; exit 1";
    fs::write(project.path().join("build.sh"), build).unwrap();
    let dev = Dev::start(project.path(), &[]);
    let told = dev.until("waiting ");
    assert!(
        told.contains("failed   plugin.js is missing: write it\n"),
        "{told}"
    );
    assert!(!told.contains("some tool"), "{told}");
}

#[test]
fn a_statement_of_the_author_runs_once() {
    let project = project();
    let dev = Dev::start(
        project.path(),
        &["--once", "--no-test", "SELECT count(*) AS n FROM item"],
    );
    let said = dev.until("result ");
    assert!(said.contains("n\n-\n2\n"), "{said}");
}

/// A project whose first build starts a process that does not end by itself. Tells when it has begun, and when all of
/// the build has ended.
fn endless() -> (tempfile::TempDir, Receiver<()>) {
    let project = project();
    let pipe = project.path().join(".data/pipe");
    fs::create_dir(project.path().join(".data")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    // The end of a pipe is where no process has it open any more.
    let build = "grep -q right source.txt || { exec 9> .data/pipe; tail -f /dev/null; }
cp made.bin connector-files.wasm";
    fs::write(project.path().join("build.sh"), build).unwrap();
    fs::write(project.path().join("source.txt"), "wrong\n").unwrap();
    let (tells, hears) = channel();
    thread::spawn(move || {
        let mut pipe = fs::File::open(pipe).unwrap();
        let _ = tells.send(());
        pipe.read_to_end(&mut Vec::new()).unwrap();
        let _ = tells.send(());
    });
    (project, hears)
}

#[test]
fn a_save_ends_all_of_the_build_that_runs() {
    let (project, hears) = endless();
    let dev = Dev::start(project.path(), &["--no-test"]);
    hears
        .recv_timeout(PATIENCE)
        .expect("a build that has begun");
    fs::write(project.path().join("source.txt"), "right\n").unwrap();
    hears.recv_timeout(PATIENCE).expect("the end of that build");
    dev.until("built ");
}

#[test]
fn a_request_to_end_ends_the_build_too() {
    for signal in [Signal::INT, Signal::TERM] {
        let (project, hears) = endless();
        let mut dev = Dev::start(project.path(), &["--no-test"]);
        hears
            .recv_timeout(PATIENCE)
            .expect("a build that has begun");
        dev.process.signal(signal);
        hears.recv_timeout(PATIENCE).expect("the end of the build");
        dev.process.wait().unwrap();
    }
}
