//! Checks of the text: before it is parsed, and before it goes to the engine.

use std::ops::Range;

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace},
};

use super::{mssql, mysql::is_hexadecimal_number, rules::Rules};
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::Dialect;

/// Longest statement in bytes.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Tokens between two commas, summed over all open brackets. Limits the depth of the tree, because every level of an
/// operator chain takes two tokens.
const MAX_RUN: usize = 4_000;

/// Nesting depth of brackets.
const MAX_NESTING: usize = 48;

/// Nesting depth of brackets around tables. The parser tries each in two ways, so an error within them takes
/// exponential time. ([`super::dialect`] limits its other attempts.)
const MAX_TABLE_NESTING: usize = 12;

/// Characters between two marks of a [`Source`].
const BETWEEN_MARKS: usize = 64;

/// The caller's text, for positions. It is read once, so that many positions take no longer than the text is long.
pub(super) struct Source<'a> {
    text: &'a str,
    /// How many characters stand before each line.
    lines: Vec<usize>,
    /// The byte at which every 64th character begins.
    marks: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Checks length and characters.
    pub fn new(text: &'a str) -> Result<Self> {
        if text.len() > MAX_BYTES {
            return Err(Error::new(
                Code::SqlNotSupported,
                format!(
                    "the statement has {} bytes, but at most {MAX_BYTES} are accepted; shorten it",
                    text.len()
                ),
            ));
        }
        let (mut lines, mut marks) = (vec![0], Vec::new());
        for (at, (byte, letter)) in text.char_indices().enumerate() {
            if at.is_multiple_of(BETWEEN_MARKS) {
                marks.push(byte);
            }
            match letter {
                '\n' => lines.push(at + 1),
                '\0' => {
                    return Err(Error::new(
                        Code::SqlSyntax,
                        "the statement contains a NUL character; remove it",
                    )
                    .with_position(position(at)));
                }
                _ => {}
            }
        }
        Ok(Self { text, lines, marks })
    }

    /// Position in characters from 1; `None` if the parser does not know it.
    pub fn position(&self, location: Location) -> Option<u32> {
        if location.line == 0 || location.column == 0 {
            return None;
        }
        let line = usize::try_from(location.line - 1).ok()?;
        let before = *self.lines.get(line)? as u64;
        u32::try_from(before + location.column).ok()
    }

    /// The bytes of these spans, which are in their order; none if the parser does not know one of them.
    pub fn bytes(&self, spans: &[Span]) -> Vec<Range<usize>> {
        let mut ends = spans
            .iter()
            .flat_map(|span| [span.start, span.end])
            .peekable();
        let mut bytes = Vec::with_capacity(2 * spans.len());
        let mut here = Location::new(1, 1);
        let end = (self.text.len(), '\n');
        for (at, letter) in self.text.char_indices().chain([end]) {
            while ends.next_if_eq(&here).is_some() {
                bytes.push(at);
            }
            here = match letter {
                '\n' => Location::new(here.line + 1, 1),
                _ => Location::new(here.line, here.column + 1),
            };
        }
        if ends.next().is_some() {
            return Vec::new();
        }
        let pairs = bytes.chunks_exact(2);
        pairs.map(|pair| pair[0]..pair[1]).collect()
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The text from a location on.
    pub fn at(&self, location: Location) -> &'a str {
        self.rest(location).unwrap_or_default()
    }

    fn rest(&self, location: Location) -> Option<&'a str> {
        let at = self.position(location)? as usize - 1;
        let mark = *self.marks.get(at / BETWEEN_MARKS)?;
        let rest = self.text.get(mark..)?;
        let (byte, _) = rest.char_indices().nth(at % BETWEEN_MARKS)?;
        rest.get(byte..)
    }
}

fn position(at: usize) -> Option<u32> {
    u32::try_from(at + 1).ok()
}

/// Tokenizes text, and refuses what would make the parser work too long or recurse too deep.
///
/// # Errors
/// `sql_syntax` for an invalid token, `sql_not_single_statement` for text behind a semicolon.
pub(super) fn tokens(source: &Source<'_>, rules: &Rules) -> Result<Vec<TokenWithSpan>> {
    let tokens = tokenise(source.text, rules).map_err(|error| {
        Error::new(
            Code::SqlSyntax,
            format!(
                "the statement cannot be read as {}: {}",
                rules.title(),
                error.message
            ),
        )
        .with_position(source.position(error.location))
    })?;
    single(source, &tokens)?;
    depth(source, &tokens)?;
    match rules.dialect {
        Dialect::Mysql => without_hidden_code(source, &tokens)?,
        // There `#` is an operator, or the first letter of a temporary table.
        Dialect::Postgresql | Dialect::Mssql => {}
        Dialect::Sqlite
        | Dialect::Clickhouse
        | Dialect::Trino
        | Dialect::Generic
        | Dialect::Datafusion => without_hash(source, &tokens)?,
    }
    // T-SQL reads `1a` as `1 AS a`.
    if rules.dialect != Dialect::Mssql {
        without_words_at_numbers(source, &tokens)?;
    } else if let Some(word) = mssql::capital_literal(&tokens) {
        let message = "a binary literal with a capital X is not supported; write 0x";
        return Err(refused(source, word, Code::SqlNotSupported, message));
    }
    Ok(tokens)
}

