//! Statements over a source that is scripted: what reaches it, what comes out, and how it ends.

mod bounds;
mod column_names;
mod floats;
mod functions;
mod joins;
mod meaning;
mod memory;
mod pages;
mod refused;
mod subqueries;
mod texts;
mod values;
mod with_names;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use datafusion::arrow::util::display::array_value_to_string;
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{QueryConnector, QueryEngine};
use mindhost_base::{
    config::{Config, PluginSettings},
    error::{Code, Error, Result},
    locks::lock,
};
use mindhost_plugin_api::{
    Batch, Call, Column, Connector as _, DataType, Manifest, Plugin, ServerInfo, Statement,
    TableInfo, TableRef, Target, Value,
    scanner::{Filter, FilterOp, Pushdown, Scan, ScanId, Scanner, Source},
};

/// What the source was asked for, and what became of its scans.
#[derive(Default)]
struct Log {
    scans: Vec<Scan>,
    open: usize,
    given: u64,
}

/// A table `t` of some rows and a table `endless`, both with the columns `id`, `name`, `price` and `doc`.
#[derive(Clone)]
struct Scripted {
    manifest: Manifest,
    support: Pushdown,
    rows: u64,
    log: Arc<Mutex<Log>>,
}

fn columns() -> Arc<[Column]> {
    let column = |name: &str, data_type, native: &str| Column {
        name: name.to_owned(),
        data_type,
        native_type: native.to_owned(),
        nullable: true,
    };
    Arc::new([
        column("id", DataType::Int64, ""),
        column("name", DataType::Text, ""),
        column("price", DataType::Decimal, "decimal(12,2)"),
        column("doc", DataType::Json, ""),
    ])
}

fn scripted(rows: u64, support: Pushdown) -> Scripted {
    let manifest = json!({
        "kind": "connector", "name": "scripted", "title": "Scripted", "version": "1.0.0", "wit": "0.1.0",
        "world": "scanner-connector", "engines": ["scripted"], "connection_data": {"type": "object"}
    });
    Scripted {
        manifest: serde_json::from_value(manifest).unwrap(),
        support,
        rows,
        log: Arc::default(),
    }
}

impl Plugin for Scripted {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn digest(&self) -> &str {
        "scripted"
    }
}

#[async_trait]
impl Scanner for Scripted {
    async fn open(&self, _: &Target, _: &Call) -> Result<Box<dyn Source>> {
        Ok(Box::new(ScriptedSource {
            about: self.clone(),
            scans: BTreeMap::new(),
        }))
    }

    async fn forget(&self, _: &str) {}
}

struct ScriptedSource {
    about: Scripted,
    /// The next row of each scan.
    scans: BTreeMap<ScanId, (Scan, u64)>,
}

impl Drop for ScriptedSource {
    fn drop(&mut self) {
        lock(&self.about.log).open -= self.scans.len();
    }
}

#[async_trait]
impl Source for ScriptedSource {
    fn digest(&self) -> &str {
        "scripted"
    }

    async fn check(&mut self, _: &Call) -> Result<ServerInfo> {
        unreachable!("nobody checks")
    }

    async fn tables(&mut self, _: &Call) -> Result<Vec<TableRef>> {
        unreachable!("nobody lists")
    }

    async fn describe_tables(&mut self, _: &[TableRef], _: &Call) -> Result<Vec<TableInfo>> {
        unreachable!("nobody describes")
    }

    async fn columns(&mut self, table: &TableRef, _: &Call) -> Result<Arc<[Column]>> {
        match (table.schema.as_str(), table.name.as_str()) {
            ("main", "t" | "endless" | "broken") => Ok(columns()),
            _ => Err(Error::new(Code::UpstreamError, format!("no table {table}"))),
        }
    }

    async fn filter_support(
        &mut self,
        _: &TableRef,
        filters: &[Filter],
        _: &Call,
    ) -> Result<Vec<Pushdown>> {
        Ok(vec![self.about.support; filters.len()])
    }

    async fn scan(&mut self, scan: &Scan, _: &Call) -> Result<ScanId> {
        let mut log = lock(&self.about.log);
        log.scans.push(scan.clone());
        log.open += 1;
        let id = ScanId(log.scans.len() as u64);
        self.scans.insert(id, (scan.clone(), 0));
        Ok(id)
    }

