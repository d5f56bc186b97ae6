//! The answer cut into the pieces in which it is streamed.

/// Words with the blanks behind them; together they are the text.
pub fn pieces(text: &str) -> Vec<String> {
    text.split_inclusive([' ', '\n'])
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_pieces_make_the_text() {
        let text = "The number is **12**.\n\n| a |";
        let pieces = super::pieces(text);
        assert_eq!(pieces.concat(), text);
        assert!(pieces.len() > 4);
    }
}
