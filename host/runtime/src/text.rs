//! Text of guests within limits.

/// The start of a text that is at most `max` bytes long, up to a character boundary.
pub fn truncated(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max))
        .unwrap_or_default()
}
