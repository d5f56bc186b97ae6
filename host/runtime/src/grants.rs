//! Derives the grants of an instance: what it may reach. No other module grants anything.
//!
//! The input is the manifest (the meaning of each property), the datasource's configuration (its values) and the
//! operator's rules. The output is [`Grants`], which `state`, `sockets`, `tcp`, `files` and
//! `http_hooks` check and never widen.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use serde_json::{Map, Value};
use wasmtime_wasi::filesystem::{Dir, FsPerms, OpenMode};

use super::{
    connection_data::{configured, port, text},
    file_grant::FileGrant,
    host_errors::not_allowed,
    host_names::{addresses, plain_name, unresolved},
    http::{HttpGrant, access_token::TokenStore},
    refusals::Refusals,
    roots,
};
use crate::policy::{EgressRules, Policy};
use mindhost_base::{
    config::PluginSettings,
    error::{Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{
    Target,
    manifest::{CredentialScheme, FileGrant as FileRule, Manifest},
    redact::Redactor,
    schema::Rules,
};

/// The grants of one connection or provider.
pub struct Grants {
    config: String,
    sockets: Vec<SocketGrant>,
    files: Vec<FileGrant>,
    http: Option<HttpGrant>,
    redactor: Redactor,
    /// The operator's rules at the time; none for grants without network.
    allowed: Option<Allowed>,
    /// The server of the connection, so that `cancel` reaches the same one.
    connected: Mutex<Option<SocketAddr>>,
}

/// The operator's rules at one time, and the policy with the current ones.
struct Allowed {
    policy: Arc<dyn Policy>,
    workspace: String,
    egress: EgressRules,
}

/// A host and port, with the addresses that were resolved and allowed.
struct SocketGrant {
    name: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Grants {
    /// No grants, for `describe`.
    pub fn none() -> Arc<Self> {
        Arc::new(Self::empty(String::from("{}"), Redactor::default()))
    }

    fn empty(config: String, redactor: Redactor) -> Self {
        Self {
            config,
            sockets: Vec::new(),
            files: Vec::new(),
            http: None,
            redactor,
            allowed: None,
            connected: Mutex::default(),
        }
    }

    /// Derives the grants of a target. Resolves names and opens directories, but does not connect.
    pub async fn derive(
        manifest: &Manifest,
        target: &Target,
        policy: &Arc<dyn Policy>,
        settings: &PluginSettings,
        tokens: &TokenStore,
    ) -> Result<Arc<Self>> {
        let data = &configured(manifest, &target.connection_data)?;
        let egress = policy.egress(&target.workspace);
        let reserved = policy.reserved();
        let mut visible = Rules::new(&manifest.connection_data).filled(data);
        for rule in &manifest.credentials {
            if rule.scheme != CredentialScheme::GuestHeld {
                visible.remove(&rule.property);
            }
        }
        let mut grants = Self::empty(String::new(), Redactor::new(manifest, data));
        for rule in &manifest.network {
            let name = text(data, &rule.host);
            if !name.is_empty() {
                let port = port(data, &rule.port, rule.default_port)?;
                let refusal = |address: SocketAddr| {
                    let refusal = egress.refusal(address, &reserved);
                    refusal.or_else(|| egress.port_refusal(address, Some(rule.default_port)))
                };
                let granted = resolve(&name, port, refusal).await?;
                grants.sockets.push(granted);
            }
        }
        if !manifest.files.is_empty() {
            let roots = policy.file_roots(&target.folder);
            let named = manifest.files.iter();
            let named = named.filter(|rule| data.contains_key(&rule.path)).cloned();
            let (files, rewritten) = open_files(named.collect(), visible, roots).await?;
            grants.files = files;
            visible = rewritten;
        }
        if !manifest.http.is_empty() {
            let http = HttpGrant::derive(
                manifest,
                data,
                egress.clone(),
                reserved,
                settings,
                &grants.redactor,
                (&target.workspace, tokens),
            )?;
            grants.http = Some(http);
        }
        if grants.http.is_some() || !grants.sockets.is_empty() {
            grants.allowed = Some(Allowed {
                policy: Arc::clone(policy),
                workspace: target.workspace.clone(),
                egress,
            });
        }
        grants.config = Value::Object(visible).to_string();
        Ok(Arc::new(grants))
    }

    /// The configuration for the guest, as JSON.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// Removes this target's secrets from text.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Whether any TCP destination is granted.
    pub fn uses_sockets(&self) -> bool {
        !self.sockets.is_empty()
    }

    /// Whether any file is granted; such guests run on threads that may block.
    pub fn uses_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether files are granted, none of which can hang. The first slice of a call may then run on any thread.
    pub fn has_prompt_files(&self) -> bool {
        self.uses_files() && self.files.iter().all(FileGrant::is_prompt)
    }

    /// Whether the granted files and the operator's rules are unchanged. If a file was replaced, the old connection
    /// would read the old one; if the rules changed, it may reach what is no longer allowed. Both need a new
    /// connection.
    pub fn is_current(&self) -> bool {
        let still_allowed =
            |allowed: &Allowed| allowed.policy.egress(&allowed.workspace) == allowed.egress;
        self.files.iter().all(FileGrant::is_current)
            && self.allowed.as_ref().is_none_or(still_allowed)
    }

    /// The workspace of the grants; none for grants without network.
    pub fn workspace(&self) -> Option<&str> {
        let allowed = self.allowed.as_ref();
        allowed.map(|allowed| allowed.workspace.as_str())
    }

    /// The granted directories.
    pub fn files(&self) -> &[FileGrant] {
        &self.files
    }

    /// The granted HTTP origins.
    pub fn http(&self) -> Option<&HttpGrant> {
        self.http.as_ref()
    }

    /// Whether a TCP connection to this address is granted. Records a refusal.
    pub fn may_connect(&self, address: SocketAddr, refusals: &Refusals) -> bool {
        let ip = address.ip().to_canonical();
        let granted =
            |grant: &SocketGrant| grant.port == address.port() && grant.addresses.contains(&ip);
        let allowed = self.sockets.iter().any(granted);
        match allowed {
            true => *lock(&self.connected) = Some(SocketAddr::new(ip, address.port())),
            false => refusals.note(&format!(
                "the plugin tried to reach {ip}:{}, which its configuration does not name",
                address.port()
            )),
        }
        allowed
    }

    /// The addresses of a granted name, first that of the connection; none for any other name.
    pub fn lookup(&self, name: &str, refusals: &Refusals) -> Option<Vec<IpAddr>> {
        let wanted = plain_name(name);
        let grant = self.sockets.iter().find(|grant| grant.name == wanted);
        let Some(grant) = grant else {
            refusals.note(&format!(
                "the plugin looked up `{}`, which its configuration does not name",
                refusals.quoted(name)
            ));
            return None;
        };
        let pinned = lock(&self.connected).map(|address| address.ip());
        Some(match pinned.filter(|ip| grant.addresses.contains(ip)) {
            Some(ip) => vec![ip],
            None => grant.addresses.clone(),
        })
    }
}

async fn resolve(
    name: &str,
    port: u16,
    refusal_of: impl Fn(SocketAddr) -> Option<String>,
) -> Result<SocketGrant> {
    let found = addresses(name, port).await?;
    let mut refusal = None;
    let addresses: Vec<IpAddr> = found
        .into_iter()
        .filter(|ip| match refusal_of(SocketAddr::new(*ip, port)) {
            None => true,
            Some(why) => {
                refusal = Some(why);
                false
            }
        })
        .collect();
    match (addresses.is_empty(), refusal) {
        (true, Some(why)) => Err(not_allowed(why)),
        (true, None) => Err(unresolved(name)),
        (false, _) => Ok(SocketGrant {
            name: plain_name(name),
            port,
            addresses,
        }),
    }
}

async fn open_files(
    rules: Vec<FileRule>,
    visible: Map<String, Value>,
    roots: Vec<std::path::PathBuf>,
) -> Result<(Vec<FileGrant>, Map<String, Value>)> {
    let open = move || {
        let mut visible = visible;
        let mut files = Vec::new();
        for rule in &rules {
            let path = text(&visible, &rule.path);
            if path.is_empty() {
                continue;
            }
            let (grant, inside) = open_file(rule, &path, &roots, files.len())?;
            visible.insert(rule.path.clone(), Value::String(inside));
            files.push(grant);
        }
        Ok((files, visible))
    };
    tokio::task::spawn_blocking(open)
        .await
        .map_err(Error::internal)?
}

fn open_file(
    rule: &FileRule,
    path: &str,
    roots: &[std::path::PathBuf],
    index: usize,
) -> Result<(FileGrant, String)> {
    let located = roots::locate(roots, path, rule.kind)?;
    let mount = match index {
        0 => String::from("/data"),
        index => format!("/data{index}"),
    };
    let inside = match &located.name {
        Some(name) => format!("{mount}/{name}"),
        None => mount.clone(),
    };
    let names = located.name.map(|name| {
        let siblings = rule.siblings.iter().map(|suffix| format!("{name}{suffix}"));
        std::iter::once(name.clone()).chain(siblings).collect()
    });
    let is_local = roots::is_local(&located.dir);
    let dir = Dir::new(located.dir, FsPerms::ReadOnly, OpenMode::READ, true);
    let grant = FileGrant {
        mount,
        dir,
        names,
        identity: located.identity,
        is_local,
    };
    Ok((grant, inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest_log::GuestLog;

    #[test]
    fn name_that_resolves_elsewhere_later_keeps_its_granted_addresses() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut grants = Grants::empty(String::from("{}"), Redactor::default());
        grants.sockets.push(SocketGrant {
            name: String::from("db.example"),
            port: 5432,
            addresses: vec![ip("10.0.0.1"), ip("10.0.0.2")],
        });
        let log = GuestLog::new("plugin", "target", Redactor::default(), 10);
        let refusals = Refusals::new(log);
        let may = |text: &str| grants.may_connect(text.parse().unwrap(), &refusals);
        // The checked addresses stay, whatever the name resolves to later; that of the connection is first.
        assert!(!may("10.0.0.3:5432") && !may("127.0.0.1:5432") && !may("10.0.0.1:22"));
        assert!(may("10.0.0.2:5432"));
        assert_eq!(
            grants.lookup("DB.example.", &refusals),
            Some(vec![ip("10.0.0.2")])
        );
    }
}
