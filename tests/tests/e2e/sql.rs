//! The guard's lists of statements against the real engines: what must pass gives what the engine's own client
//! gives, what must not is refused and changes nothing. Files are compared with DuckDB; for SQL Server see [`mssql`].

mod compare;
mod mssql;
mod mutations;
mod names;

use mindhost_tests::{ClickHouse, Host, MariaDatabase, MariaDb, Mind, Postgres, PostgresDatabase};
use serde_json::{Value, json};

use crate::federation::corpus;

const TABLES: [&str; 7] = [
    "customers",
    "orders",
    "order_items",
    "products",
    "categories",
    "Order Notes",
    "order_totals",
];

const POSTGRES_FIXTURE: &str = include_str!("../../sql/fixture.postgresql.sql");
const CLICKHOUSE_FIXTURE: &str = include_str!("../../sql/fixture.clickhouse.sql");
const MYSQL_FIXTURE: &str = include_str!("../../sql/fixture.mysql.sql");
const SQLITE_FIXTURE: &str = include_str!("../../sql/fixture.sqlite.sql");

/// A statement of a list, with the code that it must be refused with.
pub struct Listed {
    pub text: String,
    code: Option<String>,
}

/// Reads a list; `tests/sql/README.md` describes the form.
pub fn list(file: &str) -> Vec<Listed> {
    let mut statements = Vec::new();
    let (mut text, mut code) = (String::new(), None);
    for line in file.lines() {
        if let Some(expected) = line.strip_prefix("-- expect:") {
            code = Some(expected.trim().to_owned());
        } else if line.trim() == ";;" {
            statements.push(Listed {
                text: std::mem::take(&mut text),
                code: code.clone(),
            });
        } else if !line.starts_with("-- #") {
            text.push_str(line);
            text.push('\n');
        }
    }
    assert_eq!(text.trim(), "", "a statement without its end");
    statements
}

async fn mind_over(host: &Host, schema: &str) -> Mind {
    let tables = TABLES.map(|table| format!("{schema}.{table}"));
    host.mind("guarded")
        .tables("shop", &tables.each_ref().map(String::as_str))
        .direct_queries()
        .create()
        .await
}

async fn on_sqlite() -> (Host, Mind) {
    let host = Host::start().await;
    host.sqlite("shop", SQLITE_FIXTURE).await.load().await;
    let mind = mind_over(&host, "main").await;
    (host, mind)
}

async fn on_postgres() -> (Host, Mind, PostgresDatabase) {
    let database = Postgres::shared().database(POSTGRES_FIXTURE).await;
    let host = Host::start().await;
    host.postgres("shop", &database).await.load().await;
    let mind = mind_over(&host, "public").await;
    (host, mind, database)
}

/// The lists name the database, so all tests share one.
async fn mariadb_shop() -> MariaDatabase {
    static SHOP: tokio::sync::OnceCell<MariaDatabase> = tokio::sync::OnceCell::const_new();
    let make = || MariaDb::shared().database_named("shop", MYSQL_FIXTURE);
    SHOP.get_or_init(make).await.clone()
}

async fn on_mariadb() -> (Host, Mind, MariaDatabase) {
    let database = mariadb_shop().await;
    let host = Host::start().await;
    let data = database.connection_data();
    host.datasource("shop", "mariadb", data).await.load().await;
    let mind = mind_over(&host, "shop").await;
    (host, mind, database)
}

#[tokio::test]
async fn sqlite_gives_what_its_own_client_gives() {
    let (host, mind) = on_sqlite().await;
    let direct = rusqlite::Connection::open(host.files_dir().join("shop.db")).unwrap();
    let statements = list(include_str!("../../sql/legitimate/sqlite.sql"));
    assert!(statements.len() >= 60);
    for statement in statements {
        let result = mind.query(&statement.text).await;
        compare::with_sqlite(&direct, &statement.text, &result);
    }
}

#[tokio::test]
async fn postgresql_gives_what_its_own_client_gives() {
    let (_host, mind, database) = on_postgres().await;
    let direct = database.client().await;
    direct
        .batch_execute("SET TimeZone TO 'UTC'; SET extra_float_digits TO 3")
        .await
        .unwrap();
    let statements = list(include_str!("../../sql/legitimate/postgresql.sql"));
    assert!(statements.len() >= 60);
    for statement in statements {
        let result = mind.query(&statement.text).await;
        compare::with_postgres(&direct, &statement.text, &result).await;
    }
}

