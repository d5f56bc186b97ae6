//! What a caller may change: descriptions, deletion.

use super::*;

#[tokio::test]
async fn a_description_is_set_cleared_and_kept_by_a_refresh() {
    let host = Host::start().await;
    let database = Postgres::shared()
        .database("CREATE TABLE t (id int); COMMENT ON TABLE t IS 'source'; COMMENT ON COLUMN t.id IS 'column'")
        .await;
    let source = host.postgres("pg", &database).await;
    source.load().await;
    let path = format!("{}/tables/t", source.catalog_path());
    let set = host
        .patch(&path, json!({"description": "mine"}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&set["name"], &set["schema"]),
        (&json!("t"), &json!("public"))
    );
    assert_eq!(
        (&set["description"], &set["description_source"]),
        (&json!("mine"), &json!("caller"))
    );
    assert_eq!(set["source_description"], "source");
    let path = format!("{path}/columns/id");
    let cleared = host
        .patch(&path, json!({"description": null}))
        .await
        .expect_status(200)
        .json();
    assert_eq!(
        (&cleared["name"], &cleared["description"]),
        (&json!("id"), &Value::Null)
    );
    assert_eq!(cleared["source_description"], "column");
    let statistics = &cleared["statistics"];
    assert!(
        statistics["null_percentage"].is_number()
            && statistics["distinct_values_count"].is_number()
    );
    for body in [json!({}), json!({"mode": "missing_only"})] {
        let catalog = source.refresh(body).await.expect_status(200).json();
        let kept = table(&catalog, "t");
        assert_eq!(
            (&kept["description"], &kept["source_description"]),
            (&json!("mine"), &json!("source"))
        );
        assert_eq!(column(kept, "id")["description"], Value::Null);
    }
}

#[tokio::test]
async fn a_deleted_table_is_known_and_not_cataloged() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    shop.load().await;
    let path = format!("{}/tables/main.customer", shop.catalog_path());
    host.patch(&path, json!({"description": "mine"}))
        .await
        .expect_status(200);
    let reply = host.delete(&path).await.expect_status(204);
    assert!(reply.body.is_empty());
    let catalog = shop.catalog().await;
    let customer = table(&catalog, "customer");
    assert_eq!(
        (&customer["status"], &customer["columns"]),
        (&json!("NOT_CATALOGED"), &json!([]))
    );
    assert_eq!(
        (&customer["description"], &customer["row_count"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(customer["primary_key_constraints"], json!([]));
    assert_eq!(table(&catalog, "item")["status"], "COMPLETED");
    let again = shop.refresh(json!({"mode": "missing_only"})).await.json();
    assert_eq!(table(&again, "customer")["description"], Value::Null);
}

#[tokio::test]
async fn deleting_all_makes_it_as_if_it_was_never_loaded() {
    let host = Host::start().await;
    let shop = host.sqlite("shop", SHOP).await;
    let new = shop.catalog().await;
    shop.load().await;
    host.delete(&shop.catalog_path()).await.expect_status(204);
    let deleted = shop.catalog().await;
    assert_eq!(deleted, new);
    let told = "the catalog is not loaded; POST …/catalog/refresh loads it";
    assert_eq!(deleted["status"]["message"], told);
}
