//! A datasource of SQL Server, from its catalog to an export. The server is a double that speaks the protocol.

use mindhost_tests::{Host, Mind, eventually};
use serde_json::json;
use tds_double::{DATABASE, Double, PASSWORD, USER};

const SHOP: &str = "
    CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, price decimal(12,2));
    CREATE TABLE dbo.part (item int NOT NULL REFERENCES dbo.item (id), note nvarchar(20));
    INSERT INTO dbo.item
        WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 2500)
        SELECT n, 'item ' || n, n || '.25' FROM counted;
    INSERT INTO dbo.part VALUES (1, N'green ☃');
";

/// A host with a Mind over the shop.
async fn shop() -> (Double, Host, Mind) {
    let double = Double::start(SHOP);
    double.comment("dbo", "item", None, "What is sold");
    let host = Host::start().await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("shop", "mssql", data).await.load().await;
    let mind = host
        .mind("selling")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    (double, host, mind)
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_has_columns_keys_comments_and_counts() {
    let (_double, host, _mind) = shop().await;
    let catalog = host
        .get("/datasources/shop/catalog")
        .await
        .expect_status(200)
        .json();
    let tables = catalog["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 2, "{catalog}");
    let item = tables.iter().find(|table| table["name"] == "item").unwrap();
    assert_eq!(
        (&item["schema"], &item["row_count"]),
        (&json!("dbo"), &json!(2500))
    );
    assert_eq!(item["description"], "What is sold");
    assert_eq!(item["columns"][2]["data_type"], "decimal(12,2)");
    assert_eq!(item["primary_key_constraints"][0]["column_name"], "id");
    let part = tables.iter().find(|table| table["name"] == "part").unwrap();
    assert_eq!(
        part["foreign_key_constraints"][0]["referenced_table"],
        "item"
    );
    let engine = host
        .get("/engines/sqlserver")
        .await
        .expect_status(200)
        .json();
    assert_eq!(engine["capabilities"]["paging"], "in-memory", "{engine}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_cut_in_memory_and_the_total_is_exact() {
    let (_double, host, mind) = shop().await;
    let tool = json!({
        "type": "sql_query", "query": "SELECT id, name, price FROM Item ORDER BY id", "max_inline_rows": 2,
    });
    let response = host
        .post("/responses", json!({"model": mind.name, "tools": [tool]}))
        .await
        .expect_status(200)
        .json();
    let item = &response["output"][0];
    assert_eq!(
        item["data"],
        json!([[1, "item 1", "1.25"], [2, "item 2", "2.25"]])
    );
    assert_eq!(
        (&item["total"], &item["has_more"]),
        (&json!(2500), &json!(true))
    );
    assert_eq!(
        item["executed_query"],
        "SELECT id, name, price FROM [dbo].[item] ORDER BY id"
    );
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    let page = host
        .get(&format!("{path}/result?limit=1000&offset=2000"))
        .await
        .expect_status(200)
        .json();
    assert_eq!(page["result"]["data"].as_array().unwrap().len(), 500);
    assert_eq!(page["result"]["data"][0][0], 2001);
    assert_eq!(
        (&page["total"], &page["is_pagination_consistent"]),
        (&json!(2500), &json!(true))
    );
    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    let text = export.text();
    assert!(
        text.starts_with("id,name,price\n1,item 1,1.25\n"),
        "{text:.60}"
    );
    assert_eq!(text.matches('\n').count(), 2501);
}

#[tokio::test(flavor = "multi_thread")]
async fn second_statement_without_a_semicolon_reaches_no_engine() {
    let (double, _host, mind) = shop().await;
    for statement in [
        "SELECT 1 FROM item DELETE FROM item",
        "SELECT id FROM item; DELETE FROM item",
        "SELECT * INTO copy FROM item",
    ] {
        let reply = mind.sql(statement).await;
        assert_eq!(reply.status, 400, "{statement}: {}", reply.text());
    }
    // A name to SQL Server only because the guard puts it into brackets.
    mind.query("SELECT id FROM item shutdown WHERE id = 1")
        .await;
    assert!(
        double
            .asked()
            .iter()
            .any(|text| text.contains("[dbo].[item] [shutdown]"))
    );
    assert_eq!(double.value("SELECT COUNT(*) FROM dbo.item"), "2500");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_leaves_stops_its_statement_in_the_engine() {
    let (double, host, mind) = shop().await;
    let slow = "SELECT COUNT(*) FROM GENERATE_SERIES(1, 2000000000) AS g WHERE g.value < 0";
    let tool = json!({"type": "sql_query", "query": slow});
    let body = json!({"model": mind.name, "tools": [tool]});
    let asked = host.post("/responses", body);
    tokio::select! {
        _ = asked => panic!("the statement has ended by itself"),
        _ = eventually(async || double.running(), |running| *running > 0) => {}
    }
    eventually(async || double.running(), |running| *running == 0).await;
}

/// The host keeps the page that was asked for, and no more of it than `sql.page_bytes`; it counts the rest.
#[tokio::test(flavor = "multi_thread")]
async fn page_over_the_bound_is_an_error_and_a_smaller_one_has_the_exact_total() {
    let word = "abcdefghij".repeat(60);
    let double = Double::start(&format!(
        "CREATE TABLE dbo.wide (id int NOT NULL PRIMARY KEY, body nvarchar(4000) NOT NULL);
         INSERT INTO dbo.wide
             WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 2500)
             SELECT n, '{word}' FROM counted;"
    ));
    let host = Host::builder()
        .env("MINDHOST_SQL__PAGE_BYTES", "1048576")
        .start()
        .await;
    let data = json!({
        "host": "localhost", "port": double.port(), "user": USER, "password": PASSWORD, "database": DATABASE,
    });
    host.datasource("shop", "mssql", data).await.load().await;
    let mind = host.mind("wide").datasource("shop").direct_queries();
    let mind = mind.create().await;
    let ask = async |rows: u32| {
        let query = "SELECT id, body FROM wide ORDER BY id";
        let tool = json!({"type": "sql_query", "query": query, "max_inline_rows": rows});
        let body = json!({"model": mind.name, "tools": [tool]});
        host.post("/responses", body).await
    };
    let is_refused = |message: &str| {
        message.contains("the server's limit is 1048576 (sql.page_bytes)")
            && message.contains("ask for fewer rows or columns, or export the result as CSV")
    };
    // 2,500 rows of 600 characters are 1.5 MB.
    let refused = ask(2_500).await.expect_error(400, "result_too_large");
    let message = refused["message"].as_str().unwrap();
    assert!(is_refused(message), "{refused}");
    let response = ask(10).await.expect_status(200).json();
    let item = &response["output"][0];
    assert_eq!(item["data"].as_array().unwrap().len(), 10);
    assert_eq!(
        (&item["total"], &item["has_more"]),
        (&json!(2500), &json!(true))
    );
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    // The bound is that of the page: the last rows are read behind all others, and the total is exact.
    let page = host
        .get(&format!("{path}/result?limit=100&offset=2450"))
        .await;
    let page = page.expect_status(200).json();
    assert_eq!(page["result"]["data"].as_array().unwrap().len(), 50);
    assert_eq!(page["result"]["data"][0][0], 2451);
    assert_eq!(page["total"], 2500);
    // What the error tells: the whole result as CSV has no such bound.
    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    assert_eq!(export.text().matches('\n').count(), 2501);
    // The connection of the refused page is not in the way of the next statement.
    assert_eq!(
        mind.query("SELECT count(*) FROM wide").await["data"],
        json!([[2500]])
    );
}
