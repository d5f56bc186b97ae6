//! Group commit of finished answers whose conversation is new.
//!
//! A transaction costs as much as the rows in it, so one task writes all answers that arrive during the previous write.
//! Each caller waits for at most two transactions.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::super::{record::ResponseRecord, store};
use crate::conversations::{self, Conversation, Message};
use mindhost_base::error::{Code, Error, Result};
use mindhost_store::{Store, StoredBytes};

/// Answers per transaction, and answers that may wait for one.
const BATCH: usize = 64;
const QUEUE: usize = 1024;

/// A finished response with its new conversation and all messages of that.
#[derive(Debug)]
pub struct FinishedAnswer {
    /// The conversation that the messages are added to.
    pub conversation: Conversation,
    /// Stored in the same transaction as its messages.
    pub record: ResponseRecord,
    /// What was sent, with the question.
    pub input: Vec<Message>,
    /// The Mind's own message.
    pub answer: Message,
}

/// The task that stores finished answers.
#[derive(Debug)]
pub struct GroupCommit {
    sender: mpsc::Sender<(FinishedAnswer, oneshot::Sender<Result<()>>)>,
}

impl GroupCommit {
    /// Starts the task. It stops after `ending`, when the queue is empty.
    pub fn start(
        store: Store,
        host_id: Arc<str>,
        tasks: &TaskTracker,
        ending: CancellationToken,
    ) -> Self {
        let (sender, mut queue) = mpsc::channel(QUEUE);
        tasks.spawn(async move {
            let mut batch = Vec::with_capacity(BATCH);
            loop {
                let received = tokio::select! {
                    biased;
                    received = queue.recv_many(&mut batch, BATCH) => received,
                    () = ending.cancelled(), if !queue.is_closed() => {
                        queue.close();
                        continue;
                    }
                };
                if received == 0 {
                    return;
                }
                write(&store, &host_id, &mut batch).await;
            }
        });
        Self { sender }
    }

    /// Stores an answer and waits until that is done. False when the task has stopped because the server shuts down;
    /// nothing is stored then.
    ///
    /// # Errors
    /// When the store fails; nothing of the response is stored then.
    pub async fn store(&self, finished: FinishedAnswer) -> Result<bool> {
        let (stored, done) = oneshot::channel();
        if self.sender.send((finished, stored)).await.is_err() {
            return Ok(false);
        }
        let lost = |_| Error::internal("the task that stores responses is gone");
        done.await.map_err(lost)?.map(|()| true)
    }
}

async fn write(
    store: &Store,
    host_id: &str,
    batch: &mut Vec<(FinishedAnswer, oneshot::Sender<Result<()>>)>,
) {
    let answers: Vec<&FinishedAnswer> = batch.iter().map(|(finished, _)| finished).collect();
    let written = insert(store, host_id, &answers).await;
    let again = written.as_ref().is_err_and(|error| {
        // One of them cannot be stored, because its key is full or was deleted with its workspace. The others can.
        error.code() != Code::Overloaded && answers.len() > 1
    });
    for (finished, stored) in batch.drain(..) {
        let result = match again {
            true => insert(store, host_id, &[&finished]).await,
            false => written.clone(),
        };
        // The caller may have stopped waiting.
        let _ = stored.send(result);
    }
}

async fn insert(db: &Store, host_id: &str, answers: &[&FinishedAnswer]) -> Result<()> {
    let conversations: Vec<_> = answers
        .iter()
        .map(|finished| &finished.conversation)
        .collect();
    let records: Vec<_> = answers.iter().map(|finished| &finished.record).collect();
    let new_messages: Vec<_> = answers
        .iter()
        .flat_map(|finished| finished.new_messages())
        .collect();
    let mut tx = db.begin_records().await?;
    conversations::insert(&mut tx, &conversations).await?;
    store::insert(&mut tx, &records, host_id).await?;
    conversations::insert_messages(&mut tx, &new_messages).await?;
    let mut added = StoredBytes::default();
    for FinishedAnswer {
        conversation,
        record,
        input,
        answer,
    } in answers
    {
        let messages = conversations::bytes_of(input) + answer.bytes();
        let bytes = conversation.bytes() + messages + store::bytes_of(record);
        added.add(&record.workspace_id, &record.key_id, bytes);
    }
    db.add_stored(&mut tx, &added).await?;
    Ok(tx.commit().await?)
}

impl FinishedAnswer {
    fn new_messages(&self) -> impl Iterator<Item = conversations::NewMessage<'_>> {
        let input = conversations::with_question_of(self.record.id, &self.input);
        let messages = input.chain([(&self.answer, Some(self.record.id))]);
        let positions = 1_i64..;
        positions.zip(messages).map(
            |(position, (message, response))| conversations::NewMessage {
                conversation: &self.conversation,
                response,
                position,
                message,
            },
        )
    }
}
