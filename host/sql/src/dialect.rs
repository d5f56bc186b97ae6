//! A dialect that limits the work of the parser.
//!
//! The parser backtracks at some constructs. Nested ones take exponential time, so that a hundred characters can keep
//! it busy for hours. Each attempt begins at a prefix, where the parser calls its dialect. After too many calls the
//! dialect fails.

use std::{
    any::{Any, TypeId},
    cell::Cell,
    iter::Peekable,
    str::Chars,
};

use sqlparser::{
    ast::{BinaryOperator, Expr, Ident, ObjectNamePart},
    dialect::{
        ClickHouseDialect, Dialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect, Precedence,
    },
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Location, Token},
};

use super::{clickhouse, datafusion::Datafusion, mysql, postgres, sqlite};

/// Prefixes that every statement may use.
const PREFIXES: usize = 10_000;

/// Additional prefixes per token.
const PREFIXES_A_TOKEN: usize = 10;

/// Operators of a dialect behind more than a name or a literal. A dialect gets what stands before its operator by
/// reference and has to copy it, so that a chain of them takes quadratic time.
const COPIES: usize = 100;

/// Bytes of what may stand before a list that is written in another way: its text is repeated for each subquery.
const REPEATED_BYTES: usize = 256;

/// Wraps a dialect for one parse.
#[derive(Debug)]
pub(super) struct PrefixLimited {
    inner: &'static dyn Dialect,
    left: Cell<usize>,
    /// `None` behind the last copy.
    copies: Cell<Option<usize>>,
    /// Whether DataFusion reads the printed text.
    for_host: bool,
}

impl PrefixLimited {
    /// Wraps a dialect for a statement of so many tokens.
    pub fn new(inner: &'static dyn Dialect, tokens: usize) -> Self {
        let left = Cell::new(PREFIXES + PREFIXES_A_TOKEN * tokens);
        let any: &dyn Any = inner;
        Self {
            inner,
            left,
            copies: Cell::new(Some(COPIES)),
            for_host: any.is::<Datafusion>(),
        }
    }

    /// Whether a value may be followed by `ISNULL` and `NOTNULL`. SQLite's dialect reads them itself.
    fn has_null_tests(&self) -> bool {
        self.for_host || self.inner.is::<PostgreSqlDialect>()
    }

    /// `a NOT RLIKE b`
    fn pattern(&self, parser: &mut Parser, expr: &Expr) -> Result<Expr, ParserError> {
        let negated = parser.parse_keyword(Keyword::NOT);
        let regexp = parser.parse_one_of_keywords(&[Keyword::RLIKE, Keyword::REGEXP]);
        let pattern = parser.parse_subexpr(self.prec_value(Precedence::Like))?;
        Ok(Expr::RLike {
            negated,
            expr: Box::new(expr.clone()),
            pattern: Box::new(pattern),
            regexp: regexp == Some(Keyword::REGEXP),
        })
    }

    /// What a dialect makes of an operator and the value before it.
    fn infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if self.inner.is::<ClickHouseDialect>()
            && let Some(function) = clickhouse::infix(parser, expr)
        {
            return Some(function);
        }
        if self.inner.is::<MySqlDialect>()
            && let Some(operation) = mysql::modulo(parser, expr, precedence)
        {
            return Some(operation);
        }
        if self.inner.is::<PostgreSqlDialect>()
            && let Some(operation) =
                postgres::collate(parser, expr).or_else(|| postgres::like_all(parser, expr))
        {
            return Some(operation);
        }
        if self.has_null_tests()
            && let Some(form) = sqlite::null_test(parser)
        {
            parser.advance_token();
            return Some(Ok(form(Box::new(expr.clone()))));
        }
        if is_pattern_null(parser) {
            return Some(self.pattern(parser, expr));
        }
        let own = self.inner.parse_infix(parser, expr, precedence);
        own.or_else(|| distinct_from(parser, expr, precedence))
            .or_else(|| in_list(parser, expr, self.for_host).transpose())
    }
}

/// Whether `RLIKE NULL` follows. The parser drops a NULL directly behind the word, and reads what comes next as the
/// pattern.
fn is_pattern_null(parser: &Parser) -> bool {
    let is = |nth: usize, keywords: &[Keyword]| match &parser.peek_nth_token_ref(nth).token {
        Token::Word(word) => keywords.contains(&word.keyword),
        _ => false,
    };
    let at = usize::from(is(0, &[Keyword::NOT]));
    is(at, &[Keyword::RLIKE, Keyword::REGEXP]) && is(at + 1, &[Keyword::NULL])
}

