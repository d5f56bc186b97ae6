//! `/api/v1/openapi.json` and `/docs`

use std::{collections::BTreeSet, time::Duration};

use mindhost_tests::{Host, Value, fuzz::fuzz};
use reqwest::Method;

/// An operation of the document.
pub struct Operation {
    /// `GET`
    pub method: String,
    /// `/api/v1/minds/{name}`
    pub path: String,
    /// The least role of a key; `None` needs none.
    pub role: Option<String>,
    /// Whether it refuses every key that is limited to some Minds.
    pub needs_all_minds: bool,
}

impl Operation {
    /// `GET /api/v1/minds/{name}`
    pub fn what(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Every operation of the document that a host serves.
pub async fn operations(host: &Host) -> Vec<Operation> {
    let document = document(host).await;
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let needs_key = operation["security"] != mindhost_tests::json!([]);
            let role = operation["x-mindhost-role"].as_str();
            assert_eq!(needs_key, role.is_some(), "{method} {path}");
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                role: role.map(str::to_owned),
                needs_all_minds: operation["x-mindhost-all-minds"] == true,
            });
        }
    }
    found
}

async fn document(host: &Host) -> Value {
    let reply = host.get("/openapi.json").without_key().await;
    let reply = reply.expect_status(200);
    assert_eq!(reply.header("content-type"), "application/json");
    reply.json()
}

#[tokio::test]
async fn the_document_has_every_route_of_the_server_and_no_other() {
    let host = Host::start().await;
    let mut served = BTreeSet::new();
    for path in mindhost_api::paths() {
        // A method that no route has: the answer lists those that it has.
        let reply = host.request(Method::TRACE, &path).await;
        for method in reply.expect_status(405).header("allow").split(',') {
            served.insert(format!("{} {path}", method.trim()));
        }
    }
    served.retain(|route| !route.starts_with("HEAD "));
    let documented: BTreeSet<_> = operations(&host)
        .await
        .iter()
        .map(Operation::what)
        .collect();
    assert_eq!(served, documented);
}

#[tokio::test]
async fn the_alias_serves_the_same_document() {
    let host = Host::start().await;
    let alias = host.request(Method::GET, "/v1/openapi.json").without_key();
    assert_eq!(alias.await.json(), document(&host).await);
}

#[tokio::test]
async fn the_page_shows_every_operation_and_loads_nothing() {
    let host = Host::start().await;
    let page = host.request(Method::GET, "/docs").without_key().await;
    let page = page.expect_status(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    let html = page.text();
    for operation in operations(&host).await {
        assert!(
            html.contains(&format!("<code>{}</code>", operation.path)),
            "{}",
            operation.what()
        );
    }
    // Nothing that a browser would fetch, and no link that leads away.
    for loads in [
        "src=",
        "<script",
        "<link",
        "<img",
        "<iframe",
        "@import",
        "url(",
        "javascript:",
    ] {
        assert!(!html.contains(loads), "{loads}");
    }
    for link in html.split("href=\"").skip(1) {
        assert!(
            link.starts_with(['#', '/']) && !link.starts_with("//"),
            "{}",
            &link[..40]
        );
    }
}

#[tokio::test]
async fn a_fuzzer_finds_nothing() {
    let fuzzed = fuzz(1, Duration::from_secs(600)).await;
    assert!(fuzzed.is_clean, "{}", fuzzed.report);
    assert!(fuzzed.cases >= 1000, "{}", fuzzed.report);
}

#[tokio::test]
async fn integer_attribute_fits_its_schema() {
    let host = Host::start().await;
    let document = document(&host).await;
    let scalar = &document["components"]["schemas"]["Scalar"];
    assert!(
        scalar["anyOf"].is_array() && scalar["oneOf"].is_null(),
        "{scalar}"
    );
}
