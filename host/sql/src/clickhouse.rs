//! Forms of ClickHouse that the parser does not know. They become the functions that ClickHouse makes of them.

use sqlparser::{
    ast::{Array, Expr, Ident, Value},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};

use super::walk::call;

/// How tightly access to a tuple binds, and how tightly IN.
const TIGHT: u8 = 100;
const LOOSE: u8 = 20;

/// Words that may follow a column with the name `using`.
const NO_NAMES: [Keyword; 9] = [
    Keyword::AND,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::FROM,
    Keyword::IN,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::NOT,
    Keyword::OR,
];

/// How tightly what follows binds, if it is one of these forms.
pub(super) fn precedence(parser: &Parser) -> Option<u8> {
    if tuple_index(parser).is_some() {
        return Some(TIGHT);
    }
    global_in(parser).map(|_| LOOSE)
}

/// The function for `left` and what follows it.
pub(super) fn infix(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    if tuple_index(parser).is_some() {
        return Some(tuple_element(parser, left));
    }
    if let Some(list) = in_array(parser) {
        return Some(in_list(parser, left, list));
    }
    let is_negated = global_in(parser)?;
    Some(in_subquery(parser, left, is_negated))
}

/// `[]`, which the parser reads as an array that begins with a bracket.
pub(super) fn empty_array(parser: &mut Parser) -> Option<Expr> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    if *token(0) != Token::LBracket || *token(1) != Token::RBracket {
        return None;
    }
    parser.advance_token();
    parser.advance_token();
    let (elem, named) = (Vec::new(), false);
    Some(Expr::Array(Array { elem, named }))
}

/// What a list behind IN ends with, and how many words stand before its first value.
struct List {
    is_negated: bool,
    words: usize,
    end: Token,
}

/// Whether `[NOT] IN [1, 2]` or `[NOT] IN tuple(1, 2)` follows.
fn in_array(parser: &Parser) -> Option<List> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    let is_negated = is_keyword(token(0), Keyword::NOT);
    let at = usize::from(is_negated);
    if !is_keyword(token(at), Keyword::IN) {
        return None;
    }
    let is_tuple = |token: &Token| matches!(token, Token::Word(word) if word.value == "tuple" && word.quote_style.is_none());
    let (words, end) = match (token(at + 1), token(at + 2)) {
        (Token::LBracket, _) => (at + 2, Token::RBracket),
        (name, Token::LParen) if is_tuple(name) => (at + 3, Token::RParen),
        _ => return None,
    };
    Some(List {
        is_negated,
        words,
        end,
    })
}

/// `a IN [1, 2]` as `a IN (1, 2)`.
fn in_list(parser: &mut Parser, left: &Expr, list: List) -> Result<Expr, ParserError> {
    (0..list.words).for_each(|_| parser.advance_token());
    let values = parser.parse_comma_separated(Parser::parse_expr)?;
    // `IN ([1])` is `IN (1)`.
    if let [only] = values.as_slice()
        && !matches!(only, Expr::Value(_))
    {
        return parser.expected_ref("a constant, or several values", parser.peek_token_ref());
    }
    parser.expect_token(&list.end)?;
    // What follows would be a part of the array: `IN [[1], [2]][1]`.
    if matches!(parser.peek_token_ref().token, Token::LBracket) || tuple_index(parser).is_some() {
        return parser.expected_ref("the end of the list", parser.peek_token_ref());
    }
    Ok(Expr::InList {
        expr: Box::new(left.clone()),
        list: values,
        negated: list.is_negated,
    })
}

/// `t.1`: directly behind a value stands a number that begins with a point.
fn tuple_index<'p>(parser: &'p Parser) -> Option<&'p str> {
    let Token::Number(number, false) = &parser.peek_token_ref().token else {
        return None;
    };
    let digits = number.strip_prefix('.')?;
    let is_index = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_behind = !matches!(parser.peek_token_no_skip().token, Token::Whitespace(_));
    (is_index && is_behind).then_some(digits)
}

