//! The one error body, wherever a request goes wrong before anybody looks at its meaning.

use mindhost_tests::{Host, json};
use reqwest::Method;

#[tokio::test]
async fn unknown_routes_wrong_methods_and_missing_keys() {
    let host = Host::start().await;
    for path in ["/nothing", "/api/v1/nothing", "/v1/minds/a/b/c"] {
        host.request(Method::GET, path)
            .await
            .expect_error(404, "route_not_found");
    }

    let reply = host.api(Method::POST, "/minds/any").await;
    reply.expect_error(405, "method_not_allowed");
    let allowed: Vec<_> = reply.header("allow").split(',').map(str::trim).collect();
    assert_eq!(allowed, ["GET", "HEAD", "PUT", "DELETE"]);

    for request in [
        host.get("/minds").without_key(),
        host.get("/minds").key("mh_unknown"),
        host.get("/minds").header("authorization", "Basic dTpw"),
        host.get("/minds").header("authorization", "Bearer"),
    ] {
        let reply = request.await;
        let error = reply.expect_error(401, "invalid_api_key");
        assert_eq!(error["type"], "authentication_error");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn key_without_its_scheme_is_told_how_to_send_it() {
    let host = Host::start().await;
    let key = host.key();
    for sent in [key, &format!("Token {key}"), "Bearer"] {
        let reply = host.get("/minds").header("authorization", sent).await;
        let error = reply.expect_error(401, "invalid_api_key");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("is not of the form `Bearer <key>`"),
            "{message}"
        );
        assert!(!reply.text().contains(key), "{message}");
    }
}

#[tokio::test]
async fn bodies_that_are_not_what_they_should_be() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__BODY_LIMIT", "1000")
        .start()
        .await;
    let post = |body: &str| host.api(Method::POST, "/minds").body(body.to_owned());

    post("{\"name\": ").await.expect_error(400, "invalid_body");
    post("").await.expect_error(400, "invalid_body");
    post("[]").await.expect_error(400, "invalid_body");
    post("{}")
        .header("content-type", "text/plain")
        .await
        .expect_error(415, "unsupported_media_type");
    let long = format!("{{\"name\": \"{}\"}}", "a".repeat(1000));
    post(&long).await.expect_error(413, "body_too_large");

    for (body, param) in [
        (json!({"datasources": []}), "name"),
        (json!({"name": 5, "datasources": []}), "name"),
        (json!({"name": "a"}), "datasources"),
        (json!({"name": "a", "datasources": "shop"}), "datasources"),
        (json!({"name": "a", "datasources": [5]}), "datasources[0]"),
        (
            json!({"name": "a", "datasources": [{"tables": ["t"]}]}),
            "datasources[0].name",
        ),
        (
            json!({"name": "a", "datasources": [{"name": "d", "tables": [1]}]}),
            "datasources[0].tables[0]",
        ),
        (
            json!({"name": "a", "datasources": [{"name": "d", "color": 1}]}),
            "datasources[0].color",
        ),
        (
            json!({"name": "a", "datasources": [], "parameters": []}),
            "parameters",
        ),
        (
            json!({"name": "a", "datasources": [], "color": "red"}),
            "color",
        ),
    ] {
        let error = host
            .post("/minds", body.clone())
            .await
            .expect_error(400, "invalid_body");
        assert_eq!(error["param"], param, "{body}");
    }
    let error = host
        .get("/minds?is_demo=perhaps")
        .await
        .expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "is_demo");
    assert_eq!(
        host.get("/minds").await.json(),
        json!([]),
        "nothing was made"
    );
}

#[tokio::test]
async fn a_word_of_another_type_is_a_mistake_of_its_field() {
    let host = Host::start().await;
    let mask = json!({"sql": "x", "text": "y"});
    let policy = json!({"datasource": "shop", "table": "item", "masked": {"name": mask}});
    for (body, param, message) in [
        (
            json!({"name": "q", "role": 1}),
            "role",
            "expected a text, got a number",
        ),
        (
            json!({"name": "q", "role": null}),
            "role",
            "expected a text, got null",
        ),
        (
            json!({"name": "q", "role": "user", "policies": [policy]}),
            "policies[0].masked.name",
            "expected an object with one field, got another number of fields",
        ),
    ] {
        let reply = host.post("/keys", body).await;
        let error = reply.expect_error(400, "invalid_body");
        assert_eq!(error["param"], param, "{error}");
        assert_eq!(error["message"], format!("`{param}`: {message}"));
    }
}

