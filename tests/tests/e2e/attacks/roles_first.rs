//! A caller who may not use a route learns nothing of what it takes: who asks is judged first, then what is asked. So a
//! body that is empty, broken, too long, of another type or compressed is never what is answered to such a caller.

use mindhost_tests::{Host, Request, json};
use reqwest::Method;

use crate::admission::{Case, Setup, below, cases};

/// Bytes that a body may have on the hosts of these tests.
const LIMIT: usize = 4096;

/// What is wrong with a body.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Empty,
    Object,
    Broken,
    TooLong,
    OtherType,
    Compressed,
    BadParameter,
    BadName,
}

impl Wrong {
    const ALL: [Self; 8] = [
        Self::Empty,
        Self::Object,
        Self::Broken,
        Self::TooLong,
        Self::OtherType,
        Self::Compressed,
        Self::BadParameter,
        Self::BadName,
    ];

    fn put_into(self, request: Request) -> Request {
        match self {
            Self::Empty => request.body(""),
            Self::Object => request.body("{}"),
            Self::Broken => request.body("{\"name\": "),
            Self::TooLong => request.body("x".repeat(LIMIT + 1)),
            Self::OtherType => request
                .header("content-type", "text/plain")
                .raw(b"name".into()),
            Self::Compressed => request.header("content-encoding", "gzip").body("{}"),
            Self::BadParameter => request.query("check_connection", "perhaps").body("{}"),
            // The body is read before the route's own handler then.
            Self::BadName => {
                let name = "x".repeat(300);
                request.header("idempotency-key", &name).body("{}")
            }
        }
    }
}

async fn setup() -> Setup {
    // More wrong keys are sent here than an address may send.
    let host = Host::builder()
        .env("MINDHOST_SERVER__BODY_LIMIT", LIMIT.to_string())
        .env("MINDHOST_LIMITS__FAILED_LOGINS", "0");
    Setup::on(host.start().await).await
}

async fn check(setup: &Setup, case: &Case, key: Option<&str>, expected: (u16, Option<&str>)) {
    for wrong in Wrong::ALL {
        let request = wrong.put_into(setup.request(case));
        let request = match key {
            Some(key) => request.key(key),
            None => request.without_key(),
        };
        let reply = request.await;
        let what = format!("{} with {wrong:?}: {}", case.what(), reply.text());
        assert_eq!(reply.status, expected.0, "{what}");
        if let Some(code) = expected.1 {
            assert_eq!(reply.json()["error"]["code"], code, "{what}");
        }
    }
}

#[tokio::test]
async fn without_a_key_every_body_is_401() {
    let setup = setup().await;
    for case in cases() {
        let expected = (401, Some("invalid_api_key"));
        check(&setup, &case, None, expected).await;
        check(&setup, &case, Some("mh_wrong"), expected).await;
    }
}

#[tokio::test]
async fn with_too_small_a_role_every_body_is_403() {
    let setup = setup().await;
    for case in cases() {
        let Some(role) = below(case.role) else {
            continue;
        };
        let key = setup.key(json!({"name": role, "role": role})).await;
        check(&setup, &case, Some(&key), (403, Some("forbidden"))).await;
    }
}

/// A caller who may use a route, but not for this: the thing is in another workspace.
#[tokio::test]
async fn of_another_workspace_every_body_is_404() {
    let setup = setup().await;
    let body = json!({"name": "stranger", "role": "admin"});
    let made = setup.host.post("/workspaces/elsewhere/keys", body).await;
    let made = made.expect_status(201).json();
    let stranger = made["key"].as_str().unwrap();
    let changes =
        |case: &Case| case.path.contains('{') && matches!(case.method, "POST" | "PUT" | "PATCH");
    let mut tried = 0;
    for case in cases().into_iter().filter(changes) {
        if [403, 404].contains(&case.stranger) {
            // Without a body there is none to be wrong.
            for wrong in Wrong::ALL.into_iter().skip(1) {
                let reply = wrong.put_into(setup.request(&case)).key(stranger).await;
                let what = format!("{} with {wrong:?}: {}", case.what(), reply.text());
                assert_eq!(reply.status, case.stranger, "{what}");
            }
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried}");
}

/// A key that is limited to a Mind may not make what reaches beyond it.
#[tokio::test]
async fn beyond_the_minds_of_a_key_every_body_is_403() {
    let setup = setup().await;
    let admin = json!({"name": "limited", "role": "admin", "minds": ["clerk_9"]});
    let admin = setup.key(admin).await;
    for what in [
        "POST /api/v1/datasources",
        "PATCH /api/v1/datasources/{name}",
        "POST /api/v1/minds",
        "POST /api/v1/providers",
        "PUT /api/v1/providers/{name}",
    ] {
        let case = cases().into_iter().find(|case| case.what() == what);
        let case = case.unwrap();
        for wrong in Wrong::ALL.into_iter().skip(1) {
            let reply = wrong.put_into(setup.request(&case)).key(&admin).await;
            let what = format!("{what} with {wrong:?}: {}", reply.text());
            assert_eq!(reply.status, 403, "{what}");
        }
    }
}

/// The other way round: who may use a route is told what is wrong.
#[tokio::test]
async fn who_may_is_told_what_is_wrong_with_the_body() {
    let setup = setup().await;
    for (wrong, status, code) in [
        (Wrong::Empty, 400, "invalid_body"),
        (Wrong::Object, 400, "invalid_body"),
        (Wrong::Broken, 400, "invalid_body"),
        (Wrong::TooLong, 413, "body_too_large"),
        (Wrong::OtherType, 415, "unsupported_media_type"),
        (Wrong::Compressed, 415, "unsupported_media_type"),
        (Wrong::BadParameter, 400, "invalid_parameter"),
        (Wrong::BadName, 400, "invalid_parameter"),
    ] {
        let request = setup.host.api(Method::POST, "/datasources");
        let reply = wrong.put_into(request).await;
        assert_eq!(reply.status, status, "{wrong:?}: {}", reply.text());
        reply.expect_error(status, code);
    }
}

/// Compression is refused wherever a body comes, also where none is taken.
#[tokio::test]
async fn a_compressed_body_is_415_on_every_route() {
    let setup = setup().await;
    // Nothing runs in the setup, which comes first.
    let exists = |case: &Case| !case.path.contains("/running/{id}");
    for case in cases().into_iter().filter(exists) {
        let reply = Wrong::Compressed.put_into(setup.request(&case)).await;
        reply.expect_error(415, "unsupported_media_type");
    }
}
