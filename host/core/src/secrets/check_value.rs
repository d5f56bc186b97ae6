//! The check value of a store: a known text that the current secret key has sealed. It shows whether a server has the
//! keys of the store.

use super::{Binding, KeyId, SecretKey, SecretKeys};
use mindhost_base::error::Result;

/// The name of the check value in the store.
pub(super) const NAME: &str = "secret_key";
/// The name of the check value of versions that did not bind values to their destination.
pub(super) const UNBOUND_NAME: &str = "secret_key_check";

const TEXT: &[u8] = b"mindhost";
const TABLE: &str = "host_facts";
const BINDING: Binding<'static> = Binding {
    table: TABLE,
    id: NAME,
    destination: "",
};

/// The check value for the current key.
pub(super) fn seal(keys: &SecretKeys) -> Result<Vec<u8>> {
    keys.seal(BINDING, TEXT)
}

/// The id that a check value names, which is not proven.
pub(super) fn claimed_key(check: &[u8]) -> Option<KeyId> {
    super::split(check).map(|(id, _)| id)
}

/// The key that sealed a check value, if it is among these.
pub(super) fn sealing_key(keys: &SecretKeys, check: &[u8]) -> Option<KeyId> {
    let opened = keys.open(BINDING, check).ok()?;
    let id = claimed_key(check)?;
    (opened.as_slice() == TEXT).then_some(id)
}

/// Whether a key opens a check value of an earlier version.
pub(super) fn opens_unbound(key: &SecretKey, check: &[u8]) -> bool {
    let keys = SecretKeys::single(key.clone());
    keys.open_unbound(TABLE, UNBOUND_NAME, check).is_ok()
}
