//! Connection data: what a datasource or a model provider is configured with.
//!
//! The plugin's manifest has the JSON schema; `x-secret` marks the properties that are encrypted and shown as [`MASK`],
//! `x-destination` those that decide where a secret goes. When a destination changes, the secrets must be sent again:
//! otherwise anyone who may edit a datasource could redirect its password to another server.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::secrets::{Binding, OpenedSecret, SecretKeys, Unsealable};
use mindhost_base::error::{Code, Error, Result};

pub use mindhost_plugin_api::schema::Rules;

/// Shown in place of a secret.
pub const MASK: &str = "********";

/// Connection data with its secrets in clear.
pub type ClearData = Map<String, Value>;

/// The row of some connection data. Together with the shown properties it is the destination of the secrets: they open
/// only for this row and these properties, even if another program writes into the store.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// Table of the store that has the row.
    pub table: &'a str,
    /// Id of the row in that table.
    pub id: &'a str,
    /// Id of the workspace of the row.
    pub workspace: &'a str,
    /// The engine or plugin that gets the secrets.
    pub served_by: &'a str,
    /// Digest of the plugin version that it is pinned to.
    pub version: Option<&'a str>,
}

impl Holder<'_> {
    fn destination(&self, shown: &Map<String, Value>) -> Result<String> {
        // Sorted, because the order of properties has no meaning.
        let shown: BTreeMap<_, _> = shown.iter().collect();
        let parts = (self.workspace, self.served_by, self.version, shown);
        serde_json::to_string(&parts).map_err(Error::internal)
    }
}

/// Stored connection data: the shown properties, and the sealed secrets.
#[derive(Clone, Debug, Default)]
pub struct StoredData {
    /// Every secret is [`MASK`] here.
    pub shown: Map<String, Value>,
    sealed: Option<Vec<u8>>,
}

impl StoredData {
    /// From its two columns.
    pub fn new(shown: Map<String, Value>, sealed: Option<Vec<u8>>) -> Self {
        Self { shown, sealed }
    }

    /// The names of the secrets that are stored.
    fn secrets(&self) -> impl Iterator<Item = &String> {
        let shown = self.shown.iter().filter(|_| self.sealed.is_some());
        let secret = shown.filter(|(_, value)| *value == MASK);
        secret.map(|(name, _)| name)
    }

    /// The encrypted secrets, for their column; `None` if there are none.
    pub fn sealed(&self) -> Option<&[u8]> {
        self.sealed.as_deref()
    }

    /// Masks the secrets of `clear` and seals them for a row.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn seal(
        clear: &ClearData,
        rules: &Rules<'_>,
        keys: &SecretKeys,
        holder: Holder<'_>,
    ) -> Result<Self> {
        let (mut shown, mut secrets) = (Map::new(), Map::new());
        for (name, value) in clear {
            if rules.is_secret(name) && !value.is_null() {
                shown.insert(name.clone(), MASK.into());
                secrets.insert(name.clone(), value.clone());
            } else {
                shown.insert(name.clone(), value.clone());
            }
        }
        let sealed = match secrets.is_empty() {
            true => None,
            false => {
                let plain = Zeroizing::new(serde_json::to_vec(&secrets).map_err(Error::internal)?);
                Some(sealed_for(&shown, keys, holder, &plain)?)
            }
        };
        Ok(Self { shown, sealed })
    }

    /// The same data sealed with the current key for `to`.
    ///
    /// # Errors
    /// When the secrets do not open for `from`.
    pub fn moved(&self, keys: &SecretKeys, from: Holder<'_>, to: Holder<'_>) -> Result<Self> {
        let sealed = match self.plain(keys, from)? {
            Some(plain) => Some(sealed_for(&self.shown, keys, to, &plain)?),
            None => None,
        };
        Ok(Self {
            shown: self.shown.clone(),
            sealed,
        })
    }

    /// The same data bound to its destination, if an earlier version of the program sealed it.
    ///
    /// # Errors
    /// When the secrets do not open.
    pub fn bound(&self, keys: &SecretKeys, holder: Holder<'_>) -> Result<Option<Self>> {
        let Some(sealed) = self
            .sealed
            .as_ref()
            .filter(|one| !SecretKeys::is_bound(one))
        else {
            return Ok(None);
        };
        let plain = keys.open_unbound(holder.table, holder.id, sealed);
        let plain = plain.map_err(Error::internal)?;
        Ok(Some(Self {
            shown: self.shown.clone(),
            sealed: Some(sealed_for(&self.shown, keys, holder, &plain)?),
        }))
    }

    /// Whether it has secrets that were sealed with another key than the current one.
    pub fn is_outdated(&self, keys: &SecretKeys) -> bool {
        let sealed = self.sealed.as_ref();
        sealed.is_some_and(|sealed| !keys.is_current(sealed))
    }

    fn plain(&self, keys: &SecretKeys, holder: Holder<'_>) -> Result<Option<OpenedSecret>> {
        let Some(sealed) = &self.sealed else {
            return Ok(None);
        };
        let destination = holder.destination(&self.shown)?;
        let opened = keys.open(binding(holder, &destination), sealed);
        opened.map(Some).map_err(|error| unopened(error, sealed))
    }

    /// Everything in clear, for the plugin.
    ///
    /// # Errors
    /// When the secrets do not open, because the row was modified outside Mindhost.
    pub fn open(&self, keys: &SecretKeys, holder: Holder<'_>) -> Result<ClearData> {
        let mut clear = self.shown.clone();
        if let Some(plain) = self.plain(keys, holder)? {
            let secrets: Map<String, Value> =
                serde_json::from_slice(&plain).map_err(|e| Error::internal(e.to_string()))?;
            clear.extend(secrets);
        }
        Ok(clear)
    }

    /// Everything in clear, as the base of a change. If the secrets do not open, the stored data cannot be trusted, and
    /// `sent` must have all of it.
    ///
    /// # Errors
    /// `secret_required`
    pub fn open_for_change(
        &self,
        keys: &SecretKeys,
        holder: Holder<'_>,
        sent: &ClearData,
    ) -> Result<ClearData> {
        let error = match self.open(keys, holder) {
            Ok(clear) => return Ok(clear),
            Err(error) => error,
        };
        log_unopened(holder, &error);
        let why = "the stored secrets no longer open, so send the whole `connection_data` again";
        require_secrets(self, sent, why)?;
        Ok(ClearData::new())
    }
}

