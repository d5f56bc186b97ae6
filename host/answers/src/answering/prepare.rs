//! Validates a request before its answer starts.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    Ask, Inner, Input, history,
    record::{Limits, ResponseRecord, ResponseStatus, Settings, Usage},
};
use crate::conversations::{self, Author, Conversation, Message, Window};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::{
    auth::Caller,
    minds::{self, Mind},
    usage::Tally,
};

/// Messages that are read at a time.
const PAGE: usize = 100;

/// A request that passed the checks, with everything that its answer needs.
pub struct AnswerRequest {
    /// The version of the Mind that answers, even if the Mind changes while it runs. What may be read is looked up
    /// again before each tool call.
    pub mind: Arc<Mind>,
    /// The one that question and answer are added to, if the response is stored.
    pub conversation: Conversation,
    /// Whether the conversation is not stored yet.
    pub is_new: bool,
    /// Earlier messages, oldest first.
    pub history: Vec<Message>,
    /// Whether the conversation has no others.
    pub is_history_whole: bool,
    /// The new messages, to be added to the conversation.
    pub input: Vec<Message>,
    /// Counts the usage of the answer.
    pub tally: Option<Arc<Tally>>,
    /// Who asks.
    pub caller: Caller,
}

impl AnswerRequest {
    /// The text of the question; empty if there is none.
    pub fn question(&self) -> &str {
        let mut said = self.history.iter().chain(&self.input).rev();
        let question = said.find(|message| message.author == Author::User);
        question.map_or("", |message| message.text.as_str())
    }

    /// The texts of the questions before it.
    pub fn earlier_questions(&self) -> String {
        let mut said = self.history.iter().chain(&self.input).rev();
        said.find(|message| message.author == Author::User);
        let earlier = said.filter(|message| message.author == Author::User);
        let texts: Vec<&str> = earlier.map(|message| message.text.as_str()).collect();
        texts.join("\n")
    }

    /// The response at its start.
    pub fn record(&self, caller: &Caller, ask: &Ask) -> ResponseRecord {
        ResponseRecord {
            id: Uuid::now_v7(),
            workspace_id: caller.workspace.to_string(),
            key_id: caller.key_id.to_string(),
            conversation_id: (ask.store || !self.is_new).then_some(self.conversation.id),
            mind_id: self.mind.id.clone(),
            mind_name: self.mind.name.clone(),
            status: ResponseStatus::Created,
            error: None,
            output: Vec::new(),
            steps: Vec::new(),
            usage: Usage::default(),
            metadata: ask.metadata.clone(),
            instructions: ask.instructions.clone(),
            previous_response_id: ask.previous_response_id,
            background: ask.background,
            is_stored: ask.store,
            limits: Limits {
                max_output_tokens: ask.max_output_tokens,
                max_inline_rows: ask.query.as_ref().map(|query| query.max_inline_rows),
            },
            settings: Settings {
                request_id: caller.request_id.clone(),
                ..ask.settings.clone()
            },
            ending: None,
            created_at: Timestamp::now(),
            completed_at: None,
        }
    }
}

impl Inner {
    /// Validates a request against the store.
    ///
    /// The conversation is checked before the Mind: if the Mind of the conversation was deleted, that is the error,
    /// whatever `model` names.
    pub(super) async fn prepare(&self, caller: &Caller, ask: &Ask) -> Result<AnswerRequest> {
        let named = self.conversation(caller, ask).await?;
        let mind = self.mind(caller, ask, named.as_ref()).await?;
        if ask.query.is_some() && !mind.allows_direct_queries() {
            return Err(minds::direct_queries_not_allowed(&mind));
        }
        caller.count(|tally| tally.mind(&mind.id));
        let is_new = named.is_none();
        let conversation = named.unwrap_or_else(|| Conversation {
            mind_id: Some(mind.id.clone()),
            mind_name: Some(mind.name.clone()),
            ..Conversation::new(caller)
        });
        let (mut history, mut is_history_whole) = (Vec::new(), true);
        if !is_new && ask.query.is_none() {
            (history, is_history_whole) = self.history(&conversation).await?;
        }
        let mut input = self.input(caller, &conversation, ask).await?;
        // The same question again, without an answer in between, is a retry: clients send it after a failure.
        if ask.query.is_none() && ends_with(&history, &input) {
            input.clear();
        }
        if ask.query.is_none() {
            check_question(&mut history, &input)?;
        }
        Ok(AnswerRequest {
            mind,
            conversation,
            is_new,
            history,
            is_history_whole,
            input,
            tally: caller.tally.clone(),
            caller: caller.clone(),
        })
    }

