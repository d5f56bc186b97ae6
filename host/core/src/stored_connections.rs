//! What datasources and model providers share: a named row of a workspace that holds connection data, with secrets
//! sealed for that row, and the call that tests a connection.

pub(crate) mod store;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    connection_data::{self, ClearData, Holder, Rules, StoredData},
    secrets::SecretKeys,
};
use mindhost_base::{
    config::Config,
    error::{Code, Error, Result},
};
use mindhost_plugin_api::{Call, Target};
use mindhost_store::{AnyRow, ResourceKind, Store};
use store::AnyQuery;

/// A row that holds connection data.
pub(crate) trait StoredConnection: Sized + Send + Sync {
    /// Its table, which is also its path in the API.
    const TABLE: &'static str;
    /// What messages call one row.
    const NOUN: &'static str;
    /// The limit that a new row counts against.
    const COUNTED: ResourceKind;
    /// The code of the error that there is no such row.
    const NOT_FOUND: Code;
    /// The column with the engine or plugin that serves it.
    const SERVED_BY: &'static str;
    /// The one column that the other kind does not have.
    const OWN_COLUMN: &'static str;

    /// Reads a row that has the shared columns and [`Self::OWN_COLUMN`].
    fn from_row(row: &AnyRow) -> Result<Self>;

    /// The columns that both kinds have.
    fn shared(&self) -> CommonColumns<'_>;

    /// Binds the value of [`Self::OWN_COLUMN`].
    fn bind_own<'q>(&'q self, query: AnyQuery<'q>) -> Result<AnyQuery<'q>>;
}

/// The columns that both kinds have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonColumns<'a> {
    pub id: &'a str,
    pub workspace_id: &'a str,
    pub name: &'a str,
    pub served_by: &'a str,
    /// Digest of the plugin version that the row is pinned to.
    pub pin: Option<&'a str>,
    pub description: &'a str,
    pub connection_data: &'a StoredData,
    pub created_at: Timestamp,
    pub modified_at: Timestamp,
}

/// What the secrets of a row are bound to.
fn holder<C: StoredConnection>(row: &C) -> Holder<'_> {
    let shared = row.shared();
    Holder {
        table: C::TABLE,
        id: shared.id,
        workspace: shared.workspace_id,
        served_by: shared.served_by,
        version: shared.pin,
    }
}

/// The rows of all workspaces, and the keys that open their secrets.
pub(crate) struct StoredConnections {
    pub store: Store,
    keys: SecretKeys,
    test_timeout: Duration,
    ending: CancellationToken,
}

impl StoredConnections {
    /// Tests of a connection are cancelled with `ending`.
    pub fn new(store: Store, keys: SecretKeys, config: &Config, ending: CancellationToken) -> Self {
        Self {
            store,
            keys,
            test_timeout: config.catalog.check_timeout,
            ending,
        }
    }

    /// Refuses a name that is taken, and a row for which the workspace has no room. Both are checked again when the row
    /// is inserted; this comes before a test that may take long.
    ///
    /// # Errors
    /// `name_taken`, `quota_exceeded`
    pub async fn check_new<C: StoredConnection>(&self, workspace: &str, name: &str) -> Result<()> {
        let taken = store::by_name::<C>(&self.store, workspace, name).await?;
        if taken.is_some() {
            return Err(name_taken::<C>(name));
        }
        self.store.check_quota(C::COUNTED, workspace).await
    }

