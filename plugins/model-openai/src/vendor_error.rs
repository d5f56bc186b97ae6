//! What a vendor says is wrong, as one of the contract's errors.

use mindhost_sdk::vendor::{CONTEXT_LENGTH, Refusal, VendorMessage, tidy};
use mindhost_sdk::{Error, ErrorKind};
use serde_json::Value;

use crate::settings::Settings;

/// The error that a response with a status other than success is.
pub fn of(refusal: &Refusal, settings: &Settings, model: Option<&str>) -> Error {
    let said = &refusal.said;
    let flavor = settings.flavor;
    let refused_key = || {
        let setting = flavor.key_setting();
        let what = format!("the vendor refused the key; check {setting} of the provider");
        (ErrorKind::Auth, said.after(&what))
    };
    refusal.error(match refusal.status {
        401 | 403 => refused_key(),
        // Google says so with the status of a bad request.
        400 if said.mentions(&["api key not valid", "authorization header", "api key expired"]) => refused_key(),
        404 => (ErrorKind::NotFound, not_found(said, settings, model)),
        400..=499 if is_about_tools(said) => (
            ErrorKind::Unsupported,
            said.after("the model cannot call tools here; choose one that can, or start the server with tool calls turned on"),
        ),
        _ => refusal.usual(),
    })
}

/// Ollama and llama.cpp know which models have tools; vLLM needs two options.
fn is_about_tools(said: &VendorMessage) -> bool {
    said.mentions(&[
        "does not support tools",
        "tool choice requires",
        "tool-call-parser",
        "tools param requires",
    ])
}

fn not_found(said: &VendorMessage, settings: &Settings, model: Option<&str>) -> String {
    let flavor = settings.flavor;
    let is_deployment = said.code == "DeploymentNotFound";
    match model.filter(|model| is_deployment || said.is_about_model(model)) {
        Some(model) => {
            let hint = flavor.missing_model();
            said.after(&format!("the vendor has no model '{}'{hint}", tidy(model)))
        }
        None => said.after(&format!(
            "there is no such API at this address; check `base_url` ({})",
            flavor.base_url()
        )),
    }
}

/// The error that a vendor sends in the middle of a stream.
pub fn in_stream(error: &Value) -> Error {
    let said = VendorMessage::of(error);
    let number = error.get("code").and_then(Value::as_u64);
    let status = number.and_then(|code| u16::try_from(code).ok());
    let status = match status.filter(|status| (400..600).contains(status)) {
        None if said.code.starts_with("rate_limit") => Some(429),
        status => status,
    };
    match status {
        Some(status) => {
            let retry_after = said.retry_after();
            let refusal = Refusal {
                status,
                said,
                retry_after,
            };
            refusal.error(refusal.usual())
        }
        None if said.is_about_length() => Error::new(
            ErrorKind::TooLarge,
            said.or("the conversation is too long for the model"),
        )
        .code(CONTEXT_LENGTH),
        None => Error::new(
            ErrorKind::Upstream,
            said.or("the vendor ended the answer with an error"),
        )
        .code(said.code.clone()),
    }
}
