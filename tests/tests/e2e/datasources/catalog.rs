//! `/datasources/{name}/catalog`: what it shows, how it is loaded, what a caller may change.

mod edit;
mod fields;
mod refused;
mod runs;

use mindhost_tests::{
    Datasource, Host, MariaDb, Postgres, PostgresDatabase, Reply, Value, eventually, json,
};
use tokio_postgres::Client;

/// A shop in SQLite.
const SHOP: &str = "
    CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT DEFAULT 'Bern');
    CREATE TABLE item (
        customer INTEGER NOT NULL CONSTRAINT of_customer REFERENCES customer (id),
        number INTEGER NOT NULL, price REAL, note TEXT,
        CONSTRAINT item_key PRIMARY KEY (customer, number));
    CREATE VIEW cheap AS SELECT * FROM item WHERE price < 10;
    INSERT INTO customer VALUES (1, 'Ada', 'Bern'), (2, 'Bob', 'Basel'), (3, 'Cleo', NULL), (4, 'Dan', 'Bern');
    INSERT INTO item VALUES (1, 1, 5.5, NULL), (1, 2, 20, NULL), (2, 1, -1, NULL);
";

/// Posts to the catalog.
async fn post(datasource: &Datasource, path: &str, body: Value) -> Reply {
    let path = format!("{}/{path}", datasource.catalog_path());
    datasource.host().post(&path, body).await
}

fn table<'a>(catalog: &'a Value, name: &str) -> &'a Value {
    let tables = catalog["tables"].as_array().expect("an array of tables");
    tables
        .iter()
        .find(|table| table["name"] == name)
        .unwrap_or_else(|| panic!("no table {name} in {catalog}"))
}

fn column<'a>(table: &'a Value, name: &str) -> &'a Value {
    let columns = table["columns"].as_array().expect("an array of columns");
    columns
        .iter()
        .find(|column| column["name"] == name)
        .unwrap_or_else(|| panic!("no column {name} in {table}"))
}

/// Reads the catalog until it is as expected.
async fn until(datasource: &Datasource, expected: impl Fn(&Value) -> bool) -> Value {
    eventually(async || datasource.catalog().await, expected).await
}

/// A PostgreSQL database in which the table `z` is locked as long as the client is kept, and `a` is not.
async fn with_locked_table() -> (PostgresDatabase, Client) {
    let sql = "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE z (id int PRIMARY KEY); INSERT INTO a VALUES (1)";
    let database = Postgres::shared().database(sql).await;
    let client = database.client().await;
    client
        .batch_execute("BEGIN; LOCK TABLE z IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    (database, client)
}

/// A host that waits long for a locked table.
async fn patient_host() -> Host {
    Host::builder()
        .env("MINDHOST_CATALOG__SAMPLE_TIME", "50s")
        .start()
        .await
}

async fn cancel(datasource: &Datasource) -> Value {
    post(datasource, "cancel?wait=30", json!({}))
        .await
        .expect_status(200)
        .json()
}