/// The error for secrets that do not open.
fn unopened(error: Unsealable, sealed: &[u8]) -> Error {
    match SecretKeys::is_bound(sealed) {
        true => Error::internal(error),
        false => Error::internal(
            "an earlier version of the server sealed this after the store was upgraded: stop every server of that version, and \
             send the secrets of this row again",
        ),
    }
}

/// Logs that the secrets of a row do not open.
pub fn log_unopened(holder: Holder<'_>, error: &Error) {
    let (table, id) = (holder.table, holder.id);
    let cause = std::error::Error::source(error);
    tracing::error!(
        table,
        id,
        ?cause,
        "cannot decrypt the secrets, which are left as they are: their row was modified outside Mindhost"
    );
}

fn sealed_for(
    shown: &Map<String, Value>,
    keys: &SecretKeys,
    holder: Holder<'_>,
    plain: &[u8],
) -> Result<Vec<u8>> {
    let destination = holder.destination(shown)?;
    keys.seal(binding(holder, &destination), plain)
}

fn binding<'a>(holder: Holder<'a>, destination: &'a str) -> Binding<'a> {
    Binding {
        table: holder.table,
        id: holder.id,
        destination,
    }
}

/// The data of a new datasource or provider, in which no secret may be masked.
///
/// # Errors
/// `secret_required`, `invalid_connection_data`
pub fn new(sent: ClearData, rules: &Rules<'_>) -> Result<ClearData> {
    for (name, value) in &sent {
        if rules.is_secret(name) && value == MASK {
            return Err(secret_required(name, "there is no stored value to keep"));
        }
    }
    rules.check(&sent)?;
    Ok(sent)
}

/// The stored data with changes applied: a sent property replaces the stored one, null removes it, and a secret that is
/// sent as [`MASK`] or not sent is kept.
///
/// # Errors
/// `secret_required` when a destination changes and a stored secret is not sent again; `invalid_connection_data`.
pub fn changed(stored: &ClearData, sent: ClearData, rules: &Rules<'_>) -> Result<ClearData> {
    let mut merged = stored.clone();
    let mut renewed = Vec::new();
    for (name, value) in sent {
        if rules.is_secret(&name) {
            match stored.get(&name).is_some_and(|old| !old.is_null()) {
                true if value == MASK => continue,
                false if value == MASK => {
                    return Err(secret_required(&name, "there is no stored value to keep"));
                }
                _ => renewed.push(name.clone()),
            }
        }
        match value {
            Value::Null => merged.remove(&name),
            value => merged.insert(name, value),
        };
    }
    let moved = rules
        .destinations()
        .find(|name| !same(stored.get(*name), merged.get(*name)));
    if let Some(moved) = moved {
        let kept = merged
            .keys()
            .find(|name| rules.is_secret(name) && !renewed.contains(name));
        if let Some(kept) = kept {
            return Err(secret_required(
                kept,
                &format!("`{moved}` changed, and it decides where the secret goes"),
            ));
        }
    }
    rules.check_changed(&merged, stored)?;
    Ok(merged)
}

