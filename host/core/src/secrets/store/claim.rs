//! Who changes the secret key of a store: one at a time, whatever machine it is on.

use std::time::Duration;

use mindhost_base::error::Result;
use mindhost_store::{Store, new_id, now};

/// `{microseconds since 1970 when the claim ends, 20 digits} {id}`: the text sorts by its end.
const NAME: &str = "secret_key_rotation";
/// How long a claim holds when it is not renewed: so long the next one waits for one that was killed.
const LASTS: Duration = Duration::from_secs(30);

/// The right to change the secret key, until it ends.
#[derive(Debug)]
pub struct Claim {
    id: String,
    value: Vec<u8>,
    ends_at: i64,
}

impl Claim {
    /// How often it should be renewed.
    pub const RENEW: Duration = Duration::from_secs(5);

    /// Takes it, unless somebody has it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take(store: &Store) -> Result<Option<Self>> {
        let claim = Self::until(new_id());
        let taken = store
            .record(
                sqlx::query(
                    "INSERT INTO host_facts (name, value) VALUES ($1, $2) \
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE host_facts.value < $3",
                )
                .bind(NAME)
                .bind(claim.value.clone())
                .bind(digits(now()).into_bytes()),
            )
            .await?;
        Ok((taken.rows_affected() == 1).then_some(claim))
    }

    /// Has it last longer. False when it ended before, and somebody else took it.
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

    /// Whether somebody else may have it.
    pub fn has_ended(&self) -> bool {
        self.ends_at <= now()
    }

    /// Gives it back.
    ///
    /// # Errors
    /// When the store fails; it ends by itself then.
    pub async fn release(self, store: &Store) -> Result<()> {
        let release = sqlx::query("DELETE FROM host_facts WHERE name = $1 AND value = $2");
        store.record(release.bind(NAME).bind(self.value)).await?;
        Ok(())
    }

    fn until(id: String) -> Self {
        let lasts = i64::try_from(LASTS.as_micros()).unwrap_or(i64::MAX);
        let ends_at = now().saturating_add(lasts);
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
    async fn one_has_the_claim_until_it_is_released_or_ends() {
        let (_dir, store, _) = mindhost_store::testing::temporary().await;
        let mut first = Claim::take(&store).await.unwrap().unwrap();
        assert!(Claim::take(&store).await.unwrap().is_none());
        assert!(first.renew(&store).await.unwrap());
        assert!(Claim::take(&store).await.unwrap().is_none());
        first.release(&store).await.unwrap();

        let mut killed = Claim::take(&store).await.unwrap().unwrap();
        // As if time had passed.
        let ended = format!("{} {}", digits(now() - 1), killed.id).into_bytes();
        let end = sqlx::query("UPDATE host_facts SET value = $1 WHERE name = $2");
        store
            .record(end.bind(ended.clone()).bind(NAME))
            .await
            .unwrap();
        killed.value = ended;
        let second = Claim::take(&store).await.unwrap().unwrap();
        assert!(!killed.renew(&store).await.unwrap());
        // Who lost it does not take it from the next one.
        killed.release(&store).await.unwrap();
        assert!(Claim::take(&store).await.unwrap().is_none());
        second.release(&store).await.unwrap();
        assert!(Claim::take(&store).await.unwrap().is_some());
    }
}
