//! A user of one workspace runs the server behind a datasource, or the vendor behind a provider, and has it lie. The
//! plugin checks what it is told, so the server is to blame, and the plugin goes on serving everybody.

use mindhost_tests::{
    Cell, ClickHouse, Datasource, Host, Lie, LyingHttp, LyingPostgres, Mind, Reply, Said,
    ScriptedModel, Turn, Value, Vendor, json,
};

/// More often than a plugin may fail before it is rested.
const AGAIN: usize = 8;

/// What a server that speaks HTTP is to say to a statement.
type HttpLie = Box<dyn Fn(&str) -> Option<Lie> + Send + Sync>;

/// What the server is to say, made anew for each statement.
type PostgresLie = fn() -> Said;

const JSON: u32 = 114;
const NUMERIC: u32 = 1700;
const INTEGER: u32 = 23;

/// A server that says the truth until its datasource stands.
async fn scene() -> (LyingPostgres, Datasource, Mind) {
    let host = Host::start().await;
    let server = LyingPostgres::start().await;
    let data = server.connection_data();
    let liar = host.datasource("liar", "postgres", data).await;
    liar.load().await;
    let mind = host.mind("reader").datasource("liar").direct_queries();
    let mind = mind.create().await;
    assert_eq!(mind.rows("SELECT id FROM item").await.len(), 3);
    (server, liar, mind)
}

/// The plugin has no fault, in all that was asked of it.
async fn check_plugin(host: &Host, plugin: &str) {
    let usage = host.get(&format!("/plugins/{plugin}/usage")).await;
    let usage = usage.expect_status(200).json();
    let version = &usage["since_start"][0];
    assert_eq!(version["health"]["status"], "ok", "{usage}");
    let targets = version["targets"].as_array().unwrap();
    assert!(!targets.is_empty(), "{usage}");
    for target in targets {
        assert_eq!(target["figures"]["plugin_errors"], 0, "{usage}");
        assert_eq!(target["figures"]["traps"], 0, "{usage}");
    }
}

#[track_caller]
fn check_blame(refused: &Reply, words: &str) {
    let error = refused.expect_error(502, "upstream_error");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(words), "{error}");
    assert_eq!(error["blame"], "upstream", "{error}");
}

fn is_callers(sql: &str) -> bool {
    sql.contains("\"public\".\"item\"")
}

#[tokio::test]
async fn lies_in_results_are_the_servers() {
    let (server, liar, mind) = scene().await;
    let lies: [(&str, PostgresLie); 6] = [
        ("no json", || Said::column("doc", JSON, ["{\"a\":"])),
        ("no decimal", || {
            Said::column("price", NUMERIC, ["1; DROP TABLE item"])
        }),
        ("5000 bytes", || {
            Said::column("n".repeat(5_000), INTEGER, ["1"])
        }),
        ("5000 columns", || {
            let columns = (0..5_000).map(|n| (format!("c{n}"), INTEGER));
            Said::Rows(columns.collect(), Box::new(std::iter::empty()))
        }),
        ("protocol does not allow", || {
            Said::column("id", INTEGER, ["one"])
        }),
        ("messages without a result", || {
            Said::Forever(b"N\0\0\0\x0eSNOTICE\0\0\0".to_vec())
        }),
    ];
    for (number, (words, lie)) in lies.into_iter().enumerate() {
        server.lie(move |sql| is_callers(sql).then(lie));
        // Another statement each time: the connector knows the columns of one that it ran before.
        let sql = format!("SELECT id AS id{number} FROM item");
        for _ in 0..AGAIN {
            let refused = mind.sql(&sql).await;
            check_blame(&refused, words);
        }
    }
    server.lie(|_| None);
    assert_eq!(mind.rows("SELECT id FROM item").await.len(), 3);
    check_plugin(liar.host(), "connector-postgres").await;
}

#[tokio::test]
async fn lies_in_catalogs_are_the_servers() {
    let (server, liar, _mind) = scene().await;
    let cells = |cells: &[&str]| -> Vec<Cell> {
        cells.iter().map(|cell| Some((*cell).to_owned())).collect()
    };
    let long = "n".repeat(5_000);
    let table = cells(&["public", &long]);
    let other = cells(&["2", "public", "other", "r", "", "3"]);
    let column = cells(&["1", &long, "integer", "f", "", "", "", ""]);
    let lies = [
        ("has_any_column_privilege", "5000 bytes", table, 1),
        (
            "has_any_column_privilege",
            "without an end",
            cells(&["public", "t"]),
            usize::MAX,
        ),
        ("obj_description", "not asked for", other, 1),
        ("pg_get_expr", "5000 bytes", column.clone(), 1),
        ("pg_get_expr", "without an end", column, usize::MAX),
    ];
    for (statement, words, row, times) in lies {
        server.lie(move |sql| {
            let rows = std::iter::repeat_n(row.clone(), times);
            sql.contains(statement).then(|| Said::catalog(rows))
        });
        let refused = liar.refresh(json!({"mode": "all"})).await;
        let told = refused.json().to_string();
        assert!(told.contains(words), "{statement}: {told}");
    }
    check_plugin(liar.host(), "connector-postgres").await;
}

