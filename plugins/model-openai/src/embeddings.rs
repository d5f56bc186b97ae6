//! Vectors of texts, over whatever sends requests.

use mindhost_sdk::vendor::{Refusal, Send};
use mindhost_sdk::{Config, Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::json;

use crate::settings::Settings;
use crate::vendor_error;

/// Texts of one request. Vendors take from 32 to 2,048, and the tokens of all of them count too.
const CHUNK: usize = 32;
/// Numbers of a vector, at most; the host takes no more.
const MAX_DIMENSIONS: usize = 16_384;
/// The largest response that is read.
const LARGEST: usize = 8 * 1024 * 1024;

#[derive(Deserialize)]
struct Response {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    /// The place of the text in the request; some servers leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// One vector for each text, in order.
///
/// # Errors
/// What the settings, the connection or the vendor say.
pub fn embed(
    config: &Config,
    model: &str,
    texts: &[String],
    send: &Send<'_>,
) -> Result<Vec<Vec<f32>>> {
    let settings = Settings::read(config)?;
    let mut vectors = Vec::with_capacity(texts.len());
    for chunk in texts.chunks(CHUNK) {
        vectors.extend(embed_chunk(&settings, model, chunk, send)?);
    }
    let length = vectors.first().map_or(1, Vec::len);
    let fits = |vector: &Vec<f32>| vector.len() == length && vector.iter().all(|n| n.is_finite());
    match (1..=MAX_DIMENSIONS).contains(&length) && vectors.iter().all(fits) {
        true => Ok(vectors),
        false => Err(wrong("vectors that cannot be compared")),
    }
}

fn embed_chunk(
    settings: &Settings,
    model: &str,
    texts: &[String],
    send: &Send<'_>,
) -> Result<Vec<Vec<f32>>> {
    let body = json!({"model": model, "input": texts}).to_string();
    let mut response = send(&settings.embeddings(model, body.into_bytes()))?;
    if !(200..300).contains(&response.status) {
        let refusal = Refusal::read(response);
        return Err(vendor_error::of(&refusal, settings, Some(model)));
    }
    let body = response.body.read_to_end(LARGEST)?;
    let response: Response =
        serde_json::from_slice(&body).map_err(|_| wrong("no list of vectors"))?;
    in_order(response.data, texts.len())
}

/// The vectors in the order of their texts.
fn in_order(data: Vec<Embedded>, count: usize) -> Result<Vec<Vec<f32>>> {
    let mut placed = vec![Vec::new(); count];
    for (at, one) in data.into_iter().enumerate() {
        match placed.get_mut(one.index.unwrap_or(at)) {
            Some(place) if place.is_empty() => *place = one.embedding,
            _ => return Err(wrong("a vector for no text")),
        }
    }
    match placed.iter().any(Vec::is_empty) {
        true => Err(wrong("no vector for some of the texts")),
        false => Ok(placed),
    }
}

fn wrong(what: &str) -> Error {
    let message = format!("the vendor's `/embeddings` gave {what}");
    Error::new(ErrorKind::Upstream, message)
}
