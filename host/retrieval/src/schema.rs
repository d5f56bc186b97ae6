//! What the index is made from.

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
    /// What it is said to be.
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

/// A column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Name.
    pub name: String,
    /// The engine's own type.
    pub data_type: String,
    /// What it is said to be.
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

/// Knowledge about tables that is no part of the catalog: a verified question, a metric, a word of the glossary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its words lead to the tables.
    pub text: String,
    /// Datasource, schema and name of each table that it speaks of.
    pub tables: Vec<(String, String, String)>,
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
