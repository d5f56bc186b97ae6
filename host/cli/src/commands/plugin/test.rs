//! `mindhost plugin test`: the conformance kit over the host's own sandbox.

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use clap::Args;
use mindhost_base::config::Config;
use mindhost_conformance::{self as kit, Entry, Progress, Report, Sandbox as _};
use mindhost_plugin_api::Manifest;
use mindhost_runtime::package::Package;

use super::{configured::PluginSetup, lines, sandbox::TestSandbox};
use crate::commands::say::{aside, say, say_part};

/// The exit code of a run that could not test anything, and of invalid arguments.
const UNUSABLE: u8 = 2;

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The plugin.
    file: PathBuf,
    /// Connection data, or an object with `connection_data` and `tests`: a file (JSON, or TOML where it ends in .toml)
    /// or the JSON itself. Paths in a file are meant from that file on.
    #[arg(long, short, value_name = "FILE|JSON")]
    config: Option<String>,
    /// Run only the cases whose names contain this; several are separated by commas, and `=name` means exactly that one.
    #[arg(long, default_value = "", value_name = "NAME")]
    filter: String,
    /// Run only the cases that take little time and find most mistakes.
    #[arg(long, conflicts_with = "filter")]
    quick: bool,
    /// Print only the cases that fail, and the sum.
    #[arg(long)]
    brief: bool,
    /// List the cases of this kind of plugin and what each proves; run none.
    #[arg(long)]
    list: bool,
    /// Write the report as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Record the calls across the boundary in a file, without secrets, for `plugin replay`: those under the usual
    /// limits.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

pub(super) async fn run(test: Test) -> anyhow::Result<ExitCode> {
    let coloured = io::stdout().is_terminal();
    let max_bytes = Config::load()?.plugins.limits.max_package_bytes;
    let report = match Package::read(&test.file, max_bytes) {
        Err(refusal) => refused(&test, refusal.to_string(), coloured),
        Ok(package) if test.list => {
            list(&package.manifest);
            return Ok(ExitCode::SUCCESS);
        }
        Ok(package) => {
            let cases_there = kit::cases_of(&package.manifest);
            let unknown = kit::unknown_in(&test.filter, &cases_there);
            if !unknown.is_empty() {
                let names: Vec<_> = cases_there.iter().map(|(name, _)| *name).collect();
                aside!(
                    "mindhost: no case has `{}` in its name; there are: {}",
                    unknown.join("`, `"),
                    names.join(", ")
                );
                return Ok(ExitCode::from(UNUSABLE));
            }
            cases(&test, coloured).await?
        }
    };
    say!("{}", report.summary());
    if let Some(file) = &test.junit {
        fs::write(file, report.junit()?).with_context(|| file.display().to_string())?;
    }
    Ok(match report.is_success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Runs all cases of the kit, and prints each as it ends.
pub(super) async fn whole_kit(file: PathBuf, config: Option<String>) -> anyhow::Result<Report> {
    let test = Test {
        file,
        config,
        filter: String::new(),
        quick: false,
        brief: false,
        list: false,
        junit: None,
        record: None,
    };
    cases(&test, io::stdout().is_terminal()).await
}

fn list(manifest: &Manifest) {
    for (name, proves) in std::iter::once(kit::ACCEPTED).chain(kit::cases_of(manifest)) {
        say!("{name:<24} {proves}");
    }
}

/// The report on a file that the host refuses.
fn refused(test: &Test, reason: String, coloured: bool) -> Report {
    let name = test.file.file_stem().unwrap_or_default().to_string_lossy();
    let mut report = Report::new(&name, "");
    let entry = Entry::refused(reason);
    say_part!("{}", entry.text(coloured));
    report.add(entry);
    report
}

async fn cases(test: &Test, coloured: bool) -> anyhow::Result<Report> {
    let configured = PluginSetup::read(&test.file, test.config.as_deref()).await?;
    let config = configured.config.clone();
    let tape = match &test.record {
        None => None,
        Some(file) => Some(configured.tape(file, false)?),
    };
    let sandbox = match TestSandbox::load(configured, tape.clone()).await? {
        Ok(sandbox) => Arc::new(sandbox),
        Err(refusal) => return Ok(refused(test, refusal.to_string(), coloured)),
    };
    // The listener stays until the process ends, and the sandbox must not: its folder goes with it.
    let hears = Arc::downgrade(&sandbox);
    lines::listen(move |line| {
        if let Some(sandbox) = hears.upgrade() {
            sandbox.hear(line);
        }
    })?;
    let seen = |progress: Progress<'_>| match progress {
        Progress::Ended(entry) if test.brief && !entry.is_failure() => {}
        Progress::Ended(entry) => say_part!("{}", entry.text(coloured)),
        Progress::Running(name, since) => aside!("      {name} runs since {} s", since.as_secs()),
    };
    let wanted = match test.quick {
        true => kit::Wanted::Quick,
        false => kit::Wanted::Filter(&test.filter),
    };
    let report = kit::run(Arc::clone(&sandbox) as _, config, wanted, seen).await;
    sandbox.settle().await;
    if let Some(tape) = tape {
        tape.finish()?;
    }
    Ok(report)
}
