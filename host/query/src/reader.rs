//! The task that owns a source while a statement runs, and the handle to it.
//!
//! A statement may drop a scan in the middle of a call while another continues. So no scan owns the source: the task
//! does. It makes one call at a time, and returns the source at the end of the statement.

use std::{
    fmt,
    sync::{Arc, mpsc as blocking},
    time::Duration,
};

use futures_util::{StreamExt as _, stream, stream::BoxStream};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::{scans::Scans, table::ScanSource};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, TableRef,
    scanner::{Filter, Pushdown, Scan, ScanId, Source},
};

/// Rows per call.
const ROWS_AT_ONCE: u32 = 8_192;
/// Calls in the queue. Each scan has at most one, plus its end.
const MAX_WAITING: usize = 1_024;
/// How long to wait for a reply after the deadline of the call.
const SLACK: Duration = Duration::from_secs(5);

type Reply<T> = oneshot::Sender<Result<T>>;

enum Command {
    Columns(TableRef, Reply<Arc<[Column]>>),
    /// A blocking channel, because the planner is not async.
    Support(
        TableRef,
        Vec<Filter>,
        blocking::SyncSender<Result<Vec<Pushdown>>>,
    ),
    Scan(Scan, Reply<ScanId>),
    Next(ScanId, Reply<Option<Batch>>),
    Close(ScanId),
}

/// A handle to the source, for one statement.
#[derive(Clone)]
pub struct Reader {
    commands: mpsc::Sender<Command>,
    /// The id and limits of the statement.
    id: Arc<str>,
    call: Call,
    scans: Scans,
}

/// Returns the source when every [`Reader`] is dropped.
pub type SourceReceiver = oneshot::Receiver<Box<dyn Source>>;

impl Reader {
    /// Starts the task, which ends with the last handle. `call` cancels its waits.
    pub fn start(
        source: Box<dyn Source>,
        id: &str,
        call: Call,
        tasks: &TaskTracker,
    ) -> (Self, SourceReceiver) {
        let (commands, waiting) = mpsc::channel(MAX_WAITING);
        let (release, returned) = oneshot::channel();
        let reader = Self {
            commands,
            id: id.into(),
            call: call.clone(),
            scans: Scans::default(),
        };
        tasks.spawn(async move {
            let source = serve(source, waiting, &call).await;
            // If the statement was dropped, the source is dropped here.
            drop(release.send(source));
        });
        (reader, returned)
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply))?;
        answer.await.map_err(|_| ended())?
    }

    fn send(&self, command: Command) -> Result<()> {
        self.commands.try_send(command).map_err(|_| ended())
    }

    /// What was asked of the source so far.
    pub fn scans(&self) -> &Scans {
        &self.scans
    }

    /// The columns of a table.
    pub async fn columns(&self, table: &TableRef) -> Result<Arc<[Column]>> {
        let table = table.clone();
        self.ask(|reply| Command::Columns(table, reply)).await
    }

    /// A table of the source.
    pub fn table(&self, table: TableRef) -> Arc<dyn ScanSource> {
        Arc::new(SourceTable {
            reader: self.clone(),
            table,
        })
    }
}

fn ended() -> Error {
    Error::internal("the source of the statement is gone")
}

async fn serve(
    mut source: Box<dyn Source>,
    mut commands: mpsc::Receiver<Command>,
    call: &Call,
) -> Box<dyn Source> {
    while let Some(command) = commands.recv().await {
        // If the receiver of a reply is dropped, its scan closes too.
        match command {
            Command::Columns(table, reply) => {
                drop(reply.send(source.columns(&table, call).await));
            }
            Command::Support(table, filters, reply) => {
                let answer = source.filter_support(&table, &filters, call).await;
                drop(reply.try_send(answer));
            }
            Command::Scan(scan, reply) => {
                let answer = source.scan(&scan, call).await;
                if let Err(Ok(unwanted)) = reply.send(answer) {
                    drop(source.close(unwanted, call).await);
                }
            }
            Command::Next(_, reply) if reply.is_closed() => {}
            Command::Next(scan, reply) => {
                drop(reply.send(source.next(scan, ROWS_AT_ONCE, call).await));
            }
            Command::Close(scan) => drop(source.close(scan, call).await),
        }
    }
    source
}

/// What a scan reads from, which DataFusion holds in its plan.
struct SourceTable {
    reader: Reader,
    table: TableRef,
}

impl fmt::Debug for SourceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceTable({})", self.table)
    }
}

impl ScanSource for SourceTable {
    fn filter_support(&self, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let (reply, answer) = blocking::sync_channel(1);
        let command = Command::Support(self.table.clone(), filters.to_vec(), reply);
        self.reader.send(command)?;
        let wait = self.reader.call.remaining() + SLACK;
        answer.recv_timeout(wait).map_err(|_| ended())?
    }

    fn scan(
        &self,
        columns: Arc<[Column]>,
        filters: Vec<Filter>,
        limit: Option<u64>,
        is_count: bool,
    ) -> BoxStream<'static, Result<Batch>> {
        let scan = Scan {
            table: self.table.clone(),
            columns,
            filters,
            limit,
            is_count,
            id: self.reader.id.to_string(),
        };
        let start = Reading::Start(self.reader.clone(), Box::new(scan));
        stream::unfold(start, next).boxed()
    }
}

/// The state of a scan's stream.
enum Reading {
    Start(Reader, Box<Scan>),
    Open(Open),
    End,
}

async fn next(reading: Reading) -> Option<(Result<Batch>, Reading)> {
    let open = match reading {
        Reading::End => return None,
        Reading::Open(open) => open,
        Reading::Start(reader, scan) => {
            let index = reader.scans.begin(&scan);
            match reader.ask(|reply| Command::Scan(*scan, reply)).await {
                Ok(scan) => Open {
                    reader,
                    scan,
                    index,
                },
                Err(error) => return Some((Err(error), Reading::End)),
            }
        }
    };
    let scan = open.scan;
    match open.reader.ask(|reply| Command::Next(scan, reply)).await {
        Ok(Some(batch)) => {
            open.reader.scans.received(open.index, &batch);
            Some((Ok(batch), Reading::Open(open)))
        }
        Ok(None) => None,
        Err(error) => Some((Err(error), Reading::End)),
    }
}

/// An open scan, closed on drop.
struct Open {
    reader: Reader,
    scan: ScanId,
    /// Its index in [`Reader::scans`].
    index: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        // If the task has ended, the scan is closed already.
        drop(self.reader.send(Command::Close(self.scan)));
    }
}
