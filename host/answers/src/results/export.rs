//! A whole result as CSV, streamed: a batch is encoded and sent before the next one is read.

use std::{io, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;
use uuid::Uuid;

use super::export_slots::ExportSlot;
use mindhost_base::{
    config::{self, Formulas},
    error::{Code, Error, Kind, Result},
};
use mindhost_core::usage::Tally;
use mindhost_plugin_api::{Batch, Call, Column, Connection, Statement};
use mindhost_sql::{csv::CsvEncoder, guard::GuardedStatement};

/// Rows that are asked of a connector at once.
const ROWS_AT_ONCE: u32 = 8192;

/// Batches on their way to the client. Few, so that the engine waits for the client and memory stays bounded.
const BATCHES_IN_FLIGHT: usize = 2;

/// A started CSV stream.
pub struct Export {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    /// Cancelled when the client may not have the rest, including what is queued in `pieces`.
    revoked: CancellationToken,
    /// Digest of the plugin version that serves it.
    pub digest: String,
    _cancel_on_drop: tokio_util::sync::DropGuard,
}

impl Export {
    /// The next piece of the file. An error aborts the transfer, so that no client takes a part for the whole file.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        tokio::select! {
            biased;
            () = self.revoked.cancelled() => Some(Err(broken())),
            piece = self.pieces.recv() => piece,
        }
    }
}

/// What bounds an export beside its settings.
pub struct Terms {
    /// Counts its rows.
    pub tally: Option<Arc<Tally>>,
    /// Its slot among the exports of its key, if it has one.
    pub slot: Option<ExportSlot>,
    /// Resolves with the reason when the client may no longer have the result.
    pub withdrawn: Pin<Box<dyn Future<Output = Error> + Send>>,
}

/// Runs the statement until its first rows, then continues in its own task. The token of `first` cancels both.
pub async fn start(
    mut connection: Box<dyn Connection>,
    guarded: &GuardedStatement,
    settings: &config::Sql,
    formulas: Formulas,
    first: Call,
    tasks: &TaskTracker,
    terms: Terms,
) -> Result<Export> {
    let whole = settings.export_timeout;
    let cancel = first.cancel.clone();
    let statement = Statement {
        text: guarded.text().to_owned(),
        id: Uuid::now_v7().to_string(),
        timeout: whole,
    };
    let columns = connection.query(&statement, &first).await?;
    let batch = connection.next(ROWS_AT_ONCE, &first).await?;
    let digest = connection.digest().to_owned();
    let (sender, pieces) = mpsc::channel(BATCHES_IN_FLIGHT);
    let revoked = CancellationToken::new();
    let copy = Copy {
        connection,
        columns: guarded.named(&columns),
        sender,
        deadline: Instant::now() + whole,
        idle: settings.export_idle_timeout,
        formulas,
        cancel: cancel.clone(),
        tally: terms.tally,
        revoked: revoked.clone(),
        _slot: terms.slot,
    };
    tasks.spawn(copy.run(batch, terms.withdrawn).in_current_span());
    Ok(Export {
        pieces,
        revoked,
        digest,
        _cancel_on_drop: cancel.drop_guard(),
    })
}

/// The task that copies rows to the client.
struct Copy {
    connection: Box<dyn Connection>,
    columns: Arc<[Column]>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    deadline: Instant,
    idle: Duration,
    formulas: Formulas,
    cancel: CancellationToken,
    tally: Option<Arc<Tally>>,
    revoked: CancellationToken,
    _slot: Option<ExportSlot>,
}

impl Copy {
    async fn run(mut self, first: Option<Batch>, withdrawn: impl Future<Output = Error>) {
        let (revoked, cancel) = (self.revoked.clone(), self.cancel.clone());
        let copied = tokio::select! {
            copied = self.copy(first) => copied,
            // Also while it waits for a client that does not read.
            () = cancel.cancelled() => {
                revoked.cancel();
                Err(Error::new(Code::Cancelled, "the export was stopped"))
            }
            error = withdrawn => {
                revoked.cancel();
                Err(error)
            }
        };
        if let Err(error) = copied {
            if error.kind() != Kind::Cancelled {
                tracing::warn!(
                    code = error.code().as_str(),
                    message = error.message(),
                    "an export broke off"
                );
            }
            // A connection that is dropped with an open cursor cancels the statement.
            drop(self.connection);
            let _ = timeout(self.idle, self.sender.send(Err(broken()))).await;
        }
    }

    async fn copy(&mut self, mut batch: Option<Batch>) -> Result<()> {
        let call = Call {
            deadline: self.deadline,
            ..Call::new(Duration::ZERO, self.cancel.clone())
        };
        let mut encoder = CsvEncoder::new(self.columns.clone(), self.formulas);
        let mut piece = Vec::new();
        encoder.header(&mut piece);
        while let Some(rows) = batch {
            encoder.batch(&rows, &mut piece);
            if let Some(tally) = &self.tally {
                tally.rows(rows.rows() as u64);
            }
            send(&self.sender, std::mem::take(&mut piece), self.idle).await?;
            batch = self.connection.next(ROWS_AT_ONCE, &call).await?;
        }
        self.connection.close(&call).await?;
        send(&self.sender, piece, self.idle).await
    }
}

fn broken() -> io::Error {
    io::Error::other("the export broke off")
}

async fn send(
    sender: &mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
    idle: Duration,
) -> Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    match timeout(idle, sender.send(Ok(piece.into()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Error::new(Code::Cancelled, "the client went away")),
        Err(_) => Err(Error::new(
            Code::Timeout,
            format!("the client read nothing for {} seconds", idle.as_secs()),
        )),
    }
}
