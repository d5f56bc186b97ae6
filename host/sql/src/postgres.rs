//! PostgreSQL, where the parser loses something or does not know a form.

use sqlparser::{
    ast::{BinaryOperator, CastKind, DataType, Expr, Ident, ObjectName, ValueWithSpan},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::mysql;

/// Types that may stand before a text. The parser knows this form for its own types only.
const TYPES: [&str; 12] = [
    "cidr",
    "daterange",
    "inet",
    "int4range",
    "int8range",
    "jsonpath",
    "macaddr",
    "macaddr8",
    "money",
    "numrange",
    "tsrange",
    "tstzrange",
];

/// What begins with a word that the parser reads in another way.
pub(super) fn prefix(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let keyword = match &parser.peek_token_ref().token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => return None,
    };
    match keyword {
        Keyword::INTERVAL => interval(parser),
        Keyword::TRIM => mysql::trim(parser),
        _ => typed(parser),
    }
}

/// `interval(0) '1.6 sec'` as the cast that it is. The parser drops the precision.
fn interval(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    let precision = match (token(1), token(2), token(3), token(4)) {
        (Token::LParen, Token::Number(digits, false), Token::RParen, text) if is_text(text) => {
            digits.parse().ok()?
        }
        _ => return None,
    };
    for _ in 0..4 {
        parser.advance_token();
    }
    let data_type = DataType::Interval {
        fields: None,
        precision: Some(precision),
    };
    Some(parser.parse_value().map(|text| cast(text, data_type)))
}

/// `name::text COLLATE "C"`. The parser knows a collation only directly behind a name, a call or brackets.
pub(super) fn collate(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    if !parser.parse_keyword(Keyword::COLLATE) {
        return None;
    }
    let collation = parser.parse_object_name(false);
    Some(collation.map(|collation| Expr::Collate {
        expr: Box::new(expr.clone()),
        collation,
    }))
}

/// `name LIKE ALL (ARRAY['a%', '%b'])` by the operator of LIKE. The parser knows ANY alone.
pub(super) fn like_all(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let token = |place| &parser.peek_nth_token_ref(place).token;
    let keyword = |place| match token(place) {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let first = usize::from(keyword(0) == Keyword::NOT);
    let compare_op = match (first, keyword(first)) {
        (0, Keyword::LIKE) => BinaryOperator::PGLikeMatch,
        (0, Keyword::ILIKE) => BinaryOperator::PGILikeMatch,
        (_, Keyword::LIKE) => BinaryOperator::PGNotLikeMatch,
        (_, Keyword::ILIKE) => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    };
    let is_array = keyword(first + 1) == Keyword::ALL
        && *token(first + 2) == Token::LParen
        && !matches!(keyword(first + 3), Keyword::SELECT | Keyword::WITH);
    if !is_array {
        return None;
    }
    for _ in 0..first + 3 {
        parser.advance_token();
    }
    let patterns = parser.parse_expr().and_then(|patterns| {
        parser.expect_token(&Token::RParen)?;
        Ok(patterns)
    });
    Some(patterns.map(|patterns| Expr::AllOp {
        left: Box::new(expr.clone()),
        compare_op,
        right: Box::new(patterns),
    }))
}

/// `inet '10.0.0.1'` as the cast that it is.
fn typed(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let name = match &parser.peek_token_ref().token {
        Token::Word(word) => word.value.to_ascii_lowercase(),
        _ => return None,
    };
    if !TYPES.contains(&name.as_str()) || !is_text(&parser.peek_nth_token_ref(1).token) {
        return None;
    }
    parser.advance_token();
    let data_type = DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new());
    Some(parser.parse_value().map(|text| cast(text, data_type)))
}

fn is_text(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::DollarQuotedString(_)
    )
}

