//! Words of MySQL and MariaDB that the parser reads in another way than they do.

use sqlparser::{
    ast::{
        BinaryOperator, CastKind, DataType, DateTimeField, Expr, Ident, Interval, UnaryOperator,
        Value,
    },
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Span, Token, TokenWithSpan},
};

use super::walk::call;

/// Units of time that have two parts. The parser does not know them.
const COMPOUND_UNITS: [&str; 11] = [
    "day_hour",
    "day_microsecond",
    "day_minute",
    "day_second",
    "hour_microsecond",
    "hour_minute",
    "hour_second",
    "minute_microsecond",
    "minute_second",
    "second_microsecond",
    "year_month",
];

/// What begins with a word that the parser reads in another way.
pub(super) fn prefix(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let keyword = match &parser.peek_token_ref().token {
        Token::Word(word) => word.keyword,
        _ => return None,
    };
    match keyword {
        Keyword::BINARY => binary(parser),
        Keyword::INTERVAL => Some(interval(parser)),
        Keyword::TRIM => trim(parser),
        _ => None,
    }
}

/// Whether the operator MOD follows.
pub(super) fn is_modulo(parser: &Parser) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::MOD)
}

/// `a MOD b` as `a % b`. The parser knows the function of this name only.
pub(super) fn modulo(
    parser: &mut Parser,
    left: &Expr,
    precedence: u8,
) -> Option<Result<Expr, ParserError>> {
    if !is_modulo(parser) {
        return None;
    }
    parser.advance_token();
    let right = parser.parse_subexpr(precedence);
    Some(right.map(|right| Expr::BinaryOp {
        left: Box::new(left.clone()),
        op: BinaryOperator::Modulo,
        right: Box::new(right),
    }))
}

/// Whether a name is that of a unit of time that has two parts.
pub(super) fn is_compound_unit(name: &Ident) -> bool {
    let is_same = |unit: &&str| name.value.eq_ignore_ascii_case(unit);
    name.quote_style.is_none() && COMPOUND_UNITS.iter().any(is_same)
}

