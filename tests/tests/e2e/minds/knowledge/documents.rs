//! Import and export.

use mindhost_tests::{Host, Value, build, json};

use super::{entries, import, revenue, taught, teach};
use crate::stores;

/// The example of `host/docs/knowledge.md`.
fn example() -> String {
    let page = build::workspace_dir().join("host/docs/knowledge.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

async fn export(host: &Host) -> String {
    let reply = host
        .get("/minds/sales/knowledge/export")
        .await
        .expect_status(200);
    assert_eq!(reply.header("content-type"), "application/yaml");
    reply.text()
}

/// Entries without what the store adds.
async fn said(host: &Host) -> Vec<Value> {
    let mut all = entries(host).await;
    for entry in &mut all {
        let fields = entry.as_object_mut().unwrap();
        for field in ["id", "created_at", "updated_at", "checked_at"] {
            assert!(fields.remove(field).is_some(), "{field}");
        }
    }
    all.sort_by_key(Value::to_string);
    all
}

#[tokio::test]
async fn the_example_of_the_documentation_imports_and_comes_back_as_it_was() {
    for host in stores::both().await {
        taught(&host).await;
        let counts = |created, updated, unchanged, deleted| json!({"created": created, "updated": updated, "unchanged": unchanged, "deleted": deleted});
        let imported = import(&host, "merge", &example())
            .await
            .expect_status(200)
            .json();
        assert_eq!(imported, counts(5, 0, 0, 0));
        let before = said(&host).await;
        assert!(
            before.iter().all(|entry| entry["status"] == "valid"),
            "{before:?}"
        );

        let yaml = export(&host).await;
        assert_eq!(
            import(&host, "merge", &yaml).await.json(),
            counts(0, 0, 5, 0)
        );
        for entry in entries(&host).await {
            let path = format!("/minds/sales/knowledge/{}", entry["id"].as_str().unwrap());
            host.delete(&path).await.expect_status(204);
        }
        assert_eq!(
            import(&host, "merge", &yaml).await.json(),
            counts(5, 0, 0, 0)
        );
        assert_eq!(said(&host).await, before);
        assert_eq!(export(&host).await, yaml);

        let one = "instructions:\n  - name: FISCAL  year\n    text: It begins in May.\n";
        assert_eq!(
            import(&host, "replace", one).await.json(),
            counts(0, 1, 0, 4)
        );
        assert_eq!(entries(&host).await[0]["text"], "It begins in May.");
    }
}

#[tokio::test]
async fn one_wrong_entry_stops_an_import_and_is_named_with_its_line() {
    let host = Host::start().await;
    taught(&host).await;
    teach(&host, revenue()).await.expect_status(201);
    let refused = async |yaml: &str, status, code, says: &[&str]| {
        let error = import(&host, "replace", yaml)
            .await
            .expect_error(status, code);
        for text in says {
            assert!(error["message"].as_str().unwrap().contains(text), "{error}");
        }
        // Nothing changed.
        assert_eq!(entries(&host).await.len(), 1);
    };
    let sql = "instructions:
  - {name: year, text: It begins in April.}
verified_queries:
  - question: How many orders?
    sql: SELECT count(*) FROM oders
";
    let says = ["line 4", "How many orders?", "orders"];
    refused(sql, 400, "sql_table_not_allowed", &says).await;
    let term = "terms:\n  - name: a\n    meaning: b\n    table: custmers\n";
    refused(term, 422, "unknown_table", &["line 2", "customers"]).await;
    let twice = "terms:\n  - {name: a, meaning: b}\n  - {name: A, meaning: c}\n";
    refused(twice, 400, "invalid_yaml", &["line 3", "line 2"]).await;
    refused(
        "terms:\n  - {name: a, meening: b}\n",
        400,
        "invalid_yaml",
        &["line 2", "meening"],
    )
    .await;
    let shared = "metrics:
  - {name: items, synonyms: [Pieces], expression: sum(quantity), from: order_items}
  - {name: pieces, expression: count(*), from: order_items}
";
    refused(shared, 400, "invalid_yaml", &["line 3", "line 2", "`name`"]).await;
    refused("", 400, "invalid_yaml", &["empty"]).await;
    refused("terms: [", 400, "invalid_yaml", &["line"]).await;
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nterms: *b\n";
    refused(bomb, 400, "invalid_yaml", &[]).await;
    let other = host
        .post("/minds/sales/knowledge/import", json!({}))
        .header("content-type", "text/csv");
    other.await.expect_error(415, "unsupported_media_type");
}

#[tokio::test]
async fn document_without_entries_replaces_and_no_document_does_not() {
    let host = Host::start().await;
    taught(&host).await;
    assert_eq!(export(&host).await, "{}\n");
    teach(&host, revenue()).await.expect_status(201);
    let error = import(&host, "replace", "").await;
    error.expect_error(400, "invalid_yaml");
    assert_eq!(entries(&host).await.len(), 1);
    let done = import(&host, "replace", "{}").await.expect_status(200);
    assert_eq!(done.json()["deleted"], 1);
    assert_eq!(entries(&host).await.len(), 0);
}
