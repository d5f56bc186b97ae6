//! The tool `find_values`: in which columns a value stands, and how it is written there. First the common values of the
//! catalog, then a bounded statement for each column of text that may have it, through the guard like any other.

mod statement;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};

use self::statement::statement;
use super::{ToolResult, Toolbox, parse};
use crate::{
    conversations::SqlOrigin,
    results::{Access, sample},
};
use mindhost_base::{
    error::{Code, Error, Kind, Result},
    locks::lock,
};
use mindhost_plugin_api::{Call, Dialect, ToolCall};
use mindhost_retrieval::{Column, Index, Table};

/// Letters of a value that is looked for.
const MOST_LETTERS: usize = 100;
/// Columns in which the catalog's values are given.
const MOST_FOUND: usize = 20;
/// Columns that one call reads at most; the others are named in the result.
const MOST_COLUMNS: usize = 8;
/// Rows of a table that is read. A larger one is not read; of one whose rows are not counted, the first so many are.
const MOST_ROWS: u64 = 1_000_000;
/// Different values that one column gives.
const MOST_VALUES: usize = 5;
/// Different values that a statement gives whose pattern fits others too, before those are left out.
const MOST_FITTING: u64 = 25;
/// Names of columns that were not read.
const MOST_NAMED: usize = 20;
/// Tables that the search may be limited to.
const MOST_TABLES: usize = 20;
/// For all statements together.
const TIME: Duration = Duration::from_secs(10);

/// What the model sends: a value, and where it may be.
#[derive(Deserialize)]
pub(super) struct FindValues {
    value: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    tables: Vec<String>,
}

/// A column that may have the value.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    table: &'a Table,
    column: &'a Column,
}

/// What was found so far.
#[derive(Default)]
struct Search {
    found: Vec<Value>,
    /// Columns for which a statement was sent, also if it failed.
    tried: usize,
    read: usize,
    not_read: Vec<String>,
    /// Columns of tables whose number of rows is not known.
    read_in_part: Vec<String>,
    /// The datasources to which the value may not be sent, by name.
    refused: HashMap<String, Error>,
    /// The access to one datasource, by its name.
    narrowed: HashMap<String, Arc<Access>>,
}

impl Search {
    /// The access to one datasource. It is a copy of all that is known of its tables, so it is made once.
    fn narrowed(&mut self, all: &Arc<Access>, datasource: &str) -> Result<Arc<Access>> {
        if let Some(access) = self.narrowed.get(datasource) {
            return Ok(Arc::clone(access));
        }
        let access = all.narrowed(Some(datasource))?;
        self.narrowed
            .insert(datasource.to_owned(), Arc::clone(&access));
        Ok(access)
    }
}

