//! One plugin by itself, for its author: no store, no registry, no other plugin. What it may reach is what its
//! configuration names, as in a host.

mod reach;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::{
    Compilers, Loader, Runtime,
    package::{Package, Refusal},
    policy::{EgressRules, Policy},
};
use mindhost_base::config::PluginSettings;
use mindhost_plugin_api::{
    manifest::{FileKind, Manifest},
    scanner::Scanner,
};

pub use self::reach::reaches;
pub use super::Loaded;

/// Where compiled code is kept, and the key that seals it.
pub type Cache = (PathBuf, [u8; 32]);

/// A plugin that was loaded by itself.
pub struct Alone {
    /// What it is.
    pub loaded: Loaded,
    /// The scanner below the SQL, where it is one.
    pub scanner: Option<Arc<dyn Scanner>>,
    /// What it says of itself.
    pub manifest: Manifest,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    runtime: Arc<Runtime>,
}

/// Loading is done one by one, so that several loads of one file compile it once.
static LOADING: Mutex<()> = Mutex::const_new(());

impl Alone {
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
        let policy = Arc::new(Authors { roots });
        let runtime = Runtime::new(settings, policy).map_err(|error| {
            Refusal::new(format!(
                "cannot be tried here: the plugin runtime cannot be set up: {error:#}"
            ))
        })?;
        let (dir, key) = cache.unzip();
        let loader = Loader::new(
            Arc::clone(&runtime),
            dir,
            key.unwrap_or_default(),
            Compilers::Inside,
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

    /// Waits until every call and every farewell is over.
    pub async fn drain(&self) {
        self.runtime.drain().await;
    }
}

/// What an author's own machine allows: loopback and private networks, and the directories of the configured files.
struct Authors {
    roots: Vec<PathBuf>,
}

impl Policy for Authors {
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

/// Makes the configured paths absolute, from `base` on, and gives the directories that have to be granted for them: of
/// each file its directory, of each directory itself.
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

/// Without links and `..`, where it exists: a root may not be reached by detours.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
