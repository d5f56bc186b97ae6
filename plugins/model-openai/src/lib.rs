//! The model provider for OpenAI-compatible endpoints of Mindhost.
//!
//! A request becomes the [`body`] of a chat completion; the response is read by [`completion`] piece by piece: [`sse`] cuts
//! it into events, [`assembly`] makes the contract's events of them. What a vendor says is wrong goes through
//! [`vendor_error`]. The key never comes here: the host adds it to the request.

mod assembly;
mod body;
mod chunk;
mod completion;
mod provider;
mod settings;
mod sse;
mod vendor_error;

#[cfg(test)]
mod tests;

use mindhost_sdk::http::send;
use mindhost_sdk::model::{Event, Request};
use mindhost_sdk::{Config, Model, Result};

/// The provider.
pub struct OpenAi;

impl Model for OpenAi {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Completion = completion::Completion;

    fn start(config: &Config, request: Request) -> Result<Self::Completion> {
        provider::start(config, &request, &send)
    }

    fn next(completion: &mut Self::Completion) -> Result<Option<Vec<Event>>> {
        completion.next()
    }

    fn check(config: &Config) -> Result<String> {
        provider::check(config, &send)
    }

    fn models(config: &Config) -> Result<Vec<String>> {
        provider::models(config, &send)
    }
}

mindhost_sdk::export_model!(OpenAi);