/// Refuses comments that begin with `#`, as in MySQL.
///
/// # Errors
/// `sql_not_supported` for such a comment. Text that cannot be read is not refused here.
pub(super) fn without_hash_comments(source: &Source<'_>, rules: &Rules) -> Result<()> {
    let is_comment = |token: &TokenWithSpan| {
        matches!(
            &token.token,
            Token::Whitespace(Whitespace::SingleLineComment { prefix, .. }) if prefix == "#"
        )
    };
    let tokens = match source.text.contains('#') {
        true => tokenise(source.text, rules).unwrap_or_default(),
        false => Vec::new(),
    };
    let message = "`#` begins a comment in only some of the dialects of this Mind; begin a comment with `--` and a space";
    match tokens.iter().find(|token| is_comment(token)) {
        None => Ok(()),
        Some(token) => Err(refused(source, token, Code::SqlNotSupported, message)),
    }
}

/// The error for a token.
fn refused(
    source: &Source<'_>,
    token: &TokenWithSpan,
    code: Code,
    message: impl Into<String>,
) -> Error {
    Error::new(code, message.into()).with_position(source.position(token.span.start))
}

/// Refuses `#` where it is neither an operator nor the beginning of a comment.
fn without_hash(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let is_hash = |token: &TokenWithSpan| match &token.token {
        Token::Sharp => true,
        Token::Word(word) => word.quote_style.is_none() && word.value.starts_with('#'),
        _ => false,
    };
    let message =
        "`#` is not an operator here and begins no comment; begin a comment with `--` and a space";
    match tokens.iter().find(|token| is_hash(token)) {
        None => Ok(()),
        Some(token) => Err(refused(source, token, Code::SqlSyntax, message)),
    }
}

/// Refuses `1_000` and `1a`. The parser takes the word for an alias, and engines for a part of the number or an error.
fn without_words_at_numbers(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    for (number, behind) in tokens.iter().zip(tokens.iter().skip(1)) {
        let Token::Word(word) = &behind.token else {
            continue;
        };
        let is_number = matches!(number.token, Token::Number(..)) || is_hexadecimal_number(number);
        if is_number && word.quote_style.is_none() {
            let start: String = word.value.chars().take(40).collect();
            let message = format!(
                "`{start}` directly follows a number; write a number without `_` and letters, and a space before a word"
            );
            return Err(refused(source, behind, Code::SqlSyntax, message));
        }
    }
    Ok(())
}

/// Refuses comments that only some servers run as a part of the statement: those of MariaDB (`/*M! … */`), and those with
/// a version (`/*!90000 … */`). What all servers run (`/*! … */`) the parser reads as a part of the statement.
fn without_hidden_code(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let versioned = versioned_comments(source.text);
    // The first token within such a comment is said to stand where the comment begins, and in a string or another
    // comment no token begins.
    let is_versioned = |token: &TokenWithSpan| versioned.binary_search(&token.span.start).is_ok();
    let is_of_mariadb = |token: &TokenWithSpan| {
        let Token::Whitespace(Whitespace::MultiLineComment(text)) = &token.token else {
            return false;
        };
        text.starts_with("M!") || text.starts_with("m!")
    };
    let is_code = |token: &&TokenWithSpan| is_of_mariadb(token) || is_versioned(token);
    let Some(token) = tokens.iter().find(is_code) else {
        return Ok(());
    };
    let message = match is_of_mariadb(token) {
        true => {
            "a comment that MariaDB runs as a part of the statement is not supported; write it without the comment"
        }
        false => {
            "a comment that servers run or skip by their version (`/*!50000 … */`) is not supported; \
             write what it says without the comment, or leave it out"
        }
    };
    Err(refused(source, token, Code::SqlNotSupported, message))
}

/// Where the text has `/*!` and a digit directly behind it, in order. MySQL takes five or six digits for a version and
/// fewer for a number of the statement; the parser skips them all.
fn versioned_comments(text: &str) -> Vec<Location> {
    let mut found = Vec::new();
    let mut here = Location::new(1, 1);
    for (at, letter) in text.char_indices() {
        let behind = text.get(at..).and_then(|rest| rest.strip_prefix("/*!"));
        if behind.is_some_and(|behind| behind.starts_with(|digit: char| digit.is_ascii_digit())) {
            found.push(here);
        }
        here = match letter {
            '\n' => Location::new(here.line + 1, 1),
            _ => Location::new(here.line, here.column + 1),
        };
    }
    found
}

