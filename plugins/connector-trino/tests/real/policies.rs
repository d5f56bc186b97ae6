//! Policies on tables: what a filter removes shows nowhere, and the engine computes nothing of it.

use serde_json::json;

use crate::host::Host;
use crate::trino::Trino;

/// A Mind over the shop, and the same with policies for a key of Great Britain.
fn shop() -> (Host, String) {
    let host = Host::start();
    host.datasource("shop", "trino", Trino::shared().connection_data("memory"));
    let tables = json!([{"name": "shop", "tables": ["shop.customers", "shop.orders"]}]);
    host.mind("open", &tables);
    host.mind("policed", &tables);
    let policies = json!({"policies": [{
        "datasource": "shop",
        "table": "shop.customers",
        "filter": "country = {{caller.country}}",
        "hidden": ["joined"],
        "masked": {"email": "last4", "city": "null", "vip": "null"},
    }]});
    host.put("/minds/policed/policies", &policies).expect(200);
    let key = json!({"name": "clerk", "role": "user", "attributes": {"country": "GB"}});
    let key = host.post("/keys", &key).expect(201);
    (host, key["key"].as_str().unwrap().to_owned())
}

#[test]
fn a_policy_shows_its_rows_and_masks() {
    let (host, key) = shop();
    let answer = host.sql_as(&key, "policed", "SELECT * FROM shop.customers ORDER BY id");
    let result = &answer.expect(200)["output"][0];
    assert_eq!(
        result["data"],
        json!([
            [1, "Ada Lovelace", "****.org", null, "GB", null],
            [5, "Eve", "****.com", null, "GB", null],
        ])
    );
    for sql in [
        "SELECT count(*) FROM shop.customers",
        "WITH c AS (SELECT id FROM shop.customers) SELECT count(*) FROM c",
        "SELECT count(*) FROM shop.orders o JOIN shop.customers c ON c.id = o.customer_id WHERE o.id < 1003",
    ] {
        let answer = host.sql_as(&key, "policed", sql).expect(200);
        assert_eq!(answer["output"][0]["data"], json!([[2]]), "{sql}");
    }
    let hidden = host.sql_as(&key, "policed", "SELECT joined FROM shop.customers");
    assert_eq!(hidden.status, 400, "{}", hidden.text);
}

#[test]
fn the_engine_computes_nothing_for_rows_that_a_filter_removes() {
    let (host, key) = shop();
    // Each divides by zero at the customer 3, who lives in France.
    for sql in [
        "SELECT 1 / (id - 3) FROM shop.customers",
        "SELECT id FROM shop.customers WHERE 1 / (id - 3) < 9",
        "SELECT id FROM shop.customers WHERE id > 0 AND 1 / (id - 3) < 9 ORDER BY id",
        "SELECT max(1 / (id - 3)) FROM shop.customers",
        "SELECT count(*) FROM shop.customers GROUP BY 1 / (id - 3)",
        "SELECT id FROM shop.customers ORDER BY 1 / (id - 3)",
        "SELECT o.id FROM shop.orders o JOIN shop.customers c ON c.id = o.customer_id AND 1 / (c.id - 3) < 9",
        "SELECT o.id FROM shop.orders o LEFT JOIN shop.customers c ON 1 / (c.id - 3) = o.customer_id",
        "SELECT o.id FROM shop.orders o WHERE EXISTS (SELECT 1 FROM shop.customers c WHERE 1 / (c.id - 3) < o.customer_id)",
        "SELECT id, row_number() OVER (ORDER BY 1 / (id - 3)) FROM shop.customers",
        "SELECT id FROM (SELECT id, 1 / (id - 3) AS x FROM shop.customers) AS t WHERE x < 9",
        "SELECT id FROM shop.customers WHERE country = 'FR' AND 1 / (id - 3) < 9",
    ] {
        let policed = host.sql_as(&key, "policed", sql);
        assert_eq!(policed.status, 200, "{sql}\n{}", policed.text);
        let open = host.sql_as(&key, "open", sql);
        assert!(
            open.text.contains("DIVISION_BY_ZERO") || open.text.contains("ivision by zero"),
            "without the policy this should fail: {sql}\n{}",
            open.text
        );
    }
}
