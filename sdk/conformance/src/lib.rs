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
pub use sandbox::{Limits, LoadedPlugin, Noticed, Sandbox};

use bench::{Bench, Pace};
use case::{Case, failed};

/// How long one case may take; the bound on a plugin that is slow rather than wrong.
const CASE_TIMEOUT: Duration = Duration::from_secs(150);
/// The case that a plugin fails which the host does not even load.
pub const ACCEPTED: (&str, &str) = (
    "accepted",
    "The file is a component with a valid manifest, exports its world, imports nothing else than it may, and describes itself as its manifest does.",
);

/// How often a case that still runs is told of.
const STILL_RUNS: Duration = Duration::from_secs(10);
/// The cases of [`quick`].
const QUICK: [&str; 16] = [
    "opens",
    "check",
    "tables",
    "describe",
    "describe-gone",
    "describe-matches-select",
    "one-row",
    "empty-result",
    "batches-agree",
    "projection",
    "limit",
    "values",
    "models",
    "answer",
    "usage",
    "discretion",
];

/// What comes of a run, as it goes on.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A case ended.
    Ended(&'a Entry),
    /// A case still runs, since so long.
    Running(&'static str, Duration),
}

/// Name of a case and what it proves.
pub type CaseInfo = (&'static str, &'static str);

/// The cases of a kind of plugin, in the order in which they run.
pub fn cases_of(manifest: &Manifest) -> Vec<CaseInfo> {
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
    filter.split(',').any(|part| fits(name, part.trim()))
}

/// Whether a name contains a part of a filter, or is it exactly if the part begins with `=`.
fn fits(name: &str, part: &str) -> bool {
    match part.strip_prefix('=') {
        Some(whole) => name == whole,
        None => name.contains(part),
    }
}

/// Which cases run.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Those whose names contain one of the parts between commas; `=name` is exactly that one.
    Filter(&'a str),
    /// Those that take little time and find most mistakes, and fewer trials of each: for use after each build.
    Quick,
}

/// The filter of the quick cases.
fn quick(cases: &[CaseInfo]) -> String {
    let names = cases.iter().map(|(name, _)| *name);
    let quick = names.filter(|name| QUICK.contains(name));
    quick
        .map(|name| format!("={name}"))
        .collect::<Vec<_>>()
        .join(",")
}

/// The parts of a filter that are in the name of no case: whoever misspelt one would test less than they think.
pub fn unknown_in<'a>(filter: &'a str, cases: &[CaseInfo]) -> Vec<&'a str> {
    let is_known = |part: &str| {
        let mut names = std::iter::once(&ACCEPTED).chain(cases);
        names.any(|(name, _)| fits(name, part))
    };
    let parts = filter.split(',').map(str::trim);
    parts.filter(|part| !is_known(part)).collect()
}

/// Runs cases of a plugin; `seen` hears of each as soon as it ended, and every ten seconds of one that runs. One after
/// the other: a case must not disturb what another one measures.
pub async fn run(
    sandbox: Arc<dyn Sandbox>,
    config: Config,
    wanted: Wanted<'_>,
    mut seen: impl FnMut(Progress<'_>),
) -> Report {
    let pace = match wanted {
        Wanted::Filter(_) => Pace::USUAL,
        Wanted::Quick => Pace::QUICK,
    };
    let bench = Bench::new(sandbox, config, pace);
    let manifest = bench.manifest();
    let filter = match wanted {
        Wanted::Filter(filter) => filter.to_owned(),
        Wanted::Quick => quick(&cases_of(manifest)),
    };
    let mut report = Report::new(&manifest.name, &manifest.version);
    let accepted = Entry::accepted();
    seen(Progress::Ended(&accepted));
    report.add(accepted);
    let cases = cases(manifest).into_iter();
    for case in cases.filter(|case| is_wanted(case.name, &filter)) {
        let start = Instant::now();
        let running = |since| seen(Progress::Running(case.name, since));
        let outcome = match in_time((case.run)(&bench), STILL_RUNS, running).await {
            Some(verdict) => verdict.into(),
            None => Outcome::from(Err(failed(
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
            statements: bench.take_statements(),
        };
        bench.notes.add(case.name, noticed);
        seen(Progress::Ended(&entry));
        report.add(entry);
    }
    report
}

/// Waits for the end of a case within its time, and tells now and then that it runs.
async fn in_time<T>(
    case: impl Future<Output = T>,
    every: Duration,
    mut running: impl FnMut(Duration),
) -> Option<T> {
    let start = Instant::now();
    let mut case = std::pin::pin!(case);
    while start.elapsed() < CASE_TIMEOUT {
        let wait = every.min(CASE_TIMEOUT.saturating_sub(start.elapsed()));
        match tokio::time::timeout(wait, case.as_mut()).await {
            Ok(ended) => return Some(ended),
            Err(_) => running(start.elapsed()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_filter_is_a_piece_of_a_name_or_the_whole() {
        assert!(is_wanted("describe-gone", "scan, describe"));
        assert!(!is_wanted("describe-gone", "=describe"));
        assert!(is_wanted("describe", "=describe,=tables"));
        let cases = [("tables", ""), ("order", "")];
        assert_eq!(quick(&cases), "=tables");
        assert_eq!(unknown_in("=order,tab,=tab", &cases), ["=tab"]);
    }

    #[tokio::test]
    async fn a_case_that_takes_long_is_told_of() {
        let told = std::sync::atomic::AtomicU32::new(0);
        let case = async {
            while told.load(std::sync::atomic::Ordering::Relaxed) < 2 {
                tokio::task::yield_now().await;
            }
        };
        let tell = |_| {
            told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        assert!(
            in_time(case, Duration::from_millis(1), tell)
                .await
                .is_some()
        );
    }
}
