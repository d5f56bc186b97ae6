//! `/console`: its files, and the one-time links that open it signed in. What it shows is tested in a browser:
//! `tests/console`.

use mindhost_tests::{ADMIN_KEY, Host, json};
use reqwest::Method;

/// The code of a link that `mindhost console` prints.
fn code_of(link: &str) -> String {
    let (_, code) = link.trim().split_once("#code=").unwrap();
    code.to_owned()
}

async fn link(host: &Host, key: &str) -> String {
    let made = host.post("/console/links", json!({"key": key})).key(key);
    let made = made.await.expect_status(201).json();
    made["path"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn link_gives_its_key_once_and_no_log_holds_either() {
    let host = Host::start().await;
    let made = host.post("/keys", json!({"name": "reader", "role": "user"}));
    let made = made.await.expect_status(201).json();
    let key = made["key"].as_str().unwrap();
    let code = code_of(&link(&host, key).await);
    assert!(!code.contains(key));
    let sign_in = || host.post("/console/sign-in", json!({"code": code}));
    let answer = sign_in().without_key().await.expect_status(200);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.json()["key"], key);
    let again = sign_in().without_key().await;
    again.expect_error(401, "invalid_api_key");
    let log = host.log();
    assert!(!log.contains(&code) && !log.contains(key) && !log.contains(ADMIN_KEY));
    let trail = host.get("/audit").await.expect_status(200);
    let trail = trail.text();
    assert!(trail.contains("POST /console/links") && trail.contains("POST /console/sign-in"));
    assert!(!trail.contains(&code) && !trail.contains(key));
}

#[tokio::test]
async fn link_of_a_revoked_key_gives_nothing() {
    let host = Host::start().await;
    let made = host.post("/keys", json!({"name": "reader", "role": "user"}));
    let made = made.await.expect_status(201).json();
    let code = code_of(&link(&host, made["key"].as_str().unwrap()).await);
    let path = format!("/keys/{}", made["id"].as_str().unwrap());
    host.delete(&path).await.expect_status(204);
    let answer = host.post("/console/sign-in", json!({"code": code}));
    answer
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
}

#[tokio::test]
async fn link_is_made_for_the_own_key_only() {
    let host = Host::start().await;
    let made = host.post("/keys", json!({"name": "reader", "role": "user"}));
    let made = made.await.expect_status(201).json();
    let key = made["key"].as_str().unwrap();
    for other in [ADMIN_KEY, "mh_unknown", ""] {
        let asked = host.post("/console/links", json!({"key": other})).key(key);
        let error = asked.await.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], "key", "{error}");
    }
}

#[tokio::test]
async fn current_key_says_who_asks_and_never_its_text() {
    let host = Host::start().await;
    host.mind("open").create().await;
    let body = json!({"name": "guest", "role": "user", "minds": ["open"]});
    let made = host.post("/keys", body).await.expect_status(201).json();
    let key = made["key"].as_str().unwrap();
    let current = host.get("/keys/current").key(key).await.expect_status(200);
    assert!(!current.text().contains(key));
    let current = current.json();
    assert_eq!(current["id"], made["id"]);
    assert_eq!(current["role"], "user");
    assert_eq!(current["minds"], json!(["open"]));
    assert_eq!(current["workspace"], "default");
}

#[tokio::test]
async fn every_address_of_the_console_has_a_page_with_a_strict_policy() {
    let host = Host::start().await;
    for path in [
        "/console",
        "/console/",
        "/console/ask",
        "/console/data/a%2Fb/tables/x.y",
    ] {
        for method in [Method::GET, Method::HEAD] {
            let page = host.request(method, path).without_key().await;
            let page = page.expect_status(200);
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
            assert_eq!(page.header("referrer-policy"), "no-referrer");
            assert_eq!(page.header("x-content-type-options"), "nosniff");
            let policy = page.header("content-security-policy");
            assert!(policy.starts_with("default-src 'self'; "), "{policy}");
            assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
            assert!(
                policy.contains("require-trusted-types-for 'script'"),
                "{policy}"
            );
            assert!(!policy.contains("unsafe"), "{policy}");
        }
    }
    let none = host
        .request(Method::GET, "/console/assets/none.js")
        .without_key();
    none.await.expect_error(404, "route_not_found");
}

#[tokio::test]
async fn root_leads_people_to_the_console_and_programs_nowhere() {
    let host = Host::start().await;
    let program = host.request(Method::GET, "/").without_key().await;
    program.expect_error(404, "route_not_found");
    let person = host.request(Method::GET, "/").without_key();
    let page = person.header("accept", "text/html,*/*;q=0.8").await;
    let page = page.expect_status(303);
    assert_eq!(page.header("location"), "/console");
}