fn too_many_copies(at: Location) -> ParserError {
    ParserError::ParserError(format!(
        "more than {COPIES} operators such as IS, ISNULL, GLOB, DIV and IN ((SELECT 1), 2) stand behind more than a \
         name or a literal; write fewer of them{at}"
    ))
}

/// Whether it is a name or a literal.
fn is_plain(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)
    )
}

/// `IS [NOT] DISTINCT FROM` with its right side, in brackets where more follows. The parser takes
/// `a IS DISTINCT FROM b AND c` for `a IS DISTINCT FROM (b AND c)`; so does DataFusion, which reads the text once more.
fn distinct_from(
    parser: &mut Parser,
    left: &Expr,
    precedence: u8,
) -> Option<Result<Expr, ParserError>> {
    use Keyword::{DISTINCT, FROM, IS, NOT};
    let form: fn(Box<Expr>, Box<Expr>) -> Expr =
        if parser.parse_keywords(&[IS, NOT, DISTINCT, FROM]) {
            Expr::IsNotDistinctFrom
        } else if parser.parse_keywords(&[IS, DISTINCT, FROM]) {
            Expr::IsDistinctFrom
        } else {
            return None;
        };
    let compared = parser
        .parse_subexpr(precedence)
        .map(|right| form(Box::new(left.clone()), Box::new(right)));
    // Without brackets what follows would belong to it when the text is read again.
    Some(match (compared, parser.get_next_precedence()) {
        (Ok(compared), Ok(1..)) => Ok(Expr::Nested(Box::new(compared))),
        (compared, _) => compared,
    })
}

/// `[NOT] IN (…)` of a list that begins with a subquery: `a IN ((SELECT 1), 2)`. The parser takes the brackets of the
/// list for those of one subquery, and does not find their end. So does DataFusion, which reads the text once more: for
/// it the list is `(a = (SELECT 1) OR a IN (2))`.
fn in_list(parser: &mut Parser, left: &Expr, for_host: bool) -> Result<Option<Expr>, ParserError> {
    if !begins_with_subquery(parser) {
        return Ok(None);
    }
    let at = parser.peek_token_ref().span.start;
    let list = parser.maybe_parse(|parser| {
        let is_negated = parser.parse_keyword(Keyword::NOT);
        parser.expect_keyword_is(Keyword::IN)?;
        parser.expect_token(&Token::LParen)?;
        let list = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        // One subquery alone is that subquery in brackets, which the parser reads itself, from the start.
        if let [only] = list.as_slice()
            && is_subquery(only)
        {
            return parser.expected_ref("a list", parser.peek_token_ref());
        }
        Ok((is_negated, list))
    })?;
    let Some((negated, list)) = list else {
        return Ok(None);
    };
    if !for_host {
        return Ok(Some(Expr::InList {
            expr: Box::new(left.clone()),
            list,
            negated,
        }));
    }
    // Each repetition would be computed anew, and would take memory.
    if !is_plain(left) || left.to_string().len() > REPEATED_BYTES {
        return Err(ParserError::ParserError(format!(
            "a list that begins with a subquery, IN ((SELECT 1), 2), can only stand behind a name or a short literal; \
             begin it with a value, IN (2, (SELECT 1)), or give what stands before IN a name in a subquery{at}"
        )));
    }
    Ok(compared(left, negated, list))
}

/// Whether it is a subquery in any number of brackets.
fn is_subquery(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) => is_subquery(inner),
        _ => false,
    }
}

/// Whether `[NOT] IN` follows, with a bracket that begins with a subquery in brackets.
fn begins_with_subquery(parser: &Parser) -> bool {
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    let is_word = |place: usize, keyword: Keyword| match token(place) {
        Token::Word(word) => word.keyword == keyword,
        _ => false,
    };
    let start = usize::from(is_word(0, Keyword::NOT));
    if !is_word(start, Keyword::IN) {
        return false;
    }
    let brackets = (start + 1..)
        .take_while(|place| *token(*place) == Token::LParen)
        .count();
    let first = start + 1 + brackets;
    brackets >= 2 && (is_word(first, Keyword::SELECT) || is_word(first, Keyword::WITH))
}