#[tokio::test]
async fn a_part_of_a_path_that_names_nothing_is_named_itself() {
    let host = Host::start().await;
    for (path, code, param) in [
        (
            "/plugins/connector-files/rollouts/x",
            "rollout_not_found",
            "id",
        ),
        ("/responses/x", "response_not_found", "response_id"),
        (
            "/conversations/x",
            "conversation_not_found",
            "conversation_id",
        ),
    ] {
        let error = host.get(path).await.expect_error(404, code);
        assert_eq!(error["param"], param, "{error}");
        assert_eq!(error["message"], "'x' is no id: ids are UUIDs");
    }
    let error = host.get("/minds/%ff").await;
    let error = error.expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "name", "{error}");
    let error = host.get("/conversations?limit=1&search=%ff").await;
    let error = error.expect_error(400, "invalid_parameter");
    assert_eq!(error["param"], "search", "{error}");
}

#[tokio::test]
async fn the_character_that_no_text_may_have_is_refused_everywhere() {
    let host = Host::start().await;
    for path in ["/minds/%00", "/models/a%00b", "/datasources/%00/catalog"] {
        host.get(path).await.expect_error(400, "invalid_parameter");
    }
    let reply = host.get("/audit?key_id=a%00b").await;
    assert_eq!(
        reply.expect_error(400, "invalid_parameter")["param"],
        "key_id"
    );
    for (path, body) in [
        (
            "/responses",
            json!({"model": "sales", "input": "x", "instructions": "a\0b"}),
        ),
        ("/responses", json!({"model": "a\0b", "input": "x"})),
        ("/minds", json!({"name": "x", "datasources": ["a\0b"]})),
        ("/keys", json!({"name": "a\0b", "role": "user"})),
    ] {
        host.post(path, body)
            .await
            .expect_error(400, "invalid_body");
    }
}

#[tokio::test]
async fn both_prefixes_and_a_trailing_slash_are_the_same_route() {
    let host = Host::start().await;
    for path in ["/api/v1/minds", "/api/v1/minds/", "/v1/minds", "/v1/minds/"] {
        let reply = host.request(Method::GET, path).await.expect_status(200);
        assert_eq!(reply.json(), json!([]), "{path}");
    }
}

#[tokio::test]
async fn every_answer_has_a_request_id_and_the_log_knows_it() {
    let host = Host::start().await;
    let reply = host.get("/minds").await;
    assert!(uuid::Uuid::parse_str(reply.header("x-request-id")).is_ok());
    let mine = host.get("/minds").header("x-request-id", "trace-42").await;
    assert_eq!(mine.header("x-request-id"), "trace-42");
    assert!(host.log().contains("trace-42"));
    let bad = host.get("/minds").header("x-request-id", "a b\tc").await;
    assert_ne!(bad.header("x-request-id"), "a b\tc");
}

#[tokio::test]
async fn pages_of_foreign_origins_are_let_in_only_when_configured() {
    let host = Host::builder()
        .env("MINDHOST_SERVER__CORS_ORIGINS", "https://app.example.com")
        .start()
        .await;
    let asked_from = async |origin: &str| host.get("/minds").header("origin", origin).await;
    let reply = asked_from("https://app.example.com").await;
    assert_eq!(
        reply.header("access-control-allow-origin"),
        "https://app.example.com"
    );
    let exposed = reply.header("access-control-expose-headers");
    let exposed: Vec<_> = exposed.split(',').map(str::trim).collect();
    for header in ["x-request-id", "retry-after", "idempotency-replayed"] {
        assert!(exposed.contains(&header), "{header} in {exposed:?}");
    }
    let reply = asked_from("https://evil.example.com").await;
    assert_eq!(reply.header("access-control-allow-origin"), "");
}

/// Takes tables of the store away under the running server.
async fn break_store(host: &Host) {
    let store = host.data_dir().join("mindhost.db");
    let broken = tokio::task::spawn_blocking(move || {
        let store = rusqlite::Connection::open(store).unwrap();
        store
            .execute_batch(
                "PRAGMA foreign_keys = OFF; DROP TABLE mind_datasources; DROP TABLE minds; DROP TABLE messages; \
                 DROP TABLE responses",
            )
            .unwrap();
    });
    broken.await.unwrap();
}

#[tokio::test]
async fn a_fault_of_the_host_is_500_and_tells_nothing_of_itself() {
    let (host, mind) = crate::responses::shop().await;
    let response = mind.sql("SELECT 1").await.expect_status(200).json();
    let message = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    );
    break_store(&host).await;
    for request in [
        host.get("/minds"),
        host.post(
            "/responses",
            json!({"model": "sales", "input": "How many?"}),
        ),
        host.get(&format!("{message}/result")),
        host.get(&format!("{message}/export")),
    ] {
        let reply = request.await;
        let error = reply.expect_error(500, "internal_error");
        assert_eq!(error["blame"], "host");
        assert_eq!(error["type"], "server_error");
        assert!(!reply.text().contains("no such table"), "{}", reply.text());
        assert!(host.log().contains(reply.header("x-request-id")));
    }
    assert!(host.log().contains("no such table"), "{}", host.log());
}
