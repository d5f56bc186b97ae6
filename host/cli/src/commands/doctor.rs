//! `mindhost doctor`: checks the installation without changing it, and suggests fixes.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    os::unix::fs::MetadataExt,
    path::Path,
    process::ExitCode,
};

use mindhost_base::config::{Config, ConfigError, Switch};
use mindhost_core::{
    providers,
    secrets::{KeyError, SecretKeys, Source},
};
use mindhost_store::{DEFAULT_WORKSPACE, SchemaState, Store};
use mindhost_telemetry::{self as telemetry, LogError, Traces};

use super::{
    finding::Finding::{self, Bad, Good, Note},
    load_plugins, open, plugin,
};
use crate::commands::say::say;

pub(super) async fn run(config: Result<Config, ConfigError>) -> ExitCode {
    let mut findings = Vec::new();
    match &config {
        Err(error) => findings.push(Finding::bad(
            format!("settings: {error}"),
            "correct it; `mindhost settings` prints every setting with its default",
        )),
        Ok(config) => examine(config, &mut findings).await,
    }
    report(&findings)
}

fn report(findings: &[Finding]) -> ExitCode {
    let mut healthy = true;
    for finding in findings {
        match finding {
            Good(what) => say!("ok    {what}"),
            Note(what) => say!("note  {what}"),
            Bad { what, fix } => {
                healthy = false;
                say!("BAD   {what}\n      fix: {fix}");
            }
        }
    }
    match healthy {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn examine(config: &Config, findings: &mut Vec<Finding>) {
    findings.push(Good(format!(
        "settings: valid; the server would listen on {}",
        config.listen
    )));
    if let Err(error) = log_and_traces(config).await {
        findings.push(Finding::bad(
            format!("settings: {error}"),
            "see the settings of [log] and [telemetry]",
        ));
    }
    findings.extend(listeners(config));
    findings.push(match config.data_dir.exists() {
        false => future_data_dir(&config.data_dir),
        true => data_dir(&config.data_dir),
    });
    let has_store =
        config.database_url.get().is_some() || config.data_dir.join("mindhost.db").exists();
    match has_store {
        true => store(config, findings).await,
        false => {
            findings.push(loopback(config, None));
            findings.push(Note("store: will be made by the first start".to_owned()));
            findings.push(secret_key(config, None).await);
        }
    }
    if let Err(error) = load_plugins::checked(config) {
        findings.push(Finding::bad(
            format!("plugins: {error:#}"),
            "correct that setting; `serve` does not start with it",
        ));
    }
    findings.extend(load_plugins::examine_roots(config));
    findings.extend(plugin::examine(config).await);
}

/// Reads the settings of the log and of traces as `serve` does, without a logger.
async fn log_and_traces(config: &Config) -> Result<(), LogError> {
    telemetry::filter(&config.log.level)?;
    if let Some(traces) = Traces::start(&config.telemetry)? {
        traces.shut_down().await;
    }
    Ok(())
}

/// Whether the addresses of the server can be listened on.
fn listeners(config: &Config) -> Vec<Finding> {
    // Both are held until the end: they may be in the way of each other.
    let api = TcpListener::bind(config.listen);
    let metrics = config.metrics.listen;
    let metrics = metrics.map(|address| (address, TcpListener::bind(address)));
    // If the address of the API is free, this server does not run, so another program has that of the metrics.
    let may_run = is_in_use(&api);
    let mut findings: Vec<_> = listener("listen", config.listen, &api, true)
        .into_iter()
        .collect();
    if let Some((address, bound)) = &metrics {
        findings.extend(listener("metrics.listen", *address, bound, may_run));
    }
    findings
}

fn is_in_use(bound: &io::Result<TcpListener>) -> bool {
    matches!(bound, Err(error) if error.kind() == io::ErrorKind::AddrInUse)
}

/// What there is to say of one address. `may_be_own`: the program that has it may be this server.
fn listener(
    setting: &str,
    address: SocketAddr,
    bound: &io::Result<TcpListener>,
    may_be_own: bool,
) -> Option<Finding> {
    let error = bound.as_ref().err()?;
    if may_be_own && is_in_use(bound) {
        return Some(Note(format!(
            "{setting}: a program listens on {address}; if it is not this server, set another address"
        )));
    }
    Some(Finding::bad(
        format!("{setting}: cannot listen on {address}: {error}"),
        "set an address of this machine, and a port that is free and that its user may open",
    ))
}

/// Whether the first start can make the data directory.
fn future_data_dir(path: &Path) -> Finding {
    let shown = path.display();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parent = absolute.ancestors().find(|parent| parent.exists());
    match parent {
        Some(parent) if !parent.is_dir() || !is_writable(parent) => Finding::bad(
            format!(
                "data directory: {shown} cannot be made in {}",
                parent.display()
            ),
            "make it, owned by the user that runs the server, or set another data_dir",
        ),
        _ => Note(format!(
            "data directory: {shown} will be made by the first start"
        )),
    }
}

fn is_writable(dir: &Path) -> bool {
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(dir, access).is_ok()
}

fn data_dir(path: &Path) -> Finding {
    let shown = path.display();
    let meta = match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => meta,
        Ok(_) => {
            return Finding::bad(
                format!("data directory: {shown} is a file"),
                "set data_dir to a directory",
            );
        }
        Err(error) => {
            return Finding::bad(
                format!("data directory: {shown}: {error}"),
                "give its owner the right to enter it",
            );
        }
    };
    if !is_writable(path) {
        let fix = match meta.uid() == rustix::process::geteuid().as_raw() {
            true => format!("chmod 700 {shown}, unless its file system can only be read"),
            false => format!(
                "chown it to the user that runs the server (it belongs to user id {})",
                meta.uid()
            ),
        };
        return Finding::bad(format!("data directory: {shown} cannot be written"), fix);
    }
    if meta.mode() & 0o077 != 0 {
        return Finding::bad(
            format!("data directory: others may read {shown}; it holds keys"),
            format!("chmod 700 {shown}"),
        );
    }
    Good(format!("data directory: {shown} is writable and private"))
}

async fn store(config: &Config, findings: &mut Vec<Finding>) {
    let store = match open::reached(config).await {
        Ok(store) => store,
        Err(error) => {
            findings.push(Finding::bad(
                format!("store: {error}"),
                match config.database_url.get() {
                    Some(_) => {
                        "check that the database runs and that database_url (user, password, host) is right"
                    }
                    None => {
                        "give the file and its directory to the user that runs the server, or restore the file from a backup"
                    }
                },
            ));
            return;
        }
    };
    let migrated = match store.schema_state().await {
        Ok(SchemaState::UpToDate) => {
            findings.push(Good("store: reachable and up to date".to_owned()));
            true
        }
        Ok(SchemaState::Behind) => {
            findings.push(Note(
                "store: empty or older than this program; the next start of `serve` brings it up to date"
                    .to_owned(),
            ));
            false
        }
        Ok(SchemaState::Ahead) => {
            findings.push(Finding::bad(
                "store: newer than this program",
                "run the version that it was last used with, or a later one",
            ));
            false
        }
        Err(error) => {
            findings.push(Finding::bad(
                format!("store: {error}"),
                "check that its user may read and write the tables",
            ));
            false
        }
    };
    if migrated {
        findings.push(loopback(config, store.workspace_count().await.ok()));
        findings.push(default_provider(&store).await);
    }
    findings.push(secret_key(config, migrated.then_some(&store)).await);
    store.close().await;
}

/// Whether plugins may reach this machine itself. `workspaces` is how many there are, if there is a store.
fn loopback(config: &Config, workspaces: Option<i64>) -> Finding {
    let several = workspaces
        .is_some_and(|count| count > 1)
        .then_some("there are several workspaces");
    let why = load_plugins::why_remote(config, config.listen.ip()).or(several);
    match (config.egress.allow_loopback, why) {
        (Switch::On, _) => Note(
            "loopback: plugins may reach every service of this machine (egress.allow_loopback = true)"
                .to_owned(),
        ),
        (Switch::Off, _) => Good("loopback: plugins may not reach this machine itself".to_owned()),
        (Switch::Auto, Some(why)) => Note(format!(
            "loopback: plugins may not reach this machine itself: egress.allow_loopback is \"auto\", and {why}; set \
             egress.allow_loopback = true to let them"
        )),
        (Switch::Auto, None) => Note(
            "loopback: plugins may reach this machine itself (egress.allow_loopback is \"auto\") until a second workspace \
             is made, or a request comes through a proxy or to another name; set it to true or false if that is wrong"
                .to_owned(),
        ),
    }
}

/// Whether the secret key can be read, and whether it is that of `store`, where there is one to ask.
async fn secret_key(config: &Config, store: Option<&Store>) -> Finding {
    let found = async {
        let source = Source::of(config)?;
        let is_there = match store {
            Some(store) => SecretKeys::verify(&source, store).await?,
            None => !source.read().await?.is_empty(),
        };
        Ok::<_, KeyError>((source, is_there))
    };
    let (source, is_there) = match found.await {
        Ok(found) => found,
        Err(error) => {
            let fix = match &error {
                KeyError::AlreadyUpgraded { .. } => "look for who else can write the store",
                KeyError::Several | KeyError::Command(_) => "see the settings of [secrets]",
                _ => "restore the file from your backup of it",
            };
            return Finding::bad(format!("secret key: {error}"), fix);
        }
    };
    let shown = source.shown();
    let is_private = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 == 0);
    match (is_there, store) {
        (true, _) if !source.file().is_none_or(is_private) => Finding::bad(
            format!("secret key: others may read {shown}"),
            format!("chmod 600 {shown}"),
        ),
        (true, Some(_)) => Good(format!("secret key: {shown} is that of the store")),
        (true, None) => Good(format!("secret key: {shown} can be read")),
        (false, _) => Note(format!(
            "secret key: {shown} will be made by the first start"
        )),
    }
}

