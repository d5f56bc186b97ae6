//! The turn loop: call the model, run its tool calls, and repeat until it answers or a limit is reached.

mod number_check;

use std::sync::Arc;

use tokio::time::timeout_at;

use super::{
    costs::{AnswerCosts, Attempt},
    data_marks, decline, endings,
    events::{Event, EventLog},
    facts::{AnswerFacts, ExecutedStatement},
    figures::Figures,
    follow_ups,
    history::Dialogue,
    links::Links,
    output_limit::OutputLimit,
    record::{EarlyEnd, Settings, Usage},
    token_count::TokenCount,
    tools::{self, Toolbox},
    turn::Turn,
};
use crate::conversations::{ReadFrom, StoredSql};
use mindhost_base::{
    config,
    error::{Blame, Code, Error, Kind, Result},
    locks::lock,
};
use mindhost_core::usage::Tally;
use mindhost_plugin_api::{
    AnswerTooLarge, Call, Model, ModelEvent, ModelMessage, ModelRequest, Part, Role, StopReason,
    Target, ToolCall,
};

/// The least `max_output_tokens` that vendors take. With fewer left, the answer is cut.
const MIN_OUTPUT_TOKENS: u64 = 16;

/// The result of the loop.
#[derive(Debug, Default)]
pub struct Answer {
    /// The text, the same as all deltas together.
    pub text: String,
    /// The SQL of the last result that the model saw.
    pub sql: Option<StoredSql>,
    /// Where the text was read.
    pub read_from: ReadFrom,
    /// What it is based on, what can be asked next, and how it ended.
    pub facts: AnswerFacts,
}

/// Asks the model and runs its tool calls, turn by turn, until it answers or reaches a limit.
pub struct Turns<'a> {
    /// The model that answers.
    pub model: &'a dyn Model,
    /// The provider with its secrets in clear, for the calls of the model plugin.
    pub target: &'a Target,
    /// The vendor's model, empty for the provider's default.
    pub model_name: &'a str,
    /// What was asked, which is not suggested as the next question.
    pub question: &'a str,
    /// What it may call.
    pub toolbox: Toolbox<'a>,
    /// Where events go.
    pub log: &'a Arc<EventLog>,
    /// What the answer may use; at a limit it ends with what it has.
    pub bounds: &'a config::Answering,
    /// The caller's limit on the whole answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// Other settings of the caller.
    pub settings: &'a Settings,
    /// Id of the key that asks.
    pub key: &'a str,
    /// Counts the tokens, also if the answer fails later.
    pub tally: Option<&'a Tally>,
    /// What was used and tried, also if the answer fails later.
    pub spent: &'a AnswerCosts,
    /// Filters the links in the text of the model.
    pub links: Links,
    /// Whether the next text of the model begins a paragraph of the answer.
    pub begins_paragraph: bool,
    /// The answer so far.
    pub answer: Answer,
    /// Compares the numbers of the answer with what the model has read.
    pub check: NumberCheck,
}

/// What was done of what the model may do.
#[derive(Default)]
struct Counts {
    calls: u32,
    repairs: u32,
}

/// What the model has read, and how far the check of its numbers is.
#[derive(Debug, Default)]
pub struct NumberCheck {
    figures: Figures,
    /// Whether there is an answer. It stands even if the check fails.
    has_answer: bool,
    /// What the model says to the doubts. It is shown only as a whole.
    held: Option<String>,
}

/// How the loop ended.
enum End {
    /// The model said its last word.
    Answered(Option<StopReason>),
    /// At a limit.
    At(EarlyEnd),
    /// With a turn that was too large: what of it, if not its text.
    TooLarge(Option<String>),
    /// The model declined, for this reason.
    Declined(String),
}