/// A list behind a plain value as comparisons; `None` for an empty list.
fn compared(left: &Expr, is_negated: bool, mut list: Vec<Expr>) -> Option<Expr> {
    let both = |left: Expr, op: BinaryOperator, right: Expr| Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    };
    let (compare, join) = match is_negated {
        true => (BinaryOperator::NotEq, BinaryOperator::And),
        false => (BinaryOperator::Eq, BinaryOperator::Or),
    };
    let begins_so = |one: &&Expr| one.to_string().starts_with('(');
    let first_other = list.iter().take_while(begins_so).count();
    let others = list.split_off(first_other);
    let each = list
        .into_iter()
        .map(|one| both(left.clone(), compare.clone(), whole(one)));
    let others = (!others.is_empty()).then(|| Expr::InList {
        expr: Box::new(left.clone()),
        list: others,
        negated: is_negated,
    });
    let all = each
        .chain(others)
        .reduce(|all, next| both(all, join.clone(), next))?;
    Some(Expr::Nested(Box::new(all)))
}

/// An operand that ends where it ends.
fn whole(operand: Expr) -> Expr {
    match operand {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Function(_)
        | Expr::Nested(_)
        | Expr::Subquery(_)
        | Expr::Tuple(_) => operand,
        other => Expr::Nested(Box::new(other)),
    }
}

macro_rules! like_inner {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool { self.inner.$name() })*
    };
}

