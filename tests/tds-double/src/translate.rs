//! From a SELECT of T-SQL to one of SQLite: the commonest differences in spelling.

use std::ops::ControlFlow;

use anyhow::{Context, Result, anyhow};
use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause,
    ObjectName, ObjectNamePart, Offset, Query, SetExpr, Statement, TableFactor, TopQuantity, Value,
    VisitMut, VisitorMut,
};
use sqlparser::dialect::{MsSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::types::SqlType;

/// A SELECT for SQLite, and as it was.
pub struct Translated {
    /// The text.
    pub text: String,
    /// The statement in T-SQL, which says what the types of its columns are.
    pub query: Query,
}

/// A text in which every N'…' is '…'.
pub(crate) fn literals(sql: &str) -> String {
    let Ok(tokens) = crate::batch::tokens(sql) else {
        return sql.to_owned();
    };
    let plain = tokens.into_iter().map(|token| match token {
        Token::NationalStringLiteral(text) => format!("'{text}'"),
        other => other.to_string(),
    });
    plain.collect()
}

/// Translates a SELECT.
///
/// # Errors
/// When it is none, or has what this does not know.
pub fn select(sql: &str) -> Result<Translated> {
    let mut parsed = Parser::parse_sql(&MsSqlDialect {}, sql).context("syntax")?;
    let (Some(Statement::Query(query)), true) = (parsed.pop(), parsed.is_empty()) else {
        return Err(anyhow!("this is no SELECT"));
    };
    let original = *query;
    let mut query = original.clone();
    if let ControlFlow::Break(error) = query.visit(&mut Rewrite) {
        return Err(anyhow!(error));
    }
    Ok(Translated {
        text: query.to_string(),
        query: original,
    })
}

struct Rewrite;

impl VisitorMut for Rewrite {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        if let SetExpr::Select(select) = query.body.as_mut()
            && let Some(top) = select.top.take()
        {
            let limit = match top.quantity {
                Some(TopQuantity::Constant(rows)) => {
                    Expr::value(Value::Number(rows.to_string(), false))
                }
                Some(TopQuantity::Expr(expr)) => expr,
                None => return ControlFlow::Break("TOP of nothing".into()),
            };
            query.limit_clause = Some(limited(limit, None));
        }
        if let Some(Fetch {
            quantity: Some(rows),
            ..
        }) = query.fetch.take()
        {
            let offset = match query.limit_clause.take() {
                Some(LimitClause::LimitOffset { offset, .. }) => offset,
                _ => None,
            };
            query.limit_clause = Some(limited(rows, offset.map(|offset| offset.value)));
        }
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            limit.get_or_insert_with(|| Expr::value(Value::Number("-1".into(), false)));
            if let Some(offset) = offset {
                offset.rows = sqlparser::ast::OffsetRows::None;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<String> {
        let TableFactor::Table {
            name,
            alias,
            args,
            with_hints,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        with_hints.clear();
        let Some(arguments) = args.take() else {
            local(name);
            return ControlFlow::Continue(());
        };
        if !name.to_string().eq_ignore_ascii_case("generate_series") {
            return ControlFlow::Break(format!("Invalid object name '{name}'."));
        }
        let values: Vec<String> = arguments.args.iter().map(ToString::to_string).collect();
        let [from, to] = values.as_slice() else {
            return ControlFlow::Break("GENERATE_SERIES has two arguments here".into());
        };
        let sql = format!(
            "SELECT * FROM (WITH RECURSIVE counted(value) AS (SELECT {from} UNION ALL SELECT value + 1 FROM counted \
             WHERE value < {to}) SELECT value FROM counted)"
        );
        let Ok(mut parsed) = Parser::parse_sql(&SQLiteDialect {}, &sql) else {
            return ControlFlow::Break("GENERATE_SERIES".into());
        };
        if let Some(Statement::Query(query)) = parsed.pop()
            && let SetExpr::Select(mut select) = *query.body
            && let Some(table) = select.from.pop()
        {
            let called = alias.take();
            *factor = table.relation;
            if let TableFactor::Derived { alias, .. } = factor {
                *alias = called;
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match expr {
            Expr::Value(value) => {
                if let Value::NationalStringLiteral(text) = &value.value {
                    value.value = Value::SingleQuotedString(text.clone());
                }
            }
            Expr::Cast {
                expr: inner,
                data_type,
                ..
            } => *expr = cast(inner, &data_type.to_string()),
            Expr::Convert {
                expr: inner,
                data_type: Some(data_type),
                ..
            } => *expr = cast(inner, &data_type.to_string()),
            Expr::Collate { expr: inner, .. } => {
                *expr = std::mem::replace(inner.as_mut(), Expr::Tuple(Vec::new()))
            }
            Expr::BinaryOp { left, op, right }
                if *op == BinaryOperator::Plus && (is_text(left) || is_text(right)) =>
            {
                *op = BinaryOperator::StringConcat;
            }
            Expr::Function(_) => return function(expr),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn limited(limit: Expr, offset: Option<Expr>) -> LimitClause {
    LimitClause::LimitOffset {
        limit: Some(limit),
        offset: offset.map(|value| Offset {
            value,
            rows: sqlparser::ast::OffsetRows::None,
        }),
        limit_by: Vec::new(),
    }
}

/// The name without the database, which is the only one.
fn local(name: &mut ObjectName) {
    if name.0.len() == 3 {
        name.0.remove(0);
    }
    let is_requests = name
        .to_string()
        .eq_ignore_ascii_case("sys.dm_exec_requests");
    if is_requests && let Some(schema) = name.0.first_mut() {
        *schema = ObjectNamePart::Identifier("main".into());
    }
}

/// Whether `+` joins it to what stands beside: a text, or bytes.
fn is_text(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Value(value) if matches!(
            value.value,
            Value::SingleQuotedString(_) | Value::NationalStringLiteral(_) | Value::HexStringLiteral(_)
        )
    ) || matches!(
        expr,
        Expr::BinaryOp {
            op: BinaryOperator::StringConcat,
            ..
        }
    )
}

/// SQLite's own casts are for numbers, texts and bytes; the other types are written when a row is. A moment gets the
/// form that it has in a table.
fn cast(inner: &mut Expr, kind: &str) -> Expr {
    let inner = std::mem::replace(inner, Expr::Tuple(Vec::new()));
    let kind = SqlType::parse(kind);
    if let Expr::Value(value) = &inner {
        let literal = match (&kind, &value.value) {
            (Some(SqlType::Binary(Some(1), true)), Value::Number(number, _)) => number
                .parse::<u8>()
                .ok()
                .map(|byte| format!("X'{byte:02X}'")),
            (
                Some(SqlType::DateTime(_) | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_)),
                Value::SingleQuotedString(text),
            ) => Some(format!("'{}'", crate::values::stored_moment(text))),
            _ => None,
        };
        if let Some(literal) = literal.and_then(|literal| parsed(&literal)) {
            return literal;
        }
    }
    let to = match kind {
        Some(SqlType::Int(_) | SqlType::Bit) => "INTEGER",
        Some(SqlType::Float(_)) => "REAL",
        Some(SqlType::Char(..) | SqlType::NChar(..)) => "TEXT",
        Some(SqlType::Binary(..)) => "BLOB",
        _ => return Expr::Nested(Box::new(inner)),
    };
    parsed(&format!("CAST({inner} AS {to})")).unwrap_or(inner)
}

fn parsed(sql: &str) -> Option<Expr> {
    Parser::new(&SQLiteDialect {})
        .try_with_sql(sql)
        .ok()?
        .parse_expr()
        .ok()
}

fn function(expr: &mut Expr) -> ControlFlow<String> {
    let Expr::Function(function) = expr else {
        return ControlFlow::Continue(());
    };
    let arguments: Vec<String> = match &function.args {
        FunctionArguments::List(list) => list
            .args
            .iter()
            .filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.to_string()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let name = function.name.to_string().to_ascii_lowercase();
    let replaced = match (name.as_str(), arguments.as_slice()) {
        ("len", [text]) => format!("length({text})"),
        ("isnull", [first, second]) => format!("ifnull({first}, {second})"),
        ("charindex", [what, text]) => format!("instr({text}, {what})"),
        ("replicate", [text, times]) => format!("replace(hex(zeroblob({times})), '00', {text})"),
        ("left", [text, length]) => format!("substr({text}, 1, {length})"),
        ("quotename", [text]) => format!("('[' || {text} || ']')"),
        ("year", [date]) => format!("CAST(strftime('%Y', {date}) AS INTEGER)"),
        ("month", [date]) => format!("CAST(strftime('%m', {date}) AS INTEGER)"),
        // What there is of a name's parts is looked up in the double's own tables.
        ("col_length", [table, column]) => format!(
            "(SELECT 1 FROM pragma_table_info(substr({table}, instr({table}, '.') + 1), \
             substr({table}, 1, instr({table}, '.') - 1)) AS i WHERE i.name = {column})"
        ),
        ("db_id", _) | ("has_perms_by_name", _) => "1".into(),
        ("db_name", _) => "'shop'".into(),
        ("suser_sname" | "suser_name" | "user_name", _) => "'tester'".into(),
        ("serverproperty", [which]) if which.to_ascii_lowercase().contains("productversion") => {
            "'16.0.1052.1'".into()
        }
        ("serverproperty", _) => "NULL".into(),
        ("getdate" | "sysdatetime" | "getutcdate" | "sysutcdatetime", []) => {
            "strftime('%Y-%m-%d %H:%M:%f', 'now')".into()
        }
        ("count_big", _) => {
            function.name = ObjectName::from(vec!["count".into()]);
            return ControlFlow::Continue(());
        }
        ("sum", _) if function.over.is_none() => {
            function.name = ObjectName::from(vec!["exact_sum".into()]);
            return ControlFlow::Continue(());
        }
        _ => return ControlFlow::Continue(()),
    };
    match parsed(&replaced) {
        Some(new) => *expr = new,
        None => return ControlFlow::Break(format!("`{replaced}` is no expression")),
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_differences_are_bridged() {
        for (sql, text) in [
            (
                "SELECT TOP 3 [a] FROM dbo.t ORDER BY a",
                "SELECT [a] FROM dbo.t ORDER BY a LIMIT 3",
            ),
            (
                "SELECT TOP (3) a FROM shop.dbo.t",
                "SELECT a FROM dbo.t LIMIT (3)",
            ),
            ("SELECT N'x' + 'y'", "SELECT 'x' || 'y'"),
            ("SELECT a FROM t WITH (NOLOCK)", "SELECT a FROM t"),
            (
                "SELECT LEN(a), ISNULL(a, 1) FROM t",
                "SELECT length(a), ifnull(a, 1) FROM t",
            ),
            (
                "SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH NEXT 2 ROWS ONLY",
                "SELECT a FROM t ORDER BY a LIMIT 2 OFFSET 5",
            ),
        ] {
            let translated = select(sql).unwrap().text;
            let plain = translated.replace("(3)", "3");
            assert_eq!(plain, text.replace("(3)", "3"), "{sql}");
        }
    }

    #[test]
    fn bytes_are_joined_and_moments_have_the_form_of_a_table() {
        for (sql, text) in [
            (
                "SELECT CAST(N'a' AS VARBINARY(MAX)) + CAST(1 AS BINARY(1))",
                "SELECT CAST('a' AS BLOB) || X'01'",
            ),
            (
                "SELECT CAST('2024-02-29T12:00:00.500000' AS datetime2(6))",
                "SELECT '2024-02-29 12:00:00.5'",
            ),
            (
                "SELECT sum(a), count_big(*) FROM t",
                "SELECT exact_sum(a), count(*) FROM t",
            ),
        ] {
            assert_eq!(select(sql).unwrap().text, text, "{sql}");
        }
    }
}