/// `t.1` as `tupleElement(t, 1)`.
fn tuple_element(parser: &mut Parser, left: &Expr) -> Result<Expr, ParserError> {
    let may_be_tuple = matches!(
        left,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::CompoundFieldAccess { .. }
            | Expr::Function(_)
            | Expr::Nested(_)
            | Expr::Tuple(_)
    );
    if !may_be_tuple {
        return parser.expected_ref("a tuple before the index", parser.peek_token_ref());
    }
    let mut element = left.clone();
    loop {
        if let Some(digits) = tuple_index(parser) {
            let index = Value::Number(digits.to_owned(), false);
            let arguments = vec![element, Expr::Value(index.into())];
            element = Expr::Function(call(Ident::new("tupleElement").into(), arguments));
            parser.advance_token();
        } else if parser.peek_token_ref().token == Token::LBracket {
            element = parser.parse_compound_expr(element, Vec::new())?;
        } else {
            return Ok(element);
        }
    }
}

/// Whether `GLOBAL IN (SELECT …)` follows, and whether there is a NOT in it.
fn global_in(parser: &Parser) -> Option<bool> {
    let token = |nth| &parser.peek_nth_token_ref(nth).token;
    let is = |nth, keyword| is_keyword(token(nth), keyword);
    if !is(0, Keyword::GLOBAL) {
        return None;
    }
    let is_negated = is(1, Keyword::NOT);
    let at = 1 + usize::from(is_negated);
    let is_subquery = is(at, Keyword::IN)
        && *token(at + 1) == Token::LParen
        && (is(at + 2, Keyword::SELECT) || is(at + 2, Keyword::WITH));
    is_subquery.then_some(is_negated)
}

/// `x GLOBAL IN (SELECT …)` as `globalIn(x, (SELECT …))`.
fn in_subquery(parser: &mut Parser, left: &Expr, is_negated: bool) -> Result<Expr, ParserError> {
    parser.expect_keyword_is(Keyword::GLOBAL)?;
    let name = match is_negated {
        true => {
            parser.expect_keyword_is(Keyword::NOT)?;
            "globalNotIn"
        }
        false => "globalIn",
    };
    parser.expect_keyword_is(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let subquery = Expr::Subquery(parser.parse_query()?);
    parser.expect_token(&Token::RParen)?;
    let arguments = vec![left.clone(), subquery];
    Ok(Expr::Function(call(Ident::new(name).into(), arguments)))
}

/// Puts the name in `JOIN … USING id` into brackets, and how strict a join is where the parser looks for it.
pub(super) fn plain(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    order_joins(&mut tokens);
    let is_using = |token: &TokenWithSpan| is_keyword(&token.token, Keyword::USING);
    if !tokens.iter().any(is_using) {
        return tokens;
    }
    let mut plain = Vec::with_capacity(tokens.len() + 2);
    let (mut has_join, mut name_at) = (false, None);
    for (at, token) in tokens.iter().enumerate() {
        has_join |= is_keyword(&token.token, Keyword::JOIN);
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let is_column = before.is_some_and(|before| before.token == Token::Period);
        if has_join && is_using(token) && !is_column {
            name_at = only_name(&tokens, at);
        }
        let bracket = |bracket| TokenWithSpan {
            token: bracket,
            span: token.span,
        };
        if name_at == Some(at) {
            plain.extend([
                bracket(Token::LParen),
                token.clone(),
                bracket(Token::RParen),
            ]);
        } else {
            plain.push(token.clone());
        }
    }
    plain
}

/// Writes `LEFT ANY JOIN` as `ANY LEFT JOIN`, and `SEMI LEFT JOIN` as `LEFT SEMI JOIN`. Behind AS the first is an
/// alias.
fn order_joins(tokens: &mut [TokenWithSpan]) {
    let is_word = |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none());
    let places: Vec<usize> = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)))
        .map(|(place, _)| place)
        .collect();
    for four in places.windows(4) {
        let [before, first, second, third] = *four else {
            continue;
        };
        if tokens
            .get(before)
            .is_some_and(|one| is_keyword(&one.token, Keyword::AS))
        {
            continue;
        }
        let [a, b, c] = [first, second, third].map(|place| tokens.get(place).map(|one| &one.token));
        let (Some(a), Some(b), Some(c)) = (a, b, c) else {
            continue;
        };
        let is_side = |token| is_keyword(token, Keyword::LEFT) || is_keyword(token, Keyword::RIGHT);
        let is_any = |token| is_keyword(token, Keyword::ANY) || is_keyword(token, Keyword::ALL);
        let is_semi = |token| is_keyword(token, Keyword::SEMI) || is_keyword(token, Keyword::ANTI);
        let is_behind = (is_side(a) || is_keyword(a, Keyword::INNER)) && is_any(b);
        let is_before = is_semi(a) && is_side(b);
        if (is_behind || is_before) && is_keyword(c, Keyword::JOIN) && is_word(a) && is_word(b) {
            tokens.swap(first, second);
        }
    }
}

