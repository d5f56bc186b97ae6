//! One-time codes, each of which hands a key from the terminal to a browser, so that the key is in no address.
//!
//! A caller makes one by sending the key itself, so a code gives no additional access. It is kept in memory only, by
//! its hash, for [`LIFETIME`] and for one use.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{Hash, hash, keys::KeyText};
use mindhost_base::{
    error::{Code, Error, Result},
    locks,
};

/// How long a code can be used.
pub const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Codes that are kept at once; one for each key.
const MAX_CODES: usize = 1000;

/// The codes that were not used yet.
#[derive(Debug, Default)]
pub struct SignInCodes(Mutex<HashMap<Arc<str>, PendingCode>>);

struct PendingCode {
    code: Hash,
    key: KeyText,
    until: Instant,
}

impl std::fmt::Debug for PendingCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl SignInCodes {
    /// Makes a code for a key, whose text the caller has proven to know. An earlier code of the same key ends.
    ///
    /// # Errors
    /// `rate_limit_exceeded` when too many keys have a code.
    pub fn create(&self, key_id: &Arc<str>, key: &str) -> Result<Zeroizing<String>> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(&mut *bytes).map_err(|error| Error::internal(error.to_string()))?;
        let code = Zeroizing::new(URL_SAFE_NO_PAD.encode(*bytes));
        let mut codes = locks::lock(&self.0);
        codes.retain(|_, kept| kept.until > Instant::now());
        if codes.len() >= MAX_CODES && !codes.contains_key(key_id) {
            let message =
                "too many sign-in links were made and not used; try again in some minutes";
            return Err(Error::new(Code::RateLimited, message).with_retry_after(LIFETIME));
        }
        let kept = PendingCode {
            code: hash(&code),
            key: Zeroizing::new(key.to_owned()),
            until: Instant::now() + LIFETIME,
        };
        codes.insert(key_id.clone(), kept);
        Ok(code)
    }

    /// The key behind a code, which ends with this. `None` when it was never made, was used, or is too old.
    pub fn take(&self, code: &str) -> Option<KeyText> {
        let code = hash(code);
        let mut codes = locks::lock(&self.0);
        codes.retain(|_, kept| kept.until > Instant::now());
        let id = codes
            .iter()
            .find(|(_, kept)| bool::from(kept.code.ct_eq(&code)))?
            .0
            .clone();
        codes.remove(&id).map(|kept| kept.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_gives_its_key_once() {
        let codes = SignInCodes::default();
        let code = codes.create(&"1".into(), "mh_one").unwrap();
        assert!(codes.take("another").is_none());
        assert_eq!(codes.take(&code).unwrap().as_str(), "mh_one");
        assert!(codes.take(&code).is_none());
    }

    #[test]
    fn new_code_of_a_key_ends_the_one_before() {
        let codes = SignInCodes::default();
        let first = codes.create(&"1".into(), "mh_one").unwrap();
        let other = codes.create(&"2".into(), "mh_two").unwrap();
        let second = codes.create(&"1".into(), "mh_one").unwrap();
        assert!(codes.take(&first).is_none());
        assert_eq!(codes.take(&other).unwrap().as_str(), "mh_two");
        assert_eq!(codes.take(&second).unwrap().as_str(), "mh_one");
    }

    #[test]
    fn old_code_is_none() {
        let codes = SignInCodes::default();
        let code = codes.create(&"1".into(), "mh_one").unwrap();
        locks::lock(&codes.0)
            .values_mut()
            .for_each(|kept| kept.until = Instant::now());
        assert!(codes.take(&code).is_none());
    }
}
