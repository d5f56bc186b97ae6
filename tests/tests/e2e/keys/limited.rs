//! Keys that are limited to some Minds: what they do not see does not exist, and they reach nothing beyond it.

use mindhost_tests::{Host, Postgres, Request, Value, json};

use super::{create, text};
use crate::stores;

const SHOP: &str = "
    CREATE TABLE customer (id INTEGER PRIMARY KEY, secret TEXT);
    CREATE TABLE item (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer (id));
";

/// A host with the Minds `open` (the table `item`) and `closed` (all tables), and a key for `open`.
async fn shop(role: &str) -> (Host, String) {
    let host = Host::start().await;
    host.sqlite("shop", SHOP).await.load().await;
    host.mind("open").tables("shop", &["item"]).create().await;
    host.mind("closed")
        .datasource("shop")
        .direct_queries()
        .create()
        .await;
    let key = text(
        &host,
        json!({"name": "guest", "role": role, "minds": ["open"]}),
    )
    .await;
    (host, key)
}

/// The names of files tell of tables.
#[tokio::test]
async fn files_of_a_datasource_are_hidden_from_a_key_for_some_minds() {
    let host = Host::start().await;
    let folder = host.files_dir().join("files");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["open.csv", "salaries.csv"] {
        std::fs::write(folder.join(name), "id\n1\n").unwrap();
    }
    let files = host.datasource("files", "files", json!({"path": "files"}));
    files.await.load().await;
    host.mind("open").tables("files", &["open"]).create().await;
    let key = text(
        &host,
        json!({"name": "guest", "role": "admin", "minds": ["open"]}),
    )
    .await;
    let listed = host.get("/datasources/files/files").key(&key).await;
    listed.expect_error(403, "forbidden");
    let catalog = host.get("/datasources/files/catalog").key(&key).await;
    assert_eq!(catalog.json()["total_tables"], 1);
}

