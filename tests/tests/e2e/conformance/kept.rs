//! The plugins of this repository keep the contract.

use mindhost_tests::{ClickHouse, MariaDb, Postgres, ScriptedModel, Turn, Vendor, json};

use super::{built, config, plugin, plugin_async, shop, stdout};

/// The kit passes, and passes over nothing but the named cases.
#[track_caller]
fn check(output: &std::process::Output, skipped: &[&str]) {
    let report = stdout(output);
    assert!(output.status.success(), "{report}{}", super::stderr(output));
    let passed_over: Vec<_> = report
        .lines()
        .filter_map(|line| line.strip_prefix("skip  ")?.split_whitespace().next())
        .collect();
    assert_eq!(passed_over, skipped, "{report}");
}

#[test]
fn the_connector_of_sqlite() {
    let dir = shop();
    let sqlite = built("connector-sqlite");
    let args = [
        "test",
        &sqlite,
        "--config",
        "conformance.toml",
        "--junit",
        "report.xml",
    ];
    let temporary = tempfile::tempdir().unwrap();
    let output = super::command(dir.path(), &args)
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    let after = std::fs::read_dir(temporary.path()).unwrap();
    assert_eq!(after.count(), 0, "the kit keeps no files");
    // It holds no credentials, reaches no network, and SQLite keeps no statistics that the host could use.
    let skipped = [
        "bad-credentials",
        "unreachable",
        "stranger",
        "statistics",
        "lost-idle",
        "lost-midway",
    ];
    check(&output, &skipped);
    let junit = std::fs::read_to_string(dir.path().join("report.xml")).unwrap();
    assert!(
        junit.contains(r#"name="snapshot-sees-one-state""#),
        "{junit}"
    );
}

#[test]
fn the_connector_of_csv_files() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sales")).unwrap();
    let rows = "id,name,price\n1,tea,2.5\n2,salt,\n3,\"it's, rare\",1.0\n3,tea,7.25\n";
    std::fs::write(dir.path().join("sales/item.csv"), rows).unwrap();
    // As a server, the kit takes a name with or without its schema.
    let values = ["files.item", "item"].map(|table| {
        let price = format!("SELECT price FROM {table} WHERE id = 1");
        json!({"sql": price, "type": "float64", "value": 2.5})
    });
    let data = json!({"connection_data": {"path": "sales"}, "tests": {"values": values}});
    let data = config(dir.path(), &data);
    let output = plugin(
        dir.path(),
        &["test", &built("connector-files"), "--config", data],
    );
    let report = stdout(&output);
    // What took no time could not be cancelled, and was not tested. Where the machine does much else it takes some.
    let was_over = report.contains("nothing was tried: every scan was over within 300 ms");
    let passed = report.contains("pass  scan-cancel ");
    assert!(was_over != passed, "{report}");
    let mut skipped = vec!["bad-credentials", "unreachable", "stranger", "statistics"];
    skipped.extend(was_over.then_some("scan-cancel"));
    skipped.push("lost-scan");
    check(&output, &skipped);
    assert!(report.contains("1 table\n"), "{report}");
    for case in ["projection", "filters", "limit"] {
        assert!(report.contains(&format!("pass  {case} ")), "{report}");
    }
}

/// A file that another program wrote, for the tests of the connector.
fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../plugins/connector-files/fixture"
    );
    std::fs::read(std::path::Path::new(folder).join(name)).unwrap()
}

