//! `/minds/{name}/policies`, and the attributes and policies of keys.

mod comparisons;
mod keys;
mod prompt;
mod same_as_views;

use mindhost_tests::{Host, Mind, Postgres, Value, json};
use reqwest::Method;

const SHOP: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant TEXT, total DECIMAL(12,2), card TEXT, note TEXT);
    INSERT INTO orders VALUES (1, 'acme', 10.5, '1111222233334444', 'a'), (2, 'acme', 20, '12', NULL),
        (3, 'rival', 30, NULL, 'c');
    CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders);";

async fn shop() -> (Host, Mind) {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    let mind = host.mind("sales").datasource("shop").direct_queries();
    let mind = mind.create().await;
    (host, mind)
}

async fn key(host: &Host, attributes: Value) -> String {
    let body = json!({"name": "clerk", "role": "user", "attributes": attributes});
    let made = host.post("/keys", body).await.expect_status(201).json();
    assert_eq!(made["attributes"], attributes);
    made["key"].as_str().unwrap().to_owned()
}

async fn rows(host: &Host, key: &str, sql: &str) -> Value {
    let tool = json!({"type": "sql_query", "query": sql});
    let body = json!({"model": "sales", "tools": [tool]});
    let reply = host
        .post("/responses", body)
        .key(key)
        .await
        .expect_status(200);
    reply.json()["output"][0]["data"].clone()
}

fn policy(rest: Value) -> Value {
    let mut policy = json!({"datasource": "shop", "table": "orders"});
    for (name, value) in rest.as_object().unwrap() {
        policy[name] = value.clone();
    }
    json!({"policies": [policy]})
}

#[tokio::test]
async fn caller_sees_what_the_policy_leaves() {
    let (host, _mind) = shop().await;
    let key = key(&host, json!({"tenant": "acme", "level": 3})).await;
    let body = policy(json!({
        "filter": "tenant = {{caller.tenant}} AND {{caller.level}} >= 2",
        "hidden": ["total"],
        "masked": {"card": "last4", "note": {"text": "secret"}, "tenant": {"sql": "upper(tenant)"}},
    }));
    let set = host
        .put("/minds/sales/policies", body)
        .await
        .expect_status(200)
        .json();
    let shown = &set["policies"][0];
    assert_eq!(
        (&shown["table"], &shown["problem"]),
        (&json!("main.orders"), &Value::Null)
    );
    assert_eq!(shown["masked"]["note"], json!({"text": "secret"}), "{set}");
    assert_eq!(host.get("/minds/sales/policies").await.json(), set);
    let seen = rows(&host, &key, "SELECT * FROM orders ORDER BY id").await;
    let expected = json!([
        [1, "ACME", "****4444", "secret"],
        [2, "ACME", "****", "secret"]
    ]);
    assert_eq!(seen, expected);
    // Without policies all is there again.
    host.put("/minds/sales/policies", json!({"policies": []}))
        .await
        .expect_status(200);
    let all = rows(&host, &key, "SELECT count(*), sum(total) FROM orders").await;
    assert_eq!(all[0][0], 3, "{all}");
}

#[tokio::test]
async fn datasource_that_is_deleted_takes_its_policies_along() {
    let host = Host::start().await;
    for name in ["shop", "other"] {
        host.sqlite(name, SHOP).await.load().await;
    }
    let mind = host.mind("sales").datasource("shop").datasource("other");
    mind.create().await;
    let of = |name: &str| json!({"datasource": name, "table": "orders", "hidden": ["total"]});
    let both = json!({"policies": [of("shop"), of("other")]});
    let path = "/minds/sales/policies";
    host.put(path, both).await.expect_status(200);
    let fewer = json!({"datasources": ["shop"]});
    let refused = host.put("/minds/sales", fewer.clone()).await;
    refused.expect_error(409, "resource_in_use");
    let gone = host.delete("/datasources/other?cascade=true").await;
    gone.expect_status(204);
    let kept = host.get(path).await.json();
    let kept = kept["policies"].as_array().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0]["datasource"], "shop");
    host.put("/minds/sales", fewer).await.expect_status(200);
}