async fn on_clickhouse() -> (Host, Mind, ClickHouse) {
    let server = ClickHouse::new(CLICKHOUSE_FIXTURE);
    let host = Host::start().await;
    let data = server.connection_data();
    host.datasource("shop", "clickhouse", data)
        .await
        .load()
        .await;
    let mind = mind_over(&host, "shop").await;
    (host, mind, server)
}

#[tokio::test]
async fn clickhouse_gives_what_its_own_client_gives() {
    let (_host, mind, server) = on_clickhouse().await;
    let statements = list(include_str!("../../sql/legitimate/clickhouse.sql"));
    assert!(statements.len() >= 100);
    for statement in statements {
        let result = mind.query(&statement.text).await;
        compare::with_clickhouse(&server, &statement.text, &result).await;
    }
}

#[tokio::test]
async fn attacks_on_clickhouse_are_refused_and_change_nothing() {
    let (_host, mind, server) = on_clickhouse().await;
    // Every table with its rows; views have none.
    let everything = "SELECT database, name, engine, total_rows FROM system.tables
        WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA') ORDER BY ALL";
    let before = server.ask(everything, &[]).await;
    check_refused(&mind, include_str!("../../sql/attacks/clickhouse.sql")).await;
    assert_eq!(server.ask(everything, &[]).await, before);
}

#[tokio::test]
async fn mariadb_gives_what_its_own_client_gives() {
    let (_host, mind, database) = on_mariadb().await;
    let statements = list(include_str!("../../sql/legitimate/mysql.sql"));
    assert!(statements.len() >= 120);
    for statement in statements {
        let result = mind.query(&statement.text).await;
        let printed = database.run_with_names(&statement.text).await;
        compare::with_mariadb(&printed, &statement.text, &result);
    }
}