/// Requires that every stored secret is sent again.
///
/// # Errors
/// `secret_required`
pub fn require_secrets(stored: &StoredData, sent: &ClearData, why: &str) -> Result<()> {
    let is_kept = |name: &&String| sent.get(*name).is_none_or(|value| value == MASK);
    match stored.secrets().find(is_kept) {
        Some(kept) => Err(secret_required(kept, why)),
        None => Ok(()),
    }
}

/// The error of a failed connection test. An error of the engine, the vendor or the network becomes
/// `connection_failed`; errors of the host and of the plugin stay as they are.
pub fn test_failed(error: Error) -> Error {
    let ours = [
        Code::PluginError,
        Code::PluginSuspended,
        Code::NoPlugin,
        Code::Overloaded,
        Code::Internal,
        Code::Cancelled,
    ];
    if ours.contains(&error.code()) {
        return error;
    }
    let mut failed = Error::new(Code::ConnectionFailed, error.message())
        .param("connection_data")
        .with_engine_code(error.engine_code().unwrap_or_default());
    if let Some(blame) = error.blame() {
        failed = failed.blamed(blame);
    }
    failed.with_source(error)
}

/// Whether two values are equal; absent equals null, and a number equals its text.
fn same(old: Option<&Value>, new: Option<&Value>) -> bool {
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    text(old) == text(new)
}

