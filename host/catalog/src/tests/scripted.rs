//! An engine that does what a test says.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::watch;

use crate::Engines;
use mindhost_base::error::{Code, Error, Result};
use mindhost_plugin_api::{
    Batch, Call, Column, ColumnInfo, ColumnStatistics, Connection, Connector, DataType,
    ForeignKeyColumn, KeyColumn, Manifest, Plugin, ServerInfo, Statement, StatisticsOptions,
    TableInfo, TableRef, Target, Value,
};

/// A table of the engine, with a column `id` and a column `name`.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    /// The engine's comment on the table.
    pub comment: Option<String>,
    /// Its rows.
    pub rows: Vec<(i64, Option<&'static str>)>,
    /// Reading it fails with this message.
    pub broken: Option<&'static str>,
    /// The engine lists no columns of it, as of a view of a table that is gone.
    pub has_no_columns: bool,
    /// The type of the column `name`; `TEXT` without one.
    pub name_type: Option<&'static str>,
    /// The database gives no right to read the column `name`.
    pub denies_name: bool,
    /// Describing it panics.
    pub panics: bool,
    /// How many rows the engine says it has.
    pub estimate: Option<u64>,
    /// Counting its rows takes too long.
    pub counts_slowly: bool,
    /// Reading it waits until the gate opens or the call is cancelled.
    pub gated: bool,
}

/// What there is, and what happened.
pub struct Engine {
    manifest: Manifest,
    pub tables: Mutex<BTreeMap<String, Scripted>>,
    /// How often each table was read.
    pub read: Mutex<HashMap<String, u32>>,
    /// Calls that ended because they were cancelled.
    pub cancelled: Mutex<u32>,
    pub unreachable: Mutex<bool>,
    gate: watch::Sender<bool>,
}

impl Engine {
    pub fn new() -> Arc<Self> {
        let manifest = json!({
            "kind": "connector", "name": "scripted", "title": "Scripted", "version": "1.0.0", "wit": "0.1.0",
            "world": "sql-connector", "dialect": "sqlite", "connection_data": {},
        });
        Arc::new(Self {
            manifest: serde_json::from_value(manifest).unwrap(),
            tables: Mutex::default(),
            read: Mutex::default(),
            cancelled: Mutex::default(),
            unreachable: Mutex::default(),
            gate: watch::Sender::new(false),
        })
    }

    pub fn put(&self, name: &str, table: Scripted) {
        self.tables.lock().unwrap().insert(name.to_owned(), table);
    }

    pub fn drop_table(&self, name: &str) {
        self.tables.lock().unwrap().remove(name);
    }

    /// Lets gated tables through, from now on.
    pub fn open_gate(&self) {
        self.gate.send_replace(true);
    }

    pub fn times_read(&self, name: &str) -> u32 {
        self.read
            .lock()
            .unwrap()
            .get(name)
            .copied()
            .unwrap_or_default()
    }

    pub fn list(&self) -> Vec<TableRef> {
        self.tables
            .lock()
            .unwrap()
            .keys()
            .map(|name| table(name))
            .collect()
    }

    async fn pass_gate(&self, call: &Call) -> Result<()> {
        let mut gate = self.gate.subscribe();
        tokio::select! {
            opened = gate.wait_for(|open| *open) => opened.map(drop).map_err(Error::internal),
            () = call.cancel.cancelled() => {
                *self.cancelled.lock().unwrap() += 1;
                Err(Error::new(Code::Cancelled, "cancelled"))
            }
        }
    }

    fn describe(&self, name: &str) -> Option<TableInfo> {
        let scripted = self.tables.lock().unwrap().get(name).cloned()?;
        assert!(!scripted.panics, "as the test wants it");
        let column = |ordinal, name: &str, native_type: &str| ColumnInfo {
            name: name.into(),
            ordinal,
            native_type: native_type.into(),
            nullable: ordinal > 1,
            default_value: (ordinal > 1).then(|| "'nobody'".into()),
            comment: (ordinal > 1).then(|| "what it is called".into()),
        };
        let columns = match scripted.has_no_columns {
            true => Vec::new(),
            false => vec![
                column(1, "id", "INTEGER"),
                column(2, "name", scripted.name_type.unwrap_or("TEXT")),
            ],
        };
        Some(TableInfo {
            table: table(name),
            kind: "TABLE".into(),
            comment: scripted.comment,
            row_count: scripted.estimate,
            columns,
            primary_key: vec![KeyColumn {
                constraint_name: "pk".into(),
                ordinal: 1,
                column: "id".into(),
            }],
            foreign_keys: vec![ForeignKeyColumn {
                constraint_name: "fk".into(),
                ordinal: 1,
                column: "id".into(),
                referenced: table("parent"),
                referenced_column: "key".into(),
            }],
        })
    }
}

