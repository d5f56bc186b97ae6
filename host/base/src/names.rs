//! Rules for the names of resources.

mod characters;

use crate::error::{Error, Result};
use characters::{is_confusable, is_hidden, mixes_scripts, skeleton};

/// Checks the name of a Mind or provider: `[A-Za-z][A-Za-z0-9_-]{0,63}`. `of` is the kind of resource, for the message.
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

/// Checks the name of a datasource: `[A-Za-z][A-Za-z0-9_]{0,61}`, so that SQL can use it without quotes.
pub fn check_datasource(name: &str) -> Result<()> {
    match is_made_of(name, b"_", 62) {
        true => Ok(()),
        false => Err(Error::invalid(
            "name",
            "the name of a datasource must begin with a letter, contain only letters, digits and _, and be at most 62 \
             characters long",
        )),
    }
}

/// The name of the key from the settings in the audit trail. No other key may have it.
pub const CONFIGURED_KEY: &str = "MINDHOST_ADMIN_KEY";

/// Checks a display name, such as that of a key: 1 to 100 visible characters, and no look-alike of another name.
/// Refuses characters that are invisible or change the direction of text, confusable forms of letters, a mix of scripts
/// whose letters look alike, and the name of the configured key. `of` is the kind of resource, for the message.
pub fn check_display_name(of: &str, name: &str) -> Result<()> {
    let problem = if name.trim().is_empty() || name.chars().count() > 100 {
        "must have 1 to 100 characters".to_owned()
    } else if let Some(hidden) = name.chars().find(|char| is_hidden(*char)) {
        format!(
            "must be one line of visible text: remove {} and any other character that is invisible or changes the direction \
             of text",
            code_point(hidden)
        )
    } else if let Some(confusable) = name.chars().find(|char| is_confusable(*char)) {
        format!(
            "must not contain {}, which looks like another character; use the plain letter or sign",
            code_point(confusable)
        )
    } else if mixes_scripts(name) {
        "must not mix letters of alphabets that look alike, such as Latin and Cyrillic; use one of them".to_owned()
    } else if skeleton(name) == skeleton(CONFIGURED_KEY) {
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

/// Escapes invisible characters, so that a terminal can show a name from the store: rows of earlier versions may have
/// them.
pub fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for char in name.chars() {
        match is_hidden(char) {
            true => escaped.extend(char.escape_unicode()),
            false => escaped.push(char),
        }
    }
    escaped
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
    fn mind_name_begins_with_letter_and_has_at_most_64_characters() {
        for good in ["a", "Sales-2024_x", &"a".repeat(64)] {
            assert!(check("Mind", good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "-a", "a.b", "ä", "a b", &"a".repeat(65)] {
            assert!(check("Mind", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn display_name_is_one_line_of_visible_text() {
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
            assert!(check_display_name("key", good).is_ok(), "{good}");
            assert_eq!(escaped(good), good);
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
            assert!(check_display_name("key", bad).is_err(), "{bad:?}");
        }
        assert_eq!(escaped("a\u{1b}[2J\u{202e}"), "a\\u{1b}[2J\\u{202e}");
    }

    #[test]
    fn datasource_name_needs_no_quotes_in_sql() {
        for good in ["a", "Sales_2024", &"a".repeat(62)] {
            assert!(check_datasource(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "_a", "a-b", "a.b", "ä", "a b", &"a".repeat(63)] {
            assert!(check_datasource(bad).is_err(), "{bad}");
        }
    }
}
