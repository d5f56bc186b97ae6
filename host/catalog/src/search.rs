//! The catalog for a model: a search for tables, and their details.

use std::{collections::HashSet, sync::Arc};

use serde::Serialize;

use super::{
    Catalog, magnitude,
    names::{self, Names},
    restrictions::Restrictions,
    types::{Column, Table},
};
use mindhost_base::error::Result;
use mindhost_plugin_api::TableRef;
use mindhost_retrieval::{self as retrieval, Knowledge};

/// Columns of a table that a search gives; `describe` gives them all.
const FOUND_COLUMNS: usize = 100;

/// The part of the catalogs that a Mind sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// In the order of the Mind.
    pub sources: Vec<ViewSource>,
}

/// One datasource of a Mind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewSource {
    /// UUID of the datasource.
    pub id: String,
    /// The datasource's name in its workspace.
    pub name: String,
    /// The Mind's tables; `None` means all.
    pub tables: Option<Vec<TableRef>>,
    /// Whether values may go to a model vendor.
    pub send_values: bool,
    /// Whether rows and exact counts may go to a model vendor.
    pub send_rows: bool,
    /// What the caller may know of the tables, by the policies of the Mind.
    pub restrictions: Restrictions,
}

/// Tables that fit a search, best first.
#[derive(Clone, Debug, Serialize)]
pub struct SearchResult {
    /// At most as many as asked for.
    pub tables: Vec<FoundTable>,
    /// How many the Mind has in all.
    pub total_tables: usize,
    /// Whether they match the words. If none does, all tables are given, so that a model sees some.
    #[serde(skip)]
    pub do_fit: bool,
}

/// A table as a search shows it to a model: shorter than [`TableDetail`].
#[derive(Clone, Debug, Serialize)]
pub struct FoundTable {
    /// Name of the datasource in its workspace.
    pub datasource: String,
    /// `schema.table`
    #[serde(rename = "table")]
    pub name: String,
    /// `TABLE`, `VIEW`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The caller's text, else the source's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `None` when unknown, and where rows may not go to a model vendor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_count: Option<u64>,
    /// In place of a count that may not go to a model vendor: a power of ten that it is below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_below: Option<u64>,
    /// In the order of the table; the first of them, if there are very many.
    pub columns: Vec<FoundColumn>,
    /// How many columns were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_columns: usize,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A column of a table that fits.
#[derive(Clone, Debug, Serialize)]
pub struct FoundColumn {
    /// As the engine spells it.
    pub name: String,
    /// The engine's own type.
    #[serde(rename = "type")]
    pub data_type: String,
    /// The caller's text, else the source's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A table with everything that a model may know of it.
#[derive(Clone, Debug, Serialize)]
pub struct TableDetail {
    /// Name of the datasource in its workspace.
    pub datasource: String,
    /// `schema.table`
    #[serde(rename = "table")]
    pub name: String,
    /// `TABLE`, `VIEW`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The caller's text, else the source's comment.
    pub description: Option<String>,
    /// `None` when unknown, and where rows may not go to a model vendor.
    pub row_count: Option<u64>,
    /// In place of a count that may not go to a model vendor: a power of ten that it is below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_below: Option<u64>,
    /// In the order of the table.
    pub columns: Vec<ColumnDetail>,
    /// Its columns, in order.
    pub primary_key: Vec<String>,
    /// One element a constraint.
    pub foreign_keys: Vec<DescribedKey>,
}

/// A column with what a model may know of its values.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnDetail {
    /// As the engine spells it.
    pub name: String,
    /// The engine's own type.
    #[serde(rename = "type")]
    pub data_type: String,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// The caller's text, else the source's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Most common first. Absent where values may not go to a model vendor, as least and greatest value are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_values: Option<Vec<String>>,
    /// Least value as text; absent where values may not go to a model vendor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Greatest value as text; absent like the least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// `None` when unknown, and where values or rows may not go to a model vendor.
    pub distinct_count: Option<u64>,
    /// In place of a count that may not go to a model vendor: a power of ten that it is below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_below: Option<u64>,
    /// 0 to 100. `None` when unknown, as under a policy, and where rows may not go to a model vendor, because it tells
    /// how many of few rows have no value.
    pub null_percentage: Option<f64>,
}

/// A foreign key in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DescribedKey {
    /// Columns here, in order.
    pub columns: Vec<String>,
    /// `schema.table` that it points to.
    pub references: String,
    /// Columns there, in the same order.
    pub referenced_columns: Vec<String>,
}