/// The place of the name behind a token, if it is one name without a qualifier.
fn only_name(tokens: &[TokenWithSpan], before: usize) -> Option<usize> {
    let mut behind = tokens
        .iter()
        .enumerate()
        .skip(before + 1)
        .filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let (place, name) = behind.next()?;
    let is_name = matches!(&name.token, Token::Word(word) if !NO_NAMES.contains(&word.keyword));
    let goes_on = behind.next().is_some_and(|(_, next)| {
        matches!(next.token, Token::Comma | Token::Period | Token::LParen)
    });
    (is_name && !goes_on).then_some(place)
}

fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword)
}

#[cfg(test)]
mod tests {
    use super::super::{guard, tests::shop};
    use mindhost_base::error::{Code, Error};
    use mindhost_plugin_api::Dialect;

    /// The text for the engine, which must pass again as it is.
    fn text(sql: &str) -> String {
        let scope = shop(Dialect::Clickhouse);
        let text = guard(sql, &scope)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
            .text()
            .to_owned();
        assert_eq!(guard(&text, &scope).unwrap().text(), text);
        text
    }

    fn refused(sql: &str) -> Error {
        guard(sql, &shop(Dialect::Clickhouse)).unwrap_err()
    }

    #[test]
    fn index_behind_a_value_is_access_to_a_tuple() {
        for (written, sent) in [
            ("(1, 'a').1", "tupleElement((1, 'a'), 1)"),
            ("tuple(1, 2).2 + .5", "tupleElement(tuple(1, 2), 2) + .5"),
            ("-(1, 2).1", "-tupleElement((1, 2), 1)"),
            (
                "((1, 2), 3).1.2",
                "tupleElement(tupleElement(((1, 2), 3), 1), 2)",
            ),
            ("([1, 2], 3).1[2]", "tupleElement(([1, 2], 3), 1)[2]"),
            (
                "arrayMap(t -> t.1, [(1, 2)])",
                "arrayMap(t -> tupleElement(t, 1), [(1, 2)])",
            ),
        ] {
            assert_eq!(text(&format!("SELECT {written}")), format!("SELECT {sent}"));
        }
        for sql in ["SELECT 'a'.1", "SELECT 1.5.5", "SELECT (1, 2) .1"] {
            assert_eq!(refused(sql).code(), Code::SqlSyntax, "{sql}");
        }
        let error = refused("SELECT (1, sleep(1)).1");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }

    #[test]
    fn global_in_is_the_function_of_a_subquery() {
        let start = text("SELECT id FROM customers WHERE id = 1");
        let start = start.strip_suffix("id = 1").unwrap();
        let orders = text("SELECT customer_id FROM orders");
        for (written, function) in [("GLOBAL IN", "globalIn"), ("global not in", "globalNotIn")] {
            let sql = format!(
                "SELECT id FROM customers WHERE id {written} (SELECT customer_id FROM orders) AND id > 1"
            );
            let sent = format!("{start}{function}(id, ({orders})) AND id > 1");
            assert_eq!(text(&sql), sent);
        }
        let sql = "SELECT 1 GLOBAL IN (SELECT amount FROM salaries)";
        assert_eq!(refused(sql).code(), Code::SqlTableNotAllowed);
        for sql in [
            "SELECT globalIn('x', salaries)",
            "SELECT `globalIn`('x', (SELECT 1))",
            "SELECT globalNotIn('x', customers)",
            "SELECT in('x', (SELECT 1))",
        ] {
            assert_eq!(refused(sql).code(), Code::SqlFunctionNotAllowed, "{sql}");
        }
    }

