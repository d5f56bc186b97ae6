//! `/datasources/{name}/files`, and questions over what was uploaded.

use std::fs;

use mindhost_tests::{Host, Reply, Value, json};
use reqwest::Method;

/// A datasource over an empty directory.
pub async fn empty() -> Host {
    empty_on(Host::start().await).await
}

/// As [`empty`], on a host with other settings.
pub async fn empty_on(host: Host) -> Host {
    host.datasource("sales", "files", json!({"path": "sales"}))
        .await;
    host
}

/// Uploads a file as the body of a request.
pub async fn upload(host: &Host, name: &str, content: &[u8]) -> Reply {
    let request = host
        .api(Method::POST, "/datasources/sales/files")
        .query("name", name);
    request.raw(content.to_vec()).await
}

async fn listed(host: &Host) -> Vec<Value> {
    let files = host
        .get("/datasources/sales/files")
        .await
        .expect_status(200)
        .json();
    files
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].clone())
        .collect()
}

/// Nobody needs a shell on the server: a datasource begins empty, and its files come over the API.
#[tokio::test]
async fn a_datasource_begins_empty_and_is_filled_by_uploads() {
    let host = empty().await;
    assert_eq!(listed(&host).await, Vec::<Value>::new());
    let stored = upload(&host, "item.csv", b"id,name\n1,tea\n2,salt\n")
        .await
        .expect_status(201)
        .json();
    assert_eq!(
        (&stored["name"], &stored["bytes"]),
        (&json!("item.csv"), &json!(21))
    );
    let orders = "{\"item\": 1, \"on\": \"2024-02-29\"}\n{\"item\": 1, \"on\": \"2024-03-01\"}\n";
    upload(&host, "orders.jsonl", orders.as_bytes())
        .await
        .expect_status(201);
    assert_eq!(listed(&host).await, ["item.csv", "orders.jsonl"]);

    host.post("/datasources/sales/catalog/refresh", json!({}))
        .await;
    let mind = host
        .mind("sales")
        .datasource("sales")
        .direct_queries()
        .create()
        .await;
    let sql = "SELECT name, count(*) FROM orders JOIN item ON item.id = orders.item \
               WHERE orders.\"on\" >= DATE '2024-03-01' GROUP BY name";
    assert_eq!(mind.rows(sql).await, [[json!("tea"), json!(1)]]);

    host.delete("/datasources/sales/files/item.csv")
        .await
        .expect_status(204);
    assert_eq!(listed(&host).await, ["orders.jsonl"]);
    let gone = host.delete("/datasources/sales/files/item.csv").await;
    gone.expect_error(404, "file_not_found");
}

#[tokio::test]
async fn a_file_is_replaced_only_where_that_is_wanted() {
    let host = empty().await;
    upload(&host, "item.csv", b"id\n1\n")
        .await
        .expect_status(201);
    upload(&host, "item.csv", b"id\n2\n")
        .await
        .expect_error(409, "name_taken");
    let request = host.api(Method::POST, "/datasources/sales/files");
    let request = request.query("name", "item.csv").query("overwrite", "true");
    request.raw(b"id\n30\n".to_vec()).await.expect_status(201);
    assert_eq!(
        fs::read(host.files_dir().join("sales/item.csv")).unwrap(),
        b"id\n30\n"
    );
}

#[tokio::test]
async fn a_form_is_taken_as_a_browser_sends_it() {
    let host = empty().await;
    let form = "--b\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\nx\r\n\
                --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"item.csv\"\r\n\
                content-type: text/csv\r\n\r\nid\n7\n\r\n--b--\r\n";
    let send = |body: &str| {
        let request = host.api(Method::POST, "/datasources/sales/files");
        request
            .raw(body.as_bytes().to_vec())
            .header("content-type", "multipart/form-data; boundary=b")
    };
    send(form).await.expect_status(201);
    assert_eq!(
        fs::read(host.files_dir().join("sales/item.csv")).unwrap(),
        b"id\n7\n"
    );
    for broken in [&form[..form.len() - 20], "--b--\r\n", ""] {
        send(&broken.replace("item.csv", "other.csv"))
            .await
            .expect_error(400, "invalid_body");
    }
    assert_eq!(listed(&host).await, ["item.csv"]);
}

#[tokio::test]
async fn engines_without_a_directory_take_no_files() {
    let host = Host::start().await;
    host.sqlite("sales", "CREATE TABLE item (id INTEGER)").await;
    upload(&host, "item.csv", b"id\n")
        .await
        .expect_error(409, "wrong_state");
    host.get("/datasources/sales/files")
        .await
        .expect_error(409, "wrong_state");
}

#[tokio::test]
async fn an_upload_is_audited() {
    let host = empty().await;
    upload(&host, "item.csv", b"id\n1\n")
        .await
        .expect_status(201);
    let notes = host.get("/audit?limit=20").await.expect_status(200).text();
    assert!(notes.contains("item.csv bytes=5"), "{notes}");
}

/// An old datasource of the engine `csv` is served by the same plugin, as it was.
#[tokio::test]
async fn a_datasource_of_csv_files_is_one_of_files() {
    let host = Host::start().await;
    let directory = host.files_dir().join("old");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("x.csv"), "zip;n\n01234;1\n").unwrap();
    fs::write(directory.join("x.CSV"), "other\n1\n").unwrap();
    let data = json!({"path": "old", "delimiter": ";", "types": {"x.n": "decimal"}, "types_from_rows": 10});
    host.datasource("old", "csv", data).await.load().await;
    let mind = host
        .mind("old")
        .datasource("old")
        .direct_queries()
        .create()
        .await;
    assert_eq!(
        mind.rows("SELECT zip, n FROM x").await,
        [[json!("01234"), json!("1.0000000000")]]
    );
    assert_eq!(
        mind.rows("SELECT other FROM files.\"x.CSV\"").await,
        [[json!(1)]]
    );
}

/// A count converts no values, so one that does not fit its column is not in its way.
#[tokio::test]
async fn a_count_succeeds_over_values_that_do_not_fit() {
    let host = Host::start().await;
    let directory = host.files_dir().join("mixed");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("item.csv");
    fs::write(&file, "id\n1\n").unwrap();
    let data = json!({"path": "mixed", "types_from_rows": 1});
    host.datasource("mixed", "files", data).await.load().await;
    let mind = host
        .mind("mixed")
        .datasource("mixed")
        .direct_queries()
        .create()
        .await;
    fs::write(&file, "id\n1\nx\n").unwrap();
    mind.sql("SELECT id FROM item")
        .await
        .expect_error(502, "upstream_error");
    assert_eq!(mind.rows("SELECT count(*) FROM item").await, [[json!(2)]]);
}