fn cast(text: ValueWithSpan, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(text)),
        data_type,
        array: false,
        format: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{guard, tests::shop};
    use mindhost_base::error::{Code, Error};
    use mindhost_plugin_api::Dialect;

    /// The text for the engine, which must pass again as it is.
    fn text(sql: &str) -> String {
        let scope = shop(Dialect::Postgresql);
        let text = guard(sql, &scope).unwrap().text().to_owned();
        assert_eq!(guard(&text, &scope).unwrap().text(), text);
        text
    }

    fn refused(sql: &str) -> Error {
        guard(sql, &shop(Dialect::Postgresql)).unwrap_err()
    }

    #[test]
    fn type_before_a_text_is_a_cast() {
        for (written, sent) in [
            ("inet '10.0.0.1'", "CAST('10.0.0.1' AS inet)"),
            ("NOT INET '::1' = '::1'", "NOT CAST('::1' AS inet) = '::1'"),
            (
                "numrange '[1,2)' && numrange(1, 3)",
                "CAST('[1,2)' AS numrange) && pg_catalog.numrange(1, 3)",
            ),
        ] {
            assert_eq!(text(&format!("SELECT {written}")), format!("SELECT {sent}"));
        }
        let error = refused("SELECT regclass 'salaries'");
        assert_eq!(error.code(), Code::SqlNotSupported);
    }

    #[test]
    fn trim_of_one_side_without_a_text_trims_spaces() {
        assert_eq!(
            text("SELECT trim(leading from name) FROM customers"),
            r#"SELECT TRIM(LEADING ' ' FROM name) FROM "public"."customers""#
        );
    }

    #[test]
    fn field_of_extract_may_be_a_text() {
        assert_eq!(
            text("SELECT extract('month' FROM now())"),
            "SELECT EXTRACT('month' FROM pg_catalog.now())"
        );
        let error = refused("SELECT extract('a b' FROM now())");
        assert_eq!(error.code(), Code::SqlNotSupported);
    }

    #[test]
    fn text_goes_on_in_the_next_line() {
        assert_eq!(text("SELECT 'a'\n  'b'\n\n'c'"), "SELECT 'abc'");
        refused("SELECT 'a' 'b'");
    }

    #[test]
    fn like_takes_any_pattern_of_an_array() {
        for condition in [
            "name LIKE ANY (ARRAY['a%', 'b%'])",
            "NOT name ILIKE ANY ('{a%}')",
        ] {
            let sql = format!("SELECT id FROM customers WHERE {condition}");
            assert!(text(&sql).ends_with(condition), "{sql}");
        }
        for (condition, code) in [
            (
                "name LIKE ANY (ARRAY[pg_read_file('x')])",
                Code::SqlFunctionNotAllowed,
            ),
            (
                "name LIKE ANY (SELECT employee FROM salaries)",
                Code::SqlTableNotAllowed,
            ),
            ("name LIKE ANY (ARRAY['a']) || 'b'", Code::SqlNotSupported),
        ] {
            let error = refused(&format!("SELECT id FROM customers WHERE {condition}"));
            assert_eq!(error.code(), code, "{condition}");
        }
    }

    #[test]
    fn like_takes_all_patterns_of_an_array() {
        for (written, sent) in [
            (
                "name LIKE ALL (ARRAY['a%', '%b'])",
                "name ~~ ALL(ARRAY['a%', '%b'])",
            ),
            ("NOT name ILIKE ALL ('{a%}')", "NOT name ~~* ALL('{a%}')"),
            (
                "name NOT LIKE ALL (ARRAY['a%']) AND true",
                "name !~~ ALL(ARRAY['a%']) AND true",
            ),
            (
                "name || 'x' NOT ILIKE ALL ('{a%}')",
                "name || 'x' !~~* ALL('{a%}')",
            ),
        ] {
            let sql = format!("SELECT id FROM customers WHERE {written}");
            assert!(text(&sql).ends_with(&format!(" WHERE {sent}")), "{sql}");
        }
        for condition in [
            "name LIKE ALL (ARRAY[pg_read_file('x')])",
            "pg_read_file(name) LIKE ALL ('{a%}')",
        ] {
            let error = refused(&format!("SELECT id FROM customers WHERE {condition}"));
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{condition}");
        }
    }

    #[test]
    fn collation_may_follow_any_value() {
        for (written, sent) in [
            (
                r#"lower(name) COLLATE "C""#,
                r#"(pg_catalog.lower(name)) COLLATE "C""#,
            ),
            (
                r#"substr(name, 2) COLLATE pg_catalog."C""#,
                r#"(pg_catalog."substr"(name, 2)) COLLATE pg_catalog."C""#,
            ),
            (r#"name::text COLLATE "C""#, r#"name::TEXT COLLATE "C""#),
            (
                r#"lower(name)::text COLLATE "C" || 'x'"#,
                r#"pg_catalog.lower(name)::TEXT COLLATE "C" || 'x'"#,
            ),
            (r#"c.name COLLATE "C""#, r#"c.name COLLATE "C""#),
        ] {
            let sql = format!("SELECT id FROM customers c ORDER BY {written}");
            assert!(text(&sql).ends_with(&format!("ORDER BY {sent}")), "{sql}");
        }
        let sql = r#"SELECT max(name) COLLATE "C" FROM customers"#;
        let sent = r#"SELECT (pg_catalog.max(name)) COLLATE "C" FROM "public"."customers""#;
        assert_eq!(text(sql), sent);
        let error = refused("SELECT pg_read_file('x') COLLATE \"C\"");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }

    #[test]
    fn word_that_is_no_operator_is_refused_in_plain_words() {
        let error = refused("SELECT name MATCH 'a' FROM customers");
        assert_eq!(error.code(), Code::SqlSyntax);
        assert!(error.message().contains("into brackets"), "{error}");
        assert!(!error.message().contains("Word"), "{error}");
        assert!(error.position().is_some());
    }

    /// `[1]` makes many accesses of the names before it, which are those of a column.
    #[test]
    fn element_of_a_qualified_column_is_read() {
        let from = r#"FROM "public"."customers" AS c"#;
        for (written, sent) in [
            ("c.tags[1]", "c.tags[1]"),
            (r#"c."Tags"[1][2:3]"#, r#"c."Tags"[1][2:3]"#),
            (
                "c.tags[lower(c.name)::int]",
                "c.tags[pg_catalog.lower(c.name)::INT]",
            ),
        ] {
            let sql = format!("SELECT {written} FROM customers AS c");
            assert_eq!(text(&sql), format!("SELECT {sent} {from}"));
        }
        assert_eq!(
            text("SELECT public.customers.tags[1], shop.customers.tags[2] FROM customers"),
            r#"SELECT public.customers.tags[1], "public".customers.tags[2] FROM "public"."customers""#
        );
        for value in [
            "c.pg_typeof[1]",
            "(c).pg_read_file[1]",
            "c.tags[1].pg_read_file",
            "c.tags[pg_read_file('x')]",
            "p.pg_read_file[1]",
        ] {
            let sql = format!(
                "SELECT {value} FROM customers AS c CROSS JOIN unnest(ARRAY['/etc/passwd']) AS p"
            );
            let error = refused(&sql);
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{value}");
        }
    }

    #[test]
    fn only_before_a_table_is_named_in_the_refusal() {
        for sql in ["SELECT * FROM ONLY orders", "SELECT * FROM only (orders)"] {
            let error = refused(sql);
            assert_eq!(error.code(), Code::SqlNotSupported, "{sql}");
            assert!(error.message().contains("ONLY"), "{error}");
        }
    }

    #[test]
    fn type_of_a_value_is_no_attribute() {
        for value in [
            "c.pg_typeof",
            "(c).pg_typeof",
            r#"public.customers."pg_typeof""#,
            "(1).PG_TYPEOF",
        ] {
            let error = refused(&format!("SELECT {value} FROM customers AS c"));
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{value}");
            assert!(error.message().contains("pg_typeof(x)"), "{error}");
        }
    }
}
