//! SQLite's dialect, with operators that the parser lacks.

use std::any::TypeId;

use sqlparser::{
    ast::{BinaryOperator, Expr},
    dialect::{Dialect, Precedence, SQLiteDialect},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};

/// [`SQLiteDialect`] with `GLOB`, `IS` between any two values, `ISNULL`, and shifts.
#[derive(Debug)]
pub(super) struct Sqlite;

const INNER: SQLiteDialect = SQLiteDialect {};

impl Dialect for Sqlite {
    fn dialect(&self) -> TypeId {
        INNER.dialect()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        INNER.is_delimited_identifier_start(ch)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        INNER.identifier_quote_style(identifier)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        INNER.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        INNER.is_identifier_part(ch)
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_in_empty_list(&self) -> bool {
        true
    }

    fn supports_limit_comma(&self) -> bool {
        true
    }

    fn supports_dollar_placeholder(&self) -> bool {
        true
    }

    fn supports_notnull_operator(&self) -> bool {
        true
    }

    /// `a CROSS JOIN b ON …`, which joins in this order.
    fn supports_cross_join_constraint(&self) -> bool {
        true
    }

    fn supports_comma_separated_trim(&self) -> bool {
        true
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        if null_test(parser).is_some() {
            return Some(Ok(self.prec_value(Precedence::Is)));
        }
        let first = word(parser, 0)?;
        let negated = first.eq_ignore_ascii_case("NOT");
        let operator = if negated { word(parser, 1)? } else { first };
        ["GLOB", "MATCH", "REGEXP"]
            .iter()
            .any(|known| operator.eq_ignore_ascii_case(known))
            .then(|| Ok(self.prec_value(Precedence::Like)))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Some(form) = null_test(parser) {
            parser.advance_token();
            return Some(Ok(form(Box::new(expr.clone()))));
        }
        let (length, operator) = operator(parser)?;
        for _ in 0..length {
            parser.advance_token();
        }
        Some(
            parser
                .parse_subexpr(precedence)
                .map(|right| Expr::BinaryOp {
                    left: Box::new(expr.clone()),
                    op: BinaryOperator::Custom(operator.to_owned()),
                    right: Box::new(right),
                }),
        )
    }
}

/// What the word at this position makes of the value before it: `x ISNULL`, `x NOTNULL`.
pub(super) fn null_test(parser: &Parser) -> Option<fn(Box<Expr>) -> Expr> {
    match word(parser, 0)? {
        word if word.eq_ignore_ascii_case("ISNULL") => Some(Expr::IsNull),
        word if word.eq_ignore_ascii_case("NOTNULL") => Some(Expr::IsNotNull),
        _ => None,
    }
}

/// The operator at this position and its number of words, if the parser does not know it.
fn operator(parser: &Parser) -> Option<(usize, &'static str)> {
    const SIMPLE: [(&str, &str); 3] = [
        ("GLOB", "NOT GLOB"),
        ("MATCH", "NOT MATCH"),
        ("REGEXP", "NOT REGEXP"),
    ];
    let first = word(parser, 0)?;
    let second = word(parser, 1);
    for (plain, negated) in SIMPLE {
        if first.eq_ignore_ascii_case(plain) {
            return Some((1, plain));
        }
        if first.eq_ignore_ascii_case("NOT")
            && second.is_some_and(|word| word.eq_ignore_ascii_case(plain))
        {
            return Some((2, negated));
        }
    }
    if !first.eq_ignore_ascii_case("IS") {
        return None;
    }
    let negated = second.is_some_and(|word| word.eq_ignore_ascii_case("NOT"));
    let behind = keyword(parser, 1 + usize::from(negated));
    let known = [
        Keyword::NULL,
        Keyword::TRUE,
        Keyword::FALSE,
        Keyword::DISTINCT,
    ];
    match (behind, negated) {
        (Some(keyword), _) if known.contains(&keyword) => None,
        (_, true) => Some((2, "IS NOT")),
        (_, false) => Some((1, "IS")),
    }
}

fn word<'p>(parser: &'p Parser<'_>, nth: usize) -> Option<&'p str> {
    match &parser.peek_nth_token_ref(nth).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.as_str()),
        _ => None,
    }
}

fn keyword(parser: &Parser, nth: usize) -> Option<Keyword> {
    match &parser.peek_nth_token_ref(nth).token {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    }
}

/// Removes `[NOT] MATERIALIZED` between AS and a bracket: a planner hint that the parser does not know here.
pub(super) fn without_materialized(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words: Vec<(usize, &Token)> = tokens
        .iter()
        .enumerate()
        .map(|(at, token)| (at, &token.token))
        .filter(|(_, token)| !matches!(token, Token::Whitespace(_)))
        .collect();
    let is = |token: &Token, keyword: Keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
    let mut advice = Vec::new();
    for (nth, (at, token)) in words.iter().enumerate().skip(1) {
        let before = |back: usize| nth.checked_sub(back).and_then(|nth| words.get(nth));
        let bracket = words
            .get(nth + 1)
            .is_some_and(|(_, token)| **token == Token::LParen);
        if !bracket || !is(token, Keyword::MATERIALIZED) {
            continue;
        }
        match (before(1), before(2)) {
            (Some((_, as_)), _) if is(as_, Keyword::AS) => advice.push(*at),
            (Some((not, word)), Some((_, as_)))
                if is(word, Keyword::NOT) && is(as_, Keyword::AS) =>
            {
                advice.extend([*not, *at]);
            }
            _ => {}
        }
    }
    let keep = |(at, token): (usize, TokenWithSpan)| (!advice.contains(&at)).then_some(token);
    tokens.into_iter().enumerate().filter_map(keep).collect()
}
