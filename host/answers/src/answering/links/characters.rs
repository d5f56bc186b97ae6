//! The characters of Markdown as a renderer reads them: with the entities and escapes that it replaces.

/// Bytes of an entity that stands for a character of an address.
const MAX_ENTITY: usize = 10;

/// The first character of a text, and the bytes that it is written with; `None` if more of the text may tell.
pub fn first(text: &str, is_end: bool) -> Option<(char, usize)> {
    let mut letters = text.chars();
    let Some(letter) = letters.next() else {
        return is_end.then_some(('\0', 0));
    };
    let is_escaped = |next: &char| next.is_ascii_punctuation();
    match letter {
        '\\' => match letters.next() {
            None if !is_end => None,
            next => Some(
                next.filter(is_escaped)
                    .map_or((letter, 1), |next| (next, 2)),
            ),
        },
        '&' => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '#';
            let name = letters.as_str();
            let end = name.find(|c: char| !is_name(c));
            let whole = end.filter(|end| name[*end..].starts_with(';') && *end + 2 <= MAX_ENTITY);
            match whole.and_then(|end| Some((entity(&name[..end])?, end + 2))) {
                None if end.is_none() && text.len() < MAX_ENTITY && !is_end => None,
                found => Some(found.unwrap_or((letter, 1))),
            }
        }
        _ => Some((letter, letter.len_utf8())),
    }
}

/// A whole text with its entities and escapes replaced.
pub fn read(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((letter, length)) = first(rest, true).filter(|(_, length)| *length > 0) {
        read.push(letter);
        rest = &rest[length..];
    }
    read
}

/// The character of an entity without its `&` and `;`.
fn entity(name: &str) -> Option<char> {
    let number = |digits: &str, radix| {
        u32::from_str_radix(digits, radix)
            .ok()
            .and_then(char::from_u32)
    };
    match (name, name.strip_prefix('#')) {
        ("colon", _) => Some(':'),
        ("sol", _) => Some('/'),
        ("period", _) => Some('.'),
        (_, Some(digits)) => match digits.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        },
        _ => None,
    }
}