    #[test]
    fn one_name_behind_using_needs_no_brackets() {
        let of = |using: &str| {
            text(&format!(
                "SELECT c.id FROM customers c JOIN orders o USING{using} ORDER BY id"
            ))
        };
        assert_eq!(of(" id"), of("(id)"));
        assert_eq!(of(" `id`"), of("(`id`)"));
        let several = "SELECT c.id FROM customers c JOIN orders o USING id, name";
        assert_eq!(refused(several).code(), Code::SqlSyntax);
    }

    #[test]
    fn strictness_of_a_join_stands_on_either_side() {
        let of = |join: &str| {
            text(&format!(
                "SELECT count() FROM customers {join} orders ON customers.id = orders.customer_id"
            ))
        };
        for (written, sent) in [
            ("LEFT ANY JOIN", "ANY LEFT JOIN"),
            ("inner any join", "ANY INNER JOIN"),
            ("LEFT ALL JOIN", "ALL LEFT JOIN"),
            ("SEMI LEFT JOIN", "LEFT SEMI JOIN"),
            ("ANTI LEFT JOIN", "LEFT ANTI JOIN"),
        ] {
            assert_eq!(of(written).to_uppercase(), of(sent).to_uppercase());
            assert!(of(written).to_uppercase().contains(sent), "{}", of(written));
        }
        let sent = text("SELECT 1 FROM (SELECT 1 AS k) ALL LEFT JOIN (SELECT 1 AS k) AS r USING k");
        assert!(sent.contains(") ALL LEFT JOIN ("), "{sent}");
    }

    #[test]
    fn list_behind_in_may_be_an_array() {
        for (written, sent) in [
            ("1 IN [1, 2]", "1 IN (1, 2)"),
            ("1 NOT IN tuple(1, 2)", "1 NOT IN (1, 2)"),
            ("[1] IN [[1], []] AND true", "[1] IN ([1], []) AND true"),
            (
                "count(*) FILTER (WHERE 1 IN [1])",
                "count(*) FILTER (WHERE 1 IN (1))",
            ),
            (
                "CAST((5, 1) AS Tuple(String, a Int8))",
                "CAST((5, 1) AS Tuple(TEXT, a TINYINT))",
            ),
            ("CAST(5 AS IntervalMonth)", "CAST(5 AS IntervalMonth)"),
        ] {
            assert_eq!(text(&format!("SELECT {written}")), format!("SELECT {sent}"));
        }
        for (sql, code) in [
            ("SELECT 1 IN [salaries]", Code::SqlSyntax),
            ("SELECT 1 IN tuple(salaries)", Code::SqlSyntax),
            ("SELECT [1] IN [[1]]", Code::SqlSyntax),
            ("SELECT 1 IN [[1], [2]][1]", Code::SqlSyntax),
            ("SELECT 1 IN tuple(1, 2).1", Code::SqlSyntax),
            ("SELECT 1 IN []", Code::SqlSyntax),
            ("SELECT 1 IN [1, sleep(1)]", Code::SqlFunctionNotAllowed),
            (
                "SELECT count(*) FILTER (WHERE sleep(1))",
                Code::SqlFunctionNotAllowed,
            ),
            (
                "SELECT CAST((5, 1) AS Tuple(regclass, Int8))",
                Code::SqlNotSupported,
            ),
        ] {
            assert_eq!(refused(sql).code(), code, "{sql}");
        }
    }

