//! What the vendor says is wrong, as one of the contract's errors.

use mindhost_sdk::vendor::{Refusal, VendorMessage, tidy};
use mindhost_sdk::{Error, ErrorKind};
use serde_json::Value;

/// The error that a response with a status other than success is.
pub fn of(refusal: &Refusal, model: Option<&str>) -> Error {
    let said = &refusal.said;
    refusal.error(match refusal.status {
        400 if said.mentions(&["credit balance"]) => (
            ErrorKind::Permission,
            said.after("the vendor wants to be paid first; add credit in its console"),
        ),
        403 => (
            ErrorKind::Permission,
            said.after(
                "the key may not do this; check its workspace and rights in the vendor's console",
            ),
        ),
        404 => (ErrorKind::NotFound, not_found(said, model)),
        529 => (
            ErrorKind::Upstream,
            said.after("the vendor is overloaded; ask again in a moment"),
        ),
        _ => refusal.usual(),
    })
}

fn not_found(said: &VendorMessage, model: Option<&str>) -> String {
    match model.filter(|model| said.is_about_model(model)) {
        Some(model) => said.after(&format!(
            "the vendor has no model '{}'; choose one of its list of models",
            tidy(model)
        )),
        None => said.after(
            "there is no such API at this address; check `base_url` (https://api.anthropic.com, without /v1/messages)",
        ),
    }
}

/// The error that the vendor sends in the middle of a stream: it has a type, which stands for a status.
pub fn in_stream(error: &Value) -> Error {
    let said = VendorMessage::of(error);
    let status = match said.code.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    let refusal = Refusal {
        status,
        said,
        retry_after: None,
    };
    of(&refusal, None)
}
