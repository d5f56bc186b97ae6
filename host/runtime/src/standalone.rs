//! A standalone plugin, for its author's tools: no store, no registry, no other plugin. As in a host, its configuration
//! decides what it may reach.

mod grant_summary;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::{
    CacheDir, Compilers, Loader, Runtime,
    package::{Package, Refusal},
    policy::{EgressRules, Policy},
};
use mindhost_base::config::PluginSettings;
use mindhost_plugin_api::{
    manifest::{FileKind, Manifest},
    scanner::Scanner,
};

pub use self::grant_summary::grant_summary;
pub use super::LoadedPlugin;

/// The directory of compiled code, and the key that seals it.
pub type Cache = (PathBuf, [u8; 32]);

/// A plugin that is loaded alone.
pub struct StandalonePlugin {
    /// Serves like an installed plugin.
    pub loaded: LoadedPlugin,
    /// The scanner without the SQL on top, if it is a scanner.
    pub scanner: Option<Arc<dyn Scanner>>,
    /// As the file has it.
    pub manifest: Manifest,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    runtime: Arc<Runtime>,
}

/// Serializes loads, so that several loads of one file compile it once.
static LOADING: Mutex<()> = Mutex::const_new(());

impl StandalonePlugin {
    /// Compiles a package, or takes it from the cache, and links it. Without a cache the plugin is asked to describe
    /// itself each time.
    ///
    /// # Errors
    /// What is wrong with the plugin, and what to do.
    pub async fn load(
        package: Package,
        settings: PluginSettings,
        roots: Vec<PathBuf>,
        cache: Option<Cache>,
    ) -> Result<Self, Refusal> {
        let policy = Arc::new(AuthorPolicy { roots });
        let runtime = Runtime::new(settings, policy).map_err(|error| {
            Refusal::new(format!(
                "cannot be tried here: the plugin runtime cannot be set up: {error:#}"
            ))
        })?;
        let (dir, key) = cache.unzip();
        let loader = Loader::new(
            Arc::clone(&runtime),
            dir.map_or(CacheDir::Absent, CacheDir::ReadWrite),
            None,
            key.unwrap_or_default(),
            Compilers::InProcess,
        );
        let package = Arc::new(package);
        let _one_at_a_time = LOADING.lock().await;
        let ready = Arc::new(loader).load(Arc::clone(&package)).await?;
        Ok(Self {
            scanner: ready.scanner(),
            loaded: ready.serve(),
            manifest: package.manifest.clone(),
            digest: package.digest.clone(),
            runtime,
        })
    }

    /// Waits for all calls to end and all connections to close.
    pub async fn drain(&self) {
        self.runtime.drain().await;
    }
}

/// The policy on an author's machine: loopback and private networks, and the directories of the configured files.
struct AuthorPolicy {
    roots: Vec<PathBuf>,
}

impl Policy for AuthorPolicy {
    fn egress(&self, _workspace: &str) -> EgressRules {
        EgressRules {
            allow_loopback: true,
            ..EgressRules::default()
        }
    }

    fn file_roots(&self, _folder: &str) -> Vec<PathBuf> {
        self.roots.clone()
    }

    fn reserved(&self) -> Vec<SocketAddr> {
        Vec::new()
    }
}

/// Makes the configured paths absolute, relative to `base`. Returns the directories to grant for them: the parent of
/// each file, and each directory.
pub fn grant_files(
    manifest: &Manifest,
    data: &mut Map<String, Value>,
    base: &Path,
) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for rule in &manifest.files {
        let Some(Value::String(path)) = data.get(&rule.path) else {
            continue;
        };
        if path.trim().is_empty() {
            continue;
        }
        let path = base.join(path.trim());
        let path = std::path::absolute(&path).unwrap_or(path);
        let root = match rule.kind {
            FileKind::Directory => real(&path),
            FileKind::File => real(path.parent().unwrap_or(&path)),
        };
        let inside = match (rule.kind, path.file_name()) {
            (FileKind::File, Some(name)) => root.join(name),
            _ => root.clone(),
        };
        data.insert(rule.path.clone(), inside.to_string_lossy().into());
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// Resolves links and `..` if the path exists, because a root must be canonical.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
