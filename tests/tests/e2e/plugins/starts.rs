//! A start changes nothing, whatever became of the files; and a rollout moves what is its own.

use mindhost_tests::{Host, Postgres, Value, Version, build, json, served_by};
use tempfile::TempDir;

use super::host;

#[tokio::test]
async fn a_damaged_file_is_stood_in_for_until_it_is_mended() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let (active, higher) = (Version::of("0.1.1"), Version::of("0.1.9"));
    host.install(&higher).await;
    host.activate(&active).await;
    let file = host
        .data_dir()
        .join(format!("plugins/{}.wasm", active.digest()));
    let mut damaged = active.bytes();
    damaged[1000] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    host.restart().await;
    // Not by a version that nobody chose, but by the one of the plugins directory.
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
    assert!(host.log().contains(&active.digest()), "{}", host.log());
    std::fs::write(&file, active.bytes()).unwrap();
    host.restart().await;
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), active.digest());
}

#[tokio::test]
async fn damaged_file_does_not_claim_its_version() {
    let given = TempDir::new().unwrap();
    let good = Version::of("0.1.0").bytes();
    let mut damaged = good.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    std::fs::write(given.path().join("a.wasm"), &damaged).unwrap();
    let directory = given.path().to_string_lossy();
    let host = Host::builder().env("MINDHOST_PLUGINS_DIR", directory);
    let host = host.start().await;
    assert!(
        host.log().contains("is not a valid component"),
        "{}",
        host.log()
    );
    // It comes first by its name.
    std::fs::write(given.path().join("b.wasm"), &good).unwrap();
    host.restart().await;
    let mind = host.memory("numbers", 3).await;
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
}

#[tokio::test]
async fn second_file_of_a_version_is_refused_by_the_server_and_by_doctor() {
    let given = TempDir::new().unwrap();
    let write = |name: &str, version: &Version| {
        std::fs::write(given.path().join(name), version.bytes()).unwrap();
    };
    write("a.wasm", &Version::of("0.1.0"));
    write("b.wasm", &Version::of("0.1.0").that("slow", 1));
    let directory = given.path().to_string_lossy();
    let host = Host::builder().env("MINDHOST_PLUGINS_DIR", &directory);
    let host = host.start().await;
    let why = "is another file of guest-memory 0.1.0 than the one that is installed";
    assert!(host.log().contains(why), "{}", host.log());
    for command in [&["doctor"][..], &["plugin", "list", "--dir"]] {
        let output = host.command(command).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains("b.wasm")).unwrap();
        assert!(line.contains("refused: ") && line.contains(why), "{text}");
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains("a.wasm")).unwrap();
        assert!(line.ends_with("  active"), "{text}");
    }
}

#[tokio::test]
async fn what_was_only_installed_serves_nothing_after_a_restart_either() {
    let host = Host::builder().env("MINDHOST_ROLLOUTS__PROBATION", "10m");
    let host = host.start().await;
    let first = Version::of("0.1.0");
    host.install(&first).await;
    host.restart().await;
    assert_eq!(host.active("guest-memory").await, Value::Null);
    // Nothing served before the first activation, so nothing serves when that is taken back.
    host.activate(&first).await;
    let back = host.rolled_back("guest-memory").await;
    assert_eq!(back["stage"], "rolled_back", "{back}");
    for _ in 0..2 {
        assert_eq!(host.active("guest-memory").await, Value::Null);
        host.get("/engines/memory")
            .await
            .expect_error(404, "engine_not_found");
        host.restart().await;
    }
}

#[tokio::test]
async fn going_back_moves_no_other_plugin() {
    // On a busy machine the second activation outlasts the usual probation of the first.
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_ROLLOUTS__PROBATION", "10m");
    let host = host.start().await;
    let mind = host.memory("numbers", 3).await;
    let other = Version::of_plugin("connector-sqlite", "0.1.1");
    host.install(&other).await;
    host.activate(&Version::of("0.1.1")).await;
    let body = json!({"version": other.digest()});
    let activate = host.post("/plugins/connector-sqlite/activate?wait=200", body);
    activate.await.expect_status(202);
    let back = host.rolled_back("guest-memory").await;
    assert_eq!(back["stage"], "rolled_back", "{back}");
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
    assert_eq!(host.active("connector-sqlite").await, other.digest());
    host.restart().await;
    assert_eq!(host.active("connector-sqlite").await, other.digest());
}

