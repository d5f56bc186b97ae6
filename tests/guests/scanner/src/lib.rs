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

/// Good ones: `exact` applies filters and limits, `numbers` none. Bad ones: all others.
const TABLES: [&str; 12] = [
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
];

/// The made-up source.
pub struct MadeUp {
    rows: i64,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    rows: i64,
}

/// A scan of one table.
pub struct Rows {
    request: ScanRequest,
    columns: Vec<Column>,
    batch: BatchBuilder,
    at: i64,
    end: i64,
    left: u64,
}

fn columns() -> Vec<Column> {
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
        })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Made up", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(TABLES.map(|name| TableRef::new("main", name)).to_vec())
    }

    fn columns(&mut self, _: &TableRef) -> Result<Vec<Column>> {
        Ok(columns())
    }

    fn filter_support(&mut self, table: &TableRef, filters: &[Filter]) -> Result<Vec<Pushdown>> {
        let support = match table.name.as_str() {
            "exact" | "liar" => Pushdown::Exact,
            _ => Pushdown::No,
        };
        Ok(vec![support; filters.len()])
    }

    fn scan(&mut self, request: &ScanRequest) -> Result<Rows> {
        let columns = request.projected(&columns())?;
        Ok(Rows {
            batch: BatchBuilder::new(columns.clone()),
            columns,
            at: 0,
            end: match request.table.name.as_str() {
                "endless" => i64::MAX,
                _ => self.rows,
            },
            left: request.limit.unwrap_or(u64::MAX),
            request: request.clone(),
        })
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
            _ => rows.next(limits),
        }
    }
}

impl Rows {
    fn next(&mut self, limits: BatchLimits) -> Result<Option<Batch>> {
        self.batch.start(limits);
        while self.left > 0 && self.at < self.end && !self.batch.is_full() {
            if self.at % 1_000 == 0 {
                control::check()?;
            }
            if self.passes() {
                for value in self.row() {
                    self.batch.append(value);
                }
                self.batch.end_row();
                self.left -= 1;
            }
            self.at += 1;
        }
        self.batch.finish()
    }

    fn passes(&self) -> bool {
        let passes = |filter: &Filter| filter.matches(&self.value(&filter.column));
        self.request.table.name != "exact" || self.request.filters.iter().all(passes)
    }

    fn row(&self) -> Vec<Value> {
        let value = |column: &Column| self.value(&column.name);
        self.columns.iter().map(value).collect()
    }

    fn value(&self, column: &str) -> Value {
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

fn shown(filter: &Filter) -> String {
    format!("{} {:?} {:?}", filter.column, filter.op, filter.values)
}

#[cfg(target_family = "wasm")]
mindhost_sdk::export_scanner!(MadeUp);
