//! Interceptors: one function around every call to a plugin, whatever kind of plugin it is.
//!
//! A call is a value, an [`Invocation`], so an interceptor can read its arguments, measure it, and make it again on
//! another connection. [`Intercepted`] is the only type that forwards the methods of the traits; metering, trials and
//! recordings are interceptors.

use std::{pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{
    Batch, Call, Column, ColumnStatistics, Completion, Connection, Connector, Manifest, Model,
    ModelEvent, ModelRequest, Plugin, Retirement, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef, Target,
};
use mindhost_base::error::Result;

/// A function of a plugin, with its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// [`Connector::connect`].
    Connect,
    /// [`Connection::check`].
    Check,
    /// [`Connection::tables`].
    Tables,
    /// [`Connection::describe_tables`].
    DescribeTables(&'a [TableRef]),
    /// [`Connection::statistics`].
    Statistics(&'a TableRef, &'a StatisticsOptions),
    /// [`Connection::begin_snapshot`].
    BeginSnapshot(Duration),
    /// [`Connection::end_snapshot`].
    EndSnapshot,
    /// [`Connection::query`].
    Query(&'a Statement),
    /// [`Connection::next`], with the number of rows at most.
    Next(u32),
    /// [`Connection::close`].
    Close,
    /// [`Model::check`].
    CheckModel,
    /// [`Model::models`].
    Models,
    /// [`Model::start`].
    Start(&'a ModelRequest),
    /// [`Model::embed`], with the vendor's model and the texts.
    Embed(&'a str, &'a [String]),
    /// [`Completion::next`].
    NextEvents,
}

impl Operation<'_> {
    /// The name of the function: as in `wit/`, where it has one there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Check | Self::CheckModel => "check",
            Self::Tables => "tables",
            Self::DescribeTables(_) => "describe-tables",
            Self::Statistics(..) => "statistics",
            Self::BeginSnapshot(_) => "begin-snapshot",
            Self::EndSnapshot => "end-snapshot",
            Self::Query(_) => "query",
            Self::Next(_) | Self::NextEvents => "next",
            Self::Close => "close",
            Self::Models => "models",
            Self::Start(_) => "start",
            Self::Embed(..) => "embed",
        }
    }
}

