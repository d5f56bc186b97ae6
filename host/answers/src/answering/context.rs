//! The part of the catalog that stands in the prompt: the tables that the question needs, found without asking a model,
//! by words and, where the provider makes vectors, by meaning.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::{
    embedding::Meaning,
    prompt,
    step::{ShownTable, Step, StepStatus},
    tools::Toolbox,
};
use mindhost_base::error::{Error, Result};
use mindhost_plugin_api::{ModelMessage, Part, Role};
use mindhost_retrieval::{Index, PackedCatalog, PackedTable, WeightedText};

/// Earlier messages that tell what "and by month?" is about.
const EARLIER: usize = 4;
/// What their words are worth.
const EARLIER_WEIGHT: f32 = 0.35;
/// Tables that the message of the step names.
const NAMED: usize = 10;

/// Adds the catalog to the system message of a dialogue, in at most `budget` tokens. What the model reads there counts
/// as read from its datasource. Returns the step that tells what was added.
///
/// # Errors
/// When the store fails.
pub async fn add(
    messages: &mut [ModelMessage],
    toolbox: &Toolbox<'_>,
    meaning: Option<Meaning<'_>>,
    budget: usize,
) -> Result<Step> {
    let began = Instant::now();
    let Some(room) = budget.checked_sub(prompt::CATALOG_FRAME) else {
        let message = "no tables: answering.catalog_tokens leaves no room for them".to_owned();
        return Ok(step(Vec::new(), message, began));
    };
    let view = &toolbox.access.view;
    let index = toolbox.catalog.index(view, &toolbox.knowledge).await?;
    let said = said(messages);
    let nearest = match (&meaning, said.first()) {
        (Some(meaning), Some((question, _))) if !index.fits(room) => {
            meaning.nearest(&index, question).await
        }
        _ => Vec::new(),
    };
    let packing = Arc::clone(&index);
    let pack = move || {
        let said: Vec<WeightedText<'_>> = said
            .iter()
            .map(|(text, weight)| WeightedText {
                text,
                weight: *weight,
            })
            .collect();
        packing.pack_with(&said, &nearest, room)
    };
    let packed = tokio::task::spawn_blocking(pack)
        .await
        .map_err(Error::internal)?;
    note(&index, &packed, toolbox);
    let frame = prompt::catalog(&packed, index.tables().len());
    let system = messages
        .iter_mut()
        .find(|message| message.role == Role::System);
    if let Some(Part::Text(text)) = system.and_then(|message| message.parts.first_mut()) {
        text.push_str(&frame);
    }
    let shown: Vec<ShownTable> = packed
        .tables
        .iter()
        .map(|table| shown_table(&index, table))
        .collect();
    let message = listed(&shown, index.tables().len());
    Ok(step(shown, message, began))
}

fn step(tables: Vec<ShownTable>, message: String, began: Instant) -> Step {
    Step {
        name: "context".to_owned(),
        status: StepStatus::Completed,
        sql: None,
        message,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        tables,
    }
}

/// `3 of 324 tables: shop.main.orders, …`
fn listed(shown: &[ShownTable], total: usize) -> String {
    let names = shown.iter().take(NAMED).map(|table| table.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    let colon = if names.is_empty() { "" } else { ": " };
    let more = if shown.len() > NAMED { ", …" } else { "" };
    format!("{} of {total} tables{colon}{names}{more}", shown.len())
}

fn shown_table(index: &Index, packed: &PackedTable) -> ShownTable {
    let table = &index.tables()[packed.table];
    let column = |number: &usize| table.columns[*number].name.clone();
    ShownTable {
        name: format!("{}.{}", table.datasource, table.full_name()),
        columns: packed.columns.iter().map(column).collect(),
    }
}

/// The question, and the messages before it with less weight.
fn said(messages: &[ModelMessage]) -> Vec<(String, f32)> {
    let spoken = messages
        .iter()
        .filter(|message| matches!(message.role, Role::User | Role::Assistant));
    let mut said = Vec::new();
    for message in spoken.rev() {
        let weight = match said.is_empty() {
            true if message.role != Role::User => continue,
            true => 1.0,
            false => EARLIER_WEIGHT,
        };
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some((text.clone(), weight)),
            _ => None,
        });
        said.extend(texts);
        if said.len() > EARLIER {
            break;
        }
    }
    said
}

/// Records the descriptions and values that the model reads.
fn note(index: &Index, packed: &PackedCatalog, toolbox: &Toolbox<'_>) {
    for one in &packed.tables {
        let table = &index.tables()[one.table];
        let columns = one.columns.iter().map(|column| &table.columns[*column]);
        for column in columns {
            if one.has_descriptions {
                toolbox.note(&table.datasource, &json!(column.description));
            }
            if one.has_values {
                toolbox.note(&table.datasource, &json!(column.values));
            }
        }
        if one.has_descriptions {
            toolbox.note(&table.datasource, &json!(table.description));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, text: &str) -> ModelMessage {
        ModelMessage {
            role,
            parts: vec![Part::Text(text.to_owned())],
        }
    }

    #[test]
    fn step_names_the_first_tables_and_counts_all() {
        let shown = |count: usize| -> Vec<ShownTable> {
            let name = |number| format!("s.t{number}");
            let tables = (0..count).map(|number| ShownTable {
                name: name(number),
                columns: Vec::new(),
            });
            tables.collect()
        };
        assert_eq!(listed(&[], 7), "0 of 7 tables");
        assert_eq!(listed(&shown(2), 7), "2 of 7 tables: s.t0, s.t1");
        let many = listed(&shown(12), 12);
        assert!(many.starts_with("12 of 12 tables: s.t0, ") && many.ends_with("s.t9, …"));
    }

    #[test]
    fn question_counts_most_and_earlier_messages_less() {
        let messages = [
            message(Role::System, "You are sales."),
            message(Role::User, "Revenue per country?"),
            message(Role::Assistant, "It is 3."),
            message(Role::User, "And by month?"),
        ];
        let said = said(&messages);
        let texts: Vec<&str> = said.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["And by month?", "It is 3.", "Revenue per country?"]);
        assert!(said[0].1 > said[1].1 && said[1].1 == said[2].1);
    }
}
