//! PostgreSQL, where the parser loses something.

use sqlparser::{
    ast::{CastKind, DataType, Expr},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// `interval(0) '1.6 sec'` as the cast that it is. The parser drops the precision.
pub(super) fn interval(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    match token(0) {
        Token::Word(word) if word.keyword == Keyword::INTERVAL && word.quote_style.is_none() => {}
        _ => return None,
    }
    let precision = match (token(1), token(2), token(3), token(4)) {
        (
            Token::LParen,
            Token::Number(digits, false),
            Token::RParen,
            Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::DollarQuotedString(_),
        ) => digits.parse().ok()?,
        _ => return None,
    };
    for _ in 0..4 {
        parser.advance_token();
    }
    let cast = |text| Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(text)),
        data_type: DataType::Interval {
            fields: None,
            precision: Some(precision),
        },
        array: false,
        format: None,
    };
    Some(parser.parse_value().map(cast))
}
