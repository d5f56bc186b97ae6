//! `/models`: the caller's Minds, as clients of OpenAI's API list them.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::extract::Path;
use crate::{
    auth::Caller,
    error::Result,
    minds::{Mind, Minds},
};

/// `GET /models`
pub async fn list(State(minds): State<Arc<Minds>>, caller: Caller) -> Result<Json<Value>> {
    let minds = minds.list(&caller).await?;
    let data: Vec<Value> = minds.iter().map(object).collect();
    Ok(Json(json!({"object": "list", "data": data})))
}

/// `GET /models/{name}`
pub async fn get(
    State(minds): State<Arc<Minds>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Value>> {
    Ok(Json(object(&minds.get(&caller, &name).await?)))
}

fn object(mind: &Mind) -> Value {
    json!({
        "id": mind.name,
        "object": "model",
        "created": mind.created_at.as_second(),
        "owned_by": "mindhost",
    })
}
