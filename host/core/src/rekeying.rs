//! Seals and proves the rows of the store with the current secret key: at the upgrade from an earlier version, and at
//! each rotation of the secret key.

mod rotation;

use crate::{
    auth,
    datasources::Datasource,
    providers::Provider,
    secrets::{self, KeyError, SecretKeys, Source, Stage},
    stored_connections::bind_secrets,
};
use mindhost_base::error::{Error, Result};
use mindhost_store::Store;

pub use rotation::{Progress, rotate};

/// The secret keys of this server, checked against the store, which is upgraded if necessary.
///
/// # Errors
/// When the keys are not those of the store, or the store looks as if it was never upgraded although it was.
pub async fn open(source: &Source, store: &Store) -> Result<SecretKeys, KeyError> {
    let loaded = SecretKeys::load(source, store).await?;
    let keys = match loaded.stage {
        Stage::Current => loaded.keys,
        stage => {
            upgrade(store, &loaded.keys, stage).await?;
            // Another host may have upgraded it at the same moment with another key, so the store decides.
            let loaded = SecretKeys::load(source, store).await?;
            match loaded.stage {
                Stage::Current => loaded.keys,
                Stage::Unproven | Stage::Unclaimed => {
                    return Err(Error::internal(
                        "the store lost its check value right after the upgrade",
                    )
                    .into());
                }
            }
        }
    };
    source.write_upgrade_markers(&keys);
    Ok(keys)
}

/// Binds sealed values to their destination and proves the keys of an earlier version, once in the life of a store.
/// From then on, a row without a proof was written outside Mindhost.
async fn upgrade(store: &Store, keys: &SecretKeys, stage: Stage) -> Result<()> {
    let is_unproven = stage == Stage::Unproven;
    if is_unproven {
        bind_secrets::<Datasource>(store, keys).await?;
        bind_secrets::<Provider>(store, keys).await?;
    }
    let mut tx = auth::begin(store, None).await?;
    if secrets::is_upgraded(&mut tx).await? {
        return Ok(());
    }
    if is_unproven {
        auth::proof::prove_all(&mut tx, keys).await?;
    }
    secrets::mark_upgraded(&mut tx, keys).await?;
    Ok(tx.commit().await?)
}

#[cfg(test)]
mod tests;
