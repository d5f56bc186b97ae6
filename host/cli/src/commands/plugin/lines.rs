//! A plugin's log lines and faults during a command, taken from the host's log.

use std::fmt;

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

/// An event about a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A log line of the plugin.
    Said(Level, String),
    /// A refusal of the sandbox.
    Refused(String),
    /// The number of dropped log lines.
    Dropped(u64),
    /// The plugin trapped; the details.
    Failed(String),
    /// An HTTP exchange of the plugin.
    Exchange(String),
    /// The host compiles the component, because no cache has its code.
    Compiling,
    /// Why compiled code could not be stored.
    NotCached(String),
}

/// Passes every event to a function. Nothing else is logged. Call it once per process.
pub(super) fn listen(hear: impl Fn(Line) + Send + Sync + 'static) -> anyhow::Result<()> {
    Ok(tracing_subscriber::registry()
        .with(Lines(hear))
        .try_init()?)
}

struct Lines<F>(F);

impl<S: Subscriber, F: Fn(Line) + Send + Sync + 'static> Layer<S> for Lines<F> {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let target = event.metadata().target();
        let is_about_plugins = ["mindhost_runtime", "mindhost_plugins"]
            .into_iter()
            .any(|part| target.starts_with(part));
        if !is_about_plugins {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(line) = fields.line(*event.metadata().level()) {
            (self.0)(line);
        }
    }
}

/// What the loader of the crate `runtime` logs.
const COMPILING: &str = "compiling with ";
const NOT_CACHED: &str = "compiled code could not be cached";

/// The log fields of the crate `runtime`.
#[derive(Default)]
struct Fields {
    message: String,
    why: Option<String>,
    reason: Option<String>,
    detail: Option<String>,
    error: Option<String>,
    exchange: Option<String>,
    dropped: Option<u64>,
    has_target: bool,
    /// The host tells of an error with a code: what a command shows anyway.
    has_code: bool,
}

impl Fields {
    fn line(self, level: Level) -> Option<Line> {
        match self {
            Self {
                dropped: Some(dropped),
                ..
            } => Some(Line::Dropped(dropped)),
            Self { why: Some(why), .. } => Some(Line::Refused(why)),
            Self {
                exchange: Some(exchange),
                ..
            } => Some(Line::Exchange(exchange)),
            Self {
                detail: Some(detail),
                message,
                ..
            } => Some(Line::Failed(format!("{message}: {detail}"))),
            Self { has_code: true, .. } => None,
            Self {
                has_target: true,
                message,
                reason,
                ..
            } => Some(Line::Said(
                level,
                match reason {
                    Some(reason) => format!("{message}: {reason}"),
                    None => message,
                },
            )),
            Self {
                error: Some(error),
                message,
                ..
            } if message == NOT_CACHED => Some(Line::NotCached(error)),
            Self { message, .. } if message.starts_with(COMPILING) => Some(Line::Compiling),
            _ => None,
        }
    }

    fn text(&mut self, name: &str, text: String) {
        match name {
            "message" => self.message = text,
            "why" => self.why = Some(text),
            "reason" => self.reason = Some(text),
            "detail" => self.detail = Some(text),
            "error" => self.error = Some(text),
            "exchange" => self.exchange = Some(text),
            "target" => self.has_target = true,
            "code" => self.has_code = true,
            _ => {}
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value.to_owned());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "dropped" {
            self.dropped = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn lines_of_plugins_are_told_apart() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let hear = move |line| hears.lock().unwrap().push(line);
        let subscriber = tracing_subscriber::registry().with(Lines(hear));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "mindhost_runtime", plugin = "p", target = "t", "hello");
            tracing::info!(target: "mindhost_runtime", plugin = "p", target = "t", why = "no", "refused a plugin");
            tracing::info!(target: "mindhost_runtime", plugin = "p", target = "t", reason = "busy", "no token");
            tracing::warn!(target: "mindhost_runtime", plugin = "p", target = "t", dropped = 7_u32, "too much");
            tracing::warn!(target: "mindhost_runtime", plugin = "p", detail = "at f", "it panicked");
            tracing::debug!(target: "mindhost_runtime", target = "t", exchange = "GET /", "an exchange");
            tracing::info!(target: "mindhost_runtime", plugin = "p", "compiling with Winch");
            tracing::warn!(target: "mindhost_runtime", error = "full", "compiled code could not be cached");
            tracing::info!(target: "mindhost_runtime", plugin = "p", "something else");
            tracing::warn!(target: "mindhost_runtime", target = "t", code = "plugin_error", "to blame");
            tracing::info!(target: "mindhost_store", target = "t", "something else");
        });
        let expected = [
            Line::Said(Level::INFO, "hello".into()),
            Line::Refused("no".into()),
            Line::Said(Level::INFO, "no token: busy".into()),
            Line::Dropped(7),
            Line::Failed("it panicked: at f".into()),
            Line::Exchange("GET /".into()),
            Line::Compiling,
            Line::NotCached("full".into()),
        ];
        assert_eq!(*heard.lock().unwrap(), expected);
    }
}
