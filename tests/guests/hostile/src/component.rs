//! The exports, on the raw bindings: the SDK would not let an author do most of this.

use std::{cell::Cell, fs, io::Write as _, net::TcpStream};

use mindhost_sdk::{
    Batch, Column, DataType, ServerInfo, Table, TableColumn, TableRef, Value,
    bindings::connector::{
        self,
        exports::mindhost::plugin::connector::{
            Connection, Cursor, Guest, GuestConnection, GuestCursor, Statement,
        },
        mindhost::plugin::{
            catalog_types::{ColumnStatistics, StatisticsOptions},
            control, log,
            types::{Config, Error, ErrorKind},
        },
    },
};
use serde::Deserialize;

use crate::reach;

pub(crate) type Result<T> = std::result::Result<T, Error>;

#[derive(Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Plan {
    mode: String,
    at: String,
    pub(crate) target: String,
    arrow: Vec<u8>,
    pub(crate) password: String,
}

impl Default for Plan {
    fn default() -> Self {
        let empty = String::new;
        Self {
            mode: empty(),
            at: empty(),
            target: empty(),
            arrow: Vec::new(),
            password: empty(),
        }
    }
}

impl Plan {
    pub(crate) fn of(config: &Config) -> Self {
        serde_json::from_str(&config.json).unwrap_or_default()
    }

    /// The mode, if this is the function for it.
    pub(crate) fn mode_at(&self, at: &str) -> &str {
        if self.at == at { &self.mode } else { "" }
    }

    /// A secret at the beginning, in the middle and at the end of what a line holds, by both ways into the log.
    fn log_secrets(&self) {
        for before in [0, 100, 2_040, 2_046] {
            let line = format!("{}{}", "-".repeat(before), self.password);
            log::log(log::Level::Info, &line);
            println!("{line}");
        }
    }

    /// Says something to whoever listens at the target.
    fn tell(&self, word: &str) {
        if let Ok(mut stream) = TcpStream::connect(&self.target) {
            let _ = stream.write_all(word.as_bytes());
        }
    }

    /// Does what ends or outlasts any function; returns for the modes that only lie.
    pub(crate) fn act(&self, at: &str) -> Result<()> {
        match self.mode_at(at) {
            "loop" => loop {
                std::hint::black_box(0);
            },
            "sleep" => {
                wasip2::clocks::monotonic_clock::subscribe_duration(3_600_000_000_000).block();
                Ok(())
            }
            "memory" => {
                let mut hoard = Vec::new();
                loop {
                    hoard.push(vec![1u8; 1 << 20]);
                }
            }
            "stack" => {
                std::hint::black_box(recurse(0));
                Ok(())
            }
            "trap" => core::arch::wasm32::unreachable(),
            "panic" => panic!("as the configuration says, with {}", self.password),
            "exit" => std::process::exit(3),
            "error" => Err(error(
                ErrorKind::Upstream,
                format!("login with {} failed", self.password),
            )),
            "long-error" => Err(error(ErrorKind::Upstream, "x".repeat(10 << 20))),
            "empty-error" => Err(error(ErrorKind::Upstream, String::new())),
            "log" => {
                self.log_secrets();
                for _ in 0..100_000 {
                    log::log(log::Level::Info, "a line that nobody needs");
                }
                Ok(())
            }
            "order" => {
                control::cancelled().block();
                self.tell("guest");
                Err(error(ErrorKind::Cancelled, String::from("stopped")))
            }
            "cancelled" => Err(error(ErrorKind::Cancelled, String::from("by an admin"))),
            "auth" => Err(error(ErrorKind::Auth, String::from("wrong password"))),
            "unreachable" => Err(error(ErrorKind::Unreachable, String::from("no route"))),
            "resources" => {
                let mut hoard = Vec::new();
                loop {
                    hoard.push(wasip2::clocks::monotonic_clock::subscribe_duration(1));
                }
            }
            mode => match reach::attempt(mode, self) {
                Some(outcome) => Err(error(ErrorKind::Denied, outcome)),
                None => Ok(()),
            },
        }
    }
}

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    if depth == u64::MAX {
        return 0;
    }
    let local = std::hint::black_box([depth; 64]);
    recurse(depth + 1) + local[(depth % 64) as usize]
}

