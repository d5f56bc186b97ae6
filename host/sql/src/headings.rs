//! Names of columns. SQLite, MySQL and the host itself call a column without an alias by the text of its expression,
//! and the guard writes that text anew. An alias keeps the caller's own.

use sqlparser::{
    ast::{Expr, Ident, Query, Select, SelectItem, SetExpr, Value},
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan},
};

use super::lexical::Source;
use mindhost_plugin_api::Dialect;

/// Characters of an alias at most: MySQL allows so many.
const MAX_CHARACTERS: usize = 256;

/// How the caller wrote the items of the list that names the columns.
#[derive(Default)]
pub(super) struct Headings<'a> {
    texts: Vec<&'a str>,
    quote: char,
}

impl<'a> Headings<'a> {
    /// Reads the texts of the items; none if the engine of this dialect does not take them for names.
    pub fn of(source: &Source<'a>, tokens: &[TokenWithSpan], dialect: Dialect) -> Self {
        let quote = match dialect {
            Dialect::Sqlite | Dialect::Datafusion => '"',
            Dialect::Mysql => '`',
            _ => return Self::default(),
        };
        Self {
            texts: source.texts(&items(tokens)),
            quote,
        }
    }

    /// Gives each column whose expression is written in another way now an alias with the caller's text. Returns the
    /// aliases.
    pub fn keep_in(&self, query: &mut Query) -> Vec<String> {
        let mut kept = Vec::new();
        let Some(select) = first_select(&mut query.body) else {
            return kept;
        };
        if self.texts.len() != select.projection.len() {
            return kept;
        }
        for (item, text) in select.projection.iter_mut().zip(&self.texts) {
            if let SelectItem::UnnamedExpr(expr) = item
                && has_no_other_name(expr)
                && is_plain(text)
                && expr.to_string() != *text
            {
                kept.push((*text).to_owned());
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias: Ident::with_quote(self.quote, *text),
                };
            }
        }
        kept
    }
}

/// The SELECT that names the columns: the first one of a set operation.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&mut query.body),
        _ => None,
    }
}

/// Whether the engine takes the text of an expression for its name. A column has its own name, also in brackets; a
/// string is its own name in MySQL, and printed as it was in SQLite.
fn has_no_other_name(mut expr: &Expr) -> bool {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => false,
        Expr::Value(value) => !matches!(value.value, Value::SingleQuotedString(_)),
        _ => true,
    }
}

/// Whether a text can be an alias that nothing reads as something else.
fn is_plain(text: &str) -> bool {
    let plain = |letter: char| !letter.is_control() && !['"', '`', '\\', '#'].contains(&letter);
    !text.is_empty()
        && text.chars().count() <= MAX_CHARACTERS
        && text.chars().all(plain)
        && !text.contains("--")
        && !text.contains("/*")
}

