//! Trino's dialect.

use std::any::TypeId;

use sqlparser::dialect::{Dialect, GenericDialect};

/// The grammar of the parser's general dialect, as far as Trino has it, with lambda functions.
#[derive(Debug)]
pub(super) struct Trino;

const INNER: GenericDialect = GenericDialect {};

impl Dialect for Trino {
    /// The parser asks for this where it has no question of its own: UNNEST is one such place.
    fn dialect(&self) -> TypeId {
        INNER.dialect()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '"'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('"')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_ascii_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_ascii_alphanumeric() || ch == '_'
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_lambda_functions(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }

    fn supports_values_as_table_factor(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_rarrow_operator(&self) -> bool {
        true
    }

    fn require_interval_qualifier(&self) -> bool {
        true
    }
}