#[tokio::test]
async fn a_key_for_some_minds_sees_those_alone() {
    for host in stores::both().await {
        let shop = host.sqlite("shop", "CREATE TABLE item (id INTEGER)").await;
        host.sqlite("vault", "CREATE TABLE gold (id INTEGER)").await;
        host.mind("open").datasource("shop").create().await;
        host.mind("closed").datasource("vault").create().await;
        let body = json!({"name": "guest", "role": "editor", "minds": ["open"]});
        let made = create(&host, body).await;
        assert_eq!(made["minds"], json!(["open"]));
        let key = made["key"].as_str().unwrap();

        let names = async |path: &str| {
            let listed = host.get(path).key(key).await.expect_status(200).json();
            let listed = listed.as_array().unwrap().clone();
            listed
                .iter()
                .map(|one| one["name"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names("/minds").await, ["open"]);
        assert_eq!(names("/datasources").await, ["shop"]);
        let hidden = [
            ("/minds/closed", "mind_not_found"),
            ("/datasources/vault", "datasource_not_found"),
        ];
        for (path, code) in hidden {
            host.get(path).key(key).await.expect_error(404, code);
        }
        host.get(&shop.catalog_path())
            .key(key)
            .await
            .expect_status(200);

        host.put("/minds/open", json!({"name": "renamed"}))
            .await
            .expect_status(200);
        assert_eq!(
            names("/minds").await,
            ["renamed"],
            "the key follows the Mind"
        );
        host.delete("/minds/renamed").await.expect_status(200);
        host.mind("open").datasource("shop").create().await;
        assert_eq!(
            names("/minds").await,
            [""; 0],
            "a new Mind of the name is another Mind"
        );
        let unknown = json!({"name": "x", "role": "user", "minds": ["nobody"]});
        let unknown = host
            .post("/keys", unknown)
            .await
            .expect_error(404, "mind_not_found");
        assert_eq!(unknown["param"], "minds[0]");
    }
}

#[tokio::test]
async fn tables_of_other_minds_do_not_exist_on_any_route_of_the_catalog() {
    let (host, key) = shop("editor").await;
    let catalog = "/datasources/shop/catalog";
    let shown = host.get(catalog).key(&key).await.expect_status(200).json();
    assert_eq!(shown["total_tables"], 1, "{shown}");
    assert_eq!(shown["tables"][0]["name"], "item");
    assert_eq!(
        shown["tables"][0]["foreign_key_constraints"],
        json!([]),
        "{shown}"
    );
    assert!(!shown.to_string().contains("secret"), "{shown}");

    let note = json!({"description": "seen"});
    let table = |name: &str| format!("{catalog}/tables/{name}");
    let hidden = table("customer");
    let column = format!("{hidden}/columns/secret");
    host.patch(&table("item"), note.clone())
        .key(&key)
        .await
        .expect_status(200);
    for request in [
        host.patch(&hidden, note.clone()),
        host.patch(&column, note),
        host.delete(&hidden),
    ] {
        request.key(&key).await.expect_error(404, "table_not_found");
    }
    let names = json!({"table_names": ["item", "customer"]});
    for route in ["refresh", "tables"] {
        let path = format!("{catalog}/{route}");
        let refused = host.post(&path, names.clone()).key(&key).await;
        refused.expect_error(422, "unknown_table");
        let own = json!({"table_names": ["item"]});
        let own = host.post(&format!("{path}?wait=30"), own).key(&key).await;
        assert_eq!(own.expect_status(200).json()["total_tables"], 1);
    }
    for request in [
        host.delete(catalog),
        host.post(&format!("{catalog}/cancel"), json!({})),
        host.post(&format!("{catalog}/refresh"), json!({})),
    ] {
        request.key(&key).await.expect_error(403, "forbidden");
    }
    assert_eq!(
        host.get(catalog).await.json()["total_tables"],
        2,
        "nothing is lost"
    );
}

#[tokio::test]
async fn a_name_is_ambiguous_only_among_the_tables_that_the_key_sees() {
    let sql =
        "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.x (id int); CREATE TABLE b.x (id int)";
    let database = Postgres::shared().database(sql).await;
    let host = Host::start().await;
    host.postgres("twins", &database).await;
    host.mind("open").tables("twins", &["a.x"]).create().await;
    let key = text(
        &host,
        json!({"name": "guest", "role": "editor", "minds": ["open"]}),
    )
    .await;
    let describe = || {
        let note = json!({"description": "x"});
        host.patch("/datasources/twins/catalog/tables/x", note)
    };
    let several = describe().await.expect_error(409, "ambiguous_table");
    assert!(
        several["message"].as_str().unwrap().contains("b.x"),
        "{several}"
    );
    let found = describe().key(&key).await.expect_status(200).json();
    assert_eq!(found["schema"], "a");
}

#[tokio::test]
async fn what_a_run_says_names_no_table_that_the_key_does_not_see() {
    let host = Host::start().await;
    let sql = "CREATE TABLE item (id INTEGER); CREATE VIEW broken AS SELECT * FROM gone";
    let shop = host.sqlite("shop", sql).await;
    host.mind("open").tables("shop", &["item"]).create().await;
    let key = text(
        &host,
        json!({"name": "guest", "role": "user", "minds": ["open"]}),
    )
    .await;
    let failed = shop.refresh(json!({})).await.expect_status(200).text();
    assert!(
        failed.contains("FAILED") && failed.contains("broken"),
        "{failed}"
    );
    for path in [&shop.catalog_path(), "/minds/open", "/minds"] {
        let shown = host.get(path).key(&key).await.expect_status(200).text();
        assert!(
            shown.contains("FAILED") && !shown.contains("broken"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn an_editor_of_one_mind_changes_that_one_and_does_not_widen_it() {
    let (host, key) = shop("editor").await;
    let forbidden = async |request: Request| {
        request.key(&key).await.expect_error(403, "forbidden");
    };
    let mind = |datasources: Value| json!({"name": "mine", "datasources": datasources});
    forbidden(host.post("/minds", mind(json!([])))).await;
    forbidden(host.post("/minds", mind(json!(["shop"])))).await;
    host.get("/minds/mine")
        .await
        .expect_error(404, "mind_not_found");
    forbidden(host.put("/minds/open", json!({"datasources": ["shop"]}))).await;
    let hidden = json!({"datasources": [{"name": "shop", "tables": ["item", "customer"]}]});
    let hidden = host.put("/minds/open", hidden).key(&key).await;
    hidden.expect_error(422, "unknown_table");
    let same = json!({"datasources": [{"name": "shop", "tables": ["item"]}], "parameters": {"is_demo": true}});
    host.put("/minds/open", same)
        .key(&key)
        .await
        .expect_status(200);

    let file = json!({"name": "more", "engine": "sqlite", "connection_data": {"path": "shop.db"}});
    forbidden(host.post("/datasources", file)).await;
    forbidden(host.patch("/datasources/shop", json!({"description": "mine"}))).await;
    forbidden(host.delete("/datasources/shop")).await;
    forbidden(host.delete("/datasources/shop?cascade=true")).await;
    let closed = host.get("/minds/closed").await.expect_status(200).json();
    assert_eq!(closed["datasources"], json!(["shop"]));
}

#[tokio::test]
async fn an_admin_of_one_mind_reads_its_conversations_and_no_others() {
    let (host, key) = shop("admin").await;
    let ask = async |mind: &str| {
        let body = json!({"model": mind, "input": "How many items are there?"});
        let response = host
            .post("/responses", body)
            .await
            .expect_status(200)
            .json();
        let id = response["id"].as_str().unwrap().to_owned();
        (
            id,
            response["conversation"]["id"].as_str().unwrap().to_owned(),
        )
    };
    let (response, conversation) = ask("open").await;
    for path in [
        format!("/responses/{response}"),
        format!("/conversations/{conversation}/items"),
    ] {
        host.get(&path).key(&key).await.expect_status(200);
    }
    let (response, conversation) = ask("closed").await;
    let unbound = host.post("/conversations", json!({})).await.json();
    let unbound = unbound["id"].as_str().unwrap();
    for (path, code) in [
        (format!("/responses/{response}"), "response_not_found"),
        (
            format!("/conversations/{conversation}"),
            "conversation_not_found",
        ),
        (
            format!("/conversations/{conversation}/items"),
            "conversation_not_found",
        ),
        (
            format!("/conversations/{unbound}"),
            "conversation_not_found",
        ),
    ] {
        host.get(&path).key(&key).await.expect_error(404, code);
    }
    let all = text(&host, json!({"name": "all", "role": "admin"})).await;
    let path = format!("/conversations/{conversation}/items");
    host.get(&path).key(&all).await.expect_status(200);
    let user = text(&host, json!({"name": "user", "role": "user"})).await;
    let refused = host.get(&path).key(&user).await;
    refused.expect_error(404, "conversation_not_found");
}

#[tokio::test]
async fn an_admin_of_one_mind_hands_out_keys_for_it_and_sees_no_wider_ones() {
    let (host, key) = shop("admin").await;
    let wide = create(&host, json!({"name": "wide", "role": "user"})).await;
    let make = async |minds: Value| {
        let body = json!({"name": "made", "role": "user", "minds": minds});
        host.post("/keys", body).key(&key).await
    };
    let all = make(Value::Null).await.expect_error(403, "forbidden");
    assert_eq!(all["param"], "minds");
    make(json!(["closed"]))
        .await
        .expect_error(404, "mind_not_found");
    make(json!(["open"])).await.expect_status(201);
    let listed = host.get("/keys").key(&key).await.expect_status(200).json();
    let names: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["name"])
        .collect();
    assert_eq!(names, ["guest", "made"]);
    let path = format!("/keys/{}", wide["id"].as_str().unwrap());
    host.delete(&path)
        .key(&key)
        .await
        .expect_error(404, "key_not_found");
    let provider = json!({"name": "p", "plugin": "model-offline"});
    host.post("/providers", provider)
        .key(&key)
        .await
        .expect_error(403, "forbidden");
}

#[tokio::test]
async fn an_admin_of_some_minds_sees_providers_by_name_alone() {
    let (host, key) = shop("admin").await;
    let vendor = json!({"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-secret", "model": "m"});
    let new = json!({"name": "vendor", "plugin": "model-openai", "connection_data": vendor});
    let made = host.post("/providers?check_connection=false", new).await;
    made.expect_status(201);
    for path in ["/providers", "/providers/vendor"] {
        let seen = host.get(path).key(&key).await.expect_status(200).text();
        assert!(seen.contains("\"vendor\""), "{seen}");
        assert!(
            !seen.contains("connection_data") && !seen.contains("127.0.0.1"),
            "{seen}"
        );
    }
}
