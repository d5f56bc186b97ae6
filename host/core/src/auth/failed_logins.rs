//! Wrong keys, counted by the address that sent them.
//!
//! Keys cannot be guessed, but each guess would cost a query: after a number of wrong keys within a minute an address
//! is refused, and the audit trail of the workspace `default` records it. A key that this server has accepted before
//! passes at once. Other keys are still looked up, a few at a time, so that an attacker behind the same address locks
//! out no client.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::audit::{Audit, Note};
use mindhost_base::{
    error::{Code, Error, Result},
    locks,
};

/// From the first wrong key of an address until it is no longer counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses that are counted separately. Further addresses share one count.
const ADDRESSES: usize = 10_000;
/// Concurrent lookups for addresses beyond their limit, and how long a request waits for one.
const LOOKUPS: (usize, Duration) = (4, Duration::from_secs(1));

/// The wrong keys of the last minute.
#[derive(Debug)]
pub struct FailedLogins {
    /// Wrong keys of one address in a window; `None` means no limit.
    limit: Option<NonZeroU32>,
    windows: Mutex<HashMap<Source, Window>>,
    lookups: Semaphore,
    audit: Audit,
    /// Workspace of their audit entries, because a wrong key belongs to none.
    workspace: Arc<str>,
}

/// An IPv4 address, an IPv6 network (/64), or all addresses beyond [`ADDRESSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Address(IpAddr),
    Others,
}

#[derive(Debug)]
struct Window {
    since: Instant,
    failures: u32,
}

impl FailedLogins {
    /// `limit` is how many an address may have in a minute; 0 means any number. Notes go to the trail of `workspace`.
    pub fn new(limit: u32, audit: Audit, workspace: &str) -> Self {
        Self {
            limit: NonZeroU32::new(limit),
            windows: Mutex::default(),
            lookups: Semaphore::new(LOOKUPS.0),
            audit,
            workspace: workspace.into(),
        }
    }

    /// Whether an address sent too many wrong keys. A key from it may be valid all the same, see
    /// [`Self::lookup_permit`].
    ///
    /// # Errors
    /// `rate_limit_exceeded`, with the time until the window ends.
    pub fn check(&self, address: IpAddr) -> Result<()> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let windows = locks::lock(&self.windows);
        let window = windows.get(&source(&windows, address));
        let Some(window) = window.filter(|window| window.failures >= limit.get()) else {
            return Ok(());
        };
        let left = WINDOW.saturating_sub(window.since.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        let message = format!(
            "too many invalid keys from your address; limit {limit} per minute (limits.failed_logins); send a valid key after \
             the time in the header Retry-After"
        );
        Err(Error::new(Code::RateLimited, message).with_retry_after(left))
    }

    /// A permit to look up a key from an address beyond its limit; `None` when too many requests wait for one.
    pub async fn lookup_permit(&self) -> Option<SemaphorePermit<'_>> {
        timeout(LOOKUPS.1, self.lookups.acquire()).await.ok()?.ok()
    }

    /// Counts a wrong key, and writes an audit entry for the first one of an address in a window.
    pub fn count(&self, address: IpAddr, request_id: Option<String>) {
        let (source, first) = self.add(address);
        if first {
            let resource = match source {
                Source::Address(address) => address.to_string(),
                Source::Others => "many addresses".to_owned(),
            };
            let noted = self.audit.try_note(Note {
                workspace: self.workspace.clone(),
                key: None,
                action: "failed login".to_owned(),
                resource: resource.clone(),
                mind: None,
                made: None,
                status: Some(401),
                request_id,
            });
            // So that an attacker cannot flood the log either.
            if noted {
                tracing::warn!(address = resource, "a wrong key was sent");
            }
        }
    }

    fn add(&self, address: IpAddr) -> (Source, bool) {
        let mut windows = locks::lock(&self.windows);
        if windows.len() >= ADDRESSES {
            windows.retain(|_, window| window.since.elapsed() < WINDOW);
        }
        let source = source(&windows, address);
        let window = windows.entry(source).or_insert_with(|| Window {
            since: Instant::now(),
            failures: 0,
        });
        if window.since.elapsed() >= WINDOW {
            *window = Window {
                since: Instant::now(),
                failures: 0,
            };
        }
        window.failures = window.failures.saturating_add(1);
        (source, window.failures == 1)
    }
}

