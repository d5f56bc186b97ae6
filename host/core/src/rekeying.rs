//! Brings what the store holds under the secret key that seals now: once, when an earlier version of the program wrote it,
//! and whenever the secret key changes.

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

pub use rotation::rotate;

/// The secret keys of this server, and a store that they fit.
///
/// # Errors
/// When the keys are not those of the store, or the store looks as an earlier version left it and was taken over before.
pub async fn open(source: &Source, store: &Store) -> Result<SecretKeys, KeyError> {
    let loaded = SecretKeys::load(source, store).await?;
    let keys = match loaded.stage {
        Stage::Current => loaded.keys,
        stage => {
            settle(store, &loaded.keys, stage).await?;
            // Another host may have done the same at the same moment, with another key; what the store says now counts.
            let loaded = SecretKeys::load(source, store).await?;
            match loaded.stage {
                Stage::Current => loaded.keys,
                Stage::Unproven | Stage::Strange => {
                    return Err(Error::internal("the store forgot its secret key at once").into());
                }
            }
        }
    };
    source.note_settled(&keys);
    Ok(keys)
}

/// Binds sealed values to where they go and proves the keys that an earlier version left, once in the life of a store: from
/// then on a row without a proof is one that another hand wrote.
async fn settle(store: &Store, keys: &SecretKeys, stage: Stage) -> Result<()> {
    let is_unproven = stage == Stage::Unproven;
    if is_unproven {
        bind_secrets::<Datasource>(store, keys).await?;
        bind_secrets::<Provider>(store, keys).await?;
    }
    let mut tx = auth::begin(store, None).await?;
    if secrets::is_settled(&mut tx).await? {
        return Ok(());
    }
    if is_unproven {
        auth::proof::prove_all(&mut tx, keys).await?;
    }
    secrets::settle(&mut tx, keys).await?;
    Ok(tx.commit().await?)
}

#[cfg(test)]
mod tests;
