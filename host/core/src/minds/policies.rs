//! The policies of a Mind: what its callers see of its tables.
//!
//! They are bound to the ids of datasources, so that they outlive a new name. This crate only stores them; whether they
//! fit their tables is checked before, and again whenever a statement is guarded.

use std::collections::HashSet;

use super::{Mind, MindDatasource, MindPolicy, Minds, not_found, store};
use crate::auth::{Caller, Role};
use mindhost_base::error::{Code, Error, Result};

/// Most policies of a Mind.
const MAX_POLICIES: usize = 1_000;
/// Most bytes of all of them, as they are stored.
const MAX_BYTES: usize = 1024 * 1024;

impl Minds {
    /// Replaces all policies of a Mind. They must have been checked.
    ///
    /// # Errors
    /// `mind_not_found`; `invalid_parameter` for two policies of one table, and for too many.
    pub async fn set_policies(
        &self,
        caller: &Caller,
        name: &str,
        policies: Vec<MindPolicy>,
    ) -> Result<Mind> {
        caller.require(Role::Editor)?;
        let mind = self.get(caller, name).await?;
        check(&policies)?;
        match store::set_policies(&self.store, &mind.id, &policies).await? {
            true => self.get(caller, name).await,
            false => Err(not_found(name)),
        }
    }
}

fn check(policies: &[MindPolicy]) -> Result<()> {
    let mut seen = HashSet::new();
    for (index, policy) in policies.iter().enumerate() {
        if !seen.insert((&policy.datasource_id, &policy.table)) {
            let message = format!(
                "the table `{}` has two policies; put all of it into one",
                policy.table
            );
            return Err(Error::invalid(format!("policies[{index}]"), message));
        }
    }
    check_count(policies.len())?;
    match mindhost_store::to_json(&policies)?.len() <= MAX_BYTES {
        true => Ok(()),
        false => Err(too_many()),
    }
}

/// Refuses more policies than a Mind may have, before each of them is looked at.
///
/// # Errors
/// `invalid_parameter`
pub fn check_count(policies: usize) -> Result<()> {
    match policies <= MAX_POLICIES {
        true => Ok(()),
        false => Err(too_many()),
    }
}

fn too_many() -> Error {
    let message =
        format!("a Mind has at most {MAX_POLICIES} policies with {MAX_BYTES} bytes together");
    Error::invalid("policies", message)
}

/// Refuses to take a datasource from a Mind while a policy is about it: added again, it would be without.
///
/// # Errors
/// `resource_in_use`
pub(super) fn check_kept(mind: &Mind, datasources: &[MindDatasource]) -> Result<()> {
    let is_kept = |id: &str| datasources.iter().any(|datasource| datasource.id == id);
    let mut left = mind.policies.iter();
    match left.find(|policy| !is_kept(&policy.datasource_id)) {
        None => Ok(()),
        Some(policy) => Err(Error::new(
            Code::InUse,
            format!(
                "the Mind has a policy for `{}` of a datasource that `datasources` leaves out; remove the policy first \
                 (`PUT /minds/{}/policies`)",
                policy.table, mind.name
            ),
        )
        .param("datasources")),
    }
}
