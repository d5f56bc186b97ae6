//! Persists answers.
//!
//! An answer in words is stored when it starts, so that a crash leaves a record, and again when it ends. The answer to
//! a SQL query is stored once, at its end: it is short, and usually the only answer of its conversation. Each writer
//! locks the row of the conversation first, so that no two append at the same position and nothing is added to a
//! conversation that is being deleted.

mod end_retries;
mod group_commit;

pub use self::{
    end_retries::{EndRetries, is_passing},
    group_commit::{FinishedAnswer, GroupCommit},
};
use super::{Inner, prepare::AnswerRequest, record::ResponseRecord, store};
use crate::conversations::{self, Conversation, Message};
use mindhost_base::error::{Code, Result};
use mindhost_store::{StoredBytes, Tx};

/// Stores a response that starts, with its question.
///
/// # Errors
/// When the conversation got another Mind or was deleted meanwhile; when the store fails.
pub async fn open(inner: &Inner, prepared: &AnswerRequest, record: &ResponseRecord) -> Result<()> {
    let mut tx = inner.services.store.begin_records().await?;
    conversation(&mut tx, prepared, false).await?;
    add(&mut tx, inner, prepared, record, 0).await?;
    Ok(tx.commit().await?)
}

/// Stores a completed response and its message, without the rows of a query: they are read again on request.
///
/// # Errors
/// As [`open`].
pub async fn complete(
    inner: &Inner,
    prepared: &AnswerRequest,
    record: &ResponseRecord,
    message: &Message,
    is_open: bool,
) -> Result<()> {
    let stored = match record.limits.max_inline_rows {
        Some(_) => &ResponseRecord {
            output: Vec::new(),
            ..record.clone()
        },
        None => record,
    };
    if prepared.is_new && !is_open {
        let finished = FinishedAnswer {
            conversation: prepared.conversation.clone(),
            record: stored.clone(),
            input: prepared.input.clone(),
            answer: message.clone(),
        };
        if inner.group_commit.store(finished).await? {
            return Ok(());
        }
    }
    let mut tx = inner.services.store.begin_records().await?;
    conversation(&mut tx, prepared, is_open).await?;
    // The end of an answer is stored even if there is no room left: its start was accepted.
    match is_open {
        true => {
            store::finish(&mut tx, stored).await?;
            count(&mut tx, prepared, message).await?;
        }
        false => add(&mut tx, inner, prepared, stored, message.bytes()).await?,
    }
    let answer = [(message, Some(record.id))];
    conversations::append(&mut tx, &prepared.conversation, answer).await?;
    Ok(tx.commit().await?)
}

/// Stores a response that failed or was cancelled, its question, and the part of the answer that was streamed. If the
/// conversation was deleted or got another Mind in the meantime, the response is stored without one.
///
/// # Errors
/// When the store fails.
pub async fn fail(
    inner: &Inner,
    prepared: &AnswerRequest,
    record: &mut ResponseRecord,
    partial: Option<&Message>,
    is_open: bool,
) -> Result<()> {
    let mut tx = inner.services.store.begin_records().await?;
    let has_conversation = match conversation(&mut tx, prepared, is_open).await {
        Ok(()) => true,
        Err(error)
            if matches!(
                error.code(),
                Code::ConversationOfAnotherMind | Code::ConversationNotFound
            ) =>
        {
            false
        }
        Err(error) => return Err(error),
    };
    match (is_open, has_conversation) {
        (true, _) => store::finish(&mut tx, record).await?,
        (false, true) => add(&mut tx, inner, prepared, record, 0).await?,
        (false, false) => {
            record.conversation_id = None;
            store::insert(&mut tx, &[record], &inner.host_id).await?;
            let added = StoredBytes::of(
                &record.workspace_id,
                &record.key_id,
                store::bytes_of(record),
            );
            inner.services.store.add_stored(&mut tx, &added).await?;
        }
    }
    if has_conversation && let Some(partial) = partial {
        count(&mut tx, prepared, partial).await?;
        let partial = [(partial, Some(record.id))];
        conversations::append(&mut tx, &prepared.conversation, partial).await?;
    }
    Ok(tx.commit().await?)
}

/// Adds the response and its question, and counts both against the quota of the key, with `more` bytes.
async fn add(
    tx: &mut Tx,
    inner: &Inner,
    prepared: &AnswerRequest,
    record: &ResponseRecord,
    more: usize,
) -> Result<()> {
    let AnswerRequest {
        conversation,
        input,
        history,
        ..
    } = prepared;
    store::insert(tx, &[record], &inner.host_id).await?;
    let new = conversations::with_question_of(record.id, input);
    conversations::append(tx, conversation, new).await?;
    // Without new input the last question is answered again. What became of the first response counts no more.
    if let (true, Some(question)) = (input.is_empty(), history.last()) {
        conversations::set_response(tx, question.id, record.id).await?;
    }
    let of_new = if prepared.is_new {
        conversation.bytes()
    } else {
        0
    };
    let mut added = conversation.added(of_new + conversations::bytes_of(input) + more);
    added.add(
        &record.workspace_id,
        &record.key_id,
        store::bytes_of(record),
    );
    inner.services.store.add_stored(tx, &added).await
}

/// Counts a message against the quota of the key, even beyond the limit.
async fn count(tx: &mut Tx, prepared: &AnswerRequest, message: &Message) -> Result<()> {
    let Conversation {
        workspace_id,
        key_id,
        ..
    } = &prepared.conversation;
    let bytes = i64::try_from(message.bytes()).unwrap_or(i64::MAX);
    mindhost_store::count(tx, workspace_id, key_id, bytes).await?;
    Ok(())
}

/// Creates the conversation, or locks its row.
async fn conversation(tx: &mut Tx, prepared: &AnswerRequest, is_open: bool) -> Result<()> {
    if prepared.is_new && !is_open {
        return conversations::insert(tx, &[&prepared.conversation]).await;
    }
    conversations::bind_to_mind(
        tx,
        prepared.conversation.id,
        &prepared.mind.id,
        &prepared.mind.name,
    )
    .await
}
