//! A connector on trial, and the stable one beside it.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Drawn, Side, Watch};
use mindhost_base::error::{Blame, Code, Error, Kind, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, Connection, Connector, Plugin, Statement, Target,
    intercept::{AsReply, Intercept, Interceptor, Invocation, Operation, Reply},
};

impl Intercept for Drawn<dyn Connector> {
    type Interceptor = Watched;

    fn begin(&self, _: &dyn Plugin, target: &Target) -> Result<Watched> {
        let fallback = self.fallback.as_ref();
        Ok(Watched {
            side: self.side(),
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

/// What is seen of one connection.
pub struct Watched {
    side: Side,
    watch: Arc<Watch>,
    /// Whether the connection is nobody's business: the stable version opened it after the one on trial had failed to.
    is_over: bool,
    /// Where to ask again, while this is the version on trial.
    fallback: Option<(Arc<dyn Connector>, Target)>,
    /// The time of the snapshot that was begun.
    snapshot: Option<Duration>,
    /// What the version took to begin it, which the next statement waited for.
    spent: Duration,
    cursor: Option<Cursor>,
}

/// What is open.
struct Cursor {
    statement: Statement,
    columns: Arc<[Column]>,
    standing: Standing,
}

/// How a call stands, a statement above all. A statement is counted once, when its first rows or its end come: what a
/// version is asked for before is cheap and soon done, and how long the rest takes is up to whoever reads it.
enum Standing {
    /// Nothing came yet, and so long the version took so far.
    Waited(Duration),
    /// It failed on the version on trial, for this reason, and was begun again on the stable one, which has still to do
    /// better.
    Again(String),
    /// It was counted, and may be nobody's business any more.
    Counted,
}

impl Interceptor<Arc<dyn Connector>> for Watched {
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
            blame(&self.watch, self.side, &error);
            return Err(error);
        };
        *on = stable;
        let opened = invocation.make(on).await?;
        self.watch.failed(Side::Candidate, error.message());
        self.is_over = true;
        Ok(opened)
    }
}

impl Interceptor<Box<dyn Connection>> for Watched {
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
                let standing = Standing::Waited(waited + at.elapsed());
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
        let standing = Standing::Again(error.message().to_owned());
        self.came(operation, value.as_reply(), standing);
        Ok(value)
    }
}

impl Watched {
    /// A call is about to be made. Gives the time that counts with its own.
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

    /// Whether the open statement, which failed, may be begun again: nothing came of it, and it failed only once.
    fn may_begin_again(&mut self, error: &Error) -> bool {
        let Some(cursor) = &mut self.cursor else {
            return false;
        };
        match std::mem::replace(&mut cursor.standing, Standing::Counted) {
            Standing::Waited(_) => true,
            // The caller has rows that another version may not give again.
            Standing::Counted if is_fault(error) => {
                self.watch.failed_after_all(self.side, error.message());
                false
            }
            // It fails on both.
            Standing::Counted | Standing::Again(_) => false,
        }
    }

    /// Replaces the connection with one of the stable version in the same state, unless that would help nobody. A
    /// failure for which nobody else can be asked is held against the version; one that the stable version shares is not.
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
            blame(&self.watch, self.side, error);
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
                blame(&self.watch, self.side, error);
                false
            }
            Err(other) => {
                // It had no room or no time, which says nothing of what failed.
                if !is_worth_another_try(&other) {
                    blame(&self.watch, self.side, error);
                }
                false
            }
        }
    }

    /// A call succeeded, at once or on the stable version, as `standing` says.
    fn came(&mut self, operation: Operation<'_>, reply: Reply<'_>, standing: Standing) {
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
                    Standing::Again(why) => self.watch.failed(Side::Candidate, &why),
                    Standing::Waited(time) => self.spent = time,
                    Standing::Counted => {}
                }
            }
            _ => match standing {
                Standing::Again(why) => self.watch.failed(Side::Candidate, &why),
                Standing::Waited(_) | Standing::Counted => self.watch.went_well(self.side),
            },
        }
    }

    /// Something came of the open statement. No rows are no news.
    fn rows_came(&mut self, batch: Option<&Batch>, now: Standing) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        match (&mut cursor.standing, now) {
            (Standing::Waited(spent), Standing::Waited(time)) => *spent += time,
            (standing, again @ Standing::Again(_)) => *standing = again,
            _ => {}
        }
        if batch.is_some_and(|batch| batch.rows() == 0) {
            return;
        }
        match std::mem::replace(&mut cursor.standing, Standing::Counted) {
            Standing::Waited(spent) => self.watch.succeeded(self.side, spent),
            Standing::Again(why) => self.watch.failed(Side::Candidate, &why),
            Standing::Counted => {}
        }
    }
}

/// A connection with the same snapshot and statement; none where the columns that the caller knows are other ones there.
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

/// Whether another version could have done better: not where the caller left, the time is over or the server is full.
pub(super) fn is_worth_another_try(error: &Error) -> bool {
    !matches!(error.kind(), Kind::Cancelled | Kind::Timeout) && error.code() != Code::Overloaded
}

/// Counts what the version may be to blame for, where nobody could tell by asking the other one.
pub(super) fn blame(watch: &Watch, side: Side, error: &Error) {
    if is_fault(error) {
        watch.failed(side, error.message());
    }
}

/// Whether a version may be to blame: not for what the caller or this server did, and not that the server is full.
pub(super) fn is_fault(error: &Error) -> bool {
    match error.kind() {
        Kind::Timeout => true,
        Kind::BadGateway | Kind::Unavailable => {
            error.blame() != Some(Blame::Host) && error.code() != Code::Overloaded
        }
        _ => false,
    }
}
