//! Subqueries with one value, within the conditions of a statement of the same datasource.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    arrow::datatypes::Field,
    common::{Column, DFSchema, TableReference},
    logical_expr::Expr,
};

use super::{
    super::{expressions::Value, kinds::Kind},
    Select,
};

/// Results of uncorrelated subqueries of the same datasource, which a condition names as columns.
#[derive(Debug)]
pub struct Scalars {
    pub(super) schema: DFSchema,
    pub(super) values: Vec<Value>,
    pub(super) tables: usize,
}

impl Default for Scalars {
    fn default() -> Self {
        Self {
            schema: DFSchema::empty(),
            values: Vec::new(),
            tables: 0,
        }
    }
}

impl Scalars {
    /// The column of these results.
    const RELATION: &str = "subquery of the host";

    /// Adds the result of a subquery whose fields are `schema`. Returns the column that names it; `None` if the subquery
    /// might have several rows, which is an error that engines tell differently, or if its type is not compared by
    /// value alone. A subquery without rows is NULL everywhere.
    pub fn add(&mut self, select: &Select, schema: &DFSchema) -> Option<Expr> {
        let ([value], [field]) = (select.columns.as_slice(), schema.fields().as_ref()) else {
            return None;
        };
        let is_plain = matches!(
            value.kind,
            Kind::Integer
                | Kind::Unsigned
                | Kind::Decimal
                | Kind::Date
                | Kind::Timestamp
                | Kind::TimestampUtc
        );
        if !select.is_single_row || !is_plain {
            return None;
        }
        let relation = TableReference::bare(Self::RELATION);
        let name = format!("c{}", self.values.len());
        let field = Field::new(&name, field.data_type().clone(), true);
        let field = DFSchema::new_with_metadata(
            vec![(Some(relation.clone()), Arc::new(field))],
            HashMap::new(),
        );
        self.schema.merge(&field.ok()?);
        self.values.push(Value {
            sql: format!("({})", select.text()),
            kind: value.kind,
        });
        self.tables += select.tables;
        Some(Expr::Column(Column::new(Some(relation), name)))
    }
}
