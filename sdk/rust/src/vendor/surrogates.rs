//! Characters that a vendor splits over two events: JSON writes an emoji as two escapes (`\ud83d\ude00`), and some
//! vendors put each into an event of its own, which no parser of JSON takes.

/// Puts the two halves together.
#[derive(Debug, Default)]
pub(super) struct Surrogates {
    /// The first half that ended a text, as its four digits.
    first: Option<String>,
}

/// What an escape is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
    Neither,
}

impl Surrogates {
    /// The JSON of an event with whole characters. A first half at the end of a text is kept for the next event with a
    /// second half; a half that has no other half becomes U+FFFD.
    pub(super) fn join(&mut self, data: &str) -> Option<String> {
        let bytes = data.as_bytes();
        let mut joined = String::new();
        let (mut from, mut at) = (0, 0);
        while at < bytes.len() {
            if bytes[at] != b'\\' {
                at += 1;
                continue;
            }
            let half = half(bytes, at);
            if half == Half::Neither {
                at += 2;
                continue;
            }
            if half == Half::First && self::half(bytes, at + 6) == Half::Second {
                at += 12;
                continue;
            }
            joined.push_str(data.get(from..at)?);
            match half {
                Half::First if bytes.get(at + 6) == Some(&b'"') => {
                    self.first = data.get(at + 2..at + 6).map(str::to_owned);
                }
                Half::Second if at > 0 && bytes[at - 1] == b'"' && self.first.is_some() => {
                    joined.push_str("\\u");
                    joined.push_str(&self.first.take()?);
                    joined.push_str(data.get(at..at + 6)?);
                }
                _ => joined.push_str("\\ufffd"),
            }
            at += 6;
            from = at;
        }
        if from == 0 {
            return None;
        }
        joined.push_str(data.get(from..)?);
        Some(joined)
    }
}

/// What the escape at a place is.
fn half(bytes: &[u8], at: usize) -> Half {
    let Some([b'\\', b'u', digits @ ..]) = bytes.get(at..at + 6) else {
        return Half::Neither;
    };
    if !digits.iter().all(u8::is_ascii_hexdigit) || !digits[0].eq_ignore_ascii_case(&b'd') {
        return Half::Neither;
    }
    match digits[1].to_ascii_lowercase() {
        b'8' | b'9' | b'a' | b'b' => Half::First,
        b'c'..=b'f' => Half::Second,
        _ => Half::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_character_come_together_over_events() {
        let mut surrogates = Surrogates::default();
        let first = surrogates.join(r#"{"text":"a\ud83d"}"#);
        assert_eq!(first.as_deref(), Some(r#"{"text":"a"}"#));
        assert_eq!(surrogates.join(r#"{"ping":1}"#), None);
        let second = surrogates.join(r#"{"text":"\ude00b"}"#);
        assert_eq!(second.as_deref(), Some(r#"{"text":"\ud83d\ude00b"}"#));
        let alone = surrogates.join(r#"{"text":"\ude00 \ud83d c"}"#);
        assert_eq!(alone.as_deref(), Some(r#"{"text":"\ufffd \ufffd c"}"#));
    }

    #[test]
    fn whole_characters_and_escaped_backslashes_stay() {
        let mut surrogates = Surrogates::default();
        for whole in [
            r#"{"text":"\ud83d\ude00"}"#,
            r#"{"text":"\\ud83d"}"#,
            r#"{"text":"😀 \u00e9 \n"}"#,
            r#"{"text":"\u"#,
            "\\",
        ] {
            assert_eq!(surrogates.join(whole), None, "{whole}");
        }
    }
}
