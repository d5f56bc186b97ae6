//! Fields that a server refuses by their name, and the request without them.
//!
//! Servers differ in the fields that they know, by version and by model, and few say so beforehand. They do say it in
//! the refusal, which has cost nothing yet.

use mindhost_sdk::vendor::{Refusal, VendorMessage};

use crate::flavor::{MAX_COMPLETION_TOKENS, MAX_TOKENS};
use crate::settings::Settings;

/// The form of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The field that limits the tokens of an answer.
    pub limit_field: String,
    /// Whether to ask for token counts with a stream.
    pub usage: bool,
    /// Whether the limit's field may still be changed.
    is_limit_open: bool,
}

impl Form {
    /// The form to begin with. A configured field is never changed.
    pub fn first(settings: &Settings) -> Self {
        let configured = settings.max_tokens_field();
        Self {
            limit_field: configured
                .unwrap_or(settings.flavor.limit_field())
                .to_owned(),
            usage: settings.include_usage(),
            is_limit_open: configured.is_none(),
        }
    }

    /// The form to try after this one was refused; none where another form would not help. Each difference is tried once.
    pub fn next(&self, refusal: &Refusal) -> Option<Self> {
        let said = &refusal.said;
        if !matches!(refusal.status, 400 | 422) || !is_about_a_field(said) {
            return None;
        }
        let names = |field: &str| said.param == field || said.mentions(&[field]);
        if self.usage && names("stream_options") {
            return Some(Self {
                usage: false,
                ..self.clone()
            });
        }
        if !self.is_limit_open || !names(&self.limit_field) {
            return None;
        }
        let other = match self.limit_field == MAX_TOKENS {
            true => MAX_COMPLETION_TOKENS,
            false => MAX_TOKENS,
        };
        Some(Self {
            limit_field: other.to_owned(),
            is_limit_open: false,
            ..self.clone()
        })
    }
}

/// Whether the field is unknown, and not its value too large.
fn is_about_a_field(said: &VendorMessage) -> bool {
    said.code == "unsupported_parameter"
        || said.code == "unknown_parameter"
        || said.mentions(&[
            "unsupported parameter",
            "unknown parameter",
            "unrecognized request argument",
            "unrecognized field",
            "unknown name",
            "unknown field",
            "not permitted",
            "not supported",
            "not allowed",
        ])
}
