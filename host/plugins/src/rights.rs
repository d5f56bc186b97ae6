//! The rights of plugin versions, and the additional rights of a new version.
//!
//! An operator accepts a right by its name, such as `http:base_url`. The name contains everything that makes a right
//! wider: another default origin is another right.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::slot::{Active, Slot};
use mindhost_plugin_api::{
    Manifest, PluginKind,
    manifest::{CredentialScheme, FileKind, HttpGrant},
};

pub use mindhost_base::error::Right;

/// The rights of a version, with its signer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Name of the plugin.
    plugin: String,
    /// Its slots: `connector postgres`, `model openai`.
    slots: Vec<Slot>,
    /// The rights in its manifest, by name.
    asks: BTreeMap<String, String>,
    /// Secrets that the host adds to requests and withholds from the plugin.
    withheld: BTreeSet<String>,
    /// Properties that are stored encrypted and shown masked.
    secrets: BTreeSet<String>,
    /// Properties that are stored and shown as they are.
    clear: BTreeSet<String>,
    /// Properties whose change drops the stored secrets.
    destinations: BTreeSet<String>,
    /// Properties whose values may have line breaks.
    #[serde(default)]
    lines: BTreeSet<String>,
    /// Id of the trusted key that signed it.
    signer: Option<String>,
}

impl Rights {
    /// The rights of a version, and the trusted key that signed it.
    pub fn of(manifest: &Manifest, signer: Option<&str>) -> Self {
        let properties = manifest.connection_data.get("properties");
        let properties = properties.and_then(Value::as_object);
        let properties = || properties.into_iter().flatten();
        let marked = |mark: &str| {
            properties()
                .filter(|(_, property)| property.get(mark) == Some(&Value::Bool(true)))
                .map(|(name, _)| name.clone())
                .collect::<BTreeSet<_>>()
        };
        let rules = manifest.credentials.iter();
        let withheld = rules.filter(|rule| rule.scheme != CredentialScheme::GuestHeld);
        let withheld: BTreeSet<_> = withheld.map(|rule| rule.property.clone()).collect();
        let secrets = marked("x-secret");
        let clear = properties().filter(|(name, _)| !secrets.contains(*name));
        Self {
            plugin: manifest.name.clone(),
            slots: Slot::of(manifest),
            asks: asks(manifest, secrets.difference(&withheld)),
            clear: clear.map(|(name, _)| name.clone()).collect(),
            destinations: marked("x-destination"),
            lines: marked("x-multiline"),
            secrets,
            withheld,
            signer: signer.map(str::to_owned),
        }
    }

    /// What this version may do: what it serves, then the rights in its manifest, by name.
    pub fn all(&self) -> Vec<Right> {
        let slots = self.slots.iter().map(|slot| serves(slot, None));
        let asks = self.asks.iter();
        let asks = asks.map(|(name, what)| (name.clone(), what.clone()));
        let right = |(name, description)| Right { name, description };
        slots.chain(asks).map(right).collect()
    }

    /// The rights of this version that the other one lacks, apart from slots.
    fn beyond(&self, other: &Self, wider: &mut BTreeMap<String, String>) {
        let new = |(name, _): &(&String, &String)| !other.asks.contains_key(*name);
        let asks = self.asks.iter().filter(new);
        wider.extend(asks.map(|(name, what)| (name.clone(), what.clone())));
        // Stored properties go to the plugin unless the host withholds them, even if the schema no longer has them.
        for property in other.withheld.difference(&self.withheld) {
            wider.insert(format!("secret:{property}"), holds(property));
        }
        for property in other.secrets.intersection(&self.clear) {
            wider.insert(
                format!("unmasked:{property}"),
                format!("`{property}` is stored and shown in clear"),
            );
        }
        let kept = other.destinations.difference(&self.destinations);
        for property in kept.filter(|_| !other.secrets.is_empty()) {
            wider.insert(
                format!("kept:{property}"),
                format!("stored secrets stay when `{property}` changes"),
            );
        }
        for property in self.lines.difference(&other.lines) {
            wider.insert(
                format!("lines:{property}"),
                format!("`{property}` may contain line feeds and tabs"),
            );
        }
        if other.signer.is_some() && other.signer != self.signer {
            let (name, who) = match &self.signer {
                Some(key) => (format!("signer:{key}"), format!("the trusted key {key}")),
                None => ("signer:none".to_owned(), "no trusted key".to_owned()),
            };
            let before = other.signer.as_deref().unwrap_or_default();
            wider.insert(
                name,
                format!("it is signed by {who}, and the version before by the key {before}"),
            );
        }
    }
}

/// The versions that serve or served; new versions are compared with them.
#[derive(Clone, Debug, Default)]
pub struct Incumbents {
    /// The serving versions, by slot.
    active: BTreeMap<Slot, Rights>,
    /// The versions that served, the latest last.
    served: Vec<Rights>,
}

impl Incumbents {
    /// From the versions that served, by digest, the latest last; `active` are the ones that serve now.
    pub fn new(served: Vec<(String, Rights)>, active: &Active) -> Self {
        let of = |digest: &String| served.iter().find(|(known, _)| known == digest);
        let active = active.iter().filter_map(|(slot, digest)| {
            let (_, rights) = of(digest)?;
            Some((slot.clone(), rights.clone()))
        });
        Self {
            active: active.collect(),
            served: served.into_iter().map(|(_, rights)| rights).collect(),
        }
    }

