//! What resources may be called.

mod characters;

use crate::error::{Error, Result};
use characters::{at_a_glance, is_disguise, is_hidden, mixes_alphabets};

/// Refuses a name that is not `[A-Za-z][A-Za-z0-9_-]{0,63}`, which Minds and providers have. `of` says whose it is.
pub fn check(of: &str, name: &str) -> Result<()> {
    match is_made_of(name, b"_-", 64) {
        true => Ok(()),
        false => Err(Error::invalid(
            "name",
            format!(
                "the name of a {of} must begin with a letter, contain only letters, digits, _ and -, and be at most 64 characters long"
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

/// What the audit trail calls the key of the settings; no other key may be called so.
pub const CONFIGURED_KEY: &str = "MINDHOST_ADMIN_KEY";

/// Refuses a name for people that could not be read, or be taken for another: without a visible character, longer than
/// 100, with characters that are not shown or turn the order of the text round, with forms of letters that stand for others,
/// with letters of alphabets that look alike, or the name of the configured key. `of` says whose it is.
pub fn check_free(of: &str, name: &str) -> Result<()> {
    let problem = if name.trim().is_empty() || name.chars().count() > 100 {
        "has 1 to 100 characters".to_owned()
    } else if let Some(hidden) = name.chars().find(|char| is_hidden(*char)) {
        format!(
            "is one line of visible text: leave out {}, and other characters that are not seen or turn the direction of text",
            code_point(hidden)
        )
    } else if let Some(disguise) = name.chars().find(|char| is_disguise(*char)) {
        format!(
            "must not contain {}, which looks like another character; use the plain letter or sign",
            code_point(disguise)
        )
    } else if mixes_alphabets(name) {
        "must not mix letters of alphabets that look alike, such as Latin and Cyrillic; use one of them".to_owned()
    } else if at_a_glance(name) == at_a_glance(CONFIGURED_KEY) {
        format!("must not look like {CONFIGURED_KEY}, the key of the settings; choose another name")
    } else {
        return Ok(());
    };
    Err(Error::invalid(
        "name",
        format!("the name of a {of} {problem}"),
    ))
}

fn code_point(char: char) -> String {
    format!("U+{:04X}", u32::from(char))
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
            "Отчёт № 7",
            "λόγος",
            "नमस्ते",
            "تقرير",
            "nightly – build, v2.1 (EU) 🚀",
            "5 × 3",
            "admin key of Mindhost",
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
            "adm\u{200b}in",
            "adm\u{ad}in",
            "a\u{a0}b",
            "\u{3164}",
            "a\u{e0041}",
            "a\u{fe0f}",
            "\u{e000}",
            "\u{430}dmin",
            "admi\u{578}",
            "\u{391}dmin key",
            "ａｄｍｉｎ",
            "𝐚dmin",
            "ⓐdmin",
            "admiⁿ",
            "a\u{2212}b",
            "a\u{336}b",
            "MINDHOST_ADMIN_KEY",
            "mindhost-admin key",
            "M1NDH0ST_ADMIN_KEY",
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