async fn default_provider(store: &Store) -> Finding {
    let found = async {
        match store.workspace_id(DEFAULT_WORKSPACE).await? {
            Some(workspace) => providers::default_of(store, &workspace).await,
            None => Ok(None),
        }
    };
    match found.await {
        Ok(Some(provider)) => Good(format!(
            "default model provider: '{}' (plugin {})",
            provider.name, provider.plugin
        )),
        Ok(None) => {
            Note("default model provider: 'offline' will be made by the first start".to_owned())
        }
        Err(error) => Finding::bad(
            format!("default model provider: {error}"),
            "see the finding on the store",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with an installation that has never started, under these settings. That it has no directory of
    /// plugins is left out.
    async fn wrong(set: &[(&str, &str)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data").display().to_string();
        let own = [
            ("MINDHOST_LISTEN", "127.0.0.1:0"),
            ("MINDHOST_DATA_DIR", data_dir.as_str()),
            ("MINDHOST_PLUGINS_DIR", "/nothing"),
        ];
        let vars = own.iter().chain(set);
        let vars = vars.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = Config::from_env(vars).unwrap();
        let mut findings = Vec::new();
        examine(&config, &mut findings).await;
        let bad = findings.into_iter().filter_map(|finding| match finding {
            Bad { what, .. } => Some(what),
            Good(_) | Note(_) => None,
        });
        bad.filter(|what| !what.starts_with("plugins: there is no directory"))
            .collect()
    }

    #[tokio::test]
    async fn settings_with_which_serve_would_not_start_are_bad() {
        assert_eq!(wrong(&[]).await, Vec::<String>::new());
        for (name, value, expected) in [
            ("LOG__LEVEL", "inof", "settings: log.level: "),
            (
                "TELEMETRY__OTLP_ENDPOINT",
                "https://collector.example",
                "settings: telemetry.otlp_endpoint: ",
            ),
            (
                "LISTEN",
                "192.0.2.1:8080",
                "listen: cannot listen on 192.0.2.1:8080",
            ),
            (
                "DATA_DIR",
                "/dev/null/data",
                "data directory: /dev/null/data cannot be made in /dev/null",
            ),
            (
                "SECRETS__KEY",
                "short",
                "secret key: secrets.key is not a secret key",
            ),
            (
                "SECRETS__KEY_COMMAND",
                "false",
                "secret key: secrets.key_command failed",
            ),
            (
                "EGRESS__ROOT_CERTIFICATES",
                "/nothing.pem",
                "plugins: egress.root_certificates is /nothing.pem",
            ),
        ] {
            let found = wrong(&[(&format!("MINDHOST_{name}"), value)]).await;
            let is_it = |what: &String| what.starts_with(expected);
            assert!(found.iter().any(is_it), "{expected}: {found:?}");
        }
    }

    #[tokio::test]
    async fn root_of_files_that_no_plugin_can_read_is_bad() {
        let dir = tempfile::tempdir().unwrap();
        let (here, gone) = (dir.path().display(), dir.path().join("gone"));
        let roots = format!("{here}, {}", gone.display());
        let found = wrong(&[("MINDHOST_FILES__ROOTS", &roots)]).await;
        let expected = format!("files.roots: {} is no directory", gone.display());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&expected), "{found:?}");
    }

    #[tokio::test]
    async fn address_in_use_is_bad_unless_this_server_may_have_it() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap().to_string();
        assert!(wrong(&[("MINDHOST_LISTEN", &address)]).await.is_empty());
        let found = wrong(&[("MINDHOST_METRICS__LISTEN", &address)]).await;
        let expected = format!("metrics.listen: cannot listen on {address}");
        assert!(found.iter().any(|what| what.starts_with(&expected)));
    }
}