#[tokio::test]
async fn an_error_longer_than_any_answer_is_told_as_what_it_is() {
    let (server, liar, mind) = scene().await;
    server.lie(|sql| {
        let message = format!(
            "invalid input syntax for type integer: \"{}\"",
            "x".repeat(20 << 20)
        );
        is_callers(sql).then(|| Said::Error("22P02", message))
    });
    for _ in 0..AGAIN {
        let refused = mind.sql("SELECT id AS wrong FROM item").await;
        let error = refused.expect_error(400, "sql_invalid");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("invalid input syntax"), "{message}");
        assert!(message.len() < 10_000, "{}", message.len());
    }
    server.lie(|_| None);
    assert_eq!(mind.rows("SELECT id FROM item").await.len(), 3);
    check_plugin(liar.host(), "connector-postgres").await;
}

/// A datasource over a server that speaks HTTP, whose catalog is loaded, and a Mind over it.
async fn over_http(engine: &str, data: Value, sql: &str) -> (Datasource, Mind) {
    let host = Host::start().await;
    let liar = host.datasource("liar", engine, data).await;
    liar.load().await;
    let mind = host.mind("reader").datasource("liar").direct_queries();
    let mind = mind.create().await;
    assert_eq!(mind.rows(sql).await.len(), 3);
    (liar, mind)
}

#[tokio::test]
async fn lies_of_clickhouse_are_its_own() {
    const ITEMS: &str = "SELECT id FROM shop.item";
    let real = ClickHouse::new(
        "CREATE DATABASE shop\n;;\nCREATE TABLE shop.item (id Int64) ENGINE = MergeTree ORDER BY id\n;;\n\
         INSERT INTO shop.item VALUES (1), (2), (3)\n;;\n",
    );
    let server = LyingHttp::clickhouse(&real).await;
    let mut data = real.connection_data();
    data["url"] = json!(server.origin());
    let (liar, mind) = over_http("clickhouse", data, ITEMS).await;

    let is_description = |sql: &str| sql.starts_with("DESCRIBE (") && sql.contains("item");
    let is_result = |sql: &str| sql.contains("item") && !sql.contains("DESCRIBE (");
    let described = move |sql: &str, columns: usize, column: &str| {
        is_description(sql).then(|| Lie::text(column.repeat(columns)))
    };
    let lies: [(&str, HttpLie); 6] = [
        (
            "another number of columns",
            Box::new(move |sql| described(sql, 2, "id\tInt64\n")),
        ),
        (
            "too many",
            Box::new(move |sql| described(sql, 5_000, "id\tInt64\n")),
        ),
        (
            "bytes",
            Box::new(move |sql| {
                let endless = || Lie::Forever(Vec::new(), b"id\tInt64\n".repeat(10_000));
                is_description(sql).then(endless)
            }),
        ),
        (
            "does not fit its type",
            Box::new(move |sql| described(sql, 1, "id\tString\n")),
        ),
        (
            "that Arrow's format does not allow",
            Box::new(move |sql| is_result(sql).then(|| Lie::text("no Arrow at all"))),
        ),
        (
            "a result without columns",
            Box::new(move |sql| {
                is_result(sql).then(|| Lie::Forever(b"\xff\xff\xff\xff".to_vec(), vec![0; 4_096]))
            }),
        ),
    ];
    for (number, (words, lie)) in lies.into_iter().enumerate() {
        server.lie(lie);
        let sql = format!("SELECT id AS id{number} FROM shop.item");
        for _ in 0..AGAIN {
            check_blame(&mind.sql(&sql).await, words);
        }
    }

    let long = "n".repeat(5_000);
    let lies = [
        (
            "5000 bytes",
            Lie::text as fn(String) -> Lie,
            format!("shop\t{long}\n"),
        ),
        ("cannot be read", Lie::text, "shop\n".to_owned()),
        (
            "bytes",
            |row| Lie::Forever(Vec::new(), row.into_bytes()),
            "shop\tt\n".repeat(10_000),
        ),
    ];
    for (words, lie, rows) in lies {
        server.lie(move |sql| {
            let is_list = sql.contains("FROM system.tables") && sql.contains("LIMIT");
            is_list.then(|| lie(rows.clone()))
        });
        let refused = liar.refresh(json!({"mode": "all"})).await;
        let told = refused.json().to_string();
        assert!(told.contains(words), "{told}");
    }
    server.lie(|_| None);
    assert_eq!(mind.rows(ITEMS).await.len(), 3);
    check_plugin(liar.host(), "connector-clickhouse").await;
}

