//! How the caller wrote the items of a SELECT: their text, and the types of their casts.

use std::ops::Range;

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Location, Span, Token, TokenWithSpan},
};

use super::super::lexical::Source;

/// The tokens of a statement without blanks and comments, and where they stand in its text.
pub struct Words<'a> {
    text: &'a str,
    tokens: Vec<TokenWithSpan>,
    bytes: Vec<Range<usize>>,
}

/// One item as the caller wrote it.
pub struct Item<'a> {
    /// From its first token to its last.
    pub text: &'a str,
    /// The same with what stands between it and the next token: comments.
    pub text_and_comments: &'a str,
    /// Its tokens.
    pub tokens: &'a [TokenWithSpan],
}

impl<'a> Words<'a> {
    pub fn of(source: &Source<'a>, tokens: &[TokenWithSpan]) -> Self {
        let tokens: Vec<TokenWithSpan> = tokens
            .iter()
            .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
            .cloned()
            .collect();
        let spans: Vec<Span> = tokens.iter().map(|token| token.span).collect();
        let bytes = source.bytes(&spans);
        Self {
            text: source.text(),
            tokens,
            bytes,
        }
    }

    /// The whole statement.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The items behind the SELECT at this location; empty if they are not plain to see.
    pub fn of_select(&self, at: Location) -> Vec<Item<'_>> {
        let found = self
            .tokens
            .binary_search_by(|token| token.span.start.cmp(&at));
        match found {
            Ok(index) if keyword(&self.tokens[index].token) == Keyword::SELECT => {
                self.items(index + 1)
            }
            _ => Vec::new(),
        }
    }

    /// The items of the first row of VALUES at the beginning of the statement.
    pub fn of_values(&self) -> Vec<Item<'_>> {
        let first = self.tokens.iter();
        let around = first
            .take_while(|token| token.token == Token::LParen)
            .count();
        let is_values = |token: &TokenWithSpan| keyword(&token.token) == Keyword::VALUES;
        if !self.tokens.get(around).is_some_and(is_values) {
            return Vec::new();
        }
        let row = self.tokens.iter().skip(around + 1);
        let before_row = row.take_while(|token| token.token != Token::LParen).count();
        self.items(around + before_row + 2)
    }

    /// The items of the list that begins at this token.
    fn items(&self, begin: usize) -> Vec<Item<'_>> {
        let mut items = Vec::new();
        let begin = self.behind_quantifier(begin);
        let (mut depth, mut first) = (0_usize, begin);
        for at in begin..=self.tokens.len() {
            let token = self.tokens.get(at).map_or(&Token::EOF, |word| &word.token);
            let is_outside = depth == 0;
            match token {
                _ if is_outside && self.ends_list(first, at) => {
                    items.extend(self.item(first..at));
                    break;
                }
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
                Token::Comma if is_outside => {
                    items.extend(self.item(first..at));
                    first = at + 1;
                }
                _ => {}
            }
        }
        items
    }

    fn token_at(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|word| &word.token)
    }

    /// Where the first item begins: behind `DISTINCT`, `ALL` or `DISTINCT ON (…)`.
    fn behind_quantifier(&self, begin: usize) -> usize {
        if !self.token_at(begin).is_some_and(is_quantifier) {
            return begin;
        }
        let is_on = self.token_at(begin + 1).map(keyword) == Some(Keyword::ON);
        if !is_on || self.token_at(begin + 2) != Some(&Token::LParen) {
            return begin + 1;
        }
        let mut depth = 0_usize;
        for at in begin + 2..self.tokens.len() {
            match self.token_at(at) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// Whether the list ends before the token at `at`; its last item begins at `first`.
    fn ends_list(&self, first: usize, at: usize) -> bool {
        let Some(token) = self.token_at(at) else {
            return true;
        };
        if matches!(token, Token::RParen | Token::SemiColon | Token::EOF) {
            return true;
        }
        let found = keyword(token);
        let before = at.checked_sub(1).and_then(|before| self.token_at(before));
        if CLAUSES.contains(&found) {
            let is_part = match (found, before, before.map(keyword)) {
                // `player.group`
                (_, Some(Token::Period), _) => true,
                // `a IS DISTINCT FROM b`
                (Keyword::FROM, _, Some(Keyword::DISTINCT)) => at > first,
                // `percentile_cont(0.5) WITHIN GROUP (ORDER BY a)`
                (Keyword::GROUP, _, Some(Keyword::WITHIN)) => true,
                // `* EXCEPT (a)`
                (Keyword::EXCEPT, Some(Token::Mul), _) => {
                    self.token_at(at + 1) == Some(&Token::LParen)
                }
                _ => false,
            };
            return !is_part;
        }
        // These may be names of columns, too. Then they are where an operand is.
        let is_operand =
            at == first || !before.is_some_and(ends_operand) || self.is_case(first..at);
        NAMES_OR_CLAUSES.contains(&found) && !is_operand
    }

    /// Whether a CASE among these tokens has no END among them.
    fn is_case(&self, tokens: Range<usize>) -> bool {
        let tokens = self.tokens.get(tokens).unwrap_or_default().iter();
        let words = tokens.map(|word| keyword(&word.token));
        let depth = words.map(|word| match word {
            Keyword::CASE => 1,
            Keyword::END => -1,
            _ => 0,
        });
        depth.sum::<i32>() > 0
    }

    fn item(&self, tokens: Range<usize>) -> Option<Item<'_>> {
        let begin = self.bytes.get(tokens.start)?.start;
        let end = self.bytes.get(tokens.end.checked_sub(1)?)?.end;
        let next = self.bytes.get(tokens.end);
        let next = next.map_or(self.text.len(), |next| next.start);
        Some(Item {
            text: self.text.get(begin..end)?,
            text_and_comments: self.text.get(begin..next)?.trim_end(),
            tokens: self.tokens.get(tokens)?,
        })
    }
}

