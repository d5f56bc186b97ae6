//! Responses that ended in a conversation of their own, stored many at a time.
//!
//! A transaction costs as much as what is written in it, so one task writes all that came while it wrote the last. Who
//! waits for its own response waits for at most two transactions.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::super::{record::ResponseRecord, store};
use crate::conversations::{self, Conversation, Message};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{Store, StoredBytes};

/// Responses that are stored in one transaction at most, and that may wait for theirs.
const AT_ONCE: usize = 64;
const WAITING: usize = 1024;

/// A response that ended, with its conversation, which is new, and all that was said in it.
#[derive(Debug)]
pub struct Whole {
    /// The conversation.
    pub conversation: Conversation,
    /// The response.
    pub record: ResponseRecord,
    /// Question and answer.
    pub messages: Vec<Message>,
}

/// Stores responses together.
#[derive(Debug)]
pub struct Together {
    waiting: mpsc::Sender<(Whole, oneshot::Sender<Result<()>>)>,
}

impl Together {
    /// Begins; ends with `ending`, when what waits is stored.
    pub fn start(
        store: Store,
        host_id: Arc<str>,
        tasks: &TaskTracker,
        ending: CancellationToken,
    ) -> Self {
        let (waiting, mut wholes) = mpsc::channel(WAITING);
        tasks.spawn(async move {
            let mut batch = Vec::with_capacity(AT_ONCE);
            loop {
                let received = tokio::select! {
                    biased;
                    received = wholes.recv_many(&mut batch, AT_ONCE) => received,
                    () = ending.cancelled(), if !wholes.is_closed() => {
                        wholes.close();
                        continue;
                    }
                };
                if received == 0 {
                    return;
                }
                write(&store, &host_id, &mut batch).await;
            }
        });
        Self { waiting }
    }

    /// Waits until a response is stored. False when responses are not stored together any more, because the server
    /// ends; nothing of this one is stored then.
    ///
    /// # Errors
    /// When the store fails; nothing of the response is stored then.
    pub async fn store(&self, whole: Whole) -> Result<bool> {
        let (stored, done) = oneshot::channel();
        if self.waiting.send((whole, stored)).await.is_err() {
            return Ok(false);
        }
        let lost = |_| Error::internal("the task that stores responses is gone");
        done.await.map_err(lost)?.map(|()| true)
    }
}

async fn write(
    store: &Store,
    host_id: &str,
    batch: &mut Vec<(Whole, oneshot::Sender<Result<()>>)>,
) {
    let wholes: Vec<&Whole> = batch.iter().map(|(whole, _)| whole).collect();
    let written = insert(store, host_id, &wholes).await;
    let again = written.as_ref().is_err_and(|error| {
        // One of them cannot be stored, because its key is full or went with its workspace: the others are.
        error.code() != Code::Overloaded && wholes.len() > 1
    });
    for (whole, stored) in batch.drain(..) {
        let result = match again {
            true => insert(store, host_id, &[&whole]).await,
            false => written.clone(),
        };
        // Who waited may have left.
        let _ = stored.send(result);
    }
}

async fn insert(db: &Store, host_id: &str, wholes: &[&Whole]) -> Result<()> {
    let conversations: Vec<_> = wholes.iter().map(|whole| &whole.conversation).collect();
    let records: Vec<_> = wholes.iter().map(|whole| &whole.record).collect();
    let said: Vec<_> = wholes.iter().flat_map(|whole| whole.said()).collect();
    let mut tx = db.begin_records().await?;
    conversations::insert(&mut tx, &conversations).await?;
    store::insert(&mut tx, &records, host_id).await?;
    conversations::insert_messages(&mut tx, &said).await?;
    let mut added = StoredBytes::default();
    for Whole {
        conversation,
        record,
        messages,
    } in wholes
    {
        let bytes =
            conversation.bytes() + conversations::bytes_of(messages) + store::bytes_of(record);
        added.add(&record.workspace_id, &record.key_id, bytes);
    }
    db.add_stored(&mut tx, &added).await?;
    Ok(tx.commit().await?)
}

impl Whole {
    fn said(&self) -> impl Iterator<Item = conversations::Said<'_>> {
        let positions = 1_i64..;
        positions
            .zip(&self.messages)
            .map(|(position, message)| conversations::Said {
                conversation: &self.conversation,
                response: Some(self.record.id),
                position,
                message,
            })
    }
}