/// Where the catalog finds it.
pub struct Only(pub Arc<Engine>);

#[async_trait]
impl Engines for Only {
    async fn engine(&self, workspace: &str, id: &str) -> Result<(Arc<dyn Connector>, Target)> {
        let target = Target {
            id: id.into(),
            workspace: workspace.into(),
            folder: workspace.into(),
            name: "scripted".into(),
            connection_data: Arc::default(),
            max_connections: 2,
        };
        Ok((Arc::new(Handle(self.0.clone())), target))
    }
}

struct Handle(Arc<Engine>);

impl Plugin for Handle {
    fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    fn digest(&self) -> &str {
        "0"
    }
}

#[async_trait]
impl Connector for Handle {
    async fn connect(&self, _: &Target, _: &Call) -> Result<Box<dyn Connection>> {
        if *self.0.unreachable.lock().unwrap() {
            return Err(Error::new(Code::UpstreamUnreachable, "connection refused"));
        }
        Ok(Box::new(Open {
            engine: self.0.clone(),
            rows: Vec::new(),
        }))
    }

    async fn forget(&self, _: &str) {}
}

struct Open {
    engine: Arc<Engine>,
    rows: Vec<Vec<Value>>,
}

#[async_trait]
impl Connection for Open {
    fn digest(&self) -> &str {
        "0"
    }

    async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
        Ok(ServerInfo {
            product: "Scripted".into(),
            version: "1".into(),
        })
    }

    async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
        Ok(self.engine.list())
    }

    async fn describe_tables(&mut self, tables: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
        Ok(tables
            .iter()
            .filter_map(|table| self.engine.describe(&table.name))
            .collect())
    }

    async fn statistics(
        &mut self,
        _: &TableRef,
        _: &StatisticsOptions,
        _: &Call,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        Ok(None)
    }

    async fn begin_snapshot(&mut self, _: std::time::Duration, _: &Call) -> Result<bool> {
        Ok(false)
    }

    async fn end_snapshot(&mut self, _: &Call) -> Result<()> {
        Ok(())
    }

    async fn query(&mut self, statement: &Statement, call: &Call) -> Result<Arc<[Column]>> {
        let (name, scripted) = {
            let tables = self.engine.tables.lock().unwrap();
            let text = format!("{} ", statement.text);
            let named = |name: &&String| text.contains(&format!("\"main\".\"{name}\" "));
            let name = tables.keys().find(named).unwrap().clone();
            (name.clone(), tables[&name].clone())
        };
        *self.engine.read.lock().unwrap().entry(name).or_default() += 1;
        if scripted.gated {
            self.engine.pass_gate(call).await?;
        }
        if let Some(message) = scripted.broken {
            return Err(Error::new(Code::SqlInvalid, message));
        }
        let has_name = statement.text.contains("\"name\"");
        if scripted.denies_name && has_name {
            let message = "permission denied for column name";
            return Err(Error::new(Code::SqlPermissionDenied, message));
        }
        let is_count = statement.text.starts_with("SELECT COUNT(*)");
        if is_count && scripted.counts_slowly {
            return Err(Error::new(Code::Timeout, "counting takes too long"));
        }
        let text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.into()));
        self.rows = scripted
            .rows
            .iter()
            .map(|(id, name)| vec![Value::Int64(*id), text(*name)])
            .collect();
        if is_count {
            let rows = i64::try_from(scripted.rows.len()).unwrap();
            self.rows = vec![vec![Value::Int64(rows)]];
        }
        // Only what was asked for.
        if !has_name {
            self.rows.iter_mut().for_each(|row| row.truncate(1));
        }
        let column = |name: &str, data_type| Column {
            name: name.into(),
            data_type,
            native_type: String::new(),
            nullable: true,
        };
        let columns = [
            column("id", DataType::Int64),
            column("name", DataType::Text),
        ];
        Ok(columns
            .into_iter()
            .take(1 + usize::from(has_name))
            .collect())
    }

    async fn next(&mut self, max_rows: u32, _: &Call) -> Result<Option<Batch>> {
        let count = self.rows.len().min(max_rows as usize);
        let rows: Vec<_> = self.rows.drain(..count).collect();
        Ok((!rows.is_empty()).then_some(Batch::Rows(rows)))
    }

    async fn close(&mut self, _: &Call) -> Result<()> {
        Ok(())
    }
}

pub fn table(name: &str) -> TableRef {
    TableRef {
        schema: "main".into(),
        name: name.into(),
    }
}
