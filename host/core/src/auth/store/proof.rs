//! Proofs that the rows of keys were written by this server.
//!
//! A row has the hash of a key and its privileges. They are valid only with a proof (HMAC) under a key that is derived
//! from the secret key, which is not in the store. So write access to the store is not enough to create a key, or to
//! change the role, workspace, expiry, Minds, attributes or policies of one. A revoked key has no proof.

use sqlx::AssertSqlSafe;

use crate::{auth::Hash, secrets::SecretKeys};
use mindhost_base::error::Result;
use mindhost_store::{AnyRow, Row, Store, Tx};

/// Columns of [`Claims`], and the proof.
pub(super) const COLUMNS: &str =
    "id, workspace_id, hash, role, minds, compat, attributes, policies, expires_at, proof";

/// Rows that are read at a time to renew their proofs.
const BATCH: i64 = 500;

/// The content of the row of a key.
#[derive(Clone, Debug)]
pub(in crate::auth) struct Claims {
    pub id: String,
    pub workspace: String,
    pub hash: Vec<u8>,
    pub role: String,
    pub minds: Option<String>,
    pub compat: Option<String>,
    pub expires_at: Option<i64>,
    pub attributes: Option<String>,
    pub policies: Option<String>,
}

impl Claims {
    pub fn of(row: &AnyRow) -> Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            workspace: row.try_get("workspace_id")?,
            hash: row.try_get("hash")?,
            role: row.try_get("role")?,
            minds: row.try_get("minds")?,
            compat: row.try_get("compat")?,
            expires_at: row.try_get("expires_at")?,
            attributes: row.try_get("attributes")?,
            policies: row.try_get("policies")?,
        })
    }

    pub fn with_text(mut self, hash: &Hash, expires_at: Option<i64>) -> Self {
        self.hash = hash.to_vec();
        self.expires_at = expires_at;
        self
    }

    pub fn prove(&self, keys: &SecretKeys) -> Result<Vec<u8>> {
        self.with_parts(|parts| keys.prove(parts))
    }

    pub fn is_proven(&self, keys: &SecretKeys, proof: Option<&[u8]>) -> bool {
        proof.is_some_and(|proof| self.with_parts(|parts| keys.is_proven(parts, proof)))
    }

    fn with_parts<T>(&self, then: impl FnOnce(&[&[u8]]) -> T) -> T {
        // So that absent and empty differ.
        let optional = |text: &Option<String>| match text {
            Some(text) => format!("={text}"),
            None => String::new(),
        };
        let (minds, compat) = (optional(&self.minds), optional(&self.compat));
        let ends = optional(&self.expires_at.map(|at| at.to_string()));
        let (attributes, policies) = (optional(&self.attributes), optional(&self.policies));
        let mut parts: Vec<&[u8]> = vec![
            b"keys",
            self.id.as_bytes(),
            self.workspace.as_bytes(),
            &self.hash,
            self.role.as_bytes(),
            minds.as_bytes(),
            compat.as_bytes(),
            ends.as_bytes(),
        ];
        // Keys that were made before there were attributes have proofs without this part.
        if self.attributes.is_some() || self.policies.is_some() {
            parts.push(attributes.as_bytes());
        }
        // Behind the attributes, also where there are none: a proof for the one is none for the other.
        if self.policies.is_some() {
            parts.push(policies.as_bytes());
        }
        then(&parts)
    }
}

/// The claims of a row and its proof.
pub(super) fn claimed(row: &AnyRow) -> Result<(Claims, Option<Vec<u8>>)> {
    Ok((Claims::of(row)?, row.try_get("proof")?))
}

/// Proves every key that has no proof: once in the life of a store, for the keys of versions without proofs.
///
/// # Errors
/// When the store fails.
pub async fn prove_all(tx: &mut Tx, keys: &SecretKeys) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE proof IS NULL AND revoked_at IS NULL");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut **tx).await?;
    for row in &rows {
        let claims = Claims::of(row)?;
        sqlx::query("UPDATE keys SET proof = $1 WHERE id = $2")
            .bind(claims.prove(keys)?)
            .bind(&claims.id)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}

/// Gives each key a proof under the current secret key, and returns how many had another. An invalid proof stays as it
/// is.
///
/// # Errors
/// When the store fails.
pub async fn renew_proofs(store: &Store, keys: &SecretKeys) -> Result<u64> {
    let sql = format!(
        "SELECT {COLUMNS} FROM keys WHERE proof IS NOT NULL AND id > $1 ORDER BY id LIMIT $2"
    );
    let (mut found, mut last) = (0, String::new());
    loop {
        let rows = sqlx::query(AssertSqlSafe(sql.as_str()))
            .bind(&last)
            .bind(BATCH)
            .fetch_all(store.pool())
            .await?;
        let Some(row) = rows.last() else {
            return Ok(found);
        };
        last = row.try_get("id")?;
        for row in &rows {
            let (claims, proof) = claimed(row)?;
            let proof = proof.unwrap_or_default();
            if keys.is_current_proof(&proof) || !claims.is_proven(keys, Some(&proof)) {
                continue;
            }
            found += 1;
            sqlx::query("UPDATE keys SET proof = $1 WHERE id = $2 AND proof = $3")
                .bind(claims.prove(keys)?)
                .bind(&claims.id)
                .bind(proof)
                .execute(store.pool())
                .await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::SecretKey;

    fn claims(attributes: Option<&str>, policies: Option<&str>) -> Claims {
        Claims {
            id: "1".to_owned(),
            workspace: "w".to_owned(),
            hash: vec![7],
            role: "user".to_owned(),
            minds: None,
            compat: None,
            expires_at: None,
            attributes: attributes.map(str::to_owned),
            policies: policies.map(str::to_owned),
        }
    }

    #[test]
    fn proof_of_attributes_is_none_of_policies() {
        let keys = SecretKeys::single(SecretKey::new([7; 32]));
        let all = [
            claims(None, None),
            claims(Some("a"), None),
            claims(None, Some("a")),
            claims(Some("a"), Some("a")),
            claims(Some(""), Some("a")),
            claims(Some("a"), Some("")),
        ];
        for (at, one) in all.iter().enumerate() {
            let proof = one.prove(&keys).unwrap();
            for (index, other) in all.iter().enumerate() {
                let is_proven = other.is_proven(&keys, Some(&proof));
                assert_eq!(is_proven, at == index, "{one:?} {other:?}");
            }
        }
    }
}