    async fn next(&mut self, id: ScanId, max_rows: u32, call: &Call) -> Result<Option<Batch>> {
        if call.cancel.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "cancelled"));
        }
        let (scan, at) = self.scans.get_mut(&id).unwrap();
        let end = match scan.table.name.as_str() {
            "endless" => u64::MAX,
            "broken" if *at > 0 => return Err(Error::new(Code::UpstreamError, "the file ends")),
            _ => self.about.rows,
        };
        let until = end.min(*at + u64::from(max_rows));
        let rows: Vec<_> = (*at..until).map(|id| row(id, &scan.columns)).collect();
        *at = until;
        lock(&self.about.log).given += rows.len() as u64;
        Ok((!rows.is_empty()).then_some(Batch::Rows(rows)))
    }

    async fn close(&mut self, id: ScanId, _: &Call) -> Result<()> {
        if self.scans.remove(&id).is_some() {
            lock(&self.about.log).open -= 1;
        }
        Ok(())
    }
}

fn row(id: u64, columns: &[Column]) -> Vec<Value> {
    let cell = |column: &Column| match column.name.as_str() {
        "id" => Value::Int64(id as i64),
        "name" if id % 10 == 9 => Value::Null,
        "name" => Value::Text(format!("name {}", id % 10)),
        "price" => Value::Decimal(format!("{}.50", id % 100)),
        _ => Value::Json(format!(r#"{{"id":{id}}}"#)),
    };
    columns.iter().map(cell).collect()
}

fn settings() -> PluginSettings {
    PluginSettings {
        query_threads: 1,
        ..Config::defaults().unwrap().plugins.limits
    }
}

fn connector(scanner: &Scripted, settings: &PluginSettings) -> QueryConnector {
    QueryEngine::new(settings, None, TaskTracker::new()).connector(Arc::new(scanner.clone()))
}

fn target() -> Target {
    Target {
        id: String::from("1"),
        workspace: String::from("w"),
        folder: String::from("w"),
        name: String::from("scripted"),
        connection_data: Arc::default(),
        max_connections: 4,
    }
}

fn call() -> Call {
    Call::new(Duration::from_secs(60), CancellationToken::new())
}

fn statement(text: &str) -> Statement {
    Statement {
        text: text.to_owned(),
        id: String::from("s"),
        timeout: Duration::from_secs(60),
    }
}

/// All rows of a statement as texts.
async fn rows(connector: &QueryConnector, sql: &str) -> Result<Vec<Vec<String>>> {
    let mut connection = connector.connect(&target(), &call()).await?;
    connection.query(&statement(sql), &call()).await?;
    let mut rows = Vec::new();
    while let Some(batch) = connection.next(8_192, &call()).await? {
        let Batch::Arrow(batch) = batch else {
            panic!("a batch of rows")
        };
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter();
            rows.push(
                cells
                    .map(|cells| array_value_to_string(cells, row).unwrap())
                    .collect(),
            );
        }
    }
    connection.close(&call()).await?;
    Ok(rows)
}

async fn one(sql: &str) -> Vec<String> {
    let connector = connector(&scripted(1_000, Pushdown::No), &settings());
    let mut rows = rows(&connector, sql).await.unwrap();
    assert_eq!(rows.len(), 1, "{sql}");
    rows.remove(0)
}

/// The names of the columns of a result.
async fn names(sql: &str) -> Vec<String> {
    let connector = connector(&scripted(1_000, Pushdown::No), &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let columns = connection.query(&statement(sql), &call()).await.unwrap();
    columns.iter().map(|column| column.name.clone()).collect()
}

async fn refused(sql: &str) -> Error {
    let connector = connector(&scripted(1_000, Pushdown::No), &settings());
    rows(&connector, sql).await.unwrap_err()
}

#[tokio::test]
async fn sql_has_joins_groups_windows_and_exact_decimals() {
    assert_eq!(
        one(r#"SELECT count(*), sum(price) FROM "main"."t""#).await,
        ["1000", "50000.00"]
    );
    assert_eq!(
        one(r#"SELECT count(*) FROM "main"."t" AS a JOIN "main"."t" AS b ON a.id = b.id + 1"#)
            .await,
        ["999"]
    );
    assert_eq!(
        one(r#"SELECT name, n FROM (SELECT name, count(*) AS n, row_number() OVER (ORDER BY name DESC) AS r
               FROM "main"."t" WHERE name IS NOT NULL GROUP BY name) AS x WHERE r = 1"#)
        .await,
        ["name 8", "100"]
    );
    assert_eq!(
        one(r#"WITH big AS (SELECT * FROM "main"."t" WHERE price > 99) SELECT min(price) || '!', 1.5 * 2 FROM big"#).await,
        ["99.50!", "3.0"]
    );
    assert_eq!(
        one(r#"SELECT doc FROM "main"."t" WHERE id = 7"#).await,
        [r#"{"id":7}"#]
    );
}

#[tokio::test]
async fn columns_keep_their_types() {
    let connector = connector(&scripted(10, Pushdown::No), &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let sql = r#"SELECT id, name, price, doc, array_agg(id), date '2024-02-29', now(), NULL FROM "main"."t"
                 GROUP BY id, name, price, doc"#;
    let columns = connection.query(&statement(sql), &call()).await.unwrap();
    let types: Vec<_> = columns.iter().map(|column| column.data_type).collect();
    use DataType::{Date, Decimal, Int64, Json, Text, TimestampUtc};
    assert_eq!(
        types,
        [Int64, Text, Decimal, Json, Json, Date, TimestampUtc, Text]
    );
    assert_eq!(columns[2].native_type, "decimal(12,2)");
    let batch = connection.next(3, &call()).await.unwrap().unwrap();
    assert_eq!(batch.rows(), 3);
    connection.close(&call()).await.unwrap();
}

#[tokio::test]
async fn only_supported_filters_reach_the_source() {
    let sql = r#"SELECT name FROM "main"."t" WHERE id IN (1, 2) AND price < 5 AND length(name) > 1 LIMIT 3"#;
    for (support, filters, limit) in [
        (Pushdown::No, 0, None),
        (Pushdown::Inexact, 2, None),
        (Pushdown::Exact, 2, None),
    ] {
        let scanner = scripted(1_000, support);
        rows(&connector(&scanner, &settings()), sql).await.unwrap();
        let scan = lock(&scanner.log).scans.remove(0);
        assert_eq!(
            (scan.filters.len(), scan.limit),
            (filters, limit),
            "{support:?}"
        );
        assert!(scan.columns.len() < 4, "only what is needed is read");
    }

    let scanner = scripted(1_000, Pushdown::Exact);
    let sql = r#"SELECT name FROM "main"."t" WHERE price = 5.5 LIMIT 3"#;
    rows(&connector(&scanner, &settings()), sql).await.unwrap();
    let scan = lock(&scanner.log).scans.remove(0);
    let exact = Filter {
        column: String::from("price"),
        op: FilterOp::Eq,
        values: vec![Value::Decimal(String::from("5.50"))],
    };
    assert_eq!((scan.filters, scan.limit), (vec![exact], Some(3)));
    assert_eq!(scan.columns.len(), 1);
}

#[tokio::test]
async fn exact_filter_is_trusted_and_inexact_one_is_checked() {
    let sql = r#"SELECT count(*) FROM "main"."t" WHERE id = 3"#;
    for (support, found) in [
        (Pushdown::Exact, "1000"),
        (Pushdown::Inexact, "1"),
        (Pushdown::No, "1"),
    ] {
        let connector = connector(&scripted(1_000, support), &settings());
        assert_eq!(
            rows(&connector, sql).await.unwrap(),
            [[found]],
            "{support:?}"
        );
    }
}

#[tokio::test]
async fn a_scan_is_a_count_if_no_column_is_needed() {
    let scanner = scripted(10, Pushdown::No);
    let connector = connector(&scanner, &settings());
    for (item, is_count) in [("count(*)", true), ("count(name)", false)] {
        let sql = format!(r#"SELECT {item} FROM "main"."t""#);
        rows(&connector, &sql).await.unwrap();
        let scan = lock(&scanner.log).scans.pop().unwrap();
        assert_eq!((scan.is_count, scan.columns.len()), (is_count, 1), "{sql}");
    }
}

#[tokio::test]
async fn limit_ends_the_scan_and_returns_the_source() {
    let scanner = scripted(1_000, Pushdown::No);
    let connector = connector(&scanner, &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    for _ in 0..3 {
        let sql = r#"SELECT id FROM "main"."endless" LIMIT 2"#;
        connection.query(&statement(sql), &call()).await.unwrap();
        assert_eq!(
            connection.next(10, &call()).await.unwrap().unwrap().rows(),
            2
        );
        assert!(connection.next(10, &call()).await.unwrap().is_none());
        connection.close(&call()).await.unwrap();
    }
    // Left in the middle, the scan is closed as well.
    let sql = r#"SELECT id FROM "main"."endless""#;
    connection.query(&statement(sql), &call()).await.unwrap();
    connection.next(10, &call()).await.unwrap().unwrap();
    connection.close(&call()).await.unwrap();
    assert_eq!(lock(&scanner.log).open, 0);
    let sql = r#"SELECT count(*) FROM "main"."t""#;
    connection.query(&statement(sql), &call()).await.unwrap();
}

#[tokio::test]
async fn source_error_fails_the_statement_and_keeps_the_source() {
    let connector = connector(&scripted(10, Pushdown::No), &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let sql = r#"SELECT sum(id) FROM "main"."broken""#;
    connection.query(&statement(sql), &call()).await.unwrap();
    let error = connection.next(10, &call()).await.unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::UpstreamError, "the file ends")
    );
    let sql = r#"SELECT sum(id) FROM "main"."t""#;
    connection.query(&statement(sql), &call()).await.unwrap();
    assert!(connection.next(10, &call()).await.unwrap().is_some());
}

#[tokio::test]
async fn invalid_statement_is_refused_with_the_reason() {
    for (sql, code, message) in [
        (r#"SELECT nme FROM "main"."t""#, Code::SqlInvalid, "nme"),
        (
            r#"SELECT id + name FROM "main"."t" WHERE name = 'x' AND id / 0 = 1"#,
            Code::SqlInvalid,
            "",
        ),
        (
            r#"SELECT * FROM "main"."nothing""#,
            Code::UpstreamError,
            "no table",
        ),
        ("SELECT * FROM t", Code::SqlInvalid, "t"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
            Code::SqlNotSupported,
            "",
        ),
    ] {
        let error = refused(sql).await;
        assert_eq!(error.code(), code, "{sql}: {error}");
        assert!(error.message().contains(message), "{sql}: {error}");
    }
}

#[tokio::test]
async fn session_has_only_the_tables_even_without_the_guard() {
    for sql in [
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM \"/etc/passwd\"",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM generate_series(1, 10)",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "CREATE TABLE x AS SELECT 1",
        "COPY (SELECT 1) TO '/tmp/x.csv'",
        "INSERT INTO \"main\".\"t\" VALUES (1)",
        "SET datafusion.execution.batch_size = 1",
        "SHOW ALL",
        "EXPLAIN SELECT 1",
        "DESCRIBE \"main\".\"t\"",
        "SELECT arrow_cast('1', 'Int8')",
        "SELECT version()",
        "SELECT @@version",
        "SELECT 1; SELECT 2",
        "PREPARE p AS SELECT 1",
    ] {
        let error = refused(sql).await;
        assert!(
            matches!(
                error.code(),
                Code::SqlInvalid | Code::SqlNotSupported | Code::UpstreamError
            ),
            "{sql}: {error}"
        );
    }
}

#[tokio::test]
async fn repeated_doubling_of_text_is_refused() {
    let mut doubled = String::from("WITH t0 AS (SELECT 'abcdefgh' AS s)");
    for level in 1..40 {
        doubled += &format!(", t{level} AS (SELECT s || s AS s FROM t{})", level - 1);
    }
    doubled += " SELECT length(s) FROM t39";
    for sql in [
        doubled.as_str(),
        "SELECT length(repeat('x', 2000000000))",
        "SELECT length(lpad('x', 2000000000, 'y'))",
        "SELECT length(replace(repeat('a', 100000), 'a', repeat('b', 100000)))",
        r#"SELECT concat(repeat(name, 100000), doc) FROM "main"."t""#,
    ] {
        let error = refused(sql).await;
        assert_eq!(error.code(), Code::ResultTooLarge, "{error}");
    }
}

#[tokio::test]
async fn repeated_row_of_a_join_is_not_copied_at_once() {
    // A text of a megabyte, hundreds of times: each statement would hold more than it may if it did.
    let long = "CROSS JOIN (SELECT repeat('x', 1000000) AS s) AS l";
    let connector = connector(&scripted(600, Pushdown::No), &settings());
    for (select, expected) in [
        ("sum(length(upper(l.s)))", "600000000"),
        ("sum(length(l.s || t.name))", "540003240"),
        ("count(DISTINCT lower(l.s))", "1"),
    ] {
        let sql = format!(r#"SELECT {select} FROM "main"."t" AS t {long}"#);
        assert_eq!(rows(&connector, &sql).await.unwrap(), [[expected]], "{sql}");
    }
    let sql = format!(r#"SELECT l.s FROM "main"."t" AS t {long}"#);
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    connection.query(&statement(&sql), &call()).await.unwrap();
    let batch = connection.next(8_192, &call()).await.unwrap().unwrap();
    assert!(batch.bytes() < 64 << 20, "{} bytes at once", batch.bytes());
}

/// Statements that would run for hours.
const FOREVER: [&str; 5] = [
    r#"SELECT count(*) FROM "main"."endless""#,
    r#"SELECT count(*) FROM "main"."t" AS a, "main"."t" AS b, "main"."t" AS c, "main"."t" AS d"#,
    r#"SELECT count(*) FROM "main"."t" AS a JOIN "main"."t" AS b ON a.id < b.id JOIN "main"."t" AS c ON b.id <> c.id JOIN "main"."t" AS d ON c.id <> d.id"#,
    r#"SELECT sum(a.id * b.id) FROM "main"."t" AS a JOIN "main"."t" AS b ON a.name = b.name JOIN "main"."t" AS c ON b.name = c.name"#,
    r#"SELECT * FROM "main"."endless" WHERE id < 0"#,
];

#[tokio::test]
async fn dropped_statement_releases_its_thread() {
    let scanner = scripted(20_000, Pushdown::No);
    let connector = connector(&scanner, &settings());
    for sql in FOREVER {
        let cancel = CancellationToken::new();
        let call = Call::new(Duration::from_secs(60), cancel.clone());
        let mut connection = connector.connect(&target(), &call).await.unwrap();
        connection.query(&statement(sql), &call).await.unwrap();
        let before = lock(&scanner.log).given;
        let (next, ()) = tokio::join!(connection.next(10, &call), async {
            // The statement has read a whole table, so it is at work.
            while lock(&scanner.log).given < before + 20_000 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
        assert_eq!(next.unwrap_err().code(), Code::Cancelled, "{sql}");
        drop(connection);
        // There is one thread: this answers when it is free again.
        let free = rows(&connector, r#"SELECT count(*) FROM "main"."t" LIMIT 1"#);
        let free = tokio::time::timeout(Duration::from_secs(20), free).await;
        free.unwrap_or_else(|_| panic!("{sql} runs on")).unwrap();
    }
    connector.engine.tasks.close();
    connector.engine.tasks.wait().await;
    assert_eq!(lock(&scanner.log).open, 0, "every scan was closed");
}

#[tokio::test]
async fn statement_ends_at_its_deadline() {
    let connector = connector(&scripted(20_000, Pushdown::No), &settings());
    let mut connection = connector.connect(&target(), &call()).await.unwrap();
    let short = Statement {
        timeout: Duration::from_millis(100),
        ..statement(FOREVER[0])
    };
    // On a busy machine already while it is planned.
    let error = match connection.query(&short, &call()).await {
        Ok(_) => connection.next(10, &call()).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.code(), Code::Timeout);
}

#[tokio::test]
async fn plan_larger_than_its_text_is_refused() {
    // Each level mentions the one before twice: the filter at the top would be two to the fortieth as long at the
    // bottom.
    let mut deep = String::from(r#"WITH t0 AS (SELECT id AS x FROM "main"."t")"#);
    for level in 1..40 {
        deep += &format!(", t{level} AS (SELECT x + x AS x FROM t{})", level - 1);
    }
    deep += " SELECT x FROM t39 WHERE x > 5";
    let connector = connector(&scripted(10, Pushdown::No), &settings());
    let planned = tokio::time::timeout(Duration::from_secs(30), rows(&connector, &deep)).await;
    drop(planned.expect("a plan in time"));
    // And here each level reads the one before twice.
    let mut wide = String::from(r#"WITH t0 AS (SELECT id AS x FROM "main"."t")"#);
    for level in 1..30 {
        let below = level - 1;
        wide += &format!(", t{level} AS (SELECT a.x FROM t{below} AS a, t{below} AS b)");
    }
    wide += " SELECT count(*) FROM t29";
    let planned = tokio::time::timeout(Duration::from_secs(30), rows(&connector, &wide)).await;
    let error = planned.expect("an answer in time").unwrap_err();
    assert_eq!(error.code(), Code::SqlNotSupported, "{error}");
}
