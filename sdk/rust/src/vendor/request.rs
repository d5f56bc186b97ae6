//! Parts of a request that every vendor writes in nearly the same way.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model::{Media, Message, Part, Request, Tool};

/// The model that a request is for: its own, else the provider's default.
///
/// # Errors
/// `InvalidConfig` when neither names one.
pub fn model_name<'a>(request: &'a Request, default: Option<&'a str>) -> Result<&'a str> {
    let own = Some(request.model.as_str()).filter(|name| !name.is_empty());
    own.or(default).ok_or_else(|| {
        Error::invalid_config(
            "no model is named: set `model` in the provider's connection_data, or `model_name` of the Mind",
        )
    })
}

/// The temperature of a request, else the provider's: `0.7_f32` is 0.7, not 0.699999988079071.
pub fn temperature(request: &Request, default: Option<f64>) -> Option<f64> {
    let shortest = |number: f32| {
        let text = number.to_string();
        text.parse().unwrap_or_else(|_| f64::from(number))
    };
    request.temperature.map(shortest).or(default)
}

/// Reads JSON that the host sent; `what` names it in the error.
///
/// # Errors
/// `InvalidStatement` for text that is not JSON.
pub fn json_text(text: &str, what: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::invalid_statement(format!("{what} is not JSON: {error}")))
}

/// The schema of a tool's arguments; an empty one allows none.
///
/// # Errors
/// `InvalidStatement` for text that is not JSON.
pub fn schema_of(tool: &Tool) -> Result<Value> {
    match tool.parameters.trim().is_empty() {
        true => Ok(json!({"type": "object", "properties": {}})),
        false => json_text(&tool.parameters, "the schema of a tool's arguments"),
    }
}

/// The texts of a message, a line apart.
pub fn text_of(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A medium that is an image.
///
/// # Errors
/// `Unsupported` for all other media.
pub fn as_image(media: &Media) -> Result<&Media> {
    match media.media_type.starts_with("image/") {
        true => Ok(media),
        false => Err(Error::unsupported(format!(
            "{} cannot be sent to this model; only images can",
            media.media_type
        ))),
    }
}
