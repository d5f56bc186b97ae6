//! The guard's lists, pages, exports, errors, and the kit.

use serde_json::{Value, json};

use crate::expected;
use crate::host::{Host, plugin, query};
use crate::tpch::rows;
use crate::trino::{Rows, Trino};

const TABLES: [&str; 7] = [
    "customers",
    "orders",
    "order_items",
    "products",
    "categories",
    "order notes",
    "order_totals",
];

/// The statements of a list, each with the code that it must be refused with.
fn list(file: &str) -> Vec<(String, Option<String>)> {
    let (mut statements, mut text, mut code) = (Vec::new(), String::new(), None);
    for line in file.lines() {
        if let Some(expected) = line.strip_prefix("-- expect:") {
            code = Some(expected.trim().to_owned());
        } else if line.trim() == ";;" {
            statements.push((std::mem::take(&mut text), code.clone()));
        } else if !line.starts_with("-- #") {
            text.push_str(line);
            text.push('\n');
        }
    }
    statements
}

/// A Mind of the shop, without what is secret in it.
fn shop() -> Host {
    let host = Host::start();
    host.datasource("shop", "trino", Trino::shared().connection_data("memory"));
    let tables = TABLES.map(|table| format!("shop.{table}"));
    host.mind("m", &json!([{"name": "shop", "tables": tables}]));
    host
}

/// Trino, asked with `memory.shop` for its schema, as a caller means the statement.
fn directly(sql: &str) -> Rows {
    let headers = [
        "X-Trino-User: app",
        "X-Trino-Catalog: memory",
        "X-Trino-Schema: shop",
    ];
    Trino::shared().result(sql.trim().trim_end_matches(';'), &headers)
}