/// The result of an operation, for an interceptor to look at.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'a> {
    /// A connection or completion began, or there is nothing to say.
    Done,
    /// Whether a snapshot began.
    Flag(bool),
    /// The server that was checked.
    Server(&'a ServerInfo),
    /// Every table and view in reach, from [`Connection::tables`].
    Tables(&'a [TableRef]),
    /// The descriptions of tables.
    Described(&'a [TableInfo]),
    /// By column; `None` if the engine has no fresh ones.
    Statistics(Option<&'a [ColumnStatistics]>),
    /// The columns of the result that [`Connection::query`] opened.
    Columns(&'a Arc<[Column]>),
    /// Some rows of a statement; `None` at its end.
    Batch(Option<&'a Batch>),
    /// A sentence for a person, from [`Model::check`].
    Text(&'a str),
    /// The vendor's models, from [`Model::models`].
    Names(&'a [String]),
    /// One vector for each text, from [`Model::embed`].
    Vectors(&'a [Vec<f32>]),
    /// Some events of a completion; `None` at its end.
    Events(Option<&'a [ModelEvent]>),
}

/// A result that can be looked at as a [`Reply`].
pub trait AsReply: Send + 'static {
    /// The result, to look at.
    fn as_reply(&self) -> Reply<'_>;
}

macro_rules! replies {
    ($($type:ty, $value:pat => $reply:expr;)*) => {$(
        impl AsReply for $type {
            fn as_reply(&self) -> Reply<'_> {
                let $value = self;
                $reply
            }
        }
    )*};
}

replies! {
    (), () => Reply::Done;
    Box<dyn Connection>, _ => Reply::Done;
    Box<dyn Completion>, _ => Reply::Done;
    bool, flag => Reply::Flag(*flag);
    ServerInfo, server => Reply::Server(server);
    Vec<TableRef>, tables => Reply::Tables(tables);
    Vec<TableInfo>, tables => Reply::Described(tables);
    Option<Vec<ColumnStatistics>>, columns => Reply::Statistics(columns.as_deref());
    Arc<[Column]>, columns => Reply::Columns(columns);
    Option<Batch>, batch => Reply::Batch(batch.as_ref());
    String, text => Reply::Text(text);
    Vec<String>, names => Reply::Names(names);
    Vec<Vec<f32>>, vectors => Reply::Vectors(vectors);
    Option<Vec<ModelEvent>>, events => Reply::Events(events.as_deref());
}

/// One call to a `P` (a connector, a connection, a model or a completion) that is still to be made.
pub trait Invocation<P, T>: Send + Sync {
    /// The function and its arguments.
    fn operation(&self) -> Operation<'_>;
    /// The deadline of the call, and the token that cancels it.
    fn call(&self) -> &Call;
    /// Makes the call. It can be made again, on the same `P` or another.
    fn make<'c>(&'c self, on: &'c mut P) -> Pin<Box<dyn Future<Output = Result<T>> + Send + 'c>>;
}

/// Makes a type of each function of the plugins, which holds the arguments of a call.
macro_rules! invocations {
    ($(
        $name:ident<$a:lifetime>($($argument:ident: $type:ty),*)
        |$on:ident: $callee:ty, $call:ident| -> $reply:ty, $operation:expr => $make:expr;
    )*) => {$(
        struct $name<$a> {
            $($argument: $type,)*
            $call: &$a Call,
        }

        #[allow(unused_variables, reason = "not every operation names its arguments")]
        impl<$a> Invocation<$callee, $reply> for $name<$a> {
            fn operation(&self) -> Operation<'_> {
                let Self { $($argument,)* $call } = *self;
                $operation
            }

            fn call(&self) -> &Call {
                self.$call
            }

            fn make<'c>(
                &'c self,
                $on: &'c mut $callee,
            ) -> Pin<Box<dyn Future<Output = Result<$reply>> + Send + 'c>> {
                let Self { $($argument,)* $call } = *self;
                $make
            }
        }
    )*};
}

invocations! {
    Connect<'a>(target: &'a Target)
        |on: Arc<dyn Connector>, call| -> Box<dyn Connection>,
        Operation::Connect => on.connect(target, call);
    Check<'a>()
        |on: Box<dyn Connection>, call| -> ServerInfo,
        Operation::Check => on.check(call);
    Tables<'a>()
        |on: Box<dyn Connection>, call| -> Vec<TableRef>,
        Operation::Tables => on.tables(call);
    DescribeTables<'a>(tables: &'a [TableRef])
        |on: Box<dyn Connection>, call| -> Vec<TableInfo>,
        Operation::DescribeTables(tables) => on.describe_tables(tables, call);
    Statistics<'a>(table: &'a TableRef, options: &'a StatisticsOptions)
        |on: Box<dyn Connection>, call| -> Option<Vec<ColumnStatistics>>,
        Operation::Statistics(table, options) => on.statistics(table, options, call);
    BeginSnapshot<'a>(timeout: Duration)
        |on: Box<dyn Connection>, call| -> bool,
        Operation::BeginSnapshot(timeout) => on.begin_snapshot(timeout, call);
    EndSnapshot<'a>()
        |on: Box<dyn Connection>, call| -> (),
        Operation::EndSnapshot => on.end_snapshot(call);
    Query<'a>(statement: &'a Statement)
        |on: Box<dyn Connection>, call| -> Arc<[Column]>,
        Operation::Query(statement) => on.query(statement, call);
    Next<'a>(max_rows: u32)
        |on: Box<dyn Connection>, call| -> Option<Batch>,
        Operation::Next(max_rows) => on.next(max_rows, call);
    Close<'a>()
        |on: Box<dyn Connection>, call| -> (),
        Operation::Close => on.close(call);
    CheckModel<'a>(target: &'a Target)
        |on: Arc<dyn Model>, call| -> String,
        Operation::CheckModel => on.check(target, call);
    Models<'a>(target: &'a Target)
        |on: Arc<dyn Model>, call| -> Vec<String>,
        Operation::Models => on.models(target, call);
    Start<'a>(target: &'a Target, request: &'a ModelRequest)
        |on: Arc<dyn Model>, call| -> Box<dyn Completion>,
        Operation::Start(request) => on.start(target, request.clone(), call);
    Embed<'a>(target: &'a Target, model: &'a str, texts: &'a [String])
        |on: Arc<dyn Model>, call| -> Vec<Vec<f32>>,
        Operation::Embed(model, texts) => on.embed(target, model, texts, call);
    NextEvents<'a>()
        |on: Box<dyn Completion>, call| -> Option<Vec<ModelEvent>>,
        Operation::NextEvents => on.next(call);
}

/// What surrounds the calls to a plugin. One value of it accompanies each session.
pub trait Intercept: Send + Sync {
    /// What surrounds the calls of one session: a connection with the call that opens it, a completion with the call
    /// that starts it, or a single question to a model.
    type Interceptor: Send + 'static;

    /// Called before the first call of a session. An error ends it: the plugin is not called.
    ///
    /// # Errors
    /// Whatever the caller is to be told instead.
    fn begin(&self, plugin: &dyn Plugin, target: &Target) -> Result<Self::Interceptor>;

    /// Called before the plugin forgets a target whose configuration changed or that is gone.
    fn forget(&self, _target_id: &str) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// What surrounds the calls to a `P` in one session.
pub trait Interceptor<P>: Send {
    /// Called in place of each call. Makes it once, never, or several times. The session goes on with what `on` holds
    /// afterwards. Dropping the future cancels the call.
    fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<P, T>,
        on: &mut P,
    ) -> impl Future<Output = Result<T>> + Send;
}

