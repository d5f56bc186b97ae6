//! A key as it is stored, and the request for a new one.

use std::sync::Arc;

use serde::Serialize;

use super::{Compat, KeyPolicies, Role};
use mindhost_base::policy::Attributes;
use mindhost_store::now;

/// A key without its text.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = KeyFacts)]
pub struct Key {
    /// Id.
    pub id: String,
    /// Id of its workspace.
    #[serde(skip)]
    pub workspace: String,
    /// For people.
    pub name: String,
    /// Its first characters, to recognise it.
    pub prefix: String,
    /// Its role.
    pub role: Role,
    /// Ids of the Minds that it is limited to; `None` means all. Shown as names.
    #[serde(skip)]
    pub minds: Option<Vec<String>>,
    /// Shapes of answers.
    #[schema(required = true)]
    pub compat: Option<Compat>,
    /// What policies know of its holder.
    #[schema(value_type = HashMap<String, mindhost_base::policy::Attribute>)]
    pub attributes: Attributes,
    /// What its holder sees of tables. Not shown to the holder, for whom hidden columns do not exist.
    #[serde(skip)]
    pub policies: Arc<KeyPolicies>,
    /// When it was made.
    pub created_at: jiff::Timestamp,
    /// Not valid from then on.
    #[schema(required = true)]
    pub expires_at: Option<jiff::Timestamp>,
    /// Not valid since then.
    #[schema(required = true)]
    pub revoked_at: Option<jiff::Timestamp>,
    /// Written at most once a minute.
    #[schema(required = true)]
    pub last_used_at: Option<jiff::Timestamp>,
}

/// What a key is made of; its text is drawn at random.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// For people; 1 to 100 characters.
    pub name: String,
    /// At most that of who makes it.
    pub role: Role,
    /// Ids of the Minds that it is limited to.
    pub minds: Option<Vec<String>>,
    /// Not valid from then on.
    pub expires_at: Option<jiff::Timestamp>,
    /// Shapes of answers.
    pub compat: Option<Compat>,
    /// What policies know of its holder. They never change: a key with others is another key.
    pub attributes: Attributes,
    /// What its holder sees of tables, checked against them. They never change either.
    pub policies: Arc<KeyPolicies>,
}

impl Key {
    /// Whether `expires_at` has passed. A key can be revoked without that.
    pub fn has_expired(&self) -> bool {
        self.expires_at
            .is_some_and(|at| at.as_microsecond() <= now())
    }
}
