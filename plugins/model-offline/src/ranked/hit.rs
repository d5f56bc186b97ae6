//! What words may mean in the catalog.

use crate::catalog::ColumnRef;

/// What a phrase may mean.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A table, by its index into [`Catalog::tables`].
    Table(usize),
    /// The column itself, not one of its values.
    Column(ColumnRef),
    /// A value of a column, as stored.
    Value(ColumnRef, String),
}

impl Target {
    /// The table that is meant, or that has the column or value.
    pub fn table(&self) -> usize {
        match self {
            Self::Table(table) => *table,
            Self::Column(column) | Self::Value(column, _) => column.table,
        }
    }
}

/// A meaning with its score: 1 is the exact name.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The meaning.
    pub target: Target,
    /// From 0 to 1.
    pub score: f32,
}

impl Hit {
    /// The column that is meant itself.
    pub fn column(&self) -> Option<ColumnRef> {
        match self.target {
            Target::Column(column) => Some(column),
            _ => None,
        }
    }

    /// The table that is meant.
    pub fn table(&self) -> Option<usize> {
        match self.target {
            Target::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The column whose value is meant.
    pub fn value(&self) -> Option<ColumnRef> {
        match self.target {
            Target::Value(column, _) => Some(column),
            _ => None,
        }
    }
}
