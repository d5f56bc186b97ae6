//! A scanner for tests: each of its tables is a way to be a good or a bad one.
//!
//! All have the columns `id`, `name` and `asked`, which says what the scan was asked for.

#![allow(clippy::panic, reason = "misbehaving is what it is for")]

use mindhost_sdk::scanner::{Filter, Pushdown, ScanRequest};
use mindhost_sdk::{
    Batch, BatchBuilder, BatchLimits, Column, Config, DataType, Error, Result, Scanner, ServerInfo,
    TableRef, Value, control,
};
use serde::Deserialize;
use std::time::Duration;

/// Good ones: `exact` applies filters and limits, `numbers` none, `typed`, `typed_again` and `typed_uneven` have a column
/// of each type. Bad ones: all others.
const TABLES: [&str; 27] = [
    "exact",
    "numbers",
    "liar",
    "endless",
    "drip",
    "too_many",
    "wrong_type",
    "other",
    "changed",
    "fails",
    "panics",
    "hangs",
    "typed",
    "typed_again",
    // A scan with a limit gives fewer rows at a time, as sources do whose batches end with time.
    "typed_uneven",
    // As many rows as there should be, and other ones.
    "typed_count",
    // Every filter is claimed, and those on numbers and texts are applied.
    "typed_plain",
    // Of a list the first value counts.
    "typed_list",
    // Of several filters the first counts.
    "typed_first",
    // All scans move one position.
    "typed_shared",
    // Every filter of `typed` is claimed and none applied.
    "typed_liar",
    // Filters are applied to the first rows alone, and what comes later is handed out as it is.
    "typed_late",
    // With a filter, only the first rows are looked at.
    "typed_short",
    // Without the first column in front, names are those of the row after.
    "typed_turned",
    // Rows that a filter leaves out count towards the limit.
    "typed_limit",
    // A row is lost at the end of each full batch.
    "typed_skips",
    // A scan goes on where the one before was closed.
    "typed_stays",
];

/// The rows that `typed_late` and `typed_short` look at.
const FIRST: i64 = 1_500;

/// The made-up source.
pub struct MadeUp {
    rows: i64,
    page: Page,
    /// The tables that it lists; it has all of them.
    tables: Vec<String>,
    /// The position of all scans of `typed_shared`, and the next one's of `typed_stays`.
    shared: i64,
}

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    rows: i64,
    page_rows: i64,
    page_ms: u64,
    tables: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rows: 0,
            page_rows: 1_000,
            page_ms: 0,
            tables: TABLES.map(String::from).to_vec(),
        }
    }
}

/// What is fetched at once, and how long that takes: an API that is slow.
#[derive(Clone, Copy)]
struct Page {
    rows: i64,
    time: Duration,
}

/// A scan of one table.
pub struct Rows {
    request: ScanRequest,
    columns: Vec<Column>,
    batch: BatchBuilder,
    at: i64,
    end: i64,
    left: u64,
    page: Page,
    /// Whether the last batch had no more room.
    is_full: bool,
}

fn is_typed(table: &TableRef) -> bool {
    table.name.starts_with("typed")
}

fn columns(table: &TableRef) -> Vec<Column> {
    if is_typed(table) {
        return vec![
            Column::new("id", DataType::Int64).nullable(false),
            Column::new("name", DataType::Text),
            Column::new("weight", DataType::Float64),
            Column::new("price", DataType::Decimal),
            Column::new("day", DataType::Date),
            Column::new("at", DataType::TimestampUtc),
            Column::new("paid", DataType::Boolean),
        ];
    }
    vec![
        Column::new("id", DataType::Int64).nullable(false),
        Column::new("name", DataType::Text),
        Column::new("asked", DataType::Text),
    ]
}

impl Scanner for MadeUp {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Scan = Rows;

    fn open(config: &Config) -> Result<Self> {
        let settings: Settings = config.parse()?;
        Ok(Self {
            rows: settings.rows,
            page: Page {
                rows: settings.page_rows.max(1),
                time: Duration::from_millis(settings.page_ms),
            },
            tables: settings.tables,
            shared: 0,
        })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Made up", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        let tables = self.tables.iter();
        Ok(tables.map(|name| TableRef::new("main", name)).collect())
    }

    fn columns(&mut self, table: &TableRef) -> Result<Vec<Column>> {
        match TABLES.contains(&table.name.as_str()) {
            true => Ok(columns(table)),
            false => Err(Error::not_found("there is no such table")),
        }
    }

