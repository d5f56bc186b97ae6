//! Wrong keys, counted by the address that sent them.
//!
//! Keys cannot be guessed, but the store need not be asked about each guess: after a number of wrong keys within a minute
//! an address is refused, and the trail of the workspace `default` says that it tried. A key that this server has accepted
//! before is let through at once, and another valid one after a look into the store, of which there are a few at a time: a
//! stranger behind the same address locks no client out.

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
/// Addresses that are told apart; what comes from others while so many are counted counts for all of those together.
const ADDRESSES: usize = 10_000;
/// Keys from addresses beyond their limit that are looked up at a time, and how long one waits for that.
const LATE: (usize, Duration) = (4, Duration::from_secs(1));

/// The wrong keys of the last minute.
#[derive(Debug)]
pub struct FailedLogins {
    /// Wrong keys of one address in a window; none means any number.
    limit: Option<NonZeroU32>,
    windows: Mutex<HashMap<Source, Window>>,
    late: Semaphore,
    audit: Audit,
    /// Workspace in whose trail they are noted: a wrong key belongs to none.
    workspace: Arc<str>,
}

/// Who is taken for one: an IPv4 address, a network of IPv6 as one customer gets it, or everybody beyond [`ADDRESSES`].
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
            late: Semaphore::new(LATE.0),
            audit,
            workspace: workspace.into(),
        }
    }

    /// Whether an address sent too many wrong keys. A key from it may be valid all the same, see [`Self::late`].
    ///
    /// # Errors
    /// `rate_limit_exceeded`, with the time after which it is counted anew: what a wrong key gets.
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

    /// The right to look up a key that comes from an address beyond its limit; none when too many wait for it. So a
    /// stranger's guesses cost the store little, and a valid key behind the same address is found.
    pub async fn late(&self) -> Option<SemaphorePermit<'_>> {
        timeout(LATE.1, self.late.acquire()).await.ok()?.ok()
    }

    /// Counts a wrong key, and notes the first one of an address in a window. Of many addresses the trail has a number only.
    pub fn count(&self, address: IpAddr, request_id: Option<String>) {
        let (source, first) = self.counted(address);
        if first {
            let resource = match source {
                Source::Address(address) => address.to_string(),
                Source::Others => "many addresses".to_owned(),
            };
            let noted = self.audit.note_in_passing(Note {
                workspace: self.workspace.clone(),
                key: None,
                action: "failed login".to_owned(),
                resource: resource.clone(),
                mind: None,
                made: None,
                status: Some(401),
                request_id,
            });
            // The log is for strangers to fill no more than the trail is.
            if noted {
                tracing::warn!(address = resource, "a wrong key was sent");
            }
        }
    }

    fn counted(&self, address: IpAddr) -> (Source, bool) {
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
    use crate::audit::Wanted;

    async fn failed_logins(limit: u32) -> (tempfile::TempDir, FailedLogins) {
        let (dir, store, workspace) = mindhost_store::testing::temporary().await;
        let audit = Audit::start(store, Duration::from_secs(60));
        (dir, FailedLogins::new(limit, audit, &workspace))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn an_address_is_refused_after_its_limit_and_no_other_is() {
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
    async fn a_network_of_ipv6_is_one_address() {
        let (_dir, logins) = failed_logins(1).await;
        logins.count(address("2001:db8:0:1::1"), None);
        assert!(logins.check(address("2001:db8:0:1:ffff::2")).is_err());
        assert!(logins.check(address("2001:db8:0:2::1")).is_ok());
    }

    #[tokio::test]
    async fn each_address_is_noted_once_and_their_number_is_bounded() {
        let (_dir, logins) = failed_logins(5).await;
        for number in 0..20_u32 {
            let low = u8::try_from(number % 2).unwrap();
            logins.count(IpAddr::from([192, 0, 2, low]), None);
        }
        logins.audit.close().await;
        let all = Wanted {
            limit: 100,
            ..Wanted::default()
        };
        let (notes, _) = logins.audit.read(&logins.workspace, &all).await.unwrap();
        let mut noted: Vec<_> = notes.iter().map(|note| note.resource.as_str()).collect();
        noted.sort_unstable();
        assert_eq!(noted, ["192.0.2.0", "192.0.2.1"]);
        assert!(notes.iter().all(|note| note.action == "failed login"));

        for number in 0..2 * u32::try_from(ADDRESSES).unwrap() {
            logins.counted(IpAddr::from(number.to_be_bytes()));
        }
        let windows = locks::lock(&logins.windows);
        assert_eq!(windows.len(), ADDRESSES + 1);
        assert!(windows[&Source::Others].failures >= 10_000);
    }

    /// A network of IPv6 as one customer may have it has 65,536 of those that count as one address.
    #[tokio::test]
    async fn many_addresses_leave_a_bounded_number_of_notes() {
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
        let all = Wanted {
            limit: 10_000,
            ..Wanted::default()
        };
        let (notes, _) = logins.audit.read(&logins.workspace, &all).await.unwrap();
        assert_eq!(notes.len(), 60 + 1);
        assert_eq!(notes[0].resource, "many addresses (940)");
    }
}
