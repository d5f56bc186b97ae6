//! Questions about the catalog itself, and what to say to a greeting.

use crate::catalog::{Catalog, Table};
use crate::ranked;
use crate::tools::FoundTables;
use crate::vocabulary::{holds, is_filler};
use crate::words::{Token, tokenize};

/// A question that needs no statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meta {
    /// What tables there are: "what tables are there?"
    Tables,
    /// "describe table X"
    Describe(usize),
    /// "help", "what can you do?"
    Help,
}

/// Whether the question is about what there is, before any table is described.
pub fn about_tables(question: &str) -> Option<Meta> {
    let tokens = tokenize(question);
    let says = |words: &[&str]| tokens.iter().any(|t| words.contains(&t.norm.as_str()));
    let content: Vec<&Token> = tokens
        .iter()
        .filter(|t| !is_filler(&t.norm) && !holds(REQUESTS, &t.norm))
        .collect();
    let all_tables = content.iter().all(|t| holds(THINGS, &t.stem));
    let says_tables = says(&["tables", "views", "datasets", "datasources", "catalog"]);
    let asks_data = content.is_empty() && says(&["data", "database"]) && !says(&["many", "much"]);
    if all_tables && says_tables || asks_data {
        return Some(Meta::Tables);
    }
    let help = says(&["help", "examples", "example"]) && content.len() <= 1;
    let text: Vec<&str> = tokens.iter().map(|t| t.norm.as_str()).collect();
    let text = format!(" {} ", text.join(" "));
    let able = ABILITIES.iter().any(|a| text.contains(&format!(" {a} ")));
    // "list them" asks for rows, though it does not say which.
    let points = says(&["them", "they", "it", "these", "those"]);
    (help || able || content.is_empty() && !points).then_some(Meta::Help)
}

/// What a question about the catalog is about.
const THINGS: &str = "table view dataset datasource and data catalog";

/// Words that only ask for it.
const REQUESTS: &str = "show list available display describe exist every names name contain number";

const ABILITIES: &[&str] = &[
    "what can you do",
    "what can i ask",
    "what do you know",
    "who are you",
    "what can you answer",
];

/// "describe orders", "which columns does orders have?"
pub fn about_columns(question: &str, catalog: &Catalog) -> Option<Meta> {
    let tokens = tokenize(question);
    let asks = tokens.iter().any(|t| holds(ASKS_COLUMNS, &t.norm));
    let table = ranked::only_table(catalog, question, ASKS_COLUMNS).filter(|_| asks);
    table.map(Meta::Describe)
}

/// Words that ask for the columns of a table.
const ASKS_COLUMNS: &str = "describe columns fields structure schema explain attributes";

/// Lists tables for the reader.
pub fn tables_text(found: &FoundTables) -> String {
    let tables = &found.tables;
    let several = tables.iter().any(|t| t.datasource != tables[0].datasource);
    let mut text = match found.total_tables {
        1 => "There is 1 table or view:\n\n".to_owned(),
        n if found.are_some() => {
            format!(
                "There are {n} tables and views. The first {} are:\n\n",
                tables.len()
            )
        }
        n => format!("There are {n} tables and views:\n\n"),
    };
    for table in tables {
        let source = if several {
            format!("{}.", table.datasource)
        } else {
            String::new()
        };
        let words = about(
            table.row_count,
            table.description.as_deref().unwrap_or_default(),
        );
        text += &format!("- `{source}{}`{words}\n", table.table);
    }
    text
}

/// The number of rows of a table, and the words about it.
fn about(rows: Option<u64>, words: &str) -> String {
    let rows = rows
        .filter(|n| *n > 0)
        .map_or_else(String::new, |n| format!(" ({n} rows)"));
    if words.is_empty() {
        rows
    } else {
        format!("{rows}: {words}")
    }
}

/// Lists the columns of a table for the reader, with types, keys and descriptions.
pub fn columns_text(catalog: &Catalog, table: &Table) -> String {
    let mut text = format!(
        "`{}`{}\n\n| column | type | description |\n| --- | --- | --- |\n",
        table.name,
        about(table.row_count, &table.description)
    );
    for (at, column) in table.columns.iter().enumerate() {
        let mut notes = Vec::new();
        if table.primary_key.contains(&at) {
            notes.push("primary key".to_owned());
        }
        for key in table
            .foreign_keys
            .iter()
            .filter(|k| k.columns.contains(&at))
        {
            notes.push(format!("refers to {}", catalog.table(key.target).name));
        }
        if !column.description.is_empty() {
            notes.push(column.description.clone());
        }
        text += &format!(
            "| {} | {} | {} |\n",
            column.name,
            column.native_type,
            notes.join("; ").replace('|', "\\|").replace('\n', " ")
        );
    }
    text
}
