//! The offline model of Mindhost: answers plain questions by rules, without a network.
//!
//! It speaks the same protocol as a language model, tool calls included, and keeps nothing between two requests: each
//! one is read as a whole ([`request`]) and leads to one step ([`decide`]): a tool call or the answer. [`ranked`] reads
//! a question by weighing what its words may mean, and builds a [`query`]: [`mod@write`] makes it a statement, [`run`]
//! has it run, and [`mod@answer`] says its rows. Where no reading is good enough, or two are alike, the answer says so.

mod answer;
mod catalog;
mod countries;
mod dates;
mod decide;
mod dialect;
mod help;
mod lookup;
mod markdown;
mod measures;
mod meta;
mod pick;
mod plain;
mod query;
mod ranked;
mod request;
mod run;
mod spans;
mod taught;
mod tie;
mod tools;
mod turn;
mod vocabulary;
mod words;
mod write;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use mindhost_sdk::model::{Event, Request, StopReason, ToolCall};
use mindhost_sdk::{Config, Model, Result};

use turn::Action;

/// The model. It has no settings.
pub struct Offline;

/// The events of one step that were not handed over yet.
pub struct Completion {
    events: VecDeque<Event>,
}

impl Model for Offline {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Completion = Completion;

    fn start(_: &Config, request: Request) -> Result<Completion> {
        let turn = request::turn(&request);
        let call_number = turn.steps.len() + 1;
        let mut events = VecDeque::new();
        let (text, call) = match decide::decide(&turn) {
            Action::Call { tool, arguments } => (String::new(), Some((tool, arguments))),
            Action::Say(text) => (text, None),
            Action::Decline(text) => (text, turn.offers(tools::CANNOT_ANSWER).then(tools::decline)),
        };
        // Streamed in words with the blanks behind them.
        let pieces = text.split_inclusive([' ', '\n']);
        events.extend(pieces.map(|piece| Event::Text(piece.to_owned())));
        let (reason, word) = match call {
            Some((tool, arguments)) => {
                events.push_back(Event::ToolCall(ToolCall {
                    id: format!("call_{call_number}"),
                    name: tool.to_owned(),
                    arguments,
                }));
                (StopReason::ToolCalls, "tool_calls")
            }
            None => (StopReason::End, "stop"),
        };
        events.push_back(Event::Stop((reason, word.to_owned())));
        Ok(Completion { events })
    }

    fn next(completion: &mut Completion) -> Result<Option<Vec<Event>>> {
        Ok(completion.events.pop_front().map(|event| vec![event]))
    }

    fn check(_: &Config) -> Result<String> {
        Ok("Ready. The offline model needs no network, no key and no settings.".to_owned())
    }

    fn models(_: &Config) -> Result<Vec<String>> {
        Ok(vec!["offline".to_owned()])
    }
}

mindhost_sdk::export_model!(Offline);
