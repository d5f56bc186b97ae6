//! The words of a text that may be no statement.

use sqlparser::tokenizer::Token;

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
                position: source.position(token.span.start)?,
            })
        })
        .collect()
}
