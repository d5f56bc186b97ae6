//! The exports, on the raw bindings: the SDK would not let an author do most of this.

use std::{
    cell::Cell,
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use mindhost_sdk::{
    Batch, Column, ServerInfo, Table, TableColumn, TableRef, Value,
    bindings::connector::{
        self,
        exports::mindhost::plugin::connector::{
            Connection, Cursor, Guest, GuestConnection, GuestCursor, Statement,
        },
        mindhost::plugin::{
            catalog_types::{ColumnStatistics, StatisticsOptions},
            types::{Config, Error, ErrorKind},
        },
    },
};
use serde::Deserialize;

use crate::{acts, churn, lies, reach, web};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// How often the function for the mode was asked, in the life of the instance.
static ASKED: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Plan {
    mode: String,
    at: String,
    /// Calls of that function in which it behaves.
    after: u32,
    /// The type of the result's only column.
    column: String,
    pub(crate) target: String,
    arrow: Vec<u8>,
    pub(crate) password: String,
}

impl Plan {
    pub(crate) fn of(config: &Config) -> Self {
        serde_json::from_str(&config.json).unwrap_or_default()
    }

    /// The mode, if this is the function for it and it was asked often enough.
    pub(crate) fn mode_at(&self, at: &str) -> &str {
        let is_due = self.at == at && ASKED.load(Ordering::Relaxed) > self.after;
        if is_due { &self.mode } else { "" }
    }

    /// Does what ends or outlasts any function; returns for the modes that only lie.
    pub(crate) fn act(&self, at: &str) -> Result<()> {
        if self.at == at {
            ASKED.fetch_add(1, Ordering::Relaxed);
        }
        let mode = self.mode_at(at);
        acts::end(mode, self);
        acts::flood(mode, self);
        acts::fail(mode, self)?;
        let outcome = reach::attempt(mode, self)
            .or_else(|| web::attempt(mode, self))
            .or_else(|| churn::attempt(mode, self));
        match outcome {
            // The host explains a denial with what it refused; here the guest's own count is wanted.
            Some(outcome) if outcome.starts_with("worked") => {
                Err(error(ErrorKind::Upstream, outcome))
            }
            Some(outcome) => Err(error(ErrorKind::Denied, outcome)),
            None => Ok(()),
        }
    }
}

pub(crate) fn error(kind: ErrorKind, message: String) -> Error {
    Error {
        kind,
        code: String::new(),
        message,
        position: None,
        retry_after_ms: None,
        connection_usable: true,
        extra: Vec::new(),
    }
}

fn lost() -> Error {
    Error {
        connection_usable: false,
        ..error(
            ErrorKind::ConnectionLost,
            String::from("the connection is gone"),
        )
    }
}

/// `describe` gets no configuration, so a test that wants it to misbehave changes these bytes in the component.
static DESCRIBE: [u8; 16] = *b"describe:quietly";

pub(crate) struct Hostile;

impl Guest for Hostile {
    type Connection = Opened;
    type Cursor = Running;

    fn cancel(config: Config, _key: Vec<u8>) -> Result<()> {
        let plan = Plan::of(&config);
        if plan.mode == "order" {
            acts::tell(&plan.target, "engine");
        }
        plan.act("cancel")
    }

    fn describe() -> String {
        if std::hint::black_box(&DESCRIBE).ends_with(b"forever") {
            loop {
                std::hint::black_box(0);
            }
        }
        include_str!("../manifest.json").to_owned()
    }
}

/// The configuration, whether the connection was used, and the file that it names.
pub(crate) struct Opened(Plan, Cell<bool>, Option<fs::File>);

impl GuestConnection for Opened {
    fn open(config: Config) -> Result<Connection> {
        let plan = Plan::of(&config);
        plan.act("open")?;
        if plan.target.ends_with(".example") {
            let _ = reach::attempt("resolve", &plan);
        }
        // Held open, as an engine holds its file.
        let file = fs::File::open(&plan.target).ok();
        Ok(Connection::new(Opened(plan, Cell::new(false), file)))
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        let _ = self.0.act("cancel-key");
        match self.0.mode_at("cancel-key") {
            "giant-key" => Some(vec![1; 8 << 20]),
            _ => Some(vec![1]),
        }
    }

    fn check(&self) -> Result<ServerInfo> {
        self.0.act("check")?;
        if self.0.mode_at("check") == "lost-once" && self.1.replace(true) {
            return Err(lost());
        }
        let product = match self.0.mode_at("check") {
            "long-text" => "x".repeat(64 << 20),
            "size" => {
                let metadata = self.2.as_ref().and_then(|file| file.metadata().ok());
                format!("{} bytes", metadata.map_or(0, |metadata| metadata.len()))
            }
            "giant-text" => "x".repeat(200 << 20),
            "escapes" => acts::ESCAPES.to_owned(),
            _ => String::from("Hostile"),
        };
        Ok(ServerInfo::new(product, "1"))
    }

    fn tables(&self) -> Result<Vec<TableRef>> {
        self.0.act("tables")?;
        Ok(lies::tables(self.0.mode_at("tables")))
    }

    fn describe_tables(&self, tables: Vec<TableRef>) -> Result<Vec<Table>> {
        self.0.act("describe-tables")?;
        let mut described: Vec<Table> = tables
            .into_iter()
            .map(|table| {
                let mut described = Table::new(table, "TABLE");
                described.columns = vec![TableColumn::new("n", 1, "integer")];
                described
            })
            .collect();
        lies::describe(self.0.mode_at("describe-tables"), &mut described);
        Ok(described)
    }

    fn statistics(
        &self,
        _table: TableRef,
        options: StatisticsOptions,
    ) -> Result<Option<Vec<ColumnStatistics>>> {
        self.0.act("statistics")?;
        let column = options.columns.into_iter().next().unwrap_or_default();
        let mut statistics = ColumnStatistics::new(column);
        let mut count = 1;
        match self.0.mode_at("statistics") {
            "nonsense" => statistics.null_fraction = Some(f64::NAN),
            "shares" => statistics.common_values = vec![(String::from("1"), 1.5)],
            "common" => statistics.common_values = vec![(String::from("1"), 0.0); 100_000],
            "unasked" => statistics.column = String::from("other"),
            "twice" => count = 2,
            _ => {}
        }
        Ok(Some(vec![statistics; count]))
    }

    fn begin_snapshot(&self, _timeout_ms: u64) -> Result<bool> {
        self.0.act("begin-snapshot")?;
        Ok(true)
    }

    fn end_snapshot(&self) -> Result<()> {
        self.0.act("end-snapshot")
    }

    fn query(&self, statement: Statement) -> Result<Cursor> {
        self.0.act("query")?;
        if self.0.mode_at("query") == "passes-on" {
            // As for a statement that gives no rows: the engine has run it when the error comes.
            acts::pass_on(&self.0.target, &statement.text);
            let message = String::from("the statement gives no rows");
            return Err(error(ErrorKind::Unsupported, message));
        }
        let number = match self.0.mode_at("query") {
            // As large as the file is now, in a snapshot too.
            "size" => {
                let file = self.2.as_ref().and_then(|file| file.metadata().ok());
                file.map_or(0, |file| file.len())
            }
            _ => 1,
        };
        let rows = statement.text.parse().unwrap_or_default();
        Ok(Cursor::new(Running {
            plan: self.0.clone(),
            is_given: Cell::new(false),
            number: number.cast_signed(),
            rows,
        }))
    }
}

/// An answer of one row.
pub(crate) struct Running {
    plan: Plan,
    is_given: Cell<bool>,
    /// What stands in the row.
    number: i64,
    /// The number that the statement is.
    rows: i64,
}

impl GuestCursor for Running {
    fn schema(&self) -> Result<Vec<Column>> {
        self.plan.act("schema")?;
        Ok(lies::schema(self.plan.mode_at("schema"), &self.plan.column))
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        let _ = self.plan.act("cursor-cancel-key");
        match self.plan.mode_at("cursor-cancel-key") {
            "giant-key" => Some(vec![1; 8 << 20]),
            _ => None,
        }
    }

    fn next(&self, max_rows: u32, _max_bytes: u32) -> Result<Option<Batch>> {
        self.plan.act("next")?;
        let mode = self.plan.mode_at("next");
        if let Some(batch) = lies::batch(mode, max_rows, &self.plan.arrow) {
            return Ok(Some(batch));
        }
        if self.is_given.replace(true) {
            return Ok(None);
        }
        let number = |number: i64| vec![Value::Int64(number)];
        let one = || match mode {
            "as-asked" => Batch::Rows(vec![number(i64::from(max_rows))]),
            "at-once" => Batch::Rows((1..=self.rows).map(number).collect()),
            _ => Batch::Rows(vec![number(self.number)]),
        };
        Ok(Some(lies::odd(mode).unwrap_or_else(one)))
    }

    fn close(&self) -> Result<bool> {
        self.plan.act("close")?;
        Ok(true)
    }
}

connector::export!(Hostile with_types_in mindhost_sdk::bindings::connector);
