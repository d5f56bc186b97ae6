//! What a caller may set for the model and for itself, as in OpenAI's API and in Open Responses.

use std::{num::NonZeroU32, ops::RangeInclusive};

use utoipa::openapi::{
    Array, Object,
    schema::{ArrayBuilder, SchemaType, Type},
};

use super::body::ServiceTier;
use mindhost_answers::answering::record::{Settings, Truncation};
use mindhost_base::error::{Error, Result};

/// Characters of an identifier.
const IDENTIFIER: usize = 64;

/// Tokens whose log probabilities may be asked for.
const LOGPROBS: u32 = 20;

/// The settings as a body has them.
#[derive(Default)]
pub struct GivenSettings {
    pub truncation: Option<Truncation>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub presence_penalty: Option<f64>,
    pub frequency_penalty: Option<f64>,
    pub top_logprobs: Option<u32>,
    pub max_tool_calls: Option<NonZeroU32>,
    pub service_tier: Option<ServiceTier>,
    pub safety_identifier: Option<String>,
    pub prompt_cache_key: Option<String>,
}

impl GivenSettings {
    /// Checks their ranges.
    ///
    /// # Errors
    /// `invalid_parameter`, with the name of the field.
    pub fn checked(self) -> Result<Settings> {
        if self.top_logprobs.is_some_and(|count| count > LOGPROBS) {
            return Err(Error::invalid(
                "top_logprobs",
                format!("`top_logprobs` must be an integer from 0 to {LOGPROBS}"),
            ));
        }
        Ok(Settings {
            truncation: self.truncation.unwrap_or_default(),
            temperature: within("temperature", self.temperature, 0.0..=2.0)?,
            top_p: within("top_p", self.top_p, 0.0..=1.0)?,
            presence_penalty: within("presence_penalty", self.presence_penalty, -2.0..=2.0)?,
            frequency_penalty: within("frequency_penalty", self.frequency_penalty, -2.0..=2.0)?,
            top_logprobs: self.top_logprobs,
            max_tool_calls: self.max_tool_calls.map(NonZeroU32::get),
            service_tier: self.service_tier.map(|tier| tier.name().to_owned()),
            safety_identifier: identifier("safety_identifier", self.safety_identifier)?,
            prompt_cache_key: identifier("prompt_cache_key", self.prompt_cache_key)?,
            // It comes with the caller.
            request_id: None,
        })
    }
}

/// The schema of `include`.
pub fn include() -> Array {
    let name = Object::builder()
        .schema_type(Type::String)
        .pattern(Some(r"^(steps|chart)$|\."))
        .build();
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(name)
        .description(Some(
            "`steps` adds events that tell how the answer is found; `chart` adds a chart of the result to the item. \
             OpenAI's own values, which have a dot, are accepted and have no effect.",
        ))
        .examples([serde_json::json!(["steps", "chart"])])
        .build()
}

fn within(name: &str, given: Option<f64>, range: RangeInclusive<f64>) -> Result<Option<f64>> {
    match given {
        Some(number) if !range.contains(&number) => Err(Error::invalid(
            name,
            format!(
                "`{name}` is a number from {} to {}, got {number}",
                range.start(),
                range.end()
            ),
        )),
        given => Ok(given),
    }
}

fn identifier(name: &str, given: Option<String>) -> Result<Option<String>> {
    match given {
        Some(text) if text.chars().count() > IDENTIFIER => Err(Error::invalid(
            name,
            format!("`{name}` has at most {IDENTIFIER} characters"),
        )),
        given => Ok(given),
    }
}
