//! `mindhost plugin dev`: builds a project whenever a source of it is saved, runs the plugin, and shows what came.

mod dev_lock;
mod sources;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use clap::Args;
use mindhost_conformance::Config as TestConfig;
use mindhost_plugin_api::{
    Manifest, PluginKind,
    manifest::{SCANNER_WORLD, why_unread},
};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::Command,
    signal::unix::{SignalKind, signal},
};

use self::sources::{Change, Sources};
use crate::commands::say::aside;

/// Lines of a failed build that are shown.
const LINES: usize = 40;
/// How often a build that takes long is told of.
const STILL_BUILDS: Duration = Duration::from_secs(15);
/// The question of a model without `tests.prompt`.
const QUESTION: &str = "Say hello in one word.";

/// What a development build makes, below the folder of the project. A name with a dot is no source.
const MADE: &str = ".mindhost";

/// Before the build: cargo builds in a fraction of the time without optimisation across crates, which the templates ask
/// for. In a target folder of its own, so that neither build undoes the other.
const QUICK_CARGO: &str = "
    export CARGO_TARGET_DIR=\"${CARGO_TARGET_DIR:-target}/dev\"
    export CARGO_PROFILE_RELEASE_LTO=\"${CARGO_PROFILE_RELEASE_LTO:-off}\"
    export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=\"${CARGO_PROFILE_RELEASE_CODEGEN_UNITS:-16}\"
    export CARGO_PROFILE_RELEASE_INCREMENTAL=\"${CARGO_PROFILE_RELEASE_INCREMENTAL:-true}\"
";

#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// The statement or question to run after each build. Default: the first rows of `tests.table` for a scanner, the
    /// list of tables for a connector, `tests.prompt` for a model.
    input: Option<String>,
    /// The folder of the project, with manifest.json.
    #[arg(long, default_value = ".")]
    project: PathBuf,
    /// Connection data and `tests`, as `plugin test` takes them. Default: test.json of the project, if there is one.
    #[arg(long, short, value_name = "FILE|JSON")]
    config: Option<String>,
    /// The command that builds the project; `mindhost plugin pack` in it writes to .mindhost/NAME.wasm.
    #[arg(long, default_value = "sh build.sh", value_name = "COMMAND")]
    build: String,
    /// Do not run the quick part of the conformance kit.
    #[arg(long)]
    no_test: bool,
    /// Show each HTTP request of the plugin.
    #[arg(long)]
    http_log: bool,
    /// Build and run once, and do not wait for a change.
    #[arg(long)]
    once: bool,
}

