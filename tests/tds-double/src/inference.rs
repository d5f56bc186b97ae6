//! The types of the columns of a SELECT, as SQL Server derives them.

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select,
    SelectItem, SetExpr, TableFactor, Value,
};

use crate::types::{COLLATION, SqlType};

/// Digits of a decimal, and those behind the point that a product or quotient keeps.
const MAX_DIGITS: i16 = 38;
const KEPT_SCALE: i16 = 6;

/// The type of a column of a table of the database.
type Resolve<'a> = dyn Fn(&str, &str) -> Option<SqlType> + 'a;

/// For each column its type, where it is known; shorter where there is a star.
pub fn types(query: &Query, resolve: &Resolve<'_>) -> Vec<Option<SqlType>> {
    of_body(&query.body, resolve)
}

fn of_body(body: &SetExpr, resolve: &Resolve<'_>) -> Vec<Option<SqlType>> {
    match body {
        SetExpr::Select(select) => {
            let exprs = select.projection.iter().map_while(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    Some(expr)
                }
                _ => None,
            });
            exprs.map(|expr| type_of(expr, select, resolve)).collect()
        }
        SetExpr::SetOperation { left, .. } => of_body(left, resolve),
        SetExpr::Query(query) => of_body(&query.body, resolve),
        _ => Vec::new(),
    }
}

fn type_of(expr: &Expr, select: &Select, resolve: &Resolve<'_>) -> Option<SqlType> {
    match expr {
        Expr::Cast { data_type, .. } => SqlType::parse(&data_type.to_string()),
        Expr::Convert { data_type, .. } => SqlType::parse(&data_type.as_ref()?.to_string()),
        Expr::Collate { expr, collation } => match expr.as_ref() {
            Expr::Cast { data_type, .. } => {
                SqlType::parse(&format!("{data_type} collate {collation}"))
            }
            _ => None,
        },
        Expr::Nested(inner) => type_of(inner, select, resolve),
        Expr::Value(value) => literal(&value.value),
        Expr::Case { conditions, .. } => type_of(&conditions.first()?.result, select, resolve),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column] => column_type(Some(&table.value), &column.value, select, resolve),
            _ => None,
        },
        Expr::Identifier(column) => column_type(None, &column.value, select, resolve),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (
                type_of(left, select, resolve)?,
                type_of(right, select, resolve)?,
            );
            arithmetic(&left, op, &right)
        }
        Expr::Function(function) => {
            let FunctionArguments::List(arguments) = &function.args else {
                return None;
            };
            let argument = || match arguments.args.first()? {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => type_of(expr, select, resolve),
                _ => None,
            };
            match function.name.to_string().to_ascii_lowercase().as_str() {
                "count" => Some(SqlType::Int(4)),
                "count_big" => Some(SqlType::Int(8)),
                "min" | "max" | "nullif" => argument(),
                "sum" => Some(match argument()? {
                    SqlType::Int(8) => SqlType::Int(8),
                    SqlType::Int(_) => SqlType::Int(4),
                    SqlType::Decimal(_, scale, numeric) => SqlType::Decimal(38, scale, numeric),
                    SqlType::Money(_) => SqlType::Money(8),
                    SqlType::Float(_) => SqlType::Float(8),
                    _ => return None,
                }),
                _ => None,
            }
        }
        _ => None,
    }
}

fn literal(value: &Value) -> Option<SqlType> {
    Some(match value {
        Value::Number(digits, _) if digits.contains('.') => {
            let scale = digits.rsplit('.').next().map_or(0, str::len);
            let precision = digits.len().saturating_sub(1).clamp(1, 38);
            SqlType::Decimal(precision as u8, scale as u8, true)
        }
        Value::Number(digits, _) if digits.parse::<i32>().is_ok() => SqlType::Int(4),
        Value::SingleQuotedString(text) => SqlType::Char(short(text), false, COLLATION),
        Value::NationalStringLiteral(text) => {
            SqlType::NChar(short(text).filter(|length| *length <= 4000), false)
        }
        _ => return None,
    })
}

/// The length of a literal, where its characters are those of one byte; else it is a text of UTF-16.
fn short(text: &str) -> Option<u16> {
    u16::try_from(text.chars().count().max(1))
        .ok()
        .filter(|length| *length <= 8000)
}

/// The type of a column of what stands in FROM; without a name of a table, of the only one there.
fn column_type(
    table: Option<&str>,
    column: &str,
    select: &Select,
    resolve: &Resolve<'_>,
) -> Option<SqlType> {
    let factors = select.from.iter().flat_map(|from| {
        let joined = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joined)
    });
    let mut found = factors.filter(|factor| table.is_none_or(|name| is_called(factor, name)));
    let factor = found.next()?;
    if table.is_none() && found.next().is_some() {
        return None;
    }
    match factor {
        TableFactor::Table { name, .. } => {
            let parts = name.0.iter().skip(name.0.len().saturating_sub(2));
            let parts: Vec<String> = parts.map(ToString::to_string).collect();
            resolve(&parts.join("."), column)
        }
        TableFactor::Derived { subquery, .. } => {
            let SetExpr::Select(inner) = subquery.body.as_ref() else {
                return None;
            };
            let expr = inner.projection.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } if alias.value == column => Some(expr),
                _ => None,
            });
            type_of(expr?, inner, resolve)
        }
        _ => None,
    }
}

