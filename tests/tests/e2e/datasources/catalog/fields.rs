//! Every field of a catalog: its datasource, status, tables, columns and statistics.

use super::*;

#[tokio::test]
async fn a_new_datasource_shows_its_tables_before_anything_is_loaded() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let catalog = shop.catalog().await;
    assert_eq!(catalog["total_tables"], 3);
    assert_eq!(catalog["status"]["overall_status"], "NOT_STARTED");
    assert_eq!(catalog["status"]["progress"], 0.0);
    assert_eq!(catalog["status"]["active_flow_runs"], 0);
    let customer = table(&catalog, "customer");
    assert_eq!(customer["status"], "NOT_CATALOGED");
    assert_eq!(customer["columns"], json!([]));
    assert_eq!(
        (&customer["row_count"], &customer["row_count_known"]),
        (&json!(0), &json!(false))
    );
}

#[tokio::test]
async fn a_catalog_names_its_datasource() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let datasource = shop.catalog().await["datasource"].clone();
    assert_eq!(datasource["id"].as_str().map(str::len), Some(36));
    assert_eq!(
        (&datasource["name"], &datasource["engine"]),
        (&json!("shop"), &json!("sqlite"))
    );
    assert_eq!(datasource["description"], "");
    for time in ["created_at", "modified_at"] {
        let text = datasource[time].as_str().unwrap();
        assert!(
            text.len() >= 20 && text.ends_with('Z') && text.contains('T'),
            "{time}: {text}"
        );
    }
}

#[tokio::test]
async fn a_loaded_catalog_is_complete() {
    let host = Host::start().await;
    let catalog = host.sqlite("shop", SHOP).await.load().await;
    let status = &catalog["status"];
    assert_eq!(
        (&status["progress"], &status["active_flow_runs"]),
        (&json!(1.0), &json!(0))
    );
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|text| text.contains('3')),
        "{status}"
    );
    let kinds = ["customer", "item", "cheap"].map(|name| table(&catalog, name)["type"].clone());
    assert_eq!(kinds, ["TABLE", "TABLE", "VIEW"]);
    let counts =
        ["customer", "item", "cheap"].map(|name| table(&catalog, name)["row_count"].clone());
    assert_eq!(counts, [4, 3, 2]);
    for table in catalog["tables"].as_array().unwrap() {
        assert_eq!(
            (&table["status"], &table["schema"]),
            (&json!("COMPLETED"), &json!("main")),
            "{table}"
        );
        assert_eq!(
            (&table["missing"], &table["row_count_known"]),
            (&json!(false), &json!(true)),
            "{table}"
        );
        assert_eq!(
            (&table["error"], &table["description"]),
            (&Value::Null, &Value::Null),
            "{table}"
        );
    }
}

#[tokio::test]
async fn columns_have_types_defaults_and_statistics() {
    let host = Host::start().await;
    let catalog = host.sqlite("shop", SHOP).await.load().await;
    let customer = table(&catalog, "customer");
    let city = column(customer, "city");
    assert_eq!(
        (&city["data_type"], &city["is_nullable"]),
        (&json!("TEXT"), &json!(true))
    );
    assert_eq!(city["default_value"], "'Bern'");
    assert_eq!(
        (&city["description"], &city["description_source"]),
        (&Value::Null, &json!("none"))
    );
    let statistics = &city["statistics"];
    assert_eq!(statistics["most_common_values"], json!(["Bern", "Basel"]));
    assert_eq!(statistics["most_common_frequencies"], json!([0.5, 0.25]));
    assert_eq!(statistics["null_percentage"], 25.0);
    assert_eq!(statistics["distinct_values_count"], 2);
    assert_eq!(
        (&statistics["min_value"], &statistics["max_value"]),
        (&json!("Basel"), &json!("Bern"))
    );
    assert_eq!(
        (&statistics["estimated"], &statistics["sampled_rows"]),
        (&json!(false), &json!(4))
    );
    assert_eq!(column(customer, "name")["is_nullable"], false);
    let price = &column(table(&catalog, "item"), "price")["statistics"];
    assert_eq!(
        (&price["min_value"], &price["max_value"]),
        (&json!("-1"), &json!("20"))
    );
    let note = &column(table(&catalog, "item"), "note")["statistics"];
    assert_eq!(
        (&note["most_common_values"], &note["min_value"]),
        (&Value::Null, &json!(""))
    );
}