    /// The new messages, with copies of the messages of other conversations that they refer to.
    async fn input(
        &self,
        caller: &Caller,
        conversation: &Conversation,
        ask: &Ask,
    ) -> Result<Vec<Message>> {
        let mut messages = Vec::with_capacity(ask.input.len());
        for input in &ask.input {
            match input {
                Input::Message(message) => messages.push(message.clone()),
                Input::Reference(id, param) => {
                    let found = self.services.conversations.find_message(caller, *id).await;
                    let (at, message) = found.map_err(|error| error.param(param))?;
                    if at != conversation.id {
                        messages.push(Message {
                            read_from: message.read_from,
                            ..Message::new(message.author, message.text)
                        });
                    }
                }
            }
        }
        Ok(messages)
    }

    /// The conversation that the caller names, by itself or by a response in it.
    async fn conversation(&self, caller: &Caller, ask: &Ask) -> Result<Option<Conversation>> {
        let id = match (ask.conversation, ask.previous_response_id) {
            (Some(id), _) => id,
            (None, None) => return Ok(None),
            (None, Some(previous)) => self
                .response(caller, previous)
                .await
                .map_err(|error| error.param("previous_response_id"))?
                .conversation_id
                .ok_or_else(|| conversation_gone(previous))?,
        };
        let found = self.services.conversations.get(caller, id).await?;
        conversations::require_owner(caller, &found.key_id)?;
        Ok(Some(found))
    }

    /// The Mind that `model` names, which must be that of the conversation if it has one.
    async fn mind(
        &self,
        caller: &Caller,
        ask: &Ask,
        conversation: Option<&Conversation>,
    ) -> Result<Arc<Mind>> {
        let (minds, name) = (&self.services.minds, &ask.model);
        let named = || async {
            let found = minds.current(caller, name).await;
            found.map_err(|error| error.param("model"))
        };
        let Some(conversation) = conversation else {
            return named().await;
        };
        let Some(id) = conversation.mind_id.as_deref() else {
            return named().await;
        };
        // A caller that may not see the Mind does not see the conversation either, so the Mind was deleted.
        let bound = minds
            .current_by_id(caller, id)
            .await?
            .ok_or_else(|| minds::deleted(conversation.mind_name.as_deref().unwrap_or_default()))?;
        if bound.name == *name {
            return Ok(bound);
        }
        named().await?;
        let param = match ask.conversation {
            Some(_) => "conversation",
            None => "previous_response_id",
        };
        Err(conversations::of_another_mind(&bound.name, param))
    }

    /// The newest messages of a conversation, oldest first: as many as a request to the model can hold, and all
    /// instructions. Also whether that is all of it.
    async fn history(&self, conversation: &Conversation) -> Result<(Vec<Message>, bool)> {
        let settings = &self.services.settings;
        let conversations = &self.services.conversations;
        let mut messages: Vec<Message> = Vec::new();
        let mut tokens = 0;
        loop {
            let left = settings.history.saturating_sub(messages.len()).min(PAGE);
            if left == 0 || tokens > settings.context_tokens {
                break;
            }
            let window = Window {
                after: messages.last().map(|message| message.id),
                limit: u32::try_from(left).unwrap_or(u32::MAX),
                descending: true,
            };
            let (page, has_more) = conversations.list(conversation, window).await?;
            tokens += page.iter().map(tokens_of).sum::<usize>();
            messages.extend(page);
            if !has_more {
                messages.reverse();
                return Ok((messages, true));
            }
        }
        messages.reverse();
        let known: HashSet<Uuid> = messages.iter().map(|message| message.id).collect();
        let mut all = conversations.instructions(conversation).await?;
        all.retain(|message| !known.contains(&message.id));
        all.extend(messages);
        Ok((all, false))
    }
}

fn tokens_of(message: &Message) -> usize {
    let sql = message.sql.as_ref().map_or("", |sql| sql.text.as_str());
    history::tokens(&message.text) + history::tokens(sql)
}

/// Whether the history ends with these messages, the last of which is a question.
fn ends_with(history: &[Message], input: &[Message]) -> bool {
    let asks = |message: &Message| message.author == Author::User;
    let same =
        |(said, new): (&Message, &Message)| said.author == new.author && said.text == new.text;
    let Some(before) = history.len().checked_sub(input.len()) else {
        return false;
    };
    input.last().is_some_and(asks) && history[before..].iter().zip(input).all(same)
}

fn conversation_gone(response: Uuid) -> Error {
    Error::new(
        Code::ConversationNotFound,
        format!("the conversation of the response '{response}' was deleted; ask without `previous_response_id`"),
    )
    .param("previous_response_id")
}

/// Requires a question. Without a new message it is the last one of the history, and the answers to it are left out.
fn check_question(history: &mut Vec<Message>, input: &[Message]) -> Result<()> {
    let asks = |message: &Message| message.author == Author::User;
    let last = history.iter().rposition(asks);
    match last {
        Some(index) if input.is_empty() => history.truncate(index + 1),
        None if !input.iter().any(asks) => {
            return Err(Error::invalid(
                "input",
                "there is no question: send `input` with a message of the role user, or a `conversation` that has one",
            ));
        }
        _ => {}
    }
    Ok(())
}
