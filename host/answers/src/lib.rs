//! Answers to questions in words and in SQL: how one is made, its result and pages, the conversation that it belongs to. It
//! names no wasm, no DataFusion and no HTTP.

pub mod answering;
pub mod conversations;
pub mod evaluations;
pub mod feedback;
pub mod idempotency;
pub mod jobs;
pub mod knowledge;
pub mod results;
pub mod running;