    #[test]
    fn array_join_takes_several_arrays() {
        let start = text("SELECT 1 FROM products");
        for arrays in [
            r#"tags AS "a", arrayEnumerate(tags) AS "n""#,
            "nest.x, nest.y",
            r#"arrayEnumerate(tags) AS "n""#,
        ] {
            let sql = format!("SELECT 1 FROM products ARRAY JOIN {arrays}");
            assert_eq!(text(&sql), format!("{start} ARRAY JOIN {arrays}"));
        }
        // The comma behind another join is one between tables again.
        let joined =
            "SELECT 1 FROM products ARRAY JOIN tags AS a, tags AS b JOIN orders ON 1 = 1, salaries";
        for (sql, code) in [
            (joined, Code::SqlTableNotAllowed),
            (
                "SELECT 1 FROM products ARRAY JOIN tags AS a, tags AS b JOIN salaries USING id",
                Code::SqlTableNotAllowed,
            ),
            (
                "SELECT 1 FROM products ARRAY JOIN tags AS a, (SELECT * FROM salaries) AS b",
                Code::SqlNotSupported,
            ),
            (
                "SELECT 1 FROM products ARRAY JOIN tags AS a, sleep(1) AS b",
                Code::SqlFunctionNotAllowed,
            ),
            (
                "SELECT 1 FROM products ARRAY JOIN arrayMap(x -> (SELECT 1 FROM salaries), tags) AS b",
                Code::SqlTableNotAllowed,
            ),
        ] {
            assert_eq!(refused(sql).code(), code, "{sql}");
        }
    }

    #[test]
    fn name_of_the_session_is_a_column_where_a_table_has_it() {
        let mut scope = shop(Dialect::Clickhouse);
        for sql in [
            "SELECT user",
            "SELECT \"user\" FROM orders",
            "SELECT user()",
        ] {
            let error = guard(sql, &scope).unwrap_err();
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{sql}");
        }
        guard("SELECT o.user FROM orders AS o", &scope).unwrap();
        for table in &mut scope.datasources[0].tables {
            table.columns.push("user".to_owned());
        }
        guard("SELECT user FROM orders WHERE \"user\" = 'ada'", &scope).unwrap();
        guard("SELECT User FROM orders", &scope).unwrap_err();
    }

    #[test]
    fn array_reduce_takes_the_name_of_an_aggregate() {
        for name in ["sum", "quantile(0.5)", "sumIf", "topK(3)"] {
            let sql = format!("SELECT arrayReduce('{name}', [1, 2])");
            assert_eq!(text(&sql), sql);
        }
        for arguments in [
            "'sleep', [1]",
            "'sum(sleep(1))', [1]",
            "'sum)', [1]",
            "concat('su', 'm'), [1]",
            "'sum'",
            "'sum', [sleep(1)]",
        ] {
            let error = refused(&format!("SELECT arrayReduce({arguments})"));
            assert_eq!(error.code(), Code::SqlFunctionNotAllowed, "{arguments}");
        }
    }

    #[test]
    fn type_has_a_name_that_clickhouse_knows() {
        assert_eq!(
            text("SELECT CAST(1 AS Int64), 1::Float64, [1]::Array(Int64), 1::Nullable(Float64)"),
            "SELECT CAST(1 AS BIGINT), 1::DOUBLE, [1]::Array(BIGINT), 1::Nullable(DOUBLE)"
        );
    }

    #[test]
    fn quotes_in_names_are_doubled() {
        for sql in [
            r#"SELECT 1 AS "a""b""#,
            r#"SELECT 1 AS `a"b`"#,
            "SELECT 1 AS `a``b`",
            "SELECT 1 AS \"a`b\"",
        ] {
            assert_eq!(text(sql), sql);
        }
        for (sql, code) in [
            (r#"SELECT 1 AS "a""""b""#, Code::SqlNotSupported),
            (r#"SELECT 1 AS "a\""#, Code::SqlNotSupported),
            (r#"SELECT 1 AS "a\"", 2 AS "b""#, Code::SqlSyntax),
            (r"SELECT 1 AS `a\`", Code::SqlNotSupported),
        ] {
            assert_eq!(refused(sql).code(), code, "{sql}");
        }
    }

    #[test]
    fn cast_may_be_written_as_a_function() {
        assert_eq!(text("SELECT CAST(1, 'String')"), "SELECT CAST(1, 'String')");
        assert_eq!(
            text("SELECT cast('5', 'UInt8')"),
            "SELECT cast('5', 'UInt8')"
        );
        let error = refused("SELECT CAST(sleep(1), 'String')");
        assert_eq!(error.code(), Code::SqlFunctionNotAllowed);
    }
}