fn secret_required(name: &str, why: &str) -> Error {
    let param = format!("connection_data.{name}");
    let message = format!("send `{param}` in clear: {why}");
    Error::new(Code::SecretRequired, message).param(param)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::SecretKey;
    use proptest::prelude::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["host"],
            "additionalProperties": false,
            "properties": {
                "host": {"type": "string", "x-destination": true},
                "port": {"type": ["integer", "string"], "x-destination": true},
                "database": {"type": "string"},
                "password": {"type": "string", "maxLength": 8, "x-secret": true},
                "sslkey": {"type": "string", "x-secret": true, "x-multiline": true},
                "extra": {"type": "object"},
            }
        })
    }

    fn clear(value: Value) -> ClearData {
        value.as_object().unwrap().clone()
    }

    fn check(sent: Value, expected: Result<Value, (Code, &str)>) {
        let schema = schema();
        let stored = clear(json!({"host": "a", "port": 5432, "password": "old"}));
        let result = changed(&stored, clear(sent.clone()), &Rules::new(&schema));
        match (result, expected) {
            (Ok(data), Ok(expected)) => assert_eq!(Value::Object(data), expected, "{sent}"),
            (Err(error), Err((code, param))) => {
                assert_eq!(
                    (error.code(), error.param_name()),
                    (code, Some(param)),
                    "{sent}"
                );
            }
            (result, expected) => panic!("{sent}: {result:?} is not {expected:?}"),
        }
    }

    #[test]
    fn masked_secret_is_kept_unless_its_destination_changes() {
        let secret_required = Err((Code::SecretRequired, "connection_data.password"));
        check(
            json!({"password": MASK, "database": "d"}),
            Ok(json!({"host": "a", "port": 5432, "password": "old", "database": "d"})),
        );
        check(
            json!({"host": "a", "port": "5432", "password": MASK}),
            Ok(json!({"host": "a", "port": "5432", "password": "old"})),
        );
        check(
            json!({"host": "b", "password": MASK}),
            secret_required.clone(),
        );
        check(json!({"host": "b"}), secret_required.clone());
        check(json!({"port": null}), secret_required);
        check(
            json!({"host": "b", "password": "new"}),
            Ok(json!({"host": "b", "port": 5432, "password": "new"})),
        );
        check(
            json!({"host": "b", "password": null}),
            Ok(json!({"host": "b", "port": 5432})),
        );
        check(
            json!({"sslkey": MASK}),
            Err((Code::SecretRequired, "connection_data.sslkey")),
        );
    }

    #[test]
    fn schema_error_names_the_property_without_its_value() {
        let schema = schema();
        let rules = Rules::new(&schema);
        for (sent, param, message) in [
            (
                json!({}),
                "connection_data.host",
                "`connection_data.host` is missing",
            ),
            (
                json!({"host": "a", "colour": 1}),
                "connection_data.colour",
                "`connection_data.colour` is not known here; known are: host, port, database, password, sslkey, extra",
            ),
            (
                json!({"host": "a", "password": "hunter2hunter2"}),
                "connection_data.password",
                "`connection_data.password`: value is longer than 8 characters",
            ),
        ] {
            let error = new(clear(sent), &rules).unwrap_err();
            assert_eq!(error.code(), Code::InvalidConnectionData);
            assert_eq!(
                (error.param_name(), error.message()),
                (Some(param), message)
            );
        }
    }

    #[test]
    fn control_characters_are_refused_at_any_depth() {
        let schema = schema();
        let rules = Rules::new(&schema);
        let param_of = |sent: Value| {
            new(clear(sent), &rules)
                .err()
                .map(|error| error.param_name().unwrap().to_owned())
        };
        for (sent, param) in [
            (json!({"host": "a\r\nb"}), "connection_data.host"),
            (
                json!({"host": "a", "password": "\u{0}"}),
                "connection_data.password",
            ),
            (
                json!({"host": "a", "sslkey": "a\u{b}"}),
                "connection_data.sslkey",
            ),
            (
                json!({"host": "a", "extra": {"x": ["y", "\u{7f}"]}}),
                "connection_data.extra.x.1",
            ),
            (
                json!({"host": "a", "extra": {"x\n": 1}}),
                "connection_data.extra",
            ),
        ] {
            assert_eq!(param_of(sent.clone()).as_deref(), Some(param), "{sent}");
        }
        assert_eq!(
            param_of(json!({"host": "ä b", "sslkey": "-----\r\nx\n\t-----\n"})),
            None
        );
    }

    #[test]
    fn secrets_are_sealed_masked_and_bound_to_their_row() {
        let schema = schema();
        let keys = SecretKeys::single(SecretKey::new([7; 32]));
        let holder = |id| Holder {
            table: "datasources",
            id,
            workspace: "w",
            served_by: "postgres",
            version: None,
        };
        let data = clear(json!({"host": "a", "password": "hunter2"}));
        let mut stored = StoredData::seal(&data, &Rules::new(&schema), &keys, holder("1")).unwrap();
        assert_eq!(
            Value::Object(stored.shown.clone()),
            json!({"host": "a", "password": MASK})
        );
        assert!(!format!("{stored:?}").contains("hunter2"));
        assert_eq!(stored.open(&keys, holder("1")).unwrap(), data);
        let pinned = Holder {
            version: Some("sha256:1"),
            ..holder("1")
        };
        for other in [
            holder("2"),
            Holder {
                workspace: "x",
                ..holder("1")
            },
            Holder {
                served_by: "mysql",
                ..holder("1")
            },
            pinned,
        ] {
            assert!(stored.open(&keys, other).is_err(), "{other:?}");
        }
        let moved = stored.moved(&keys, holder("1"), pinned).unwrap();
        assert_eq!(moved.open(&keys, pinned).unwrap(), data);
        // The destination is modified outside Mindhost.
        stored.shown.insert("host".into(), json!("evil"));
        assert!(stored.open(&keys, holder("1")).is_err());
        // To repair the row, everything is sent again.
        let open = |sent: Value| stored.open_for_change(&keys, holder("1"), &clear(sent));
        let kept = open(json!({"host": "b", "password": MASK})).unwrap_err();
        assert_eq!(kept.code(), Code::SecretRequired);
        assert!(open(json!({"password": "new"})).unwrap().is_empty());
    }

    proptest! {
        /// For any change: a stored secret never meets another destination.
        #[test]
        fn stored_secret_never_gets_another_destination(
            host in prop_oneof![Just(None), Just(Some(json!("a"))), Just(Some(json!("b"))), Just(Some(Value::Null))],
            port in prop_oneof![Just(None), Just(Some(json!(5432))), Just(Some(json!("1"))), Just(Some(Value::Null))],
            password in prop_oneof![Just(None), Just(Some(json!(MASK))), Just(Some(json!("new"))), Just(Some(Value::Null))],
        ) {
            let schema = schema();
            let stored = clear(json!({"host": "a", "port": 5432, "password": "old"}));
            let sent = [("host", host), ("port", port), ("password", password)];
            let sent = sent.into_iter().filter_map(|(n, v)| Some((n.to_owned(), v?))).collect();
            if let Ok(data) = changed(&stored, sent, &Rules::new(&schema))
                && data.get("password") == Some(&json!("old"))
            {
                prop_assert_eq!(data.get("host"), stored.get("host"));
                prop_assert_eq!(data.get("port"), stored.get("port"));
            }
        }
    }
}
