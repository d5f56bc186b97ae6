//! A registry with the test guests, and targets that tell them what to do.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mindhost_base::{
    config::{Config, PluginSettings},
    error::{Code, Error, Result},
};
use mindhost_plugin_api::{
    Batch, Call, Connection, Connector, Model, Statement, StatisticsOptions, TableRef, Target,
};
use mindhost_plugins::registry::{Active, CacheDir, Registry, Sources};
use mindhost_runtime::{
    package::pack,
    policy::{EgressRules, FixedPolicy},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// No call of these tests may take longer; it is the limit on hanging, not an expectation.
const PATIENCE: Duration = Duration::from_secs(60);

/// Compiling happens once: whoever comes first does it, all others find it in the cache.
static LOADING: Mutex<()> = Mutex::const_new(());

pub struct Sandbox {
    pub registry: Registry,
    pub dir: TempDir,
}

pub fn settings() -> PluginSettings {
    PluginSettings {
        max_instances: 8,
        max_memory_bytes: 64 << 20,
        max_batch_bytes: 4 << 20,
        cancel_grace: Duration::from_millis(100),
        cancel_timeout: Duration::from_millis(300),
        cancel_confirm_timeout: Duration::from_millis(300),
        ..Config::defaults().unwrap().plugins.limits
    }
}

/// A test guest and one of its manifests.
pub fn guest(name: &str) -> (Vec<u8>, String) {
    guest_as(name, "manifest")
}

pub fn guest_as(name: &str, manifest: &str) -> (Vec<u8>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let wasm = target.join(format!("wasm32-wasip2/plugin/guest_{name}.wasm"));
    let wasm = std::fs::read(&wasm)
        .unwrap_or_else(|error| panic!("{}: {error}; build it with `just test`", wasm.display()));
    let manifest = root.join(format!("tests/guests/{name}/{manifest}.json"));
    (wasm, std::fs::read_to_string(manifest).unwrap())
}

impl Sandbox {
    pub async fn new() -> Self {
        Self::with(settings()).await
    }

    pub async fn with(settings: PluginSettings) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["hostile", "memory"] {
            let (wasm, manifest) = guest(name);
            Self::add(dir.path(), name, &pack(&wasm, &manifest).unwrap());
        }
        Self::load(dir, settings).await
    }

    /// With the hostile guest as a model.
    pub async fn of_models() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (wasm, manifest) = guest_as("hostile", "model");
        Self::add(dir.path(), "model", &pack(&wasm, &manifest).unwrap());
        Self::load(dir, settings()).await
    }

    pub fn model(&self) -> Arc<dyn Model> {
        self.registry.model("guest-hostile-model").unwrap()
    }

    pub fn add(dir: &Path, name: &str, wasm: &[u8]) {
        std::fs::create_dir_all(dir.join("plugins")).unwrap();
        std::fs::write(dir.join(format!("plugins/{name}.wasm")), wasm).unwrap();
    }

    pub async fn load(dir: TempDir, settings: PluginSettings) -> Self {
        let files = dir.path().join("data/files/default");
        std::fs::create_dir_all(&files).unwrap();
        std::fs::write(files.join("own.db"), "own").unwrap();
        std::fs::write(files.join("own.db-wal"), "wal").unwrap();
        std::fs::write(files.join("other.db"), "other").unwrap();
        std::fs::write(dir.path().join("data/secrets.key"), "secret").unwrap();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        let _one_at_a_time = LOADING.lock().await;
        let registry = registry(dir.path(), &cache, settings, Active::new()).await;
        Self { registry, dir }
    }

    pub fn hostile(&self) -> Arc<dyn Connector> {
        self.registry.engine("hostile").unwrap()
    }

    /// A connection to a guest that misbehaves as `data` says.
    pub async fn connect(&self, data: Value, call: &Call) -> Result<Box<dyn Connection>> {
        self.hostile().connect(&target(data), call).await
    }

    /// What comes of calling the function `at` of a guest that has `mode` there.
    pub async fn outcome(&self, mode: &str, at: &str, call: &Call) -> Result<()> {
        self.outcome_of(json!({"mode": mode, "at": at}), at, call)
            .await
    }

    /// As [`Self::outcome`], with more configuration.
    pub async fn outcome_of(&self, data: Value, at: &str, call: &Call) -> Result<()> {
        let outcome = async {
            let mut connection = self.connect(data, call).await?;
            use_function(&mut *connection, at, call).await
        };
        tokio::time::timeout(PATIENCE, outcome)
            .await
            .unwrap_or_else(|_| panic!("a guest with a fault at `{at}` outlasted its limit"))
    }

    /// The error of [`Self::outcome`].
    pub async fn failure(&self, mode: &str, at: &str) -> Error {
        self.outcome(mode, at, &soon()).await.expect_err("a fault")
    }
}