#[tokio::test]
async fn keys_are_one_row_a_column_in_order() {
    let host = Host::start().await;
    let catalog = host.sqlite("shop", SHOP).await.load().await;
    let item = table(&catalog, "item");
    let primary = |column: &str, ordinal: u32| json!({"column_name": column, "ordinal_position": ordinal, "constraint_name": "item_key"});
    assert_eq!(
        item["primary_key_constraints"],
        json!([primary("customer", 1), primary("number", 2)])
    );
    let foreign = json!([{
        "constraint_name": "of_customer", "ordinal_position": 1, "column_name": "customer",
        "referenced_schema": "main", "referenced_table": "customer", "referenced_column": "id",
    }]);
    assert_eq!(item["foreign_key_constraints"], foreign);
    assert_eq!(
        table(&catalog, "customer")["foreign_key_constraints"],
        json!([])
    );
}

#[tokio::test]
async fn postgresql_shows_schemas_comments_views_and_partitions() {
    let sql = "
        CREATE SCHEMA sales;
        CREATE TABLE sales.customer (id bigint PRIMARY KEY, name text NOT NULL DEFAULT 'x', born date);
        COMMENT ON TABLE sales.customer IS 'who buys';
        COMMENT ON COLUMN sales.customer.name IS 'as on the letter';
        INSERT INTO sales.customer VALUES (1, 'Ada', '1815-12-10'), (2, 'Bob', NULL);
        CREATE TABLE bill (customer bigint REFERENCES sales.customer (id), at date NOT NULL, amount numeric(10, 2))
            PARTITION BY RANGE (at);
        CREATE TABLE bill_2026 PARTITION OF bill FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
        INSERT INTO bill VALUES (1, '2026-02-03', 9.50), (1, '2026-03-04', 10.25);
        CREATE VIEW sales.adults AS SELECT * FROM sales.customer;
        CREATE MATERIALIZED VIEW sales.totals AS SELECT customer, sum(amount) AS total FROM bill GROUP BY customer;
        ANALYZE sales.customer;
    ";
    let host = Host::start().await;
    let database = Postgres::shared().database(sql).await;
    let catalog = host.postgres("shop", &database).await.load().await;
    let customer = table(&catalog, "customer");
    assert_eq!(
        (&customer["schema"], &customer["row_count"]),
        (&json!("sales"), &json!(2))
    );
    assert_eq!(
        (&customer["description"], &customer["description_source"]),
        (&json!("who buys"), &json!("source"))
    );
    assert_eq!(
        column(customer, "name")["source_description"],
        "as on the letter"
    );
    let born = &column(customer, "born")["statistics"];
    assert_eq!(
        (&born["min_value"], &born["null_percentage"]),
        (&json!("1815-12-10"), &json!(50.0))
    );
    let bill = table(&catalog, "bill");
    assert_eq!(
        (&bill["type"], &bill["row_count"]),
        (&json!("PARTITIONED TABLE"), &json!(2))
    );
    let amount = column(bill, "amount");
    assert_eq!(
        (&amount["data_type"], &amount["statistics"]["max_value"]),
        (&json!("numeric(10,2)"), &json!("10.25"))
    );
    assert_eq!(
        bill["foreign_key_constraints"][0]["referenced_schema"],
        "sales"
    );
    assert_eq!(
        table(&catalog, "adults")["columns"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    assert_eq!(table(&catalog, "totals")["type"], "MATERIALIZED VIEW");
}

#[tokio::test]
async fn a_range_has_the_order_of_its_type_and_bytes_have_none() {
    let sql = r"
        CREATE TABLE edge (d date, n numeric, b bytea);
        INSERT INTO edge VALUES ('2024-02-29', 1.10, '\x00'), ('-infinity', '-Infinity', '\xff'),
            ('10000-01-01', 9.5, NULL), ('0044-03-15 BC', 10, NULL);
    ";
    let host = Host::start().await;
    let database = Postgres::shared().database(sql).await;
    let catalog = host.postgres("edges", &database).await.load().await;
    let edge = table(&catalog, "edge");
    for (name, least, greatest) in [
        ("d", "-infinity", "10000-01-01"),
        ("n", "-Infinity", "10"),
        ("b", "", ""),
    ] {
        let statistics = &column(edge, name)["statistics"];
        assert_eq!(
            (&statistics["min_value"], &statistics["max_value"]),
            (&json!(least), &json!(greatest)),
            "{name}"
        );
        assert_eq!(statistics["estimated"], name == "b", "{name}");
    }
    let bytes = &column(edge, "b")["statistics"];
    assert_eq!(
        (&bytes["null_percentage"], &bytes["distinct_values_count"]),
        (&json!(50.0), &json!(0))
    );
    assert_eq!(bytes["most_common_values"], Value::Null);
}

#[tokio::test]
async fn types_that_are_shown_as_texts_have_no_range() {
    let sql = "
        CREATE TYPE mood AS ENUM ('sad', 'fine', 'happy');
        CREATE TABLE odd (m money, i interval, e mood, z timetz, r int4range, x xid8, l pg_lsn, t text, u uuid);
        INSERT INTO odd VALUES
            ('10', '1 month', 'sad', '10:00+02', '[1,5)', '9', '0/9', 'b', '00000000-0000-0000-0000-00000000000b'),
            ('9', '9 days', 'happy', '09:00-02', '[10,20)', '10', '0/10', 'a', '00000000-0000-0000-0000-00000000000a'),
            ('-5', '100 hours', 'fine', '09:30Z', '[2,3)', '11', '1/0', 'B', NULL);
        CREATE VIEW seen AS SELECT * FROM odd;
    ";
    let host = Host::start().await;
    let database = Postgres::shared().database(sql).await;
    let catalog = host.postgres("odd", &database).await.load().await;
    for name in ["odd", "seen"] {
        let table = table(&catalog, name);
        for (name, least, greatest) in [
            ("m", "", ""),
            ("i", "", ""),
            ("e", "", ""),
            ("z", "", ""),
            ("r", "", ""),
            ("x", "", ""),
            ("l", "", ""),
            ("t", "B", "b"),
            (
                "u",
                "00000000-0000-0000-0000-00000000000a",
                "00000000-0000-0000-0000-00000000000b",
            ),
        ] {
            let statistics = &column(table, name)["statistics"];
            assert_eq!(
                (&statistics["min_value"], &statistics["max_value"]),
                (&json!(least), &json!(greatest)),
                "{name}"
            );
            assert_eq!(statistics["estimated"], false, "{name}");
        }
    }
}

#[tokio::test]
async fn mariadb_types_that_are_shown_as_texts_have_no_range() {
    let sql = "
        CREATE TABLE odd (e enum('sad', 'fine', 'happy'), b tinyint(1), f tinyint(1), t varchar(9), n int);
        INSERT INTO odd VALUES ('sad', -128, 0, 'b', 10), ('fine', 0, 1, 'a', 9), ('happy', 2, 1, 'c', -5);
    ";
    let database = MariaDb::shared().database(sql).await;
    let host = Host::start().await;
    let data = database.connection_data();
    let catalog = host.datasource("odd", "mysql", data).await.load().await;
    let odd = table(&catalog, "odd");
    for (name, least, greatest) in [
        ("e", "", ""),
        ("b", "-128", "2"),
        ("f", "false", "true"),
        ("t", "a", "c"),
        ("n", "-5", "10"),
    ] {
        let statistics = &column(odd, name)["statistics"];
        assert_eq!(
            (&statistics["min_value"], &statistics["max_value"]),
            (&json!(least), &json!(greatest)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn common_values_are_right_however_late_they_come() {
    let sql = "CREATE TABLE t (ref TEXT);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO t SELECT iif(i <= 2500, 'r' || i, iif(i % 4 = 0, 'Y', 'X')) FROM n;";
    let host = Host::start().await;
    let catalog = host.sqlite("late", sql).await.load().await;
    let statistics = &column(table(&catalog, "t"), "ref")["statistics"];
    assert_eq!(statistics["most_common_values"], json!(["X", "Y"]));
    assert_eq!(
        statistics["most_common_frequencies"],
        json!([0.5625, 0.1875])
    );
    assert_eq!(
        (
            &statistics["distinct_values_count"],
            &statistics["estimated"]
        ),
        (&json!(2502), &json!(false))
    );
}

#[tokio::test]
async fn a_long_value_is_cut_and_says_so() {
    let sql = "CREATE TABLE t (v TEXT); INSERT INTO t VALUES (printf('%.300c', 'x')), ('a'), ('a'), ('a'), ('a');";
    let host = Host::start().await;
    let catalog = host.sqlite("long", sql).await.load().await;
    let statistics = &column(table(&catalog, "t"), "v")["statistics"];
    assert_eq!(statistics["max_value"].as_str().map(str::len), Some(256));
    assert_eq!(statistics["truncated_values"], true);
}

#[tokio::test]
async fn a_large_table_is_sampled_and_says_so() {
    let sql = "CREATE TABLE t (id INTEGER, kind TEXT);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        INSERT INTO t SELECT i, 'k' || (i % 3) FROM n;";
    let host = Host::builder()
        .env("MINDHOST_CATALOG__SAMPLE_ROWS", "100")
        .start()
        .await;
    let catalog = host.sqlite("large", sql).await.load().await;
    let large = table(&catalog, "t");
    assert_eq!(
        (&large["row_count"], &large["row_count_known"]),
        (&json!(500), &json!(true))
    );
    let id = &column(large, "id")["statistics"];
    assert_eq!(
        (&id["estimated"], &id["sampled_rows"]),
        (&json!(true), &json!(100))
    );
    assert_eq!(id["distinct_values_count"], 500);
    assert_eq!(
        column(large, "kind")["statistics"]["distinct_values_count"],
        3
    );
}

#[tokio::test]
async fn it_is_restricted_to_a_mind_and_searched() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    host.sqlite("other", "CREATE TABLE t (id INTEGER)").await;
    shop.load().await;
    host.mind("sales")
        .tables("shop", &["customer", "main.item"])
        .create()
        .await;
    host.mind("all").datasource("shop").create().await;
    host.mind("elsewhere").datasource("other").create().await;
    let total = |query: &'static str| {
        let request = host.get(&format!("{}?{query}", shop.catalog_path()));
        async move { request.await.expect_status(200).json()["total_tables"].clone() }
    };
    assert_eq!(total("mind=sales").await, 2);
    assert_eq!(total("mind=all").await, 3);
    assert_eq!(
        total("search=CUSTOM").await,
        3,
        "one table by its name, the others by a column"
    );
    assert_eq!(total("mind=sales&search=cheap").await, 0);
    let path = shop.catalog_path();
    let unknown = host.get(&format!("{path}?mind=missing")).await;
    let unknown = unknown.expect_error(404, "mind_not_found");
    assert_eq!(unknown["param"], "mind");
    host.get(&format!("{path}?mind=elsewhere"))
        .await
        .expect_error(400, "datasource_not_in_mind");
}

#[tokio::test]
async fn search_finds_words_in_any_order_and_part() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    shop.load().await;
    let path = shop.catalog_path();
    let said = json!({"description": "Everybody who buys: people and firms"});
    host.patch(&format!("{path}/tables/customer"), said)
        .await
        .expect_status(200);
    for (words, tables) in [
        ("people who", 1),
        ("who peop", 1),
        (" FIRMS  customer ", 1),
        ("people whose", 0),
    ] {
        let found = host.get(&path).query("search", words).await;
        let found = found.expect_status(200).json();
        assert_eq!(found["total_tables"], tables, "{words}: {found}");
    }
}
