//! The calls of the contract, over whatever sends requests.

use mindhost_sdk::model::{Request, StopReason};
use mindhost_sdk::vendor::{Answer, Refusal, Send, few, model_name, tidy};
use mindhost_sdk::{Config, Error, ErrorKind, Result};
use serde::Deserialize;

use crate::adaption::Form;
use crate::assembly::Assembly;
use crate::body;
use crate::flavor::Flavor;
use crate::settings::Settings;
use crate::vendor_error;

/// The largest list of models that is read.
const LARGEST_LIST: usize = 8 * 1024 * 1024;

/// Asks for a completion. A field that the server does not know is left out, and the server asked again, at most twice.
///
/// # Errors
/// What the settings, the connection or the vendor say.
pub fn start(config: &Config, request: &Request, send: &Send<'_>) -> Result<Answer<Assembly>> {
    let settings = Settings::read(config)?;
    let model = model_name(request, settings.model())?;
    let mut form = Form::first(&settings);
    loop {
        let body = body::write(&settings, &form, request)?;
        let response = send(&settings.completion(model, body))?;
        if (200..300).contains(&response.status) {
            return Answer::of(response);
        }
        let refusal = Refusal::read(response);
        if refusal.said.code == "content_filter" {
            // Azure judges the question before the model sees it. That is an answer, and not a fault of the request.
            return Answer::stopped(StopReason::Refused, "content_filter");
        }
        form = match form.next(&refusal) {
            Some(next) => next,
            None => return Err(vendor_error::of(&refusal, &settings, Some(model))),
        };
    }
}

#[derive(Deserialize)]
struct Models {
    data: Vec<ModelId>,
}

#[derive(Deserialize)]
struct ModelId {
    id: String,
}

/// The models that the vendor lists, in alphabetical order.
///
/// # Errors
/// As [`start`].
pub fn models(config: &Config, send: &Send<'_>) -> Result<Vec<String>> {
    let settings = Settings::read(config)?;
    list(&settings, send)
}

fn list(settings: &Settings, send: &Send<'_>) -> Result<Vec<String>> {
    let mut response = send(&settings.models())?;
    if !(200..300).contains(&response.status) {
        return Err(vendor_error::of(&Refusal::read(response), settings, None));
    }
    let body = response.body.read_to_end(LARGEST_LIST)?;
    let list: Models = serde_json::from_slice(&body).map_err(|_| {
        Error::new(
            ErrorKind::Upstream,
            format!(
                "the address does not answer with a list of models; check `base_url` ({})",
                settings.flavor.base_url()
            ),
        )
    })?;
    let mut names: Vec<String> = list.data.into_iter().map(|model| bare(model.id)).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Proves that address and key work, by the list of models, which costs nothing.
///
/// # Errors
/// As [`start`], and `NotFound` when the configured model is not in the list.
pub fn check(config: &Config, send: &Send<'_>) -> Result<String> {
    let settings = Settings::read(config)?;
    let names = list(&settings, send)?;
    let Some(model) = settings.model() else {
        return Ok(match settings.is_deployment() {
            true => "The vendor answers. No default deployment is set as `model`.".to_owned(),
            false => format!(
                "The vendor answers and lists {}. No default model is set.",
                few(&names)
            ),
        });
    };
    // Deployments have names of their own, which no list without an extra right shows.
    let is_listed = names.iter().any(|name| *name == bare(model.to_owned()));
    if names.is_empty() || is_listed || settings.is_deployment() || settings.flavor == Flavor::Azure
    {
        return Ok(format!("The vendor answers; the model is {}.", tidy(model)));
    }
    Err(Error::not_found(format!(
        "the vendor answers, but does not list the model '{}'{}; it lists {}",
        tidy(model),
        settings.flavor.missing_model(),
        few(&names)
    )))
}

/// The name by which a model is asked: Google lists `models/gemini-…`. Ollama lists `llama3:latest` for `llama3`.
fn bare(name: String) -> String {
    let name = name.strip_prefix("models/").unwrap_or(&name);
    name.strip_suffix(":latest").unwrap_or(name).to_owned()
}
