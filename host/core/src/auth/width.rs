//! No key makes, or gets hold of, a key that is wider than itself.

use super::{Caller, Role, keys::NewKey};
use mindhost_base::error::{Code, Error, Result};

/// What makes a key wide or narrow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width<'a> {
    pub role: Role,
    /// Ids of the Minds that it is limited to; `None` means all.
    pub minds: Option<&'a [String]>,
    /// Not valid from then on; `None` means for ever.
    pub expires_at: Option<jiff::Timestamp>,
}

impl<'a> Width<'a> {
    pub fn of(new: &'a NewKey) -> Self {
        Self {
            role: new.role,
            minds: new.minds.as_deref(),
            expires_at: new.expires_at,
        }
    }
}

impl Caller {
    /// Whether a key reaches no Mind that the caller does not see. To the caller there are no others.
    pub(super) fn sees_key(&self, minds: Option<&[String]>) -> bool {
        match (&self.minds, minds) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(minds)) => minds.iter().all(|id| own.contains(id)),
        }
    }

    /// Refuses a key that is wider than the caller's own.
    ///
    /// # Errors
    /// `forbidden`, with the parameter that makes it wider.
    pub(super) fn check_not_wider(&self, key: Width<'_>) -> Result<()> {
        let refuse =
            |param: &str, message: String| Err(Error::new(Code::Forbidden, message).param(param));
        if key.role > self.role {
            let (own, wanted) = (self.role.as_str(), key.role.as_str());
            let message = format!("a key with the role {own} cannot hand out one with {wanted}");
            return refuse("role", message);
        }
        if !self.sees_key(key.minds) {
            let message = "your key is limited to some Minds; name Minds among them";
            return refuse("minds", message.to_owned());
        }
        match (self.expires_at, key.expires_at) {
            // In microseconds, as they are stored.
            (Some(own), wanted)
                if wanted.is_none_or(|at| at.as_microsecond() > own.as_microsecond()) =>
            {
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

    fn check(caller: &Caller, key: Width<'_>, expected: Option<&str>) {
        let result = caller.check_not_wider(key);
        let param = result.as_ref().err().and_then(Error::param_name);
        assert_eq!(param, expected, "{caller:?} {key:?}");
    }

    #[test]
    fn a_key_may_be_as_wide_as_its_maker_and_no_wider() {
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
        };
        let same = Width {
            role: Role::Admin,
            minds: Some(&own),
            expires_at: Some(ends),
        };
        check(&caller, same, None);
        check(
            &caller,
            Width {
                minds: Some(&[]),
                expires_at: Some(sooner),
                ..same
            },
            None,
        );
        check(
            &caller,
            Width {
                role: Role::Operator,
                ..same
            },
            Some("role"),
        );
        check(
            &caller,
            Width {
                minds: None,
                ..same
            },
            Some("minds"),
        );
        check(
            &caller,
            Width {
                minds: Some(&other),
                ..same
            },
            Some("minds"),
        );
        check(
            &caller,
            Width {
                expires_at: None,
                ..same
            },
            Some("expires_at"),
        );
        check(
            &caller,
            Width {
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
            Width {
                minds: None,
                expires_at: None,
                ..same
            },
            None,
        );
    }
}