/// Splits text into the tokens of a dialect, with their places in the text.
pub(super) fn tokenise(text: &str, rules: &Rules) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut tokens = Tokenizer::new(rules.parser(), text)
        .with_unescape(rules.unescapes())
        .tokenize_with_location()?;
    if !rules.unescapes() {
        tokens.iter_mut().for_each(with_single_quotes);
    }
    Ok(tokens)
}

/// A quoted name as it is meant. Without [`Rules::unescapes`] the quotes in it stay doubled, as in a string.
fn with_single_quotes(token: &mut TokenWithSpan) {
    if let Token::Word(word) = &mut token.token
        && let Some(quote) = word.quote_style
    {
        let doubled = format!("{quote}{quote}");
        word.value = word.value.replace(&doubled, &quote.to_string());
    }
}

/// Row counts up to this are not literals. A larger number could carry a value.
const USUAL_ROWS: u64 = 1_000;

/// The string and number literals of a printed statement, and its quoted names, without usual row counts behind LIMIT,
/// OFFSET and TOP.
pub(super) fn literals(text: &str, rules: &Rules) -> Vec<String> {
    let tokens = tokenise(text, rules).unwrap_or_default();
    let mut counts_rows = false;
    let literal = |token: TokenWithSpan| match token.token {
        Token::Word(word) if word.quote_style.is_none() => {
            let word = word.value.to_ascii_uppercase();
            counts_rows = ["LIMIT", "OFFSET", "TOP"].contains(&word.as_str());
            None
        }
        Token::Number(number, _)
            if std::mem::take(&mut counts_rows)
                && number.parse().is_ok_and(|rows: u64| rows <= USUAL_ROWS) =>
        {
            None
        }
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::NationalStringLiteral(text)
        | Token::Number(text, _) => Some(text),
        Token::Word(word) if word.quote_style.is_some() => Some(word.value),
        _ => None,
    };
    tokens.into_iter().filter_map(literal).collect()
}

/// Refuses text behind a semicolon, whether or not it can be parsed.
fn single(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut words = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
        .skip_while(|token| token.token == Token::SemiColon);
    if words.clone().next().is_none() {
        return Err(Error::new(
            Code::SqlNotSingle,
            "there is no statement; write one SELECT",
        ));
    }
    words.find(|token| token.token == Token::SemiColon);
    match words.find(|token| token.token != Token::SemiColon) {
        Some(second) => Err(Error::new(
            Code::SqlNotSingle,
            "only one statement is accepted; remove what follows the semicolon",
        )
        .with_position(source.position(second.span.start))),
        None => Ok(()),
    }
}

/// What is known of an open bracket while its end is looked for.
#[derive(Default)]
struct Open {
    /// Tokens since the last comma in it.
    run: usize,
    /// Whether it may stand around a table.
    table: bool,
}

/// Refuses text that the parser would recurse into too deep, or try too often.
fn depth(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut open = vec![Open::default()];
    let mut run = 0;
    let mut before: Option<&Token> = None;
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket | Token::LBrace => {
                let table = around_table(before, open.last());
                open.push(Open { run: 0, table });
            }
            Token::RParen | Token::RBracket | Token::RBrace if open.len() > 1 => {
                run -= open.pop().map_or(0, |closed| closed.run);
            }
            Token::Comma => {
                run -= open
                    .last_mut()
                    .map_or(0, |last| std::mem::take(&mut last.run))
            }
            _ => {
                run += 1;
                if let Some(last) = open.last_mut() {
                    last.run += 1;
                }
            }
        }
        let tables = open.iter().filter(|open| open.table).count();
        let repeated =
            is_keyword(Some(&token.token), &[Keyword::INTERVAL]) && before == Some(&token.token);
        if run > MAX_RUN || open.len() > MAX_NESTING || tables > MAX_TABLE_NESTING || repeated {
            return Err(Error::new(
                Code::SqlNotSupported,
                "the statement is nested too deeply or chains too many operators; simplify it, \
                 for example with IN (…) in place of many ORs, or WITH in place of subqueries in subqueries",
            )
            .with_position(source.position(token.span.start)));
        }
        before = Some(&token.token);
    }
    Ok(())
}

