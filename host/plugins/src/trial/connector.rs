//! A connector on trial, and the stable one beside it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;

use super::watch::{Side, Watch};
use mindhost_base::error::{Blame, Code, Error, Kind, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnStatistics, Connection, Connector, Manifest, Plugin, ServerInfo,
    Statement, StatisticsOptions, TableInfo, TableRef, Target,
};

/// The stable version while another is on trial.
pub struct Observed {
    stable: Arc<dyn Connector>,
    watch: Arc<Watch>,
}

impl Observed {
    pub fn new(stable: Arc<dyn Connector>, watch: Arc<Watch>) -> Self {
        Self { stable, watch }
    }
}

impl Plugin for Observed {
    fn manifest(&self) -> &Manifest {
        self.stable.manifest()
    }

    fn digest(&self) -> &str {
        self.stable.digest()
    }
}

#[async_trait]
impl Connector for Observed {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        let connection = self.stable.connect(target, call).await;
        let connection = connection.inspect_err(|error| blame(&self.watch, Side::Stable, error))?;
        Ok(Box::new(Watched::new(
            connection,
            Side::Stable,
            &self.watch,
        )))
    }

    async fn forget(&self, target_id: &str) {
        self.stable.forget(target_id).await;
    }
}

/// The version on trial, with the stable one behind it.
pub struct OnTrial {
    candidate: Arc<dyn Connector>,
    stable: Arc<dyn Connector>,
    watch: Arc<Watch>,
}

impl OnTrial {
    pub fn new(
        candidate: Arc<dyn Connector>,
        stable: Arc<dyn Connector>,
        watch: Arc<Watch>,
    ) -> Self {
        Self {
            candidate,
            stable,
            watch,
        }
    }
}

impl Plugin for OnTrial {
    fn manifest(&self) -> &Manifest {
        self.candidate.manifest()
    }

    fn digest(&self) -> &str {
        self.candidate.digest()
    }
}

#[async_trait]
impl Connector for OnTrial {
    async fn connect(&self, target: &Target, call: &Call) -> Result<Box<dyn Connection>> {
        match self.candidate.connect(target, call).await {
            Ok(connection) => {
                let mut watched = Watched::new(connection, Side::Candidate, &self.watch);
                watched.fallback = Some((Arc::clone(&self.stable), target.clone()));
                Ok(Box::new(watched))
            }
            Err(error) if !is_worth_another_try(&error) => {
                blame(&self.watch, Side::Candidate, &error);
                Err(error)
            }
            Err(error) => {
                let connection = self.stable.connect(target, call).await?;
                self.watch.failed(Side::Candidate, error.message());
                Ok(connection)
            }
        }
    }

    async fn forget(&self, target_id: &str) {
        self.candidate.forget(target_id).await;
        self.stable.forget(target_id).await;
    }
}

/// A connection that is watched.
struct Watched {
    connection: Box<dyn Connection>,
    side: Side,
    watch: Arc<Watch>,
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

/// How a statement stands. It is counted once, when its first rows or its end come: what a version is asked for before is
/// cheap and soon done, and how long the rest takes is up to whoever reads it.
enum Standing {
    /// Nothing came yet, and so long the version took so far.
    Waited(Duration),
    /// It failed on the version on trial, for this reason, and was begun again on the stable one, which has still to do
    /// better.
    Again(String),
    /// It was counted, and may be nobody's business any more.
    Counted,
}

/// Makes one call that is no statement, and makes it again on the stable version where that may help.
macro_rules! attempt {
    ($self:ident, $call:ident, $method:ident($($argument:expr),*)) => {{
        match $self.connection.$method($($argument,)* $call).await {
            Ok(value) => {
                $self.watch.went_well($self.side);
                Ok(value)
            }
            Err(error) => match $self.fall_back(&error, $call).await {
                false => Err(error),
                true => {
                    let again = $self.connection.$method($($argument,)* $call).await;
                    if again.is_ok() {
                        $self.watch.failed(Side::Candidate, error.message());
                    }
                    again
                }
            },
        }
    }};
}

impl Watched {
    fn new(connection: Box<dyn Connection>, side: Side, watch: &Arc<Watch>) -> Self {
        Self {
            connection,
            side,
            watch: Arc::clone(watch),
            fallback: None,
            snapshot: None,
            spent: Duration::ZERO,
            cursor: None,
        }
    }

