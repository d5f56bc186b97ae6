//! `mindhost plugin run`: runs a plugin without a server, and shows its grants, log lines and times.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Args;
use mindhost_base::Error;
use mindhost_plugin_api::{
    Call, Column, Connection, Connector, Dialect, Manifest, Model, ModelEvent, ModelMessage,
    ModelRequest, Part, PluginKind, Role, Statement, TableRef,
};
use mindhost_plugins::record::recorded;
use mindhost_runtime::standalone::{LoadedPlugin, StandalonePlugin};
use mindhost_sql::GuardedStatement;
use tokio_util::sync::CancellationToken;

use super::{
    compiled,
    configured::PluginSetup,
    lines::{self, Line},
    print::{Format, Printer},
};
use crate::commands::say::{self, aside, plain, plain_lines, say, say_part};

/// The columns of a result.
type Columns = Arc<[Column]>;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The plugin.
    file: PathBuf,
    /// A statement for a connector, a question for a model; without one the configuration is checked.
    input: Option<String>,
    /// Connection data: a file (JSON, or TOML where it ends in .toml) or the JSON itself. Paths in a file are meant
    /// from that file on.
    #[arg(long, short, value_name = "FILE|JSON")]
    config: Option<String>,
    /// List the tables.
    #[arg(long, conflicts_with = "input")]
    tables: bool,
    /// Describe one table, as `name` or `schema.name`.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["input", "tables"])]
    describe: Option<String>,
    /// Show after the rows of a scanner how the statement ran, and which filters and limits the plugin took over.
    #[arg(long, requires = "input")]
    explain: bool,
    /// How rows are written to standard output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show each HTTP request of the plugin: method, URL, status, times and bytes; no credentials.
    #[arg(long)]
    http_log: bool,
    /// Record the calls across the boundary in a file, without secrets, for `plugin replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Keep the rows in the recording too, and not only their number, size and digest.
    #[arg(long, requires = "record")]
    record_rows: bool,
    /// Seconds that each step may take.
    #[arg(long, default_value_t = 60)]
    timeout: u64,
}

/// A longer wait is explained.
const MOMENT: Duration = Duration::from_millis(800);
/// Rows that are asked for at a time.
const ROWS: u32 = 8_192;

pub(super) async fn run(run: Run) -> anyhow::Result<()> {
    let http_log = run.http_log;
    let compiles = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&compiles);
    lines::listen(move |line| {
        if line == Line::Compiling {
            hears.store(true, Ordering::Relaxed);
        }
        if http_log || !matches!(line, Line::Exchange(_)) {
            show_line(line);
        }
    })?;
    let configured = PluginSetup::read(&run.file, run.config.as_deref()).await?;
    introduce(&configured.package.manifest, &configured);
    let start = Instant::now();
    let alone = loaded(&configured, &compiles).await?;
    took("loaded", start);
    let cancel = CancellationToken::new();
    tokio::spawn(interrupted(cancel.clone()));
    let session = Session {
        configured: &configured,
        call_timeout: Duration::from_secs(run.timeout),
        cancel,
        run: &run,
    };
    let tape = match &run.record {
        None => None,
        Some(file) => Some(configured.tape(file, run.record_rows)?),
    };
    let loaded = match &tape {
        None => alone.loaded.clone(),
        Some(tape) => recorded(&alone.loaded, tape),
    };
    let ended = match &loaded {
        LoadedPlugin::Connector(connector) => session.connector(&**connector).await,
        LoadedPlugin::Model(model) => session.model(&**model).await,
    };
    alone.drain().await;
    if let Some(tape) = tape {
        tape.finish()?;
    }
    ended
}

/// Loads the plugin, and says so when that takes longer than a moment because it is compiled.
async fn loaded(
    configured: &PluginSetup,
    compiles: &AtomicBool,
) -> anyhow::Result<StandalonePlugin> {
    let mut loading = std::pin::pin!(configured.load());
    match tokio::time::timeout(MOMENT, &mut loading).await {
        Ok(loaded) => loaded,
        Err(_) => {
            if compiles.load(Ordering::Relaxed) {
                aside!(
                    "loading  compiling the component for this machine{}",
                    configured.promise()
                );
            }
            loading.await
        }
    }
}

/// Cancels the running call, down to the engine, on Ctrl-C.
async fn interrupted(cancel: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        cancel.cancel();
    }
}

/// Prints the plugin and its grants to standard error; standard output is for rows.
fn introduce(manifest: &Manifest, configured: &PluginSetup) {
    let serves = match manifest.kind {
        PluginKind::Connector => format!("connector for {}", manifest.engines.join(", ")),
        PluginKind::Model => "model provider".to_owned(),
    };
    let digest = configured.package.digest.get(..12).unwrap_or_default();
    aside!(
        "plugin   {} {} ({serves}), WIT {}, sha256 {digest}…, {} KiB",
        manifest.name,
        manifest.version,
        manifest.wit,
        configured.package.bytes.len() >> 10
    );
    match configured.grants().as_slice() {
        [] => aside!("grants   nothing"),
        grants => grants.iter().for_each(|grant| aside!("grants   {grant}")),
    }
}

