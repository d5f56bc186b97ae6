//! `mindhost doctor`: checks the installation without changing it, and suggests fixes.

use std::{fs, os::unix::fs::MetadataExt, path::Path, process::ExitCode};

use mindhost_base::config::{Config, ConfigError, Switch};
use mindhost_core::{
    providers,
    secrets::{KeyError, SecretKeys, Source},
};
use mindhost_store::{DEFAULT_WORKSPACE, SchemaState, Store};

use super::{
    finding::Finding::{self, Bad, Good, Note},
    load_plugins, plugin,
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
    let is_new = !config.data_dir.exists();
    findings.push(match is_new {
        true => Note(format!(
            "data directory: {} will be made by the first start",
            config.data_dir.display()
        )),
        false => data_dir(&config.data_dir),
    });
    let has_store =
        config.database_url.get().is_some() || config.data_dir.join("mindhost.db").exists();
    match has_store {
        true => store(config, findings).await,
        false => {
            findings.push(loopback(config, None));
            findings.push(Note("store: will be made by the first start".to_owned()));
        }
    }
    findings.extend(plugin::examine(config).await);
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
    if rustix::fs::access(
        path,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    )
    .is_err()
    {
        return Finding::bad(
            format!("data directory: {shown} cannot be written"),
            format!(
                "chown it to the user that runs the server (it belongs to user id {})",
                meta.uid()
            ),
        );
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
    let store = match Store::open(config).await {
        Ok(store) => store,
        Err(error) => {
            findings.push(Finding::bad(
                format!("store: {error}"),
                "check that the database runs and that database_url (user, password, host) is right",
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
                "store: older than this program; the next start of `serve` brings it up to date"
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
        findings.push(secret_key(config, &store).await);
        findings.push(default_provider(&store).await);
    }
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

async fn secret_key(config: &Config, store: &Store) -> Finding {
    let found = async {
        let source = Source::of(config)?;
        let fits = SecretKeys::verify(&source, store).await?;
        Ok::<_, KeyError>((source, fits))
    };
    let (source, fits) = match found.await {
        Ok(found) => found,
        Err(error) => {
            let fix = match &error {
                KeyError::AlreadyUpgraded { .. } => "look for who else can write the store",
                _ => "restore the file from your backup of it",
            };
            return Finding::bad(format!("secret key: {error}"), fix);
        }
    };
    let shown = source.shown();
    let is_private = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 == 0);
    match fits {
        true if source.file().is_none_or(is_private) => {
            Good(format!("secret key: {shown} is that of the store"))
        }
        true => Finding::bad(
            format!("secret key: others may read {shown}"),
            format!("chmod 600 {shown}"),
        ),
        false => Note(format!(
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