#[tokio::test]
async fn list_of_a_key_stands_behind_in_and_null_masks_keep_the_type() {
    let (host, _mind) = shop().await;
    let body = policy(json!({"filter": "id IN ({{caller.ids}})", "masked": {"total": "null"}}));
    host.put("/minds/sales/policies", body)
        .await
        .expect_status(200);
    let key = key(&host, json!({"ids": [1, 3]})).await;
    let seen = rows(&host, &key, "SELECT id, total FROM orders ORDER BY id").await;
    assert_eq!(seen, json!([[1, null], [3, null]]));
    let body = json!({"datasource": "shop", "table": "orders", "attributes": {"ids": [1]}});
    let path = "/minds/sales/policies/preview";
    let shown = host.post(path, body).await.expect_status(200).json();
    let total = &shown["column_types"][2];
    assert_eq!(
        (&total["name"], &total["type"]),
        (&json!("total"), &json!("decimal"))
    );
}

#[tokio::test]
async fn policy_that_does_not_fit_is_refused_with_the_place() {
    let (host, _mind) = shop().await;
    for (rest, code, param) in [
        (
            json!({"filter": "tenat = 'x'"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"filter": "id IN (SELECT 1)"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"filter": "tenant = '{{caller.tenant}}'"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"filter": "1 = 1; DROP TABLE orders"}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"filter": ""}),
            "invalid_policy",
            "policies[0].filter",
        ),
        (
            json!({"hidden": ["Total"]}),
            "invalid_policy",
            "policies[0].hidden[0]",
        ),
        (
            json!({"masked": {"x": "null"}}),
            "invalid_policy",
            "policies[0].masked.x",
        ),
        (
            json!({"masked": {"card": {"sql": "max(card)"}}}),
            "invalid_policy",
            "policies[0].masked.card",
        ),
        (json!({}), "invalid_policy", "policies[0]"),
        (
            json!({"hidden": ["id", "tenant", "total", "card", "note"]}),
            "invalid_policy",
            "policies[0].hidden",
        ),
        (
            json!({"table": "nothing", "hidden": ["id"]}),
            "unknown_table",
            "policies[0].table",
        ),
        (
            json!({"datasource": "x", "hidden": ["id"]}),
            "unknown_datasource",
            "policies[0].datasource",
        ),
    ] {
        let reply = host
            .put("/minds/sales/policies", policy(rest.clone()))
            .await;
        let error = reply.expect_error(422, code);
        assert_eq!(error["param"], param, "{rest}: {error}");
    }
    let one = policy(json!({"hidden": ["note"]}))["policies"][0].clone();
    let twice = json!({"policies": [one, one]});
    host.put("/minds/sales/policies", twice)
        .await
        .expect_error(400, "invalid_parameter");
    for body in [
        json!({}),
        json!({"policies": null}),
        json!({"policies": [{"datasource": "shop"}]}),
        policy(json!({"masked": {"card": "rot13"}})),
        policy(json!({"unknown": 1})),
    ] {
        let reply = host.put("/minds/sales/policies", body.clone()).await;
        assert!(
            reply.status == 400 || reply.status == 422,
            "{body}: {}",
            reply.text()
        );
    }
    let shown = host
        .get("/minds/sales/policies")
        .await
        .expect_status(200)
        .json();
    assert_eq!(shown, json!({"policies": []}));
}

#[tokio::test]
async fn datasource_with_a_policy_stays_in_the_mind() {
    let (host, _mind) = shop().await;
    host.sqlite("other", "CREATE TABLE t (id INTEGER);")
        .await
        .load()
        .await;
    let body = policy(json!({"hidden": ["note"]}));
    host.put("/minds/sales/policies", body)
        .await
        .expect_status(200);
    let without = json!({"datasources": ["other"]});
    let refused = host.put("/minds/sales", without.clone()).await;
    refused.expect_error(409, "resource_in_use");
    host.put("/minds/sales/policies", json!({"policies": []}))
        .await
        .expect_status(200);
    host.put("/minds/sales", without).await.expect_status(200);
}

