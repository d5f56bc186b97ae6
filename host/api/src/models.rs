//! `/models`: the caller's Minds, as clients of OpenAI's API list them.

use crate::{
    error::ApiResult,
    routes::{Routes, Tag, USER},
};
use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::extract::Path;
use mindhost_base::error::Code;
use mindhost_core::{
    auth::Caller,
    minds::{Mind, Minds},
};

/// `/models`
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Minds)
        .route(routes!(list), USER)
        .route(routes!(get), USER.fails(&[Code::MindNotFound]))
}

/// A Mind as a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct Model {
    /// Name of the Mind: what `model` is set to.
    id: String,
    #[schema(example = "model")]
    object: &'static str,
    /// When it was made, in seconds since 1970.
    created: i64,
    #[schema(example = "mindhost")]
    owned_by: &'static str,
}

/// The Minds of a key as models.
#[derive(Debug, Serialize, ToSchema)]
pub struct Models {
    #[schema(example = "list")]
    object: &'static str,
    data: Vec<Model>,
}

/// Lists the Minds as models
#[utoipa::path(get, path = "/models", operation_id = "list_models",
    responses((status = 200, body = Models, description = "The Minds that the key sees.")))]
pub async fn list(State(minds): State<Arc<Minds>>, caller: Caller) -> ApiResult<Json<Models>> {
    let minds = minds.list(&caller).await?;
    Ok(Json(Models {
        object: "list",
        data: minds.iter().map(Model::of).collect(),
    }))
}

/// Gets a Mind as a model
#[utoipa::path(get, path = "/models/{name}", operation_id = "get_model",
    responses((status = 200, body = Model, description = "The Mind as a model.")))]
pub async fn get(
    State(minds): State<Arc<Minds>>,
    caller: Caller,
    Path(name): Path<String>,
) -> ApiResult<Json<Model>> {
    Ok(Json(Model::of(&minds.get(&caller, &name).await?)))
}

impl Model {
    fn of(mind: &Mind) -> Self {
        Self {
            id: mind.name.clone(),
            object: "model",
            created: mind.created_at.as_second(),
            owned_by: "mindhost",
        }
    }
}
