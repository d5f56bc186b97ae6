//! `/conversations`: items, pages of results, exports.

mod items;
mod lists;

use mindhost_tests::{Host, Mind, Postgres};
use serde_json::{Value, json};

use crate::responses::shop;

/// Runs a statement and gives the path of its message.
async fn message(mind: &Mind, sql: &str) -> String {
    path(&mind.sql(sql).await.expect_status(200).json())
}

/// The path of the message of a response.
fn path(response: &Value) -> String {
    format!(
        "/conversations/{}/items/{}",
        response["conversation"]["id"].as_str().unwrap(),
        response["output"][0]["id"].as_str().unwrap()
    )
}

async fn numbers() -> (Host, Mind) {
    let (host, mind) = shop().await;
    let sql = "CREATE TABLE numbers (n INTEGER);
        WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2500) INSERT INTO numbers SELECT n FROM c;";
    host.sqlite("numbers", sql).await.load().await;
    host.put("/minds/sales", json!({"datasources": ["shop", "numbers"]}))
        .await
        .expect_status(200);
    (host, mind)
}

#[tokio::test]
async fn pages_follow_each_other_and_know_the_total() {
    let (host, mind) = numbers().await;
    let path = message(&mind, "SELECT n FROM numbers ORDER BY n").await;
    let page = async |query: &str| {
        host.get(&format!("{path}/result{query}"))
            .await
            .expect_status(200)
            .json()
    };
    let first = page("").await;
    assert_eq!(first["result"]["data"].as_array().unwrap().len(), 100);
    assert_eq!(first["result"]["column_names"], json!(["n"]));
    assert_eq!(
        (&first["total"], &first["is_pagination_consistent"]),
        (&json!(2500), &json!(true))
    );
    let second = page("?limit=1000&offset=2000").await;
    assert_eq!(second["result"]["data"].as_array().unwrap().len(), 500);
    assert_eq!(second["result"]["data"][0], json!([2001]));
    let behind = page("?limit=10&offset=9000").await;
    assert_eq!(
        (&behind["result"]["data"], &behind["total"]),
        (&json!([]), &json!(2500))
    );
}

#[tokio::test]
async fn a_limit_of_the_statement_itself_is_kept() {
    let (host, mind) = numbers().await;
    let path = message(&mind, "SELECT n FROM numbers ORDER BY n LIMIT 7 OFFSET 3").await;
    let page = host
        .get(&format!("{path}/result?limit=5&offset=5"))
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&page["result"]["data"], &page["total"]),
        (&json!([[9], [10]]), &json!(7))
    );
}

#[tokio::test]
async fn pages_without_an_order_say_that_they_are_not_consistent() {
    let (host, mind) = numbers().await;
    let path = message(&mind, "SELECT n FROM numbers").await;
    assert_eq!(
        host.get(&format!("{path}/result")).await.json()["is_pagination_consistent"],
        false
    );
}

#[tokio::test]
async fn limits_are_taken_up_to_their_bounds() {
    let (host, mind) = shop().await;
    let path = message(&mind, "SELECT 1").await;
    for query in ["limit=1", "limit=1000", "offset=0", "offset=5"] {
        host.get(&format!("{path}/result?{query}"))
            .await
            .expect_status(200);
    }
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "offset=-1",
        "offset=1.5",
        "offset=99999999999999999999",
    ] {
        let error = host.get(&format!("{path}/result?{query}")).await;
        let error = error.expect_error(400, "invalid_parameter");
        let expected = match query {
            "limit=0" | "limit=1001" | "limit=-1" => "`limit` must be an integer from 1 to 1000",
            "limit=x" => "`limit`: expected a whole number without a sign",
            "offset=-1" | "offset=1.5" => "`offset`: expected a whole number without a sign",
            _ => "`offset`: the number is too large",
        };
        assert_eq!(error["message"], expected);
    }
}

#[tokio::test]
async fn an_export_is_csv_with_a_header_and_all_rows() {
    let (host, mind) = numbers().await;
    let path = message(
        &mind,
        "SELECT n, NULL AS none, '' AS empty, 'a,\"b' AS quoted FROM numbers ORDER BY n",
    )
    .await;
    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    assert!(export.header("content-type").starts_with("text/csv"));
    assert!(export.header("content-disposition").contains(".csv"));
    let text = export.text();
    let mut lines = text.split('\n');
    assert_eq!(lines.next(), Some("n,none,empty,quoted"));
    assert_eq!(lines.next(), Some("1,,\"\",\"a,\"\"b\""));
    assert_eq!(text.matches('\n').count(), 2501);
    let empty = message(&mind, "SELECT n FROM numbers WHERE n < 0").await;
    assert_eq!(host.get(&format!("{empty}/export")).await.text(), "n\n");
    // As most clients ask. A gzip file ends with the length of what is in it.
    for (path, length) in [(path, text.len()), (empty, 2)] {
        let packed = host
            .get(&format!("{path}/export"))
            .header("accept-encoding", "gzip");
        let packed = packed.await.expect_status(200);
        assert_eq!(packed.header("content-encoding"), "gzip");
        let tail = packed
            .body
            .last_chunk::<4>()
            .copied()
            .map(u32::from_le_bytes);
        assert_eq!(tail, u32::try_from(length).ok());
    }
}

