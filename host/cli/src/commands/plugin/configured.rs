//! A plugin file with a configuration, for the commands that try a plugin by itself.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail, ensure};
use mindhost_base::{
    Result,
    config::{Compiler, Config, PluginSettings, user_cache_dir},
};
use mindhost_conformance::config::target;
use mindhost_core::{connection_data::Rules, secrets::Source};
use mindhost_plugin_api::{Dialect, Manifest, TableRef, Target, manifest::FileKind};
use mindhost_plugins::record::Tape;
use mindhost_runtime::{
    package::Package,
    standalone::{self, Cache, StandalonePlugin, grant_files},
};
use mindhost_sql::{GuardedStatement, ScopeDatasource, ScopeTable, guard};
use serde_json::{Map, Value};

use super::compiled;
use crate::commands::load_plugins;

/// A limit on instances that suffices for one author and saves address space.
const INSTANCES: u32 = 48;

/// The parsed and checked arguments of a command.
pub(super) struct PluginSetup {
    pub package: Package,
    /// In the form that the plugin gets, with absolute paths.
    pub config: mindhost_conformance::Config,
    /// The directories of the configured files.
    pub roots: Vec<PathBuf>,
    pub settings: PluginSettings,
    /// The cache of a server on this machine.
    cache_of_host: Option<Cache>,
}

impl PluginSetup {
    /// Reads the plugin and its configuration, and checks the configuration against the plugin's schema.
    pub async fn read(file: &Path, config: Option<&str>) -> anyhow::Result<Self> {
        let own = Config::load()?;
        let package = Package::read(file, own.plugins.limits.max_package_bytes)
            .with_context(|| file.display().to_string())?;
        let keys = Source::read_file(&own).await?;
        let (config, roots) = configuration(&package, config)?;
        Ok(Self {
            package,
            config,
            roots,
            cache_of_host: keys
                .first()
                .map(|key| (own.cache_dir(), key.derive(load_plugins::CACHE))),
            settings: PluginSettings {
                max_instances: own.plugins.limits.max_instances.min(INSTANCES),
                ..own.plugins.limits
            },
        })
    }

    /// Loads the plugin, with compiled code from the cache of the host or of the user.
    pub async fn load(&self) -> anyhow::Result<StandalonePlugin> {
        let cache = match (self.cache_of_host.clone(), self.settings.compiler) {
            (None, Compiler::Cranelift) => compiled::cache(user_cache_dir()),
            // Winch takes little time, and `plugin dev` compiles something else each time.
            (of_host, _) => of_host,
        };
        let loading = StandalonePlugin::load(
            self.package.clone(),
            self.settings.clone(),
            self.roots.clone(),
            cache,
        );
        Ok(loading.await?)
    }

    /// How often the component is compiled, for somebody who waits for it.
    pub fn promise(&self) -> &'static str {
        match (&self.cache_of_host, self.settings.compiler) {
            (None, Compiler::Winch) => "",
            _ => "; once for each file, if its code can be kept",
        }
    }

    /// A new recording of this plugin.
    pub fn tape(&self, file: &Path, rows: bool) -> anyhow::Result<Arc<Tape>> {
        let tape = Tape::create(file, &self.package.manifest, &self.package.digest, rows);
        Ok(Arc::new(tape.with_context(|| file.display().to_string())?))
    }

    /// The target of the plugin.
    pub fn target(&self) -> Target {
        target(self.config.connection_data.clone())
    }

    /// A statement over these tables of a scanner in the form that a server sends, with the schema of each table.
    pub fn guarded(&self, sql: &str, tables: Vec<TableRef>) -> Result<GuardedStatement> {
        let tables = tables.into_iter();
        let tables = tables.map(|table| ScopeTable::new(table, &[])).collect();
        let name = self.target().name;
        guard(
            sql,
            &ScopeDatasource::new(name, Dialect::Datafusion, tables).into(),
        )
    }

    /// The grants of the configuration, one per line.
    pub fn grants(&self) -> Vec<String> {
        let mut told =
            standalone::grant_summary(&self.package.manifest, &self.config.connection_data);
        let roots = self.roots.iter();
        told.extend(roots.map(|root| {
            format!(
                "(files below {} are granted for this run alone)",
                root.display()
            )
        }));
        told
    }
}

fn configuration(
    package: &Package,
    given: Option<&str>,
) -> anyhow::Result<(mindhost_conformance::Config, Vec<PathBuf>)> {
    let mut config = match given {
        Some(given) => mindhost_conformance::Config::read(given)?,
        None => mindhost_conformance::Config::default(),
    };
    // Paths in a file are relative to that file.
    let base = match given {
        Some(given) if !given.trim_start().starts_with('{') => Path::new(given)
            .parent()
            .unwrap_or(Path::new(""))
            .to_owned(),
        _ => PathBuf::new(),
    };
    let roots = grant_files(&package.manifest, &mut config.connection_data, &base);
    Rules::new(&package.manifest.connection_data)
        .check(&config.connection_data)
        .with_context(|| misfit(given, &config.connection_data))?;
    check_files(&package.manifest, &config)?;
    Ok((config, roots))
}

/// What to say of connection data that the plugin's schema refuses.
fn misfit(given: Option<&str>, data: &Map<String, Value>) -> String {
    let Some(given) = given else {
        return "the plugin needs connection data, which --config names".to_owned();
    };
    let name = match given.trim_start().starts_with('{') {
        true => "--config",
        false => given,
    };
    let is_open =
        |value: &Value| matches!(value.as_str(), Some("{url}" | "{port}" | "{certificate}"));
    match data.values().any(is_open) {
        // As the templates have it: the address of the test server changes with each run.
        true => format!(
            "{name} has a place for the address of the project's own server, which that server fills in: run `python3 \
             server.py mindhost plugin … --config \"$(cat test.json)\"`"
        ),
        false => format!("{name} does not fit the plugin's schema of connection_data"),
    }
}

/// Checks that the configured files are there, because a plugin cannot name the line of the configuration.
fn check_files(manifest: &Manifest, config: &mindhost_conformance::Config) -> anyhow::Result<()> {
    for rule in &manifest.files {
        let path = config.connection_data.get(&rule.path);
        let Some(path) = path.and_then(Value::as_str).filter(|path| !path.is_empty()) else {
            continue;
        };
        let (is_kind, kind) = match (std::fs::metadata(path), rule.kind) {
            (Ok(found), FileKind::File) => (found.is_file(), "file"),
            (Ok(found), FileKind::Directory) => (found.is_dir(), "directory"),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => bail!(
                "{}: `{}` names {path}, which cannot be read: {error}",
                config.place(&rule.path),
                rule.path
            ),
            (Err(_), FileKind::File) => (false, "file"),
            (Err(_), FileKind::Directory) => (false, "directory"),
        };
        ensure!(
            is_kind,
            "{}: `{}` names {path}, and there is no such {kind}; make it, or correct the path: one that is relative \
             starts at the folder of the configuration file, or at the working directory for JSON on the command line",
            config.place(&rule.path),
            rule.path
        );
    }
    Ok(())
}
