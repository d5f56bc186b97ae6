//! `mindhost serve`

use std::{fs, io, io::IsTerminal, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use mindhost_api as api;
use mindhost_api::AppState;
use mindhost_base::{
    config::{Config, Switch},
    owner_only,
};
use mindhost_core::{
    auth, rekeying,
    secrets::{self, SecretKeys, Source},
};
use mindhost_plugins::registry::Installed;
use mindhost_runtime::policy::Locality;
use mindhost_telemetry as telemetry;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::{Resource, Rlimit, Signal, getrlimit, setrlimit},
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    time::timeout,
};

use super::{
    load_plugins,
    open::{self, OpenStore},
};
use crate::{allocator, commands::say::say};

/// How long stopped work may take to store its end.
const HALT: Duration = Duration::from_secs(2);

pub(super) async fn run(config: Config) -> anyhow::Result<()> {
    run_with(config, |_| Ok(())).await
}

/// Serves, together with a task that starts with the server.
pub(super) async fn run_with(
    config: Config,
    beside: impl FnOnce(&AppState) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let traces = telemetry::start(&config.log, &config.telemetry)?;
    let served = serve(config, beside).await;
    if let Some(traces) = traces {
        traces.shut_down().await;
    }
    served
}

/// Locks a data directory whose store is a file in it: two servers would not see each other's changes. The lock ends
/// with the process.
fn lock_data_dir(dir: &Path) -> anyhow::Result<fs::File> {
    owner_only::make_dir(dir)
        .with_context(|| format!("cannot make the data directory {}", dir.display()))?;
    let path = dir.join("server.lock");
    let file =
        fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => anyhow::bail!(
            "another server uses the data directory {}; stop it, give this one another data_dir, or let both use one PostgreSQL (database_url)",
            dir.display()
        ),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

async fn serve(
    config: Config,
    beside: impl FnOnce(&AppState) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let open_files = allow_open_files();
    outlive_large_files()?;
    outlive_hang_ups()?;
    let config = Arc::new(config);
    // Settings that are wrong stop the start before it writes anything.
    load_plugins::checked(&config)?;
    load_plugins::trust(&config)?;
    let source = Source::of(&config)?;
    let alone = match config.database_url.get() {
        None => Some(lock_data_dir(&config.data_dir)?),
        Some(_) => None,
    };
    let opened = open::store(&config).await?;
    let keys = rekeying::open(&source, &opened.store).await?;
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; is another server running there?",
            config.listen
        )
    })?;
    let address = listener.local_addr()?;
    let metrics = match config.metrics.listen {
        Some(address) => Some(listen_for_metrics(address).await?),
        None => None,
    };
    first_key(&config, &opened, &keys).await?;
    let own = match &metrics {
        Some(metrics) => vec![address, metrics.local_addr()?],
        None => vec![address],
    };
    let sole = opened.store.workspace_count().await? <= 1;
    let why_remote = load_plugins::why_remote(&config, address.ip());
    let locality = Arc::new(Locality::new(
        config.egress.allow_loopback == Switch::Auto && why_remote.is_none(),
        sole,
    ));
    if let (Switch::Auto, Some(why)) = (config.egress.allow_loopback, why_remote) {
        tracing::info!(
            why,
            "plugins may not reach this machine itself (egress.allow_loopback is \"auto\"); set it to true to let them"
        );
    }
    let registry =
        Arc::new(load_plugins::load(&config, &opened.store, &keys, &own, &locality).await?);
    registry.follow();
    warn_of_missing_plugins(&config, &registry.installed());
    let state = AppState::new(
        config.clone(),
        opened.store.clone(),
        keys.clone(),
        registry,
        &opened.workspace,
        locality,
    )
    .await?;
    let tidying = state.datasources.remove_abandoned_uploads(alone.is_some());
    state.shutdown.tasks.spawn(tidying);
    let following = secrets::watch(
        keys,
        source,
        opened.store,
        name(address),
        state.shutdown.ending.clone(),
    );
    state.shutdown.tasks.spawn(following);
    let freeing = allocator::return_freed_memory(state.shutdown.ending.clone());
    state.shutdown.tasks.spawn(freeing);
    beside(&state)?;
    let url = format!("http://{address}");
    tracing::info!(url, "listening");
    say!("Mindhost listens on {url}");
    if let Some(metrics) = metrics {
        let ending = state.shutdown.ending.clone().cancelled_owned();
        let served = api::serve_metrics(metrics, state.clone(), ending);
        state.shutdown.tasks.spawn(served);
    }
    until_signal(listener, state, open_files).await
}

fn warn_of_missing_plugins(config: &Config, installed: &[Installed]) {
    if let Some(advice) = without_plugins(installed) {
        let dir = config.plugins_dir.display();
        tracing::warn!(plugins_dir = %dir, "{advice}");
        return;
    }
    for plugin in load_plugins::limits_of_missing_plugins(config, installed) {
        tracing::warn!(
            plugin,
            "plugins.limits has a section for a plugin that is not installed; is its name right?"
        );
    }
}

/// What to do about a server that can reach no database and no model. A file that cannot be used is no plugin.
fn without_plugins(installed: &[Installed]) -> Option<&'static str> {
    let has_some = installed.iter().any(|one| one.about.is_some());
    (!has_some).then_some(
        "no plugin is installed, so there is no database and no model to use; put .wasm files into plugins_dir and \
         start again, or install one with `mindhost plugin install FILE`",
    )
}

