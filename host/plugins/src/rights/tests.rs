use super::*;
use serde_json::json;

fn manifest(change: impl FnOnce(&mut Value)) -> Manifest {
    let mut manifest = json!({
        "kind": "connector", "name": "connector-x", "title": "X", "version": "1.0.0",
        "wit": "0.1.0", "world": "sql-connector", "engines": ["x"], "dialect": "generic",
        "network": [{"host": "host", "port": "port", "default_port": 5432}],
        "http": [{"url": "url"}],
        "credentials": [{"property": "token", "scheme": "bearer"}],
        "connection_data": {"type": "object", "properties": {
            "host": {"type": "string", "x-destination": true},
            "port": {"type": "integer", "x-destination": true},
            "url": {"type": "string", "x-destination": true},
            "path": {"type": "string", "x-destination": true},
            "token": {"type": "string", "x-secret": true},
            "note": {"type": "string"},
        }}
    });
    change(&mut manifest);
    serde_json::from_value(manifest).unwrap()
}

fn rights(change: impl FnOnce(&mut Value)) -> Rights {
    Rights::of(&manifest(change), None)
}

/// Those that serve: of each its rights, as the digest its place.
fn serving(all: &[Rights]) -> Incumbents {
    let digests = 0..all.len();
    let active = all.iter().zip(digests).flat_map(|(one, digest)| {
        let slots = one.slots.iter().cloned();
        slots.map(move |slot| (slot, digest.to_string()))
    });
    let active = active.collect();
    let served = all.iter().cloned().enumerate();
    Incumbents::new(
        served.map(|(at, one)| (at.to_string(), one)).collect(),
        &active,
    )
}

/// The rights that a changed manifest adds, by name.
fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
    let wider = serving(&[rights(|_| {})]).wider(&rights(change));
    let names: Vec<&str> = wider.iter().map(|right| right.name.as_str()).collect();
    assert_eq!(names, expected);
    assert!(wider.iter().all(|right| !right.description.is_empty()));
}

#[test]
fn a_version_that_asks_for_no_more_is_not_wider() {
    check(|_| {}, &[]);
    check(|new| new["version"] = json!("2.0.0"), &[]);
    check(|new| new["network"] = json!([]), &[]);
    check(|new| new["http"][0]["url"] = json!("url"), &[]);
}

#[test]
fn every_kind_of_right_is_seen() {
    check(
        |new| new["network"][0]["default_port"] = json!(22),
        &["network:host:port:22"],
    );
    check(
        |new| new["http"] = json!([{"url": "url"}, {"url": "host"}]),
        &["http:host"],
    );
    check(
        |new| new["http"][0]["default"] = json!("https://evil.example/v1?a,b"),
        &["http:url=https://evil.example"],
    );
    check(
        |new| new["files"] = json!([{"path": "path", "siblings": ["-wal"]}]),
        &["file:path", "file:path*-wal"],
    );
    check(
        |new| new["engines"] = json!(["x", "postgres"]),
        &["engine:postgres"],
    );
    check(
        |new| {
            new["connection_data"]["properties"]["pin"] = json!({"x-secret": true});
        },
        &["secret:pin"],
    );
}

#[test]
fn a_secret_that_the_host_withheld_is_not_given_out() {
    let held = |new: &mut Value| new["credentials"][0]["scheme"] = json!("guest-held");
    check(held, &["secret:token"]);
    // What a schema no longer has is still stored.
    let dropped = |new: &mut Value| {
        new["credentials"] = json!([]);
        let properties = new["connection_data"]["properties"].as_object_mut();
        properties.unwrap().remove("token");
    };
    check(dropped, &["secret:token"]);
    check(
        |new| new["credentials"][0]["scheme"] = json!("query"),
        &["credential:token@url:query"],
    );
    let exchanged = |new: &mut Value| {
        new["credentials"][0]["scheme"] = json!("oauth2-client-credentials");
        new["credentials"][0]["token_url"] = json!("elsewhere");
    };
    check(
        exchanged,
        &[
            "credential:token@elsewhere:oauth2-secret",
            "credential:token@url:oauth2-client-credentials",
        ],
    );
}

#[test]
fn a_mark_that_protects_secrets_is_not_taken_off() {
    check(
        |new| new["connection_data"]["properties"]["path"] = json!({"type": "string"}),
        &["kept:path"],
    );
    let plain = |new: &mut Value| {
        new["credentials"] = json!([]);
        new["connection_data"]["properties"]["token"] = json!({"type": "string"});
    };
    check(plain, &["secret:token", "unmasked:token"]);
}

#[test]
fn a_value_that_may_have_lines_is_a_right() {
    let lines = |new: &mut Value| {
        new["connection_data"]["properties"]["note"]["x-multiline"] = json!(true);
    };
    check(lines, &["lines:note"]);
    // Versions whose rights were stored before there was this one had none of it.
    let mut stored = serde_json::to_value(rights(lines)).unwrap();
    assert_eq!(stored["lines"], json!(["note"]));
    stored.as_object_mut().unwrap().remove("lines");
    let stored: Rights = serde_json::from_value(stored).unwrap();
    let wider = serving(&[stored]).wider(&rights(lines));
    assert_eq!(listed(&wider), "lines:note");
}

#[test]
fn another_signer_is_a_right_of_its_own() {
    let of = |signer: Option<&str>| Rights::of(&manifest(|_| {}), signer);
    let wider = |old, new| listed(&serving(&[of(old)]).wider(&of(new)));
    assert_eq!(wider(Some("A"), Some("A")), "");
    assert_eq!(wider(Some("A"), Some("B")), "signer:B");
    assert_eq!(wider(Some("A"), None), "signer:none");
    assert_eq!(wider(None, Some("B")), "");
}

#[test]
fn the_first_version_of_a_plugin_is_compared_with_nothing_unless_it_takes_a_place() {
    let first = rights(|_| {});
    assert_eq!(Incumbents::default().wider(&first), []);
    let other = rights(|new| {
        new["name"] = json!("connector-y");
        new["http"] = json!([]);
        new["credentials"] = json!([]);
    });
    assert_eq!(
        listed(&serving(&[other]).wider(&first)),
        "credential:token@url:bearer,engine:x,http:url"
    );
    let elsewhere = rights(|new| {
        new["name"] = json!("connector-y");
        new["engines"] = json!(["y"]);
    });
    assert_eq!(serving(&[elsewhere]).wider(&first), []);
}

#[test]
fn who_served_last_counts_where_nobody_serves() {
    let old = (
        "0".to_owned(),
        rights(|new| new["http"] = json!([{"url": "host"}])),
    );
    let last = ("1".to_owned(), rights(|_| {}));
    let gone = Incumbents::new(vec![old, last], &BTreeMap::new());
    assert_eq!(gone.wider(&rights(|_| {})), []);
    let wider = gone.wider(&rights(|new| new["http"] = json!([{"url": "host"}])));
    assert_eq!(listed(&wider), "credential:token@host:bearer,http:host");
}
