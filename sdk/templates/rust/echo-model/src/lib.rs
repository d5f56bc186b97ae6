//! A model that repeats the question.

use mindhost_sdk::model::{Event, Part, Request, Role, StopReason};
use mindhost_sdk::{Config, Error, Model, Result, export_model};
use serde::Deserialize;

/// What the provider is configured with; `manifest.json` has its schema.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    greeting: String,
}

struct Echo;

impl Model for Echo {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    /// What is still to be said, the last first.
    type Completion = Vec<Event>;

    /// A vendor is asked here, with `mindhost_sdk::http`.
    fn start(config: &Config, request: Request) -> Result<Self::Completion> {
        let settings: Settings = config.parse()?;
        let messages = request.messages.iter().rev();
        let question = messages
            .filter(|message| message.role == Role::User)
            .flat_map(|message| &message.parts)
            .find_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            });
        let Some(question) = question else {
            return Err(Error::unsupported("this model only reads text"));
        };
        Ok(vec![
            Event::Stop((StopReason::End, "end".into())),
            Event::Text(format!(": {question}")),
            Event::Text(settings.greeting),
        ])
    }

    /// Called until the stop event: hand each piece on as soon as it is there.
    fn next(completion: &mut Self::Completion) -> Result<Option<Vec<Event>>> {
        Ok(completion.pop().map(|event| vec![event]))
    }

    fn check(config: &Config) -> Result<String> {
        config.parse::<Settings>()?;
        Ok("ready to repeat".into())
    }

    fn models(_: &Config) -> Result<Vec<String>> {
        Ok(vec!["echo".into()])
    }
}

export_model!(Echo);