/// A plugin with an interceptor around each call: a `dyn Connector` or a `dyn Model`.
pub struct Intercepted<P: ?Sized, I> {
    inner: Arc<P>,
    intercept: I,
}

impl<P: ?Sized, I> Intercepted<P, I> {
    /// Surrounds the calls to a plugin.
    pub fn new(inner: Arc<P>, intercept: I) -> Arc<Self> {
        Arc::new(Self { inner, intercept })
    }
}

impl<P: Plugin + ?Sized, I: Intercept> Intercepted<P, I> {
    fn begin(&self, target: &Target) -> Result<Session<Arc<P>, I::Interceptor>> {
        Ok(Session {
            interceptor: self.intercept.begin(self, target)?,
            callee: Arc::clone(&self.inner),
        })
    }
}

impl<P: Plugin + ?Sized, I: Intercept> Plugin for Intercepted<P, I> {
    fn manifest(&self) -> &Manifest {
        self.inner.manifest()
    }

    fn digest(&self) -> &str {
        self.inner.digest()
    }

    fn retire(&self) -> Option<Retirement> {
        self.inner.retire()
    }
}

#[async_trait]
impl<I: Intercept> Connector for Intercepted<dyn Connector, I>
where
    I::Interceptor: Interceptor<Arc<dyn Connector>> + Interceptor<Box<dyn Connection>>,
{
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let mut session = self.begin(target)?;
        let connection = session.pass(&Connect { target, call }).await?;
        Ok(Box::new(session.on(connection)))
    }

    async fn forget(&self, target_id: &str) {
        self.intercept.forget(target_id).await;
        self.inner.forget(target_id).await;
    }
}

#[async_trait]
impl<I: Intercept> Model for Intercepted<dyn Model, I>
where
    I::Interceptor: Interceptor<Arc<dyn Model>> + Interceptor<Box<dyn Completion>>,
{
    async fn check(&self, target: &Target, call: &Call) -> Result<String> {
        let mut session = self.begin(target)?;
        session.pass(&CheckModel { target, call }).await
    }

    async fn models(&self, target: &Target, call: &Call) -> Result<Vec<String>> {
        let mut session = self.begin(target)?;
        session.pass(&Models { target, call }).await
    }

    async fn start(
        &self,
        target: &Target,
        request: ModelRequest,
        call: &Call,
    ) -> Result<Box<dyn Completion>> {
        let mut session = self.begin(target)?;
        let request = &request;
        let start = Start {
            target,
            request,
            call,
        };
        let completion = session.pass(&start).await?;
        Ok(Box::new(session.on(completion)))
    }

    async fn embed(
        &self,
        target: &Target,
        model: &str,
        texts: &[String],
        call: &Call,
    ) -> Result<Vec<Vec<f32>>> {
        let mut session = self.begin(target)?;
        let embed = Embed {
            target,
            model,
            texts,
            call,
        };
        session.pass(&embed).await
    }

    async fn forget(&self, target_id: &str) {
        self.intercept.forget(target_id).await;
        self.inner.forget(target_id).await;
    }
}

/// What is called, and what surrounds the calls. The first is dropped first.
struct Session<P, I> {
    callee: P,
    interceptor: I,
}

impl<P, I> Session<P, I> {
    async fn pass<T: AsReply>(&mut self, invocation: &dyn Invocation<P, T>) -> Result<T>
    where
        I: Interceptor<P>,
    {
        let Self {
            callee,
            interceptor,
        } = self;
        interceptor.intercept(invocation, callee).await
    }

    /// The same session, which goes on with the connection or completion that began.
    fn on<Q>(self, callee: Q) -> Session<Q, I> {
        Session {
            callee,
            interceptor: self.interceptor,
        }
    }
}

#[async_trait]
impl<I: Interceptor<Box<dyn Connection>>> Connection for Session<Box<dyn Connection>, I> {
    fn digest(&self) -> &str {
        self.callee.digest()
    }

    fn plan(&self) -> Option<String> {
        self.callee.plan()
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        self.pass(&Check { call }).await
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        self.pass(&Tables { call }).await
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        self.pass(&DescribeTables { tables, call }).await
    }

    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        let statistics = Statistics {
            table,
            options,
            call,
        };
        self.pass(&statistics).await
    }

    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool> {
        self.pass(&BeginSnapshot { timeout, call }).await
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        self.pass(&EndSnapshot { call }).await
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        self.pass(&Query { statement, call }).await
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        self.pass(&Next { max_rows, call }).await
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        self.pass(&Close { call }).await
    }
}

#[async_trait]
impl<I: Interceptor<Box<dyn Completion>>> Completion for Session<Box<dyn Completion>, I> {
    async fn next(&mut self, call: &Call) -> Result<Option<Vec<ModelEvent>>> {
        self.pass(&NextEvents { call }).await
    }
}

#[cfg(test)]
mod tests;
