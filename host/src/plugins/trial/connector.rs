//! A connector on trial, and the stable one beside it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;

use super::watch::{Side, Watch};
use crate::{
    error::{Blame, Code, Error, Kind, Result},
    plugins::{
        Batch, Call, Column, ColumnStatistics, Connection, Connector, Manifest, Plugin, ServerInfo,
        Statement, StatisticsOptions, TableInfo, TableRef, Target,
    },
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
        Ok(Box::new(Watched {
            connection,
            side: Side::Stable,
            watch: Arc::clone(&self.watch),
            fallback: None,
            snapshot: None,
            cursor: None,
        }))
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
            Ok(connection) => Ok(Box::new(Watched {
                connection,
                side: Side::Candidate,
                watch: Arc::clone(&self.watch),
                fallback: Some((Arc::clone(&self.stable), target.clone())),
                snapshot: None,
                cursor: None,
            })),
            Err(error) if !is_worth_another_try(&error) => Err(error),
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
    cursor: Option<Cursor>,
}

/// What is open.
struct Cursor {
    statement: Statement,
    columns: Arc<[Column]>,
    /// Rows were given to the caller.
    delivered: bool,
}

/// Makes one call, and makes it again on the stable version where that may help.
macro_rules! attempt {
    ($self:ident, $call:ident, $method:ident($($argument:expr),*)) => {{
        let begun = Instant::now();
        match $self.connection.$method($($argument,)* $call).await {
            Ok(value) => {
                $self.watch.succeeded($self.side, begun.elapsed());
                Ok(value)
            }
            Err(error) => match $self.fall_back(&error, $call).await {
                None => {
                    blame(&$self.watch, $self.side, &error);
                    Err(error)
                }
                Some(connection) => {
                    $self.connection = connection;
                    $self.side = Side::Stable;
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
    /// A connection of the stable version in the state of this one; none where asking again would help nobody.
    async fn fall_back(&mut self, error: &Error, call: &Call) -> Option<Box<dyn Connection>> {
        let delivered = self.cursor.as_ref().is_some_and(|cursor| cursor.delivered);
        if delivered || !is_worth_another_try(error) {
            return None;
        }
        let (stable, target) = self.fallback.take()?;
        let mut connection = stable.connect(&target, call).await.ok()?;
        if let Some(timeout) = self.snapshot {
            connection.begin_snapshot(timeout, call).await.ok()?;
        }
        if let Some(cursor) = &self.cursor {
            let columns = connection.query(&cursor.statement, call).await.ok()?;
            if columns != cursor.columns {
                return None;
            }
        }
        Some(connection)
    }
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
        let begun = attempt!(self, call, begin_snapshot(timeout))?;
        self.snapshot = begun.then_some(timeout);
        Ok(begun)
    }

    async fn end_snapshot(&mut self, call: &Call) -> Result<()> {
        self.snapshot = None;
        self.connection.end_snapshot(call).await
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        let columns: Arc<[Column]> = attempt!(self, call, query(statement))?;
        self.cursor = Some(Cursor {
            statement: statement.clone(),
            columns: Arc::clone(&columns),
            delivered: false,
        });
        Ok(columns)
    }

    async fn next(&mut self, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        let batch: Option<Batch> = attempt!(self, call, next(max_rows))?;
        if let Some(cursor) = &mut self.cursor {
            cursor.delivered |= batch.as_ref().is_some_and(|batch| batch.rows() > 0);
        }
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
    let is_fault = match error.kind() {
        Kind::Timeout => true,
        Kind::BadGateway | Kind::Unavailable => error.blame() != Some(Blame::Host),
        _ => false,
    };
    if is_fault {
        watch.failed(side, error.message());
    }
}