    fn filter_support(&mut self, table: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let columns = columns(table);
        let support = |filter: &Filter| match table.name.as_str() {
            "exact" | "liar" | "typed_plain" => Pushdown::Exact,
            name if name.starts_with("typed") => columns
                .iter()
                .find(|column| column.name == filter.column)
                .map_or(Pushdown::No, |column| Filter::support(column.data_type)),
            _ => Pushdown::No,
        };
        Ok(filters.iter().map(support).collect())
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<Rows> {
        let columns = request.projected(&columns(&request.table))?;
        if request.table.name != "typed_stays" {
            self.shared = 0;
        }
        let mut rows = Rows {
            batch: BatchBuilder::new(columns.clone()),
            columns,
            at: 0,
            end: match request.table.name.as_str() {
                "endless" => i64::MAX,
                _ => self.rows,
            },
            left: request.limit.unwrap_or(u64::MAX),
            page: self.page,
            is_full: false,
            request: request.clone(),
        };
        if request.table.name == "typed_short" && !request.filters.is_empty() {
            rows.end = rows.end.min(FIRST);
        }
        if request.table.name == "typed_count" && !request.filters.is_empty() {
            let passing = (0..rows.end).filter(|at| {
                rows.at = *at;
                rows.passes()
            });
            rows.end = i64::try_from(passing.count()).unwrap_or_default();
            rows.at = 0;
            rows.request.filters.clear();
        }
        Ok(rows)
    }

    fn schema(&mut self, rows: &mut Rows) -> Result<Vec<Column>> {
        let mut columns = rows.columns.clone();
        if rows.request.table.name == "changed" {
            columns[0].data_type = DataType::Json;
        }
        Ok(columns)
    }

    fn next(&mut self, rows: &mut Rows, limits: BatchLimits) -> Result<Option<Batch>> {
        match rows.request.table.name.as_str() {
            "drip" => Ok(Some(Batch::Rows(Vec::new()))),
            "too_many" => {
                let row = rows.row();
                Ok(Some(Batch::Rows(vec![row; limits.max_rows as usize + 1])))
            }
            "wrong_type" => Ok(Some(Batch::Rows(vec![vec![
                Value::Boolean(true);
                rows.columns.len()
            ]]))),
            "other" => Ok(Some(Batch::Rows(vec![vec![
                Value::Other("∞".into());
                rows.columns.len()
            ]]))),
            "fails" if rows.at > 0 => Err(Error::not_found("the rest is gone")),
            "panics" if rows.at > 0 => panic!("as it was told"),
            "hangs" => loop {
                control::check()?;
            },
            "typed_shared" | "typed_stays" => {
                rows.at = self.shared;
                let batch = rows.next(limits);
                self.shared = rows.at;
                if rows.request.table.name == "typed_stays" && batch == Ok(None) {
                    self.shared = 0;
                }
                batch
            }
            "typed_uneven" if rows.request.limit.is_some() => rows.next(BatchLimits {
                max_rows: limits.max_rows.min(500),
                ..limits
            }),
            "typed_skips" => {
                let batch = rows.next(limits);
                rows.at += i64::from(rows.is_full);
                batch
            }
            _ => rows.next(limits),
        }
    }
}

impl Rows {
    fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        self.batch.start(limits);
        let left = self.left;
        while self.left > 0 && self.at < self.end && !self.batch.is_full() {
            if self.at % self.page.rows == 0 {
                // What is there is handed out before more is waited for.
                if left > self.left && !self.page.time.is_zero() {
                    break;
                }
                std::thread::sleep(self.page.time);
                control::check()?;
            }
            if self.passes() {
                for value in self.row() {
                    self.batch.append(value);
                }
                self.batch.end_row();
                self.left -= 1;
            } else if self.request.table.name == "typed_limit" {
                self.left -= 1;
            }
            self.at += 1;
        }
        self.is_full = self.batch.is_full();
        self.batch.finish()
    }

    fn passes(&self) -> bool {
        let passes = |filter: &Filter| filter.matches(&self.value(&filter.column));
        let mut filters = self.request.filters.iter();
        match self.request.table.name.as_str() {
            "exact" | "typed" | "typed_again" | "typed_count" | "typed_shared" | "typed_short"
            | "typed_uneven" | "typed_turned" | "typed_limit" | "typed_skips" | "typed_stays" => {
                filters.all(passes)
            }
            "typed_late" => self.at >= FIRST || filters.all(passes),
            "typed_first" => filters.next().is_none_or(passes),
            "typed_plain" => filters
                .filter(|filter| matches!(filter.column.as_str(), "id" | "name"))
                .all(passes),
            "typed_list" => filters.all(|filter| {
                let mut filter = filter.clone();
                filter.values.truncate(1);
                passes(&filter)
            }),
            _ => true,
        }
    }

    fn row(&self) -> Vec<Value> {
        let value = |column: &Column| self.value(&column.name);
        self.columns.iter().map(value).collect()
    }

    fn value(&self, column: &str) -> Value {
        if is_typed(&self.request.table) {
            let is_turned = self.request.table.name == "typed_turned"
                && self
                    .request
                    .projection
                    .first()
                    .is_none_or(|first| first != "id");
            let after = i64::from(is_turned && column == "name");
            return typed(column, self.at + after);
        }
        match column {
            "id" => Value::Int64(self.at),
            "name" => Value::Text(format!("name {}", self.at % 100)),
            _ => {
                let filters: Vec<_> = self.request.filters.iter().map(shown).collect();
                Value::Text(format!(
                    "{} where {} limit {:?}",
                    self.request.projection.join(" "),
                    filters.join(" and "),
                    self.request.limit
                ))
            }
        }
    }
}

fn typed(column: &str, at: i64) -> Value {
    let small = i32::try_from(at).unwrap_or_default();
    match column {
        "id" => Value::Int64(at),
        _ if at % 5 == 4 => Value::Null,
        "name" => Value::Text(format!("name {}", at % 7)),
        "weight" => Value::Float64(f64::from(small) * 0.5),
        "price" => Value::Decimal(format!("{}.50", 12 - at)),
        "day" => Value::Date(20_000 - small),
        "at" => Value::TimestampUtc((1_000 - at) * 1_000_000),
        _ => Value::Boolean(at % 2 == 0),
    }
}

fn shown(filter: &Filter) -> String {
    format!("{} {:?} {:?}", filter.column, filter.op, filter.values)
}

#[cfg(target_family = "wasm")]
mindhost_sdk::export_scanner!(MadeUp);