impl Toolbox<'_> {
    /// Runs the tool.
    pub(super) async fn find_values(
        &self,
        tool_call: &ToolCall,
        call: &Call,
    ) -> Result<ToolResult> {
        let arguments: FindValues = parse(tool_call)?;
        let value = arguments.value.trim().to_lowercase();
        if value.is_empty() || value.chars().count() > MOST_LETTERS {
            return Err(Error::invalid(
                "value",
                format!("`value` must have 1 to {MOST_LETTERS} letters"),
            ));
        }
        if arguments.tables.len() > MOST_TABLES {
            let message = format!("`tables` may have at most {MOST_TABLES} names");
            return Err(Error::invalid("tables", message));
        }
        let index = self
            .catalog
            .index(&self.access.view, &self.knowledge)
            .await?;
        check_tables(&index, &arguments.tables)?;
        let candidates = candidates(&index, &arguments);
        let mut search = Search {
            refused: self.refused(&candidates, &value),
            ..Search::default()
        };
        let left = self.look_up(&candidates, &value, &mut search);
        let call = call.within(TIME);
        for candidate in left {
            self.read_column(candidate, &value, &mut search, &call)
                .await?;
        }
        let message = format!("{} columns", search.found.len());
        let not_read = search.not_read.len();
        search.not_read.truncate(MOST_NAMED);
        let mut content = json!({
            "found": search.found,
            "columns_read": search.read,
            "columns_not_read": not_read,
            "not_read": search.not_read,
        });
        if !search.read_in_part.is_empty() {
            content["read_in_part"] = json!({
                "columns": search.read_in_part,
                "why": format!("how many rows these tables have is not known; up to {MOST_ROWS} of each were read"),
            });
        }
        Ok((content, None, message))
    }

    /// The datasources to which the value may not be sent, because it may come from another one. What the search finds
    /// says nothing of that: it finds the words that the model already has. So this is asked before anything is noted.
    fn refused(&self, candidates: &[Candidate<'_>], value: &str) -> HashMap<String, Error> {
        let mut refused = HashMap::new();
        if !self.has_origins() {
            return refused;
        }
        let mut names: Vec<&str> = candidates
            .iter()
            .map(|candidate| candidate.table.datasource.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let provenance = lock(&self.provenance);
        for name in names {
            if let Err(error) = provenance.check(name, &[value.to_owned()]) {
                refused.insert(name.to_owned(), error);
            }
        }
        refused
    }

    /// Looks the value up in the catalog. Returns the columns that it says nothing about.
    fn look_up<'a>(
        &self,
        candidates: &[Candidate<'a>],
        value: &str,
        search: &mut Search,
    ) -> Vec<Candidate<'a>> {
        let mut left = Vec::new();
        for candidate in candidates {
            let has = |common: &&String| common.to_lowercase().contains(value);
            let values: Vec<&String> = candidate.column.values.iter().filter(has).collect();
            if values.is_empty() {
                left.push(*candidate);
            } else if search.found.len() < MOST_FOUND {
                self.note(&candidate.table.datasource, &json!(values));
                search.found.push(candidate.found(json!(values), "catalog"));
            }
        }
        left
    }

    /// Reads the values of one column, if that is allowed and cheap enough.
    async fn read_column(
        &self,
        candidate: Candidate<'_>,
        value: &str,
        search: &mut Search,
        call: &Call,
    ) -> Result<()> {
        if !is_text(&candidate.column.data_type) {
            return Ok(());
        }
        let is_large = candidate
            .table
            .row_count
            .is_some_and(|rows| rows > MOST_ROWS);
        let is_over = search.tried >= MOST_COLUMNS || call.remaining().is_zero();
        if is_large || is_over {
            search.not_read.push(candidate.name());
            return Ok(());
        }
        let access = search.narrowed(&self.access, &candidate.table.datasource)?;
        if !access.sends_rows() {
            search.not_read.push(candidate.name());
            return Ok(());
        }
        if let Some(error) = search.refused.remove(&candidate.table.datasource) {
            return Err(error);
        }
        search.tried += 1;
        let datasource = [candidate.table.datasource.as_str()];
        match self.values_of(candidate, value, &access, call).await {
            Ok(None) => search.not_read.push(candidate.name()),
            Ok(Some(values)) => {
                lock(&self.outages).reached(&datasource);
                search.read += 1;
                if candidate.table.row_count.is_none() {
                    search.read_in_part.push(candidate.name());
                }
                if !values.is_empty() {
                    self.note(&candidate.table.datasource, &json!(values));
                    search.found.push(candidate.found(json!(values), "rows"));
                }
            }
            Err(error) if matches!(error.kind(), Kind::Cancelled | Kind::Internal) => {
                return Err(error);
            }
            // A column that cannot be compared with text is no reason to stop.
            Err(error) => {
                // Any other error may be one of the guard, which reaches no engine.
                if matches!(error.kind(), Kind::Unavailable) {
                    lock(&self.outages).failed(&datasource, &error);
                }
                search.not_read.push(candidate.name());
            }
        }
        Ok(())
    }

    /// The values of a column that have this one in them. `None` if so many others fit the pattern that it may be
    /// behind them.
    async fn values_of(
        &self,
        candidate: Candidate<'_>,
        value: &str,
        access: &Arc<Access>,
        call: &Call,
    ) -> Result<Option<Vec<String>>> {
        let dialect = access
            .dialect_of(&candidate.table.datasource)
            .unwrap_or(Dialect::Generic);
        let sql = statement(dialect, candidate, value);
        let accepted = self.results.accept(access, &sql, SqlOrigin::Model).await?;
        // One more than the statement gives, so that no count is needed.
        let page = self.results.page(&accepted, MOST_FITTING + 1, 0, call);
        let rows = sample::for_model(&page.await?, true)?;
        let first = |row: &Value| row.get(0)?.as_str().map(str::to_owned);
        let values = rows["rows"].as_array().into_iter().flatten();
        let mut values: Vec<String> = values.filter_map(first).collect();
        // The pattern may have wildcards in place of signs that engines read differently.
        let is_full = values.len() as u64 >= MOST_FITTING;
        values.retain(|found| found.to_lowercase().contains(value));
        values.truncate(MOST_VALUES);
        Ok((!is_full || !values.is_empty()).then_some(values))
    }
}

