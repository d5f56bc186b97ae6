//! `mindhost plugin publish`, `catalogue` and `search`, and installing by name, over a real registry.

use std::{fs, path::PathBuf};

use mindhost_tests::{Host, OciRegistry, Value, Version, build, json};

use super::{failed, path, plugin, said};

/// The folder of an author: a plugin with its licence, its changes and its data for the kit, and a key.
struct Author {
    folder: tempfile::TempDir,
    host: Host,
    public: String,
}

impl Author {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sales")).unwrap();
        fs::write(at("sales/item.csv"), "id,name\n1,tea\n2,salt\n").unwrap();
        fs::write(at("test.json"), json!({"path": "sales"}).to_string()).unwrap();
        fs::write(at("LICENSE"), "Apache License 2.0").unwrap();
        fs::write(
            at("CHANGELOG.md"),
            "# Changes\n\n## 0.4.1\n\n- Reads tea.\n",
        )
        .unwrap();
        let host = Host::start().await;
        let made = said(&plugin(&host, &["keygen", "--output", path(&at("author.key"))]).await);
        let public = made.split('"').nth(1).unwrap().to_owned();
        Self {
            folder,
            host,
            public,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The plugin in a version, beside its licence.
    fn built(&self, number: &str) -> String {
        let file = Version::of_plugin("connector-files", number).write(self.folder.path());
        path(&file).to_owned()
    }

    async fn run(&self, args: &[&str]) -> std::process::Output {
        let key = self.at("author.key");
        plugin(&self.host, &[args, &["--key", path(&key)]].concat()).await
    }
}

/// The setting that pins a catalogue.
fn pinned(catalogues: &[(&str, &str, &str)]) -> String {
    let each = catalogues.iter().map(|(name, source, key)| {
        format!("{{ name = \"{name}\", source = \"{source}\", key = \"{key}\" }}")
    });
    format!("[{}]", each.collect::<Vec<_>>().join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_plugin_is_found_and_installed_by_its_name() {
    let (registry, author) = (OciRegistry::start(), Author::new().await);
    let file = author.built("0.4.1");
    let plugins = registry.reference("plugins/connector-files");
    let published = said(&author.run(&["publish", &file, &plugins]).await);
    let digest = Version::of_plugin("connector-files", "0.4.1").digest();
    assert!(published.contains("keeps the contract"), "{published}");
    assert!(
        published.contains(&format!("{plugins}:0.4.1 is sha256:{digest}")),
        "{published}"
    );

    let list = author.at("catalogue.json");
    let list = path(&list);
    let reference = format!("{plugins}:0.4.1");
    said(
        &author
            .run(&["catalogue", "add", list, &reference, "--name", "ours"])
            .await,
    );
    let catalogue = registry.reference("plugins/catalogue:latest");
    said(&plugin(&author.host, &["catalogue", "push", list, &catalogue]).await);

    let reader = Host::builder()
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", &author.public)
        .env(
            "MINDHOST_PLUGINS__CATALOGUES",
            pinned(&[("ours", &catalogue, &author.public)]),
        )
        .start()
        .await;
    let found = said(&plugin(&reader, &["search", "CSV"]).await);
    assert!(
        found.starts_with("connector-files 0.4.1  connector for files, csv  [ours]"),
        "{found}"
    );
    let nothing = plugin(&reader, &["search", "nothing-like-it"]).await;
    let note = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert_eq!(note, "no plugin has all of these words\n");
    assert_eq!(said(&nothing), "");
    said(&plugin(&reader, &["install", "connector-files", "--activate"]).await);
    let plugin_there = reader.get("/plugins/connector-files").await.json();
    assert_eq!(plugin_there["active"], digest, "{plugin_there}");
    let missing = failed(&plugin(&reader, &["install", "connector-files@9.9.9"]).await);
    assert!(
        missing.contains("ours has no connector-files 9.9.9; it has 0.4.1"),
        "{missing}"
    );
    let missing = failed(&plugin(&reader, &["install", "connector-nothing"]).await);
    assert!(
        missing.contains("no catalogue has `connector-nothing`"),
        "{missing}"
    );

    // A withdrawn version is not what the name means any more.
    let args = [
        "catalogue",
        "withdraw",
        list,
        "connector-files",
        "0.4.1",
        "--reason",
        "it leaks",
    ];
    said(&author.run(&args).await);
    said(&plugin(&author.host, &["catalogue", "push", list, &catalogue]).await);
    let none = failed(&plugin(&reader, &["install", "connector-files"]).await);
    assert!(
        none.contains("no release of connector-files that was not withdrawn"),
        "{none}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_ready_is_not_published() {
    let (registry, author) = (OciRegistry::start(), Author::new().await);
    let file = author.built("0.4.1");
    let plugins = registry.reference("plugins/connector-files");
    let refused = async |args: &[&str], words: &str| {
        let error = failed(&author.run(&[&["publish"], args].concat()).await);
        assert!(error.contains(words), "{words}: {error}");
    };
    let other = registry.reference("plugins/connector-other");
    refused(&[&file, &other], "named connector-files by its manifest").await;
    let tag = format!("{plugins}:0.4.2");
    refused(&[&file, &tag], "the tag is 0.4.2").await;
    let newer = author.built("0.4.2");
    refused(&[&newer, &plugins], "no heading for 0.4.2").await;
    fs::rename(author.at("LICENSE"), author.at("GONE")).unwrap();
    refused(&[&file, &plugins], "published with its licence").await;
    fs::rename(author.at("GONE"), author.at("LICENSE")).unwrap();
    let sales = author.at("sales");
    let lies = json!({"connection_data": {"path": sales}, "tests": {"table": "files.nothing"}});
    let config = ["--config", &lies.to_string()];
    fs::remove_file(author.at("test.json")).unwrap();
    refused(
        &[&[file.as_str(), &plugins][..], &config].concat(),
        "the conformance kit fails",
    )
    .await;
    let nothing = failed(&plugin(&author.host, &["show", &format!("{plugins}:0.4.1")]).await);
    assert!(nothing.contains("has no such plugin"), "{nothing}");

    fs::write(author.at("test.json"), json!({"path": "sales"}).to_string()).unwrap();
    said(&author.run(&["publish", &file, &plugins]).await);
    refused(&[&file, &plugins], "0.4.1 is published already").await;
    let older = author.built("0.4.0");
    fs::write(author.at("CHANGELOG.md"), "## 0.4.0\n\nOlder.\n").unwrap();
    refused(&[&older, &plugins], "not higher than 0.4.1").await;
    // Neither does `push` move the tag, unless it is told to.
    let tag = format!("{plugins}:0.4.1");
    let moved = failed(&plugin(&author.host, &["push", &older, &tag]).await);
    assert!(moved.contains("names another file already"), "{moved}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_is_believed_only_as_its_key_signed_it_and_never_an_older_one() {
    let author = Author::new().await;
    let stranger = Author::new().await;
    let (one, two) = (author.built("0.4.1"), author.built("0.4.2"));
    let list = author.at("catalogue.json");
    let signature = author.at("catalogue.json.minisig");
    let list_path = path(&list);
    said(
        &author
            .run(&["catalogue", "add", list_path, &one, "--name", "ours"])
            .await,
    );
    let old = (fs::read(&list).unwrap(), fs::read(&signature).unwrap());
    said(&author.run(&["catalogue", "add", list_path, &two]).await);
    let new = (fs::read(&list).unwrap(), fs::read(&signature).unwrap());
    let theirs = stranger.at("catalogue.json");
    said(
        &stranger
            .run(&["catalogue", "add", path(&theirs), &one, "--name", "theirs"])
            .await,
    );

    let setting = pinned(&[("ours", list_path, &author.public)]);
    let reader = Host::builder()
        .env("MINDHOST_PLUGINS__CATALOGUES", &setting)
        .start()
        .await;
    let install = async || plugin(&reader, &["install", "connector-files"]).await;
    let serve = |(list_bytes, signature_bytes): &(Vec<u8>, Vec<u8>)| {
        fs::write(&list, list_bytes).unwrap();
        fs::write(&signature, signature_bytes).unwrap();
    };
    let installed = said(&install().await);
    assert!(installed.contains("connector-files 0.4.2"), "{installed}");

    // What no reader would believe is not pushed.
    serve(&(new.0.clone(), old.1.clone()));
    let registry = OciRegistry::start();
    let tag = registry.reference("plugins/catalogue:latest");
    let mixed = failed(&plugin(&author.host, &["catalogue", "push", list_path, &tag]).await);
    assert!(mixed.contains("is not what"), "{mixed}");

    // The server of the catalogue replays an old one, changes it, or signs another.
    serve(&old);
    let replayed = failed(&install().await);
    assert!(
        replayed.contains("number 2 was seen here before"),
        "{replayed}"
    );
    let changed = String::from_utf8(new.0.clone())
        .unwrap()
        .replace("0.4.2", "0.4.3");
    serve(&(changed.into_bytes(), new.1.clone()));
    let changed = failed(&install().await);
    assert!(changed.contains("is not signed by the key"), "{changed}");
    let forged = (
        fs::read(&theirs).unwrap(),
        fs::read(stranger.at("catalogue.json.minisig")).unwrap(),
    );
    serve(&forged);
    let forged = failed(&install().await);
    assert!(forged.contains("is not signed by the key"), "{forged}");

    // The file behind an entry must be the one that was listed.
    serve(&new);
    fs::copy(&one, &two).unwrap();
    let other = failed(&install().await);
    assert!(other.contains("it was not installed"), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_two_catalogues_means_neither() {
    let (author, stranger) = (Author::new().await, Author::new().await);
    let lists = [(&author, "ours"), (&stranger, "theirs")];
    for (owner, name) in lists {
        let file = owner.built("0.4.1");
        let list = owner.at("catalogue.json");
        said(
            &owner
                .run(&["catalogue", "add", path(&list), &file, "--name", name])
                .await,
        );
    }
    let (ours, theirs) = (author.at("catalogue.json"), stranger.at("catalogue.json"));
    let setting = pinned(&[
        ("ours", path(&ours), &author.public),
        ("theirs", path(&theirs), &stranger.public),
    ]);
    let reader = Host::builder()
        .env("MINDHOST_PLUGINS__CATALOGUES", &setting)
        .start()
        .await;
    let unclear = failed(&plugin(&reader, &["install", "connector-files"]).await);
    assert!(
        unclear.contains("several catalogues have `connector-files` (ours, theirs)"),
        "{unclear}"
    );
    said(
        &plugin(
            &reader,
            &["install", "connector-files", "--catalogue", "theirs"],
        )
        .await,
    );
    // One that cannot be read could have had the name as well.
    fs::remove_file(theirs).unwrap();
    failed(&plugin(&reader, &["install", "connector-files@0.4.1"]).await);
    let found: Value = {
        let output = plugin(&reader, &["search", "--json", "--catalogue", "ours"]).await;
        serde_json::from_str(&said(&output)).unwrap()
    };
    assert_eq!(
        found[0]["plugins"][0]["versions"][0]["version"], "0.4.1",
        "{found}"
    );
}

#[tokio::test]
async fn a_version_is_one_file_and_a_rejected_one_is_not_activated_by_the_bare_name() {
    let host = super::host().await;
    let folder = tempfile::tempdir().unwrap();
    let good = Version::of("0.1.1").write(folder.path());
    said(&plugin(&host, &["install", path(&good)]).await);
    let again = tempfile::tempdir().unwrap();
    let other = Version::of("0.1.1").that("slow", 1).write(again.path());
    let refused = failed(&plugin(&host, &["install", path(&other)]).await);
    assert!(
        refused.contains("another file of guest-memory 0.1.1 is installed"),
        "{refused}"
    );
    said(&plugin(&host, &["install", path(&good)]).await);

    let newer = Version::of("0.1.2").write(folder.path());
    said(&plugin(&host, &["install", path(&newer), "--activate"]).await);
    said(&plugin(&host, &["rollback", "guest-memory"]).await);
    let activated = said(&plugin(&host, &["activate", "guest-memory"]).await);
    assert!(activated.contains("guest-memory 0.1.1"), "{activated}");
    // By its number it is.
    let activated = said(&plugin(&host, &["activate", "guest-memory", "0.1.2"]).await);
    assert!(activated.contains("guest-memory 0.1.2"), "{activated}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_version_is_not_activated_by_its_name_in_a_catalogue() {
    let author = Author::new().await;
    let list = author.at("catalogue.json");
    let (older, newer) = (author.built("0.4.1"), author.built("0.4.2"));
    let args = [
        "catalogue",
        "add",
        path(&list),
        &older,
        &newer,
        "--name",
        "ours",
    ];
    said(&author.run(&args).await);
    let setting = pinned(&[("ours", path(&list), &author.public)]);
    let reader = Host::builder()
        .env("MINDHOST_PLUGINS__CATALOGUES", &setting)
        .start()
        .await;
    let activate = async |name: &str| plugin(&reader, &["install", name, "--activate"]).await;
    let serving = async || reader.get("/plugins/connector-files").await.json()["active"].clone();
    said(&activate("connector-files@0.4.1").await);
    let first = serving().await;
    said(&activate("connector-files").await);
    said(&plugin(&reader, &["rollback", "connector-files"]).await);
    assert_eq!(serving().await, first);
    let rejected = failed(&activate("connector-files").await);
    let words = "connector-files 0.4.2 was rolled back when it was last activated here";
    assert!(rejected.contains(words), "{rejected}");
    assert_eq!(serving().await, first);
    // By its number it is, and then the name means it again.
    said(&activate("connector-files@0.4.2").await);
    assert_ne!(serving().await, first);
    said(&activate("connector-files").await);
}

/// The names of the plugins of this repository, and the versions that they were built in.
async fn own_plugins(host: &Host) -> Vec<(String, String)> {
    let installed = host.get("/plugins").await.expect_status(200).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let plugins = installed.as_array().unwrap().iter();
    plugins
        .map(|one| (text(&one["name"]), text(&one["versions"][0]["version"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_plugins_of_this_repository_are_installed_by_name_from_one_catalogue() {
    let (registry, author) = (OciRegistry::start(), Author::new().await);
    let own = own_plugins(&author.host).await;
    assert!(own.len() >= 10, "{own:?}");
    let list = author.at("catalogue.json");
    let list = path(&list);
    for (name, version) in &own {
        let file = author.at(&format!("{name}.wasm"));
        fs::copy(build::plugins_dir().join(format!("{name}.wasm")), &file).unwrap();
        said(&author.run(&["sign", path(&file)]).await);
        let reference = registry.reference(&format!("plugins/{name}:{version}"));
        said(&plugin(&author.host, &["push", path(&file), &reference]).await);
        let add = ["catalogue", "add", list, &reference, "--name", "ours"];
        said(&author.run(&add).await);
    }
    let catalogue = registry.reference("plugins/catalogue:latest");
    said(&plugin(&author.host, &["catalogue", "push", list, &catalogue]).await);

    let reader = Host::builder()
        .env("MINDHOST_PLUGINS__REQUIRE_SIGNATURE", "true")
        .env("MINDHOST_PLUGINS__TRUSTED_KEYS", &author.public)
        .env(
            "MINDHOST_PLUGINS__CATALOGUES",
            pinned(&[("ours", &catalogue, &author.public)]),
        )
        .start()
        .await;
    let found = said(&plugin(&reader, &["search"]).await);
    let listed = found.lines().filter(|line| !line.starts_with(' '));
    assert_eq!(listed.count(), own.len(), "{found}");
    for (name, version) in &own {
        let line = format!("{name} {version}  ");
        assert!(
            found.lines().any(|one| one.starts_with(&line)),
            "{line} in {found}"
        );
        said(&plugin(&reader, &["install", name]).await);
    }
    let installed = reader.get("/plugins").await.expect_status(200).json();
    for one in installed.as_array().unwrap() {
        assert!(one["versions"][0]["signer"].is_string(), "{one}");
    }
    assert_eq!(installed.as_array().unwrap().len(), own.len());

    // Those that a first question needs, from nothing.
    for name in ["connector-sqlite", "model-offline"] {
        said(&plugin(&reader, &["activate", name]).await);
    }
    let sql = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2)";
    reader.sqlite("shop", sql).await.load().await;
    let provider = json!({"name": "own", "plugin": "model-offline", "default": true});
    reader.post("/providers", provider).await.expect_status(201);
    let mind = reader.mind("clerk").datasource("shop").create().await;
    let answer = mind
        .ask("How many items are there?")
        .await
        .expect_status(200);
    assert!(answer.text().contains('2'), "{}", answer.text());
}
