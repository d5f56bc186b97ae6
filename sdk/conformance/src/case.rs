//! A case, and what comes of it.

use std::{fmt::Display, time::Duration};

use futures_util::future::BoxFuture;
use mindhost_base::{Error, Result as Called};

use crate::{
    bench::Bench,
    cause::{Cause, kind, told},
};

/// One thing that the contract promises, and the way to see that a plugin keeps it.
pub(crate) struct Case {
    /// Short and stable: `describe-matches-select`.
    pub name: &'static str,
    /// What it proves, in a sentence.
    pub proves: &'static str,
    /// The proof.
    pub run: for<'a> fn(&'a Bench) -> BoxFuture<'a, Verdict>,
}

/// A remark for the report, or why the case did not pass.
pub type Verdict = Result<String, Stop>;

/// Why a case did not pass.
#[derive(Clone, Debug)]
pub enum Stop {
    /// The plugin does not keep the contract here.
    Failed(Fault),
    /// It cannot be seen with this configuration, or the plugin does not claim it.
    Skipped {
        /// Why.
        why: String,
        /// What to add to the configuration, if that would help.
        add: Option<String>,
    },
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What should have come.
    pub expected: String,
    /// What came.
    pub came: String,
    /// What to do next.
    pub next: String,
}

/// How a case ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The plugin keeps it; with a remark, or empty.
    Passed(String),
    /// See [`Stop::Failed`].
    Failed(Fault),
    /// See [`Stop::Skipped`].
    Skipped {
        /// Why.
        why: String,
        /// What to add to the configuration, if that would help.
        add: Option<String>,
    },
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Ok(remark) => Self::Passed(remark),
            Err(Stop::Failed(fault)) => Self::Failed(fault),
            Err(Stop::Skipped { why, add }) => Self::Skipped { why, add },
        }
    }
}

/// Passed, without a remark.
pub(crate) fn passed() -> Verdict {
    Ok(String::new())
}

/// The plugin does not do what it should.
pub(crate) fn failed(expected: impl Display, came: impl Display, next: impl Display) -> Stop {
    Stop::Failed(Fault {
        expected: expected.to_string(),
        came: came.to_string(),
        next: next.to_string(),
    })
}

/// Cannot be seen.
pub(crate) fn skipped(why: impl Display) -> Stop {
    Stop::Skipped {
        why: why.to_string(),
        add: None,
    }
}

/// Cannot be seen without an addition to the section `tests` of the configuration.
pub(crate) fn skipped_until(why: impl Display, add: impl Display) -> Stop {
    Stop::Skipped {
        why: why.to_string(),
        add: Some(add.to_string()),
    }
}

/// Fails unless a condition holds.
pub(crate) fn ensure(
    holds: bool,
    expected: impl Display,
    came: impl Display,
    next: impl Display,
) -> Result<(), Stop> {
    match holds {
        true => Ok(()),
        false => Err(failed(expected, came, next)),
    }
}

/// What a failed call makes of a case.
pub(crate) trait Expect<T> {
    /// The call had to succeed.
    fn expect_to(self, what: impl Display) -> Result<T, Stop>;
    /// The call had to fail with an error of one of some kinds; gives the failure.
    fn expect_kind(self, what: impl Display, kinds: &[&str]) -> Result<Error, Stop>;
}

impl<T> Expect<T> for Called<T> {
    fn expect_to(self, what: impl Display) -> Result<T, Stop> {
        self.map_err(|error| unexpected(what, &error))
    }

    fn expect_kind(self, what: impl Display, kinds: &[&str]) -> Result<Error, Stop> {
        let names = kinds.join("` or `");
        let expected = format!("{what}: the error `{names}`");
        let Err(error) = self else {
            let next = format!("return an error of the kind `{names}`");
            return Err(failed(expected, "success", next));
        };
        match Cause::of(&error) {
            Cause::Reported(kind) if kinds.contains(&kind) => Ok(error),
            Cause::Reported(kind) => Err(failed(
                expected,
                told(&error),
                format!(
                    "map this error to `{names}` and not to `{kind}`; `types.wit` says what each kind means"
                ),
            )),
            _ => Err(unexpected(expected, &error)),
        }
    }
}

/// A call failed in a way that it should not.
pub(crate) fn unexpected(expected: impl Display, error: &Error) -> Stop {
    failed(expected, told(error), advice(Cause::of(error)))
}

/// What to do about a failure that should not be.
fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::Broken => {
            "correct the plugin, or let it return an error in place of this; `mindhost plugin run` with the same configuration shows its log lines"
        }
        Cause::TimedOut => "end in time: look at `control.remaining-ms` wherever the plugin waits",
        Cause::TooLarge => {
            "look at sizes before something is handed out, return `too-large` in its place, and bring what repeats itself to an end"
        }
        Cause::Gone => {
            "an earlier error said that the connection cannot be used again; say so only where it is true"
        }
        Cause::Host => "correct the configuration: the host refused it before the plugin was asked",
        Cause::Cancelled => "the plugin ended the call as cancelled although nobody cancelled it",
        Cause::Reported(kind::UNREACHABLE | kind::AUTH | kind::INVALID_CONFIG) => {
            "see that the engine runs and that the configuration fits, with `mindhost plugin run`"
        }
        Cause::Reported(_) => {
            "see what the engine dislikes, with `mindhost plugin run` and the same statement"
        }
    }
}

/// A number with its noun: `1 table`, `2 tables`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// A duration for people: `1.2 s`, `340 ms`.
pub(crate) fn shown(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..10_000 => format!("{millis} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
