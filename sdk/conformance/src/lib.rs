//! The conformance kit: runs the contract of `wit/` against any plugin, through a host's sandbox.
//!
//! A [`Case`] proves one promise of the contract. [`cases_of_connector`] and [`cases_of_model`] list them; [`run_connector`]
//! and [`run_model`] run them against a [`subject::Connector`] or [`subject::Model`] and give a [`Report`], which prints
//! itself for a person and as JUnit XML. `mindhost plugin test` is all of this over the host's real sandbox;
//! `sdk/docs/testing.md` says how an author uses it.
//!
//! The kit depends on the SDK's types and on no host: a host implements the traits of [`subject`], which say in the
//! contract's own words how a plugin is called.

mod bench;
mod case;
mod cases;
pub mod config;
mod dialect;
mod observed;
mod proxy;
mod report;
pub mod subject;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub use case::{Case, Fault, Outcome};
pub use config::Config;
pub use report::{Entry, Report};

use bench::{Bench, ModelBench, Notes};
use case::failed;
use subject::Plugin;

/// How long one case may take; the bound on a plugin that is slow rather than wrong.
const CASE_TIMEOUT: Duration = Duration::from_secs(150);
/// How long what a case left behind may take to be gone.
const SETTLE: Duration = Duration::from_secs(10);
/// The case that a plugin fails which the host does not even load.
pub const ACCEPTED: (&str, &str) = (
    "accepted",
    "The file is a component with a valid manifest, exports its world, imports nothing else than it may, and describes itself as its manifest does.",
);

/// Name of a case and what it proves.
pub type Listed = (&'static str, &'static str);

/// The cases of a connector, in the order in which they run.
pub fn cases_of_connector() -> Vec<Listed> {
    cases::of_connectors()
        .map(|case| (case.name, case.proves))
        .collect()
}

/// The cases of a model provider, in the order in which they run.
pub fn cases_of_model() -> Vec<Listed> {
    cases::of_models()
        .map(|case| (case.name, case.proves))
        .collect()
}

/// The cases of a scanner, in the order in which they run.
pub fn cases_of_scanner() -> Vec<Listed> {
    cases::of_scanners()
        .map(|case| (case.name, case.proves))
        .collect()
}

/// As [`run_connector`], for a connector that only yields rows and gets its SQL from the host.
pub async fn run_scanner(
    plugin: Arc<dyn subject::Connector>,
    config: Config,
    filter: &str,
    seen: impl FnMut(&Entry),
) -> Report {
    let bench = Bench::new(Arc::clone(&plugin), Arc::new(config));
    let cases = cases::of_scanners().filter(|case| is_wanted(case.name, filter));
    run(&*plugin, &bench, &bench.notes, cases, seen).await
}

/// Runs the cases of a connector whose names contain `filter`, or one of its parts between commas; `seen` hears of each as soon as it ended.
pub async fn run_connector(
    plugin: Arc<dyn subject::Connector>,
    config: Config,
    filter: &str,
    seen: impl FnMut(&Entry),
) -> Report {
    let bench = Bench::new(Arc::clone(&plugin), Arc::new(config));
    let cases = cases::of_connectors().filter(|case| is_wanted(case.name, filter));
    run(&*plugin, &bench, &bench.notes, cases, seen).await
}

/// As [`run_connector`], for a model provider; `seen` hears of each as soon as it ended.
pub async fn run_model(
    plugin: Arc<dyn subject::Model>,
    config: Config,
    filter: &str,
    seen: impl FnMut(&Entry),
) -> Report {
    let bench = ModelBench::new(Arc::clone(&plugin), Arc::new(config));
    let cases = cases::of_models().filter(|case| is_wanted(case.name, filter));
    run(&*plugin, &bench, &bench.notes, cases, seen).await
}

fn is_wanted(name: &str, filter: &str) -> bool {
    filter.split(',').any(|part| name.contains(part.trim()))
}

/// The parts of a filter that are in the name of no case: whoever misspelt one would test less than they think.
pub fn unknown_in<'a>(filter: &'a str, cases: &[Listed]) -> Vec<&'a str> {
    let is_known = |part: &str| {
        let mut names = std::iter::once(&ACCEPTED).chain(cases);
        names.any(|(name, _)| name.contains(part))
    };
    let parts = filter.split(',').map(str::trim);
    parts.filter(|part| !is_known(part)).collect()
}

/// One after the other: a case must not disturb what another one measures.
async fn run<B: 'static>(
    plugin: &(impl Plugin + ?Sized),
    bench: &B,
    notes: &Notes,
    cases: impl Iterator<Item = &'static Case<B>>,
    mut seen: impl FnMut(&Entry),
) -> Report {
    let mut report = Report::new(plugin.manifest());
    let accepted = Entry::accepted();
    seen(&accepted);
    report.add(accepted);
    for case in cases {
        let start = Instant::now();
        let outcome = match tokio::time::timeout(CASE_TIMEOUT, (case.run)(bench)).await {
            Ok(verdict) => verdict.into(),
            Err(_) => Outcome::from(Err(failed(
                format!("an end within {} seconds", CASE_TIMEOUT.as_secs()),
                "nothing yet",
                "see where it waits, with `mindhost plugin run`",
            ))),
        };
        let took = start.elapsed();
        let _ = tokio::time::timeout(SETTLE, plugin.settle()).await;
        let noticed = plugin.noticed();
        let entry = Entry {
            name: case.name,
            proves: case.proves,
            outcome,
            took,
            lines: noticed.lines.clone(),
        };
        notes.add(case.name, noticed);
        seen(&entry);
        report.add(entry);
    }
    report
}