impl Catalog {
    /// Tables that match the words, best first. Without words or a match, all tables.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search(
        &self,
        view: &View,
        knowledge: &Arc<Knowledge>,
        words: &str,
        limit: u32,
    ) -> Result<SearchResult> {
        let index = self.index(view, knowledge).await?;
        let found = index.search(words);
        let has_words = words.chars().any(char::is_alphanumeric);
        let do_fit = !found.is_empty() || !has_words;
        let found = match found.is_empty() {
            true => (0..index.tables().len()).collect(),
            false => found,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let tables = found.iter().take(limit);
        Ok(SearchResult {
            tables: tables
                .map(|number| found_table(view, &index.tables()[*number]))
                .collect(),
            total_tables: index.tables().len(),
            do_fit,
        })
    }

    /// Details of tables. A name is `schema.table` or a unique bare name, and may have the name of the datasource in
    /// front.
    ///
    /// # Errors
    /// `unknown_table`, `ambiguous_table`; or when the store fails.
    pub async fn describe(&self, view: &View, wanted: &[String]) -> Result<Vec<TableDetail>> {
        let mut owners = Vec::new();
        let mut tables = Vec::new();
        for source in &view.sources {
            for table in self.visible(source).await? {
                owners.push(source);
                tables.push(table);
            }
        }
        let picked = pick(&owners, &tables, wanted)?;
        let mut chosen: Vec<Table> = picked.iter().map(|index| tables[*index].clone()).collect();
        self.store.fill(&mut chosen).await?;
        for (index, table) in picked.iter().zip(&mut chosen) {
            let restrictions = &owners[*index].restrictions;
            restrictions.apply(std::slice::from_mut(table))?;
        }
        let described = picked.iter().zip(chosen);
        described
            .map(|(index, table)| described_table(owners[*index], table))
            .collect()
    }

    /// The tables of a datasource that the view has, without columns and keys.
    pub(super) async fn visible(&self, source: &ViewSource) -> Result<Vec<Table>> {
        let mut tables = self.store.tables(&source.id).await?;
        let selection: Option<HashSet<&TableRef>> =
            source.tables.as_ref().map(|tables| tables.iter().collect());
        tables.retain(|table| {
            !table.missing
                && selection
                    .as_ref()
                    .is_none_or(|selection| selection.contains(&table.table))
        });
        Ok(tables)
    }
}

/// Whether the names and descriptions of a table and its columns contain each of these lower-case words.
pub(super) fn mentions(table: &Table, search: &[&str]) -> bool {
    let mut said = vec![table.table.to_string()];
    said.extend(table.description.text.clone());
    for column in &table.columns {
        said.push(column.name.clone());
        said.extend(column.description.text.clone());
    }
    let said: Vec<String> = said.iter().map(|text| text.to_lowercase()).collect();
    let has = |word: &&str| said.iter().any(|text| text.contains(*word));
    search.iter().all(has)
}

fn found_table(view: &View, table: &retrieval::Table) -> FoundTable {
    let columns = table.columns.iter().take(FOUND_COLUMNS);
    let source = (view.sources.iter()).find(|source| source.name == table.datasource);
    let sends_rows = source.is_some_and(|source| source.send_rows);
    let (row_count, rows_below) = magnitude::told(table.row_count, sends_rows);
    FoundTable {
        datasource: table.datasource.clone(),
        name: TableRef::new(&table.schema, &table.name).to_string(),
        kind: table.kind.clone(),
        description: table.description.clone(),
        row_count,
        rows_below,
        columns: columns
            .map(|column| FoundColumn {
                name: column.name.clone(),
                data_type: column.data_type.clone(),
                description: column.description.clone(),
            })
            .collect(),
        more_columns: table.columns.len().saturating_sub(FOUND_COLUMNS),
    }
}

