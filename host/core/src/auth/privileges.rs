//! No privilege escalation: a key creates or rotates only keys with at most its own privileges.

use super::{Caller, Role, key::NewKey};
use mindhost_base::error::{Code, Error, Result};

/// What a key may do, compared between a caller and a key that it makes or rotates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Privileges<'a> {
    pub role: Role,
    /// Ids of the Minds that it is limited to; `None` means all.
    pub minds: Option<&'a [String]>,
    /// Not valid from then on; `None` means never.
    pub expires_at: Option<jiff::Timestamp>,
}

impl<'a> Privileges<'a> {
    pub fn of(new: &'a NewKey) -> Self {
        Self {
            role: new.role,
            minds: new.minds.as_deref(),
            expires_at: new.expires_at,
        }
    }
}

impl Caller {
    /// Whether the caller sees all Minds of a key. Other keys do not exist for the caller.
    pub(super) fn sees_key(&self, minds: Option<&[String]>) -> bool {
        match (&self.minds, minds) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(minds)) => minds.iter().all(|id| own.contains(id)),
        }
    }

    /// Refuses privileges beyond the caller's own.
    ///
    /// # Errors
    /// `forbidden`, with the parameter of the excess privilege.
    pub(super) fn check_may_grant(&self, wanted: Privileges<'_>) -> Result<()> {
        let refuse =
            |param: &str, message: String| Err(Error::new(Code::Forbidden, message).param(param));
        if wanted.role > self.role {
            let (own, role) = (self.role.as_str(), wanted.role.as_str());
            let message = format!("a key with the role {own} cannot hand out one with {role}");
            return refuse("role", message);
        }
        if !self.sees_key(wanted.minds) {
            let message = "your key is limited to some Minds; name Minds among them";
            return refuse("minds", message.to_owned());
        }
        match (self.expires_at, wanted.expires_at) {
            // In microseconds, as they are stored.
            (Some(own), end) if end.is_none_or(|at| at.as_microsecond() > own.as_microsecond()) => {
                refuse(
                    "expires_at",
                    format!("your key ends at {own}; a key that it hands out must end by then"),
                )
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{SignedDuration, Timestamp};

    fn check(caller: &Caller, wanted: Privileges<'_>, expected: Option<&str>) {
        let result = caller.check_may_grant(wanted);
        let param = result.as_ref().err().and_then(Error::param_name);
        assert_eq!(param, expected, "{caller:?} {wanted:?}");
    }

    #[test]
    fn key_grants_at_most_its_own_privileges() {
        let ends = Timestamp::now() + SignedDuration::from_hours(1);
        let (sooner, later) = (
            ends - SignedDuration::from_secs(1),
            ends + SignedDuration::from_secs(1),
        );
        let (own, other) = (["m1".to_owned()], ["m1".to_owned(), "m2".to_owned()]);
        let caller = Caller {
            workspace: "w".into(),
            key_id: "k".into(),
            role: Role::Admin,
            minds: Some(own.to_vec().into()),
            expires_at: Some(ends),
            compat: None,
            hash: None,
            tally: None,
            request_id: None,
            attributes: Default::default(),
            policies: Default::default(),
        };
        let same = Privileges {
            role: Role::Admin,
            minds: Some(&own),
            expires_at: Some(ends),
        };
        check(&caller, same, None);
        check(
            &caller,
            Privileges {
                minds: Some(&[]),
                expires_at: Some(sooner),
                ..same
            },
            None,
        );
        check(
            &caller,
            Privileges {
                role: Role::Operator,
                ..same
            },
            Some("role"),
        );
        check(
            &caller,
            Privileges {
                minds: None,
                ..same
            },
            Some("minds"),
        );
        check(
            &caller,
            Privileges {
                minds: Some(&other),
                ..same
            },
            Some("minds"),
        );
        check(
            &caller,
            Privileges {
                expires_at: None,
                ..same
            },
            Some("expires_at"),
        );
        check(
            &caller,
            Privileges {
                expires_at: Some(later),
                ..same
            },
            Some("expires_at"),
        );
        let unlimited = Caller {
            minds: None,
            expires_at: None,
            ..caller
        };
        check(
            &unlimited,
            Privileges {
                minds: None,
                expires_at: None,
                ..same
            },
            None,
        );
    }
}
