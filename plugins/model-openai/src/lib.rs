//! The model provider for OpenAI-compatible endpoints of Mindhost.
//!
//! A request becomes the [`body`] of a chat completion; the response is read piece by piece, and [`assembly`] makes the
//! contract's events of the vendor's [`chunk`]s. What a vendor says is wrong goes through [`vendor_error`]. What differs
//! between vendors is in [`flavor`], where it must be known beforehand, and in [`adaption`], where they say it themselves.
//! The key never comes here: the host adds it to the request.

mod adaption;
mod assembly;
mod body;
mod chunk;
mod embeddings;
mod flavor;
mod provider;
mod settings;
mod vendor_error;

#[cfg(test)]
mod tests;

use mindhost_sdk::http::send;
use mindhost_sdk::model::{Event, Request};
use mindhost_sdk::vendor::Answer;
use mindhost_sdk::{Config, Embeddings, Model, Result};

/// The provider.
pub struct OpenAi;

impl Model for OpenAi {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    type Completion = Answer<assembly::Assembly>;

    fn start(config: &Config, request: Request) -> Result<Self::Completion> {
        provider::start(config, &request, &send)
    }

    fn next(completion: &mut Self::Completion) -> Result<Option<Vec<Event>>> {
        completion.read()
    }

    fn check(config: &Config) -> Result<String> {
        provider::check(config, &send)
    }

    fn models(config: &Config) -> Result<Vec<String>> {
        provider::models(config, &send)
    }
}

impl Embeddings for OpenAi {
    fn embed(config: &Config, model: &str, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        embeddings::embed(config, model, texts, &send)
    }
}

mindhost_sdk::export_model_with_embeddings!(OpenAi);
