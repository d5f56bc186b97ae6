//! The differences between two plugins.

use std::process::ExitCode;

use crate::commands::say::{aside, say};
use mindhost_plugins::record::{Entry, Outcome};
use serde_json::{Value as Json, json};

/// Longest text that is shown, in characters.
const SHOWN: usize = 200;

/// The counts of compared and different calls.
#[derive(Default)]
pub(super) struct Differences {
    compared: usize,
    passed_over: usize,
    /// Among these, connections to other targets than the configured one.
    elsewhere: usize,
    differing: usize,
}

impl Differences {
    /// A call that was not repeated, because its outcome was not the plugin's doing.
    pub fn pass_over(&mut self) {
        self.passed_over += 1;
    }

    /// A connection to another target, or with other credentials.
    pub fn lead_elsewhere(&mut self) {
        self.elsewhere += 1;
    }

    /// Compares the outcomes of a call. For errors only the kind must match; texts may change.
    pub fn compare(&mut self, entry: &Entry, now: &Outcome) {
        match (&entry.outcome, now) {
            (Outcome::Ok(before), Outcome::Ok(now)) => self.same(entry, "result", before, now),
            (Outcome::Error(before), Outcome::Error(now)) => {
                self.same(entry, "error", &kind(before), &kind(now));
            }
            (Outcome::Ok(_), Outcome::Error(now)) => {
                self.differ(entry, "result", "success", &now.to_string());
            }
            (Outcome::Error(before), Outcome::Ok(_)) => {
                self.differ(entry, "result", &before.to_string(), "success");
            }
        }
    }

    /// Compares one aspect.
    pub fn same(&mut self, entry: &Entry, what: &str, before: &Json, now: &Json) {
        match before == now {
            true => self.compared += 1,
            false => self.differ(entry, what, &before.to_string(), &now.to_string()),
        }
    }

    fn differ(&mut self, entry: &Entry, what: &str, before: &str, now: &str) {
        self.compared += 1;
        self.differing += 1;
        say!("differs  {} on {}: {what}", entry.call, entry.on);
        if !entry.arguments.is_null() {
            say!("    of       {}", cut(&entry.arguments.to_string()));
        }
        say!("    recorded {}", cut(before));
        say!("    replayed {}", cut(now));
    }

    /// Prints the summary.
    pub fn report(&self) -> ExitCode {
        let Self {
            compared,
            passed_over,
            elsewhere,
            differing,
        } = self;
        say!("{compared} results compared, {differing} differ, {passed_over} calls passed over");
        if *compared == 0 {
            aside!(
                "mindhost: nothing was compared, so nothing is known of the plugin: {}",
                match elsewhere {
                    0 => "the recording holds no call that can be repeated".to_owned(),
                    count => format!(
                        "{count} recorded connections led elsewhere than --config does, or were refused; use the configuration of the recording, with the same paths"
                    ),
                }
            );
            return ExitCode::from(2);
        }
        match differing {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

fn kind(error: &Json) -> Json {
    json!([error["code"], error["reported"]])
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
