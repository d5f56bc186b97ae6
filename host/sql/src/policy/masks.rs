//! The SQL of the built-in masks, as templates over `masked_column`.

use mindhost_plugin_api::Dialect;
use sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, SetExpr,
};

/// NULL of the type of `masked_column`.
pub(super) fn typed_null(dialect: Dialect) -> &'static str {
    match dialect {
        // A result has the declared types of columns, also of those of subqueries, and none of other expressions.
        Dialect::Sqlite => "(SELECT masked_column WHERE 1 = 0)",
        _ => "CASE WHEN 1 = 0 THEN masked_column END",
    }
}

/// `****` and the last four characters of `masked_column`.
pub(super) fn last4(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => {
            "CASE WHEN length(CAST(masked_column AS TEXT)) >= 8 THEN '****' || substr(CAST(masked_column AS TEXT), -4) \
             WHEN masked_column IS NOT NULL THEN '****' END"
        }
        Dialect::Mysql => {
            "CASE WHEN char_length(CAST(masked_column AS CHAR)) >= 8 \
             THEN concat('****', right(CAST(masked_column AS CHAR), 4)) \
             WHEN masked_column IS NOT NULL THEN '****' END"
        }
        Dialect::Mssql => {
            "CASE WHEN LEN(CAST(masked_column AS NVARCHAR(4000))) >= 8 \
             THEN CONCAT('****', RIGHT(CAST(masked_column AS NVARCHAR(4000)), 4)) \
             WHEN masked_column IS NOT NULL THEN '****' END"
        }
        Dialect::Clickhouse => {
            // Old versions cannot count from the end of a text. Where nothing matches, the result is an empty text.
            "CASE WHEN masked_column IS NOT NULL \
             THEN concat('****', \"extract\"(toString(masked_column), '(?s).{4}(.{4})$')) END"
        }
        Dialect::Trino => {
            "CASE WHEN length(CAST(masked_column AS VARCHAR)) >= 8 \
             THEN concat('****', substr(CAST(masked_column AS VARCHAR), -4)) \
             WHEN masked_column IS NOT NULL THEN '****' END"
        }
        _ => {
            "CASE WHEN char_length(CAST(masked_column AS VARCHAR)) >= 8 \
             THEN concat('****', right(CAST(masked_column AS VARCHAR), 4)) \
             WHEN masked_column IS NOT NULL THEN '****' END"
        }
    }
}

/// A template of this module with the column in place of `masked_column`.
pub(super) fn replaced(mut expr: Expr, column: &Expr) -> Expr {
    replace(&mut expr, column);
    expr
}

fn replace(expr: &mut Expr, column: &Expr) {
    match expr {
        Expr::Identifier(ident) if ident.value == "masked_column" => *expr = column.clone(),
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            for CaseWhen { condition, result } in conditions {
                replace(condition, column);
                replace(result, column);
            }
            if let Some(other) = else_result {
                replace(other, column);
            }
        }
        Expr::BinaryOp { left, right, .. } => {
            replace(left, column);
            replace(right, column);
        }
        Expr::IsNotNull(inner) | Expr::Cast { expr: inner, .. } => replace(inner, column),
        Expr::Substring { expr: inner, .. } => replace(inner, column),
        Expr::Subquery(query) => {
            if let SetExpr::Select(select) = query.body.as_mut() {
                for item in &mut select.projection {
                    if let SelectItem::UnnamedExpr(inner) = item {
                        replace(inner, column);
                    }
                }
            }
        }
        Expr::Function(Function {
            args: FunctionArguments::List(list),
            ..
        }) => {
            for arg in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) = arg {
                    replace(inner, column);
                }
            }
        }
        _ => {}
    }
}
