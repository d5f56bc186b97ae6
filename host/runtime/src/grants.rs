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
    engine::Runtime,
    file_grant::FileGrant,
    host_errors::{cancelled, files_hang, not_allowed},
    host_names::{addresses, plain_name, unresolved},
    http::HttpGrant,
    permits::ThreadPermits,
    refusals::Refusals,
    roots,
};
use crate::policy::{EgressRules, Policy};
use mindhost_base::{config::PluginSettings, error::Result, locks::lock};
use mindhost_plugin_api::{
    Call, Target,
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
    /// The workspace of the target; none for `describe`.
    workspace: Option<String>,
    /// The operator's rules at the time; none for grants without network.
    allowed: Option<Allowed>,
    /// The server of the connection, so that `cancel` reaches the same one.
    connected: Mutex<Option<SocketAddr>>,
}

/// The operator's rules at one time, and the policy with the current ones.
struct Allowed {
    policy: Arc<dyn Policy>,
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
            workspace: None,
            allowed: None,
            connected: Mutex::default(),
        }
    }

    /// Derives the grants of a target. Resolves names and opens directories, but does not connect. Waits for its turn
    /// until the call ends.
    pub async fn derive(
        runtime: &Runtime,
        manifest: &Manifest,
        target: &Target,
        settings: &PluginSettings,
        call: &Call,
    ) -> Result<Arc<Self>> {
        let policy = &runtime.policy;
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
        grants.workspace = Some(target.workspace.clone());
        for rule in &manifest.network {
            let name = text(data, &rule.host);
            if !name.is_empty() {
                let port = port(data, &rule.port, rule.default_port)?;
                let refusal = |address: SocketAddr| {
                    let refusal = egress.refusal(address, &reserved);
                    refusal.or_else(|| egress.port_refusal(address, Some(rule.default_port)))
                };
                let granted = resolve(&name, port, &target.workspace, refusal).await?;
                grants.sockets.push(granted);
            }
        }
        if !manifest.files.is_empty() {
            let roots = policy.file_roots(&target.folder);
            let named = manifest.files.iter();
            let named = named.filter(|rule| data.contains_key(&rule.path)).cloned();
            let open = open_files(named.collect(), visible, roots);
            let threads = &runtime.file_threads;
            let (files, rewritten) = threads.run(&target.workspace, call, open).await??;
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
                (&target.workspace, &runtime.tokens),
            )?;
            grants.http = Some(http);
        }
        if grants.http.is_some() || !grants.sockets.is_empty() {
            grants.allowed = Some(Allowed {
                policy: Arc::clone(policy),
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
    /// connection. A file server may hang, so it is asked on a thread that may, until the call ends.
    pub async fn is_current(
        self: &Arc<Self>,
        threads: &ThreadPermits,
        call: &Call,
    ) -> Result<bool> {
        let workspace = self.workspace().unwrap_or_default();
        let still_allowed = |allowed: &Allowed| allowed.policy.egress(workspace) == allowed.egress;
        if !self.allowed.as_ref().is_none_or(still_allowed) {
            return Ok(false);
        }
        if self.files.iter().all(|file| file.is_local) {
            return Ok(self.files.iter().all(FileGrant::is_current));
        }
        let grants = Arc::clone(self);
        let files = threads.run(workspace, call, move || {
            grants.files.iter().all(FileGrant::is_current)
        });
        tokio::select! {
            biased;
            is_current = files => is_current,
            () = call.cancel.cancelled() => Err(cancelled()),
            () = tokio::time::sleep_until(call.deadline) => Err(files_hang()),
        }
    }

    /// The workspace of the grants; none for those of `describe`.
    pub fn workspace(&self) -> Option<&str> {
        self.workspace.as_deref()
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
    workspace: &str,
    refusal_of: impl Fn(SocketAddr) -> Option<String>,
) -> Result<SocketGrant> {
    let found = addresses(name, port, workspace).await?;
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

/// What opens the files, for a thread that may hang.
fn open_files(
    rules: Vec<FileRule>,
    mut visible: Map<String, Value>,
    roots: Vec<std::path::PathBuf>,
) -> impl FnOnce() -> Result<(Vec<FileGrant>, Map<String, Value>)> + Send + 'static {
    move || {
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
    }
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
    use std::{fs::File, time::Duration};

    use mindhost_base::error::Code;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::guest_log::GuestLog;
    use crate::permits::Hangs;

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
    #[tokio::test]
    async fn files_that_hang_are_asked_within_the_share_of_their_workspace() {
        let root = File::open("/").unwrap();
        let mut grants = Grants::empty(String::from("{}"), Redactor::default());
        grants.workspace = Some(String::from("crowded"));
        grants.files.push(FileGrant {
            mount: String::from("/data"),
            identity: roots::identity(&root, "tmp"),
            dir: Dir::new(root, FsPerms::ReadOnly, OpenMode::READ, true),
            names: Some(vec![String::from("tmp")]),
            is_local: false,
        });
        let grants = Arc::new(grants);
        let threads = ThreadPermits::new(4, "calls on files");
        let call = |time| Call::new(time, CancellationToken::new());
        let (short, long) = (
            call(Duration::from_millis(20)),
            call(Duration::from_secs(60)),
        );

        let hanging = threads
            .acquire("crowded", Hangs::Perhaps, &long)
            .await
            .ok()
            .unwrap();
        let refused = grants.is_current(&threads, &short).await.unwrap_err();
        assert!(
            matches!(refused.code(), Code::Overloaded | Code::Timeout),
            "{refused}"
        );
        drop(hanging);
        assert!(grants.is_current(&threads, &long).await.unwrap());
    }
}
