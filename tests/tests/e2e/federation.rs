//! Statements over several datasources: one in PostgreSQL, one in SQLite, one of CSV files.

mod attacks;
mod cancellation;
mod clickhouse;
pub mod corpus;
mod joins;
mod limits;
mod mariadb;
mod meaning;
mod mssql;
mod same_rows;
mod spill;
mod sqlite;
mod tpch;
mod types;

use mindhost_tests::{Host, Mind, Postgres, PostgresDatabase, eventually};
use serde_json::{Value, json};

const CRM: &str = "
    CREATE TABLE customers (id integer PRIMARY KEY, name text, city varchar(40), credit numeric(12,2), since date);
    INSERT INTO customers VALUES
        (1, 'Ada', 'Rome', 10.50, '2020-01-31'), (2, 'bob', 'Oslo', 0.00, '2021-02-28'),
        (3, 'Eve', 'Rome', NULL, NULL), (4, 'Zoe', NULL, 99999.99, '2024-02-29');
    CREATE TABLE visits (id bigint PRIMARY KEY, customer_id integer, seconds integer);
    INSERT INTO visits SELECT i, i % 1000, i % 7 FROM generate_series(1, 20000) i;
    CREATE TABLE salaries (id integer, pay integer);
    INSERT INTO salaries VALUES (1, 1000000);
    ANALYZE;";

const SALES: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, total DECIMAL(12,2), placed DATE,
        code TEXT COLLATE NOCASE);
    INSERT INTO orders VALUES (10, 1, 12.5, '2024-01-31', 'abc'), (11, 1, 7.25, '2024-02-29', 'ABC'),
        (12, 2, 30, '2024-02-01', NULL), (13, 9, 1, NULL, 'x');
    CREATE TABLE salaries (id INTEGER, pay INTEGER);";

const CITIES: &str = "city,country\nRome,Italy\nOslo,Norway\nParis,France\n";

struct Shop {
    host: Host,
    mind: Mind,
    database: PostgresDatabase,
}

async fn shop() -> Shop {
    let database = Postgres::shared().database(CRM).await;
    let host = Host::start().await;
    host.postgres("crm", &database).await.load().await;
    host.sqlite("sales", SALES).await.load().await;
    let folder = host.files_dir().join("world");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cities.csv"), CITIES).unwrap();
    std::fs::write(folder.join("salaries.csv"), "id,pay\n1,2\n").unwrap();
    host.datasource("world", "csv", json!({"path": "world"}))
        .await
        .load()
        .await;
    let mind = host
        .mind("all")
        .tables("crm", &["public.customers", "public.visits"])
        .tables("sales", &["main.orders"])
        .tables("world", &["files.cities"])
        .direct_queries()
        .create()
        .await;
    Shop {
        host,
        mind,
        database,
    }
}

impl Shop {
    async fn explained(&self, query: &str) -> Value {
        let tool = json!({"type": "sql_query", "query": query, "explain": true});
        let body = json!({"model": self.mind.name, "tools": [tool]});
        let response = self
            .host
            .post("/responses", body)
            .await
            .expect_status(200)
            .json();
        response["output"][0].clone()
    }
}

/// What was sent to a datasource, and the rows that came back.
fn sent<'a>(item: &'a Value, datasource: &str) -> Vec<(&'a str, u64)> {
    let sources = item["explain"]["sources"].as_array().unwrap();
    let of = sources.iter().filter(|one| one["datasource"] == datasource);
    of.map(|one| {
        let rows = one["rows"].as_u64().unwrap();
        assert_eq!(one["bytes"].as_u64().unwrap() > 0, rows > 0, "{one}");
        (one["executed_query"].as_str().unwrap(), rows)
    })
    .collect()
}

const JOIN: &str = "SELECT c.name, count(*) AS orders, sum(o.total) AS total
    FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY c.name";

