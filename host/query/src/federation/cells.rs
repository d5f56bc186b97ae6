//! Cells that may have other types than their columns, as in SQLite.
//!
//! A condition is exact there for the cells that have the type of their column. For others an engine has an answer, and
//! the host an error. So the groups that such an engine computes carry a look at every cell that they were computed of:
//! if one has another type, they are a text in place of a number, which is the host's error for a cell of another type.

use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::{BinaryExpr, Expr, Operator, expr::InList},
};

use super::{expressions::Value, kinds::Kind};

/// Whether a cell has another type than its column: never NULL. `None` if no condition says what the host takes.
pub fn misfit(cell: &Value) -> Option<String> {
    let cell_sql = &cell.sql;
    Some(match cell.kind {
        Kind::Integer => format!("typeof({cell_sql}) NOT IN ('integer', 'null')"),
        Kind::Text => format!("typeof({cell_sql}) NOT IN ('text', 'null')"),
        // The text of a day, and of one that there is.
        Kind::Date => format!(
            "coalesce(date({cell_sql}) COLLATE BINARY <> {cell_sql}, {cell_sql} IS NOT NULL)"
        ),
        _ => return None,
    })
}

/// The cells that a condition reads, if it keeps the same rows as in the host where each has the type of its column.
pub fn read_by(condition: &Expr, columns: (&DFSchema, &[Value])) -> Option<Vec<Value>> {
    let mut cells = Vec::new();
    Reading { columns }.condition(condition, &mut cells)?;
    Some(cells)
}

/// The columns that a condition is about.
struct Reading<'a> {
    columns: (&'a DFSchema, &'a [Value]),
}

impl Reading<'_> {
    fn condition(&self, expr: &Expr, cells: &mut Vec<Value>) -> Option<()> {
        match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::And | Operator::Or,
                right,
            }) => {
                self.condition(left, cells)?;
                self.condition(right, cells)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let cell = self.cell(left)?;
                let other = match &**right {
                    Expr::Literal(constant, _) => Operand::constant(constant)?,
                    column => Operand::Cell(self.cell(column)?),
                };
                is_exact(&cell, *op, &other).then_some(())?;
                cells.push(cell);
                if let Operand::Cell(other) = other {
                    cells.push(other);
                }
                Some(())
            }
            Expr::Not(inner) => self.condition(inner, cells),
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                cells.push(self.cell(inner)?);
                Some(())
            }
            Expr::InList(InList { expr, list, .. }) => {
                let cell = self.cell(expr)?;
                let is_listed = |value: &Expr| match value {
                    Expr::Literal(constant, _) => Operand::constant(constant)
                        .is_some_and(|constant| is_exact(&cell, Operator::Eq, &constant)),
                    _ => false,
                };
                list.iter().all(is_listed).then_some(())?;
                cells.push(cell);
                Some(())
            }
            _ => None,
        }
    }

    /// A column, perhaps in another form.
    fn cell(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Column(column) => {
                let (schema, values) = self.columns;
                let index = schema.maybe_index_of_column(column)?;
                values.get(index).cloned()
            }
            Expr::Cast(cast) => self.cell(&cast.expr),
            _ => None,
        }
    }
}

/// What a cell is compared with.
enum Operand {
    Cell(Value),
    Number,
    Day,
    /// A text that no invalid bytes are shown as.
    Text,
}

impl Operand {
    fn constant(constant: &ScalarValue) -> Option<Self> {
        Some(match constant {
            ScalarValue::Date32(Some(_)) => Self::Day,
            ScalarValue::Decimal128(Some(_), ..) => Self::Number,
            ScalarValue::Utf8(Some(text))
            | ScalarValue::LargeUtf8(Some(text))
            | ScalarValue::Utf8View(Some(text)) => {
                (!text.contains(char::REPLACEMENT_CHARACTER)).then_some(Self::Text)?
            }
            number if number.data_type().is_integer() && !number.is_null() => Self::Number,
            _ => return None,
        })
    }
}

