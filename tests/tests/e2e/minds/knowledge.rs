//! `/minds/{name}/knowledge`

mod documents;
mod stale;
mod told;

use mindhost_tests::{Host, Reply, Value, json};
use reqwest::Method;

use crate::stores;

/// A shop whose orders have items.
pub const SHOP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), status TEXT);
    CREATE TABLE order_items (order_id INTEGER REFERENCES orders (id), quantity INTEGER, unit_price REAL);
    INSERT INTO customers VALUES (1, 'Ann');
    INSERT INTO orders VALUES (1, 1, 'delivered'), (2, 1, 'cancelled');
    INSERT INTO order_items VALUES (1, 2, 4.5), (2, 1, 100);";

/// A Mind `sales` over the shop.
pub async fn taught(host: &Host) {
    host.sqlite("shop", SHOP).await.load().await;
    host.mind("sales").datasource("shop").create().await;
}

/// The metric that the tests use.
pub fn revenue() -> Value {
    json!({
        "kind": "metric",
        "name": "revenue",
        "synonyms": ["turnover"],
        "expression": "sum(i.quantity * i.unit_price)",
        "from": "order_items i JOIN orders o ON o.id = i.order_id",
        "filter": "o.status <> 'cancelled'",
    })
}

/// Teaches the Mind `sales`.
pub async fn teach(host: &Host, entry: Value) -> Reply {
    host.post("/minds/sales/knowledge", entry).await
}

/// Sends a document to the Mind `sales`.
pub async fn import(host: &Host, mode: &str, yaml: &str) -> Reply {
    host.request(
        Method::POST,
        &format!("/api/v1/minds/sales/knowledge/import?mode={mode}"),
    )
    .header("content-type", "application/yaml")
    .raw(yaml.as_bytes().to_vec())
    .await
}