pub(super) fn show_line(line: Line) {
    match line {
        Line::Said(level, text) => aside!("log      {} {text}", level.as_str().to_lowercase()),
        Line::Refused(why) => aside!("refused  {why}"),
        Line::Dropped(count) => aside!("log      ({count} lines were more than it may write)"),
        Line::Failed(detail) => aside!("failed   {detail}"),
        Line::Exchange(exchange) => aside!("http     {exchange}"),
        Line::NotCached(why) => compiled::warn(&why),
        // `loaded` says so if it takes long.
        Line::Compiling => {}
    }
}

fn took(what: &str, start: Instant) {
    aside!("took     {:>9.1?}  {what}", start.elapsed());
}

struct Session<'a> {
    configured: &'a PluginSetup,
    call_timeout: Duration,
    cancel: CancellationToken,
    run: &'a Run,
}

impl Session<'_> {
    fn call(&self) -> Call {
        Call::new(self.call_timeout, self.cancel.clone())
    }

    async fn connector(&self, connector: &dyn Connector) -> anyhow::Result<()> {
        let target = self.configured.target();
        let start = Instant::now();
        let opened = connector.connect(&target, &self.call()).await;
        let mut connection = opened.map_err(told)?;
        took("open", start);
        let ended = match (&self.run.input, &self.run.describe) {
            (Some(sql), _) if connector.manifest().dialect == Some(Dialect::Datafusion) => {
                match self.guarded(&mut *connection, sql).await {
                    Ok(guarded) => {
                        let named = |columns: &Columns| guarded.named(columns);
                        self.query(&mut *connection, guarded.text(), named).await
                    }
                    Err(error) => Err(error),
                }
            }
            (Some(sql), _) => self.query(&mut *connection, sql, Arc::clone).await,
            (None, Some(table)) => self.describe(&mut *connection, table).await,
            (None, None) if self.run.tables => self.tables(&mut *connection).await,
            (None, None) => self.check(&mut *connection).await,
        };
        drop(connection);
        connector.forget(&target.id).await;
        ended
    }

    async fn check(&self, connection: &mut dyn Connection) -> anyhow::Result<()> {
        let start = Instant::now();
        let info = connection.check(&self.call()).await.map_err(told)?;
        took("check", start);
        say!("{} {}", plain(&info.product), plain(&info.version));
        Ok(())
    }

    async fn tables(&self, connection: &mut dyn Connection) -> anyhow::Result<()> {
        let start = Instant::now();
        let tables = connection.tables(&self.call()).await.map_err(told)?;
        took("tables", start);
        tables
            .iter()
            .for_each(|table| say!("{}", plain(&table.to_string())));
        Ok(())
    }

    async fn describe(&self, connection: &mut dyn Connection, name: &str) -> anyhow::Result<()> {
        let table = self.find(connection, name).await?;
        let start = Instant::now();
        let call = self.call();
        let described = connection
            .describe_tables(std::slice::from_ref(&table), &call)
            .await;
        let described = described.map_err(told)?;
        took("describe-tables", start);
        let Some(info) = described.first() else {
            anyhow::bail!("{table} is listed, and `describe-tables` left it out");
        };
        let rows = info
            .row_count
            .map_or("unknown".to_owned(), |rows| rows.to_string());
        let (table, kind) = (plain(&table.to_string()), plain(&info.kind));
        say!("{table}  {kind}  rows: {rows}");
        for column in &info.columns {
            let null = if column.nullable { "" } else { " NOT NULL" };
            let is_key = info.primary_key.iter().any(|key| key.column == column.name);
            let key = if is_key { " PRIMARY KEY" } else { "" };
            let (name, native_type) = (plain(&column.name), plain(&column.native_type));
            say!("  {name} {native_type}{null}{key}");
        }
        for key in &info.foreign_keys {
            let to = format!("{}.{}", key.referenced, key.referenced_column);
            say!("  {} -> {}", plain(&key.column), plain(&to));
        }
        Ok(())
    }

    async fn find(&self, connection: &mut dyn Connection, name: &str) -> anyhow::Result<TableRef> {
        let tables = connection.tables(&self.call()).await.map_err(told)?;
        let is_named = |table: &&TableRef| table.name == name || table.to_string() == name;
        let found: Vec<_> = tables.iter().filter(is_named).collect();
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => anyhow::bail!("there is no table `{name}`; --tables lists them"),
            _ => anyhow::bail!("several schemas have a table `{name}`; give it as schema.name"),
        }
    }

    /// A statement over a scanner; see [`PluginSetup::guarded`].
    async fn guarded(
        &self,
        connection: &mut dyn Connection,
        sql: &str,
    ) -> anyhow::Result<GuardedStatement> {
        let tables = connection.tables(&self.call()).await.map_err(told)?;
        self.configured.guarded(sql, tables).map_err(told)
    }

    /// Prints the rows of a statement, under the names that `named` gives to its columns.
    async fn query(
        &self,
        connection: &mut dyn Connection,
        sql: &str,
        named: impl Fn(&Columns) -> Columns,
    ) -> anyhow::Result<()> {
        let statement = Statement {
            text: sql.to_owned(),
            id: uuid::Uuid::new_v4().to_string(),
            timeout: self.call_timeout,
        };
        let start = Instant::now();
        let columns = connection
            .query(&statement, &self.call())
            .await
            .map_err(told)?;
        took("query", start);
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut printer = Printer::new(self.run.format, named(&columns));
        printer.begin(&mut out).map_err(say::told)?;
        let (mut rows, mut bytes, mut batches) = (0, 0, 0);
        while let Some(batch) = connection.next(ROWS, &self.call()).await.map_err(told)? {
            if batches == 0 {
                took("first rows", start);
            }
            rows += batch.rows();
            bytes += batch.bytes();
            batches += 1;
            printer.batch(batch, &mut out).map_err(say::told)?;
            out.flush().map_err(say::told)?;
        }
        printer.end(&mut out).map_err(say::told)?;
        out.flush().map_err(say::told)?;
        drop(out);
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        took("all rows", start);
        aside!(
            "rows     {rows} in {batches} {}, {bytes} bytes, {:.0} rows/s",
            if batches == 1 { "batch" } else { "batches" },
            rows as f64 / seconds
        );
        if self.run.explain {
            explain(&*connection);
        }
        connection.close(&self.call()).await.map_err(told)
    }

    async fn model(&self, model: &dyn Model) -> anyhow::Result<()> {
        if self.run.tables || self.run.describe.is_some() {
            anyhow::bail!("a model provider has no tables; give it a question");
        }
        if self.run.explain {
            anyhow::bail!("a model provider has no plan; leave out --explain");
        }
        let target = self.configured.target();
        let start = Instant::now();
        let Some(question) = &self.run.input else {
            let text = model.check(&target, &self.call()).await.map_err(told)?;
            took("check", start);
            say!("{}", plain_lines(&text));
            return Ok(());
        };
        let request = ModelRequest {
            messages: vec![ModelMessage {
                role: Role::User,
                parts: vec![Part::Text(question.clone())],
            }],
            tool_choice: "auto".to_owned(),
            ..ModelRequest::default()
        };
        let begun = model.start(&target, request, &self.call()).await;
        let mut completion = begun.map_err(told)?;
        took("start", start);
        let (mut is_first, mut line) = (true, TextLine::default());
        while let Some(events) = completion.next(&self.call()).await.map_err(told)? {
            if std::mem::take(&mut is_first) {
                took("first event", start);
            }
            events.iter().for_each(|event| line.show(event));
        }
        took("whole answer", start);
        Ok(())
    }
}

