//! Workspaces: each has its own keys, datasources, providers, Minds and conversations, and sees nothing of another.

mod store;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    auth::{self, Auth, Caller},
    providers,
};
use mindhost_base::{
    error::{Code, Error, Result},
    names,
};
use mindhost_runtime::policy::Locality;
use mindhost_store::{DEFAULT_WORKSPACE, Store};

/// How often a host checks whether another host or the command line created or deleted a workspace.
const LOOK: Duration = Duration::from_secs(5);
/// Requests that just ended are noted late, so such a note may come between the steps of a deletion. Then it begins again.
const DELETE_ATTEMPTS: u32 = 5;

/// A workspace.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Workspace {
    /// Id.
    pub id: String,
    /// Unique in the store; `[A-Za-z][A-Za-z0-9_-]{0,63}`.
    pub name: String,
    /// The directory of its files, below the data directory. Not `files/<name>` if a workspace of that name was deleted
    /// before, whose files stay, or if that directory already had files.
    pub files_directory: String,
    /// When it was made.
    pub created_at: jiff::Timestamp,
}

/// Creates, lists and deletes workspaces.
#[derive(Clone)]
pub struct Workspaces {
    store: Store,
    auth: Arc<Auth>,
    locality: Arc<Locality>,
    data_dir: PathBuf,
}

impl Workspaces {
    /// `locality` gets whether there is at most one workspace.
    pub fn new(store: Store, auth: Arc<Auth>, locality: Arc<Locality>, data_dir: PathBuf) -> Self {
        Self {
            store,
            auth,
            locality,
            data_dir,
        }
    }

    /// Watches for workspaces that are created or deleted elsewhere, until `ending`.
    pub fn watch(&self, tasks: &TaskTracker, ending: CancellationToken) {
        let this = self.clone();
        tasks.spawn(async move {
            let look = async {
                loop {
                    tokio::time::sleep(LOOK).await;
                    if let Err(error) = this.look().await {
                        tracing::warn!(cause = ?std::error::Error::source(&error), "cannot count the workspaces");
                    }
                }
            };
            ending.run_until_cancelled(look).await
        });
    }

    /// Every workspace, by name.
    ///
    /// # Errors
    /// `forbidden` below the role `operator`, and for a key that is limited to some Minds.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Workspace>> {
        caller.require_host("list workspaces")?;
        store::list(&self.store).await
    }

    /// The workspace of that name.
    ///
    /// # Errors
    /// `forbidden`, `workspace_not_found`
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Workspace> {
        caller.require_host("look into workspaces")?;
        find(&self.store, name).await
    }

    /// Creates a workspace.
    ///
    /// # Errors
    /// `forbidden`, `invalid_parameter`, `name_taken`
    pub async fn create(&self, caller: &Caller, name: &str) -> Result<Workspace> {
        caller.require_host("create a workspace")?;
        // Before it exists, so that it is never treated as the only one.
        self.locality.set_sole_workspace(false);
        let made = make(&self.store, &self.data_dir, Some(caller), name).await;
        self.look().await?;
        made
    }

    /// Deletes a workspace with its keys, conversations and providers.
    ///
    /// # Errors
    /// `forbidden`, `workspace_not_found`; `resource_in_use` while it has datasources or Minds; `wrong_state` for
    /// the workspace `default` and the caller's own.
    pub async fn delete(&self, caller: &Caller, name: &str) -> Result<()> {
        caller.require_host("delete a workspace")?;
        let workspace = find(&self.store, name).await?;
        if workspace.id == *caller.workspace {
            let message = "this is the workspace of your key; use a key of another one";
            return Err(Error::new(Code::WrongState, message));
        }
        remove(&self.store, Some(caller), name).await?;
        self.auth.forget();
        self.look().await
    }

    async fn look(&self) -> Result<()> {
        let sole = self.store.workspace_count().await? <= 1;
        self.locality.set_sole_workspace(sole);
        Ok(())
    }
}

/// Every workspace, by name, for the command line, which has no caller.
///
/// # Errors
/// When the store fails.
pub async fn list(store: &Store) -> Result<Vec<Workspace>> {
    store::list(store).await
}

/// The workspace of that name.
///
/// # Errors
/// `workspace_not_found`
pub async fn find(store: &Store, name: &str) -> Result<Workspace> {
    store::by_name(store, name).await?.ok_or_else(|| {
        Error::new(
            Code::WorkspaceNotFound,
            format!("there is no workspace '{name}'; `GET /workspaces` lists those there are"),
        )
    })
}

