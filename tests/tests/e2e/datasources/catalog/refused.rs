//! Bad input: the documented status and code, and nothing changed.

use super::*;

/// Two schemas with a table of the same name.
async fn twins(host: &Host) -> Datasource {
    let sql = "CREATE SCHEMA one; CREATE SCHEMA two; CREATE TABLE one.t (id int); CREATE TABLE two.t (id int)";
    let database = Postgres::shared().database(sql).await;
    host.postgres("twins", &database).await
}

#[tokio::test]
async fn a_bare_name_that_fits_two_tables_is_refused_with_both() {
    let host = Host::start().await;
    let source = twins(&host).await;
    let body = json!({"table_names": ["t"]});
    let path = format!("{}/tables/t", source.catalog_path());
    for reply in [
        post(&source, "refresh", body).await,
        host.patch(&path, json!({"description": "x"})).await,
        host.delete(&path).await,
        host.mind("m").tables("twins", &["t"]).attempt().await,
    ] {
        let error = reply.expect_error(409, "ambiguous_table");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("one.t") && message.contains("two.t"),
            "{message}"
        );
    }
    let path = format!("{}/tables/two.t", source.catalog_path());
    let table = host
        .patch(&path, json!({"description": "x"}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(table["schema"], "two");
}

#[tokio::test]
async fn unknown_names_are_404_in_a_path_and_422_in_a_body() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let catalog = shop.catalog_path();
    let text = json!({"description": "x"});
    for name in ["nothing", "main.nothing", "MAIN.customer", "a%2Fb"] {
        let path = format!("{catalog}/tables/{name}");
        host.patch(&path, text.clone())
            .await
            .expect_error(404, "table_not_found");
        host.delete(&path)
            .await
            .expect_error(404, "table_not_found");
    }
    host.patch(
        &format!("{catalog}/tables/customer/columns/x"),
        text.clone(),
    )
    .await
    .expect_error(404, "column_not_found");
    let body = json!({"table_names": ["customer", "nothing"]});
    let error = post(&shop, "refresh", body)
        .await
        .expect_error(422, "unknown_table");
    assert_eq!(error["param"], "table_names");
    assert!(error["message"].as_str().unwrap().contains("'nothing'"));
    for path in ["", "/refresh", "/tables", "/cancel"] {
        let path = format!("/datasources/nothing/catalog{path}");
        let reply = match path.ends_with("catalog") {
            true => host.get(&path).await,
            false => host.post(&path, json!({"table_names": ["x"]})).await,
        };
        // Cancelling takes no body, so the others' is no matter here.
        reply.expect_error(404, "datasource_not_found");
    }
    assert_eq!(
        shop.catalog().await["status"]["overall_status"],
        "NOT_STARTED"
    );
}

#[tokio::test]
async fn bodies_of_another_shape_are_refused() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let before = shop.catalog().await;
    for (path, body, code) in [
        ("refresh", json!({"mode": "some"}), "invalid_body"),
        ("refresh", json!({"mode": 1}), "invalid_body"),
        (
            "refresh",
            json!({"table_names": "customer"}),
            "invalid_body",
        ),
        ("refresh", json!({"table_names": [1]}), "invalid_body"),
        ("refresh", json!({"table_names": []}), "invalid_parameter"),
        ("refresh", json!({"tables": ["customer"]}), "invalid_body"),
        ("refresh", json!([]), "invalid_body"),
        ("refresh?wait=x", json!({}), "invalid_parameter"),
        ("refresh?wait=-1", json!({}), "invalid_parameter"),
        ("refresh?wait=601", json!({}), "invalid_parameter"),
        ("tables", json!({}), "invalid_body"),
        ("tables", json!({"table_names": null}), "invalid_body"),
        ("tables", json!({"table_names": []}), "invalid_parameter"),
    ] {
        let error = post(&shop, path, body.clone())
            .await
            .expect_error(400, code);
        assert!(
            error["message"].as_str().unwrap().len() > 10,
            "{path} {body}"
        );
    }
    let refresh = format!("{}/refresh", shop.catalog_path());
    host.api(reqwest::Method::POST, &refresh)
        .body("{")
        .await
        .expect_error(400, "invalid_body");
    host.api(reqwest::Method::PUT, &refresh)
        .await
        .expect_error(405, "method_not_allowed");
    assert_eq!(shop.catalog().await, before);
}

#[tokio::test]
async fn a_description_must_be_there_and_be_a_text_of_sensible_length() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    shop.load().await;
    let before = shop.catalog().await;
    for path in ["tables/customer", "tables/customer/columns/name"] {
        let path = format!("{}/{path}", shop.catalog_path());
        for (body, code) in [
            (json!({}), "invalid_parameter"),
            (json!({"description": 1}), "invalid_body"),
            (json!({"description": ["x"]}), "invalid_body"),
            (json!({"text": "x"}), "invalid_body"),
            (
                json!({"description": "x".repeat(10_001)}),
                "invalid_parameter",
            ),
            (json!({"description": "a\0b"}), "invalid_body"),
        ] {
            host.patch(&path, body).await.expect_error(400, code);
        }
    }
    assert_eq!(shop.catalog().await, before);
    let path = format!("{}/tables/customer", shop.catalog_path());
    host.patch(&path, json!({"description": "é".repeat(10_000)}))
        .await
        .expect_status(200);
}

#[tokio::test]
async fn nothing_is_shown_or_changed_without_a_key() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let path = shop.catalog_path();
    host.get(&path)
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
    host.delete(&path)
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
    host.post(&format!("{path}/refresh"), json!({}))
        .without_key()
        .await
        .expect_error(401, "invalid_api_key");
}