/// Prints the plan to standard error, where the host itself runs the SQL.
fn explain(connection: &dyn Connection) {
    let Some(plan) = connection.plan() else {
        aside!("plan     none: the engine runs the SQL itself; ask it with its own EXPLAIN");
        return;
    };
    plan.lines()
        .for_each(|line| aside!("plan     {}", plain(line)));
}

/// The line of an answer that is being written.
#[derive(Default)]
struct TextLine {
    is_open: bool,
}

impl TextLine {
    /// Prints text to standard output as it arrives, and everything else to standard error, on lines of its own.
    fn show(&mut self, event: &ModelEvent) {
        if let ModelEvent::Text(text) = event {
            say_part!("{}", plain_lines(text));
            self.is_open |= !text.is_empty();
            return;
        }
        if std::mem::take(&mut self.is_open) {
            say!();
        }
        show_event(event);
    }
}

fn show_event(event: &ModelEvent) {
    match event {
        // It has a line of its own.
        ModelEvent::Text(_) => {}
        ModelEvent::ToolCall(call) => {
            let (name, arguments) = (plain(&call.name), plain_lines(&call.arguments));
            aside!("call     {name}({arguments})");
        }
        ModelEvent::Opaque { kind, data } => {
            aside!("opaque   {}, {} bytes", plain(kind), data.len());
        }
        ModelEvent::Usage(counts) => {
            let counts = counts.iter();
            let counts = counts.map(|(name, count)| format!("{} {count}", plain(name)));
            aside!("tokens   {}", counts.collect::<Vec<_>>().join(", "));
        }
        ModelEvent::Stop(reason, word) => aside!("stop     {reason:?} ({})", plain(word)),
    }
}

/// The host's message for an error, with the kind that the plugin reported.
fn told(error: Error) -> anyhow::Error {
    let mut facts = vec![error.code().as_str().to_owned()];
    facts.extend(
        error
            .reported()
            .map(|kind| format!("the plugin reported `{kind}`")),
    );
    facts.extend(error.engine_code().map(|code| format!("code {code}")));
    let wait = error.retry_after();
    facts.extend(wait.map(|wait| format!("to be tried again after {wait:?}")));
    facts.extend(
        error
            .position()
            .map(|position| format!("position {position}")),
    );
    anyhow::anyhow!("{} ({})", error.message(), facts.join(", "))
}
