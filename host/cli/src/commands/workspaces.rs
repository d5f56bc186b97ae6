//! `mindhost workspaces …`

use clap::Subcommand;
use mindhost_base::config::Config;
use mindhost_core::{audit, workspaces};

use super::open::{self, OpenStore};
use crate::commands::say::say;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a workspace.
    ///
    /// Make its first key with `keys create --workspace <name> --role admin`.
    Create {
        /// Its name.
        name: String,
    },
    /// List the workspaces.
    List,
    /// Delete a workspace that has no datasources and no Minds.
    ///
    /// Its keys and conversations are deleted with it.
    Delete {
        /// Its name.
        name: String,
    },
}

pub(super) async fn run(command: Command, config: &Config) -> anyhow::Result<()> {
    let opened = open::store(config).await?;
    match command {
        Command::Create { name } => {
            let made = workspaces::create(&opened.store, &config.data_dir, &name).await?;
            say!("{}  {}  {}", made.id, made.name, made.files_directory);
            note(&opened, "mindhost workspaces create", &name).await?;
        }
        Command::List => {
            for workspace in workspaces::list(&opened.store).await? {
                let (id, name) = (workspace.id, workspace.name);
                say!("{id}  {name}  {}", workspace.files_directory);
            }
        }
        Command::Delete { name } => {
            workspaces::delete(&opened.store, &name).await?;
            say!("deleted; servers that run notice within seconds");
            note(&opened, "mindhost workspaces delete", &name).await?;
        }
    }
    opened.store.close().await;
    Ok(())
}

/// Audited in the workspace `default`, which cannot be deleted.
async fn note(opened: &OpenStore, action: &str, name: &str) -> anyhow::Result<()> {
    let resource = format!("/workspaces/{name}");
    audit::record(&opened.store, &opened.workspace, action, resource, None).await?;
    Ok(())
}