fn error(kind: ErrorKind, message: String) -> Error {
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
            plan.tell("engine");
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
        Some(vec![1])
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
            _ => String::from("Hostile"),
        };
        Ok(ServerInfo::new(product, "1"))
    }

    fn tables(&self) -> Result<Vec<TableRef>> {
        self.0.act("tables")?;
        Ok(match self.0.mode_at("tables") {
            "many" => (0..200_000)
                .map(|n| TableRef::new("main", n.to_string()))
                .collect(),
            "long-name" => vec![TableRef::new("main", "x".repeat(1 << 20))],
            _ => vec![TableRef::new("main", "one")],
        })
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
        match self.0.mode_at("describe-tables") {
            "unasked" => described.push(Table::new(TableRef::new("main", "other"), "TABLE")),
            "columns" => described.iter_mut().for_each(|table| {
                table.columns = (1..6_000)
                    .map(|n| TableColumn::new("n", n, "integer"))
                    .collect();
            }),
            _ => {}
        }
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
        if self.0.mode_at("statistics") == "nonsense" {
            statistics.null_fraction = Some(f64::NAN);
        }
        Ok(Some(vec![statistics]))
    }

    fn begin_snapshot(&self, _timeout_ms: u64) -> Result<bool> {
        self.0.act("begin-snapshot")?;
        Ok(true)
    }

    fn end_snapshot(&self) -> Result<()> {
        self.0.act("end-snapshot")
    }

    fn query(&self, _statement: Statement) -> Result<Cursor> {
        self.0.act("query")?;
        Ok(Cursor::new(Running(self.0.clone(), Cell::new(false))))
    }
}

/// The configuration, and whether the row was given.
pub(crate) struct Running(Plan, Cell<bool>);

impl GuestCursor for Running {
    fn schema(&self) -> Result<Vec<Column>> {
        self.0.act("schema")?;
        let n = match self.0.target.as_str() {
            "text" => Column::new("n", DataType::Text),
            _ => Column::new("n", DataType::Int64),
        };
        Ok(match self.0.mode_at("schema") {
            "none" => Vec::new(),
            "many" => vec![n; 5_000],
            "long-name" => vec![Column::new("x".repeat(1 << 20), DataType::Int64)],
            _ => vec![n],
        })
    }

    fn cancel_key(&self) -> Option<Vec<u8>> {
        let _ = self.0.act("cursor-cancel-key");
        None
    }

    fn next(&self, max_rows: u32, _max_bytes: u32) -> Result<Option<Batch>> {
        self.0.act("next")?;
        let one = || vec![Value::Int64(1)];
        let rows = match self.0.mode_at("next") {
            "empty" => return Ok(Some(Batch::Rows(Vec::new()))),
            "arrow" => return Ok(Some(Batch::Arrow(self.0.arrow.clone()))),
            "rows" => vec![one(); max_rows as usize + 1],
            "wide" => vec![vec![Value::Int64(1), Value::Int64(2)]],
            "narrow" => vec![Vec::new()],
            "type" => vec![vec![Value::Text(String::from("one"))]],
            "time" => vec![vec![Value::Time(u64::MAX)]],
            "cell" => vec![vec![Value::Other("x".repeat(20 << 20))]],
            "batch" => vec![vec![Value::Other("x".repeat(1 << 20))]; max_rows as usize],
            _ if self.1.replace(true) => return Ok(None),
            _ => vec![one()],
        };
        Ok(Some(Batch::Rows(rows)))
    }

    fn close(&self) -> Result<bool> {
        self.0.act("close")?;
        Ok(true)
    }
}

connector::export!(Hostile with_types_in mindhost_sdk::bindings::connector);