fn is_called(factor: &TableFactor, name: &str) -> bool {
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => alias.name.value.eq_ignore_ascii_case(name),
        TableFactor::Table { name: table, .. } => table
            .0
            .last()
            .and_then(|part| part.as_ident())
            .is_some_and(|ident| ident.value.eq_ignore_ascii_case(name)),
        _ => false,
    }
}

/// The type of what is computed of two numbers.
fn arithmetic(left: &SqlType, op: &BinaryOperator, right: &SqlType) -> Option<SqlType> {
    let digits = |of: &SqlType| match of {
        SqlType::Int(1) => Some((3, 0)),
        SqlType::Int(2) => Some((5, 0)),
        SqlType::Int(4) => Some((10, 0)),
        SqlType::Int(_) => Some((19, 0)),
        SqlType::Decimal(precision, scale, _) => Some((i16::from(*precision), i16::from(*scale))),
        _ => None,
    };
    if let (SqlType::Int(one), SqlType::Int(other)) = (left, right) {
        return Some(SqlType::Int(*one.max(other)));
    }
    let ((p1, s1), (p2, s2)) = (digits(left)?, digits(right)?);
    let (precision, scale) = match op {
        BinaryOperator::Plus | BinaryOperator::Minus => {
            let scale = s1.max(s2);
            (scale + (p1 - s1).max(p2 - s2) + 1, scale)
        }
        BinaryOperator::Multiply => (p1 + p2 + 1, s1 + s2),
        BinaryOperator::Divide => {
            let scale = KEPT_SCALE.max(s1 + p2 + 1);
            (p1 - s1 + s2 + scale, scale)
        }
        BinaryOperator::Modulo => {
            let scale = s1.max(s2);
            ((p1 - s1).min(p2 - s2) + scale, scale)
        }
        _ => return None,
    };
    let whole = precision - scale;
    let scale = match precision > MAX_DIGITS {
        true => scale.min((MAX_DIGITS - whole).max(KEPT_SCALE)),
        false => scale,
    };
    let precision = precision.min(MAX_DIGITS);
    Some(SqlType::Decimal(precision as u8, scale as u8, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Vec<Option<SqlType>> {
        let query = crate::translate::select(sql).unwrap().query;
        types(&query, &|table, column| match (table, column) {
            ("dbo.t" | "dbo.[t]", "price") => SqlType::parse("decimal(12,2)"),
            ("dbo.t" | "dbo.[t]", "id") => SqlType::parse("int"),
            _ => None,
        })
    }

    #[test]
    fn a_cast_says_the_type_of_its_column() {
        let types = of("SELECT CAST('1.5' AS decimal(5,2)) AS d, CONVERT(date, '2024-01-01'), 1");
        assert_eq!(types[0], Some(SqlType::Decimal(5, 2, false)));
        assert_eq!(types[1], Some(SqlType::Date));
        assert_eq!(types[2], Some(SqlType::Int(4)));
    }

    #[test]
    fn sum_has_the_type_of_its_column_or_more_digits() {
        let types = of(
            "SELECT sum(a.id), sum(a.price), max(price), count(*), count_big(*), b.c0, a.x
             FROM dbo.t AS a",
        );
        assert_eq!(types[0], Some(SqlType::Int(4)));
        assert_eq!(types[1], Some(SqlType::Decimal(38, 2, false)));
        assert_eq!(types[2], Some(SqlType::Decimal(12, 2, false)));
        assert_eq!(types[3], Some(SqlType::Int(4)));
        assert_eq!(types[4], Some(SqlType::Int(8)));
        assert_eq!(types[5..], [None, None]);
    }

    #[test]
    fn columns_of_subqueries_have_the_types_that_they_have_there() {
        let types = of(
            "SELECT b.c0, [b].[c1] * 0.01 FROM
             (SELECT sum([t1].[id]) AS c0, sum(CAST(id AS decimal(20,0))) AS c1 FROM [shop].dbo.[t] AS t1) AS b",
        );
        assert_eq!(types[0], Some(SqlType::Int(4)));
        assert_eq!(types[1], Some(SqlType::Decimal(38, 2, false)));
    }

    #[test]
    fn quotient_loses_digits_behind_the_point_first() {
        let types = of("SELECT CAST(1 AS decimal(22,2)) / CAST(1 AS bigint), 1.5 + 2, 1.25 * 1.5");
        assert_eq!(types[0], Some(SqlType::Decimal(38, 18, false)));
        assert_eq!(types[1], Some(SqlType::Decimal(12, 1, false)));
        assert_eq!(types[2], Some(SqlType::Decimal(6, 3, false)));
    }
}