#[tokio::test]
async fn policies_are_for_editors_and_attributes_for_admins() {
    let (host, _mind) = shop().await;
    let user = key(&host, json!({"tenant": "acme"})).await;
    host.get("/minds/sales/policies")
        .key(&user)
        .await
        .expect_error(403, "forbidden");
    let body = json!({"policies": []});
    let put = host.put("/minds/sales/policies", body).key(&user).await;
    put.expect_error(403, "forbidden");
    let mind = host
        .get("/minds/sales")
        .key(&user)
        .await
        .expect_status(200)
        .json();
    assert!(mind.get("policies").is_none(), "{mind}");
    let own = host
        .get("/keys/current")
        .key(&user)
        .await
        .expect_status(200)
        .json();
    assert_eq!(own["attributes"], json!({"tenant": "acme"}));
    for (attributes, param) in [
        (json!({"a b": 1}), "attributes"),
        (json!({"": 1}), "attributes"),
        (json!({"a": "x".repeat(2000)}), "attributes.a"),
        (json!({"a": vec![1; 1001]}), "attributes.a"),
    ] {
        let body = json!({"name": "clerk", "role": "user", "attributes": attributes});
        let error = host
            .post("/keys", body)
            .await
            .expect_error(400, "invalid_parameter");
        assert_eq!(error["param"], param, "{error}");
    }
    for attributes in [
        json!({"a": null}),
        json!({"a": {}}),
        json!({"a": [[1]]}),
        json!([1]),
        json!("x"),
    ] {
        let body = json!({"name": "clerk", "role": "user", "attributes": attributes});
        let refused = host.post("/keys", body).await;
        assert!(
            refused.status == 400 || refused.status == 422,
            "{}",
            refused.text()
        );
    }
}