    /// Takes a connection of the stable version in the state of this one, unless that would help nobody. A failure for which
    /// nobody else can be asked is held against the version; one that the stable version shares is not.
    async fn fall_back(&mut self, error: &Error, call: &Call) -> bool {
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
                self.connection = connection;
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

    fn opened(&mut self, statement: &Statement, columns: &Arc<[Column]>, standing: Standing) {
        self.cursor = Some(Cursor {
            statement: statement.clone(),
            columns: Arc::clone(columns),
            standing,
        });
    }

    /// Something came of the open statement, after so long. No rows are no news.
    fn came(&mut self, batch: Option<&Batch>, time: Duration) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        if let Standing::Waited(spent) = &mut cursor.standing {
            *spent += time;
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

#[async_trait]
impl Connection for Watched {
    fn digest(&self) -> &str {
        self.connection.digest()
    }

    async fn check(&mut self, call: &Call) -> Result<ServerInfo> {
        attempt!(self, call, check())
    }

    async fn tables(&mut self, call: &Call) -> Result<Vec<TableRef>> {
        attempt!(self, call, tables())
    }

    async fn describe_tables(
        &mut self,
        tables: &[TableRef],
        call: &Call,
    ) -> Result<Vec<TableInfo>> {
        attempt!(self, call, describe_tables(tables))
    }

    async fn statistics(
        &mut self,
        table: &TableRef,
        options: &StatisticsOptions,
        call: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        attempt!(self, call, statistics(table, options))
    }

    async fn begin_snapshot(&mut self, timeout: Duration, call: &Call) -> Result<bool> {
        let at = Instant::now();
        let begun = match self.connection.begin_snapshot(timeout, call).await {
            Ok(begun) => {
                self.spent = at.elapsed();
                begun
            }
            Err(error) => {
                if !self.fall_back(&error, call).await {
                    return Err(error);
                }
                let begun = self.connection.begin_snapshot(timeout, call).await?;
                self.watch.failed(Side::Candidate, error.message());
                begun
            }
        };
        self.snapshot = begun.then_some(timeout);
        Ok(begun)
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        self.snapshot = None;
        self.connection.end_snapshot(call).await
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        self.cursor = None;
        let (spent, at) = (std::mem::take(&mut self.spent), Instant::now());
        let error = match self.connection.query(statement, call).await {
            Ok(columns) => {
                let standing = Standing::Waited(spent + at.elapsed());
                self.opened(statement, &columns, standing);
                return Ok(columns);
            }
            Err(error) => error,
        };
        if !self.fall_back(&error, call).await {
            return Err(error);
        }
        let columns = self.connection.query(statement, call).await?;
        let standing = Standing::Again(error.message().to_owned());
        self.opened(statement, &columns, standing);
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let at = Instant::now();
        let error = match self.connection.next(max_rows, call).await {
            Ok(batch) => {
                self.came(batch.as_ref(), at.elapsed());
                return Ok(batch);
            }
            Err(error) => error,
        };
        let Some(cursor) = &mut self.cursor else {
            return Err(error);
        };
        match std::mem::replace(&mut cursor.standing, Standing::Counted) {
            // The caller has rows that another version may not give again.
            Standing::Counted if is_fault(&error) => {
                self.watch.failed_after_all(self.side, error.message());
                return Err(error);
            }
            // It fails on both.
            Standing::Counted | Standing::Again(_) => return Err(error),
            Standing::Waited(_) => {}
        }
        if !self.fall_back(&error, call).await {
            return Err(error);
        }
        let batch = self.connection.next(max_rows, call).await?;
        if let Some(cursor) = &mut self.cursor {
            cursor.standing = Standing::Again(error.message().to_owned());
        }
        self.came(batch.as_ref(), Duration::ZERO);
        Ok(batch)
    }

    async fn close(&mut self, call: &Call) -> Result<()> {
        self.cursor = None;
        self.connection.close(call).await
    }
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
