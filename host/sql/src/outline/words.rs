//! The words of a text that may be no statement.

use sqlparser::{keywords::Keyword, tokenizer::Token};

use crate::{
    lexical::{self, Source},
    rules::Rules,
};
use mindhost_plugin_api::Dialect;

/// A token that matters for advice on syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is in the text: a name, a keyword, or a punctuation mark.
    pub text: String,
    /// Whether it is a name or a keyword, not punctuation or a constant.
    pub is_name: bool,
    /// Whether it is a keyword of any dialect, as far as the parser knows them.
    pub is_keyword: bool,
    /// In characters from 1.
    pub position: u32,
}

/// The tokens of a text, without white space and comments; empty if it has tokens that are none of this dialect.
pub fn words(sql: &str, dialect: Dialect) -> Vec<Word> {
    let Ok(source) = Source::new(sql) else {
        return Vec::new();
    };
    let tokens = lexical::tokenise(sql, Rules::of(dialect)).unwrap_or_default();
    let tokens = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    tokens
        .filter_map(|token| {
            Some(Word {
                text: token.token.to_string(),
                is_name: matches!(&token.token, Token::Word(word) if word.quote_style.is_none()),
                is_keyword: matches!(&token.token, Token::Word(word) if word.keyword != Keyword::NoKeyword),
                position: source.position(token.span.start)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::tokenizer::Location;

    #[test]
    fn positions_of_many_lines_are_counted_once() {
        let words = words(&"ä\nb ".repeat(50_000), Dialect::Sqlite);
        assert_eq!(words.len(), 100_000);
        let positions: Vec<u32> = words.iter().map(|word| word.position).collect();
        assert_eq!(positions[..4], [1, 3, 5, 7]);
        assert_eq!(positions.last(), Some(&199_999));
    }

    #[test]
    fn text_from_any_place_of_a_long_line_is_found() {
        let text = format!("\n{}z", "äb".repeat(80_000));
        let source = Source::new(&text).unwrap();
        for column in 1..=160_001 {
            let rest = source.at(Location::new(2, column));
            let letter = match column {
                160_001 => 'z',
                column if column % 2 == 1 => 'ä',
                _ => 'b',
            };
            assert!(rest.starts_with(letter), "{column}");
        }
        assert_eq!(source.at(Location::new(1, 1)), text);
        for (line, column) in [(2, 160_002), (3, 1), (0, 1), (1, 0)] {
            assert_eq!(source.at(Location::new(line, column)), "");
        }
    }
}
