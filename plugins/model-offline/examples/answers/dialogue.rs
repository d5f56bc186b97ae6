//! One question put to the model, its tool calls answered until it ends, as the host does it.

use std::time::{Duration, Instant};

use mindhost_sdk::{
    Config, Model,
    model::{Event, Message, Part, Request, Role, Tool, ToolCall, ToolResult},
};
use model_offline::Offline;
use serde_json::Value;

use crate::database::Database;

/// The tools that the host offers. The model knows what they take.
const TOOLS: [&str; 5] = [
    "search_catalog",
    "describe_tables",
    "find_values",
    "run_sql",
    "cannot_answer",
];
/// Steps of an answer; the model needs a handful.
const MOST_STEPS: usize = 20;

/// What came of a question.
#[derive(Default)]
pub struct Outcome {
    pub text: String,
    /// The last statement that ran.
    pub sql: Option<String>,
    pub is_declined: bool,
    /// Whether it had not ended after [`MOST_STEPS`].
    pub is_endless: bool,
    /// What the model itself took, without the tools.
    pub time: Duration,
}

/// Asks a question of a database on a day.
pub fn ask(database: &Database, question: &str, today: &str) -> Outcome {
    let system = format!(
        "You are spider.\nToday is {today}.\n\nThe catalog, one table a line:\n<catalog>\n{}</catalog>\n",
        database.packed(question)
    );
    let mut request = Request::new(vec![
        Message::text(Role::System, system),
        Message::text(Role::User, question),
    ]);
    request.tools = TOOLS.map(tool).to_vec();
    let mut outcome = Outcome::default();
    for _ in 0..MOST_STEPS {
        let began = Instant::now();
        let (text, call) = step(&request);
        outcome.time += began.elapsed();
        outcome.text = text;
        let Some(call) = call else {
            return outcome;
        };
        if call.name == "cannot_answer" {
            outcome.is_declined = true;
            return outcome;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        let given = database.tool(&call.name, &arguments);
        if let ("run_sql", Ok(_), Some(sql)) = (&*call.name, &given, arguments["sql"].as_str()) {
            outcome.sql = Some(sql.to_owned());
        }
        add(&mut request, call, given);
    }
    outcome.is_endless = true;
    outcome
}

fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        description: String::new(),
        parameters: "{}".to_owned(),
    }
}

/// The text of one step of the model, and its call.
fn step(request: &Request) -> (String, Option<ToolCall>) {
    let mut completion = Offline::start(&Config::from_json("{}"), request.clone()).unwrap();
    let (mut text, mut call) = (String::new(), None);
    while let Some(events) = Offline::next(&mut completion).unwrap() {
        for event in events {
            match event {
                Event::Text(piece) => text.push_str(&piece),
                Event::ToolCall(made) => call = Some(made),
                _ => {}
            }
        }
    }
    (text, call)
}

/// Adds a call and what it gave to the request of the next step.
fn add(request: &mut Request, call: ToolCall, given: Result<Value, Value>) {
    let result = ToolResult {
        call_id: call.id.clone(),
        is_error: given.is_err(),
        content: given.unwrap_or_else(|error| error).to_string(),
    };
    for (role, part) in [
        (Role::Assistant, Part::ToolCall(call)),
        (Role::Tool, Part::ToolResult(result)),
    ] {
        request.messages.push(Message {
            role,
            parts: vec![part],
        });
    }
}