/// Where the items of the first list stand, outside of WITH; empty if that is not plain to see.
fn items(tokens: &[TokenWithSpan]) -> Vec<Span> {
    let tokens: Vec<&TokenWithSpan> = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    // Brackets around all of it are not those of an expression.
    let around = tokens
        .iter()
        .take_while(|token| token.token == Token::LParen)
        .count();
    let mut depth = around;
    let mut rest = tokens.into_iter().skip(around);
    for token in rest.by_ref() {
        match (&token.token, keyword(&token.token)) {
            (Token::LParen, _) => depth += 1,
            (Token::RParen, _) => depth = depth.saturating_sub(1),
            (_, Keyword::SELECT) if depth == around => break,
            (_, found) if depth == around && SET_OPERATIONS.contains(&found) => return Vec::new(),
            _ => {}
        }
    }
    let mut items: Vec<Span> = Vec::new();
    let (mut begins, mut before) = (true, Keyword::NoKeyword);
    for token in rest {
        let found = keyword(&token.token);
        let is_outside = depth == around;
        match &token.token {
            Token::RParen if is_outside => break,
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            Token::Comma if is_outside => {
                begins = true;
                continue;
            }
            Token::SemiColon => break,
            _ if is_outside && follows_list(found) && before != Keyword::DISTINCT => break,
            _ => {}
        }
        if items.is_empty() && matches!(found, Keyword::DISTINCT | Keyword::ALL) {
            continue;
        }
        before = found;
        match items.last_mut() {
            Some(last) if !begins => last.end = token.span.end,
            _ => items.push(token.span),
        }
        begins = false;
    }
    items
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

const SET_OPERATIONS: &[Keyword] = &[Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT];

/// Whether a keyword ends a list; behind DISTINCT, FROM is a part of an operator.
fn follows_list(found: Keyword) -> bool {
    const CLAUSES: &[Keyword] = &[
        Keyword::FROM,
        Keyword::WHERE,
        Keyword::GROUP,
        Keyword::HAVING,
        Keyword::WINDOW,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::OFFSET,
        Keyword::FETCH,
    ];
    CLAUSES.contains(&found) || SET_OPERATIONS.contains(&found)
}

#[cfg(test)]
mod tests {
    use super::super::{guard, tests::shop};
    use mindhost_plugin_api::Dialect;

    fn text(sql: &str, dialect: Dialect) -> String {
        guard(sql, &shop(dialect)).unwrap().text().to_owned()
    }

    #[test]
    fn expression_keeps_the_text_that_the_engine_takes_for_its_name() {
        let check = |sql: &str, expected: &str| assert_eq!(text(sql, Dialect::Sqlite), expected);
        check("SELECT 1 + 1", "SELECT 1 + 1");
        check("SELECT 1+1", r#"SELECT 1 + 1 AS "1+1""#);
        check(
            "SELECT 1+1, 'a,b', (2), max( 1,2 ) m, 0x1F",
            r#"SELECT 1 + 1 AS "1+1", 'a,b', (2), max(1, 2) AS m, 31 AS "0x1F""#,
        );
        check(
            "(SELECT DISTINCT  1+1) UNION SELECT 2+2",
            r#"(SELECT DISTINCT 1 + 1 AS "1+1") UNION SELECT 2 + 2"#,
        );
        check(
            "WITH x AS (SELECT 1+2 AS n) SELECT 1 IS DISTINCT FROM  2, n FROM x",
            r#"WITH x AS (SELECT 1 + 2 AS n) SELECT 1 IS DISTINCT FROM 2 AS "1 IS DISTINCT FROM  2", n FROM x"#,
        );
        assert_eq!(
            text("SELECT 1+1", Dialect::Datafusion),
            r#"SELECT 1 + 1 AS "1+1""#
        );
        assert_eq!(text("SELECT 1+1", Dialect::Mysql), "SELECT 1 + 1 AS `1+1`");
        assert_eq!(text("SELECT 1+1", Dialect::Postgresql), "SELECT 1 + 1");
    }

    #[test]
    fn text_that_could_be_read_as_something_else_is_no_name() {
        for sql in [
            "SELECT 1+1 /* \" */ +2",
            "SELECT 1+\n1",
            "SELECT 1+1 -- x\n+2",
            "SELECT 'a\"'||'b'",
            "SELECT '\\'||'b'",
            "VALUES (1+1)",
            "WITH x AS (SELECT 1) (SELECT 1+1) UNION SELECT 1*1",
        ] {
            let text = text(sql, Dialect::Sqlite);
            assert!(!text.contains(" AS \""), "{text}");
        }
    }

    #[test]
    fn name_is_no_literal_of_the_statement() {
        let scope = shop(Dialect::Sqlite);
        let guarded = guard("SELECT upper('Rome')||'x'", &scope).unwrap();
        assert!(guarded.text().contains(" AS "), "{}", guarded.text());
        assert_eq!(guarded.literals(&scope), ["Rome", "x"]);
    }
}
