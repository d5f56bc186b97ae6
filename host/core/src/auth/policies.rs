//! The policies of a key: what its holder sees of tables, through every Mind.
//!
//! They are part of what the proof of the key covers, and never change. Only keys with the role `user` have some: every
//! other role could make a Mind, a datasource or a key without them.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Role, key::NewKey};
use mindhost_base::{
    error::{Error, Result},
    policy::Rule,
};
use mindhost_plugin_api::TableRef;
use mindhost_store::{json, to_json};

/// Most policies of a key, because every request of the key has them.
const MAX_POLICIES: usize = 100;
/// Most bytes of all of them, as they are stored.
const MAX_BYTES: usize = 64 * 1024;

/// What the holder of a key sees of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyPolicy {
    /// UUID of the datasource, so that the policy outlives a new name.
    pub datasource_id: String,
    /// The name that the datasource had when the key was made: the policy holds for another one of this name, too.
    pub datasource: String,
    /// Schema and name of the table.
    pub table: TableRef,
    /// What is seen.
    pub rule: Rule,
}

/// The policies of a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyPolicies {
    list: Vec<KeyPolicy>,
    digest: String,
}

impl KeyPolicies {
    /// The policies of a new key.
    ///
    /// # Errors
    /// `invalid_parameter` for two policies of one table, and for too many.
    pub fn new(list: Vec<KeyPolicy>) -> Result<Self> {
        let mut seen = HashSet::new();
        for (index, policy) in list.iter().enumerate() {
            if !seen.insert((&policy.datasource_id, &policy.table)) {
                let message = format!(
                    "the table `{}` has two policies; put all of it into one",
                    policy.table
                );
                return Err(Error::invalid(format!("policies[{index}]"), message));
            }
        }
        Self::check_count(list.len())?;
        let text = to_json(&list)?;
        match text.len() <= MAX_BYTES {
            true => Ok(Self::of(list, &text)),
            false => Err(too_many()),
        }
    }

    /// Refuses more policies than a key may have, before each of them is looked at.
    ///
    /// # Errors
    /// `invalid_parameter`
    pub fn check_count(policies: usize) -> Result<()> {
        match policies <= MAX_POLICIES {
            true => Ok(()),
            false => Err(too_many()),
        }
    }

    /// The policies of a row; `None` is none.
    pub(super) fn read(text: Option<&str>) -> Result<Self> {
        match text {
            Some(text) => Ok(Self::of(json(text)?, text)),
            None => Ok(Self::default()),
        }
    }

    fn of(list: Vec<KeyPolicy>, text: &str) -> Self {
        let digest = match list.is_empty() {
            true => String::new(),
            false => URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes())),
        };
        Self { list, digest }
    }

    /// As they are stored; `None` for none.
    pub(super) fn text(&self) -> Result<Option<String>> {
        match self.list.is_empty() {
            true => Ok(None),
            false => Ok(Some(to_json(&self.list)?)),
        }
    }

    /// In the order in which they were sent.
    pub fn list(&self) -> &[KeyPolicy] {
        &self.list
    }

    /// Tells different policies apart, for caches; empty without policies.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn too_many() -> Error {
    let message =
        format!("a key has at most {MAX_POLICIES} policies with {MAX_BYTES} bytes together");
    Error::invalid("policies", message)
}

/// Refuses policies of a key that could go around them.
pub(super) fn check_role(new: &NewKey) -> Result<()> {
    if new.policies.list.is_empty() || new.role == Role::User {
        return Ok(());
    }
    let message = format!(
        "only keys with the role user have policies: one with the role {} could make a Mind or a key without them",
        new.role.as_str()
    );
    Err(Error::invalid("policies", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(table: &str) -> KeyPolicy {
        KeyPolicy {
            datasource_id: "id".to_owned(),
            datasource: "shop".to_owned(),
            table: TableRef::new("main", table),
            rule: Rule {
                hidden: vec!["pay".to_owned()],
                ..Rule::default()
            },
        }
    }

    #[test]
    fn policies_read_as_they_were_stored() {
        let made = KeyPolicies::new(vec![policy("staff"), policy("teams")]).unwrap();
        let text = made.text().unwrap();
        assert_eq!(KeyPolicies::read(text.as_deref()).unwrap(), made);
        let none = KeyPolicies::new(Vec::new()).unwrap();
        assert_eq!((none.text().unwrap(), none.digest()), (None, ""));
        assert_eq!(KeyPolicies::read(None).unwrap(), none);
        let other = KeyPolicies::new(vec![policy("staff")]).unwrap();
        assert_ne!(made.digest(), other.digest());
    }

    #[test]
    fn key_has_few_policies_and_one_of_a_table() {
        let refused = |list: Vec<KeyPolicy>| {
            let error = KeyPolicies::new(list).unwrap_err();
            error.param_name().map(str::to_owned)
        };
        let twice = vec![policy("staff"), policy("staff")];
        assert_eq!(refused(twice).as_deref(), Some("policies[1]"));
        let many = (0..=MAX_POLICIES).map(|number| policy(&number.to_string()));
        assert_eq!(refused(many.collect()).as_deref(), Some("policies"));
        let long = policy(&"x".repeat(MAX_BYTES));
        assert_eq!(refused(vec![long]).as_deref(), Some("policies"));
    }
}
