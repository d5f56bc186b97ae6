//! From a SELECT of T-SQL to one of SQLite: the commonest differences in spelling.

use std::ops::ControlFlow;

use anyhow::{Context, Result, anyhow};
use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause,
    ObjectName, ObjectNamePart, Offset, Query, SelectItem, SetExpr, Statement, TableFactor,
    TopQuantity, Value, VisitMut, VisitorMut,
};
use sqlparser::dialect::{MsSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::types::SqlType;

/// A SELECT for SQLite, and what is known of its columns.
pub struct Translated {
    /// The text.
    pub text: String,
    /// For each column its type, where the statement says it; shorter where there is a star.
    pub types: Vec<Option<SqlType>>,
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
    let (Some(Statement::Query(mut query)), true) = (parsed.pop(), parsed.is_empty()) else {
        return Err(anyhow!("this is no SELECT"));
    };
    let types = types(&query.body);
    if let ControlFlow::Break(error) = query.visit(&mut Rewrite) {
        return Err(anyhow!(error));
    }
    Ok(Translated {
        text: query.to_string(),
        types,
    })
}

fn types(body: &SetExpr) -> Vec<Option<SqlType>> {
    match body {
        SetExpr::Select(select) => select
            .projection
            .iter()
            .take_while(|item| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                )
            })
            .map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    type_of(expr)
                }
                _ => None,
            })
            .collect(),
        SetExpr::SetOperation { left, .. } => types(left),
        SetExpr::Query(query) => types(&query.body),
        _ => Vec::new(),
    }
}

fn type_of(expr: &Expr) -> Option<SqlType> {
    match expr {
        Expr::Cast { data_type, .. } => SqlType::parse(&data_type.to_string()),
        Expr::Convert { data_type, .. } => SqlType::parse(&data_type.as_ref()?.to_string()),
        Expr::Collate { expr, collation } => SqlType::parse(&format!(
            "{} collate {collation}",
            match expr.as_ref() {
                Expr::Cast { data_type, .. } => data_type.to_string(),
                _ => return None,
            }
        )),
        Expr::Nested(inner) => type_of(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if digits.contains('.') => {
                let scale = digits.rsplit('.').next().map_or(0, str::len);
                let precision = digits.len().saturating_sub(1).clamp(1, 38);
                Some(SqlType::Decimal(precision as u8, scale as u8, true))
            }
            Value::Number(digits, _) if digits.parse::<i32>().is_ok() => Some(SqlType::Int(4)),
            Value::SingleQuotedString(text) => {
                Some(SqlType::Char(short(text), false, crate::types::COLLATION))
            }
            Value::NationalStringLiteral(text) => Some(SqlType::NChar(
                short(text).filter(|length| *length <= 4000),
                false,
            )),
            _ => None,
        },
        Expr::Function(function) => match function.name.to_string().to_ascii_lowercase().as_str() {
            "count" => Some(SqlType::Int(4)),
            _ => None,
        },
        _ => None,
    }
}

/// The length of a literal, where its characters are those of one byte; else it is a text of UTF-16.
fn short(text: &str) -> Option<u16> {
    u16::try_from(text.chars().count().max(1))
        .ok()
        .filter(|length| *length <= 8000)
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

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_) | Value::NationalStringLiteral(_)))
        || matches!(
            expr,
            Expr::BinaryOp {
                op: BinaryOperator::StringConcat,
                ..
            }
        )
}

/// SQLite's own casts are for numbers and texts; the other types are written when a row is.
fn cast(inner: &mut Expr, kind: &str) -> Expr {
    let inner = std::mem::replace(inner, Expr::Tuple(Vec::new()));
    let to = match SqlType::parse(kind) {
        Some(SqlType::Int(_) | SqlType::Bit) => "INTEGER",
        Some(SqlType::Float(_)) => "REAL",
        Some(SqlType::Char(..) | SqlType::NChar(..)) => "TEXT",
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
    fn a_cast_says_the_type_of_its_column() {
        let types =
            select("SELECT CAST('1.5' AS decimal(5,2)) AS d, CONVERT(date, '2024-01-01'), 1")
                .unwrap()
                .types;
        assert_eq!(types[0], Some(SqlType::Decimal(5, 2, false)));
        assert_eq!(types[1], Some(SqlType::Date));
        assert_eq!(types[2], Some(SqlType::Int(4)));
    }
}