/// Whether a comparison is the host's. Bytes that are no UTF-8 have another order than the text that is shown for them,
/// and so have texts in databases in UTF-16.
fn is_exact(cell: &Value, op: Operator, other: &Operand) -> bool {
    match (cell.kind, other) {
        (Kind::Integer, Operand::Number) | (Kind::Date, Operand::Day) => true,
        (Kind::Integer, Operand::Cell(other)) => other.kind == Kind::Integer,
        (Kind::Text, Operand::Text) => matches!(op, Operator::Eq | Operator::NotEq),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::{
        arrow::datatypes::{DataType, Field, Schema},
        prelude::{col, lit},
    };

    fn columns() -> (DFSchema, Vec<Value>) {
        let kinds = [
            ("id", DataType::Int64, Kind::Integer),
            ("qty", DataType::Int64, Kind::Integer),
            ("code", DataType::Utf8, Kind::Text),
            ("placed", DataType::Date32, Kind::Date),
            ("price", DataType::Decimal128(12, 2), Kind::Decimal),
        ];
        let fields: Vec<_> = kinds
            .iter()
            .map(|(name, data_type, _)| Field::new(*name, data_type.clone(), true))
            .collect();
        let values = kinds.map(|(name, _, kind)| Value {
            sql: name.to_owned(),
            kind,
        });
        let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
        (schema, values.into())
    }

    fn read(condition: &Expr) -> Option<String> {
        let (schema, values) = columns();
        let cells = read_by(condition, (&schema, &values))?;
        let names: Vec<_> = cells.into_iter().map(|cell| cell.sql).collect();
        Some(names.join(" "))
    }

    #[test]
    fn exact_conditions_tell_which_cells_they_read() {
        let day = || lit(ScalarValue::Date32(Some(1)));
        for (condition, cells) in [
            (col("qty").gt(lit(5_i64)), "qty"),
            (col("qty").eq(col("id")), "qty id"),
            (col("code").eq(lit("a")).or(col("id").is_null()), "code id"),
            (!col("code").not_eq(lit("a")), "code"),
            (col("code").in_list(vec![lit("a"), lit("b")], true), "code"),
            (
                col("placed").lt_eq(day()).and(col("id").lt(lit(1_i64))),
                "placed id",
            ),
        ] {
            assert_eq!(read(&condition).as_deref(), Some(cells), "{condition}");
        }
    }

    #[test]
    fn conditions_that_may_keep_other_rows_are_refused() {
        for condition in [
            // Texts have another order where their bytes are no UTF-8, or are UTF-16.
            col("code").lt(lit("a")),
            col("code").eq(lit("a\u{fffd}")),
            col("code").eq(col("code")),
            col("code").like(lit("a%")),
            // A decimal is stored as a float.
            col("price").gt(lit(1_i64)),
            col("price").is_null().and(col("price").eq(col("id"))),
            col("qty").in_list(vec![lit(1_i64), col("id")], false),
        ] {
            assert_eq!(read(&condition), None, "{condition}");
        }
    }

    #[test]
    fn cell_of_another_type_is_told_where_the_host_would_not_take_it() {
        let misfit = |kind| {
            misfit(&Value {
                sql: String::from("x"),
                kind,
            })
        };
        assert_eq!(
            misfit(Kind::Integer).unwrap(),
            "typeof(x) NOT IN ('integer', 'null')"
        );
        assert_eq!(
            misfit(Kind::Text).unwrap(),
            "typeof(x) NOT IN ('text', 'null')"
        );
        assert!(misfit(Kind::Date).unwrap().contains("date(x)"));
        for kind in [Kind::Decimal, Kind::Float, Kind::Opaque, Kind::Timestamp] {
            assert_eq!(misfit(kind), None, "{kind:?}");
        }
    }
}
