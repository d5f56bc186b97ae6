//! What is stored of an answer, and when.
//!
//! An answer in words is stored when it begins, so that a crash leaves a trace of it, and again when it ends. SQL
//! is stored when it ended, in one transaction: it is short, and most often all that happens in its
//! conversation. Who writes to a conversation takes its row first, so that no two append at the same place and
//! nothing is added to one that is being deleted.

mod together;

pub use self::together::{Together, Whole};
use super::{Inner, prepare::Prepared, record::ResponseRecord, store};
use crate::conversations::{self, Conversation, Message};
use mindhost_base::error::{Code, Result};
use mindhost_store::{StoredBytes, Tx};

/// Stores a response that begins, with what was asked.
///
/// # Errors
/// When the conversation got another Mind or was deleted meanwhile; when the store fails.
pub async fn open(inner: &Inner, prepared: &Prepared, record: &ResponseRecord) -> Result<()> {
    let mut tx = inner.parts.store.begin_records().await?;
    conversation(&mut tx, prepared, false).await?;
    add(&mut tx, inner, prepared, record, 0).await?;
    Ok(tx.commit().await?)
}

/// Stores a completed response and its message. The rows of a query are not stored with it: they are read again
/// when somebody asks for them.
///
/// # Errors
/// As [`open`].
pub async fn complete(
    inner: &Inner,
    prepared: &Prepared,
    record: &ResponseRecord,
    message: &Message,
    is_open: bool,
) -> Result<()> {
    let kept = match record.limits.max_inline_rows {
        Some(_) => &ResponseRecord {
            output: Vec::new(),
            ..record.clone()
        },
        None => record,
    };
    if prepared.is_new && !is_open {
        let messages = prepared.input.iter().chain([message]);
        let whole = Whole {
            conversation: prepared.conversation.clone(),
            record: kept.clone(),
            messages: messages.cloned().collect(),
        };
        if inner.together.store(whole).await? {
            return Ok(());
        }
    }
    let mut tx = inner.parts.store.begin_records().await?;
    conversation(&mut tx, prepared, is_open).await?;
    // The end of an answer is stored even where there is no room for it: its beginning was let in.
    match is_open {
        true => {
            store::finish(&mut tx, kept).await?;
            count(&mut tx, prepared, message).await?;
        }
        false => add(&mut tx, inner, prepared, kept, message.bytes()).await?,
    }
    conversations::append(
        &mut tx,
        &prepared.conversation,
        Some(record.id),
        std::slice::from_ref(message),
    )
    .await?;
    Ok(tx.commit().await?)
}

/// Stores a response that failed or was cancelled, what was asked, and what had been said by then. Where the conversation
/// cannot take it any more, the response is stored without one.
///
/// # Errors
/// When the store fails.
pub async fn fail(
    inner: &Inner,
    prepared: &Prepared,
    record: &mut ResponseRecord,
    said: Option<&Message>,
    is_open: bool,
) -> Result<()> {
    let mut tx = inner.parts.store.begin_records().await?;
    let taken = match conversation(&mut tx, prepared, is_open).await {
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
    match (is_open, taken) {
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
            inner.parts.store.add_stored(&mut tx, &added).await?;
        }
    }
    if taken && let Some(said) = said {
        count(&mut tx, prepared, said).await?;
        let said = std::slice::from_ref(said);
        conversations::append(&mut tx, &prepared.conversation, Some(record.id), said).await?;
    }
    Ok(tx.commit().await?)
}

/// Adds the response and what was asked, and counts both, with the bytes of what comes with it.
async fn add(
    tx: &mut Tx,
    inner: &Inner,
    prepared: &Prepared,
    record: &ResponseRecord,
    more: usize,
) -> Result<()> {
    let Prepared {
        conversation,
        input,
        ..
    } = prepared;
    store::insert(tx, &[record], &inner.host_id).await?;
    conversations::append(tx, conversation, Some(record.id), input).await?;
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
    inner.parts.store.add_stored(tx, &added).await
}

/// Counts a message, whatever the bounds are.
async fn count(tx: &mut Tx, prepared: &Prepared, message: &Message) -> Result<()> {
    let Conversation {
        workspace_id,
        key_id,
        ..
    } = &prepared.conversation;
    let bytes = i64::try_from(message.bytes()).unwrap_or(i64::MAX);
    mindhost_store::count(tx, workspace_id, key_id, bytes).await?;
    Ok(())
}

/// Makes the conversation, or takes the row of the one that is there.
async fn conversation(tx: &mut Tx, prepared: &Prepared, is_open: bool) -> Result<()> {
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
