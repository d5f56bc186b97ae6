//! Vectors that a test wrote, in OpenAI's form.

use axum::response::Response;
use serde_json::{Value, json};

use super::{Shared, lock, play};

/// What a scripted model makes of texts that it is to embed.
#[derive(Default)]
pub enum Embeddings {
    /// It has no API for them.
    #[default]
    Unknown,
    /// The vector of each text.
    Of(fn(&str) -> Vec<f32>),
    /// It fails.
    Fails,
    /// It never answers.
    Hangs,
}

pub(super) async fn answer(shared: &Shared, body: &Value) -> Response {
    let texts = body["input"].as_array().into_iter().flatten();
    let texts: Vec<String> = texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect();
    lock(&shared.embedded).extend(texts.iter().cloned());
    let vector = match *lock(&shared.embeddings) {
        Embeddings::Unknown => return play::refusal(404, "no embeddings here", "no_api"),
        Embeddings::Fails => return play::refusal(500, "out of memory", "server_error"),
        Embeddings::Of(vector) => Some(vector),
        Embeddings::Hangs => None,
    };
    let Some(vector) = vector else {
        return std::future::pending().await;
    };
    // Newest first: the order is that of `index`.
    let data = texts.iter().enumerate().rev().map(
        |(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}),
    );
    let data: Vec<Value> = data.collect();
    play::json(
        200,
        &json!({"object": "list", "model": body["model"], "data": data}),
    )
}