/// The types of the casts in an expression, in their order, without blanks but behind commas: as ClickHouse writes
/// them.
pub fn cast_types(tokens: &[TokenWithSpan]) -> Vec<String> {
    let tokens: Vec<&Token> = tokens
        .iter()
        .map(|token| &token.token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .collect();
    let mut types = Vec::new();
    // For each open bracket, whether it is that of CAST.
    let mut open: Vec<bool> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        match token {
            Token::LParen => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                open.push(before.is_some_and(|before| is_cast(before)));
            }
            Token::RParen => {
                open.pop();
            }
            Token::DoubleColon => types.push(spelled(rest)),
            _ if keyword(token) == Keyword::AS && open.last() == Some(&true) => {
                types.push(spelled(rest));
            }
            _ => {}
        }
    }
    types
}

/// The words of an expression that call a function, in their order.
pub fn function_names(tokens: &[TokenWithSpan]) -> Vec<String> {
    let tokens: Vec<&Token> = tokens
        .iter()
        .map(|token| &token.token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .collect();
    let pairs = tokens.windows(2);
    pairs
        .filter_map(|pair| match pair {
            // A cast is `CAST` however it is written.
            [name, Token::LParen] if is_cast(name) => None,
            [Token::Word(word), Token::LParen] => Some(word.value.clone()),
            _ => None,
        })
        .collect()
}

fn is_cast(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("cast"))
}

/// The type at the beginning of some tokens: words, with brackets behind the last.
fn spelled(tokens: &[&Token]) -> String {
    let (mut text, mut depth) = (String::new(), 0_usize);
    for token in tokens {
        match token {
            Token::LParen if !text.is_empty() => depth += 1,
            Token::RParen if depth == 1 => {
                text.push(')');
                break;
            }
            Token::RParen if depth > 1 => depth -= 1,
            Token::Word(_) if text.is_empty() || depth > 0 => {}
            _ if depth > 0 => {}
            _ => break,
        }
        text.push_str(&token.to_string());
        if matches!(token, Token::Comma) {
            text.push(' ');
        }
    }
    text
}

pub fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Whether a value may end with a token.
fn ends_operand(token: &Token) -> bool {
    match token {
        Token::Word(_) => !OPERATORS.contains(&keyword(token)),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::SingleQuotedByteStringLiteral(_)
        | Token::DoubleQuotedByteStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::RParen
        | Token::RBracket
        | Token::Mul => true,
        _ => false,
    }
}

fn is_quantifier(token: &Token) -> bool {
    matches!(keyword(token), Keyword::DISTINCT | Keyword::ALL)
}

/// Operators that are words.
const OPERATORS: &[Keyword] = &[
    Keyword::AND,
    Keyword::BETWEEN,
    Keyword::DIV,
    Keyword::ESCAPE,
    Keyword::ILIKE,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::MATCH,
    Keyword::NOT,
    Keyword::OR,
    Keyword::REGEXP,
    Keyword::RLIKE,
    Keyword::XOR,
];

/// Words that end a list.
const CLAUSES: &[Keyword] = &[
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::ORDER,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
];

/// Words that end a list, unless they are names there.
const NAMES_OR_CLAUSES: &[Keyword] = &[
    Keyword::WINDOW,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::PREWHERE,
    Keyword::QUALIFY,
];
