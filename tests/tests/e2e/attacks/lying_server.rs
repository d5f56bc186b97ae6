//! A user of one workspace runs the server behind a datasource, or the vendor behind a provider, and has it lie. The
//! plugin checks what it is told, so the server is to blame, and the plugin goes on serving everybody.

use mindhost_tests::{
    Cell, Datasource, Host, LyingPostgres, Mind, Reply, Said, ScriptedModel, Turn, json,
};

/// More often than a plugin may fail before it is rested.
const AGAIN: usize = 8;

/// What the server is to say, made anew for each statement.
type Lie = fn() -> Said;

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
    let lies: [(&str, Lie); 6] = [
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

#[tokio::test]
async fn lies_of_a_vendor_are_the_vendors() {
    let call = Turn::call(&"run_sql".repeat(100), json!({}));
    let model = ScriptedModel::start((0..AGAIN).map(|_| call.clone())).await;
    let host = Host::start().await;
    host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
    host.scripted_provider("scripted", &model).await;
    let mind = host.mind("clerk").datasource("shop").provider("scripted");
    let mind = mind.create().await;
    for _ in 0..AGAIN {
        let refused = mind.ask("How many?").await;
        check_blame(&refused, "too long");
    }
    check_plugin(&host, "model-openai").await;
}
