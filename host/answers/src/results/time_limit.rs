//! The time that a statement may take: which setting limits it, and who can raise that.

use std::time::Duration;

use mindhost_base::error::{Code, Error};
use mindhost_plugin_api::Call;

use super::{AcceptedStatement, Results};

/// An engine's own timer may end a statement a little before that of the host.
const SLACK: Duration = Duration::from_millis(250);

/// A call for a statement, and the limit that its time has.
pub(super) struct TimeLimit {
    /// The bounds of the statement.
    pub call: Call,
    /// What a person can do about the limit; `None` if the call itself ends before.
    advice: Option<String>,
}

impl Results {
    /// The bounds of a statement: the shortest timeout of its datasources, or what `call` allows if that is less.
    pub(super) fn time_limit(&self, accepted: &AcceptedStatement, call: &Call) -> TimeLimit {
        let (time, own) = self.shortest(accepted);
        let bounds = call.within(time);
        let advice = bounds.deadline < call.deadline;
        TimeLimit {
            call: bounds,
            advice: advice.then(|| self.advice(accepted, time, own)),
        }
    }

    /// The shortest timeout of the datasources of a statement.
    pub(super) fn statement_timeout(&self, accepted: &AcceptedStatement) -> Duration {
        self.shortest(accepted).0
    }

    /// The same, with the name of the datasource if it is that datasource's own.
    fn shortest<'a>(&self, accepted: &'a AcceptedStatement) -> (Duration, Option<&'a str>) {
        let sources = accepted.access.sources(&accepted.guarded);
        let timeouts = sources.map(|source| match source.statement_timeout {
            Some(own) => (own, Some(source.target.name.as_str())),
            None => (self.settings.statement_timeout, None),
        });
        let shortest = timeouts.min_by_key(|(time, _)| *time);
        shortest.unwrap_or((self.settings.statement_timeout, None))
    }

    fn advice(&self, accepted: &AcceptedStatement, time: Duration, own: Option<&str>) -> String {
        let (setting, raise) = match own {
            Some(_) if time >= self.settings.statement_timeout_ceiling => (
                "`sql.statement_timeout_ceiling`".to_owned(),
                "ask the operator to raise that".to_owned(),
            ),
            Some(name) => (
                format!("`statement_timeout` of the datasource '{name}'"),
                "ask an editor to raise that".to_owned(),
            ),
            None => (
                "`sql.statement_timeout`".to_owned(),
                format!(
                    "ask an editor to set `statement_timeout` of {}",
                    datasources(&accepted.datasources())
                ),
            ),
        };
        format!("a statement may take {time:?} ({setting}): simplify it, or {raise}")
    }
}

fn datasources(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.as_slice() {
        [only] => format!("the datasource {only}"),
        several => format!("the datasources {}", several.join(", ")),
    }
}

impl TimeLimit {
    /// The error of the statement. If its time is over, the message says which limit that was.
    pub fn explain(&self, error: Error) -> Error {
        let is_over = tokio::time::Instant::now() + SLACK >= self.call.deadline;
        match &self.advice {
            Some(advice) if error.code() == Code::Timeout && is_over => {
                error.with_advice(advice).permanent()
            }
            _ => error,
        }
    }
}