fn pick(owners: &[&ViewSource], tables: &[Table], wanted: &[String]) -> Result<Vec<usize>> {
    let refs: Vec<TableRef> = tables.iter().map(|table| table.table.clone()).collect();
    let qualified: Vec<String> = owners
        .iter()
        .zip(&refs)
        .map(|(source, table)| format!("{}.{table}", source.name))
        .collect();
    let names = Names::new(&refs);
    let mut picked = Vec::new();
    let mut unknown = Vec::new();
    for name in wanted {
        let short = |(index, source): (usize, &&ViewSource)| {
            (format!("{}.{}", source.name, refs[index].name) == *name).then_some(index)
        };
        let in_full = qualified.iter().position(|one| one == name);
        let with_source = || owners.iter().enumerate().find_map(short);
        match in_full
            .map_or_else(|| names.find(name), |index| Ok(Some(index)))?
            .or_else(with_source)
        {
            // One table may be asked for by two names.
            Some(index) if picked.contains(&index) => {}
            Some(index) => picked.push(index),
            None => unknown.push(name.as_str()),
        }
    }
    if unknown.is_empty() {
        Ok(picked)
    } else {
        Err(names::unknown(&unknown))
    }
}

fn described_table(source: &ViewSource, table: Table) -> Result<TableDetail> {
    let columns = table.columns.into_iter();
    let (row_count, rows_below) = magnitude::told(table.row_count, source.send_rows);
    Ok(TableDetail {
        datasource: source.name.clone(),
        name: table.table.to_string(),
        kind: table.kind,
        description: table.description.text,
        row_count,
        rows_below,
        columns: columns
            .map(|column| described_column(column, source))
            .collect::<Result<_>>()?,
        primary_key: table
            .primary_key
            .into_iter()
            .map(|key| key.column_name)
            .collect(),
        foreign_keys: described_keys(&table.foreign_keys),
    })
}

fn described_column(column: Column, source: &ViewSource) -> Result<ColumnDetail> {
    let &ViewSource {
        send_values,
        send_rows,
        ..
    } = source;
    let statistics = column.statistics.read()?;
    let null_percentage =
        (send_rows && statistics.is_known()).then_some(statistics.null_percentage);
    let known = statistics.distinct_values_count > 0 || !statistics.estimated;
    let distinct_count = (known && send_values).then_some(statistics.distinct_values_count);
    let (distinct_count, distinct_below) = magnitude::told(distinct_count, send_rows);
    let shown = |value: String| (send_values && !value.is_empty()).then_some(value);
    Ok(ColumnDetail {
        name: column.name,
        data_type: column.data_type,
        nullable: column.nullable,
        description: column.description.text,
        common_values: statistics.most_common_values.filter(|_| send_values),
        min: shown(statistics.min_value),
        max: shown(statistics.max_value),
        distinct_count,
        distinct_below,
        null_percentage,
    })
}

fn described_keys(keys: &[super::ForeignKey]) -> Vec<DescribedKey> {
    let by_constraint =
        |a: &super::ForeignKey, b: &super::ForeignKey| a.constraint_name == b.constraint_name;
    keys.chunk_by(by_constraint)
        .map(|keys| DescribedKey {
            columns: keys.iter().map(|key| key.column_name.clone()).collect(),
            references: format!("{}.{}", keys[0].referenced_schema, keys[0].referenced_table),
            referenced_columns: keys
                .iter()
                .map(|key| key.referenced_column.clone())
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        statistics::{Statistics, StoredStatistics},
        types::Description,
    };

    #[test]
    fn share_of_null_is_told_only_where_it_is_known() {
        let told = |statistics: &Statistics, send_rows: bool| {
            let column = Column {
                name: "c".to_owned(),
                data_type: "TEXT".to_owned(),
                description: Description::from_source(None),
                default_value: None,
                nullable: true,
                statistics: StoredStatistics::new(serde_json::to_string(statistics).unwrap())
                    .unwrap(),
            };
            let source = ViewSource {
                id: String::new(),
                name: String::new(),
                tables: None,
                send_values: true,
                send_rows,
                restrictions: Restrictions::default(),
            };
            let described = described_column(column, &source).unwrap();
            serde_json::to_value(described).unwrap()["null_percentage"].clone()
        };
        let sampled = Statistics {
            sampled_rows: Some(4),
            ..Statistics::default()
        };
        assert_eq!(told(&sampled, true), 0.0);
        assert!(told(&sampled, false).is_null());
        // Never sampled, or withheld by a policy.
        assert!(told(&Statistics::default(), true).is_null());
    }
}
