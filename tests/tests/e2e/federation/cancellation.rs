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
    let files = format!("/proc/{}/fd", host.pid());
    let running = async || {
        let open = std::fs::read_dir(&files).unwrap();
        let open = open.filter_map(|one| std::fs::read_link(one.unwrap().path()).ok());
        open.filter(|path| path.ends_with("part.csv")).count()
    };
    eventually(running, |running| *running == 0).await;
    leave(&mind, SLOW, running).await;
    let sql = "SELECT p.id FROM big.part p JOIN own.few f ON f.id = p.id ORDER BY p.id";
    assert_eq!(mind.rows(sql).await, [[json!(1)], [json!(2)]]);
}
