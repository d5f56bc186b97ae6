//! A client leaves during a statement over several datasources: the part of each engine ends. PostgreSQL and MariaDB
//! are in [`super::limits`], Trino is in the tests of its connector.

use std::fmt::Write as _;

use mindhost_tests::{ClickHouse, Host, Mind, eventually};
use serde_json::json;
use tds_double::{DATABASE, Double, PASSWORD, USER};

const FEW: &str = "CREATE TABLE few (id INTEGER); INSERT INTO few VALUES (1), (2);";

/// A Mind over the datasource `big` and a small one in SQLite.
async fn beside_few(host: &Host) -> Mind {
    host.sqlite("own", FEW).await.load().await;
    let mind = host.mind("both").datasource("big").datasource("own");
    mind.direct_queries().create().await
}

/// Sends a statement, leaves once its part runs in the engine, and waits until it runs there no more.
async fn leave(mind: &Mind, sql: &str, running: impl AsyncFn() -> usize) {
    let tool = json!({"type": "sql_query", "query": sql});
    let body = json!({"model": mind.name, "tools": [tool]});
    let asked = mind.host().post("/responses", body);
    tokio::select! {
        reply = asked => panic!("the statement has ended by itself: {}", reply.text()),
        _ = eventually(async || running().await, |running| *running > 0) => {}
    }
    eventually(async || running().await, |running| *running == 0).await;
}

#[tokio::test]
async fn client_that_leaves_ends_the_part_of_clickhouse() {
    let server = ClickHouse::new(
        "CREATE VIEW default.endless AS SELECT toInt64(number) AS id FROM numbers(1000000000000)",
    );
    let host = Host::start().await;
    let data = server.connection_data();
    host.datasource("big", "clickhouse", data)
        .await
        .load()
        .await;
    let mind = beside_few(&host).await;
    // Filtered there, so that no row comes for as long as it runs.
    let sql = "SELECT e.id FROM big.endless e JOIN own.few f ON f.id = e.id WHERE e.id < -41";
    let running = async || {
        let statements = "SELECT 1 FROM system.processes
            WHERE query LIKE '%-41%' AND query NOT LIKE '%system.processes%'";
        server.ask(statements, &[]).await.lines().count()
    };
    leave(&mind, sql, running).await;
    assert_eq!(
        mind.rows("SELECT count(*) FROM own.few").await,
        [[json!(2)]]
    );
}

/// How often the server has a file open.
fn times_open(host: &Host, file: &str) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", host.pid())).unwrap();
    let open = open.filter_map(|one| std::fs::read_link(one.unwrap().path()).ok());
    open.filter(|path| path.ends_with(file)).count()
}

/// No key joins `big.part` with itself, so the host computes for as long as it may, and reads one side slowly.
const SLOW: &str = "SELECT count(*) FROM big.part a CROSS JOIN big.part b CROSS JOIN own.few f
    WHERE a.id + length(b.filler) + f.id < 0";

#[tokio::test(flavor = "multi_thread")]
async fn client_that_leaves_ends_the_part_of_sql_server() {
    let double = Double::start(
        "CREATE TABLE dbo.part (id int NOT NULL, filler nvarchar(1000));
         INSERT INTO dbo.part
             WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 40000)
             SELECT n, printf('%.900c', 'x') FROM counted;",
    );
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("big", "mssql", data).await.load().await;
    let mind = beside_few(&host).await;
    leave(&mind, SLOW, async || double.running()).await;
    let sql = "SELECT p.id FROM big.part p JOIN own.few f ON f.id = p.id ORDER BY p.id";
    assert_eq!(mind.rows(sql).await, [[json!(1)], [json!(2)]]);
}

#[tokio::test]
async fn client_that_leaves_ends_the_part_of_files() {
    let host = Host::start().await;
    let folder = host.files_dir().join("big");
    std::fs::create_dir_all(&folder).unwrap();
    let filler = "x".repeat(900);
    let mut csv = String::from("id,filler\n");
    for id in 1..=40_000 {
        writeln!(csv, "{id},{filler}").unwrap();
    }
    std::fs::write(folder.join("part.csv"), csv).unwrap();
    let data = json!({"path": "big"});
    host.datasource("big", "csv", data).await.load().await;
    let mind = beside_few(&host).await;
    // A part of files is a file that the server has open.
    let running = async || times_open(&host, "part.csv");
    eventually(running, |running| *running == 0).await;
    leave(&mind, SLOW, running).await;
    let sql = "SELECT p.id FROM big.part p JOIN own.few f ON f.id = p.id ORDER BY p.id";
    assert_eq!(mind.rows(sql).await, [[json!(1)], [json!(2)]]);
}

#[tokio::test]
async fn client_that_leaves_ends_the_part_of_sqlite() {
    // A connection has its file open until it is closed, which an idle one is soon here.
    let host = Host::builder().env("MINDHOST_PLUGINS__IDLE_TIMEOUT", "1s");
    let host = host.start().await;
    let few = "CREATE TABLE part (id INTEGER); INSERT INTO part VALUES (1), (2);
        CREATE VIEW endless AS
            SELECT a.id + b.id + c.id AS id FROM part a CROSS JOIN part b CROSS JOIN part c";
    host.sqlite("big", few).await.load().await;
    let mind = beside_few(&host).await;
    // The parts may take longer than the test waits for their end.
    for name in ["big", "own"] {
        let limit = json!({"statement_timeout": "5m"});
        let path = format!("/datasources/{name}");
        host.patch(&path, limit).await.expect_status(200);
    }
    // After the catalog was read, so that it has not to wait for the view.
    let many = "INSERT INTO part
        WITH RECURSIVE n(id) AS (SELECT 3 UNION ALL SELECT id + 1 FROM n WHERE id < 20000) SELECT id FROM n";
    host.write_sqlite("big.db", many);
    let running = async || times_open(&host, "big.db");
    eventually(running, |running| *running == 0).await;
    // Filtered there, so that no row comes for as long as it runs.
    let sql = "SELECT e.id FROM big.endless e JOIN own.few f ON f.id = e.id WHERE e.id < -41";
    leave(&mind, sql, running).await;
    let sql = "SELECT p.id FROM big.part p JOIN own.few f ON f.id = p.id ORDER BY p.id";
    assert_eq!(mind.rows(sql).await, [[json!(1)], [json!(2)]]);
}