/// Develops until Ctrl-C or another request to end, which ends a running build too.
pub(super) async fn run(dev: Dev) -> anyhow::Result<()> {
    // A build is in a process group of its own, which Ctrl-C in a terminal does not reach.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = develop(dev) => done,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

async fn develop(dev: Dev) -> anyhow::Result<()> {
    let folder = dev
        .project
        .canonicalize()
        .with_context(|| dev.project.display().to_string())?;
    ensure!(
        folder.join("manifest.json").is_file(),
        "{} has no manifest.json; name the folder of a project, such as `mindhost plugin new` makes, with --project",
        folder.display()
    );
    let bench = Bench { dev, folder };
    bench.make_folder()?;
    let _alone = dev_lock::take(&bench.made(), &bench.folder)?;
    let mut sources = Sources::watch(&bench.folder)?;
    let mut saved = Instant::now();
    // What the last build made, unless a source changed since then.
    let mut built = None;
    loop {
        sources.note()?;
        tokio::select! {
            went = bench.round(saved, &mut built) => if let Err(error) = went {
                aside!("failed   {error:#}");
            },
            // What runs is ended, and begins again with what was saved.
            change = sources.saved() => {
                saved = bench.noticed(&change, &mut built);
                continue;
            }
        }
        if bench.dev.once {
            return Ok(());
        }
        aside!(
            "waiting  for a change below {}; Ctrl-C ends",
            bench.folder.display()
        );
        let change = sources.saved().await;
        aside!();
        saved = bench.noticed(&change, &mut built);
    }
}

/// A project, and what is done with it.
struct Bench {
    dev: Dev,
    folder: PathBuf,
}

impl Bench {
    /// Makes the folder for what is built, which no version control takes.
    fn make_folder(&self) -> anyhow::Result<()> {
        let made = self.made();
        let written = std::fs::create_dir_all(&made)
            .and_then(|()| std::fs::write(made.join(".gitignore"), "*\n"));
        written.with_context(|| made.display().to_string())
    }

    fn made(&self) -> PathBuf {
        self.folder.join(MADE)
    }

    /// Says which file was saved, and gives when. What was built is old if a source changed.
    fn noticed(&self, change: &Change, built: &mut Option<PathBuf>) -> Instant {
        let path = change.path.strip_prefix(&self.folder);
        aside!("changed  {}", path.unwrap_or(&change.path).display());
        if change.of_source {
            *built = None;
        }
        change.at
    }

    /// Builds if something changed since the last build, runs and tests once.
    async fn round(&self, saved: Instant, built: &mut Option<PathBuf>) -> anyhow::Result<()> {
        let manifest = self.manifest()?;
        let plugin = match built {
            Some(plugin) => plugin.clone(),
            None => {
                let start = Instant::now();
                match self.first_build() {
                    "" => aside!("building"),
                    why => aside!("building {why}"),
                }
                let plugin = self.build(&manifest.name).await?;
                aside!("built    in {:.2} s", start.elapsed().as_secs_f64());
                built.insert(plugin).clone()
            }
        };
        let config = self.config();
        let mut args: Vec<OsString> = vec!["run".into(), plugin.clone().into()];
        match self.input(&manifest)? {
            Some(input) => {
                args.push(input.into());
                args.extend((manifest.world == SCANNER_WORLD).then(|| "--explain".into()));
            }
            None => args.push("--tables".into()),
        }
        args.extend(
            config
                .iter()
                .flat_map(|config| ["--config".into(), config.clone()]),
        );
        if self.dev.http_log {
            args.push("--http-log".into());
        }
        let went = self.own(&args).await?;
        let word = if went.success() { "result" } else { "failed" };
        aside!(
            "{word:<8} {:.2} s after the change",
            saved.elapsed().as_secs_f64()
        );
        if self.dev.no_test || !went.success() {
            return Ok(());
        }
        let mut args: Vec<OsString> = vec![
            "test".into(),
            plugin.into(),
            "--quick".into(),
            "--brief".into(),
        ];
        args.extend(
            config
                .iter()
                .flat_map(|config| ["--config".into(), config.clone()]),
        );
        self.own(&args).await?;
        aside!(
            "tested   {:.2} s after the change",
            saved.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// What a person wants to know who waits for a build.
    fn first_build(&self) -> &'static str {
        let is_there = |name: &str| self.folder.join(name).exists();
        if is_there("Cargo.toml") && !is_there("target/dev") {
            return "into target/dev; the first time cargo compiles all dependencies, which takes minutes";
        }
        if is_there("package.json") && !is_there("node_modules") {
            return "after `npm install`, which takes some seconds; later builds are quick";
        }
        let mut kept = std::fs::read_dir(self.made())
            .into_iter()
            .flatten()
            .flatten();
        let is_first = !kept.any(|entry| entry.path().extension().is_some_and(|is| is == "wasm"));
        match is_first && is_there("plugin.py") {
            true => "with Python itself, which takes half a minute; later builds use that again",
            false => "",
        }
    }

    /// Builds the project. Gives the plugin, which is apart from that of `build.sh`.
    async fn build(&self, name: &str) -> anyhow::Result<PathBuf> {
        let file = format!("{name}.wasm");
        let made = self.made().join(&file);
        if made.exists() {
            std::fs::remove_file(&made).with_context(|| made.display().to_string())?;
        }
        let mut build = Command::new("sh");
        build
            .args(["-c", &format!("{QUICK_CARGO}{}", self.dev.build)])
            .current_dir(&self.folder)
            .env("MINDHOST", std::env::current_exe()?)
            .env("DEV_OF_MINDHOST", self.made())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let start = Instant::now();
        let child = build.spawn().with_context(|| self.dev.build.clone())?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let mut building = std::pin::pin!(child.wait_with_output());
        let mut group = Group(id.and_then(Pid::from_raw));
        let output = loop {
            match tokio::time::timeout(STILL_BUILDS, &mut building).await {
                Ok(output) => break output.with_context(|| self.dev.build.clone())?,
                Err(_) => aside!("building since {} s", start.elapsed().as_secs()),
            }
        };
        // Its number may be given to another one from now on.
        group.0 = None;
        if output.status.success() {
            // Only `plugin pack` knows of the folder: a command without it writes where it always does.
            let places = [made, self.folder.join(&file)];
            let found = places.into_iter().find(|place| place.is_file());
            return found.with_context(|| {
                format!("the build did not write {file}; `mindhost plugin pack` with `--output {file}` does")
            });
        }
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        if let Some(line) = said.lines().find(|line| names_missing_source(line)) {
            anyhow::bail!("{line}");
        }
        let lines: Vec<&str> = said.lines().collect();
        let shown = lines
            .get(lines.len().saturating_sub(LINES)..)
            .unwrap_or_default();
        anyhow::bail!(
            "`{}`: {}\n{}",
            self.dev.build,
            output.status,
            shown.join("\n")
        )
    }

    /// A command of this program on the plugin, in a process of its own: a plugin that goes wrong takes nothing along.
    /// One that a save ends cannot remove its temporary files, so the next one begins without them.
    async fn own(&self, args: &[OsString]) -> anyhow::Result<ExitStatus> {
        let temporary = self.made().join("tmp");
        let _ = std::fs::remove_dir_all(&temporary);
        std::fs::create_dir(&temporary).with_context(|| temporary.display().to_string())?;
        let mut own = Command::new(std::env::current_exe()?);
        own.arg("plugin")
            .args(args)
            // The compiler that is fast to compile.
            .env("MINDHOST_PLUGINS__COMPILER", "winch")
            .env("TMPDIR", temporary)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Ok(own.status().await?)
    }

    fn manifest(&self) -> anyhow::Result<Manifest> {
        let file = self.folder.join("manifest.json");
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        serde_json::from_str(&text)
            .map_err(|error| anyhow::anyhow!("{}: {}", file.display(), why_unread(&error)))
    }

    fn config(&self) -> Option<OsString> {
        let own = self.folder.join("test.json");
        match &self.dev.config {
            Some(config) => Some(config.into()),
            None => own.exists().then(|| own.into()),
        }
    }

    /// What is run; none lists the tables.
    fn input(&self, manifest: &Manifest) -> anyhow::Result<Option<String>> {
        if let Some(input) = &self.dev.input {
            return Ok(Some(input.clone()));
        }
        let config = self.config();
        let config = match config.as_ref().map(|config| config.to_string_lossy()) {
            Some(config) => TestConfig::read(&config)?,
            None => TestConfig::default(),
        };
        Ok(match manifest.kind {
            PluginKind::Model => Some(config.tests.prompt.unwrap_or_else(|| QUESTION.to_owned())),
            PluginKind::Connector if manifest.world == SCANNER_WORLD => {
                let table = config.tests.table.first();
                table.map(|table| format!("SELECT * FROM {} LIMIT 20", quoted(table)))
            }
            PluginKind::Connector => None,
        })
    }
}

/// The processes of a build: the shell, and all that it started. They end with this.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

/// A table of the form `schema.name` in the SQL of the host.
fn quoted(table: &str) -> String {
    let part = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    table.splitn(2, '.').map(part).collect::<Vec<_>>().join(".")
}

/// Whether a line of a build says that the plugin's own source is gone, as the builds of new projects do.
fn names_missing_source(line: &str) -> bool {
    const SOURCES: [&str; 4] = ["plugin.js", "plugin.ts", "plugin.py", "src/lib.rs"];
    let name = line.split_once(" is missing").map(|(name, _)| name);
    name.is_some_and(|name| SOURCES.contains(&name))
}

/// Whether a folder or file of a project is no source of it.
fn is_made(path: &Path) -> bool {
    const FOLDERS: [&str; 6] = [
        "node_modules",
        "target",
        "__pycache__",
        "dist",
        "build",
        "venv",
    ];
    const ENDINGS: [&str; 7] = ["wasm", "minisig", "pyc", "swp", "lock", "log", "key"];
    // What `npm install` and others of its kind write in a first build.
    const LOCKS: [&str; 4] = [
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "bun.lockb",
    ];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    name.starts_with('.')
        || name.ends_with('~')
        || LOCKS.contains(&&*name)
        || FOLDERS.contains(&&*name)
        || ENDINGS.contains(&&*ending)
}

/// Whether a file is read by tests, or by people, and by no build.
fn is_of_tests(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    ["test.json", "test.sh", "fixtures.json"].contains(&&*name)
        || ending == "md"
        || stem.ends_with(".test")
        || (ending == "py" && (stem.starts_with("test_") || stem.ends_with("_test")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_what_builds_write_are_no_sources() {
        for name in ["dev.log", "release.key", "plugin.wasm", "node_modules"] {
            assert!(is_made(Path::new(name)), "{name}");
        }
        for name in ["plugin.js", "log.js", "catalog", "manifest.json"] {
            assert!(!is_made(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn files_of_tests_are_no_sources() {
        for name in ["test.json", "plugin.test.js", "test_plugin.py", "README.md"] {
            assert!(is_of_tests(Path::new(name)), "{name}");
        }
        for name in ["plugin.js", "tests.rs", "latest.py", "manifest.json"] {
            assert!(!is_of_tests(Path::new(name)), "{name}");
        }
    }
}
