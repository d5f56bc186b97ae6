//! `/datasources/{name}/files`

mod form;

use std::sync::Arc;

use axum::{
    Extension,
    body::{Body, HttpBody as _},
    extract::State,
    http::{HeaderMap, StatusCode},
};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt as _};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use self::form::{Form, boundary, broken, broken_form};
use crate::{
    admission::CreatedName,
    error::ApiResult,
    extract::{Path, Query},
    routes::{ASKED, EDITOR, Routes, Tag},
};
use mindhost_base::error::{Code, Error, Result};
use mindhost_core::{
    auth::{Auth, Caller},
    datasources::{Datasources, StoredFile, Upload},
};

/// `/datasources/{name}/files`
pub(super) fn routes() -> Routes {
    const OF_FILES: &[Code] = &[Code::DatasourceNotFound, Code::WrongState];
    let upload = EDITOR
        .beyond_minds("upload files: other Minds may use the datasource too")
        .fails(OF_FILES)
        .fails(ASKED)
        .fails(&[
            Code::InvalidBody,
            Code::NameTaken,
            Code::BodyTooLarge,
            Code::QuotaExceeded,
            Code::StorageFull,
        ]);
    let delete = EDITOR
        .beyond_minds("delete files: other Minds may use the datasource too")
        .fails(OF_FILES)
        .fails(ASKED)
        .fails(&[Code::FileNotFound]);
    let list = EDITOR
        .beyond_minds("list files: they may hold tables of other Minds")
        .fails(OF_FILES)
        .fails(ASKED);
    Routes::of(Tag::Datasources)
        .route(routes!(self::list), list)
        .route(routes!(self::upload), upload)
        .route(routes!(self::delete), delete)
}

/// What to do with the file.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Destination {
    /// The name of the file in the directory; in a form, that of its part unless given.
    #[param(example = "orders.csv", max_length = 200)]
    name: Option<String>,
    /// Whether it may take the place of a file of that name.
    overwrite: Option<bool>,
}

/// Lists the files of a datasource
///
/// Those directly in its directory; a catalog run finds the tables in them.
#[utoipa::path(get, path = "/datasources/{name}/files", operation_id = "list_files",
    responses((status = 200, body = Vec<StoredFile>, description = "By name.")))]
pub(super) async fn list(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Path(name): Path<String>,
) -> ApiResult<axum::Json<Vec<StoredFile>>> {
    Ok(axum::Json(datasources.files(&caller, &name).await?))
}

/// Uploads a file
///
/// Only for engines that read a directory, and only into a directory of the workspace's own. The body is the file, or a
/// form (`multipart/form-data`) with one file. The file is invisible until it is complete. Load the catalog again
/// to see its table.
#[utoipa::path(post, path = "/datasources/{name}/files", operation_id = "upload_file",
    params(Destination),
    request_body(content((Vec<u8> = "application/octet-stream"), (String = "multipart/form-data")),
        description = "The file."),
    responses((status = 201, body = StoredFile, description = "The file is stored.")))]
pub(super) async fn upload(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    State(auth): State<Arc<Auth>>,
    Path(name): Path<String>,
    Query(query): Query<Destination>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Extension<CreatedName>, axum::Json<StoredFile>)> {
    // Before anything is said of the body.
    datasources.get(&caller, &name).await?;
    let overwrite = query.overwrite.unwrap_or(false);
    let upload = match boundary(&headers)? {
        Some(boundary) => {
            let mut form = Form::new(body, boundary);
            let mut part = form.file().await?;
            let file = query
                .name
                .or_else(|| part.file_name().map(str::to_owned))
                .unwrap_or_default();
            let mut upload = datasources
                .begin_upload(&caller, &name, &file, overwrite, None)
                .await?;
            while let Some(chunk) = part.chunk().await.map_err(broken_form)? {
                upload.write(&chunk).await?;
            }
            drop(part);
            form.end().await?;
            upload
        }
        None => {
            let file = query.name.ok_or_else(|| {
                Error::invalid(
                    "name",
                    "`name` is missing; send the name of the file: `?name=orders.csv`",
                )
            })?;
            let length = body.size_hint().exact();
            let upload = datasources
                .begin_upload(&caller, &name, &file, overwrite, length)
                .await?;
            received(upload, body.into_data_stream()).await?
        }
    };
    // The key may have been revoked during the upload.
    auth.confirm(&caller).await?;
    let stored = upload.finish().await?;
    let made = CreatedName(format!("{} bytes={}", stored.name, stored.bytes));
    Ok((StatusCode::CREATED, Extension(made), axum::Json(stored)))
}

/// Deletes a file
#[utoipa::path(delete, path = "/datasources/{name}/files/{file}", operation_id = "delete_file",
    responses((status = 204, description = "Deleted.")))]
pub(super) async fn delete(
    caller: Caller,
    State(datasources): State<Arc<Datasources>>,
    Path((name, file)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    datasources.delete_file(&caller, &name, &file).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn received(
    mut upload: Upload,
    mut body: impl Stream<Item = std::result::Result<Bytes, axum::Error>> + Unpin,
) -> Result<Upload> {
    while let Some(chunk) = body.try_next().await.map_err(broken)? {
        upload.write(&chunk).await?;
    }
    Ok(upload)
}