/// The plugins of `dir/plugins`, with compiled code in `cache`; those of `active` served before.
pub async fn registry(
    dir: &Path,
    cache: &Path,
    settings: PluginSettings,
    active: Active,
) -> Registry {
    let policy = FixedPolicy {
        egress: EgressRules {
            allow_loopback: true,
            ..EgressRules::default()
        },
        data_dir: dir.join("data"),
        file_roots: Vec::new(),
        reserved: Vec::new(),
    };
    let sources = Sources {
        cache_dir: CacheDir::ReadWrite(cache.to_owned()),
        active,
        ..Sources::of_dir(dir.join("plugins"), settings, Arc::new(policy))
    };
    Registry::load(sources).await.unwrap()
}

async fn use_function(connection: &mut dyn Connection, at: &str, call: &Call) -> Result<()> {
    let one = TableRef {
        schema: "main".into(),
        name: "one".into(),
    };
    let options = StatisticsOptions {
        columns: vec!["n".into()],
        max_rows: 10,
        max_time: Duration::from_secs(1),
    };
    match at {
        "open" | "cancel-key" => Ok(()),
        "check" => connection.check(call).await.map(drop),
        "tables" => connection.tables(call).await.map(drop),
        "describe-tables" => connection.describe_tables(&[one], call).await.map(drop),
        "statistics" => connection.statistics(&one, &options, call).await.map(drop),
        "begin-snapshot" => connection
            .begin_snapshot(Duration::from_secs(1), call)
            .await
            .map(drop),
        "end-snapshot" => connection.end_snapshot(call).await,
        _ => {
            connection.query(&statement(), call).await?;
            while connection.next(10, call).await?.is_some() {}
            connection.close(call).await
        }
    }
}

pub fn statement() -> Statement {
    Statement {
        text: "SELECT n FROM one".into(),
        id: "test".into(),
        timeout: Duration::from_secs(5),
    }
}

/// A target with its own id, so that no two tests share a pool.
pub fn target(data: Value) -> Target {
    let Value::Object(data) = data else {
        panic!("connection data are an object")
    };
    Target {
        id: uuid::Uuid::new_v4().to_string(),
        workspace: "default".into(),
        folder: "default".into(),
        name: "test".into(),
        connection_data: Arc::new(data),
        max_connections: 2,
    }
}

/// A call with time enough for anything that should succeed or fail by itself.
pub fn soon() -> Call {
    Call::new(PATIENCE, CancellationToken::new())
}

/// A call that ends soon.
pub fn brief() -> Call {
    Call::new(Duration::from_millis(200), CancellationToken::new())
}

/// The only row that a decent guest has.
pub async fn only_row(connection: &mut dyn Connection) -> Result<Batch> {
    connection.query(&statement(), &soon()).await?;
    let batch = connection.next(10, &soon()).await?.expect("one row");
    assert!(connection.next(10, &soon()).await?.is_none());
    connection.close(&soon()).await?;
    Ok(batch)
}

#[track_caller]
pub fn check_fault(error: &Error, code: Code, words: &str) {
    assert_eq!(error.code(), code, "{error}");
    assert!(
        error.message().contains(words),
        "`{error}` does not say `{words}`"
    );
}
