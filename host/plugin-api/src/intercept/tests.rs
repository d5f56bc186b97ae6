//! What an interceptor sees and may do, with plugins that note who was called.

use std::sync::{Mutex, PoisonError};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use mindhost_base::error::{Code, Error};

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: impl Into<String>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A plugin of both kinds, with its connections and completions: every call fails on one that is down.
#[derive(Clone)]
struct Fake {
    name: &'static str,
    is_down: bool,
    manifest: Arc<Manifest>,
    log: Log,
    /// Notes the end of a connection.
    _end: Option<Arc<End>>,
}

struct End(&'static str, Log);

impl Drop for End {
    fn drop(&mut self) {
        self.1.note(format!("drop {}", self.0));
    }
}

impl Fake {
    fn new(name: &'static str, log: &Log) -> Self {
        let manifest = json!({
            "kind": "connector", "name": "p", "title": "P", "version": "1.0.0", "wit": "0.1.0",
            "world": "w", "connection_data": {}
        });
        Self {
            name,
            is_down: false,
            manifest: Arc::new(serde_json::from_value(manifest).unwrap()),
            log: log.clone(),
            _end: None,
        }
    }

    fn called<T>(&self, function: &str, value: T) -> Result<T> {
        self.log.note(format!("{}.{function}", self.name));
        match self.is_down {
            true => Err(Error::new(Code::UpstreamUnreachable, self.name)),
            false => Ok(value),
        }
    }
}

impl Plugin for Fake {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn digest(&self) -> &str {
        self.name
    }

    fn retire(&self) -> Option<Retirement> {
        Some(Retirement::default())
    }
}

#[async_trait]
impl Connector for Fake {
    async fn connect(&self, _: &Target, _: &Call) -> Result<Box<dyn Connection>> {
        self.called("connect", Box::<dyn Connection>::of(self.clone()))
    }

    async fn forget(&self, target_id: &str) {
        self.log.note(format!("{}.forget {target_id}", self.name));
    }
}

#[async_trait]
impl Connection for Fake {
    fn digest(&self) -> &str {
        self.name
    }

    async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
        let server = ServerInfo {
            product: "Fake".into(),
            version: "1".into(),
        };
        self.called("check", server)
    }

    async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
        self.called("tables", Vec::new())
    }

    async fn describe_tables(&mut self, tables: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
        self.called(&format!("describe_tables {}", tables.len()), Vec::new())
    }

    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        _: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let function = format!("statistics {table} {}", options.max_rows);
        self.called(&function, None)
    }

    async fn begin_snapshot(&mut self, timeout: Duration, _: &Call) -> Result<bool> {
        self.called(&format!("begin_snapshot {timeout:?}"), true)
    }

    async fn end_snapshot(&mut self, _: &Call) -> Result<()> {
        self.called("end_snapshot", ())
    }

    async fn query(&mut self, statement: &Statement, _: &Call) -> Result<Arc<[Column]>> {
        self.called(&format!("query {}", statement.text), Arc::default())
    }

    async fn next(&mut self, max_rows: u32, _: &Call) -> Result<Option<Batch>> {
        self.called(&format!("next {max_rows}"), None)
    }

    async fn close(&mut self, _: &Call) -> Result<()> {
        self.called("close", ())
    }
}

#[async_trait]
impl Model for Fake {
    async fn check(&self, _: &Target, _: &Call) -> Result<String> {
        self.called("check", "well".into())
    }

    async fn models(&self, _: &Target, _: &Call) -> Result<Vec<String>> {
        self.called("models", vec!["m".into()])
    }

    async fn start(
        &self,
        _: &Target,
        request: ModelRequest,
        _: &Call,
    ) -> Result<Box<dyn Completion>> {
        let function = format!("start {}", request.model);
        self.called(&function, Box::<dyn Completion>::of(self.clone()))
    }

    async fn embed(
        &self,
        _: &Target,
        model: &str,
        texts: &[String],
        _: &Call,
    ) -> Result<Vec<Vec<f32>>> {
        let function = format!("embed {} with {model}", texts.len());
        self.called(&function, vec![vec![1.0]; texts.len()])
    }

    async fn forget(&self, target_id: &str) {
        self.log.note(format!("{}.forget {target_id}", self.name));
    }
}

#[async_trait]
impl Completion for Fake {
    async fn next(&mut self, _: &Call) -> Result<Option<Vec<ModelEvent>>> {
        self.called("next", None)
    }
}

