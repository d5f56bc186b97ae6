//! Versions of a test plugin, made of one component by changing bytes in it.

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{Host, Mind, Reply, Request, build};

/// A version of a plugin: usually of `guest-memory`, a connector whose rows lie in its configuration.
#[derive(Clone, Debug)]
pub struct Version {
    plugin: String,
    number: String,
    /// The manifest that it says of itself, as it stands in the bytes.
    manifest: String,
    bytes: Vec<u8>,
}

impl Version {
    /// The version of that number, such as `0.1.7`: three digits, like the one that was built.
    ///
    /// # Panics
    /// When the guest was not built.
    pub fn of(number: &str) -> Self {
        Self::of_guest("memory", number)
    }

    /// The version of that number of a guest.
    ///
    /// # Panics
    /// When the guest was not built.
    pub fn of_guest(guest: &str, number: &str) -> Self {
        let manifest = format!("tests/guests/{guest}/manifest.json");
        Self::from(
            &format!("guest-{guest}"),
            &build::guest(guest),
            &manifest,
            number,
        )
    }

    /// The version of that number of the hostile guest as a model.
    ///
    /// # Panics
    /// When the guest was not built.
    pub fn of_hostile_model(number: &str) -> Self {
        let manifest = "tests/guests/hostile/model.json";
        let version = Self::from(
            "guest-hostile-model",
            &build::guest("hostile"),
            manifest,
            number,
        );
        version.declaring(|_| {})
    }

    /// The same of a plugin of the build.
    ///
    /// # Panics
    /// When it was not built.
    pub fn of_plugin(plugin: &str, number: &str) -> Self {
        let file = build::plugins_dir().join(format!("{plugin}.wasm"));
        let manifest = format!("plugins/{plugin}/manifest.json");
        Self::from(plugin, &file, &manifest, number)
    }

    fn from(plugin: &str, built: &Path, manifest: &str, number: &str) -> Self {
        let manifest = build::workspace_dir().join(manifest);
        let mut version = Self {
            plugin: plugin.to_owned(),
            number: number.to_owned(),
            manifest: std::fs::read_to_string(manifest).expect("the manifest of the build"),
            bytes: std::fs::read(built).expect("the plugin of the build"),
        };
        // Its manifest is in it twice: as it was written, which it says of itself, and as the packer stored it.
        let declared: Value = serde_json::from_str(&version.manifest).expect("a manifest");
        let built = declared["version"].as_str().expect("its version");
        for colon in [": ", ":"] {
            let version_is = |number: &str| format!("\"version\"{colon}\"{number}\"");
            version.replace(&version_is(built), &version_is(number));
        }
        version
    }

    /// The same with a misbehaviour: `trap`, `slow`, `refuse` or `wrong`, and how much of it.
    ///
    /// # Panics
    /// When the guest knows no such word.
    #[must_use]
    pub fn that(mut self, word: &str, how_much: u16) -> Self {
        self.replace(&format!("{word}=000"), &format!("{word}={how_much:03}"));
        self
    }

    /// The same as a plugin of another name, of as many letters, that serves the same engine.
    ///
    /// # Panics
    /// When the names differ in length.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        let old = std::mem::replace(&mut self.plugin, name.to_owned());
        self.replace(&old, name);
        self
    }

    /// The same with another manifest, which it says of itself too. Nothing looks at it here: the host shall.
    ///
    /// # Panics
    /// When the manifest grew too long for its place.
    #[must_use]
    pub fn declaring(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut manifest = serde_json::from_str(&self.manifest).expect("a manifest");
        change(&mut manifest);
        let (old, new) = (self.manifest.clone(), manifest.to_string());
        assert!(new.len() <= old.len(), "no place for {new}");
        let blanks = " ".repeat(old.len() - new.len());
        self.replace(&old, &format!("{new}{blanks}"));
        // The section of the packer gets another name, and one more comes behind it.
        const SECTION: &str = "mindhost:manifest";
        self.replace(SECTION, "mindhost:replaced");
        let mut content = vec![SECTION.len() as u8];
        content.extend([SECTION.as_bytes(), new.as_bytes()].concat());
        self.bytes.push(0);
        let mut length = content.len();
        while length > 0x7f {
            self.bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        self.bytes.push(length as u8);
        self.bytes.extend(content);
        self
    }

    /// Puts other bytes in the place of some.
    ///
    /// # Panics
    /// When they are not there, or the others are not as many.
    pub fn replace(&mut self, old: &str, new: &str) {
        assert_eq!(old.len(), new.len(), "{old} {new}");
        self.manifest = self.manifest.replace(old, new);
        let mut found = 0;
        for at in 0..=self.bytes.len() - old.len() {
            if &self.bytes[at..at + old.len()] == old.as_bytes() {
                self.bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
                found += 1;
            }
        }
        assert!(found > 0, "the guest has no `{old}`");
    }

    /// The name of the plugin.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// The plugin file.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Its SHA-256.
    pub fn digest(&self) -> String {
        mindhost_runtime::package::digest(&self.bytes)
    }

    /// Writes it into a folder, named after its number.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let file = folder.join(format!("memory-{}.wasm", self.number));
        std::fs::write(&file, &self.bytes).expect("a plugin file");
        file
    }
}

impl Host {
    /// `POST /plugins` with a file.
    pub fn upload(&self, bytes: impl Into<Vec<u8>>) -> Request {
        self.api(Method::POST, "/plugins")
            .header("content-type", "application/wasm")
            .raw(bytes.into())
    }

    /// Installs a version.
    pub async fn install(&self, version: &Version) -> Value {
        let reply = self.upload(version.bytes()).await;
        reply.expect_status(201).json()
    }

    /// Installs and activates a version; gives the rollout once it serves or never will.
    pub async fn activate(&self, version: &Version) -> Value {
        self.install(version).await;
        self.activated(json!({"version": version.digest()})).await
    }

    /// Goes back; gives the rollout that went.
    pub async fn rolled_back(&self, plugin: &str) -> Value {
        let reply = self.post(&format!("/plugins/{plugin}/rollback"), json!({}));
        reply.await.expect_status(200).json()
    }

    /// The digest of the active version of a plugin.
    pub async fn active(&self, plugin: &str) -> Value {
        let reply = self.get(&format!("/plugins/{plugin}")).await;
        reply.expect_status(200).json()["active"].clone()
    }

    /// Activates a version of `guest-memory`; gives the rollout once it serves or never will.
    pub async fn activated(&self, body: Value) -> Value {
        let reply = self.post("/plugins/guest-memory/activate?wait=200", body);
        reply.await.expect_status(202).json()
    }

    /// A Mind over a datasource of the engine `memory` with so many rows.
    pub async fn memory(&self, name: &str, rows: u32) -> Mind {
        self.datasource(name, "memory", json!({"rows": rows})).await;
        let mind = self.mind(&format!("{name}_mind")).datasource(name);
        mind.direct_queries().create().await
    }
}

/// The digest that served a request, as the header of the reply says.
pub fn served_by(reply: &Reply) -> String {
    let header = reply.headers.get("x-mindhost-plugins");
    let header = header.and_then(|value| value.to_str().ok());
    let digest = header.and_then(|value| value.split_once("sha256="));
    digest.map_or_else(String::new, |(_, digest)| digest.to_owned())
}
