//! The document of a catalogue, and what is asked of it beyond its signature.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use mindhost_plugin_api::PluginKind;
use mindhost_runtime::package::{Refusal, is_name, version_order};

/// The version of the document's format.
pub const FORM: u32 = 1;
/// Largest document, in bytes.
pub const MAX_BYTES: u64 = 4 << 20;
/// Longest time between the making of a catalogue and its end, in days.
pub const MAX_DAYS: i64 = 400;
/// Plugins of one catalogue.
const MAX_PLUGINS: usize = 5_000;
/// Versions of one plugin.
const MAX_VERSIONS: usize = 500;
/// Longest text of one field, in bytes.
const MAX_TEXT: usize = 1_000;

/// A signed list of plugins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The version of the format: [`FORM`].
    pub form: u32,
    /// Its name, so that one catalogue of a key is not taken for another.
    pub name: String,
    /// Grows with each change, so that an older one is recognized.
    pub sequence: u64,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it ends: afterwards a newer one must be there.
    pub expires_at: Timestamp,
    /// The plugins, by name.
    pub plugins: Vec<Listing>,
}

/// One plugin of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// `connector-sqlite`
    pub name: String,
    /// For people: `SQLite`.
    pub title: String,
    /// One or two sentences for people.
    #[serde(default)]
    pub description: String,
    /// Connector or model.
    pub kind: PluginKind,
    /// Engines that it serves.
    #[serde(default)]
    pub engines: Vec<String>,
    /// Its versions, the highest first.
    pub versions: Vec<ListedVersion>,
}

/// One version of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedVersion {
    /// Its number.
    pub version: String,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    /// Bytes of the file.
    pub size: u64,
    /// A reference to a registry, or the path of a file, relative to the catalogue's.
    pub source: String,
    /// The digest of the registry's manifest, which leads to the signature of the file even if the tag moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// Why it should not be installed any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

impl Catalogue {
    /// Parses a document and checks every field of it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(refusal(format!("has more than {MAX_BYTES} bytes")));
        }
        let catalogue: Self = serde_json::from_slice(bytes).map_err(|error| {
            refusal(format!("is no catalogue that this program knows: {error}"))
        })?;
        catalogue.check().map(|()| catalogue)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.form != FORM {
            let form = self.form;
            return Err(refusal(format!(
                "has the form {form}, and this program knows form {FORM}; use a newer one"
            )));
        }
        let days = self.expires_at.duration_since(self.made_at).as_hours() / 24;
        if !is_name(&self.name) || !(0..=MAX_DAYS).contains(&days) {
            return Err(refusal(format!(
                "has no proper name, or is meant for more than {MAX_DAYS} days"
            )));
        }
        if self.plugins.len() > MAX_PLUGINS {
            return Err(refusal(format!("lists more than {MAX_PLUGINS} plugins")));
        }
        for (at, listing) in self.plugins.iter().enumerate() {
            let is_twice = self
                .plugins
                .iter()
                .take(at)
                .any(|one| one.name == listing.name);
            if is_twice || !listing.is_well_formed() {
                let name: String = listing.name.escape_debug().take(64).collect();
                return Err(refusal(format!(
                    "has a malformed or repeated entry `{name}`"
                )));
            }
        }
        Ok(())
    }

    /// A plugin by its name.
    pub fn listing(&self, name: &str) -> Option<&Listing> {
        self.plugins.iter().find(|listing| listing.name == name)
    }
}

impl Listing {
    fn is_well_formed(&self) -> bool {
        let is_text = |text: &String| text.len() <= MAX_TEXT && !text.chars().any(char::is_control);
        let is_version = |at: usize, one: &ListedVersion| {
            let is_new = !self
                .versions
                .iter()
                .take(at)
                .any(|other| other.version == one.version);
            is_new
                && version_order(&one.version).is_some()
                && is_digest(&one.digest)
                && is_text(&one.version)
                && is_text(&one.source)
                && one.manifest.as_ref().is_none_or(is_text)
                && one.withdrawn.as_ref().is_none_or(is_text)
        };
        is_name(&self.name)
            && is_text(&self.title)
            && is_text(&self.description)
            && self.engines.len() <= 64
            && self.engines.iter().all(is_text)
            && self.versions.len() <= MAX_VERSIONS
            && self
                .versions
                .iter()
                .enumerate()
                .all(|(at, one)| is_version(at, one))
    }

    /// The version of that number; without one, the highest release that was not withdrawn.
    pub fn version(&self, number: Option<&str>) -> Option<&ListedVersion> {
        match number {
            Some(number) => self.versions.iter().find(|one| one.version == number),
            None => {
                let is_release =
                    |one: &&ListedVersion| !one.version.contains('-') && one.withdrawn.is_none();
                let released = self.versions.iter().filter(is_release);
                released.max_by_key(|one| version_order(&one.version))
            }
        }
    }
}

fn is_digest(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 64 && text.bytes().all(is_hex)
}

fn refusal(why: String) -> Refusal {
    Refusal::new(why)
}
