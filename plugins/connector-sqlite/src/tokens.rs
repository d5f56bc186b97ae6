//! The text of a CREATE statement as tokens: enough of SQLite's rules to find columns and comments.

/// A piece of the text, and the line it begins on (from 0).
#[derive(Clone, Debug, PartialEq)]
pub struct Token<'text> {
    pub kind: Kind<'text>,
    pub line: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'text> {
    /// A keyword or an unquoted name.
    Word(&'text str),
    /// A quoted name, without its quotes. A text in single quotes counts too: SQLite takes it for a name where one must
    /// stand.
    Quoted(String),
    /// The text of a comment, trimmed.
    Comment(&'text str),
    Symbol(char),
}

impl Kind<'_> {
    /// Whether this is a keyword, in any case.
    pub fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Kind::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// The name that this token can be.
    pub fn name(&self) -> Option<&str> {
        match self {
            Kind::Word(name) => Some(name),
            Kind::Quoted(name) => Some(name),
            Kind::Comment(_) | Kind::Symbol(_) => None,
        }
    }
}

/// The tokens of a text. A quote or comment that is not ended goes to the end of the text.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 0);
    loop {
        let trimmed = rest.trim_start();
        line += lines(&rest[..rest.len() - trimmed.len()]);
        let Some(first) = trimmed.chars().next() else {
            return tokens;
        };
        let (kind, len) = token(trimmed, first);
        tokens.push(Token { kind, line });
        line += lines(&trimmed[..len]);
        rest = &trimmed[len..];
    }
}

/// The token at the start of a text, and its length in bytes, which is never 0.
fn token(text: &str, first: char) -> (Kind<'_>, usize) {
    if let Some(body) = text.strip_prefix("--") {
        let end = body.find('\n').unwrap_or(body.len());
        return (Kind::Comment(body[..end].trim()), 2 + end);
    }
    if let Some(body) = text.strip_prefix("/*") {
        let (end, close) = body.find("*/").map_or((body.len(), 0), |end| (end, 2));
        return (Kind::Comment(body[..end].trim()), 2 + end + close);
    }
    match first {
        '"' | '`' | '\'' => quoted(text, first),
        '[' => {
            let end = text.find(']').unwrap_or(text.len());
            (
                Kind::Quoted(text[1..end].to_owned()),
                (end + 1).min(text.len()),
            )
        }
        _ if is_word(first) => {
            let end = text.find(|symbol| !is_word(symbol)).unwrap_or(text.len());
            (Kind::Word(&text[..end]), end)
        }
        _ => (Kind::Symbol(first), first.len_utf8()),
    }
}

/// A quote inside a quoted name is written twice.
fn quoted(text: &str, quote: char) -> (Kind<'_>, usize) {
    let mut name = String::new();
    let mut symbols = text.char_indices().skip(1).peekable();
    while let Some((at, symbol)) = symbols.next() {
        if symbol == quote && symbols.next_if(|(_, next)| *next == quote).is_none() {
            return (Kind::Quoted(name), at + 1);
        }
        name.push(symbol);
    }
    (Kind::Quoted(name), text.len())
}

fn is_word(symbol: char) -> bool {
    symbol.is_alphanumeric() || matches!(symbol, '_' | '$') || !symbol.is_ascii()
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_symbols_and_comments() {
        let kinds: Vec<Kind<'_>> = tokens("a \"b\"\"c\" [d e] `f`, 'g' -- h\n/* i\nj */ k(")
            .into_iter()
            .map(|token| token.kind)
            .collect();
        let quoted = |name: &str| Kind::Quoted(name.into());
        let expected = [
            Kind::Word("a"),
            quoted("b\"c"),
            quoted("d e"),
            quoted("f"),
            Kind::Symbol(','),
            quoted("g"),
            Kind::Comment("h"),
            Kind::Comment("i\nj"),
            Kind::Word("k"),
            Kind::Symbol('('),
        ];
        assert_eq!(kinds, expected);
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[-a(),\"'`/*\\[\\]\n é]{0,60}") {
            let lines = text.matches('\n').count();
            prop_assert!(tokens(&text).iter().all(|token| token.line <= lines));
        }
    }
}
