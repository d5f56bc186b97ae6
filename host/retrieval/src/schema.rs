//! What the index is made from.

use std::collections::HashMap;

/// A table or view.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Name of the datasource.
    pub datasource: String,
    /// Schema; empty where the engine has none.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// `TABLE`, `VIEW`, …
    pub kind: String,
    /// In words, as its engine or an editor has it.
    pub description: Option<String>,
    /// Rows; `None` when unknown.
    pub row_count: Option<u64>,
    /// In the order of the table.
    pub columns: Vec<Column>,
    /// Names of its columns, in order.
    pub primary_key: Vec<String>,
    /// One element a constraint.
    pub foreign_keys: Vec<ForeignKey>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// As the engine spells it.
    pub name: String,
    /// The engine's own type.
    pub data_type: String,
    /// In words, as its engine or an editor has it.
    pub description: Option<String>,
    /// Common values, most common first; empty where the model may not see them.
    pub values: Vec<String>,
}

/// A foreign key, to a table of the same datasource. A key to a table that the index does not have is ignored.
#[derive(Clone, Debug, Default)]
pub struct ForeignKey {
    /// Columns here, in order.
    pub columns: Vec<String>,
    /// Schema that it points to.
    pub schema: String,
    /// Table that it points to.
    pub table: String,
    /// Columns there, in the same order.
    pub referenced: Vec<String>,
}

/// What is known about tables beside the catalog. What it says of tables that the index does not have is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Texts that lead to tables.
    pub documents: Vec<Document>,
    /// Tables that join, of one or two datasources, in addition to declared keys.
    pub joins: Vec<[TableName; 2]>,
}

/// A text that leads to tables: a verified question, a metric, a word of the glossary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its words lead to the tables.
    pub text: String,
    /// The tables that it speaks of.
    pub tables: Vec<TableName>,
}

/// The whole name of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableName {
    /// Name of the datasource.
    pub datasource: String,
    /// Schema; empty where the engine has none.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
}

impl Table {
    /// `schema.name`, or the name alone where there is no schema.
    pub fn full_name(&self) -> String {
        match self.schema.is_empty() {
            true => self.name.clone(),
            false => format!("{}.{}", self.schema, self.name),
        }
    }
}

/// By datasource, schema and name: the number of the table.
pub(crate) type Numbers<'a> = HashMap<(&'a str, &'a str, &'a str), usize>;

pub(crate) fn numbers(tables: &[Table]) -> Numbers<'_> {
    (tables.iter().enumerate())
        .map(|(number, table)| ((&*table.datasource, &*table.schema, &*table.name), number))
        .collect()
}

pub(crate) fn number(numbers: &Numbers<'_>, table: &TableName) -> Option<usize> {
    let name = (&*table.datasource, &*table.schema, &*table.name);
    numbers.get(&name).copied()
}