/// The rows of a rounded number are those of another key.
#[tokio::test]
async fn attribute_of_which_a_digit_would_be_lost_is_refused() {
    let (host, _mind) = shop().await;
    host.post("/workspaces", json!({"name": "branch"}))
        .await
        .expect_status(201);
    let new_key = |value: &str| {
        format!(r#"{{"name": "clerk", "role": "user", "attributes": {{"tenant": {value}}}}}"#)
    };
    let preview = |value: &str| {
        format!(
            r#"{{"datasource": "shop", "table": "orders", "limit": 5.0, "attributes": {{"tenant": {value}}}}}"#
        )
    };
    for lost in [
        "18446744073709551617",
        "9223372036854775808",
        "0.1234567890123456789",
        "[1, 9007199254740993.0]",
    ] {
        for (path, body) in [
            ("/keys", new_key(lost)),
            ("/workspaces/branch/keys", new_key(lost)),
            ("/minds/sales/policies/preview", preview(lost)),
        ] {
            let refused = host.api(Method::POST, path).body(body).await;
            let error = refused.expect_error(400, "invalid_body");
            assert_eq!(error["param"], "attributes.tenant", "{path}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("send it as a text"), "{message}");
        }
    }
    for kept in ["9223372036854775807", "-0.125", r#""18446744073709551617""#] {
        let made = host.api(Method::POST, "/keys").body(new_key(kept)).await;
        let made = made.expect_status(201).json();
        assert_eq!(made["attributes"]["tenant"].to_string(), kept);
    }
}

#[tokio::test]
async fn attributes_outlive_a_new_text_of_the_key() {
    let (host, _mind) = shop().await;
    let body = json!({"name": "clerk", "role": "user", "attributes": {"tenant": "rival"}});
    let made = host.post("/keys", body).await.expect_status(201).json();
    let path = format!("/keys/{}/rotate", made["id"].as_str().unwrap());
    let renewed = host.post(&path, json!({})).await.expect_status(200).json();
    assert_eq!(renewed["attributes"], json!({"tenant": "rival"}));
    let body = policy(json!({"filter": "tenant = {{caller.tenant}}"}));
    host.put("/minds/sales/policies", body)
        .await
        .expect_status(200);
    let seen = rows(
        &host,
        renewed["key"].as_str().unwrap(),
        "SELECT id FROM orders",
    )
    .await;
    assert_eq!(seen, json!([[3]]));
}

#[tokio::test]
async fn preview_shows_a_table_as_a_caller_sees_it() {
    let (host, _mind) = shop().await;
    // Also of a Mind that takes no SQL.
    let mind = host.mind("closed").datasource("shop");
    mind.create().await;
    let path = "/minds/closed/policies/preview";
    let preview = async |body: Value| host.post(path, body).await.expect_status(200).json();
    let all = preview(json!({"datasource": "shop", "table": "orders", "limit": 2})).await;
    assert_eq!(
        (&all["total"], all["data"].as_array().unwrap().len()),
        (&json!(3), 2)
    );

    let saved = policy(json!({"filter": "tenant = {{caller.tenant}}", "hidden": ["card", "note"]}));
    host.put("/minds/closed/policies", saved)
        .await
        .expect_status(200);
    let acme =
        json!({"datasource": "shop", "table": "main.orders", "attributes": {"tenant": "acme"}});
    let seen = preview(acme.clone()).await;
    assert_eq!(
        seen["column_names"],
        json!(["id", "tenant", "total"]),
        "{seen}"
    );
    assert_eq!(
        (&seen["total"], &seen["data"][1][0]),
        (&json!(2), &json!(2))
    );
    // A key without the attribute sees no row.
    let none = preview(json!({"datasource": "shop", "table": "orders"})).await;
    assert_eq!(none["total"], 0);

    // Before it is saved, and without saving it.
    let mut draft = acme.clone();
    draft["policies"] =
        policy(json!({"filter": "tenant <> {{caller.tenant}}"}))["policies"].clone();
    let seen_then = preview(draft.clone()).await;
    assert_eq!(
        seen_then["data"],
        json!([[3, "rival", "30", null, "c"]]),
        "{seen_then}"
    );
    assert_eq!(preview(acme.clone()).await, seen);

    let refused = async |body: Value, status: u16, code: &str, param: &str| {
        let error = host.post(path, body).await.expect_error(status, code);
        assert_eq!(error["param"], param, "{error}");
    };
    draft["policies"][0]["filter"] = json!("tenat = 'x'");
    refused(draft, 422, "invalid_policy", "policies[0].filter").await;
    let with = |name: &str, value: Value| {
        let mut body = acme.clone();
        body[name] = value;
        body
    };
    refused(
        with("datasource", json!("other")),
        422,
        "unknown_datasource",
        "datasource",
    )
    .await;
    refused(
        with("table", json!("secrets")),
        422,
        "unknown_table",
        "table",
    )
    .await;
    refused(with("limit", json!(101)), 400, "invalid_parameter", "limit").await;
    refused(
        with("attributes", json!({"a b": 1})),
        400,
        "invalid_parameter",
        "attributes",
    )
    .await;
    let user = key(&host, json!({})).await;
    host.post(path, acme)
        .key(&user)
        .await
        .expect_error(403, "forbidden");
}

#[tokio::test]
async fn preview_takes_the_policies_of_a_key_too() {
    let (host, _mind) = shop().await;
    let path = "/minds/sales/policies/preview";
    let with = |policies: &Value, of_key: &Value, tenant: &str| {
        json!({
            "datasource": "shop", "table": "orders", "attributes": {"tenant": tenant},
            "policies": policies["policies"], "key_policies": of_key["policies"]
        })
    };
    let of_mind = policy(json!({"filter": "id > 1", "hidden": ["note"]}));
    let of_key = policy(json!({
        "filter": "tenant = {{caller.tenant}}", "hidden": ["total"], "masked": {"card": "null"}
    }));
    let seen = host.post(path, with(&of_mind, &of_key, "acme")).await;
    let seen = seen.expect_status(200).json();
    assert_eq!(seen["column_names"], json!(["id", "tenant", "card"]));
    assert_eq!(seen["data"], json!([[2, "acme", null]]));
    // As the key itself sees it.
    let mut body = json!({"name": "clerk", "role": "user", "attributes": {"tenant": "acme"}});
    body["policies"] = of_key["policies"].clone();
    let key = host.post("/keys", body).await.expect_status(201).json();
    let saved = host.put("/minds/sales/policies", of_mind.clone()).await;
    saved.expect_status(200);
    let sql = "SELECT * FROM orders";
    let rows = rows(&host, key["key"].as_str().unwrap(), sql).await;
    assert_eq!(rows, seen["data"]);

    let refused = async |of_key: Value, status: u16, code: &str, param: &str| {
        let body = with(&of_mind, &of_key, "acme");
        let error = host.post(path, body).await.expect_error(status, code);
        assert_eq!(error["param"], param, "{error}");
    };
    let wrong = policy(json!({"filter": "tenat = 'x'"}));
    refused(wrong, 422, "invalid_policy", "key_policies[0].filter").await;
    let unnamed = policy(json!({"filter": "tenant = {{caller.region}}"}));
    refused(unnamed, 422, "invalid_policy", "key_policies[0].filter").await;
    let many = json!({"policies": vec![of_key["policies"][0].clone(); 101]});
    refused(many, 400, "invalid_parameter", "key_policies").await;
}

#[tokio::test]
async fn policy_that_the_engine_cannot_run_is_refused_with_its_reason() {
    let sql =
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant TEXT, salary INTEGER, hired DATE);
        INSERT INTO orders VALUES (1, 'acme', 41733, '2026-01-02');";
    let database = Postgres::shared().database(sql).await;
    let host = Host::start().await;
    host.postgres("shop", &database).await.load().await;
    let mind = host.mind("sales").datasource("shop").direct_queries();
    mind.create().await;
    let refused = |error: Value, param: &str, reason: &str| {
        assert_eq!(error["param"], param, "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(reason), "{error}");
        assert!(!message.contains("41733"), "{error}");
    };
    let at = json!({"datasource": "shop", "table": "orders", "attributes": {"tenant": "acme"}});
    for (rest, param, reason) in [
        (json!({"filter": "id"}), "policies[0].filter", "boolean"),
        (json!({"filter": "tenant"}), "policies[0].filter", "boolean"),
        (
            json!({"filter": "salary > 'x'"}),
            "policies[0].filter",
            "integer",
        ),
        (json!({"filter": "hired = 5"}), "policies[0].filter", "date"),
        (
            json!({"filter": "tenant = {{caller.tenant}} AND hired = 5"}),
            "policies[0].filter",
            "date",
        ),
        (
            json!({"filter": "id = 1", "masked": {"tenant": {"sql": "upper(salary)"}}}),
            "policies[0].masked.tenant",
            "upper",
        ),
    ] {
        let body = policy(rest);
        let put = host.put("/minds/sales/policies", body.clone()).await;
        refused(put.expect_error(422, "invalid_policy"), param, reason);
        let mut draft = at.clone();
        draft["policies"] = body["policies"].clone();
        let preview = host.post("/minds/sales/policies/preview", draft).await;
        refused(preview.expect_error(422, "invalid_policy"), param, reason);
        let mut of_key = json!({"name": "clerk", "role": "user", "attributes": {"tenant": "acme"}});
        of_key["policies"] = body["policies"].clone();
        let made = host.post("/keys", of_key).await;
        refused(made.expect_error(422, "invalid_policy"), param, reason);
    }
    assert_eq!(
        host.get("/minds/sales/policies").await.json()["policies"],
        json!([])
    );

    // The type of an attribute is not known until a caller has it.
    let body = policy(json!({"filter": "salary = {{caller.tenant}}"}));
    let put = host.put("/minds/sales/policies", body).await;
    put.expect_status(200);
    let preview = host.post("/minds/sales/policies/preview", at).await;
    let error = preview.expect_error(422, "invalid_policy");
    refused(error, "policies[0].filter", "integer");
}
