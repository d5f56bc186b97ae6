//! What resources may be called.

use crate::error::{Error, Result};

/// Refuses a name that is not `[A-Za-z][A-Za-z0-9_-]{0,63}`, which Minds and providers have. `of` says whose it is.
pub fn check(of: &str, name: &str) -> Result<()> {
    match is_made_of(name, b"_-", 64) {
        true => Ok(()),
        false => Err(Error::invalid(
            "name",
            format!(
                "the name of a {of} begins with a letter, goes on with letters, digits, _ and -, and has at most 64 characters"
            ),
        )),
    }
}

/// Refuses a name that is not `[A-Za-z][A-Za-z0-9_]{0,61}`, which datasources have: it must be usable in SQL without
/// quoting.
pub fn check_datasource(name: &str) -> Result<()> {
    match is_made_of(name, b"_", 62) {
        true => Ok(()),
        false => Err(Error::invalid(
            "name",
            "the name of a datasource begins with a letter, goes on with letters, digits and _, and has at most 62 characters",
        )),
    }
}

fn is_made_of(name: &str, signs: &[u8], longest: usize) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric() || signs.contains(&b))
        && name.len() <= longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_a_letter_and_are_at_most_64_long() {
        for good in ["a", "Sales-2024_x", &"a".repeat(64)] {
            assert!(check("Mind", good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "-a", "a.b", "ä", "a b", &"a".repeat(65)] {
            assert!(check("Mind", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_datasources_are_those_that_sql_takes_unquoted() {
        for good in ["a", "Sales_2024", &"a".repeat(62)] {
            assert!(check_datasource(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "_a", "a-b", "a.b", "ä", "a b", &"a".repeat(63)] {
            assert!(check_datasource(bad).is_err(), "{bad}");
        }
    }
}
