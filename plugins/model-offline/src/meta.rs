//! Questions about the catalog itself, and what to say to a greeting.

use crate::catalog::{Catalog, Table};
use crate::ranked;
use crate::tools::FoundTables;
use crate::vocabulary::is_filler;
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
    let content: Vec<&Token> = tokens
        .iter()
        .filter(|t| !is_filler(&t.norm) && !is_request(&t.norm))
        .collect();
    let all_tables = content.iter().all(|t| {
        matches!(
            t.stem.as_str(),
            "table" | "view" | "dataset" | "datasource" | "and" | "data" | "catalog"
        )
    });
    let says_tables = tokens.iter().any(|t| {
        matches!(
            t.norm.as_str(),
            "tables" | "views" | "datasets" | "datasources" | "catalog"
        )
    });
    if all_tables && says_tables {
        return Some(Meta::Tables);
    }
    let data = tokens
        .iter()
        .any(|t| t.norm == "data" || t.norm == "database");
    let says_how_many = tokens
        .iter()
        .any(|t| matches!(t.norm.as_str(), "many" | "much"));
    if content.is_empty() && data && !says_how_many {
        return Some(Meta::Tables);
    }
    let help = ["help", "examples", "example"]
        .iter()
        .any(|w| tokens.iter().any(|t| t.norm == *w))
        && content.len() <= 1;
    let able = [
        "what can you do",
        "what can i ask",
        "what do you know",
        "who are you",
        "what can you answer",
    ];
    let text = tokens
        .iter()
        .map(|t| t.norm.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    (help || able.iter().any(|a| text.contains(a)) || content.is_empty()).then_some(Meta::Help)
}

fn is_request(norm: &str) -> bool {
    [
        "show",
        "list",
        "available",
        "display",
        "describe",
        "exist",
        "every",
        "names",
        "name",
        "contain",
        "number",
    ]
    .contains(&norm)
}

/// "describe orders", "which columns does orders have?"
pub fn about_columns(question: &str, catalog: &Catalog) -> Option<Meta> {
    let tokens = tokenize(question);
    let asks = tokens
        .iter()
        .any(|t| ASKS_COLUMNS.contains(&t.norm.as_str()));
    let table = ranked::only_table(catalog, question, ASKS_COLUMNS).filter(|_| asks);
    table.map(Meta::Describe)
}

/// Words that ask for the columns of a table.
const ASKS_COLUMNS: &[&str] = &[
    "describe",
    "columns",
    "fields",
    "structure",
    "schema",
    "explain",
    "attributes",
];

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
        let name = if several {
            format!("{}.{}", table.datasource, table.table)
        } else {
            table.table.clone()
        };
        let rows = table
            .row_count
            .filter(|n| *n > 0)
            .map(|n| format!(" ({n} rows)"))
            .unwrap_or_default();
        let words = table
            .description
            .as_deref()
            .filter(|d| !d.is_empty())
            .map(|d| format!(": {d}"))
            .unwrap_or_default();
        text += &format!("- `{name}`{rows}{words}\n");
    }
    text
}

/// Lists the columns of a table for the reader, with types, keys and descriptions.
pub fn columns_text(catalog: &Catalog, table: &Table) -> String {
    let words = if table.description.is_empty() {
        String::new()
    } else {
        format!(": {}", table.description)
    };
    let rows = table
        .row_count
        .filter(|n| *n > 0)
        .map(|n| format!(" ({n} rows)"))
        .unwrap_or_default();
    let mut text = format!(
        "`{}`{rows}{words}\n\n| column | type | description |\n| --- | --- | --- |\n",
        table.name
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