    /// Seals the secrets of a row. Call it after the test of the connection: the test may last longer than a rotation
    /// of the secret key waits for rows that were sealed under the old key.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn seal(
        &self,
        row: &impl StoredConnection,
        clear: &ClearData,
        rules: &Rules<'_>,
    ) -> Result<StoredData> {
        StoredData::seal(clear, rules, &self.keys, holder(row))
    }

    /// The connection data of a row with the properties in `sent` changed.
    ///
    /// # Errors
    /// `secret_required`, `invalid_connection_data`
    pub fn patch(
        &self,
        row: &impl StoredConnection,
        sent: ClearData,
        rules: &Rules<'_>,
    ) -> Result<ClearData> {
        let data = row.shared().connection_data;
        let stored = data.open_for_change(&self.keys, holder(row), &sent)?;
        connection_data::changed(&stored, sent, rules)
    }

    /// The connection data of a row, secrets in clear.
    ///
    /// # Errors
    /// When the secrets do not open.
    pub fn open(&self, row: &impl StoredConnection) -> Result<ClearData> {
        let data = row.shared().connection_data;
        data.open(&self.keys, holder(row))
    }

    /// What a plugin is pointed at for a row with this connection data.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn target(
        &self,
        row: &impl StoredConnection,
        clear: ClearData,
        max_connections: u32,
    ) -> Result<Target> {
        let shared = row.shared();
        let workspace = self.store.workspace(shared.workspace_id).await?;
        Ok(Target {
            id: shared.id.to_owned(),
            workspace: workspace.name.clone(),
            folder: workspace.folder.clone(),
            name: shared.name.to_owned(),
            connection_data: Arc::new(clear),
            max_connections,
        })
    }

    /// The call that tests a connection. It is cancelled when the guard is dropped, which happens when the client
    /// leaves.
    pub fn test_call(&self) -> (Call, DropGuard) {
        let cancel = self.ending.child_token();
        let guard = cancel.clone().drop_guard();
        let call = Call::new(self.test_timeout, cancel);
        (call.limited_by("catalog.check_timeout"), guard)
    }
}

/// Binds secrets that an earlier version of the program sealed to their destination. Secrets that do not open stay as
/// they are.
///
/// # Errors
/// When the store fails.
pub(crate) async fn bind_secrets<C: StoredConnection>(
    store: &Store,
    keys: &SecretKeys,
) -> Result<()> {
    for row in store::with_secrets::<C>(store).await? {
        match row.shared().connection_data.bound(keys, holder(&row)) {
            Ok(Some(bound)) => store::replace_secrets(store, &row, &bound).await?,
            Ok(None) => {}
            Err(error) => connection_data::log_unopened(holder(&row), &error),
        }
    }
    Ok(())
}

/// Seals with the current key what another key sealed, and returns the number of rows. A row that changes at the same
/// time is left for the next call; secrets that do not open stay as they are.
///
/// # Errors
/// When the store fails.
pub(crate) async fn reseal_secrets<C: StoredConnection>(
    store: &Store,
    keys: &SecretKeys,
) -> Result<u64> {
    let mut sealed = 0;
    for row in store::with_secrets::<C>(store).await? {
        let data = row.shared().connection_data;
        if !data.is_outdated(keys) {
            continue;
        }
        match data.moved(keys, holder(&row), holder(&row)) {
            Ok(resealed) => {
                store::replace_secrets(store, &row, &resealed).await?;
                sealed += 1;
            }
            Err(error) => connection_data::log_unopened(holder(&row), &error),
        }
    }
    Ok(sealed)
}

pub(crate) fn not_found<C: StoredConnection>(name: &str) -> Error {
    let (noun, path) = (C::NOUN, C::TABLE);
    let message = format!("there is no {noun} '{name}'; `GET /{path}` lists those there are");
    Error::new(C::NOT_FOUND, message)
}

fn name_taken<C: StoredConnection>(name: &str) -> Error {
    let message = format!(
        "there is a {} '{name}' already; choose another name or change that one",
        C::NOUN
    );
    Error::new(Code::NameTaken, message).param("name")
}

/// `advice` says how to free the row.
pub(crate) fn in_use<C: StoredConnection>(name: &str, minds: &[String], advice: &str) -> Error {
    let (noun, minds) = (C::NOUN, minds.join(", "));
    let message = format!("the {noun} '{name}' is used by the Minds {minds}; {advice}");
    Error::new(Code::InUse, message)
}
