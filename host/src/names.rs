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

/// Refuses a name for people that nobody could read: without a visible character, longer than 100, or with characters that
/// are not shown but change what is: a terminal obeys some of them, and others turn the order of the text round. `of` says
/// whose it is.
pub fn check_free(of: &str, name: &str) -> Result<()> {
    if name.trim().is_empty() || name.chars().count() > 100 {
        let message = format!("the name of a {of} has 1 to 100 characters");
        return Err(Error::invalid("name", message));
    }
    match name.chars().any(is_hidden) {
        true => Err(Error::invalid(
            "name",
            format!(
                "the name of a {of} is one line of text: leave out control characters and those that turn its direction"
            ),
        )),
        false => Ok(()),
    }
}

/// A name as a terminal may show it, whenever and by whomever it was stored.
pub fn shown(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for char in name.chars() {
        match is_hidden(char) {
            true => shown.extend(char.escape_unicode()),
            false => shown.push(char),
        }
    }
    shown
}

/// Control characters, ends of lines, and what Unicode has to turn the direction of text or to take no room.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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
    fn a_name_for_people_is_one_line_of_visible_text() {
        for good in [
            "a",
            "Bericht für Zoë",
            "日本語",
            "a 'b' \"c\"",
            &"ä".repeat(100),
        ] {
            assert!(check_free("key", good).is_ok(), "{good}");
            assert_eq!(shown(good), good);
        }
        for bad in [
            "",
            " ",
            "a\nb",
            "\u{1b}[2J",
            "\u{7}",
            "a\u{202e}b",
            "\u{9b}0m",
            &"a".repeat(101),
        ] {
            assert!(check_free("key", bad).is_err(), "{bad:?}");
        }
        assert_eq!(shown("a\u{1b}[2J\u{202e}"), "a\\u{1b}[2J\\u{202e}");
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