/// Creates a workspace with the built-in provider.
///
/// # Errors
/// `invalid_parameter`, `name_taken`
pub async fn create(store: &Store, data_dir: &Path, name: &str) -> Result<Workspace> {
    make(store, data_dir, None, name).await
}

async fn make(
    store: &Store,
    data_dir: &Path,
    by: Option<&Caller>,
    name: &str,
) -> Result<Workspace> {
    names::check("workspace", name)?;
    let has_files = has_files(&data_dir.join("files").join(name));
    let mut tx = auth::begin(store, by).await?;
    let workspace = store::insert(&mut tx, name, has_files).await?;
    tx.commit().await?;
    providers::ensure_builtin(store, &workspace.id).await?;
    Ok(workspace)
}

/// Whether a directory has entries. An unreadable one counts as not empty.
fn has_files(directory: &Path) -> bool {
    match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => {
            let directory = directory.display();
            tracing::warn!(%directory, %error, "cannot look for files of an earlier workspace");
            true
        }
    }
}

/// Deletes a workspace with its keys, conversations and providers. Its files stay, and no other workspace ever gets
/// them.
///
/// # Errors
/// `workspace_not_found`; `resource_in_use` while it has datasources or Minds; `wrong_state` for `default`.
pub async fn delete(store: &Store, name: &str) -> Result<()> {
    remove(store, None, name).await
}

async fn remove(store: &Store, by: Option<&Caller>, name: &str) -> Result<()> {
    if name == DEFAULT_WORKSPACE {
        let message =
            "the workspace 'default' is where the first key belongs; it cannot be deleted";
        return Err(Error::new(Code::WrongState, message));
    }
    let workspace = find(store, name).await?;
    for _ in 0..DELETE_ATTEMPTS {
        if store::delete(auth::begin(store, by).await?, &workspace).await? {
            return Ok(());
        }
    }
    Err(Error::new(
        Code::InUse,
        "the workspace is in use; revoke its keys, then try again",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        auth::{
            Role,
            keys::{self, NewKey},
        },
        secrets::{SecretKey, SecretKeys},
    };

    #[tokio::test]
    async fn delete_removes_workspace_with_its_keys_only() {
        let (dir, store, home) = mindhost_store::testing::temporary().await;
        let create = async |store: &Store, name: &str| create(store, dir.path(), name).await;
        let secret = SecretKeys::single(SecretKey::new([7; 32]));
        let made = create(&store, "team").await.unwrap();
        for name in ["team", "Team", "DEFAULT"] {
            let taken = create(&store, name).await.unwrap_err();
            assert_eq!(taken.code(), Code::NameTaken);
        }
        assert_eq!(made.files_directory, "files/team");
        for workspace in [&home, &made.id] {
            let new = NewKey {
                name: "key".to_owned(),
                role: Role::Admin,
                minds: None,
                expires_at: None,
                compat: None,
                attributes: Default::default(),
                policies: Default::default(),
            };
            keys::create(&store, &secret, workspace, new).await.unwrap();
        }
        delete(&store, "team").await.unwrap();
        assert_eq!(keys::list(&store, &home).await.unwrap().len(), 1);
        assert!(keys::list(&store, &made.id).await.unwrap().is_empty());
        let gone = delete(&store, "team").await.unwrap_err();
        assert_eq!(gone.code(), Code::WorkspaceNotFound);
        for name in ["team", "TEAM"] {
            let again = create(&store, name).await.unwrap();
            let folder = store.workspace(&again.id).await.unwrap().folder.clone();
            assert_eq!(folder, format!("{name}.{}", again.id));
            assert_eq!(again.files_directory, format!("files/{folder}"));
            delete(&store, name).await.unwrap();
        }
        // Files of an earlier workspace that is not in the store are not inherited either.
        let left = dir.path().join("files/old");
        fs::create_dir_all(&left).unwrap();
        let empty = create(&store, "old").await.unwrap();
        assert_eq!(empty.files_directory, "files/old");
        delete(&store, "old").await.unwrap();
        let forget = sqlx::query("DELETE FROM former_workspaces");
        store.change(forget).await.unwrap();
        fs::write(left.join("salaries.db"), "x").unwrap();
        let heir = create(&store, "old").await.unwrap();
        assert_eq!(heir.files_directory, format!("files/old.{}", heir.id));
        let first = delete(&store, DEFAULT_WORKSPACE).await.unwrap_err();
        assert_eq!(first.code(), Code::WrongState);
    }
}