#[tokio::test]
async fn a_plugin_that_takes_the_place_of_another_gives_it_back() {
    let host = host().await;
    let mind = host.memory("numbers", 3).await;
    let other = Version::of("0.1.1").named("guest-memoyy");
    host.install(&other).await;
    let accept = json!(["engine:memory"]);
    let body = json!({"version": other.digest(), "accept_rights": accept});
    let activate = host.post("/plugins/guest-memoyy/activate?wait=200", body);
    let rollout = activate.await.expect_status(202).json();
    assert_eq!(rollout["from"], Version::of("0.1.0").digest(), "{rollout}");
    let next = Version::of("0.1.2");
    host.install(&next).await;
    let canary = json!({"percent": 1.0, "seconds": 600});
    let body = json!({"version": next.digest(), "canary": canary, "accept_rights": accept});
    let begun = host.post("/plugins/guest-memory/activate", body);
    begun.await.expect_status(202);
    // Both serve one engine, so their rollouts are in each other's way.
    host.post(
        "/plugins/guest-memoyy/activate",
        json!({"version": "0.1.1"}),
    )
    .await
    .expect_error(409, "rollout_active");
    host.rolled_back("guest-memory").await;
    let back = host.rolled_back("guest-memoyy").await;
    assert_eq!(back["stage"], "completed", "{back}");
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
    assert_eq!(host.active("guest-memoyy").await, Value::Null);
}

#[tokio::test]
async fn after_a_crash_in_probation_an_operator_can_go_back() {
    let host = Host::builder()
        .plugin(build::guest("memory"))
        .env("MINDHOST_ROLLOUTS__PROBATION", "10m");
    let host = host.start().await;
    host.activate(&Version::of("0.1.1")).await;
    host.kill().await;
    host.restart().await;
    let back = host.rolled_back("guest-memory").await;
    assert_eq!(back["to"], Version::of("0.1.0").digest(), "{back}");
    assert_eq!(
        host.active("guest-memory").await,
        Version::of("0.1.0").digest()
    );
}

#[tokio::test]
async fn a_data_directory_has_one_server() {
    let host = Host::start().await;
    let mut second = host.command(&["serve"]);
    let said = tokio::task::spawn_blocking(move || second.output()).await;
    let said = said.unwrap().unwrap();
    let error = String::from_utf8_lossy(&said.stderr);
    assert!(
        !said.status.success() && error.contains("another server uses"),
        "{error}"
    );
}

/// The plugins that came before the mark for values with lines stay active, and so do certificates that were stored then.
#[tokio::test]
async fn certificates_stay_usable_under_a_plugin_that_marks_no_value_with_lines() {
    let server = Postgres::shared();
    let sql = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1)";
    let database = server.database(sql).await;
    let host = Host::start().await;
    let new = host.active("connector-postgres").await;
    let mut data = database.connection_data();
    data["sslmode"] = json!("verify-ca");
    data["sslrootcert"] = json!(server.ca());
    let body = json!({"name": "shop", "engine": "postgres", "connection_data": data});
    host.post("/datasources", body).await.expect_status(201);
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    let mind = mind.create().await;
    let old = Version::of_plugin("connector-postgres", "0.1.0").declaring(|manifest| {
        let properties = &mut manifest["connection_data"]["properties"];
        for property in properties.as_object_mut().unwrap().values_mut() {
            property.as_object_mut().unwrap().remove("x-multiline");
        }
    });
    host.install(&old).await;
    let activate = async |version: Value, accept: &[&str]| {
        let body = json!({"version": version, "force": true, "accept_rights": accept});
        host.post("/plugins/connector-postgres/activate?wait=200", body)
            .await
    };
    activate(json!(old.digest()), &[]).await.expect_status(202);
    host.restart().await;
    assert_eq!(host.active("connector-postgres").await, old.digest());
    assert_eq!(mind.rows("SELECT id FROM item").await, [[json!(1)]]);
    // What is changed beside the certificate does not refuse it either.
    let changed = json!({"connection_data": {"password": data["password"]}});
    let changed = host.patch("/datasources/shop", changed).await;
    changed.expect_status(200);

    let lines = ["lines:sslcert", "lines:sslkey", "lines:sslrootcert"];
    let refused = activate(new.clone(), &[]).await;
    refused.expect_error(409, "rights_not_accepted");
    activate(new.clone(), &lines).await.expect_status(202);
    assert_eq!(host.active("connector-postgres").await, new);
    assert_eq!(mind.rows("SELECT id FROM item").await, [[json!(1)]]);
}

#[tokio::test]
async fn a_connector_with_a_default_host_serves_where_it_lies_and_is_installed_no_more() {
    let folder = TempDir::new().unwrap();
    let version = Version::of_guest("hostile", "0.1.1").declaring(|manifest| {
        manifest["connection_data"]["properties"]["host"]["default"] = json!("localhost");
    });
    let host = Host::builder().plugin(version.write(folder.path()));
    let host = host.start().await;
    host.datasource("space", "hostile", json!({"mode": "nothing"}))
        .await;
    let refused = host.upload(version.bytes()).await;
    refused.expect_error(400, "plugin_refused");
    let words = "can no longer be installed";
    assert!(host.log().contains(words), "{}", host.log());
    let mut doctor = host.command(&["doctor"]);
    let said = tokio::task::spawn_blocking(move || doctor.output()).await;
    let said = said.unwrap().unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    let line = said.lines().find(|line| line.contains(words));
    assert!(line.is_some_and(|line| line.contains("`host`")), "{said}");
    host.restart().await;
    let shown = host.get("/datasources/space?check_connection=true").await;
    let shown = shown.expect_status(200).json();
    assert_eq!(shown["connection_status"]["success"], true, "{shown}");
}