#[tokio::test]
async fn attacks_on_sqlite_are_refused_and_change_nothing() {
    let (host, mind) = on_sqlite().await;
    let file = host.files_dir().join("shop.db");
    let before = std::fs::read(&file).unwrap();
    check_refused(&mind, include_str!("../../sql/attacks/sqlite.sql")).await;
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn attacks_on_postgresql_are_refused_and_change_nothing() {
    let (_host, mind, database) = on_postgres().await;
    let before = everything_in(&database).await;
    check_refused(&mind, include_str!("../../sql/attacks/postgresql.sql")).await;
    assert_eq!(everything_in(&database).await, before);
}

#[tokio::test]
async fn attacks_on_mariadb_are_refused_and_change_nothing() {
    let (_host, mind, database) = on_mariadb().await;
    let everything = async || database.dump(&["shop", "audit"]).await;
    let before = everything().await;
    check_refused(&mind, include_str!("../../sql/attacks/mysql.sql")).await;
    assert_eq!(everything().await, before);
}

/// Files that are as the fixtures of the databases, a little smaller.
async fn on_files() -> (Host, Mind) {
    let host = Host::start().await;
    let folder = host.files_dir().join("files");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in [
        (
            "customers",
            "id,name,city\n1,Ada,Rome\n2,Bob,\n3,Eve,Oslo\n",
        ),
        (
            "orders",
            "id,customer_id,total,paid,placed\n1,1,12.5,true,2024-01-31\n2,1,7.25,false,2024-02-29\n3,2,30,true,2024-02-01\n",
        ),
        ("Order Notes", "Order Id,Note Text\n1,\"said \"\"hi\"\"\"\n"),
        ("salaries", "name,pay\nAda,1\n"),
    ] {
        std::fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    }
    let data = json!({"path": "files"});
    host.datasource("shop", "csv", data).await.load().await;
    let tables = ["files.customers", "files.orders", "files.Order Notes"];
    let mind = host.mind("guarded").tables("shop", &tables);
    let mind = mind.direct_queries().create().await;
    (host, mind)
}

/// A piece of each statement that DuckDB does not have, or means otherwise, and why.
const UNLIKE_DUCKDB: [(&str, &str); 7] = [
    (
        "INTERVAL '1 day'",
        "a date and an interval of days are a date, there a timestamp",
    ),
    (
        "SIMILAR TO",
        "a point is itself, as in PostgreSQL, there any character",
    ),
    (
        "1e3",
        "a number with a point or an exponent is a decimal, there a float",
    ),
    ("regexp_like", "no such function there"),
    ("approx_distinct", "no such function there"),
    ("nvl", "no such function there"),
    ("to_date", "no such function there"),
];

#[tokio::test]
async fn files_give_the_rows_of_duckdb() {
    let (host, mind) = on_files().await;
    let statements = list(include_str!("../../sql/legitimate/datafusion.sql"));
    let (unlike, alike): (Vec<String>, Vec<String>) = statements
        .into_iter()
        .map(|statement| statement.text)
        .partition(|text| UNLIKE_DUCKDB.iter().any(|(piece, _)| text.contains(piece)));
    assert_eq!(unlike.len(), UNLIKE_DUCKDB.len(), "{unlike:?}");
    assert!(alike.len() >= 50, "{}", alike.len());
    for statement in &unlike {
        let reply = mind.sql(statement).await;
        assert_eq!(reply.status, 200, "{statement}\n{}", reply.text());
    }
    let question = json!({
        "home": "shop.files",
        "schemas": {},
        "files": {"files": ["customers", "orders", "Order Notes"]},
        "statements": alike,
    });
    let answers = corpus::answers(&host, &question);
    assert_eq!(answers.len(), alike.len());
    for (statement, answer) in alike.iter().zip(&answers) {
        let result = mind.query(statement).await;
        let found = result["data"].as_array().unwrap();
        let compared = corpus::compared(statement, found, answer);
        assert_eq!(compared, Ok(()), "{statement}");
    }
}

#[tokio::test]
async fn attacks_on_files_are_refused() {
    let (_host, mind) = on_files().await;
    check_refused(&mind, include_str!("../../sql/attacks/datafusion.sql")).await;
}

async fn check_refused(mind: &Mind, file: &str) {
    let statements = list(file);
    assert!(statements.len() >= 60);
    for statement in statements {
        let reply = mind.sql(&statement.text).await;
        let body: Value = reply.json();
        assert_eq!(reply.status, 400, "{}\n{body}", statement.text);
        assert_eq!(
            body["error"]["code"].as_str(),
            statement.code.as_deref(),
            "{}\n{body}",
            statement.text
        );
    }
}

/// Every row of every table, large objects and sequences included.
async fn everything_in(database: &PostgresDatabase) -> Vec<String> {
    let client = database.client().await;
    let tables = "SELECT format(
            CASE relkind WHEN 'S' THEN 'SELECT %L, last_value::text FROM %I.%I' ELSE 'SELECT %L, t::text FROM %I.%I t ORDER BY 2' END,
            oid::regclass, relnamespace::regnamespace, relname)
        FROM pg_class
        WHERE relkind IN ('r', 'S') AND relnamespace::regnamespace::text IN ('public', 'audit') ORDER BY 1";
    let mut queries: Vec<String> =
        vec!["SELECT 'lo', oid::text FROM pg_largeobject_metadata ORDER BY 2".into()];
    for row in client.query(tables, &[]).await.unwrap() {
        queries.push(row.get(0));
    }
    let mut seen = Vec::new();
    for query in queries {
        for row in client.query(&query, &[]).await.unwrap() {
            seen.push(format!(
                "{}: {}",
                row.get::<_, String>(0),
                row.get::<_, String>(1)
            ));
        }
    }
    seen
}

#[tokio::test]
async fn page_is_as_large_as_its_rows_and_not_as_its_buffers() {
    let numbers: Vec<String> = (0..40).map(|nth| format!("i + {nth} AS c{nth}")).collect();
    let rows = format!(
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT {} FROM n",
        numbers.join(", ")
    );
    let cells: Vec<String> = (0..1_000).map(|nth| format!("{nth} AS c{nth}")).collect();
    let columns = format!("SELECT {}", cells.join(", "));
    let (host, mind) = on_sqlite().await;
    for (statement, rows, columns) in [(rows, 10_000, 40), (columns, 1, 1_000)] {
        let tool = json!({"type": "sql_query", "query": statement, "max_inline_rows": 10_000});
        let body = json!({"model": mind.name, "tools": [tool]});
        let response = host.post("/responses", body).await.expect_status(200);
        let data = &response.json()["output"][0]["data"];
        assert_eq!(data.as_array().map(Vec::len), Some(rows));
        assert_eq!(data[0].as_array().map(Vec::len), Some(columns));
    }
}
