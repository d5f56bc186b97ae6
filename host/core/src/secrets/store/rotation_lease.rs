//! The lease on a rotation of the secret key: one rotation at a time for the whole store.

use std::time::Duration;

use mindhost_base::error::Result;
use mindhost_store::{Store, new_id, now};

/// `{microseconds since 1970 when the lease ends, 20 digits} {id}`: the text sorts by its end.
const NAME: &str = "secret_key_rotation";
/// How long a lease lasts without a renewal, which is how long the next rotation waits after a killed one.
const DURATION: Duration = Duration::from_secs(30);

/// The exclusive right to rotate the secret key, until it expires.
#[derive(Debug)]
pub struct RotationLease {
    id: String,
    value: Vec<u8>,
    ends_at: i64,
}

impl RotationLease {
    /// How often it should be renewed.
    pub const RENEW: Duration = Duration::from_secs(5);

    /// Takes the lease, unless another rotation has it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take(store: &Store) -> Result<Option<Self>> {
        let lease = Self::until(new_id());
        let taken = store
            .record(
                sqlx::query(
                    "INSERT INTO host_facts (name, value) VALUES ($1, $2) \
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE host_facts.value < $3",
                )
                .bind(NAME)
                .bind(lease.value.clone())
                .bind(digits(now()).into_bytes()),
            )
            .await?;
        Ok((taken.rows_affected() == 1).then_some(lease))
    }

    /// Extends the lease. False when it has expired and another rotation took it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn renew(&mut self, store: &Store) -> Result<bool> {
        let longer = Self::until(self.id.clone());
        let renewed = store
            .record(
                sqlx::query("UPDATE host_facts SET value = $1 WHERE name = $2 AND value = $3")
                    .bind(longer.value.clone())
                    .bind(NAME)
                    .bind(self.value.clone()),
            )
            .await?;
        let is_held = renewed.rows_affected() == 1;
        if is_held {
            *self = longer;
        }
        Ok(is_held)
    }

    /// Whether another rotation may have taken it.
    pub fn has_expired(&self) -> bool {
        self.ends_at <= now()
    }

    /// Releases the lease.
    ///
    /// # Errors
    /// When the store fails; the lease expires then.
    pub async fn release(self, store: &Store) -> Result<()> {
        let release = sqlx::query("DELETE FROM host_facts WHERE name = $1 AND value = $2");
        store.record(release.bind(NAME).bind(self.value)).await?;
        Ok(())
    }

    fn until(id: String) -> Self {
        let micros = i64::try_from(DURATION.as_micros()).unwrap_or(i64::MAX);
        let ends_at = now().saturating_add(micros);
        Self {
            value: format!("{} {id}", digits(ends_at)).into_bytes(),
            id,
            ends_at,
        }
    }
}

fn digits(time: i64) -> String {
    format!("{time:020}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lease_is_exclusive_until_released_or_expired() {
        let (_dir, store, _) = mindhost_store::testing::temporary().await;
        let mut first = RotationLease::take(&store).await.unwrap().unwrap();
        assert!(RotationLease::take(&store).await.unwrap().is_none());
        assert!(first.renew(&store).await.unwrap());
        assert!(RotationLease::take(&store).await.unwrap().is_none());
        first.release(&store).await.unwrap();

        let mut killed = RotationLease::take(&store).await.unwrap().unwrap();
        // As if time had passed.
        let ended = format!("{} {}", digits(now() - 1), killed.id).into_bytes();
        let end = sqlx::query("UPDATE host_facts SET value = $1 WHERE name = $2");
        store
            .record(end.bind(ended.clone()).bind(NAME))
            .await
            .unwrap();
        killed.value = ended;
        let second = RotationLease::take(&store).await.unwrap().unwrap();
        assert!(!killed.renew(&store).await.unwrap());
        // To release a lost lease does not affect the next holder.
        killed.release(&store).await.unwrap();
        assert!(RotationLease::take(&store).await.unwrap().is_none());
        second.release(&store).await.unwrap();
        assert!(RotationLease::take(&store).await.unwrap().is_some());
    }
}
