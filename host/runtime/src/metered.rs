//! Connectors and models whose use is watched: what fails is counted by who is to blame, a version that fails too often
//! is not called, and each call is a span of the trace.
//!
//! What an instance uses (time, memory, the network) is counted where it runs; this sees what came of it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tracing::{Instrument, Span, field::Empty};

use super::meter::{Figure, Series, VersionMeter};
use mindhost_base::error::{Blame, Code, Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Completion, Connection, Connector, Life, Manifest,
    Model, ModelEvent, ModelRequest, Plugin, ServerInfo, Statement, StatisticsOptions, TableInfo,
    TableRef, Target,
};

/// One use of a version for a target: a connection from when it is taken until it is given back, or a completion.
struct Use {
    series: Series,
    has_served: bool,
    has_failed: bool,
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
        })
    }

    async fn watch<T>(
        &mut self,
        name: &'static str,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let span = self.span(name);
        let result = call.instrument(span.clone()).await;
        match &result {
            Ok(_) => self.has_served = true,
            Err(error) => self.failed(error, &span),
        }
        result
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
}

impl Use {
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

/// A connector that is watched.
pub struct MeteredConnector {
    inner: Arc<dyn Connector>,
    version: Arc<VersionMeter>,
}

impl MeteredConnector {
    /// Watches a connector of that version.
    pub fn new(inner: Arc<dyn Connector>, version: Arc<VersionMeter>) -> Arc<Self> {
        Arc::new(Self { inner, version })
    }
}

impl Plugin for MeteredConnector {
    fn manifest(&self) -> &Manifest {
        self.inner.manifest()
    }

    fn digest(&self) -> &str {
        self.inner.digest()
    }

    fn retire(&self) -> Option<Life> {
        self.inner.retire()
    }
}

#[async_trait]
impl Connector for MeteredConnector {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let mut watched = Use::begin(&self.version, target)?;
        let inner = watched
            .watch("connect", self.inner.connect(target, call))
            .await?;
        // It may have come out of the pool: it has still to prove that it serves.
        watched.has_served = false;
        Ok(Box::new(MeteredConnection { inner, watched }))
    }

    async fn forget(&self, target_id: &str) {
        self.version.forget(target_id);
        self.inner.forget(target_id).await;
    }
}

struct MeteredConnection {
    inner: Box<dyn Connection>,
    watched: Use,
}

#[async_trait]
impl Connection for MeteredConnection {
    fn digest(&self) -> &str {
        self.inner.digest()
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        self.watched.watch("check", self.inner.check(call)).await
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        self.watched.watch("tables", self.inner.tables(call)).await
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        let described = self.inner.describe_tables(tables, call);
        self.watched.watch("describe-tables", described).await
    }

    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let statistics = self.inner.statistics(table, options, call);
        self.watched.watch("statistics", statistics).await
    }

    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool> {
        let begun = self.inner.begin_snapshot(timeout, call);
        self.watched.watch("begin-snapshot", begun).await
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        let ended = self.inner.end_snapshot(call);
        self.watched.watch("end-snapshot", ended).await
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        let query = self.inner.query(statement, call);
        self.watched.watch("query", query).await
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let next = self.inner.next(max_rows, call);
        let batch = self.watched.watch("next", next).await?;
        if let Some(batch) = &batch {
            let series = &self.watched.series;
            series.add(Figure::Rows, batch.rows() as u64);
            series.add(Figure::ResultBytes, batch.bytes() as u64);
        }
        Ok(batch)
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        self.watched.watch("close", self.inner.close(call)).await
    }
}

/// A model that is watched.
pub struct MeteredModel {
    inner: Arc<dyn Model>,
    version: Arc<VersionMeter>,
}

impl MeteredModel {
    /// Watches a model of that version.
    pub fn new(inner: Arc<dyn Model>, version: Arc<VersionMeter>) -> Arc<Self> {
        Arc::new(Self { inner, version })
    }
}

impl Plugin for MeteredModel {
    fn manifest(&self) -> &Manifest {
        self.inner.manifest()
    }

    fn digest(&self) -> &str {
        self.inner.digest()
    }

    fn retire(&self) -> Option<Life> {
        self.inner.retire()
    }
}

#[async_trait]
impl Model for MeteredModel {
    async fn check(&self, target: &Target, call: &Call) -> Result<String> {
        let mut watched = Use::begin(&self.version, target)?;
        let check = self.inner.check(target, call);
        watched.watch("check", check).await
    }

    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>> {
        let mut watched = Use::begin(&self.version, target)?;
        let models = self.inner.models(target, call);
        watched.watch("models", models).await
    }

    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let mut watched = Use::begin(&self.version, target)?;
        let start = self.inner.start(target, request, call);
        let inner = watched.watch("start", start).await?;
        Ok(Box::new(MeteredCompletion {
            inner,
            watched,
            tokens: [0; 2],
        }))
    }

    async fn forget(&self, target_id: &str) {
        self.version.forget(target_id);
        self.inner.forget(target_id).await;
    }
}

/// The names of the tokens that are counted, and where.
const TOKENS: [(&str, Figure); 2] = [
    ("input", Figure::InputTokens),
    ("output", Figure::OutputTokens),
];

struct MeteredCompletion {
    inner: Box<dyn Completion>,
    watched: Use,
    /// Tokens that were counted already: each report has all of them.
    tokens: [u64; 2],
}

impl MeteredCompletion {
    fn count(&mut self, event: &ModelEvent) {
        let series = &self.watched.series;
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
}

#[async_trait]
impl Completion for MeteredCompletion {
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<ModelEvent>>> {
        let events = self.watched.watch("next", self.inner.next(call)).await?;
        for event in events.iter().flatten() {
            self.count(event);
        }
        Ok(events)
    }
}
