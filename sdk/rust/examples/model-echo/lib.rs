//! The first plugin: a model that repeats the question.

use mindhost_sdk::model::{Event, Part, Request, StopReason};
use mindhost_sdk::{Config, Error, Model, Result, export_model};

struct Echo;

impl Model for Echo {
    const MANIFEST: &'static str = include_str!("manifest.json");
    /// What is still to be said.
    type Completion = Option<String>;

    fn start(_: &Config, request: Request) -> Result<Self::Completion> {
        let parts = request
            .messages
            .last()
            .map(|message| message.parts.as_slice());
        match parts {
            Some([Part::Text(question), ..]) => Ok(Some(question.clone())),
            _ => Err(Error::unsupported("this model only reads text")),
        }
    }

    fn next(answer: &mut Self::Completion) -> Result<Option<Vec<Event>>> {
        Ok(Some(match answer.take() {
            Some(text) => vec![Event::Text(format!("You asked: {text}"))],
            None => vec![Event::Stop((StopReason::End, "done".into()))],
        }))
    }

    fn check(_: &Config) -> Result<String> {
        Ok("ready".into())
    }
}

export_model!(Echo);