/// Notes each call and what came of it, and makes it again on another plugin where there is one.
struct LoggingInterceptor {
    log: Log,
    other: Option<Fake>,
    admits: bool,
}

impl Intercept for LoggingInterceptor {
    type Interceptor = LoggedCall;

    fn begin(&self, plugin: &dyn Plugin, target: &Target) -> Result<LoggedCall> {
        self.log
            .note(format!("begin {} {}", plugin.manifest().name, target.id));
        match self.admits {
            true => Ok(LoggedCall {
                log: self.log.clone(),
                other: self.other.clone(),
            }),
            false => Err(Error::new(Code::Overloaded, "not now")),
        }
    }

    async fn forget(&self, target_id: &str) {
        self.log.note(format!("forget {target_id}"));
    }
}

struct LoggedCall {
    log: Log,
    other: Option<Fake>,
}

/// How a plugin, connection or completion is made of a fake.
trait FromFake {
    fn of(fake: Fake) -> Self;
}

impl FromFake for Arc<dyn Connector> {
    fn of(fake: Fake) -> Self {
        Arc::new(fake)
    }
}

impl FromFake for Arc<dyn Model> {
    fn of(fake: Fake) -> Self {
        Arc::new(fake)
    }
}

impl FromFake for Box<dyn Connection> {
    fn of(fake: Fake) -> Self {
        let end = End(fake.name, fake.log.clone());
        Box::new(Fake {
            _end: Some(Arc::new(end)),
            ..fake
        })
    }
}

impl FromFake for Box<dyn Completion> {
    fn of(fake: Fake) -> Self {
        Box::new(fake)
    }
}

impl<P: FromFake + Send + 'static> Interceptor<P> for LoggedCall {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<P, T>,
        on: &mut P,
    ) -> Result<T> {
        let name = invocation.operation().name();
        match invocation.make(on).await {
            Ok(value) => {
                self.log.note(format!("{name}: {:?}", value.as_reply()));
                Ok(value)
            }
            Err(error) => match self.other.take() {
                Some(other) => {
                    *on = P::of(other);
                    invocation.make(on).await
                }
                None => Err(error),
            },
        }
    }
}

impl Drop for LoggedCall {
    fn drop(&mut self) {
        self.log.note("end");
    }
}

fn target() -> Target {
    Target {
        id: "t".into(),
        workspace: "w".into(),
        folder: "w".into(),
        name: "n".into(),
        connection_data: Arc::default(),
        max_connections: 1,
    }
}

fn call() -> Call {
    Call::new(Duration::from_secs(60), CancellationToken::new())
}

fn noting(log: &Log) -> LoggingInterceptor {
    LoggingInterceptor {
        log: log.clone(),
        other: None,
        admits: true,
    }
}

fn connector(
    fake: Fake,
    noting: LoggingInterceptor,
) -> Arc<Intercepted<dyn Connector, LoggingInterceptor>> {
    Intercepted::<dyn Connector, _>::new(Arc::new(fake), noting)
}

fn model(
    fake: Fake,
    noting: LoggingInterceptor,
) -> Arc<Intercepted<dyn Model, LoggingInterceptor>> {
    Intercepted::<dyn Model, _>::new(Arc::new(fake), noting)
}

#[tokio::test]
async fn connection_passes_each_call_with_its_arguments_through_interceptor() {
    let log = Log::default();
    let connector = connector(Fake::new("a", &log), noting(&log));
    let (call, target) = (call(), target());
    let table = TableRef {
        schema: "s".into(),
        name: "t".into(),
    };
    let options = StatisticsOptions {
        columns: Vec::new(),
        max_rows: 7,
        max_time: Duration::ZERO,
    };
    let statement = Statement {
        text: "SELECT 1".into(),
        id: "1".into(),
        timeout: Duration::ZERO,
    };
    let mut connection = connector.connect(&target, &call).await.unwrap();
    assert_eq!(connection.digest(), "a");
    connection.check(&call).await.unwrap();
    connection.tables(&call).await.unwrap();
    let tables = [table.clone()];
    connection.describe_tables(&tables, &call).await.unwrap();
    connection
        .statistics(&table, &options, &call)
        .await
        .unwrap();
    let timeout = Duration::from_secs(3);
    assert!(connection.begin_snapshot(timeout, &call).await.unwrap());
    connection.query(&statement, &call).await.unwrap();
    connection.next(9, &call).await.unwrap();
    connection.close(&call).await.unwrap();
    connection.end_snapshot(&call).await.unwrap();
    let expected = [
        "begin p t",
        "a.connect",
        "connect: Done",
        "a.check",
        r#"check: Server(ServerInfo { product: "Fake", version: "1" })"#,
        "a.tables",
        "tables: Tables([])",
        "a.describe_tables 1",
        "describe-tables: Described([])",
        "a.statistics s.t 7",
        "statistics: Statistics(None)",
        "a.begin_snapshot 3s",
        "begin-snapshot: Flag(true)",
        "a.query SELECT 1",
        "query: Columns([])",
        "a.next 9",
        "next: Batch(None)",
        "a.close",
        "close: Done",
        "a.end_snapshot",
        "end-snapshot: Done",
    ];
    assert_eq!(log.take(), expected);
}

