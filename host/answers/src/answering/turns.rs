//! The turn loop: call the model, run its tool calls, and repeat until it answers or a limit is reached.

use std::sync::Arc;

use tokio::time::timeout_at;

use super::{
    events::{Event, EventLog},
    links::Links,
    record::{Cut, Settings, Usage},
    token_count::TokenCount,
    tools::{self, Toolbox},
};
use crate::conversations::StoredSql;
use mindhost_base::{
    config,
    error::{Blame, Code, Error, Kind, Result},
};
use mindhost_core::usage::Tally;
use mindhost_plugin_api::{
    Call, Model, ModelEvent, ModelMessage, ModelRequest, Part, Role, StopReason, Target, ToolCall,
};

/// The result of the loop.
#[derive(Debug, Default)]
pub struct Answer {
    /// The text, the same as all deltas together.
    pub text: String,
    /// The SQL of the last result that the model saw.
    pub sql: Option<StoredSql>,
    /// Tokens over all turns.
    pub usage: Usage,
    /// Why the text is incomplete, if it is.
    pub cut: Option<Cut>,
}

/// The turns of one answer.
pub struct Turns<'a> {
    /// The model that answers.
    pub model: &'a dyn Model,
    /// Its provider.
    pub target: &'a Target,
    /// The vendor's model, empty for the provider's default.
    pub model_name: &'a str,
    /// What it may call.
    pub toolbox: Toolbox<'a>,
    /// Where events go.
    pub log: &'a Arc<EventLog>,
    /// The limits.
    pub bounds: &'a config::Answering,
    /// The caller's limit on the answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// Other settings of the caller.
    pub settings: &'a Settings,
    /// Id of the key that asks.
    pub key: &'a str,
    /// Counts the tokens, also if the answer fails later.
    pub tally: Option<&'a Tally>,
    /// Filters the links in the text of the model.
    pub links: Links,
}

/// The output of one turn of the model.
#[derive(Default)]
struct Turn {
    text: String,
    calls: Vec<ToolCall>,
    opaque: Vec<Part>,
    usage: Usage,
    stop: Option<StopReason>,
}