#[tokio::test]
async fn statement_joins_two_datasources() {
    let shop = shop().await;
    let item = shop.mind.query(JOIN).await;
    assert_eq!(
        item["data"],
        json!([["Ada", 2, "19.75"], ["bob", 1, "30.00"]])
    );
    assert_eq!(item["total"], 2);
    assert_eq!(item["query"], JOIN);
    assert_eq!(item["snapshot"], "per_source");
    let executed = item["executed_query"].as_str().unwrap();
    assert!(
        executed.contains(r#"FROM "crm"."public"."customers" c"#),
        "{executed}"
    );
    // A statement that reads one of them goes to it, with its name or without.
    for one in [
        "SELECT count(*) FROM crm.customers",
        "SELECT count(*) FROM crm.public.customers",
    ] {
        let item = shop.mind.query(one).await;
        assert_eq!(item["data"], json!([[4]]));
        assert_eq!(item["snapshot"], Value::Null);
        let executed = item["executed_query"].as_str().unwrap();
        assert!(executed.contains("pg_catalog.count(*)"), "{executed}");
    }
}

#[tokio::test]
async fn pages_and_export_of_three_datasources_are_those_of_one_result() {
    let shop = shop().await;
    let query = "SELECT o.id, c.name, w.country FROM sales.orders o
        LEFT JOIN crm.public.customers c ON c.id = o.customer_id
        LEFT JOIN world.cities w ON w.city = c.city ORDER BY o.id";
    let response = shop.mind.sql(query).await.expect_status(200).json();
    let all = json!([
        [10, "Ada", "Italy"],
        [11, "Ada", "Italy"],
        [12, "bob", "Norway"],
        [13, null, null]
    ]);
    assert_eq!(response["output"][0]["data"], all);
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    );
    let page = shop
        .host
        .get(&format!("{path}/result?limit=2&offset=1"))
        .await;
    let page = page.expect_status(200).json();
    assert_eq!(
        page["result"]["data"],
        json!([[11, "Ada", "Italy"], [12, "bob", "Norway"]])
    );
    assert_eq!(page["total"], 4);
    assert_eq!(page["is_pagination_consistent"], true);
    assert_eq!(page["snapshot"], "per_source");
    let export = shop
        .host
        .get(&format!("{path}/export"))
        .await
        .expect_status(200);
    assert_eq!(
        export.text(),
        "id,name,country\n10,Ada,Italy\n11,Ada,Italy\n12,bob,Norway\n13,,\n"
    );
}

