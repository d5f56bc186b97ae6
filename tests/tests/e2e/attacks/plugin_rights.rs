//! The author of a plugin wants more than its users gave it: another destination, another secret, another engine.

use mindhost_tests::{
    Builder, Collector, Host, SigningKey, Value, Version, build, json, served_by,
};

const SECRET: &str = "s3cret-of-the-vendor";

/// With the hostile guest, which may reach this machine where its grants say so.
fn host() -> Builder {
    Host::builder()
        .plugin(build::guest("hostile"))
        .env("MINDHOST_EGRESS__ALLOW_LOOPBACK", "true")
        .env("MINDHOST_ROLLOUTS__PROBATION", "0s")
}

/// A provider of the hostile model that has a key, names no address, and has its plugin call the collector.
async fn provider(host: &Host, collector: &Collector) {
    let first = Version::of_hostile_model("0.1.0");
    host.install(&first).await;
    activate(host, &first, json!({})).await;
    let data =
        json!({"mode": "http", "at": "check", "target": collector.address(), "api_key": SECRET});
    let body = json!({"name": "vendor", "plugin": first.plugin(), "connection_data": data});
    let made = host.post("/providers?check_connection=false", body);
    made.await.expect_status(201);
}

/// `POST …/activate`, with other words of the body.
async fn activate(host: &Host, version: &Version, with: Value) -> Value {
    ask(host, version, with).await.expect_status(202).json()
}

async fn ask(host: &Host, version: &Version, with: Value) -> mindhost_tests::Reply {
    let mut body = json!({"version": version.digest(), "force": true});
    let more = with.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(more);
    let path = format!("/plugins/{}/activate?wait=200", version.plugin());
    host.post(&path, body).await
}

/// The names of rights.
fn names(rights: &Value) -> Vec<&str> {
    let rights = rights.as_array().expect("a list of rights").iter();
    rights
        .map(|right| right["name"].as_str().expect("a name"))
        .collect()
}

#[tokio::test]
async fn a_connector_that_brings_its_own_destination_along_is_not_installed() {
    let collector = Collector::start().await;
    let host = host().start().await;
    let origin = format!("http://{}", collector.address());
    let data = json!({"mode": "http", "at": "check", "target": collector.address()});
    let body = json!({"name": "victim", "engine": "hostile", "connection_data": data});
    let made = host.post("/datasources?check_connection=false", body);
    made.await.expect_status(201);
    let with_default = Version::of_guest("hostile", "0.3.0").declaring(|manifest| {
        manifest["http"] = json!([{"url": "path", "default": origin}]);
    });
    let refused = host.upload(with_default.bytes()).await;
    let refused = refused.expect_error(400, "plugin_refused");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("`default` for `path` in `http`"),
        "{message}"
    );
    // Neither by a default that the host might fill in.
    let filled_in = Version::of_guest("hostile", "0.3.0").declaring(|manifest| {
        manifest["connection_data"]["properties"]["host"]["default"] = json!("127.0.0.1");
    });
    let refused = host.upload(filled_in.bytes()).await;
    refused.expect_error(400, "plugin_refused");
    assert_eq!(collector.arrived(), Vec::<String>::new());
}