/// What the Mind `sales` was taught, oldest first.
pub async fn entries(host: &Host) -> Vec<Value> {
    let page = host.get("/minds/sales/knowledge?limit=100").await;
    let page = page.expect_status(200).json();
    page["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn knowledge_is_kept_listed_changed_and_deleted() {
    for host in stores::both().await {
        taught(&host).await;
        let made = teach(&host, revenue()).await.expect_status(201).json();
        for (field, value) in revenue().as_object().unwrap() {
            assert_eq!(&made[field], value, "{made}");
        }
        assert_eq!(
            (&made["status"], &made["stale_reason"]),
            (&json!("valid"), &Value::Null)
        );
        for entry in [
            json!({"kind": "instruction", "name": "year", "text": "The year begins in April."}),
            json!({"kind": "term", "name": "regular", "meaning": "Three orders.", "table": "customers", "column": "name"}),
            json!({"kind": "relationship", "name": "items", "from_table": "order_items", "from_columns": ["order_id"],
                "to_table": "main.orders", "to_columns": ["id"], "cardinality": "many_to_one"}),
            json!({"kind": "verified_query", "question": "How many orders?", "sql": "SELECT count(*) FROM orders"}),
        ] {
            teach(&host, entry).await.expect_status(201);
        }
        assert_eq!(entries(&host).await.len(), 5);
        let metrics = host.get("/minds/sales/knowledge?kind=metric").await.json();
        assert_eq!(metrics["data"], json!([made]));

        let first = host.get("/minds/sales/knowledge?limit=2").await.json();
        assert_eq!(
            (&first["has_more"], &first["first_id"]),
            (&json!(true), &made["id"])
        );
        let rest = format!(
            "/minds/sales/knowledge?after={}",
            first["last_id"].as_str().unwrap()
        );
        let rest = host.get(&rest).await.json();
        assert_eq!(
            (rest["data"].as_array().unwrap().len(), &rest["has_more"]),
            (3, &json!(false))
        );

        let path = format!("/minds/sales/knowledge/{}", made["id"].as_str().unwrap());
        let mut sales = revenue();
        sales["name"] = json!("sales");
        let changed = host.put(&path, sales).await.expect_status(200).json();
        assert_eq!(
            (&changed["name"], &changed["id"]),
            (&json!("sales"), &made["id"])
        );
        assert_eq!(host.get(&path).await.json(), changed);
        let kind = json!({"kind": "instruction", "name": "x", "text": "y"});
        assert_eq!(
            host.put(&path, kind)
                .await
                .expect_error(400, "invalid_parameter")["param"],
            "kind"
        );
        host.delete(&path).await.expect_status(204);
        host.get(&path)
            .await
            .expect_error(404, "knowledge_not_found");
        host.delete(&path)
            .await
            .expect_error(404, "knowledge_not_found");
    }
}

#[tokio::test]
async fn wrong_knowledge_is_refused_with_the_field_and_the_nearest_names() {
    let host = Host::start().await;
    taught(&host).await;
    let refused = async |entry: Value, status, code, param: &str, says: &str| {
        let error = teach(&host, entry).await.expect_error(status, code);
        assert_eq!(error["param"], param, "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    };
    let metric = |field: &str, value: &str| {
        let mut metric = revenue();
        metric[field] = json!(value);
        metric
    };
    refused(
        metric("expression", "sum(i.quantity"),
        400,
        "sql_syntax",
        "expression",
        "",
    )
    .await;
    refused(
        metric("expression", "sum(i.quantty)"),
        400,
        "sql_invalid",
        "expression",
        "quantity",
    )
    .await;
    let mut relationship = json!({"kind": "relationship", "name": "items", "from_table": "order_items",
        "from_columns": ["order_id"], "to_table": "orders", "to_columns": ["id"], "cardinality": "foo"});
    refused(
        relationship.clone(),
        400,
        "invalid_body",
        "cardinality",
        "many_to_one",
    )
    .await;
    relationship["cardinality"] = json!("many_to_one");
    relationship["from_columns"] = json!("order_id");
    refused(relationship, 400, "invalid_body", "from_columns", "a list").await;
    // Not an expression: it would end the statement and begin another one.
    refused(
        metric("expression", "1) FROM orders UNION SELECT (2"),
        400,
        "sql_syntax",
        "expression",
        "",
    )
    .await;
    refused(
        metric("expression", "i.quantity), (i.unit_price"),
        400,
        "sql_syntax",
        "expression",
        "",
    )
    .await;
    // Their brackets would be those around the part.
    for (field, part) in [
        ("expression", "sum(i.quantity)) + (1"),
        (
            "filter",
            "o.status = 'delivered') OR (o.status = 'cancelled'",
        ),
    ] {
        refused(
            metric(field, part),
            400,
            "invalid_parameter",
            field,
            "bracket",
        )
        .await;
    }
    // In one line the comment would take the filter away.
    for (field, part, advice) in [
        (
            "from",
            "order_items i JOIN orders o ON o.id = i.order_id --",
            "comment",
        ),
        (
            "expression",
            "SELECT sum(i.quantity) FROM order_items i",
            "follows SELECT",
        ),
        ("filter", "SELECT false", "follows WHERE"),
    ] {
        refused(metric(field, part), 400, "invalid_parameter", field, advice).await;
    }
    refused(
        metric("expression", "lower(o.status)"),
        400,
        "invalid_parameter",
        "expression",
        "each row",
    )
    .await;
    refused(
        metric("from", "order_item i"),
        400,
        "sql_table_not_allowed",
        "from",
        "order_items",
    )
    .await;
    refused(
        metric("from", "sqlite_master"),
        400,
        "sql_table_not_allowed",
        "from",
        "",
    )
    .await;
    refused(
        metric("filter", "status <>"),
        400,
        "sql_syntax",
        "filter",
        "",
    )
    .await;
    refused(
        metric("filter", "o.state = 1"),
        400,
        "sql_invalid",
        "expression",
        "status",
    )
    .await;
    let plain =
        json!({"kind": "metric", "name": "sum", "expression": "quantity", "from": "order_items"});
    refused(
        plain,
        400,
        "invalid_parameter",
        "expression",
        "sum(quantity)",
    )
    .await;
    refused(
        metric("from", "order_items i UNION SELECT 1"),
        400,
        "invalid_parameter",
        "from",
        "joined tables",
    )
    .await;
    refused(
        metric("name", ""),
        400,
        "invalid_parameter",
        "name",
        "empty",
    )
    .await;

    let term = json!({"kind": "term", "name": "x", "meaning": "y", "table": "custmers"});
    refused(term, 422, "unknown_table", "table", "customers").await;
    let join = |from: &str, column: &str| {
        json!({"kind": "relationship", "name": "items", "from_table": from, "from_columns": [column],
            "to_table": "orders", "to_columns": ["id"]})
    };
    refused(
        join("order_item", "order_id"),
        422,
        "unknown_table",
        "from_table",
        "order_items",
    )
    .await;
    refused(
        join("order_items", "oder_id"),
        422,
        "unknown_column",
        "from_columns",
        "order_id",
    )
    .await;
    let query = |sql: &str| json!({"kind": "verified_query", "question": "How many?", "sql": sql});
    refused(
        query("DELETE FROM orders"),
        400,
        "sql_not_read_only",
        "sql",
        "",
    )
    .await;
    refused(
        query("SELECT statuss FROM orders"),
        400,
        "sql_invalid",
        "sql",
        "status",
    )
    .await;

    teach(&host, json!({"kind": "song", "name": "x"}))
        .await
        .expect_error(400, "invalid_body");
    teach(
        &host,
        json!({"kind": "term", "name": "x", "meaning": "y", "more": 1}),
    )
    .await
    .expect_error(400, "invalid_body");
    teach(&host, revenue()).await.expect_status(201);
    let again = teach(&host, metric("name", "Revenue")).await;
    assert_eq!(again.expect_error(409, "name_taken")["param"], "name");
    assert_eq!(entries(&host).await.len(), 1);
}

#[tokio::test]
async fn users_read_knowledge_and_editors_write_it() {
    let host = Host::start().await;
    taught(&host).await;
    teach(&host, revenue()).await.expect_status(201);
    let key = async |body: Value| {
        let made = host.post("/keys", body).await.expect_status(201).json();
        made["key"].as_str().unwrap().to_owned()
    };
    let user = key(json!({"name": "reader", "role": "user", "minds": ["sales"]})).await;
    let listed = host.get("/minds/sales/knowledge").key(&user).await;
    assert_eq!(
        listed.expect_status(200).json()["data"][0]["name"],
        "revenue"
    );
    let exported = host.get("/minds/sales/knowledge/export").key(&user).await;
    assert!(exported.expect_status(200).text().contains("revenue"));
    host.post("/minds/sales/knowledge", revenue())
        .key(&user)
        .await
        .expect_error(403, "forbidden");

    let editor = key(json!({"name": "writer", "role": "editor"})).await;
    let year = json!({"kind": "instruction", "name": "year", "text": "It begins in April."});
    host.post("/minds/sales/knowledge", year)
        .key(&editor)
        .await
        .expect_status(201);
    let audit = host.get("/audit?limit=5").await.json();
    let noted = audit["data"].as_array().unwrap().iter().any(|note| {
        note["action"] == "POST /minds/{name}/knowledge" && note["key_name"] == "writer"
    });
    assert!(noted, "{audit}");
}

#[tokio::test]
async fn knowledge_goes_with_its_mind() {
    for host in stores::both().await {
        taught(&host).await;
        teach(&host, revenue()).await.expect_status(201);
        host.delete("/minds/sales").await.expect_status(200);
        host.get("/minds/sales/knowledge")
            .await
            .expect_error(404, "mind_not_found");
        host.mind("sales").datasource("shop").create().await;
        assert_eq!(entries(&host).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn word_belongs_to_one_metric() {
    let host = Host::start().await;
    taught(&host).await;
    let revenue = teach(&host, revenue()).await.expect_status(201).json();
    let metric = |name: &str, synonyms: &[&str]| {
        let mut metric = json!({"kind": "metric", "expression": "count(*)", "from": "orders"});
        metric["name"] = json!(name);
        metric["synonyms"] = json!(synonyms);
        metric
    };
    let taken = |reply: Reply, param: &str| {
        let error = reply.expect_error(409, "name_taken");
        assert_eq!(error["param"], param, "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("'revenue'"), "{error}");
    };
    taken(
        teach(&host, metric("sales", &["Turnover"])).await,
        "synonyms",
    );
    taken(teach(&host, metric("TURNOVER", &[])).await, "name");
    let sales = teach(&host, metric("sales", &["net  sales"])).await;
    let sales = sales.expect_status(201).json();
    let path = |entry: &Value| format!("/minds/sales/knowledge/{}", entry["id"].as_str().unwrap());
    taken(
        host.put(&path(&sales), metric("sales", &["revenue"])).await,
        "synonyms",
    );
    // Its own words are its own.
    let again = metric("sales", &["net sales", "Sales"]);
    host.put(&path(&sales), again).await.expect_status(200);
    let document = "metrics:\n  - {name: orders made, synonyms: [turnover], expression: count(*), from: orders}\n";
    let error = import(&host, "merge", document).await;
    assert_eq!(error.expect_error(400, "invalid_yaml")["param"], "metrics");
    assert_eq!(entries(&host).await.len(), 2);
    host.delete(&path(&revenue)).await.expect_status(204);
    import(&host, "merge", document).await.expect_status(200);
}

#[tokio::test]
async fn repeated_request_teaches_once() {
    let host = Host::start().await;
    taught(&host).await;
    host.mind("other").datasource("shop").create().await;
    let send = async |mind: &str| {
        let request = host.post(&format!("/minds/{mind}/knowledge"), revenue());
        request.header("idempotency-key", "one").await
    };
    let first = send("sales").await.expect_status(201).json();
    assert_eq!(send("sales").await.expect_status(201).json(), first);
    assert_eq!(entries(&host).await.len(), 1);
    // Another Mind is another request.
    send("other")
        .await
        .expect_error(409, "idempotency_key_reused");
}

#[tokio::test]
async fn mind_learns_no_more_than_its_quota() {
    for host in stores::both_with(|host| host.env("MINDHOST_LIMITS__KNOWLEDGE_PER_MIND", "2")).await
    {
        taught(&host).await;
        let year = |name: &str| json!({"kind": "instruction", "name": name, "text": "It begins in April."});
        teach(&host, year("a")).await.expect_status(201);
        teach(&host, year("b")).await.expect_status(201);
        let refused = teach(&host, year("c"))
            .await
            .expect_error(429, "quota_exceeded");
        assert!(
            refused["message"]
                .as_str()
                .unwrap()
                .contains("limits.knowledge_per_mind"),
            "{refused}"
        );
        let document = "instructions:\n  - {name: c, text: x}\n";
        import(&host, "merge", document)
            .await
            .expect_error(429, "quota_exceeded");
        import(&host, "replace", document).await.expect_status(200);
        assert_eq!(entries(&host).await.len(), 1);
    }
}
