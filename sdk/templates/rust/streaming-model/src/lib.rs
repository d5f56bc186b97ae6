//! A vendor with the API of OpenAI: a conversation goes out, and the answer is streamed as server-sent events.

mod chat;

use mindhost_sdk::http::{self, Response};
use mindhost_sdk::model::{Event, Request};
use mindhost_sdk::vendor::{Answer, Endpoint, Refusal, few, tidy};
use mindhost_sdk::{Config, Error, Model, Result, export_model};
use serde::Deserialize;

use crate::chat::Chat;

/// What the provider is configured with; `manifest.json` has its schema. The host adds `api_key` to the requests.
#[derive(Deserialize)]
struct Settings {
    base_url: String,
    model: String,
}

/// The vendor's list of models.
#[derive(Deserialize)]
struct Models {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

struct Vendor;

impl Model for Vendor {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Completion = Answer<Chat>;

    fn start(config: &Config, request: Request) -> Result<Answer<Chat>> {
        let settings: Settings = config.parse()?;
        let body = chat::body(&request, &settings.model)?;
        let sent = Endpoint::new(&settings.base_url)?.post("/chat/completions", body);
        Answer::of(accepted(http::send(&sent)?)?)
    }

    /// Gives each piece as soon as it is there.
    fn next(answer: &mut Answer<Chat>) -> Result<Option<Vec<Event>>> {
        answer.read()
    }

    /// The list of models proves the address and the key, and costs nothing.
    fn check(config: &Config) -> Result<String> {
        let model = config.parse::<Settings>()?.model;
        let names = Self::models(config)?;
        match names.contains(&model) {
            true => Ok(format!(
                "The vendor answers; the model is {}.",
                tidy(&model)
            )),
            false => Err(Error::not_found(format!(
                "the vendor has no model {}; it lists {}",
                tidy(&model),
                few(&names)
            ))),
        }
    }

    fn models(config: &Config) -> Result<Vec<String>> {
        let settings: Settings = config.parse()?;
        let asked = Endpoint::new(&settings.base_url)?.get("/models");
        let list: Models = accepted(http::send(&asked)?)?.json()?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }
}

/// The vendor's refusals in the contract's words. The host waits and asks again when it is told when.
fn accepted(response: Response) -> Result<Response> {
    if response.status == 200 {
        return Ok(response);
    }
    let refusal = Refusal::read(response);
    Err(refusal.error(refusal.usual()))
}

export_model!(Vendor);

#[cfg(test)]
mod tests;
