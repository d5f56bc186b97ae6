//! Somebody wants to be taken for somebody else, or to have what was another's.

use mindhost_tests::{ADMIN_KEY, Host, Value, eventually, json};

use crate::stores;

/// The failed logins in the trail of the workspace `default`: the addresses, newest first.
async fn failed_logins(host: &Host) -> Vec<String> {
    let trail = host.get("/audit?limit=1000").await.expect_status(200);
    let notes = trail.json()["data"].as_array().unwrap().clone();
    let failed = notes.iter().filter(|note| note["action"] == "failed login");
    let address = |note: &Value| {
        assert_eq!(note["key_id"], Value::Null, "{note}");
        note["resource"].as_str().unwrap().to_owned()
    };
    failed.map(address).collect()
}

async fn workspace(host: &Host, name: &str) -> Value {
    let made = host.post("/workspaces", json!({"name": name})).await;
    made.expect_status(201).json()
}

async fn admin_of(host: &Host, workspace: &str) -> String {
    let path = format!("/workspaces/{workspace}/keys");
    let made = host
        .post(&path, json!({"name": "admin", "role": "admin"}))
        .await;
    made.expect_status(201).json()["key"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn guesser_of_keys_is_stopped_by_address_and_locks_nobody_out() {
    let hosts = stores::both_with(|host| {
        host.env("MINDHOST_LIMITS__FAILED_LOGINS", "3")
            .env("MINDHOST_SERVER__TRUSTED_PROXIES", "127.0.0.1")
    });
    for host in hosts.await {
        let fresh = host
            .post("/keys", json!({"name": "fresh", "role": "user"}))
            .await;
        let fresh = fresh.expect_status(201).json();
        let fresh = fresh["key"].as_str().unwrap();
        let from = async |address: &str, key: &str| {
            let request = host.get("/minds").key(key);
            request.header("x-forwarded-for", address).await
        };
        for guess in 0..3 {
            let refused = from("203.0.113.7", &format!("mh_guess_{guess}")).await;
            refused.expect_error(401, "invalid_api_key");
        }
        let refused = from("203.0.113.7", "mh_guess_3").await;
        let error = refused.expect_error(429, "rate_limit_exceeded");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("limits.failed_logins"), "{message}");
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        // What the client writes into the header does not make it another one, ...
        let forged = from("198.51.100.1, 203.0.113.7", "mh_guess").await;
        forged.expect_error(429, "rate_limit_exceeded");
        // ... and valid keys go on from everywhere: those in use, and one that this server sees for the first time.
        from("203.0.113.7", fresh).await.expect_status(200);
        from("203.0.113.7", ADMIN_KEY).await.expect_status(200);
        from("203.0.113.8", fresh).await.expect_status(200);
        let still = from("203.0.113.7", "mh_guess_4").await;
        still.expect_error(429, "rate_limit_exceeded");
        let noted = eventually(
            async || failed_logins(&host).await,
            |noted| !noted.is_empty(),
        );
        assert_eq!(noted.await, ["203.0.113.7"]);
        assert!(!host.log().contains("mh_guess"));
    }
}

#[tokio::test]
async fn client_without_a_proxy_cannot_choose_its_address() {
    let host = Host::builder().env("MINDHOST_LIMITS__FAILED_LOGINS", "2");
    let host = host.start().await;
    let guess = async |address: &str| {
        let request = host.get("/minds").key("mh_guess");
        request.header("x-forwarded-for", address).await
    };
    for address in ["203.0.113.1", "203.0.113.2"] {
        guess(address).await.expect_error(401, "invalid_api_key");
    }
    let error = guess("203.0.113.3")
        .await
        .expect_error(429, "rate_limit_exceeded");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("limits.failed_logins"), "{message}");
    // A request without a key is no guess.
    let keyless = host.get("/minds").without_key().await;
    keyless.expect_error(401, "invalid_api_key");
    let noted = async || failed_logins(&host).await;
    let noted = eventually(noted, |noted| !noted.is_empty()).await;
    assert_eq!(noted, ["127.0.0.1"]);
}