/// A label of this server: machine, address, process.
fn name(address: std::net::SocketAddr) -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let process = std::process::id();
    format!("{} {address}, process {process}", machine.trim())
        .trim_start()
        .to_owned()
}

async fn listen_for_metrics(address: std::net::SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} (metrics.listen); is another server running there?")
    })?;
    tracing::info!(address = %listener.local_addr()?, "metrics are served without a key");
    Ok(listener)
}

/// Raises the soft limit on open files to the hard limit. A stream has two connections, to its client and to its model;
/// the default soft limit is for programs that need few. Returns the limit.
fn allow_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "could not raise the number of files that may be open");
    }
    // `None` means unlimited.
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// A write beyond the largest file that the process may make (`ulimit -f`) ends the process by default. With a handler
/// it fails as on a full disk, and the handler stays when what waits for the signal is dropped.
fn outlive_large_files() -> anyhow::Result<()> {
    drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?);
    Ok(())
}

/// A hang-up ends a process by default. Servers of this kind are sent one to open their log again, or when a terminal is
/// closed; this one logs to where it was started, and ends by SIGTERM or SIGINT alone.
fn outlive_hang_ups() -> anyhow::Result<()> {
    drop(signal(SignalKind::hangup())?);
    Ok(())
}

/// Serves until a signal arrives, then lets work in progress end within a time limit.
async fn until_signal(
    listener: TcpListener,
    state: AppState,
    open_files: u64,
) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let token = state.shutdown.ending.clone();
    let ending = token.clone().cancelled_owned();
    let server = api::serve(listener, state.clone(), open_files, ending);
    tokio::pin!(server);
    let delay = tokio::select! {
        () = &mut server => return Ok(()),
        _ = terminate.recv() => state.config.server.shutdown_delay,
        // A person at a terminal waits for no load balancer.
        _ = interrupt.recv() => Duration::ZERO,
    };
    state.shutdown.leaving.cancel();
    if !delay.is_zero() {
        tracing::info!(
            "asked to end: not ready any more, and serving until server.shutdown_delay is over"
        );
        tokio::select! {
            () = &mut server => return Ok(()),
            () = tokio::time::sleep(delay) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    tracing::info!("ending: no new connections; what is in progress may finish");
    token.cancel();
    let grace = state.config.server.shutdown_grace;
    // Answers and exports finish or are stopped here; nothing else tells them.
    state.shutdown.tasks.close();
    let ended = async {
        server.await;
        stopped(&state).await;
    };
    tokio::select! {
        () = ended => {
            tracing::info!("ended");
            return Ok(());
        }
        () = tokio::time::sleep(grace) => {
            tracing::warn!("the time to finish is over (server.shutdown_grace): stopping what still runs");
        }
        _ = terminate.recv() => tracing::warn!("asked again to end: stopping what still runs"),
        _ = interrupt.recv() => tracing::warn!("asked again to end: stopping what still runs"),
    }
    state.shutdown.halt.cancel();
    if timeout(HALT, stopped(&state)).await.is_err() {
        tracing::warn!("some work did not stop in time; the next start finds what it left");
    }
    Ok(())
}

/// Waits for background work, for cancellations in progress, and for writes.
async fn stopped(state: &AppState) {
    state.shutdown.tasks.wait().await;
    state.registry.drain().await;
    state.auth.close().await;
    state.audit.close().await;
    state.usage.write().await;
    state.plugin_usage.write().await;
    state.store.close().await;
}

/// Creates a key at the first start: printed on a terminal, else written to a file for the owner of the process.
async fn first_key(config: &Config, opened: &OpenStore, keys: &SecretKeys) -> anyhow::Result<()> {
    if config.admin_key.get().is_some() {
        return Ok(());
    }
    let path = config.data_dir.join("admin.key");
    let on_screen = io::stdout().is_terminal();
    let made = auth::keys::first_key(
        &opened.store,
        keys,
        &opened.workspace,
        |text| match on_screen {
            true => {
                say!("Your key, shown this once: {text}");
                Ok(())
            }
            false => leave_in_file(&path, text),
        },
    )
    .await?;
    if made && !on_screen {
        tracing::info!(path = %path.display(), "made the first key; it is in this file");
    }
    Ok(())
}

fn leave_in_file(path: &Path, text: &str) -> io::Result<()> {
    // An existing file is from an unfinished start; its key never became valid.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Some(parent) = path.parent() {
        owner_only::make_dir(parent)?;
    }
    owner_only::write(path, format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use mindhost_plugins::registry::Registry;

    use super::*;

    /// Without a handler the signal would end this process, and all tests with it.
    #[tokio::test]
    async fn file_beyond_its_limit_does_not_end_the_process() {
        outlive_large_files().unwrap();
        rustix::process::kill_process(rustix::process::getpid(), Signal::XFSZ).unwrap();
    }

    #[tokio::test]
    async fn hang_up_does_not_end_the_process() {
        outlive_hang_ups().unwrap();
        rustix::process::kill_process(rustix::process::getpid(), Signal::HUP).unwrap();
    }

    #[test]
    fn start_without_plugins_says_where_they_belong() {
        let advice = without_plugins(&Registry::default().installed()).unwrap();
        assert!(
            advice.contains("plugins_dir") && advice.contains("mindhost plugin install"),
            "{advice}"
        );
    }
}