fn source(windows: &HashMap<Source, Window>, address: IpAddr) -> Source {
    let address = match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    };
    let source = Source::Address(address);
    match windows.len() < ADDRESSES || windows.contains_key(&source) {
        true => source,
        false => Source::Others,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditFilter;

    async fn failed_logins(limit: u32) -> (tempfile::TempDir, FailedLogins) {
        let (dir, store, workspace) = mindhost_store::testing::temporary().await;
        let audit = Audit::start(store, Duration::from_secs(60));
        (dir, FailedLogins::new(limit, audit, &workspace))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn address_is_refused_after_its_limit() {
        let (_dir, logins) = failed_logins(2).await;
        let one = address("192.0.2.1");
        logins.count(one, None);
        assert!(logins.check(one).is_ok());
        logins.count(one, None);
        let refused = logins.check(one).unwrap_err();
        assert_eq!(refused.code(), Code::RateLimited);
        assert!(refused.retry_after().is_some_and(|wait| wait <= WINDOW));
        assert!(refused.message().contains("limits.failed_logins"));
        assert!(logins.check(address("::ffff:192.0.2.1")).is_err());
        assert!(logins.check(address("192.0.2.2")).is_ok());
        let (_dir, without) = failed_logins(0).await;
        without.count(one, None);
        assert!(without.check(one).is_ok());
    }

    #[tokio::test]
    async fn ipv6_network_counts_as_one_address() {
        let (_dir, logins) = failed_logins(1).await;
        logins.count(address("2001:db8:0:1::1"), None);
        assert!(logins.check(address("2001:db8:0:1:ffff::2")).is_err());
        assert!(logins.check(address("2001:db8:0:2::1")).is_ok());
    }

    #[tokio::test]
    async fn address_is_noted_once_and_number_of_addresses_is_bounded() {
        let (_dir, logins) = failed_logins(5).await;
        for number in 0..20_u32 {
            let low = u8::try_from(number % 2).unwrap();
            logins.count(IpAddr::from([192, 0, 2, low]), None);
        }
        logins.audit.close().await;
        let all = AuditFilter {
            limit: 100,
            ..AuditFilter::default()
        };
        let (notes, _) = logins.audit.read(&logins.workspace, &all).await.unwrap();
        let mut noted: Vec<_> = notes.iter().map(|note| note.resource.as_str()).collect();
        noted.sort_unstable();
        assert_eq!(noted, ["192.0.2.0", "192.0.2.1"]);
        assert!(notes.iter().all(|note| note.action == "failed login"));

        for number in 0..2 * u32::try_from(ADDRESSES).unwrap() {
            logins.add(IpAddr::from(number.to_be_bytes()));
        }
        let windows = locks::lock(&logins.windows);
        assert_eq!(windows.len(), ADDRESSES + 1);
        assert!(windows[&Source::Others].failures >= 10_000);
    }

    /// A network of IPv6 as one customer may have it has 65,536 of those that count as one address.
    #[tokio::test]
    async fn notes_of_many_addresses_are_bounded() {
        let (_dir, logins) = failed_logins(5).await;
        for number in 0..1_000_u128 {
            let network = address("2001:db8::").to_canonical();
            let IpAddr::V6(network) = network else {
                panic!("{network}");
            };
            let one = Ipv6Addr::from_bits(network.to_bits() | number << 64);
            logins.count(IpAddr::V6(one), None);
        }
        logins.audit.close().await;
        let all = AuditFilter {
            limit: 10_000,
            ..AuditFilter::default()
        };
        let (notes, _) = logins.audit.read(&logins.workspace, &all).await.unwrap();
        assert_eq!(notes.len(), 60 + 1);
        assert_eq!(notes[0].resource, "many addresses (940)");
    }
}
