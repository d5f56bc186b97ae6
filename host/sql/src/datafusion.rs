//! The dialect of what the server runs itself.

use std::any::TypeId;

use sqlparser::dialect::{Dialect, GenericDialect};

/// The grammar of the parser's general dialect. It is a type of its own, because DataFusion reads the text once more,
/// with a parser that cannot be corrected here.
#[derive(Debug)]
pub(super) struct Datafusion;

const INNER: GenericDialect = GenericDialect {};

macro_rules! like_inner {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool { INNER.$name() })*
    };
}

/// Has what the general dialect has for queries.
impl Dialect for Datafusion {
    fn dialect(&self) -> TypeId {
        INNER.dialect()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        INNER.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        INNER.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        INNER.is_identifier_part(ch)
    }

    like_inner!(
        allow_extract_custom allow_extract_single_quotes support_map_literal_syntax supports_array_join_syntax
        supports_array_typedef_with_brackets supports_bitwise_shift_operators supports_comma_separated_trim
        supports_comment_optimizer_hint supports_connect_by supports_cte_without_as supports_data_type_signed_suffix
        supports_dictionary_syntax supports_empty_projections supports_extract_comma_syntax
        supports_filter_during_aggregation supports_from_first_select supports_group_by_expr
        supports_group_by_with_modifier supports_interpolate supports_interval_options
        supports_left_associative_joins_without_parens supports_limit_by supports_limit_comma supports_match_against
        supports_match_recognize supports_multiline_comment_hints supports_named_fn_args_with_assignment_operator
        supports_nested_comments supports_parens_around_table_factor supports_partition_by_after_order_by
        supports_pipe_operator supports_prewhere supports_projection_trailing_commas supports_quote_delimited_string
        supports_select_format supports_select_item_multi_column_alias supports_select_wildcard_except
        supports_select_wildcard_exclude supports_select_wildcard_ilike supports_select_wildcard_rename
        supports_select_wildcard_replace supports_settings supports_string_escape_constant supports_struct_literal
        supports_try_convert supports_unicode_string_literal supports_user_host_grantee
        supports_values_as_table_factor supports_window_clause_named_window_reference
        supports_window_function_null_treatment_arg supports_with_fill supports_xml_expressions
    );
}
