//! Names with quotes and backslashes.

use mindhost_tests::{ClickHouse, Host, json};

use super::mind_over;

/// Such names are in the catalog with their values. A statement names them too, but for those with a backslash.
#[tokio::test]
async fn names_with_quotes_and_backslashes_are_read_or_refused() {
    let server = ClickHouse::new(
        r#"CREATE TABLE default.`we"ir``d` (`a"b` Int32, `c``d` Int32, `e\\f` Int32) ENGINE = MergeTree ORDER BY tuple()
;;
        INSERT INTO default.`we"ir``d` VALUES (1, 2, 3), (4, 5, 6)
;;
        CREATE TABLE default.`back\\` (`x\\" y` Int32) ENGINE = MergeTree ORDER BY tuple()
;;
        INSERT INTO default.`back\\` VALUES (7)"#,
    );
    let host = Host::start().await;
    let mind = mind_over(&host, &server).await;
    let catalog = host.get("/datasources/ch/catalog").await.json();
    let tables = catalog["tables"].as_array().unwrap().iter();
    let known = tables.map(|table| {
        let columns = table["columns"].as_array().unwrap().iter();
        let columns =
            columns.map(|column| json!([column["name"], column["statistics"]["max_value"]]));
        json!([table["name"], table["status"], columns.collect::<Vec<_>>()])
    });
    let expected = json!([
        [r"back\", "COMPLETED", [[r#"x\" y"#, "7"]]],
        [
            r#"we"ir`d"#,
            "COMPLETED",
            [[r#"a"b"#, "4"], ["c`d", "5"], [r"e\f", "6"]]
        ],
    ]);
    assert_eq!(json!(known.collect::<Vec<_>>()), expected);

    for sql in [
        r#"SELECT "a""b", "c`d" FROM "we""ir`d" ORDER BY 1"#,
        r#"SELECT `a"b`, `c``d` FROM default.`we"ir``d` AS "t""u" ORDER BY "t""u"."a""b""#,
    ] {
        let rows = [[json!(1), json!(2)], [json!(4), json!(5)]];
        assert_eq!(mind.rows(sql).await, rows, "{sql}");
    }
    let all = r#"SELECT * FROM "we""ir`d" ORDER BY "a""b" LIMIT 1"#;
    assert_eq!(mind.rows(all).await, [[json!(1), json!(2), json!(3)]]);
    for sql in [
        r#"SELECT "e\f" FROM "we""ir`d""#,
        r#"SELECT "e\\f" FROM "we""ir`d""#,
        r#"SELECT 1 FROM "back\""#,
    ] {
        let refused = mind.sql(sql).await.expect_error(400, "sql_not_supported");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("the name `"), "{message}");
    }

    // The same where the host itself writes what it sends to one of several datasources.
    let few = "CREATE TABLE one (n INTEGER); INSERT INTO one VALUES (7)";
    host.sqlite("few", few).await.load().await;
    let both = host.mind("both").datasource("ch").datasource("few");
    let both = both.direct_queries().create().await;
    for sql in [
        r#"SELECT count(*) FROM ch."back\" CROSS JOIN few.one"#,
        r#"SELECT t."e\f" FROM ch."we""ir`d" AS t CROSS JOIN few.one"#,
    ] {
        let refused = both.sql(sql).await.expect_error(400, "sql_not_supported");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("the name `"), "{message}");
    }
}