/// `INTERVAL '1:30' HOUR_MINUTE`, and the function `INTERVAL(23, 1, 15)`. Of both the parser knows simple units only.
fn interval(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = parser.parse_identifier()?;
    let value = match parser.peek_token_ref().token {
        // A list in brackets ends the function; a value in brackets may go on behind them.
        Token::LParen => match parser.parse_prefix()? {
            Expr::Tuple(arguments) => return Ok(Expr::Function(call(name.into(), arguments))),
            mut value => loop {
                match parser.get_next_precedence()? {
                    0 => break value,
                    precedence => value = parser.parse_infix(value, precedence)?,
                }
            },
        },
        _ => parser.parse_expr()?,
    };
    Ok(Expr::Interval(Interval {
        value: Box::new(value),
        leading_field: Some(unit(parser)?),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}

fn unit(parser: &mut Parser) -> Result<DateTimeField, ParserError> {
    if parser.next_token_is_temporal_unit() {
        return parser.parse_date_time_field();
    }
    let is_compound = match &parser.peek_token_ref().token {
        Token::Word(word) => is_compound_unit(&word.to_ident(Span::empty())),
        _ => false,
    };
    match is_compound {
        true => parser.parse_identifier().map(DateTimeField::Custom),
        false => {
            let expected = "a unit such as DAY behind the value of INTERVAL";
            parser.expected_ref(expected, parser.peek_token_ref())
        }
    }
}

/// `TRIM(TRAILING FROM a)`, which trims spaces. The parser wants a text in front of FROM.
pub(super) fn trim(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let is = |nth: usize, keywords: &[Keyword]| match &parser.peek_nth_token_ref(nth).token {
        Token::Word(word) => keywords.contains(&word.keyword),
        _ => false,
    };
    let sides = [Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING];
    let is_short = parser.peek_nth_token_ref(1).token == Token::LParen
        && is(2, &sides)
        && is(3, &[Keyword::FROM]);
    is_short.then(|| trim_spaces(parser))
}

fn trim_spaces(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_keyword_is(Keyword::TRIM)?;
    parser.expect_token(&Token::LParen)?;
    let side = parser.parse_trim_where()?;
    parser.expect_keyword_is(Keyword::FROM)?;
    let expr = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    let space = Value::SingleQuotedString(" ".to_owned());
    Ok(Expr::Trim {
        expr: Box::new(expr),
        trim_where: Some(side),
        trim_what: Some(Box::new(Expr::Value(space.into()))),
        trim_characters: None,
    })
}

/// The operator `BINARY`, as the cast that it is. It binds more tightly than every operator between two values; the
/// parser would take all that follows for its operand: `BINARY a = 'x'` for `CAST(a = 'x' AS BINARY)`.
fn binary(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let at = parser.peek_token_ref().span.start;
    if !parser.parse_keyword(Keyword::BINARY) {
        return None;
    }
    let operand = parser.parse_subexpr(u8::MAX);
    // `a->'$.x'` is one operand in MySQL, and for the parser an operation on `a`.
    let goes_on = matches!(
        parser.peek_token_ref().token,
        Token::Arrow | Token::LongArrow
    );
    Some(match operand {
        Ok(expr) if !goes_on && is_one_operand(&expr) => Ok(Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr),
            data_type: DataType::Binary(None),
            array: false,
            format: None,
        }),
        Ok(_) => Err(ParserError::ParserError(format!(
            "what BINARY applies to is not clear; write CAST(… AS BINARY) in its place{at}"
        ))),
        Err(error) => Err(error),
    })
}

/// Whether MySQL and the parser agree where an expression behind `BINARY` ends.
fn is_one_operand(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => is_one_operand(expr),
        Expr::Value(_)
        | Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Subquery(_)
        | Expr::Cast { .. }
        | Expr::Convert { .. }
        | Expr::Case { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Extract { .. }
        | Expr::TypedString(_) => true,
        _ => false,
    }
}

/// Strings in single quotes in which each quote is doubled, hexadecimal numbers as numbers, and `&&` as the AND that it
/// is. What is in this form already stays.
pub(super) fn plain(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut behind_sign = false;
    let plain = |whole: TokenWithSpan| {
        let is_number = is_hexadecimal_number(&whole);
        let (keyword, is_gap) = match &whole.token {
            Token::Word(word) => (word.keyword, false),
            other => (Keyword::NoKeyword, matches!(other, Token::Whitespace(_))),
        };
        let is_sign = matches!(keyword, Keyword::SIGNED | Keyword::UNSIGNED);
        let was_behind_sign = behind_sign;
        behind_sign = is_sign || is_gap && was_behind_sign;
        let token = match whole.token {
            // `CAST(a AS UNSIGNED INT)`: the parser knows the long word alone.
            Token::Word(_) if was_behind_sign && keyword == Keyword::INT => {
                Token::make_keyword("INTEGER")
            }
            // MariaDB reads X'41' as a text and 0x41 as a number.
            Token::HexStringLiteral(digits) if is_number => {
                Token::Number(format!("0x{digits}"), false)
            }
            // The parser gives it another precedence.
            Token::Overlap => Token::make_keyword("AND"),
            Token::SingleQuotedString(text) => Token::SingleQuotedString(plain_text(&text, '\'')),
            Token::DoubleQuotedString(text) => Token::SingleQuotedString(plain_text(&text, '"')),
            Token::NationalStringLiteral(text) => {
                Token::NationalStringLiteral(plain_text(&text, '\''))
            }
            other => other,
        };
        TokenWithSpan {
            token,
            span: whole.span,
        }
    };
    tokens.into_iter().map(plain).collect()
}

/// Whether a token is `0x41`. The parser has the same token for `X'41'`, which is one character longer.
pub(super) fn is_hexadecimal_number(whole: &TokenWithSpan) -> bool {
    let Token::HexStringLiteral(digits) = &whole.token else {
        return false;
    };
    let (start, end) = (whole.span.start, whole.span.end);
    let width = end.column.saturating_sub(start.column);
    start.line == end.line && width == digits.chars().count() as u64 + 2
}

/// What stands between the quotes of a string, as it stands between single quotes. Escapes stay as they were written,
/// except those of quotes: a doubled quote means the same in every `sql_mode`.
fn plain_text(written: &str, quote: char) -> String {
    let mut plain = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\'') => plain.push_str("''"),
                Some('"') if quote == '"' => plain.push('"'),
                escaped => {
                    plain.push('\\');
                    plain.extend(escaped);
                }
            },
            '\'' => {
                // Between single quotes it is doubled already.
                if quote == '\'' {
                    letters.next();
                }
                plain.push_str("''");
            }
            '"' => {
                if quote == '"' {
                    letters.next();
                }
                plain.push('"');
            }
            _ => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::{
        guard,
        tests::{shop, table},
    };
    use mindhost_base::error::{Code, Error};
    use mindhost_plugin_api::Dialect;

    /// The text for the engine, which must pass again as it is.
    fn text(sql: &str) -> String {
        let scope = shop(Dialect::Mysql);
        let text = guard(sql, &scope).unwrap().text().to_owned();
        assert_eq!(guard(&text, &scope).unwrap().text(), text);
        text
    }

    fn refused(sql: &str) -> Error {
        guard(sql, &shop(Dialect::Mysql)).unwrap_err()
    }

    /// What follows WHERE in the text for the engine.
    fn filter(condition: &str) -> String {
        let start = "SELECT id FROM `shop`.`customers` WHERE ";
        let text = text(&format!("SELECT id FROM customers WHERE {condition}"));
        text.strip_prefix(start).unwrap().to_owned()
    }

    #[test]
    fn binary_binds_more_tightly_than_operators() {
        let check = |written: &str, sent: &str| assert_eq!(filter(written), sent);
        check("binary name = 'a'", "CAST(name AS BINARY) = 'a'");
        check("'a' = binary name", "'a' = CAST(name AS BINARY)");
        check("NOT BINARY 'a'='A'", "NOT CAST('a' AS BINARY) = 'A'");
        check(
            "BINARY name LIKE 'a%' AND id = 1",
            "CAST(name AS BINARY) LIKE 'a%' AND id = 1",
        );
        check(
            "name LIKE BINARY 'a%' OR id = 1",
            "name LIKE CAST('a%' AS BINARY) OR id = 1",
        );
        check(
            "BINARY name IN ('a', BINARY 'b')",
            "CAST(name AS BINARY) IN ('a', CAST('b' AS BINARY))",
        );
        check(
            "BINARY name BETWEEN 'a' AND 'b'",
            "CAST(name AS BINARY) BETWEEN 'a' AND 'b'",
        );
        check("BINARY name IS NULL", "CAST(name AS BINARY) IS NULL");
        check(
            "BINARY lower(name) = 'a'",
            "CAST(lower(name) AS BINARY) = 'a'",
        );
        check("binary (1) + 1 = 2", "CAST((1) AS BINARY) + 1 = 2");
        check("BINARY -id < 0", "CAST(-id AS BINARY) < 0");
        assert_eq!(
            text("SELECT id FROM customers c WHERE BINARY c.name = 'a'"),
            "SELECT id FROM `shop`.`customers` c WHERE CAST(c.name AS BINARY) = 'a'"
        );
    }

    #[test]
    fn integer_of_a_cast_may_be_short() {
        for (written, sent) in [
            ("UNSIGNED INT", "UNSIGNED INTEGER"),
            ("signed /* */ int", "SIGNED INTEGER"),
            ("UNSIGNED INTEGER", "UNSIGNED INTEGER"),
            ("SIGNED", "SIGNED"),
        ] {
            let kept = filter(&format!("CAST(name AS {written}) = 1"));
            assert_eq!(kept, format!("CAST(name AS {sent}) = 1"));
        }
    }

    #[test]
    fn binary_as_a_type_is_no_operator() {
        for condition in [
            "CAST(name = 'a' AS BINARY) = '1'",
            "CONVERT(name, BINARY) = 'a'",
            "name COLLATE binary = 'a'",
        ] {
            assert_eq!(filter(condition), condition);
        }
    }

    #[test]
    fn operand_of_binary_without_a_clear_end_is_refused() {
        for operand in [
            "name COLLATE utf8mb4_bin",
            "~id * 2",
            "NOT id",
            "name->'$.a'",
        ] {
            let error = refused(&format!("SELECT BINARY {operand} FROM customers"));
            assert_eq!(error.code(), Code::SqlSyntax, "{operand}");
            assert!(error.message().contains("CAST(… AS BINARY)"), "{error}");
        }
    }

    #[test]
    fn comment_that_runs_by_version_is_refused() {
        for sql in [
            "SELECT id FROM customers /*!90000 WHERE id = 2 */",
            "SELECT id FROM customers\n/*!100100 WHERE id = 2 */",
            "SELECT /*!1 + */ 2",
            "SELECT 1 /*!50000 */",
        ] {
            let error = refused(sql);
            assert_eq!(error.code(), Code::SqlNotSupported, "{sql}");
            assert!(error.message().contains("by their version"), "{error}");
        }
        assert_eq!(
            text("SELECT id FROM customers /*! WHERE id = 2 */"),
            "SELECT id FROM `shop`.`customers` WHERE id = 2"
        );
        assert_eq!(filter("name = '/*!90000'"), "name = '/*!90000'");
        assert_eq!(filter("id = 1 /* /*!90000 or 1 */"), "id = 1");
        assert_eq!(filter("id = 1 -- /*!90000 or 1 */"), "id = 1");
    }

    #[test]
    fn function_that_not_all_servers_have_is_refused() {
        for call in [
            "ST_Latitude(name)",
            "JSON_SCHEMA_VALID('{}', name)",
            "RANDOM_BYTES(4)",
            "VECTOR_DIM(name)",
            "ANY_VALUE(name)",
            "GROUPING(name)",
            "JSON_OVERLAPS(name, name)",
            "IS_UUID(name)",
        ] {
            let error = refused(&format!("SELECT {call} FROM customers"));
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{call}");
        }
        let error = refused("SELECT regexp_like(name, '^a') FROM customers");
        assert!(error.message().contains("write x REGEXP"), "{error}");
    }

    #[test]
    fn word_mod_is_an_operator() {
        for (written, sent) in [
            ("id MOD 2 = 1", "id % 2 = 1"),
            ("1 + id mod 2 * 3 = 4", "1 + id % 2 * 3 = 4"),
            ("id mod (mod(7, 4)) = 1", "id % (mod(7, 4)) = 1"),
        ] {
            assert_eq!(filter(written), sent);
        }
        let error = refused("SELECT 5 MOD sleep(1)");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }

    #[test]
    fn full_text_search_takes_columns_and_a_text() {
        for condition in [
            "MATCH (name) AGAINST ('a')",
            "MATCH (name, `city`) AGAINST ('+a -b' IN BOOLEAN MODE) > 0.5",
        ] {
            assert_eq!(filter(condition), condition);
        }
        let error = refused("SELECT MATCH (name) AGAINST (@a) FROM customers");
        assert_eq!(error.code(), Code::SqlSyntax);
    }

    #[test]
    fn name_of_a_function_in_quotes_may_be_a_stored_one() {
        for name in ["`count`", "`NOW`", "`substring`", "`lower`"] {
            let error = refused(&format!("SELECT {name}(name) FROM customers"));
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{name}");
            assert!(error.message().contains("without quotes"), "{error}");
        }
    }

    #[test]
    fn name_with_a_backtick_is_read_and_one_with_two_in_a_row_is_refused() {
        let mut scope = shop(Dialect::Mysql);
        for name in ["tick`ed", "tick``ed"] {
            scope.datasources[0].tables.push(table("shop", name));
        }
        let sql = "SELECT `a``b` FROM `tick``ed` WHERE `a``b` = 'c`''`d'";
        let guarded = guard(sql, &scope).unwrap();
        assert!(guarded.text().contains(".`tick``ed`"));
        assert!(guarded.text().contains("`a``b` = 'c`''`d'"));
        assert_eq!(
            guard(guarded.text(), &scope).unwrap().text(),
            guarded.text()
        );
        for name in ["`tick````ed`", "shop.`tick````ed`"] {
            let error = guard(&format!("SELECT * FROM {name}"), &scope).unwrap_err();
            assert_eq!(error.code(), Code::SqlNotSupported, "{name}: {error}");
        }
    }

    #[test]
    fn two_ampersands_are_and() {
        assert_eq!(filter("id>1 && id<4"), "id > 1 AND id < 4");
        assert_eq!(
            filter("id = 1 OR NOT id = 2 && id BETWEEN 1 AND 2 && name = '&&'"),
            filter("id = 1 OR NOT id = 2 AND id BETWEEN 1 AND 2 AND name = '&&'")
        );
    }

    #[test]
    fn compound_unit_is_a_unit() {
        for value in [
            "EXTRACT(YEAR_MONTH FROM now()) = 202401",
            "now() > now() - INTERVAL '1:30' hour_minute",
            "now() > now() - INTERVAL (1 + 2) * 3 DAY",
            "now() > now() - INTERVAL id + 1 DAY_HOUR",
            "date_add(now(), INTERVAL '1 2' DAY_HOUR) > now()",
        ] {
            assert_eq!(filter(value), value);
        }
        for unit in [
            "EXTRACT(fortnight FROM now())",
            "EXTRACT(`year_month` FROM now())",
        ] {
            let error = refused(&format!("SELECT {unit}"));
            assert_eq!(error.code(), Code::SqlNotSupported, "{unit}");
        }
        for interval in ["INTERVAL 1 fortnight", "INTERVAL 1", "INTERVAL (1)"] {
            let error = refused(&format!("SELECT now() + {interval}"));
            assert_eq!(error.code(), Code::SqlSyntax, "{interval}");
            assert!(error.message().contains("a unit such as DAY"), "{error}");
        }
        let error = refused("SELECT now() + INTERVAL sleep(1) HOUR_MINUTE");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }

    #[test]
    fn interval_of_a_list_is_a_function() {
        assert_eq!(
            filter("interval(id, 1, 15) + 1 > 2"),
            "interval(id, 1, 15) + 1 > 2"
        );
        let error = refused("SELECT interval(23, sleep(1))");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }

    #[test]
    fn trim_of_one_side_without_a_text_trims_spaces() {
        assert_eq!(
            filter("trim(trailing from name) = 'a'"),
            "TRIM(TRAILING ' ' FROM name) = 'a'"
        );
        assert_eq!(
            filter("trim(both from name) = 'a'"),
            "TRIM(BOTH ' ' FROM name) = 'a'"
        );
        assert_eq!(filter("TRIM(name) = 'a'"), "TRIM(name) = 'a'");
        let error = refused("SELECT trim(leading from sleep(1))");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }

    #[test]
    fn word_row_makes_a_row() {
        assert_eq!(filter("row(id, 1) = ROW(1, 1)"), "row(id, 1) = ROW(1, 1)");
        assert_eq!(
            refused("SELECT `row`(1)").code(),
            Code::SqlFunctionNotAllowed
        );
        assert_eq!(
            refused("SELECT row(sleep(1), 1) = (0, 1)").code(),
            Code::SqlFunctionNotAllowed
        );
    }

    #[test]
    fn hexadecimal_number_stays_a_number() {
        assert_eq!(text("SELECT 0x41+0 AS n"), "SELECT 0x41 + 0 AS n");
        assert_eq!(filter("id & 0x02 = 2"), "id & 0x02 = 2");
        assert_eq!(filter("id < 0x5"), "id < 0x5");
        assert_eq!(filter("name = x'41'"), "name = X'41'");
        assert_eq!(text("SELECT ( 0x41 )"), "SELECT (0x41) AS `( 0x41 )`");
        assert_eq!(refused("SELECT 0x").code(), Code::SqlNotSupported);
        assert_eq!(refused("SELECT 0x4G").code(), Code::SqlSyntax);
    }

    #[test]
    fn quotes_in_strings_are_doubled() {
        let check = |written: &str, sent: &str| {
            assert_eq!(
                filter(&format!("name = {written}")),
                format!("name = {sent}")
            );
        };
        check(r#""say ""hi""""#, r#"'say "hi"'"#);
        check(r#""it's""#, "'it''s'");
        check(r#""a''b""#, "'a''''b'");
        check(r#""say \"hi\"""#, r#"'say "hi"'"#);
        check(r#""it\'s""#, "'it''s'");
        check(r"'it\'s'", "'it''s'");
        check("'it''s'", "'it''s'");
        check(r"'a\\b\n'", r"'a\\b\n'");
        check(r#"'a' "b""c'd""#, r#"'ab"c''d'"#);
        check(r#"'a"b""c'"#, r#"'a"b""c'"#);
    }

    #[test]
    fn quote_behind_a_backslash_is_refused_with_advice() {
        for literal in [r"'a\\''b'", r"'a\\\'b'", r#""a\\'b""#] {
            let error = refused(&format!("SELECT {literal}"));
            assert_eq!(error.code(), Code::SqlNotSupported, "{literal}");
            assert!(error.message().contains("`''`"), "{error}");
        }
    }

    #[test]
    fn alias_in_quotes_is_a_name() {
        assert_eq!(text("SELECT 1 AS 'it''s'"), "SELECT 1 AS `it's`");
        assert_eq!(text(r#"SELECT 1 AS "a ""b""""#), r#"SELECT 1 AS `a "b"`"#);
        let error = refused(r"SELECT 1 AS 'a\nb'");
        assert_eq!(error.code(), Code::SqlNotSupported);
    }
}