/// Whether a bracket behind this token may stand around a table or a subquery in FROM.
fn around_table(before: Option<&Token>, outer: Option<&Open>) -> bool {
    match before {
        Some(Token::Comma) => true,
        Some(Token::LParen) => outer.is_some_and(|outer| outer.table),
        other => is_keyword(
            other,
            &[
                Keyword::FROM,
                Keyword::JOIN,
                Keyword::LATERAL,
                Keyword::APPLY,
            ],
        ),
    }
}

fn is_keyword(token: Option<&Token>, keywords: &[Keyword]) -> bool {
    matches!(token, Some(Token::Word(word)) if keywords.contains(&word.keyword))
}

/// Checks the text for the engine without the tree: no comment, no second statement, only the quotes that the guard
/// writes, and nothing unclosed. What it refuses is a fault of the serializer, or text that provokes one.
pub(super) fn verify(text: &str, dialect: Dialect) -> Result<(), &'static str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        at = match (byte, next) {
            (b'-', Some(b'-')) | (b'/', Some(b'*')) => return Err("a comment"),
            (b'#', _) if matches!(dialect, Dialect::Mysql | Dialect::Clickhouse) => {
                return Err("a comment");
            }
            (b';' | 0 | b'\\', _) => return Err("a character that no statement needs"),
            (b'$', _) if !in_word(bytes, at) => return Err("a dollar sign that begins a word"),
            (b'\'', _) => literal(bytes, at, dialect)?,
            (b'"' | b'`', _) if dialect == Dialect::Clickhouse => {
                name_without_escapes(bytes, at, byte)?
            }
            (b'"', _) => quoted(bytes, at, b'"')?,
            (b'`', _) if matches!(dialect, Dialect::Mysql | Dialect::Sqlite) => {
                quoted(bytes, at, b'`')?
            }
            (b'[', _) if matches!(dialect, Dialect::Mssql | Dialect::Sqlite) => {
                quoted(bytes, at, b']')?
            }
            _ => at + 1,
        };
    }
    Ok(())
}

fn in_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
        })
}

/// The end of quoted text that starts at `at`, with doubled quotes inside.
fn quoted(bytes: &[u8], at: usize, quote: u8) -> Result<usize, &'static str> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr(quote, bytes.get(at..).unwrap_or_default()).ok_or("an open quote")?;
        if bytes.get(at + 1) != Some(&quote) {
            return Ok(at + 1);
        }
        at += 2;
    }
}

/// As [`quoted`], for an engine that reads escapes in names, too.
fn name_without_escapes(bytes: &[u8], at: usize, quote: u8) -> Result<usize, &'static str> {
    let end = quoted(bytes, at, quote)?;
    match bytes.get(at..end).is_some_and(|name| name.contains(&b'\\')) {
        true => Err("an escape in a name"),
        false => Ok(end),
    }
}

/// The end of a string that starts at `at`. The meaning of a backslash can depend on the session, so it is allowed only
/// where it does not: in `E'…'`, in SQLite, SQL Server, Trino and DataFusion, which have no escapes, and in MySQL not
/// before a quote.
fn literal(bytes: &[u8], at: usize, dialect: Dialect) -> Result<usize, &'static str> {
    let prefix = at
        .checked_sub(1)
        .and_then(|before| bytes.get(before).map(|byte| (before, *byte)))
        .filter(|(before, byte)| byte.is_ascii_alphabetic() && !in_word(bytes, *before));
    match prefix {
        Some((_, b'E')) if dialect == Dialect::Postgresql => return escaped(bytes, at),
        Some((_, b'B' | b'X')) => {}
        Some((_, b'N')) if dialect == Dialect::Mssql => {}
        Some(_) => return Err("a prefixed string"),
        None if in_word(bytes, at) => return Err("a prefixed string"),
        None => {}
    }
    // Every backslash is an escape, whatever the session.
    if dialect == Dialect::Clickhouse && prefix.is_none() {
        return escaped(bytes, at);
    }
    let end = quoted(bytes, at, b'\'')?;
    let inside = bytes.get(at + 1..end - 1).unwrap_or_default();
    let ambiguous = match dialect {
        Dialect::Sqlite | Dialect::Mssql | Dialect::Trino | Dialect::Datafusion => false,
        Dialect::Mysql => inside.windows(2).any(|pair| pair == br"\'"),
        Dialect::Postgresql | Dialect::Clickhouse | Dialect::Generic => inside.contains(&b'\\'),
    };
    if ambiguous {
        Err("a string with an ambiguous backslash")
    } else {
        Ok(end)
    }
}

fn escaped(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            None => return Err("an open quote"),
            Some(b'\\') => at += 2,
            Some(b'\'') => return Ok(at + 1),
            Some(_) => at += 1,
        }
    }
}

/// Whether a token is a comment. Text for the engine has none.
pub(super) fn is_comment(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_))
    )
}