#[tokio::test]
async fn a_wider_version_is_called_for_nobody_before_an_operator_accepts_its_rights() {
    let collector = Collector::start().await;
    let host = host().start().await;
    provider(&host, &collector).await;
    let origin = format!("http://{}", collector.address());
    let wider = Version::of_hostile_model("0.1.1").declaring(|manifest| {
        manifest["http"] = json!([{"url": "base_url", "default": origin}]);
    });
    let right = format!("http:base_url={origin}");
    let installed = host.install(&wider).await;
    assert_eq!(names(&installed["wider_rights"]), [&right]);
    let canary = json!({"canary": {"percent": 50.0, "seconds": 1}});
    let wrong = json!({"accept_rights": ["http:base_url", "http:base_url=http://127.0.0.1:1"]});
    for words in [json!({}), canary, wrong] {
        let refused = ask(&host, &wider, words).await;
        let refused = refused.expect_error(409, "rights_not_accepted");
        assert_eq!(names(&refused["rights"]), [&right]);
        assert!(refused["message"].as_str().unwrap().contains(&right));
    }
    let shown = host.get("/plugins/guest-hostile-model").await.json();
    assert_eq!(
        names(&shown["versions"][0]["wider_rights"]),
        Vec::<&str>::new()
    );
    assert_eq!(names(&shown["versions"][1]["wider_rights"]), [&right]);
    assert_eq!(shown["rollouts"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(collector.arrived(), Vec::<String>::new());

    // Accepted by its name, it is what the operator wants: the trial reaches the vendor with the key.
    let accepted = activate(&host, &wider, json!({"accept_rights": [right]})).await;
    assert_eq!(names(&accepted["accepted_rights"]), [&right]);
    let arrived = collector.arrived();
    assert!(arrived[0].contains(SECRET), "{arrived:?}");
    let noted = host.get("/audit").await.json();
    let noted = noted["data"][0]["made"].as_str().unwrap();
    assert!(noted.contains(&format!("accept_rights={right}")), "{noted}");
    // The next one asks for no more, and going back asks for less.
    let next = Version::of_hostile_model("0.1.2").declaring(|manifest| {
        manifest["http"] = json!([{"url": "base_url", "default": origin}]);
    });
    host.install(&next).await;
    activate(&host, &next, json!({})).await;
    host.rolled_back("guest-hostile-model").await;
}

#[tokio::test]
async fn a_secret_that_the_host_kept_is_not_handed_to_the_next_version() {
    let collector = Collector::start().await;
    let host = host().start().await;
    provider(&host, &collector).await;
    let held = Version::of_hostile_model("0.1.1").declaring(|manifest| {
        manifest["credentials"] = json!([{"property": "api_key", "scheme": "guest-held"}]);
    });
    // One whose schema does not have it any more would find it in its configuration just so.
    let dropped = Version::of_hostile_model("0.1.2").declaring(|manifest| {
        manifest["credentials"] = json!([]);
        let properties = manifest["connection_data"]["properties"].as_object_mut();
        properties.unwrap().remove("api_key");
    });
    for version in [held, dropped] {
        host.install(&version).await;
        let refused = ask(&host, &version, json!({})).await;
        let refused = refused.expect_error(409, "rights_not_accepted");
        assert_eq!(names(&refused["rights"]), ["secret:api_key"]);
    }
}

#[tokio::test]
async fn a_version_does_not_let_a_value_have_lines_by_itself() {
    let host = host().start().await;
    let wider = Version::of_guest("hostile", "0.1.1").declaring(|manifest| {
        manifest["connection_data"]["properties"]["host"]["x-multiline"] = json!(true);
    });
    host.install(&wider).await;
    let refused = ask(&host, &wider, json!({})).await;
    let refused = refused.expect_error(409, "rights_not_accepted");
    assert_eq!(names(&refused["rights"]), ["lines:host"]);
    let command = json!({"host": "a\r\nFLUSHALL\r\n"});
    let body = json!({"name": "inside", "engine": "hostile", "connection_data": command});
    let refused = host.post("/datasources?check_connection=false", body).await;
    let refused = refused.expect_error(400, "invalid_connection_data");
    assert_eq!(refused["param"], "connection_data.host");
    let accepted = activate(&host, &wider, json!({"accept_rights": ["lines:host"]})).await;
    assert_eq!(names(&accepted["accepted_rights"]), ["lines:host"]);
}

#[tokio::test]
async fn a_version_does_not_grow_into_the_place_of_another_plugin() {
    let host = Host::builder().plugin(build::guest("memory"));
    let host = host.start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    let mind = host.mind("clerk").datasource("shop").direct_queries();
    let mind = mind.create().await;
    let sqlite = host.active("connector-sqlite").await;
    let grown = Version::of("0.1.1").declaring(|manifest| {
        manifest["engines"] = json!(["memory", "sqlite"]);
    });
    // And one that is another plugin from the start.
    let other = Version::of("0.1.1").named("guest-memoyy");
    for (version, right) in [(&grown, "engine:sqlite"), (&other, "engine:memory")] {
        host.install(version).await;
        let refused = ask(&host, version, json!({})).await;
        let refused = refused.expect_error(409, "rights_not_accepted");
        assert_eq!(names(&refused["rights"]), [right]);
    }
    let reply = mind.sql("SELECT id FROM item").await.expect_status(200);
    assert_eq!(json!(served_by(&reply)), sqlite);
}

#[tokio::test]
async fn a_file_in_the_plugins_directory_does_not_stand_in_with_wider_rights() {
    let host = Host::builder().plugin(build::guest("memory"));
    let host = host.start().await;
    let mind = host.memory("numbers", 3).await;
    let active = Version::of("0.1.1");
    host.activate(&active).await;
    // The file of the active version is lost, and a wider one lies where others put files.
    let file = format!("plugins/{}.wasm", active.digest());
    std::fs::remove_file(host.data_dir().join(file)).unwrap();
    let wider = Version::of("0.1.9").declaring(|manifest| {
        manifest["engines"] = json!(["memory", "memory2"]);
    });
    wider.write(&host.data_dir().join("given"));
    host.restart().await;
    let reply = mind.sql("SELECT n FROM numbers").await.expect_status(200);
    assert_eq!(served_by(&reply), Version::of("0.1.0").digest());
    let shown = host.get("/plugins/guest-memory").await.json();
    let waiting = shown["versions"].as_array().unwrap().last().unwrap();
    assert_eq!(waiting["status"], "inactive", "{shown}");
    let reason = waiting["reason"].as_str().unwrap();
    assert!(
        reason.contains("--accept-rights engine:memory2"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_plugin_of_the_same_name_from_another_hand_is_noticed() {
    let [ours, theirs] = [(); 2].map(|()| SigningKey::generate());
    let keys = format!("[\"{}\", \"{}\"]", ours.public(), theirs.public());
    let host = Host::builder().env("MINDHOST_PLUGINS__TRUSTED_KEYS", keys);
    let host = host.start().await;
    let install = async |version: &Version, by: Option<&SigningKey>| {
        let mut upload = host.upload(version.bytes());
        if let Some(by) = by {
            upload = upload.header("x-mindhost-signature", &by.sign(version));
        }
        upload.await.expect_status(201);
    };
    let first = Version::of("0.1.0");
    install(&first, Some(&ours)).await;
    activate(&host, &first, json!({})).await;
    let (stranger, unsigned, next) = (
        Version::of("0.1.1"),
        Version::of("0.1.2"),
        Version::of("0.1.3"),
    );
    install(&stranger, Some(&theirs)).await;
    let refused = ask(&host, &stranger, json!({})).await;
    let refused = refused.expect_error(409, "rights_not_accepted");
    assert!(
        names(&refused["rights"])[0].starts_with("signer:"),
        "{refused}"
    );
    install(&unsigned, None).await;
    let refused = ask(&host, &unsigned, json!({})).await;
    let refused = refused.expect_error(409, "rights_not_accepted");
    assert_eq!(names(&refused["rights"]), ["signer:none"]);
    install(&next, Some(&ours)).await;
    activate(&host, &next, json!({})).await;
}

#[tokio::test]
async fn a_limited_key_signs_no_other_plugin_and_nothing_older() {
    let key = SigningKey::generate();
    let keys = |min_version: &str| {
        let key = key.public();
        format!(
            "[{{ key = \"{key}\", plugins = [\"guest-memory\"], min_version = \"{min_version}\" }}]"
        )
    };
    let host = Host::builder()
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", keys("0.1.1"))
        .start()
        .await;
    let upload = async |version: &Version| {
        host.upload(version.bytes())
            .header("x-mindhost-signature", &key.sign(version))
            .await
    };
    for (version, word) in [
        (Version::of("0.1.0"), "guest-memory from version 0.1.1 on"),
        (Version::of_guest("hostile", "0.1.1"), "guest-memory"),
    ] {
        let refused = upload(&version).await.expect_error(400, "plugin_refused");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
    }
    let good = Version::of("0.1.2");
    let installed = upload(&good).await.expect_status(201).json();
    assert!(installed["signer"].is_string(), "{installed}");
    activate(&host, &good, json!({})).await;
}