type Files = Vec<(&'static str, Vec<u8>)>;

const ROWS: &str = "id,name,price,day\n1,tea,2.5,2024-02-29\n2,salt,,\n3,rare,1.0,2024-03-01\n";
const LINES: &str =
    "{\"id\": 1, \"name\": \"tea\", \"tags\": [\"a\"], \"at\": \"2024-02-29T12:00:00Z\"}
{\"id\": 2, \"name\": null, \"ok\": true}\n{\"id\": 3, \"name\": \"\", \"tags\": {\"b\": 1.50}}\n";

/// A file of each format, which is a table.
fn single_files() -> Files {
    vec![
        ("tabs.tsv", ROWS.replace(',', "\t").into_bytes()),
        ("lines.jsonl", LINES.as_bytes().to_vec()),
        ("parquet_1.parquet", fixture("duckdb_snappy.parquet")),
        ("parquet_2.parquet", fixture("duckdb_v2.parquet")),
        ("int96.parquet", fixture("pyarrow_int96.parquet")),
        ("arrow.arrow", fixture("pyarrow_uncompressed.feather")),
        ("compressed.feather", fixture("pyarrow_lz4.feather")),
    ]
}

/// Directories of each format, whose names are partitions; each is a table.
fn partitions() -> Files {
    vec![
        ("rows/year=2023/a.csv", ROWS.as_bytes().to_vec()),
        ("rows/year=2024/a.csv", ROWS.as_bytes().to_vec()),
        ("rows/year=2024/b.csv", b"id,name\n9,milk\n".to_vec()),
        (
            "rows/year=__HIVE_DEFAULT_PARTITION__/a.csv",
            ROWS.as_bytes().to_vec(),
        ),
        (
            "lines/place=north/day=2024-02-29/a.jsonl",
            LINES.as_bytes().to_vec(),
        ),
        (
            "lines/place=south/day=2024-03-01/a.jsonl",
            LINES.as_bytes().to_vec(),
        ),
        (
            "parquet/place=north/a.parquet",
            fixture("duckdb_zstd.parquet"),
        ),
        (
            "parquet/place=south/a.parquet",
            fixture("duckdb_gzip.parquet"),
        ),
        ("arrow/n=1/a.arrow", fixture("pyarrow_zstd.feather")),
        ("arrow/n=2/a.arrow", fixture("pyarrow_zstd.feather")),
    ]
}

fn kit_passes_on_files(files: &Files, tables: usize) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = dir.path().join("sales").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let data = config(dir.path(), &json!({"connection_data": {"path": "sales"}}));
    let args = ["test", &built("connector-files"), "--config", data];
    let output = plugin(dir.path(), &args);
    let report = stdout(&output);
    assert!(output.status.success(), "{report}");
    assert!(report.contains(&format!("{tables} tables\n")), "{report}");
    for case in [
        "describe",
        "projection",
        "filters",
        "limit",
        "batches-agree",
    ] {
        assert!(report.contains(&format!("pass  {case} ")), "{report}");
    }
}

#[test]
fn the_connector_of_files_in_each_format() {
    kit_passes_on_files(&single_files(), 7);
}

#[test]
fn the_connector_of_files_in_partitions() {
    kit_passes_on_files(&partitions(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connector_of_postgres() {
    let database = Postgres::shared()
        .database(
            "CREATE TABLE item (id bigint PRIMARY KEY, name text NOT NULL, price numeric(12,2), at timestamptz);
             INSERT INTO item VALUES (1, 'tea', 2.50, now()), (2, 'salt', NULL, NULL);
             CREATE TABLE note (item bigint REFERENCES item, text varchar(20), dropped int);
             ALTER TABLE note DROP COLUMN dropped;
             INSERT INTO note VALUES (1, 'green');
             ANALYZE",
        )
        .await;
    let dir = tempfile::tempdir().unwrap();
    let data = config(
        dir.path(),
        &json!({"connection_data": database.connection_data()}),
    );
    let postgres = built("connector-postgres");
    let output = plugin_async(dir.path(), &["test", &postgres, "--config", data]).await;
    check(&output, &["snapshot-sees-one-state"]);
}

/// The tables that the kit reads, for a database of the test's own.
const ITEMS: &str = "CREATE DATABASE kept
;;
CREATE TABLE kept.item (id UInt64, name String, price Nullable(Decimal(12, 2)), at DateTime) ENGINE = MergeTree ORDER BY id
;;
INSERT INTO kept.item VALUES (1, 'tea', 2.50, '2024-01-02 03:04:05'), (2, 'salt', NULL, '2024-01-02 03:04:05')
;;
CREATE TABLE kept.note (item UInt64, text String) ENGINE = Memory
;;
INSERT INTO kept.note VALUES (1, 'green')";

async fn kit_passes_on(server: &ClickHouse) {
    let dir = tempfile::tempdir().unwrap();
    let mut data = server.connection_data();
    data["database"] = json!("kept");
    let data = config(dir.path(), &json!({"connection_data": data}));
    let clickhouse = built("connector-clickhouse");
    let output = plugin_async(dir.path(), &["test", &clickhouse, "--config", data]).await;
    check(&output, &["statistics", "snapshot-sees-one-state"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connector_of_clickhouse() {
    kit_passes_on(&ClickHouse::new(ITEMS)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connector_of_an_old_clickhouse() {
    let server = ClickHouse::old();
    server.run(ITEMS).await;
    kit_passes_on(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connector_of_mysql() {
    let database = MariaDb::shared()
        .database(
            "CREATE TABLE item (
                 id bigint unsigned PRIMARY KEY, name text NOT NULL, price decimal(12,2), at timestamp NULL);
             INSERT INTO item VALUES (1, 'tea', 2.50, now()), (2, 'salt', NULL, NULL);
             CREATE TABLE note (item bigint unsigned REFERENCES item (id), text varchar(20));
             INSERT INTO note VALUES (1, 'green');
             ANALYZE TABLE item",
        )
        .await;
    let dir = tempfile::tempdir().unwrap();
    let data = config(
        dir.path(),
        &json!({"connection_data": database.connection_data()}),
    );
    let mysql = built("connector-mysql");
    let output = plugin_async(dir.path(), &["test", &mysql, "--config", data]).await;
    check(&output, &["statistics", "snapshot-sees-one-state"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connector_of_sql_server() {
    let double = tds_double::Double::start(
        "CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, price decimal(12,2));
         INSERT INTO dbo.item VALUES (1, N'tea', '2.50'), (2, N'salt', NULL)",
    );
    let dir = tempfile::tempdir().unwrap();
    let running = "SELECT count(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID \
                   AND text LIKE '%mindhost_conformance_slow%' AND text NOT LIKE '%dm_exec%'";
    let data = json!({
        "host": "localhost", "port": double.port(), "user": tds_double::USER,
        "password": tds_double::PASSWORD, "database": tds_double::DATABASE,
    });
    let data = config(
        dir.path(),
        &json!({"connection_data": data, "tests": {"running": running}}),
    );
    let mssql = built("connector-mssql");
    let output = plugin_async(dir.path(), &["test", &mssql, "--config", data]).await;
    // The host cuts pages and samples rows.
    let skipped = ["statistics", "paging", "snapshot-sees-one-state"];
    check(&output, &skipped);
    assert_eq!(double.value("SELECT COUNT(*) FROM dbo.item"), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_for_openai() {
    let dir = tempfile::tempdir().unwrap();
    let turns = (0..40).map(|_| Turn::text("Hello."));
    let model = ScriptedModel::start(turns).await;
    let data = config(
        dir.path(),
        &json!({"connection_data": model.connection_data()}),
    );
    let openai = built("model-openai");
    let output = plugin_async(dir.path(), &["test", &openai, "--config", data]).await;
    check(&output, &["tool-call"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_calls_tools() {
    let dir = tempfile::tempdir().unwrap();
    let call = Turn::call("lookup", json!({"key": "colour"}));
    let model = ScriptedModel::start([call, Turn::text("Green.")]).await;
    let data = config(
        dir.path(),
        &json!({"connection_data": model.connection_data()}),
    );
    let openai = built("model-openai");
    let args = ["test", &openai, "--config", data, "--filter", "tool-call"];
    let output = plugin_async(dir.path(), &args).await;
    check(&output, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_for_anthropic() {
    let dir = tempfile::tempdir().unwrap();
    let vendor = Vendor::Anthropic;
    let turns = (0..40).map(|_| vendor.transcript("answer"));
    let model = ScriptedModel::of(vendor, turns).await;
    let data = config(
        dir.path(),
        &json!({"connection_data": model.connection_data()}),
    );
    let anthropic = built("model-anthropic");
    let output = plugin_async(dir.path(), &["test", &anthropic, "--config", data]).await;
    check(&output, &["tool-call"]);

    let model = ScriptedModel::of(
        vendor,
        ["lookup", "answer"].map(|name| vendor.transcript(name)),
    )
    .await;
    let data = config(dir.path(), &model.connection_data());
    let args = [
        "test",
        &anthropic,
        "--config",
        data,
        "--filter",
        "tool-call",
    ];
    let output = plugin_async(dir.path(), &args).await;
    check(&output, &[]);
}

#[test]
fn the_model_that_works_offline() {
    let dir = tempfile::tempdir().unwrap();
    let output = plugin(dir.path(), &["test", &built("model-offline")]);
    let skipped = [
        "usage",
        "tool-call",
        "bad-credentials",
        "unreachable",
        "stranger",
        "reconnect",
    ];
    check(&output, &skipped);
}
