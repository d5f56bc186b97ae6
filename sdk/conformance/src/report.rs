//! What came of a run: for a person, and as JUnit XML.

use std::{fmt::Write as _, time::Duration};

use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};

use crate::{
    ACCEPTED,
    case::{Fault, Outcome, shown},
};

/// Log lines that are shown with a case that failed.
const SHOWN_LINES: usize = 8;

/// One case that ran.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it proves.
    pub proves: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    /// What the plugin logged in the meantime.
    pub lines: Vec<String>,
    /// The last statements, scans and calls of the catalog that it ran.
    pub statements: Vec<String>,
}

/// All cases that ran.
#[derive(Clone, Debug)]
pub struct Report {
    plugin: String,
    entries: Vec<Entry>,
}

impl Entry {
    /// The host loaded the plugin.
    pub(crate) fn accepted() -> Self {
        Self::of_acceptance(Outcome::Passed(String::new()))
    }

    /// The host refused the plugin, with its reason.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::of_acceptance(Outcome::Failed(Fault {
            expected: "a plugin that the host accepts".into(),
            came: reason.into(),
            next:
                "build the component for its world and pack it with its manifest; see wit/README.md"
                    .into(),
        }))
    }

    fn of_acceptance(outcome: Outcome) -> Self {
        Self {
            name: ACCEPTED.0,
            proves: ACCEPTED.1,
            outcome,
            took: Duration::ZERO,
            lines: Vec::new(),
            statements: Vec::new(),
        }
    }

    /// Whether the plugin does not keep what it proves.
    pub fn is_failure(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    /// The lines about it for a person; coloured where they go to a terminal.
    pub fn text(&self, coloured: bool) -> String {
        let paint = |colour: u8, text: &str| match coloured {
            true => format!("\x1b[{colour}m{text}\x1b[0m"),
            false => text.to_owned(),
        };
        let name = self.name;
        let mut text = String::new();
        let _ = match &self.outcome {
            Outcome::Passed(remark) => {
                writeln!(
                    text,
                    "{}  {name:<24} {:>8}  {remark}",
                    paint(32, "pass"),
                    shown(self.took)
                )
            }
            Outcome::Skipped { why, add } => {
                let _ = writeln!(text, "{}  {name:<24} {:>8}  {why}", paint(33, "skip"), "");
                add.iter()
                    .try_for_each(|add| writeln!(text, "      to see it, add {add}"))
            }
            Outcome::Failed(fault) => {
                let _ = writeln!(
                    text,
                    "{}  {name:<24} {:>8}  {}",
                    paint(31, "FAIL"),
                    shown(self.took),
                    self.proves
                );
                let _ = writeln!(text, "      expected: {}", fault.expected);
                let _ = writeln!(text, "      came:     {}", fault.came);
                let _ = writeln!(text, "      next:     {}", fault.next);
                for statement in &self.statements {
                    let statement = statement.replace('\n', "\n                ");
                    let _ = writeln!(text, "      ran:      {statement}");
                }
                let last = self.lines.len().saturating_sub(SHOWN_LINES);
                self.lines.iter().skip(last).try_for_each(|line| {
                    let line = line.trim_end().replace('\n', "\n                ");
                    writeln!(text, "      log:      {line}")
                })
            }
        };
        text
    }
}

impl Report {
    /// An empty report on a version of a plugin; the version is empty where it is not known.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            plugin: format!("{name} {version}"),
            entries: Vec::new(),
        }
    }

    /// Adds a case.
    pub fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The cases that ran, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether no case failed.
    pub fn is_success(&self) -> bool {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_))) == 0
    }

    fn count(&self, counted: impl Fn(&Outcome) -> bool) -> usize {
        self.entries
            .iter()
            .filter(|entry| counted(&entry.outcome))
            .count()
    }

    /// One line that sums up.
    pub fn summary(&self) -> String {
        let passed = self.count(|outcome| matches!(outcome, Outcome::Passed(_)));
        let failed = self.count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let skipped = self.count(|outcome| matches!(outcome, Outcome::Skipped { .. }));
        let word = if failed == 0 {
            "keeps the contract"
        } else {
            "BREAKS the contract"
        };
        format!(
            "{} {word}: {passed} passed, {failed} failed, {skipped} skipped",
            self.plugin
        )
    }

    /// JUnit XML, as build servers read it.
    ///
    /// # Errors
    /// When it cannot be written, which no content of a report makes happen.
    pub fn junit(&self) -> Result<String, quick_junit::SerializeError> {
        let mut suite = TestSuite::new(self.plugin.clone());
        for entry in &self.entries {
            let mut case = TestCase::new(entry.name, status(&entry.outcome));
            case.set_classname(self.plugin.clone()).set_time(entry.took);
            let ran = entry.statements.iter().map(|one| format!("ran: {one}"));
            let lines: Vec<String> = ran.chain(entry.lines.iter().cloned()).collect();
            if !lines.is_empty() {
                case.set_system_out(lines.join("\n"));
            }
            suite.add_test_case(case);
        }
        let mut junit = Junit::new("mindhost plugin test");
        junit.add_test_suite(suite);
        junit.to_string()
    }
}

fn status(outcome: &Outcome) -> TestCaseStatus {
    match outcome {
        Outcome::Passed(_) => TestCaseStatus::success(),
        Outcome::Skipped { why, add } => {
            let mut status = TestCaseStatus::skipped();
            let add = add.iter().map(|add| format!("; to see it, add {add}"));
            status.set_message(add.fold(why.clone(), |text, add| text + &add));
            status
        }
        Outcome::Failed(fault) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("expected {}; came {}", fault.expected, fault.came));
            status.set_description(fault.next.clone());
            status
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new("connector-x", "1.0.0");
        report.add(Entry::accepted());
        report.add(Entry::refused("it is <none> & broken"));
        report
    }

    #[test]
    fn a_failure_says_what_was_expected_what_came_and_what_to_do() {
        let text = report().entries()[1].text(false);
        for word in [
            "FAIL",
            "expected: a plugin",
            "came:     it is <none>",
            "next:     build",
        ] {
            assert!(text.contains(word), "{text}");
        }
        assert!(!text.contains('\x1b'));
        assert!(report().entries()[1].text(true).contains("\x1b[31mFAIL"));
        assert_eq!(
            report().summary(),
            "connector-x 1.0.0 BREAKS the contract: 1 passed, 1 failed, 0 skipped"
        );
    }

    #[test]
    fn build_servers_read_it_too() {
        let xml = report().junit().unwrap();
        assert!(xml.contains(r#"tests="2""#), "{xml}");
        assert!(xml.contains(r#"failures="1""#), "{xml}");
        assert!(xml.contains("it is &lt;none&gt; &amp; broken"), "{xml}");
    }
}