#[tokio::test]
async fn each_question_to_model_and_each_completion_is_session_of_its_own() {
    let log = Log::default();
    let model = model(Fake::new("a", &log), noting(&log));
    let (call, target) = (call(), target());
    assert_eq!(model.check(&target, &call).await.unwrap(), "well");
    assert_eq!(model.models(&target, &call).await.unwrap(), ["m"]);
    let vectors = model.embed(&target, "e", &["t".into()], &call).await;
    assert_eq!(vectors.unwrap(), [[1.0]]);
    let request = ModelRequest {
        model: "m".into(),
        ..ModelRequest::default()
    };
    let mut completion = model.start(&target, request, &call).await.unwrap();
    assert_eq!(completion.next(&call).await.unwrap(), None);
    let expected = [
        "begin p t",
        "a.check",
        r#"check: Text("well")"#,
        "end",
        "begin p t",
        "a.models",
        r#"models: Names(["m"])"#,
        "end",
        "begin p t",
        "a.embed 1 with e",
        "embed: Vectors([[1.0]])",
        "end",
        "begin p t",
        "a.start m",
        "start: Done",
        "a.next",
        "next: Events(None)",
    ];
    assert_eq!(log.take(), expected);
}

#[tokio::test]
async fn session_goes_on_with_connection_that_interceptor_put_in_place() {
    let log = Log::default();
    let down = Fake {
        is_down: true,
        ..Fake::new("down", &log)
    };
    let up = Fake::new("up", &log);
    let mut session = Session {
        callee: Box::<dyn Connection>::of(down),
        interceptor: LoggedCall {
            log: log.clone(),
            other: Some(up),
        },
    };
    session.next(5, &call()).await.unwrap();
    assert_eq!(session.digest(), "up");
    session.close(&call()).await.unwrap();
    let expected = [
        "down.next 5",
        "drop down",
        "up.next 5",
        "up.close",
        "close: Done",
    ];
    assert_eq!(log.take(), expected);
}

#[tokio::test]
async fn plugin_is_not_called_when_session_cannot_begin() {
    let log = Log::default();
    let closed = || LoggingInterceptor {
        admits: false,
        ..noting(&log)
    };
    let connector = connector(Fake::new("a", &log), closed());
    let model = model(Fake::new("a", &log), closed());
    let refused = connector.connect(&target(), &call()).await.err();
    assert_eq!(refused.unwrap().code(), Code::Overloaded);
    let refused = model.check(&target(), &call()).await.err();
    assert_eq!(refused.unwrap().code(), Code::Overloaded);
    assert_eq!(log.take(), ["begin p t", "begin p t"]);
}

#[tokio::test]
async fn connection_is_dropped_before_its_interceptor() {
    let log = Log::default();
    let connector = connector(Fake::new("a", &log), noting(&log));
    let connection = connector.connect(&target(), &call()).await.unwrap();
    log.take();
    drop(connection);
    assert_eq!(log.take(), ["drop a", "end"]);
}

#[tokio::test]
async fn interceptor_hears_of_forgotten_targets_before_plugin_does() {
    let log = Log::default();
    let connector = connector(Fake::new("a", &log), noting(&log));
    let model = model(Fake::new("b", &log), noting(&log));
    connector.forget("1").await;
    model.forget("2").await;
    assert_eq!(
        log.take(),
        ["forget 1", "a.forget 1", "forget 2", "b.forget 2"]
    );
    assert!(connector.retire().is_some());
    assert_eq!((connector.digest(), model.digest()), ("a", "b"));
}
