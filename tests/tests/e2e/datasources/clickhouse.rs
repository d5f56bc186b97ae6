//! ClickHouse, old and new, through the sandbox: types, catalog, pages, exports, the end of statements, what fails.

mod names;

use std::collections::BTreeSet;

use mindhost_tests::{ClickHouse, Host, Mind, Value, eventually, json};

const README: &str = include_str!("../../../../plugins/connector-clickhouse/README.md");

/// A value of each type of the README, with what the API must show: the type, and the value.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("Bool", "true", "boolean", "true"),
    ("Int8", "toInt8(-128)", "int64", "-128"),
    ("Int16", "toInt16(-5)", "int64", "-5"),
    ("Int32", "toInt32(-5)", "int64", "-5"),
    (
        "Int64",
        "toInt64('-9007199254740993')",
        "int64",
        r#""-9007199254740993""#,
    ),
    ("UInt8", "toUInt8(255)", "int64", "255"),
    ("UInt16", "toUInt16(65535)", "int64", "65535"),
    ("UInt32", "toUInt32(4294967295)", "int64", "4294967295"),
    (
        "UInt64",
        "toUInt64('18446744073709551615')",
        "uint64",
        r#""18446744073709551615""#,
    ),
    (
        "Int128",
        "toInt128('-170141183460469231731687303715884105728')",
        "decimal",
        r#""-170141183460469231731687303715884105728""#,
    ),
    (
        "UInt128",
        "toUInt128('340282366920938463463374607431768211455')",
        "decimal",
        r#""340282366920938463463374607431768211455""#,
    ),
    ("Int256", "toInt256('-5')", "decimal", r#""-5""#),
    (
        "UInt256",
        "toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935')",
        "decimal",
        r#""115792089237316195423570985008687907853269984665640564039457584007913129639935""#,
    ),
    (
        "Decimal(P, S)",
        "toDecimal32('-1.5', 2)",
        "decimal",
        r#""-1.50""#,
    ),
    (
        "Decimal(P, S)",
        "toDecimal256('1.5', 40)",
        "decimal",
        r#""1.5000000000000000000000000000000000000000""#,
    ),
    ("Float32", "toFloat32(0.1)", "float64", "0.1"),
    ("Float64", "-toFloat64('inf')", "float64", r#""-Infinity""#),
    ("BFloat16", "toBFloat16(1.5)", "float64", "1.5"),
    ("String", r"'it\'s\t'", "text", r#""it's\t""#),
    ("String", "unhex('ff00')", "text", r#""/wA=""#),
    (
        "FixedString(N)",
        "toFixedString('ab', 3)",
        "text",
        r#""ab\u0000""#,
    ),
    (
        "UUID",
        "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')",
        "text",
        r#""61f0c404-5cb3-11e7-907b-a6006ad3dba0""#,
    ),
    ("IPv4", "toIPv4('1.2.3.4')", "text", r#""1.2.3.4""#),
    ("IPv6", "toIPv6('2001:db8::1')", "text", r#""2001:db8::1""#),
    ("Date", "toDate('2024-02-29')", "date", r#""2024-02-29""#),
    (
        "Date32",
        "toDate32('1950-01-02')",
        "date",
        r#""1950-01-02""#,
    ),
    (
        "DateTime",
        "toDateTime('2024-07-01 00:00:00', 'Asia/Tokyo')",
        "timestamp-utc",
        r#""2024-06-30T15:00:00Z""#,
    ),
    (
        "DateTime64",
        "toDateTime64('1950-07-01 00:00:00.125', 3, 'UTC')",
        "timestamp-utc",
        r#""1950-07-01T00:00:00.125000Z""#,
    ),
    // The server cannot have it in nanoseconds.
    (
        "DateTime64",
        "toDateTime64('2300-01-01 10:00:00.1234567', 7, 'UTC')",
        "timestamp-utc",
        r#""2300-01-01T10:00:00.123456Z""#,
    ),
    ("IntervalDay", "INTERVAL 3 DAY", "int64", "3"),
    // Of a form of its own in Arrow.
    ("IntervalDay", "INTERVAL 5 SECOND", "int64", "5"),
    ("Array", "[toUInt64(1), 2]", "json", "[1,2]"),
    // The text `['ÿ']` of the server, whose letter is one byte.
    ("Array", "[unhex('ff')]", "json", r#""Wyf/J10=""#),
    (
        "Array",
        "[toDateTime64('1969-12-31 23:59:59.5', 1, 'UTC')]",
        "json",
        r#"["1969-12-31T23:59:59.500000Z"]"#,
    ),
    (
        "Map",
        "map('a', [toDate('2024-02-29')])",
        "json",
        r#"{"a":["2024-02-29"]}"#,
    ),
    (
        "Tuple",
        "(1, 'a', toDecimal32('1.5', 2))",
        "json",
        r#"[1,"a","1.50"]"#,
    ),
    ("Nothing", "NULL", "text", "null"),
    ("Nullable(T)", "toNullable(toInt64(5))", "int64", "5"),
    (
        "LowCardinality(T)",
        "toLowCardinality('x')",
        "text",
        r#""x""#,
    ),
];

/// Types whose values only a table can hold, or that the guard lets nobody name.
const COLUMNS: &str = "CREATE DATABASE types
;;
CREATE TABLE types.every (
  `Enum8` Enum8('a' = -1, 'it\\'s' = 2), `Enum16` Enum16('x' = 300), `Time` Time, `Time64` Time64(3),
  `Nested` Nested(a UInt8, b String), `Point` Point, `Ring` Ring, `Polygon` Polygon, `MultiPolygon` MultiPolygon,
  `JSON` JSON, `Variant` Variant(UInt8, String), `Dynamic` Dynamic,
  `SimpleAggregateFunction(f, T)` SimpleAggregateFunction(max, UInt64), `state` AggregateFunction(sum, UInt64)
) ENGINE = Memory
;;
INSERT INTO types.every SELECT 'it\\'s', 'x', '10:20:30', '10:20:30.125', [1, 2], ['x', 'y'], (1.0, 2.0), [(1.0, 2.0)],
  [[(1.0, 2.0)]], [[[(1.0, 2.0)]]],
  '{\"a\": {\"b\": [1]}, \"t\": \"2024-01-01 10:00:00\"}', 5, 'text', 7, sumState(toUInt64(1))";

const COLUMN_VALUES: &[(&str, &str, &str)] = &[
    ("Enum8", "text", r#""it's""#),
    ("Enum16", "text", r#""x""#),
    ("Time", "time", r#""10:20:30""#),
    ("Time64", "time", r#""10:20:30.125000""#),
    ("Nested.a", "json", "[1,2]"),
    ("Point", "json", "[1,2]"),
    ("Ring", "json", "[[1,2]]"),
    ("Polygon", "json", "[[[1,2]]]"),
    ("MultiPolygon", "json", "[[[[1,2]]]]"),
    (
        "JSON",
        "json",
        r#"{"a":{"b":[1]},"t":"2024-01-01T10:00:00Z"}"#,
    ),
    ("Variant", "text", r#""5""#),
    ("Dynamic", "text", r#""text""#),
    ("SimpleAggregateFunction(f, T)", "uint64", "7"),
];

async fn mind_over(host: &Host, server: &ClickHouse) -> Mind {
    let data = server.connection_data();
    host.datasource("ch", "clickhouse", data).await.load().await;
    host.mind("m")
        .datasource("ch")
        .direct_queries()
        .create()
        .await
}

/// The rows of the README's table: the names of the first column, and the type.
fn documented() -> Vec<(Vec<&'static str>, &'static str)> {
    let table = README
        .split("## Types")
        .nth(1)
        .unwrap()
        .split("##")
        .next()
        .unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.split(" | ");
        let names = cells
            .next()
            .unwrap()
            .split('`')
            .skip(1)
            .step_by(2)
            .collect();
        (names, cells.next().unwrap().trim())
    })
    .collect()
}

#[tokio::test]
async fn every_type_becomes_what_the_readme_says() {
    let server = ClickHouse::new(COLUMNS);
    let host = Host::start().await;
    let mind = mind_over(&host, &server).await;
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let mut check = async |name: &str, sql: String, kind: &str, value: &str| {
        let result = mind.query(&sql).await;
        let value: Value = serde_json::from_str(value).unwrap();
        let column = &result["column_types"][0];
        assert_eq!(
            (&column["type"], &result["data"][0][0]),
            (&json!(kind), &value),
            "{sql}: {result}"
        );
        seen.insert((name.split('.').next().unwrap().to_owned(), kind.to_owned()));
    };
    for (name, expression, kind, value) in VALUES {
        check(name, format!("SELECT {expression} AS c"), kind, value).await;
    }
    for (name, kind, value) in COLUMN_VALUES {
        check(
            name,
            format!("SELECT `{name}` FROM types.every"),
            kind,
            value,
        )
        .await;
    }
    let refused = mind.sql("SELECT state FROM types.every").await;
    let error = refused.expect_error(400, "sql_invalid");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("finalizeAggregation"),
        "{error}"
    );
    let mut missing = Vec::new();
    for (names, kind) in documented() {
        for name in names
            .into_iter()
            .filter(|name| *name != "AggregateFunction")
        {
            let is_seen = seen
                .iter()
                .any(|(known, seen)| known == name && (kind == seen || kind == "as T"));
            if !is_seen {
                missing.push((name, kind));
            }
        }
    }
    assert_eq!(missing, [], "types of the README without a value here");
}

#[tokio::test]
async fn an_old_server_answers_in_text() {
    let host = Host::start().await;
    let mind = mind_over(&host, ClickHouse::old()).await;
    let sql = r"SELECT toUInt64('18446744073709551615'), toDecimal32('-1.5', 2), 'it\'s\t', toFloat64('nan'),
        toDateTime('2024-01-02 03:04:05'), toDateTime('2024-01-02 03:04:05', 'Asia/Tokyo'), [1, 2], (1, 'a'), NULL";
    let result = mind.query(sql).await;
    let types: Vec<_> = result["column_types"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["type"])
        .collect();
    assert_eq!(
        json!(types),
        json!([
            "uint64",
            "decimal",
            "text",
            "float64",
            "timestamp-utc",
            "timestamp",
            "json",
            "json",
            "text"
        ])
    );
    assert_eq!(
        result["data"][0],
        json!([
            "18446744073709551615",
            "-1.50",
            "it's\t",
            "NaN",
            "2024-01-02T03:04:05Z",
            "2024-01-02T03:04:05",
            [1, 2],
            [1, "a"],
            null
        ])
    );
}

#[tokio::test]
async fn the_catalog_has_comments_and_counts_and_no_key() {
    // A view with parameters is no table, and names that are not UTF-8 cannot be said.
    let fixture =
        "CREATE TABLE default.item (id UInt64, name Nullable(String) COMMENT 'what it is called',
            double UInt64 ALIAS id * 2, once UInt8 EPHEMERAL, `b\\xff` UInt8 COMMENT '\\xff')
            ENGINE = MergeTree ORDER BY id COMMENT 'things'
        \n;;\nINSERT INTO default.item (id, name) VALUES (1, 'tea'), (2, NULL)
        \n;;\nCREATE VIEW default.names AS SELECT name FROM default.item
        \n;;\nCREATE VIEW default.of AS SELECT name FROM default.item WHERE id = {of:UInt64}
        \n;;\nCREATE TABLE default.`t\\xff` (id UInt8) ENGINE = Memory";
    let server = ClickHouse::new(fixture);
    let host = Host::start().await;
    let datasource = host
        .datasource("ch", "clickhouse", server.connection_data())
        .await;
    datasource.load().await;
    let item = datasource.table("item").await;
    assert_eq!(
        (&item["source_description"], &item["row_count"]),
        (&json!("things"), &json!(2)),
        "{item}"
    );
    let columns = item["columns"].as_array().unwrap();
    let names: Vec<_> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["id", "name", "double"]);
    assert_eq!(columns[1]["source_description"], "what it is called");
    assert_eq!(
        item["primary_key_constraints"].as_array().map(Vec::len),
        Some(0),
        "{item}"
    );
    assert_eq!(
        datasource.table("names").await["columns"][0]["name"],
        "name"
    );
}

#[tokio::test]
async fn pages_know_their_total_and_exports_are_whole() {
    let server = ClickHouse::new(
        "CREATE TABLE default.n ENGINE = MergeTree ORDER BY i AS
        SELECT number AS i, repeat('x', 100) AS w FROM numbers(50000)",
    );
    let host = Host::start().await;
    let mind = mind_over(&host, &server).await;
    let tool = json!({"type": "sql_query", "query": "SELECT i, w FROM n ORDER BY i", "max_inline_rows": 3});
    let asked = host
        .post("/responses", json!({"model": mind.name, "tools": [tool]}))
        .await;
    let response = asked.expect_status(200).json();
    let item = &response["output"][0];
    assert_eq!(
        (&item["total"], item["data"].as_array().map(Vec::len)),
        (&json!(50_000), Some(3)),
        "{item}"
    );
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    let page = host
        .get(&format!("{path}/result?limit=2&offset=49998"))
        .await
        .expect_status(200)
        .json();
    assert_eq!(page["result"]["data"][1][0], json!(49_999), "{page}");
    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    let lines: Vec<_> = export.text().lines().map(str::to_owned).collect();
    assert_eq!(
        (lines.len(), lines[50_000].split(',').next()),
        (50_001, Some("49999"))
    );
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_statement() {
    let new = ClickHouse::new(
        "CREATE TABLE default.n ENGINE = Memory AS SELECT number AS i FROM numbers(1000000)",
    );
    let old = ClickHouse::old();
    old.run("CREATE TABLE IF NOT EXISTS default.n ENGINE = Memory AS SELECT number AS i FROM numbers(1000000)").await;
    for server in [&new, old] {
        let host = Host::start().await;
        let mind = mind_over(&host, server).await;
        let slow = "SELECT sum(a.i * b.i) AS slow_to_leave FROM n AS a CROSS JOIN n AS b";
        let tool = json!({"type": "sql_query", "query": slow});
        let request = host.post("/responses", json!({"model": mind.name, "tools": [tool]}));
        let running = async || {
            // Not counted there: the profile of the old server leaves the row of a count of nothing away.
            let statements = "SELECT 1 FROM system.processes WHERE query LIKE '%slow_to_leave%'
                AND query NOT LIKE '%system.processes%'";
            server.ask(statements, &[]).await.lines().count()
        };
        let client = tokio::spawn(request.attempt());
        eventually(running, |running| *running > 0).await;
        client.abort();
        eventually(running, |running| *running == 0).await;
        assert_eq!(mind.rows("SELECT max(i) FROM n").await, [[json!(999_999)]]);
    }
}

#[tokio::test]
async fn a_failure_behind_the_first_rows_is_the_error() {
    let new = ClickHouse::new("CREATE TABLE default.t (i UInt8) ENGINE = Memory");
    let old = ClickHouse::old();
    old.run("CREATE TABLE IF NOT EXISTS default.t (i UInt8) ENGINE = Memory")
        .await;
    for server in [&new, old] {
        let data = json!({"url": server.url, "user": "app", "password": "secret of app"});
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.json"), data.to_string()).unwrap();
        let run = |sql: &str| {
            let plugin = mindhost_tests::build::plugins_dir().join("connector-clickhouse.wasm");
            let output = std::process::Command::new(mindhost_tests::build::host_binary())
                .args(["plugin", "run"])
                .arg(plugin)
                .args(["--format", "csv", "-c", "config.json", sql])
                .current_dir(dir.path())
                .output()
                .unwrap();
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )
        };
        let (code, told) = run(
            "SELECT number, throwIf(number = 900000) FROM (SELECT number FROM system.numbers LIMIT 1000000)",
        );
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("code 395"), "{told}");
    }
}

#[tokio::test]
async fn a_user_who_may_set_nothing_can_read() {
    let old = ClickHouse::old();
    let host = Host::start().await;
    let data = json!({"url": old.url, "user": "reader", "password": "secret of reader"});
    host.datasource("ch", "clickhouse", data).await;
    let mind = host
        .mind("m")
        .datasource("ch")
        .direct_queries()
        .create()
        .await;
    assert_eq!(mind.rows("SELECT 1, 'x'").await, [[json!(1), json!("x")]]);
}

/// Else the server keeps that no row passes the filter of a policy, once a join of its own finds none.
#[tokio::test]
async fn a_join_leaves_the_rows_of_a_policied_table() {
    let server = ClickHouse::new(
        "CREATE TABLE default.teams ENGINE = MergeTree ORDER BY id AS
        SELECT toInt64(number) AS id, toInt64(number * number) AS boss FROM numbers(4)
;;
        CREATE TABLE default.staff ENGINE = MergeTree ORDER BY id AS SELECT toInt64(number) AS id,
        if(number % 2 = 1, 'acme', 'rival') AS tenant, toInt64(number) AS lvl FROM numbers(12)",
    );
    let host = Host::start().await;
    let mind = mind_over(&host, &server).await;
    let policies = json!({"policies": [
        {"datasource": "ch", "table": "default.teams", "filter": "boss < 8"},
        {"datasource": "ch", "table": "default.staff", "filter": "tenant = 'acme'"},
    ]});
    host.put("/minds/m/policies", policies)
        .await
        .expect_status(200);
    let teams = async || mind.rows("SELECT count(*) FROM teams").await;
    assert_eq!(teams().await, [[json!(3)]]);
    let join = "SELECT a.id FROM staff AS a JOIN teams AS t ON t.boss = a.lvl WHERE t.id = 77";
    assert!(mind.rows(join).await.is_empty());
    assert_eq!(teams().await, [[json!(3)]]);
}

#[tokio::test]
async fn what_is_wrong_with_a_connection_is_said_without_the_password() {
    let old = ClickHouse::old();
    let host = Host::start().await;
    let stranger = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = stranger.local_addr().unwrap().port();
    drop(stranger);
    let tls = old.url.replace("http://", "https://");
    for (data, words) in [
        (
            json!({"url": old.url, "user": "app", "password": "wrong password"}),
            "Wrong password",
        ),
        (
            json!({"url": old.url, "user": "nobody", "password": "secret"}),
            "nobody",
        ),
        (
            json!({"url": old.url, "user": "app", "password": "secret of app", "database": "nowhere"}),
            "nowhere",
        ),
        (
            json!({"url": format!("http://127.0.0.1:{port}"), "user": "app", "password": "secret"}),
            "",
        ),
        (
            json!({"url": tls, "user": "app", "password": "secret of app"}),
            "",
        ),
        (
            json!({"url": host.url(), "user": "app", "password": "secret of app"}),
            "",
        ),
    ] {
        let body = json!({"name": "d", "engine": "clickhouse", "connection_data": data});
        let reply = host.post("/datasources", body).await;
        assert!(
            !reply.text().contains("secret of") && !reply.text().contains("wrong password"),
            "{}",
            reply.text()
        );
        let error = reply.expect_error(400, "connection_failed");
        assert!(
            error["message"].as_str().unwrap().contains(words),
            "{error}"
        );
    }
}