#[tokio::test]
async fn lies_of_trino_are_its_own() {
    const ITEMS: &str = "SELECT id FROM s.item";
    let server = LyingHttp::trino().await;
    let data = json!({"url": server.origin(), "user": "reader", "catalog": "c"});
    let (liar, mind) = over_http("trino", data, ITEMS).await;

    let is_result = |sql: &str| sql.starts_with("SELECT") && sql.contains("\"item\"");
    let page = |columns: Value, data: Value| json!({"id": "q1", "columns": columns, "data": data});
    let column = |name: &str, of: &str| json!({"name": name, "type": of});
    let pages = [
        (
            "5000 bytes",
            page(json!([column(&"n".repeat(5_000), "bigint")]), json!([[1]])),
        ),
        (
            "too many",
            page(json!(vec![column("id", "bigint"); 5_000]), json!([])),
        ),
        (
            "not of its type",
            page(json!([column("id", "bigint")]), json!([["one"]])),
        ),
        (
            "too few values, or too many",
            page(json!([column("id", "bigint")]), json!([[1, 2]])),
        ),
        (
            "rows before their columns",
            json!({"id": "q1", "data": [[1]]}),
        ),
        ("not Trino's", json!([])),
        ("an id that is none", json!({"id": "../q1"})),
        (
            "another origin",
            json!({"id": "q1", "nextUri": "http://192.0.2.1/v1/statement/x"}),
        ),
    ];
    for (number, (words, page)) in pages.into_iter().enumerate() {
        server.lie(move |sql| is_result(sql).then(|| Lie::page(&page)));
        let sql = format!("SELECT id AS id{number} FROM s.item");
        for _ in 0..AGAIN {
            check_blame(&mind.sql(&sql).await, words);
        }
    }
    server.lie(move |sql| {
        let start = br#"{"id":"q1","columns":[{"name":"id","type":"bigint"}],"data":[[1]"#;
        let endless = || Lie::Forever(start.to_vec(), b",[1]".repeat(20_000));
        is_result(sql).then(endless)
    });
    // A cell may be as large as the settings say, so a page may too; an endless one ends there.
    let refused = mind.sql("SELECT id AS endless FROM s.item").await;
    assert_eq!(
        refused.expect_error(400, "result_too_large")["blame"],
        "upstream"
    );

    let long = json!([["s", "n".repeat(5_000)]]);
    for (words, rows) in [("5000 bytes", long), ("cannot be read", json!([["s"]]))] {
        server.lie(move |sql| {
            let is_list = sql.contains("information_schema.tables") && sql.contains("LIMIT");
            is_list.then(|| Lie::page(&json!({"id": "q1", "data": rows})))
        });
        let refused = liar.refresh(json!({"mode": "all"})).await;
        let told = refused.json().to_string();
        assert!(told.contains(words), "{told}");
    }
    server.lie(|_| None);
    assert_eq!(mind.rows(ITEMS).await.len(), 3);
    check_plugin(liar.host(), "connector-trino").await;
}

/// A stream of Anthropic's, as `curl -i` prints it.
fn anthropic(events: &[Value]) -> Turn {
    let start = json!({"type": "message_start", "message": {
        "id": "m1", "type": "message", "role": "assistant", "model": "scripted-1", "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }});
    let events = std::iter::once(&start).chain(events);
    let events: String = events
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        })
        .collect();
    Turn::transcript(&format!(
        "HTTP/1.1 200 OK\ncontent-type: text/event-stream\n\n{events}"
    ))
}

#[tokio::test]
async fn lies_of_a_vendor_are_the_vendors() {
    let name = "run_sql".repeat(100);
    let tool = json!({"type": "tool_use", "id": "t1", "name": name, "input": {}});
    let long = anthropic(&[
        json!({"type": "content_block_start", "index": 0, "content_block": tool}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]);
    let text = json!({"type": "input_json_delta", "partial_json": "{"});
    let unknown = anthropic(&[json!({"type": "content_block_delta", "index": 7, "delta": text})]);
    for (vendor, words, turn) in [
        (Vendor::OpenAi, "too long", Turn::call(&name, json!({}))),
        (
            Vendor::OpenAi,
            "not a piece of a chat",
            Turn::empty().and_raw("data: {no json\n\n"),
        ),
        (Vendor::Anthropic, "too long", long),
        (
            Vendor::Anthropic,
            "JSON",
            anthropic(&[]).and_raw("event: ping\ndata: {no json\n\n"),
        ),
        (Vendor::Anthropic, "cut off", unknown),
    ] {
        let model = ScriptedModel::of(vendor, (0..AGAIN).map(|_| turn.clone())).await;
        let host = Host::start().await;
        host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
        host.scripted_provider("scripted", &model).await;
        let mind = host.mind("clerk").datasource("shop").provider("scripted");
        let mind = mind.create().await;
        for _ in 0..AGAIN {
            check_blame(&mind.ask("How many?").await, words);
        }
        check_plugin(&host, vendor.plugin()).await;
    }
}
