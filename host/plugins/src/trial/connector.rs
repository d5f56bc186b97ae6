//! Calls to a connector on trial, with the stable one as fallback.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{DrawnVersion, Side, Watch};
use mindhost_base::error::{Blame, Code, Error, Kind, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, Connection, Connector, Plugin, Statement, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation, Reply},
};

impl Intercept for DrawnVersion<dyn Connector> {
    type Interceptor = ConnectionWatch;

    fn begin(&self, _: &dyn Plugin, target: &Target) -> Result<ConnectionWatch> {
        let fallback = self.fallback.as_ref();
        self.watch.serves(self.side(), &target.workspace);
        Ok(ConnectionWatch {
            side: self.side(),
            workspace: target.workspace.clone(),
            watch: Arc::clone(&self.watch),
            is_over: false,
            fallback: fallback.map(|stable| (Arc::clone(stable), target.clone())),
            snapshot: None,
            spent: Duration::ZERO,
            cursor: None,
        })
    }

    async fn forget(&self, target_id: &str) {
        if let Some(stable) = &self.fallback {
            stable.forget(target_id).await;
        }
    }
}

/// The watched state of one connection.
pub struct ConnectionWatch {
    side: Side,
    workspace: String,
    watch: Arc<Watch>,
    /// Whether the connection is not watched: the stable version opened it after the one on trial had failed to.
    is_over: bool,
    /// The fallback, while this is the version on trial.
    fallback: Option<(Arc<dyn Connector>, Target)>,
    /// The time of the snapshot that was begun.
    snapshot: Option<Duration>,
    /// The time that the version took to begin it, which counts for the next statement.
    spent: Duration,
    cursor: Option<Cursor>,
}

/// The open statement.
struct Cursor {
    statement: Statement,
    columns: Arc<[Column]>,
    standing: StatementState,
}

/// The state of a call, usually a statement. A statement is counted once, at its first rows or its end: the time until
/// then is the version's, the time after it depends on the reader.
enum StatementState {
    /// No result yet; the time that the version took so far.
    Waited(Duration),
    /// It failed on the version on trial, with this error, and runs on the stable one, which may fail too.
    Again(String),
    /// It was counted. It may not be watched any more.
    Counted,
}

impl Interceptor<Arc<dyn Connector>> for ConnectionWatch {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<Arc<dyn Connector>, T>,
        on: &mut Arc<dyn Connector>,
    ) -> Result<T> {
        let error = match invocation.make(on).await {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let fallback = self.fallback.take();
        let Some((stable, _)) = fallback.filter(|_| is_worth_another_try(&error)) else {
            blame(&self.watch, self.side, &self.workspace, &error);
            return Err(error);
        };
        *on = stable;
        let opened = invocation.make(on).await?;
        self.watch.failed(error.message());
        self.is_over = true;
        Ok(opened)
    }
}

impl Interceptor<Box<dyn Connection>> for ConnectionWatch {
    async fn intercept<T: AsReply>(
        &mut self,
        invocation: &dyn Invocation<Box<dyn Connection>, T>,
        on: &mut Box<dyn Connection>,
    ) -> Result<T> {
        let operation = invocation.operation();
        let waited = self.starts(operation);
        let may_be_counted = !matches!(operation, Operation::EndSnapshot | Operation::Close);
        if self.is_over || !may_be_counted {
            return invocation.make(on).await;
        }
        let at = Instant::now();
        let error = match invocation.make(on).await {
            Ok(value) => {
                let standing = StatementState::Waited(waited + at.elapsed());
                self.came(operation, value.as_reply(), standing);
                return Ok(value);
            }
            Err(error) => error,
        };
        if matches!(operation, Operation::Next(_)) && !self.may_begin_again(&error)
            || !self.fall_back(&error, on, invocation.call()).await
        {
            return Err(error);
        }
        let value = invocation.make(on).await?;
        let standing = StatementState::Again(error.message().to_owned());
        self.came(operation, value.as_reply(), standing);
        Ok(value)
    }
}

impl ConnectionWatch {
    /// Starts a call. Returns the time to add to its own.
    fn starts(&mut self, operation: Operation<'_>) -> Duration {
        match operation {
            Operation::EndSnapshot => self.snapshot = None,
            Operation::Close => self.cursor = None,
            Operation::Query(_) => {
                self.cursor = None;
                return std::mem::take(&mut self.spent);
            }
            _ => {}
        }
        Duration::ZERO
    }

    /// Whether the failed statement may be repeated: it had no result, and failed only once.
    fn may_begin_again(&mut self, error: &Error) -> bool {
        let Some(cursor) = &mut self.cursor else {
            return false;
        };
        match std::mem::replace(&mut cursor.standing, StatementState::Counted) {
            StatementState::Waited(_) => true,
            // The caller has rows that another version may not repeat.
            StatementState::Counted if is_fault(error) => {
                self.watch
                    .may_have_failed_after_all(self.side, &self.workspace, error.message());
                false
            }
            // It fails on both.
            StatementState::Counted | StatementState::Again(_) => false,
        }
    }

