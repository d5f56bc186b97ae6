//! The calls of the contract, over whatever sends requests.

use mindhost_sdk::http::Response;
use mindhost_sdk::model::Request;
use mindhost_sdk::vendor::{Answer, Refusal, Send, few, model_name, tidy};
use mindhost_sdk::{Config, Error, ErrorKind, Result};
use serde::Deserialize;

use crate::assembly::Assembly;
use crate::body;
use crate::settings::Settings;
use crate::vendor_error;

/// The largest page of the list of models that is read, and how many pages are.
const LARGEST_PAGE: usize = 8 * 1024 * 1024;
const MOST_PAGES: usize = 5;

/// Asks for a message.
///
/// # Errors
/// What the settings, the connection or the vendor say.
pub fn start(config: &Config, request: &Request, send: &Send<'_>) -> Result<Answer<Assembly>> {
    let settings = Settings::read(config)?;
    let model = model_name(request, settings.model())?;
    let response = send(&settings.message(body::write(&settings, request)?))?;
    Answer::of(accepted(response, Some(model))?)
}

fn accepted(response: Response, model: Option<&str>) -> Result<Response> {
    match (200..300).contains(&response.status) {
        true => Ok(response),
        false => Err(vendor_error::of(&Refusal::read(response), model)),
    }
}

#[derive(Deserialize)]
struct Page {
    data: Vec<ModelInfo>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct ModelInfo {
    id: String,
}

/// The models that the vendor lists, in alphabetical order.
///
/// # Errors
/// As [`start`].
pub fn models(config: &Config, send: &Send<'_>) -> Result<Vec<String>> {
    list(&Settings::read(config)?, send)
}

fn list(settings: &Settings, send: &Send<'_>) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for _ in 0..MOST_PAGES {
        let request = settings.models(names.last().map(String::as_str));
        let mut response = accepted(send(&request)?, None)?;
        let body = response.body.read_to_end(LARGEST_PAGE)?;
        let page: Page = serde_json::from_slice(&body).map_err(|_| no_list())?;
        let goes_on = page.has_more && !page.data.is_empty();
        names.extend(page.data.into_iter().map(|model| model.id));
        if !goes_on {
            break;
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn no_list() -> Error {
    Error::new(
        ErrorKind::Upstream,
        "the address does not answer with a list of models; check `base_url` (https://api.anthropic.com)",
    )
}

/// Proves that address, key and model work, by the list of models, which costs nothing.
///
/// # Errors
/// As [`start`], and `NotFound` when the vendor does not have the configured model.
pub fn check(config: &Config, send: &Send<'_>) -> Result<String> {
    let settings = Settings::read(config)?;
    let Some(model) = settings.model() else {
        let names = list(&settings, send)?;
        return Ok(format!(
            "The vendor answers and lists {}. No default model is set.",
            few(&names)
        ));
    };
    // Asked by its name, an alias is found too; the list may have only the model behind it.
    let response = send(&settings.model_info(model))?;
    if response.status != 404 {
        accepted(response, Some(model))?;
        return Ok(format!("The vendor answers; the model is {}.", tidy(model)));
    }
    let names = list(&settings, send)?;
    match names.iter().any(|name| name == model) {
        true => Ok(format!("The vendor answers; the model is {}.", tidy(model))),
        false => Err(Error::not_found(format!(
            "the vendor answers, but has no model '{}'; it lists {}",
            tidy(model),
            few(&names)
        ))),
    }
}