impl Turns<'_> {
    /// Runs the loop over a dialogue that ends with the question.
    ///
    /// # Errors
    /// The error of the model or the database, or `answer_failed` with the limit that was reached.
    pub async fn run(mut self, messages: Vec<ModelMessage>) -> Result<Answer> {
        let call = Call::new(self.bounds.wall_clock, self.log.cancel.clone());
        let call = call.for_key(self.key);
        match timeout_at(call.deadline, self.take_turns(messages, &call)).await {
            Ok(Err(error)) if error.kind() == Kind::Timeout && call.remaining().is_zero() => {
                Err(self.out_of_time().with_source(error))
            }
            Ok(made) => made,
            Err(_) => Err(self.out_of_time()),
        }
    }

    async fn take_turns(&mut self, mut messages: Vec<ModelMessage>, call: &Call) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut calls_made = 0;
        let mut repairs = 0;
        loop {
            let allowed = self.settings.max_tool_calls.unwrap_or(u32::MAX);
            let left = allowed.saturating_sub(calls_made) as usize;
            let text = &mut answer.text;
            let mut turn = self.turn(&messages, text, left > 0, call).await?;
            turn.calls.truncate(left);
            answer.usage.input_tokens += turn.usage.input_tokens;
            answer.usage.output_tokens += turn.usage.output_tokens;
            // A truncated tool call is ignored, because its arguments are incomplete.
            if turn.calls.is_empty() || turn.stop == Some(StopReason::Length) {
                answer.cut = match turn.stop {
                    Some(StopReason::Length) => Some(Cut::Length),
                    Some(StopReason::Refused) => Some(Cut::Filter),
                    _ => None,
                };
                return self.finish(answer, turn.stop);
            }
            calls_made += u32::try_from(turn.calls.len()).unwrap_or(u32::MAX);
            if calls_made > self.bounds.tool_calls {
                return Err(bound(format!(
                    "the model asked for more than {} tool calls",
                    self.bounds.tool_calls
                )));
            }
            if answer.usage.input_tokens + answer.usage.output_tokens > self.bounds.tokens {
                return Err(bound(format!(
                    "the answer used more than {} tokens",
                    self.bounds.tokens
                )));
            }
            messages.push(said(&turn));
            for tool_call in &turn.calls {
                let outcome = self.toolbox.run(tool_call, call).await?;
                self.log.push(Event::Step(Arc::new(outcome.step)));
                repairs += u32::from(outcome.needs_repair);
                if repairs > self.bounds.repairs {
                    return Err(bound(format!(
                        "{repairs} statements of the model were refused or failed; the last reason: {}",
                        outcome.reason.unwrap_or_default()
                    )));
                }
                answer.sql = outcome.sql.or(answer.sql);
                messages.push(tool_message(tool_call, outcome.content, outcome.is_error));
            }
        }
    }

    /// One turn; its text is streamed to the log.
    async fn turn(
        &mut self,
        messages: &[ModelMessage],
        text: &mut String,
        may_call: bool,
        call: &Call,
    ) -> Result<Turn> {
        let request = ModelRequest {
            model: self.model_name.to_owned(),
            messages: messages.to_vec(),
            tools: tools::offered(self.bounds.rows_for_model),
            tool_choice: if may_call { "auto" } else { "none" }.into(),
            max_output_tokens: self.max_output_tokens,
            temperature: self.settings.temperature.map(|value| value as f32),
        };
        let mut token_count = TokenCount::new(self.tally, messages);
        let mut completion = match self.model.start(self.target, request, call).await {
            Ok(completion) => completion,
            Err(error) => {
                token_count.not_started(&error);
                return Err(error);
            }
        };
        let mut turn = Turn::default();
        let before = text.len();
        while let Some(events) = completion.next(call).await? {
            for event in events {
                self.take(event, &mut turn, text, before)?;
                token_count.update(turn.usage, text.len() - before);
            }
        }
        let rest = self.links.end();
        self.say(rest, text, before)?;
        turn.text = text[before..].trim_start_matches("\n\n").to_owned();
        turn.usage = token_count.finish(&turn.text);
        Ok(turn)
    }

    fn take(
        &mut self,
        event: ModelEvent,
        turn: &mut Turn,
        text: &mut String,
        before: usize,
    ) -> Result<()> {
        match event {
            ModelEvent::Text(piece) => {
                let piece = self.links.next(&piece);
                self.say(piece, text, before)?;
            }
            ModelEvent::ToolCall(tool_call) => turn.calls.push(tool_call),
            ModelEvent::Opaque { kind, data } => turn.opaque.push(Part::Opaque { kind, data }),
            ModelEvent::Usage(counts) => turn.usage = usage(&counts),
            ModelEvent::Stop(reason, _) => turn.stop = Some(reason),
        }
        Ok(())
    }

    fn say(&self, piece: String, text: &mut String, before: usize) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        // Text of an earlier turn ("let me look …") stays in the answer as its own paragraph.
        let piece = if before > 0 && text.len() == before {
            format!("\n\n{piece}")
        } else {
            piece
        };
        if text.len() + piece.len() > self.bounds.answer_bytes {
            return Err(bound(format!(
                "the model wrote more than {} bytes",
                self.bounds.answer_bytes
            )));
        }
        text.push_str(&piece);
        self.log.push(Event::Delta(piece.into()));
        Ok(())
    }

    fn finish(&self, answer: Answer, stop: Option<StopReason>) -> Result<Answer> {
        if stop == Some(StopReason::Refused) && answer.text.is_empty() {
            return Err(Error::new(
                Code::AnswerFailed,
                "the model refused to answer; ask in other words",
            )
            .blamed(Blame::Upstream));
        }
        if answer.text.is_empty() && answer.cut.is_none() {
            return Err(Error::new(
                Code::AnswerFailed,
                "the model ended without an answer; ask again, or choose another model",
            )
            .blamed(Blame::Upstream));
        }
        Ok(answer)
    }

    /// The error when the answer exceeds its time limit.
    fn out_of_time(&self) -> Error {
        Error::new(
            Code::Timeout,
            format!(
                "the answer took longer than {:?}; ask for less at once",
                self.bounds.wall_clock
            ),
        )
    }
}

fn bound(what: String) -> Error {
    Error::new(Code::AnswerFailed, format!("no answer within the bounds of this server: {what}; ask for less at once, or more precisely"))
        .blamed(Blame::Upstream)
}

fn said(turn: &Turn) -> ModelMessage {
    let mut parts = turn.opaque.clone();
    if !turn.text.is_empty() {
        parts.push(Part::Text(turn.text.clone()));
    }
    parts.extend(turn.calls.iter().cloned().map(Part::ToolCall));
    ModelMessage {
        role: Role::Assistant,
        parts,
    }
}

fn tool_message(tool_call: &ToolCall, content: String, is_error: bool) -> ModelMessage {
    ModelMessage {
        role: Role::Tool,
        parts: vec![Part::ToolResult {
            call_id: tool_call.id.clone(),
            content,
            is_error,
        }],
    }
}

fn usage(counts: &[(String, u64)]) -> Usage {
    let of = |name: &str| {
        counts
            .iter()
            .rev()
            .find(|(kind, _)| kind == name)
            .map_or(0, |(_, count)| *count)
    };
    Usage {
        input_tokens: of("input"),
        output_tokens: of("output"),
    }
}
