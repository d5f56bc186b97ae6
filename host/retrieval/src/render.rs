//! Tables as lines of a prompt.

use std::fmt::Write;

use crate::{
    joins::Joins,
    schema::{Column, ForeignKey, Table},
    text::{plain, shown_name, shown_value},
};

/// Letters of a description.
const DESCRIPTION: usize = 200;
/// Letters of a type. MySQL's `enum` lists its values in it.
const TYPE: usize = 40;
/// Letters of a value.
const VALUE: usize = 40;
/// Values of a column.
const VALUES: usize = 5;

/// How much is shown of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Everything.
    All = 0,
    /// Types, keys and descriptions.
    NoValues = 1,
    /// Types and keys.
    NoDescriptions = 2,
}

/// The lines of the tables of one index.
pub struct Renderer<'a> {
    pub tables: &'a [Table],
    pub joins: &'a Joins,
    /// Whether the name of a table begins with its datasource.
    pub has_several_datasources: bool,
}

impl Renderer<'_> {
    /// One table on one line: `main.orders "what it is" (id integer key, customer_id integer -> customers.id, …)`.
    pub fn table(&self, number: usize, columns: &[usize], detail: Detail) -> String {
        let table = &self.tables[number];
        let mut line = self.full_name(table);
        if let Some(text) = described(&table.description, detail) {
            let _ = write!(line, " \"{text}\"");
        }
        line.push_str(" (");
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                line.push_str(", ");
            }
            column_text(table, &table.columns[*column], detail, &mut line);
        }
        let left_out = table.columns.len() - columns.len();
        if left_out > 0 {
            let comma = if columns.is_empty() { "" } else { ", " };
            let _ = write!(line, "{comma}… {left_out} more");
        }
        line.push(')');
        self.guesses(number, &mut line);
        line.push('\n');
        line
    }

    /// The name that a statement uses, with the datasource where there are several.
    fn full_name(&self, table: &Table) -> String {
        let mut name = String::new();
        if self.has_several_datasources {
            let _ = write!(name, "{}.", shown_name(&table.datasource));
        }
        if !table.schema.is_empty() {
            let _ = write!(name, "{}.", shown_name(&table.schema));
        }
        name.push_str(&shown_name(&table.name));
        name
    }

    /// Joins that no key declares.
    fn guesses(&self, number: usize, line: &mut String) {
        let guesses = self
            .joins
            .guesses(u32::try_from(number).unwrap_or(u32::MAX));
        for (at, guess) in guesses.iter().enumerate() {
            let (from, to) = (&self.tables[number], &self.tables[guess.to as usize]);
            let (column, key) = (
                &from.columns[guess.column as usize],
                &to.columns[guess.key as usize],
            );
            line.push_str(if at == 0 { " perhaps " } else { ", " });
            let (column, key) = (shown_name(&column.name), shown_name(&key.name));
            let _ = write!(line, "{column} = {}.{key}", shown_name(&to.name));
        }
    }
}

fn column_text(table: &Table, column: &Column, detail: Detail, line: &mut String) {
    line.push_str(&shown_name(&column.name));
    let data_type = plain(&column.data_type, TYPE);
    if !data_type.is_empty() {
        let _ = write!(line, " {data_type}");
    }
    if table.primary_key.contains(&column.name) {
        line.push_str(" key");
    }
    for key in &table.foreign_keys {
        if let Some(at) = key.columns.iter().position(|name| *name == column.name) {
            reference(table, key, at, line);
        }
    }
    if let Some(text) = described(&column.description, detail) {
        let _ = write!(line, " \"{text}\"");
    }
    if detail == Detail::All && !column.values.is_empty() {
        let values = column.values.iter().take(VALUES);
        let values: Vec<String> = values.map(|value| shown_value(value, VALUE)).collect();
        let _ = write!(line, " = {}", values.join(" | "));
    }
}

/// ` -> customers.id`, with the schema if it is another.
fn reference(table: &Table, key: &ForeignKey, at: usize, line: &mut String) {
    line.push_str(" -> ");
    if key.schema != table.schema {
        let _ = write!(line, "{}.", shown_name(&key.schema));
    }
    let column = key.referenced.get(at).map_or("", String::as_str);
    let _ = write!(line, "{}.{}", shown_name(&key.table), shown_name(column));
}

fn described(text: &Option<String>, detail: Detail) -> Option<String> {
    let text = text
        .as_deref()
        .filter(|_| detail < Detail::NoDescriptions)?;
    Some(plain(text, DESCRIPTION)).filter(|text| !text.is_empty())
}
