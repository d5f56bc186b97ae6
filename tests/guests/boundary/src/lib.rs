//! A connector for benchmarks: its batches lie ready, so that what an answer costs is its way out of the sandbox.
//!
//! A statement is a word and a number: `arrow 100` and `rows 100` give a batch of eight columns a hundred times, each in
//! its form; `nothing 100` says a hundred times that there is nothing yet.

use mindhost_sdk::{
    Batch, BatchBuilder, BatchLimits, Column, Config, Connector, DataType, Error, Result,
    ServerInfo, Statement, Table, TableRef, Value,
};
use serde::Deserialize;

/// What a batch has: one column of each common type.
const COLUMNS: [(&str, DataType); 8] = [
    ("id", DataType::Int64),
    ("customer", DataType::Int64),
    ("amount", DataType::Int64),
    ("price", DataType::Decimal),
    ("note", DataType::Text),
    ("placed", DataType::Timestamp),
    ("ratio", DataType::Float64),
    ("paid", DataType::Boolean),
];

#[derive(Deserialize)]
struct Settings {
    batch_rows: u32,
}

/// The "connection": the batches.
pub struct Boundary {
    arrow: Batch,
    rows: Batch,
}

/// What is given again and again, and how often still.
pub struct Left {
    batch: Batch,
    times: u64,
}

impl Connector for Boundary {
    const MANIFEST: &'static str = include_str!("../manifest.json");
    type Cursor = Left;

    fn open(config: &Config) -> Result<Self> {
        let Settings { batch_rows } = config.parse()?;
        let rows: Vec<Vec<Value>> = (0..i64::from(batch_rows)).map(row).collect();
        let mut builder = BatchBuilder::new(columns());
        builder.start(BatchLimits {
            max_rows: batch_rows,
            max_bytes: u32::MAX,
        });
        for row in &rows {
            row.iter().for_each(|value| builder.append(value.clone()));
            builder.end_row();
        }
        let arrow = builder
            .finish()?
            .ok_or_else(|| Error::internal("no rows were given"))?;
        Ok(Self {
            arrow,
            rows: Batch::Rows(rows),
        })
    }

    fn check(&mut self) -> Result<ServerInfo> {
        Ok(ServerInfo::new("Boundary", "1"))
    }

    fn tables(&mut self) -> Result<Vec<TableRef>> {
        Ok(Vec::new())
    }

    fn describe_tables(&mut self, _: &[TableRef]) -> Result<Vec<Table>> {
        Ok(Vec::new())
    }

    fn query(&mut self, statement: &Statement) -> Result<Left> {
        let unknown = || Error::invalid_statement("a word and a number are expected");
        let (word, times) = statement.text.split_once(' ').ok_or_else(unknown)?;
        let batch = match word {
            "arrow" => self.arrow.clone(),
            "rows" => self.rows.clone(),
            "nothing" => Batch::Rows(Vec::new()),
            _ => return Err(unknown()),
        };
        let times = times.parse().map_err(|_| unknown())?;
        Ok(Left { batch, times })
    }

    fn schema(&mut self, _: &mut Left) -> Result<Vec<Column>> {
        Ok(columns())
    }

    fn next(&mut self, left: &mut Left, _: BatchLimits) -> Result<Option<Batch>> {
        if left.times == 0 {
            return Ok(None);
        }
        left.times -= 1;
        Ok(Some(left.batch.clone()))
    }

    fn close(&mut self, _: Left) -> Result<bool> {
        Ok(true)
    }
}

fn columns() -> Vec<Column> {
    let columns = COLUMNS.iter();
    columns
        .map(|(name, data_type)| Column::new(*name, *data_type))
        .collect()
}

fn row(number: i64) -> Vec<Value> {
    vec![
        Value::Int64(number),
        Value::Int64(number % 1000),
        Value::Int64(number % 77),
        Value::Decimal(format!("{}.{:02}", number / 100, number % 100)),
        Value::Text(format!("note number {number}")),
        Value::Timestamp(1_704_067_200_000_000 + number * 1_000_000),
        Value::Float64(number as f64 / 7.0),
        Value::Boolean(number % 3 == 0),
    ]
}

mindhost_sdk::export_connector!(Boundary);
