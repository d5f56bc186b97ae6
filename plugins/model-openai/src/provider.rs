//! The calls of the contract, over whatever sends requests.

use mindhost_sdk::http::{Request as HttpRequest, Response};
use mindhost_sdk::model::Request;
use mindhost_sdk::{Config, Error, ErrorKind, Result};
use serde::Deserialize;

use crate::body;
use crate::completion::Completion;
use crate::settings::Settings;
use crate::vendor_error;

/// The largest list of models that is read.
const LARGEST_LIST: usize = 8 * 1024 * 1024;

/// Sends a request: `mindhost_sdk::http::send`, or a script in tests.
pub type Send = dyn Fn(&HttpRequest) -> Result<Response>;

/// Asks for a completion.
///
/// # Errors
/// What the settings, the connection or the vendor say.
pub fn start(config: &Config, request: &Request, send: &Send) -> Result<Completion> {
    let settings = Settings::read(config)?;
    let body = body::write(&settings, request)?;
    let response = send(
        &settings
            .post("/chat/completions", body)
            .header("accept", "text/event-stream"),
    )?;
    if !(200..300).contains(&response.status) {
        return Err(vendor_error::of_response(
            response,
            body::model(&settings, request).ok(),
        ));
    }
    Completion::of(response)
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
pub fn models(config: &Config, send: &Send) -> Result<Vec<String>> {
    let settings = Settings::read(config)?;
    let mut response = send(&settings.get("/models").header("accept", "application/json"))?;
    if !(200..300).contains(&response.status) {
        return Err(vendor_error::of_response(response, None));
    }
    let body = response.body.read_to_end(LARGEST_LIST)?;
    let list: Models = serde_json::from_slice(&body).map_err(|_| {
        Error::new(ErrorKind::Upstream, "the address does not answer with a list of models; check `base_url` (it usually ends in /v1)")
    })?;
    let mut names: Vec<String> = list.data.into_iter().map(|m| m.id).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Proves that address and key work, by the list of models, which costs nothing.
///
/// # Errors
/// As [`start`], and `NotFound` when the configured model is not in the list.
pub fn check(config: &Config, send: &Send) -> Result<String> {
    let settings = Settings::read(config)?;
    let names = models(config, send)?;
    match &settings.model {
        Some(model) if names.is_empty() || names.contains(model) => {
            Ok(format!("The vendor answers; the model is {model}."))
        }
        Some(model) => Err(Error::not_found(format!(
            "the vendor answers, but does not list the model '{}'; it lists {}",
            vendor_error::tidy(model),
            few(&names)
        ))),
        None => Ok(format!(
            "The vendor answers and lists {}. No default model is set.",
            few(&names)
        )),
    }
}

fn few(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(5)
        .map(|n| vendor_error::tidy(n))
        .collect();
    match names.len() {
        0 => "no models".to_owned(),
        n if n > 5 => format!("{} models: {}, …", n, shown.join(", ")),
        _ => shown.join(", "),
    }
}