/// Delegates every method about queries. The others are for statements that the guard refuses, except arguments named
/// by an expression (`json_object('key': value)`), which make the parser read every argument twice.
impl Dialect for PrefixLimited {
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Some(Err(ParserError::RecursionLimitExceeded)),
        }
        // The parser tries something else after a failure, and would tell the failure of that.
        if self.copies.get().is_none() {
            return Some(Err(too_many_copies(parser.peek_token_ref().span.start)));
        }
        if self.inner.is::<ClickHouseDialect>()
            && let Some(array) = clickhouse::empty_array(parser)
        {
            return Some(Ok(array));
        }
        if self.inner.is::<MySqlDialect>()
            && let Some(operation) = mysql::prefix(parser)
        {
            return Some(operation);
        }
        if self.inner.is::<PostgreSqlDialect>()
            && let Some(operation) = postgres::prefix(parser)
        {
            return Some(operation);
        }
        self.inner.parse_prefix(parser)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let at = parser.peek_token_ref().span.start;
        let parsed = self.infix(parser, expr, precedence)?;
        if !is_plain(expr) {
            let rest = self.copies.get().and_then(|rest| rest.checked_sub(1));
            self.copies.set(rest);
            if rest.is_none() {
                return Some(Err(too_many_copies(at)));
            }
        }
        Some(parsed)
    }

    fn dialect(&self) -> TypeId {
        self.inner.dialect()
    }

    /// The parser does not know that MySQL and SQL Server have WITH ROLLUP.
    fn supports_group_by_with_modifier(&self) -> bool {
        self.inner.is::<MySqlDialect>()
            || self.inner.is::<MsSqlDialect>()
            || self.inner.supports_group_by_with_modifier()
    }

    /// `a LEFT JOIN b JOIN c ON … ON …`
    fn supports_left_associative_joins_without_parens(&self) -> bool {
        !self.inner.is::<MsSqlDialect>()
            && self.inner.supports_left_associative_joins_without_parens()
    }

    /// `count(*) FILTER (WHERE a)`
    fn supports_filter_during_aggregation(&self) -> bool {
        self.inner.is::<ClickHouseDialect>() || self.inner.supports_filter_during_aggregation()
    }

    /// A text that goes on in the next line.
    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        self.inner.is::<PostgreSqlDialect>()
            || self
                .inner
                .supports_string_literal_concatenation_with_newline()
    }

    /// `EXTRACT(YEAR_MONTH FROM a)`; the walk checks the unit.
    fn allow_extract_custom(&self) -> bool {
        self.inner.is::<MySqlDialect>() || self.inner.allow_extract_custom()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        self.inner.is_delimited_identifier_start(ch)
    }

    fn is_nested_delimited_identifier_start(&self, ch: char) -> bool {
        self.inner.is_nested_delimited_identifier_start(ch)
    }

    fn peek_nested_delimited_identifier_quotes(
        &self,
        chars: Peekable<Chars<'_>>,
    ) -> Option<(char, Option<char>)> {
        self.inner.peek_nested_delimited_identifier_quotes(chars)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.inner.identifier_quote_style(identifier)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.inner.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.inner.is_identifier_part(ch)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        self.inner.is_custom_operator_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        self.inner.get_next_precedence(parser)
    }

    fn get_next_precedence_default(&self, parser: &Parser) -> Result<u8, ParserError> {
        // The parser asks nothing else, and the inner dialect would ask itself.
        if self.inner.is::<ClickHouseDialect>()
            && let Some(precedence) = clickhouse::precedence(parser)
        {
            return Ok(precedence);
        }
        if self.inner.is::<MySqlDialect>() && mysql::is_modulo(parser) {
            return Ok(self.prec_value(Precedence::MulDivModOp));
        }
        if self.has_null_tests() && sqlite::null_test(parser).is_some() {
            return Ok(self.prec_value(Precedence::Is));
        }
        self.inner.get_next_precedence_default(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.inner.prec_value(precedence)
    }

    fn prec_unknown(&self) -> u8 {
        self.inner.prec_unknown()
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        self.inner.is_reserved_for_identifier(keyword)
    }

    fn get_reserved_keywords_for_select_item_operator(&self) -> &[Keyword] {
        self.inner.get_reserved_keywords_for_select_item_operator()
    }

    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        self.inner.is_column_alias(keyword, parser)
    }

    fn is_select_item_alias(&self, explicit: bool, keyword: &Keyword, parser: &mut Parser) -> bool {
        self.inner.is_select_item_alias(explicit, keyword, parser)
    }

    fn is_table_factor(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        self.inner.is_table_factor(keyword, parser)
    }

    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        self.inner.is_table_alias(keyword, parser)
    }

    fn is_table_factor_alias(
        &self,
        explicit: bool,
        keyword: &Keyword,
        parser: &mut Parser,
    ) -> bool {
        self.inner.is_table_factor_alias(explicit, keyword, parser)
    }

    fn is_identifier_generating_function_name(
        &self,
        ident: &Ident,
        parts: &[ObjectNamePart],
    ) -> bool {
        self.inner
            .is_identifier_generating_function_name(ident, parts)
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    like_inner!(
        allow_extract_single_quotes convert_type_before_value ignores_wildcard_escapes
        require_interval_qualifier requires_single_line_comment_whitespace support_map_literal_syntax
        supports_array_join_syntax supports_array_typedef_with_brackets supports_array_typedef_without_element_type
        supports_bang_not_operator supports_binary_kw_as_cast supports_bitwise_shift_operators
        supports_boolean_literals supports_comma_separated_trim supports_comment_optimizer_hint supports_connect_by
        supports_cross_join_constraint supports_cte_without_as supports_dictionary_syntax
        supports_dollar_as_money_prefix supports_dollar_placeholder supports_double_ampersand_operator
        supports_empty_projections supports_eq_alias_assignment supports_extract_comma_syntax
        supports_factorial_operator supports_from_first_select
        supports_from_trailing_commas supports_geometric_types supports_group_by_expr
        supports_in_empty_list supports_interpolate supports_interval_options supports_lambda_functions
        supports_limit_by supports_limit_comma
        supports_long_type_as_bigint supports_map_literal_with_angle_brackets supports_match_against
        supports_match_recognize supports_multiline_comment_hints supports_named_fn_args_with_assignment_operator
        supports_named_fn_args_with_colon_operator supports_named_fn_args_with_eq_operator
        supports_named_fn_args_with_rarrow_operator supports_nested_comments supports_notnull_operator
        supports_numeric_literal_underscores supports_numeric_prefix supports_object_name_double_dot_notation
        supports_order_by_all supports_outer_join_operator supports_parens_around_table_factor supports_partiql
        supports_partition_by_after_order_by supports_pipe_operator supports_prewhere
        supports_projection_trailing_commas supports_quote_delimited_string supports_select_exclude
        supports_select_expr_star supports_select_format supports_select_item_multi_column_alias
        supports_select_modifiers supports_select_wildcard_except supports_select_wildcard_exclude
        supports_select_wildcard_ilike supports_select_wildcard_rename supports_select_wildcard_replace
        supports_select_wildcard_with_alias supports_semantic_view_table_factor supports_settings
        supports_string_escape_constant supports_string_literal_backslash_escape
        supports_string_literal_concatenation supports_struct_literal supports_subquery_as_function_arg
        supports_table_hints supports_table_sample_before_alias supports_table_versioning supports_top_before_distinct
        supports_trailing_commas supports_triple_quoted_string supports_try_convert supports_unicode_string_literal
        supports_user_host_grantee supports_values_as_table_factor supports_window_clause_named_window_reference
        supports_window_function_null_treatment_arg supports_with_fill supports_within_after_array_aggregation
        supports_xml_expressions supports_data_type_signed_suffix supports_end_transaction_modifier
    );
}