    /// Replaces the connection with one of the stable version in the same state, if that can help. A failure without a
    /// fallback counts against the version; one that the stable version shares does not.
    async fn fall_back(
        &mut self,
        error: &Error,
        on: &mut Box<dyn Connection>,
        call: &Call,
    ) -> bool {
        let stable = match is_worth_another_try(error) {
            true => self.fallback.clone(),
            false => None,
        };
        let Some((stable, target)) = stable else {
            blame(&self.watch, self.side, &self.workspace, error);
            return false;
        };
        let (snapshot, cursor) = (self.snapshot, self.cursor.as_ref());
        match open_again(&*stable, &target, snapshot, cursor, call).await {
            Ok(Some(connection)) => {
                self.fallback = None;
                *on = connection;
                self.side = Side::Stable;
                true
            }
            Ok(None) => {
                blame(&self.watch, self.side, &self.workspace, error);
                false
            }
            Err(other) => {
                // The fallback had no capacity or no time, which proves nothing about the failure.
                if !is_worth_another_try(&other) {
                    blame(&self.watch, self.side, &self.workspace, error);
                }
                false
            }
        }
    }

    /// A call succeeded, on the version or on its fallback, as `standing` says.
    fn came(&mut self, operation: Operation<'_>, reply: Reply<'_>, standing: StatementState) {
        match (operation, reply) {
            (Operation::Query(statement), Reply::Columns(columns)) => {
                self.cursor = Some(Cursor {
                    statement: statement.clone(),
                    columns: Arc::clone(columns),
                    standing,
                });
            }
            (_, Reply::Batch(batch)) => self.rows_came(batch, standing),
            (Operation::BeginSnapshot(timeout), Reply::Flag(begun)) => {
                self.snapshot = begun.then_some(timeout);
                match standing {
                    StatementState::Again(why) => self.watch.failed(&why),
                    StatementState::Waited(time) => self.spent = time,
                    StatementState::Counted => {}
                }
            }
            _ => match standing {
                StatementState::Again(why) => self.watch.failed(&why),
                StatementState::Waited(_) | StatementState::Counted => {
                    self.watch.went_well(self.side)
                }
            },
        }
    }

    /// The open statement returned something. An empty batch does not count.
    fn rows_came(&mut self, batch: Option<&Batch>, now: StatementState) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        match (&mut cursor.standing, now) {
            (StatementState::Waited(spent), StatementState::Waited(time)) => *spent += time,
            (standing, again @ StatementState::Again(_)) => *standing = again,
            _ => {}
        }
        if batch.is_some_and(|batch| batch.rows() == 0) {
            return;
        }
        match std::mem::replace(&mut cursor.standing, StatementState::Counted) {
            StatementState::Waited(spent) => self.watch.succeeded(self.side, spent),
            StatementState::Again(why) => self.watch.failed(&why),
            StatementState::Counted => {}
        }
    }
}

/// A connection with the same snapshot and statement; `None` if its columns differ from those that the caller knows.
async fn open_again(
    connector: &dyn Connector,
    target: &Target,
    snapshot: Option<Duration>,
    cursor: Option<&Cursor>,
    call: &Call,
) -> Result<Option<Box<dyn Connection>>> {
    let mut connection = connector.connect(target, call).await?;
    if let Some(timeout) = snapshot {
        connection.begin_snapshot(timeout, call).await?;
    }
    if let Some(cursor) = cursor {
        let columns = connection.query(&cursor.statement, call).await?;
        if columns != cursor.columns {
            return Ok(None);
        }
    }
    Ok(Some(connection))
}

/// Whether another version could succeed: not if the caller left, the time is over or the server is full.
pub(super) fn is_worth_another_try(error: &Error) -> bool {
    !matches!(error.kind(), Kind::Cancelled | Kind::Timeout) && error.code() != Code::Overloaded
}

/// Counts a possible fault of the version that the fallback could not confirm.
pub(super) fn blame(watch: &Watch, side: Side, workspace: &str, error: &Error) {
    if is_fault(error) {
        watch.may_have_failed(side, workspace, error.message());
    }
}

/// Whether the version may be at fault: not for errors of the caller or of this server, nor for a full server or a slow
/// engine.
pub(super) fn is_fault(error: &Error) -> bool {
    match error.kind() {
        Kind::Timeout => error.blame() != Some(Blame::Upstream),
        Kind::BadGateway | Kind::Unavailable => {
            error.blame() != Some(Blame::Host) && error.code() != Code::Overloaded
        }
        _ => false,
    }
}