impl Turns<'_> {
    /// Runs the loop over a dialogue that ends with the question.
    ///
    /// # Errors
    /// The error of the model or the host. A limit that is reached is no error: the answer says so.
    pub async fn run(mut self, dialogue: Dialogue) -> Result<Answer> {
        let call = Call::new(self.bounds.wall_clock, self.log.cancel.clone());
        let call = call.for_key(self.key);
        let end = match timeout_at(call.deadline, self.take_turns(dialogue, &call)).await {
            Err(_) if self.check.has_answer => End::Answered(None),
            Ok(Err(error)) if error.kind() == Kind::Timeout && call.remaining().is_zero() => {
                End::At(EarlyEnd::Timeout)
            }
            Ok(end) => end?,
            Err(_) => End::At(EarlyEnd::Timeout),
        };
        self.end(end).await
    }

    /// Takes turns until there is an answer, and one more time if results were read and it has numbers from nowhere.
    async fn take_turns(&mut self, mut dialogue: Dialogue, call: &Call) -> Result<End> {
        self.check.figures = Figures::new(dialogue.messages());
        let mut counts = Counts::default();
        let end = self.until_end(&mut dialogue, &mut counts, call).await?;
        if !matches!(end, End::Answered(None | Some(StopReason::End)))
            || counts.repairs >= self.bounds.repairs
            || !self.check.figures.has_results()
        {
            return Ok(end);
        }
        let doubts = self.doubts();
        if doubts.is_empty() {
            return Ok(end);
        }
        counts.repairs += 1;
        dialogue.push(number_check::request(&doubts));
        self.check.has_answer = true;
        self.correct(&mut dialogue, &mut counts, call).await?;
        Ok(end)
    }

    async fn until_end(
        &mut self,
        dialogue: &mut Dialogue,
        counts: &mut Counts,
        call: &Call,
    ) -> Result<End> {
        let allowed = self.allowed_calls();
        loop {
            if !dialogue.fit() {
                return Ok(End::At(EarlyEnd::TokenBudget));
            }
            let Some(max_output_tokens) = self.output_tokens_left() else {
                return Ok(End::At(EarlyEnd::Length));
            };
            let left = allowed.saturating_sub(counts.calls) as usize;
            let mut turn = self
                .turn(dialogue.messages(), max_output_tokens, left > 0, call)
                .await?;
            if turn.is_too_large {
                return Ok(End::TooLarge(turn.too_large));
            }
            let wants_more = turn.calls.len() > left;
            turn.calls.truncate(left);
            // A truncated tool call is ignored, because its arguments are incomplete.
            let is_cut = turn.stop == Some(StopReason::Length);
            if turn.calls.is_empty() || is_cut {
                let is_call_cut = is_cut && (turn.limit.cut_tool_call() || !turn.calls.is_empty());
                turn.calls.clear();
                dialogue.push(said(&turn));
                return Ok(match wants_more {
                    true => End::At(EarlyEnd::ToolLimit),
                    false if is_call_cut => End::At(EarlyEnd::Length),
                    false => End::Answered(turn.stop),
                });
            }
            counts.calls += u32::try_from(turn.calls.len()).unwrap_or(u32::MAX);
            let used = self.spent.usage();
            if used.input_tokens.saturating_add(used.output_tokens) > self.bounds.tokens {
                return Ok(End::At(EarlyEnd::TokenBudget));
            }
            dialogue.push(said(&turn));
            for tool_call in &turn.calls {
                if let Some(reason) = decline::reason(tool_call) {
                    return Ok(End::Declined(reason));
                }
                let (message, failed) = self.call_tool(&turn, tool_call, call).await?;
                dialogue.push(message);
                counts.repairs += u32::from(failed);
                if counts.repairs > self.bounds.repairs {
                    return Ok(End::At(EarlyEnd::RepairLimit));
                }
            }
        }
    }

    /// Tool calls that the model may make: by the server, and by the caller.
    fn allowed_calls(&self) -> u32 {
        let of_caller = self.settings.max_tool_calls.unwrap_or(u32::MAX);
        of_caller.min(self.bounds.tool_calls)
    }

    /// Runs a tool. Returns the message with its result, and whether the model has to repair it.
    async fn call_tool(
        &mut self,
        turn: &Turn,
        tool_call: &ToolCall,
        call: &Call,
    ) -> Result<(ModelMessage, bool)> {
        let outcome = match turn.fault_of(tool_call) {
            Some(fault) => self.toolbox.refuse(tool_call, &fault),
            None => {
                self.toolbox.renew_access().await?;
                self.toolbox.run(tool_call, call).await?
            }
        };
        if let Some(sql) = &outcome.step.sql {
            let result = match (&outcome.ran, self.toolbox.access.sends_rows()) {
                // The text of an answer is shown to the model with the next question.
                (Some(_), false) => "it ran".to_owned(),
                _ => outcome.told.clone(),
            };
            self.spent.tried(Attempt {
                sql: sql.clone(),
                result,
            });
        }
        self.log.push(Event::Step(Arc::new(outcome.step)));
        if let Some(ExecutedStatement { sql, mut facts }) = outcome.ran {
            // They are texts of the model too, and a client may show them as Markdown.
            for text in &mut facts.assumptions {
                *text = self.links.alone(text);
            }
            self.answer.sql = Some(sql);
            self.answer.facts.result = Some(facts);
        }
        if !outcome.is_error {
            let figures = &mut self.check.figures;
            figures.add(&tool_call.arguments, &outcome.content);
        }
        let content = data_marks::marked(&outcome.content);
        let message = tool_message(tool_call, content, outcome.is_error);
        Ok((message, outcome.needs_repair))
    }

    /// The tokens that the model may still write; the inner `None` means no limit, the outer that none is left.
    fn output_tokens_left(&self) -> Option<Option<u32>> {
        let Some(limit) = self.max_output_tokens else {
            return Some(None);
        };
        let written = self.spent.usage().output_tokens;
        let left = u64::from(limit).saturating_sub(written);
        // The first turn gets whatever the caller set; the vendor may refuse it.
        let enough = written == 0 || left >= MIN_OUTPUT_TOKENS;
        enough.then(|| u32::try_from(left).ok())
    }

    /// One turn; its text is streamed to the log.
    async fn turn(
        &mut self,
        messages: &[ModelMessage],
        max_output_tokens: Option<u32>,
        may_call: bool,
        call: &Call,
    ) -> Result<Turn> {
        let request = ModelRequest {
            model: self.model_name.to_owned(),
            messages: messages.to_vec(),
            tools: tools::offered(self.bounds.rows_for_model),
            tool_choice: if may_call { "auto" } else { "none" }.into(),
            max_output_tokens,
            temperature: self.settings.temperature.map(|value| value as f32),
        };
        let mut token_count = TokenCount::new(self.tally, self.spent, messages);
        let mut completion = match self.model.start(self.target, request, call).await {
            Ok(completion) => completion,
            Err(error) => {
                token_count.not_started(&error);
                return Err(error);
            }
        };
        let mut turn = Turn::within(OutputLimit::new(max_output_tokens));
        let before = self.said_so_far().len();
        // Text of an earlier turn ("let me look …") stays in the answer as its own paragraph.
        self.begins_paragraph = before > 0;
        if self.begins_paragraph {
            self.links.begin_paragraph();
        }
        // A completion is closed when it is dropped, so a turn beyond its limits is not read on.
        while !turn.is_too_large && turn.limit.exceeded().is_none() {
            match completion.next(call).await {
                Ok(Some(events)) => {
                    for event in events {
                        self.take(event, &mut turn);
                        token_count.update(turn.usage, self.said_so_far().len() - before);
                    }
                }
                Ok(None) => break,
                Err(error) if AnswerTooLarge::is_source_of(&error) => {
                    turn.is_too_large = true;
                    turn.too_large = Some(error.message().to_owned());
                }
                Err(error) => return Err(error),
            }
        }
        let rest = self.links.end();
        self.say(rest, &mut turn);
        let text = &self.said_so_far()[before..];
        turn.text = text.trim_start_matches("\n\n").to_owned();
        // Of a turn that was cut, the vendor has not counted the output. It is estimated when the count is dropped.
        if let Some(tokens) = turn.limit.exceeded() {
            turn.stop = Some(StopReason::Length);
            token_count.cut(tokens);
        } else if !turn.is_too_large {
            token_count.finish(turn.text.len() + turn.call_bytes());
        }
        Ok(turn)
    }

    fn take(&mut self, event: ModelEvent, turn: &mut Turn) {
        match event {
            ModelEvent::Text(mut piece) => {
                turn.limit.shorten(&mut piece);
                // No request may have U+0000, so a client could not send the answer back.
                let piece = self.links.next(&piece.replace('\0', "\u{fffd}"));
                self.say(piece, turn);
            }
            ModelEvent::ToolCall(tool_call) if turn.limit.allows(&tool_call) => {
                turn.add_call(tool_call);
            }
            ModelEvent::ToolCall(_) => {}
            ModelEvent::Opaque { kind, data } => turn.add_opaque(kind, data),
            ModelEvent::Usage(counts) => {
                turn.usage = usage(&counts);
                turn.limit.count(turn.usage.output_tokens);
            }
            ModelEvent::Stop(reason, _) => turn.stop = Some(reason),
        }
    }

    /// Adds text of the model to what it said before in this turn, which is then too large if the text does not fit.
    fn say(&mut self, mut piece: String, turn: &mut Turn) {
        if piece.is_empty() || turn.is_too_large {
            return;
        }
        if std::mem::take(&mut self.begins_paragraph) {
            piece.insert_str(0, "\n\n");
        }
        let room = self.bounds.answer_bytes;
        let room = room.saturating_sub(self.said_so_far().len());
        turn.is_too_large = piece.len() > room;
        piece.truncate(piece.floor_char_boundary(room));
        match &mut self.check.held {
            Some(held) => held.push_str(&piece),
            None => self.add(&piece),
        }
    }

    /// Adds text to the answer.
    fn add(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.answer.text.push_str(piece);
            self.log.push(Event::Delta(piece.into()));
        }
    }

    fn said_so_far(&self) -> &str {
        self.check.held.as_ref().unwrap_or(&self.answer.text)
    }

    /// Ends the answer: with the model's last word, or with a text of the host.
    ///
    /// # Errors
    /// `answer_failed` when the vendor refused to answer at all; the error of a datasource that was out of reach, if
    /// there is no answer because of that.
    async fn end(mut self, end: End) -> Result<Answer> {
        // Of a turn that was not read to its end. A correction is shown as a whole or not at all.
        let rest = self.links.end();
        if self.check.held.take().is_none() {
            self.say(rest, &mut Turn::default());
        }
        let is_empty = self.answer.text.trim().is_empty();
        if let End::Answered(_) = end {
            self.answer.facts.unverified_numbers = self.doubts();
        }
        let breaks_off = matches!(end, End::Answered(_)) && !is_empty;
        let mut too_large = None;
        let (ending, reason) = match end {
            End::Answered(Some(StopReason::Length)) => (Some(EarlyEnd::Length), None),
            End::Answered(Some(StopReason::Refused)) if is_empty => {
                let message = "the model refused to answer; ask in other words";
                return Err(Error::new(Code::AnswerFailed, message).blamed(Blame::Upstream));
            }
            End::Answered(Some(StopReason::Refused)) => (Some(EarlyEnd::Filter), None),
            End::Answered(_) if is_empty => (Some(EarlyEnd::CannotAnswer), None),
            End::Answered(Some(StopReason::Other)) => (Some(EarlyEnd::UnknownReason), None),
            End::Answered(_) => (None, None),
            End::At(ending) => (Some(ending), None),
            End::TooLarge(what) => {
                too_large = what;
                (Some(EarlyEnd::SizeLimit), None)
            }
            End::Declined(reason) => (Some(EarlyEnd::CannotAnswer), Some(reason)),
        };
        if let Some(EarlyEnd::CannotAnswer | EarlyEnd::RepairLimit) = ending
            && let Some(outage) = lock(&self.toolbox.outages).newest()
        {
            return Err(outage);
        }
        let result = self.answer.facts.result.as_ref();
        let ran = self.answer.sql.as_ref().zip(result);
        let ran = ran.map(|(sql, result)| (sql.text.as_str(), result.tables.as_slice()));
        let mut follow_ups = follow_ups::questions(&self.toolbox, ran, self.question).await;
        // They have names of the catalog, and a client may show them as Markdown.
        for question in &mut follow_ups {
            *question = self.links.alone(question);
        }
        let said = match (ending, reason) {
            (_, Some(reason)) => {
                // What it ran on the way is in the steps; it is not what an answer is based on.
                self.answer.sql = None;
                self.answer.facts.result = None;
                endings::declined(&reason, is_empty, &follow_ups)
            }
            (None, None) => String::new(),
            // The text breaks off, and the reason is in the response.
            (Some(EarlyEnd::Filter | EarlyEnd::UnknownReason), None) => String::new(),
            (Some(EarlyEnd::Length), None) if breaks_off => String::new(),
            (Some(ending), None) => {
                let (allowed, attempts) = (self.allowed_calls(), self.spent.attempts());
                let first = match too_large {
                    Some(what) => endings::too_large(&what),
                    None => endings::first_sentence(ending, self.bounds, allowed),
                };
                endings::text(first, &attempts, &follow_ups)
            }
        };
        // What the model wrote into a statement or a reason may be a link, too.
        let mut said = self.links.alone(&said);
        if !said.is_empty() && !self.answer.text.is_empty() {
            said.insert_str(0, "\n\n");
        }
        // The text of the host is short, and there however long that of the model is.
        self.add(&said);
        let result = self.answer.facts.result.as_ref();
        let statement = result.map_or(&[][..], |result| &result.datasources[..]);
        self.answer.read_from = self.toolbox.read_from(&self.answer.text, statement);
        self.answer.facts.follow_up_questions = follow_ups;
        self.answer.facts.ending = ending;
        Ok(self.answer)
    }
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
        cached_tokens: of("cached-input"),
        output_tokens: of("output"),
        reasoning_tokens: of("reasoning"),
    }
}