#[tokio::test]
async fn explain_tells_what_went_where_and_what_came_back() {
    let shop = shop().await;
    let query =
        "SELECT c.name, w.country FROM crm.customers c JOIN world.cities w ON w.city = c.city
        WHERE c.id < 3 AND w.country = 'Norway'";
    let item = shop.explained(query).await;
    assert_eq!(item["data"], json!([["bob", "Norway"]]));
    let crm = sent(&item, "crm");
    assert!(
        crm[0].0.contains(r#"FROM "public"."customers" AS t"#),
        "{crm:?}"
    );
    assert!(crm[0].0.contains(" < 3"), "{crm:?}");
    assert_eq!(crm[0].1, 2);
    let world = sent(&item, "world");
    assert!(world[0].0.contains("'Norway'"), "{world:?}");
    assert_eq!(world[0].1, 1);
    assert!(
        item["explain"]["plan"]
            .as_str()
            .unwrap()
            .contains("HashJoinExec")
    );
    // And of one datasource.
    let item = shop.explained("SELECT id FROM crm.customers").await;
    assert_eq!(
        sent(&item, "crm"),
        [(r#"SELECT id FROM "public"."customers""#, 4)]
    );
    assert_eq!(item["explain"]["sources"][0]["sent"], true);
}

#[tokio::test]
async fn joins_and_groups_within_one_datasource_are_done_there() {
    let shop = shop().await;
    let query = "SELECT w.country, v.visits FROM world.cities w JOIN
            (SELECT c.city, count(*) AS visits FROM crm.customers c JOIN crm.visits v ON v.customer_id = c.id
             GROUP BY c.city) v ON v.city = w.city ORDER BY w.country";
    let item = shop.explained(query).await;
    assert_eq!(item["data"], json!([["Italy", 40], ["Norway", 20]]));
    let crm = sent(&item, "crm");
    assert_eq!(crm.len(), 1, "{crm:?}");
    assert!(crm[0].0.contains("GROUP BY"), "{crm:?}");
    assert!(crm[0].1 <= 3, "{crm:?}");
    // Also where the text has them apart.
    let query = "SELECT count(*) FROM crm.customers c JOIN world.cities w ON w.city = c.city
        JOIN crm.visits v ON v.customer_id = c.id";
    let item = shop.explained(query).await;
    assert_eq!(item["data"], json!([[60]]));
    assert_eq!(sent(&item, "crm").len(), 1, "{item}");
}

#[tokio::test]
async fn small_side_of_a_join_is_a_filter_for_the_large_one() {
    let shop = shop().await;
    let query = "SELECT o.id, sum(v.seconds) FROM sales.orders o JOIN crm.visits v ON v.customer_id = o.customer_id
        GROUP BY o.id ORDER BY o.id";
    let item = shop.explained(query).await;
    assert_eq!(item["total"], 4);
    let crm = sent(&item, "crm");
    assert!(crm[0].0.contains(" IN ("), "{crm:?}");
    // 20 visits for each of the customers 1, 2 and 9.
    assert_eq!(crm[0].1, 60, "{crm:?}");
}

#[tokio::test]
async fn keys_of_a_small_side_reach_the_groups_that_a_datasource_joins() {
    let shop = shop().await;
    let query = "SELECT count(*) FROM sales.orders o JOIN crm.visits v ON v.customer_id = o.customer_id
        WHERE v.seconds = (SELECT max(w.seconds) FROM crm.visits w WHERE w.customer_id = o.customer_id)";
    let item = shop.explained(query).await;
    assert_eq!(item["data"], json!([[12]]));
    let crm = sent(&item, "crm");
    // One statement reads the visits and the groups, both of the customers 1, 2 and 9 alone.
    assert_eq!(crm.len(), 1, "{crm:?}");
    assert_eq!(crm[0].0.matches(" IN (").count(), 2, "{crm:?}");
    assert_eq!(crm[0].1, 9, "{crm:?}");
}

#[tokio::test]
async fn columns_without_an_alias_are_named_by_the_text_of_the_caller() {
    let shop = shop().await;
    let names = async |query: &str| shop.mind.query(query).await["column_names"].clone();
    let of_several = "SELECT c.name, upper( c.name ), COUNT(*), sum(o.total)+1, 'it''s', (c.name), sum(o.total) t
        FROM crm.customers c JOIN sales.orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY COUNT(*), c.name";
    assert_eq!(
        names(of_several).await,
        json!([
            "name",
            "upper( c.name )",
            "COUNT(*)",
            "sum(o.total)+1",
            "'it''s'",
            "name",
            "t"
        ])
    );
    // The host also runs the statements over files.
    let of_files = "SELECT DISTINCT length(city)+1, c.*, length( city ) FROM world.cities c ORDER BY length(city)+1, city";
    assert_eq!(
        names(of_files).await,
        json!(["length(city)+1", "city", "country", "length( city )"])
    );
    // The text may have anything in it, and two columns may have one name.
    let doubled =
        "SELECT city||\n'x', city||'\"', max(1), max(1) FROM world.cities GROUP BY city LIMIT 1";
    assert_eq!(
        names(doubled).await,
        json!(["city||\n'x'", "city||'\"'", "max(1)", "max(1)"])
    );
}

#[tokio::test]
async fn cancelled_statement_ends_in_every_datasource() {
    let shop = shop().await;
    let locker = shop.database.client().await;
    locker
        .batch_execute("BEGIN; LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let query = "SELECT count(*) FROM crm.visits v JOIN sales.orders o ON o.id = v.id";
    let tool = json!({"type": "sql_query", "query": query});
    let body = json!({"model": shop.mind.name, "tools": [tool]});
    let client = tokio::spawn(shop.host.post("/responses", body).attempt());
    let watcher = shop.database.client().await;
    let waiting = async || {
        let sql = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        watcher.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    eventually(&waiting, |count| *count > 0).await;
    client.abort();
    eventually(&waiting, |count| *count == 0).await;
    locker.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(shop.mind.query(JOIN).await["total"], 2);
}

#[tokio::test]
async fn failing_datasource_is_the_error_of_the_statement() {
    let shop = shop().await;
    let direct = shop.database.client().await;
    direct.batch_execute("DROP TABLE customers").await.unwrap();
    let error = shop.mind.sql(JOIN).await.json();
    assert_eq!(error["error"]["code"], "sql_invalid", "{error}");
}