#[test]
fn legitimate_statements_give_the_rows_and_names_of_trino() {
    let host = shop();
    let statements = list(include_str!("../../../../tests/sql/legitimate/trino.sql"));
    assert!(statements.len() >= 80);
    let (mut wrong, mut in_order) = (Vec::new(), 0);
    for (sql, _) in statements {
        let page = host.first_page("m", &sql);
        let (found, own) = (rows(&page["result"]), directly(&sql));
        assert_eq!(page["total"], json!(own.rows.len()), "{sql}");
        assert_eq!(page["result"]["column_names"], json!(own.names), "{sql}");
        // Only an ORDER BY at the top says how rows follow each other.
        let compared = match page["is_pagination_consistent"] == true {
            true => {
                in_order += 1;
                expected::in_order(found, &own)
            }
            false => expected::in_any_order(found, &own),
        };
        if let Err(why) = compared {
            wrong.push(format!("{sql}{why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(in_order >= 50, "{in_order} statements with an order");
}

#[test]
fn attacks_are_refused_and_change_nothing() {
    let host = shop();
    let everything = || {
        let trino = Trino::shared();
        let tables = "SELECT table_schema, table_name, table_type FROM memory.information_schema.tables ORDER BY 1, 2";
        let tampered = "SELECT count(*) FROM memory.shop.tampered";
        (
            trino.rows(tables),
            trino.rows(tampered),
            directly("SELECT * FROM orders ORDER BY id").rows,
        )
    };
    let before = everything();
    let statements = list(include_str!("../../../../tests/sql/attacks/trino.sql"));
    assert!(statements.len() >= 80);
    for (sql, code) in statements {
        let body = host.sql("m", &sql).expect(400);
        assert_eq!(
            body["error"]["code"].as_str(),
            code.as_deref(),
            "{sql}\n{body}"
        );
    }
    assert_eq!(everything(), before);
}

#[test]
fn pages_know_their_total_and_exports_are_whole() {
    let host = Host::over(Trino::shared(), "tpch", &["tiny"]);
    let mut body = query(
        "m",
        "SELECT orderkey, comment FROM orders ORDER BY orderkey",
    );
    body["tools"][0]["max_inline_rows"] = json!(3);
    let response = host.post("/responses", &body).expect(200);
    let item = &response["output"][0];
    assert_eq!(
        (&item["total"], item["data"].as_array().map(Vec::len)),
        (&json!(15_000), Some(3)),
        "{item}"
    );
    let path = format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        item["id"].as_str().unwrap()
    );
    let page = host
        .get(&format!("{path}/result?limit=2&offset=14998"))
        .expect(200);
    assert_eq!(page["result"]["data"][1][0], json!(60_000), "{page}");
    let export = host.get(&format!("{path}/export"));
    let lines: Vec<_> = export.text.lines().collect();
    assert_eq!(
        (lines.len(), lines[15_000].split(',').next()),
        (15_001, Some("60000"))
    );
}

#[test]
fn an_error_of_trino_has_its_words_and_its_place() {
    let data = Trino::shared().connection_data("tpch");
    for (sql, code) in [
        ("SELECT 1,\n  nothing", "COLUMN_NOT_FOUND"),
        ("SELECT 1 / 0", "DIVISION_BY_ZERO"),
        ("SELECT FROM", "SYNTAX_ERROR"),
        ("SELECT * FROM nation", "MISSING_SCHEMA_NAME"),
    ] {
        let (passed, said) = plugin(&data, &["run", sql]);
        assert!(!passed && said.contains(code), "{sql}: {said}");
    }
    let (passed, said) = plugin(
        &data,
        &[
            "run",
            "--format",
            "csv",
            "SELECT count(*) AS n FROM tiny.orders",
        ],
    );
    assert!(passed && said.contains("15000"), "{said}");
}

#[test]
fn session_properties_hold_for_every_statement() {
    let usual = Trino::shared().connection_data("tpch");
    let mut set = usual.clone();
    set["session_properties"] = json!({"query_priority": "7", "max_recursion_depth": "3"});
    let run = |data: &Value, sql: &str| plugin(data, &["run", "--format", "csv", sql]);
    let shown = "SHOW SESSION LIKE 'query_priority'";
    for (data, row) in [
        (&usual, "query_priority,1,1,integer"),
        (&set, "query_priority,7,1,integer"),
    ] {
        let (passed, said) = run(data, shown);
        assert!(passed && said.contains(row), "{said}");
    }
    let eight = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8) \
                 SELECT count(*) AS steps FROM n";
    let (passed, said) = run(&usual, eight);
    assert!(passed, "{said}");
    let (passed, said) = run(&set, eight);
    assert!(!passed && said.contains("max_recursion_depth"), "{said}");
}

#[test]
fn unknown_session_property_is_named() {
    let host = Host::start();
    for name in ["no_such_property", "tpch.no_such_property"] {
        let mut data = Trino::shared().connection_data("tpch");
        data["session_properties"] = json!({ (name): "1" });
        let body = json!({"name": "lake", "engine": "trino", "connection_data": data});
        let refused = host.post("/datasources", &body).expect(400);
        let error = &refused["error"];
        assert_eq!(error["code"], "connection_failed", "{refused}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("session_properties"), "{refused}");
        assert!(message.contains(name), "{refused}");
    }
}

#[test]
fn trino_itself_refuses_to_write() {
    let data = Trino::shared().connection_data("memory");
    for sql in [
        "INSERT INTO shop.tampered VALUES ('x')",
        "CREATE TABLE shop.made AS SELECT 1 AS n",
        "DROP TABLE shop.tampered",
    ] {
        let (passed, said) = plugin(&data, &["run", sql]);
        assert!(
            !passed && said.to_lowercase().contains("read-only"),
            "{sql}: {said}"
        );
    }
}

#[test]
fn the_connector_passes_the_kit() {
    let mut data = Trino::shared().connection_data("memory");
    // Those of the fixture: other tests make tables in schemas of their own, which the kit would take for its own doing.
    data["schemas"] = json!(["audit", "default", "shop"]);
    let (passed, said) = plugin(&data, &["test"]);
    assert!(passed, "{said}");
}

#[test]
fn what_is_wrong_with_a_connection_is_said() {
    let host = Host::start();
    let mut data = Trino::shared().connection_data("nothing");
    let body = |data: &Value| json!({"name": "lake", "engine": "trino", "connection_data": data});
    let refused = host.post("/datasources", &body(&data)).expect(400);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("nothing"), "{refused}");
    data["url"] = json!(format!("{}/v1", Trino::shared().url));
    host.post("/datasources", &body(&data)).expect(400);
}
