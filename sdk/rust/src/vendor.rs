//! What model providers over HTTP share: requests to one [`Endpoint`], answers that are streamed as server-sent events
//! ([`Answer`]), tool calls that come in pieces ([`ToolCalls`]), and what a vendor says is wrong ([`Refusal`]).
//!
//! A vendor's own format is a [`Protocol`]: it turns the data of each event into events of the contract. Everything that
//! a vendor sends is bounded here, so that a hostile one costs an error and not memory.

mod answer;
mod calls;
mod endpoint;
mod refusal;
mod request;
mod surrogates;
mod tokens;

pub use answer::{Answer, Protocol};
pub use calls::ToolCalls;
pub use endpoint::{Endpoint, Send, few};
pub use refusal::{CONTEXT_LENGTH, Refusal, VendorMessage, retry_after, tidy};
pub use request::{as_image, json_text, model_name, schema_of, temperature, text_of};
pub use tokens::token_count;
