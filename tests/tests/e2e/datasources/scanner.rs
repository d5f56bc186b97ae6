//! Sources that yield rows and know no SQL: files, a REST API, and scanners that misbehave.

use crate::conformance;
use axum::{
    Json, Router,
    extract::Query,
    http::{HeaderMap, HeaderValue, StatusCode, Uri},
    routing::{get, post},
};
use mindhost_tests::{Host, Mind, Value, build, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

fn write_csv(host: &Host, name: &str, text: &str) {
    let folder = host.files_dir().join("sales");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

/// Orders of three customers, a thousand of them.
async fn sales() -> (Host, Mind) {
    let host = Host::start().await;
    write_csv(
        &host,
        "Customers.csv",
        "id,name,since\n1,Ada,2020-01-01\n2,Bob,2021-06-30\n3,Eve,\n",
    );
    let mut orders = String::from("id,customer_id,total,paid\n");
    for id in 0..1_000 {
        orders += &format!("{id},{},{}.5,{}\n", id % 3 + 1, id % 10, id % 2 == 0);
    }
    write_csv(&host, "orders.csv", &orders);
    let csv = host
        .datasource("sales", "csv", json!({"path": "sales"}))
        .await;
    csv.load().await;
    let mind = host
        .mind("files")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    (host, mind)
}

#[tokio::test]
async fn files_have_full_sql() {
    let (_host, mind) = sales().await;
    let sql = "SELECT c.name, count(*) AS orders, CAST(sum(o.total) AS bigint) AS total, \
               rank() OVER (ORDER BY sum(o.total) DESC) AS place \
               FROM orders o JOIN Customers c ON c.id = o.customer_id WHERE o.paid \
               GROUP BY c.name ORDER BY c.name";
    assert_eq!(
        mind.rows(sql).await,
        [
            [json!("Ada"), json!(167), json!(749), json!(2)],
            [json!("Bob"), json!(166), json!(747), json!(3)],
            [json!("Eve"), json!(167), json!(753), json!(1)]
        ]
        .map(|row| row.to_vec())
        .to_vec(),
    );
}

#[tokio::test]
async fn a_table_is_named_in_front_of_its_star() {
    let (_host, mind) = sales().await;
    for sql in [
        "SELECT customers.* FROM Customers WHERE id = 1",
        "SELECT Customers.*, o.total FROM Customers JOIN orders o ON o.customer_id = \"Customers\".id WHERE o.id = 0",
        "SELECT files.Customers.* FROM Customers WHERE id = 1",
    ] {
        let rows = mind.rows(sql).await;
        assert_eq!(rows[0][..2], [json!(1), json!("Ada")], "{sql}");
    }
}

#[tokio::test]
async fn a_bad_cell_is_the_files_fault_and_no_strike_against_the_plugin() {
    let host = Host::start().await;
    write_csv(&host, "dec.csv", "d\n1.5\n100000000000000000000000000000\n");
    write_csv(
        &host,
        "good.csv",
        "id\n12345678901234567890\n12345678901234567891\n",
    );
    let data = json!({"path": "sales", "types": {"dec.d": "decimal"}});
    host.datasource("sales", "csv", data).await;
    let mind = host
        .mind("files")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    for _ in 0..8 {
        let refused = mind
            .sql("SELECT * FROM dec")
            .await
            .expect_status(502)
            .json();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("line 3 of `dec.csv`: the field `d`"),
            "{refused}"
        );
        assert_eq!(refused["error"]["blame"], "upstream", "{refused}");
    }
    let rows = mind
        .rows("SELECT count(DISTINCT id), max(id) FROM good")
        .await;
    assert_eq!(rows, [[json!(2), json!("12345678901234567891")]]);
    mind.sql("SELECT regexp_like('a', '(')")
        .await
        .expect_status(400);
}

#[tokio::test]
async fn files_are_catalogued_with_statistics() {
    let (host, _mind) = sales().await;
    let table = host
        .get("/datasources/sales/catalog")
        .await
        .expect_status(200)
        .json();
    let orders = table["tables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|table| table["name"] == "orders")
        .unwrap();
    assert_eq!(orders["row_count"], 1_000, "{orders}");
    let paid = orders["columns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|column| column["name"] == "paid")
        .unwrap();
    assert_eq!(paid["data_type"], "boolean", "{paid}");
}

/// The path of the message of a statement.
async fn message(mind: &Mind, sql: &str) -> String {
    let response = mind.sql(sql).await.expect_status(200).json();
    let conversation = response["conversation"]["id"].as_str().unwrap();
    let item = response["output"][0]["id"].as_str().unwrap();
    format!("/conversations/{conversation}/items/{item}")
}

#[tokio::test]
async fn pages_and_exports_are_those_of_every_engine() {
    let (host, mind) = sales().await;
    let path = message(&mind, "SELECT id, total FROM orders ORDER BY id").await;
    let page = host.get(&format!("{path}/result?limit=2&offset=997")).await;
    let page = page.expect_status(200).json();
    assert_eq!(page["total"], 1_000);
    assert_eq!(page["result"]["data"], json!([[997, 7.5], [998, 8.5]]));
    let export = host.get(&format!("{path}/export")).await.expect_status(200);
    let text = export.text();
    assert!(text.starts_with("id,total\n0,0.5\n1,1.5\n"), "{text}");
    assert_eq!(text.lines().count(), 1_001);
}

/// Rows that a scanner of the tests makes up.
async fn made_up(rows: u64, timeout: &str) -> (Host, Mind) {
    let host = Host::builder()
        .plugin(build::guest("scanner"))
        .env("MINDHOST_SQL__STATEMENT_TIMEOUT", timeout)
        .start()
        .await;
    host.datasource("rows", "made-up", json!({"rows": rows}))
        .await;
    let mind = host
        .mind("rows")
        .datasource("rows")
        .direct_queries()
        .create()
        .await;
    (host, mind)
}

#[tokio::test]
async fn filters_and_limits_reach_the_scanner_that_wants_them() {
    let (_host, mind) = made_up(1_000, "30s").await;
    let asked = |sql: &'static str| {
        let mind = mind.clone();
        async move { mind.rows(sql).await[0][0].as_str().unwrap().to_owned() }
    };
    let exact = asked("SELECT asked FROM exact WHERE id = 7 AND name LIKE 'name%' LIMIT 3").await;
    assert_eq!(
        exact,
        r#"asked where id FilterOp::Eq [Value::Int64(7)] and name FilterOp::Like [Value::Text("name%")] limit Some(3)"#
    );
    let none = asked("SELECT asked FROM numbers WHERE id = 7").await;
    assert_eq!(none, "id asked where  limit None");
}

#[tokio::test]
async fn what_a_scanner_does_wrong_ends_the_statement_alone() {
    let (_host, mind) = made_up(10_000, "10s").await;
    for (table, status, code) in [
        ("too_many", 502, "plugin_error"),
        ("wrong_type", 502, "plugin_error"),
        ("other", 502, "plugin_error"),
        ("changed", 502, "upstream_error"),
        ("fails", 502, "upstream_error"),
        ("panics", 502, "plugin_error"),
        ("drip", 504, "timeout"),
        ("hangs", 504, "timeout"),
        ("endless", 504, "timeout"),
    ] {
        let reply = mind
            .sql(&format!("SELECT max(id), max(name) FROM {table}"))
            .await;
        assert_eq!(reply.status, status, "{table}: {}", reply.text());
        reply.expect_error(status, code);
        let rows = mind.rows("SELECT count(*) FROM numbers").await;
        assert_eq!(rows, [[json!(10_000)]], "after {table}");
    }
    // A claim is believed: the result is wrong, and nothing else is.
    assert_eq!(
        mind.rows("SELECT count(*) FROM liar WHERE id = 1").await,
        [[json!(10_000)]]
    );
}

#[tokio::test]
async fn a_statement_that_computes_for_ever_ends_in_time_and_leaves_room() {
    let (_host, mind) = made_up(20_000, "10s").await;
    for sql in [
        "SELECT count(*) FROM numbers a, numbers b, numbers c",
        "SELECT count(*) FROM numbers a JOIN numbers b ON a.id < b.id JOIN numbers c ON b.id <> c.id",
    ] {
        let error = mind.sql(sql).await.expect_error(504, "timeout");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("a statement may take 10s (`sql.statement_timeout`)"),
            "{message}"
        );
        assert_eq!(
            mind.rows("SELECT count(*) FROM numbers").await,
            [[json!(20_000)]]
        );
    }
}

/// What the API of the tests was asked.
type Asked = Arc<Mutex<Vec<HashMap<String, String>>>>;

/// `GET /orders?page=1&status=paid`: five pages of forty orders.
async fn orders_api() -> (String, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let orders = move |Query(query): Query<HashMap<String, String>>| async move {
        seen.lock().unwrap().push(query.clone());
        let page: i64 = query["page"].parse().unwrap();
        let rows = ((page - 1) * 40..page * 40).filter(|_| page <= 5).map(|id| {
            let status = if id % 4 == 0 { "paid" } else { "open" };
            json!({"id": id, "status": status, "total": format!("{id}.25"), "placed_at": "2024-02-29T12:00:00Z"})
        });
        let wanted = |row: &Value| {
            query
                .get("status")
                .is_none_or(|status| row["status"] == **status)
        };
        Json(rows.filter(wanted).collect::<Vec<_>>())
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route("/orders", get(orders));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, asked)
}

#[tokio::test]
async fn a_rest_api_has_sql_too() {
    let (url, asked) = orders_api().await;
    let host = Host::builder().plugin(build::guest("rest")).start().await;
    let datasource = host.datasource("api", "orders-api", json!({"base_url": url}));
    // No run of the catalog asks beside the tests.
    datasource.await.load().await;
    let mind = host
        .mind("api")
        .datasource("api")
        .direct_queries()
        .create()
        .await;

    let sql = "SELECT status, count(*) AS orders, sum(total) AS total FROM orders GROUP BY status ORDER BY status";
    let rows = mind.rows(sql).await;
    assert_eq!(rows[0][..2], [json!("open"), json!(150)]);
    assert_eq!(rows[1], [json!("paid"), json!(50), json!("4912.50")]);

    asked.lock().unwrap().clear();
    let sql = "SELECT max(id) FROM orders WHERE status = 'paid' AND id < 100";
    assert_eq!(mind.rows(sql).await, [[json!(96)]]);
    {
        let asked = asked.lock().unwrap();
        assert!(!asked.is_empty());
        for query in asked.iter() {
            assert_eq!(query["status"], "paid", "{asked:?}");
        }
    }
    let tool = json!({"type": "sql_query", "query": sql, "explain": true});
    let explained = host.post("/responses", json!({"model": "api", "tools": [tool]}));
    let explained = explained.await.expect_status(200).json();
    let plan = explained["output"][0]["explain"]["plan"].as_str().unwrap();
    let scan = plan.lines().last().unwrap();
    // The API has a parameter for the status and none for the id.
    let told = "scan of api.orders: columns id; where status = 'paid'; 50 rows, ";
    assert!(scan.starts_with(told), "{plan}");
}

/// A token endpoint and an API that takes its tokens alone.
#[derive(Clone, Default)]
struct Protected(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Whether the client's secret has to be in the body.
    wants_body: bool,
    /// Seconds that a token is valid, as it is told.
    expires_in: Value,
    /// The tokens so far; only the last one is valid.
    tokens: u32,
    /// The bodies of the requests for tokens.
    asked: Vec<String>,
    /// How many requests a token is accepted for, and how many the last one has been.
    most_uses: Option<u32>,
    uses: u32,
    /// How often the endpoint still says that it is busy.
    busy: u32,
}

impl Protected {
    async fn start(wants_body: bool, expires_in: Value) -> (String, Self) {
        let (orders, _) = orders_api().await;
        let this = Self::default();
        *this.0.lock().unwrap() = State {
            wants_body,
            expires_in,
            ..State::default()
        };
        let (tokens, api) = (this.clone(), this.clone());
        let token =
            move |headers: HeaderMap, body: String| async move { tokens.token(&headers, body) };
        let read = move |headers: HeaderMap, uri: Uri| async move {
            if !api.accepts(headers.get("authorization")) {
                // Servers that say what they were sent are common.
                return Err((StatusCode::UNAUTHORIZED, format!("not for {headers:?}")));
            }
            let answer = reqwest::get(format!("{orders}{uri}")).await.unwrap();
            Ok(answer.text().await.unwrap())
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .route("/token", post(token))
            .route("/orders", get(read));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        (url, this)
    }

    fn token(&self, headers: &HeaderMap, body: String) -> (StatusCode, Json<Value>) {
        let mut state = self.0.lock().unwrap();
        // `clerk:s3cret&more`, each encoded as in a form.
        let in_header = headers
            .get("authorization")
            .is_some_and(|sent| sent == "Basic Y2xlcms6czNjcmV0JTI2bW9yZQ==");
        let in_body = body.contains("client_id=clerk&client_secret=s3cret%26more");
        state.asked.push(body);
        if state.busy > 0 {
            state.busy -= 1;
            return (StatusCode::SERVICE_UNAVAILABLE, Json(Value::Null));
        }
        let known = if state.wants_body {
            in_body
        } else {
            in_header && !in_body
        };
        if !known {
            return (
                StatusCode::UNAUTHORIZED,
                Json(json!({"error": "invalid_client"})),
            );
        }
        state.tokens += 1;
        state.uses = 0;
        let mut granted =
            json!({"access_token": format!("token-{}", state.tokens), "token_type": "bearer"});
        if !state.expires_in.is_null() {
            granted["expires_in"] = state.expires_in.clone();
        }
        (StatusCode::OK, Json(granted))
    }

    fn accepts(&self, sent: Option<&HeaderValue>) -> bool {
        let mut state = self.0.lock().unwrap();
        let expected = format!("Bearer token-{}", state.tokens);
        state.uses += 1;
        sent.is_some_and(|sent| sent == expected.as_str())
            && state.most_uses.is_none_or(|most| state.uses <= most)
    }

    /// Makes every token so far invalid.
    fn revoke(&self) {
        self.0.lock().unwrap().tokens += 1;
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }
}

fn client(url: &str, secret: &str) -> Value {
    json!({
        "base_url": url, "token_url": format!("{url}/token"), "client_id": "clerk", "client_secret": secret,
        "scope": "orders.read",
    })
}

async fn orders_of(url: &str) -> (Host, Mind) {
    let host = Host::builder().plugin(build::guest("rest")).start().await;
    let datasource = host.datasource("api", "orders-api", client(url, "s3cret&more"));
    // No run of the catalog asks beside the tests.
    datasource.await.load().await;
    let mind = host.mind("api").datasource("api").direct_queries();
    let mind = mind.create().await;
    (host, mind)
}

const COUNT: &str = "SELECT count(*) FROM orders";

#[tokio::test]
async fn access_token_is_asked_for_once_and_used_for_every_request() {
    for (wants_body, expires_in, requests) in [
        (false, json!(3600), 1),
        (false, Value::Null, 1),
        (false, json!("3600"), 1),
        // The header is tried first, and found out once.
        (true, json!(3600), 2),
    ] {
        let (url, protected) = Protected::start(wants_body, expires_in).await;
        let (_host, mind) = orders_of(&url).await;
        for _ in 0..3 {
            assert_eq!(mind.rows(COUNT).await, [[json!(200)]]);
        }
        let asked = protected.asked();
        assert_eq!(asked.len(), requests, "{asked:?}");
        for body in asked {
            assert!(
                body.starts_with("grant_type=client_credentials&scope=orders.read"),
                "{body}"
            );
        }
    }
}

#[tokio::test]
async fn access_token_is_renewed_when_it_ends_or_is_not_accepted() {
    let (url, protected) = Protected::start(false, json!(0)).await;
    let (_host, mind) = orders_of(&url).await;
    assert_eq!(mind.rows(COUNT).await, [[json!(200)]]);
    // Five pages, each with a token of its own, and those of the test of the connection.
    assert!(protected.asked().len() >= 5, "{:?}", protected.asked());

    let (url, protected) = Protected::start(false, json!(3600)).await;
    let (_host, mind) = orders_of(&url).await;
    assert_eq!(mind.rows(COUNT).await, [[json!(200)]]);
    // A request whose token is not accepted any more is sent again with a new one.
    protected.revoke();
    assert_eq!(mind.rows(COUNT).await, [[json!(200)]]);
    assert_eq!(protected.asked().len(), 2);
    // Five pages with tokens for two requests each.
    protected.0.lock().unwrap().most_uses = Some(2);
    assert_eq!(mind.rows(COUNT).await, [[json!(200)]]);
    // If the API accepts no token, the number of requests is bounded.
    protected.0.lock().unwrap().most_uses = Some(0);
    let before = protected.asked().len();
    let refused = mind.sql(COUNT).await.expect_error(502, "upstream_error");
    assert!(!refused.to_string().contains("token-"), "{refused}");
    assert!(protected.asked().len() <= before + 3);
}

#[tokio::test]
async fn busy_token_endpoint_is_asked_again() {
    let (url, protected) = Protected::start(false, json!(3600)).await;
    let (_host, mind) = orders_of(&url).await;
    protected.revoke();
    protected.0.lock().unwrap().busy = 2;
    assert_eq!(mind.rows(COUNT).await, [[json!(200)]]);
    protected.revoke();
    protected.0.lock().unwrap().busy = 100;
    let refused = mind.sql(COUNT).await.expect_error(502, "upstream_error");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("answered 503; it is busy or broken"),
        "{message}"
    );
}

#[tokio::test]
async fn wrong_client_is_told_what_to_check() {
    let (url, _protected) = Protected::start(false, json!(3600)).await;
    let host = Host::builder().plugin(build::guest("rest")).start().await;
    let body =
        json!({"name": "api", "engine": "orders-api", "connection_data": client(&url, "wrong")});
    let refused = host.post("/datasources", body).await;
    let refused = refused.expect_error(400, "connection_failed");
    let message = refused["message"].as_str().unwrap();
    for part in ["`token_url`", "401 (invalid_client)", "id and secret"] {
        assert!(message.contains(part), "{message}");
    }
    // The API answers: what is told is about the endpoint.
    let mut data = client(&url, "s3cret&more");
    data["token_url"] = json!("http://127.0.0.1:1/token");
    let body = json!({"name": "api", "engine": "orders-api", "connection_data": data});
    let refused = host.post("/datasources", body).await;
    let refused = refused.expect_error(400, "connection_failed");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("the token endpoint (`token_url`) cannot be reached (connection refused)"),
        "{message}"
    );
    // The token endpoint decides where the secret goes.
    let (url, _protected) = Protected::start(false, json!(3600)).await;
    let (host, _mind) = orders_of(&url).await;
    let mut moved = client(&url, "********");
    moved["token_url"] = json!("http://127.0.0.1:1/token");
    let refused = host.patch("/datasources/api", json!({"connection_data": moved}));
    refused.await.expect_error(422, "secret_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_the_endpoint_refuses_is_no_breach_of_the_grants() {
    let (url, _protected) = Protected::start(false, json!(3600)).await;
    let folder = tempfile::tempdir().unwrap();
    let data = json!({"connection_data": client(&url, "wrong")});
    let data = conformance::config(folder.path(), &data);
    let guest = build::guest("rest");
    let guest = guest.to_str().unwrap();
    let args = [
        "test",
        guest,
        "--config",
        data,
        "--filter",
        "two-scans,within-grants",
    ];
    let report = conformance::stdout(&conformance::plugin_async(folder.path(), &args).await);
    assert!(report.contains("FAIL  two-scans "), "{report}");
    assert!(
        report.contains("(invalid_client); check the client's id"),
        "{report}"
    );
    assert!(report.contains("pass  within-grants "), "{report}");
}
