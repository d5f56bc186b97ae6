//! Metering of connectors and models: what fails is counted by who is to blame, a version that fails too often is not
//! called, and each call is a span of the trace.
//!
//! What an instance uses (time, memory, the network) is counted where it runs; this sees what came of it.

use std::sync::Arc;

use tracing::{Instrument, Span, field::Empty};

use super::{
    host_errors::cancelled,
    meter::{Figure, Series, VersionMeter},
};
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::{
    ModelEvent, Plugin, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation, Reply},
};

/// Meters the calls to a version.
pub struct Metering(pub Arc<VersionMeter>);

impl Intercept for Metering {
    type Interceptor = Use;

    fn begin(&self, _: &dyn Plugin, target: &Target) -> Result<Use> {
        Use::begin(&self.0, target)
    }

    async fn forget(&self, target_id: &str) {
        self.0.forget(target_id);
    }
}

/// The names of the tokens that are counted, and where.
const TOKENS: [(&str, Figure); 2] = [
    ("input", Figure::InputTokens),
    ("output", Figure::OutputTokens),
];

/// One use of a version for a target: a connection from when it is taken until it is given back, or a completion.
pub struct Use {
    series: Series,
    has_served: bool,
    has_failed: bool,
    /// Tokens that were counted already: each report has all of them.
    tokens: [u64; 2],
}

impl<P: Send + 'static> Interceptor<P> for Use {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<P, T>,
        on: &mut P,
    ) -> Result<T> {
        let span = self.span(invocation.operation().name());
        let result = {
            let mut unfinished = Unfinished(Some(&self.series));
            let result = invocation.make(on).instrument(span.clone()).await;
            unfinished.0 = None;
            result
        };
        match &result {
            Ok(value) => {
                // A connection may have come out of the pool: it has still to prove that it serves.
                self.has_served = !matches!(invocation.operation(), Operation::Connect);
                self.count(value.as_reply());
            }
            Err(error) => self.failed(error, &span),
        }
        result
    }
}

/// Counts a call that is dropped before it ends: its caller left.
struct Unfinished<'a>(Option<&'a Series>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(series) = self.0 {
            series.failed(&cancelled());
        }
    }
}

impl Use {
    /// Begins a use, unless the version rests.
    fn begin(version: &Arc<VersionMeter>, target: &Target) -> Result<Self> {
        let series = version.series(target);
        if let Some(target) = series.target()
            && let Err(error) = version.health.admit(target)
        {
            series.add(Figure::Refused, 1);
            series.failed(&error);
            return Err(error);
        }
        Ok(Self {
            series,
            has_served: false,
            has_failed: false,
            tokens: [0; 2],
        })
    }

    /// Costs nothing as long as nobody wants the spans.
    fn span(&self, call: &'static str) -> Span {
        let id = &self.series.version().id;
        tracing::debug_span!(
            target: "mindhost::calls",
            "plugin_call",
            call,
            plugin = id.plugin,
            version = id.version,
            digest = id.digest,
            target = self.series.target().map(|target| target.name.as_str()),
            blame = Empty,
            otel.status_code = Empty,
            code = Empty,
        )
    }

    fn count(&mut self, reply: Reply<'_>) {
        match reply {
            Reply::Batch(Some(batch)) => {
                self.series.add(Figure::Rows, batch.rows() as u64);
                self.series.add(Figure::ResultBytes, batch.bytes() as u64);
            }
            Reply::Vectors(vectors) => {
                let numbers: usize = vectors.iter().map(Vec::len).sum();
                self.series.add(Figure::ResultBytes, 4 * numbers as u64);
            }
            Reply::Events(Some(events)) => events.iter().for_each(|event| self.count_event(event)),
            _ => {}
        }
    }

    fn count_event(&mut self, event: &ModelEvent) {
        let series = &self.series;
        match event {
            ModelEvent::Text(text) => series.add(Figure::ResultBytes, text.len() as u64),
            ModelEvent::ToolCall(call) => {
                let bytes = call.id.len() + call.name.len() + call.arguments.len();
                series.add(Figure::ResultBytes, bytes as u64);
            }
            ModelEvent::Opaque { data, .. } => series.add(Figure::ResultBytes, data.len() as u64),
            ModelEvent::Usage(counts) => {
                for ((name, figure), known) in TOKENS.iter().zip(&mut self.tokens) {
                    let said = counts.iter().rev().find(|(said, _)| said == name);
                    // A hostile number must not make the sum run over.
                    let now = said.map_or(*known, |(_, count)| (*count).min(1 << 40));
                    series.add(*figure, now.saturating_sub(*known));
                    *known = now.max(*known);
                }
            }
            ModelEvent::Stop(..) => {}
        }
    }

    fn failed(&mut self, error: &Error, span: &Span) {
        self.series.failed(error);
        span.record("code", error.code().as_str());
        span.record("otel.status_code", "ERROR");
        if let Some(blame) = error.blame() {
            span.record("blame", blame.as_str());
        }
        self.say(error);
        let is_fault = error.code() == Code::PluginError && error.blame() == Some(Blame::Plugin);
        if is_fault && !self.has_failed {
            self.has_failed = true;
            let version = self.series.version();
            if let Some(target) = self.series.target() {
                let users = version.users(&target.workspace);
                version.health.record_fault(target, error.message(), users);
            }
        }
    }

    /// Each fault is a line with the version that made it, so that nobody has to guess whose it was.
    fn say(&self, error: &Error) {
        if error.blame() != Some(Blame::Plugin) {
            return;
        }
        let id = &self.series.version().id;
        let target = self.series.target().map(|target| target.name.as_str());
        let code = error.code().as_str();
        tracing::warn!(
            plugin = id.plugin, version = id.version, digest = id.digest, target, code, %error,
            "a plugin is to blame for a failure"
        );
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        if self.has_served
            && !self.has_failed
            && let Some(target) = self.series.target()
        {
            self.series.version().health.record_success(target);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::Pin, time::Duration};

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{ids::VersionId, meter::Meters};
    use mindhost_base::config::Config;
    use mindhost_plugin_api::Call;

    /// A call that ends only if it may.
    struct Check {
        call: Call,
        ends: bool,
    }

    impl Invocation<(), ()> for Check {
        fn operation(&self) -> Operation<'_> {
            Operation::Check
        }

        fn call(&self) -> &Call {
            &self.call
        }

        fn make<'c>(
            &'c self,
            (): &'c mut (),
        ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'c>> {
            match self.ends {
                true => Box::pin(std::future::ready(Ok(()))),
                false => Box::pin(std::future::pending()),
            }
        }
    }

    #[tokio::test]
    async fn caller_who_leaves_is_counted_once() {
        let settings = Config::defaults().unwrap().plugins.limits;
        let version = Meters::new(settings.faults).version(VersionId {
            plugin: "connector-x".into(),
            version: "1.0.0".into(),
            digest: "d".into(),
        });
        let target = Target {
            id: "1".into(),
            workspace: "default".into(),
            folder: "default".into(),
            name: "shop".into(),
            connection_data: Arc::default(),
            max_connections: 1,
        };
        let mut session = Use::begin(&version, &target).unwrap();
        for (ends, counted) in [(true, 0), (false, 1)] {
            let call = Call::new(Duration::from_secs(60), CancellationToken::new());
            let check = Check { call, ends };
            let moment = Duration::from_millis(1);
            let _ = tokio::time::timeout(moment, session.intercept(&check, &mut ())).await;
            assert_eq!(version.meter.read().caller_errors, counted);
        }
        drop(session);
        assert_eq!(version.meter.read().caller_errors, 1);
    }
}