impl Candidate<'_> {
    fn name(&self) -> String {
        let Table {
            datasource, name, ..
        } = self.table;
        format!("{datasource}.{name}.{}", self.column.name)
    }

    fn found(&self, values: Value, from: &str) -> Value {
        json!({
            "datasource": self.table.datasource,
            "table": self.table.full_name(),
            "column": self.column.name,
            "values": values,
            "from": from,
        })
    }
}

/// Refuses tables that there are not: that nothing was found would say that the value is nowhere in them.
fn check_tables(index: &Index, named: &[String]) -> Result<()> {
    let is_unknown = |name: &&String| !index.tables().iter().any(|table| is_called(table, name));
    match named.iter().find(is_unknown) {
        None => Ok(()),
        Some(name) => {
            let message = format!("there is no table '{name}'; search_catalog finds tables");
            Err(Error::new(Code::UnknownTable, message).param("tables"))
        }
    }
}

/// Whether a table has this name, with or without its schema and its datasource in front.
fn is_called(table: &Table, name: &str) -> bool {
    let full = table.full_name();
    let long = format!("{}.{full}", table.datasource);
    let short = format!("{}.{}", table.datasource, table.name);
    [&table.name, &full, &long, &short]
        .iter()
        .any(|one| *one == name)
}

/// The columns of the tables that are named, or of all, those first that `about` names.
fn candidates<'a>(index: &'a Index, arguments: &FindValues) -> Vec<Candidate<'a>> {
    let is_named = |table: &Table| {
        arguments.tables.is_empty() || arguments.tables.iter().any(|name| is_called(table, name))
    };
    let tables = index.tables().iter().enumerate();
    let named: HashSet<usize> = tables
        .filter_map(|(number, table)| is_named(table).then_some(number))
        .collect();
    let columns = index.columns(&arguments.about).into_iter();
    columns
        .filter(|(table, _)| named.contains(table))
        .map(|(table, column)| {
            let table = &index.tables()[table];
            Candidate {
                table,
                column: &table.columns[column],
            }
        })
        .collect()
}

fn is_text(data_type: &str) -> bool {
    let name = data_type.to_lowercase();
    ["char", "text", "string", "clob", "enum("]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use mindhost_plugin_api::TableRef;
    use mindhost_sql::{Scope, ScopeDatasource, ScopeTable};

    /// Of one table.
    pub(in crate::answering::tools) fn scope(dialect: Dialect, columns: &[&str]) -> Scope {
        let table = ScopeTable::new(TableRef::new("main", "t"), columns);
        ScopeDatasource::new("shop", dialect, vec![table]).into()
    }

    #[test]
    fn access_to_a_datasource_is_made_once_for_all_its_columns() {
        let all = Arc::new(Access::of(scope(Dialect::Sqlite, &["label"])));
        let mut search = Search::default();
        let known = Arc::new(Access::of(Scope::default()));
        search
            .narrowed
            .insert("shop".to_owned(), Arc::clone(&known));
        let found = search.narrowed(&all, "shop").unwrap();
        assert!(Arc::ptr_eq(&found, &known));
        assert!(search.narrowed(&all, "other").is_err());
    }

    #[test]
    fn candidates_are_the_columns_of_the_named_tables() {
        let tables = ["city", "land"].map(|name| Table {
            datasource: "shop".into(),
            schema: "main".into(),
            name: name.into(),
            columns: vec![Column {
                name: "label".into(),
                ..Column::default()
            }],
            ..Table::default()
        });
        let index = Index::new(tables.into(), &mindhost_retrieval::Knowledge::default());
        let cases: [(&[&str], usize); 2] = [(&[], 2), (&["main.land", "shop.land"], 1)];
        for (named, expected) in cases {
            let arguments = FindValues {
                value: String::new(),
                about: String::new(),
                tables: named.iter().map(ToString::to_string).collect(),
            };
            assert_eq!(candidates(&index, &arguments).len(), expected, "{named:?}");
        }
    }
}
