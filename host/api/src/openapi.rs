//! The OpenAPI document, and the page that people read it on.
//!
//! Paths, parameters, bodies and answers come from the handlers' own types; [`complete`] adds what the entries of the
//! routes say, and what is the same everywhere.

mod complete;
mod examples;
mod kinds;
mod page;

use std::sync::LazyLock;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::Value;
use utoipa::OpenApi;
use utoipa_axum::routes;

use super::{
    documented_routes, error,
    routes::{OPEN, Routes, Tag},
};

const DESCRIPTION: &str = "Minds answer questions about databases. Every answer carries `x-request-id`. The same routes answer under `/v1` \
     too, and with a trailing slash. No text, of a body or a parameter, may hold the character U+0000.";

/// What does not come from a route.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mindhost",
        description = DESCRIPTION,
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(error::ErrorBody<'static>))
)]
struct Frame;

/// Made once: nothing of it depends on a request.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let routes = documented_routes();
    let mut frame = Frame::openapi();
    let schemas = routes
        .iter()
        .flat_map(|route| route.schemas.iter().cloned());
    let components = frame.components.get_or_insert_default();
    components.schemas.extend(schemas);
    let made = serde_json::to_value(frame);
    let completed = made.and_then(|mut document| {
        complete::complete(&mut document, &routes)?;
        Ok(document)
    });
    completed.unwrap_or_else(|cause| {
        tracing::error!(%cause, "the OpenAPI document could not be made");
        Value::Null
    })
});

/// This document, and the page of it.
pub(super) fn routes() -> Routes {
    Routes::of(Tag::Server)
        .route(routes!(document), OPEN)
        .route(routes!(docs), OPEN)
}

static TEXT: LazyLock<Bytes> = LazyLock::new(|| DOCUMENT.to_string().into());

static PAGE: LazyLock<page::Page> = LazyLock::new(|| page::Page::of(&DOCUMENT));

/// Gets this document
#[utoipa::path(get, path = "/api/v1/openapi.json", operation_id = "get_openapi",
    responses((status = 200, body = Object, description = "An OpenAPI 3.1 document.")))]
pub(super) async fn document() -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, TEXT.clone()).into_response()
}

/// Shows this document to people
#[utoipa::path(get, path = "/docs", operation_id = "get_docs",
    responses((status = 200, body = String, content_type = "text/html", description = "A page that needs no other host.")))]
pub(super) async fn docs() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, &PAGE.policy),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, PAGE.html.as_str()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every operation with its path and method.
    fn operations() -> Vec<(String, String, Value)> {
        let paths = DOCUMENT["paths"].as_object().unwrap();
        let all = paths.iter().flat_map(|(path, item)| {
            let operations = item.as_object().unwrap().iter();
            operations.map(move |(method, one)| (path.clone(), method.clone(), one.clone()))
        });
        all.collect()
    }

    #[test]
    fn every_operation_has_its_own_id_and_links_lead_to_one() {
        let ids: Vec<String> = operations()
            .iter()
            .map(|(_, _, one)| one["operationId"].as_str().unwrap().to_owned())
            .collect();
        let unique: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
        let routes = documented_routes();
        let links = routes.iter().flat_map(|route| &route.rules.links);
        for next in links.flat_map(|link| link.operations) {
            assert!(unique.contains(next), "{next}");
        }
        for id in examples::operations() {
            assert!(unique.contains(id), "examples.json: {id}");
        }
    }

    #[test]
    fn every_operation_is_described_and_says_what_it_can_fail_with() {
        for (path, method, one) in operations() {
            let what = format!("{method} {path}");
            assert!(one["summary"].is_string(), "{what} has no summary");
            assert!(one["tags"][0].is_string(), "{what} has no tag");
            let named = path.matches('{').count();
            let parameters = one["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|one| one["in"] == "path").count();
            assert_eq!(in_path, named, "{what}");
            assert!(
                parameters.iter().all(|one| one["description"].is_string()),
                "{what}: {parameters:?}"
            );
            let has_key = one["security"] != serde_json::json!([]);
            // Its caller shows a code in place of a key.
            let has_code = path.ends_with("/console/sign-in");
            let may_be_refused = one["responses"].get("401").is_some();
            assert_eq!(may_be_refused, has_key || has_code, "{what}");
        }
    }

    /// Every body of an operation, taken or given.
    fn bodies(operation: &Value) -> impl Iterator<Item = &Value> {
        let answers = operation["responses"].as_object().unwrap().values();
        let all = answers.chain(operation.get("requestBody"));
        let medias = all.filter_map(|body| body["content"].as_object());
        medias.flat_map(|medias| medias.values())
    }

    /// The examples of a body: its own and those that it refers to.
    fn examples(media: &Value) -> Vec<Value> {
        let named = media["examples"].as_object().into_iter().flatten();
        let named = named.map(|(_, named)| match named["$ref"].as_str() {
            Some(place) => &DOCUMENT.pointer(&place[1..]).unwrap()["value"],
            None => &named["value"],
        });
        media
            .get("example")
            .into_iter()
            .chain(named)
            .cloned()
            .collect()
    }

    #[test]
    fn every_body_has_an_example_that_is_as_its_schema_says() {
        for (path, method, operation) in operations() {
            for media in bodies(&operation) {
                let mut schema = media["schema"].clone();
                schema["components"] = DOCUMENT["components"].clone();
                let schema = jsonschema::draft202012::new(&schema).unwrap();
                let examples = examples(media);
                assert!(!examples.is_empty(), "{method} {path}: {media}");
                for example in examples {
                    let well = schema.validate(&example);
                    assert!(well.is_ok(), "{method} {path}: {example}: {well:?}");
                }
            }
        }
    }

    /// All of a document that has the name `$ref`.
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Array(some) => some.iter().for_each(|one| references(one, found)),
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|one| references(one, found));
            }
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let mut found = BTreeSet::new();
        references(&DOCUMENT, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            let place = reference.strip_prefix('#').unwrap();
            assert!(DOCUMENT.pointer(place).is_some(), "{reference}");
        }
    }
}
