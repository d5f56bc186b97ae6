//! A datasource of the engine `mysql`, from its catalog to an export, over a real MariaDB.

use mindhost_tests::{Host, MariaDatabase, MariaDb, Mind, eventually, json};

use super::pages;

const SHOP: &str = "
    CREATE TABLE customer (
        id int unsigned PRIMARY KEY, name varchar(40) NOT NULL COMMENT 'how they sign', vip boolean) COMMENT 'who buys';
    CREATE TABLE sale (
        id bigint unsigned PRIMARY KEY, customer int unsigned, total decimal(12,2), at datetime(3),
        CONSTRAINT buyer FOREIGN KEY (customer) REFERENCES customer (id));
    INSERT INTO customer VALUES (1, 'Ada', true), (2, 'Chloé', false);
    INSERT INTO sale SELECT seq, 1 + seq % 2, seq / 100, '2024-01-01' + INTERVAL seq SECOND FROM seq_1_to_25000;
    ANALYZE TABLE sale;";

async fn shop() -> (Host, Mind, MariaDatabase) {
    let database = MariaDb::shared().database(SHOP).await;
    let host = Host::start().await;
    let data = database.connection_data();
    host.datasource("shop", "mysql", data).await.load().await;
    let mind = host.mind("sales").datasource("shop");
    let mind = mind.direct_queries().create().await;
    (host, mind, database)
}

#[tokio::test]
async fn its_catalog_has_types_comments_and_keys() {
    let (host, _mind, database) = shop().await;
    let catalog = host.get("/datasources/shop/catalog").await;
    let catalog = catalog.expect_status(200).json();
    let tables = catalog["tables"].as_array().unwrap();
    let table = |name: &str| {
        let found = tables.iter().find(|table| table["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {catalog}"))
    };
    let customer = table("customer");
    assert_eq!(customer["schema"], database.name);
    assert_eq!(customer["source_description"], "who buys");
    let columns = customer["columns"].as_array().unwrap();
    assert_eq!(columns[1]["source_description"], "how they sign");
    let text = table("sale").to_string();
    assert!(
        text.contains("buyer") && text.contains("decimal(12,2)"),
        "{text}"
    );
}

#[tokio::test]
async fn a_statement_is_answered_paged_and_exported() {
    let (host, mind, _database) = shop().await;
    let sql = "SELECT c.name, c.vip, s.total FROM sale s JOIN customer c ON c.id = s.customer
        WHERE s.id <= 2 ORDER BY s.id";
    assert_eq!(
        mind.rows(sql).await,
        [
            vec![json!("Chloé"), json!(false), json!("0.01")],
            vec![json!("Ada"), json!(true), json!("0.02")],
        ]
    );
    let reply = mind.sql("SELECT id, at FROM sale ORDER BY id").await;
    let response = reply.expect_status(200).json();
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    );
    let page = host
        .get(&format!("{path}/result?limit=2&offset=24999"))
        .await;
    let page = page.expect_status(200).json();
    assert_eq!(page["total"], 25_000, "{page}");
    assert_eq!(
        page["result"]["data"],
        json!([[25_000, "2024-01-01T06:56:40"]])
    );
    let csv = host
        .get(&format!("{path}/export"))
        .await
        .expect_status(200)
        .text();
    assert_eq!(csv.lines().count(), 25_001);
    assert!(
        csv.lines().nth(1).unwrap().starts_with("1,2024-01-01"),
        "{csv:.200}"
    );
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_statement() {
    let (host, mind, database) = shop().await;
    let slow =
        "SELECT COUNT(*) FROM sale a JOIN sale b JOIN sale c WHERE a.total + b.total < c.total";
    let tool = json!({"type": "sql_query", "query": slow});
    let body = json!({"model": mind.name, "tools": [tool]});
    let client = tokio::spawn(host.post("/responses", body).attempt());
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST
         WHERE USER = '{}' AND COMMAND = 'Query' AND INFO LIKE '%total%' AND ID <> CONNECTION_ID()",
        database.name
    );
    let count = async || database.run(&running).await.trim().to_owned();
    eventually(count, |count| count == "1").await;
    client.abort();
    eventually(count, |count| count == "0").await;
    assert_eq!(
        mind.rows("SELECT COUNT(*) FROM sale").await,
        [[json!(25_000)]]
    );
}

#[tokio::test]
async fn a_killed_statement_is_not_run_again() {
    let (_host, mind, database) = shop().await;
    let slow =
        "SELECT COUNT(*) FROM sale a JOIN sale b JOIN sale c WHERE a.total + b.total < c.total";
    // A statement whose page was complete before is sent without a snapshot, over the connection that it used.
    database.run("DELETE FROM sale").await;
    assert_eq!(mind.rows(slow).await, [[json!(0)]]);
    let fill = "INSERT INTO sale SELECT seq, 1, seq / 100, '2024-01-01' FROM seq_1_to_25000";
    database.run(fill).await;
    let running = format!(
        "SELECT ID FROM information_schema.PROCESSLIST
         WHERE USER = '{}' AND COMMAND = 'Query' AND INFO LIKE '%total%' AND ID <> CONNECTION_ID()",
        database.name
    );
    let session = async || database.run(&running).await.trim().to_owned();
    let kill = async {
        let id = eventually(session, |id| !id.is_empty()).await;
        database.run(&format!("KILL {id}")).await;
    };
    let (reply, ()) = tokio::join!(mind.sql(slow), kill);
    reply.expect_error(503, "upstream_unreachable");
    eventually(session, String::is_empty).await;
}

#[tokio::test]
async fn what_the_account_could_do_is_refused() {
    let (_host, mind, database) = shop().await;
    for (sql, code) in [
        ("DELETE FROM sale", "sql_not_read_only"),
        ("SELECT SLEEP(10)", "sql_function_not_allowed"),
        ("SELECT * FROM mysql.user", "sql_table_not_allowed"),
    ] {
        mind.sql(sql).await.expect_error(400, code);
    }
    assert_eq!(database.run("SELECT COUNT(*) FROM sale").await, "25000\n");
}

#[tokio::test]
async fn rows_with_equal_sort_keys_are_on_one_page_each() {
    let (_host, mind, _database) = shop().await;
    // 25,000 rows with two keys.
    let sql = "SELECT id, customer FROM sale ORDER BY customer";
    pages::each_row_is_on_one_page(&mind, sql, 25_000).await;
    let sql = "SELECT * FROM sale ORDER BY customer";
    pages::each_row_is_on_one_page(&mind, sql, 25_000).await;
}
