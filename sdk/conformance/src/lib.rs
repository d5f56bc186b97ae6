//! The conformance kit: runs the contract of `wit/` against any plugin, through a host's sandbox.
//!
//! A case proves one promise of the contract. [`cases_of`] lists those of a kind of plugin; [`run`] runs them and gives
//! a [`Report`], which prints itself for a person and as JUnit XML. `mindhost plugin test` is all of this over the host's
//! real sandbox; `sdk/docs/testing.md` says how an author uses it.
//!
//! The kit calls plugins by the traits of `mindhost-plugin-api`, as the host does. What it needs beside them is a
//! [`Sandbox`]. It knows nothing of WebAssembly, DataFusion or HTTP.

mod bench;
mod case;
mod cases;
mod cause;
pub mod config;
mod dialect;
mod observed;
mod proxy;
mod report;
mod sandbox;
mod watched;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use mindhost_plugin_api::{Manifest, PluginKind, manifest::SCANNER_WORLD};

pub use case::{Fault, Outcome};
pub use config::Config;
pub use report::{Entry, Report};
pub use sandbox::{Limits, Loaded, Noticed, Sandbox};

use bench::Bench;
use case::{Case, failed};

/// How long one case may take; the bound on a plugin that is slow rather than wrong.
const CASE_TIMEOUT: Duration = Duration::from_secs(150);
/// The case that a plugin fails which the host does not even load.
pub const ACCEPTED: (&str, &str) = (
    "accepted",
    "The file is a component with a valid manifest, exports its world, imports nothing else than it may, and describes itself as its manifest does.",
);

/// Name of a case and what it proves.
pub type Listed = (&'static str, &'static str);

/// The cases of a kind of plugin, in the order in which they run.
pub fn cases_of(manifest: &Manifest) -> Vec<Listed> {
    let cases = cases(manifest).into_iter();
    cases.map(|case| (case.name, case.proves)).collect()
}

fn cases(manifest: &Manifest) -> Vec<&'static Case> {
    match manifest.kind {
        PluginKind::Connector if manifest.world == SCANNER_WORLD => cases::of_scanners().collect(),
        PluginKind::Connector => cases::of_connectors().collect(),
        PluginKind::Model => cases::of_models().collect(),
    }
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

/// Runs the cases of a plugin whose names contain `filter`, or one of its parts between commas; `seen` hears of each as
/// soon as it ended. One after the other: a case must not disturb what another one measures.
pub async fn run(
    sandbox: Arc<dyn Sandbox>,
    config: Config,
    filter: &str,
    mut seen: impl FnMut(&Entry),
) -> Report {
    let bench = Bench::new(sandbox, config);
    let manifest = bench.manifest();
    let mut report = Report::new(&manifest.name, &manifest.version);
    let accepted = Entry::accepted();
    seen(&accepted);
    report.add(accepted);
    let cases = cases(manifest).into_iter();
    for case in cases.filter(|case| is_wanted(case.name, filter)) {
        let start = Instant::now();
        let outcome = match tokio::time::timeout(CASE_TIMEOUT, (case.run)(&bench)).await {
            Ok(verdict) => verdict.into(),
            Err(_) => Outcome::from(Err(failed(
                format!("an end within {} seconds", CASE_TIMEOUT.as_secs()),
                "nothing yet",
                "see where it waits, with `mindhost plugin run`",
            ))),
        };
        let took = start.elapsed();
        let noticed = bench.settle().await;
        let entry = Entry {
            name: case.name,
            proves: case.proves,
            outcome,
            took,
            lines: noticed.lines.clone(),
        };
        bench.notes.add(case.name, noticed);
        seen(&entry);
        report.add(entry);
    }
    report
}