/// PostgreSQL is asked for the next rows while one reads the last ones, so there is a second error to read.
#[tokio::test]
async fn an_export_that_fails_gives_its_error_to_no_other_statement() {
    let host = Host::start().await;
    let sql = "CREATE TABLE numbers AS SELECT n FROM generate_series(1, 9000) n";
    let database = Postgres::shared().database(sql).await;
    host.postgres("numbers", &database).await.load().await;
    let mind = host.mind("counting").datasource("numbers").direct_queries();
    let mind = mind.create().await;
    for row in [800, 3000, 8999] {
        let sql = format!("SELECT n, 1 / ({row} - n) AS part FROM numbers");
        // So few rows that the error is not among them.
        let tool = json!({"type": "sql_query", "query": sql, "max_inline_rows": 1});
        let response = host.post("/responses", json!({"model": "counting", "tools": [tool]}));
        let path = path(&response.await.expect_status(200).json());
        let export = host.get(&format!("{path}/export")).open().await;
        let text = export.text().await;
        assert!(text.is_err() || text.is_ok_and(|text| text.contains("division by zero")));
        for other in ["SELECT 1 AS n", "SELECT count(*) FROM numbers"] {
            mind.sql(other).await.expect_status(200);
        }
    }
}

#[tokio::test]
async fn results_need_an_answer_with_sql() {
    let (host, mind) = shop().await;
    let refusal = mind
        .ask("Why is the sky blue?")
        .await
        .expect_status(200)
        .json();
    let conversation = refusal["conversation"]["id"].as_str().unwrap();
    let items = host
        .get(&format!("/conversations/{conversation}/items?order=asc"))
        .await
        .json();
    let of = |index: usize| {
        format!(
            "/conversations/{conversation}/items/{}",
            items["data"][index]["id"].as_str().unwrap()
        )
    };
    for kind in ["result", "export"] {
        host.get(&format!("{}/{kind}", of(0)))
            .await
            .expect_error(400, "not_an_assistant_message");
        host.get(&format!("{}/{kind}", of(1)))
            .await
            .expect_error(400, "message_without_sql");
        let missing = "0190aaaa-0000-7000-8000-000000000000";
        host.get(&format!(
            "/conversations/{conversation}/items/{missing}/{kind}"
        ))
        .await
        .expect_error(404, "message_not_found");
        host.get(&format!("/conversations/{missing}/items/{missing}/{kind}"))
            .await
            .expect_error(404, "conversation_not_found");
    }
}

#[tokio::test]
async fn stored_sql_is_guarded_anew_against_the_mind_as_it_is_now() {
    let (host, mind) = shop().await;
    let path = message(&mind, "SELECT id FROM orders ORDER BY id").await;
    let get = async |kind: &str| host.get(&format!("{path}/{kind}")).await;
    get("result").await.expect_status(200);
    let put = async |body: Value| host.put("/minds/sales", body).await.expect_status(200);
    put(json!({"datasources": [{"name": "shop", "tables": ["customers"]}]})).await;
    get("result")
        .await
        .expect_error(400, "sql_table_not_allowed");
    get("export")
        .await
        .expect_error(400, "sql_table_not_allowed");
    put(json!({"datasources": ["shop"], "parameters": {"allow_direct_queries": false}})).await;
    get("result")
        .await
        .expect_error(403, "direct_queries_not_allowed");
    host.delete("/minds/sales").await.expect_status(200);
    get("result").await.expect_error(404, "mind_deleted");
    shop_again(&host).await;
    get("export").await.expect_error(404, "mind_deleted");
}

/// A new Mind of the same name.
async fn shop_again(host: &Host) {
    host.mind("sales")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
}

#[tokio::test]
async fn items_are_listed_in_both_orders_with_cursors() {
    let (host, _mind) = shop().await;
    let items = json!([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}, {"role": "user", "content": "three"}]);
    let conversation = host
        .post(
            "/conversations",
            json!({"items": items, "metadata": {"topic": "x"}}),
        )
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&conversation["object"], &conversation["metadata"]["topic"]),
        (&json!("conversation"), &json!("x"))
    );
    let path = format!(
        "/conversations/{}/items",
        conversation["id"].as_str().unwrap()
    );
    let list = async |query: &str| {
        host.get(&format!("{path}{query}"))
            .await
            .expect_status(200)
            .json()
    };
    let texts = |list: &Value| -> Vec<String> {
        let items = list["data"].as_array().unwrap().iter();
        items
            .map(|item| item["content"][0]["text"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(texts(&list("").await), ["three", "two", "one"]);
    let first = list("?order=asc&limit=2").await;
    assert_eq!(
        (texts(&first), &first["has_more"]),
        (vec!["one".to_owned(), "two".to_owned()], &json!(true))
    );
    let rest = list(&format!(
        "?order=asc&after={}",
        first["last_id"].as_str().unwrap()
    ))
    .await;
    assert_eq!(
        (texts(&rest), &rest["has_more"]),
        (vec!["three".to_owned()], &json!(false))
    );
    host.get(&format!("{path}?limit=0"))
        .await
        .expect_error(400, "invalid_parameter");
    host.get(&format!("{path}?order=sideways"))
        .await
        .expect_error(400, "invalid_parameter");
    host.delete(path.trim_end_matches("/items"))
        .await
        .expect_status(200);
    host.get(&path)
        .await
        .expect_error(404, "conversation_not_found");
}