#[tokio::test]
async fn workspace_does_not_get_files_that_were_there_before_it() {
    let host = Host::start().await;
    // As a workspace left them of which the store knows nothing any more.
    let left = host.data_dir().join("files/team");
    std::fs::create_dir_all(&left).unwrap();
    let database = rusqlite::Connection::open(left.join("salaries.db")).unwrap();
    database
        .execute_batch("CREATE TABLE salary (amount int)")
        .unwrap();
    let made = workspace(&host, "team").await;
    let directory = format!("files/team.{}", made["id"].as_str().unwrap());
    assert_eq!(made["files_directory"], json!(directory));
    let owner = admin_of(&host, "team").await;
    let data = json!({"path": "salaries.db"});
    let body = json!({"name": "salaries", "engine": "sqlite", "connection_data": data});
    let refused = host.post("/datasources", body).key(&owner).await;
    refused.expect_error(400, "connection_failed");
    // On the command line too; an empty directory is nobody's.
    std::fs::create_dir_all(host.data_dir().join("files/empty")).unwrap();
    std::fs::create_dir_all(host.data_dir().join("files/full/inner")).unwrap();
    for (name, is_plain) in [("empty", true), ("full", false)] {
        let output = host.command(&["workspaces", "create", name]).output();
        let told = String::from_utf8(output.unwrap().stdout).unwrap();
        let plain = format!("files/{name}");
        assert_eq!(told.trim().ends_with(&plain), is_plain, "{told}");
    }
}

#[tokio::test]
async fn workspace_under_an_old_name_does_not_get_the_old_files() {
    for host in stores::both().await {
        let first = workspace(&host, "team").await;
        assert_eq!(first["files_directory"], "files/team");
        let folder = host.data_dir().join("files/team");
        std::fs::create_dir_all(&folder).unwrap();
        let database = rusqlite::Connection::open(folder.join("salaries.db")).unwrap();
        database
            .execute_batch("CREATE TABLE salary (amount int); INSERT INTO salary VALUES (73421)")
            .unwrap();
        let data = json!({"path": "salaries.db"});
        let body = json!({"name": "salaries", "engine": "sqlite", "connection_data": data});
        let owner = admin_of(&host, "team").await;
        let connected = host.post("/datasources", body.clone()).key(&owner).await;
        connected.expect_status(201);
        host.delete("/datasources/salaries")
            .key(&owner)
            .await
            .expect_status(204);
        host.delete("/workspaces/team").await.expect_status(204);

        for name in ["team", "Team"] {
            let again = workspace(&host, name).await;
            let directory = again["files_directory"].as_str().unwrap();
            assert_eq!(
                directory,
                format!("files/{name}.{}", again["id"].as_str().unwrap())
            );
            let heir = admin_of(&host, name).await;
            for path in ["salaries.db", "../team/salaries.db"] {
                let mut body = body.clone();
                body["connection_data"]["path"] = json!(path);
                let refused = host.post("/datasources", body).key(&heir).await;
                refused.expect_error(400, "connection_failed");
            }
            // Its own files are where it says.
            let own = host.data_dir().join(directory);
            std::fs::create_dir_all(&own).unwrap();
            std::fs::copy(folder.join("salaries.db"), own.join("own.db")).unwrap();
            let mut body = body.clone();
            body["connection_data"]["path"] = json!("own.db");
            let connected = host.post("/datasources", body).key(&heir).await;
            connected.expect_status(201);
            host.delete("/datasources/salaries")
                .key(&heir)
                .await
                .expect_status(204);
            host.delete(&format!("/workspaces/{name}"))
                .await
                .expect_status(204);
        }
    }
}

#[tokio::test]
async fn workspace_that_differs_in_case_alone_is_taken() {
    for host in stores::both().await {
        workspace(&host, "Team").await;
        for name in ["DEFAULT", "Default", "team", "TEAM"] {
            let taken = host.post("/workspaces", json!({"name": name})).await;
            taken.expect_error(409, "name_taken");
        }
        let output = host.command(&["workspaces", "create", "DEFAULT"]).output();
        assert!(!output.unwrap().status.success());
    }
}

#[tokio::test]
async fn key_cannot_be_named_to_be_taken_for_another() {
    let host = Host::start().await;
    for name in [
        "MINDHOST_ADMIN_KEY",
        "mindhost-admin-key",
        "M1NDH0ST ADMIN KEY",
        "adm\u{200b}in",
        "\u{202e}nimda",
        "\u{430}dmin",
        "ａｄｍｉｎ",
        "a\u{2028}b",
        "\u{3164}",
        "admin\u{e0041}",
    ] {
        let refused = host
            .post("/keys", json!({"name": name, "role": "user"}))
            .await;
        let error = refused.expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], "name", "{name:?}");
        let output = host.command(&["keys", "create", name]).output().unwrap();
        assert!(!output.status.success(), "{name:?}");
    }
    for name in ["Отчёт № 7", "日本語", "Zoë's key"] {
        host.post("/keys", json!({"name": name, "role": "user"}))
            .await
            .expect_status(201);
    }
}
