//! The same guest as a model: `model.json` is its manifest then.

use std::cell::Cell;

use mindhost_sdk::bindings::{
    connector::mindhost::plugin::types::Config,
    model::{
        self,
        exports::mindhost::plugin::model::{
            Completion, Event, Guest, GuestCompletion, Opaque, Part, Request, StopReason, ToolCall,
        },
    },
};
use wasip2::clocks::monotonic_clock::subscribe_duration;

use crate::component::{Hostile, Plan, Result};

/// A millisecond, in nanoseconds.
const MILLISECOND: u64 = 1_000_000;

impl Guest for Hostile {
    type Completion = Speaking;

    fn start(config: Config, request: Request) -> Result<Completion> {
        let plan = Plan::of(&config);
        plan.act("start")?;
        let last = request.messages.last();
        let is_answered = last.is_some_and(|last| {
            let mut parts = last.parts.iter();
            parts.any(|part| matches!(part, Part::ToolResult(_)))
        });
        let may_call = !request.tools.is_empty() && !is_answered;
        Ok(Completion::new(Speaking(plan, Cell::new(0), may_call)))
    }

    fn check(config: Config) -> Result<String> {
        let plan = Plan::of(&config);
        plan.act("check")?;
        Ok(match plan.mode_at("check") {
            "long-text" => "x".repeat(10 << 20),
            _ => String::from("ready"),
        })
    }

    fn models(config: Config) -> Result<Vec<String>> {
        let plan = Plan::of(&config);
        plan.act("models")?;
        Ok(match plan.mode_at("models") {
            "many" => vec![String::from("m"); 20_000],
            "long-name" => vec!["m".repeat(1 << 20)],
            _ => vec![String::from("m")],
        })
    }

    fn describe() -> String {
        include_str!("../model.json").to_owned()
    }
}

/// The configuration, how often it was asked, and whether there is a tool to call.
pub(crate) struct Speaking(Plan, Cell<u32>, bool);

impl GuestCompletion for Speaking {
    fn next(&self) -> Result<Option<Vec<Event>>> {
        self.0.act("next")?;
        let text = |text: &str| Event::Text(text.to_owned());
        let stop = || Event::Stop((StopReason::End, String::from("done")));
        let asked = self.1.replace(self.1.get() + 1);
        let events = match self.0.mode_at("next") {
            "nothing" => Vec::new(),
            "many" => vec![text(""); 200_000],
            "large" => vec![Event::Text("x".repeat(1 << 20))],
            "long-call" => vec![Event::ToolCall(ToolCall {
                id: "i".repeat(10_000),
                name: String::from("run_sql"),
                arguments: String::from("{}"),
            })],
            "long-arguments" => vec![Event::ToolCall(ToolCall {
                id: String::from("1"),
                name: String::from("run_sql"),
                arguments: "[".repeat(10 << 20),
            })],
            "opaque" => vec![Event::Opaque(Opaque {
                kind: String::from("thought"),
                data: "x".repeat(10 << 20),
            })],
            "usage" => {
                let count = |name: &str| (name.to_owned(), u64::MAX);
                vec![Event::Usage(vec![count("input"), count("output")]); 2]
            }
            "usage-names" => vec![Event::Usage(vec![(String::new(), 1); 700_000])],
            "other" => vec![Event::Other((String::from("new"), "x".repeat(1 << 20)))],
            "drip" => {
                // Slowly enough that its time runs out before its length.
                subscribe_duration(MILLISECOND).block();
                vec![text("x")]
            }
            "tokens" if asked == 0 => {
                vec![
                    text("a"),
                    Event::Usage(vec![(String::from("tokens"), 1)]),
                    stop(),
                ]
            }
            "calls" | "calls-another" | "calls-and-ends" if asked == 0 && self.2 => {
                called(self.0.mode_at("next"))
            }
            "silent" if asked == 0 => vec![stop()],
            "trap-later" if asked > 0 => core::arch::wasm32::unreachable(),
            "trap-later" => vec![text("a")],
            "escapes" if asked == 0 => vec![text(crate::acts::ESCAPES), stop()],
            "stop-word" => vec![Event::Stop((StopReason::End, "x".repeat(10 << 20)))],
            "after-stop" => vec![stop(), text("more")],
            "no-stop" if asked > 0 => return Ok(None),
            "no-stop" => vec![text("a")],
            _ if asked > 0 => return Ok(None),
            _ => vec![text("a"), stop()],
        };
        Ok(Some(events))
    }
}

/// A call of a tool, and the end of the answer.
fn called(mode: &str) -> Vec<Event> {
    let name = if mode == "calls-another" {
        "erase"
    } else {
        "lookup"
    };
    let reason = match mode {
        "calls-and-ends" => StopReason::End,
        _ => StopReason::ToolCalls,
    };
    let call = ToolCall {
        id: String::from("1"),
        name: String::from(name),
        arguments: String::from("{}"),
    };
    vec![
        Event::ToolCall(call),
        Event::Stop((reason, String::from("calls"))),
    ]
}

model::export!(Hostile with_types_in mindhost_sdk::bindings::model);