    /// Adds the serving version of a slot, if it is not known yet.
    pub fn add(&mut self, slot: &Slot, rights: impl FnOnce() -> Option<Rights>) {
        if !self.active.contains_key(slot)
            && let Some(rights) = rights()
        {
            self.active.insert(slot.clone(), rights);
        }
    }

    /// The additional rights of a version compared with those that it would replace; none if it is the first.
    pub fn wider(&self, new: &Rights) -> Vec<Right> {
        let mut before: Vec<&Rights> = Vec::new();
        let is_own = |one: &&Rights| one.plugin == new.plugin;
        before.extend(self.active.values().filter(is_own));
        if before.is_empty() {
            before.extend(self.served.iter().rfind(is_own));
        }
        let last = |slot: &Slot| self.served.iter().rfind(|one| one.slots.contains(slot));
        let holder = |slot: &Slot| self.active.get(slot).or_else(|| last(slot));
        let holders = new.slots.iter().filter_map(holder);
        before.extend(holders.filter(|one| !is_own(one)));
        let mut wider = BTreeMap::new();
        for one in &before {
            new.beyond(one, &mut wider);
        }
        for slot in new.slots.iter().filter(|_| !before.is_empty()) {
            let holder = holder(slot);
            if holder.is_none_or(|one| one.plugin != new.plugin) {
                let (name, what) = serves(slot, holder);
                wider.insert(name, what);
            }
        }
        let right = |(name, description)| Right { name, description };
        wider.into_iter().map(right).collect()
    }
}

/// The names of rights, joined for a sentence.
pub fn listed(rights: &[Right]) -> String {
    let names: Vec<&str> = rights.iter().map(|right| right.name.as_str()).collect();
    names.join(",")
}

fn asks<'a>(
    manifest: &Manifest,
    held: impl Iterator<Item = &'a String>,
) -> BTreeMap<String, String> {
    let mut asks = BTreeMap::new();
    let user = match manifest.kind {
        PluginKind::Connector => "datasource",
        PluginKind::Model => "provider",
    };
    for grant in &manifest.network {
        let (host, port, default) = (&grant.host, &grant.port, grant.default_port);
        asks.insert(
            format!("network:{host}:{port}:{default}"),
            format!("TCP to the `{host}` of a {user}, at its `{port}` or at port {default}"),
        );
    }
    for grant in &manifest.http {
        let url = &grant.url;
        asks.insert(
            format!("http:{url}"),
            format!("HTTP to the `{url}` of a {user}"),
        );
        if let Some(origin) = default_origin(grant) {
            asks.insert(
                format!("http:{url}={origin}"),
                format!("HTTP to {origin} where a {user} has no `{url}`"),
            );
        }
    }
    for grant in &manifest.files {
        let path = &grant.path;
        let (kind, what) = match grant.kind {
            FileKind::File => ("file", "the file"),
            FileKind::Directory => ("directory", "the directory"),
        };
        asks.insert(
            format!("{kind}:{path}"),
            format!("reading {what} that the `{path}` of a {user} names"),
        );
        for suffix in &grant.siblings {
            asks.insert(
                format!("{kind}:{path}*{}", plain(suffix)),
                format!("reading what is named like `{path}` with {suffix:?} behind it"),
            );
        }
    }
    for property in held {
        asks.insert(format!("secret:{property}"), holds(property));
    }
    for rule in &manifest.credentials {
        let scheme = match rule.scheme {
            CredentialScheme::GuestHeld => continue,
            CredentialScheme::Bearer => "bearer",
            CredentialScheme::Basic => "basic",
            CredentialScheme::Header => "header",
            CredentialScheme::Query => "query",
            CredentialScheme::Oauth2ClientCredentials => {
                let endpoint = rule.token_url.as_deref().unwrap_or_default();
                asks.insert(
                    format!("credential:{}@{endpoint}:oauth2-secret", rule.property),
                    format!(
                        "having the host send `{}` to the token endpoint `{endpoint}`",
                        rule.property
                    ),
                );
                "oauth2-client-credentials"
            }
        };
        let only = manifest.http.first().map(|grant| &grant.url);
        let url = rule.url.as_ref().or(only).map_or("", String::as_str);
        let property = &rule.property;
        asks.insert(
            format!("credential:{property}@{url}:{scheme}"),
            format!("having the host add `{property}` to its requests to `{url}` ({scheme})"),
        );
    }
    asks
}

fn holds(property: &str) -> String {
    format!("getting the secret `{property}` itself")
}

/// The default origin of a manifest. Only models have one.
fn default_origin(grant: &HttpGrant) -> Option<String> {
    let default = grant.default.as_deref()?;
    let origin = url::Url::parse(default).ok().map(|url| url.origin());
    let origin = origin.filter(url::Origin::is_tuple);
    Some(origin.map_or_else(|| plain(default), |origin| origin.ascii_serialization()))
}

/// A text in a form that fits into a name and a list.
fn plain(text: &str) -> String {
    text.replace(
        |c: char| c == ',' || c.is_whitespace() || c.is_control(),
        "_",
    )
}

fn serves(slot: &Slot, holder: Option<&Rights>) -> (String, String) {
    let by = match holder {
        Some(holder) => format!(", which `{}` serves", holder.plugin),
        None => String::new(),
    };
    match slot {
        Slot::Engine(engine) => (
            format!("engine:{engine}"),
            format!("serving the engine `{engine}`{by}"),
        ),
        Slot::Model(name) => (
            format!("model:{name}"),
            format!("being the model plugin `{name}`{by}"),
        ),
    }
}

#[cfg(test)]
mod tests;
